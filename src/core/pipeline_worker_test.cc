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
  queue::ItemState item() const { return (*state.queues.items.begin()).second.state; }
};

TEST(PipelineWorker, TheItemIsCompletedInTheSameInput) {
  Working play(definition::Fail{});
  EXPECT_EQ(play.of(play.newest()).origin->inputs, (definition::Map{{"bug", "42"}}));
  EXPECT_EQ(play.item(), queue::ItemState::Processing);
  play.succeeds();
  EXPECT_EQ(play.item(), queue::ItemState::Completed);
}

TEST(PipelineWorker, OneThatFailedIsNotRetriedBehindItsItemsBack) {
  Working play(definition::Fail{});
  const PipelineId first = play.newest();
  play.fails();
  EXPECT_EQ(play.item(), queue::ItemState::Pending);
  EXPECT_TRUE(is<Refused>(play.ask(Retry{first, true})));
  play.pass(5min);
  EXPECT_NE(play.newest(), first);
  EXPECT_TRUE(is<Refused>(play.ask(Retry{first, true})));
  EXPECT_TRUE(is<Refused>(play.ask(ResumeFrom{first, "build", true})));
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

}  // namespace
}  // namespace reeve::pipeline
