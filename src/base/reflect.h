#pragma once

#include "base/boxed.h"
#include "base/bytes.h"
#include "base/id.h"
#include "base/persistent_map.h"
#include "base/reflect_fields.h"
#include "base/reflect_names.h"
#include "base/shape.h"
#include "base/time.h"

#include <array>
#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <ratio>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

// The shape of a type, made by the compiler: `reflect::shape<queue::Item>`. An aggregate is its
// fields, by their names in the code and in their order; nothing has to be written down twice.
//
// This takes the compiler long. Include it in a .cc that hands out shapes and does nothing else.
namespace reeve::reflect {

// ── What a type can say about itself (specialise these) ──

// Has one field and stands for it: a number with a kind.
template <class T>
inline constexpr bool is_bare = false;
template <class Kind>
inline constexpr bool is_bare<Number<Kind>> = true;

// Will never get another field (Shape::closed).
template <class T>
inline constexpr bool is_closed = false;

// And is written by people as its numbers with a dash between (Shape::dashed).
template <class T>
inline constexpr bool is_dashed = false;

// Keeps all that it is in its first member, of this type, and has no fields of its own.
template <class T>
struct Inside {};

// ── The shape ──

template <class T>
struct Reflected {
  static const Shape shape;
};

template <class T>
inline constexpr const Shape& shape = Reflected<T>::shape;

template <class T>
T& as(void* value) {
  return *static_cast<T*>(value);
}
template <class T>
const T& as(const void* value) {
  return *static_cast<const T*>(value);
}

// One of these for each kind of type; `Of<T>::shape()` leaves the size to `describe`.
template <class T>
struct Of;

template <>
struct Of<bool> {
  static constexpr Shape shape() { return {.kind = Kind::Bool}; }
};

template <std::integral T>
struct Of<T> {
  static constexpr Shape shape() {
    return {.kind = std::signed_integral<T> ? Kind::Signed : Kind::Unsigned, .width = sizeof(T)};
  }
};

template <class T>
  requires std::is_enum_v<T>
struct Of<T> {
  static_assert(Enumerators<T>::count > 0, "must count up from 0");

  static constexpr Shape shape() {
    return {.kind = Kind::Enum,
            .width = sizeof(T),
            .name = type_name<T>,
            .enumerators = Enumerators<T>::names};
  }
};

template <>
struct Of<std::string> {
  static constexpr Shape shape() { return {.kind = Kind::Text}; }
};

template <>
struct Of<Bytes> {
  static constexpr Shape shape() { return {.kind = Kind::Bytes}; }
};

template <class Rep, class Period>
struct Of<std::chrono::duration<Rep, Period>> {
  using Unit = std::ratio_divide<Period, std::milli>;
  static_assert(std::signed_integral<Rep> && Unit::den == 1 && Unit::num <= 1000);

  static constexpr Shape shape() {
    return {.kind = Kind::Lapse, .width = sizeof(Rep), .unit = Unit::num};
  }
};

template <>
struct Of<Time> {
  static constexpr Shape shape() { return {.kind = Kind::EngineTime, .width = sizeof(Time)}; }
};

template <>
struct Of<Wall> {
  static constexpr Shape shape() { return {.kind = Kind::WallTime, .width = sizeof(Wall)}; }
};

// ── None or one ──

template <class T>
struct Of<std::optional<T>> {
  using Self = std::optional<T>;

  static constexpr Shape shape() {
    constexpr OptionalOperations operations{
        .get = [](const void* self) -> const void* {
          const Self& value = as<Self>(self);
          return value ? &*value : nullptr;
        },
        .emplace = [](void* self) -> void* { return &as<Self>(self).emplace(Blank<T>::make()); },
        .reset = [](void* self) { as<Self>(self).reset(); },
    };
    return {.kind = Kind::Optional,
            .item = &Reflected<T>::shape,
            .operations = {.optional = operations}};
  }
};

template <class T>
struct Of<Boxed<T>> {
  using Self = Boxed<T>;

  static constexpr Shape shape() {
    constexpr OptionalOperations operations{
        .get = [](const void* self) -> const void* { return as<Self>(self).get(); },
        .emplace = [](void* self) -> void* {
          as<Self>(self) = Self(Blank<T>::make());
          return &as<Self>(self).edit();
        },
        .reset = [](void* self) { as<Self>(self).reset(); },
    };
    return {.kind = Kind::Optional,
            .item = &Reflected<T>::shape,
            .operations = {.optional = operations}};
  }
};

// ── Many ──

template <class T>
struct Of<std::vector<T>> {
  using Self = std::vector<T>;

  static constexpr Shape shape() {
    constexpr VectorOperations operations{
        .size = [](const void* self) { return as<Self>(self).size(); },
        .data = [](const void* self) -> const void* { return as<Self>(self).data(); },
        .append = [](void* self) -> void* {
          return &as<Self>(self).emplace_back(Blank<T>::make());
        },
        .clear = [](void* self) { as<Self>(self).clear(); },
        .reserve = [](void* self, std::size_t count) { as<Self>(self).reserve(count); },
    };
    return {
        .kind = Kind::Vector, .item = &Reflected<T>::shape, .operations = {.vector = operations}};
  }
};

template <>
struct Of<std::vector<bool>> {
  using Self = std::vector<bool>;

  static constexpr Shape shape() {
    constexpr BitsOperations operations{
        .size = [](const void* self) { return as<Self>(self).size(); },
        .at = [](const void* self, std::size_t index) -> bool { return as<Self>(self)[index]; },
        .append = [](void* self, bool bit) { as<Self>(self).push_back(bit); },
        .clear = [](void* self) { as<Self>(self).clear(); },
    };
    return {.kind = Kind::Bits, .operations = {.bits = operations}};
  }
};

template <class Key, class Value>
struct Of<PersistentMap<Key, Value>> {
  using Self = PersistentMap<Key, Value>;

  static void visit(const void* self, EntryVisitor& visitor) {
    for (const auto& [key, value] : as<Self>(self)) visitor.entry(&key, &value);
  }
  static Loaded load(void* self, std::size_t count, EntrySource& source) {
    typename Self::Appender map;
    for (; count > 0; --count) {
      Key key = Blank<Key>::make();
      Value value = Blank<Value>::make();
      if (!source.next(&key, &value)) return Loaded::Stopped;
      if (!map.append(std::move(key), std::move(value))) return Loaded::OutOfOrder;
    }
    as<Self>(self) = std::move(map).take();
    return Loaded::All;
  }
  static Loaded add(void* self, EntrySource& source) {
    Key key = Blank<Key>::make();
    Value value = Blank<Value>::make();
    if (!source.next(&key, &value)) return Loaded::Stopped;
    if (as<Self>(self).contains(key)) return Loaded::OutOfOrder;
    as<Self>(self).set(key, std::move(value));
    return Loaded::All;
  }

  static constexpr Shape shape() {
    constexpr MapOperations operations{
        .size = [](const void* self) { return as<Self>(self).size(); },
        .visit = visit,
        .load = load,
        .clear = [](void* self) { as<Self>(self) = Self(); },
        .add = add,
    };
    return {.kind = Kind::Map,
            .key = &Reflected<Key>::shape,
            .item = &Reflected<Value>::shape,
            .operations = {.map = operations}};
  }
};

template <class Key>
struct Of<PersistentSet<Key>> {
  using Self = PersistentSet<Key>;

  static void visit(const void* self, EntryVisitor& visitor) {
    for (const Key& key : as<Self>(self)) visitor.entry(&key, nullptr);
  }
  static Loaded load(void* self, std::size_t count, EntrySource& source) {
    typename Self::Appender set;
    for (; count > 0; --count) {
      Key key = Blank<Key>::make();
      if (!source.next(&key, nullptr)) return Loaded::Stopped;
      if (!set.append(std::move(key))) return Loaded::OutOfOrder;
    }
    as<Self>(self) = std::move(set).take();
    return Loaded::All;
  }
  static Loaded add(void* self, EntrySource& source) {
    Key key = Blank<Key>::make();
    if (!source.next(&key, nullptr)) return Loaded::Stopped;
    return as<Self>(self).insert(key) ? Loaded::All : Loaded::OutOfOrder;
  }

  static constexpr Shape shape() {
    constexpr MapOperations operations{
        .size = [](const void* self) { return as<Self>(self).size(); },
        .visit = visit,
        .load = load,
        .clear = [](void* self) { as<Self>(self) = Self(); },
        .add = add,
    };
    return {.kind = Kind::Set, .key = &Reflected<Key>::shape, .operations = {.map = operations}};
  }
};

// ── One of several ──

template <class T>
inline constexpr bool is_sum =
    requires(const T& value) { []<class... Ts>(const std::variant<Ts...>&) {}(value); };

constexpr std::string_view short_name(std::string_view name) {
  const std::size_t end = name.substr(0, name.find('<')).rfind("::");
  return end == std::string_view::npos ? name : name.substr(end + 2);
}

// A sum has a name if it is behind a wall or was given one.
template <class T>
constexpr std::string_view sum_name() {
  if constexpr (requires {
                  []<class... Ts>(std::type_identity<std::variant<Ts...>>) {
                  }(std::type_identity<T>());
                }) {
    return given_name<T>;
  } else {
    return type_name<T>;
  }
}

template <class T>
constexpr std::string_view alternative_name();

template <class First, class... Rest>
constexpr std::string_view noun_of(const std::variant<First, Rest...>*) {
  const std::string_view name = alternative_name<First>();
  const std::size_t end = name.rfind("::");
  return end == std::string_view::npos ? "sum" : name.substr(0, end);
}

// What an alternative is called in full: its type. Of an id or a name with a kind that is the
// kind, Work of Number<WorkKind>. A sum within a sum that has no name is called after its noun,
// queue if it is one of queue::Push, queue::Take and so on.
template <class T>
constexpr std::string_view alternative_name() {
  if constexpr (std::same_as<T, std::string>) {
    return "text";
  } else if constexpr (is_sum<T>) {
    return sum_name<T>().empty() ? noun_of(static_cast<const T*>(nullptr)) : sum_name<T>();
  } else {
    std::string_view name = type_name<T>;
    if (name.ends_with("Kind>")) {
      name.remove_suffix(5);
      name = short_name(name.substr(name.find('<') + 1));
    }
    return name;
  }
}

template <class... Ts>
constexpr std::array<std::string_view, sizeof...(Ts)> names_of_alternatives() {
  constexpr std::array<std::string_view, sizeof...(Ts)> full{alternative_name<Ts>()...};
  std::array<std::string_view, sizeof...(Ts)> names = {};
  for (std::size_t i = 0; i < names.size(); ++i) names[i] = short_name(full[i]);
  for (std::size_t i = 0; i < names.size(); ++i) {
    for (std::size_t j = 0; j < names.size(); ++j) {
      if (i != j && short_name(full[i]) == short_name(full[j])) names[i] = full[i];
    }
  }
  return names;
}

template <class Self, class... Ts>
struct Sum {
  using Variant = std::variant<Ts...>;

  template <std::size_t index>
  static void* emplace(void* self) {
    using T = std::variant_alternative_t<index, Variant>;
    Variant& sum = as<Self>(self);
    if constexpr (std::is_default_constructible_v<T>) {
      return &sum.template emplace<index>();
    } else {
      return &sum.template emplace<index>(Blank<T>::make());
    }
  }

  template <std::size_t... index>
  static constexpr std::array<Alternative, sizeof...(Ts)> list(std::index_sequence<index...>) {
    constexpr auto names = names_of_alternatives<Ts...>();
    return {Alternative{names[index], &Reflected<Ts>::shape, emplace<index>}...};
  }
  static constexpr std::array<Alternative, sizeof...(Ts)> alternatives =
      list(std::index_sequence_for<Ts...>());

  static constexpr Shape shape() {
    constexpr VariantOperations operations{
        .index =
            [](const void* self) {
              const Variant& sum = as<Self>(self);
              return sum.index();
            },
        .get = [](const void* self) -> const void* {
          const Variant& sum = as<Self>(self);
          return std::visit([](const auto& value) -> const void* { return &value; }, sum);
        },
    };
    return {.kind = Kind::Variant,
            .name = sum_name<Self>(),
            .alternatives = alternatives,
            .operations = {.variant = operations}};
  }
};

template <class Self, class... Ts>
constexpr Sum<Self, Ts...> sum_of(const std::variant<Ts...>*);

// The sum itself, or a struct that is one behind a wall.
template <class T>
  requires is_sum<T>
struct Of<T> : decltype(sum_of<T>(static_cast<const T*>(nullptr))) {};

template <class T>
  requires requires { typename Inside<T>::type; }
struct Of<T> {
  static constexpr Shape shape() {
    Shape shape = Of<typename Inside<T>::type>::shape();
    shape.name = type_name<T>;
    return shape;
  }
};

// ── Fields ──

template <class A, class B>
inline constexpr bool is_closed<std::pair<A, B>> = true;

// Where fields of these types lie, as the ABI has it for a struct without bases; `sizes[n]` is
// the size of the whole.
template <class... Ts>
struct Layout {
  static constexpr std::array<std::size_t, sizeof...(Ts) + 1> offsets = [] {
    std::array<std::size_t, sizeof...(Ts) + 1> at = {};
    std::size_t end = 0;
    std::size_t widest = 1;
    std::size_t i = 0;
    [[maybe_unused]] const auto place = [&](std::size_t size, std::size_t alignment) {
      end = (end + alignment - 1) / alignment * alignment;
      at[i++] = end;
      end += size;
      widest = alignment > widest ? alignment : widest;
    };
    (place(sizeof(Ts), alignof(Ts)), ...);
    end = (end + widest - 1) / widest * widest;
    at[i] = end == 0 ? 1 : end;
    return at;
  }();
};

template <class T, class Members>
struct Fields;

template <class T, const auto&... member>
struct Fields<T, Members<member...>> {
  using Places = Layout<std::remove_cvref_t<decltype(member)>...>;
  static constexpr std::size_t count = sizeof...(member);
  static_assert(Places::offsets[count] == sizeof(T), "not laid out field by field");

  static constexpr std::array<Field, count> list = [] {
    [[maybe_unused]] std::size_t i = 0;
    [[maybe_unused]] constexpr auto names = names_of_members<member...>();
    std::array<Field, count> fields{
        Field{.shape = &Reflected<std::remove_cvref_t<decltype(member)>>::shape}...};
    for (Field& field : fields) {
      field.name = names[i];
      field.offset = Places::offsets[i++];
    }
    return fields;
  }();
};

template <class A, class B>
struct Of<std::pair<A, B>> {
  static constexpr std::array<Field, 2> list{
      Field{"first", Layout<A, B>::offsets[0], &Reflected<A>::shape},
      Field{"second", Layout<A, B>::offsets[1], &Reflected<B>::shape},
  };
  static constexpr Shape shape() { return {.kind = Kind::Struct, .closed = true, .fields = list}; }
};

// An id that people see says how it begins: prefix_of(ItemId).
template <class T>
constexpr std::string_view prefix() {
  if constexpr (requires(T value) { prefix_of(value); }) {
    return prefix_of(T{});
  } else {
    return {};
  }
}

template <class T>
  requires(std::is_aggregate_v<T> && !is_bare<T>)
struct Of<T> {
  using Own = Fields<T, MembersOf<T>>;

  static constexpr Shape shape() {
    return {.kind = Kind::Struct,
            .closed = is_closed<T>,
            .dashed = is_dashed<T>,
            .name = type_name<T>,
            .fields = Own::list};
  }
};

template <class T>
  requires(std::is_aggregate_v<T> && is_bare<T>)
struct Of<T> {
  using Value = decltype(T::value);
  static_assert(sizeof(Value) == sizeof(T));

  static constexpr Shape shape() {
    Shape shape = Of<Value>::shape();
    shape.name = type_name<T>;
    shape.prefix = prefix<T>();
    return shape;
  }
};

template <class T>
constexpr Shape describe() {
  Shape shape = Of<T>::shape();
  shape.size = sizeof(T);
  return shape;
}

template <class T>
constinit const Shape Reflected<T>::shape = describe<T>();

}  // namespace reeve::reflect
