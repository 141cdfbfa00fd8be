#pragma once

#include <vector>

namespace reeve {

struct Effect;  // core/effect.h, which knows the nouns; the nouns' headers need not know it
using Effects = std::vector<Effect>;

// What a transition of one machine gives back: what it is now, what to answer, and what is
// to be done. Tasks and pipelines answer in this shape; guards and strategies, of which nothing
// follows but what they say next, in a Step of their own. The root's own answer is core/apply.h.
//
// The third parameter is never given: it lets Effect be incomplete until a step is made, which
// clang insists on where a default is written.
template <class State, class Outcome, class AnEffect = Effect>
struct [[nodiscard]] Step {
  State next;
  Outcome outcome;
  std::vector<AnEffect> effects = {};
};

}  // namespace reeve
