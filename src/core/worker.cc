#include "core/worker.h"

#include "core/turn.h"

namespace reeve::worker {

reeve::Reply apply(Turn&, const Command&) { return {Ok{}}; }
void due(Turn&, const Due&) {}
void finished(Turn&, EffectId, const Address&, const Outcome&) {}
void pipeline_ended(Turn&, const pipeline::ByWorker&, PipelineId, pipeline::Ending,
                    const std::string&) {}
void wake(Turn&, const WorkerName&) {}
EventName name_of(const Event&) { return {}; }

}  // namespace reeve::worker
