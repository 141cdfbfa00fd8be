#include "codec/golden_testing.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace reeve::testing {
namespace {

std::filesystem::path path_of(const std::string& name) {
  return std::filesystem::path(REEVE_GOLDEN) / name;
}

}  // namespace

std::string read_golden(const std::string& name) {
  std::ifstream file(path_of(name), std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

void expect_golden(const std::string& name, std::string_view text) {
  // One thread. NOLINTNEXTLINE(concurrency-mt-unsafe)
  if (std::getenv("REEVE_UPDATE_GOLDEN")) {
    std::filesystem::create_directories(path_of(name).parent_path());
    std::ofstream(path_of(name), std::ios::binary) << text;
    return;
  }
  EXPECT_EQ(text, read_golden(name))
      << "tests/golden/" << name << " differs; REEVE_UPDATE_GOLDEN=1 writes it anew";
}

std::string to_hex(std::string_view bytes) {
  std::string hex;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    hex += fmt::format("{:02x}", static_cast<unsigned char>(bytes[i]));
    if (i % 32 == 31 || i + 1 == bytes.size()) hex += '\n';
  }
  return hex;
}

std::string from_hex(std::string_view hex) {
  std::string bytes;
  std::string digits;
  for (const char c : hex) {
    if (c == '\n') continue;
    digits += c;
    if (digits.size() < 2) continue;
    bytes += static_cast<char>(std::stoi(digits, nullptr, 16));
    digits.clear();
  }
  return bytes;
}

}  // namespace reeve::testing
