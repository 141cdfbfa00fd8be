#pragma once

#include "base/id.h"

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

// How things are called.
//
// A *name* is chosen by a user and belongs to a project: two projects may both have a
// lock `main`. Project 0 is nobody's: what is written `//main` lives there and is shared
// by all projects of the home.
//
// A *number* comes from the one counter of the state, so a replay makes the same ones. It
// is unique in the home, whatever its kind, and printed as `pipe-4f7kq2`.
namespace reeve {

struct ProjectNo {
  std::uint32_t value = 0;

  auto operator<=>(const ProjectNo&) const = default;
};

inline constexpr ProjectNo shared_project{0};
inline constexpr ProjectNo default_project{1};

template <class Kind>
struct Scoped {
  ProjectNo project;
  std::string name;

  auto operator<=>(const Scoped&) const = default;
};

using LockName = Scoped<struct LockKind>;
using SemaphoreName = Scoped<struct SemaphoreKind>;
using QueueName = Scoped<struct QueueKind>;
using WorkerName = Scoped<struct WorkerKind>;
using CronName = Scoped<struct CronKind>;
using SectionName = Scoped<struct SectionKind>;

using ItemId = Number<struct ItemKind>;
using PipelineId = Number<struct PipelineKind>;
using WorkId = Number<struct WorkKind>;            // one attempt of an agent: core/task
using BoardTaskId = Number<struct BoardTaskKind>;  // core/board
using DecisionId = Number<struct DecisionKind>;
using DispatchId = Number<struct DispatchKind>;
using SessionId = Number<struct SessionKind>;  // given by the engine; 0 = not bound
using WaiterId = Number<struct WaiterKind>;    // a request whose answer comes later
using Token = Number<struct TokenKind>;        // grows for ever, never given twice

// The prefix of each printed kind of id.
inline constexpr std::string_view prefix_of(ItemId) { return "item-"; }
inline constexpr std::string_view prefix_of(PipelineId) { return "pipe-"; }
inline constexpr std::string_view prefix_of(WorkId) { return "work-"; }
inline constexpr std::string_view prefix_of(BoardTaskId) { return "task-"; }
inline constexpr std::string_view prefix_of(DecisionId) { return "ask-"; }
inline constexpr std::string_view prefix_of(DispatchId) { return "send-"; }

template <class Kind>
std::string to_text(Number<Kind> id) {
  return std::string(prefix_of(id)) + encode_id(id.value);
}

// The number behind `pipe-4f7kq2`, if it is one of this kind.
template <class Id>
std::optional<Id> parse_id(std::string_view text) {
  const std::string_view prefix = prefix_of(Id{});
  if (!text.starts_with(prefix)) return std::nullopt;
  const std::optional<std::uint64_t> number = decode_id(text.substr(prefix.size()));
  if (!number) return std::nullopt;
  return Id{*number};
}

// What the outside is asked to do is named by the input that caused it and its place
// among that input's effects. Printed `<sequence>-<index>`; it names the directory of a run.
struct EffectId {
  std::uint64_t sequence = 0;
  std::uint32_t index = 0;

  auto operator<=>(const EffectId&) const = default;
};

}  // namespace reeve
