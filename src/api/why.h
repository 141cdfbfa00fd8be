#pragma once

#include "api/tell.h"
#include "core/id.h"
#include "core/state.h"

#include <string_view>
#include <vector>

// Why something does not move: the chain of those it waits for down to the process, the line, what
// will happen next and when. Each function writes the fields of the answer.
namespace reeve::api {

void why_lock(Tell& tell, const State& state, const LockName& name);
void why_semaphore(Tell& tell, const State& state, const SemaphoreName& name);
void why_queue(Tell& tell, const State& state, queue::QueueNo no);
void why_item(Tell& tell, const State& state, ItemId id);
void why_pipeline(Tell& tell, const State& state, PipelineId id);
void why_decision(Tell& tell, const State& state, DecisionId id);
void why_agent(Tell& tell, const State& state, WorkId id);
void why_worker(Tell& tell, const State& state, const WorkerName& name);
void why_cron(Tell& tell, const State& state, const CronName& name);
void why_task(Tell& tell, const State& state, BoardTaskId id);  // of the board
void why_section(Tell& tell, const State& state, const SectionName& name);

// The kinds of things of this name, in this order: "lock", "sem", "queue", "worker", "cron",
// "item", "pipeline", "decision", "agent", "task", "section". An id may be given by its beginning
// (api/ids.h).
std::vector<std::string_view> kinds_of(const State& state,
                                       std::string_view text,
                                       ProjectNo project);

}  // namespace reeve::api
