#include "base/match.h"
#include "core/pipeline_course.h"

// A phase failed: what comes next is the table `after_failure`; here it is done. And a person's
// word about it.
namespace reeve::pipeline {
namespace {

const definition::Strategy* strategy_of(const Plan& plan) {
  const auto* run = std::get_if<definition::RunStrategy>(&plan.phase->action);
  return run ? plan.set->strategies.find(run->strategy) : nullptr;
}

void ask_about_phase(Turn& turn, PipelineId id, const Failure& failure) {
  const Pipeline& pipeline = *find(turn, id);
  decision::Question question;
  question.project = pipeline.project;
  question.owner = decision::PhaseOwner{id, pipeline.entry};
  question.cause = decision::Cause::PhaseFailed;
  question.question = "phase " + phase_of(pipeline) + " of " + to_text(id) + " (" +
                      pipeline.origin->name + ") failed: " + failure.error;
  question.context = failure.output;
  moved(turn, id, move::Block{Reason::Decision});
  decision::open(turn, std::move(question));
}

// About a guard that failed: it stays where it was, to be checked again or passed by.
void ask_about_guard(Turn& turn, PipelineId id, Guarding at, const Failure& failure) {
  const Pipeline& pipeline = *find(turn, id);
  const Plan plan = plan_of(turn, pipeline);
  if (at.which == Which::Again) at.which = Which::Pre;
  const auto& names = at.which == Which::Post ? plan.phase->post : plan.phase->pre;
  decision::Question question;
  question.project = pipeline.project;
  question.owner = decision::GuardOwner{id, pipeline.entry, names[at.index]};
  question.cause = decision::Cause::GuardFailed;
  question.question = failure.error + " (phase " + phase_of(pipeline) + " of " + to_text(id) +
                      ", " + pipeline.origin->name + ")";
  question.context = failure.output;
  edit(turn, id).course = std::move(at);
  moved(turn, id, move::Block{Reason::Decision});
  decision::open(turn, std::move(question));
}

void jump(Turn& turn, PipelineId id, const std::string& phase) {
  moved(turn, id, move::Jump{phase});
  enter(turn, id);
}

}  // namespace

void fail_phase(Turn& turn, PipelineId id, Failure failure) {
  const Course course = find(turn, id)->course;
  leave_phase(turn, id);
  const Pipeline& pipeline = *find(turn, id);
  const Plan plan = plan_of(turn, pipeline);
  const Failed failed{phase_of(pipeline), attempt_of(pipeline), failure.error, true};
  if (!pipeline.failure) {  // else it is known already, and somebody had his word about it
    turn.emit(pipeline.project, FailedPhase{id, failed.phase, failed.attempt, failure.error});
  }
  const Then then =
      plan.phase ? after_failure(pipeline, *plan.pipeline, *plan.phase, strategy_of(plan), failure)
                 : Then{GiveUp{}};
  edit(turn, id).failure = failure;
  edit(turn, id).left.set(failed.phase, false);
  match(
      then,
      [&](const TryAgain& again) {
        if (again.counted) ++edit(turn, id).retries;
        moved(turn, id, move::Block{Reason::Backoff});
        turn.arm(Due{id, Timer::Backoff}, saturating_add(turn.now(), again.delay));
      },
      [&](const AskFirst&) {
        const Guarding* at = std::get_if<Guarding>(&course);
        const Leaving* leaving = std::get_if<Leaving>(&course);
        if (leaving && leaving->guards) at = &*leaving->guards;
        if (failure.cause == Cause::Guard && at) return ask_about_guard(turn, id, *at, failure);
        ask_about_phase(turn, id, failure);
      },
      [&](const Recover& recover) { jump(turn, id, recover.phase); },
      [&](const CleanUp& clean) {
        Verdict verdict{Ending::Failed, failed};
        verdict.failed.recoverable = clean.recoverable;
        edit(turn, id).verdict = std::move(verdict);
        close_circuit(turn, id, clean.phase);
        jump(turn, id, clean.phase);
      },
      [&](const GiveUp& give_up) {
        Failed as = failed;
        as.recoverable = give_up.recoverable;
        conclude(turn, id, std::move(as));
      });
}

void conclude(Turn& turn, PipelineId id, Failed failed) {
  const Pipeline& pipeline = *find(turn, id);
  if (pipeline.verdict && pipeline.verdict->ending == Ending::Cancelled) {
    moved(turn, id, move::Cancel{});
  } else {
    if (pipeline.verdict) failed = pipeline.verdict->failed;
    moved(turn, id, move::PhaseFailed{phase_of(pipeline), attempt_of(pipeline), std::move(failed)});
  }
  settle_end(turn, id);
}

// ── A person's word ──

void retire_question(Turn& turn, PipelineId id) {
  const Pipeline& pipeline = *find(turn, id);
  if (!is_blocked_by(pipeline, Reason::Decision)) return;
  const std::uint64_t entry = pipeline.entry;
  if (const Guarding* at = std::get_if<Guarding>(&pipeline.course)) {
    decision::retire(turn, decision::PhaseOwner{id, entry});  // about its check, if there is one
    const Plan plan = plan_of(turn, pipeline);
    if (!plan.phase) return;
    const auto& names = at->which == Which::Post ? plan.phase->post : plan.phase->pre;
    if (at->index < names.size()) {
      decision::retire(turn, decision::GuardOwner{id, entry, names[at->index]});
    }
    return;
  }
  decision::retire(turn, decision::PhaseOwner{id, entry});
}

void mind_questions(Turn& turn, PipelineId id) {
  const Pipeline& pipeline = *find(turn, id);
  const Leaving* leaving = std::get_if<Leaving>(&pipeline.course);
  if (!leaving && !std::holds_alternative<Acting>(pipeline.course)) return;
  // A question that outlives its step blocks neither the guards behind it nor who leaves them.
  const bool at_guards = leaving && leaving->guards;
  if ((pipeline.questions > 0 && !at_guards) || (leaving && leaving->asked)) {
    moved(turn, id, move::Block{Reason::Decision});
  } else if (is_blocked_by(pipeline, Reason::Decision)) {
    moved(turn, id, move::Unblock{});
  }
}

void question_opened(Turn& turn, PipelineId id, std::uint64_t entry) {
  const Pipeline* pipeline = find(turn, id);
  if (!pipeline || pipeline->entry != entry) return;
  ++edit(turn, id).questions;
  mind_questions(turn, id);
}

void question_closed(Turn& turn, PipelineId id, std::uint64_t entry) {
  const Pipeline* pipeline = find(turn, id);
  if (!pipeline || pipeline->entry != entry || pipeline->questions == 0) return;
  --edit(turn, id).questions;
  mind_questions(turn, id);
}

// A text that is no value (too large) is not handed on, and stays with the decision.
void answered(Turn& turn, PipelineId id, std::uint64_t entry, const std::string& text) {
  const Pipeline* pipeline = find(turn, id);
  if (!pipeline || pipeline->entry != entry || is_over(*pipeline) || text.empty()) return;
  (void)publish(turn, id, phase_of(*pipeline), {{"answer", text}});
}

void decided(Turn& turn, const decision::PhaseOwner& owner, const decision::Answer& answer) {
  using decision::Choice;
  const PipelineId id = owner.pipeline;
  const Pipeline* pipeline = find(turn, id);
  if (!pipeline || pipeline->entry != owner.entry) return;
  if (!is_blocked_by(*pipeline, Reason::Decision)) return;
  if (std::holds_alternative<Leaving>(pipeline->course) ||
      std::holds_alternative<Guarding>(pipeline->course)) {
    return answer_unobserved(turn, id, answer.choice);
  }
  answered(turn, id, owner.entry, answer.text);
  // By the time of these the question is closed: it must not be found open and retired.
  switch (answer.choice) {
    case Choice::Retry:
      moved(turn, id, move::Retry{});
      doubt_workspace(turn, id);
      return enter(turn, id);
    case Choice::Skip:
      moved(turn, id, move::Unblock{});
      return complete_phase(turn, id);
    case Choice::Fail: {
      Failure failure = find(turn, id)->failure.value_or(Failure{});
      failure.cause = Cause::Told;
      moved(turn, id, move::Unblock{});
      return fail_phase(turn, id, std::move(failure));
    }
    case Choice::Cancel:
      return cancel(turn, id);
    case Choice::CheckAgain:
    case Choice::Pass:
    case Choice::Nudge:
    case Choice::Restart:
    case Choice::Done:
    case Choice::Allow:
    case Choice::Deny:
    case Choice::Dead:
    case Choice::Drop:
    case Choice::LookAgain:
    case Choice::ReleaseAnyway:
    case Choice::Option:
    case Choice::Text:
      return;  // not among the choices of this question
  }
}

}  // namespace reeve::pipeline
