#include "api/params.h"

#include "api/nearest.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>

namespace reeve::api {

std::string& Params::scratch() { return texts_.emplace_front(); }

std::string Params::path_of(std::string_view name) const {
  if (name.empty()) return path_;  // all of it
  return path_.empty() ? std::string(name) : path_ + "." + std::string(name);
}

void Params::refuse(std::string_view name, std::string_view what) {
  if (problem_.is_set()) return;
  problem_.field = path_of(name);
  problem_.message = problem_.field + " " + std::string(what);
}

void Params::expect(std::string_view name, std::string_view what, const Raw& found) {
  refuse(name,
         "must be " + std::string(what) + ", not " + std::string(codec::words_for(found.kind)));
}

void Params::read(const Raw& object) {
  count_ = 0;
  asked_count_ = 0;
  texts_.clear();
  if (object.kind == JsonKind::None || object.kind == JsonKind::Null) return;
  if (object.kind != JsonKind::Object) {
    return expect(path_.empty() ? "params" : "", "an object", object);
  }
  JsonReader reader(object.text);
  reader.enter('{');
  Raw name;
  Raw value;
  while (reader.next('}') && reader.name(name)) {
    // Only a name with escapes needs a place of its own.
    const bool plain = name.text.find('\\') == std::string_view::npos;
    const std::optional<std::string_view> text =
        plain ? name.text.substr(1, name.text.size() - 2) : text_of(name, scratch());
    if (!text) return refuse("params", "have a name that is not a text");
    // The line as a whole was read, so what is refused now is too deep; items are looked at one by
    // one.
    const bool is_list = *text == "items" && path_.empty();
    if (!reader.value(value, is_list ? limits::request_depth : limits::json_depth)) {
      return refuse(*text, fmt::format("is nested more than {} deep", limits::json_depth));
    }
    for (std::size_t i = 0; i < count_; ++i) {
      if (fields_[i].name == *text) return refuse(*text, "is there twice");
    }
    if (count_ == limits::object_fields) return refuse(*text, "is one field too many");
    fields_[count_++] = {*text, value, false};
  }
}

Params::Field* Params::find(std::string_view name) {
  if (asked_count_ < asked_.size()) asked_[asked_count_++] = name;
  for (std::size_t i = 0; i < count_; ++i) {
    if (fields_[i].name != name) continue;
    fields_[i].wanted = true;
    // Null is as absent, but where any JSON is wanted: there it is a value as any other.
    const bool is_absent = fields_[i].value.kind == JsonKind::Null && name != "data";
    return is_absent ? nullptr : &fields_[i];
  }
  return nullptr;
}

bool Params::has(std::string_view name) { return find(name) != nullptr; }

const Raw* Params::raw(std::string_view name) {
  const Field* field = find(name);
  return field ? &field->value : nullptr;
}

std::optional<std::string_view> Params::text(std::string_view name) {
  const Raw* found = raw(name);
  if (!found) return std::nullopt;
  if (found->kind != JsonKind::String) {
    expect(name, "a string", *found);
    return std::nullopt;
  }
  const std::string_view inside = found->text.substr(1, found->text.size() - 2);
  if (inside.find('\\') == std::string_view::npos) return inside;
  const std::optional<std::string_view> text = text_of(*found, scratch());
  if (!text) refuse(name, "has half of a surrogate pair");
  return text;
}

std::string_view Params::need_text(std::string_view name) {
  const std::optional<std::string_view> found = text(name);
  if (!found) missing(name);
  return found.value_or(std::string_view());
}

bool Params::flag(std::string_view name) {
  const Raw* found = raw(name);
  if (!found) return false;
  if (found->kind != JsonKind::True && found->kind != JsonKind::False) {
    expect(name, "true or false", *found);
  }
  return found->kind == JsonKind::True;
}

std::optional<std::int64_t> Params::integer(std::string_view name,
                                            std::int64_t least,
                                            std::int64_t most) {
  const Raw* found = raw(name);
  if (!found) return std::nullopt;
  if (found->kind != JsonKind::Number) {
    expect(name, "a whole number", *found);
    return std::nullopt;
  }
  const std::optional<std::int64_t> number = integer_of(*found);
  if (!number) {
    refuse(name, "must be a whole number, not " + std::string(found->text.substr(0, 40)));
  } else if (*number < least) {
    refuse(name, "must be at least " + std::to_string(least));
  } else if (*number > most) {
    refuse(name, "must be at most " + std::to_string(most));
  }
  return number;
}

std::int64_t Params::need_integer(std::string_view name, std::int64_t least, std::int64_t most) {
  const std::optional<std::int64_t> found = integer(name, least, most);
  if (!found) missing(name);
  return found.value_or(least);
}

std::optional<Duration> Params::duration(std::string_view name) {
  const std::optional<std::int64_t> found = integer(name, 0);
  return found ? std::optional(Duration{*found}) : std::nullopt;
}

std::optional<Duration> Params::some_duration(std::string_view name) {
  const std::optional<std::int64_t> found = integer(name, 1);
  return found ? std::optional(Duration{*found}) : std::nullopt;
}

bool Params::finish() {
  for (std::size_t i = 0; is_good() && i < count_; ++i) {
    const Field& field = fields_[i];
    if (field.wanted) continue;
    const std::string_view near = nearest(field.name, std::span(asked_.data(), asked_count_));
    std::string what = "is not a field here";
    if (!near.empty()) what += "; did you mean \"" + std::string(near) + "\"?";
    refuse(field.name.substr(0, 64), what);
  }
  return is_good();
}

}  // namespace reeve::api
