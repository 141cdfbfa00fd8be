#include "config/edit.h"

#include "config/document.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <vector>

namespace reeve::config {
namespace {

// Behind a string of TOML that begins here.
std::size_t behind_string(std::string_view text, std::size_t at) {
  const char quote = text[at];
  const std::string three(3, quote);
  const bool is_long = text.substr(at).starts_with(three);
  at += is_long ? 3 : 1;
  while (at < text.size()) {
    if (quote == '"' && text[at] == '\\') {
      at += 2;
    } else if (is_long && text.substr(at).starts_with(three)) {
      at += 3;
      // Two quotes may stand before the three that end it.
      while (at < text.size() && text[at] == quote) ++at;
      return at;
    } else if (!is_long && text[at] == quote) {
      return at + 1;
    } else {
      ++at;
    }
  }
  return text.size();
}

std::size_t behind_comment(std::string_view text, std::size_t at) {
  return std::min(text.find('\n', at), text.size());
}

// Behind a value that begins here.
std::size_t behind_value(std::string_view text, std::size_t at) {
  if (at >= text.size()) return text.size();
  if (text[at] == '"' || text[at] == '\'') return behind_string(text, at);
  if (text[at] != '[' && text[at] != '{') {
    return std::min(text.find_first_of(",]}# \t\r\n", at), text.size());
  }
  std::size_t depth = 0;
  while (at < text.size()) {
    const char letter = text[at];
    if (letter == '"' || letter == '\'') {
      at = behind_string(text, at);
      continue;
    }
    if (letter == '#') {
      at = behind_comment(text, at);
      continue;
    }
    if (letter == '[' || letter == '{') ++depth;
    if (letter == ']' || letter == '}') --depth;
    ++at;
    if (depth == 0) return at;
  }
  return text.size();
}

std::string_view table_of(std::string_view key) { return key.substr(0, key.rfind('.')); }
std::string_view last_of(std::string_view key) { return key.substr(key.rfind('.') + 1); }

// Where the line of this byte ends, before its newline; and where the next one begins.
std::size_t line_end(std::string_view text, std::size_t at) {
  return std::min(text.find('\n', at), text.size());
}
std::size_t next_line(std::string_view text, std::size_t at) {
  return std::min(line_end(text, at) + 1, text.size());
}
std::size_t line_begin(std::string_view text, std::size_t at) {
  const std::size_t before = at == 0 ? std::string_view::npos : text.rfind('\n', at - 1);
  return before == std::string_view::npos ? 0 : before + 1;
}

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view blanks = " \t\r\n";
  const std::size_t first = text.find_first_not_of(blanks);
  if (first == std::string_view::npos) return "";
  return text.substr(first, text.find_last_not_of(blanks) - first + 1);
}

// `[locking]` or `[ locking ]`, perhaps with a comment.
bool is_header_of(std::string_view line, std::string_view table) {
  line = trimmed(line);
  if (!line.starts_with('[') || line.starts_with("[[")) return false;
  const std::size_t end = line.find(']');
  return end != std::string_view::npos && trimmed(line.substr(1, end - 1)) == table;
}

std::string newline_of(std::string_view text) {
  return text.find("\r\n") == std::string_view::npos ? "\n" : "\r\n";
}

// The text with a line put in at this byte, which is the beginning of one or the end of all.
std::string with_line(std::string_view text, std::size_t at, const std::string& line) {
  const std::string newline = newline_of(text);
  std::string whole(text.substr(0, at));
  if (!whole.empty() && !whole.ends_with('\n')) whole += newline;
  whole += line + newline;
  whole += text.substr(at);
  return whole;
}

// Where the lines of values begin and end: a header within a long string is none.
bool is_within_value(const Document& document, std::string_view text, std::size_t at) {
  return std::ranges::any_of(document.entries, [&](const Entry& entry) {
    const std::size_t begin = offset_of(text, entry.value_place);
    return begin < at && at < behind_value(text, begin);
  });
}

std::optional<std::size_t> header_of(const Document& document,
                                     std::string_view text,
                                     std::string_view table) {
  for (std::size_t at = 0; at < text.size(); at = next_line(text, at)) {
    const std::string_view line = text.substr(at, line_end(text, at) - at);
    if (is_header_of(line, table) && !is_within_value(document, text, at)) return at;
    if (line_end(text, at) == text.size()) break;
  }
  return std::nullopt;
}

std::string put_in(const Document& document,
                   std::string_view text,
                   const Key& key,
                   std::string_view value) {
  const std::string_view table = table_of(key.name);
  const std::string line = fmt::format("{} = {}", last_of(key.name), value);
  const Entry* neighbour = nullptr;  // the last of the same table
  for (const Entry& entry : document.entries) {
    if (entry.key.rfind('.') != std::string::npos && table_of(entry.key) == table) {
      neighbour = &entry;
    }
  }
  if (const Entry* empty = document.find(table)) {
    const std::size_t begin = offset_of(text, empty->value_place);
    if (begin < text.size() && text[begin] == '{') {
      const std::size_t end = behind_value(text, begin);
      return fmt::format("{}{{ {} }}{}", text.substr(0, begin), line, text.substr(end));
    }
  }
  const auto header = header_of(document, text, table);
  if (!neighbour && header) return with_line(text, next_line(text, *header), line);
  if (!neighbour) {
    const std::string newline = newline_of(text);
    const bool is_empty = trimmed(text).empty();
    return with_line(text,
                     text.size(),
                     fmt::format("{}[{}]{}{}", is_empty ? "" : newline, table, newline, line));
  }
  const std::size_t value_at = offset_of(text, neighbour->value_place);
  const std::size_t end = behind_value(text, value_at);
  if (neighbour->in_inline_table) {
    return fmt::format("{}, {}{}", text.substr(0, end), line, text.substr(end));
  }
  // As its neighbour is written: below a header with its last word only, else with all of it.
  const std::size_t key_at = offset_of(text, neighbour->key_place);
  const std::size_t begin = line_begin(text, key_at);
  const std::string_view indent = text.substr(begin, text.find_first_not_of(" \t", begin) - begin);
  const std::string_view written = text.substr(begin, value_at - begin);
  const bool is_dotted = written.find('.') < written.find('=');
  return with_line(
      text,
      next_line(text, end),
      fmt::format("{}{}", indent, is_dotted ? fmt::format("{}.{}", table, line) : line));
}

// Nothing but this key has changed.
Result<std::string> checked(std::string_view file,
                            const Document& before,
                            std::string after,
                            std::string_view key,
                            bool is_there) {
  const auto values = [&](const Document& document) {
    std::vector<std::pair<std::string, Node>> all;
    for (const Entry& entry : document.entries) {
      // A table that has become empty, or was, is nothing that anybody has said.
      const bool says_nothing = entry.value.kind == Node::Kind::Table;
      if (entry.key != key && !says_nothing) all.emplace_back(entry.key, entry.value);
    }
    std::ranges::sort(all, {}, &std::pair<std::string, Node>::first);
    return all;
  };
  const auto document = parse_document(file, after);
  if (!document || values(*document) != values(before) ||
      (document->find(key) != nullptr) != is_there) {
    return fail(
        Error::Code::Conflict,
        fmt::format("{} is written in a way that this command cannot change; edit it by hand",
                    file));
  }
  return after;
}

}  // namespace

Result<std::string> with_key(std::string_view file,
                             std::string_view text,
                             const Key& key,
                             std::string_view value) {
  const auto document = parse_document(file, text);
  if (!document) return fail(Error::Code::BadRequest, to_text(document.error()));
  std::string after;
  if (const Entry* entry = document->find(key.name)) {
    const std::size_t begin = offset_of(text, entry->value_place);
    const std::size_t end = behind_value(text, begin);
    after = fmt::format("{}{}{}", text.substr(0, begin), value, text.substr(end));
  } else {
    after = put_in(*document, text, key, value);
  }
  return checked(file, *document, std::move(after), key.name, true);
}

Result<std::string> without_key(std::string_view file, std::string_view text, const Key& key) {
  const auto document = parse_document(file, text);
  if (!document) return fail(Error::Code::BadRequest, to_text(document.error()));
  const Entry* const entry = document->find(key.name);
  if (!entry) return fail(Error::Code::NotFound, fmt::format("{} does not set {}", file, key.name));
  const std::size_t key_at = offset_of(text, entry->key_place);
  std::size_t end = behind_value(text, offset_of(text, entry->value_place));
  std::size_t begin = line_begin(text, key_at);
  if (entry->in_inline_table) {
    // With the comma behind it, or, of the last one, with that before it.
    begin = key_at;
    const std::size_t next = text.find_first_not_of(" \t", end);
    if (next != std::string_view::npos && text[next] == ',') {
      end = std::min(text.find_first_not_of(" \t", next + 1), text.size());
    } else if (const std::size_t last = text.find_last_not_of(" \t", begin - 1);
               last != std::string_view::npos && text[last] == ',') {
      begin = last;
    }
  } else {
    end = next_line(text, end);
  }
  std::string after(text.substr(0, begin));
  after += text.substr(end);
  return checked(file, *document, std::move(after), key.name, false);
}

}  // namespace reeve::config
