#pragma once

#include "core/answer.h"
#include "core/id.h"
#include "core/pipeline.h"

#include <compare>
#include <string>
#include <variant>

namespace reeve {
class Turn;
struct EventName;
struct Outcome;
struct Reply;
}

namespace reeve::cron {

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
void pipeline_ended(Turn& turn, const CronName& cron, PipelineId pipeline, pipeline::Ending ending);
EventName name_of(const Event& event);

}  // namespace reeve::cron
