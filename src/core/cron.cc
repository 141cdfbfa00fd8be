#include "core/cron.h"

#include "core/turn.h"

namespace reeve::cron {

reeve::Reply apply(Turn&, const Command&) { return {Ok{}}; }
void due(Turn&, const Due&) {}
void finished(Turn&, EffectId, const Address&, const Outcome&) {}
void pipeline_ended(Turn&, const CronName&, PipelineId, pipeline::Ending) {}
EventName name_of(const Event&) { return {}; }

}  // namespace reeve::cron
