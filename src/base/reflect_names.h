#pragma once

#include <array>
#include <cstddef>
#include <string_view>
#include <utility>

// What things are called in the code, read off the text in which the compiler tells what a
// template was made with. g++ and clang agree on what is in it and not on how it looks:
//
//     g++    [with const auto& ...member = {external<Item>.Outside<Item>::value.Item::name, ...}]
//         or [with const auto& ...member = {(& external<Item>.Outside<Item>::value.Item::name),
//         ...}]
//     clang  [member = <external.value.name, ...>]
//     g++    [with auto ...value = {Why::NotFound, (Why)10}]
//     clang  [value = <Why::NotFound, (Why)10>]
//     both   [with T = queue::Item] or [T = queue::Item]
namespace reeve::reflect {

constexpr bool is_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

// These look at letters one by one: string_view would cost the compiler ten times as much.
constexpr std::string_view word_before(const char* end) {
  const char* begin = end;
  while (is_word(begin[-1])) --begin;
  return {begin, end};
}

constexpr const char* after_equals(const char* text) {
  while (text[0] != '=' || text[1] != ' ') ++text;
  return text + 2;
}

// Of one thing in a list, in which templates have lists of their own.
constexpr const char* end_of_item(const char* at) {
  for (int depth = 0;; ++at) {
    if (depth == 0 && (*at == ',' || *at == '>' || *at == '}')) return at;
    if (*at == '<') ++depth;
    if (*at == '>') --depth;
  }
}

// ── The members of a struct ──

template <const auto&... member>
struct Members {};

template <const auto&... member>
constexpr const char* text_of_members() {
  return __PRETTY_FUNCTION__;
}

// A name that had to avoid a keyword loses its underscore again: for_ is called `for`.
template <const auto&... member>
constexpr std::array<std::string_view, sizeof...(member)> names_of_members() {
  std::array<std::string_view, sizeof...(member)> names;
  const char* at = after_equals(text_of_members<member...>()) + 1;
  for (std::string_view& name : names) {
    at = end_of_item(at);
    name = word_before(at[-1] == ')' ? at - 1 : at);
    if (name.ends_with('_')) name.remove_suffix(1);
    ++at;
  }
  return names;
}

// ── The values of an enumeration, which count up from 0 ──

template <auto... value>
constexpr const char* text_of_values() {
  return __PRETTY_FUNCTION__;
}

inline constexpr std::size_t most_enumerators = 40;

template <class T, std::size_t... index>
constexpr const char* text_of_enumerators(std::index_sequence<index...>) {
  return text_of_values<static_cast<T>(index)...>();
}

template <class T>
struct Enumerators {
  static constexpr const char* begin =
      after_equals(text_of_enumerators<T>(std::make_index_sequence<most_enumerators>())) + 1;

  // A value without a name is shown as a cast.
  static constexpr std::size_t count = [] {
    std::size_t named = 0;
    for (const char* at = begin; *at != '('; at = end_of_item(at) + 2) ++named;
    return named;
  }();
  static constexpr std::array<std::string_view, count> names = [] {
    std::array<std::string_view, count> found;
    const char* at = begin;
    for (std::string_view& name : found) {
      name = word_before(end_of_item(at));
      at = end_of_item(at) + 2;
    }
    return found;
  }();
};

// ── Types ──

template <class T>
constexpr const char* text_of_type() {
  return __PRETTY_FUNCTION__;
}

// For types whose own name is no good, such as a sum that has only an alias.
template <class T>
inline constexpr std::string_view given_name = {};

template <class T>
constexpr std::string_view name_of_type() {
  if constexpr (!given_name<T>.empty()) {
    return given_name<T>;
  } else {
    std::string_view text = after_equals(text_of_type<T>());
    text.remove_suffix(1);
    if (text.starts_with("reeve::")) text.remove_prefix(7);
    return text;
  }
}

// `queue::TakenItem`, without the `reeve::` that all have.
template <class T>
inline constexpr std::string_view type_name = name_of_type<T>();

}  // namespace reeve::reflect
