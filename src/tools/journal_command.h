#pragma once

#include "base/result.h"
#include "tools/journal_tool.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

// `reeve journal`, `reeve backup` and `reeve restore`, from what was asked to what was done. Words
// and exit codes are the command line's.
namespace reeve::tools {

// What only those who know the payloads can do.
struct JournalKnowledge {
  ShowPayload show;
  std::function<std::unique_ptr<Judge>()> judge;
};

// All of it: payloads are inputs of the core, and this version's core is the judge.
JournalKnowledge knowledge_of_core();

enum class JournalVerb : std::uint8_t { Info, Verify, Cat, Salvage, Accept, Backup, Restore };

struct JournalAsk {
  JournalVerb verb = JournalVerb::Info;
  std::string directory;       // of the journal
  std::string other = {};      // Salvage: the new directory; Backup, Restore: the file
  journal::Sequence from = 1;  // Cat, Accept: the first record; Backup: one that must be in it
  Shape shape = Shape::Text;
  bool bytes = false;  // Cat: payloads as they stand, not as the inputs they are
};

// Lines of data go to `out` as Shape says, others to `notes`, without their newline. False: all was
// done, and damage was found.
//
// Who changes a journal has it alone: Accept, Restore, and Salvage in the new directory refuse
// (Conflict, with the process) what somebody is using. The others may look, and say who uses it.
Result<bool> journal_command(const JournalAsk& ask,
                             const JournalKnowledge& knowledge,
                             const Sink& out,
                             const Sink& notes);

}  // namespace reeve::tools
