#pragma once

#include "api/tell.h"
#include "core/decision.h"
#include "core/pipeline.h"
#include "core/state.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

// How pipelines, agents, workers, crons and decisions are shown: PIPELINE, AGENT, WORKER, CRON and
// DECISION of docs/protocol.md. Each writes the fields of an object that the caller begins and
// ends.
namespace reeve::api {

// ── Pipelines ──

// init, blocked, running, done, failed, cancelled.
std::string_view state_of(const pipeline::Pipeline& pipeline);

// What a blocked pipeline waits for, in words. None: it is not blocked.
struct Block {
  std::string_view kind;  // dependency, guard, lock, semaphore, decision, paused, backoff
  std::string name;
  Time since;
  std::string detail;
};
std::optional<Block> block_of(const Tell& tell,
                              const State& state,
                              const pipeline::Pipeline& pipeline);

// The guard that is being waited for, if it is one.
struct GuardLook {
  std::string name;
  const guard::Guard* guard = nullptr;
  const definition::Guard* definition = nullptr;
};
std::optional<GuardLook> guard_of(const State& state, const pipeline::Pipeline& pipeline);

// What it was started with, from the set it is pinned to; null if that has gone.
const definition::Pipeline* definition_of(const State& state, const pipeline::Pipeline& pipeline);
const definition::Phase* phase_in(const definition::Pipeline& definition, std::string_view name);

// The program that runs for it, or has yet to find room to.
std::optional<EffectId> program_of(const State& state, const pipeline::Pipeline& pipeline);
// That as `<sequence>-<index>`, the name of its folder; empty if there is none.
std::string run_of(const State& state, const pipeline::Pipeline& pipeline);

// A line of a list, or all there is to know.
void show_pipeline(Tell& tell,
                   const State& state,
                   const pipeline::Pipeline& pipeline,
                   bool in_list);

// ── Agents ──

// What was decided of it stands, and what is left of it has yet to be seen gone: "ending".
bool is_ending(const task::Task& task);
// "idle": it runs, and there has been no sign of life of it for a while.
std::string_view state_of(const State& state, const task::Task& task, Time now);
// Whether it is among those of a state that is asked for: one that is stuck for its silence is
// stuck and idle, and all that are not over are `active`.
bool is_among(const State& state, const task::Task& task, std::string_view wanted, Time now);
void show_agent(Tell& tell, const State& state, const task::Task& task);

// `"agents":[{"id","agent","phase","attempt","attempts"}…]` of a run, if there were any: whose
// phases they worked in.
void show_agents_of(Tell& tell, const State& state, PipelineId pipeline);

// How long there has been no sign of life of it.
Duration idle_of(const State& state, const task::Task& task, Time now);

// ── Decisions ──

std::string_view state_of(const decision::Decision& decision);
// The pipeline whose work waits for it; 0: none.
PipelineId pipeline_of(const State& state, const decision::Owner& owner);
// What is offered, by name: the options of `reeve ask`, or the choices of its cause.
std::vector<std::string> offered(const decision::Decision& decision);
// A command that a shell takes as it stands, with the first choice, and the others as words of one.
std::string how_to_answer(DecisionId id, const decision::Decision& decision);
// The question, and that command behind it.
std::string question_in_words(DecisionId id, const decision::Decision& decision);
// Those that are open for this pipeline.
std::vector<DecisionId> open_decisions(const State& state, PipelineId pipeline);
void show_decision(Tell& tell,
                   const State& state,
                   DecisionId id,
                   const decision::Decision& decision);

// ── Workers and crons ──

void show_worker(Tell& tell,
                 const State& state,
                 const WorkerName& name,
                 const worker::Worker& worker);
void show_cron(Tell& tell, const State& state, const CronName& name, const cron::Cron& cron);

// Where in `logs/` of the home its programs say what they say; empty: it runs a pipeline.
std::string log_of(const State& state, const CronName& name, const cron::Cron& cron);

// "every 30s", "0 3 * * *" cannot be had back from its bits: "calendar".
std::string schedule_of(const cron::Cron& cron);
std::string run_text(const cron::Run& run);

}  // namespace reeve::api
