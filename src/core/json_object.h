#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

// Just enough JSON to turn the data of an item into the inputs of a pipeline: the members of an
// object, the text of a string; and the elements of an array, to have a pipeline for each. Nested
// values are taken as they stand, once their brackets and quotes are found to match. Any text is
// answered; what is not of the shape is none.
namespace reeve::json {

struct Member {
  std::string key;
  std::string value;       // of a string what it says, of anything else the text itself
  bool is_string = false;  // tells null from "null"

  bool operator==(const Member&) const = default;
};

// The members of an object, in their order; of a key that comes twice both.
std::optional<std::vector<Member>> read_object(std::string_view text);

std::optional<std::string> read_string(std::string_view text);

// The elements of an array as they stand, strings with their quotes.
std::optional<std::vector<std::string>> read_array(std::string_view text);

}  // namespace reeve::json
