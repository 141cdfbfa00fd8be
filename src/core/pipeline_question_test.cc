#include "core/pipeline_testing.h"

#include <gtest/gtest.h>

// What runs in a phase asks somebody: an agent, or a step with `reeve ask`. The pipeline is blocked
// meanwhile and keeps what it holds; the answer reaches it. And a person's word to one that he has
// paused: to go on from another phase.
namespace reeve::pipeline {
namespace {

using namespace reeve::pipeline::testing;
using decision::Choice;

// A phase by an agent in a session, which is there, and asks after three minutes of silence.
struct Asking : Play {
  PipelineId id;

  explicit Asking(definition::Action action = definition::RunAgent{"fixer"},
                  Duration timeout = 24h,
                  Duration max_hold = 24h) {
    definition::Phase work = phase("work", std::move(action));
    work.timeout = timeout;
    work.retry = {2, 30s};
    work.locks = {"main"};
    definition::Pipeline fix = in_phases({work, shell("merge")});
    fix.on_fail = definition::Fail{};
    set.pipelines.set("fix", fix);
    definition::Agent fixer;
    fixer.prompt = "Fix it.";
    fixer.on_idle = {definition::DoEscalate{}};
    fixer.on_exit = definition::DoEscalate{};
    set.agents.set("fixer", fixer);
    definition::Approach approach;
    approach.name = "resolve";
    approach.action = definition::RunAgent{"fixer"};
    definition::Approach second = approach;
    second.name = "by hand";
    set.strategies.set("ways", definition::Strategy{"", {approach, second}, definition::Fail{}});
    lock::Config config;
    config.max_hold = max_hold;
    set.locks.set("main", config);
    id = start();
    finish(under_way().front());
  }

  void falls_silent() { pass(3min + 1ms + limits::second_look); }
  Status blocked() const { return Blocked{Reason::Decision, "work", 1, stamp.now}; }
  bool holds_main() const {
    const lock::Lock* lock = state.locks.locks.find({default_project, "main"});
    return lock && lock::tenure_of(*lock) && lock::tenure_of(*lock)->holder.name == to_text(id);
  }
  WorkId work() const { return (*state.tasks.tasks.begin()).first; }
};

TEST(PipelineQuestion, AnAgentThatAsksBlocksItsPipelineWhichKeepsItsLocks) {
  Asking play;
  EXPECT_EQ(play.state_of(play.id), (Status{Running{"work", 1}}));
  play.falls_silent();
  EXPECT_EQ(play.state_of(play.id), play.blocked());
  EXPECT_EQ(play.count("pipeline:blocked"), 1u);
  EXPECT_TRUE(play.holds_main());

  play.decide(Choice::Nudge, "go on");
  EXPECT_EQ(play.state_of(play.id), (Status{Running{"work", 1}}));
  EXPECT_TRUE(play.holds_main());
  play.ask(task::Report{play.work(), {}, ""});
  play.finish(play.all_under_way<Kill>().front());
  EXPECT_EQ(play.state_of(play.id), (Status{Running{"merge", 1}}));
}

TEST(PipelineQuestion, AnAgentOfAStrategyBlocksItToo) {
  Asking play(definition::RunStrategy{"ways"});
  play.falls_silent();
  EXPECT_EQ(play.state_of(play.id), play.blocked());
}

TEST(PipelineQuestion, AnAgentThatMovesAgainNeedsNoAnswer) {
  Asking play;
  play.falls_silent();
  play.ask(task::Heartbeat{play.work()});
  EXPECT_EQ(play.state_of(play.id), (Status{Running{"work", 1}}));
  EXPECT_TRUE(play.state.decisions.open_of.empty());
}

TEST(PipelineQuestion, OneQuestionAfterTheOtherIsOneBlock) {
  Asking play;
  const agent::AgentState seen{agent::Doing::WaitingPermission, agent::Source::Log, play.stamp.now};
  play.ask(task::Observed{play.work(), seen, false});
  const DecisionId may_it = play.question();
  EXPECT_EQ(play.state_of(play.id), play.blocked());
  play.ask(task::SessionGone{play.work(), {}});
  EXPECT_NE(play.question(), may_it) << "whether it may is no longer the question";
  EXPECT_EQ(play.state_of(play.id), play.blocked());
  EXPECT_EQ(play.count("pipeline:unblocked"), 0u);
}

// ── The verdict on its work was in before the time of its phase was up ──

TEST(PipelineQuestion, AnAgentThatWasDoneInTimeIsNotTimedOutWhileItsSessionEnds) {
  for (const definition::Action& action : std::vector<definition::Action>{
           definition::RunAgent{"fixer"}, definition::RunStrategy{"ways"}}) {
    Asking play(action, 2min);
    play.pass(2min - 1s);
    play.ask(task::Report{play.work(), {}, ""});
    play.pass(1s);
    play.finish(play.all_under_way<Kill>().front());
    EXPECT_EQ(play.state_of(play.id), (Status{Running{"merge", 1}}));
  }
}

TEST(PipelineQuestion, AnAgentThatFailedInTimeHasNotFailedByTheTimeout) {
  Asking play(definition::RunAgent{"fixer"}, 2min);
  play.pass(2min - 1s);
  play.ask(task::Report{play.work(), "no idea", ""});
  play.pass(1s);
  play.finish(play.all_under_way<Kill>().front());
  EXPECT_EQ(play.of(play.id).failure, (Failure{"no idea"}));
}

TEST(PipelineQuestion, AnApproachThatFailedInTimeIsTheLastWhenTheTimeIsUp) {
  Asking play(definition::RunStrategy{"ways"}, 2min);
  play.pass(2min - 1s);
  play.ask(task::Report{play.work(), "no idea", ""});
  play.pass(1s);
  play.finish(play.all_under_way<Kill>().front());
  EXPECT_EQ(play.of(play.id).failure, (Failure{"timed out"}));
  EXPECT_TRUE(play.under_way().empty());
}

TEST(PipelineQuestion, WhatAPersonFailedStaysFailedThoughTheTimeIsUpMeanwhile) {
  for (const bool by_lock : {false, true}) {
    Asking play(definition::RunAgent{"fixer"}, by_lock ? 1h : 4min, by_lock ? 4min : 1h);
    play.falls_silent();
    play.pass(4min - 1s - (play.stamp.now - start));
    play.decide(Choice::Fail, "enough");
    play.pass(2s);
    play.finish(play.all_under_way<Kill>().front());
    EXPECT_EQ(play.state_of(play.id), (Status{Failed{"work", 1, "enough", false}}));
  }
}

// As with a step: `retry`, and meanwhile nothing is held.
TEST(PipelineQuestion, ASessionThatFailedIsTriedAgainAsThePhaseSays) {
  Asking play;
  play.ask(task::SessionGone{play.work(), exit_code(3)});
  EXPECT_TRUE(play.state.decisions.open_of.empty());
  EXPECT_FALSE(play.holds_main());
  EXPECT_TRUE(std::holds_alternative<Blocked>(play.state_of(play.id)));
  play.pass(30s);
  EXPECT_EQ(play.state_of(play.id), (Status{Running{"work", 2}}));
  EXPECT_TRUE(play.holds_main());
}

TEST(PipelineQuestion, OfASessionThatIsGoneNudgeIsNoAnswer) {
  Asking play;
  play.ask(task::SessionGone{play.work(), {}});
  const DecisionId id = play.question();
  const reeve::Reply nudged =
      play.ask(decision::Command{decision::Resolve{id, Choice::Nudge, "go on", "ana"}});
  EXPECT_EQ(as<Refused>(nudged), (Refused{Why::BadValue, "choice"}));
  EXPECT_EQ(play.question(), id);
  play.decide(Choice::Restart);
  EXPECT_TRUE(play.state.decisions.open_of.empty());
}

TEST(PipelineQuestion, ABodyThatCannotBeSeenDeadBlocksToo) {
  Asking play;
  play.ask(Cancel{play.id});
  play.finish(play.all_under_way<Kill>().front(), exit_code(1));
  EXPECT_EQ(play.state_of(play.id), play.blocked());
  EXPECT_TRUE(play.holds_main());
  play.decide(Choice::ReleaseAnyway);
  EXPECT_EQ(play.state_of(play.id), Status{Cancelled{}});
  EXPECT_FALSE(play.holds_main());
}

TEST(PipelineQuestion, OneThatOutlivesItsStepBlocksNothingAlsoWhenThePhaseIsLeft) {
  definition::Phase build = shell("build");
  build.post = {"green"};
  Play play({build, shell("merge")});
  play.set.guards.set("green", definition::Guard{"true"});
  const PipelineId id = play.start();
  play.ask(decision::Ask{"so?", {}, id});
  play.succeeds();
  ASSERT_EQ(play.state_of(id), (Status{Running{"build", 1}}));
  play.forget();
  play.ask(Transition{id, "merge"});
  EXPECT_EQ(play.state_of(id), (Status{Running{"build", 1}})) << "its check is being ended";
  play.ask(decision::Ask{"and now?", {}, id});
  EXPECT_EQ(play.count("pipeline:blocked"), 0u);
  play.ends(exit_code(143));
  EXPECT_EQ(play.state_of(id), (Status{Running{"merge", 1}}));
}

TEST(PipelineQuestion, CancelledWhileItAsksNobodyIsAskedAnyMore) {
  Asking play;
  play.falls_silent();
  play.ask(Cancel{play.id});
  EXPECT_TRUE(play.state.decisions.open_of.empty());
  EXPECT_EQ(play.state_of(play.id), (Status{Running{"work", 1}}));
  play.finish(play.all_under_way<Kill>().front());
  EXPECT_EQ(play.state_of(play.id), Status{Cancelled{}});
}

// ── What a person says about an agent is final ──

TEST(PipelineQuestion, ToFailAnAgentFailsThePipelineForGood) {
  Asking play;
  play.falls_silent();
  play.decide(Choice::Fail, "hopeless");
  play.finish(play.all_under_way<Kill>().front());
  EXPECT_EQ(play.state_of(play.id), (Status{Failed{"work", 1, "hopeless", false}}));
  EXPECT_EQ(play.ask(Retry{play.id, false}),
            refused(Why::NotAllowed, to_text(play.id) + " is not recoverable"));
}

TEST(PipelineQuestion, ToFailAnAgentOfAStrategyTriesNoOtherApproach) {
  Asking play(definition::RunStrategy{"ways"});
  play.falls_silent();
  play.decide(Choice::Fail, "hopeless");
  play.finish(play.all_under_way<Kill>().front());
  EXPECT_EQ(play.state_of(play.id), (Status{Failed{"work", 1, "hopeless", false}}));
  EXPECT_EQ(play.count("strategy:fallback"), 0u);
}

TEST(PipelineQuestion, ToCancelAnAgentCancelsThePipeline) {
  Asking play;
  play.falls_silent();
  play.decide(Choice::Cancel);
  play.finish(play.all_under_way<Kill>().front());
  EXPECT_EQ(play.state_of(play.id), Status{Cancelled{}});
}

TEST(PipelineQuestion, WhatWasSaidWithARestartReachesTheNextSession) {
  Asking play;
  play.falls_silent();
  play.decide(Choice::Restart, "try the other branch");
  play.finish(play.all_under_way<Kill>().front());
  play.finish(play.all_under_way<Spawn>().front());
  const std::vector<EffectId> sends = play.all_under_way<Send>();
  ASSERT_EQ(sends.size(), 1u);
  EXPECT_EQ(play.under_way_as<Send>(sends.front()).text, "try the other branch");
}

TEST(PipelineQuestion, OrThePromptOfOneThatHasNoSession) {
  Play play({phase("work", definition::RunAgent{"fixer"})});
  definition::Agent fixer;
  fixer.session = false;
  fixer.prompt = "Fix it.";
  fixer.progress_timeout = 1min;
  fixer.on_idle = {definition::DoEscalate{}};
  play.set.agents.set("fixer", fixer);
  play.start();
  play.pass(1min + 1ms + limits::second_look);
  play.decide(Choice::Restart, "Quickly.");
  play.finish(play.all_under_way<Kill>().front());
  EXPECT_EQ(play.under_way_as<Spawn>(play.all_under_way<Spawn>().back()).prompt,
            "Fix it.\n\nQuickly.");
}

// ── reeve ask ──

TEST(PipelineQuestion, AStepThatAsksBlocksItsPipelineUntilTheAnswerWhichLaterPhasesRead) {
  Play play({shell("build"), phase("merge", definition::RunShell{"merge"})});
  play.set.pipelines.edit("fix")->phases[1].env = {{"SAID", "{build.answer}"}};
  const PipelineId id = play.start();
  play.ask(decision::Ask{"which branch?", {"main", "dev"}, id});
  EXPECT_EQ(play.state_of(id), (Status{Blocked{Reason::Decision, "build", 1, start}}));
  play.ask(decision::Resolve{play.question(), std::string("dev"), "", "ana"});
  EXPECT_EQ(play.state_of(id), (Status{Running{"build", 1}}));
  play.succeeds();
  EXPECT_EQ(play.step_shell().environment[1], (std::pair<std::string, std::string>{"SAID", "dev"}));
}

TEST(PipelineQuestion, TwoQuestionsBlockUntilBothAreAnswered) {
  Play play({shell("build")});
  const PipelineId id = play.start();
  play.ask(decision::Ask{"which branch?", {}, id});
  const DecisionId first = play.question();
  play.ask(decision::Ask{"and which test?", {}, id});
  play.ask(decision::Resolve{first, Choice::Text, "main", "ana"});
  EXPECT_EQ(play.state_of(id), (Status{Blocked{Reason::Decision, "build", 1, start}}));
  play.decide(Choice::Text, "all");
  EXPECT_EQ(play.state_of(id), (Status{Running{"build", 1}}));
}

TEST(PipelineQuestion, AStepThatEndsWithItsQuestionOpenIsOver) {
  Play play({shell("build"), shell("merge")});
  const PipelineId id = play.start();
  play.ask(decision::Ask{"which branch?", {}, id});
  play.succeeds();
  EXPECT_EQ(play.state_of(id), (Status{Running{"merge", 1}}));
  play.decide(Choice::Text, "late");
  EXPECT_EQ(play.state_of(id), (Status{Running{"merge", 1}}));
  EXPECT_TRUE(play.state.pipelines.outputs.empty());
}

TEST(PipelineQuestion, WhatWasSaidAboutAGuardIsHandedOnToo) {
  definition::Phase build = shell("build");
  build.pre = {"green"};
  Play play({build});
  definition::Guard green{"check"};
  green.retry = definition::Poll{0, 10s};
  play.set.guards.set("green", green);
  const PipelineId id = play.start();
  play.fails();
  play.decide(Choice::Pass, "I looked myself");
  const std::string* answer = play.state.pipelines.outputs.find({id, "build", "answer"});
  ASSERT_TRUE(answer);
  EXPECT_EQ(*answer, "I looked myself");
}

// ── A paused one that is to go on from another phase ──

// Paused in front of `merge`.
struct PausedPlay : Play {
  PipelineId id;

  PausedPlay() : Play({shell("build"), shell("merge")}) {
    id = start();
    ask(Pause{id});
    succeeds();
  }
  std::uint32_t visits(const std::string& phase) const {
    const std::uint32_t* count = of(id).visits.find(phase);
    return count ? *count : 0;
  }
};

TEST(PipelineResume, APausedOneGoesOnFromAnotherPhase) {
  PausedPlay play;
  ASSERT_EQ(play.state_of(play.id), (Status{Blocked{Reason::Paused, "merge", 1, start}}));

  EXPECT_TRUE(is<Ok>(play.ask(ResumeFrom{play.id, "build", false})));
  EXPECT_EQ(play.state_of(play.id), (Status{Running{"build", 1}}));
  EXPECT_EQ(play.step_shell().text, "run build");
  EXPECT_FALSE(play.of(play.id).paused);
  play.succeeds();
  EXPECT_EQ(play.step_shell().text, "run merge");
  play.succeeds();
  EXPECT_EQ(play.state_of(play.id), Status{Done{}});
}

TEST(PipelineResume, APhaseThatWasLeftBeforeItBeganWasNotEntered) {
  PausedPlay play;
  EXPECT_EQ(play.visits("merge"), 1u);
  play.ask(ResumeFrom{play.id, "build", false});
  EXPECT_EQ(play.visits("merge"), 0u);
  play.succeeds();
  EXPECT_EQ(play.visits("merge"), 1u);

  PausedPlay same;
  same.ask(ResumeFrom{same.id, "merge", false});
  EXPECT_EQ(same.visits("merge"), 1u);
  EXPECT_EQ(same.step_shell().text, "run merge");
}

TEST(PipelineResume, APhaseThatWasBegunBeforeThePauseWasEntered) {
  definition::Phase build = shell("build");
  build.retry = {1, 1min};
  Play play({build, shell("merge")});
  const PipelineId id = play.start();
  play.ask(Pause{id});
  play.fails();
  play.pass(1min);
  ASSERT_EQ(play.state_of(id), (Status{Blocked{Reason::Paused, "build", 2, at(1min)}}));
  play.ask(ResumeFrom{id, "merge", false});
  EXPECT_EQ(*play.of(id).visits.find("build"), 1u);
}

TEST(PipelineResume, OneThatStillRunsLeavesThatAndGoesOn) {
  Play play({shell("build"), shell("merge")});
  const PipelineId id = play.start();
  const EffectId step = play.step();
  play.ask(Pause{id});
  EXPECT_TRUE(is<Ok>(play.ask(ResumeFrom{id, "merge", false})));
  EXPECT_EQ(play.all_under_way<Kill>().size(), 1u);
  EXPECT_EQ(play.ask(ResumeFrom{id, "build", false}),
            refused(Why::NotAllowed, to_text(id) + " has not failed"))
      << "not paused any more";
  play.finish(step, exit_code(143));
  EXPECT_EQ(play.state_of(id), (Status{Running{"merge", 1}}));
}

TEST(PipelineResume, OneThatIsBeingWithdrawnGoesThereWhenThatWasObserved) {
  definition::Phase build = shell("build");
  build.pre = {"green"};
  Play play({build, shell("merge")});
  play.set.guards.set("green", definition::Guard{"true"});
  const PipelineId id = play.start();
  const EffectId check = play.step();
  play.ask(Pause{id});
  EXPECT_TRUE(is<Ok>(play.ask(ResumeFrom{id, "merge", false})));
  play.finish(check, exit_code(143));
  EXPECT_EQ(play.state_of(id), (Status{Running{"merge", 1}}));
  EXPECT_EQ(play.step_shell().text, "run merge");
}

TEST(PipelineResume, OneThatIsBeingWithdrawnWasNotEnteredEither) {
  definition::Phase build = shell("build");
  build.pre = {"green"};
  for (const bool observed_first : {true, false}) {
    Play play({build, shell("merge")});
    play.set.guards.set("green", definition::Guard{"true"});
    const PipelineId id = play.start();
    const EffectId check = play.step();
    play.ask(Pause{id});
    if (observed_first) play.finish(check, exit_code(143));
    EXPECT_TRUE(is<Ok>(play.ask(ResumeFrom{id, "merge", false})));
    if (!observed_first) play.finish(check, exit_code(143));
    EXPECT_EQ(play.state_of(id), (Status{Running{"merge", 1}}));
    EXPECT_FALSE(play.of(id).visits.contains("build")) << observed_first;
  }
}

TEST(PipelineResume, OneThatIsOnItsWayElsewhereIsNotSentSomewhereElseYet) {
  Play play({shell("build"), shell("merge")});
  const PipelineId id = play.start();
  play.ask(Pause{id});
  EXPECT_TRUE(is<Ok>(play.ask(Transition{id, "merge"})));
  EXPECT_EQ(play.ask(ResumeFrom{id, "build", false}),
            refused(Why::NotAllowed, to_text(id) + " is on its way out of a phase"));
}

TEST(PipelineResume, ATransitionLeavesItPaused) {
  PausedPlay play;
  EXPECT_TRUE(is<Ok>(play.ask(Transition{play.id, "build"})));
  EXPECT_EQ(play.state_of(play.id), (Status{Blocked{Reason::Paused, "build", 1, start}}));
  EXPECT_TRUE(play.under_way().empty());
}

}  // namespace
}  // namespace reeve::pipeline
