#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

// A value of JSON as the command line needs it: small, in the order it was written, and never wrong
// about a number. Numbers are kept as their text, so a token of 64 bits comes out as it went in.
//
// Reading never throws: what is not there is null, and every accessor of another kind gives nothing
// (an empty text, no members, zero). Answers of a newer daemon are read as far as they are known.
namespace reeve::cli {

class Json {
 public:
  using Member = std::pair<std::string, Json>;
  using Array = std::vector<Json>;
  using Object = std::vector<Member>;

  Json() = default;
  Json(std::string text) : value_(std::move(text)) {}         // NOLINT(google-explicit-constructor)
  Json(std::string_view text) : value_(std::string(text)) {}  // NOLINT(google-explicit-constructor)
  Json(const char* text) : value_(std::string(text)) {}       // NOLINT(google-explicit-constructor)
  Json(bool truth) : value_(truth) {}                         // NOLINT(google-explicit-constructor)
  Json(std::int64_t number) : value_(Number{std::to_string(number)}) {}   // NOLINT
  Json(std::uint64_t number) : value_(Number{std::to_string(number)}) {}  // NOLINT
  Json(int number) : value_(Number{std::to_string(number)}) {}            // NOLINT
  Json(Array array) : value_(std::move(array)) {}     // NOLINT(google-explicit-constructor)
  Json(Object object) : value_(std::move(object)) {}  // NOLINT(google-explicit-constructor)

  static Json array() { return Json(Array{}); }
  static Json object() { return Json(Object{}); }
  // Text that is JSON already, written as it stands.
  static Json raw(std::string text);

  bool is_null() const { return std::holds_alternative<std::monostate>(value_); }
  bool is_string() const { return std::holds_alternative<std::string>(value_); }
  bool is_number() const { return std::holds_alternative<Number>(value_); }
  bool is_array() const { return std::holds_alternative<Array>(value_); }
  bool is_object() const { return std::holds_alternative<Object>(value_); }

  const std::string& text() const;
  bool truth() const;
  std::int64_t number() const;
  std::uint64_t natural() const;
  const Array& items() const;
  const Object& members() const;

  // The member of that name, or null.
  const Json& operator[](std::string_view name) const;
  bool has(std::string_view name) const { return !(*this)[name].is_null(); }
  // Makes this an object if it is none; a member of that name is replaced where it stands.
  Json& set(std::string_view name, Json value);
  Json& push(Json value);

  // On one line. What is not UTF-8 in a text is replaced.
  std::string write() const;

  bool operator==(const Json&) const = default;

 private:
  struct Number {
    std::string text;
    bool operator==(const Number&) const = default;
  };
  struct Raw {
    std::string text;
    bool operator==(const Raw&) const = default;
  };

  void append_to(std::string& to) const;

  std::variant<std::monostate, bool, Number, std::string, Array, Object, Raw> value_;
  friend class JsonParser;
};

// What somebody writes is nested so deep at most; what the daemon answers has that inside of it,
// and levels of its own around it.
inline constexpr std::size_t json_depth = 64;
inline constexpr std::size_t answer_depth = 2 * json_depth;

// The one value that the text is.
std::optional<Json> parse_json(std::string_view text, std::size_t depth = json_depth);

// An object of these members, leaving out those that are null.
Json json_of(std::initializer_list<std::pair<std::string_view, Json>> members);

}  // namespace reeve::cli
