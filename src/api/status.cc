#include "api/status.h"

#include "api/board.h"
#include "api/limits.h"
#include "api/show.h"
#include "api/show_run.h"
#include "codec/shell_word.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

namespace reeve::api {
namespace {

// Things that will not go on by themselves; each with what to do about it.
struct Attention {
  std::string kind;
  std::string name;
  std::string detail;
};

struct Counts {
  std::uint64_t running = 0;
  std::uint64_t blocked = 0;
  std::uint64_t done = 0;
  std::uint64_t failed = 0;
  std::uint64_t cancelled = 0;
};

Counts count_pipelines(const State& state, ProjectNo project) {
  Counts counts;
  for (const auto& [id, pipeline] : state.pipelines.pipelines) {
    if (pipeline.project != project) continue;
    const std::string_view how = state_of(pipeline);
    counts.running += how == "running" || how == "init" ? 1U : 0U;
    counts.blocked += how == "blocked" ? 1U : 0U;
    counts.done += how == "done" ? 1U : 0U;
    counts.failed += how == "failed" ? 1U : 0U;
    counts.cancelled += how == "cancelled" ? 1U : 0U;
  }
  return counts;
}

// How many there are beside those that were shown, if any.
void tell_more(JsonWriter& json, std::string_view field, std::uint64_t more) {
  if (more > 0) json.field(field, more);
}

// What runs of the project's runbooks.
void show_work(Tell& tell, const State& state) {
  JsonWriter& json = tell.json;
  const Counts counts = count_pipelines(state, tell.project());
  json.key("pipelines").begin_object().field("running", counts.running);
  json.field("blocked", counts.blocked).field("done", counts.done);
  json.field("failed", counts.failed).field("cancelled", counts.cancelled).end_object();
  std::uint64_t more = 0;
  json.key("workers").begin_array();
  each_of(state.workers.workers,
          tell.project(),
          [&](const WorkerName& name, const worker::Worker& worker) {
            if (tell.size() >= limits::list_bytes) {
              ++more;
              return true;
            }
            json.begin_object();
            show_worker(tell, state, name, worker);
            json.end_object();
            return true;
          });
  json.end_array();
  tell_more(json, "workers_more", more);
  more = 0;
  json.key("crons").begin_array();
  each_of(state.crons.crons, tell.project(), [&](const CronName& name, const cron::Cron& cron) {
    if (tell.size() >= limits::list_bytes) {
      ++more;
      return true;
    }
    json.begin_object();
    show_cron(tell, state, name, cron);
    json.end_object();
    return true;
  });
  json.end_array();
  tell_more(json, "crons_more", more);
}

}  // namespace

void show_status(Tell& tell, const State& state) {
  const Time now = tell.now().now;
  std::vector<Attention> first;  // what stops everything, and questions
  std::vector<Attention> attention;
  std::uint64_t needed = 0;
  const auto attend = [&](std::string_view kind, std::string name, std::string detail) {
    auto& list = kind == "disk" || kind == "state" || kind == "decision" ? first : attention;
    ++needed;
    if (list.size() < limits::waiters_shown) {
      list.push_back({std::string(kind), std::move(name), std::move(detail)});
    }
  };
  const engine::Engine& engine = tell.desk().engine();
  const std::string& home = tell.desk().steward().about().home;
  if (engine.room() != journal::Room::Plenty) {
    attend("disk", home, "it is full, so nothing new is taken; make room, see `reeve doctor`");
  }
  if (engine.is_full()) {
    attend(
        "state",
        home,
        "it is full, so nothing new is taken; finish or drop something, see `reeve queue stats`");
  }
  const Steward::HistoryUse history = tell.desk().steward().history();
  if (!history.path.empty() && !history.problem.empty()) {
    attend("history",
           history.path,
           fmt::format("{}; it {}",
                       history.problem,
                       history.state == "off" ? "is off until `reeve history rebuild`"
                                              : "waits, and tries again"));
  }
  std::uint64_t decisions = 0;
  std::map<queue::QueueNo, std::uint64_t> asked_about;  // items of a queue
  for (const auto& [owner, id] : state.decisions.open_of) {
    const decision::Decision& decision = *state.decisions.decisions.find(id);
    if (decision.project != tell.project() && decision.project != shared_project) continue;
    ++decisions;
    const auto* of_item = std::get_if<decision::ItemOwner>(&owner);
    const queue::Item* item = of_item ? state.queues.items.find(of_item->item) : nullptr;
    if (item && item->state == queue::ItemState::Dead) ++asked_about[item->queue];
    attend("decision",
           to_text(id),
           fmt::format("{}; `reeve decision show {}`", decision.question, to_text(id)));
  }
  const project::Project* project = state.projects.projects.find(tell.project());
  JsonWriter& json = tell.result().field("project", project ? project->name : "default");

  std::uint64_t held = 0;
  std::uint64_t stale = 0;
  std::uint64_t waiting = 0;
  each_of(state.locks.locks, tell.project(), [&](const LockName& name, const lock::Lock& lock) {
    const std::string_view how = state_of(name, lock, state, now);
    held += how == "held" || how == "ending" ? 1U : 0U;
    stale += how == "stale" ? 1U : 0U;
    waiting += lock.waiting;
    if (how == "stale") {
      const std::string shown = tell.name(name);
      attend("lock",
             shown,
             fmt::format("its holder fell silent; try `reeve why {}`", codec::shell_word(shown)));
    }
    return true;
  });
  json.key("locks").begin_object().field("held", held).field("stale", stale);
  json.field("waiting", waiting).end_object();

  std::uint64_t count = 0;
  std::uint64_t full = 0;
  waiting = 0;
  each_of(state.semaphores.semaphores,
          tell.project(),
          [&](const SemaphoreName&, const semaphore::Semaphore& semaphore) {
            ++count;
            full += semaphore::available(semaphore) == 0 ? 1U : 0U;
            waiting += semaphore.waiting;
            return true;
          });
  json.key("semaphores").begin_object().field("count", count).field("full", full);
  json.field("waiting", waiting).end_object();

  std::size_t shown = 0;
  std::uint64_t more = 0;
  json.key("queues").begin_array();
  each_of(state.queues.names, tell.project(), [&](const QueueName& name, const queue::QueueNo& no) {
    const queue::Queue& queue = *state.queues.queues.find(no);
    // All of them are looked at, also those that are not shown.
    if (shown < limits::list_entries && tell.size() < limits::list_bytes) {
      json.begin_object();
      show_queue(tell, state, no, queue);
      json.end_object();
      ++shown;
    } else {
      ++more;
    }
    // Those that somebody is asked about stand there already.
    const auto asked = asked_about.find(no);
    const std::uint64_t dead = queue.counts.dead - (asked == asked_about.end() ? 0 : asked->second);
    if (dead == 0 && !queue.paused) return true;
    const std::string text = tell.name(name);
    if (dead > 0) {
      attend("queue",
             text,
             fmt::format(
                 "{} dead; try `reeve queue list {} --state dead`", dead, codec::shell_word(text)));
    }
    if (queue.paused)
      attend("queue",
             text,
             fmt::format("paused; try `reeve queue resume {}`", codec::shell_word(text)));
    return true;
  });
  json.end_array();
  tell_more(json, "queues_more", more);
  each_of(state.workers.workers,
          tell.project(),
          [&](const WorkerName& name, const worker::Worker& worker) {
            if (worker.poll_error.empty()) return true;
            const std::string text = tell.name(name);
            attend("worker",
                   text,
                   fmt::format("the source of {} fails: {}; try `reeve why {}`",
                               tell.name(worker.queue),
                               worker.poll_error,
                               codec::shell_word(text)));
            return true;
          });
  json.field("decisions", decisions);
  show_board(tell, state);
  show_work(tell, state);
  // Many questions leave half of the room to the rest.
  constexpr std::size_t half = limits::waiters_shown / 2;
  const std::size_t rest = std::min(attention.size(), half);
  const std::size_t asked = std::min(first.size(), limits::waiters_shown - rest);
  json.key("attention").begin_array();
  const auto show = [&](const std::vector<Attention>& things, std::size_t most) {
    for (std::size_t i = 0; i < std::min(things.size(), most); ++i) {
      json.begin_object().field("kind", things[i].kind).field("name", things[i].name);
      json.field("detail", things[i].detail).end_object();
    }
  };
  show(first, asked);
  show(attention, limits::waiters_shown - asked);
  json.end_array();
  const std::size_t told = asked + std::min(attention.size(), limits::waiters_shown - asked);
  tell_more(json, "attention_more", needed - told);
}

}  // namespace reeve::api
