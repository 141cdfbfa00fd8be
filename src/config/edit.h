#pragma once

#include "base/result.h"
#include "config/key.h"

#include <string>
#include <string_view>

// A file of settings with one key changed, and everything else as somebody wrote it: comments,
// order, quotes and blank lines. What comes out is read again and compared: it says the same as
// before but for that key, or the change is refused.
namespace reeve::config {

// `value` is TOML. A key that is there keeps its place; a new one comes behind the others of its
// table, or with a table of its own at the end.
Result<std::string> with_key(std::string_view file,
                             std::string_view text,
                             const Key& key,
                             std::string_view value);

// Its line goes, with what stands behind it there. NotFound: the file does not have it.
Result<std::string> without_key(std::string_view file, std::string_view text, const Key& key);

}  // namespace reeve::config
