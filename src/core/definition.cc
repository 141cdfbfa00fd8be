#include "core/definition.h"

#include "base/match.h"
#include "core/event_bus.h"
#include "core/names.h"
#include "core/turn.h"

#include <algorithm>
#include <utility>

namespace reeve::definition {
namespace {

// ── Decide ──

template <class Map>
std::optional<Refused> check_names(const Map& definitions, const char* limit) {
  if (definitions.size() > limits::names_a_project) return Refused{Why::OverLimit, limit};
  for (const auto& [name, definition] : definitions) {
    if (!is_good_name(name)) return Refused{Why::BadName, name};
  }
  return std::nullopt;
}

// Where the dead of this queue would go: as the set has it, or else as it is.
std::optional<QueueName> dead_letter_of(const Turn& turn,
                                        ProjectNo project,
                                        const Set& set,
                                        const QueueName& name) {
  if (name.project == project) {
    if (const queue::Config* config = set.queues.find(name.name)) return config->dead_letter;
  }
  const queue::Table& queues = turn.state().queues;
  const queue::QueueNo* number = queues.names.find(name);
  const queue::Queue* queue = number ? queues.queues.find(*number) : nullptr;
  return queue ? queue->config.dead_letter : std::nullopt;
}

// Two walk along the chain, one twice as fast: they meet exactly if it goes round.
bool goes_round(const Turn& turn, ProjectNo project, const Set& set, const QueueName& from) {
  const auto next = [&](const std::optional<QueueName>& at) {
    return at ? dead_letter_of(turn, project, set, *at) : std::nullopt;
  };
  std::optional<QueueName> slow = from;
  std::optional<QueueName> fast = next(slow);
  while (fast && fast != slow) {
    slow = next(slow);
    fast = next(next(fast));
  }
  return fast.has_value();
}

std::optional<Refused> check_set(const Turn& turn, ProjectNo project, const Set& set) {
  if (std::optional<Refused> bad = check_names(set.locks, "locks")) return bad;
  if (std::optional<Refused> bad = check_names(set.semaphores, "semaphores")) return bad;
  if (std::optional<Refused> bad = check_names(set.queues, "queues")) return bad;
  for (const auto& [name, config] : set.semaphores) {
    if (config.capacity == 0) return Refused{Why::BadValue, name};
  }
  for (const auto& [name, config] : set.queues) {
    if (!config.dead_letter) continue;
    if (!is_good_name(config.dead_letter->name))
      return Refused{Why::BadName, config.dead_letter->name};
    if (goes_round(turn, project, set, {project, name})) return Refused{Why::Loop, name};
  }
  for (const Hook& hook : set.hooks) {
    if (!is_pattern(hook.pattern)) return Refused{Why::BadValue, hook.pattern};
  }
  for (const std::string& pattern : set.notifications.on) {
    if (!is_pattern(pattern)) return Refused{Why::BadValue, pattern};
  }
  return std::nullopt;
}

// ── Apply ──

void define_locks(Turn& turn, ProjectNo project, const Set& set) {
  PersistentMap<LockName, lock::Config>& defined = turn.change().locks.defined;
  std::vector<LockName> gone;
  for (auto at = defined.lower_bound({project, ""}); at != defined.end(); ++at) {
    if (at->first.project != project) break;
    if (!set.locks.contains(at->first.name)) gone.push_back(at->first);
  }
  for (const LockName& name : gone) defined.erase(name);
  for (const auto& [name, config] : set.locks) defined.set({project, name}, config);
}

void define_semaphores(Turn& turn, ProjectNo project, const Set& set) {
  for (const auto& [name, config] : set.semaphores) {
    semaphore::apply(turn, semaphore::Create{{project, name}, config});
  }
}

// First without dead letters, then with: a chain that is turned round would meet its old half.
void define_queues(Turn& turn, ProjectNo project, const Set& set) {
  for (const auto& [name, config] : set.queues) {
    queue::Config alone = config;
    alone.dead_letter.reset();
    queue::apply(turn, queue::Create{{project, name}, alone});
  }
  for (const auto& [name, config] : set.queues) {
    if (config.dead_letter) queue::apply(turn, queue::Create{{project, name}, config});
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
  if (project == shared_project || !state.projects.projects.contains(project)) {
    return refused(Why::NotFound, "project");
  }
  if (!command.set) return refused(Why::BadValue, "set");
  const Set& set = *command.set;
  if (set.hash.empty() || set.hash.size() > limits::name_bytes) {
    return refused(Why::BadValue, "hash");
  }
  const std::string* in_force = state.definitions.current.find(project);
  if (in_force && *in_force == set.hash) return {Ok{}};
  if (std::optional<Refused> bad = check_set(turn, project, set)) return {*std::move(bad)};

  make_current(turn, project, command.set);
  define_locks(turn, project, set);
  define_semaphores(turn, project, set);
  define_queues(turn, project, set);
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
