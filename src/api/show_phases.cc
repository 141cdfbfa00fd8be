#include "api/show_phases.h"

#include "api/show_run.h"

#include <string>
#include <string_view>

namespace reeve::api {

namespace {

using pipeline::Pipeline;

// Of a phase that it is not in.
std::string_view past_of(const Pipeline& pipeline, const std::string& name) {
  if (const bool* well = pipeline.left.find(name)) return *well ? "done" : "failed";
  return pipeline.visits.find(name) ? "left" : "to come";
}

}  // namespace

void show_phases(Tell& tell, const State& state, const Pipeline& pipeline) {
  JsonWriter& json = tell.json.key("phases").begin_array();
  const definition::Pipeline* definition = definition_of(state, pipeline);
  if (definition) {
    const std::string here = pipeline::phase_of(pipeline);
    for (const definition::Phase& phase : definition->phases) {
      const std::uint32_t* visits = pipeline.visits.find(phase.name);
      json.begin_object().field("name", phase.name);
      json.field("state", phase.name == here ? state_of(pipeline) : past_of(pipeline, phase.name));
      json.field("visits", visits ? *visits : 0U).end_object();
    }
  }
  json.end_array();
}

}  // namespace reeve::api
