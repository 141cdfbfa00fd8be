#pragma once

#include "core/answer.h"
#include "core/decision.h"
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

namespace reeve::pipeline {

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

// Who started it, and so who is told how it ended.
struct ByClient {
  bool operator==(const ByClient&) const = default;
};

struct ByWorker {
  WorkerName worker;
  ItemId item;
  Token claim;

  bool operator==(const ByWorker&) const = default;
};

struct ByCron {
  CronName cron;

  bool operator==(const ByCron&) const = default;
};

struct ByParent {
  PipelineId pipeline;
  std::uint64_t entry = 0;
  std::uint32_t index = 0;

  bool operator==(const ByParent&) const = default;
};

using Starter = std::variant<ByClient, ByWorker, ByCron, ByParent>;

enum class Ending : std::uint8_t { Done, Failed, Cancelled };

// Starts the pipeline `name` of the set, which it pins. A missing input, an unknown name or a
// dependency that does not exist is a refusal, and nothing was started.
struct Begin {
  definition::SetKey set;
  std::string name;
  definition::Map inputs;
  definition::Map environment;  // of the caller, by the allow-list
  Starter starter;

  bool operator==(const Begin&) const = default;
};
std::variant<PipelineId, Refused> begin(Turn& turn, const Begin& begin);

// Ends the process tree, runs on_cancel, releases everything. A terminal one stays as it is.
void cancel(Turn& turn, PipelineId pipeline);

// The agent of this entry into a phase ended, and the end of its process was observed.
void agent_ended(Turn& turn, PipelineId pipeline, std::uint64_t entry, WorkId work,
                 const Outcome& outcome);
void decided(Turn& turn, const decision::PhaseOwner& owner, const decision::Answer& answer);
void decided(Turn& turn, const decision::GuardOwner& owner, const decision::Answer& answer);

// What became of the locks and slots that a phase asked for: granted or not to be had. `entry`
// says which entry into which phase; another one is dropped.
void asked(Turn& turn, PipelineId pipeline, std::uint64_t entry, const reeve::Reply& reply);
void wake_guard(Turn& turn, PipelineId pipeline, std::uint64_t entry, const std::string& guard);
void checkpoint(Turn& turn, PipelineId pipeline, const std::string& message);

EventName name_of(const Event& event);

}  // namespace reeve::pipeline
