#include "core/semaphore.h"

#include "base/match.h"
#include "core/names.h"
#include "core/turn.h"

#include <utility>

namespace reeve::semaphore {
namespace {

reeve::Reply answer(Reply reply) { return {std::move(reply)}; }

const Semaphore* find(const Turn& turn, const SemaphoreName& name) {
  return turn.state().semaphores.semaphores.find(name);
}

const Slot* find(const Turn& turn, const SemaphoreName& name, const Holder& holder) {
  return turn.state().semaphores.slots.find({name, holder});
}

bool has_slots(const Turn& turn, const SemaphoreName& name) {
  const auto& slots = turn.state().semaphores.slots;
  const auto first = slots.lower_bound({name, {}});
  return first != slots.end() && first->first.name == name;
}

void resize(Turn& turn, const SemaphoreName& name, std::uint32_t capacity) {
  Semaphore* semaphore = turn.change().semaphores.semaphores.edit(name);
  const std::uint32_t before = std::exchange(semaphore->config.capacity, capacity);
  turn.emit(name.project, WasResized{name, before, capacity});
  grant::capacity_changed(turn, name, capacity < before);
}

reeve::Reply create_new(Turn& turn, const Create& command) {
  const SemaphoreName& name = command.name;
  const std::uint64_t* count = turn.state().semaphores.counts.find(name.project);
  if (count && *count >= limits::names_a_project) return refused(Why::OverLimit, "semaphores");
  Table& table = turn.change().semaphores;
  ++table.counts.edit_or_insert(name.project);
  table.semaphores.set(name, {command.config, 0, 0});
  turn.emit(name.project, WasCreated{name, command.config.capacity});
  return {Ok{}};
}

reeve::Reply handle(Turn& turn, const Create& command) {
  const Config& config = command.config;
  if (!is_good_name(command.name.name)) return refused(Why::BadName, command.name.name);
  if (!turn.state().projects.projects.contains(command.name.project)) {
    return refused(Why::NotFound, "project");
  }
  if (std::optional<Refused> mistake = mistake_in(config)) return {*std::move(mistake)};
  settle(turn, command.name);
  const Semaphore* found = find(turn, command.name);
  if (!found) return create_new(turn, command);
  const Config before = found->config;
  if (before.heartbeat_timeout != config.heartbeat_timeout) {
    turn.change().semaphores.semaphores.edit(command.name)->config.heartbeat_timeout =
        config.heartbeat_timeout;
  }
  if (before.capacity != config.capacity) resize(turn, command.name, config.capacity);
  return {Ok{}};
}

reeve::Reply handle(Turn& turn, const Resize& command) {
  settle(turn, command.name);
  const Semaphore* found = find(turn, command.name);
  if (!found) return refused(Why::NotFound, command.name.name);
  if (command.capacity == 0) return refused(Why::BadValue, "capacity");
  if (found->config.capacity != command.capacity) resize(turn, command.name, command.capacity);
  return {Ok{}};
}

reeve::Reply handle(Turn& turn, const Acquire& command) {
  return grant::ask(turn,
                    {.holder = command.holder,
                     .meta = command.meta,
                     .locks = {},
                     .slots = {{command.name, command.weight, command.timeout, command.max_hold}},
                     .origin = grant::ToClient{},
                     .session = turn.session(),
                     .wait = command.wait});
}

reeve::Reply handle(Turn& turn, const Release& command) {
  settle(turn, command.name);
  const Slot* slot = find(turn, command.name, command.holder);
  if (!slot) return answer(NotHolder{});
  if (command.holder.session && !command.token) return refused(Why::BadValue, "token");
  if (command.token && *command.token != slot->lease.token) return answer(NotHolder{});
  // What a phase holds ends with the phase, whoever knows its name.
  if (pipeline::hold_of(turn, command.name, command.holder) != pipeline::Hold::No) {
    return refused(Why::NotAllowed, "held by a phase");
  }
  // Being ended, it is given on when that was observed, and not before.
  if (slot->ending) return answer(Released{});

  const std::uint32_t weight = slot->weight;
  vacate(turn, {command.name, command.holder});
  turn.emit(command.name.project, WasReleased{command.name, command.holder, weight});
  grant::serve(turn, command.name);
  return answer(Released{});
}

reeve::Reply handle(Turn& turn, const Heartbeat& command) {
  settle(turn, command.name);
  const Slot* slot = find(turn, command.name, command.holder);
  if (!slot || slot->ending || slot->lease.token != command.token) return answer(Lost{});
  const Lease lease = refresh(turn, {command.name, command.holder});
  return answer(Alive{limit_of(lease, turn.leases_from())});
}

reeve::Reply handle(Turn& turn, const Remove& command) {
  settle(turn, command.name);
  const Semaphore* found = find(turn, command.name);
  if (!found) return refused(Why::NotFound, command.name.name);
  if (has_slots(turn, command.name)) return refused(Why::NotAllowed, "held");
  if (found->waiting > 0) return refused(Why::NotAllowed, "waited for");
  Table& table = turn.change().semaphores;
  table.semaphores.erase(command.name);
  if (--table.counts.edit_or_insert(command.name.project) == 0) {
    table.counts.erase(command.name.project);
  }
  turn.arm(Due{command.name}, std::nullopt);
  turn.emit(command.name.project, WasRemoved{command.name});
  return {Ok{}};
}

}  // namespace

std::optional<Refused> mistake_in(const Config& config) {
  if (config.capacity == 0) return Refused{Why::BadValue, "capacity"};
  if (config.heartbeat_timeout && *config.heartbeat_timeout < Duration{0}) {
    return Refused{Why::BadValue, "heartbeat_timeout"};
  }
  return std::nullopt;
}

reeve::Reply apply(Turn& turn, const Command& command) {
  return match(
      command,
      [&](const Create& create) { return handle(turn, create); },
      [&](const Resize& resize) { return handle(turn, resize); },
      [&](const Acquire& acquire) { return handle(turn, acquire); },
      [&](const Release& release) { return handle(turn, release); },
      [&](const Heartbeat& heartbeat) { return handle(turn, heartbeat); },
      [&](const Remove& remove) { return handle(turn, remove); });
}

EventName name_of(const Event& event) {
  const auto named = [](const SemaphoreName& name, const char* verb) {
    return EventName{"semaphore", name.name, verb};
  };
  return match(
      event,
      [&](const WasCreated& was) { return named(was.name, "created"); },
      [&](const WasResized& was) { return named(was.name, "resized"); },
      [&](const WasAcquired& was) { return named(was.name, "acquired"); },
      [&](const WasReleased& was) { return named(was.name, "released"); },
      [&](const WentStale& went) { return named(went.name, "stale"); },
      [&](const WasRemoved& was) { return named(was.name, "removed"); });
}

}  // namespace reeve::semaphore
