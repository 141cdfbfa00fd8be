#include "core/limits.h"
#include "core/names.h"
#include "core/pipeline_course.h"

#include <algorithm>

// How a pipeline comes to be: everything is looked at first, and refused with nothing done.
namespace reeve::pipeline {
namespace {

bool is_given(const definition::Map& inputs, const std::string& name) {
  return std::ranges::find(inputs, name, &definition::Map::value_type::first) != inputs.end();
}

// The inputs with their defaults, which may use what was given, those before them, and the
// names that are known by now. More than was asked for does no harm: an item of a queue may
// say more than a pipeline wants to know.
std::variant<definition::Map, Refused> inputs_of(const Turn& turn,
                                                 PipelineId id,
                                                 const Begin& begin,
                                                 const definition::Pipeline& definition) {
  definition::Map inputs = begin.inputs;
  Variables known = with_members(inputs);
  known.emplace_back("id", to_text(id));
  known.emplace_back("name", begin.name);
  if (const auto* project = turn.state().projects.projects.find(begin.set.project)) {
    known.emplace_back("project", project->name);
  }
  for (const auto& [name, text] : definition.defaults) {
    if (is_given(inputs, name)) continue;
    auto filled = interpolate(text, known);
    if (const auto* unknown = std::get_if<UnknownName>(&filled)) {
      return Refused{Why::BadValue, unknown->name};
    }
    inputs.emplace_back(name, std::get<std::string>(std::move(filled)));
    // In front: an input hides a built-in name, also one that nobody gave.
    const Variables more = with_members({inputs.back()});
    known.insert(known.begin(), more.begin(), more.end());
  }
  for (const std::string& name : definition.inputs) {
    if (!is_given(inputs, name)) return Refused{Why::BadValue, name};
  }
  for (const auto& [name, value] : inputs) {
    if (!is_good_value(value)) return Refused{Why::BadValue, name};
  }
  return inputs;
}

// The pipelines it has to wait for: those of `after` that are not done. Empty ones are skipped.
std::variant<std::vector<PipelineId>, Refused> unmet(const Turn& turn,
                                                     const definition::Map& inputs,
                                                     const definition::Pipeline& definition) {
  std::vector<PipelineId> result;
  Filler fill(with_members(inputs));
  for (const std::string& text : definition.after) {
    const std::string name = fill(text);
    if (fill.unknown()) return Refused{Why::BadValue, *fill.unknown()};
    if (name.empty()) continue;
    const std::optional<PipelineId> id = parse_id<PipelineId>(name);
    const Pipeline* dependency = id ? known(turn, *id) : nullptr;
    if (!dependency) return Refused{Why::NotFound, name};
    const bool known = std::ranges::find(result, *id) != result.end();
    if (!known && !std::holds_alternative<Done>(dependency->state)) result.push_back(*id);
  }
  return result;
}

std::uint32_t depth_of(const Turn& turn, const Starter& starter) {
  const ByParent* by = std::get_if<ByParent>(&starter);
  const Pipeline* parent = by ? find(turn, by->pipeline) : nullptr;
  return parent ? parent->depth + 1 : 0;
}

}  // namespace

std::variant<PipelineId, Refused> begin(Turn& turn, const Begin& begin) {
  const definition::Set* set = definition::find(turn.state().definitions, begin.set);
  if (!set) return Refused{Why::NotFound, "runbook"};
  const definition::Pipeline* definition = set->pipelines.find(begin.name);
  if (!definition || definition->phases.empty()) return Refused{Why::NotFound, begin.name};
  if (turn.state().pipelines.open >= limits::open_pipelines) {
    return Refused{Why::OverLimit, "open pipelines"};
  }
  const std::uint32_t depth = depth_of(turn, begin.starter);
  if (depth > limits::pipelines_within) return Refused{Why::OverLimit, "pipelines within"};
  const PipelineId id{turn.state().last_number + 1};
  auto inputs = inputs_of(turn, id, begin, *definition);
  if (const Refused* refused = std::get_if<Refused>(&inputs)) return *refused;
  auto after = unmet(turn, std::get<definition::Map>(inputs), *definition);
  if (const Refused* refused = std::get_if<Refused>(&after)) return *refused;

  Pipeline pipeline;
  pipeline.id = turn.next_id<PipelineId>();
  pipeline.project = begin.set.project;
  pipeline.origin = Boxed<Begin>(begin);
  pipeline.origin.edit().inputs = std::get<definition::Map>(std::move(inputs));
  pipeline.depth = depth;
  pipeline.after = std::get<std::vector<PipelineId>>(std::move(after));
  pipeline.created_at = turn.now();
  const bool waits = !pipeline.after.empty();
  Table& table = turn.change().pipelines;
  for (const PipelineId dependency : pipeline.after) {
    table.awaited.insert({dependency, id});
    mind_place(turn, dependency);
  }
  table.pipelines.set(id, std::move(pipeline));
  ++table.open;
  definition::pin(turn, begin.set);
  if (const ByParent* by = std::get_if<ByParent>(&begin.starter)) child_began(turn, id, *by);

  moved(turn, id, move::Start{definition->phases.front().name, waits});
  if (!waits) enter(turn, id);
  return id;
}

void stop_waiting(Turn& turn, PipelineId id) {
  const std::vector<PipelineId> after = find(turn, id)->after;
  if (after.empty()) return;
  Table& table = turn.change().pipelines;
  for (const PipelineId dependency : after) table.awaited.erase({dependency, id});
  edit(turn, id).after.clear();
  for (const PipelineId dependency : after) mind_place(turn, dependency);
}

}  // namespace reeve::pipeline
