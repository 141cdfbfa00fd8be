#pragma once

#include <cstddef>
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
// runbook. A variable that gets a value and is then looked into counts as the value itself.
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

  bool operator==(const ShellMistake&) const = default;
};

struct ShellText {
  std::string program;                 // what bash gets; as long as the source in lines
  std::vector<Hole> holes;             // in the order of the source
  std::vector<ShellMistake> mistakes;  // with any, the program is worth nothing

  bool operator==(const ShellText&) const = default;
};

// Reads any text. Of what is no shell at all (an open quote) it makes something; `bash -n` is for
// that, and line for line the program is the source.
ShellText shell_text(std::string_view source);

// What a value must not be to travel: over 100 KiB, or with a NUL in it. Empty: it is fine.
std::string refusal_of(std::string_view value);

}  // namespace reeve::runbook
