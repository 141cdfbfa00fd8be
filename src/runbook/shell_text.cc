#include "runbook/shell_text.h"

#include "core/limits.h"
#include "runbook/shell_scan.h"

#include <fmt/format.h>

#include <algorithm>

namespace reeve::runbook {
namespace {

// Looks at every value before the program begins, on the program's own first line.
std::string prologue_for(const std::vector<Hole>& holes) {
  std::string there;
  std::string integers;
  std::vector<std::string> seen;
  std::vector<std::string> looked_at;
  const auto is_new = [](std::vector<std::string>& names, const std::string& name) {
    if (std::ranges::find(names, name) != names.end()) return false;
    names.push_back(name);
    return true;
  };
  const auto look = [](const std::string& condition, const std::string& complaint, int code) {
    return fmt::format("[[ {} ]] || {{ echo '{}' >&2; exit {}; }}; ", condition, complaint, code);
  };
  for (const Hole& hole : holes) {
    const std::string variable = variable_name(hole.name);
    if (is_new(seen, hole.name)) {
      there += look(
          fmt::format("${{{}+x}}", variable), fmt::format("{{{}}} has no value", hole.name), 127);
    }
    if (hole.integer && is_new(looked_at, hole.name)) {
      integers +=
          look(fmt::format("${{{}}} =~ ^-?(0|[123456789][0123456789]{{0,17}})$", variable),
               fmt::format("{{{}}} stands where bash calculates: it must be an integer", hole.name),
               126);
    }
  }
  return there + integers;
}

}  // namespace

std::string variable_name(std::string_view placeholder) {
  std::string name = "REEVE_V_";
  for (const char letter : placeholder) {
    if (letter == '.') {
      name += "Z_";
    } else if (letter == 'Z') {
      name += "ZZ";
    } else {
      name += letter;
    }
  }
  return name;
}

ShellText shell_text(std::string_view source) {
  shell::Scanner scanner(source);
  scanner.run();
  ShellText result;
  result.holes = std::move(scanner.holes);
  result.mistakes = std::move(scanner.mistakes);
  // Of several at one place the first: a placeholder is told once what is wrong with it.
  std::ranges::stable_sort(result.mistakes, {}, &ShellMistake::offset);
  const auto again = std::ranges::unique(result.mistakes, {}, &ShellMistake::offset);
  result.mistakes.erase(again.begin(), again.end());
  result.program = prologue_for(result.holes);
  std::size_t done = 0;
  for (const shell::Edit& edit : scanner.edits) {
    result.program += source.substr(done, edit.offset - done);
    result.program += edit.text;
    done = edit.offset + edit.length;
  }
  result.program += source.substr(done);
  return result;
}

std::string refusal_of(std::string_view value) {
  if (value.size() > limits::value_bytes) return "is longer than 100 KiB";
  if (value.find('\0') != std::string_view::npos) return "contains a NUL";
  return {};
}

}  // namespace reeve::runbook
