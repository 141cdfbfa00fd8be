#pragma once

#include "core/testing.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

// What the tests of pipelines share: runbooks written short, and a world that plays them.
namespace reeve::pipeline::testing {

using namespace reeve::testing;

inline definition::Phase phase(std::string name, definition::Action action) {
  definition::Phase phase;
  phase.name = std::move(name);
  phase.action = std::move(action);
  return phase;
}

inline definition::Phase shell(std::string name) {
  return phase(name, definition::RunShell{"run " + name});
}

inline definition::Pipeline in_phases(std::vector<definition::Phase> phases) {
  definition::Pipeline pipeline;
  pipeline.phases = std::move(phases);
  return pipeline;
}

inline Outcome exit_code(int code, std::string output = {}) {
  Outcome outcome;
  outcome.ended = code == 0 ? Ended::Done : Ended::Failed;
  outcome.exit_code = code;
  outcome.output = std::move(output);
  return outcome;
}

inline Outcome unknown() {
  Outcome outcome;
  outcome.ended = Ended::Unknown;
  return outcome;
}

inline Outcome with_values(definition::Map values) {
  Outcome outcome = exit_code(0);
  outcome.values = std::move(values);
  return outcome;
}

class Play : public World {
 public:
  definition::Set set;

  Play() { set.root = "/home/ana/shop"; }
  explicit Play(std::vector<definition::Phase> phases) : Play() {
    set.pipelines.set("fix", in_phases(std::move(phases)));
  }
  explicit Play(definition::Pipeline pipeline) : Play() {
    set.pipelines.set("fix", std::move(pipeline));
  }

  // The runbook as it is now.
  void load() {
    set.hash = "set" + std::to_string(++loads_);
    ask(definition::Load{default_project, Boxed<definition::Set>(set)});
  }

  reeve::Reply try_start(const std::string& name = "fix", definition::Map inputs = {}) {
    if (loads_ == 0) load();
    return ask(pipeline::Start{name, std::move(inputs), {{"HOME", "/home/ana"}}});
  }
  PipelineId start(const std::string& name = "fix", definition::Map inputs = {}) {
    return as<Started>(try_start(name, std::move(inputs))).pipeline;
  }

  const Pipeline& of(PipelineId id) const { return *state.pipelines.pipelines.find(id); }
  const Status& state_of(PipelineId id) const { return of(id).state; }

  // What is under way outside, in the order in which it was asked for.
  std::vector<EffectId> under_way() const {
    std::vector<EffectId> result;
    for (const auto& [id, started_effect] : state.outbox) result.push_back(id);
    return result;
  }
  template <class What>
  std::vector<EffectId> all_under_way() const {
    std::vector<EffectId> result;
    for (const auto& [id, entry] : state.outbox) {
      if (std::holds_alternative<What>(entry.effect.what)) result.push_back(id);
    }
    return result;
  }
  template <class What>
  What under_way_as(EffectId id) const {
    const reeve::Started* entry = state.outbox.find(id);
    if (!entry || !std::holds_alternative<What>(entry->effect.what)) {
      ADD_FAILURE() << "no such effect is under way";
      return What{};
    }
    return std::get<What>(entry->effect.what);
  }

  // The one shell program that runs now.
  EffectId step() const {
    const std::vector<EffectId> all = all_under_way<Shell>();
    if (all.size() != 1) {
      ADD_FAILURE() << all.size() << " steps are under way";
      return {};
    }
    return all.front();
  }
  Shell step_shell() const { return under_way_as<Shell>(step()); }

  void ends(Outcome outcome) { finish(step(), std::move(outcome)); }
  void succeeds() { ends(exit_code(0)); }
  void fails(std::string output = {}) { ends(exit_code(1, std::move(output))); }

  // The open question, which must be the only one, is answered.
  DecisionId question() const {
    if (state.decisions.open_of.size() != 1) {
      ADD_FAILURE() << state.decisions.open_of.size() << " questions are open";
      return {};
    }
    return (*state.decisions.open_of.begin()).second;
  }
  void decide(decision::Choice choice, std::string text = {}) {
    ask(decision::Resolve{question(), choice, std::move(text), "ana"});
  }

  std::size_t count(const std::string& name) const {
    const std::vector<std::string> all = names();
    return static_cast<std::size_t>(std::ranges::count(all, name));
  }

 private:
  int loads_ = 0;
};

}  // namespace reeve::pipeline::testing
