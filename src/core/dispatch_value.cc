#include "base/match.h"
#include "core/dispatch.h"
#include "core/event_name.h"
#include "core/limits.h"
#include "core/outcome.h"

#include <algorithm>

namespace reeve::dispatch {

bool has_child(const Dispatch& dispatch) {
  return match(
      dispatch.state,
      [](const Sending&) { return false; },
      [](const Starting&) { return true; },
      [](const Started&) { return true; },
      [](const Killing&) { return true; },
      [](const Retained&) { return true; },
      [](const Seen&) { return false; },
      [](const Ended&) { return false; });
}

std::optional<Time> next_look(const Dispatch& dispatch) {
  return match(
      dispatch.state,
      [](const Sending&) -> std::optional<Time> { return std::nullopt; },
      [](const Starting&) -> std::optional<Time> { return std::nullopt; },
      [](const Started& started) -> std::optional<Time> {
        return saturating_add(started.at, limits::observe_end);
      },
      [](const Killing& killing) -> std::optional<Time> {
        return saturating_add(killing.since, limits::kill_grace);
      },
      [](const Retained&) -> std::optional<Time> { return std::nullopt; },
      [](const Seen&) -> std::optional<Time> { return std::nullopt; },
      [](const Ended&) -> std::optional<Time> { return std::nullopt; });
}

SendOutcome send_outcome(const Outcome& outcome) {
  // It may have been typed by then.
  if (outcome.timed_out || outcome.signal) return SendOutcome::Unknown;
  switch (outcome.ended) {
    case reeve::Ended::Done: {
      // It ran to its end, and that says what came of it.
      if (outcome.exit_code.value_or(0) != 0) return SendOutcome::Rejected;
      const auto fallback = [](const auto& value) { return value.first == "fallback"; };
      return std::ranges::any_of(outcome.values, fallback) ? SendOutcome::FallbackSent
                                                           : SendOutcome::Sent;
    }
    case reeve::Ended::Failed:
      // An exit code: the other side was reached, and said no.
      return outcome.exit_code ? SendOutcome::Rejected : SendOutcome::Failed;
    case reeve::Ended::Unknown:
      return SendOutcome::Unknown;
  }
  return SendOutcome::Unknown;
}

Result result_of(SendOutcome outcome) {
  switch (outcome) {
    case SendOutcome::Sent:
    case SendOutcome::FallbackSent:
      return Result::Delivered;
    case SendOutcome::Rejected:
    case SendOutcome::Failed:
      return Result::NotDelivered;
    case SendOutcome::Unknown:
      return Result::Unknown;
  }
  return Result::Unknown;
}

EventName name_of(const Event& event) {
  return match(
      event,
      [](const WasPlanned& it) { return EventName{"dispatch", to_text(it.dispatch), "planned"}; },
      [](const WasReleased& it) { return EventName{"dispatch", to_text(it.dispatch), "released"}; },
      [](const WasRetained& it) { return EventName{"dispatch", to_text(it.dispatch), "retained"}; },
      [](const WasEnded& it) { return EventName{"dispatch", to_text(it.dispatch), "ended"}; });
}

}  // namespace reeve::dispatch
