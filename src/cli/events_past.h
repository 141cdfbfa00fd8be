#pragma once

#include "cli/history.h"

#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <utility>
#include <vector>

// Events that the daemon no longer has in memory, from history: those of one project, and shared
// ones, that a pattern fits.
namespace reeve::cli {

class PastEvents {
 public:
  PastEvents(Context& context, std::optional<std::string> pattern)
      : context_(context), pattern_(std::move(pattern)) {}

  struct Part {
    std::vector<Json> events;   // in order
    std::uint64_t reached = 0;  // all up to this sequence was looked at
  };

  // The last `most` (none: all) since `oldest`, ms since 1970.
  std::expected<Part, Failure> latest(std::int64_t oldest, std::optional<std::int64_t> most);
  // Those of the sequences from `from` on, up to `to` if that is said.
  std::expected<Part, Failure> between(std::uint64_t from, std::optional<std::uint64_t> to);

 private:
  std::expected<Part, Failure> ask(const std::string& which, std::optional<std::int64_t> most);

  Context& context_;
  std::optional<std::string> pattern_;
};

// The condition that a pattern (core/event_name.h) puts on a row of `events`, and its parameters,
// which are numbered from `first` on.
std::pair<std::string, std::vector<SqlValue>> sql_of_pattern(const std::string& pattern, int first);

}  // namespace reeve::cli
