#pragma once

#include "core/decision.h"
#include "core/dispatch.h"
#include "core/testing.h"

#include <optional>
#include <string>
#include <utility>
#include <vector>

// Words that the tests of dispatch share.
namespace reeve::dispatch {

using namespace reeve::testing;

inline const Target ana{default_project, "ana"};
inline const Process child{42, 7, "boot-1"};

inline constexpr Time just_now = Time::max();  // looked at as it was sent

inline Send to_ana(Liveness seen, bool wants_outcome = false, std::string message_id = "m1") {
  return {"ana",
          std::move(message_id),
          "bo",
          "hello",
          seen,
          {9},
          "claude --resume x",
          "/ws",
          wants_outcome,
          just_now};
}

inline Send resume(std::string message_id = "m1") {
  return to_ana(Liveness::Dead, true, std::move(message_id));
}

inline const Dispatch& the(const World& world, DispatchId id) {
  return *world.state.dispatches.dispatches.find(id);
}

template <class T>
bool is_in(const World& world, DispatchId id) {
  return std::holds_alternative<T>(the(world, id).state);
}

inline bool has_claim(const World& world) { return world.state.dispatches.claims.contains(ana); }

// What was said about dispatches since the last `forget`.
inline std::vector<Event> said(const World& world) {
  std::vector<Event> result;
  for (const EventBody& body : world.heard) {
    if (const Event* event = std::get_if<Event>(&body)) result.push_back(*event);
  }
  return result;
}

inline DispatchId begin(World& world, const Send& send) {
  const DispatchId id = as<Planned>(world.ask(Command{send})).dispatch;
  return id;
}

inline DispatchId begin_started(World& world) {
  const DispatchId id = begin(world, resume());
  world.ask(Command{SawStarted{id, child, "/run/ana.sock"}});
  return id;
}

inline DispatchId begin_retained(World& world) {
  const DispatchId id = begin_started(world);
  world.pass(35s);
  return id;
}

inline void decide(World& world, DispatchId id, decision::Choice choice) {
  Turn turn(world.state, world.stamp);
  decided(turn, id, {choice, 0, "", "ana", world.stamp.now});
  world.state.now = world.stamp.now;
  world.state.sequence++;
  for (const std::string& violation : check_state(world.state)) ADD_FAILURE() << violation;
}

inline const Outcome unknown = [] {
  Outcome outcome;
  outcome.ended = reeve::Ended::Unknown;
  return outcome;
}();
inline const Outcome failed = [] {
  Outcome outcome;
  outcome.ended = reeve::Ended::Failed;
  outcome.error = "no such program";
  return outcome;
}();

inline Outcome exited(std::optional<int> code, std::string output = {}) {
  Outcome outcome;
  outcome.exit_code = code;
  outcome.output = std::move(output);
  return outcome;
}

}  // namespace reeve::dispatch
