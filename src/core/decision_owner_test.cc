#include "core/dispatch_testing.h"
#include "core/pipeline_testing.h"

#include <gtest/gtest.h>

// The answer to every kind of question reaches the thing that asked, by the way that people take.
namespace reeve::decision {
namespace {

using namespace reeve::pipeline::testing;

const LockName main_lock{default_project, "main"};
const Process build{42, 7, "boot-1"};

lock::Acquire by_ana(Boxed<HolderMeta> meta = {}) {
  lock::Acquire acquire;
  acquire.names = {main_lock};
  acquire.holder = {default_project, "ana", {}};
  acquire.meta = std::move(meta);
  acquire.timeout = 1min;
  return acquire;
}

bool is_free(const Play& play) {
  const lock::Lock* lock = play.state.locks.locks.find(main_lock);
  return !lock || !lock::tenure_of(*lock);
}

TEST(DecisionOwner, OfAPhase) {
  Play play({shell("build"), shell("merge")});
  const PipelineId id = play.start();
  play.fails();
  play.decide(Choice::Skip);
  EXPECT_EQ(play.state_of(id), (pipeline::Status{pipeline::Running{"merge", 1}}));
}

TEST(DecisionOwner, OfAGuard) {
  definition::Phase guarded = shell("build");
  guarded.pre = {"green"};
  Play play({guarded});
  definition::Guard green{"check"};
  green.retry = definition::Poll{0, 10s};
  play.set.guards.set("green", green);
  play.start();
  play.fails();
  play.decide(Choice::Pass);
  EXPECT_EQ(play.step_shell().text, "run build");
}

TEST(DecisionOwner, OfAnAgent) {
  Play play;
  definition::Agent agent;
  agent.on_idle = {definition::DoEscalate{}};
  play.set.agents.set("fixer", agent);
  play.load();
  const WorkId work = as<task::Begun>(play.ask(task::Run{"fixer", "", "", {}, {}})).work;
  play.finish(play.under_way().front());
  play.pass(1h);
  play.decide(Choice::Done, "good enough");
  EXPECT_EQ(std::get<task::Done>(play.state.tasks.tasks.find(work)->state).result,
            (task::Result{task::Success{"good enough"}}));
}

TEST(DecisionOwner, OfAnItem) {
  Play play;
  const QueueName bugs{default_project, "bugs"};
  queue::Config config;
  config.max_attempts = 1;
  config.on_exhaust = queue::OnExhaust::Escalate;
  play.ask(queue::Create{bugs, config});
  play.ask(queue::Push{bugs, {queue::NewItem{}}});
  queue::Take take;
  take.holder = {default_project, "ana", {}};
  take.queues = {bugs};
  const queue::TakenItem item = as<queue::Taken>(play.ask(take)).items.at(0);
  play.ask(queue::Fail{bugs, {item.id, item.claim}, "no", {}});
  play.decide(Choice::Drop);
  EXPECT_EQ(play.state.queues.items.find(item.id), nullptr);
}

TEST(DecisionOwner, OfALock) {
  Play play;
  lock::Config config;
  config.escalate_stale = true;
  play.set.locks.set("main", config);
  play.load();
  play.ask(by_ana());
  play.pass(1min + 1ms);
  const DecisionId first = play.question();
  play.decide(Choice::LookAgain);
  EXPECT_NE(play.question(), first) << "it is as stale as before";
  play.decide(Choice::ReleaseAnyway);
  EXPECT_TRUE(is_free(play));
  EXPECT_TRUE(play.state.decisions.open_of.empty());
}

// `lock run` always names one.
TEST(DecisionOwner, OfALockWhoseProcessIsBeingEnded) {
  for (const bool seen_dead : {true, false}) {
    Play play;
    lock::Config config;
    config.escalate_stale = true;
    play.set.locks.set("main", config);
    play.load();
    HolderMeta meta;
    meta.process = build;
    play.ask(by_ana(Boxed<HolderMeta>(meta)));
    play.pass(1min + 1ms);
    ASSERT_EQ(play.all_under_way<Kill>().size(), 1u);
    const DecisionId first = play.question();
    play.decide(Choice::LookAgain);
    EXPECT_NE(play.question(), first);
    if (seen_dead) {
      play.input(custody::ProcessGone{build});
    } else {
      play.decide(Choice::ReleaseAnyway);
    }
    EXPECT_TRUE(is_free(play));
    EXPECT_TRUE(play.state.decisions.open_of.empty()) << "what it was about has cleared";
  }
}

TEST(DecisionOwner, OfAProcess) {
  Play play;
  HolderMeta meta;
  meta.process = build;
  play.ask(by_ana(Boxed<HolderMeta>(meta)));
  play.pass(1min + 1ms + 30s);
  play.decide(Choice::LookAgain);
  EXPECT_EQ(play.all_under_way<Kill>().size(), 2u);
  play.pass(30s);
  play.decide(Choice::ReleaseAnyway);
  EXPECT_TRUE(is_free(play));
}

TEST(DecisionOwner, OfADispatch) {
  Play play;
  const DispatchId id = dispatch::begin_retained(play);
  play.decide(Choice::LookAgain);
  EXPECT_TRUE(dispatch::is_in<dispatch::Killing>(play, id));
  play.pass(5s);
  play.decide(Choice::ReleaseAnyway);
  EXPECT_FALSE(dispatch::has_claim(play));
}

TEST(DecisionOwner, OfSomebodyWhoAsks) {
  Play play;
  const WaiterId waiter = as<Waiting>(play.ask(Ask{"go?", {"yes", "no"}})).waiter;
  play.ask(Resolve{play.question(), std::string("no"), "", "ana"});
  ASSERT_EQ(play.answers.size(), 1u);
  EXPECT_EQ(play.answers.front().waiter, waiter);
  EXPECT_EQ(as<Resolved>(play.answers.front().reply).answer.text, "no");
}

}  // namespace
}  // namespace reeve::decision
