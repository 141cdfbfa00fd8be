#include "core/heard_testing.h"
#include "core/pipeline_testing.h"

#include <gtest/gtest.h>

// What people and agents say about the work of a pipeline, and in which order that is told.
namespace reeve::pipeline {
namespace {

using namespace reeve::pipeline::testing;

TEST(PipelineWords, WhatAPersonFailedDoesNotGoOnByItsRecovery) {
  definition::Phase build = shell("build");
  build.on_fail = definition::GoTo{"mend"};
  build.next = "ship";
  definition::Phase mend = shell("mend");
  mend.next = "ship";
  definition::Phase ship = shell("ship");
  ship.ends = true;
  Play play({build, mend, ship});
  const PipelineId id = play.start();
  play.ends(unknown());  // on_unknown = ask
  play.decide(decision::Choice::Fail);
  EXPECT_TRUE(std::holds_alternative<Failed>(play.state_of(id)));
  EXPECT_EQ(phase_of(play.of(id)), "build");
}

TEST(PipelineWords, AnAgentThatAPersonFailedFailsItsPipelineForGood) {
  definition::Phase build = phase("build", definition::RunAgent{"fixer"});
  build.on_fail = definition::GoTo{"mend"};
  definition::Phase mend = shell("mend");
  mend.ends = true;
  Play play({build, mend});
  definition::Agent fixer;
  fixer.on_idle = {definition::DoEscalate{}};
  fixer.idle_timeout = 10s;
  play.set.agents.set("fixer", fixer);
  const PipelineId id = play.start();
  play.finish(play.under_way().front(), exit_code(0));
  play.pass(30s);
  play.decide(decision::Choice::Fail);
  play.finish(play.all_under_way<Kill>().front(), exit_code(0));
  for (int i = 0; i < 3 && !play.under_way().empty(); ++i)
    play.finish(play.under_way().front(), exit_code(0));
  EXPECT_TRUE(std::holds_alternative<Failed>(play.state_of(id)));
}

TEST(PipelineWords, TheWordOfAnAttemptThatIsOverIsNotThatOfTheNext) {
  definition::Phase build = shell("build");
  build.retry = {1, 1s};
  Play play({build});
  const PipelineId id = play.start();
  play.fails();
  ASSERT_EQ(attempt_of(play.of(id)), 1u);                    // what the api compares with
  play.stamp = {play.stamp.now + 1s, play.stamp.wall + 1s};  // due; no tick has come yet
  const reeve::Reply reply = play.ask(Finish{id, std::nullopt, "build", 1});
  EXPECT_EQ(reply,
            refused(Why::NotAllowed,
                    to_text(id) + " is in phase build, attempt 2, by now, and this one no longer "
                                  "counts"));
  play.fails();
  EXPECT_FALSE(std::holds_alternative<Done>(play.state_of(id))) << "attempt 2 failed";
}

// A step that ends whatever has the custody of it would be tried again a hundred times a second.
TEST(PipelineWords, WhatEndsUnknownAgainAndAgainIsTriedLessAndLessOften) {
  definition::Phase build = shell("build");
  build.on_unknown = definition::OnUnknown::Retry;
  Play play({build});
  const PipelineId id = play.start();
  std::vector<Duration> pauses;
  for (int i = 0; i < 9; ++i) {
    play.ends(unknown());
    const Time due = *deadline_of(play.state.timers, Due{id, Timer::Backoff});
    pauses.push_back(due - play.stamp.now);
    play.pass(pauses.back());
  }

  EXPECT_EQ(pauses, (std::vector<Duration>{0s, 1s, 2s, 4s, 8s, 16s, 32s, 64s, 64s}));
}

TEST(PipelineWords, AnAgentsRelativeFolderCountsFromTheWorkspace) {
  Play play({phase("work", definition::RunAgent{"fixer"})});
  definition::Agent fixer;
  fixer.cwd = "sub";
  play.set.agents.set("fixer", fixer);
  play.start();

  EXPECT_EQ(play.all_under_way<Spawn>().size(), 1u);
  const EffectId spawn = play.all_under_way<Spawn>().front();
  const auto& what = std::get<Spawn>(play.state.outbox.find(spawn)->effect.what);
  EXPECT_EQ(what.workspace, play.set.root + "/sub");
}

TEST(PipelineWords, RetryOutOfABackoffAnnouncesUnblocked) {
  definition::Phase build = shell("build");
  build.retry = {2, 1min};
  Play play({build});
  const PipelineId id = play.start();
  play.fails();
  play.forget();
  play.ask(Retry{id, false});
  EXPECT_EQ(play.count("pipeline:retry"), 1u);
  EXPECT_EQ(play.count("pipeline:unblocked"), 1u);
}

TEST(PipelineWords, RetryAsAnAnswerAnnouncesUnblocked) {
  Play play({shell("build")});
  play.start();
  play.fails();
  play.forget();
  play.decide(decision::Choice::Retry);
  EXPECT_EQ(play.count("pipeline:retry"), 1u);
  EXPECT_EQ(play.count("pipeline:unblocked"), 1u);
}

TEST(PipelineWords, WhatAnAgentDidIsAnnouncedBeforeWhatFollowedFromIt) {
  Play play({phase("work", definition::RunAgent{"fixer"})});
  definition::Agent fixer;
  fixer.session = false;
  play.set.agents.set("fixer", fixer);
  const PipelineId id = play.start();
  play.forget();
  play.finish(play.under_way().front(), exit_code(0));
  EXPECT_EQ(play.state_of(id), Status{Done{}});
  EXPECT_EQ(play.names(), (std::vector<std::string>{"task:complete", "pipeline:complete"}));
}

// To end an agent is not to end its phase: whoever wants that cancels the pipeline.
TEST(PipelineWords, OfAnAgentThatAPersonKilledTheAttemptHasFailedAndThePhaseGoesOn) {
  definition::Phase build = phase("build", definition::RunAgent{"fixer"});
  build.retry = {1, 0s};
  build.on_fail = definition::GoTo{"clean"};
  Play play({build, shell("clean")});
  play.set.agents.set("fixer", definition::Agent{});
  const PipelineId id = play.start();
  for (std::uint32_t attempt = 1; attempt <= 2; ++attempt) {
    EXPECT_EQ(play.state_of(id), (Status{Running{"build", attempt}}));
    const EffectId spawn = play.all_under_way<Spawn>().at(0);
    const WorkId work = play.under_way_as<Spawn>(spawn).work;
    play.finish(spawn, exit_code(0));
    play.ask(task::Kill{work});
    play.finish(play.all_under_way<Kill>().at(0), exit_code(0));
    play.pass(0s);
  }
  EXPECT_EQ(play.state_of(id), (Status{Running{"clean", 1}}));
}

// ── What cleans up ──

// Nobody who tries it again wants what it leaves behind to stay there the last time.
TEST(PipelineWords, WhatCleansUpIsRunHoweverOftenItWas) {
  definition::Phase build = shell("build");
  build.on_fail = definition::GoTo{"clean"};
  definition::Phase clean = shell("clean");
  clean.max_visits = 1;
  Play play({build, clean});
  const PipelineId id = play.start();
  for (int i = 0; i < 3; ++i) {
    play.fails();
    ASSERT_EQ(play.state_of(id), (Status{Running{"clean", 1}})) << i;
    play.succeeds();
    ASSERT_TRUE(std::holds_alternative<Failed>(play.state_of(id)));
    play.ask(Retry{id});
  }
}

TEST(PipelineWords, SoIsOnCancel) {
  definition::Phase build = shell("build");
  build.next = "clean";
  definition::Phase clean = shell("clean");
  clean.next = "build";
  clean.max_visits = 1;
  definition::Pipeline fix = in_phases({build, clean});
  fix.on_cancel = "clean";
  Play play(fix);
  const PipelineId id = play.start();
  play.succeeds();
  play.succeeds();
  ASSERT_EQ(play.state_of(id), (Status{Running{"build", 1}}));
  const EffectId step = play.step();
  play.ask(Cancel{id});
  play.finish(step, exit_code(143));
  EXPECT_EQ(play.state_of(id), (Status{Running{"clean", 1}}));
  EXPECT_EQ(play.step_shell().text, "run clean");
}

}  // namespace
}  // namespace reeve::pipeline
