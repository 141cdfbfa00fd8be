#pragma once

#include "codec/json_text.h"

#include <charconv>
#include <concepts>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

// Appends JSON to a text, value by value; it knows where commas belong and nothing else.
namespace reeve::api {

class JsonWriter {
 public:
  explicit JsonWriter(std::string& to) : to_(to) {}

  // A value begins, whatever was before.
  void start() { comma_ = false; }
  // Something was written by others, and what comes next is behind it.
  void after_value() { comma_ = true; }

  JsonWriter& begin_object() { return begin('{'); }
  JsonWriter& end_object() { return end('}'); }
  JsonWriter& begin_array() { return begin('['); }
  JsonWriter& end_array() { return end(']'); }

  // Of the field whose value comes next. Ours: needs no escapes.
  JsonWriter& key(std::string_view name) {
    comma();
    to_ += '"';
    to_ += name;
    to_ += "\":";
    comma_ = false;
    return *this;
  }

  JsonWriter& text(std::string_view text) {
    comma();
    codec::append_json_string(to_, text);
    return *this;
  }
  // A text that needs no escapes: an id, a moment.
  JsonWriter& plain(std::string_view text) {
    comma();
    to_ += '"';
    to_ += text;
    to_ += '"';
    return *this;
  }
  JsonWriter& raw(std::string_view json) {
    comma();
    to_ += json;
    return *this;
  }
  JsonWriter& boolean(bool value) { return raw(value ? "true" : "false"); }
  JsonWriter& null() { return raw("null"); }
  template <std::integral Number>
  JsonWriter& number(Number value) {
    char digits[24];
    const auto [end, error] = std::to_chars(digits, digits + sizeof digits, value);
    return raw({digits, static_cast<std::size_t>(end - digits)});
  }

  JsonWriter& field(std::string_view name, std::string_view value) { return key(name).text(value); }
  JsonWriter& field(std::string_view name, const char* value) { return key(name).text(value); }
  JsonWriter& field(std::string_view name, bool value) { return key(name).boolean(value); }
  template <std::integral Number>
  JsonWriter& field(std::string_view name, Number value) {
    return key(name).number(value);
  }
  template <class T>
  JsonWriter& field(std::string_view name, const std::optional<T>& value) {
    return value ? field(name, *value) : *this;
  }

 private:
  void comma() {
    if (comma_) to_ += ',';
    comma_ = true;
  }
  JsonWriter& begin(char mark) {
    comma();
    to_ += mark;
    comma_ = false;
    return *this;
  }
  JsonWriter& end(char mark) {
    to_ += mark;
    comma_ = true;
    return *this;
  }

  std::string& to_;
  bool comma_ = false;
};

}  // namespace reeve::api
