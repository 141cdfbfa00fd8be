#pragma once

#include <array>
#include <cstdint>
#include <string>

namespace reeve::journal {

// Says which journal a file belongs to: random, made once when the journal is, in the header of
// every file and in every checksum. A file from elsewhere is thereby refused.
struct JournalId {
  std::array<std::uint8_t, 16> bytes{};

  auto operator<=>(const JournalId&) const = default;
};

// 32 hexadecimal digits.
std::string to_text(const JournalId& id);

}  // namespace reeve::journal
