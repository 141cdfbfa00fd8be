#pragma once

#include "base/reflect.h"
#include "core/effect.h"
#include "core/id.h"
#include "core/lease_ref.h"
#include "core/reply.h"
#include "core/shapes.h"
#include "core/state.h"
#include "core/timer.h"

#include <string_view>

// What reflection is to know about the types of the core. For the files that make shapes.
namespace reeve {

template <>
struct Blank<Emit> {
  static Emit make() { return {.project = {}, .event = Escalate{}}; }
};
template <>
struct Blank<Inner> {
  static Inner make() { return Blank<Emit>::make(); }
};

}  // namespace reeve

namespace reeve::reflect {

template <>
inline constexpr bool is_bare<ProjectNo> = true;

template <class Kind>
inline constexpr bool is_closed<Scoped<Kind>> = true;

template <>
inline constexpr bool is_closed<EffectId> = true;
template <>
inline constexpr bool is_dashed<EffectId> = true;

template <>
struct Inside<Reply> {
  using type = ReplySum;
};

template <>
inline constexpr std::string_view given_name<LeaseRef> = "LeaseRef";
template <>
inline constexpr std::string_view given_name<Inner> = "Inner";
template <>
inline constexpr std::string_view given_name<Input> = "Input";
template <>
inline constexpr std::string_view given_name<Subject> = "Subject";
template <>
inline constexpr std::string_view given_name<board::TaskRef> = "board::TaskRef";
template <>
inline constexpr std::string_view given_name<DeadlineKey<Time>> = "DeadlineKey<Time>";
template <>
inline constexpr std::string_view given_name<DeadlineKey<Wall>> = "DeadlineKey<Wall>";

// The large ones are made in one file each (shapes_*.cc) and only referred to in the others.
#define REEVE_ELSEWHERE(...) \
  template <>                \
  const Shape Reflected<__VA_ARGS__>::shape

REEVE_ELSEWHERE(Command);
REEVE_ELSEWHERE(Reply);
REEVE_ELSEWHERE(EventBody);
REEVE_ELSEWHERE(Inner);
REEVE_ELSEWHERE(Outgoing);
REEVE_ELSEWHERE(Subject);
REEVE_ELSEWHERE(definition::Set);
REEVE_ELSEWHERE(lock::Table);
REEVE_ELSEWHERE(semaphore::Table);
REEVE_ELSEWHERE(grant::Table);
REEVE_ELSEWHERE(custody::Table);
REEVE_ELSEWHERE(session::Table);
REEVE_ELSEWHERE(queue::Table);
REEVE_ELSEWHERE(task::Table);
REEVE_ELSEWHERE(pipeline::Table);
REEVE_ELSEWHERE(dispatch::Table);
REEVE_ELSEWHERE(worker::Table);
REEVE_ELSEWHERE(cron::Table);
REEVE_ELSEWHERE(board::Table);
REEVE_ELSEWHERE(decision::Table);
REEVE_ELSEWHERE(mailbox::Table);
REEVE_ELSEWHERE(definition::Table);
REEVE_ELSEWHERE(project::Table);
REEVE_ELSEWHERE(event_bus::Table);
REEVE_ELSEWHERE(key::Table);
REEVE_ELSEWHERE(Timers);
REEVE_ELSEWHERE(Chores);

#undef REEVE_ELSEWHERE

#define REEVE_HERE(...) \
  template <>           \
  constinit const Shape Reflected<__VA_ARGS__>::shape = describe<__VA_ARGS__>()

}  // namespace reeve::reflect
