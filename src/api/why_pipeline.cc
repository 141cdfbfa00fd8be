#include "api/limits.h"
#include "api/show_run.h"
#include "api/why.h"
#include "api/why_chain.h"
#include "base/match.h"
#include "codec/shell_word.h"
#include "core/agent.h"
#include "core/guard_ending.h"
#include "core/timer.h"

#include <fmt/format.h>

#include <chrono>
#include <string>
#include <vector>

// Why a pipeline does not move: its guard with what that said last, the lock and who has it, the
// dependency, the question, the pause before the next attempt; and through its children, and those
// that hold what it wants, down to what truly is in the way.
namespace reeve::api {
namespace {

constexpr std::size_t output_shown = 2000;
constexpr std::size_t active_shown = 5;

// The end of what a program said, from the beginning of a line.
std::string_view tail_of(std::string_view text) {
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.remove_suffix(1);
  if (text.size() <= output_shown) return text;
  text.remove_prefix(text.size() - output_shown);
  const std::size_t newline = text.find('\n');
  return newline == std::string_view::npos ? text : text.substr(newline + 1);
}

bool is_being_ended(const GuardLook& look) {
  return look.definition && guard::is_ending(*look.guard, *look.definition);
}

// So many run as may; empty if that is not what it waits for.
std::string wants_room(const engine::Outbox& outbox,
                       const State& state,
                       const pipeline::Pipeline& pipeline) {
  const std::optional<EffectId> program = program_of(state, pipeline);
  if (!program || !outbox.waits_for_room(*program)) return {};
  return fmt::format(
      "its program waits for one of the {} places that there are for all of them; see `reeve "
      "config describe limits.running_effects`",
      outbox.most_running());
}

std::string what_it_does(const State& state, const pipeline::Pipeline& pipeline, Time now) {
  const std::string since = ago(pipeline.phase_started_at, now);
  return match(
      pipeline.course,
      [](const pipeline::Idle&) { return std::string("it is between phases"); },
      [](const pipeline::Entering&) { return std::string("it is about to begin"); },
      [](const pipeline::Preparing&) { return std::string("its workspace is being made"); },
      [&](const pipeline::Guarding&) {
        const std::optional<GuardLook> look = guard_of(state, pipeline);
        if (!look) return std::string("its guards are being checked");
        if (is_being_ended(*look)) {
          return fmt::format(
              "the time of guard {} is up: its check is being ended, and then "
              "somebody is asked",
              look->name);
        }
        return fmt::format("guard {} is being checked", look->name);
      },
      [](const pipeline::Acquiring&) { return std::string("it asks for its locks"); },
      [&](const pipeline::Acting& acting) {
        return match(
            acting.what,
            [&](const pipeline::ShellRun&) {
              return fmt::format("its program runs, the phase for {}", since);
            },
            [&](const pipeline::AgentRun& run) {
              const task::Task* task = state.tasks.tasks.find(run.work);
              return fmt::format("agent {} {}, the phase for {}",
                                 to_text(run.work),
                                 task && is_ending(*task) ? "is being ended" : "works",
                                 since);
            },
            [&](const pipeline::StrategyRun& run) {
              return fmt::format("strategy {} runs, the phase for {}", run.name, since);
            },
            [&](const pipeline::Children& children) {
              return fmt::format("{} of {} children are done, {} failed, {} are open",
                                 children.done,
                                 children.total,
                                 children.failed,
                                 children.open);
            });
      },
      [](const pipeline::Leaving& leaving) {
        return std::string(leaving.asked ? "what it ran cannot be seen dead, and somebody is asked"
                                         : "what it ran is being ended");
      },
      [](const pipeline::Clearing&) { return std::string("its workspace is being removed"); });
}

// What becomes of a guard that has not passed when its time is over; empty: it has no limit.
std::string limit_of(const GuardLook& look, Time now) {
  if (!look.definition || !look.definition->timeout || look.guard->timed_out) return {};
  const Time at = saturating_add(look.guard->started_at, *look.definition->timeout);
  const std::string in = ago(now, at);
  switch (look.definition->on_timeout) {
    case definition::OnTimeout::Escalate:
      return fmt::format(" (in {} somebody is asked)", in);
    case definition::OnTimeout::Fail:
      return fmt::format(" (in {} it has failed)", in);
    case definition::OnTimeout::Block:
      return {};
  }
  return {};
}

std::vector<PipelineId> open_children(const State& state, PipelineId parent) {
  const auto& children = state.pipelines.children;
  std::vector<PipelineId> open;
  for (auto at = children.lower_bound({parent, 0});
       at != children.end() && at->first.parent == parent;
       ++at) {
    const pipeline::Pipeline* child = state.pipelines.pipelines.find(at->second);
    if (child && !pipeline::is_over(*child)) open.push_back(at->second);
  }
  return open;
}

std::optional<Next> next_of_guard(const State& state,
                                  const pipeline::Pipeline& pipeline,
                                  Time now) {
  const std::optional<GuardLook> look = guard_of(state, pipeline);
  if (!look) return std::nullopt;
  if (guard::is_over(*look->guard)) return std::nullopt;
  if (is_being_ended(*look)) {
    return Next{
        fmt::format("somebody is asked, when the check of guard {} has been ended", look->name),
        std::nullopt};
  }
  const std::string limit = limit_of(*look, now);
  if (const auto* waiting = std::get_if<guard::Waiting>(&look->guard->state)) {
    return Next{fmt::format("guard {} is checked again{}", look->name, limit), waiting->next_check};
  }
  return Next{fmt::format("guard {} is being checked{}", look->name, limit), std::nullopt};
}

std::optional<Next> next_of(const State& state, const pipeline::Pipeline& pipeline, Time now) {
  const auto timer = [&](pipeline::Timer which) {
    return deadline_of(state.timers, pipeline::Due{pipeline.id, which});
  };
  if (const auto* blocked = std::get_if<pipeline::Blocked>(&pipeline.state)) {
    switch (blocked->reason) {
      case pipeline::Reason::Guard:
        return next_of_guard(state, pipeline, now);
      case pipeline::Reason::Backoff:
        if (pipeline.paused) {
          return Next{"it is paused before it is tried again", timer(pipeline::Timer::Backoff)};
        }
        return Next{fmt::format("phase {} is tried again", blocked->resume_phase),
                    timer(pipeline::Timer::Backoff)};
      case pipeline::Reason::Decision:
        for (const DecisionId id : open_decisions(state, pipeline.id)) {
          const decision::Decision& decision = *state.decisions.decisions.find(id);
          const std::optional<Time> at = decision::acts_at(decision);
          if (!at) continue;
          return Next{fmt::format("{} is answered by its default", to_text(id)), at};
        }
        return next_of_guard(state, pipeline, now);  // which is looked at meanwhile
      case pipeline::Reason::Dependency:
      case pipeline::Reason::Lock:
      case pipeline::Reason::Semaphore:
      case pipeline::Reason::Paused:
        return std::nullopt;
    }
  }
  if (pipeline.paused) {
    return Next{
        fmt::format("it is paused when this phase has ended; `reeve resume {}` takes that back",
                    to_text(pipeline.id)),
        std::nullopt};
  }
  if (const auto at = timer(pipeline::Timer::Timeout)) {
    return Next{"its phase is ended if it still runs", at};
  }
  return std::nullopt;
}

}  // namespace

// One entry for what it does or waits for, and then those that are behind that.
void Chain::pipeline(PipelineId id) {
  const pipeline::Pipeline* found = state_.pipelines.pipelines.find(id);
  if (!found || !is_first("pipeline", found->project, to_text(id))) return;
  const std::optional<Block> block = block_of(tell_, state_, *found);
  if (!block) {
    if (pipeline::is_over(*found)) return;
    running(*found);
    return;
  }
  blocked(*found, block->kind, block->name, block->since, block->detail);
}

void Chain::running(const pipeline::Pipeline& pipeline) {
  if (++shown_ > limits::chain_entries) return;
  JsonWriter& json = tell_.json.begin_object().field("kind", "phase");
  json.field("name", pipeline::phase_of(pipeline));
  json.key("pipeline").plain(to_text(pipeline.id));
  json.field("pipeline_name", pipeline.origin->name).field("depth", depth_);
  tell_.moment("since", pipeline.phase_started_at);
  const std::string room = wants_room(tell_.desk().engine().outbox(), state_, pipeline);
  json.field("detail", room.empty() ? what_it_does(state_, pipeline, now_) : room);
  if (const std::string run = run_of(state_, pipeline); !run.empty()) json.field("run", run);
  const std::vector<PipelineId> open = open_children(state_, pipeline.id);
  if (!open.empty()) json.field("children", open.size());
  json.end_object();
  ++depth_;
  for (const PipelineId child : open) {
    if (shown_ > limits::chain_entries) break;
    this->pipeline(child);
  }
  --depth_;
}

void Chain::blocked(const pipeline::Pipeline& pipeline,
                    std::string_view kind,
                    std::string_view name,
                    Time since,
                    std::string_view detail) {
  // Of a lock or slot its holders say all; who is only behind others in a line has no holder.
  const auto* state = std::get_if<pipeline::Blocked>(&pipeline.state);
  const std::size_t before = shown_;
  if (state->reason == pipeline::Reason::Lock || state->reason == pipeline::Reason::Semaphore) {
    waiting_ = &pipeline;
    for (const LockName& lock_name : pipeline.holding.locks) lock(lock_name);
    for (const WaiterId id : grant::waits_of(state_.grants, pipeline::holder_of(pipeline))) {
      if (const grant::Waiter* waiter = state_.grants.waiters.find(id)) wanted_slots(id, *waiter);
    }
    waiting_ = nullptr;
    if (shown_ > before) return;
  }
  if (++shown_ > limits::chain_entries) return;
  JsonWriter& json = tell_.json.begin_object().field("kind", kind).field("name", name);
  json.key("pipeline").plain(to_text(pipeline.id));
  json.field("pipeline_name", pipeline.origin->name).field("depth", depth_);
  tell_.moment("since", since);
  json.field("detail", detail);
  if (const std::optional<GuardLook> look = guard_of(state_, pipeline)) {
    json.field("checks", look->guard->checks);
    const std::string_view output = tail_of(look->guard->last_output);
    if (!output.empty()) json.field("output", output);
  } else if (pipeline.failure) {
    const std::string_view output = tail_of(pipeline.failure->output);
    if (!output.empty()) json.field("output", output);
  }
  json.end_object();
  if (state->reason != pipeline::Reason::Dependency) return;
  ++depth_;
  for (const PipelineId dependency : pipeline.after) this->pipeline(dependency);
  --depth_;
}

void why_pipeline(Tell& tell, const State& state, PipelineId id) {
  const pipeline::Pipeline& pipeline = *state.pipelines.pipelines.find(id);
  tell.result().key("id").plain(to_text(id)).field("kind", "pipeline");
  tell.json.field("name", pipeline.origin->name).field("state", state_of(pipeline));
  if (const std::string phase = pipeline::phase_of(pipeline); !phase.empty()) {
    tell.json.field("phase", phase).field("attempt", pipeline::attempt_of(pipeline));
  }
  if (const auto* failed = std::get_if<pipeline::Failed>(&pipeline.state)) {
    tell.json.field("error", failed->error);
  }
  Chain chain(tell, state);
  chain.begin();
  chain.pipeline(id);
  chain.end();
  const auto* blocked = std::get_if<pipeline::Blocked>(&pipeline.state);
  if (blocked && (blocked->reason == pipeline::Reason::Lock ||
                  blocked->reason == pipeline::Reason::Semaphore)) {
    return why_waits(tell, state, pipeline);
  }
  tell.json.key("line").begin_array().end_array();
  tell_next(tell, next_of(state, pipeline, tell.now().now));
}

void why_decision(Tell& tell, const State& state, DecisionId id) {
  const decision::Decision& decision = *state.decisions.decisions.find(id);
  tell.result().key("id").plain(to_text(id)).field("kind", "decision");
  tell.json.field("state", state_of(decision));
  const bool is_open = std::holds_alternative<decision::Open>(decision.state);
  Chain chain(tell, state);
  chain.begin();
  if (is_open) {
    chain.fact("decision", to_text(id), decision.opened_at, question_in_words(id, decision));
  }
  chain.end();
  tell.json.key("line").begin_array().end_array();
  const std::optional<Time> at = is_open ? decision::acts_at(decision) : std::nullopt;
  tell_next(tell, at ? std::optional(Next{"its default is the answer", at}) : std::nullopt);
}

void why_agent(Tell& tell, const State& state, WorkId id) {
  const task::Task& task = *state.tasks.tasks.find(state.tasks.attempts.find(id)->work);
  const Time now = tell.now().now;
  tell.result().key("id").plain(to_text(task.id)).field("kind", "agent");
  tell.json.field("state", state_of(state, task, now));
  Chain chain(tell, state);
  chain.begin();
  const DecisionId* asked = state.decisions.open_of.find(decision::WorkOwner{task.id});
  if (asked) {
    const decision::Decision& decision = *state.decisions.decisions.find(*asked);
    chain.fact(
        "decision", to_text(*asked), decision.opened_at, question_in_words(*asked, decision));
  } else if (!std::holds_alternative<task::Done>(task.state)) {
    chain.fact("agent",
               task.begun->name,
               task.first_started.value_or(now),
               fmt::format("{}; last sign of life {} ago",
                           agent::text_of(task.seen.doing),
                           format_duration(std::chrono::duration_cast<std::chrono::seconds>(
                               idle_of(state, task, now)))));
  } else if (is_ending(task)) {
    chain.fact("agent",
               task.begun->name,
               std::get<task::Done>(task.state).at,
               "it is being ended, and over when nothing of it is left");
  }
  chain.end();
  tell.json.key("line").begin_array().end_array();
  const auto at = deadline_of(state.timers, task::Due{task.id, {}});
  tell_next(tell, at ? std::optional(Next{"it is looked at", at}) : std::nullopt);
}

void why_worker(Tell& tell, const State& state, const WorkerName& name) {
  const worker::Worker& worker = *state.workers.workers.find(name);
  tell.result().field("id", tell.name(name)).field("kind", "worker");
  Chain chain(tell, state);
  chain.begin();
  const Time now = tell.now().now;
  const std::string shown = tell.name(name);
  const std::string word = codec::shell_word(shown);
  const queue::QueueNo* no = state.queues.names.find(worker.queue);
  const queue::Queue* queue = no ? state.queues.queues.find(*no) : nullptr;
  const std::uint64_t ready = queue ? queue->counts.pending - queue->counts.delayed : 0;
  tell_failing_source(tell, chain, name, worker);
  if (!worker.started) {
    chain.fact("worker",
               shown,
               now,
               fmt::format("it is stopped; `reeve worker start {}` starts it", word));
  } else if (queue && queue->paused) {
    const std::string of = tell.name(worker.queue);
    chain.fact("queue",
               of,
               now,
               fmt::format("paused; try `reeve queue resume {}`", codec::shell_word(of)));
  } else if (ready > 0 && worker.active.size() >= worker.concurrency) {
    chain.fact(
        "worker",
        shown,
        now,
        fmt::format("all its {} places are taken, and {} items wait; `reeve worker resize {} "
                    "N` gives it more",
                    worker.concurrency,
                    ready,
                    word));
  } else if (ready == 0 && worker.poll_error.empty()) {
    chain.fact("queue", tell.name(worker.queue), now, "there is nothing in it");
  }
  std::size_t count = 0;
  for (const PipelineId id : worker.active) {
    if (++count > active_shown) break;
    chain.pipeline(id);
  }
  chain.end();
  tell.json.key("line").begin_array().end_array();
  if (worker.source && worker.poll_at) {
    tell_next(tell, Next{"its source is asked again", worker.poll_at});
  }
}

void why_cron(Tell& tell, const State& state, const CronName& name) {
  const cron::Cron& cron = *state.crons.crons.find(name);
  tell.result().field("id", tell.name(name)).field("kind", "cron");
  const std::string shown = tell.name(name);
  Chain chain(tell, state);
  chain.begin();
  if (!cron.enabled) {
    chain.fact("cron",
               shown,
               tell.now().now,
               fmt::format("it is not enabled; `reeve cron enable {}` enables it",
                           codec::shell_word(shown)));
  }
  for (const cron::Run& run : cron.running) {
    if (const PipelineId* id = std::get_if<PipelineId>(&run)) chain.pipeline(*id);
  }
  chain.end();
  tell.json.key("line").begin_array().end_array();
  if (const std::string log = log_of(state, name, cron); !log.empty()) tell.json.field("log", log);
  if (!cron.enabled) return;
  const std::vector<Wall> next = cron::next_fires(cron, tell.now(), 1);
  if (next.empty()) return;
  tell.json.key("next").begin_object().field("what", "it fires");
  tell.moment("at", next.front());
  tell.json.end_object();
}

}  // namespace reeve::api
