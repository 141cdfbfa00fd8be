#include "base/match.h"
#include "core/event_bus.h"
#include "core/guard_ending.h"
#include "core/pipeline_course.h"

// The guards of a phase, one after the other: before its action, perhaps once more when the
// locks are held, and after it.
namespace reeve::pipeline {
namespace {

const Guarding* guarding(const Pipeline& pipeline) {
  return std::get_if<Guarding>(&pipeline.course);
}

const std::string* guard_name(const Plan& plan, const Guarding& at) {
  if (!plan.phase) return nullptr;
  const auto& names = at.which == Which::Post ? plan.phase->post : plan.phase->pre;
  return at.index < names.size() ? &names[at.index] : nullptr;
}

// The guard at hand, or null: its definition and, if it was started, the guard itself.
struct AtHand {
  std::string name;
  const definition::Guard* definition = nullptr;
  const guard::Guard* guard = nullptr;
};

AtHand at_hand(const Turn& turn, const Pipeline& pipeline) {
  const Guarding* at = guarding(pipeline);
  if (!at) return {};
  const Plan plan = plan_of(turn, pipeline);
  const std::string* name = guard_name(plan, *at);
  if (!name) return {};
  return {*name,
          plan.set->guards.find(*name),
          at->index < at->guards.size() ? &at->guards[at->index] : nullptr};
}

void subscribe(Turn& turn,
               const Pipeline& pipeline,
               const std::string& name,
               const definition::Guard& guard,
               Filler& fill) {
  for (const std::string& text : guard.wake_on) {
    const std::string pattern = fill(text);
    if (fill.unknown() || !is_pattern(pattern)) continue;
    event_bus::subscribe(turn.change().subscriptions,
                         {event_bus::Guard{pipeline.id, pipeline.entry, name},
                          pipeline.project,
                          parse_pattern(pattern)});
  }
}

void check(Turn& turn, PipelineId id, const AtHand& at) {
  const Pipeline& pipeline = *find(turn, id);
  Filler fill(turn, pipeline);
  Shell shell = shell_of(
      turn, pipeline, plan_of(turn, pipeline), fill, at.definition->condition, "guard " + at.name);
  if (fill.unknown()) return fail_phase(turn, id, unknown_name(fill));
  shell.timeout = guard::check_limit;
  shell.strict = false;
  const EffectId effect = turn.start(std::move(shell), Address{id, pipeline.entry});
  std::get<Guarding>(edit(turn, id).course).check = effect;
}

void ask(Turn& turn, PipelineId id, const AtHand& at, const std::string& why) {
  const Pipeline& pipeline = *find(turn, id);
  decision::Question question;
  question.project = pipeline.project;
  question.owner = decision::GuardOwner{id, pipeline.entry, at.name};
  question.cause = decision::Cause::GuardFailed;
  question.question = "guard " + at.name + " of phase " + phase_of(pipeline) + " of " +
                      to_text(id) + " (" + pipeline.origin->name + "): " + why;
  if (at.guard) question.context = at.guard->last_output;
  moved(turn, id, move::Block{Reason::Decision});
  decision::open(turn, std::move(question));
}

// It waits. One that no longer passes gives the locks back and waits like any other.
void wait(Turn& turn, PipelineId id) {
  if (guarding(*find(turn, id))->which == Which::Again) {
    std::get<Guarding>(edit(turn, id).course).which = Which::Pre;
    give_back(turn, id);
  }
  if (!is_blocked_by(*find(turn, id), Reason::Decision)) {
    moved(turn, id, move::Block{Reason::Guard});
  }
}

// Also when a wake has it checked once more at once: others need not wait for that.
bool has_stopped_passing(const Guarding& at, const guard::Guard& guard) {
  const bool was_no = guard.last == guard::Verdict::NotYet || guard.last == guard::Verdict::Broken;
  return at.which == Which::Again && was_no;
}

void passed(Turn& turn, PipelineId id) {
  if (const std::optional<EffectId> check = guarding(*find(turn, id))->check) {
    // By a person's word, in the middle of a check: one thing at a time.
    return kill(turn, id, *check);
  }
  unwatch(turn, id);
  retire_question(turn, id);
  moved(turn, id, move::Unblock{});
  ++std::get<Guarding>(edit(turn, id).course).index;
  watch(turn, id);
}

// Keeps the guard as it is now, and does what it says comes next.
void go_on(Turn& turn,
           PipelineId id,
           const std::string& name,
           const definition::Guard& definition,
           guard::Step step) {
  const Pipeline& pipeline = *find(turn, id);
  const std::string phase = phase_of(pipeline);
  const ProjectNo project = pipeline.project;
  const Guarding& before = *guarding(pipeline);
  const bool same = before.index < before.guards.size() &&
                    before.guards[before.index] == step.guard && step.facts.empty() &&
                    std::holds_alternative<guard::Nothing>(step.next);
  if (same) return turn.arm(Due{id, Timer::Guard}, guard::due_at(step.guard, definition));

  Guarding& at = std::get<Guarding>(edit(turn, id).course);
  if (at.index >= at.guards.size()) at.guards.resize(at.index + 1);
  at.guards[at.index] = step.guard;
  turn.arm(Due{id, Timer::Guard}, guard::due_at(step.guard, definition));
  for (guard::Fact& fact : step.facts) {
    turn.emit(project, guard::Event{id, phase, name, std::move(fact)});
  }
  const AtHand now{name, &definition, &step.guard};
  match(
      step.next,
      [&](const guard::Nothing&) {
        if (std::holds_alternative<guard::Waiting>(step.guard.state)) wait(turn, id);
      },
      [&](const guard::Check&) {
        if (has_stopped_passing(*guarding(*find(turn, id)), step.guard)) wait(turn, id);
        check(turn, id, now);
      },
      [&](const guard::Ask&) {
        // What it holds, and that it waits, are seen to when the end of its check was observed.
        if (const auto check = guarding(*find(turn, id))->check) return kill(turn, id, *check);
        wait(turn, id);
        const bool cut_short = step.guard.checks > 0 && !step.guard.last;
        ask(turn,
            id,
            now,
            guard::text_of(guard::Reason::TimedOut) +
                (cut_short ? " in the middle of a check" : ""));
      },
      [&](const guard::Passed&) { passed(turn, id); },
      [&](const guard::Failed& failed) {
        const bool told = failed.reason == guard::Reason::Answered;
        // By answer, or by time, it may fail in the middle of a check.
        wind_down(turn,
                  id,
                  FailWith{{"guard " + name + " " + guard::text_of(failed.reason),
                            told ? Cause::Told : Cause::Guard,
                            step.guard.last_output}});
      });
}

}  // namespace

void watch(Turn& turn, PipelineId id) {
  const Pipeline& pipeline = *find(turn, id);
  const Guarding& at = *guarding(pipeline);
  const Plan plan = plan_of(turn, pipeline);
  const std::string* name = guard_name(plan, at);
  if (!name) {
    switch (at.which) {
      case Which::Pre:
        return acquire(turn, id);
      case Which::Again:
        return begin_work(turn, id);
      case Which::Post:
        return complete_phase(turn, id);
    }
  }
  const definition::Guard* definition = plan.set->guards.find(*name);
  if (!definition) return fail_phase(turn, id, {"there is no guard " + *name});

  // Subscribed before the first check: what happens in between is not missed.
  Filler fill(turn, pipeline);
  subscribe(turn, pipeline, *name, *definition, fill);
  if (fill.unknown()) return fail_phase(turn, id, unknown_name(fill));
  go_on(turn,
        id,
        *name,
        *definition,
        at.index < at.guards.size() ? guard::again(at.guards[at.index], *definition, turn.now())
                                    : guard::start(turn.now()));
}

void unwatch(Turn& turn, PipelineId id) {
  const Pipeline& pipeline = *find(turn, id);
  const AtHand at = at_hand(turn, pipeline);
  if (at.name.empty()) return;
  turn.arm(Due{id, Timer::Guard}, std::nullopt);
  if (!at.definition || at.definition->wake_on.empty()) return;
  event_bus::unsubscribe_all(turn.change().subscriptions,
                             event_bus::Guard{id, pipeline.entry, at.name});
}

// By a person's word, or because the time is up.
bool is_check_being_ended(const Turn& turn, const Pipeline& pipeline) {
  const Guarding* course = guarding(pipeline);
  if (!course || !course->check) return false;
  const AtHand at = at_hand(turn, pipeline);
  if (!at.definition || !at.guard) return false;
  return std::holds_alternative<guard::Passed>(at.guard->state) ||
         guard::is_ending(*at.guard, *at.definition);
}

void guard_checked(Turn& turn, PipelineId id, const Outcome& outcome) {
  Guarding& checked = std::get<Guarding>(edit(turn, id).course);
  const bool was_asked = checked.asked;
  checked.check.reset();
  checked.asked = false;
  if (was_asked) {  // it has been seen dead after all
    retire_question(turn, id);
    moved(turn, id, move::Unblock{});
  }
  const AtHand at = at_hand(turn, *find(turn, id));
  if (!at.definition || !at.guard) return;
  if (std::holds_alternative<guard::Passed>(at.guard->state)) return passed(turn, id);
  go_on(turn,
        id,
        at.name,
        *at.definition,
        guard::checked(*at.guard, *at.definition, outcome, turn.now()));
}

void guard_due(Turn& turn, PipelineId id) {
  const AtHand at = at_hand(turn, *find(turn, id));
  if (!at.definition || !at.guard) return;
  go_on(turn, id, at.name, *at.definition, guard::due(*at.guard, *at.definition, turn.now()));
}

void poke_guard(Turn& turn, PipelineId id) {
  const AtHand at = at_hand(turn, *find(turn, id));
  if (!at.definition || !at.guard) return;
  go_on(turn, id, at.name, *at.definition, guard::wake(*at.guard, *at.definition, turn.now()));
}

void wake_guard(Turn& turn, PipelineId id, std::uint64_t entry, const std::string& guard) {
  const Pipeline* pipeline = find(turn, id);
  if (!pipeline || pipeline->entry != entry) return;
  if (at_hand(turn, *pipeline).name == guard) poke_guard(turn, id);
}

void decided(Turn& turn, const decision::GuardOwner& owner, const decision::Answer& answer) {
  const Pipeline* pipeline = find(turn, owner.pipeline);
  if (!pipeline || pipeline->entry != owner.entry) return;
  const AtHand at = at_hand(turn, *pipeline);
  if (!at.definition || !at.guard || at.name != owner.guard) return;
  if (!is_blocked_by(*pipeline, Reason::Decision)) return;

  std::optional<guard::Answer> word;
  if (answer.choice == decision::Choice::CheckAgain) word = guard::Answer::CheckAgain;
  if (answer.choice == decision::Choice::Pass) word = guard::Answer::Pass;
  if (answer.choice == decision::Choice::Fail) word = guard::Answer::Fail;
  if (answer.choice == decision::Choice::Cancel) return cancel(turn, owner.pipeline);
  if (!word) return;
  answered(turn, owner.pipeline, owner.entry, answer.text);
  const std::string name = at.name;
  guard::Step step = guard::answered(*at.guard, *word, turn.now());
  // The answer is in: the question is not open any more, and nothing is to be retired.
  moved(turn, owner.pipeline, move::Unblock{});
  if (word != guard::Answer::Fail) edit(turn, owner.pipeline).failure.reset();
  if (word == guard::Answer::CheckAgain) {
    Filler fill(turn, *find(turn, owner.pipeline));
    subscribe(turn, *find(turn, owner.pipeline), name, *at.definition, fill);
  }
  go_on(turn, owner.pipeline, name, *at.definition, std::move(step));
}

}  // namespace reeve::pipeline
