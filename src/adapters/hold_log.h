#pragma once

#include <string_view>

namespace reeve::adapters {

// `reeve hold --log FILE [DIR]`: keeps what comes on stdin in FILE, bounded, without the secrets
// that the run in DIR has. Its exit code.
int keep_log(std::string_view path, std::string_view folder);

}  // namespace reeve::adapters
