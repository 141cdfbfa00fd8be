#pragma once

#include <utility>
#include <variant>

namespace reeve {

template <class... Arms>
struct Overloaded : Arms... {
  using Arms::operator()...;
};

// One arm per alternative and no `auto` arm: when a variant gains an alternative,
// every place that must have an opinion about it stops compiling.
template <class Variant, class... Arms>
decltype(auto) match(Variant&& variant, Arms&&... arms) {
  return std::visit(Overloaded{std::forward<Arms>(arms)...}, std::forward<Variant>(variant));
}

}  // namespace reeve
