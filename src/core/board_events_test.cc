#include "core/board_testing.h"
#include "core/heard_testing.h"

#include <gtest/gtest.h>

// What was announced is all that somebody needs who writes down who had what, and until when.
namespace reeve::board {
namespace {

TEST(BoardEvents, AStartTellsUntilWhenBothLocksAreGood) {
  BoardWorld world;
  const BoardTaskId task = world.add("fix", backend);
  world.forget();

  const auto started = as<Started>(world.start(task, ana));

  const Token section_token = *started.section_token;
  EXPECT_EQ(world.heard,
            (std::vector<EventBody>{
                SectionTaken{backend, ana, section_token, at(120min)},
                WasStarted{task, ana, started.token, at(60min), section_token},
            }));
}

TEST(BoardEvents, ANewSectionIsAnnouncedByItsName) {
  BoardWorld world;
  world.say(AddSection{backend});
  EXPECT_EQ(world.heard, (std::vector<EventBody>{SectionAdded{backend}}));
  EXPECT_EQ(world.names(), (Names{"board:section_added"}));
}

TEST(BoardEvents, AClaimTellsUntilWhenItIsGood) {
  BoardWorld world;
  const BoardTaskId task = world.add("fix");
  world.start(task, ana);
  world.pass(61min);
  world.forget();

  const auto started = as<Started>(world.start(task, bo));

  EXPECT_EQ(world.heard,
            (std::vector<EventBody>{
                WasClaimed{task, ana, bo, started.token, at(121min), std::nullopt},
            }));
}

TEST(BoardEvents, AHeartbeatOfATaskTellsWhatItExtends) {
  BoardWorld world;
  const BoardTaskId task = world.add("fix", backend);
  world.start(task, ana);
  world.pass(10min);
  world.forget();
  world.heartbeat(task, ana);
  EXPECT_EQ(world.heard,
            (std::vector<EventBody>{
                WasExtended{task, ana, at(70min)},
                SectionExtended{backend, ana, at(130min)},
            }));
}

TEST(BoardEvents, AHeartbeatThatExtendsNothingTellsNothing) {
  BoardWorld world;
  const BoardTaskId task = world.add("fix", backend);
  world.start(task, ana);
  world.forget();
  world.heartbeat(task, ana);
  world.say(RunnerHeartbeat{ana});
  EXPECT_EQ(world.names(), Names{}) << "it is the same millisecond";
}

TEST(BoardEvents, AHeartbeatOfARunnerTellsOfAllThatItExtends) {
  BoardWorld world;
  const BoardTaskId one = world.add("one", backend);
  const BoardTaskId two = world.add("two");
  world.start(one, ana);
  world.start(two, ana);
  world.pass(10min);
  world.forget();
  world.say(RunnerHeartbeat{ana});
  EXPECT_EQ(world.heard,
            (std::vector<EventBody>{
                SectionExtended{backend, ana, at(130min)},
                WasExtended{one, ana, at(70min)},
                WasExtended{two, ana, at(70min)},
            }));
}

TEST(BoardEvents, StartingAgainTellsWhatItExtends) {
  BoardWorld world;
  const BoardTaskId task = world.add("fix", backend);
  world.start(task, ana);
  world.pass(10min);
  world.forget();
  world.start(task, ana);
  EXPECT_EQ(world.names(), (Names{"board:section_extended", "board:extended"}));
}

std::vector<StoppedWaiting> ends_in(const BoardWorld& world) {
  std::vector<StoppedWaiting> ends;
  for (const EventBody& body : world.heard) {
    if (const auto* end = find_in<StoppedWaiting>(body)) ends.push_back(*end);
  }
  return ends;
}

TEST(BoardEvents, EveryWaitEndsWithWhatBecameOfIt) {
  BoardWorld world;
  const BoardTaskId one = world.add("one", backend);
  const BoardTaskId two = world.add("two", backend);
  world.start(one, ana);
  const WaiterId served = world.wait_to_start(two, bo);
  const WaiterId late = world.wait_to_start(one, cy, 5min);
  EXPECT_EQ(world.heard[world.heard.size() - 1], (EventBody{IsWaiting{cy, backend, late}}));
  world.pass(5min);
  EXPECT_EQ(ends_in(world), (std::vector{StoppedWaiting{cy, backend, late, Left::TimedOut}}));

  world.forget();
  const WaiterId beaten = world.wait_to_start(one, cy);
  world.finish(one, ana);
  EXPECT_EQ(ends_in(world), (std::vector{StoppedWaiting{cy, backend, beaten, Left::Unfit}}))
      << "the section is still ana's";
  world.forget();
  world.say(LetGo{backend, ana});
  EXPECT_EQ(ends_in(world), (std::vector{StoppedWaiting{bo, backend, served, std::nullopt}}));

  world.forget();
  const SessionId session{5};
  const auto gone = as<Waiting>(world.say(Start{two, cy, Wait{}}, session)).waiter;
  world.ask(CancelRequest{gone}, session);
  EXPECT_EQ(ends_in(world), (std::vector{StoppedWaiting{cy, backend, gone, Left::Cancelled}}));
}

TEST(BoardEvents, AdditionAndEndTellWhatWasSaidWithThem) {
  BoardWorld world;
  world.add("other", backend);
  world.forget();
  const auto task = as<Added>(world.say(Add{"fix", backend, 7, "see the log"})).task;
  const auto other = as<Added>(world.say(Add{"tidy", {}, 0, ""})).task;
  world.say(Finish{task, nobody, {}, Status::Skipped, "no need"});
  EXPECT_EQ(world.heard,
            (std::vector<EventBody>{
                WasAdded{task, "fix", backend, 7, "see the log"},
                WasAdded{other, "tidy", std::nullopt, 0, std::nullopt},
                WasFinished{task, Status::Skipped, "", "no need"},
            }));
}

}  // namespace
}  // namespace reeve::board
