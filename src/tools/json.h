#pragma once

#include <string>
#include <string_view>

// Text on its way to a person or a program.
namespace reeve::tools {

// A JSON string with its quotes. Bytes that are not ASCII pass as they are.
std::string json(std::string_view text);

// Bytes as printable ASCII: everything else, and the backslash, as \xNN.
std::string visible(std::string_view bytes);

}  // namespace reeve::tools
