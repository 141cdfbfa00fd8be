#include "api/show_phases.h"

#include "api/show_run.h"

#include <string>
#include <string_view>
#include <variant>

namespace reeve::api {

namespace {

using pipeline::Pipeline;

// The name of the phase that comes after this one when it is done; empty: none.
std::string_view after(const definition::Pipeline& definition, std::size_t index) {
  const definition::Phase& phase = definition.phases[index];
  if (!phase.next.empty()) return phase.next;
  if (phase.ends || index + 1 == definition.phases.size()) return {};
  return definition.phases[index + 1].name;
}

// Of a phase that it is not in: one that was done has led to the next, or to the end of all.
std::string_view past_of(const Pipeline& pipeline,
                         const definition::Pipeline& definition,
                         std::size_t index) {
  const std::string& name = definition.phases[index].name;
  if (!pipeline.visits.find(name)) return "to come";
  if (pipeline.verdict && pipeline.verdict->failed.phase == name) return "failed";
  if (std::holds_alternative<pipeline::Done>(pipeline.state) && after(definition, index).empty()) {
    return "done";
  }
  const std::string next(after(definition, index));
  return !next.empty() && pipeline.visits.find(next) ? "done" : "left";
}

}  // namespace

void show_phases(Tell& tell, const State& state, const Pipeline& pipeline) {
  JsonWriter& json = tell.json.key("phases").begin_array();
  const definition::Pipeline* definition = definition_of(state, pipeline);
  if (definition) {
    const std::string here = pipeline::phase_of(pipeline);
    for (std::size_t i = 0; i < definition->phases.size(); ++i) {
      const definition::Phase& phase = definition->phases[i];
      const std::uint32_t* visits = pipeline.visits.find(phase.name);
      json.begin_object().field("name", phase.name);
      json.field("state",
                 phase.name == here ? state_of(pipeline) : past_of(pipeline, *definition, i));
      json.field("visits", visits ? *visits : 0U).end_object();
    }
  }
  json.end_array();
}

}  // namespace reeve::api
