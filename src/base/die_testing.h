#pragma once

#include <rapidcheck.h>

// Random numbers for properties.
//
// RapidCheck's own inRange reaches its last values only when a game is large: of eight verbs the
// small games, which come first, know the first few only. That is right for the length of a game,
// and wrong for what happens in it.
namespace reeve::testing {

// Any number from `first` up to and without `end`, each as likely as another however small the
// game.
template <class Number>
rc::Gen<Number> die(Number first, Number end) {
  return rc::gen::resize(rc::kNominalSize, rc::gen::inRange<Number>(first, end));
}

// One of so many sides, counted from 0.
template <class Number>
rc::Gen<Number> die(Number sides) {
  return die<Number>(0, sides);
}

}  // namespace reeve::testing
