#include "base/match.h"
#include "core/pipeline_course.h"
#include "core/task.h"

// What a phase does: a shell program, an agent, a strategy. (Children: pipeline_children.cc.)
namespace reeve::pipeline {
namespace {

std::string label_of(const Pipeline& pipeline) {
  return phase_of(pipeline) + "#" + std::to_string(attempt_of(pipeline));
}

// A shell program knows its limit itself; for everything else the phase keeps the time.
void arm_timeout(Turn& turn, PipelineId id, const definition::Phase& phase) {
  if (!phase.timeout) return;
  turn.arm(Due{id, Timer::Timeout}, saturating_add(turn.now(), *phase.timeout));
}

void run_shell(Turn& turn, PipelineId id, const definition::RunShell& run) {
  const Pipeline& pipeline = *find(turn, id);
  const Plan plan = plan_of(turn, pipeline);
  Filler fill(turn, pipeline);
  Shell shell = shell_of(turn, pipeline, plan, fill, run.text, label_of(pipeline));
  if (fill.unknown()) return fail_phase(turn, id, unknown_name(fill));
  shell.timeout = plan.phase->timeout;
  const EffectId effect = turn.start(std::move(shell), Address{id, pipeline.entry});
  edit(turn, id).course = Acting{ShellRun{effect, {}}};
}

// The agent, or nothing if it cannot be begun: then the phase has failed.
std::optional<WorkId> begin_agent(Turn& turn,
                                  PipelineId id,
                                  const std::string& name,
                                  Filler fill,
                                  std::optional<Duration> timeout,
                                  const Variables& more = {}) {
  const Pipeline& pipeline = *find(turn, id);
  const Plan plan = plan_of(turn, pipeline);
  const definition::Agent* agent = plan.set->agents.find(name);
  if (!agent) {
    fail_phase(turn, id, {"there is no agent " + name});
    return std::nullopt;
  }
  task::Begin begin;
  begin.pipeline = id;
  begin.entry = pipeline.entry;
  begin.project = pipeline.project;
  begin.name = name;
  begin.agent = *agent;
  const std::string& cwd = agent->cwd.empty() && plan.phase ? plan.phase->cwd : agent->cwd;
  begin.agent.cwd = fill(agent->cwd);
  begin.agent.env = fill(agent->env);
  begin.agent.prompt_file = fill(agent->prompt_file);
  if (timeout) begin.agent.timeout = timeout;
  begin.prompt = fill(agent->prompt);
  begin.workspace = directory_of(pipeline, plan, fill, cwd);
  begin.variables = fill.variables();
  begin.environment = environment_of(turn, pipeline, plan, fill);
  begin.environment.insert(begin.environment.end(), more.begin(), more.end());
  if (fill.unknown()) {
    fail_phase(turn, id, unknown_name(fill));
    return std::nullopt;
  }
  return task::begin(turn, begin);
}

void run_agent(Turn& turn, PipelineId id, const definition::RunAgent& run) {
  const Filler fill(turn, *find(turn, id));
  const std::optional<WorkId> work = begin_agent(turn, id, run.agent, fill, std::nullopt);
  if (!work) return;
  edit(turn, id).course = Acting{AgentRun{*work}};
  arm_timeout(turn, id, *plan_of(turn, *find(turn, id)).phase);
}

// ── Strategy ──

MergeStrategy merge_strategy(definition::MergeKind kind) {
  switch (kind) {
    case definition::MergeKind::FastForward:
      return MergeStrategy::FastForward;
    case definition::MergeKind::Rebase:
      return MergeStrategy::Rebase;
    case definition::MergeKind::Squash:
      return MergeStrategy::Squash;
    case definition::MergeKind::Merge:
      return MergeStrategy::Merge;
  }
  return MergeStrategy::FastForward;
}

// A language that `fallback_on` can rely on.
const Variables one_language = {{"LC_ALL", "C.UTF-8"}};

// The one way in which a strategy's texts are run: with {checkpoint}, in that language.
struct StrategyHands {
  Turn& turn;
  PipelineId id;
  Filler fill;

  std::optional<EffectId> shell(const std::string& text,
                                const std::string& what,
                                std::optional<Duration> timeout) {
    const Pipeline& pipeline = *find(turn, id);
    Shell shell = shell_of(
        turn, pipeline, plan_of(turn, pipeline), fill, text, label_of(pipeline) + " " + what);
    shell.environment.insert(shell.environment.end(), one_language.begin(), one_language.end());
    shell.timeout = timeout;
    if (fill.unknown()) return std::nullopt;
    return turn.start(std::move(shell), Address{id, pipeline.entry});
  }

  std::optional<EffectId> merge(const definition::RunMerge& run, std::optional<Duration> timeout) {
    Merge merge;
    merge.pipeline = id;
    merge.branch = fill(run.branch.empty() ? "{branch}" : run.branch);
    merge.into = fill(run.into);
    merge.strategy = merge_strategy(run.kind);
    merge.timeout = timeout;
    if (fill.unknown()) return std::nullopt;
    return turn.start(std::move(merge), Address{id, find(turn, id)->entry});
  }
};

void keep_running(Turn& turn, PipelineId id, std::variant<EffectId, WorkId> running) {
  std::get<StrategyRun>(std::get<Acting>(edit(turn, id).course).what).running = running;
}

// `output`: of what ran last, for whoever is asked.
void go_on(Turn& turn,
           PipelineId id,
           const std::string& name,
           strategy::Step step,
           const std::string& output = {}) {
  const Pipeline& pipeline = *find(turn, id);
  for (strategy::Fact& fact : step.facts) {
    turn.emit(pipeline.project, strategy::Event{id, phase_of(pipeline), name, std::move(fact)});
  }
  Filler fill(turn, pipeline);
  fill.add("checkpoint", step.strategy.checkpoint);
  edit(turn, id).course = Acting{StrategyRun{name, std::move(step.strategy), EffectId{}, {}}};

  StrategyHands hands{turn, id, fill};
  const definition::Strategy* definition =
      plan_of(turn, *find(turn, id)).set->strategies.find(name);
  const auto started = [&](std::optional<EffectId> effect) {
    if (!effect) return fail_phase(turn, id, unknown_name(hands.fill));
    keep_running(turn, id, *effect);
  };
  match(
      step.next,
      [](const strategy::Nothing&) {},
      [&](const strategy::RunCheckpoint& run) {
        started(hands.shell(run.text, "checkpoint", std::nullopt));
      },
      [&](const strategy::RunApproach& run) {
        match(
            run.action,
            [&](const definition::RunShell& shell) {
              started(hands.shell(shell.text, run.name, run.timeout));
            },
            [&](const definition::RunMerge& merge) { started(hands.merge(merge, run.timeout)); },
            [&](const definition::RunAgent& agent) {
              const auto work =
                  begin_agent(turn, id, agent.agent, hands.fill, run.timeout, one_language);
              if (work) keep_running(turn, id, *work);
            });
      },
      [&](const strategy::RunRollback& run) {
        started(hands.shell(
            run.text, "rollback of " + definition->approaches[run.approach].name, std::nullopt));
      },
      [&](const strategy::Succeeded&) { acted(turn, id); },
      [&](const strategy::Exhausted& end) {
        fail_phase(turn, id, {end.error, Cause::Exhausted, output});
      },
      [&](const strategy::Failed& end) {
        fail_phase(turn, id, {end.error, end.fatal ? Cause::Fatal : Cause::Ordinary, output});
      },
      [&](const strategy::Unclear& end) {
        fail_phase(turn, id, {end.error, Cause::Unknown, output});
      });
}

void run_strategy(Turn& turn, PipelineId id, const definition::RunStrategy& run) {
  const Plan plan = plan_of(turn, *find(turn, id));
  const definition::Strategy* definition = plan.set->strategies.find(run.strategy);
  if (!definition) return fail_phase(turn, id, {"there is no strategy " + run.strategy});
  arm_timeout(turn, id, *plan.phase);
  go_on(turn, id, run.strategy, strategy::start(*definition));
}

}  // namespace

void act(Turn& turn, PipelineId id) {
  const Plan plan = plan_of(turn, *find(turn, id));
  const auto by_children = [&] {
    arm_timeout(turn, id, *plan.phase);
    act_by_children(turn, id);
  };
  match(
      plan.phase->action,
      [&](const definition::RunShell& run) { run_shell(turn, id, run); },
      [&](const definition::RunAgent& run) { run_agent(turn, id, run); },
      [&](const definition::RunStrategy& run) { run_strategy(turn, id, run); },
      [&](const definition::RunPipeline&) { by_children(); },
      [&](const definition::RunParallel&) { by_children(); },
      [&](const definition::RunForEach&) { by_children(); });
}

// What the step itself said counts, also when nobody knows how its process ended.
void shell_ended(Turn& turn, PipelineId id, const Outcome& outcome) {
  const Pipeline& pipeline = *find(turn, id);
  const std::optional<Word> word = std::get<ShellRun>(std::get<Acting>(pipeline.course).what).word;
  if (!word && outcome.ended == Ended::Unknown) {
    return fail_phase(turn, id, {"nobody knows how it ended", Cause::Unknown, outcome.output});
  }
  const std::optional<Failure> bad = publish(turn, id, phase_of(pipeline), outcome.values);
  if (word && !word->error.empty()) {
    return fail_phase(turn, id, {word->error, Cause::Ordinary, outcome.output});
  }
  if (!word && !strategy::has_succeeded(outcome)) {
    return fail_phase(turn, id, {strategy::error_of(outcome), Cause::Ordinary, outcome.output});
  }
  if (bad) return fail_phase(turn, id, *bad);
  acted(turn, id);
}

namespace {

// As the program itself has it (`reeve done`), if it said anything.
Outcome by_its_word(Outcome outcome, const std::optional<Word>& word) {
  if (!word) return outcome;
  outcome.ended = word->error.empty() ? Ended::Done : Ended::Failed;
  outcome.exit_code = word->error.empty() ? 0 : 1;
  outcome.signal.reset();
  outcome.timed_out = false;
  outcome.error = word->error;
  return outcome;
}

}  // namespace

void strategy_ended(Turn& turn, PipelineId id, const Outcome& ended) {
  const Pipeline& pipeline = *find(turn, id);
  const StrategyRun run = std::get<StrategyRun>(std::get<Acting>(pipeline.course).what);
  const Plan plan = plan_of(turn, pipeline);
  const definition::Strategy* definition = plan.set ? plan.set->strategies.find(run.name) : nullptr;
  if (!definition) return fail_phase(turn, id, {"there is no strategy " + run.name});
  const Outcome outcome = by_its_word(ended, run.word);
  // What has failed has failed by itself, and what comes of that is the strategy's to say.
  const std::optional<Failure> bad = publish(turn, id, phase_of(pipeline), outcome.values);
  if (bad && strategy::has_succeeded(outcome)) return fail_phase(turn, id, *bad);
  go_on(turn, id, run.name, strategy::finished(run.machine, *definition, outcome), outcome.output);
}

std::optional<WorkId> agent_of(const Pipeline& pipeline) {
  const Acting* acting = std::get_if<Acting>(&pipeline.course);
  if (!acting) return std::nullopt;
  if (const AgentRun* run = std::get_if<AgentRun>(&acting->what)) return run->work;
  const StrategyRun* run = std::get_if<StrategyRun>(&acting->what);
  const WorkId* work = run ? std::get_if<WorkId>(&run->running) : nullptr;
  return work ? std::optional(*work) : std::nullopt;
}

void agent_ended(Turn& turn,
                 PipelineId id,
                 std::uint64_t entry,
                 WorkId work,
                 const Outcome& outcome,
                 bool told) {
  const Pipeline* pipeline = find(turn, id);
  if (!pipeline || pipeline->entry != entry) return;
  if (const Leaving* leaving = std::get_if<Leaving>(&pipeline->course)) {
    if (leaving->still != decltype(leaving->still){work}) return;
    // A person's word came first, and is final.
    if (told && std::holds_alternative<FailWith>(leaving->exit)) {
      std::get<Leaving>(edit(turn, id).course).exit = FailWith{{outcome.error, Cause::Told}};
    }
    return take_exit(turn, id, outcome);
  }
  if (agent_of(*pipeline) != work) return;
  if (told) {
    // No second try, and no other approach.
    (void)publish(turn, id, phase_of(*pipeline), outcome.values);
    return fail_phase(turn, id, {outcome.error, Cause::Told, outcome.output});
  }
  if (std::holds_alternative<StrategyRun>(std::get<Acting>(pipeline->course).what)) {
    return strategy_ended(turn, id, outcome);
  }
  const std::optional<Failure> bad = publish(turn, id, phase_of(*pipeline), outcome.values);
  if (outcome.ended == Ended::Unknown) {
    return fail_phase(turn, id, {"nobody knows how it ended", Cause::Unknown, outcome.output});
  }
  if (!strategy::has_succeeded(outcome)) {
    return fail_phase(turn, id, {strategy::error_of(outcome), Cause::Ordinary, outcome.output});
  }
  if (bad) return fail_phase(turn, id, *bad);
  acted(turn, id);
}

}  // namespace reeve::pipeline
