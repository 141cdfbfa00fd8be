#include "api/errors.h"
#include "api/fields.h"
#include "api/ids.h"
#include "api/methods.h"
#include "api/nearest.h"
#include "api/paging.h"
#include "api/rpc.h"
#include "api/show_run.h"
#include "base/match.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

namespace reeve::api {
namespace {

const auto& pipelines(const State& state) { return state.pipelines.pipelines; }

// ── Changes ──

// With the state behind it: a short one may be over already.
void tell_started(Tell& tell, const Reply& reply) {
  const pipeline::Reply* of_pipeline = std::get_if<pipeline::Reply>(&reply.value);
  if (!of_pipeline) return;
  match(*of_pipeline, [&](const pipeline::Started& started) {
    const pipeline::Pipeline* pipeline = pipelines(tell.state()).find(started.pipeline);
    tell.result().key("pipeline").plain(to_text(started.pipeline));
    tell.json.field("name", tell.kept().name);
    tell.json.field("state", pipeline ? state_of(*pipeline) : std::string_view("init"));
  });
}

// The first input that is neither given nor has a default; empty: there is none.
std::string lacking(const State& state, ProjectNo project, const pipeline::Start& command) {
  const definition::Set* set = definition::current(state.definitions, project);
  const definition::Pipeline* definition = set ? set->pipelines.find(command.name) : nullptr;
  if (!definition) return {};
  const auto has = [](const definition::Map& map, const std::string& name) {
    return std::ranges::find(map, name, &definition::Map::value_type::first) != map.end();
  };
  for (const std::string& name : definition->inputs) {
    if (!has(command.inputs, name) && !has(definition->defaults, name)) return name;
  }
  return {};
}

void start(Asking& ask) {
  pipeline::Start command;
  command.name = ask.params.need_text("name");
  command.inputs = read_map(ask.params, "inputs");
  command.environment = read_map(ask.params, "environment");
  const std::string_view hash = ask.params.text("runbook").value_or("");
  ask.kept.name = command.name;
  if (ask.params.is_good() && !has_runbook(ask, hash)) return;
  if (const std::string name = lacking(ask.state(), ask.project(), command); !name.empty()) {
    ask.params.refuse("inputs",
                      fmt::format("lacks {}, which pipeline {} wants", name, command.name));
  }
  ask.submit_and_look("pipeline", std::move(command), tell_started);
}

// How it is after the change.
void tell_now(Tell& tell, const Reply&) {
  const auto id = parse_id<PipelineId>(tell.kept().name);
  const pipeline::Pipeline* pipeline = id ? pipelines(tell.state()).find(*id) : nullptr;
  tell.result();
  if (pipeline) show_pipeline(tell, tell.state(), *pipeline, true);
}

// Whether the pipeline has this phase; who asked is told if not, with the name that is near.
bool has_phase(Asking& ask, PipelineId id, const std::string& phase) {
  const definition::Pipeline* definition =
      definition_of(ask.state(), *pipelines(ask.state()).find(id));
  if (!definition || phase.empty() || phase_in(*definition, phase)) return true;
  std::vector<std::string_view> names;
  names.reserve(definition->phases.size());
  for (const definition::Phase& each : definition->phases) names.push_back(each.name);
  ask.answer([&](Tell& tell) { tell_not_found(tell, "phase", phase, nearest(phase, names)); });
  return false;
}

// The pipeline of the field `id`, when all else was read; then `make(id)` is what is asked. A
// `phase` must be one of its own.
template <class Make>
void change(Asking& ask, Make make, const std::string& phase = {}) {
  const std::string text(ask.params.need_text("id"));
  if (!ask.params.finish()) return ask.answer([](Tell&) {});
  const auto id = id_asked<PipelineId>(ask, pipelines(ask.state()), text, "pipeline");
  if (!id || !has_phase(ask, *id, phase)) return;
  ask.submit_and_look(phase.empty() ? "pipeline" : "phase", make(*id), tell_now);
}

void cancel(Asking& ask) {
  change(ask, [](PipelineId id) { return pipeline::Cancel{id}; });
}

void retry(Asking& ask) {
  const bool force = ask.params.flag("force");
  change(ask, [&](PipelineId id) { return pipeline::Retry{id, force}; });
}

// Whatever it takes for this one to go on: a paused one continues, one that has ended or waits for
// an answer or a backoff tries again, one whose dependency will not be done goes without.
Command going_on(const pipeline::Pipeline& pipeline, bool force) {
  if (pipeline.paused) return pipeline::Continue{pipeline.id};
  const auto* blocked = std::get_if<pipeline::Blocked>(&pipeline.state);
  const bool is_dependency = blocked && blocked->reason == pipeline::Reason::Dependency;
  const bool is_guard = blocked && blocked->reason == pipeline::Reason::Guard;
  if (is_dependency || is_guard) return pipeline::Unblock{pipeline.id};
  return pipeline::Retry{pipeline.id, force};
}

void resume(Asking& ask) {
  const std::string phase(ask.params.text("phase").value_or(""));
  const bool force = ask.params.flag("force");
  change(
      ask,
      [&](PipelineId id) -> Command {
        const pipeline::Pipeline& pipeline = *pipelines(ask.state()).find(id);
        if (phase.empty()) return going_on(pipeline, force);
        if (pipeline::is_over(pipeline) || pipeline.paused) {
          return pipeline::ResumeFrom{id, phase, force};
        }
        return pipeline::Transition{id, phase};
      },
      phase);
}

void transition(Asking& ask) {
  const std::string phase(ask.params.need_text("phase"));
  change(ask, [&](PipelineId id) { return pipeline::Transition{id, phase}; }, phase);
}

void unblock(Asking& ask) {
  change(ask, [](PipelineId id) { return pipeline::Unblock{id}; });
}

void checkpoint(Asking& ask) {
  const std::string message(ask.params.need_text("message"));
  change(ask, [&](PipelineId id) { return pipeline::AddCheckpoint{id, message}; });
}

void pause(Asking& ask) {
  change(ask, [](PipelineId id) { return pipeline::Pause{id}; });
}

// With the phase and the attempt that says it: the word of one that is over is dropped.
void finish(Asking& ask) {
  std::optional<std::string> error;
  if (const auto text = ask.params.text("error")) error = std::string(*text);
  const std::string phase(ask.params.text("phase").value_or(""));
  const auto attempt = ask.params.integer("attempt", 0, std::numeric_limits<std::uint32_t>::max());
  const std::string text(ask.params.need_text("id"));
  if (!ask.params.finish()) return ask.answer([](Tell&) {});
  const auto id = id_asked<PipelineId>(ask, pipelines(ask.state()), text, "pipeline");
  if (!id) return;
  const pipeline::Pipeline& pipeline = *pipelines(ask.state()).find(*id);
  const bool other_phase = !phase.empty() && phase != pipeline::phase_of(pipeline);
  const bool other_attempt =
      attempt && static_cast<std::uint64_t>(*attempt) != pipeline::attempt_of(pipeline);
  if (!pipeline::is_over(pipeline) && (other_phase || other_attempt)) {
    ask.answer([&](Tell& tell) {
      tell.error(code::superseded,
                 fmt::format("{} is in phase {}, attempt {}, by now, and this one no longer counts",
                             to_text(*id),
                             pipeline::phase_of(pipeline),
                             pipeline::attempt_of(pipeline)))
          .field("name", to_text(*id));
    });
    return;
  }
  // What is due by now may end that attempt before this is heard: the core looks, too.
  pipeline::Finish command{*id, error, phase, std::nullopt};
  if (attempt) command.attempt = static_cast<std::uint32_t>(*attempt);
  ask.submit_and_look("pipeline", std::move(command), tell_now);
}

void remove_workspace(Asking& ask) {
  const bool force = ask.params.flag("force");
  change(ask, [&](PipelineId id) { return pipeline::RemoveWorkspace{id, force}; });
}

// ── Questions ──

constexpr std::string_view states[] = {
    "init", "blocked", "running", "done", "failed", "cancelled", "active"};

// kept: name the states and `phase:` names, second where to begin, number how many, flag of all
// projects. Those that were started last come last.
void show_list(Tell& tell, const State& state) {
  const std::string& wanted = tell.kept().name;
  const auto is_wanted = [&](std::string_view word) {
    return wanted.find(fmt::format(",{},", word)) != std::string::npos;
  };
  const bool any_state =
      std::ranges::none_of(states, [&](std::string_view each) { return is_wanted(each); });
  const bool any_phase = wanted.find(",phase:") == std::string::npos;
  const bool any_name = wanted.find(",name:") == std::string::npos;
  std::size_t count = 0;
  PipelineId last;
  bool more = false;
  tell.result().key("pipelines").begin_array();
  const auto after = parse_id<PipelineId>(tell.kept().second);
  const PipelineId first{after ? after->value + 1 : 0};
  for (auto at = pipelines(state).lower_bound(first); at != pipelines(state).end(); ++at) {
    const pipeline::Pipeline& pipeline = at->second;
    if (pipeline.project != tell.project() && !tell.kept().flag) continue;
    const bool active = !pipeline::is_over(pipeline) && is_wanted("active");
    if (!any_state && !active && !is_wanted(state_of(pipeline))) continue;
    if (!any_phase && !is_wanted("phase:" + pipeline::phase_of(pipeline))) continue;
    if (!any_name && !is_wanted("name:" + pipeline.origin->name)) continue;
    if (count == static_cast<std::size_t>(tell.kept().number) || tell.size() > limits::list_bytes) {
      more = true;
      break;
    }
    ++count;
    last = pipeline.id;
    tell.json.begin_object();
    show_pipeline(tell, state, pipeline, true);
    tell.json.end_object();
  }
  tell.json.end_array();
  if (more) tell.json.key("next").plain(to_text(last));
}

void list(Asking& ask) {
  std::string wanted = ",";
  ask.params.each_text("states", std::size(states), [&](std::string_view text) {
    if (std::ranges::find(states, text) == std::end(states)) {
      ask.params.refuse("states",
                        "must be of init, blocked, running, done, failed, cancelled and active");
    }
    wanted += fmt::format("{},", text);
  });
  ask.params.each_text(
      "phases", 100, [&](std::string_view text) { wanted += fmt::format("phase:{},", text); });
  if (const auto name = ask.params.text("name")) wanted += fmt::format("name:{},", *name);
  ask.kept.flag = ask.params.flag("all_projects");
  ask.kept.second = ask.params.text("after").value_or("");
  ask.kept.number = ask.params.integer("limit", 1, limits::list_entries)
                        .value_or(static_cast<std::int64_t>(limits::list_entries));
  ask.kept.name = wanted;
  ask.look(show_list);
}

void show_one(Tell& tell, const State& state) {
  const auto id = id_or_tell<PipelineId>(tell, pipelines(state), tell.kept().name, "pipeline");
  if (!id) return;
  tell.result();
  show_pipeline(tell, state, *pipelines(state).find(*id), false);
}

void show(Asking& ask) {
  ask.kept.name = ask.params.need_text("id");
  ask.look(show_one);
}

constexpr Named methods[] = {
    {"pipeline.start", start},
    {"pipeline.cancel", cancel},
    {"pipeline.retry", retry},
    {"pipeline.resume", resume},
    {"pipeline.transition", transition},
    {"pipeline.unblock", unblock},
    {"pipeline.checkpoint", checkpoint},
    {"pipeline.pause", pause},
    {"pipeline.finish", finish},
    {"pipeline.remove_workspace", remove_workspace},
    {"pipeline.list", list},
    {"pipeline.show", show},
};

}  // namespace

std::span<const Named> pipeline_methods() { return methods; }

}  // namespace reeve::api
