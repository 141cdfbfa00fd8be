#include "core/heard_testing.h"
#include "core/worker_testing.h"

#include <gtest/gtest.h>

// Queues whose items come from outside.
namespace reeve::worker {
namespace {

using namespace reeve::worker::testing;

TEST(Worker, AnOutsideSourceIsPolledAndWhatComesIsThereOnce) {
  definition::Set set = runbook("one", 1);
  set.sources.set("bugs", {"tracker", 30s});
  WorkerWorld world(set);
  world.start();
  ASSERT_EQ(world.started.size(), 1u);
  Outcome outcome;
  outcome.values = {{"7", R"({"id":7})"}, {"8", R"({"id":8})"}};
  world.finish(world.started[0].id, outcome);
  EXPECT_EQ(world.state.queues.items.size(), 2u);
  EXPECT_EQ(world.worker()->active.size(), 1u);

  world.forget();
  world.pass(30s - 1ms);
  EXPECT_TRUE(world.started.empty());
  world.pass(1ms);
  ASSERT_EQ(world.started.size(), 1u);
  world.finish(world.started[0].id, outcome);
  EXPECT_EQ(world.state.queues.items.size(), 2u);
}

// Polls once more: the source has these.
void poll(WorkerWorld& world, std::vector<std::string> ids) {
  world.forget();
  world.pass(30s);
  Outcome outcome;
  for (std::string& id : ids) outcome.values.emplace_back(id, "{\"id\":" + id + "}");
  for (const auto& start : world.started) {
    if (std::holds_alternative<PollQueue>(start.effect.what)) {
      return world.finish(start.id, outcome);
    }
  }
  ADD_FAILURE() << "its source was not asked";
}

EffectId shell_of(const WorkerWorld& world) {
  for (const auto& [id, started] : world.state.outbox) {
    if (std::holds_alternative<Shell>(started.effect.what)) return id;
  }
  return {};
}

TEST(Worker, WhatIsDoneOrDeadIsNotTakenAgainWhileItsSourceHasIt) {
  definition::Set set = runbook("one", 1);
  set.sources.set("bugs", {"tracker", 30s});
  WorkerWorld world(set);
  world.start();
  world.finish(world.started.at(0).id);
  poll(world, {"7", "8"});
  world.finish(shell_of(world), exited(0));
  for (int i = 0; i < 3; ++i) world.finish(shell_of(world), exited(1));
  ASSERT_EQ(world.state_of(world.state.queues.items.begin()->first), queue::ItemState::Completed);

  poll(world, {"8", "7"});
  EXPECT_EQ(world.state.queues.items.size(), 2u);
  EXPECT_TRUE(world.worker()->active.empty());
  // Nor by a worker that begins anew, nor when a poll failed in between.
  world.ask(Command{Stop{fixer}});
  EXPECT_EQ(world.worker(), nullptr);
  world.forget();
  world.start();
  world.finish(world.started.at(0).id, exited(1));
  poll(world, {"7", "8", "9"});
  EXPECT_EQ(world.state.queues.items.size(), 3u) << "9 is new";
  EXPECT_EQ(world.state.queues.listed.size(), 3u);
  // What it had no more, and has again, is another one.
  poll(world, {"9"});
  EXPECT_EQ(world.state.queues.listed.size(), 1u);
  poll(world, {"7", "9"});
  EXPECT_EQ(world.state.queues.items.size(), 4u);
  poll(world, {});
  EXPECT_TRUE(world.state.queues.listed.empty());
}

TEST(Worker, MoreThanOnePollMayBringComesWithTheNext) {
  definition::Set set = runbook("one", 1);
  set.sources.set("bugs", {"tracker", 30s});
  WorkerWorld world(set);
  world.start();
  world.finish(world.started.at(0).id);
  std::vector<std::string> ids;
  for (std::size_t i = 0; i < limits::batch_items + 5; ++i) ids.push_back(std::to_string(i));
  poll(world, ids);
  EXPECT_EQ(world.state.queues.items.size(), limits::batch_items);
  poll(world, ids);
  EXPECT_EQ(world.state.queues.items.size(), limits::batch_items + 5);
}

TEST(Worker, WhatASourceHadIsForgottenWithTheQueue) {
  definition::Set set = runbook("one", 1);
  set.sources.set("bugs", {"tracker", 30s});
  WorkerWorld world(set);
  world.start();
  world.finish(world.started.at(0).id);
  poll(world, {"7"});
  world.finish(shell_of(world), exited(0));
  world.ask(Command{Stop{fixer}});
  EXPECT_TRUE(is<Ok>(world.ask(queue::Command{queue::Remove{bugs}})));
  EXPECT_TRUE(world.state.queues.listed.empty());
}

TEST(Worker, APollThatFailsIsAnnouncedAndRepeated) {
  definition::Set set = runbook();
  set.sources.set("bugs", {"tracker", 30s});
  WorkerWorld world(set);
  world.start();
  Outcome outcome = exited(1);
  outcome.error = "no network";
  world.finish(world.started[0].id, outcome);
  EXPECT_EQ(*find_in<PollFailed>(world.heard.at(world.heard.size() - 1)),
            (PollFailed{fixer, "no network"}));
  world.pass(30s);
  EXPECT_EQ(world.started.size(), 2u);
  world.ask(Command{Stop{fixer}});
  world.finish(world.started[1].id, outcome);
  world.pass(1h);
  EXPECT_EQ(world.started.size(), 2u);
}

TEST(Worker, WhyAPollFailedIsKeptUntilOneSucceeds) {
  definition::Set set = runbook();
  set.sources.set("bugs", {"tracker", 30s});
  WorkerWorld world(set);
  world.start();
  Outcome outcome = exited(127);
  outcome.output = "asking\nsh: tracker: not found\n";
  world.finish(world.started[0].id, outcome);
  const std::string why = "exit code 127: sh: tracker: not found";
  EXPECT_EQ(*find_in<PollFailed>(world.heard.back()), (PollFailed{fixer, why}));
  EXPECT_EQ(world.worker()->poll_error, why);
  const Time first = world.stamp.now;
  EXPECT_EQ(world.worker()->polls_fail_since, first);

  world.pass(30s);
  world.finish(world.started.at(1).id, exited(2));
  EXPECT_EQ(world.worker()->poll_error, "exit code 2");
  EXPECT_EQ(world.worker()->polls_fail_since, first);
  poll(world, {});
  EXPECT_EQ(world.worker()->poll_error, "");
  EXPECT_EQ(world.worker()->polls_fail_since, std::nullopt);
}

TEST(Worker, WhyAPollFailedIsCutBetweenCharacters) {
  definition::Set set = runbook();
  set.sources.set("bugs", {"tracker", 30s});
  WorkerWorld world(set);
  world.start();
  const std::string most(999, 'x');
  Outcome outcome = exited(1);
  outcome.error = most + "\u00e4";
  world.finish(world.started[0].id, outcome);
  EXPECT_EQ(world.worker()->poll_error, most);
  EXPECT_EQ(*find_in<PollFailed>(world.heard.back()), (PollFailed{fixer, most}));
}

TEST(Worker, TheIdOfWhatASourceListsAndCannotBeTakenIsCutBetweenCharacters) {
  definition::Set set = runbook();
  set.sources.set("bugs", {"tracker", 30s});
  WorkerWorld world(set);
  world.start();
  const std::string most(limits::name_bytes - 1, 'k');
  Outcome outcome;
  outcome.values = {{most + "\u00e4", "{}"}};
  world.finish(world.started[0].id, outcome);
  const queue::WasRefused refused{bugs, most, "its id is longer than 200 bytes"};
  EXPECT_EQ(*find_in<queue::WasRefused>(world.heard.back()), refused);
}

TEST(Worker, WhatASourceListsAndCannotBeTakenIsToldOnceWhileItIsListed) {
  definition::Set set = runbook("one", 1);
  set.sources.set("bugs", {"tracker", 30s});
  WorkerWorld world(set);
  world.start();
  world.finish(world.started.at(0).id);
  const std::string long_id(limits::name_bytes + 100, 'k');
  const auto list = [&](const std::vector<std::pair<std::string, std::string>>& items) {
    world.forget();
    world.pass(30s);
    Outcome outcome;
    outcome.values = items;
    for (const auto& [id, entry] : world.state.outbox) {
      if (!std::holds_alternative<PollQueue>(entry.effect.what)) continue;
      world.finish(id, outcome);
      break;
    }
    std::vector<queue::WasRefused> told;
    for (const EventBody& event : world.heard) {
      if (const auto* refused = find_in<queue::WasRefused>(event)) told.push_back(*refused);
    }
    return told;
  };
  const std::string big(limits::item_bytes + 1, 'x');
  const std::vector<std::pair<std::string, std::string>> all = {
      {"big", big}, {"ok", "{}"}, {long_id, "{}"}};
  EXPECT_EQ(list(all),
            (std::vector<queue::WasRefused>{
                {bugs, "big", "it is larger than 1 MiB"},
                {bugs, long_id.substr(0, limits::name_bytes), "its id is longer than 200 bytes"}}));
  EXPECT_EQ(world.state.queues.items.size(), 1u);
  EXPECT_TRUE(list(all).empty());
  EXPECT_TRUE(list({{"ok", ""}}).empty());
  EXPECT_TRUE(world.state.queues.refused.empty());
  EXPECT_EQ(list(all).size(), 2u) << "it is another one";
  EXPECT_TRUE(list({{"big", "{}"}, {"ok", ""}}).empty());
  EXPECT_EQ(world.state.queues.items.size(), 2u) << "it is small enough now";
}

// Between the question and the answer the queue was removed: its next poll brings the data.
TEST(Worker, WhatIsNotKnownAnyMoreAndComesWithoutDataIsLeftToTheNextPoll) {
  definition::Set set = runbook("one", 1);
  set.sources.set("bugs", {"tracker", 30s});
  WorkerWorld world(set);
  world.start();
  Outcome outcome;
  outcome.values = {{"7", ""}};
  world.finish(world.started.at(0).id, outcome);
  EXPECT_TRUE(world.state.queues.items.empty());
  EXPECT_TRUE(world.state.queues.listed.empty());
  poll(world, {"7"});
  EXPECT_EQ(world.state.queues.items.size(), 1u);
}

// ── Several workers of one queue ──

const WorkerName second{default_project, "second"};

struct TwoWorkers : WorkerWorld {
  TwoWorkers() : WorkerWorld(two()) {
    start();
    ask(Command{Start{second, {default_project, "one"}, {}}});
  }
  static definition::Set two() {
    definition::Set set = runbook("one", 1);
    set.workers.set("second", *set.workers.find("fixer"));
    set.sources.set("bugs", {"tracker", 30s});
    return set;
  }
  std::vector<EffectId> polls() const {
    std::vector<EffectId> all;
    for (const auto& [id, entry] : state.outbox) {
      if (std::holds_alternative<PollQueue>(entry.effect.what)) all.push_back(id);
    }
    return all;
  }
  const Worker& other() const { return *state.workers.workers.find(second); }
};

// Else an answer that is older than the last one would bring back what was done since.
TEST(WorkerSource, AQueueIsPolledByOneOfItsWorkersAtATime) {
  TwoWorkers world;
  ASSERT_EQ(world.polls().size(), 1u);
  world.pass(1h);
  world.ask(Command{Wake{second}});
  ASSERT_EQ(world.polls().size(), 1u) << "the first has not been answered";
  world.finish(world.polls().at(0));
  ASSERT_EQ(world.polls().size(), 1u) << "what the second was woken for may have come since";
  world.finish(world.polls().at(0));
  ASSERT_TRUE(world.polls().empty());

  world.pass(30s);
  ASSERT_EQ(world.polls().size(), 1u);
  world.pass(1s);
  world.finish(world.polls().at(0));
  world.pass(29s);
  EXPECT_TRUE(world.polls().empty()) << "both know when it was asked last";
  world.pass(1s);
  EXPECT_EQ(world.polls().size(), 1u);
}

TEST(WorkerSource, WhoIsStoppedWhileItPollsLeavesItToTheOther) {
  TwoWorkers world;
  const EffectId old = world.polls().at(0);
  world.ask(Command{Stop{fixer}});
  world.pass(30s);
  ASSERT_EQ(world.polls().size(), 2u);
  Outcome outcome;
  outcome.values = {{"7", "{}"}};
  world.finish(old, outcome);
  EXPECT_TRUE(world.state.queues.items.empty());
  world.finish(world.polls().at(0), outcome);
  EXPECT_EQ(world.state.queues.items.size(), 1u);
}

// Also what the other one was woken for, which may not be in the old answer.
TEST(WorkerSource, WhoNoLongerPollsLeavesThatToTheOtherAtOnce) {
  for (const bool stops : {true, false}) {
    TwoWorkers world;
    const EffectId old = world.polls().at(0);
    world.ask(Command{Wake{second}});
    definition::Set elsewhere = TwoWorkers::two();
    elsewhere.hash = "two";
    elsewhere.workers.edit("fixer")->queue = "chores";
    world.load(elsewhere);
    stops ? world.ask(Command{Stop{fixer}}) : world.start("two");
    ASSERT_EQ(world.polls().size(), 2u);
    Outcome outcome;
    outcome.values = {{"7", "{}"}};
    world.finish(old, outcome);
    EXPECT_TRUE(world.state.queues.items.empty());
    world.finish(world.polls().at(0), outcome);
    EXPECT_EQ(world.state.queues.items.size(), 1u);
  }
}

TEST(WorkerSource, AnAnswerToOneOfThemIsGoodForAll) {
  TwoWorkers world;
  world.finish(world.polls().at(0), exited(1));
  EXPECT_EQ(world.worker()->poll_error, "exit code 1");
  world.ask(Command{Wake{second}});
  while (world.polls().empty()) world.pass(1s);
  world.finish(world.polls().at(0));
  EXPECT_EQ(world.worker()->poll_error, "");
  EXPECT_EQ(world.other().poll_error, "");
}

// A source that wants to be told, with two items that it has just listed.
struct Source : WorkerWorld {
  explicit Source(std::uint32_t concurrency = 1) : WorkerWorld(listed(concurrency)) {
    start();
    const EffectId poll = started.at(0).id;
    forget();
    Outcome outcome;
    outcome.values = {{"7", R"({"id":7})"}, {"8", R"({"id":8})"}};
    finish(poll, outcome);
  }

  static definition::Set listed(std::uint32_t concurrency) {
    definition::Set set = runbook("one", concurrency);
    set.sources.set("bugs", {"tracker list", 1h, "tracker take"});
    return set;
  }
  template <class What>
  std::vector<EffectId> all() const {
    std::vector<EffectId> result;
    for (const auto& [id, entry] : state.outbox) {
      if (std::holds_alternative<What>(entry.effect.what)) result.push_back(id);
    }
    return result;
  }
  TakeQueueItem take(EffectId id) const {
    return std::get<TakeQueueItem>(state.outbox.find(id)->effect.what);
  }
  ItemId item(std::size_t index) const {
    auto at = state.queues.items.begin();
    while (index-- > 0) ++at;
    return (*at).first;
  }
};

TEST(WorkerSource, WhatIsTakenHereIsTakenThereBeforeItsPipelineBegins) {
  Source world;
  const std::vector<EffectId> takes = world.all<TakeQueueItem>();

  ASSERT_EQ(takes.size(), 1u) << "what is being taken counts like a pipeline";
  EXPECT_EQ(world.take(takes[0]), (TakeQueueItem{bugs, "tracker take", "7"}));
  EXPECT_EQ(world.state_of(world.item(0)), queue::ItemState::Processing);
  EXPECT_TRUE(world.all<Shell>().empty());
  EXPECT_EQ(as<Working>(world.start()), (Working{1, 1}));

  world.finish(takes[0], exited(0));
  EXPECT_EQ(world.own(), (Names{"worker:took"}));
  EXPECT_EQ(world.all<Shell>().size(), 1u);
  world.finish(world.all<Shell>().at(0), exited(0));
  EXPECT_EQ(world.state_of(world.item(0)), queue::ItemState::Completed);
  EXPECT_EQ(world.take(world.all<TakeQueueItem>().at(0)).outside_id, "8");
}

TEST(WorkerSource, WhatCannotBeHadThereFailsLikeAnyOther) {
  Source world;
  Outcome outcome = exited(1);
  outcome.error = "taken by bo";
  world.finish(world.all<TakeQueueItem>().at(0), outcome);

  std::vector<TakeFailed> failures;
  for (const EventBody& event : world.heard) {
    if (const TakeFailed* failed = find_in<TakeFailed>(event)) failures.push_back(*failed);
  }
  EXPECT_EQ(failures, (std::vector{TakeFailed{fixer, world.item(0), "taken by bo"}}));
  EXPECT_EQ(world.state.queues.items.find(world.item(0))->attempts, 2u) << "it is tried again";
  world.finish(world.all<TakeQueueItem>().at(0), outcome);
  world.finish(world.all<TakeQueueItem>().at(0), outcome);
  EXPECT_EQ(world.state_of(world.item(0)), queue::ItemState::Dead);
  EXPECT_TRUE(world.all<Shell>().empty());
  EXPECT_EQ(world.take(world.all<TakeQueueItem>().at(0)).outside_id, "8");
}

TEST(WorkerSource, IfNobodyKnowsWhatTheSourceSaidItIsAskedAgainAfterAPause) {
  Source world;
  const EffectId first = world.all<TakeQueueItem>().at(0);
  Outcome outcome;
  outcome.ended = Ended::Unknown;
  world.finish(first, outcome);

  world.pass(1s - 1ms);
  EXPECT_TRUE(world.all<TakeQueueItem>().empty());
  world.pass(1ms);
  ASSERT_EQ(world.all<TakeQueueItem>().size(), 1u);
  EXPECT_NE(world.all<TakeQueueItem>()[0], first);
  EXPECT_EQ(world.take(world.all<TakeQueueItem>()[0]).outside_id, "7");
  EXPECT_EQ(world.state.queues.items.find(world.item(0))->attempts, 1u);
}

// Whatever else ends meanwhile.
TEST(WorkerSource, ThePauseAfterATakeOfUnknownEndIsKeptUnlessAPersonSaysSo) {
  for (const int who : {0, 1, 2, 3}) {
    Source world(2);
    const std::vector<EffectId> takes = world.all<TakeQueueItem>();
    ASSERT_EQ(takes.size(), 2u);
    Outcome unknown;
    unknown.ended = Ended::Unknown;
    world.finish(takes[0], unknown);
    world.finish(takes[1], exited(0));
    world.finish(world.all<Shell>().at(0), exited(0));
    world.push("9");
    EXPECT_TRUE(world.all<TakeQueueItem>().empty() && world.all<Shell>().empty());

    if (who == 0) world.pass(1s);
    if (who == 1) world.ask(Command{Wake{fixer}});
    if (who == 2) world.ask(Command{Resize{fixer, 3}});
    if (who == 3) world.start();
    EXPECT_EQ(world.all<TakeQueueItem>().size(), 1u) << "who " << who;
  }
}

TEST(WorkerSource, WokenWhileItAsksItAsksOnceMore) {
  Source world;
  world.pass(1h);
  const EffectId poll = world.all<PollQueue>().at(0);
  world.ask(Command{Wake{fixer}});
  world.ask(Command{Wake{fixer}});
  EXPECT_EQ(world.all<PollQueue>(), (std::vector<EffectId>{poll}));
  Outcome nothing_new;
  world.finish(poll, nothing_new);
  ASSERT_EQ(world.all<PollQueue>().size(), 1u) << "what it was woken for may have come since";
  world.finish(world.all<PollQueue>()[0], nothing_new);
  EXPECT_TRUE(world.all<PollQueue>().empty());
}

TEST(WorkerSource, APollOfUnknownEndIsMadeAgainAfterAPause) {
  Source world;
  world.pass(1h);
  Outcome outcome;
  outcome.ended = Ended::Unknown;
  world.finish(world.all<PollQueue>().at(0), outcome);
  world.pass(1s - 1ms);
  EXPECT_TRUE(world.all<PollQueue>().empty());
  world.pass(1ms);
  EXPECT_EQ(world.all<PollQueue>().size(), 1u);
}

TEST(WorkerSource, AWorkerThatWasStoppedMeanwhileGivesItBack) {
  Source world;
  const EffectId take = world.all<TakeQueueItem>().at(0);
  world.ask(Command{Stop{fixer}});
  ASSERT_NE(world.worker(), nullptr) << "something of it is still under way";
  world.finish(take, exited(0));

  EXPECT_EQ(world.state_of(world.item(0)), queue::ItemState::Pending);
  EXPECT_EQ(world.state.queues.items.find(world.item(0))->attempts, 0u);
  EXPECT_EQ(world.worker(), nullptr);
}

TEST(WorkerSource, StartedAnewWhileItFindsNoRoomItStillAsksItsSource) {
  WorkerWorld world(Source::listed(1000));
  queue::Push push{bugs, {}};
  push.items.resize(limits::batch_items);
  world.ask(queue::Command{push});
  world.start();
  ASSERT_TRUE(world.worker()->look_at) << "one step begins so many only";
  const EffectId old = *world.worker()->polling;
  definition::Set other = Source::listed(1000);
  other.hash = "two";
  world.load(other);

  world.start("two");
  ASSERT_TRUE(world.worker()->polling);
  EXPECT_NE(*world.worker()->polling, old);

  ASSERT_TRUE(world.worker()->look_at) << "there is still more";
  world.ask(Command{Stop{fixer}});
  EXPECT_FALSE(world.worker()->look_at) << "who is stopped looks at nothing";
}

TEST(WorkerSource, WhatWasPushedByHandIsNotTakenThere) {
  Source world(3);
  world.push("9");

  EXPECT_EQ(world.all<TakeQueueItem>().size(), 2u);
  EXPECT_EQ(world.all<Shell>().size(), 1u);
}

}  // namespace
}  // namespace reeve::worker
