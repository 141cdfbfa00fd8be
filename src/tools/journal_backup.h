#pragma once

#include "base/result.h"
#include "journal/files.h"
#include "journal/journal.h"
#include "tools/journal_tool.h"

#include <cstdint>
#include <string>
#include <string_view>

// `reeve backup` and `reeve restore`. A backup is one file: a snapshot (docs/journal_format.md) of
// the whole state after a record, which needs nothing beside it.
namespace reeve::tools {

// What a backup begins with: as every snapshot does.
inline constexpr std::string_view backup_magic = "ReeveSnp";

struct BackupInfo {
  journal::Sequence sequence = 0;  // of the last record it contains
  std::uint64_t bytes = 0;
};

// Copies the newest snapshot of a journal, which may be in use, to `name` in `folder`. When it
// returns, the file is whole, read back and on stable storage; what had the name before is gone
// then, and stays if this fails. NotFound if there is no snapshot up to record `least` or later.
Result<BackupInfo> journal_backup(journal::Files& files,
                                  journal::Sequence least,
                                  journal::Files& folder,
                                  const std::string& name);

// Makes a journal of a backup in an empty directory. Before anything is written the judge has
// loaded the backup, and its state has the digest it had then; in the end a start is rehearsed.
// If it fails nothing is left behind that a daemon would start from.
Result<BackupInfo> journal_restore(journal::Files& folder,
                                   const std::string& name,
                                   Judge& judge,
                                   journal::Files& target);

}  // namespace reeve::tools
