#include "api/show.h"
#include "base/reflect.h"
#include "base/value_bytes.h"
#include "codec/json.h"
#include "codec/text_forms.h"
#include "core/shapes.h"

#include <cstddef>
#include <cstring>

// An event's data, read off its shape: the fields have the names they have in the code, and what
// people have words for is shown by them. A name is "main" or "//main", a holder its name, a
// process its pid, an id "item-4f7kq2", a moment a moment, a duration its milliseconds.
namespace reeve::api {
namespace {

const void* at(const void* value, std::size_t offset) {
  return static_cast<const std::byte*>(value) + offset;
}

class EventData {
 public:
  explicit EventData(Tell& tell) : tell_(tell) {}

  // Down to the struct that says what happened: {"lock": {"was_acquired": {...}}} is its fields.
  void show(const Shape& shape, const void* value) {
    if (shape.kind == Kind::Variant) {
      const std::size_t index = shape.operations.variant.index(value);
      return show(*shape.alternatives[index].shape, shape.operations.variant.get(value));
    }
    for (const Field& field : shape.fields) {
      show_field(field.name, *field.shape, at(value, field.offset));
    }
  }

 private:
  void show_field(std::string_view name, const Shape& shape, const void* value) {
    if (shape.kind == Kind::Optional) {
      const void* inside = shape.operations.optional.get(value);
      if (inside) show_field(name, *shape.item, inside);
      return;
    }
    if (shape.kind == Kind::EngineTime) {
      return tell_.moment(name, *static_cast<const Time*>(value));
    }
    if (shape.kind == Kind::WallTime) {
      return tell_.moment(name, *static_cast<const Wall*>(value));
    }
    tell_.json.key(name);
    show_value(shape, value);
  }

  void show_value(const Shape& shape, const void* value) {
    JsonWriter& json = tell_.json;
    switch (shape.kind) {
      case Kind::Bool:
        json.boolean(*static_cast<const bool*>(value));
        return;
      case Kind::Text:
        json.text(*static_cast<const std::string*>(value));
        return;
      case Kind::Unsigned:
        if (!shape.prefix.empty()) break;
        json.number(load_unsigned(value, shape.width));
        return;
      case Kind::Signed:
      case Kind::Lapse:
        json.number(load_signed(value, shape.width));
        return;
      case Kind::Struct:
        return show_struct(shape, value);
      case Kind::Vector:
        json.begin_array();
        for (std::size_t i = 0; i < shape.operations.vector.size(value); ++i) {
          show_value(*shape.item, at(shape.operations.vector.data(value), i * shape.item->size));
        }
        json.end_array();
        return;
      case Kind::Enum:
        json.text(codec::text_of(shape, value));
        return;
      case Kind::Variant: {
        // One id of several kinds says itself of which; a name is shown as any other.
        const std::size_t index = shape.operations.variant.index(value);
        const Shape& inside = *shape.alternatives[index].shape;
        const bool is_id =
            inside.dashed || !inside.prefix.empty() || inside.name.starts_with("Scoped");
        if (is_id) return show_value(inside, shape.operations.variant.get(value));
        json.raw(codec::to_json(shape, value));
        return;
      }
      case Kind::Bytes:
      case Kind::EngineTime:
      case Kind::WallTime:
      case Kind::Optional:
      case Kind::Bits:
      case Kind::Map:
      case Kind::Set:
        json.raw(codec::to_json(shape, value));
        return;
    }
    json.text(codec::text_of(shape, value));
  }

  void show_struct(const Shape& shape, const void* value) {
    if (shape.name.starts_with("Scoped")) {
      const auto& name = *static_cast<const LockName*>(value);  // they are all alike
      tell_.json.text(tell_.name(name));
    } else if (shape.name == "Holder") {
      tell_.json.text(static_cast<const Holder*>(value)->name);
    } else if (shape.name == "Process") {
      tell_.json.number(static_cast<const Process*>(value)->pid);
    } else if (shape.dashed) {
      tell_.json.text(codec::text_of(shape, value));
    } else {
      tell_.json.begin_object();
      show(shape, value);
      tell_.json.end_object();
    }
  }

  Tell& tell_;
};

}  // namespace

void show_event(Tell& tell, const State& state, const Event& event) {
  JsonWriter& json = tell.json;
  const EventName name = name_of(event.body);
  json.field("seq", event.sequence).field("index", event.index);
  tell.moment("at", event.at);
  const project::Project* project = state.projects.projects.find(event.project);
  json.field("project", project ? project->name : "");
  json.field("name", name.verb.empty() ? name.noun : name.noun + ":" + name.verb);
  if (!name.subject.empty()) json.field("subject", name.subject);
  json.key("data").begin_object();
  if (const Custom* custom = std::get_if<Custom>(&event.body)) {
    for (const auto& [key, value] : custom->data) {
      std::string quoted_key;
      codec::append_json_string(quoted_key, key);
      json.key(quoted_key.substr(1, quoted_key.size() - 2)).text(value);
    }
  } else {
    EventData(tell).show(shape_of<EventBody>(), &event.body);
  }
  json.end_object();
}

}  // namespace reeve::api
