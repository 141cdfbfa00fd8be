#include "core/digest.h"

#include <boost/pfr/core.hpp>

#include <chrono>
#include <concepts>
#include <optional>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>
#define XXH_STATIC_LINKING_ONLY  // for the state as a member
#include <xxhash.h>

namespace reeve {
namespace {

class Digester {
 public:
  Digester() { XXH3_64bits_reset(&state_); }

  std::uint64_t value() const { return XXH3_64bits_digest(&state_); }

  void number(std::uint64_t value) {
    unsigned char bytes[8];
    for (unsigned char& byte : bytes) {
      byte = static_cast<unsigned char>(value & 0xff);
      value >>= 8;
    }
    XXH3_64bits_update(&state_, bytes, sizeof bytes);
  }

  void text(std::string_view text) {
    number(text.size());
    XXH3_64bits_update(&state_, text.data(), text.size());
  }

 private:
  XXH3_state_t state_;
};

// One overload a shape; an aggregate is its fields in order.
template <class T>
  requires(std::integral<T> || std::is_enum_v<T>)
void add(Digester& to, T value) {
  to.number(static_cast<std::uint64_t>(value));
}

inline void add(Digester& to, const std::string& value) { to.text(value); }
inline void add(Digester& to, const Bytes& value) { to.text(value.view()); }

template <class Rep, class Period>
void add(Digester& to, std::chrono::duration<Rep, Period> value) {
  to.number(static_cast<std::uint64_t>(value.count()));
}

template <class Clock, class D>
void add(Digester& to, std::chrono::time_point<Clock, D> value) {
  add(to, value.time_since_epoch());
}

template <class A, class B>
void add(Digester& to, const std::pair<A, B>& value);
template <class T>
void add(Digester& to, const std::optional<T>& value);
template <class T>
void add(Digester& to, const Boxed<T>& value);
template <class T>
void add(Digester& to, const std::vector<T>& value);
template <class... Ts>
void add(Digester& to, const std::variant<Ts...>& value);
template <class Key, class Value>
void add(Digester& to, const PersistentMap<Key, Value>& value);
template <class Key>
void add(Digester& to, const PersistentSet<Key>& value);

template <class T>
  requires std::is_aggregate_v<T>
void add(Digester& to, const T& value) {
  boost::pfr::for_each_field(value, [&](const auto& field) { add(to, field); });
}

inline void add(Digester& to, const Reply& reply) { add(to, reply.value); }

template <class A, class B>
void add(Digester& to, const std::pair<A, B>& value) {
  add(to, value.first);
  add(to, value.second);
}

template <class T>
void add(Digester& to, const std::optional<T>& value) {
  to.number(value ? 1 : 0);
  if (value) add(to, *value);
}

template <class T>
void add(Digester& to, const Boxed<T>& value) {
  to.number(value ? 1 : 0);
  if (value) add(to, *value);
}

template <class T>
void add(Digester& to, const std::vector<T>& value) {
  to.number(value.size());
  for (const auto& element : value) add(to, static_cast<const T&>(element));
}

template <class... Ts>
void add(Digester& to, const std::variant<Ts...>& value) {
  to.number(value.index());
  std::visit([&](const auto& alternative) { add(to, alternative); }, value);
}

template <class Key, class Value>
void add(Digester& to, const PersistentMap<Key, Value>& value) {
  to.number(value.size());
  for (const auto& [key, element] : value) {
    add(to, key);
    add(to, element);
  }
}

template <class Key>
void add(Digester& to, const PersistentSet<Key>& value) {
  to.number(value.size());
  for (const Key& key : value) add(to, key);
}

}  // namespace

std::uint64_t digest_of(const Command& command) {
  Digester digester;
  add(digester, command);
  return digester.value();
}

std::uint64_t digest_of(const Said& said) {
  Digester digester;
  add(digester, said.reply);
  add(digester, said.answers);
  add(digester, said.events);
  add(digester, said.effects);
  return digester.value();
}

std::uint64_t digest_of(const State& state) {
  Digester digester;
  std::apply([&](const auto&... part) { (add(digester, part), ...); }, parts_of(state));
  return digester.value();
}

}  // namespace reeve
