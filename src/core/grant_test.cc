#include "core/grant.h"

#include "core/grant_testing.h"

namespace reeve {
namespace {

using namespace reeve::testing;
using grant::Busy;
using grant::Full;
using grant::Granted;
using grant::How;
using grant::NotGranted;
using Names = std::vector<std::string>;

// ── all or none ──

TEST(Grant, SeveralNamesAreGivenAllOrNone) {
  Grants world;
  world.acquire(ana, "docs");

  EXPECT_EQ(as<Busy>(world.acquire(bo, Names{"main", "docs"})).name, lock_named("docs"));
  EXPECT_EQ(world.holder_of("main"), "");

  world.release(ana, "docs");
  const Granted granted = as<Granted>(world.acquire(bo, Names{"main", "docs"}));
  ASSERT_EQ(granted.given.size(), 2u);
  EXPECT_EQ(granted.given.at(0).name, "main");
  EXPECT_EQ(granted.given.at(1).name, "docs");
  EXPECT_NE(granted.given.at(0).token, granted.given.at(1).token);
}

TEST(Grant, ARequestPartlyOnesOwnKeepsTheTokensOfThatPart) {
  Grants world;
  const Token token = world.token_of(ana, "main");

  const Granted granted = as<Granted>(world.acquire(ana, Names{"main", "docs"}));

  EXPECT_EQ(granted.how, How::Acquired);
  EXPECT_EQ(granted.given.at(0).token, token);
}

TEST(Grant, NothingIsHeldWhileWaiting) {
  Grants world;
  world.acquire(ana, "docs");
  const Reply place = world.acquire(bo, Names{"main", "docs"}, waiting);

  EXPECT_EQ(world.holder_of("main"), "");
  world.release(ana, "docs");

  EXPECT_EQ(as<Granted>(*world.answer_to(place)).given.size(), 2u);
  EXPECT_EQ(world.holder_of("main"), "bo");
  EXPECT_EQ(world.holder_of("docs"), "bo");
}

TEST(Grant, AFreeLockWithALineIsNotGivenToANewcomer) {
  Grants world;
  world.acquire(ana, "main");
  world.acquire(bo, Names{"main", "docs"}, waiting);

  EXPECT_EQ(as<Busy>(world.acquire(di, "docs")),
            (Busy{lock_named("docs"), bo, at(0s), std::nullopt, 1}));
  const Reply place = world.acquire(di, "docs", waiting);
  EXPECT_EQ(world.answer_to(place), nullptr);
}

// ── lines ──

TEST(Grant, ALineIsServedInTheOrderOfArrival) {
  Grants world;
  world.acquire(ana, "main");
  const Reply bo_waits = world.acquire(bo, "main", waiting);
  const Reply cy_waits = world.acquire(cy, "main", waiting);

  world.release(ana, "main");
  EXPECT_TRUE(world.got<Granted>(bo_waits));
  EXPECT_EQ(world.answer_to(cy_waits), nullptr);

  world.release(bo, "main");
  EXPECT_TRUE(world.got<Granted>(cy_waits));
}

TEST(Grant, BeginningToWaitIsAnnounced) {
  Grants world;
  world.acquire(ana, "main");
  world.forget();

  const Reply place = world.acquire(bo, Names{"main", "docs"}, waiting);

  EXPECT_EQ(world.heard,
            (std::vector<EventBody>{grant::Event{
                grant::BeganWaiting{as<Waiting>(place).waiter, bo, {"main", "docs"}}}}));
  EXPECT_EQ(world.names(), Names{"wait:began"});
}

TEST(Grant, AWaiterLeavesAtTheMomentItsTimeIsUp) {
  Grants world;
  world.acquire(ana, "main", {.timeout = 1h});
  const Reply place = world.acquire(bo, "main", {.wait = 10s});
  const Reply behind = world.acquire(cy, "main", waiting);
  world.forget();

  world.pass(10s - 1ms);
  EXPECT_EQ(world.answer_to(place), nullptr);
  world.pass(1ms);

  EXPECT_EQ(as<NotGranted>(*world.answer_to(place)),
            (NotGranted{Left::TimedOut, Busy{lock_named("main"), ana, at(0s), at(1h), 0}}));
  EXPECT_EQ(world.heard,
            (std::vector<EventBody>{grant::Event{
                grant::StoppedWaiting{as<Waiting>(place).waiter, bo, Left::TimedOut}}}));
  world.release(ana, "main");
  EXPECT_TRUE(world.got<Granted>(behind));
}

TEST(Grant, AWaitThatIsOverCountsAsOverWhetherOrNotATickCame) {
  for (const bool ticked : {false, true}) {
    Grants world;
    world.acquire(ana, "main");
    const Reply late = world.acquire(bo, "main", {.wait = 10s});
    const Reply next = world.acquire(cy, "main", waiting);
    world.wait_unnoticed(10s);
    if (ticked) world.tick();

    world.release(ana, "main");

    EXPECT_EQ(as<NotGranted>(*world.answer_to(late)).left, Left::TimedOut) << ticked;
    EXPECT_TRUE(world.got<Granted>(next)) << ticked;
  }
}

TEST(Grant, InItsLastMomentAWaitIsStillAWait) {
  Grants world;
  world.acquire(ana, "main");
  const Reply waits = world.acquire(bo, "main", {.wait = 10s});
  world.wait_unnoticed(10s - 1ms);

  world.release(ana, "main");

  EXPECT_TRUE(world.got<Granted>(waits));
}

TEST(Grant, AWaitIsOverAlsoIfTheLeaseEndsInTheSameMillisecond) {
  for (const bool longer : {false, true}) {
    Grants world;
    world.acquire(ana, "main");
    const Duration wait = 60s + 1ms + (longer ? 1ms : 0ms);
    const Reply waits = world.acquire(bo, "main", {.wait = wait});

    world.pass(60s + 2ms);

    EXPECT_EQ(world.got<Granted>(waits), longer);
  }
}

TEST(Grant, ANewcomerDoesNotStandBehindAWaitThatIsOver) {
  Grants world;
  world.acquire(ana, "main");
  world.acquire(bo, Names{"main", "docs"}, {.wait = 10s});
  world.wait_unnoticed(10s);

  EXPECT_TRUE(is<Granted>(world.acquire(cy, "docs")));
}

TEST(Grant, AMissedDeadlineElsewhereDoesNotHoldALineUp) {
  // Everything bo wants is free or over; whoever asks about x finds that bo has it.
  Grants world;
  const Token token = world.token_of(ana, "x");
  world.acquire(ana, "y", {.timeout = 10s});
  world.acquire(bo, Names{"x", "y"}, waiting);
  world.release(ana, "x");
  world.wait_unnoticed(10s + 1ms);

  EXPECT_EQ(as<lock::Lost>(world.beat(ana, "x", token)), lock::Lost{bo});
}

TEST(Grant, NoTimeToWaitIsNotWaiting) {
  Grants world;
  world.acquire(ana, "main");

  EXPECT_TRUE(is<Busy>(world.acquire(bo, "main", {.wait = 0ms})));
  EXPECT_FALSE(world.last.changed);
}

TEST(Grant, WhenTheHeadGivesUpThoseBehindItMove) {
  Grants world;
  world.acquire(ana, "main");
  const Reply head = world.acquire(bo, Names{"main", "docs"}, {.wait = 10s});
  const Reply behind = world.acquire(cy, "docs", waiting);
  EXPECT_EQ(world.answer_to(behind), nullptr);

  world.pass(10s);

  EXPECT_TRUE(world.got<NotGranted>(head));
  EXPECT_TRUE(world.got<Granted>(behind));
}

TEST(Grant, AWaiterCanBeCancelledByItsOwnConnectionOnly) {
  Grants world;
  world.acquire(ana, "main");
  const Reply place = world.acquire(bound(bo, 5), "main", waiting);
  const CancelRequest cancel{as<Waiting>(place).waiter};

  EXPECT_EQ(as<Refused>(world.ask(cancel, SessionId{6})), (Refused{Why::NotFound, "request"}));
  EXPECT_TRUE(is<Ok>(world.ask(cancel, SessionId{5})));

  EXPECT_EQ(as<NotGranted>(*world.answer_to(place)).left, Left::Cancelled);
  EXPECT_TRUE(world.state.grants.waiters.empty());
  EXPECT_TRUE(world.state.sessions.sessions.empty());
}

TEST(Grant, ALineHasSoManyPlacesAndNoMore) {
  Grants world;
  world.acquire(ana, "main");
  State state = world.state;
  state.locks.locks.edit(lock_named("main"))->waiting = limits::waiters_a_line;

  const Applied applied =
      apply(state,
            Request{default_project,
                    {},
                    true,
                    "",
                    lock::Command{lock::Acquire{{lock_named("main")}, bo, {}, {}, {}, for_ever}}},
            world.stamp);

  EXPECT_EQ(as<Refused>(applied.reply), (Refused{Why::OverLimit, "waiters"}));
}

TEST(Grant, SoHasThatOfASemaphore) {
  Grants world;
  world.create("agents", 1);
  world.enter(ana, "agents");
  world.collects = true;  // the number of those who wait is made up
  world.state.semaphores.semaphores.edit(slots_named("agents"))->waiting = limits::waiters_a_line;

  EXPECT_EQ(as<Refused>(world.enter(bo, "agents", 1, waiting)),
            (Refused{Why::OverLimit, "waiters"}));
}

TEST(Grant, AHolderMayWaitTwiceAndGetsBothWhenItGetsOne) {
  Grants world;
  world.acquire(ana, "main");
  const Reply one = world.acquire(bo, "main", waiting);
  world.acquire(cy, "main", waiting);
  const Reply two = world.acquire(bo, "main", waiting);

  world.release(ana, "main");

  EXPECT_EQ(as<Granted>(*world.answer_to(one)).how, How::Acquired);
  EXPECT_EQ(as<Granted>(*world.answer_to(two)).how, How::Extended);
}

TEST(Grant, AWaitThatFollowsAnotherRequestMovesWhenItsNameIsFree) {
  Grants world;
  for (int i = 0; i < 300; ++i) world.acquire(ana, "main");
  world.create("agents", 300);
  world.enter(ana, "agents", 300);
  std::vector<Reply> places;
  for (int i = 0; i < 300; ++i) {
    places.push_back(world.enter({default_project, "w" + std::to_string(i)}, "agents", 1, waiting));
  }

  world.exit(ana, "agents");
  EXPECT_FALSE(world.got<Granted>(places.back()));
  world.tick();
  world.tick();

  for (const Reply& place : places) EXPECT_TRUE(world.got<Granted>(place));
}

// ── going ahead ──

TEST(Grant, ARequestGoesAheadOfThoseWhoWaitForItsHolder) {
  Grants world;
  world.acquire(di, "main");
  const Reply bo_waits = world.acquire(bo, Names{"main", "docs"}, waiting);

  EXPECT_TRUE(is<Granted>(world.acquire(di, "docs")));

  world.release(di, "docs");
  world.release(di, "main");
  EXPECT_TRUE(world.got<Granted>(bo_waits));
}

TEST(Grant, AndOfThoseWhoWaitForItThroughOthers) {
  Grants world;
  world.acquire(di, "deep");
  world.acquire(cy, "main");
  world.acquire(cy, "deep", waiting);
  world.acquire(bo, Names{"main", "docs"}, waiting);

  EXPECT_TRUE(is<Granted>(world.acquire(di, "docs")));
}

TEST(Grant, ButNotOfThoseWhoWaitForSomebodyElse) {
  Grants world;
  world.acquire(ana, "main");
  world.acquire(di, "other");
  world.acquire(bo, Names{"main", "docs"}, waiting);

  EXPECT_TRUE(is<Busy>(world.acquire(di, "docs")));
}

TEST(Grant, ItPassesTheLineOnlyIfTheFirstInItWaitsForIt) {
  Grants world;
  world.acquire(di, "main");
  world.acquire(ana, "wiki");
  world.acquire(bo, Names{"main", "docs"}, waiting);
  const Reply cy_waits = world.acquire(cy, Names{"wiki", "docs"}, waiting);

  EXPECT_TRUE(is<Busy>(world.acquire(ana, "docs"))) << "cy waits for it, but bo does not";
  world.ask(lock::Command{lock::Release{lock_named("wiki"), ana, {}}});
  EXPECT_EQ(world.answer_to(cy_waits), nullptr) << "bo is ahead of it";
}

TEST(Grant, ANewWaitMayGiveSomebodyTheRightToGoAhead) {
  // bo waits for x and y; ana, who holds z, waits for x behind bo. When the holder of y comes to
  // wait for z, bo waits, through it, for ana.
  Grants world;
  world.acquire(cy, "y");
  world.acquire(ana, "z");
  const Reply bo_waits = world.acquire(bo, Names{"x", "y"}, waiting);
  const Reply ana_waits = world.acquire(ana, "x", waiting);
  EXPECT_EQ(world.answer_to(ana_waits), nullptr);

  const Reply cy_waits = world.acquire(cy, "z", waiting);

  EXPECT_TRUE(is<Waiting>(cy_waits));
  EXPECT_TRUE(world.got<Granted>(ana_waits));
  world.release(ana, "x");
  world.release(ana, "z");
  EXPECT_TRUE(world.got<Granted>(cy_waits));
  world.release(cy, "y");
  EXPECT_TRUE(world.got<Granted>(bo_waits));
}

TEST(Grant, WhoStandsBehindSomebodyWaitsForHim) {
  // bo stands behind di in the line of main, so di need not wait for docs behind bo.
  Grants world;
  world.acquire(ana, "main");
  world.acquire(ana, "wiki", {.timeout = 1h});
  const Reply for_main = world.acquire(di, "main", waiting);
  world.acquire(bo, Names{"wiki", "docs", "main"}, waiting);

  EXPECT_TRUE(is<Granted>(world.acquire(di, "docs", waiting)));
  world.release(ana, "main");
  EXPECT_TRUE(world.got<Granted>(for_main));
}

TEST(Grant, AChildGoesAheadOfThoseWhoWaitForItsParent) {
  Grants world;
  world.acquire(ana, "main");
  world.acquire(bo, Names{"main", "docs"}, waiting);

  EXPECT_TRUE(is<Granted>(world.acquire(cy, "docs", {.meta = inside(ana)})));
}

// ── phases ──

grant::Request of_phase(std::vector<grant::LockWant> locks, std::vector<grant::SlotWant> slots) {
  return {
      ana, {}, std::move(locks), std::move(slots), grant::ToPhase{PipelineId{7}, 1}, {}, for_ever};
}

TEST(Grant, APhaseHoldsLocksAndSlotsThroughTheDaemonWithoutALimitOfTime) {
  Grants world;
  world.create("agents", 2);
  Turn turn(world.state, world.stamp);

  const Reply reply = grant::ask(
      turn, of_phase({{lock_named("main"), {}, 5min}}, {{slots_named("agents"), 1, {}, {}}}));

  const Granted granted = as<Granted>(reply);
  EXPECT_EQ(granted.given.at(0).expires_at, at(5min)) << "when the phase is to end itself";
  EXPECT_EQ(granted.given.at(1).expires_at, std::nullopt);
  world.pass(24h);
  EXPECT_EQ(world.holder_of("main"), "ana");
  EXPECT_EQ(world.in_use("agents"), 1u);
}

// The phase is one of a pipeline that is gone by then: what it waited for came to it, both at
// once, and found nobody to keep it.
TEST(Grant, APhaseWaitsForLocksAndSlotsTogether) {
  Grants world;
  world.create("agents", 1);
  world.acquire(bo, "main");
  world.enter(cy, "agents");
  Turn turn(world.state, world.stamp);
  const Reply reply = grant::ask(
      turn, of_phase({{lock_named("main"), {}, {}}}, {{slots_named("agents"), 1, {}, {}}}));
  EXPECT_TRUE(is<Waiting>(reply));
  world.stamp.now += 1ms;

  world.release(bo, "main");
  EXPECT_EQ(world.holder_of("main"), "");
  world.forget();
  world.exit(cy, "agents");

  const std::vector<std::string> names = world.names();
  for (const char* name : {"lock:acquired", "semaphore:acquired", "lock:released"}) {
    EXPECT_EQ(std::ranges::count(names, name), 1) << name;
  }
  EXPECT_EQ(world.holder_of("main"), "");
  EXPECT_EQ(world.in_use("agents"), 0u);
  EXPECT_TRUE(world.answers.empty()) << "a phase is told otherwise";
}

TEST(Grant, LocksAndSlotsOfARequestAreSoManyTogether) {
  Grants world;
  world.create("agents", 1);
  Turn turn(world.state, world.stamp);
  const std::vector<grant::LockWant> locks(limits::names_a_request, {lock_named("main"), {}, {}});

  EXPECT_EQ(grant::ask(turn, of_phase(locks, {{slots_named("agents"), 1, {}, {}}})),
            refused(Why::OverLimit, "names"));
}

TEST(Grant, ASlotNamedTwiceInOneRequestIsRefused) {
  Grants world;
  world.create("agents", 2);
  Turn turn(world.state, world.stamp);

  const Reply reply = grant::ask(
      turn, of_phase({}, {{slots_named("agents"), 1, {}, {}}, {slots_named("agents"), 1, {}, {}}}));

  EXPECT_EQ(as<Refused>(reply), (Refused{Why::BadValue, "slots"}));
}

}  // namespace
}  // namespace reeve
