#include "core/event_fields.h"

#include "base/id.h"
#include "base/shape.h"
#include "base/value_bytes.h"
#include "core/shapes.h"

#include <algorithm>
#include <cstddef>
#include <set>
#include <string_view>
#include <utility>

namespace reeve {
namespace {

std::string without_capitals(std::string_view name) {
  std::string text;
  for (const char c : name) {
    const bool is_upper = c >= 'A' && c <= 'Z';
    if (is_upper && !text.empty()) text += '_';
    text += is_upper ? static_cast<char>(c - 'A' + 'a') : c;
  }
  return text;
}

// As text_of_dashed() in codec/text_forms.
std::string text_of_dashed(const Shape& shape, const void* value) {
  std::string text;
  for (const Field& field : shape.fields) {
    if (!text.empty()) text += '-';
    text += std::to_string(load_unsigned(at_offset(value, field.offset), field.shape->width));
  }
  return text;
}

// A name of a project is read in that project; a holder goes by its name, a process by its number.
std::string text_of_struct(const Shape& shape, const void* value, ProjectNo viewer) {
  if (shape.name == "Holder") return static_cast<const Holder*>(value)->name;
  if (shape.name == "Process") return std::to_string(static_cast<const Process*>(value)->pid);
  if (shape.dashed) return text_of_dashed(shape, value);
  const auto& name = *static_cast<const LockName*>(value);  // those are all alike
  const bool is_shared = name.project == shared_project && viewer != shared_project;
  return is_shared ? "//" + name.name : name.name;
}

bool can_have_text(const Shape& shape) {
  switch (shape.kind) {
    case Kind::Bool:
    case Kind::Text:
    case Kind::Unsigned:
    case Kind::Signed:
    case Kind::Lapse:
    case Kind::Enum:
      return true;
    case Kind::Struct:
      return shape.dashed || shape.name.starts_with("Scoped") || shape.name == "Holder" ||
             shape.name == "Process";
    case Kind::Optional:
      return can_have_text(*shape.item);
    case Kind::Variant:
      return std::ranges::any_of(
          shape.alternatives, [](const Alternative& each) { return can_have_text(*each.shape); });
    case Kind::Bytes:
    case Kind::EngineTime:
    case Kind::WallTime:
    case Kind::Vector:
    case Kind::Bits:
    case Kind::Map:
    case Kind::Set:
      return false;
  }
  return false;
}

// Empty: there is no value, or none that is one word.
std::string text_of(const Shape& shape, const void* value, ProjectNo viewer) {
  if (!can_have_text(shape)) return {};
  switch (shape.kind) {
    case Kind::Bool:
      return *static_cast<const bool*>(value) ? "true" : "false";
    case Kind::Text:
      return *static_cast<const std::string*>(value);
    case Kind::Unsigned: {
      const std::uint64_t number = load_unsigned(value, shape.width);
      if (shape.prefix.empty()) return std::to_string(number);
      return std::string(shape.prefix) + encode_id(number);
    }
    case Kind::Signed:
    case Kind::Lapse:
      return std::to_string(load_signed(value, shape.width));
    case Kind::Enum:
      return without_capitals(shape.enumerators[load_unsigned(value, shape.width)]);
    case Kind::Struct:
      return text_of_struct(shape, value, viewer);
    case Kind::Optional: {
      const void* const inside = shape.operations.optional.get(value);
      return inside ? text_of(*shape.item, inside, viewer) : std::string();
    }
    case Kind::Variant: {
      const std::size_t index = shape.operations.variant.index(value);
      return text_of(*shape.alternatives[index].shape, shape.operations.variant.get(value), viewer);
    }
    case Kind::Bytes:
    case Kind::EngineTime:
    case Kind::WallTime:
    case Kind::Vector:
    case Kind::Bits:
    case Kind::Map:
    case Kind::Set:
      return {};
  }
  return {};
}

// One after the other each thing that can happen, with its defaults, is made of `value`; `visit` is
// shown its fields. Which of several it was, the verb depends on: a struct is shown with each of
// the alternatives and enumerators of its fields.
template <class Visit>
void each_struct(const Shape& shape, void* value, const Visit& visit) {
  for (const Alternative& each : shape.alternatives) {
    each_struct(*each.shape, each.emplace(value), visit);
  }
  if (shape.kind != Kind::Struct) return;
  visit(shape);
  for (const Field& field : shape.fields) {
    void* const at = at_offset(value, field.offset);
    for (const Alternative& each : field.shape->alternatives) {
      each.emplace(at);
      visit(shape);
    }
    for (std::size_t i = 0; i < field.shape->enumerators.size(); ++i) {
      store_integer(at, field.shape->width, i);
      visit(shape);
    }
  }
}

bool fits(std::string_view segment, std::string_view word) {
  return segment == "*" || segment == "**" || segment == word;
}

// `phase` of `phase(merge)`: whatever the detail, the fields are the same.
std::string_view verb_of(std::string_view segment) {
  return segment.ends_with(')') ? segment.substr(0, segment.find('(')) : segment;
}

}  // namespace

Variables fields_of(const Event& event) {
  if (const Custom* custom = std::get_if<Custom>(&event.body)) {
    return {custom->data.begin(), custom->data.end()};
  }
  const Shape* shape = &shape_of<EventBody>();
  const void* value = &event.body;
  while (shape->kind == Kind::Variant) {
    const std::size_t index = shape->operations.variant.index(value);
    value = shape->operations.variant.get(value);
    shape = shape->alternatives[index].shape;
  }
  Variables fields;
  for (const Field& field : shape->fields) {
    if (!can_have_text(*field.shape)) continue;
    fields.emplace_back(field.name,
                        text_of(*field.shape, at_offset(value, field.offset), event.project));
  }
  return fields;
}

std::vector<std::string> field_names(const Pattern& pattern) {
  std::set<std::string> names;
  EventBody body = Blank<EventBody>::make();
  each_struct(shape_of<EventBody>(), &body, [&](const Shape& shape) {
    if (std::holds_alternative<Custom>(body)) return;
    const EventName name = name_of(body);
    if (!fits(pattern.segments.front(), name.noun)) return;
    const bool has_verb = pattern.segments.size() > 1;
    if (has_verb && !fits(verb_of(pattern.segments.back()), name.verb)) return;
    for (const Field& field : shape.fields) {
      if (can_have_text(*field.shape)) names.emplace(field.name);
    }
  });
  return {names.begin(), names.end()};
}

}  // namespace reeve
