#pragma once

#include "base/persistent_map.h"
#include "base/time.h"
#include "core/answer.h"
#include "core/holder.h"
#include "core/id.h"

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

// Something waits for a person's word: a question, what led to it, and the choices. The answer
// resumes the work. The owner is the thing that waits, never a whole pipeline. A newer decision
// of the same owner supersedes the older; one whose cause has cleared retires by itself; a
// deadline applies its default choice by tick. Answering twice is refused with the first answer.
//
//              resolve, deadline          cause cleared, newer one of the same owner
//     Open ────────────────────▶ Answered                              ┌▶ Retired
//      └───────────────────────────────────────────────────────────────┘
namespace reeve {
class Turn;
struct EventName;
struct Reply;
}  // namespace reeve

namespace reeve::decision {

enum class Cause : std::uint8_t {
  PhaseFailed,  // also: outcome unknown, circuit open, strategy exhausted
  GuardFailed,  // timed out or broken
  AgentStuck,   // idle, stuck, errored
  AgentPermission,
  ItemExhausted,
  ProcessUnobserved,  // cannot be seen dead: a lock, a dispatch claim
  LockStale,          // `on_stale = "escalate"`
  Asked,              // `reeve ask`
  AgentGone,          // exited or failed: there is no session to hear a nudge
};

// In this order, and by these names.
enum class Choice : std::uint8_t {
  Retry,
  Skip,
  Fail,
  Cancel,
  CheckAgain,
  Pass,
  Nudge,
  Restart,
  Done,
  Allow,
  Deny,
  Dead,
  Drop,
  LookAgain,
  ReleaseAnyway,
  Option,
  Text,
};

std::vector<Choice> choices_of(Cause cause);
std::string_view text_of(Choice choice);

struct PhaseOwner {
  PipelineId pipeline;
  std::uint64_t entry = 0;

  auto operator<=>(const PhaseOwner&) const = default;
};

struct GuardOwner {
  PipelineId pipeline;
  std::uint64_t entry = 0;
  std::string guard;

  auto operator<=>(const GuardOwner&) const = default;
};

struct WorkOwner {
  WorkId work;

  auto operator<=>(const WorkOwner&) const = default;
};

struct ItemOwner {
  ItemId item;

  auto operator<=>(const ItemOwner&) const = default;
};

struct LockOwner {
  LockName lock;

  auto operator<=>(const LockOwner&) const = default;
};

struct ProcessOwner {
  Process process;

  auto operator<=>(const ProcessOwner&) const = default;
};

struct DispatchOwner {
  DispatchId dispatch;

  auto operator<=>(const DispatchOwner&) const = default;
};

// `reeve ask`: the request that waits for the answer, and the entry into a phase it was asked
// from, if any.
struct AskOwner {
  WaiterId waiter;
  PipelineId pipeline = {};
  std::uint64_t entry = 0;

  auto operator<=>(const AskOwner&) const = default;
};

using Owner = std::variant<PhaseOwner,
                           GuardOwner,
                           WorkOwner,
                           ItemOwner,
                           LockOwner,
                           ProcessOwner,
                           DispatchOwner,
                           AskOwner>;

// `text` is what somebody said with it (-m), and handed on; of an option, the option itself: what
// was said with that is its note.
struct Answer {
  Choice choice = Choice::Text;
  std::uint32_t option = 0;  // of Choice::Option: which
  std::string text;
  std::string by;
  Time at;
  std::string note = {};  // of Choice::Option

  bool operator==(const Answer&) const = default;
};

struct Open {
  bool operator==(const Open&) const = default;
};

struct Answered {
  Answer answer;

  bool operator==(const Answered&) const = default;
};

struct Retired {
  Time at;

  bool operator==(const Retired&) const = default;
};

struct Decision {
  ProjectNo project;
  Owner owner;
  Cause cause = Cause::Asked;
  std::string question;
  std::string context;               // what, why, the last output
  std::vector<std::string> options;  // of Cause::Asked; empty: any text
  Time opened_at;
  std::optional<Time> deadline;
  std::optional<std::uint32_t> default_choice;  // an index into choices or options
  SessionId session = {};                       // of AskOwner: whose connection waits
  std::variant<Open, Answered, Retired> state;

  bool operator==(const Decision&) const = default;
};

// Closed decisions of a project by when, oldest first: the last 1,000 are kept, for 24 h.
struct ClosedKey {
  ProjectNo project;
  Time at;
  DecisionId decision;

  auto operator<=>(const ClosedKey&) const = default;
};

struct Table {
  PersistentMap<DecisionId, Decision> decisions;
  PersistentMap<Owner, DecisionId> open_of;
  PersistentSet<ClosedKey> closed;
  PersistentMap<ProjectNo, std::uint32_t> closed_count;

  bool operator==(const Table&) const = default;
};

// What a machine that cannot go on by itself fills in. At the end of `within` the default choice is
// taken; without one only who asked with `reeve ask` is told then, that there was no answer.
struct Question {
  ProjectNo project;
  Owner owner;
  Cause cause = Cause::PhaseFailed;
  std::string question;
  std::string context;
  std::vector<std::string> options = {};
  std::optional<Duration> within = {};
  std::optional<std::uint32_t> default_choice = {};

  bool operator==(const Question&) const = default;
};

// The choice by name, by its number from 0 among those offered, or as text: what the choice or
// the option is called, or where any text will do the answer itself.
struct Resolve {
  DecisionId decision;
  std::variant<Choice, std::uint32_t, std::string> choice;
  std::string text = {};
  std::string by = {};

  bool operator==(const Resolve&) const = default;
};

// `reeve ask QUESTION [--option A...]`: waits for the answer. At the end of `within` the default
// option is the answer; without one the asker is told that there was none.
struct Ask {
  std::string question;
  std::vector<std::string> options = {};
  PipelineId pipeline = {};
  std::optional<Duration> within = {};
  std::optional<std::uint32_t> default_choice = {};

  bool operator==(const Ask&) const = default;
};

using Command = std::variant<Resolve, Ask>;

struct Resolved {
  DecisionId decision;
  Answer answer;

  bool operator==(const Resolved&) const = default;
};

struct AlreadyAnswered {
  DecisionId decision;
  Answer first;

  bool operator==(const AlreadyAnswered&) const = default;
};

struct NotAnswered {
  Left left = Left::Cancelled;

  bool operator==(const NotAnswered&) const = default;
};

using Reply = std::variant<Resolved, AlreadyAnswered, NotAnswered>;

struct WasOpened {
  DecisionId decision;
  Cause cause = Cause::Asked;
  std::string question;

  bool operator==(const WasOpened&) const = default;
};

struct WasAnswered {
  DecisionId decision;
  Choice choice = Choice::Text;
  std::string text;
  std::string by;

  bool operator==(const WasAnswered&) const = default;
};

struct WasRetired {
  DecisionId decision;

  bool operator==(const WasRetired&) const = default;
};

// decision:opened, decision:resolved, decision:retired
using Event = std::variant<WasOpened, WasAnswered, WasRetired>;

// The deadline of an open decision, or (decision 0) the day after which the project's oldest
// closed one is forgotten.
struct Due {
  DecisionId decision = {};
  ProjectNo project = {};

  auto operator<=>(const Due&) const = default;
};

reeve::Reply apply(Turn& turn, const Command& command);
void due(Turn& turn, const Due& due);
EventName name_of(const Event& event);

// Opens one, superseding an open one of the same owner, and announces `escalate`.
DecisionId open(Turn& turn, Question question);

// The cause has cleared.
void retire(Turn& turn, const Owner& owner);

// A waiting `reeve ask`: the decision it waits for, or none. It gives up; it waits over another
// connection now.
const DecisionId* asked_by(const Table& table, WaiterId waiter);
void leave(Turn& turn, WaiterId waiter, Left left);
void move_to_session(Turn& turn, WaiterId waiter, SessionId session);

// When a tick has to look at an open decision: at its deadline, if that means anything.
std::optional<Time> acts_at(const Decision& decision);

}  // namespace reeve::decision
