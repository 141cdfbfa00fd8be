#include "api/errors.h"
#include "api/fields.h"
#include "api/methods.h"
#include "api/nearest.h"
#include "api/paging.h"
#include "api/rpc.h"
#include "api/show_run.h"
#include "base/match.h"

#include <fmt/format.h>

// Workers and crons: started from the project's definitions, and then known by their names.
namespace reeve::api {
namespace {

// ── Workers ──

void tell_worker(Tell& tell, const Reply&) {
  const WorkerName name = name_of<WorkerName>(tell);
  const worker::Worker* worker = tell.state().workers.workers.find(name);
  tell.result();
  if (worker) return show_worker(tell, tell.state(), name, *worker);
  // One that was stopped and has nothing to finish is forgotten.
  tell.json.field("name", tell.kept().name).field("state", "stopped");
}

// The definitions of the project that the client has read, or those in force.
definition::SetKey set_of(const Asking& ask) { return {ask.project(), current_runbook(ask)}; }

void worker_start(Asking& ask) {
  worker::Start command;
  command.name = ask.need_name<WorkerName>();
  command.environment = read_map(ask.params, "environment");
  const std::string_view hash = ask.params.text("runbook").value_or("");
  if (ask.params.is_good() && !has_runbook(ask, hash)) return;
  command.set = set_of(ask);
  ask.submit_and_look("worker", std::move(command), tell_worker);
}

void worker_stop(Asking& ask) {
  worker::Stop command{ask.need_name<WorkerName>()};
  ask.submit_and_look("worker", std::move(command), tell_worker);
}

void worker_wake(Asking& ask) {
  worker::Wake command{ask.need_name<WorkerName>()};
  ask.submit_and_look("worker", std::move(command), tell_worker);
}

void worker_resize(Asking& ask) {
  worker::Resize command{ask.need_name<WorkerName>()};
  command.concurrency = static_cast<std::uint32_t>(
      ask.params.need_integer("concurrency", 1, worker::most_concurrent));
  ask.submit_and_look("worker", std::move(command), tell_worker);
}

// Those that the runbooks define and nobody has started yet are there, too.
void show_workers(Tell& tell, const State& state) {
  tell.result();
  page_of_names(tell,
                state.workers.workers,
                "workers",
                [&](const WorkerName& name, const worker::Worker& worker) {
                  show_worker(tell, state, name, worker);
                });
  JsonWriter& json = tell.json.key("defined").begin_array();
  if (const definition::Set* set = definition::current(state.definitions, tell.project())) {
    for (const auto& [name, worker] : set->workers) {
      json.begin_object().field("name", name).field("queue", worker.queue);
      json.field("pipeline", worker.pipeline).field("concurrency", worker.concurrency).end_object();
    }
  }
  json.end_array();
}

void worker_list(Asking& ask) {
  keep_page(ask);
  ask.look(show_workers);
}

template <class Map>
void tell_no_such(Tell& tell, const Map& map, std::string_view kind) {
  std::vector<std::string_view> names;
  for (const auto& entry : map) {
    if (entry.first.project == tell.project()) names.push_back(entry.first.name);
  }
  tell_not_found(tell, kind, tell.kept().name, nearest(tell.kept().name, names));
}

void show_one_worker(Tell& tell, const State& state) {
  const WorkerName name = name_of<WorkerName>(tell);
  const worker::Worker* worker = state.workers.workers.find(name);
  if (!worker) return tell_no_such(tell, state.workers.workers, "worker");
  tell.result();
  show_worker(tell, state, name, *worker);
}

void worker_show(Asking& ask) {
  ask.need_name<WorkerName>();
  ask.look(show_one_worker);
}

// ── Crons ──

void tell_cron(Tell& tell, const Reply& reply) {
  const CronName name = name_of<CronName>(tell);
  const cron::Cron* cron = tell.state().crons.crons.find(name);
  JsonWriter& json = tell.result();
  if (const cron::Reply* of_cron = std::get_if<cron::Reply>(&reply.value)) {
    match(
        *of_cron,
        [&](const cron::Enabled&) { json.field("outcome", "enabled"); },
        [&](const cron::Fired& fired) {
          json.field("outcome", "fired").field("run", run_text(fired.run));
        },
        [&](const cron::Buffered& buffered) {
          json.field("outcome", "buffered").field("waiting", buffered.waiting);
        },
        [&](const cron::Skipped&) { json.field("outcome", "skipped"); });
  }
  if (cron) show_cron(tell, tell.state(), name, *cron);
}

// By the definitions in force; none if they have no such cron.
std::optional<cron::Plan> plan_of(const Asking& ask,
                                  const CronName& name,
                                  definition::Map environment) {
  const definition::Set* set = definition::current(ask.state().definitions, ask.project());
  const cron::Definition* found = set ? set->crons.find(name.name) : nullptr;
  if (!found) return std::nullopt;
  return cron::Plan{set_of(ask), Boxed<cron::Definition>(*found), std::move(environment)};
}

void tell_no_cron(Asking& ask, const CronName& name) {
  ask.answer([&](Tell& tell) {
    std::vector<std::string_view> names;
    const definition::Set* set = definition::current(ask.state().definitions, ask.project());
    if (set) {
      for (const auto& entry : set->crons) names.push_back(entry.first);
    }
    tell_not_found(tell, "cron", name.name, nearest(name.name, names));
  });
}

void cron_enable(Asking& ask) {
  cron::Enable command;
  command.name = ask.need_name<CronName>();
  definition::Map environment = read_map(ask.params, "environment");
  const std::string_view hash = ask.params.text("runbook").value_or("");
  if (ask.params.is_good() && !has_runbook(ask, hash)) return;
  std::optional<cron::Plan> plan = plan_of(ask, command.name, std::move(environment));
  if (!plan && ask.params.is_good()) return tell_no_cron(ask, command.name);
  if (plan) command.plan = *std::move(plan);
  ask.submit_and_look("cron", std::move(command), tell_cron);
}

void cron_disable(Asking& ask) {
  cron::Disable command{ask.need_name<CronName>()};
  ask.submit_and_look("cron", std::move(command), tell_cron);
}

void cron_run(Asking& ask) {
  cron::RunNow command;
  command.name = ask.need_name<CronName>();
  definition::Map environment = read_map(ask.params, "environment");
  const std::string_view hash = ask.params.text("runbook").value_or("");
  if (ask.params.is_good() && !has_runbook(ask, hash)) return;
  command.plan = plan_of(ask, command.name, std::move(environment));
  const bool is_there = ask.state().crons.crons.contains(command.name);
  if (!command.plan && !is_there && ask.params.is_good()) return tell_no_cron(ask, command.name);
  ask.submit_and_look("cron", std::move(command), tell_cron);
}

void show_crons(Tell& tell, const State& state) {
  tell.result();
  page_of_names(
      tell, state.crons.crons, "crons", [&](const CronName& name, const cron::Cron& cron) {
        show_cron(tell, state, name, cron);
      });
  JsonWriter& json = tell.json.key("defined").begin_array();
  if (const definition::Set* set = definition::current(state.definitions, tell.project())) {
    for (const auto& entry : set->crons) {
      json.begin_object().field("name", entry.first).end_object();
    }
  }
  json.end_array();
}

void cron_list(Asking& ask) {
  keep_page(ask);
  ask.look(show_crons);
}

void show_one_cron(Tell& tell, const State& state) {
  const CronName name = name_of<CronName>(tell);
  const cron::Cron* cron = state.crons.crons.find(name);
  if (!cron) return tell_no_such(tell, state.crons.crons, "cron");
  tell.result();
  show_cron(tell, state, name, *cron);
}

void cron_show(Asking& ask) {
  ask.need_name<CronName>();
  ask.look(show_one_cron);
}

// Of one that is enabled by its own plan, else of its definition as if it were enabled now.
void show_next(Tell& tell, const State& state) {
  const CronName name = name_of<CronName>(tell);
  const cron::Cron* known = state.crons.crons.find(name);
  cron::Cron cron = known ? *known : cron::Cron{};
  if (!cron.enabled) {
    const definition::Set* set = definition::current(state.definitions, tell.project());
    const cron::Definition* found = set ? set->crons.find(name.name) : nullptr;
    if (!found) return tell_no_such(tell, state.crons.crons, "cron");
    cron.enabled = true;
    cron.plan.definition = Boxed<cron::Definition>(*found);
    cron.anchor = cron.last = tell.now();
  }
  tell.result().field("name", tell.kept().name).key("next").begin_array();
  const auto count = static_cast<std::size_t>(tell.kept().number);
  for (const Wall at : cron::next_fires(cron, tell.now(), count)) {
    tell.json.begin_object();
    tell.moment("at", at);
    tell.json.end_object();
  }
  tell.json.end_array();
}

void cron_next(Asking& ask) {
  ask.need_name<CronName>();
  ask.kept.number = ask.params.integer("count", 1, limits::list_entries).value_or(5);
  ask.look(show_next);
}

constexpr Named methods[] = {
    {"worker.start", worker_start},
    {"worker.stop", worker_stop},
    {"worker.wake", worker_wake},
    {"worker.resize", worker_resize},
    {"worker.list", worker_list},
    {"worker.show", worker_show},
    {"cron.enable", cron_enable},
    {"cron.disable", cron_disable},
    {"cron.run", cron_run},
    {"cron.list", cron_list},
    {"cron.show", cron_show},
    {"cron.next", cron_next},
};

}  // namespace

std::span<const Named> worker_methods() { return methods; }

}  // namespace reeve::api
