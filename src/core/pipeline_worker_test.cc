#include "core/pipeline_testing.h"

#include <gtest/gtest.h>

// Pipelines that a worker began, and the item each of them has.
namespace reeve::pipeline {
namespace {

using namespace reeve::pipeline::testing;
using decision::Choice;

const QueueName bugs{default_project, "bugs"};
const WorkerName fixer{default_project, "fixer"};

struct Working : Play {
  explicit Working(definition::OnFail on_fail) {
    definition::Phase build = shell("build");
    build.on_fail = on_fail;
    definition::Pipeline fix = in_phases({build});
    fix.inputs = {"bug"};
    set.pipelines.set("fix", fix);
    set.queues.set("bugs", queue::Config{});
    set.workers.set("fixer", definition::Worker{"bugs", "fix", 1, {}});
    load();
    ask(worker::Start{fixer, {default_project, set.hash}, {}});
    queue::NewItem item;
    item.data = Bytes(R"({"bug": 42})");
    ask(queue::Push{bugs, {item}});
  }

  PipelineId newest() const { return (*state.pipelines.pipelines.last()).first; }
  ItemId item_id() const { return (*state.queues.items.begin()).first; }
  queue::ItemState item() const { return (*state.queues.items.begin()).second.state; }
};

TEST(PipelineWorker, TheItemIsCompletedInTheSameInput) {
  Working play(definition::Fail{});
  EXPECT_EQ(play.of(play.newest()).origin->inputs, (definition::Map{{"bug", "42"}}));
  EXPECT_EQ(play.item(), queue::ItemState::Processing);
  play.succeeds();
  EXPECT_EQ(play.item(), queue::ItemState::Completed);
}

TEST(PipelineWorker, OneThatFailedIsRetriedWithItsItemIfNobodyElseHasThat) {
  Working play(definition::Fail{});
  const PipelineId first = play.newest();
  play.fails();
  EXPECT_EQ(play.item(), queue::ItemState::Pending);
  EXPECT_TRUE(is<Ok>(play.ask(Retry{first, false})));
  EXPECT_EQ(play.item(), queue::ItemState::Processing);
  EXPECT_TRUE(play.state.workers.workers.find(fixer)->active.contains(first));
  play.pass(24h);
  EXPECT_EQ(play.newest(), first) << "there is no room for another";
  play.succeeds();
  EXPECT_EQ(play.item(), queue::ItemState::Completed);
  EXPECT_TRUE(play.state.workers.workers.find(fixer)->active.empty());
}

TEST(PipelineWorker, AnItemThatIsDueGoesToWhoWaitsForItAndNotToTheOneThatIsRetried) {
  Working play(definition::Fail{});
  const PipelineId first = play.newest();
  play.ask(worker::Stop{fixer});
  play.fails();
  play.ask(queue::Take{{bugs}, {default_project, "ana"}, {}, 1, Duration::max()});
  // More is due before than one request settles, so that it finds the item still pending.
  const QueueName chores{default_project, "chores"};
  for (std::size_t i = 0; i < limits::touched_a_step; ++i) {
    play.ask(queue::Take{{chores}, {default_project, std::to_string(i)}, {}, 1, 1ms});
  }
  ASSERT_EQ(play.item(), queue::ItemState::Pending);
  play.forget();
  play.stamp.now += 1h;  // and no tick came
  play.stamp.wall += 1h;

  const Refused lost{Why::NotAllowed, to_text(first) + " has lost its item"};
  Working other = play;
  EXPECT_EQ(as<Refused>(other.ask(ResumeFrom{first, "build", false})), lost);
  EXPECT_EQ(as<Refused>(play.ask(Retry{first, false})), lost);
  EXPECT_EQ(play.item(), queue::ItemState::Processing);
  EXPECT_TRUE(is<queue::Taken>(play.answers.back().reply)) << "ana has it";
  EXPECT_TRUE(play.under_way().empty());
}

TEST(PipelineWorker, ADeadItemComesBackToLifeForIt) {
  Working play(definition::Fail{});
  for (int i = 0; i < 20 && play.item() != queue::ItemState::Dead; ++i) {
    if (!play.under_way().empty()) play.fails();
    play.pass(10min);
  }
  ASSERT_EQ(play.item(), queue::ItemState::Dead);
  const PipelineId last = play.newest();
  EXPECT_TRUE(is<Ok>(play.ask(ResumeFrom{last, "build", false})));
  EXPECT_EQ(play.item(), queue::ItemState::Processing);
  play.succeeds();
  EXPECT_EQ(play.item(), queue::ItemState::Completed);
}

TEST(PipelineWorker, AlsoWhenTheWorkerIsGone) {
  Working play(definition::Fail{});
  const PipelineId first = play.newest();
  play.ask(worker::Stop{fixer});
  play.fails();
  EXPECT_EQ(play.state.workers.workers.find(fixer), nullptr);
  EXPECT_TRUE(is<Ok>(play.ask(Retry{first, false})));
  play.succeeds();
  EXPECT_EQ(play.item(), queue::ItemState::Completed);
}

TEST(PipelineWorker, OneThatFailedIsNotRetriedBehindItsItemsBack) {
  Working play(definition::Fail{});
  const PipelineId first = play.newest();
  play.fails();
  EXPECT_EQ(play.item(), queue::ItemState::Pending);
  play.pass(5min);
  EXPECT_NE(play.newest(), first);
  EXPECT_EQ(play.ask(Retry{first, true}),
            refused(Why::NotAllowed, to_text(play.item_id()) + " is no longer its item"));
  EXPECT_EQ(play.ask(ResumeFrom{first, "build", true}),
            refused(Why::NotAllowed, to_text(play.item_id()) + " is no longer its item"));
}

TEST(PipelineWorker, TheItemStaysTakenWhileSomebodyIsAsked) {
  Working play(definition::AskSomebody{});
  play.fails();
  play.pass(24h);
  EXPECT_EQ(play.item(), queue::ItemState::Processing);
  play.decide(Choice::Retry);
  play.succeeds();
  EXPECT_EQ(play.item(), queue::ItemState::Completed);
}

TEST(PipelineWorker, CancelledItGivesTheItemBack) {
  Working play(definition::AskSomebody{});
  const PipelineId first = play.newest();
  const EffectId step = play.step();
  play.ask(worker::Stop{fixer});
  play.ask(Cancel{first});
  EXPECT_EQ(play.item(), queue::ItemState::Processing);
  play.finish(step, exit_code(143));
  EXPECT_EQ(play.item(), queue::ItemState::Pending);
}

// ── Into the item ──

TEST(PipelineWorker, ANameWithADotReachesIntoTheItem) {
  definition::Phase build = shell("build");
  build.env = {{"ID", "{bug.id}"}, {"WHO", "{bug.by.name}"}};
  definition::Pipeline fix = in_phases({build});
  fix.inputs = {"bug", "branch"};
  fix.defaults = {{"branch", "fix/{bug.id}"}};
  Play play(fix);
  const std::string bug = R"({"id": 42, "by": {"name": "ana"}, "none": null, "Bad": 1, "s": "{}"})";
  const PipelineId id = play.start("fix", {{"bug", bug}});
  const Variables environment = play.step_shell().environment;
  EXPECT_EQ(environment[1], (std::pair<std::string, std::string>{"ID", "42"}));
  EXPECT_EQ(environment[2], (std::pair<std::string, std::string>{"WHO", "ana"}));
  EXPECT_EQ(play.of(id).origin->inputs.back().second, "fix/42");
  for (const auto& [name, value] : play.step_shell().variables) {
    EXPECT_NE(name, "bug.none");
    EXPECT_NE(name, "bug.Bad") << "no placeholder can be called like this";
  }
}

TEST(PipelineWorker, WhatTheItemDoesNotSayIsAnUnknownName) {
  definition::Phase build = shell("build");
  build.env = {{"ID", "{bug.id}"}};
  build.on_fail = definition::Fail{};
  definition::Pipeline fix = in_phases({build});
  fix.inputs = {"bug"};
  Play play(fix);
  const PipelineId id = play.start("fix", {{"bug", R"({"no": 42})"}});
  EXPECT_EQ(play.state_of(id), (Status{Failed{"build", 1, "unknown name {bug.id}", true}}));
}

}  // namespace
}  // namespace reeve::pipeline
