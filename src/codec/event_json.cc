#include "codec/event_json.h"

#include "base/reflect.h"
#include "base/value_bytes.h"
#include "codec/json.h"
#include "codec/json_text.h"
#include "codec/text_forms.h"
#include "core/shapes.h"

#include <fmt/format.h>

#include <cstddef>
#include <string_view>

namespace reeve::codec {
namespace {

class EventData {
 public:
  EventData(std::string& to, ProjectNo viewer, Stamp stamp)
      : to_(to), viewer_(viewer), stamp_(stamp) {}

  void show_custom(const Custom& custom) {
    to_ += '{';
    for (const auto& [key, value] : custom.data) {
      comma();
      append_json_string(to_, key);
      to_ += ':';
      append_json_string(to_, value);
      comma_ = true;
    }
    to_ += '}';
  }

  // Down to the struct that says what happened: {"lock": {"was_acquired": {...}}} is its fields.
  void show(const Shape& shape, const void* value) {
    if (shape.kind == Kind::Variant) {
      const std::size_t index = shape.operations.variant.index(value);
      return show(*shape.alternatives[index].shape, shape.operations.variant.get(value));
    }
    to_ += '{';
    comma_ = false;
    for (const Field& field : shape.fields) {
      show_field(field.name, *field.shape, at_offset(value, field.offset));
    }
    to_ += '}';
    comma_ = true;
  }

 private:
  void comma() {
    if (comma_) to_ += ',';
    comma_ = false;
  }

  // Ours: needs no escapes.
  void key(std::string_view name) {
    comma();
    to_ += '"';
    to_ += name;
    to_ += "\":";
  }

  void moment(std::string_view name, std::optional<std::int64_t> wall) {
    const std::optional<std::string> text = wall ? format_wall(*wall) : std::nullopt;
    if (!text) return;
    key(name);
    to_ += '"';
    to_ += *text;
    to_ += '"';
    comma_ = true;
  }

  void show_field(std::string_view name, const Shape& shape, const void* value) {
    if (shape.kind == Kind::Optional) {
      const void* inside = shape.operations.optional.get(value);
      if (inside) show_field(name, *shape.item, inside);
      return;
    }
    if (shape.kind == Kind::EngineTime) {
      return moment(name, wall_of(*static_cast<const Time*>(value), stamp_));
    }
    if (shape.kind == Kind::WallTime) {
      return moment(name, static_cast<const Wall*>(value)->time_since_epoch().count());
    }
    key(name);
    show_value(shape, value);
    comma_ = true;
  }

  void number(auto value) { fmt::format_to(std::back_inserter(to_), "{}", value); }

  void show_value(const Shape& shape, const void* value) {
    switch (shape.kind) {
      case Kind::Bool:
        to_ += *static_cast<const bool*>(value) ? "true" : "false";
        return;
      case Kind::Text:
        return append_json_string(to_, *static_cast<const std::string*>(value));
      case Kind::Unsigned:
        if (!shape.prefix.empty()) break;
        return number(load_unsigned(value, shape.width));
      case Kind::Signed:
      case Kind::Lapse:
        return number(load_signed(value, shape.width));
      case Kind::Struct:
        return show_struct(shape, value);
      case Kind::Vector:
        to_ += '[';
        for (std::size_t i = 0; i < shape.operations.vector.size(value); ++i) {
          if (i > 0) to_ += ',';
          show_value(*shape.item,
                     at_offset(shape.operations.vector.data(value), i * shape.item->size));
        }
        to_ += ']';
        return;
      case Kind::Enum:
        break;
      case Kind::Variant: {
        // One id of several kinds says itself of which; a name is shown as any other.
        const std::size_t index = shape.operations.variant.index(value);
        const Shape& inside = *shape.alternatives[index].shape;
        const bool is_id =
            inside.dashed || !inside.prefix.empty() || inside.name.starts_with("Scoped");
        if (is_id) return show_value(inside, shape.operations.variant.get(value));
        to_ += to_json(shape, value);
        return;
      }
      case Kind::Bytes:
      case Kind::EngineTime:
      case Kind::WallTime:
      case Kind::Optional:
      case Kind::Bits:
      case Kind::Map:
      case Kind::Set:
        to_ += to_json(shape, value);
        return;
    }
    append_json_string(to_, text_of(shape, value));
  }

  void show_struct(const Shape& shape, const void* value) {
    if (shape.name.starts_with("Scoped")) {
      const auto& name = *static_cast<const LockName*>(value);  // they are all alike
      const bool is_shared = name.project == shared_project && viewer_ != shared_project;
      append_json_string(to_, is_shared ? "//" + name.name : name.name);
    } else if (shape.name == "Holder") {
      append_json_string(to_, static_cast<const Holder*>(value)->name);
    } else if (shape.name == "Process") {
      number(static_cast<const Process*>(value)->pid);
    } else if (shape.dashed) {
      append_json_string(to_, text_of(shape, value));
    } else {
      show(shape, value);
    }
  }

  std::string& to_;
  ProjectNo viewer_;
  Stamp stamp_;
  bool comma_ = false;
};

}  // namespace

void append_event_data(std::string& to, const Event& event, ProjectNo viewer, Stamp stamp) {
  EventData data(to, viewer, stamp);
  if (const Custom* custom = std::get_if<Custom>(&event.body)) return data.show_custom(*custom);
  data.show(shape_of<EventBody>(), &event.body);
}

std::string event_kind(const EventName& name) {
  return name.verb.empty() ? name.noun : name.noun + ":" + name.verb;
}

std::optional<std::int64_t> wall_of(Time time, Stamp stamp) {
  std::int64_t away = 0;
  std::int64_t shown = 0;
  const std::int64_t now = stamp.now.time_since_epoch().count();
  if (__builtin_sub_overflow(time.time_since_epoch().count(), now, &away)) return std::nullopt;
  const std::int64_t wall = stamp.wall.time_since_epoch().count();
  if (__builtin_add_overflow(wall, away, &shown)) return std::nullopt;
  return shown;
}

}  // namespace reeve::codec
