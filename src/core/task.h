#pragma once

#include "core/answer.h"
#include "core/definition.h"
#include "core/id.h"

#include <compare>
#include <cstdint>
#include <string>
#include <variant>

namespace reeve {
class Turn;
struct EventName;
struct Outcome;
struct Reply;
}

namespace reeve::decision {
struct Answer;
}

namespace reeve::task {

struct Table {
  bool operator==(const Table&) const = default;
};

struct Nothing {
  auto operator<=>(const Nothing&) const = default;
};

using Command = std::variant<Nothing>;
using Reply = std::variant<Nothing>;
using Event = std::variant<Nothing>;

struct Due {
  auto operator<=>(const Due&) const = default;
};

// Where the outcome of an effect goes.
struct Address {
  bool operator==(const Address&) const = default;
};

reeve::Reply apply(Turn& turn, const Command& command);
void due(Turn& turn, const Due& due);
void finished(Turn& turn, EffectId effect, const Address& to, const Outcome& outcome);
void decided(Turn& turn, WorkId work, const decision::Answer& answer);

// A phase (or an approach of its strategy) wants an agent to do something. The end comes as
// pipeline::agent_ended, once the end of its session or process was observed.
struct Begin {
  PipelineId pipeline = {};  // 0: started by itself (`run = { agent = ... }`)
  std::uint64_t entry = 0;
  ProjectNo project;
  std::string name;  // of the agent in the definitions
  definition::Agent agent;
  std::string prompt;  // interpolated
  std::string workspace;
  definition::Map variables;
  definition::Map environment = {};

  bool operator==(const Begin&) const = default;
};
WorkId begin(Turn& turn, const Begin& begin);
void cancel(Turn& turn, WorkId work);

EventName name_of(const Event& event);

}  // namespace reeve::task
