#include "base/match.h"
#include "core/interpolate.h"
#include "runbook/section.h"

#include <fmt/format.h>

#include <algorithm>

// A prompt that is to be read from a file that is not there. Only what can be known is told: the
// file may come with a workspace, out of an earlier phase, or be what a guard waits for.
namespace reeve::runbook {
namespace {

using definition::Agent;
using definition::Phase;
using definition::Pipeline;

bool has_placeholder(std::string_view text) { return text.find('{') != std::string_view::npos; }

bool is_run_by(const definition::Set& set, const Phase& phase, const std::string& agent) {
  const auto is_it = [&](const definition::RunAgent* run) { return run && run->agent == agent; };
  if (is_it(std::get_if<definition::RunAgent>(&phase.action))) return true;
  const auto* run = std::get_if<definition::RunStrategy>(&phase.action);
  const definition::Strategy* strategy = run ? set.strategies.find(run->strategy) : nullptr;
  return strategy && std::ranges::any_of(strategy->approaches, [&](const auto& approach) {
           return is_it(std::get_if<definition::RunAgent>(&approach.action));
         });
}

// Whether the file may be made before this phase reads it, or is looked for elsewhere.
bool may_come_later(const Pipeline& pipeline, const Phase& phase) {
  return pipeline.workspace || !phase.cwd.empty() || !phase.pre.empty() ||
         &phase != &pipeline.phases.front() ||
         !std::holds_alternative<definition::RunAgent>(phase.action);
}

bool may_come_later(const definition::Set& set, const std::string& agent) {
  for (const auto& [name, pipeline] : set.pipelines) {
    for (const Phase& phase : pipeline.phases) {
      if (is_run_by(set, phase, agent) && may_come_later(pipeline, phase)) return true;
    }
  }
  return false;
}

}  // namespace

void check_prompt_files(Loading& loading, const std::string& root) {
  if (!loading.outside->is_file || !loading.unread.empty()) return;
  const definition::Set& set = loading.runbook.set;
  for (const auto& [name, where] : loading.prompt_files) {
    const Agent* agent = set.agents.find(name);
    if (!agent || has_placeholder(agent->prompt_file) || has_placeholder(agent->cwd)) continue;
    if (may_come_later(set, name)) continue;
    std::string path = agent->prompt_file;
    const auto within = [&](const std::string& folder) {
      if (!path.starts_with('/')) path = fmt::format("{}/{}", folder, path);
    };
    if (!agent->cwd.empty()) within(agent->cwd);
    within(root);
    if (loading.outside->is_file(path)) continue;
    loading.mistake(where,
                    fmt::format("`prompt_file` in [agent.{}]: there is no file {}", name, path));
  }
}

}  // namespace reeve::runbook
