#include "runbook/shell_text.h"

#include "core/limits.h"
#include "runbook/shell_scan.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace reeve::runbook {
namespace {

// Looks at every value before the program begins, on the program's own first line.
std::string prologue_for(const std::vector<Hole>& holes, const std::vector<std::string>& carriers) {
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
  for (const std::string& name : carriers) {
    integers += look(fmt::format("${{{}-}} =~ ^-?(0|[123456789][0123456789]{{0,17}})$", name),
                     fmt::format("{} of `env` is calculated with: it must be an integer", name),
                     126);
  }
  return there + integers;
}

std::string edited(std::string_view source, const std::vector<shell::Edit>& edits) {
  std::string text;
  std::size_t done = 0;
  for (const shell::Edit& edit : edits) {
    text += source.substr(done, edit.offset - done);
    text += edit.text;
    done = edit.offset + edit.length;
  }
  return text += source.substr(done);
}

// ── Values for people to read ──

std::string escaped(std::string_view value, std::string_view special) {
  std::string text;
  for (const char letter : value) {
    if (special.find(letter) != std::string_view::npos) text += '\\';
    text += letter;
  }
  return text;
}

std::string within_single_quotes(std::string_view value) {
  std::string text;
  for (const char letter : value) text += letter == '\'' ? "'\\''" : std::string(1, letter);
  return text;
}

// What needs no quotes, or stands for a value that nobody knows yet: <name>.
bool is_simple(std::string_view value) {
  return !value.empty() && std::ranges::all_of(value, [](char letter) {
    return (letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z') ||
           (letter >= '0' && letter <= '9') ||
           std::string_view("_./:@%+=,-<>").find(letter) != std::string_view::npos;
  });
}

std::string fitted(const std::string& value, shell::Quotes quotes) {
  switch (quotes) {
    case shell::Quotes::None:
      return is_simple(value) ? value : "'" + within_single_quotes(value) + "'";
    case shell::Quotes::Single:
      return within_single_quotes(value);
    case shell::Quotes::Ansi:
      return escaped(value, "\\'");
    case shell::Quotes::Double:
    case shell::Quotes::Arithmetic:
      return escaped(value, "\\\"$`");
    case shell::Quotes::HereDocument:
      return escaped(value, "\\$`");
  }
  return value;
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

ShellText shell_text(std::string_view source, std::span<const std::string> carriers) {
  shell::Scanner scanner(source, carriers);
  scanner.run();
  ShellText result;
  result.holes = std::move(scanner.holes);
  result.mistakes = std::move(scanner.mistakes);
  result.integers.assign(scanner.integers.begin(), scanner.integers.end());
  // Of several at one place the first: a placeholder is told once what is wrong with it.
  const auto place = [](const ShellMistake& each) { return std::pair(each.offset, each.carrier); };
  std::ranges::stable_sort(result.mistakes, {}, place);
  const auto again = std::ranges::unique(result.mistakes, {}, place);
  result.mistakes.erase(again.begin(), again.end());
  result.program = prologue_for(result.holes, result.integers);
  result.program += edited(source, scanner.edits);
  return result;
}

std::string shell_text_with(std::string_view source, const ValueOf& value_of) {
  shell::Scanner scanner(source);
  scanner.write_with([&](const std::string& name, shell::Quotes quotes) {
    const std::optional<std::string> value = value_of(name);
    return value ? fitted(*value, quotes) : "<" + name + ">";
  });
  scanner.run();
  return edited(source, scanner.edits);
}

std::string refusal_of(std::string_view value) {
  if (value.size() > limits::value_bytes) return "is longer than 100 KiB";
  if (value.find('\0') != std::string_view::npos) return "contains a NUL";
  return {};
}

}  // namespace reeve::runbook
