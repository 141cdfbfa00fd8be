#include "core/apply.h"
#include "core/arbitrary.h"
#include "core/digest.h"
#include "core/invariants.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <string>
#include <vector>

// The laws of the root, whatever comes in: inputs are drawn from all there are, with sensible
// and senseless values alike.
namespace reeve {
namespace {

using testing::Dice;

struct Moment {
  Input input;
  Stamp stamp;
};

// Where a history begins: mostly in our time, sometimes so close to an end of it that what is asked
// for would fall behind it.
Stamp beginning(Dice& dice) {
  constexpr Duration close = std::chrono::minutes{2};
  Stamp stamp{Time{} + std::chrono::hours{1}, Wall{std::chrono::hours{24 * 365 * 50}}};
  if (dice.one_in(8)) stamp.now = dice.one_in(2) ? Time::max() - close : Time::min();
  if (dice.one_in(8)) stamp.wall = dice.one_in(2) ? Wall::max() - close : Wall::min() + close;
  return stamp;
}

// A clock that stops at the ends of its time.
template <class Point>
Point moved(Point from, Duration by) {
  return Point{saturating_add(Time{from.time_since_epoch()}, by).time_since_epoch()};
}

// A way through time: mostly small steps, sometimes none, an hour or a day; now and then the
// wall clock is set, also to an end of its time.
std::vector<Moment> history(std::uint64_t seed, int length) {
  Dice dice(seed);
  Stamp stamp = beginning(dice);
  std::vector<Moment> moments;
  for (int i = 0; i < length; ++i) {
    constexpr std::array<std::int64_t, 8> steps{0, 0, 1, 7, 1000, 31'000, 3'600'000, 90'000'000};
    const Duration ahead{steps[dice.below(dice.one_in(4) ? 8 : 5)]};
    stamp = {moved(stamp.now, ahead), moved(stamp.wall, ahead)};
    if (dice.one_in(50)) stamp.wall = moved(stamp.wall, -std::chrono::hours{dice.below(48)});
    if (dice.one_in(200)) stamp.wall = dice.one_in(2) ? Wall::max() : Wall::min();
    Input input = Tick{};
    if (!dice.one_in(5)) testing::fill(dice, input);
    if (Request* request = std::get_if<Request>(&input); request && !dice.one_in(20)) {
      request->project = default_project;
    }
    moments.push_back({std::move(input), stamp});
  }
  return moments;
}

constexpr int kLength = 150;

RC_GTEST_PROP(Apply, WhateverComesInTheInvariantsHold, (std::uint64_t seed)) {
  const std::vector<Moment> moments = history(seed, kLength);
  State state = initial_state(moments.front().stamp.now);
  for (const Moment& moment : moments) {
    const State before = state;
    const Applied applied = apply(state, moment.input, moment.stamp);
    RC_ASSERT(check_step(before, applied) == Violations{});
    RC_ASSERT(check_state(applied.state) == Violations{});
    state = applied.state;
  }
}

RC_GTEST_PROP(Apply, TheSameInputsGiveTheSameDigests, (std::uint64_t seed)) {
  const std::vector<Moment> moments = history(seed, kLength);
  State first = initial_state(moments.front().stamp.now);
  State second = first;
  for (const Moment& moment : moments) {
    // Once in place and once on a copy: who else holds the state must not matter.
    Applied in_place = apply(std::move(first), moment.input, moment.stamp);
    const Applied on_copy = apply(second, moment.input, moment.stamp);
    RC_ASSERT(digest_of(in_place) == digest_of(on_copy));
    first = std::move(in_place.state);
    second = on_copy.state;
  }
  RC_ASSERT(digest_of(first) == digest_of(second));
  RC_ASSERT(first == second);
}

RC_GTEST_PROP(Apply, ASnapshotStaysAsItWas, (std::uint64_t seed)) {
  const std::vector<Moment> moments = history(seed, kLength);
  State state = initial_state(moments.front().stamp.now);
  std::vector<std::pair<State, std::uint64_t>> snapshots;
  for (const Moment& moment : moments) {
    if (snapshots.size() < 10 && moment.stamp.now.time_since_epoch().count() % 3 == 0) {
      snapshots.emplace_back(state, digest_of(state));
    }
    state = apply(std::move(state), moment.input, moment.stamp).state;
  }
  for (const auto& [snapshot, digest] : snapshots) RC_ASSERT(digest_of(snapshot) == digest);
}

}  // namespace
}  // namespace reeve
