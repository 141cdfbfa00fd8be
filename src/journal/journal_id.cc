#include "journal/journal_id.h"

#include <fmt/format.h>

namespace reeve::journal {

std::string to_text(const JournalId& id) {
  std::string text;
  for (const std::uint8_t byte : id.bytes) text += fmt::format("{:02x}", byte);
  return text;
}

}  // namespace reeve::journal
