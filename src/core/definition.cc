#include "core/definition.h"

#include "base/check.h"
#include "base/match.h"
#include "core/event_bus.h"
#include "core/names.h"
#include "core/pattern.h"
#include "core/turn.h"

#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <utility>

namespace reeve::definition {
namespace {

// ── Decide ──

// How a name of the shared project stands in a set.
std::string text_of(const QueueName& name) {
  return (name.project == shared_project ? "//" : "") + name.name;
}

template <class Name, class Map>
std::set<Name> names_in(ProjectNo project, const Map& definitions) {
  std::set<Name> names;
  for (const auto& [text, definition] : definitions) {
    names.insert(scoped_name<Name>(project, text));
  }
  return names;
}

// Whether they are good names, and those that are not there yet find room.
template <class Name, class There, class Counts>
std::optional<Refused> check_names(const std::set<Name>& names,
                                   const There& there,
                                   const Counts& counts,
                                   const char* limit) {
  std::map<ProjectNo, std::size_t> all;
  for (const Name& name : names) {
    if (!is_good_name(name.name)) return Refused{Why::BadName, name.name};
    if (!there.contains(name)) ++all[name.project];
  }
  for (auto& [project, number] : all) {
    if (const auto* count = counts.find(project)) number += *count;
    if (number > limits::names_a_project) return Refused{Why::OverLimit, limit};
  }
  return std::nullopt;
}

// Where the dead of this queue would go: as the set has it, or else as it is.
std::optional<QueueName> dead_letter_of(const Turn& turn,
                                        ProjectNo project,
                                        const Set& set,
                                        const QueueName& name) {
  if (name.project == project || name.project == shared_project) {
    if (const queue::Config* config = set.queues.find(text_of(name))) return config->dead_letter;
  }
  const queue::Table& queues = turn.state().queues;
  const queue::QueueNo* number = queues.names.find(name);
  const queue::Queue* queue = number ? queues.queues.find(*number) : nullptr;
  return queue ? queue->config.dead_letter : std::nullopt;
}

// Whether the dead letters of this queue, which is called so in the set, go round or on too long.
std::optional<Refused> check_chain(const Turn& turn,
                                   ProjectNo project,
                                   const Set& set,
                                   const std::string& text) {
  std::vector<QueueName> chain = {scoped_name<QueueName>(project, text)};
  while (const auto next = dead_letter_of(turn, project, set, chain.back())) {
    if (std::ranges::find(chain, *next) != chain.end()) return Refused{Why::Loop, text};
    if (chain.size() == limits::queues_a_chain) return Refused{Why::OverLimit, "dead_letter"};
    chain.push_back(*next);
  }
  return std::nullopt;
}

std::optional<Refused> check_set(const Turn& turn, ProjectNo project, const Set& set) {
  const State& state = turn.state();
  const auto locks = names_in<LockName>(project, set.locks);
  const auto semaphores = names_in<SemaphoreName>(project, set.semaphores);
  std::set<QueueName> queues = names_in<QueueName>(project, set.queues);
  for (const auto& [name, config] : set.queues) {
    if (config.dead_letter) queues.insert(*config.dead_letter);
  }
  const semaphore::Table& slots = state.semaphores;
  // A lock takes room when somebody takes it; how many can be defined is bounded alike.
  const PersistentMap<ProjectNo, std::uint64_t> none;
  std::optional<Refused> bad = check_names(locks, std::set<LockName>{}, none, "locks");
  if (!bad) bad = check_names(semaphores, slots.semaphores, slots.counts, "semaphores");
  if (!bad) bad = check_names(queues, state.queues.names, state.queues.queues_of, "queues");
  const queue::QueueNo numbers_left =
      std::numeric_limits<queue::QueueNo>::max() - state.queues.last_queue;
  if (!bad && queues.size() > numbers_left) bad = Refused{Why::OverLimit, "queues"};
  if (bad) return bad;
  for (const auto& [name, config] : set.semaphores) {
    if (semaphore::mistake_in(config)) return Refused{Why::BadValue, name};
  }
  for (const auto& [name, config] : set.queues) {
    if (queue::mistake_in(config)) return Refused{Why::BadValue, name};
    if (!config.dead_letter) continue;
    if (!state.projects.projects.contains(config.dead_letter->project)) {
      return Refused{Why::NotFound, "project"};
    }
    if (bad = check_chain(turn, project, set, name); bad) return bad;
  }
  for (const auto& [name, strategy] : set.strategies) {
    for (const Approach& approach : strategy.approaches) {
      if (pattern::fits_together(approach.fallback_on)) continue;
      return Refused{Why::BadValue, "fallback_on of " + approach.name + " of strategy " + name};
    }
  }
  for (const Hook& hook : set.hooks) {
    if (!is_pattern(hook.pattern)) return Refused{Why::BadValue, hook.pattern};
  }
  for (const std::string& pattern : set.notifications.on) {
    if (!is_pattern(pattern)) return Refused{Why::BadValue, pattern};
  }
  return std::nullopt;
}

// What the shared project may have: whom to tell of what happens in any project. Nothing of a
// runbook, which would have no folder to run in.
bool only_notifies(const Set& set) {
  Set rest;
  rest.hash = set.hash;
  rest.notifications = set.notifications;
  return set == rest;
}

// ── Apply ──

// Whether a set in force says anything of this lock, which all projects share.
bool is_defined(const Table& table, const std::string& text) {
  for (const auto& [project, hash] : table.current) {
    const Set* set = current(table, project);
    if (set && set->locks.contains(text)) return true;
  }
  return false;
}

// What a set says of a lock goes with it. Of one that is shared the last word counts, until nobody
// says anything of it any more.
void define_locks(Turn& turn, ProjectNo project, const Set* before, const Set& set) {
  PersistentMap<LockName, lock::Config>& defined = turn.change().locks.defined;
  const PersistentMap<std::string, lock::Config> none;
  for (const auto& [text, config] : before ? before->locks : none) {
    if (set.locks.contains(text)) continue;
    const LockName name = scoped_name<LockName>(project, text);
    if (name.project == project || !is_defined(turn.state().definitions, text)) defined.erase(name);
  }
  for (const auto& [text, config] : set.locks) {
    defined.set(scoped_name<LockName>(project, text), config);
  }
}

// The set was checked: what is refused now was let through by mistake.
void must_be_done(const reeve::Reply& reply) {
  CHECK(!std::holds_alternative<Refused>(reply.value));
}

void define_semaphores(Turn& turn, ProjectNo project, const Set& set) {
  for (const auto& [text, config] : set.semaphores) {
    const SemaphoreName name = scoped_name<SemaphoreName>(project, text);
    must_be_done(semaphore::apply(turn, semaphore::Create{name, config}));
  }
}

void define_queues(Turn& turn, ProjectNo project, const Set& set) {
  for (const auto& [text, config] : set.queues) {
    queue::define(turn, scoped_name<QueueName>(project, text), config);
  }
}

void drop_if_unused(Turn& turn, const SetKey& key) {
  const Table& table = turn.state().definitions;
  const Kept* kept = table.sets.find(key);
  const std::string* in_force = table.current.find(key.project);
  if (!kept || kept->pins > 0 || (in_force && *in_force == key.hash)) return;
  turn.change().definitions.sets.erase(key);
}

void make_current(Turn& turn, ProjectNo project, const Boxed<Set>& set) {
  Table& table = turn.change().definitions;
  event_bus::Table& subscriptions = turn.change().subscriptions;
  std::optional<SetKey> before;
  if (const std::string* hash = table.current.find(project)) before = SetKey{project, *hash};
  if (const Set* old = before ? find(table, *before) : nullptr) {
    for (const event_bus::Subscription& each : subscriptions_of(project, *old)) {
      event_bus::unsubscribe(subscriptions, each);
    }
  }
  for (const event_bus::Subscription& each : subscriptions_of(project, *set)) {
    event_bus::subscribe(subscriptions, each);
  }
  // One that somebody is still pinned to comes back as it was.
  const SetKey key{project, set->hash};
  if (!table.sets.contains(key)) table.sets.set(key, {set, 0});
  table.current.set(project, set->hash);
  if (before) drop_if_unused(turn, *before);
}

reeve::Reply load(Turn& turn, const Load& command) {
  const ProjectNo project = command.project;
  const State& state = turn.state();
  if (!state.projects.projects.contains(project)) return refused(Why::NotFound, "project");
  if (!command.set) return refused(Why::BadValue, "set");
  const Set& set = *command.set;
  if (project == shared_project && !only_notifies(set)) return refused(Why::BadValue, "set");
  if (set.hash.empty() || set.hash.size() > limits::name_bytes) {
    return refused(Why::BadValue, "hash");
  }
  const std::string* in_force = state.definitions.current.find(project);
  if (in_force && *in_force == set.hash) return {Ok{}};
  // What is due may make a queue, for the dead of another: before the room for these is counted.
  queue::settle(turn);
  if (std::optional<Refused> bad = check_set(turn, project, set)) return {*std::move(bad)};

  // A copy: the set before is forgotten with the change.
  Boxed<Set> before;
  if (in_force) before = state.definitions.sets.find({project, *in_force})->set;
  make_current(turn, project, command.set);
  define_locks(turn, project, before.get(), set);
  // Queues before semaphores: what follows from another capacity may in the end make a queue.
  define_queues(turn, project, set);
  define_semaphores(turn, project, set);
  return {Ok{}};
}

}  // namespace

reeve::Reply apply(Turn& turn, const Command& command) {
  return match(command, [&](const Load& it) { return load(turn, it); });
}

const Set* current(const Table& table, ProjectNo project) {
  const std::string* hash = table.current.find(project);
  return hash ? find(table, {project, *hash}) : nullptr;
}

const Set* find(const Table& table, const SetKey& key) {
  const Kept* kept = table.sets.find(key);
  return kept ? kept->set.get() : nullptr;
}

std::vector<event_bus::Subscription> subscriptions_of(ProjectNo project, const Set& set) {
  std::vector<event_bus::Subscription> all;
  all.reserve(set.hooks.size() + set.notifications.on.size());
  for (const Hook& hook : set.hooks) {
    all.push_back({event_bus::Hook{hook.text, set.root}, project, parse_pattern(hook.pattern)});
  }
  for (const std::string& pattern : set.notifications.on) {
    all.push_back(
        {event_bus::Notification{set.notifications.command}, project, parse_pattern(pattern)});
  }
  return all;
}

void pin(Turn& turn, const SetKey& key) {
  if (!turn.state().definitions.sets.contains(key)) return;
  ++turn.change().definitions.sets.edit(key)->pins;
}

void unpin(Turn& turn, const SetKey& key) {
  const Kept* kept = turn.state().definitions.sets.find(key);
  if (!kept || kept->pins == 0) return;
  --turn.change().definitions.sets.edit(key)->pins;
  drop_if_unused(turn, key);
}

}  // namespace reeve::definition
