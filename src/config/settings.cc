#include "config/settings.h"

#include "base/check.h"
#include "config/document.h"

#include <fmt/format.h>

#include <algorithm>
#include <variant>

namespace reeve::config {
namespace {

bool may_stand(const Key& key, Origin origin) {
  return key.stands == Stands::Both || (key.stands == Stands::User) == (origin == Origin::User);
}

std::string unknown(std::string_view name) {
  const std::string_view meant = nearest_key(name);
  return meant.empty() ? fmt::format("there is no key {}; `reeve config list` has all", name)
                       : fmt::format("there is no key {}; did you mean {}?", name, meant);
}

// `[locking]` without anything in it says nothing, and is no mistake.
bool is_empty_table(const Entry& entry) {
  return entry.value.kind == Node::Kind::Table && !find_key(entry.key) &&
         std::ranges::any_of(keys(), [&](const Key& key) {
           return key.name.starts_with(entry.key) && key.name.substr(entry.key.size())[0] == '.';
         });
}

std::string text_of(const Entry& entry, const Value& value) {
  return entry.value.kind == Node::Kind::Text ? entry.value.text : to_text(value);
}

}  // namespace

const Setting* Layer::find(std::string_view name) const {
  for (const Setting& setting : settings) {
    if (setting.key->name == name) return &setting;
  }
  return nullptr;
}

std::expected<Layer, Mistakes> read_layer(Origin origin, std::string file, std::string_view text) {
  const auto document = parse_document(file, text);
  if (!document) return std::unexpected(Mistakes{document.error()});
  Mistakes mistakes;
  Layer layer{.origin = origin, .file = file};
  for (const Entry& entry : document->entries) {
    const auto mistake = [&](Place place, std::string message) {
      mistakes.push_back({file, place, std::move(message)});
    };
    if (is_empty_table(entry)) continue;
    const Key* const key = find_key(entry.key);
    if (!key) {
      mistake(entry.key_place, unknown(entry.key));
      continue;
    }
    if (!may_stand(*key, origin)) {
      mistake(entry.key_place,
              fmt::format("{} may stand in {}", key->name, sentence_of(key->stands)));
      continue;
    }
    auto value = value_in_file(*key, entry.value);
    if (!value) {
      mistake(entry.value_place, fmt::format("{}: {}", key->name, value.error()));
      continue;
    }
    layer.settings.push_back({key, *value, text_of(entry, *value), entry.key_place});
  }
  if (!mistakes.empty()) return std::unexpected(std::move(mistakes));
  return layer;
}

std::vector<InForce> Settings::all_of(const Key& key) const {
  std::vector<InForce> all;
  for (const Layer* layer : {&project_, &user_}) {
    const Setting* const setting = layer->find(key.name);
    if (!setting) continue;
    all.push_back({layer->origin, layer->file, setting->place, setting->value, setting->text});
  }
  all.push_back({.value = standard_of(key), .text = std::string(key.standard)});
  return all;
}

InForce Settings::look_up(const Key& key) const { return all_of(key).front(); }

template <class T>
T Settings::get(std::string_view name) const {
  const Key* const key = find_key(name);
  CHECK(key != nullptr);
  const InForce in_force = look_up(*key);
  const T* const value = std::get_if<T>(&in_force.value);
  CHECK(value != nullptr);
  return *value;
}

Duration Settings::duration(std::string_view key) const { return get<Duration>(key); }
std::uint64_t Settings::size(std::string_view key) const { return get<Size>(key).bytes; }
std::int64_t Settings::integer(std::string_view key) const { return get<std::int64_t>(key); }
bool Settings::truth(std::string_view key) const { return get<bool>(key); }
std::string Settings::text(std::string_view key) const { return get<std::string>(key); }
std::vector<std::string> Settings::list(std::string_view key) const {
  return get<std::vector<std::string>>(key);
}

std::string_view name_of(Origin origin) {
  switch (origin) {
    case Origin::Default:
      return "default";
    case Origin::User:
      return "user";
    case Origin::Project:
      return "project";
  }
  return "";
}

}  // namespace reeve::config
