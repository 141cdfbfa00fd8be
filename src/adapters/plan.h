#pragma once

#include "adapters/run_directory.h"
#include "base/result.h"
#include "core/effect.h"
#include "core/event.h"
#include "core/state.h"
#include "core/turn.h"

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

// What is run for an effect: always a text for bash that was fixed beforehand, by the runbook or
// here, with every value in its environment.
//
// Where the logs are. What a run says is kept in the home, in
//
//     logs/pipe-4f7kq2/merge#2.1234-0.log            an attempt of a phase: label and effect
//     logs/pipe-4f7kq2/merge#2 rollback.1240-0.log   what else its strategy runs
//     logs/pipe-4f7kq2/guard tests_pass.log          the last check of a guard
//     logs/work-81hd2k/agent.1250-0.log              an attempt of an agent
//     logs/hook.log, notify.log, ...                 what belongs to no pipeline: the last one
//
// with what cannot stand in a file's name as `%2F`, and what is too long cut (codec/log_folder.h).
// A guard has no number. Effects count up, so of the files of one label the one with the larger
// numbers is the later.
namespace reeve::adapters {

// What runs have from whoever started the daemon, whatever the daemon itself has made of it.
struct Inherited {
  std::uint32_t mask = 022;       // of new files
  std::uint64_t descriptors = 0;  // how many, at most; 0: as many as there may be

  bool operator==(const Inherited&) const = default;
};

// How much is kept of what is said.
struct Keeping {
  std::uint64_t run = log_limit;                // by one run
  std::uint64_t all = std::uint64_t{2} << 30U;  // by all of them, in their logs

  bool operator==(const Keeping&) const = default;
};

// What a plan needs to know of the daemon it is for.
struct Surroundings {
  std::string home;
  std::string socket;
  Inherited for_runs = {};
  std::string program;    // reeve itself, by a path that others can use
  Variables environment;  // the daemon's own, all of it
  std::function<const State&()> state;
  std::function<std::string(const Event&)> event_json;
};

struct Plan {
  RunSpec spec;
  std::string stdin_text;
};

// An error says why it cannot be done at all. Not for kills, nor for sessions (agent_plan.h).
Result<Plan> plan_for(const Start& start, const Surroundings& around);

// The outcome of an effect, from how its run ended. Of a poll that is what the source has: what is
// known of it already comes without its data, and is not written down once more.
Outcome outcome_for(const Outer& effect,
                    const RunDirectory& folder,
                    Outcome held,
                    const State& state);

std::string run_path(const Surroundings& around, EffectId id);
std::string log_path(const Surroundings& around,
                     std::string_view folder,
                     std::string_view label,
                     EffectId id);

// The whole environment of a run: of the caller what the allow-list names (or of the daemon, if
// nothing came from a caller), then `environment`, then ours, then the values of placeholders. Of
// two in `environment` with one name the later counts, of two in `variables` the first. What a
// runbook lets through (adapters/secrets.h) stands where its file is named, and what of that is
// secret is in `spec.secrets`.
void set_environment(RunSpec& spec,
                     const Surroundings& around,
                     EffectId id,
                     const Variables& environment,
                     const Variables& variables);

// What a notification runs that is for the desktop and for this command; empty: for the desktop
// alone.
std::string on_desktop_and(const std::string& command);

// Why one of these values cannot travel, by its name; empty: all can.
std::string refusal_of(const Variables& variables);

// The names of the allow-list, LC_* beside them.
bool is_allowed(std::string_view name);

// The root of a project's folder; empty: it has none.
std::string root_of(const State& state, ProjectNo project);
std::string root_of(const State& state, PipelineId pipeline);

// ── git (git_plan.cc) ──
Result<Plan> plan_for(EffectId id, const WorktreeAdd& add, const Surroundings& around);
Result<Plan> plan_for(EffectId id, const WorktreeRemove& remove, const Surroundings& around);
Result<Plan> plan_for(EffectId id, const Merge& merge, const Surroundings& around);

// ── Agents (agent_plan.cc) ──
Result<Plan> plan_for(EffectId id, const Spawn& spawn, const Surroundings& around);
Result<Plan> plan_for(EffectId id, const Send& send, const Surroundings& around);
Result<Plan> plan_for(EffectId id, const Nudge& nudge, const Surroundings& around);

// ── Outside queues (poll_items.cc) ──

// The items of a JSON array, or of lines of JSON, by their `id`. An error says what is wrong. That
// there are none is said by `[]`: nothing at all is what a command says whose input failed.
Result<Variables> parse_items(std::string_view text);

}  // namespace reeve::adapters
