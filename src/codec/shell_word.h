#pragma once

#include <string>
#include <string_view>

// Texts inside a command line that somebody may copy, or that a shell completes.
namespace reeve::codec {

// One word of a shell that means just this text: as it stands if every shell takes it so, else in
// single quotes.
std::string shell_word(std::string_view text);

}  // namespace reeve::codec
