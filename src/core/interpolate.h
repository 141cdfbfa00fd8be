#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

// Placeholders in plain text: prompts, names, paths, patterns. (In shell text a value never
// enters the program; that is the loader's work.)
//
//     {bug}  {bug.id}        the value of that name. A name is [a-z_][A-Za-z0-9_]*, and so is
//                            each part between dots; there is nothing else in the braces
//     {{bug}}                prints {bug}
//     ${...}  #{...}         left alone, up to the brace that closes it
//     { x }, {}, {"a": 1}    any other brace is text
//
// Values are put in as they are and never looked into: what a value contains is text.
namespace reeve {

using Variables = std::vector<std::pair<std::string, std::string>>;

struct UnknownName {
  std::string name;

  bool operator==(const UnknownName&) const = default;
};

// The names a text asks for, each once, in the order in which they first appear.
std::vector<std::string> placeholders_in(std::string_view text);

// The text with its placeholders filled in, or the first name that has no value. Of two values
// of one name the first wins: inputs come before the built-in names, and those before
// `phase.key`.
std::variant<std::string, UnknownName> interpolate(std::string_view text,
                                                   const Variables& variables);

}  // namespace reeve
