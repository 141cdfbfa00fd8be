#include "core/board_testing.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

// More than one step may touch, and more than one runner may hold.
namespace reeve::board {
namespace {

struct Crowd : BoardWorld {
  // A request of which nobody looks at the invariants: they are looked at after the next.
  reeve::Reply quietly(const Command& command) {
    Applied applied =
        apply(std::move(state), Request{default_project, {}, true, "", command}, stamp);
    state = std::move(applied.state);
    return applied.reply;
  }
  std::vector<BoardTaskId> add_many(std::size_t count, const std::optional<SectionName>& section) {
    std::vector<BoardTaskId> tasks;
    for (std::size_t i = 0; i < count; ++i) {
      tasks.push_back(as<Added>(quietly(Add{"many", section, 0, ""})).task);
    }
    return tasks;
  }
  void hold_many(std::size_t count, const RunnerName& runner) {
    for (const BoardTaskId task : add_many(count, std::nullopt)) quietly(Start{task, runner, {}});
  }
  WaiterId wait_quietly(BoardTaskId task, const RunnerName& runner, std::optional<Duration> most) {
    return as<Waiting>(quietly(Start{task, runner, Wait{most}})).waiter;
  }
  // More locks of the board than a step may touch, and than the one before it that settles.
  void much_is_held() {
    for (const char* name : {"one", "two", "three"}) hold_many(200, {default_project, name});
  }
  // Time passes, and no tick comes.
  void oversleep(Duration duration) { stamp = {stamp.now + duration, stamp.wall + duration}; }
  void tick(int times) {
    for (int i = 0; i < times; ++i) input(Tick{});
  }
  template <class What>
  std::size_t count_told(const std::vector<WaiterId>& waiters) const {
    return static_cast<std::size_t>(
        std::ranges::count_if(waiters, [&](WaiterId waiter) { return is<What>(told(waiter)); }));
  }
  std::size_t held_by(const RunnerName& runner) const {
    return static_cast<std::size_t>(std::ranges::count_if(
        state.board.held, [&](const HeldKey& key) { return key.runner == runner; }));
  }
};

// ── More than one step may touch ──

TEST(BoardMuch, AllThatARunnerAskedForInASectionComesWithItAlsoOverManySteps) {
  Crowd world;
  const BoardTaskId first = world.add("first", backend);
  const BoardTaskId second = world.add("second", backend);
  world.start(first, ana);
  std::vector<WaiterId> bos = {world.wait_to_start(first, bo)};
  const WaiterId between = world.wait_to_start(first, cy);
  for (int i = 0; i < 300; ++i) bos.push_back(world.wait_quietly(second, bo, {}));

  world.say(ForceRelease{backend, "root", ""});
  EXPECT_LT(world.count_told<Started>(bos), bos.size()) << "one step is bounded";
  world.tick(2);

  EXPECT_EQ(world.count_told<Started>(bos), bos.size());
  EXPECT_TRUE(is<Ok>(world.told(between)));
}

TEST(BoardMuch, AllThatARunnerAskedForOneTaskComesWithItAlsoOverManySteps) {
  Crowd world;
  const BoardTaskId task = world.add("fix");
  world.start(task, ana);
  std::vector<WaiterId> bos = {world.wait_to_start(task, bo)};
  const WaiterId between = world.wait_to_start(task, cy);
  for (int i = 0; i < 300; ++i) bos.push_back(world.wait_quietly(task, bo, {}));

  world.say(PutBack{task, ana, {}});
  world.tick(2);

  EXPECT_EQ(world.count_told<Started>(bos), bos.size());
  EXPECT_TRUE(is<Ok>(world.told(between)));
}

// With each lease that is over the two who wait are looked at, and a request has the room of two
// steps. Of some numbers of leases nothing is left then but to serve those two; of many, leases.
TEST(BoardMuch, InOrderOneIsNotOvertakenByWhoTakesAnyWhenAStepHadNoRoom) {
  std::vector<std::size_t> numbers = {3 * limits::touched_a_step};
  for (std::size_t i = 0; i < 9; ++i) numbers.push_back(2 * limits::touched_a_step / 3 - 4 + i);
  for (const std::size_t others : numbers) {
    Crowd world;
    world.say(SetLocking{default_project, {1min, 120min, 30min}});
    world.say(AddSection{frontend});
    world.start(world.add("back", backend), ana);
    for (std::size_t i = 0; i < others; ++i) {
      const std::string name = "other" + std::to_string(i / 200);
      const BoardTaskId task = world.add_many(1, SectionName{default_project, name}).front();
      world.quietly(Start{task, {default_project, name}, {}});
    }
    const WaiterId in_order =
        as<Waiting>(world.say(Next{bo, {{}, true, true}, Wait{10min}})).waiter;
    const WaiterId any = as<Waiting>(world.say(Next{cy, {{}, false, true}, Wait{10min}})).waiter;
    world.oversleep(1min + 1ms);
    const BoardTaskId front = world.add("front", frontend);
    world.tick(8);
    EXPECT_EQ(as<Started>(world.told(in_order)).task, front) << others;
    EXPECT_TRUE(is<Ok>(world.told(any))) << others;
  }
}

// What is over and not yet marked is so for good once another has the section.
TEST(BoardMuch, InASectionThatChangesHandsNoTaskOfTheOneBeforeIsGoodAgain) {
  for (const bool by_letting_go : {false, true}) {
    Crowd world;
    world.say(SetLocking{default_project, {1min, by_letting_go ? 5min : 1min, 30min}});
    world.much_is_held();
    const BoardTaskId one = world.add("one", backend);
    const BoardTaskId two = world.add("two", backend);
    world.start(one, ana);
    world.oversleep(1min + 1ms);
    if (by_letting_go) world.say(LetGo{backend, ana});
    ASSERT_TRUE(is<Started>(world.start(two, bo)));
    EXPECT_TRUE(world.task(one).lock->expired);
    world.input(Resumed{System::What::Ready});
    EXPECT_TRUE(is<Lost>(world.heartbeat(one, ana)));
    EXPECT_TRUE(is<Extended>(world.heartbeat(two, bo)));
  }
}

TEST(BoardMuch, TheNextOfASectionThatIsOverIsItsFirstTaskAlsoIfNobodyHasSaidSoYet) {
  for (const bool in_order : {false, true}) {
    Crowd world;
    world.say(SetLocking{default_project, {1min, 2min, 30min}});
    world.much_is_held();
    const BoardTaskId first = world.add("first", backend, 1);
    const BoardTaskId second = world.add("second", backend);
    const BoardTaskId third = world.add("third", backend, -1);
    for (const BoardTaskId task : {third, first}) world.start(task, ana);
    world.oversleep(2min + 1ms);

    NextTask wanted{backend, false, true};
    if (in_order) wanted = {{}, true, true};
    ASSERT_FALSE(world.task(first).lock->expired);
    for (const BoardTaskId task : {first, second, third}) {
      EXPECT_EQ(as<Started>(world.quietly(Next{bo, wanted, {}})).task, task);
    }
  }
}

TEST(BoardMuch, WhatIsOverInOnesOwnSectionIsOnesNextAlsoIfNobodyHasSaidSoYet) {
  Crowd world;
  world.say(SetLocking{default_project, {1min, 5min, 30min}});
  world.much_is_held();
  const BoardTaskId task = world.add("fix", backend);
  world.start(task, ana);
  EXPECT_EQ(as<Nothing>(world.next(ana, {backend, false, true})), Nothing{true});
  world.oversleep(1min);
  EXPECT_EQ(as<Nothing>(world.next(ana, {backend, false, true})), Nothing{true});

  world.oversleep(1ms);
  const Started started = as<Started>(world.quietly(Next{ana, {{}, false, true}, {}}));
  EXPECT_EQ(started.task, task);
  EXPECT_EQ(started.claimed_from, ana);
}

// A tick shares what it may touch with all that is due.
TEST(BoardMuch, ARunnersTwoWaitsAreServedHoweverMuchElseIsDueInTheSameTick) {
  for (std::size_t others = limits::touched_a_step - 6; others <= limits::touched_a_step;
       ++others) {
    Crowd world;
    for (std::size_t i = 0; i < others; ++i) {
      const lock::Acquire command{
          {{default_project, "l" + std::to_string(i)}}, {default_project, "ana"}, {}, 2min, {}, {}};
      const Request request{default_project, {}, true, {}, reeve::Command{lock::Command{command}}};
      world.state = apply(std::move(world.state), request, world.stamp).state;
    }
    world.say(SetLocking{default_project, {1min, 2min, 30min}});
    const BoardTaskId first = world.add("first", backend);
    const BoardTaskId second = world.add("second", backend);
    world.start(first, ana);
    const WaiterId one = world.wait_to_start(first, bo);
    const WaiterId between = world.wait_to_start(first, cy);
    const WaiterId two = world.wait_to_start(second, bo);

    world.pass(2min + 1ms);
    world.tick(2);

    EXPECT_TRUE(is<Started>(world.told(one))) << others;
    EXPECT_TRUE(is<Started>(world.told(two))) << others;
    EXPECT_TRUE(is<Ok>(world.told(between))) << others;
  }
}

// Who is first in the line of a section, or of a task, comes before whoever takes any.
void nobody_is_overtaken(const std::optional<SectionName>& section) {
  for (std::size_t others = limits::touched_a_step - 6; others <= limits::touched_a_step;
       ++others) {
    Crowd world;
    for (std::size_t i = 0; i < others; ++i) {
      const lock::Acquire command{
          {{default_project, "l" + std::to_string(i)}}, {default_project, "ana"}, {}, 2min, {}, {}};
      const Request request{default_project, {}, true, {}, reeve::Command{lock::Command{command}}};
      world.state = apply(std::move(world.state), request, world.stamp).state;
    }
    world.say(SetLocking{default_project, {2min, 2min, 30min}});
    const BoardTaskId task = world.add("fix", section);
    world.start(task, ana);
    const WaiterId first = world.wait_to_start(task, bo);
    const WaiterId any = as<Waiting>(world.say(Next{cy, {{}, false, true}, Wait{}})).waiter;

    world.pass(2min + 1ms);
    world.tick(2);

    EXPECT_TRUE(is<Started>(world.told(first))) << others;
    EXPECT_TRUE(is<Ok>(world.told(any))) << others;
  }
}

TEST(BoardMuch, WhoTakesAnyTaskDoesNotOvertakeALineHoweverMuchElseIsDue) {
  nobody_is_overtaken(backend);
  nobody_is_overtaken(std::nullopt);
}

TEST(BoardMuch, OfFinishedTasksAThousandAreKeptInWhateverOrderTheyEnd) {
  Crowd world;
  const std::vector<BoardTaskId> tasks = world.add_many(limits::finished_kept + 2, std::nullopt);
  for (auto task = tasks.rbegin(); task != tasks.rend(); ++task) {
    world.quietly(Start{*task, ana, {}});
    world.quietly(Finish{*task, ana, {}, Status::Completed, ""});
  }
  world.tick(1);
  EXPECT_EQ(world.state.board.tasks.size(), limits::finished_kept);
  EXPECT_TRUE(world.state.board.tasks.contains(tasks.front())) << "the last that was finished";
}

TEST(BoardMuch, ThoseWhoWaitForATaskThatIsRemovedAreAllToldSo) {
  for (const bool leaves : {false, true}) {
    Crowd world;
    const BoardTaskId one = world.add("one", backend);
    const BoardTaskId two = world.add("two", backend);
    world.start(one, ana);
    std::vector<WaiterId> waiters;
    for (int i = 0; i < 800; ++i) waiters.push_back(world.wait_quietly(two, bo, {}));
    world.input(Request{default_project, {}, true, "", Command{RemoveTask{two}}});
    // Their line goes on before they are told.
    if (leaves) world.finish(one, ana);
    for (int i = 0; i < 6; ++i) world.input(Tick{});
    EXPECT_TRUE(world.state.board.waiters.empty());
    std::size_t told = 0;
    for (const Answer& answer : world.answers) {
      told += answer.reply == refused(Why::NotFound, to_text(two)) ? 1U : 0U;
    }
    EXPECT_EQ(told, waiters.size());
  }
}

TEST(BoardMuch, WhoTakesTheSectionsInOrderIsServedLaterIfTheStepHasNoRoom) {
  Crowd world;
  world.say(SetLocking{default_project, {1min, 2min, 30min}});
  world.say(AddSection{frontend});
  world.start(world.add("back", backend), ana);
  const WaiterId waiter = as<Waiting>(world.say(Next{bo, {{}, true, true}, Wait{}})).waiter;
  world.much_is_held();
  world.oversleep(1min + 1ms);

  const BoardTaskId front = world.add("front", frontend);
  EXPECT_TRUE(is<Ok>(world.told(waiter)));
  world.tick(3);

  EXPECT_EQ(as<Started>(world.told(waiter)).task, front);
}

TEST(BoardMuch, AWaitIsOverAtItsLimitAlsoIfMoreAreThanOneStepMayEnd) {
  Crowd world;
  world.say(SetLocking{default_project, {1min, 2min, 30min}});
  const BoardTaskId task = world.add("fix");
  world.start(task, ana);
  std::vector<WaiterId> bos;
  for (int i = 0; i < 300; ++i) bos.push_back(world.wait_quietly(task, bo, 1min + 1ms));
  const WaiterId last = world.wait_to_start(task, cy);

  world.pass(1min + 1ms);

  EXPECT_EQ(world.count_told<TaskLocked>(bos), bos.size());
  EXPECT_EQ(as<Started>(world.told(last)).claimed_from, ana);
}

TEST(BoardMuch, ASectionIsNotGivenToWhoseWaitIsOverAlsoIfMoreAreThanOneStepMayEnd) {
  Crowd world;
  world.say(SetLocking{default_project, {1min, 2min, 30min}});
  const BoardTaskId task = world.add("fix", backend);
  world.start(task, ana);
  std::vector<WaiterId> bos;
  for (int i = 0; i < 300; ++i) bos.push_back(world.wait_quietly(task, bo, 2min + 1ms));
  const WaiterId last = world.wait_to_start(task, cy);

  world.pass(2min + 1ms);

  EXPECT_EQ(world.count_told<Started>(bos), 0u);
  EXPECT_EQ(as<Started>(world.told(last)).task, task);
}

TEST(BoardMuch, WhatIsCleanedUpGoesToWhoWaitsForIt) {
  Crowd world;
  world.say(SetLocking{default_project, {1min, 2min, 30min}});
  world.much_is_held();
  const BoardTaskId task = world.add("fix");
  world.start(task, ana);
  const WaiterId waiter = world.wait_to_start(task, bo);
  world.oversleep(1min + 1ms);

  const CleanedUp cleaned = as<CleanedUp>(world.say(Cleanup{default_project, false}));
  EXPECT_EQ(std::ranges::count(cleaned.locks, decltype(cleaned.locks)::value_type{task}), 1);
  world.tick(3);

  EXPECT_EQ(as<Started>(world.told(waiter)).task, task);
}

// His own other wait got him the task meanwhile, and somebody else stands before these.
TEST(BoardMuch, WhoComesBackIsServedAPartAStep) {
  Crowd world;
  const BoardTaskId task = world.add("alone");
  world.start(task, ana);
  world.wait_to_start(task, bo);
  world.wait_to_start(task, cy);
  for (int i = 0; i < 300; ++i) {
    EXPECT_TRUE(is<Waiting>(world.say(Start{task, bo, Wait{30min}}, SessionId{5})));
  }
  world.input(Resumed{System::What::Ready});
  world.say(PutBack{task, ana, {}});
  ASSERT_EQ(world.task(task).lock->runner, bo);
  world.forget();

  world.input(session::Returned{SessionId{5}});
  EXPECT_EQ(world.answers.size(), limits::touched_a_step);
  world.pass(0s);
  EXPECT_EQ(world.answers.size(), 300u);
}

TEST(BoardMuch, OfManyWaitsThatComeBackOneLookIsOwedToTheirRunner) {
  Crowd world;
  const BoardTaskId task = world.add("alone");
  world.start(task, ana);
  for (int i = 0; i < 300; ++i) {
    world.add_many(1, std::nullopt);  // so that the numbers of the waits are not neighbours
    EXPECT_TRUE(is<Waiting>(world.say(Start{task, bo, Wait{30min}}, SessionId{5})));
  }
  world.input(Resumed{System::What::Ready});

  world.input(session::Returned{SessionId{5}});
  const auto looks = std::ranges::count_if(world.state.board.due, [](const DueKey& key) {
    return std::holds_alternative<ServeRunner>(key.what);
  });
  EXPECT_LE(looks, 1);
}

TEST(BoardMuch, ASectionThatIsOverIsCleanedUpHoweverMuchElseIsDue) {
  Crowd world;
  world.say(SetLocking{default_project, {1min, 2min, 30min}});
  const BoardTaskId task = world.add("fix", backend);
  world.add("more", backend);
  world.start(task, ana);
  world.finish(task, ana);
  world.much_is_held();
  world.oversleep(2min + 1ms);

  const CleanedUp cleaned = as<CleanedUp>(world.say(Cleanup{default_project, false}));
  EXPECT_EQ(cleaned.locks.front(), decltype(cleaned.locks)::value_type{backend});
  EXPECT_EQ(std::ranges::count(world.heard, EventBody{SectionExpired{backend, ana}}), 1);
}

// ── What a runner has is for all its waits ──

TEST(BoardMuch, WhoTakesTheSectionsInOrderGetsWhatIsNewInItsOwn) {
  Crowd world;
  world.start(world.add("back", backend), ana);
  world.start(world.add("front", frontend), bo);
  const WaiterId cys = as<Waiting>(world.say(Next{cy, {{}, true, true}, Wait{}})).waiter;
  const WaiterId bos = as<Waiting>(world.say(Next{bo, {{}, true, true}, Wait{}})).waiter;

  const BoardTaskId more = world.add("more", frontend);

  EXPECT_EQ(as<Started>(world.told(bos)).task, more);
  EXPECT_TRUE(is<Ok>(world.told(cys)));
}

TEST(BoardMuch, WhoComesBackGetsATaskOfTheSectionThatItsRunnerGotMeanwhile) {
  Crowd world;
  const BoardTaskId first = world.add("first", backend);
  const BoardTaskId second = world.add("second", backend);
  world.start(first, ana);
  const WaiterId here = world.wait_to_start(second, bo);
  world.wait_to_start(second, cy);
  const WaiterId away = as<Waiting>(world.say(Start{first, bo, Wait{}}, SessionId{5})).waiter;
  world.input(Resumed{System::What::Ready});
  world.say(PutBack{first, ana, {}});
  world.say(LetGo{backend, ana});
  ASSERT_TRUE(is<Started>(world.told(here)));
  ASSERT_TRUE(is<Ok>(world.told(away)));

  world.input(session::Returned{SessionId{5}});

  EXPECT_EQ(as<Started>(world.told(away)).task, first);
}

TEST(BoardMuch, WhoGetsInBesideItsOwnLineIsFollowedByItsWaits) {
  Crowd world;
  const BoardTaskId first = world.add("first", backend);
  const BoardTaskId second = world.add("second", backend);
  world.start(first, ana);
  world.say(Start{second, bo, Wait{}}, SessionId{5});
  const WaiterId here = world.wait_to_start(second, bo);
  world.input(Resumed{System::What::Ready});
  world.say(PutBack{first, ana, {}});
  world.say(LetGo{backend, ana});
  ASSERT_TRUE(is<Ok>(world.told(here))) << "the line waits for its head";

  EXPECT_TRUE(is<Started>(world.start(first, bo)));

  EXPECT_EQ(as<Started>(world.told(here)).task, second);
}

// ── More than one runner may hold ──

TEST(BoardMuch, ATaskAndItsSectionAreTwoThingsToHold) {
  Crowd world;
  world.hold_many(255, ana);
  const BoardTaskId task = world.add("fix", backend);
  EXPECT_EQ(as<Refused>(world.start(task, ana)), (Refused{Why::OverLimit, "held"}));
  EXPECT_TRUE(is<Found>(world.next(ana))) << "to be told of one is not to hold it";
  const BoardTaskId loose = world.add("loose");
  EXPECT_TRUE(is<Started>(world.start(loose, ana)));
  EXPECT_FALSE(as<Started>(world.start(loose, ana)).took_task) << "what it has is no more";
  EXPECT_EQ(world.held_by(ana), 256u);
}

TEST(BoardMuch, WhoHoldsAllItMayDoesNotBeginToWait) {
  Crowd world;
  world.hold_many(256, bo);
  const BoardTaskId task = world.add("fix");
  world.start(task, ana);
  EXPECT_EQ(as<Refused>(world.say(Start{task, bo, Wait{}})), (Refused{Why::OverLimit, "held"}));
  EXPECT_TRUE(is<TaskLocked>(world.start(task, bo)));
}

TEST(BoardMuch, AWaiterWhoHoldsAllItMayIsRefusedWhenItsTurnComesAndTheNextIsServed) {
  Crowd world;
  const BoardTaskId task = world.add("fix", backend);
  world.start(task, ana);
  const WaiterId bos = world.wait_to_start(task, bo);
  const WaiterId cys = world.wait_to_start(task, cy);
  world.hold_many(255, bo);
  world.forget();

  world.say(ForceRelease{backend, "root", ""});

  EXPECT_EQ(as<Refused>(world.told(bos)), (Refused{Why::OverLimit, "held"}));
  const EventBody ended = EventBody{Event{StoppedWaiting{bo, backend, bos, Left::Unfit}}};
  EXPECT_EQ(std::ranges::count(world.heard, ended), 1);
  EXPECT_EQ(as<Started>(world.told(cys)).task, task);
  EXPECT_EQ(world.held_by(bo), 255u);
}

TEST(BoardMuch, OfAllThatComesWithASectionARunnerGetsAsMuchAsItMayHold) {
  Crowd world;
  const std::vector<BoardTaskId> tasks = world.add_many(300, backend);
  world.start(tasks.front(), ana);
  std::vector<WaiterId> bos;
  for (const BoardTaskId task : tasks) bos.push_back(world.wait_quietly(task, bo, {}));

  world.say(ForceRelease{backend, "root", ""});
  world.tick(2);

  EXPECT_EQ(world.held_by(bo), 256u);
  EXPECT_EQ(world.count_told<Started>(bos), 255u);
  EXPECT_EQ(world.count_told<Refused>(bos), 45u);
  EXPECT_TRUE(world.state.board.waiters.empty());
}

}  // namespace
}  // namespace reeve::board
