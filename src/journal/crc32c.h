#pragma once

#include <cstdint>
#include <string_view>

// CRC-32C (Castagnoli, as in iSCSI and ext4). crc32c("123456789") is 0xe3069283.
namespace reeve::journal {

// Of what `before` is the checksum of, followed by `bytes`. By the processor's own instruction
// where it has one.
std::uint32_t crc32c(std::string_view bytes, std::uint32_t before = 0);

// The same by table, on any processor.
std::uint32_t crc32c_portable(std::string_view bytes, std::uint32_t before = 0);

}  // namespace reeve::journal
