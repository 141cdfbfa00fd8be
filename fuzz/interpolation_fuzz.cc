// Links: runbook core
//
// Placeholders, in plain text and in shell text. A value is put in as it is, whatever it is; the
// names that a text asks for are those it needs; and no value is part of a program.

#include "core/interpolate.h"
#include "fuzz/input.h"
#include "runbook/shell_text.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

using namespace reeve;
using fuzz::require;

namespace {

// No text has it: those that do are left out.
constexpr std::string_view marker = "\x01";

std::string replaced(std::string text, std::string_view by) {
  for (std::size_t at = 0; (at = text.find(marker, at)) != std::string::npos; at += by.size()) {
    text.replace(at, marker.size(), by);
  }
  return text;
}

void plain(std::string_view text, std::string_view value) {
  if (text.find(marker) != std::string_view::npos) return;
  const std::vector<std::string> names = placeholders_in(text);
  Variables marked;
  Variables real;
  for (const std::string& name : names) {
    require(std::ranges::count(names, name) == 1, "each name once");
    marked.emplace_back(name, marker);
    real.emplace_back(name, value);
  }
  const auto with_marker = interpolate(text, marked);
  const auto with_value = interpolate(text, real);
  require(std::holds_alternative<std::string>(with_marker), "all names are known");
  require(std::holds_alternative<std::string>(with_value), "whatever their values are");
  require(std::get<std::string>(with_value) == replaced(std::get<std::string>(with_marker), value),
          "a value is put in as it is");
  if (names.empty()) return;
  marked.erase(marked.begin());
  require(
      interpolate(text, marked) == std::variant<std::string, UnknownName>(UnknownName{names[0]}),
      "a name without a value is named");
}

void shell(std::string_view text) {
  const runbook::ShellText made = runbook::shell_text(text);
  require(made == runbook::shell_text(text), "the same text, the same program");
  for (const runbook::Hole& hole : made.holes) {
    require(hole.offset < text.size(), "a placeholder is in the text");
    require(text.substr(hole.offset).starts_with("{" + hole.name + "}"), "where it is said to be");
  }
  for (const runbook::ShellMistake& mistake : made.mistakes) {
    require(mistake.offset <= text.size() && !mistake.message.empty(), "a mistake has its place");
    require(mistake.carrier.empty(), "and is about the text, if nothing is carried to it");
  }
  const std::vector<std::string> carriers = {"V"};
  const runbook::ShellText carried = runbook::shell_text(text, carriers);
  require(carried.holes.size() == made.holes.size(), "what is carried is no part of the text");
  require(carried.mistakes.size() >= made.mistakes.size(), "nor makes it better");
  for (const runbook::ShellMistake& mistake : carried.mistakes) {
    require(mistake.carrier.empty() || mistake.carrier == "V", "it is told of by its name");
  }
  const std::string shown =
      runbook::shell_text_with(text, [](const std::string&) { return std::string("1"); });
  if (text.find('{') == std::string_view::npos) {
    require(shown == text, "what has no placeholder is shown as it is");
  }
  if (!made.mistakes.empty()) return;
  require(std::ranges::count(made.program, '\n') == std::ranges::count(text, '\n'),
          "line for line the program is the source");
  if (text.find('{') != std::string_view::npos) return;
  require(made.program == text && made.holes.empty(), "without a brace nothing changes");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz::Input input(data, size);
  const auto value_size = input.take<std::uint8_t>();
  const std::string_view value = input.take(value_size % 32);
  const std::string_view text = input.rest();
  plain(text, value);
  shell(text);
  return 0;
}
