#include "runbook/document.h"

#include "base/toml.h"
#include "base/toml_keys.h"

#include <algorithm>
#include <utility>

namespace reeve::runbook {
namespace {

constexpr int deepest = 32;

Place place_of(const toml::source_position& position) {
  return {std::max<std::uint32_t>(position.line, 1), std::max<std::uint32_t>(position.column, 1)};
}

Value value_of(const toml::node& node, int depth);

Value table_of(const toml::table& table, int depth) {
  Value value;
  value.kind = Value::Kind::Table;
  value.place = place_of(table.source().begin);
  if (depth > deepest) return value;
  for (const auto& [key, node] : table) {
    value.members.push_back(
        {std::string(key.str()), place_of(key.source().begin), value_of(node, depth + 1)});
  }
  // The library keeps them by name.
  std::ranges::stable_sort(value.members, {}, &Member::place);
  return value;
}

Value value_of(const toml::node& node, int depth) {
  if (const toml::table* table = node.as_table()) return table_of(*table, depth);
  Value value;
  value.place = place_of(node.source().begin);
  if (const toml::array* array = node.as_array()) {
    value.kind = Value::Kind::List;
    if (depth > deepest) return value;
    for (const toml::node& item : *array) value.items.push_back(value_of(item, depth + 1));
  } else if (const auto* text = node.as_string()) {
    value.kind = Value::Kind::Text;
    value.text = text->get();
  } else if (const auto* integer = node.as_integer()) {
    value.kind = Value::Kind::Integer;
    value.integer = integer->get();
  } else if (const auto* boolean = node.as_boolean()) {
    value.kind = Value::Kind::Bool;
    value.boolean = boolean->get();
  } else if (node.is_floating_point()) {
    value.kind = Value::Kind::Decimal;
  } else {
    value.kind = Value::Kind::Moment;
  }
  return value;
}

bool continues_character(char byte) { return (static_cast<unsigned char>(byte) & 0xC0U) == 0x80U; }

// A finger on the source.
struct Finger {
  std::string_view source;
  std::size_t at = 0;
  Place place = {};

  bool more() const { return at < source.size(); }
  bool starts(std::string_view text) const { return source.substr(at).starts_with(text); }
  void step() {
    const char letter = source[at++];
    if (letter == '\n') {
      ++place.line;
      place.column = 1;
    } else if (at >= source.size() || !continues_character(source[at])) {
      ++place.column;
    }
  }
  void steps(std::size_t count) {
    for (; count > 0 && more(); --count) step();
  }
};

std::size_t bytes_of_code_point(unsigned long code) {
  return code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
}

// Steps over one escape or letter between double quotes; says how many bytes of the value it is.
std::size_t step_letter(Finger& finger, bool multi_line) {
  if (!finger.starts("\\")) {
    // Characters are taken whole; a newline of two bytes stays as it is.
    finger.step();
    return 1;
  }
  const char kind = finger.at + 1 < finger.source.size() ? finger.source[finger.at + 1] : '\0';
  if (kind == 'u' || kind == 'U') {
    const std::size_t digits = kind == 'u' ? 4 : 8;
    const std::string hex(finger.source.substr(finger.at + 2, digits));
    finger.steps(2 + digits);
    return bytes_of_code_point(std::strtoul(hex.c_str(), nullptr, 16));
  }
  if (kind == 'x') {
    const std::string hex(finger.source.substr(finger.at + 2, 2));
    finger.steps(4);
    return bytes_of_code_point(std::strtoul(hex.c_str(), nullptr, 16));
  }
  const bool folds = multi_line && (kind == '\n' || kind == ' ' || kind == '\t' || kind == '\r');
  finger.steps(folds ? 1 : 2);
  if (!folds) return 1;
  while (finger.more() &&
         std::string_view(" \t\r\n").find(finger.source[finger.at]) != std::string_view::npos) {
    finger.step();
  }
  return 0;
}

}  // namespace

Place Document::place_in(const Value& text, std::size_t offset) const {
  Finger finger{source};
  if (finger.starts("\xEF\xBB\xBF")) finger.at = 3;
  while (finger.more() && finger.place < text.place) finger.step();
  const bool three = finger.starts("\"\"\"") || finger.starts("'''");
  const bool literal = finger.starts("'");
  if (!literal && !finger.starts("\"")) return text.place;
  finger.steps(three ? 3 : 1);
  if (three && finger.starts("\r\n")) finger.step();
  if (three && finger.starts("\n")) finger.step();
  std::size_t passed = 0;
  while (finger.more() && passed < offset) {
    if (literal) {
      finger.step();
      ++passed;
    } else {
      passed += step_letter(finger, three);
    }
  }
  // A fold stands before the letter that is asked for.
  while (!literal && three && finger.starts("\\\n")) step_letter(finger, true);
  return finger.place;
}

const Value* find(const Value& table, std::string_view key) {
  for (const Member& member : table.members) {
    if (member.key == key) return &member.value;
  }
  return nullptr;
}

std::string_view name_of(Value::Kind kind) {
  switch (kind) {
    case Value::Kind::Text:
      return "a text";
    case Value::Kind::Integer:
      return "a whole number";
    case Value::Kind::Decimal:
      return "a decimal number";
    case Value::Kind::Bool:
      return "true or false";
    case Value::Kind::List:
      return "a list";
    case Value::Kind::Table:
      return "a table";
    case Value::Kind::Moment:
      return "a date or time";
  }
  return "";
}

std::expected<Document, Mistake> parse_document(std::string file, std::string source) {
  if (auto refused = refused_key(source)) {
    return std::unexpected(
        Mistake{std::move(file), {refused->line, refused->column}, std::move(refused->message)});
  }
  const toml::parse_result result = toml::parse(std::string_view(source), std::string_view(file));
  if (!result) {
    std::string message(result.error().description());
    for (char& letter : message) {
      if (letter == '\n') letter = ' ';
    }
    return std::unexpected(
        Mistake{std::move(file), place_of(result.error().source().begin), "not TOML: " + message});
  }
  return Document{std::move(file), std::move(source), table_of(result.table(), 0)};
}

}  // namespace reeve::runbook
