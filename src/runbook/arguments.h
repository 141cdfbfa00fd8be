#pragma once

#include "runbook/mistake.h"

#include <cstddef>
#include <expected>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

// What a command of a runbook takes, and the words of somebody who runs it.
//
//     <bug>                  must be given          [bug]           may be left out
//     <files...>             one or more            [files...]      any number, also none
//     [-p/--priority <n>]    an option with a value, by either name; without [ ] it must be given
//     [--dry]                one without: true or false
//
// An option is called by its long name, `-` written as `_`: {priority}. Of several files the value
// is a JSON list, which `for_each` reads.
namespace reeve::runbook {

struct Argument {
  enum class Kind { Positional, Rest, Option, Flag };

  Kind kind = Kind::Positional;
  std::string name;       // of the placeholder
  std::string long_name;  // without its dashes
  char short_name = '\0';
  std::string value_name;  // <n>: for the usage
  bool required = false;

  bool operator==(const Argument&) const = default;
};

struct Arguments {
  std::vector<Argument> all;  // in the order of the text

  bool operator==(const Arguments&) const = default;
};

struct SpecMistake {
  std::size_t offset = 0;
  std::string message;

  bool operator==(const SpecMistake&) const = default;
};

// The options of `reeve run` itself, and those that every command of reeve has, are taken.
// Of one that is wrong every element is told about.
std::expected<Arguments, std::vector<SpecMistake>> parse_arguments(std::string_view spec);

using Values = std::vector<std::pair<std::string, std::string>>;

// The values of these words, with the defaults of what was left out; or what is wrong with them,
// as a sentence for whoever typed them. `--` ends the options. What was left out and has no
// default is absent, but flags are false and a rest is [].
std::expected<Values, std::string> read_words(const Arguments& arguments,
                                              const Values& defaults,
                                              std::span<const std::string_view> words);

// `<bug> [-p/--priority <n>] [files...]`, from the parsed form.
std::string usage_of(const Arguments& arguments);

// Whether `{name}` is a placeholder: [a-z_][A-Za-z0-9_]*.
bool is_placeholder_name(std::string_view name);

// A JSON text or list.
std::string json_text(std::string_view text);
std::string json_list(std::span<const std::string> texts);

}  // namespace reeve::runbook
