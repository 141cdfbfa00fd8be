#include "core/guard.h"

#include "base/match.h"
#include "base/text_part.h"
#include "core/event_name.h"
#include "core/guard_ending.h"
#include "core/limits.h"
#include "core/strategy.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace reeve::guard {
namespace {

Duration interval_of(const definition::Guard& definition) {
  return definition.retry ? definition.retry->interval : default_interval;
}

std::optional<Time> deadline_of(const Guard& guard, const definition::Guard& definition) {
  if (!definition.timeout || guard.timed_out) return std::nullopt;
  return saturating_add(guard.started_at, *definition.timeout);
}

bool is_deadline_reached(const Guard& guard, const definition::Guard& definition, Time now) {
  const std::optional<Time> deadline = deadline_of(guard, definition);
  return !is_over(guard) && deadline && now >= *deadline;
}

// ── The ways on. Each adds to the step what it has to say. ──

void pass(Step& step) {
  step.guard.state = Passed{};
  step.guard.asked = false;
  step.facts.push_back(HasPassed{step.guard.checks});
  step.next = Passed{};
}

void fail(Step& step, Reason reason) {
  step.guard.state = Failed{reason};
  step.guard.asked = false;
  step.facts.push_back(HasFailed{reason});
  step.next = Failed{reason};
}

void check(Step& step, Checking checking) {
  step.guard.state = checking;
  step.next = Check{};
}

void ask(Step& step) {
  step.guard.asked = true;
  step.next = Ask{};
}

// The total wait is over, if it is. Announced once, whatever comes of it.
void settle_deadline(Step& step, const definition::Guard& definition, Time now) {
  if (!is_deadline_reached(step.guard, definition, now)) return;
  step.guard.timed_out = true;
  step.facts.push_back(HasTimedOut{definition.on_timeout});
  switch (definition.on_timeout) {
    case definition::OnTimeout::Block:
      return;
    case definition::OnTimeout::Fail:
      return fail(step, Reason::TimedOut);
    case definition::OnTimeout::Escalate:
      if (std::holds_alternative<Checking>(step.guard.state)) {
        step.next = Ask{};  // when it has been ended: see guard_ending.h
        return;
      }
      return ask(step);
  }
}

// Whether a counted check that did not pass was one too many.
std::optional<Reason> has_failed(const Guard& guard, const definition::Guard& definition) {
  if (guard.asked) return std::nullopt;
  if (definition.retry) {
    if (guard.polls >= definition.retry->max) return Reason::UsedUp;
    return std::nullopt;
  }
  if (guard.broken_in_a_row >= broken_limit) return Reason::Broken;
  return std::nullopt;
}

// The same, of the check by a wake that came during the last one: the polls stay used up, but
// one that could be made has shown that the guard is not broken.
std::optional<Reason> last_chance(const Guard& guard, const definition::Guard& definition) {
  if (guard.asked) return std::nullopt;
  if (definition.retry) return Reason::UsedUp;
  if (guard.broken_in_a_row >= broken_limit) return Reason::Broken;
  return std::nullopt;
}

void keep_words(Guard& guard, const Outcome& outcome) {
  const std::string& said = outcome.output.empty() ? outcome.error : outcome.output;
  guard.last_output = last_bytes(said, limits::text_bytes);
}

void remember(Step& step, Verdict verdict, bool counted, const Outcome& outcome) {
  Guard& guard = step.guard;
  const bool was_broken = guard.last == Verdict::Broken;
  ++guard.checks;
  guard.last = verdict;
  keep_words(guard, outcome);
  if (verdict != Verdict::Broken) {
    guard.broken_in_a_row = 0;
    return;
  }
  if (counted && guard.broken_in_a_row < broken_limit) ++guard.broken_in_a_row;
  if (!was_broken) step.facts.push_back(IsBroken{strategy::error_of(outcome)});
}

// It has not passed, and this was the check.
void go_on(Step& step, const definition::Guard& definition, const Checking& was, Time now) {
  Guard& guard = step.guard;
  std::optional<Reason> failed;
  std::optional<Time> next_check = was.next_check;
  if (was.counted) {
    failed = has_failed(guard, definition);
    if (!failed) next_check = saturating_add(now, interval_of(definition));
  } else if (!next_check) {
    failed = last_chance(guard, definition);
    if (!failed) next_check = saturating_add(now, interval_of(definition));
  }
  if (was.again) return check(step, {.counted = false, .again = false, .next_check = next_check});
  if (failed) return fail(step, *failed);
  guard.state = Waiting{*next_check};
  if (!guard.announced) step.facts.push_back(IsWaiting{});
  guard.announced = true;
}

// The check that was under way when the time was up has ended. It was cut short: how it ended says
// nothing about the guard, and if it had said nothing yet, what the one before said is still the
// last. A wake that came meanwhile is not lost.
void ask_at_last(Step& step,
                 const definition::Guard& definition,
                 const Checking& was,
                 const Outcome& outcome,
                 Time now) {
  ++step.guard.checks;
  step.guard.last.reset();
  if (!outcome.output.empty() || step.guard.last_output.empty()) keep_words(step.guard, outcome);
  step.guard.state = Waiting{was.again ? now : saturating_add(now, interval_of(definition))};
  ask(step);
}

void begin_anew(Guard& guard, Time now) {
  guard.started_at = now;
  guard.polls = 0;
  guard.broken_in_a_row = 0;
  guard.timed_out = false;
  guard.asked = false;
}

Step unchanged(Guard guard) { return {std::move(guard), Nothing{}}; }

}  // namespace

Verdict classify(const Outcome& outcome) {
  if (outcome.ended == Ended::Unknown) return Verdict::Unknown;
  if (strategy::has_succeeded(outcome)) return Verdict::Passed;
  if (outcome.timed_out || outcome.signal || !outcome.exit_code) return Verdict::Broken;
  const int code = *outcome.exit_code;
  if (code == 126 || code == 127 || code >= 129 || code <= 0) return Verdict::Broken;
  return Verdict::NotYet;
}

bool is_over(const Guard& guard) {
  return match(
      guard.state,
      [](const Waiting&) { return false; },
      [](const Checking&) { return false; },
      [](const Passed&) { return true; },
      [](const Failed&) { return true; });
}

bool is_ending(const Guard& guard, const definition::Guard& definition) {
  return guard.timed_out && !guard.asked &&
         definition.on_timeout == definition::OnTimeout::Escalate &&
         std::holds_alternative<Checking>(guard.state);
}

std::optional<Time> due_at(const Guard& guard, const definition::Guard& definition) {
  if (is_over(guard)) return std::nullopt;
  std::optional<Time> due = deadline_of(guard, definition);
  if (const Waiting* waiting = std::get_if<Waiting>(&guard.state)) {
    due = due ? std::min(*due, waiting->next_check) : waiting->next_check;
  }
  return due;
}

EventName name_of(const Event& event) {
  const std::string verb = match(
      event.what,
      [](const IsWaiting&) { return "waiting"; },
      [](const HasPassed&) { return "passed"; },
      [](const HasFailed&) { return "failed"; },
      [](const HasTimedOut&) { return "timeout"; },
      [](const IsBroken&) { return "broken"; });
  return {"guard", event.guard, verb, event.phase};
}

Step start(Time now) {
  Guard guard;
  guard.state = Checking{};
  guard.started_at = now;
  return {std::move(guard), Check{}};
}

Step checked(Guard guard, const definition::Guard& definition, const Outcome& outcome, Time now) {
  const Checking* checking = std::get_if<Checking>(&guard.state);
  if (!checking) return unchanged(std::move(guard));
  const Checking was = *checking;
  Step step{std::move(guard), Nothing{}};
  Verdict verdict = classify(outcome);
  if (is_ending(step.guard, definition) && verdict != Verdict::Passed) {
    ask_at_last(step, definition, was, outcome, now);
    return step;
  }
  if (verdict == Verdict::Unknown) {
    if (step.guard.last != Verdict::Unknown) {
      step.guard.last = verdict;
      check(step, {.counted = was.counted, .again = false, .next_check = was.next_check});
      return step;
    }
    verdict = Verdict::Broken;
  }
  remember(step, verdict, was.counted, outcome);
  if (verdict == Verdict::Passed) {
    pass(step);
    return step;
  }
  go_on(step, definition, was, now);
  return step;
}

Step wake(Guard guard, const definition::Guard& definition, Time now) {
  Step step{std::move(guard), Nothing{}};
  settle_deadline(step, definition, now);
  if (Checking* checking = std::get_if<Checking>(&step.guard.state)) {
    checking->again = true;
  } else if (Waiting* waiting = std::get_if<Waiting>(&step.guard.state)) {
    // One word at a time: if somebody is to be asked, the check comes with the next call of `due`.
    if (std::holds_alternative<Ask>(step.next)) {
      waiting->next_check = now;
    } else {
      check(step, {.counted = false, .again = false, .next_check = waiting->next_check});
    }
  }
  return step;
}

Step due(Guard guard, const definition::Guard& definition, Time now) {
  Step step{std::move(guard), Nothing{}};
  settle_deadline(step, definition, now);
  // As in `wake`.
  if (!std::holds_alternative<Nothing>(step.next)) return step;
  const Waiting* waiting = std::get_if<Waiting>(&step.guard.state);
  if (!waiting || now < waiting->next_check) return step;
  const bool room = step.guard.polls < std::numeric_limits<std::uint32_t>::max();
  if (room) ++step.guard.polls;
  check(step, Checking{});
  return step;
}

Step again(Guard guard, const definition::Guard& definition, Time now) {
  if (!std::holds_alternative<Passed>(guard.state)) return unchanged(std::move(guard));
  if (guard.by_word) return {std::move(guard), Passed{}};
  Step step{std::move(guard), Nothing{}};
  begin_anew(step.guard, now);
  step.guard.announced = false;
  check(step,
        {.counted = false,
         .again = false,
         .next_check = saturating_add(now, interval_of(definition))});
  return step;
}

Step answered(Guard guard, Answer answer, Time now) {
  const bool may_be = guard.asked || std::holds_alternative<Failed>(guard.state);
  if (!may_be) return unchanged(std::move(guard));
  Step step{std::move(guard), Nothing{}};
  switch (answer) {
    case Answer::Pass:
      pass(step);
      step.guard.by_word = true;
      break;
    case Answer::Fail:
      fail(step, Reason::Answered);
      break;
    case Answer::CheckAgain: {
      const Checking* running = std::get_if<Checking>(&step.guard.state);
      const bool is_running = running != nullptr;
      const bool woken = running && running->again;
      begin_anew(step.guard, now);
      check(step, {.counted = true, .again = woken, .next_check = std::nullopt});
      // The one that is under way is the first, and may be too early for what it was woken for.
      if (is_running) step.next = Nothing{};
      break;
    }
  }
  return step;
}

std::string text_of(Reason reason) {
  switch (reason) {
    case Reason::UsedUp:
      return "did not pass as often as it may be checked";
    case Reason::Broken:
      return "is broken: three checks in a row could not be made";
    case Reason::TimedOut:
      return "timed out";
    case Reason::Answered:
      return "was failed by an answer";
  }
  return {};
}

}  // namespace reeve::guard
