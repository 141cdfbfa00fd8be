#pragma once

#include <span>
#include <string_view>

// Runbooks to begin with: `reeve runbook example NAME`. Each loads as it is.
namespace reeve::tools {

struct RunbookExample {
  std::string_view name;
  std::string_view about;
  std::string_view text;
};

std::span<const RunbookExample> runbook_examples();

// What `reeve init` writes: it runs as it is, anywhere.
std::string_view first_runbook();

}  // namespace reeve::tools
