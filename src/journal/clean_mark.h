#pragma once

#include "base/result.h"
#include "journal/files.h"
#include "journal/record.h"

#include <optional>

// The file `clean`: its writer had made everything durable and stopped. It promises that the
// journal goes on with exactly this sequence and group, so a journal found shorter is damaged. It
// is removed, and the directory synced, before the next record is written.
namespace reeve::journal {

struct CleanMark {
  JournalId journal;
  Sequence next_sequence = 1;
  Group next_group = 1;

  bool operator==(const CleanMark&) const = default;
};

std::string encode(const CleanMark& mark);
std::optional<CleanMark> decode_clean_mark(std::string_view bytes);

// On stable storage when it returns.
Result<void> write_clean_mark(Files& files, const CleanMark& mark);

// None if the file is not there or not whole: then nobody promised anything. Conflict if a newer
// version wrote it.
Result<std::optional<CleanMark>> read_clean_mark(Files& files);

}  // namespace reeve::journal
