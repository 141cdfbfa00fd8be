#pragma once

#include <type_traits>
#include <variant>

// The values that contain everything (a command, a reply, an event, the state) are copied,
// compared and destroyed in one file each. Left to the compiler, every file that touches one would
// make the code for all the nouns there are, again: most of the time that building took.
namespace reeve::walled {

template <class T, class Noun>
struct Holds : std::is_same<T, Noun> {};

template <class T, class... Alternatives>
struct Holds<T, std::variant<Alternatives...>>
    : std::disjunction<std::is_same<T, std::variant<Alternatives...>>,
                       std::is_same<T, Alternatives>...> {};

template <class T, class Sum>
struct NounOf {};

template <class T, class First, class... Rest>
struct NounOf<T, std::variant<First, Rest...>>
    : std::conditional_t<Holds<T, First>::value,
                         std::type_identity<First>,
                         NounOf<T, std::variant<Rest...>>> {};

// Of a variant of variants: the one that `T` is an alternative of. None: no such member.
template <class T, class Sum>
using NounFor = typename NounOf<T, Sum>::type;

// The words of one noun are not a noun themselves.
template <class T, class Sum>
concept WordOf = requires { typename NounOf<T, Sum>::type; } && !std::is_same_v<T, NounFor<T, Sum>>;

}  // namespace reeve::walled
