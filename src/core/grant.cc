#include "core/grant.h"

#include "base/match.h"
#include "core/grant_lines.h"
#include "core/holder_rules.h"
#include "core/names.h"
#include "core/turn.h"
#include "core/wait_graph.h"

#include <algorithm>
#include <map>
#include <utility>

namespace reeve::grant {
namespace {

using Refusal = std::optional<reeve::Reply>;

bool is_negative(const std::optional<Duration>& duration) {
  return duration && *duration < Duration{0};
}

template <class Want>
Refusal refuse_limits(const Want& want) {
  if (is_negative(want.timeout)) return refused(Why::BadValue, "timeout");
  if (is_negative(want.max_hold)) return refused(Why::BadValue, "max_hold");
  return std::nullopt;
}

Refusal refuse_locks(const State& state, const Request& request) {
  std::map<ProjectNo, std::uint64_t> fresh;
  for (const LockWant& want : request.locks) {
    if (!is_good_name(want.name.name)) return refused(Why::BadName, want.name.name);
    if (!state.projects.projects.contains(want.name.project)) {
      return refused(Why::NotFound, "project");
    }
    if (Refusal refusal = refuse_limits(want)) return refusal;
    if (!state.locks.locks.contains(want.name)) ++fresh[want.name.project];
  }
  for (const auto& [project, more] : fresh) {
    const std::uint64_t* count = state.locks.counts.find(project);
    if ((count ? *count : 0) + more > limits::names_a_project) {
      return refused(Why::OverLimit, "locks");
    }
  }
  return std::nullopt;
}

Refusal refuse_slots(const State& state, const Request& request) {
  for (const SlotWant& want : request.slots) {
    if (!state.semaphores.semaphores.contains(want.name)) {
      return refused(Why::NotFound, want.name.name);
    }
    if (want.weight == 0) return refused(Why::BadValue, "weight");
    if (Refusal refusal = refuse_limits(want)) return refusal;
    if (std::ranges::count(request.slots, want.name, &SlotWant::name) > 1) {
      return refused(Why::BadValue, "slots");
    }
  }
  return std::nullopt;
}

Refusal refuse(const State& state, const Request& request) {
  const std::size_t names = request.locks.size() + request.slots.size();
  if (names == 0) return refused(Why::BadValue, "names");
  if (names > limits::names_a_request) return refused(Why::OverLimit, "names");
  if (is_negative(request.wait)) return refused(Why::BadValue, "wait");
  if (std::optional<Refused> mistake = mistake_in(request.holder, request.meta, request.session)) {
    return reeve::Reply{*std::move(mistake)};
  }
  if (Refusal refusal = refuse_locks(state, request)) return refusal;
  if (Refusal refusal = refuse_slots(state, request)) return refusal;
  if (!session::has_room(state, request.holder.session)) {
    return refused(Why::OverLimit, "sessions");
  }
  return std::nullopt;
}

Refusal refuse_wait(const State& state, const Request& request) {
  if (!session::has_room(state, request.session)) return refused(Why::OverLimit, "sessions");
  for (const LockWant& want : request.locks) {
    const lock::Lock* lock = state.locks.locks.find(want.name);
    if (lock && lock->waiting >= limits::waiters_a_line) {
      return refused(Why::OverLimit, "waiters");
    }
  }
  for (const SlotWant& want : request.slots) {
    if (state.semaphores.semaphores.find(want.name)->waiting >= limits::waiters_a_line) {
      return refused(Why::OverLimit, "waiters");
    }
  }
  return std::nullopt;
}

// A lock named twice is one lock, and long texts are kept to a bound.
void tidy(Request& request) {
  std::vector<LockWant> once;
  for (LockWant& want : request.locks) {
    if (std::ranges::find(once, want.name, &LockWant::name) == once.end()) {
      once.push_back(std::move(want));
    }
  }
  request.locks = std::move(once);
  request.meta = tidied(std::move(request.meta));
}

// A client that runs in a phase knows that phase's pipeline; what that runs within we know.
void complete_within(const Turn& turn, Request& request) {
  if (!std::holds_alternative<ToClient>(request.origin)) return;
  std::vector<Holder> within(within_of(request).begin(), within_of(request).end());
  const Holder& innermost = within.empty() ? request.holder : within.back();
  const std::vector<Holder> outer = pipeline::outer_of(turn, innermost);
  if (outer.empty()) return;
  within.insert(within.end(), outer.begin(), outer.end());
  if (!request.meta) request.meta = Boxed<HolderMeta>(HolderMeta{});
  request.meta.edit().within = std::move(within);
}

void settle_all(Turn& turn, const Request& request) {
  each_name(request,
            Overloaded{[&](const LockName& name) { lock::settle(turn, name); },
                       [&](const SemaphoreName& name) {
                         semaphore::settle(turn, name);
                         serve(turn, name);
                       }});
}

bool is_of_lines(const Subject& subject) {
  return std::holds_alternative<lock::Due>(subject) ||
         std::holds_alternative<semaphore::Due>(subject) || std::holds_alternative<Due>(subject);
}

void look_at(Turn& turn, const Subject& subject) {
  if (const auto* of_lock = std::get_if<lock::Due>(&subject)) return lock::due(turn, *of_lock);
  if (const auto* of_slot = std::get_if<semaphore::Due>(&subject)) {
    return semaphore::due(turn, *of_slot);
  }
  if (const auto* of_wait = std::get_if<Due>(&subject)) return due(turn, *of_wait);
}

reeve::Reply busy(std::variant<Busy, Full> in_the_way) {
  return match(
      std::move(in_the_way),
      [](Busy busy) -> reeve::Reply { return {Reply{std::move(busy)}}; },
      [](Full full) -> reeve::Reply { return {Reply{std::move(full)}}; });
}

template <class Name>
void serve_name(Turn& turn, const Name& name) {
  Rounds rounds(turn);
  rounds.look_at(name);
  rounds.run();
}

}  // namespace

reeve::Reply ask(Turn& turn, Request request) {
  if (request.locks.size() + request.slots.size() <= limits::names_a_request) tidy(request);
  if (Refusal refusal = refuse(turn.state(), request)) return *std::move(refusal);
  complete_within(turn, request);

  settle_all(turn, request);
  const State& state = turn.state();
  Rounds rounds(turn);
  switch (judge(state, request, std::nullopt, turn.now())) {
    case Verdict::Never:
      return refused(Why::BadValue, "weight");
    case Verdict::Grant: {
      Granted granted = give(turn, request);
      rounds.after_grant(request);
      rounds.run();
      return {Reply{std::move(granted)}};
    }
    case Verdict::Wait:
      break;
  }

  if (!request.wait || *request.wait == Duration{0}) {
    return busy(in_the_way(state, request, std::nullopt, turn.now()));
  }
  if (auto cycle = wait_graph::would_deadlock(state, request, turn.now())) {
    return {Reply{WouldDeadlock{*std::move(cycle)}}};
  }
  if (Refusal refusal = refuse_wait(state, request)) return *std::move(refusal);
  // Those it waits for may be waiting behind somebody who now, through it, waits for them.
  const Holder holder = request.holder;
  const WaiterId waiter = join(turn, std::move(request));
  rounds.look_at(holder);
  rounds.run();
  return {Waiting{waiter}};
}

void settle_due(Turn& turn) {
  DeadlineKey<Time> after{Time::min(), 0};
  std::size_t others = 0;
  while (turn.may_touch() && others < limits::touched_a_step) {
    const auto& timers = turn.state().timers.engine;
    const auto next = timers.lower_bound(after);
    if (next == timers.end() || (*next).first.due > turn.as_of()) return;
    const Time moment = (*next).first.due;
    const Subject subject = (*next).second;
    after = {moment, (*next).first.order + 1};
    if (!is_of_lines(subject)) {
      ++others;
      continue;
    }
    turn.touch();
    turn.arm(subject, std::nullopt);
    turn.settle_as_of(moment, [&] { look_at(turn, subject); });
  }
}

void serve(Turn& turn, const LockName& name) { serve_name(turn, name); }
void serve(Turn& turn, const SemaphoreName& name) { serve_name(turn, name); }
void capacity_changed(Turn& turn, const SemaphoreName& name, bool lowered) {
  Rounds rounds(turn);
  rounds.look_at(SlotPlace{name, false, {}});
  rounds.look_at(name);
  rounds.run();
  if (lowered && !go_on(turn, {name})) turn.later(CirclesAt{name});
}

// One after the other: whoever leaves may have been the only one in the way. Each time the whole
// line is looked at.
bool go_on(Turn& turn, const CirclesAt& rest) {
  while (turn.may_touch()) {
    const semaphore::Semaphore* semaphore = turn.state().semaphores.semaphores.find(rest.name);
    if (!semaphore) return true;
    for (std::uint32_t i = 0; i < semaphore->waiting; ++i) turn.touch();
    auto stuck = wait_graph::stuck_at(turn.state(), rest.name, turn.now());
    if (!stuck) return true;
    Rounds rounds(turn);
    rounds.send_away(stuck->waiter, Left::Unfit, {Reply{WouldDeadlock{std::move(stuck->cycle)}}});
    rounds.run();
  }
  return false;
}

void slot_changed(Turn& turn, const SemaphoreName& name, const Holder& holder) {
  if (turn.state().semaphores.semaphores.find(name)->waiting == 0) return;
  const bool newcomer = !semaphore::has_slot(turn.state(), name, holder);
  for (const WaiterId id : waits_of(turn.state().grants, holder)) {
    const SlotPlace before{name, !newcomer, id};
    if (turn.state().grants.waiters.find(id)->request.holder != holder) continue;
    if (!turn.state().grants.slot_lines.contains(before)) continue;
    PersistentSet<SlotPlace>& lines = turn.change().grants.slot_lines;
    lines.erase(before);
    lines.insert({name, newcomer, id});
    turn.arm(Due{id}, turn.as_of());
  }
}

void lock_lost(Turn& turn, const LockName& name, const Holder& holder) {
  for (const WaiterId id : waits_of(turn.state().grants, holder)) {
    if (turn.state().grants.waiters.find(id)->request.holder != holder) continue;
    if (turn.state().grants.lock_lines.contains({name, id})) turn.arm(Due{id}, turn.as_of());
  }
}

void retry(Turn& turn, const Holder& holder) {
  serve_name(turn, holder);
  Rounds rounds(turn);
  rounds.give_up_hopeless(holder);
  rounds.run();
}

void leave(Turn& turn, WaiterId waiter, Left left) {
  Rounds rounds(turn);
  rounds.leave(waiter, left);
  rounds.run();
}

void move_to_session(Turn& turn, WaiterId id, SessionId session) {
  Table& table = turn.change().grants;
  Request& request = table.waiters.edit(id)->request;
  const SessionId from = std::exchange(request.session, session);
  if (!from || request.holder.session != from) return;
  table.waits.erase({request.holder, id});
  request.holder.session = session;
  table.waits.insert({request.holder, id});
  for (const Holder& outer : within_of(request)) table.waits.insert({outer, id});
  const Request moved = request;
  for (const SlotWant& want : moved.slots) slot_changed(turn, want.name, moved.holder);
}

void due(Turn& turn, const Due& due) {
  const Waiter* waiting = turn.state().grants.waiters.find(due.waiter);
  if (!waiting) return;
  if (is_over(*waiting, turn.as_of())) return leave(turn, due.waiter, Left::TimedOut);
  const Request request = waiting->request;
  turn.arm(due, waiting->until);
  Rounds rounds(turn);
  rounds.look_at(request.holder);
  for (const Holder& outer : within_of(request)) rounds.look_at(outer);
  // With less room than there was, what the holder gave back may be what it now waits for.
  rounds.give_up_hopeless(request.holder);
  rounds.run();
}

namespace {

// Somebody who asked in the holder's name was told since that it is his, or it was heartbeaten.
bool is_confirmed(const State& state, const Holder& holder, const Given& given) {
  if (given.weight == 0) {
    const lock::Lock* found = state.locks.locks.find({given.project, given.name});
    const lock::Tenure* tenure = found ? lock::tenure_of(*found) : nullptr;
    return tenure && tenure->lease.confirmed;
  }
  const semaphore::Slot* slot = state.semaphores.slots.find({{given.project, given.name}, holder});
  return slot && slot->lease.confirmed;
}

}  // namespace

void take_back(Turn& turn, const Granted& granted) {
  settle_due(turn);
  for (const Given& given : granted.given) {
    if (!given.had && is_confirmed(turn.state(), granted.holder, given)) continue;
    if (given.weight == 0) {
      if (given.had) continue;
      lock::apply(turn, lock::Release{{given.project, given.name}, granted.holder, given.token});
    } else if (!given.had) {
      semaphore::apply(
          turn, semaphore::Release{{given.project, given.name}, granted.holder, given.token});
    } else {
      semaphore::shrink(turn, {{given.project, given.name}, granted.holder}, given);
    }
  }
}

EventName name_of(const Event& event) {
  return match(
      event,
      [](const BeganWaiting& began) { return EventName{"wait", began.holder.name, "began"}; },
      [](const StoppedWaiting& stopped) {
        return EventName{"wait", stopped.holder.name, "ended"};
      });
}

}  // namespace reeve::grant
