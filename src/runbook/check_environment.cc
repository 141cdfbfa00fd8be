#include "base/match.h"
#include "runbook/section.h"
#include "runbook/shell_text.h"

#include <fmt/format.h>

#include <algorithm>

// `env` of a phase is there for all that runs in it: not only its own program, but its guards, its
// agent, and what its strategy tries. Those are written elsewhere and used by others too, so none
// of them can ask that a variable be an integer.
namespace reeve::runbook {
namespace {

using definition::Phase;

class PhaseCheck {
 public:
  PhaseCheck(Loading& loading, std::string label, const std::vector<Carrier>& carriers)
      : loading_(loading), label_(std::move(label)), carriers_(carriers) {}

  void guard(const std::string& name) {
    const definition::Guard* guard = loading_.runbook.set.guards.find(name);
    if (guard) look_at(guard->condition, fmt::format("`condition` of [guard.{}]", name), {});
  }

  void agent(const std::string& name) {
    const definition::Agent* agent = loading_.runbook.set.agents.find(name);
    if (!agent) return;
    look_at(agent->command, fmt::format("`command` of [agent.{}]", name), agent->env);
    look_at(agent->checkpoint_run, fmt::format("`checkpoint` of [agent.{}]", name), agent->env);
  }

  void strategy(const std::string& name) {
    const definition::Strategy* strategy = loading_.runbook.set.strategies.find(name);
    if (!strategy) return;
    look_at(strategy->checkpoint, fmt::format("`checkpoint` of [strategy.{}]", name), {});
    for (const definition::Approach& approach : strategy->approaches) {
      const std::string where = fmt::format("[strategy.{}] attempt {}", name, approach.name);
      look_at(approach.rollback, "`rollback` of " + where, {});
      match(
          approach.action,
          [&](const definition::RunShell& run) { look_at(run.text, "`run` of " + where, {}); },
          [](const definition::RunMerge&) {},
          [&](const definition::RunAgent& run) { agent(run.agent); });
    }
  }

 private:
  // Of two values for one name that of the agent counts: `own`.
  void look_at(const std::string& program, const std::string& what, const definition::Map& own) {
    const auto written = loading_.runbook.written.find(program);
    if (written == loading_.runbook.written.end()) return;
    std::vector<std::string> names;
    for (const Carrier& each : carriers_) {
      const auto has = std::ranges::find(own, each.name, &definition::Map::value_type::first);
      if (has == own.end()) names.push_back(each.name);
    }
    const ShellText text = shell_text(written->second, names);
    for (const ShellMistake& each : text.mistakes) {
      if (!each.carrier.empty()) tell(each.carrier, "in " + what + " " + each.message);
    }
    for (const std::string& name : text.integers) {
      tell(name, what + " calculates with it: write the placeholder there itself");
    }
  }

  void tell(const std::string& name, const std::string& why) {
    loading_.mistake(
        std::ranges::find(carriers_, name, &Carrier::name)->where,
        fmt::format("`env` in {}: {} has a placeholder in it, and {}", label_, name, why));
  }

  Loading& loading_;
  std::string label_;
  const std::vector<Carrier>& carriers_;
};

}  // namespace

void check_environment(Loading& loading) {
  for (const PipelineNotes& notes : std::vector(loading.pipelines)) {
    const definition::Pipeline* pipeline = loading.runbook.set.pipelines.find(notes.name);
    if (!pipeline) continue;
    for (std::size_t i = 0; i < pipeline->phases.size(); ++i) {
      const Phase& phase = pipeline->phases[i];
      if (notes.carriers[i].empty()) continue;
      PhaseCheck check(loading, notes.label + " phase " + phase.name, notes.carriers[i]);
      for (const std::string& each : phase.pre) check.guard(each);
      for (const std::string& each : phase.post) check.guard(each);
      if (const auto* run = std::get_if<definition::RunAgent>(&phase.action)) {
        check.agent(run->agent);
      }
      if (const auto* run = std::get_if<definition::RunStrategy>(&phase.action)) {
        check.strategy(run->strategy);
      }
    }
  }
}

}  // namespace reeve::runbook
