#include "api/fields.h"

#include "api/errors.h"
#include "codec/json_text.h"

#include <fmt/format.h>

namespace reeve::api {

definition::Map read_map(Params& params, std::string_view field, std::size_t most) {
  definition::Map map;
  const Raw* raw = params.raw(field);
  if (!raw) return map;
  if (raw->kind != JsonKind::Object) {
    params.refuse(field, "must be an object");
    return map;
  }
  JsonReader reader(raw->text);
  reader.enter('{');
  Raw name;
  Raw value;
  while (params.is_good() && reader.next('}') && reader.name(name) && reader.value(value)) {
    if (map.size() == most) {
      params.refuse(field, fmt::format("has more than {} members", most));
      break;
    }
    std::string of_name;
    std::string of_value;
    const std::optional<std::string_view> key = text_of(name, of_name);
    if (!key || value.kind == JsonKind::Null) continue;
    const std::optional<std::string_view> text = text_of(value, of_value);
    map.emplace_back(*key, text.value_or(value.text));
  }
  return map;
}

JsonWriter& user_key(JsonWriter& json, std::string_view name) {
  std::string text;
  codec::append_json_string(text, name);
  return json.key(std::string_view(text).substr(1, text.size() - 2));
}

void show_map(Tell& tell, std::string_view field, const definition::Map& map) {
  JsonWriter& json = tell.json.key(field).begin_object();
  for (const auto& [name, value] : map) user_key(json, name).text(value);
  json.end_object();
}

std::string current_runbook(const Asking& ask) {
  const std::string* current = ask.state().definitions.current.find(ask.project());
  return current ? *current : std::string();
}

bool has_runbook(Asking& ask, std::string_view hash) {
  const std::string current = current_runbook(ask);
  if (hash.empty() || hash == current) return true;
  ask.answer([&](Tell& tell) {
    JsonWriter& json =
        tell.error(code::runbook_unknown,
                   "the project's runbooks here are others; hand them over with runbook.load");
    json.field("hash", hash);
    if (!current.empty()) json.field("current", current);
  });
  return false;
}

void tell_done(Tell& tell, const Reply&) { tell.result().field("id", tell.kept().name); }

}  // namespace reeve::api
