#include "api/show_run.h"

#include "api/fields.h"
#include "api/limits.h"
#include "base/match.h"
#include "codec/log_folder.h"
#include "core/agent.h"
#include "core/task_step.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

namespace reeve::api {
namespace {

constexpr std::size_t next_fires_shown = 1;

std::string_view text_of(task::Reason reason) {
  switch (reason) {
    case task::Reason::NoHeartbeat:
      return "no sign of life";
    case task::Reason::NoProgress:
      return "no progress";
    case task::Reason::SessionDead:
      return "its session is gone";
    case task::Reason::Errored:
      return "it says that it failed";
  }
  return "";
}

std::string_view text_of(decision::Cause cause) {
  switch (cause) {
    case decision::Cause::PhaseFailed:
      return "phase";
    case decision::Cause::GuardFailed:
      return "guard";
    case decision::Cause::AgentStuck:
    case decision::Cause::AgentGone:
      return "agent";
    case decision::Cause::AgentPermission:
      return "permission";
    case decision::Cause::ItemExhausted:
      return "item";
    case decision::Cause::ProcessUnobserved:
      return "process";
    case decision::Cause::LockStale:
      return "lock";
    case decision::Cause::Asked:
      return "ask";
  }
  return "";
}

// What waits for the answer, by its id or name.
std::string subject_of(const Tell& tell, const State& state, const decision::Owner& owner) {
  const PipelineId pipeline = pipeline_of(state, owner);
  return match(
      owner,
      [&](const decision::PhaseOwner&) { return to_text(pipeline); },
      [&](const decision::GuardOwner& of) {
        return fmt::format("{} guard {}", to_text(pipeline), of.guard);
      },
      [](const decision::WorkOwner& of) { return to_text(of.work); },
      [](const decision::ItemOwner& of) { return to_text(of.item); },
      [&](const decision::LockOwner& of) { return "lock " + tell.name(of.lock); },
      [](const decision::ProcessOwner& of) { return fmt::format("process {}", of.process.pid); },
      [](const decision::DispatchOwner& of) { return to_text(of.dispatch); },
      [&](const decision::AskOwner&) { return pipeline ? to_text(pipeline) : std::string(); });
}

void show_answer(Tell& tell, const decision::Decision& decision, const decision::Answer& answer) {
  JsonWriter& json = tell.json.key("answer").begin_object();
  json.field("choice",
             answer.choice == decision::Choice::Option && answer.option < decision.options.size()
                 ? std::string_view(decision.options[answer.option])
                 : decision::text_of(answer.choice));
  json.field("text", answer.text);
  if (!answer.note.empty()) json.field("note", answer.note);
  if (!answer.by.empty()) json.field("by", answer.by);
  tell.moment("at", answer.at);
  json.end_object();
}

}  // namespace

// ── Agents ──

bool is_ending(const task::Task& task) {
  return std::holds_alternative<task::Done>(task.state) && !task::is_over(task);
}

namespace {

// What is seen of one that runs says more than that it does; that it worked when it was last heard
// of says less than that it was long ago.
std::string_view state_at_work(const task::Task& task, Duration idle) {
  const bool is_told = task.seen.doing != agent::Doing::Unknown;
  const bool may_be_idle = !is_told || task.seen.doing == agent::Doing::Working;
  if (may_be_idle && idle >= limits::shown_idle) return agent::text_of(agent::Doing::Idle);
  return is_told ? agent::text_of(task.seen.doing) : "running";
}

}  // namespace

std::string_view state_of(const State& state, const task::Task& task, Time now) {
  return match(
      task.state,
      [](const task::Pending&) -> std::string_view { return "pending"; },
      [&](const task::Running&) { return state_at_work(task, idle_of(state, task, now)); },
      [](const task::Stuck&) -> std::string_view { return "stuck"; },
      [&](const task::Done& done) -> std::string_view {
        if (is_ending(task)) return "ending";
        return match(
            done.result,
            [](const task::Success&) -> std::string_view { return "done"; },
            [](const task::Failed&) -> std::string_view { return "failed"; },
            [](const task::Cancelled&) -> std::string_view { return "cancelled"; });
      });
}

bool is_among(const State& state, const task::Task& task, std::string_view wanted, Time now) {
  const std::string_view how = state_of(state, task, now);
  if (how == wanted) return true;
  if (wanted == "active") return how == "ending" || !std::holds_alternative<task::Done>(task.state);
  const task::Stuck* stuck = std::get_if<task::Stuck>(&task.state);
  return stuck && stuck->reason == task::Reason::NoHeartbeat &&
         wanted == agent::text_of(agent::Doing::Idle);
}

Duration idle_of(const State& state, const task::Task& task, Time now) {
  if (std::holds_alternative<task::Done>(task.state)) return Duration{0};
  const Time from = std::max({task.last_sign, task.cooldown_until, state.leases_from});
  return from > now ? Duration{0} : now - from;
}

namespace {

// Each start of it, the oldest first: its session and its log are called so.
void show_attempts(Tell& tell, const State& state, const task::Task& task) {
  std::vector<WorkId> all;
  for (WorkId at = task.attempt; at && all.size() < limits::waiters_shown;) {
    all.push_back(at);
    const task::Attempt* attempt = state.tasks.attempts.find(at);
    at = attempt ? attempt->previous : WorkId{};
  }
  tell.json.key("attempts").begin_array();
  for (auto at = all.rbegin(); at != all.rend(); ++at) tell.json.plain(to_text(*at));
  tell.json.end_array();
}

// As of a pipeline that waits for an answer.
void show_question_of(Tell& tell, const State& state, const task::Task& task) {
  const DecisionId* id = state.decisions.open_of.find(decision::WorkOwner{task.id});
  if (!id) return;
  const decision::Decision& decision = *state.decisions.decisions.find(*id);
  tell.json.key("blocked_on").begin_object().field("kind", "decision").field("name", to_text(*id));
  tell.moment("since", decision.opened_at);
  tell.json.field("detail", question_in_words(*id, decision)).end_object();
}

// The last one of that name: those of the run itself stand behind its inputs.
std::string_view value_in(const definition::Map& variables, std::string_view name) {
  for (auto at = variables.rbegin(); at != variables.rend(); ++at) {
    if (at->first == name) return at->second;
  }
  return {};
}

}  // namespace

void show_agents_of(Tell& tell, const State& state, PipelineId pipeline) {
  const auto& all = state.tasks.of_pipeline;
  auto at = all.lower_bound({pipeline, {}});
  if (at == all.end() || at->pipeline != pipeline) return;
  tell.json.key("agents").begin_array();
  for (std::size_t shown = 0;
       at != all.end() && at->pipeline == pipeline && shown < limits::waiters_shown;
       ++at, ++shown) {
    const task::Task& task = *state.tasks.tasks.find(at->work);
    tell.json.begin_object().key("id").plain(to_text(task.id)).field("agent", task.begun->name);
    tell.json.field("phase", value_in(task.begun->variables, "phase"));
    tell.json.field("attempt", value_in(task.begun->variables, "attempt"));
    show_attempts(tell, state, task);
    tell.json.end_object();
  }
  tell.json.end_array();
}

void show_agent(Tell& tell, const State& state, const task::Task& task) {
  JsonWriter& json = tell.json;
  json.key("id").plain(to_text(task.id)).field("agent", task.begun->name);
  json.field("kind", task.begun->agent.kind)
      .field("mode", task.begun->agent.session ? "session" : "print");
  json.field("state", state_of(state, task, tell.now().now));
  if (task.attempt) json.key("attempt").plain(to_text(task.attempt));
  show_attempts(tell, state, task);
  if (task.begun->pipeline) json.key("pipeline").plain(to_text(task.begun->pipeline));
  match(
      task.state,
      [](const task::Pending&) {},
      [&](const task::Running& running) { tell.moment("started_at", running.started_at); },
      [&](const task::Stuck& stuck) {
        tell.moment("started_at", stuck.started_at);
        tell.moment("stuck_since", stuck.since);
        json.field("reason", text_of(stuck.reason));
      },
      [&](const task::Done& done) {
        if (!is_ending(task)) tell.moment("ended_at", task.over_at.value_or(done.at));
        if (const auto* failed = std::get_if<task::Failed>(&done.result)) {
          json.field("error", failed->error);
        }
      });
  if (!std::holds_alternative<task::Done>(task.state)) {
    json.field("idle_ms", idle_of(state, task, tell.now().now).count());
    json.field("seen", agent::text_of(task.seen.doing));
    if (!task.seen.detail.empty()) json.field("detail", task.seen.detail);
  }
  show_question_of(tell, state, task);
  if (task.body == task::Body::Unseen) json.field("unseen", true);
  json.field("nudges", task.nudges).field("restarts", task.restarts);
  if (!task.begun->workspace.empty()) json.field("workspace", task.begun->workspace);
}

// ── Decisions ──

std::string_view state_of(const decision::Decision& decision) {
  return match(
      decision.state,
      [](const decision::Open&) -> std::string_view { return "open"; },
      [](const decision::Answered&) -> std::string_view { return "answered"; },
      [](const decision::Retired&) -> std::string_view { return "retired"; });
}

PipelineId pipeline_of(const State& state, const decision::Owner& owner) {
  return match(
      owner,
      [](const decision::PhaseOwner& of) { return of.pipeline; },
      [](const decision::GuardOwner& of) { return of.pipeline; },
      [&](const decision::WorkOwner& of) {
        const task::Task* task = state.tasks.tasks.find(of.work);
        return task ? task->begun->pipeline : PipelineId{};
      },
      [](const decision::ItemOwner&) { return PipelineId{}; },
      [](const decision::LockOwner&) { return PipelineId{}; },
      [](const decision::ProcessOwner&) { return PipelineId{}; },
      [](const decision::DispatchOwner&) { return PipelineId{}; },
      [](const decision::AskOwner& of) { return of.pipeline; });
}

std::vector<std::string> offered(const decision::Decision& decision) {
  if (decision.cause == decision::Cause::Asked) return decision.options;
  std::vector<std::string> names;
  for (const decision::Choice choice : decision::choices_of(decision.cause)) {
    names.emplace_back(decision::text_of(choice));
  }
  return names;
}

std::vector<DecisionId> open_decisions(const State& state, PipelineId pipeline) {
  const auto& all = state.decisions.open_of;
  std::vector<DecisionId> open;
  // Those of its phase and its guards stand together.
  for (auto at = all.lower_bound(decision::PhaseOwner{pipeline, 0}); at != all.end(); ++at) {
    const auto* owner = std::get_if<decision::PhaseOwner>(&at->first);
    if (!owner || owner->pipeline != pipeline) break;
    open.push_back(at->second);
  }
  for (auto at = all.lower_bound(decision::GuardOwner{pipeline, 0, ""}); at != all.end(); ++at) {
    const auto* owner = std::get_if<decision::GuardOwner>(&at->first);
    if (!owner || owner->pipeline != pipeline) break;
    open.push_back(at->second);
  }
  // What its agent or its step asks is found only by looking, and while one of them runs it has no
  // question of its own.
  if (!open.empty()) return open;
  std::size_t looked_at = 0;
  const auto look = [&]<class Of>(const Of& first) {
    for (auto at = all.lower_bound(first); at != all.end(); ++at) {
      if (!std::holds_alternative<Of>(at->first) || ++looked_at > limits::decision_search) break;
      if (pipeline_of(state, at->first) == pipeline) open.push_back(at->second);
    }
  };
  look(decision::WorkOwner{});
  look(decision::AskOwner{});
  return open;
}

void show_decision(Tell& tell,
                   const State& state,
                   DecisionId id,
                   const decision::Decision& decision) {
  JsonWriter& json = tell.json;
  json.key("id").plain(to_text(id)).field("state", state_of(decision));
  json.field("cause", text_of(decision.cause));
  if (const std::string subject = subject_of(tell, state, decision.owner); !subject.empty()) {
    json.field("subject", subject);
  }
  if (const PipelineId pipeline = pipeline_of(state, decision.owner)) {
    json.key("pipeline").plain(to_text(pipeline));
  }
  json.field("question", decision.question);
  if (!decision.context.empty()) json.field("context", decision.context);
  const std::vector<std::string> choices = offered(decision);
  json.key("choices").begin_array();
  for (const std::string& choice : choices) json.text(choice);
  json.end_array();
  tell.moment("opened_at", decision.opened_at);
  tell.moment("deadline", decision.deadline);
  if (decision.default_choice && *decision.default_choice < choices.size()) {
    json.field("default", choices[*decision.default_choice]);
  }
  match(
      decision.state,
      [](const decision::Open&) {},
      [&](const decision::Answered& answered) { show_answer(tell, decision, answered.answer); },
      [&](const decision::Retired& retired) { tell.moment("retired_at", retired.at); });
}

// ── Workers and crons ──

void show_worker(Tell& tell,
                 const State& state,
                 const WorkerName& name,
                 const worker::Worker& worker) {
  JsonWriter& json = tell.json;
  json.field("name", tell.name(name));
  json.field("state",
             worker.started          ? std::string_view("started")
             : worker.active.empty() ? std::string_view("stopped")
                                     : std::string_view("stopping"));
  json.field("queue", tell.name(worker.queue)).field("pipeline", worker.pipeline);
  json.field("concurrency", worker.concurrency).field("active", worker.active.size());
  const queue::QueueNo* no = state.queues.names.find(worker.queue);
  if (const queue::Queue* queue = no ? state.queues.queues.find(*no) : nullptr) {
    json.field("pending", queue->counts.pending - queue->counts.delayed);
    json.field("delayed", queue->counts.delayed).field("dead", queue->counts.dead);
    if (queue->paused) json.field("queue_paused", true);
  }
  if (worker.source) tell.moment("poll_at", worker.poll_at);
  if (!worker.poll_error.empty()) {
    json.field("poll_error", worker.poll_error);
    tell.moment("poll_failing_since", worker.polls_fail_since);
  }
  json.key("pipelines").begin_array();
  std::size_t shown = 0;
  for (const PipelineId id : worker.active) {
    if (++shown > limits::waiters_shown) break;
    json.plain(to_text(id));
  }
  json.end_array();
}

// The bits from `first` to `last` as a field of an expression: `*`, `*/15`, `1-5`, `0,30`.
std::string field_text(std::uint64_t bits, unsigned first, unsigned last) {
  std::vector<unsigned> values;
  for (unsigned i = first; i <= last; ++i) {
    if ((bits >> i & 1U) != 0) values.push_back(i);
  }
  if (values.size() == last - first + 1) return "*";
  const unsigned step = values.size() > 2 ? values[1] - values[0] : 0;
  bool even = step > 1 && values.front() == first && values.back() + step > last;
  for (std::size_t i = 1; even && i < values.size(); ++i) even = values[i] - values[i - 1] == step;
  if (even) return fmt::format("*/{}", step);
  std::string text;
  for (std::size_t i = 0; i < values.size();) {
    std::size_t end = i;
    while (end + 1 < values.size() && values[end + 1] == values[end] + 1) ++end;
    if (!text.empty()) text += ',';
    text += end > i + 1 ? fmt::format("{}-{}", values[i], values[end]) : std::to_string(values[i]);
    i = end > i + 1 ? end + 1 : i + 1;
  }
  return text;
}

// As it may have been written.
std::string to_text(const cron::Expression& expression) {
  return fmt::format("{} {} {} {} {}",
                     field_text(expression.minutes, 0, 59),
                     field_text(expression.hours, 0, 23),
                     field_text(expression.days, 1, 31),
                     field_text(expression.months, 1, 12),
                     field_text(expression.weekdays, 0, 6));
}

std::string schedule_of(const cron::Cron& cron) {
  return match(
      cron.plan.definition->schedule,
      [](const cron::Interval& interval) {
        return fmt::format("every {}", format_duration(interval.every));
      },
      [](const cron::Expression& expression) { return to_text(expression); });
}

std::string run_text(const cron::Run& run) {
  return match(
      run,
      [](const PipelineId& id) { return to_text(id); },
      [](const EffectId& id) { return fmt::format("{}-{}", id.sequence, id.index); });
}

std::string log_of(const State& state, const CronName& name, const cron::Cron& cron) {
  const auto* project = state.projects.projects.find(name.project);
  const bool has_program =
      cron.plan.definition && !std::holds_alternative<cron::RunPipeline>(cron.plan.definition->run);
  return has_program && project ? codec::cron_log_folder(name.name, project->name) : std::string();
}

namespace {

std::string_view word_of(pipeline::Ending ending) {
  switch (ending) {
    case pipeline::Ending::Done:
      return "done";
    case pipeline::Ending::Failed:
      return "failed";
    case pipeline::Ending::Cancelled:
      return "cancelled";
  }
  return "";
}

void show_end(Tell& tell, const cron::LastEnd& end) {
  JsonWriter& json = tell.json;
  json.key("ended").begin_object();
  json.field("run", run_text(end.run)).field("ending", word_of(end.ending));
  if (end.exit_code) json.field("exit_code", *end.exit_code);
  tell.moment("at", end.at);
  json.end_object();
}

}  // namespace

void show_cron(Tell& tell, const State& state, const CronName& name, const cron::Cron& cron) {
  JsonWriter& json = tell.json;
  json.field("name", tell.name(name)).field("state", cron.enabled ? "enabled" : "disabled");
  if (cron.plan.definition) {
    json.field("schedule", schedule_of(cron));
    match(
        cron.plan.definition->run,
        [&](const cron::RunPipeline& run) { json.field("pipeline", run.pipeline); },
        [&](const cron::RunShell&) { json.field("program", true); },
        [&](const cron::RunMonitors& run) {
          json.key("monitors").begin_array();
          for (const std::string& monitor : run.monitors) json.text(monitor);
          json.end_array();
        });
  }
  if (cron.enabled) {
    const std::vector<Wall> next = cron::next_fires(cron, tell.now(), next_fires_shown);
    if (!next.empty()) tell.moment("next", next.front());
  }
  if (cron.last.now > cron.anchor.now) tell.moment("last", cron.last.wall);
  if (cron.ended) show_end(tell, *cron.ended);
  json.key("running").begin_array();
  std::size_t shown = 0;
  for (const cron::Run& run : cron.running) {
    if (++shown > limits::waiters_shown) break;
    json.plain(run_text(run));
  }
  json.end_array();
  if (cron.buffered > 0) json.field("buffered", cron.buffered);
  if (const std::string log = log_of(state, name, cron); !log.empty()) json.field("log", log);
}

}  // namespace reeve::api
