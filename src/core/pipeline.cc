#include "core/pipeline.h"

#include "core/turn.h"

namespace reeve::pipeline {

reeve::Reply apply(Turn&, const Command&) { return {Ok{}}; }
void due(Turn&, const Due&) {}
void finished(Turn&, EffectId, const Address&, const Outcome&) {}
std::variant<PipelineId, Refused> begin(Turn&, const Begin&) { return PipelineId{}; }
void cancel(Turn&, PipelineId) {}
void agent_ended(Turn&, PipelineId, std::uint64_t, WorkId, const Outcome&) {}
void decided(Turn&, const decision::PhaseOwner&, const decision::Answer&) {}
void decided(Turn&, const decision::GuardOwner&, const decision::Answer&) {}
void asked(Turn&, PipelineId, std::uint64_t, const reeve::Reply&) {}
void wake_guard(Turn&, PipelineId, std::uint64_t, const std::string&) {}
void checkpoint(Turn&, PipelineId, const std::string&) {}
EventName name_of(const Event&) { return {}; }

}  // namespace reeve::pipeline
