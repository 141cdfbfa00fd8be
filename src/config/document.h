#pragma once

#include "config/mistake.h"

#include <cstdint>
#include <expected>
#include <string>
#include <string_view>
#include <vector>

// A TOML file as its keys, written out with their tables (`locking.task_timeout`), each with what
// it is set to and where that stands. The library that reads TOML is known to document.cc alone.
namespace reeve::config {

struct Node {
  enum class Kind : std::uint8_t { Text, Integer, Decimal, Bool, List, Table, Moment };

  Kind kind = Kind::Table;
  std::string text = {};
  std::int64_t integer = 0;
  bool boolean = false;
  std::vector<Node> items = {};  // of a List; a Table is one here only if it is empty

  bool operator==(const Node&) const = default;
};

struct Entry {
  std::string key;  // a part of it that is no plain word has its quotes: a."b c"
  Place key_place;  // of its last part
  Place value_place;
  bool in_inline_table = false;  // a = { b = 1 }
  Node value;

  bool operator==(const Entry&) const = default;
};

struct Document {
  std::vector<Entry> entries;  // from top to bottom

  const Entry* find(std::string_view key) const;
};

// The error is the first mistake of its syntax.
std::expected<Document, Mistake> parse_document(std::string_view file, std::string_view text);

// The byte at a place of the text, which may be its end.
std::size_t offset_of(std::string_view text, Place place);

}  // namespace reeve::config
