#include "journal/crc32c.h"

#include "journal/little_endian.h"

#if defined(__x86_64__)
#include <nmmintrin.h>
#endif

#include <array>
#include <cstddef>

namespace reeve::journal {

namespace {

// Eight tables: one byte of a word each, so that eight bytes cost eight lookups and no loop.
using Tables = std::array<std::array<std::uint32_t, 256>, 8>;

constexpr Tables make_tables() {
  constexpr std::uint32_t reversed_polynomial = 0x82f63b78;
  Tables tables{};
  for (std::uint32_t byte = 0; byte < 256; ++byte) {
    std::uint32_t crc = byte;
    for (int bit = 0; bit < 8; ++bit) {
      crc = (crc & 1U) != 0 ? (crc >> 1U) ^ reversed_polynomial : crc >> 1U;
    }
    tables[0][byte] = crc;
  }
  for (std::size_t table = 1; table < tables.size(); ++table) {
    for (std::size_t byte = 0; byte < 256; ++byte) {
      const std::uint32_t crc = tables[table - 1][byte];
      tables[table][byte] = (crc >> 8U) ^ tables[0][crc & 0xffU];
    }
  }
  return tables;
}

constexpr Tables tables = make_tables();

#if defined(__x86_64__)
__attribute__((target("sse4.2"))) std::uint32_t crc32c_sse42(std::string_view bytes,
                                                             std::uint32_t before) {
  std::uint64_t crc = ~before;
  const char* at = bytes.data();
  std::size_t left = bytes.size();
  for (; left >= 8; left -= 8, at += 8) crc = _mm_crc32_u64(crc, load<std::uint64_t>(at));
  auto short_crc = static_cast<std::uint32_t>(crc);
  if (left >= 4) {
    short_crc = _mm_crc32_u32(short_crc, load<std::uint32_t>(at));
    left -= 4;
    at += 4;
  }
  for (; left > 0; --left, ++at) short_crc = _mm_crc32_u8(short_crc, load<std::uint8_t>(at));
  return ~short_crc;
}
#endif

}  // namespace

std::uint32_t crc32c_portable(std::string_view bytes, std::uint32_t before) {
  std::uint32_t crc = ~before;
  const char* at = bytes.data();
  std::size_t left = bytes.size();
  for (; left >= 8; left -= 8, at += 8) {
    const std::uint64_t word = load<std::uint64_t>(at) ^ crc;
    crc = 0;
    for (std::size_t byte = 0; byte < 8; ++byte) {
      crc ^= tables[7 - byte][(word >> (8 * byte)) & 0xffU];
    }
  }
  for (; left > 0; --left, ++at) {
    crc = (crc >> 8U) ^ tables[0][(crc ^ load<std::uint8_t>(at)) & 0xffU];
  }
  return ~crc;
}

std::uint32_t crc32c(std::string_view bytes, std::uint32_t before) {
#if defined(__x86_64__)
  static const bool has_instruction = __builtin_cpu_supports("sse4.2") != 0;
  if (has_instruction) return crc32c_sse42(bytes, before);
#endif
  return crc32c_portable(bytes, before);
}

}  // namespace reeve::journal
