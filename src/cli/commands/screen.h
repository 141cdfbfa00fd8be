#pragma once

#include <optional>
#include <string>
#include <vector>

// What the screen of an agent's session shows.
namespace reeve::cli {

// Its lines, without the empty ones at its end, and without what could drive a terminal. None: tmux
// cannot show it, so there is no such session.
std::optional<std::vector<std::string>> read_screen(const std::string& home,
                                                    const std::string& session);

}  // namespace reeve::cli
