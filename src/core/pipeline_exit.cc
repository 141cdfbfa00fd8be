#include "base/match.h"
#include "core/pipeline_course.h"
#include "core/task.h"

// A phase is cut short: what runs is ended, its end observed, and then the exit taken for which
// that was done. Nothing is released, and nothing else begun, before.
namespace reeve::pipeline {
namespace {

using Still = decltype(Leaving::still);

// What of it runs outside, or nothing.
std::optional<Still> running(const Pipeline& pipeline) {
  return match(
      pipeline.course,
      [](const Idle&) -> std::optional<Still> { return std::nullopt; },
      [](const Entering&) -> std::optional<Still> { return std::nullopt; },
      [](const Preparing& at) -> std::optional<Still> { return at.effect; },
      [](const Guarding& at) -> std::optional<Still> {
        if (at.check) return *at.check;
        return std::nullopt;
      },
      [](const Acquiring&) -> std::optional<Still> { return std::nullopt; },
      [](const Acting& at) -> std::optional<Still> {
        return match(
            at.what,
            [](const ShellRun& run) -> Still { return run.effect; },
            [](const AgentRun& run) -> Still { return run.work; },
            [](const StrategyRun& run) -> Still {
              return match(
                  run.running,
                  [](const EffectId& effect) -> Still { return effect; },
                  [](const WorkId& work) -> Still { return work; });
            },
            [](const Children& children) -> Still { return children; });
      },
      [](const Leaving& at) -> std::optional<Still> { return at.still; },
      [](const Clearing&) -> std::optional<Still> { return std::nullopt; });
}

// Somebody was asked about what cannot be seen dead.
bool was_asked(const Pipeline& pipeline) {
  if (const Leaving* at = std::get_if<Leaving>(&pipeline.course)) return at->asked;
  const Guarding* at = std::get_if<Guarding>(&pipeline.course);
  return at && at->asked;
}

// A rollback that is cut short has failed, by whatever: nobody knows what the place looks like.
void mind_rollback(const Turn& turn, const Pipeline& pipeline, Exit& exit) {
  FailWith* fail = std::get_if<FailWith>(&exit);
  const Acting* acting = std::get_if<Acting>(&pipeline.course);
  const StrategyRun* run = acting ? std::get_if<StrategyRun>(&acting->what) : nullptr;
  const auto* back = run ? std::get_if<strategy::RollingBack>(&run->machine.state) : nullptr;
  if (!fail || !back) return;
  const Plan plan = plan_of(turn, pipeline);
  const definition::Strategy* strategy = plan.set ? plan.set->strategies.find(run->name) : nullptr;
  if (!strategy || back->approach >= strategy->approaches.size()) return;
  fail->failure.cause = Cause::Fatal;
  fail->failure.error = "the rollback of " + strategy->approaches[back->approach].name +
                        " failed: " + fail->failure.error + ", after: " + back->error;
}

// Of two reasons to leave the first counts; but a failure over success, and cancelling over all.
bool is_stronger(const Exit& later, const Exit& first) {
  if (std::holds_alternative<BeCancelled>(first)) return false;
  if (std::holds_alternative<BeCancelled>(later)) return true;
  return std::holds_alternative<GoOn>(first) && std::holds_alternative<FailWith>(later);
}

}  // namespace

void close_circuit(Turn& turn, PipelineId id, const std::string& phase) {
  if (find(turn, id)->visits.contains(phase)) edit(turn, id).visits.erase(phase);
}

void kill(Turn& turn, PipelineId id, EffectId target) {
  turn.start(Kill{target}, Address{id, find(turn, id)->entry, true});
}

void wind_down(Turn& turn, PipelineId id, Exit exit) {
  const Pipeline& pipeline = *find(turn, id);
  if (const Leaving* leaving = std::get_if<Leaving>(&pipeline.course)) {
    if (is_stronger(exit, leaving->exit)) {
      std::get<Leaving>(edit(turn, id).course).exit = std::move(exit);
    }
    return;
  }
  const std::optional<Still> still = running(pipeline);
  if (!still) {
    // As if observed: the exit looks at the course that was left.
    return take(turn, id, std::move(exit));
  }
  mind_rollback(turn, pipeline, exit);
  // A worktree that is being made is waited for: it takes a minute at most, and half a one
  // would be in the way of the next.
  const bool wait_only = std::holds_alternative<Preparing>(pipeline.course);
  std::optional<Guarding> guards;
  if (const Guarding* at = std::get_if<Guarding>(&pipeline.course)) {
    guards = *at;
    guards->check.reset();
    guards->asked = false;
  }
  unwatch(turn, id);
  retire_question(turn, id);
  turn.arm(Due{id, Timer::Timeout}, std::nullopt);
  edit(turn, id).course = Leaving{std::move(exit), *still, false, std::move(guards)};
  mind_questions(turn, id);
  match(
      *still,
      [&](const EffectId& effect) {
        if (!wait_only) kill(turn, id, effect);
      },
      [&](const WorkId& work) { task::cancel(turn, work); },
      [&](const Children&) { cancel_children(turn, id); });
}

// What it said to the last is what somebody may be asked with.
void take_exit(Turn& turn, PipelineId id, const Outcome& outcome) {
  Leaving& leaving = std::get<Leaving>(edit(turn, id).course);
  FailWith* fail = std::get_if<FailWith>(&leaving.exit);
  if (fail && !outcome.output.empty()) {
    fail->failure.output = outcome.output;
    if (leaving.guards && leaving.guards->index < leaving.guards->guards.size()) {
      leaving.guards->guards[leaving.guards->index].last_output = fail->failure.output;
    }
  }
  take_exit(turn, id);
}

void take_exit(Turn& turn, PipelineId id) {
  Exit exit = std::get<Leaving>(find(turn, id)->course).exit;
  retire_question(turn, id);
  take(turn, id, std::move(exit));
}

void take(Turn& turn, PipelineId id, Exit exit) {
  match(
      std::move(exit),
      [&](GoOn&&) {
        moved(turn, id, move::Unblock{});
        acted(turn, id);
      },
      [&](FailWith&& fail) { fail_phase(turn, id, std::move(fail.failure)); },
      [&](BeCancelled&&) { be_cancelled(turn, id); },
      [&](BePaused&&) {
        leave_phase(turn, id);
        moved(turn, id, move::Block{Reason::Paused});
        if (find(turn, id)->paused) return;
        moved(turn, id, move::Unblock{});  // somebody thought better of it meanwhile
        enter(turn, id);
      },
      [&](JumpTo&& jump) {
        leave_phase(turn, id);
        stop_waiting(turn, id);
        edit(turn, id).verdict.reset();
        close_circuit(turn, id, jump.phase);
        moved(turn, id, move::Jump{std::move(jump.phase)});
        enter(turn, id);
      });
}

// on_cancel runs once, and only if there is anything to clean up after.
void be_cancelled(Turn& turn, PipelineId id) {
  leave_phase(turn, id);
  stop_waiting(turn, id);
  const Pipeline& pipeline = *find(turn, id);
  const Plan plan = plan_of(turn, pipeline);
  const bool cleaning = pipeline.verdict && pipeline.verdict->ending == Ending::Cancelled;
  const bool begun = pipeline.entry > 0;
  const std::string on_cancel = plan.pipeline ? plan.pipeline->on_cancel : "";
  if (!cleaning && begun && !on_cancel.empty() && phase_named(*plan.pipeline, on_cancel)) {
    edit(turn, id).verdict = Verdict{Ending::Cancelled, {}};
    close_circuit(turn, id, on_cancel);
    moved(turn, id, move::Jump{on_cancel});
    return enter(turn, id);
  }
  moved(turn, id, move::Cancel{});
  settle_end(turn, id);
}

void cancel(Turn& turn, PipelineId id) {
  const Pipeline* pipeline = find(turn, id);
  if (!pipeline || is_over(*pipeline)) return;
  if (pipeline->paused) edit(turn, id).paused = false;
  wind_down(turn, id, BeCancelled{});
}

// ── What cannot be seen dead ──

namespace {

// Nobody knows what became of the kill: it is done again, if there is still something to kill.
void kill_again(Turn& turn, PipelineId id) {
  const Pipeline& pipeline = *find(turn, id);
  const Leaving* leaving = std::get_if<Leaving>(&pipeline.course);
  const std::optional<Still> still = running(pipeline);
  const EffectId* target = still ? std::get_if<EffectId>(&*still) : nullptr;
  const bool is_wanted =
      leaving ? !leaving->asked : is_check_being_ended(turn, pipeline) && !was_asked(pipeline);
  if (target && is_wanted) kill(turn, id, *target);
}

}  // namespace

void kill_ended(Turn& turn, PipelineId id, const Outcome& outcome) {
  const Pipeline& pipeline = *find(turn, id);
  const Leaving* leaving = std::get_if<Leaving>(&pipeline.course);
  // Seen dead: the outcome of what was killed says so too, and is what counts.
  if (outcome.ended == Ended::Unknown) return kill_again(turn, id);
  if (outcome.ended == Ended::Done || was_asked(pipeline)) return;
  const bool is_step = leaving && std::holds_alternative<EffectId>(leaving->still);
  if (!is_step && !is_check_being_ended(turn, pipeline)) return;
  decision::Question question;
  question.project = pipeline.project;
  question.owner = decision::PhaseOwner{id, pipeline.entry};
  question.cause = decision::Cause::ProcessUnobserved;
  question.question = "a process of phase " + phase_of(pipeline) + " of " + to_text(id) +
                      " cannot be seen to have ended";
  question.context = outcome.error;
  if (leaving) {
    std::get<Leaving>(edit(turn, id).course).asked = true;
    mind_questions(turn, id);
  } else {
    std::get<Guarding>(edit(turn, id).course).asked = true;
    moved(turn, id, move::Block{Reason::Decision});
  }
  decision::open(turn, std::move(question));
}

namespace {

void answer_about_check(Turn& turn, PipelineId id, decision::Choice choice) {
  const Guarding at = std::get<Guarding>(find(turn, id)->course);
  if (!at.asked || !at.check) return;
  std::get<Guarding>(edit(turn, id).course).asked = false;
  moved(turn, id, move::Unblock{});
  if (choice == decision::Choice::LookAgain) return kill(turn, id, *at.check);
  turn.change().outbox.erase(*at.check);
  Outcome given_up;
  given_up.ended = Ended::Failed;
  given_up.error = "could not be seen to have ended";
  guard_checked(turn, id, given_up);
}

}  // namespace

void answer_unobserved(Turn& turn, PipelineId id, decision::Choice choice) {
  if (std::holds_alternative<Guarding>(find(turn, id)->course)) {
    return answer_about_check(turn, id, choice);
  }
  const Leaving leaving = std::get<Leaving>(find(turn, id)->course);
  if (choice == decision::Choice::LookAgain) {
    std::get<Leaving>(edit(turn, id).course).asked = false;
    mind_questions(turn, id);
    kill(turn, id, std::get<EffectId>(leaving.still));
  }
  if (choice == decision::Choice::ReleaseAnyway) {
    moved(turn, id, move::Unblock{});
    // Nobody waits for it any more: the next effect must not stand in line behind it for ever.
    turn.change().outbox.erase(std::get<EffectId>(leaving.still));
    take(turn, id, leaving.exit);
  }
}

}  // namespace reeve::pipeline
