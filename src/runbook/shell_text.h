#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

// Shell text with placeholders, made into a program that no value can change.
//
// A value never enters the program: it travels in an environment variable, and its placeholder
// becomes a reference to that variable, fitted to the quotes around it:
//
//     echo {bug}             echo "${REEVE_V_bug}"
//     echo "no. {bug}"       echo "no. ${REEVE_V_bug}"
//     echo 'no. {bug}'       echo 'no. '"${REEVE_V_bug}"''
//
// and alike inside $( ), backticks, <( ) and plain here-documents. So it stays one word, arrives
// as the very bytes, and cannot be run. Where bash would evaluate the text of a value all the same
// there are two answers. In arithmetic (`$(( ))`, `(( ))`, `let`, an array index, -eq and its like
// in [[ ]]) the value must be an integer: the program begins by looking, and ends with 126 before
// anything else of it ran. Everywhere else (eval, trap, after >&, as the name of a command or a
// variable, in quoted here-documents, after a backslash ...) the placeholder is a mistake of the
// runbook. A variable that gets a value and is then looked into counts as the value itself. One
// that gets it by way of a command, `read` or a loop, and is then calculated with, is a mistake:
// what comes out there cannot be looked at before the program begins.
//
// `{{name}}` prints {name}; `${...}` and `#{...}` are left alone; a comment stays as it is. A value
// that is not there ends the program with 127 before anything else of it ran.
namespace reeve::runbook {

// The environment variable that carries the value of a placeholder. No two placeholders share
// one: `.` becomes `Z_`, and a `Z` is doubled.
std::string variable_name(std::string_view placeholder);

struct Hole {
  std::string name;
  std::size_t offset = 0;  // of its brace in the source
  bool integer = false;    // the value must be one

  bool operator==(const Hole&) const = default;
};

struct ShellMistake {
  std::size_t offset = 0;
  std::string message;
  std::string carrier = {};  // the variable it is about, if that comes from outside

  bool operator==(const ShellMistake&) const = default;
};

struct ShellText {
  std::string program;                     // what bash gets; as long as the source in lines
  std::vector<Hole> holes;                 // in the order of the source
  std::vector<ShellMistake> mistakes;      // with any, the program is worth nothing
  std::vector<std::string> integers = {};  // carriers that must be integers: the program looks

  bool operator==(const ShellText&) const = default;
};

// Reads any text. Of what is no shell at all (an open quote) it makes something; `bash -n` is for
// that, and line for line the program is the source.
//
// `carriers` are environment variables that it finds with a value in them (`env` of a phase): they
// count as if it began with NAME={value}. With neither these nor placeholders nothing is a mistake.
ShellText shell_text(std::string_view source, std::span<const std::string> carriers = {});

// The text as somebody would have to write it with the values in it, each fitted to the quotes
// around it: for people to read. What has no value stays as <name>.
using ValueOf = std::function<std::optional<std::string>(const std::string& name)>;
std::string shell_text_with(std::string_view source, const ValueOf& value_of);

// What a value must not be to travel: over 100 KiB, or with a NUL in it. Empty: it is fine.
std::string refusal_of(std::string_view value);

}  // namespace reeve::runbook
