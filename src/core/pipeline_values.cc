#include "core/json_object.h"
#include "core/limits.h"
#include "core/pipeline_course.h"

namespace reeve::pipeline {

namespace {

constexpr int members_within = 4;

bool is_part_of_name(std::string_view text) {
  const std::vector<std::string> names = placeholders_in("{" + std::string(text) + "}");
  return names.size() == 1 && names.front() == text && text.find('.') == std::string_view::npos;
}

void add_members(Variables& to, const std::string& name, const std::string& value, int depth) {
  if (depth == 0 || !value.starts_with('{')) return;
  const auto members = json::read_object(value);
  if (!members) return;
  for (const json::Member& member : *members) {
    const bool is_null = !member.is_string && member.value == "null";
    if (is_null || !is_part_of_name(member.key) || !is_good_value(member.value)) continue;
    const std::string path = name + "." + member.key;
    to.emplace_back(path, member.value);
    if (!member.is_string) add_members(to, path, member.value, depth - 1);
  }
}

}  // namespace

Variables with_members(const Variables& inputs) {
  Variables result = inputs;
  for (const auto& [name, value] : inputs) add_members(result, name, value, members_within);
  return result;
}

Variables variables_of(const Turn& turn, const Pipeline& pipeline) {
  Variables result = with_members(pipeline.origin->inputs);
  result.emplace_back("id", to_text(pipeline.id));
  result.emplace_back("name", pipeline.origin->name);
  result.emplace_back("phase", phase_of(pipeline));
  result.emplace_back("attempt", std::to_string(attempt_of(pipeline)));
  if (const auto* project = turn.state().projects.projects.find(pipeline.project)) {
    result.emplace_back("project", project->name);
  }
  // Without a workspace there is no {workspace}: better an unknown name than an empty path.
  if (!pipeline.workspace.empty()) result.emplace_back("workspace", pipeline.workspace);
  if (!pipeline.branch.empty()) result.emplace_back("branch", pipeline.branch);
  const auto& outputs = turn.state().pipelines.outputs;
  for (auto at = outputs.lower_bound({pipeline.id, "", ""}); at != outputs.end(); ++at) {
    const auto& [key, value] = *at;
    if (key.pipeline != pipeline.id) break;
    result.emplace_back(key.phase + "." + key.key, value);
  }
  return result;
}

std::string Filler::operator()(std::string_view text) {
  if (unknown_) return {};
  auto filled = interpolate(text, variables_);
  if (const UnknownName* unknown = std::get_if<UnknownName>(&filled)) {
    unknown_ = unknown->name;
    return {};
  }
  return std::get<std::string>(std::move(filled));
}

definition::Map Filler::operator()(const definition::Map& map) {
  definition::Map result;
  for (const auto& [key, value] : map) result.emplace_back(key, (*this)(value));
  return result;
}

void Filler::add(std::string name, std::string value) {
  variables_.emplace_back(std::move(name), std::move(value));
}

Failure unknown_name(const Filler& fill) {
  return {"unknown name {" + fill.unknown().value_or("") + "}"};
}

namespace {

// The file that $REEVE_SECRETS names has what all the runs within one may see; a run sees what its
// own definition names, whoever it works for.
void let_through(Variables& environment, const Plan& plan) {
  const bool has_file = std::ranges::find(environment, "REEVE_SECRETS", [](const auto& entry) {
                          return std::string_view(entry.first);
                        }) != environment.end();
  if (!has_file) return;
  std::string names;
  if (plan.pipeline) {
    for (const auto* list : {&plan.pipeline->pass_env, &plan.pipeline->secret}) {
      for (const std::string& name : *list) names += (names.empty() ? "" : " ") + name;
    }
  }
  environment.emplace_back("REEVE_PASSED", std::move(names));
}

}  // namespace

Variables environment_of(const Turn& turn,
                         const Pipeline& pipeline,
                         const Plan& plan,
                         Filler& fill) {
  Variables result = pipeline.origin->environment;
  let_through(result, plan);
  if (plan.phase) {
    for (auto& entry : fill(plan.phase->env)) result.push_back(std::move(entry));
  }
  if (const auto* project = turn.state().projects.projects.find(pipeline.project)) {
    result.emplace_back("REEVE_PROJECT", project->name);
  }
  result.emplace_back("REEVE_PIPELINE", to_text(pipeline.id));
  // Whoever takes something in here holds it within the pipeline: a wait for what that holds itself
  // would never end, and is found out.
  result.emplace_back("REEVE_HOLDER", holder_of(pipeline).name);
  result.emplace_back("REEVE_PHASE", phase_of(pipeline));
  result.emplace_back("REEVE_ATTEMPT", std::to_string(attempt_of(pipeline)));
  if (!pipeline.workspace.empty()) result.emplace_back("REEVE_WORKSPACE", pipeline.workspace);
  if (pipeline.holding.granted && pipeline.holding.fence != Token{}) {
    result.emplace_back("REEVE_FENCE", std::to_string(pipeline.holding.fence.value));
  }
  return result;
}

std::string directory_of(const Pipeline& pipeline,
                         const Plan& plan,
                         Filler& fill,
                         const std::string& cwd) {
  std::string home = pipeline.workspace;
  if (home.empty() && plan.set) home = plan.set->root;
  return path_within(home, fill(cwd));
}

std::string directory_of(const Pipeline& pipeline, const Plan& plan, Filler& fill) {
  return directory_of(pipeline, plan, fill, plan.phase ? plan.phase->cwd : std::string());
}

Shell shell_of(const Turn& turn,
               const Pipeline& pipeline,
               const Plan& plan,
               Filler& fill,
               std::string text,
               std::string label) {
  Shell shell;
  shell.text = std::move(text);
  shell.environment = environment_of(turn, pipeline, plan, fill);
  shell.directory = directory_of(pipeline, plan, fill);
  shell.variables = fill.variables();
  shell.pipeline = pipeline.id;
  shell.label = std::move(label);
  shell.strict = plan.phase && plan.phase->strict;
  return shell;
}

std::optional<Failure> publish(Turn& turn,
                               PipelineId id,
                               const std::string& phase,
                               const definition::Map& values) {
  for (const auto& [key, value] : values) {
    if (!is_good_value(value)) return Failure{"output " + key + " is too large, or has a NUL"};
  }
  if (values.size() > limits::batch_items) return Failure{"too many outputs"};
  for (const auto& [key, value] : values) {
    const OutputKey place{id, phase, key};
    const std::string* before = turn.state().pipelines.outputs.find(place);
    if (before && *before == value) continue;
    turn.change().pipelines.outputs.set(place, value);
  }
  return std::nullopt;
}

}  // namespace reeve::pipeline
