#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

// Takes JSON apart, one level deep: what stands in an array or an object becomes text. A string
// becomes what it says, without quotes and escapes; everything else stays as it is written. The
// core knows no more of JSON than this, and needs no more: values travel as text.
//
//     ["a\n", 1, {"b": [2]}]   ->   a⏎   1   {"b": [2]}
//     {"id": 7, "title": "x"}  ->   id=7  title=x
//
// None: it is not an array (an object), or not JSON. Linear in the length, whatever the depth.
namespace reeve {

std::optional<std::vector<std::string>> split_array(std::string_view json);
std::optional<std::vector<std::pair<std::string, std::string>>> split_object(std::string_view json);

}  // namespace reeve
