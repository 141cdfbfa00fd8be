#include "cli/json.h"

#include "codec/json_text.h"

#include <charconv>

namespace reeve::cli {

namespace {

template <class T>
T number_of(std::string_view text) {
  T value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc{} ? value : T{0};
}

// The text with every byte that is not UTF-8 replaced, so that what we write is always JSON.
std::string as_utf8(std::string_view text) {
  std::string good;
  for (std::size_t i = 0; i < text.size();) {
    std::size_t length = 1;
    while (length <= 4 && i + length <= text.size() && !codec::is_utf8(text.substr(i, length))) {
      ++length;
    }
    if (length <= 4 && i + length <= text.size()) {
      good += text.substr(i, length);
      i += length;
    } else {
      good += "\xef\xbf\xbd";
      ++i;
    }
  }
  return good;
}

void append_string(std::string& to, std::string_view text) {
  if (codec::is_utf8(text)) {
    codec::append_json_string(to, text);
  } else {
    codec::append_json_string(to, as_utf8(text));
  }
}

}  // namespace

Json Json::raw(std::string text) {
  Json json;
  json.value_ = Raw{std::move(text)};
  return json;
}

const std::string& Json::text() const {
  static const std::string none;
  if (const auto* text = std::get_if<std::string>(&value_)) return *text;
  if (const auto* number = std::get_if<Number>(&value_)) return number->text;
  if (const auto* raw = std::get_if<Raw>(&value_)) return raw->text;
  return none;
}

bool Json::truth() const {
  const auto* truth = std::get_if<bool>(&value_);
  return truth != nullptr && *truth;
}

std::int64_t Json::number() const {
  const auto* number = std::get_if<Number>(&value_);
  return number == nullptr ? 0 : number_of<std::int64_t>(number->text);
}

std::uint64_t Json::natural() const {
  const auto* number = std::get_if<Number>(&value_);
  return number == nullptr ? 0 : number_of<std::uint64_t>(number->text);
}

const Json::Array& Json::items() const {
  static const Array none;
  const auto* array = std::get_if<Array>(&value_);
  return array == nullptr ? none : *array;
}

const Json::Object& Json::members() const {
  static const Object none;
  const auto* object = std::get_if<Object>(&value_);
  return object == nullptr ? none : *object;
}

const Json& Json::operator[](std::string_view name) const {
  static const Json none;
  for (const Member& member : members()) {
    if (member.first == name) return member.second;
  }
  return none;
}

Json& Json::set(std::string_view name, Json value) {
  if (!is_object()) value_ = Object{};
  Object& object = std::get<Object>(value_);
  for (Member& member : object) {
    if (member.first != name) continue;
    member.second = std::move(value);
    return *this;
  }
  object.emplace_back(std::string(name), std::move(value));
  return *this;
}

Json& Json::push(Json value) {
  if (!is_array()) value_ = Array{};
  std::get<Array>(value_).push_back(std::move(value));
  return *this;
}

void Json::append_to(std::string& to) const {
  if (is_null()) {
    to += "null";
  } else if (const auto* truth = std::get_if<bool>(&value_)) {
    to += *truth ? "true" : "false";
  } else if (is_string()) {
    append_string(to, text());
  } else if (is_array()) {
    to += '[';
    for (const Json& item : items()) {
      if (to.back() != '[') to += ',';
      item.append_to(to);
    }
    to += ']';
  } else if (is_object()) {
    to += '{';
    bool first = true;
    for (const Member& member : members()) {
      if (!first) to += ',';
      first = false;
      append_string(to, member.first);
      to += ':';
      member.second.append_to(to);
    }
    to += '}';
  } else {
    to += text();
  }
}

std::string Json::write() const {
  std::string text;
  append_to(text);
  return text;
}

class JsonParser {
 public:
  explicit JsonParser(std::string_view text) : cursor_(text) {}

  bool read(Json& into, std::size_t depth) {
    if (depth == 0) return false;
    switch (cursor_.kind()) {
      case codec::JsonKind::Object:
        return read_object(into, depth);
      case codec::JsonKind::Array:
        return read_array(into, depth);
      case codec::JsonKind::String: {
        std::string text;
        if (!cursor_.read_string(text)) return false;
        into = Json(std::move(text));
        return true;
      }
      case codec::JsonKind::Number: {
        std::string_view text;
        if (!cursor_.read_number(text)) return false;
        into.value_ = Json::Number{std::string(text)};
        return true;
      }
      case codec::JsonKind::True:
        into = Json(true);
        return cursor_.read_word("true");
      case codec::JsonKind::False:
        into = Json(false);
        return cursor_.read_word("false");
      case codec::JsonKind::Null:
        into = Json();
        return cursor_.read_word("null");
      case codec::JsonKind::None:
        return false;
    }
    return false;
  }

  bool is_at_end() const { return cursor_.is_at_end(); }

 private:
  bool read_object(Json& into, std::size_t depth) {
    Json::Object object;
    if (!cursor_.read_mark('{')) return false;
    if (!cursor_.skip_if('}')) {
      do {
        Json::Member& member = object.emplace_back();
        if (!cursor_.read_string(member.first) || !cursor_.read_mark(':')) return false;
        if (!read(member.second, depth - 1)) return false;
      } while (cursor_.skip_if(','));
      if (!cursor_.read_mark('}')) return false;
    }
    into.value_ = std::move(object);
    return true;
  }

  bool read_array(Json& into, std::size_t depth) {
    Json::Array array;
    if (!cursor_.read_mark('[')) return false;
    if (!cursor_.skip_if(']')) {
      do {
        if (!read(array.emplace_back(), depth - 1)) return false;
      } while (cursor_.skip_if(','));
      if (!cursor_.read_mark(']')) return false;
    }
    into.value_ = std::move(array);
    return true;
  }

  codec::JsonCursor cursor_;
};

std::optional<Json> parse_json(std::string_view text, std::size_t depth) {
  JsonParser parser(text);
  Json json;
  if (!parser.read(json, depth) || !parser.is_at_end()) return std::nullopt;
  return json;
}

Json json_of(std::initializer_list<std::pair<std::string_view, Json>> members) {
  Json object = Json::object();
  for (const auto& [name, value] : members) {
    if (!value.is_null()) object.set(name, value);
  }
  return object;
}

}  // namespace reeve::cli
