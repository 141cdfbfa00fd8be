#pragma once

#include "tools/journal_tool.h"

#include <functional>
#include <memory>
#include <span>
#include <string_view>

// `reeve journal info|verify|cat|salvage|accept`, from its words to its exit code.
namespace reeve::tools {

// What only those who know the payloads can do; each may be missing.
struct JournalKnowledge {
  ShowPayload show;
  std::function<std::unique_ptr<Judge>()> judge;
};

// All of it: payloads are inputs of the core, and this version's core is the judge.
JournalKnowledge knowledge_of_core();

// `words` come after `reeve journal`. Lines for stdout go to `out`, others to `err`, without their
// newline. 0 ok, 1 failed or damaged, 2 usage, 3 no journal there.
int journal_command(std::span<const std::string_view> words,
                    const JournalKnowledge& knowledge,
                    const Sink& out,
                    const Sink& err);

}  // namespace reeve::tools
