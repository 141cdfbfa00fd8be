#include "base/match.h"
#include "core/cron.h"
#include "core/limits.h"
#include "core/pipeline_course.h"
#include "core/worker.h"

// The end of a pipeline: who is told, and how long it is remembered.
namespace reeve::pipeline {
namespace {

void tell_starter(Turn& turn, const Pipeline& pipeline) {
  const Failed* failed = std::get_if<Failed>(&pipeline.state);
  const Ending ending = failed                                         ? Ending::Failed
                        : std::holds_alternative<Done>(pipeline.state) ? Ending::Done
                                                                       : Ending::Cancelled;
  const std::string error = failed ? failed->error : "";
  const PipelineId id = pipeline.id;
  // A copy: whoever is told may start the next one.
  const Starter starter = pipeline.origin->starter;
  match(
      starter,
      [](const ByClient&) {},
      [&](const ByWorker& by) { worker::pipeline_ended(turn, by, id, ending, error); },
      [&](const ByCron& by) { cron::pipeline_ended(turn, by.cron, id, ending); },
      [&](const ByParent& by) { child_ended(turn, id, by, ending, error); });
}

FinishedKey<PipelineId> ended_key(const Pipeline& pipeline) {
  return {pipeline.project, *pipeline.ended_at, pipeline.id};
}

bool is_awaited(const Turn& turn, PipelineId id) {
  const auto& awaited = turn.state().pipelines.awaited;
  const auto at = awaited.lower_bound({id, {}});
  return at != awaited.end() && (*at).dependency == id;
}

// Somebody waits for it, or its workspace is being removed.
bool is_needed(const Turn& turn, PipelineId id) {
  return is_awaited(turn, id) || std::holds_alternative<Clearing>(find(turn, id)->course);
}

// Over the number that is kept, the oldest goes, and that is not the one that has just ended.
void forget_oldest(Turn& turn, ProjectNo project, PipelineId newest = {}) {
  const Finished<PipelineId>& ended = turn.state().pipelines.ended;
  const std::uint64_t* count = ended.counts.find(project);
  if (!count || *count <= limits::finished_kept) return;
  turn.arm(Due{overdue(ended, project, turn.now(), newest)->id, Timer::Forget}, turn.now());
}

}  // namespace

const Pipeline* known(const Turn& turn, PipelineId id) {
  const Pipeline* pipeline = find(turn, id);
  if (!pipeline || !pipeline->ended_at || is_needed(turn, id)) return pipeline;
  const std::optional<Time> forgotten = deadline_of(turn.state().timers, Due{id, Timer::Forget});
  return forgotten && *forgotten <= turn.now() ? nullptr : pipeline;
}

void mind_place(Turn& turn, PipelineId id) {
  const Pipeline& pipeline = *find(turn, id);
  if (!pipeline.ended_at) return;
  Finished<PipelineId>& ended = turn.change().pipelines.ended;
  if (is_needed(turn, id)) return remove(ended, ended_key(pipeline));
  add(ended, ended_key(pipeline));
  forget_oldest(turn, pipeline.project, id);
}

namespace {

// Up to the room there is in the step; true when nothing is left.
template <class Map, class Key>
bool erase_all(Turn& turn, Map& map, const Key& from, PipelineId id) {
  while (true) {
    const auto at = map.lower_bound(from);
    if (at == map.end() || (*at).first.pipeline != id) return true;
    if (!turn.may_touch()) return false;
    turn.touch();
    const Key key = (*at).first;
    map.erase(key);
  }
}

}  // namespace

void settle_end(Turn& turn, PipelineId id) {
  leave_phase(turn, id);
  stop_waiting(turn, id);
  Pipeline& pipeline = edit(turn, id);
  pipeline.ended_at = turn.now();
  pipeline.verdict.reset();
  pipeline.questions = 0;
  pipeline.paused = false;
  --turn.change().pipelines.open;
  turn.arm(Due{id, Timer::Attend}, std::nullopt);
  turn.arm(Due{id, Timer::Forget}, kept_until(turn.now()));
  mind_place(turn, id);
  // One that failed may be tried again, and then with the runbook it knows.
  if (!std::holds_alternative<Failed>(find(turn, id)->state)) {
    const definition::SetKey set = find(turn, id)->origin->set;
    definition::unpin(turn, set);
  }
  if (std::holds_alternative<Done>(find(turn, id)->state) && is_awaited(turn, id)) {
    attend_soon(turn, id);
  }
  tell_starter(turn, *find(turn, id));
}

void tell_dependants(Turn& turn, PipelineId id) {
  if (!is_awaited(turn, id)) return;
  while (is_awaited(turn, id)) {
    if (!turn.may_touch()) return attend_soon(turn, id);
    turn.touch();
    Table& table = turn.change().pipelines;
    const Awaited pair = *table.awaited.lower_bound({id, {}});
    table.awaited.erase(pair);
    std::erase(edit(turn, pair.dependant).after, id);
    if (find(turn, pair.dependant)->after.empty()) attend_soon(turn, pair.dependant);
  }
  mind_place(turn, id);
}

// A failed one is open again, and whoever started it has it again. False: its item is gone.
bool reopen(Turn& turn, PipelineId id) {
  const Pipeline pipeline = *find(turn, id);
  const bool is_theirs = match(
      pipeline.origin->starter,
      [](const ByClient&) { return true; },
      [&](const ByWorker& by) {
        const std::optional<Token> claim = worker::reopen(turn, by, id);
        if (claim) std::get<ByWorker>(edit(turn, id).origin.edit().starter).claim = *claim;
        return claim.has_value();
      },
      [&](const ByCron& by) {
        cron::pipeline_reopened(turn, by.cron, id);
        return true;
      },
      [](const ByParent&) { return true; });
  if (!is_theirs) return false;
  remove(turn.change().pipelines.ended, ended_key(pipeline));
  turn.arm(Due{id, Timer::Forget}, std::nullopt);
  ++turn.change().pipelines.open;
  edit(turn, id).ended_at.reset();
  return true;
}

void clear_workspace(Turn& turn, PipelineId id, bool force) {
  const Pipeline& pipeline = *find(turn, id);
  WorktreeRemove remove{id, pipeline.workspace, force};
  const EffectId effect = turn.start(std::move(remove), Address{id, pipeline.entry});
  edit(turn, id).course = Clearing{effect, force};
  mind_place(turn, id);
}

// If nobody knows, it is done again; what is no longer there is easily removed.
void workspace_cleared(Turn& turn, PipelineId id, const Outcome& outcome) {
  if (outcome.ended == Ended::Unknown) {
    return clear_workspace(turn, id, std::get<Clearing>(find(turn, id)->course).force);
  }
  Pipeline& pipeline = edit(turn, id);
  pipeline.course = Idle{};
  if (strategy::has_succeeded(outcome)) {
    const std::string path = std::exchange(pipeline.workspace, {});
    pipeline.doubts_workspace = false;
    turn.emit(pipeline.project, WorkspaceRemoved{id, path});
  } else {
    turn.emit(pipeline.project, WorkspaceKept{id, pipeline.workspace, strategy::error_of(outcome)});
  }
  mind_place(turn, id);
}

void forget(Turn& turn, PipelineId id) {
  const Pipeline pipeline = *find(turn, id);
  if (!pipeline.ended_at) return;
  if (is_needed(turn, id)) {
    turn.arm(Due{id, Timer::Forget}, kept_until(turn.now()));
    return;
  }
  const bool empty = erase_all(turn, turn.change().pipelines.outputs, OutputKey{id, "", ""}, id) &&
                     erase_all(turn, turn.change().pipelines.checkpoints, CheckpointKey{id, 0}, id);
  if (!empty) {
    turn.arm(Due{id, Timer::Forget}, turn.now());
    return;
  }
  remove(turn.change().pipelines.ended, ended_key(pipeline));
  turn.change().pipelines.pipelines.erase(id);
  turn.arm(Due{id, Timer::Attend}, std::nullopt);
  if (std::holds_alternative<Failed>(pipeline.state)) definition::unpin(turn, pipeline.origin->set);
  forget_oldest(turn, pipeline.project);  // there may have been several too many
}

}  // namespace reeve::pipeline
