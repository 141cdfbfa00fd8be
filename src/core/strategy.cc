#include "core/strategy.h"

#include "base/match.h"
#include "base/text_part.h"
#include "core/event_name.h"
#include "core/limits.h"
#include "core/names.h"
#include "core/pattern.h"

#include <algorithm>
#include <utility>

namespace reeve::strategy {
namespace {

std::string_view without_newlines_at_end(std::string_view text) {
  while (text.ends_with('\n') || text.ends_with('\r')) text.remove_suffix(1);
  return text;
}

std::string_view last_line(std::string_view text) {
  text = without_newlines_at_end(text);
  const std::size_t newline = text.rfind('\n');
  return newline == std::string_view::npos ? text : text.substr(newline + 1);
}

// ── Each way on, as a step ──

Step ended(Strategy strategy, Succeeded how) {
  strategy.state = how;
  return {std::move(strategy), std::move(how)};
}

Step ended(Strategy strategy, Exhausted how) {
  strategy.state = how;
  const WasExhausted fact{how.error};
  return {std::move(strategy), std::move(how), {fact}};
}

Step ended(Strategy strategy, Failed how) {
  strategy.state = how;
  return {std::move(strategy), std::move(how)};
}

Step ended(Strategy strategy, Unclear how) {
  strategy.state = how;
  return {std::move(strategy), std::move(how)};
}

Step try_approach(Strategy strategy, const definition::Strategy& definition, std::uint32_t number) {
  if (number >= definition.approaches.size()) {
    return ended(std::move(strategy), Exhausted{"there is no approach to try"});
  }
  const definition::Approach& approach = definition.approaches[number];
  strategy.state = Trying{number};
  return {std::move(strategy),
          RunApproach{number, approach.name, approach.action, approach.timeout},
          {WasTried{approach.name}}};
}

Step fall_back(Strategy strategy,
               const definition::Strategy& definition,
               std::uint32_t from,
               std::string error) {
  const std::uint32_t to = from + 1;
  Step step = try_approach(std::move(strategy), definition, to);
  step.facts.insert(
      step.facts.begin(),
      FellBack{definition.approaches[from].name, definition.approaches[to].name, std::move(error)});
  return step;
}

// ── What ended, by what was going on ──

Step checkpoint_ended(Strategy strategy,
                      const definition::Strategy& definition,
                      const Outcome& outcome) {
  if (outcome.ended == Ended::Unknown) {
    return ended(std::move(strategy), Unclear{"nobody knows whether the checkpoint was made"});
  }
  if (!has_succeeded(outcome)) {
    return ended(std::move(strategy), Failed{"the checkpoint failed: " + error_of(outcome)});
  }
  strategy.checkpoint = without_newlines_at_end(outcome.output);
  return try_approach(std::move(strategy), definition, 0);
}

Step attempt_ended(Strategy strategy,
                   const definition::Strategy& definition,
                   std::uint32_t number,
                   const Outcome& outcome) {
  const definition::Approach& approach = definition.approaches[number];
  if (outcome.ended == Ended::Unknown) {
    return ended(std::move(strategy), Unclear{"nobody knows how " + approach.name + " ended"});
  }
  if (has_succeeded(outcome)) {
    return ended(std::move(strategy), Succeeded{number, outcome.output});
  }
  std::string error = error_of(outcome);
  if (number + 1 >= definition.approaches.size()) {
    return ended(std::move(strategy), Exhausted{std::move(error)});
  }
  if (!falls_back(approach, outcome)) return ended(std::move(strategy), Failed{std::move(error)});
  if (approach.rollback.empty()) {
    return fall_back(std::move(strategy), definition, number, std::move(error));
  }
  strategy.state = RollingBack{number, std::move(error)};
  return {std::move(strategy), RunRollback{number, approach.rollback}};
}

// A rollback of which nobody knows how it ended has not been seen to succeed, nor to fail: to try
// the next approach on top of it would be a guess.
Step rollback_ended(Strategy strategy,
                    const definition::Strategy& definition,
                    RollingBack from,
                    const Outcome& outcome) {
  const std::string& name = definition.approaches[from.approach].name;
  if (outcome.ended == Ended::Unknown) {
    return ended(
        std::move(strategy),
        Unclear{"nobody knows whether " + name + " was rolled back, after: " + from.error});
  }
  if (!has_succeeded(outcome)) {
    return ended(std::move(strategy),
                 Failed{"the rollback of " + name + " failed: " + error_of(outcome) +
                            ", after: " + from.error,
                        true});
  }
  return fall_back(std::move(strategy), definition, from.approach, std::move(from.error));
}

Step unchanged(Strategy strategy) { return {std::move(strategy), Nothing{}}; }

}  // namespace

bool is_over(const Strategy& strategy) {
  return match(
      strategy.state,
      [](const Ready&) { return false; },
      [](const Checkpointing&) { return false; },
      [](const Trying&) { return false; },
      [](const RollingBack&) { return false; },
      [](const Succeeded&) { return true; },
      [](const Exhausted&) { return true; },
      [](const Failed&) { return true; },
      [](const Unclear&) { return true; });
}

EventName name_of(const Event& event) {
  const std::string verb = match(
      event.what,
      [](const WasTried&) { return "attempt"; },
      [](const FellBack&) { return "fallback"; },
      [](const WasExhausted&) { return "exhausted"; });
  return {"strategy", event.strategy, verb, event.phase};
}

Step start(const definition::Strategy& definition) {
  if (definition.checkpoint.empty()) return try_approach({}, definition, 0);
  return {Strategy{Checkpointing{}, {}}, RunCheckpoint{definition.checkpoint}};
}

Step finished(Strategy strategy, const definition::Strategy& definition, const Outcome& outcome) {
  const auto state = strategy.state;
  // The definition is the one it was started with; with another there would be nothing to say.
  const auto is_there = [&](std::size_t number) { return number < definition.approaches.size(); };
  return match(
      state,
      [&](const Ready&) { return unchanged(std::move(strategy)); },
      [&](const Checkpointing&) {
        return checkpoint_ended(std::move(strategy), definition, outcome);
      },
      [&](const Trying& trying) {
        if (!is_there(trying.approach)) return unchanged(std::move(strategy));
        return attempt_ended(std::move(strategy), definition, trying.approach, outcome);
      },
      [&](const RollingBack& back) {
        if (!is_there(std::size_t{back.approach} + 1)) return unchanged(std::move(strategy));
        return rollback_ended(std::move(strategy), definition, back, outcome);
      },
      [&](const Succeeded&) { return unchanged(std::move(strategy)); },
      [&](const Exhausted&) { return unchanged(std::move(strategy)); },
      [&](const Failed&) { return unchanged(std::move(strategy)); },
      [&](const Unclear&) { return unchanged(std::move(strategy)); });
}

bool falls_back(const definition::Approach& approach, const Outcome& outcome) {
  if (approach.fallback_on.empty()) return true;
  return std::ranges::any_of(approach.fallback_on, [&](const std::string& pattern) {
    if (pattern == "any") return true;
    if (pattern == "timeout") return outcome.timed_out;
    if (outcome.timed_out) return false;
    return pattern::matches(pattern, last_bytes(outcome.output, limits::text_bytes)) ||
           pattern::matches(pattern, last_bytes(outcome.error, limits::text_bytes));
  });
}

bool has_succeeded(const Outcome& outcome) {
  return outcome.ended == Ended::Done && !outcome.timed_out && !outcome.signal &&
         outcome.exit_code.value_or(0) == 0;
}

std::string error_of(const Outcome& outcome) {
  std::string why;
  if (!outcome.error.empty()) {
    why = outcome.error;
  } else if (outcome.timed_out) {
    why = "timed out";
  } else if (outcome.signal) {
    why = "signal " + std::to_string(*outcome.signal);
  } else if (outcome.exit_code) {
    why = "exit code " + std::to_string(*outcome.exit_code);
  } else {
    why = "failed";
  }
  const std::string_view said = last_line(outcome.output);
  // An agent's error has its last line already.
  if (!said.empty() && !why.ends_with(said)) why.append(": ").append(said);
  return std::string(cut(why));
}

}  // namespace reeve::strategy
