#include "core/cron.h"

#include "base/match.h"
#include "core/interpolate.h"
#include "core/names.h"
#include "core/strategy.h"
#include "core/turn.h"

#include <algorithm>
#include <chrono>

namespace reeve::cron {
namespace {

// Both clocks, within the years in which the calendar is good.
Stamp reading(const Turn& turn) {
  return {turn.now(), std::clamp(turn.wall(), calendar_begins, calendar_ends)};
}

const Cron* find(const Turn& turn, const CronName& name) {
  return turn.state().crons.crons.find(name);
}

Cron& edit(Turn& turn, const CronName& name) { return *turn.change().crons.crons.edit(name); }

// Its runbook is kept while it may run something of it; what runs has its own hold on it.
void pin(Turn& turn, const CronName& name) {
  const Cron& cron = *find(turn, name);
  std::optional<definition::SetKey> wanted;
  if (cron.enabled || cron.buffered > 0) wanted = cron.plan.set;
  if (cron.pinned == wanted) return;
  const std::optional<definition::SetKey> before = cron.pinned;
  edit(turn, name).pinned = wanted;
  if (wanted) definition::pin(turn, *wanted);
  if (before) definition::unpin(turn, *before);
}

// Whether what was buffered need wait no longer.
bool may_begin_buffered(const Cron& cron) {
  if (cron.buffered == 0) return false;
  return cron.running.empty() || cron.plan.definition->overlap == Overlap::Allow;
}

// The next of those that are to end and were not told so.
std::optional<Run> next_to_tell(const Cron& cron) {
  if (!cron.cancelling) return std::nullopt;
  if (!cron.told) return cron.running.first() ? std::optional(*cron.running.first()) : std::nullopt;
  auto next = cron.running.lower_bound(*cron.told);
  if (next != cron.running.end() && *next == *cron.told) ++next;
  return next != cron.running.end() ? std::optional(*next) : std::nullopt;
}

// What follows from a change: its runbook, and the timers for what it is waiting for.
void arm(Turn& turn, const CronName& name) {
  pin(turn, name);
  std::optional<Time> by_engine;
  std::optional<Wall> by_wall;
  const Cron& cron = *find(turn, name);
  if (cron.enabled) {
    if (const std::optional<Stamp> next = instant_after(cron, cron.last, reading(turn))) {
      match(
          cron.plan.definition->schedule,
          [&](const Interval&) { by_engine = next->now; },
          [&](const Expression&) { by_wall = next->wall; });
    }
  }
  if (may_begin_buffered(cron) || next_to_tell(cron)) by_engine = turn.now();
  turn.arm(Due{name}, by_engine);
  turn.arm_wall(Due{name}, by_wall);
}

// ── Running ──

// Whatever runs beside those that are told to end was not told so itself: the next instant that
// is to end the others tells it.
void add_running(Cron& cron, const Run& run) {
  cron.running.insert(run);
  cron.cancelling = false;
}

// What its texts know.
Variables variables_of(const Turn& turn, const CronName& name) {
  const auto* project = turn.state().projects.projects.find(name.project);
  if (!project) return {{"name", name.name}};
  return {{"name", name.name}, {"project", project->name}};
}

EffectId start_program(Turn& turn,
                       const CronName& name,
                       const std::string& text,
                       std::optional<Duration> timeout) {
  const Plan& plan = find(turn, name)->plan;
  Shell shell;
  shell.text = text;
  shell.environment = plan.environment;
  if (const auto* project = turn.state().projects.projects.find(name.project)) {
    shell.environment.emplace_back("REEVE_PROJECT", project->name);
  }
  if (const definition::Set* set = definition::find(turn.state().definitions, plan.set)) {
    shell.directory = set->root;
  }
  shell.variables = variables_of(turn, name);
  shell.timeout = timeout;
  shell.label = "cron " + name.name;
  const EffectId effect = turn.start(std::move(shell), Address{name});
  add_running(edit(turn, name), effect);
  return effect;
}

// A pipeline may have ended by the time that it has begun: then it is not running.
std::variant<Run, Refused> start_pipeline(Turn& turn,
                                          const CronName& name,
                                          const RunPipeline& run) {
  const Plan plan = find(turn, name)->plan;
  definition::Map inputs = run.inputs;
  for (auto& [input, value] : inputs) {
    auto filled = interpolate(value, variables_of(turn, name));
    if (std::string* text = std::get_if<std::string>(&filled)) value = std::move(*text);
  }
  edit(turn, name).starting = true;
  const auto begun = pipeline::begin(
      turn, {plan.set, run.pipeline, std::move(inputs), plan.environment, pipeline::ByCron{name}});
  Cron& cron = edit(turn, name);
  const bool is_running = std::exchange(cron.starting, false);
  return match(
      begun,
      [&](const PipelineId& id) -> std::variant<Run, Refused> {
        if (is_running) add_running(cron, id);
        return Run{id};
      },
      [](const Refused& refused) -> std::variant<Run, Refused> { return refused; });
}

reeve::Reply start(Turn& turn, const CronName& name, Wall instant) {
  const Boxed<Definition> definition = find(turn, name)->plan.definition;
  const std::variant<Run, Refused> started = match(
      definition->run,
      [&](const RunPipeline& run) { return start_pipeline(turn, name, run); },
      [&](const RunShell& run) -> std::variant<Run, Refused> {
        return Run{start_program(turn, name, run.text, run.timeout)};
      },
      [&](const RunMonitors& run) -> std::variant<Run, Refused> {
        return Run{start_program(turn, name, run.text, std::nullopt)};
      });
  return match(
      started,
      [&](const Run& run) -> reeve::Reply {
        turn.emit(name.project, HasFired{name, instant, run});
        const std::optional<LastEnd>& end = find(turn, name)->ended;
        if (end && end->run == run) {  // within its own beginning
          turn.emit(name.project, HasEnded{name, run, end->ending, end->exit_code});
        }
        return {Fired{run}};
      },
      [&](const Refused& refused) -> reeve::Reply {
        turn.emit(name.project, WasRefused{name, refused});
        return {refused};
      });
}

// As many as the step has room for; the rest is due at once.
void cancel_running(Turn& turn, const CronName& name) {
  while (turn.may_touch()) {
    const std::optional<Run> run = next_to_tell(*find(turn, name));
    if (!run) return;
    turn.touch();
    edit(turn, name).told = *run;
    turn.emit(name.project, CancelledOther{name, *run});
    match(
        *run,
        [&](const PipelineId& id) { pipeline::cancel(turn, id); },
        [&](const EffectId& id) { turn.start(Kill{id}, ToNobody{}); });
  }
}

// Nothing runs that is told to end.
void forget_cancelling(Cron& cron) {
  cron.cancelling = false;
  cron.told.reset();
}

enum class Verdict { Run, Skip, Buffer, CancelOther };

Verdict decide(const Cron& cron) {
  if (cron.running.empty() && cron.buffered == 0) return Verdict::Run;
  switch (cron.plan.definition->overlap) {
    case Overlap::Skip:
      return Verdict::Skip;
    case Overlap::BufferOne:
      return cron.buffered == 0 ? Verdict::Buffer : Verdict::Skip;
    case Overlap::BufferAll:
      return Verdict::Buffer;
    case Overlap::CancelOther:
      return cron.buffered == 0 || !cron.cancelling ? Verdict::CancelOther : Verdict::Skip;
    case Overlap::Allow:
      return Verdict::Run;
  }
  return Verdict::Skip;
}

reeve::Reply fire(Turn& turn, const CronName& name, Wall instant) {
  switch (decide(*find(turn, name))) {
    case Verdict::Run:
      return start(turn, name, instant);
    case Verdict::Skip:
      turn.emit(name.project, WasSkipped{name, instant});
      return {Skipped{}};
    case Verdict::Buffer: {
      const std::uint64_t waiting = ++edit(turn, name).buffered;
      turn.emit(name.project, WasBuffered{name, instant, waiting});
      return {Buffered{waiting}};
    }
    case Verdict::CancelOther:
      // It takes the place of one that waits. If all of them end at once, it need not wait itself.
      edit(turn, name).buffered = 0;
      if (!find(turn, name)->cancelling) edit(turn, name).told.reset();
      edit(turn, name).cancelling = true;
      cancel_running(turn, name);
      if (find(turn, name)->running.empty()) {
        forget_cancelling(edit(turn, name));
        return start(turn, name, instant);
      }
      edit(turn, name).buffered = 1;
      turn.emit(name.project, WasBuffered{name, instant, 1});
      return {Buffered{1}};
  }
  return {Skipped{}};
}

// Starts what was buffered, as far as the step has room; the rest is due at once.
void start_buffered(Turn& turn, const CronName& name) {
  while (turn.may_touch()) {
    const Cron& cron = *find(turn, name);
    if (!may_begin_buffered(cron) || cron.starting) break;
    turn.touch();
    --edit(turn, name).buffered;
    start(turn, name, reading(turn).wall);
  }
}

// Does what is due, at most 256 runs a step.
void settle(Turn& turn, const CronName& name) {
  const Stamp now = reading(turn);
  cancel_running(turn, name);
  start_buffered(turn, name);
  while (turn.may_touch() && find(turn, name)->enabled) {
    const std::optional<Finding> finding = look(*find(turn, name), now);
    if (!finding) break;
    turn.touch();
    edit(turn, name).last = finding->last;
    if (finding->missed) {
      turn.emit(name.project, WasMissed{name, finding->missed->first, finding->missed->second});
    }
    if (finding->fire) fire(turn, name, finding->fire->wall);
  }
  arm(turn, name);
}

void ended(Turn& turn, const CronName& name, const LastEnd& end) {
  Cron& cron = edit(turn, name);
  cron.running.erase(end.run);
  if (cron.running.empty()) forget_cancelling(cron);
  cron.ended = end;
  turn.emit(name.project, HasEnded{name, end.run, end.ending, end.exit_code});
  start_buffered(turn, name);
  arm(turn, name);
}

// ── Commands ──

std::optional<Refused> mistake_in(const Turn& turn, const CronName& name, const Plan& plan) {
  if (!is_good_name(name.name)) return Refused{Why::BadName, name.name};
  if (!plan.definition) return Refused{Why::BadValue, "definition"};
  if (!definition::find(turn.state().definitions, plan.set)) {
    return Refused{Why::NotFound, "runbook"};
  }
  if (!is_sound(plan.definition->schedule)) return Refused{Why::BadValue, "schedule"};
  if (!time_zone::is_sound(plan.definition->zone)) return Refused{Why::BadValue, "timezone"};
  if (plan.definition->window < Duration::zero()) return Refused{Why::BadValue, "window"};
  return std::nullopt;
}

// From now on it runs by this plan; so does what is buffered, as far as the plan buffers at all.
void adopt(Cron& cron, const Plan& plan) {
  cron.plan = plan;
  if (plan.definition->overlap != Overlap::BufferAll) {
    cron.buffered = std::min<std::uint64_t>(cron.buffered, 1);
  }
}

bool is_full(const Turn& turn, const CronName& name) {
  return !find(turn, name) && !may_name_another(turn.state().crons.crons, name.project);
}

reeve::Reply apply_one(Turn& turn, const Enable& command) {
  const CronName& name = command.name;
  if (const auto mistake = mistake_in(turn, name, command.plan)) return {*mistake};
  if (is_full(turn, name)) return refused(Why::OverLimit, "crons");

  const Stamp now = reading(turn);
  if (find(turn, name)) settle(turn, name);
  const Cron before = find(turn, name) ? *find(turn, name) : Cron{};
  const auto next_of = [&] {
    const std::optional<Stamp> next = instant_after(*find(turn, name), find(turn, name)->last, now);
    return next ? std::optional(next->wall) : std::nullopt;
  };
  if (before.enabled && before.plan == command.plan) return {Enabled{next_of()}};

  Cron& cron = turn.change().crons.crons.edit_or_insert(name);
  const bool goes_on =
      before.enabled && before.plan.definition->schedule == command.plan.definition->schedule;
  if (!goes_on) cron.anchor = now;
  // What passed while it was disabled, or by another schedule, is nothing to catch up with; nor is
  // what fired then, perhaps by a clock that was wrong, a reason to stay silent. What one step had
  // no room for is still to be caught up with, unless another zone says that it was another time.
  if (!goes_on || before.plan.definition->zone != command.plan.definition->zone) {
    const Wall done = goes_on ? std::max(cron.last.wall, now.wall) : now.wall;
    cron.last = {std::max(cron.last.now, now.now), done};
  }
  cron.enabled = true;
  adopt(cron, command.plan);
  const std::optional<Wall> next = next_of();
  turn.emit(name.project, WasEnabled{name, next});
  arm(turn, name);
  return {Enabled{next}};
}

reeve::Reply apply_one(Turn& turn, const Disable& command) {
  const Cron* before = find(turn, command.name);
  if (!before) return refused(Why::NotFound, command.name.name);
  const bool was_enabled = before->enabled;
  if (!was_enabled && before->buffered == 0) return {Ok{}};
  settle(turn, command.name);
  Cron& cron = edit(turn, command.name);
  cron.enabled = false;
  cron.buffered = 0;
  if (was_enabled) turn.emit(command.name.project, WasDisabled{command.name});
  arm(turn, command.name);
  return {Ok{}};
}

reeve::Reply apply_one(Turn& turn, const RunNow& command) {
  const CronName& name = command.name;
  const Cron* cron = find(turn, name);
  if (cron && cron->enabled) {
    settle(turn, name);
    reeve::Reply reply = fire(turn, name, reading(turn).wall);
    arm(turn, name);
    return reply;
  }
  if (!command.plan) return refused(Why::NotFound, name.name);
  if (const auto mistake = mistake_in(turn, name, *command.plan)) return {*mistake};
  if (is_full(turn, name)) return refused(Why::OverLimit, "crons");
  const std::optional<Cron> before = cron ? std::optional(*cron) : std::nullopt;
  adopt(turn.change().crons.crons.edit_or_insert(name), *command.plan);
  reeve::Reply reply = fire(turn, name, reading(turn).wall);
  if (std::holds_alternative<Refused>(reply.value)) {
    // What cannot begin leaves nothing behind, and what waits does so by its own plan.
    if (!before) {
      turn.change().crons.crons.erase(name);
      return reply;
    }
    edit(turn, name).plan = before->plan;
    edit(turn, name).buffered = before->buffered;
  }
  arm(turn, name);
  return reply;
}

}  // namespace

reeve::Reply apply(Turn& turn, const Command& command) {
  return match(
      command,
      [&](const Enable& enable) { return apply_one(turn, enable); },
      [&](const Disable& disable) { return apply_one(turn, disable); },
      [&](const RunNow& run) { return apply_one(turn, run); });
}

void due(Turn& turn, const Due& due) {
  if (find(turn, due.cron)) settle(turn, due.cron);
}

void finished(Turn& turn, EffectId effect, const Address& to, const Outcome& outcome) {
  const Cron* cron = find(turn, to.cron);
  if (!cron || !cron->running.contains(effect)) return;
  const bool success = strategy::has_succeeded(outcome);
  const bool was_told = cron->cancelling || (cron->told && Run{effect} <= *cron->told);
  const pipeline::Ending ending = success    ? pipeline::Ending::Done
                                  : was_told ? pipeline::Ending::Cancelled
                                             : pipeline::Ending::Failed;
  ended(turn, to.cron, {effect, turn.wall(), ending, outcome.exit_code});
}

void pipeline_ended(Turn& turn,
                    const CronName& name,
                    PipelineId pipeline,
                    pipeline::Ending ending) {
  const Cron* cron = find(turn, name);
  if (!cron) return;
  const LastEnd end{pipeline, turn.wall(), ending};
  if (cron->running.contains(pipeline)) return ended(turn, name, end);
  // It ends within its own beginning: whoever began it goes on from there.
  if (!cron->starting) return;
  Cron& beginning = edit(turn, name);
  beginning.starting = false;
  beginning.ended = end;
}

void pipeline_reopened(Turn& turn, const CronName& name, PipelineId pipeline) {
  if (!find(turn, name)) return;
  add_running(edit(turn, name), pipeline);
  arm(turn, name);
}

EventName name_of(const Event& event) {
  const auto named = [](const CronName& cron, const char* verb) {
    return EventName{"cron", cron.name, verb};
  };
  return match(
      event,
      [&](const WasEnabled& it) { return named(it.cron, "enabled"); },
      [&](const WasDisabled& it) { return named(it.cron, "disabled"); },
      [&](const HasFired& it) { return named(it.cron, "fired"); },
      [&](const WasSkipped& it) { return named(it.cron, "skipped"); },
      [&](const WasBuffered& it) { return named(it.cron, "buffered"); },
      [&](const WasMissed& it) { return named(it.cron, "missed"); },
      [&](const CancelledOther& it) { return named(it.cron, "cancelled_other"); },
      [&](const WasRefused& it) { return named(it.cron, "refused"); },
      [&](const HasEnded& it) { return named(it.cron, "ended"); });
}

}  // namespace reeve::cron
