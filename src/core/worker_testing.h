#pragma once

#include "core/testing.h"
#include "core/worker.h"

#include <string>
#include <utility>
#include <vector>

// What the tests of workers share: a runbook with one worker, and a world in which it works.
namespace reeve::worker::testing {

using namespace reeve::testing;

inline const WorkerName fixer{default_project, "fixer"};
inline const QueueName bugs{default_project, "bugs"};
inline const definition::SetKey first_set{default_project, "one"};

using Names = std::vector<std::string>;
using Map = definition::Map;

inline Outcome exited(int code) {
  Outcome outcome;
  outcome.ended = code == 0 ? Ended::Done : Ended::Failed;
  outcome.exit_code = code;
  return outcome;
}

inline definition::Set runbook(std::string hash = "one", std::uint32_t concurrency = 2) {
  definition::Phase phase;
  phase.name = "work";
  phase.action = definition::RunShell{"make"};
  definition::Pipeline fix;
  fix.inputs = {"bug"};
  fix.phases = {phase};
  fix.on_fail = definition::Fail{};
  definition::Set set;
  set.hash = std::move(hash);
  set.pipelines.set("fix", fix);
  set.workers.set("fixer", {"bugs", "fix", concurrency, {"ci:green"}});
  queue::Config config;
  config.backoff_first = 0s;
  set.queues.set("bugs", config);
  return set;
}

struct WorkerWorld : World {
  explicit WorkerWorld(const definition::Set& set = runbook()) { load(set); }

  void load(const definition::Set& set) {
    ask(definition::Command{definition::Load{default_project, Boxed(set)}});
    forget();
  }
  reeve::Reply start(std::string hash = "one") {
    return ask(Command{Start{fixer, {default_project, std::move(hash)}, {}}});
  }
  ItemId push(std::string data, Duration delay = 0s) {
    queue::NewItem item;
    item.data = Bytes(data);
    item.delay = delay;
    return as<queue::Pushed>(ask(queue::Command{queue::Push{bugs, {item}}})).ids.at(0);
  }
  const Worker* worker() { return state.workers.workers.find(fixer); }
  queue::ItemState state_of(ItemId item) { return state.queues.items.find(item)->state; }
  // Ends the program of the oldest pipeline.
  void end_one(int code = 0) { finish(state.outbox.first()->first, exited(code)); }
  Names own() {
    Names all;
    for (const std::string& name : names()) {
      if (name.starts_with("worker:")) all.push_back(name);
    }
    return all;
  }
};

}  // namespace reeve::worker::testing
