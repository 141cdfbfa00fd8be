#include "engine/testing.h"

#include <gtest/gtest.h>

// Answers that nobody gets, effects that nobody waits for any longer, a disk that is short of
// space.
namespace reeve::engine {
namespace {

using namespace engine::testing;
using reeve::testing::ana;
using reeve::testing::bo;
using reeve::testing::cy;
using reeve::testing::waiting;

struct TheEngineAtItsEdges : ::testing::Test {
  MemoryDisk disk;
  House house{disk};

  TheEngineAtItsEdges() { house.start(); }
};

// ── Answers that nobody gets ──

TEST_F(TheEngineAtItsEdges, AnAnswerThatNobodyGetsIsTakenBackAndGoesToTheNext) {
  house.get(take_lock(ana, "main"));
  house.get(take_lock(bo, "main", waiting), SessionId{7}, "once");
  const Reply next = house.get(take_lock(cy, "main", waiting));
  house.get(give_lock(ana, "main"));
  ASSERT_EQ(house.answers.size(), 1U);
  const Reply lost = house.answers.at(0).second;
  ASSERT_TRUE(is<grant::Granted>(lost));

  house.engine().undelivered(default_project, "once", lost, house.stamp);
  house.settle();
  ASSERT_EQ(house.answers.size(), 2U);
  EXPECT_EQ(house.answers.at(1).first, as<Waiting>(next).waiter);
  EXPECT_TRUE(is<grant::Granted>(house.answers.at(1).second));
  // Its key is as new: it waits again.
  EXPECT_TRUE(is<Waiting>(house.get(take_lock(bo, "main", waiting), SessionId{8}, "once")));
}

TEST_F(TheEngineAtItsEdges, AnAnswerThatGaveNothingLeavesNoRecord) {
  const std::size_t records = disk.records.size();
  house.engine().undelivered(default_project, "", refused(Why::NotFound, "x"), house.stamp);
  house.settle();
  EXPECT_EQ(disk.records.size(), records);
}

TEST_F(TheEngineAtItsEdges, WhatWasTakenBackIsTakenBackAfterACrashToo) {
  house.get(take_lock(ana, "main"));
  house.get(take_lock(bo, "main", waiting), SessionId{7});
  house.get(give_lock(ana, "main"));
  house.engine().undelivered(default_project, "", house.answers.at(0).second, house.stamp);
  house.settle();
  house.crash();
  house.start();
  EXPECT_TRUE(is<grant::Granted>(house.get(take_lock(cy, "main"))));
}

// ── Effects that nobody waits for any longer ──

// A pipeline that tidies up when it is cancelled, its first phase under way.
struct AnEffectNobodySawEnd : TheEngineAtItsEdges {
  PipelineId pipeline;
  EffectId build;

  AnEffectNobodySawEnd() {
    const auto phase = [](const std::string& name) {
      definition::Phase made;
      made.name = name;
      made.action = definition::RunShell{name};
      return made;
    };
    definition::Pipeline ship;
    ship.phases = {phase("build"), phase("tidy")};
    ship.on_cancel = "tidy";
    definition::Set set;
    set.hash = "one";
    set.root = "/home/ana/shop";
    set.pipelines.set("ship", ship);
    house.get(definition::Load{default_project, Boxed<definition::Set>(std::move(set))});
    house.get(pipeline::Start{"ship", {}, {}});
    pipeline = (*house.engine().state().pipelines.pipelines.begin()).first;
    build = house.started.back().id;
  }

  // It is killed, and nobody can say whether it is dead.
  void cancel_in_vain() {
    house.get(pipeline::Cancel{pipeline});
    Outcome failed;
    failed.ended = Ended::Failed;
    failed.exit_code = 1;
    house.end_effect(house.started.back().id, failed);
    house.settle();
  }
  void release_anyway() {
    const auto& open = house.engine().state().decisions.open_of;
    ASSERT_FALSE(open.empty());
    const DecisionId question = (*open.begin()).second;
    house.get(decision::Resolve{question, decision::Choice::ReleaseAnyway, "", "ana"});
  }
  std::string last_program() const {
    const Shell* shell = std::get_if<Shell>(&house.started.back().effect.what);
    return shell ? shell->text : "";
  }
};

TEST_F(AnEffectNobodySawEnd, LeavesTheLineToTheNextWhenSomebodySaysSo) {
  cancel_in_vain();
  EXPECT_NE(last_program(), "tidy");
  release_anyway();
  EXPECT_EQ(last_program(), "tidy");
  EXPECT_FALSE(house.engine().state().outbox.contains(build));
  EXPECT_EQ(house.engine().outbox().running(), 1U);
}

TEST_F(AnEffectNobodySawEnd, ItsLateOutcomeIsDropped) {
  cancel_in_vain();
  release_anyway();
  const std::size_t records = disk.records.size();
  const std::size_t started = house.started.size();
  house.end_effect(build);
  house.settle();
  EXPECT_EQ(disk.records.size(), records);
  EXPECT_EQ(house.started.size(), started);
  house.end_effect(house.started.back().id);  // tidy
  house.settle();
  EXPECT_EQ(house.engine().outbox().size(), 0U);
  EXPECT_EQ(house.engine().state().pipelines.open, 0U);
}

TEST_F(AnEffectNobodySawEnd, IsNotLookedForAfterARestart) {
  cancel_in_vain();
  release_anyway();
  house.crash();
  house.start();
  ASSERT_EQ(house.observed.size(), 1U);
  EXPECT_NE(house.observed.front().id, build);
}

// ── A disk that is short of space ──

TEST_F(TheEngineAtItsEdges, WhileSpaceIsShortTheJournalIsAskedOnceASecond) {
  disk.wants_prepare = true;
  EXPECT_TRUE(house.engine().wants_prepare(house.journal()));
  EXPECT_TRUE(house.engine().wants_prepare(house.journal()));  // it has no spare: at once

  disk.room = journal::Room::FinishingOnly;
  house.engine().room(disk.room);
  house.pass(1s);
  EXPECT_TRUE(house.engine().wants_prepare(house.journal()));
  EXPECT_FALSE(house.engine().wants_prepare(house.journal()));
  EXPECT_EQ(house.engine().next_wake().engine, house.stamp.now + 1s);
  house.pass(999ms);
  EXPECT_FALSE(house.engine().wants_prepare(house.journal()));
  house.pass(1ms);
  EXPECT_TRUE(house.engine().wants_prepare(house.journal()));
}

TEST_F(TheEngineAtItsEdges, ATruncationMayHaveMadeRoom) {
  disk.wants_prepare = true;
  disk.room = journal::Room::FinishingOnly;
  house.engine().room(disk.room);
  EXPECT_TRUE(house.engine().wants_prepare(house.journal()));
  house.get(take_lock(ana, "main"));
  EXPECT_FALSE(house.engine().wants_prepare(house.journal()));
  house.checkpoint();
  EXPECT_TRUE(house.engine().wants_prepare(house.journal()));
}

}  // namespace
}  // namespace reeve::engine
