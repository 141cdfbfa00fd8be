#include "api/fields.h"
#include "api/show_phases.h"
#include "api/show_run.h"
#include "base/match.h"
#include "core/strategy.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

namespace reeve::api {
namespace {

using pipeline::Pipeline;
using pipeline::Reason;

constexpr std::size_t last_checkpoints = 20;

std::string run_text(EffectId effect) {
  return fmt::format("{}-{}", effect.sequence, effect.index);
}

std::string_view text_of(Reason reason) {
  switch (reason) {
    case Reason::Dependency:
      return "dependency";
    case Reason::Guard:
      return "guard";
    case Reason::Lock:
      return "lock";
    case Reason::Semaphore:
      return "semaphore";
    case Reason::Decision:
      return "decision";
    case Reason::Paused:
      return "paused";
    case Reason::Backoff:
      return "backoff";
  }
  return "";
}

std::string_view text_of(guard::Verdict verdict) {
  switch (verdict) {
    case guard::Verdict::Passed:
      return "passed";
    case guard::Verdict::NotYet:
      return "not yet";
    case guard::Verdict::Broken:
      return "broken";
    case guard::Verdict::Unknown:
      return "unknown";
  }
  return "";
}

// The end of a text, on one line: for a sentence.
std::string last_words(std::string_view text) {
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.remove_suffix(1);
  const std::size_t newline = text.rfind('\n');
  if (newline != std::string_view::npos) text.remove_prefix(newline + 1);
  return std::string(text.substr(0, 200));
}

Block of_guard(const State& state, const Pipeline& pipeline, Block block) {
  const std::optional<GuardLook> look = guard_of(state, pipeline);
  if (!look) return block;
  block.name = look->name;
  block.detail =
      fmt::format("checked {} time{}", look->guard->checks, look->guard->checks == 1 ? "" : "s");
  if (look->guard->last) {
    block.detail += fmt::format(", the last time: {}", text_of(*look->guard->last));
  }
  if (const std::string words = last_words(look->guard->last_output); !words.empty()) {
    block.detail += fmt::format(" ({})", words);
  }
  return block;
}

// Of what was asked for, the first that is in the way.
Block of_grant(const Tell& tell, const State& state, const Pipeline& pipeline, Block block) {
  const Holder us = pipeline::holder_of(pipeline);
  for (const LockName& name : pipeline.holding.locks) {
    const lock::Lock* lock = state.locks.locks.find(name);
    const lock::Tenure* tenure = lock ? lock::tenure_of(*lock) : nullptr;
    if (!tenure || tenure->holder == us) continue;
    block.name = tell.name(name);
    block.detail = fmt::format("held by {}", tenure->holder.name);
    if (tenure->meta && !tenure->meta->label.empty()) {
      block.detail += fmt::format(" ({})", tenure->meta->label);
    }
    return block;
  }
  for (const SemaphoreName& name : pipeline.holding.slots) {
    const semaphore::Semaphore* found = state.semaphores.semaphores.find(name);
    if (!found) continue;
    block.name = tell.name(name);
    block.detail = fmt::format("{} of {} free, {} {} for it",
                               semaphore::available(*found),
                               found->config.capacity,
                               found->waiting,
                               found->waiting == 1 ? "waits" : "wait");
    if (!pipeline.holding.locks.empty() && semaphore::available(*found) > 0) continue;
    return block;
  }
  if (block.name.empty() && !pipeline.holding.locks.empty()) {
    block.name = tell.name(pipeline.holding.locks.front());
    block.detail = "others are before it in line";
  }
  return block;
}

Block of_dependency(const State& state, const Pipeline& pipeline, Block block) {
  for (const PipelineId id : pipeline.after) {
    const Pipeline* other = state.pipelines.pipelines.find(id);
    if (!block.name.empty()) block.name += ", ";
    block.name += to_text(id);
    if (!block.detail.empty()) block.detail += "; ";
    block.detail += fmt::format(
        "{} is {}", to_text(id), other ? state_of(*other) : std::string_view("forgotten"));
    const bool will_not =
        other && pipeline::is_over(*other) && !std::holds_alternative<pipeline::Done>(other->state);
    if (will_not) {
      block.detail += fmt::format(
          ", so this waits for ever: `reeve pipeline unblock {}` lets it go "
          "on, `reeve cancel {}` ends it",
          to_text(pipeline.id),
          to_text(pipeline.id));
    }
  }
  return block;
}

Block of_decision(const State& state, const Pipeline& pipeline, Block block) {
  for (const DecisionId id : open_decisions(state, pipeline.id)) {
    const decision::Decision& decision = *state.decisions.decisions.find(id);
    block.name = to_text(id);
    block.detail = question_in_words(id, decision);
    break;
  }
  return block;
}

bool may_have_children(const State& state, const Pipeline& pipeline) {
  const definition::Pipeline* definition = definition_of(state, pipeline);
  if (!definition) return true;
  return std::ranges::any_of(definition->phases, [](const definition::Phase& phase) {
    return std::holds_alternative<definition::RunPipeline>(phase.action) ||
           std::holds_alternative<definition::RunParallel>(phase.action) ||
           std::holds_alternative<definition::RunForEach>(phase.action);
  });
}

// Those that are over as well, for as long as they are known. Only the open ones have an index; but
// numbers grow, so they are among those that began while it was there.
void show_children(Tell& tell, const State& state, const Pipeline& pipeline) {
  if (!may_have_children(state, pipeline)) return;
  const auto& all = state.pipelines.pipelines;
  std::size_t shown = 0;
  for (auto at = all.lower_bound(pipeline.id); at != all.end(); ++at) {
    const Pipeline& child = at->second;
    if (pipeline.ended_at && child.created_at > *pipeline.ended_at) break;
    const auto* by = std::get_if<pipeline::ByParent>(&child.origin->starter);
    if (!by || by->pipeline != pipeline.id) continue;
    if (++shown > limits::list_entries || tell.size() > limits::list_bytes) break;
    if (shown == 1) tell.json.key("children").begin_array();
    tell.json.begin_object().key("id").plain(to_text(child.id));
    tell.json.field("name", child.origin->name).field("state", state_of(child));
    if (const std::string phase = pipeline::phase_of(child); !phase.empty()) {
      tell.json.field("phase", phase);
    }
    tell.json.end_object();
  }
  if (shown > 0) tell.json.end_array();
}

void show_starter(Tell& tell, const Pipeline& pipeline) {
  match(
      pipeline.origin->starter,
      [](const pipeline::ByClient&) {},
      [&](const pipeline::ByWorker& by) {
        tell.json.field("worker", tell.name(by.worker)).key("item").plain(to_text(by.item));
      },
      [&](const pipeline::ByCron& by) { tell.json.field("cron", tell.name(by.cron)); },
      [&](const pipeline::ByParent& by) { tell.json.key("parent").plain(to_text(by.pipeline)); });
}

void show_outputs(Tell& tell, const State& state, const Pipeline& pipeline) {
  JsonWriter& json = tell.json.key("outputs").begin_object();
  const auto& outputs = state.pipelines.outputs;
  std::string phase;
  bool open = false;
  for (auto at = outputs.lower_bound({pipeline.id, "", ""});
       at != outputs.end() && at->first.pipeline == pipeline.id;
       ++at) {
    if (!open || at->first.phase != phase) {
      if (open) json.end_object();
      phase = at->first.phase;
      user_key(json, phase).begin_object();
      open = true;
    }
    user_key(json, at->first.key).text(at->second);
  }
  if (open) json.end_object();
  json.end_object();
}

void show_checkpoints(Tell& tell, const State& state, const Pipeline& pipeline) {
  tell.json.key("checkpoints").begin_array();
  const std::uint64_t first =
      pipeline.checkpoints > last_checkpoints ? pipeline.checkpoints - last_checkpoints + 1 : 0;
  const auto& all = state.pipelines.checkpoints;
  for (auto at = all.lower_bound({pipeline.id, first});
       at != all.end() && at->first.pipeline == pipeline.id;
       ++at) {
    tell.json.begin_object().field("phase", at->second.phase).field("message", at->second.message);
    tell.moment("at", at->second.at);
    tell.json.end_object();
  }
  tell.json.end_array();
}

void show_holding(Tell& tell, const Pipeline& pipeline) {
  if (!pipeline.holding.granted) return;
  JsonWriter& json = tell.json.key("holds").begin_array();
  for (const LockName& name : pipeline.holding.locks) {
    json.begin_object().field("kind", "lock").field("name", tell.name(name)).end_object();
  }
  for (const SemaphoreName& name : pipeline.holding.slots) {
    json.begin_object().field("kind", "sem").field("name", tell.name(name)).end_object();
  }
  json.end_array();
}

// What its action is doing: the approach of a strategy, how many of its children are done.
void show_progress(Tell& tell, const State& state, const Pipeline& pipeline) {
  const auto* acting = std::get_if<pipeline::Acting>(&pipeline.course);
  if (!acting) return;
  match(
      acting->what,
      [](const pipeline::ShellRun&) {},
      [&](const pipeline::AgentRun& run) { tell.json.key("agent").plain(to_text(run.work)); },
      [&](const pipeline::StrategyRun& run) {
        const definition::Set* set = definition::find(state.definitions, pipeline.origin->set);
        const definition::Strategy* strategy = set ? set->strategies.find(run.name) : nullptr;
        tell.json.field("strategy", run.name);
        const auto* trying = std::get_if<strategy::Trying>(&run.machine.state);
        if (strategy && trying && trying->approach < strategy->approaches.size()) {
          tell.json.field("approach", strategy->approaches[trying->approach].name);
        }
      },
      [&](const pipeline::Children& children) {
        tell.json.key("progress").begin_object().field("total", children.total);
        tell.json.field("done", children.done).field("failed", children.failed);
        tell.json.field("open", children.open).end_object();
      });
}

bool is_being_cancelled(const Pipeline& pipeline) {
  const auto* leaving = std::get_if<pipeline::Leaving>(&pipeline.course);
  return leaving && std::holds_alternative<pipeline::BeCancelled>(leaving->exit);
}

}  // namespace

std::string_view state_of(const Pipeline& pipeline) {
  return match(
      pipeline.state,
      [](const pipeline::Init&) -> std::string_view { return "init"; },
      [](const pipeline::Blocked&) -> std::string_view { return "blocked"; },
      [](const pipeline::Running&) -> std::string_view { return "running"; },
      [](const pipeline::Done&) -> std::string_view { return "done"; },
      [](const pipeline::Failed&) -> std::string_view { return "failed"; },
      [](const pipeline::Cancelled&) -> std::string_view { return "cancelled"; });
}

const definition::Pipeline* definition_of(const State& state, const Pipeline& pipeline) {
  const definition::Set* set = definition::find(state.definitions, pipeline.origin->set);
  return set ? set->pipelines.find(pipeline.origin->name) : nullptr;
}

const definition::Phase* phase_in(const definition::Pipeline& definition, std::string_view name) {
  const auto found = std::ranges::find(definition.phases, name, &definition::Phase::name);
  return found == definition.phases.end() ? nullptr : &*found;
}

std::optional<GuardLook> guard_of(const State& state, const Pipeline& pipeline) {
  const auto* at = std::get_if<pipeline::Guarding>(&pipeline.course);
  if (!at) {
    const auto* leaving = std::get_if<pipeline::Leaving>(&pipeline.course);
    if (leaving && leaving->guards) at = &*leaving->guards;
  }
  const definition::Pipeline* definition = definition_of(state, pipeline);
  const definition::Phase* phase =
      definition ? phase_in(*definition, pipeline::phase_of(pipeline)) : nullptr;
  if (!at || !phase) return std::nullopt;
  const std::vector<std::string>& names =
      at->which == pipeline::Which::Post ? phase->post : phase->pre;
  if (at->index >= names.size() || at->index >= at->guards.size()) return std::nullopt;
  const definition::Set* set = definition::find(state.definitions, pipeline.origin->set);
  return GuardLook{names[at->index], &at->guards[at->index], set->guards.find(names[at->index])};
}

std::optional<Block> block_of(const Tell& tell, const State& state, const Pipeline& pipeline) {
  const auto* blocked = std::get_if<pipeline::Blocked>(&pipeline.state);
  if (!blocked) return std::nullopt;
  Block block{text_of(blocked->reason), {}, blocked->since, {}};
  switch (blocked->reason) {
    case Reason::Dependency:
      return of_dependency(state, pipeline, std::move(block));
    case Reason::Guard:
      return of_guard(state, pipeline, std::move(block));
    case Reason::Lock:
    case Reason::Semaphore:
      return of_grant(tell, state, pipeline, std::move(block));
    case Reason::Decision:
      return of_decision(state, pipeline, std::move(block));
    case Reason::Paused:
      block.name = to_text(pipeline.id);
      block.detail = fmt::format("somebody paused it; `reeve resume {}` lets it go on", block.name);
      return block;
    case Reason::Backoff:
      block.name = pipeline::phase_of(pipeline);
      if (pipeline.failure) block.detail = fmt::format("it failed: {}", pipeline.failure->error);
      return block;
  }
  return block;
}

std::optional<EffectId> program_of(const State& state, const Pipeline& pipeline) {
  using Answer = std::optional<EffectId>;
  const auto of_agent = [&](WorkId work) -> Answer {
    const task::Task* task = state.tasks.tasks.find(work);
    const bool is_there = task && task->attempt && task->body != task::Body::None;
    return is_there ? Answer(task->run) : std::nullopt;
  };
  const auto of_either = [&](const std::variant<EffectId, WorkId>& either) -> Answer {
    return match(
        either,
        [](const EffectId& effect) -> Answer { return effect; },
        [&](const WorkId& work) -> Answer { return of_agent(work); });
  };
  return match(
      pipeline.course,
      [](const pipeline::Idle&) -> Answer { return std::nullopt; },
      [](const pipeline::Entering&) -> Answer { return std::nullopt; },
      [](const pipeline::Preparing& at) -> Answer { return at.effect; },
      [](const pipeline::Guarding& at) -> Answer { return at.check; },
      [](const pipeline::Acquiring&) -> Answer { return std::nullopt; },
      [&](const pipeline::Acting& acting) -> Answer {
        return match(
            acting.what,
            [](const pipeline::ShellRun& run) -> Answer { return run.effect; },
            [&](const pipeline::AgentRun& run) -> Answer { return of_agent(run.work); },
            [&](const pipeline::StrategyRun& run) -> Answer { return of_either(run.running); },
            [](const pipeline::Children&) -> Answer { return std::nullopt; });
      },
      [&](const pipeline::Leaving& at) -> Answer {
        return match(
            at.still,
            [](const EffectId& effect) -> Answer { return effect; },
            [&](const WorkId& work) -> Answer { return of_agent(work); },
            [](const pipeline::Children&) -> Answer { return std::nullopt; });
      },
      [](const pipeline::Clearing& at) -> Answer { return at.effect; });
}

std::string run_of(const State& state, const Pipeline& pipeline) {
  const std::optional<EffectId> program = program_of(state, pipeline);
  return program ? run_text(*program) : std::string();
}

void show_pipeline(Tell& tell, const State& state, const Pipeline& pipeline, bool in_list) {
  JsonWriter& json = tell.json;
  json.key("id").plain(to_text(pipeline.id)).field("name", pipeline.origin->name);
  json.field("state", state_of(pipeline));
  if (const std::string phase = pipeline::phase_of(pipeline); !phase.empty()) {
    json.field("phase", phase).field("attempt", pipeline::attempt_of(pipeline));
  }
  if (const auto* failed = std::get_if<pipeline::Failed>(&pipeline.state)) {
    json.field("error", failed->error).field("recoverable", failed->recoverable);
  }
  if (const std::optional<Block> block = block_of(tell, state, pipeline)) {
    json.key("blocked_on").begin_object().field("kind", block->kind);
    json.field("name", block->name);
    tell.moment("since", block->since);
    json.field("detail", block->detail).end_object();
  }
  if (pipeline.paused) json.field("paused", true);
  if (is_being_cancelled(pipeline)) json.field("cancelling", true);
  tell.moment("created_at", pipeline.created_at);
  if (!pipeline::is_over(pipeline)) tell.moment("phase_since", pipeline.phase_started_at);
  tell.moment("ended_at", pipeline.ended_at);
  show_starter(tell, pipeline);
  show_progress(tell, state, pipeline);
  if (!pipeline.workspace.empty()) json.field("workspace", pipeline.workspace);
  if (!pipeline.branch.empty()) json.field("branch", pipeline.branch);
  if (in_list) return;

  if (const std::string run = run_of(state, pipeline); !run.empty()) json.field("run", run);
  if (pipeline.failure) json.field("last_error", pipeline.failure->error);
  json.field("runbook", pipeline.origin->set.hash);
  show_holding(tell, pipeline);
  show_children(tell, state, pipeline);
  show_agents_of(tell, state, pipeline.id);
  const std::vector<DecisionId> decisions = open_decisions(state, pipeline.id);
  if (!decisions.empty()) {
    json.key("decisions").begin_array();
    for (const DecisionId id : decisions) json.plain(to_text(id));
    json.end_array();
  }
  show_map(tell, "inputs", pipeline.origin->inputs);
  show_outputs(tell, state, pipeline);
  show_checkpoints(tell, state, pipeline);
  show_phases(tell, state, pipeline);
}

}  // namespace reeve::api
