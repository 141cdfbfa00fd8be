#pragma once

#include "base/time.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

// What an agent is seen to be doing. One shape for every kind of agent: adapters read logs,
// screens, hooks and processes, each in its own way, and all of them say one of these words.
//
// Observations come from several sources and may arrive late. The one with the later
// `observed_at` is the truth; of two at the same moment, the one told last. Nothing is ever
// done because of `Unknown`.
namespace reeve::agent {

enum class Doing : std::uint8_t {
  Working,
  Idle,
  WaitingPermission,  // asks whether it may do something
  WaitingAnswer,      // asked a question and waits at its prompt
  RateLimited,        // its provider refuses it until `resets_at`
  Errored,
  Exited,
  Unknown,
};

enum class Source : std::uint8_t { Nobody, Log, Screen, Hook, Process };

struct AgentState {
  Doing doing = Doing::Unknown;
  Source source = Source::Nobody;
  Time observed_at = Time::min();
  std::optional<Time> resets_at = {};  // of RateLimited, if it is known
  std::string detail = {};             // the error, the question: for people

  bool operator==(const AgentState&) const = default;
};

// What an observation is a sign of, which is all that the rules of a task ask.
enum class Sign : std::uint8_t {
  Life,      // it works
  Quiet,     // it is there and does nothing: idle time goes on
  Question,  // it is there, and a person is to say if it may
  Cooling,   // it is there and cannot work for a while, through no fault of its own
  Trouble,   // it says that it failed
  Gone,      // it says, or is said, to have ended
  Nothing,   // no reason to do anything
};

// An agent at its prompt with a question is quiet, like an idle one: whoever answers, or
// nudges, makes it go on.
Sign sign_of(Doing doing);

// Whether `news` is to be believed over what is known. An older look never replaces a newer
// one, and not to know never replaces to know.
bool replaces(const AgentState& news, const AgentState& known);

// An observation as it is judged at `now`: nobody has seen the future, so one that claims to
// is taken to be of now, and long texts are cut.
AgentState judged(AgentState seen, Time now);

std::string_view text_of(Doing doing);

}  // namespace reeve::agent
