#include "config/document.h"

#include "base/toml.h"
#include "base/toml_keys.h"

#include <algorithm>
#include <utility>

namespace reeve::config {
namespace {

constexpr int deepest = 32;

Place place_of(const toml::source_position& position) {
  return {std::max<std::uint32_t>(position.line, 1), std::max<std::uint32_t>(position.column, 1)};
}

bool is_plain(std::string_view key) {
  return !key.empty() && std::ranges::all_of(key, [](char letter) {
    return (letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z') ||
           (letter >= '0' && letter <= '9') || letter == '_' || letter == '-';
  });
}

Node node_of(const toml::node& from, int depth) {
  Node node;
  if (const toml::array* array = from.as_array()) {
    node.kind = Node::Kind::List;
    if (depth > deepest) return node;
    for (const toml::node& item : *array) node.items.push_back(node_of(item, depth + 1));
  } else if (from.is_table()) {
    node.kind = Node::Kind::Table;
  } else if (const auto* text = from.as_string()) {
    node.kind = Node::Kind::Text;
    node.text = text->get();
  } else if (const auto* integer = from.as_integer()) {
    node.kind = Node::Kind::Integer;
    node.integer = integer->get();
  } else if (const auto* boolean = from.as_boolean()) {
    node.kind = Node::Kind::Bool;
    node.boolean = boolean->get();
  } else if (from.is_floating_point()) {
    node.kind = Node::Kind::Decimal;
  } else {
    node.kind = Node::Kind::Moment;
  }
  return node;
}

void add_entries(std::vector<Entry>& entries,
                 const toml::table& table,
                 const std::string& before,
                 bool is_inline,
                 int depth) {
  for (const auto& [key, value] : table) {
    const std::string_view name = key.str();
    std::string whole = before;
    if (is_plain(name)) {
      whole += name;
    } else {
      whole.append("\"").append(name).append("\"");
    }
    const toml::table* const inner = value.as_table();
    if (inner && !inner->empty() && depth < deepest) {
      add_entries(entries, *inner, whole + ".", is_inline || inner->is_inline(), depth + 1);
      continue;
    }
    entries.push_back({std::move(whole),
                       place_of(key.source().begin),
                       place_of(value.source().begin),
                       is_inline,
                       node_of(value, depth)});
  }
}

}  // namespace

const Entry* Document::find(std::string_view key) const {
  const auto found = std::ranges::find(entries, key, &Entry::key);
  return found == entries.end() ? nullptr : &*found;
}

std::expected<Document, Mistake> parse_document(std::string_view file, std::string_view text) {
  if (auto refused = refused_key(text)) {
    return std::unexpected(
        Mistake{std::string(file), {refused->line, refused->column}, std::move(refused->message)});
  }
  const toml::parse_result result = toml::parse(text, file);
  if (!result) {
    std::string message(result.error().description());
    std::ranges::replace(message, '\n', ' ');
    return std::unexpected(Mistake{
        std::string(file), place_of(result.error().source().begin), "not TOML: " + message});
  }
  Document document;
  add_entries(document.entries, result.table(), "", false, 0);
  // The library keeps them by name.
  std::ranges::stable_sort(document.entries, {}, &Entry::key_place);
  return document;
}

std::size_t offset_of(std::string_view text, Place place) {
  std::size_t at = text.starts_with("\xEF\xBB\xBF") ? 3 : 0;
  for (std::uint32_t line = 1; line < place.line; ++line) {
    const std::size_t end = text.find('\n', at);
    if (end == std::string_view::npos) return text.size();
    at = end + 1;
  }
  const auto continues = [&](std::size_t byte) {
    return byte < text.size() && (static_cast<unsigned char>(text[byte]) & 0xC0U) == 0x80U;
  };
  for (std::uint32_t column = 1; column < place.column && at < text.size(); ++column) {
    ++at;
    while (continues(at)) ++at;
  }
  return at;
}

}  // namespace reeve::config
