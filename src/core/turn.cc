#include "core/turn.h"

#include "core/key.h"

namespace reeve {

Turn::Turn(State& state, Stamp stamp, ProjectNo project, SessionId session, bool can_return)
    : state_(state),
      stamp_(stamp),
      as_of_(stamp.now),
      project_(project),
      session_(session),
      can_return_(can_return) {}

void Turn::emit(ProjectNo project, EventBody event) {
  changed_ = true;
  const std::uint32_t index = static_cast<std::uint32_t>(events_.size());
  events_.push_back({sequence(), index, stamp_.wall, project, std::move(event)});
}

EffectId Turn::start(Outer what, Address to) {
  const EffectId id{sequence(), next_effect_++};
  const Outgoing effect{std::move(what), std::move(to)};
  change().outbox.set(id, Started{effect, now()});
  effects_.push_back({id, effect});
  return id;
}

void Turn::answer(WaiterId waiter, Reply reply) {
  changed_ = true;
  key::answered(*this, waiter, reply);
  answers_.push_back({waiter, std::move(reply)});
}

void Turn::arm(const Subject& subject, std::optional<Time> due) {
  if (deadline_of(state_.timers, subject) == due) return;
  reeve::arm(change().timers, subject, due);
}

void Turn::arm_wall(const Subject& subject, std::optional<Wall> due) {
  if (wall_deadline_of(state_.timers, subject) == due) return;
  reeve::arm_wall(change().timers, subject, due);
}

void Turn::perform(Effect effect) {
  if (Inner* inner = std::get_if<Inner>(&effect.value)) {
    changed_ = true;
    inner_.push_back(std::move(*inner));
    return;
  }
  Outgoing& outgoing = std::get<Outgoing>(effect.value);
  start(std::move(outgoing.what), std::move(outgoing.to));
}

void Turn::perform(Effects effects) {
  for (Effect& effect : effects) perform(std::move(effect));
}

void Turn::later(Chore chore) {
  Chores& chores = change().chores;
  chores.waiting.set(++chores.last, std::move(chore));
}

}  // namespace reeve
