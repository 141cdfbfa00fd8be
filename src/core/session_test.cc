#include "core/session.h"

#include "core/grant_testing.h"
#include "core/much_due_testing.h"

namespace reeve {
namespace {

using namespace reeve::testing;
using grant::Busy;
using grant::Granted;
using grant::NotGranted;
using Names = std::vector<std::string>;

constexpr SessionId five{5};
constexpr SessionId six{6};

TEST(Session, ACallThatBindsNothingCostsNoRecord) {
  Grants world;

  world.ask(lock::Command{lock::Acquire{{lock_named("main")}, ana, {}, {}, {}, {}}}, five);
  EXPECT_TRUE(world.state.sessions.sessions.empty());
  world.input(session::Ended{five});

  EXPECT_FALSE(world.last.changed);
  EXPECT_EQ(world.holder_of("main"), "ana");
}

TEST(Session, ItsEndFreesWhatIsBoundToIt) {
  Grants world;
  world.create("agents", 1);
  world.acquire(bound(ana, 5), "main");
  world.enter(bound(ana, 5), "agents");
  world.acquire(bound(ana, 6), "other");
  const Reply place = world.acquire(bo, "main", waiting);
  world.forget();

  world.input(session::Ended{five});

  EXPECT_TRUE(world.got<Granted>(place));
  EXPECT_EQ(world.in_use("agents"), 0u);
  EXPECT_EQ(world.holder_of("other"), "ana");
  EXPECT_FALSE(world.state.sessions.sessions.contains(five));
  EXPECT_EQ(world.names(), (Names{"lock:released", "lock:acquired", "semaphore:released"}));
}

TEST(Session, ItsEndTakesItsWaitersOutOfTheirLines) {
  Grants world;
  world.acquire(ana, "main");
  const Reply gone = world.acquire(bound(bo, 5), "main", waiting);
  const Reply next = world.acquire(cy, "main", waiting);

  world.input(session::Ended{five});

  EXPECT_EQ(as<NotGranted>(*world.answer_to(gone)).left, Left::SessionEnded);
  world.release(ana, "main");
  EXPECT_TRUE(world.got<Granted>(next));
}

TEST(Session, WhatItGivesUpDoesNotComeBackToIt) {
  Grants world;
  world.acquire(bound(ana, 5), "main");
  world.acquire(bound(bo, 5), "main", waiting);
  const Reply next = world.acquire(cy, "main", waiting);

  world.input(session::Ended{five});

  EXPECT_TRUE(world.got<Granted>(next));
  EXPECT_TRUE(world.state.sessions.sessions.empty());
}

TEST(Session, ALeaseThatWasOverBeforeTheEndIsNobodysElseLoss) {
  Grants world;
  world.acquire(bound(ana, 5), "main", {.timeout = 10s});
  const Reply place = world.acquire(bo, "main", waiting);
  world.wait_unnoticed(10s + 1ms);

  world.input(session::Ended{five});

  EXPECT_TRUE(world.got<Granted>(place));
  EXPECT_EQ(world.holder_of("main"), "bo");
}

TEST(Session, ADisconnectDoesNotProveThatAProcessIsGone) {
  Grants world;
  world.create("agents", 1);
  world.acquire(bound(ana, 5), "main", {.meta = with_process(1)});
  world.enter(bound(ana, 5), "agents", 1, {.meta = with_process(1)});

  world.input(session::Ended{five});

  EXPECT_TRUE(world.lock_is<lock::Ending>("main"));
  EXPECT_EQ(world.in_use("agents"), 1u);
  EXPECT_TRUE(world.state.sessions.sessions.empty());
  ASSERT_EQ(world.started.size(), 1u);
  world.finish(world.started.at(0).id);
  EXPECT_TRUE(world.lock_is<lock::Free>("main"));
  EXPECT_EQ(world.in_use("agents"), 0u);
}

TEST(Session, TheEndOfOneWhoseLeaseIsEndingAlreadyChangesOnlyTheBinding) {
  Grants world;
  world.acquire(bound(ana, 5), "main", {.meta = with_process(1)});
  world.force("main");

  world.input(session::Ended{five});

  EXPECT_TRUE(world.lock_is<lock::Ending>("main"));
  EXPECT_TRUE(world.state.sessions.bound.empty());
}

TEST(Session, AWaiterThatIsGrantedStaysBoundByItsLease) {
  Grants world;
  world.acquire(ana, "main");
  world.acquire(bound(bo, 5), "main", waiting);
  world.release(ana, "main");

  EXPECT_TRUE(world.state.sessions.bound.contains({five, LeaseRef{LockLease{lock_named("main")}}}));
  EXPECT_EQ(world.state.sessions.bound.size(), 1u);
  world.input(session::Ended{five});
  EXPECT_TRUE(world.lock_is<lock::Free>("main"));
}

TEST(Session, AnUnboundHolderWaitsOverItsConnectionAndKeepsWhatItGot) {
  Grants world;
  world.acquire(ana, "main");
  const Reply place =
      world.ask(lock::Command{lock::Acquire{{lock_named("main")}, bo, {}, {}, {}, for_ever}}, five);
  EXPECT_TRUE(world.state.sessions.sessions.contains(five));
  world.release(ana, "main");

  EXPECT_TRUE(world.got<Granted>(place));
  EXPECT_TRUE(world.state.sessions.sessions.empty());
  world.input(session::Ended{five});
  EXPECT_EQ(world.holder_of("main"), "bo");
}

// ── after a restart ──

TEST(Session, AfterARestartAPlaceIsKeptForTenSeconds) {
  Grants world;
  world.acquire(bound(ana, 5), "main");
  world.input(Resumed{System::What::Ready});

  world.pass(10s - 1ms);
  EXPECT_EQ(world.holder_of("main"), "ana");
  world.pass(1ms);

  EXPECT_TRUE(world.lock_is<lock::Free>("main"));
  EXPECT_TRUE(world.state.sessions.sessions.empty());
}

TEST(Session, WhoComesBackInTheLastMomentKeepsIt) {
  Grants world;
  world.acquire(bound(ana, 5), "main");
  world.input(Resumed{System::What::Ready});
  world.wait_unnoticed(10s - 1ms);
  world.input(session::Returned{five});

  world.pass(30s);

  EXPECT_EQ(world.holder_of("main"), "ana");
}

TEST(Session, WhoComesBackTooLateHasLostItWhetherOrNotATickCame) {
  Grants world;
  world.acquire(bound(ana, 5), "main");
  world.input(Resumed{System::What::Ready});
  much_falls_due_in(world, 9s);
  world.wait_unnoticed(10s);

  world.input(session::Returned{five});

  EXPECT_EQ(world.holder_of("main"), "");
}

TEST(Session, OnlyARestartIsReasonToAwaitAnybody) {
  Grants world;
  world.acquire(bound(ana, 5), "main");
  world.input(Resumed{System::What::Suspended});
  world.pass(10s);

  EXPECT_EQ(world.holder_of("main"), "ana");
}

TEST(Session, ALineWaitsForItsHeadToComeBack) {
  Grants world;
  world.acquire(ana, "main");
  const Reply head = world.acquire(bound(bo, 5), "main", waiting);
  const Reply next = world.acquire(cy, "main", waiting);
  world.input(Resumed{System::What::Ready});

  world.release(ana, "main");
  EXPECT_EQ(world.answer_to(head), nullptr);
  EXPECT_EQ(world.answer_to(next), nullptr);
  EXPECT_TRUE(is<Busy>(world.acquire(di, "main")));

  world.input(session::Returned{five});
  EXPECT_TRUE(world.got<Granted>(head));
}

TEST(Session, ALineGoesOnWithoutAHeadThatDoesNotComeBack) {
  Grants world;
  world.acquire(ana, "main");
  const Reply head = world.acquire(bound(bo, 5), "main", waiting);
  const Reply next = world.acquire(cy, "main", waiting);
  world.input(Resumed{System::What::Ready});
  world.release(ana, "main");

  world.pass(10s);

  EXPECT_EQ(as<NotGranted>(*world.answer_to(head)).left, Left::SessionEnded);
  EXPECT_TRUE(world.got<Granted>(next));
}

TEST(Session, AnAwaitedWaitersOwnTimeRunsOn) {
  Grants world;
  world.acquire(ana, "main");
  const Reply head = world.acquire(bound(bo, 5), "main", {.wait = 5s});
  world.input(Resumed{System::What::Ready});
  world.release(ana, "main");

  world.pass(5s);

  EXPECT_EQ(as<NotGranted>(*world.answer_to(head)).left, Left::TimedOut);
}

TEST(Session, AConnectionThatCannotReturnIsEndedAtReadiness) {
  Grants world;
  world.input(
      Request{default_project,
              five,
              false,
              "",
              lock::Command{lock::Acquire{{lock_named("main")}, bound(ana, 5), {}, {}, {}, {}}}});
  world.acquire(bound(bo, 6), "main", waiting);

  world.input(Resumed{System::What::Ready});

  EXPECT_FALSE(world.state.sessions.sessions.contains(five));
  EXPECT_TRUE(world.lock_is<lock::Free>("main")) << "six is awaited and first in line";
  world.input(session::Returned{six});
  EXPECT_EQ(world.holder_of("main"), "bo");
}

TEST(Session, ComingBackWhenNobodyWaitsChangesNothing) {
  Grants world;
  world.acquire(bound(ana, 5), "main");

  world.input(session::Returned{five});
  EXPECT_FALSE(world.last.changed);
  world.input(session::Returned{six});
  EXPECT_FALSE(world.last.changed);
}

// ── many ──

TEST(Session, TheEndOfALargeOneGoesOnWithTheNextTick) {
  Grants world;
  for (int i = 0; i < 300; ++i) world.acquire(bound(ana, 5), "lock" + std::to_string(i));
  world.acquire(bo, "main");
  for (int i = 0; i < 300; ++i) world.acquire(bound(ana, 5), "main", waiting);

  world.input(session::Ended{five});
  EXPECT_EQ(world.state.chores.waiting.size(), 1u);
  world.release(bo, "main");
  EXPECT_EQ(world.holder_of("main"), "") << "it is no longer here";
  world.pass(0ms);

  EXPECT_TRUE(world.state.sessions.bound.empty());
  EXPECT_TRUE(world.state.sessions.sessions.empty());
  EXPECT_TRUE(world.state.chores.waiting.empty());
  EXPECT_TRUE(world.state.grants.waiters.empty());
}

TEST(Session, TheReturnOfALargeOneGoesOnWithTheNextTick) {
  Grants world;
  for (int i = 0; i < 300; ++i) {
    const Holder holder{default_project, "h" + std::to_string(i), five};
    world.acquire(bo, "lock" + std::to_string(i));
    world.acquire(holder, "lock" + std::to_string(i), waiting);
  }
  world.input(Resumed{System::What::Ready});
  world.pass(1s);

  world.input(session::Returned{five});
  EXPECT_EQ(next_deadline(world.state).engine, world.stamp.now) << "not all could be looked at";
  world.pass(0ms);
  EXPECT_NE(next_deadline(world.state).engine, world.stamp.now);
}

TEST(Session, ThereAreSoManyAndNoMore) {
  Grants world;
  world.acquire(bound(ana, 5), "mine");
  world.acquire(bo, "main");
  State state = world.state;
  for (std::uint64_t i = 0; state.sessions.sessions.size() < limits::sessions; ++i) {
    state.sessions.sessions.set(SessionId{1000 + i}, {});
  }
  const auto ask = [&](const Holder& holder, SessionId session, std::optional<Duration> wait) {
    const std::string name = wait ? "main" : "new";
    return apply(
               state,
               Request{default_project,
                       session,
                       true,
                       "",
                       lock::Command{lock::Acquire{{lock_named(name)}, holder, {}, {}, {}, wait}}},
               world.stamp)
        .reply;
  };

  EXPECT_EQ(as<Refused>(ask(bound(ana, 6), six, {})), (Refused{Why::OverLimit, "sessions"}));
  EXPECT_EQ(as<Refused>(ask(ana, six, for_ever)), (Refused{Why::OverLimit, "sessions"}));
  EXPECT_TRUE(is<Granted>(ask(ana, six, {}))) << "binds nothing";
  EXPECT_TRUE(is<Granted>(ask(bound(ana, 5), five, {}))) << "known";
}

}  // namespace
}  // namespace reeve
