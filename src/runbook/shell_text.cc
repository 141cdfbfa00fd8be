#include "runbook/shell_text.h"

#include "core/limits.h"
#include "runbook/shell_scan.h"

#include <algorithm>

namespace reeve::runbook {
namespace {

// Looks at every value before the program begins, on the program's own first line.
std::string prologue_for(const std::vector<Hole>& holes) {
  std::vector<std::string> seen;
  std::string there;
  std::string integers;
  const auto is_new = [&](const std::string& name) {
    if (std::ranges::find(seen, name) != seen.end()) return false;
    seen.push_back(name);
    return true;
  };
  for (const Hole& hole : holes) {
    if (!is_new(hole.name)) continue;
    there += " \"${" + variable_name(hole.name) + "?" + hole.name + " has no value}\"";
  }
  seen.clear();
  for (const Hole& hole : holes) {
    if (!hole.integer || !is_new(hole.name)) continue;
    integers += "[[ ${" + variable_name(hole.name) +
                "} =~ ^-?(0|[123456789][0123456789]{0,17})$ ]] || { echo '{" + hole.name +
                "} stands where bash calculates: it must be an integer' >&2; exit 126; }; ";
  }
  return there.empty() ? "" : ":" + there + "; " + integers;
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
