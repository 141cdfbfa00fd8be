#include "tools/scenario.h"

#include "base/match.h"
#include "core/apply.h"
#include "core/interpolate.h"
#include "runbook/load.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

namespace reeve::tools {
namespace {

constexpr std::size_t most_steps = 100'000;
constexpr Duration answer_takes{1000};
constexpr Wall wall_begins{std::chrono::hours{24 * 365 * 50}};
constexpr Time time_begins{Duration{1'000'000}};

// "merge#2 rebase" is `merge rebase`: of a scenario every attempt is alike.
std::string without_attempt(std::string label) {
  const std::size_t hash = label.find('#');
  if (hash == std::string::npos) return label;
  const std::size_t space = std::min(label.find(' ', hash), label.size());
  return label.erase(hash, space - hash);
}

class Player {
 public:
  Player(const runbook::Runbook& runbook, const Scenario& scenario)
      : scenario_(scenario), state_(initial_state(time_begins)) {
    ask(definition::Load{default_project,
                         Boxed<definition::Set>(runbook::set_for(runbook, default_project))});
  }

  Played run() {
    const Reply reply = ask(pipeline::Start{scenario_.pipeline, scenario_.inputs, {}});
    if (const Refused* refused = std::get_if<Refused>(&reply.value)) {
      played_.ended = "failed";
      played_.why = fmt::format("it could not be started: {}", refused->subject);
      judge();
      return played_;
    }
    const Time began = now_;
    for (std::size_t steps = 0; steps < most_steps && !is_over(); ++steps) {
      if (!go_on()) break;
    }
    played_.took = now_ - began;
    tell_end();
    judge();
    return played_;
  }

 private:
  struct Ending {
    EffectId effect;
    std::optional<WorkId> work;  // an agent that says so itself
    Outcome outcome;
  };

  Reply ask(Command command) {
    return submit(Request{.project = default_project, .command = std::move(command)});
  }

  Reply submit(const Input& input) {
    Said said = apply_to(state_, input, {now_, wall_begins + (now_ - time_begins)});
    for (const Start& start : said.effects) started(start);
    for (const Event& event : said.events) happened(event);
    return std::move(said.reply);
  }

  const pipeline::Pipeline* run_of() const { return state_.pipelines.pipelines.find(id_); }
  bool is_over() const {
    const pipeline::Pipeline* pipeline = run_of();
    return !pipeline || pipeline::is_over(*pipeline);
  }

  // The next thing that happens; false: nothing ever will.
  bool go_on() {
    std::optional<Time> next = next_deadline(state_).engine;
    if (!endings_.empty() && (!next || endings_.begin()->first < *next)) {
      next = endings_.begin()->first;
    }
    if (!next) return false;
    now_ = std::max(now_, *next);
    if (scenario_.within && now_ - time_begins > *scenario_.within) return false;
    if (endings_.empty() || endings_.begin()->first > now_) {
      submit(Tick{});
      return true;
    }
    const Ending ending = endings_.begin()->second;
    endings_.erase(endings_.begin());
    if (!answer_.empty() && ending.effect == EffectId{} && !ending.work) {
      resolve();
    } else if (ending.work) {
      task::Report report{*ending.work, {}, ending.outcome.output};
      if (ending.outcome.exit_code != 0) report.error = ending.outcome.output;
      ask(report);
    } else {
      submit(EffectEnded{ending.effect, ending.outcome});
    }
    return true;
  }

  void resolve() {
    const std::string choice = std::move(answer_.front());
    answer_.erase(answer_.begin());
    for (const auto& entry : state_.decisions.open_of) {
      const DecisionId id = entry.second;
      const Reply reply = ask(decision::Resolve{id, choice, choice, "the scenario"});
      if (std::holds_alternative<Refused>(reply.value)) {
        played_.wrong.push_back(fmt::format("the answer `{}` is none of those offered", choice));
      }
      return;
    }
  }

  void later(Duration after, Ending ending) {
    endings_.emplace(saturating_add(now_, after), std::move(ending));
  }

  StepResult next_result(const std::string& step) {
    played_steps_.insert(step);
    const auto found = scenario_.steps.find(step);
    if (found == scenario_.steps.end()) return {};
    std::uint32_t& count = counts_[step];
    std::uint32_t upto = 0;
    for (const StepResult& result : found->second) {
      upto += result.times;
      if (count < upto) {
        ++count;
        return result;
      }
    }
    return found->second.back();
  }

  void end_as(const Start& start, const std::string& step, std::optional<Duration> timeout) {
    const StepResult result = next_result(step);
    Outcome outcome;
    outcome.exit_code = result.exit;
    outcome.ended = result.exit == 0 ? Ended::Done : Ended::Failed;
    outcome.output = result.output;
    outcome.values = result.outputs;
    const bool too_long = timeout && result.takes > *timeout;
    if (too_long) {
      outcome = {};
      outcome.ended = Ended::Failed;
      outcome.timed_out = true;
      outcome.output = result.output;
    }
    later(too_long ? *timeout : result.takes, {start.id, {}, std::move(outcome)});
  }

  // The approach that a strategy is trying, by its name.
  std::string approach_of(PipelineId id) const {
    const pipeline::Pipeline* pipeline = state_.pipelines.pipelines.find(id);
    if (!pipeline) return "merge";
    std::string phase = pipeline::phase_of(*pipeline);
    const auto* acting = std::get_if<pipeline::Acting>(&pipeline->course);
    const auto* run = acting ? std::get_if<pipeline::StrategyRun>(&acting->what) : nullptr;
    const definition::Set* set = definition::find(state_.definitions, pipeline->origin->set);
    const definition::Strategy* strategy = set && run ? set->strategies.find(run->name) : nullptr;
    const auto* trying = run ? std::get_if<strategy::Trying>(&run->machine.state) : nullptr;
    if (!strategy || !trying) return phase;
    return phase + " " + strategy->approaches.at(trying->approach).name;
  }

  void started(const Start& start) {
    const Ending well{start.id, {}, Outcome{}};
    match(
        start.effect.what,
        [&](const Shell& shell) { end_as(start, without_attempt(shell.label), shell.timeout); },
        [&](const Spawn& spawn) {
          const std::string step = "agent " + spawn.agent;
          if (!spawn.session) return end_as(start, step, spawn.timeout);
          const StepResult result = next_result(step);
          Outcome said;
          said.exit_code = result.exit;
          said.output = result.output;
          later(Duration{1}, well);
          later(result.takes, {{}, spawn.work, std::move(said)});
        },
        [&](const Send&) { later(Duration{1}, well); },
        [&](const Kill& kill) {
          // What was to end by itself ends by this.
          if (const EffectId* target = std::get_if<EffectId>(&kill.target)) {
            std::erase_if(endings_,
                          [&](const auto& each) { return each.second.effect == *target; });
            Outcome ended;
            ended.ended = Ended::Failed;
            ended.error = "ended on request";
            later(Duration{1}, {*target, {}, ended});
          }
          later(Duration{2}, well);
        },
        [&](const Nudge&) { later(Duration{1}, well); },
        [&](const WorktreeAdd&) {
          Ending made = well;
          made.outcome.values = {{"path", "/workspace"}};
          later(Duration{1}, made);
        },
        [&](const WorktreeRemove&) { later(Duration{1}, well); },
        [&](const Merge& merge) { end_as(start, approach_of(merge.pipeline), merge.timeout); },
        [&](const Notify&) { later(Duration{1}, well); },
        [&](const PollQueue&) { later(Duration{1}, well); },
        [&](const TakeQueueItem&) { later(Duration{1}, well); });
  }

  void happened(const Event& event) {
    if (const auto* of_pipeline = std::get_if<pipeline::Event>(&event.body)) {
      if (const auto* began = std::get_if<pipeline::WasStarted>(of_pipeline)) {
        if (!id_) id_ = began->pipeline;
      } else if (const auto* entered = std::get_if<pipeline::EnteredPhase>(of_pipeline)) {
        if (!id_) id_ = entered->pipeline;
        if (entered->pipeline == id_) played_.path.push_back(entered->phase);
      }
    } else if (const auto* of_decision = std::get_if<decision::Event>(&event.body)) {
      if (!std::holds_alternative<decision::WasOpened>(*of_decision)) return;
      if (answers_given_ >= scenario_.answers.size()) return;
      answer_.push_back(scenario_.answers[answers_given_++]);
      later(answer_takes, {});
    }
  }

  void tell_end() {
    const pipeline::Pipeline* pipeline = run_of();
    if (!pipeline) return;
    match(
        pipeline->state,
        [&](const pipeline::Init&) { played_.ended = "blocked"; },
        [&](const pipeline::Blocked&) {
          played_.ended = "blocked";
          for (const auto& entry : state_.decisions.open_of) {
            played_.why = state_.decisions.decisions.find(entry.second)->question;
          }
        },
        [&](const pipeline::Running& running) {
          played_.ended = "blocked";
          played_.why = fmt::format("it is still in phase {}", running.phase);
        },
        [&](const pipeline::Done&) { played_.ended = "done"; },
        [&](const pipeline::Failed& failed) {
          played_.ended = "failed";
          played_.why = failed.error;
        },
        [&](const pipeline::Cancelled&) { played_.ended = "cancelled"; });
  }

  void judge() {
    const auto words = [](const std::vector<std::string>& path) {
      return path.empty() ? std::string("no phase") : fmt::format("{}", fmt::join(path, ", "));
    };
    if (played_.path != scenario_.path) {
      played_.wrong.push_back(fmt::format("it went through {}, and was to go through {}",
                                          words(played_.path),
                                          words(scenario_.path)));
    }
    if (played_.ended != scenario_.ends) {
      played_.wrong.push_back(fmt::format("it ended {}{}, and was to end {}",
                                          played_.ended,
                                          played_.why.empty() ? "" : " (" + played_.why + ")",
                                          scenario_.ends));
    }
    if (!scenario_.error.empty() && played_.why.find(scenario_.error) == std::string::npos) {
      played_.wrong.push_back(
          fmt::format("it said `{}`, without `{}`", played_.why, scenario_.error));
    }
    for (const auto& entry : scenario_.steps) {
      if (played_steps_.contains(entry.first)) continue;
      played_.wrong.push_back(fmt::format("step `{}` was never run", entry.first));
    }
  }

  const Scenario& scenario_;
  State state_;
  Time now_ = time_begins;
  PipelineId id_;
  std::multimap<Time, Ending> endings_;
  std::vector<std::string> answer_;
  std::size_t answers_given_ = 0;
  std::map<std::string, std::uint32_t> counts_;
  std::set<std::string> played_steps_;
  Played played_;
};

}  // namespace

Played play(const runbook::Runbook& runbook, const Scenario& scenario) {
  return Player(runbook, scenario).run();
}

}  // namespace reeve::tools
