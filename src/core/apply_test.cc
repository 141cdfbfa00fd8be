#include "core/apply.h"

#include "core/heard_testing.h"
#include "core/pipeline_testing.h"
#include "core/testing.h"

#include <gtest/gtest.h>

#include <set>
#include <utility>
#include <vector>

namespace reeve {
namespace {

using namespace reeve::testing;

TEST(Apply, AnInputThatChangesNothingTakesNoSequence) {
  World world;

  const Applied& applied = world.input(Tick{});

  EXPECT_FALSE(applied.changed);
  EXPECT_EQ(applied.state, initial_state(start));
}

TEST(Apply, ACustomEventIsAnnouncedWithItsSequence) {
  World world;

  world.ask(EmitCustom{"ci:main:green", {{"by", "ana"}}});

  EXPECT_EQ(world.last.events,
            (std::vector<Event>{{1,
                                 0,
                                 world.stamp.wall,
                                 default_project,
                                 Custom{{"ci", "main", "green"}, {{"by", "ana"}}}}}));
  EXPECT_EQ(world.state.sequence, 1u);
}

TEST(Apply, NobodyAnnouncesWhatOnlyTheCoreCan) {
  World world;

  EXPECT_EQ(world.ask(EmitCustom{"lock:acquired", {}}), refused(Why::BadName, "lock:acquired"));
  EXPECT_EQ(world.ask(EmitCustom{"", {}}), refused(Why::BadName, ""));
  EXPECT_EQ(world.ask(EmitCustom{"history:gap", {}}), refused(Why::BadName, "history:gap"));
  EXPECT_EQ(world.state, initial_state(start));
  // But the daemon itself may, outside of all projects.
  EXPECT_TRUE(is<Ok>(world.ask(EmitCustom{"history:gap", {}}, {}, {}, shared_project)));
}

// ── What machines ask of one another ──

TEST(Apply, WhateverOneMachineAsksOfAnotherIsCarriedOut) {
  pipeline::testing::Play world({pipeline::testing::shell("build")});
  const PipelineId pipeline = world.start();
  const QueueName bugs{default_project, "bugs"};
  const QueueName lost{default_project, "lost"};
  const ItemId item = as<queue::Pushed>(world.ask(queue::Push{bugs, {{}}})).ids.at(0);
  const Token claim =
      as<queue::Taken>(world.ask(queue::TakeOne{bugs, item, {default_project, "ana"}, {}}))
          .items.at(0)
          .claim;
  world.ask(queue::Bury{bugs, {item, claim}, {}, {}});
  const Subject set = pipeline::Due{pipeline, pipeline::Timer::Timeout};
  const Subject cancelled = pipeline::Due{world.start(), pipeline::Timer::Timeout};
  arm(world.state.timers, cancelled, at(2h));
  world.forget();

  Chores& chores = world.state.chores;
  chores.waiting.set(++chores.last,
                     CarryOn{{Emit{default_project, Custom{{"ci", "", "green"}, {}}},
                              DeadLetter{lost, item},
                              Checkpoint{pipeline, "half"},
                              SetTimer{set, at(1h)},
                              CancelTimer{cancelled}},
                             {}});
  world.input(Tick{});

  EXPECT_EQ(world.names(),
            (std::vector<std::string>{"ci:green", "queue:create", "pipeline:checkpoint"}));
  EXPECT_EQ(world.state.queues.items.find(item)->queue, *world.state.queues.names.find(lost));
  EXPECT_EQ(world.state.pipelines.checkpoints.size(), 1u);
  EXPECT_EQ(deadline_of(world.state.timers, set), at(1h));
  EXPECT_EQ(deadline_of(world.state.timers, cancelled), std::nullopt);
}

// ── What one step has no room for ──

// Many pipelines, each of which waits for a guard that an event wakes.
class ManyGuards : public pipeline::testing::Play {
 public:
  explicit ManyGuards(std::size_t count) {
    definition::Phase build = pipeline::testing::shell("build");
    build.pre = {"green"};
    set.pipelines.set("fix", pipeline::testing::in_phases({build}));
    definition::Guard guard{"check"};
    guard.wake_on = {"ci:green"};
    set.guards.set("green", guard);
    load();
    for (std::size_t i = 0; i < count; ++i) begin();
    forget();
  }

  // Whom the checks under way are for, one for each of them.
  std::vector<PipelineId> checked() const {
    std::vector<PipelineId> result;
    result.reserve(state.outbox.size());
    for (const auto& [id, entry] : state.outbox) {
      result.push_back(std::get<pipeline::Address>(entry.effect.to).pipeline);
    }
    return result;
  }
  void all_fail() {
    for (const EffectId effect : under_way()) {
      input_unchecked(EffectEnded{effect, pipeline::testing::exit_code(1)});
    }
  }

 private:
  void begin() {
    const pipeline::Start order{"fix", {}, {}};
    input_unchecked(Request{default_project, {}, true, {}, pipeline::Command{order}});
    all_fail();
  }
  // The invariants of so many pipelines take their time: they are looked at later.
  void input_unchecked(const Input& input) { EXPECT_TRUE(apply_to(state, input, stamp).changed); }
};

TEST(Apply, WhomAStepHasNoRoomToWakeIsWokenWithTheNextTickAndOnce) {
  const std::size_t all = limits::routed_a_step + 1;
  ManyGuards world(all);
  ASSERT_EQ(world.state.subscriptions.by_subscriber.size(), all);

  world.ask(EmitCustom{"ci:green", {}});
  // Finding them was a part of the step, too.
  EXPECT_EQ(world.checked().size(), limits::routed_a_step - 1);
  EXPECT_EQ(next_deadline(world.state).engine, world.stamp.now);
  world.input(Tick{});

  const std::vector<PipelineId> checked = world.checked();
  EXPECT_EQ(checked.size(), all);
  EXPECT_EQ(std::set<PipelineId>(checked.begin(), checked.end()).size(), all);
  EXPECT_TRUE(world.state.chores.waiting.empty());
  // Who was woken once more during the check would check again.
  world.all_fail();
  EXPECT_TRUE(world.checked().empty());
}

TEST(Apply, WhatIsLeftToManyTicksIsTakenUpInPartsAndInOrder) {
  const std::size_t all = 3 * limits::routed_a_step;
  ManyGuards world(all);
  world.ask(EmitCustom{"ci:green", {}});
  for (std::size_t ticks = 0; !world.state.chores.waiting.empty(); ++ticks) {
    ASSERT_LT(ticks, 4u);
    const std::size_t before = world.checked().size();
    for (const auto& [number, chore] : world.state.chores.waiting) {
      EXPECT_LE(std::get<CarryOn>(chore).effects.size(), limits::routed_a_step);
    }
    world.input(Tick{});
    EXPECT_LE(world.checked().size() - before, limits::routed_a_step);
  }
  const std::vector<PipelineId> checked = world.checked();
  EXPECT_EQ(checked.size(), all);
  EXPECT_TRUE(std::is_sorted(checked.begin(), checked.end()));
}

// Each pushed item is announced, and wakes a worker of another queue: two things to do an item.
TEST(Apply, EventsThatAStepHasNoRoomForAreRoutedWithTheNextTickAndOnce) {
  pipeline::testing::Play world({pipeline::testing::shell("build")});
  world.set.workers.set("fixer", {"bugs", "fix", 1, {"queue:*:push"}});
  world.set.notifications = {{"queue:*:push"}, "tell"};
  world.load();
  world.ask(worker::Command{
      worker::Start{{default_project, "fixer"}, {default_project, world.set.hash}, {}}});
  queue::Push push{{default_project, "others"}, {}};
  push.items.resize(limits::batch_items);
  world.forget();

  const auto pushed = as<queue::Pushed>(world.ask(queue::Command{push}));
  EXPECT_EQ(world.started.size(), limits::routed_a_step / 2);
  world.input(Tick{});

  std::vector<ItemId> told;
  told.reserve(world.started.size());
  for (const Start& one : world.started) {
    const Event& event = std::get<Notify>(one.effect.what).about.at(0);
    told.push_back(find_in<queue::WasPushed>(event.body)->item);
  }
  EXPECT_EQ(told, pushed.ids);
  EXPECT_TRUE(world.state.chores.waiting.empty());
}

}  // namespace
}  // namespace reeve
