#include "core/timer.h"

namespace reeve {
namespace {

template <class Clock>
std::optional<Clock> find_due(const PersistentMap<Subject, DeadlineKey<Clock>>& armed,
                              const Subject& subject) {
  const DeadlineKey<Clock>* key = armed.find(subject);
  if (!key) return std::nullopt;
  return key->due;
}

template <class Clock>
void move_to(PersistentMap<DeadlineKey<Clock>, Subject>& index,
             PersistentMap<Subject, DeadlineKey<Clock>>& armed,
             std::uint64_t& last_order,
             const Subject& subject,
             std::optional<Clock> due) {
  if (const DeadlineKey<Clock>* old = armed.find(subject)) {
    if (due == old->due) return;
    index.erase(DeadlineKey<Clock>(*old));
    if (!due) armed.erase(subject);
  }
  if (!due) return;
  const DeadlineKey<Clock> key{*due, ++last_order};
  index.set(key, subject);
  armed.set(subject, key);
}

}  // namespace

void arm(Timers& timers, const Subject& subject, std::optional<Time> due) {
  move_to(timers.engine, timers.armed, timers.last_order, subject, due);
}

void arm_wall(Timers& timers, const Subject& subject, std::optional<Wall> due) {
  move_to(timers.wall, timers.wall_armed, timers.last_order, subject, due);
}

std::optional<Time> deadline_of(const Timers& timers, const Subject& subject) {
  return find_due(timers.armed, subject);
}

std::optional<Wall> wall_deadline_of(const Timers& timers, const Subject& subject) {
  return find_due(timers.wall_armed, subject);
}

}  // namespace reeve
