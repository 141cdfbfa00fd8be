#include "core/task_testing.h"

#include <gtest/gtest.h>

// An agent that is started by itself (`run = { agent = ... }`), and signs that are no proof.
namespace reeve::task {
namespace {

using agent::Doing;

World with_fixer() {
  World world;
  definition::Agent agent;
  agent.kind = "claude";
  agent.command = "claude";
  agent.prompt = "Fix {bug} of {project}.";
  agent.prompt_file = "{bug}.md";
  agent.cwd = "{workspace}/src";
  agent.env = {{"ROLE", "fixer of {bug}"}};
  definition::Set set;
  set.hash = "one";
  set.root = "/shop";
  set.agents.set("fixer", agent);
  world.ask(definition::Load{default_project, Boxed<definition::Set>(set)});
  return world;
}

TEST(TaskRun, ItsTextsAreFilledInAndItHasItsEnvironment) {
  World world = with_fixer();
  const WorkId id =
      as<Begun>(world.ask(task::Run{"fixer", "", "", {{"bug", "42"}}, {{"HOME", "/home/ana"}}}))
          .work;
  const Spawn spawn =
      std::get<Spawn>(world.state.outbox.find(open_effect<Spawn>(world))->effect.what);
  EXPECT_EQ(spawn.work, id);
  EXPECT_EQ(spawn.kind, "claude");
  EXPECT_EQ(spawn.prompt, "Fix 42 of default.");
  EXPECT_EQ(spawn.prompt_file, "42.md");
  EXPECT_EQ(spawn.workspace, "/shop/src");
  EXPECT_EQ(
      spawn.environment,
      (Variables{{"HOME", "/home/ana"}, {"REEVE_PROJECT", "default"}, {"ROLE", "fixer of 42"}}));
  EXPECT_EQ(spawn.variables.front(), (std::pair<std::string, std::string>{"bug", "42"}));

  world.finish(open_effect<Spawn>(world));
  world.ask(Report{id, {}, "fixed"});
  world.finish(open_effect<reeve::Kill>(world));
  EXPECT_EQ(std::get<Done>(the(world, id).state).result, (Result{Success{"fixed"}}));
  EXPECT_TRUE(is_over(the(world, id)));
}

TEST(TaskRun, AValueThatIsTooLargeOrHasANulIsRefusedByName) {
  World world = with_fixer();
  for (const std::string& bad :
       {std::string(limits::value_bytes + 1, 'x'), std::string("a\0b", 3)}) {
    EXPECT_EQ(as<Refused>(world.ask(task::Run{"fixer", "", "", {{"bug", bad}}, {}})),
              (Refused{Why::BadValue, "bug"}));
  }
  EXPECT_TRUE(world.state.outbox.empty());
}

TEST(TaskRun, AnUnknownNameIsRefusedAndNothingStarts) {
  World world = with_fixer();
  EXPECT_EQ(as<Refused>(world.ask(task::Run{"fixer", "", "", {}, {}})),
            (Refused{Why::BadValue, "bug"}));
  EXPECT_EQ(as<Refused>(world.ask(task::Run{"fixer", "Do {what}.", "", {{"bug", "42"}}, {}})),
            (Refused{Why::BadValue, "what"}));
  EXPECT_TRUE(world.state.outbox.empty());
  EXPECT_FALSE(world.last.changed);
}

// ── What it published ──

TEST(TaskRun, WhatASessionPublishedBeforeItEndedByItselfIsHandedOn) {
  Outcome last;
  last.values = {{"pr", "17"}};
  const Task by_itself = gone(running([] {
                                Begin begin = fixer();
                                begin.agent.on_exit = DoDone{};
                                return begin;
                              }()),
                              last,
                              at(1s))
                             .next;
  EXPECT_EQ(outcome_of(by_itself).values, last.values);

  // Also if somebody has to say first that this was all.
  const Task asked = gone(running(), last, at(1s)).next;
  const Task told = answer(asked, {decision::Choice::Done, 0, "", "ana", at(2s)}, at(2s)).next;
  EXPECT_EQ(outcome_of(told).values, last.values);
  EXPECT_TRUE(is_over(told));
}

// Of a phase it is for `on_unknown` to say what follows.
TEST(TaskRun, AnAgentOfAPhaseWhoseEndNobodySawIsUnknownToItWhateverOnExitSays) {
  for (const definition::Response& on_exit :
       std::vector<definition::Response>{DoDone{}, DoFail{}, DoEscalate{}, DoRestart{2}}) {
    for (Begin begin : {fixer(), resolver()}) {
      begin.pipeline = PipelineId{5};
      begin.agent.on_exit = on_exit;
      const Task task = begin.agent.session
                            ? gone(running(begin), ended(Ended::Unknown), at(1s)).next
                            : spawned(running(begin), ended(Ended::Unknown), at(1s)).next;
      EXPECT_EQ(std::get<Done>(task.state).result,
                (Result{Failed{"nobody knows what became of it", How::Unknown}}));
      EXPECT_EQ(outcome_of(task).ended, Ended::Unknown);
    }
  }
}

// One without a phase has nobody to say it, and asks as a phase does that says nothing.
TEST(TaskRun, AnAgentByItselfWhoseEndNobodySawAsksWhateverOnExitSays) {
  for (const definition::Response& on_exit :
       std::vector<definition::Response>{DoDone{}, DoFail{}, DoEscalate{}, DoRestart{2}}) {
    for (Begin begin : {fixer(), resolver()}) {
      begin.agent.on_exit = on_exit;
      World world;
      const WorkId id = begin_running(world, begin);
      if (begin.agent.session) {
        world.ask(SessionGone{id, ended(Ended::Unknown)});
      } else {
        world.finish(open_effect<Spawn>(world), ended(Ended::Unknown));
      }
      EXPECT_EQ(the(world, id).state,
                (decltype(Task::state){Stuck{start, Reason::SessionDead, start}}));
      ASSERT_EQ(world.state.decisions.open_of.size(), 1u);
      const DecisionId question = world.state.decisions.open_of.begin()->second;
      const decision::Decision& asked = *world.state.decisions.decisions.find(question);
      EXPECT_EQ(asked.cause, decision::Cause::AgentGone);
      EXPECT_EQ(asked.question,
                "agent " + begin.name + " (" + to_text(id) +
                    ") has ended (nobody knows what became of it): what now?");

      world.ask(decision::Resolve{question, decision::Choice::Restart});
      EXPECT_NE(the(world, id).attempt, id);
      EXPECT_TRUE(world.state.decisions.open_of.empty());
    }
  }
}

// It is ended, to make sure; and when it cannot be seen dead that is the question, and then the
// other one again.
TEST(TaskRun, AnAgentByItselfOfWhichNobodyKnowsWhetherItWasStartedAsks) {
  World world;
  const WorkId id = begin_in(world);
  world.finish(open_effect<Spawn>(world), ended(Ended::Unknown));
  EXPECT_EQ(asked_about(world, id), decision::Cause::AgentGone);
  World seen_dead = world;
  seen_dead.finish(open_effect<reeve::Kill>(seen_dead));
  EXPECT_EQ(asked_about(seen_dead, id), decision::Cause::AgentGone);
  EXPECT_TRUE(seen_dead.state.outbox.empty());

  world.finish(open_effect<reeve::Kill>(world), unseen_dead());
  EXPECT_EQ(asked_about(world, id), decision::Cause::ProcessUnobserved);
  for (const int way : {0, 1, 2}) {
    World next = world;
    const DecisionId question = next.state.decisions.open_of.begin()->second;
    if (way == 0) {
      next.ask(decision::Resolve{question, decision::Choice::LookAgain});
      EXPECT_EQ(asked_about(next, id), std::nullopt);
      next.finish(open_effect<reeve::Kill>(next));
    }
    if (way == 1) next.ask(decision::Resolve{question, decision::Choice::ReleaseAnyway});
    if (way == 2) next.ask(SessionGone{id, ended(Ended::Failed, "ended on request")});
    EXPECT_EQ(asked_about(next, id), decision::Cause::AgentGone) << way;
    EXPECT_TRUE(next.state.outbox.empty());
    const DecisionId other = next.state.decisions.open_of.begin()->second;
    next.ask(decision::Resolve{other, decision::Choice::Done, "it is fine"});
    EXPECT_EQ(std::get<Done>(the(next, id).state).result, (Result{Success{"it is fine"}}));
    EXPECT_TRUE(is_over(the(next, id)));
  }
}

// Its program failed, died, or was ended by somebody else than us.
TEST(TaskRun, ASessionWhoseProgramFailedIsNotDone) {
  Outcome died;
  died.signal = 9;
  for (const auto& [last, error] : std::vector<std::pair<Outcome, std::string>>{
           {exit_with(127), "exit code 127"},
           {{.ended = Ended::Done, .exit_code = 4}, "exit code 4"},
           {died, "ended by signal 9"},
           {ended(Ended::Failed, "ended on request"), "ended on request"}}) {
    Begin begin = fixer();
    begin.agent.on_exit = DoDone{};
    Drive asks(begin);
    EXPECT_EQ(asks.take(gone(asks.task, last, at(1s))).last, "Stuck(dead) stuck ask (None)");
    EXPECT_EQ(asks.task.seen.detail, error);
    begin.agent.on_error = DoFail{};
    const Outcome failed = outcome_of(gone(running(begin), last, at(1s)).next);
    EXPECT_EQ(failed.ended, Ended::Failed);
    EXPECT_EQ(failed.error, "exited: " + error);
    begin.agent.on_error = DoRestart{1};
    Drive again(begin);
    EXPECT_EQ(again.take(gone(again.task, last, at(1s))).last, "Pending stuck restarting (None)");
    // That it ended well is another thing.
    EXPECT_EQ(outcome_of(gone(running(begin), exit_with(0), at(1s)).next).ended, Ended::Done);
  }
}

// A step that fails has the phase's `retry` and `on_fail`: so has an agent, unless somebody wants
// to be asked at once.
TEST(TaskRun, ASessionOfAPhaseThatFailedFailsItUnlessToAskWasWritten) {
  Begin begin = fixer();
  begin.pipeline = PipelineId{7};
  begin.entry = 1;
  const Outcome last = exit_with(3, "no network\n");
  const Outcome failed = outcome_of(gone(running(begin), last, at(1s)).next);
  EXPECT_EQ(failed.ended, Ended::Failed);
  EXPECT_EQ(failed.error, "exited: exit code 3: no network");

  begin.agent.asks_on_error = true;
  Drive asks(begin);
  EXPECT_EQ(asks.take(gone(asks.task, last, at(1s))).last, "Stuck(dead) stuck ask (None)");
  // One that says so itself is still there, and can be helped.
  begin.agent.asks_on_error = false;
  Drive there(begin);
  EXPECT_EQ(there.see(Doing::Errored, 1s), "Stuck(errored) stuck ask");
  // To end without a word is another thing.
  begin.agent.on_exit = DoEscalate{};
  Drive exits(begin);
  EXPECT_EQ(exits.take(gone(exits.task, exit_with(0), at(1s))).last,
            "Stuck(dead) stuck ask (None)");
}

TEST(TaskRun, WhatAnEarlierAttemptPublishedIsNot) {
  Outcome last;
  last.values = {{"pr", "17"}};
  Drive drive;
  drive.take(gone(drive.task, last, at(1s)));
  drive.take(answer(drive.task, {decision::Choice::Restart, 0, "", "ana", at(2s)}, at(2s)));
  drive.take(spawn(drive.task, WorkId{2}, at(2s)));
  EXPECT_EQ(drive.task.last, Outcome{});
}

// ── Signs ──

TEST(TaskRun, AHeartbeatDoesNotEndARateLimitButWorkDoes) {
  Drive drive;
  agent::AgentState limited = seen(Doing::RateLimited, at(1min));
  limited.resets_at = at(2h);
  drive.take(observe(drive.task, limited, false, start, at(1min)));
  drive.take(heartbeat(drive.task, at(2min)));
  EXPECT_EQ(drive.task.cooldown_until, at(2h)) << "any process can beat";
  EXPECT_EQ(next_look(drive.task, start), at(2h + 3min) + 1ms);
  drive.see(Doing::Working, 3min);
  EXPECT_EQ(drive.task.cooldown_until, at(3min));
}

TEST(TaskRun, ACheckpointOfItsPipelineIsProgress) {
  World world;
  definition::Agent agent;
  agent.progress_timeout = 30min;
  agent.idle_timeout = 24h;
  definition::Phase work;
  work.name = "work";
  work.action = definition::RunAgent{"fixer"};
  definition::Pipeline fix;
  fix.phases = {work};
  definition::Set set;
  set.hash = "one";
  set.agents.set("fixer", agent);
  set.pipelines.set("fix", fix);
  world.ask(definition::Load{default_project, Boxed<definition::Set>(set)});
  const PipelineId pipeline =
      as<pipeline::Started>(world.ask(pipeline::Start{"fix", {}, {}})).pipeline;
  world.finish(open_effect<Spawn>(world));
  world.pass(29min);
  world.ask(pipeline::AddCheckpoint{pipeline, "half"});
  world.pass(29min);
  EXPECT_TRUE(world.state.decisions.open_of.empty());
  world.pass(1min);
  EXPECT_EQ(world.state.decisions.open_of.size(), 1u);
}

}  // namespace
}  // namespace reeve::task
