#pragma once

#include "base/result.h"
#include "base/time.h"
#include "config/document.h"
#include "config/key.h"

#include <cstdint>
#include <expected>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

// What a key is set to: read from a file or from the words of a command, and checked either way by
// the key's line of the table.
namespace reeve::config {

struct Size {
  std::uint64_t bytes = 0;

  bool operator==(const Size&) const = default;
};

using Value =
    std::variant<Duration, Size, std::int64_t, bool, std::string, std::vector<std::string>>;

// "512", "64KiB", "16MiB", "2GiB", "1TiB"; also with a B or nothing behind the K, M, G or T: a
// unit is 1,024 of the one below.
Result<std::uint64_t> parse_size(std::string_view text);
// The shortest text that parse_size reads back as the same.
std::string format_size(std::uint64_t bytes);

// The error says what was expected and what was found.
std::expected<Value, std::string> value_in_file(const Key& key, const Node& node);
std::expected<Value, std::string> value_of_words(const Key& key,
                                                 std::span<const std::string> words);
// The default. A Text, a Name or Patterns may have none: then it is empty.
Value standard_of(const Key& key);

// As a person types it: 90s, 16MiB, true, `pipeline:failed decision:opened`.
std::string to_text(const Value& value);
// As it stands in a file: "90s", true, ["pipeline:failed"]. The words are good ones; what was said
// as 60m is written as 60m, not as 1h.
std::string toml_of_words(const Key& key, std::span<const std::string> words);
std::string quoted(std::string_view text);  // a basic string of TOML

}  // namespace reeve::config
