#pragma once

#include <string>
#include <string_view>

// Files below tests/golden hold what was once written, so that nobody changes a format without
// noticing. REEVE_UPDATE_GOLDEN=1 in the environment writes them anew.
namespace reeve::testing {

// Empty if there is no such file.
std::string read_golden(const std::string& name);

// Compares, or writes.
void expect_golden(const std::string& name, std::string_view text);

// Two letters a byte, 32 bytes a line.
std::string to_hex(std::string_view bytes);
std::string from_hex(std::string_view hex);

}  // namespace reeve::testing
