#include "core/custody.h"

#include "base/match.h"
#include "core/turn.h"

#include <string>
#include <utility>

namespace reeve::custody {
namespace {

std::string text_of(const Process& process) {
  return (process.group ? "process group " : "process ") + std::to_string(process.pid);
}

EffectId kill(Turn& turn, const Process& process) {
  turn.arm(Due{process}, saturating_add(turn.now(), limits::observe_end));
  return turn.start(Kill{process, limits::kill_grace}, ToCustody{process});
}

const Held* first_held(const Turn& turn, const Process& process) {
  const PersistentSet<Held>& held = turn.state().custody.held;
  const auto first = held.lower_bound({process, {}});
  if (first == held.end() || first->process != process) return nullptr;
  return &*first;
}

// Where people look for what is said of the process: with the first thing it holds.
ProjectNo project_of(const Turn& turn, const Process& process) {
  const Held* held = first_held(turn, process);
  if (!held) return shared_project;
  return match(
      held->lease,
      [](const LockLease& lease) { return lease.name.project; },
      [](const SlotLease& lease) { return lease.name.project; },
      [&](const ItemLease& lease) {
        const queue::Item* item = turn.state().queues.items.find(lease.item);
        const queue::Queue* queue = item ? turn.state().queues.queues.find(item->queue) : nullptr;
        return queue ? queue->name.project : shared_project;
      });
}

void lease_gone(Turn& turn, const LeaseRef& lease) {
  match(
      lease,
      [&](const LockLease& gone) { lock::lease_gone(turn, gone.name); },
      [&](const SlotLease& gone) { semaphore::lease_gone(turn, {gone.name, gone.holder}); },
      [&](const ItemLease& gone) { queue::lease_gone(turn, gone.item); });
}

// Gives on what the process held, as much as the step has room for.
void give_on(Turn& turn, const Process& process) {
  while (const Held* first = first_held(turn, process)) {
    if (!turn.may_touch()) {
      turn.arm(Due{process}, turn.as_of());
      return;
    }
    turn.touch();
    const Held held = *first;
    turn.change().custody.held.erase(held);
    lease_gone(turn, held.lease);
  }
  turn.change().custody.endings.erase(process);
  turn.arm(Due{process}, std::nullopt);
}

void ask_somebody(Turn& turn, const Process& process) {
  const ProjectNo project = project_of(turn, process);
  turn.emit(project, WasAsked{process});
  const DecisionId decision =
      decision::open(turn,
                     {.project = project,
                      .owner = decision::ProcessOwner{process},
                      .cause = decision::Cause::ProcessUnobserved,
                      .question = text_of(process) + " cannot be seen dead: release what it holds?",
                      .context = "it was sent TERM and KILL, and its end was not observed"});
  turn.change().custody.endings.edit(process)->decision = decision;
}

}  // namespace

void keep(Turn& turn, const Process& process, LeaseRef lease) {
  turn.change().custody.held.insert({process, std::move(lease)});
}

void let_go(Turn& turn, const Process& process, const LeaseRef& lease) {
  const Held held{process, lease};
  if (!turn.state().custody.held.contains(held)) return;
  turn.change().custody.held.erase(held);
  // With nothing left to give on, its end is nobody's question any more.
  const Ending* ending = turn.state().custody.endings.find(process);
  if (!ending || ending->gone || first_held(turn, process)) return;
  const bool was_asked = ending->decision.has_value();
  turn.change().custody.endings.erase(process);
  turn.arm(Due{process}, std::nullopt);
  if (was_asked) decision::retire(turn, decision::ProcessOwner{process});
}

Boxed<HolderMeta> follow(Turn& turn,
                         Boxed<HolderMeta> known,
                         const Boxed<HolderMeta>& said,
                         const LeaseRef& lease) {
  const Process* now = process_of(said);
  const Process* before = process_of(known);
  if (!now || (before && *before == *now)) return known;
  if (before) let_go(turn, *before, lease);
  keep(turn, *now, lease);
  known.edit().process = *now;
  return known;
}

void end(Turn& turn, const Process& process, Cause cause) {
  if (turn.state().custody.endings.contains(process)) return;
  const EffectId effect = kill(turn, process);
  turn.change().custody.endings.set(process, {turn.now(), cause, effect, std::nullopt, false});
}

void gone(Turn& turn, const Process& process, bool blindly) {
  const Ending* ending = turn.state().custody.endings.find(process);
  if (!ending && !first_held(turn, process)) return;
  if (ending && ending->gone) return;  // known, and being seen to
  const Cause cause = ending ? ending->cause : Cause::Silent;
  const Time since = ending ? ending->since : turn.now();
  const EffectId kill = ending ? ending->kill : EffectId{};
  const bool was_asked = ending && ending->decision;
  turn.emit(project_of(turn, process), WasObservedGone{process, blindly});
  turn.change().custody.endings.set(process, {since, cause, kill, std::nullopt, true});
  if (was_asked) decision::retire(turn, decision::ProcessOwner{process});
  grant::settle_due(turn);
  give_on(turn, process);
}

// Not seen dead: the timer is still armed, and asks somebody. A kill that is done again has its own
// time to be seen.
void kill_finished(Turn& turn, const Process& process, Ended ended) {
  if (ended == Ended::Done) return gone(turn, process, false);
  const Ending* ending = turn.state().custody.endings.find(process);
  if (ended != Ended::Unknown || !ending || ending->gone || ending->decision) return;
  const EffectId again = kill(turn, process);
  turn.change().custody.endings.edit(process)->kill = again;
}

void decided(Turn& turn, const Process& process, const decision::Answer& answer) {
  const Ending* ending = turn.state().custody.endings.find(process);
  if (!ending || ending->gone || !ending->decision) return;
  if (answer.choice == decision::Choice::ReleaseAnyway) return gone(turn, process, true);
  if (answer.choice != decision::Choice::LookAgain) return;
  const EffectId again = kill(turn, process);
  Ending* changed = turn.change().custody.endings.edit(process);
  changed->kill = again;
  changed->decision.reset();
}

void due(Turn& turn, const Due& due) {
  const Ending* ending = turn.state().custody.endings.find(due.process);
  if (!ending) return;
  if (ending->gone) return give_on(turn, due.process);
  if (!ending->decision) ask_somebody(turn, due.process);
}

EventName name_of(const Event& event) {
  return match(
      event,
      [](const WasAsked& was) {
        return EventName{"process", std::to_string(was.process.pid), "unobserved"};
      },
      [](const WasObservedGone& was) {
        return EventName{"process", std::to_string(was.process.pid), "gone"};
      });
}

}  // namespace reeve::custody
