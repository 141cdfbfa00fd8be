#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

// What a value consists of, told at run time: one description drives the bytes of a value, its
// JSON, its digest and its random examples. Whoever has a shape and an address can walk through
// a value of any type without knowing it; base/reflect.h reads the shape off the type.
//
//     queue::Item ─ Struct ─┬─ queue       Unsigned, 4 bytes
//                           ├─ created_at  EngineTime
//                           ├─ data        Bytes
//                           └─ rest        Optional ─▶ queue::Rest ─ Struct ─ ...
//
// A shape is made by the compiler and lives as long as the process. Addresses handed to its
// operations must be those of a value of exactly its type.
namespace reeve {

struct Shape;

enum class Kind : std::uint8_t {
  Bool,
  Unsigned,  // of `width` bytes; with a `prefix` it is an id that people see
  Signed,    // of `width` bytes
  Enum,      // of `width` bytes; counts up from 0, by the names of `enumerators`
  Text,      // a std::string
  Bytes,
  Lapse,       // a duration of `width` bytes, in units of `unit` milliseconds
  EngineTime,  // in milliseconds
  WallTime,    // in milliseconds since 1970 UTC
  Struct,
  Optional,  // or boxed: none or one `item`
  Vector,    // of `item`
  Bits,      // a std::vector<bool>
  Variant,
  Map,  // in the order of its keys, each once
  Set,
};

struct Field {
  std::string_view name = {};
  std::size_t offset = 0;
  const Shape* shape = nullptr;
};

// One of the things a variant can be. `emplace` makes it that, with the alternative's defaults,
// and says where it is.
struct Alternative {
  std::string_view name = {};
  const Shape* shape = nullptr;
  void* (*emplace)(void* variant) = nullptr;
};

// Is shown the entries of a map or set in their order. Of a set, the value is null.
class EntryVisitor {
 public:
  virtual void entry(const void* key, const void* value) = 0;

 protected:
  ~EntryVisitor() = default;
};

// Fills in the next entry of a map or set, whose key and value come with their defaults. False:
// there will be none, and what was loaded is worthless.
class EntrySource {
 public:
  virtual bool next(void* key, void* value) = 0;

 protected:
  ~EntrySource() = default;
};

enum class Loaded : std::uint8_t { All, Stopped, OutOfOrder };

struct OptionalOperations {
  const void* (*get)(const void* optional);  // null: none
  void* (*emplace)(void* optional);          // with the item's defaults
  void (*reset)(void* optional);
};

struct VectorOperations {
  std::size_t (*size)(const void* vector);
  const void* (*data)(const void* vector);  // the items lie side by side, `item->size` apart
  void* (*append)(void* vector);            // an item with its defaults
  void (*clear)(void* vector);
  void (*reserve)(void* vector, std::size_t count);
};

struct BitsOperations {
  std::size_t (*size)(const void* bits);
  bool (*at)(const void* bits, std::size_t index);
  void (*append)(void* bits, bool bit);
  void (*clear)(void* bits);
};

struct VariantOperations {
  std::size_t (*index)(const void* variant);
  const void* (*get)(const void* variant);  // whatever it is now
};

struct MapOperations {
  std::size_t (*size)(const void* map);
  void (*visit)(const void* map, EntryVisitor& visitor);
  // Replaces the contents by `count` entries, which must come in ascending order.
  Loaded (*load)(void* map, std::size_t count, EntrySource& source);
  void (*clear)(void* map);
  // One more entry, wherever it belongs; OutOfOrder if its key is there already.
  Loaded (*add)(void* map, EntrySource& source);
};

union Operations {
  std::uint8_t none = 0;
  OptionalOperations optional;
  VectorOperations vector;
  BitsOperations bits;
  VariantOperations variant;
  MapOperations map;  // and set
};

struct Shape {
  Kind kind = Kind::Bool;
  std::uint8_t width = 0;
  // Of a struct: has the fields it has for ever, so that its bytes need no length.
  bool closed = false;
  // Of a closed struct of numbers: people write it as text, `12-0`.
  bool dashed = false;
  std::uint32_t unit = 1;
  std::size_t size = 0;        // in memory
  std::string_view name = {};  // as in the code, without `reeve::`; of what has one
  std::string_view prefix = {};
  std::span<const Field> fields = {};
  std::span<const Alternative> alternatives = {};
  std::span<const std::string_view> enumerators = {};
  const Shape* key = nullptr;   // of a map or set
  const Shape* item = nullptr;  // of an optional, a vector, a map
  Operations operations = {};
};

// The place of a field within the value at this address.
inline const void* at_offset(const void* value, std::size_t offset) {
  return static_cast<const std::byte*>(value) + offset;
}
inline void* at_offset(void* value, std::size_t offset) {
  return static_cast<std::byte*>(value) + offset;
}

// How a value with defaults is made. Types that have no default of their own say here what they
// begin as before they are read.
template <class T>
struct Blank {
  static T make() { return T{}; }
};

}  // namespace reeve
