#pragma once

#include "base/persistent_map.h"
#include "core/effect.h"
#include "core/event.h"
#include "core/event_name.h"
#include "core/id.h"
#include "core/project.h"

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>

// Subscribers are part of the state: a wake is exactly as durable as its event. Routing is
// pure: it says which effects an event causes, and the root `apply` has them carried out in
// the same step.
namespace reeve::event_bus {

struct Worker {
  WorkerName worker;

  auto operator<=>(const Worker&) const = default;
};

struct Guard {
  PipelineId pipeline;
  std::uint64_t entry = 0;
  std::string guard;

  auto operator<=>(const Guard&) const = default;
};

// A command that gets the event as JSON on its standard input; empty: the desktop.
struct Notification {
  std::string command;

  auto operator<=>(const Notification&) const = default;
};

// A shell program of the runbook's [events], run with the event's fields.
struct Hook {
  std::string text;
  std::string directory;

  auto operator<=>(const Hook&) const = default;
};

using Subscriber = std::variant<Worker, Guard, Notification, Hook>;

struct Subscription {
  Subscriber who;
  ProjectNo project;  // whose events; 0: everybody's
  Pattern pattern;

  auto operator<=>(const Subscription&) const = default;
};

// So that an event meets only those who may want it: by the noun of the pattern together with the
// subject that it names (`lock:shop:main`), or else with the verb (`ci green`). Before, it was the
// noun alone, and what a state of then has so is found as well.
struct NounKey {
  std::string noun;
  Subscription subscription;

  auto operator<=>(const NounKey&) const = default;
};

struct Table {
  PersistentSet<NounKey> by_noun;
  PersistentSet<Subscription> by_subscriber;

  bool operator==(const Table&) const = default;
};

void subscribe(Table& table, const Subscription& subscription);
void unsubscribe(Table& table, const Subscription& subscription);
void unsubscribe_all(Table& table, const Subscriber& who);

// What the event causes: WakeWorker, WakeGuard, Notify, Shell. A hook runs in its project.
Effects route(const Table& table, const Event& event, const project::Table& projects = {});

}  // namespace reeve::event_bus
