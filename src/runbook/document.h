#pragma once

#include "runbook/mistake.h"

#include <cstddef>
#include <cstdint>
#include <expected>
#include <string>
#include <string_view>
#include <vector>

// A TOML file as plain values that know where they stand. The library that reads TOML is known to
// document.cc alone.
namespace reeve::runbook {

struct Member;

struct Value {
  enum class Kind : std::uint8_t { Text, Integer, Decimal, Bool, List, Table, Moment };

  Kind kind = Kind::Table;
  Place place;
  std::string text = {};
  std::int64_t integer = 0;
  bool boolean = false;
  std::vector<Value> items = {};  // of a List
  std::vector<Member> members;    // of a Table, in the order of the file
};

struct Member {
  std::string key;
  Place place;  // of the key
  Value value;
};

struct Document {
  std::string file;    // as it is called in messages
  std::string source;  // its bytes
  Value root;

  // Where the letter at this offset of a text's value stands in the file, whatever the text's
  // quotes and escapes.
  Place place_in(const Value& text, std::size_t offset) const;
};

const Value* find(const Value& table, std::string_view key);

// "a text", "a list of texts" ...: for messages.
std::string_view name_of(Value::Kind kind);

// The first mistake of its syntax, if it has one.
std::expected<Document, Mistake> parse_document(std::string file, std::string source);

}  // namespace reeve::runbook
