#include "core/lock.h"

#include "core/grant_testing.h"

namespace reeve {
namespace {

using namespace reeve::testing;
using grant::Busy;
using grant::Granted;
using grant::How;
using Names = std::vector<std::string>;

// ── acquire ──

TEST(Lock, AFreeLockIsAcquiredUnderANewToken) {
  Grants world;

  const Granted granted = as<Granted>(world.acquire(ana, "main"));

  EXPECT_EQ(
      granted,
      (Granted{How::Acquired,
               ana,
               {{"main", Token{1}, at(60s), 0, std::nullopt, default_project, std::nullopt}}}));
  EXPECT_EQ(
      world.heard,
      (std::vector<EventBody>{lock::Event{lock::WasAcquired{lock_named("main"), ana, Token{1}}}}));
  EXPECT_EQ(world.names(), Names{"lock:acquired"});
}

TEST(Lock, ItsHolderAcquiringAgainKeepsTheTokenAndIsHeardOf) {
  Grants world;
  const Token token = world.token_of(ana, "main");
  world.pass(50s);
  world.forget();

  const Granted again = as<Granted>(world.acquire(ana, "main"));

  EXPECT_EQ(
      again,
      (Granted{
          How::Extended, ana, {{"main", token, at(110s), 0, std::nullopt, default_project, 0}}}));
  EXPECT_TRUE(world.heard.empty());
  world.pass(60s);
  EXPECT_EQ(world.holder_of("main"), "ana");
  world.pass(1ms);
  EXPECT_EQ(world.holder_of("main"), "");
}

// The second answer is what tells that the holder knows of it, should the first find nobody.
TEST(Lock, AcquiringAgainAndAgainAtTheSameMomentChangesNothing) {
  Grants world;
  world.acquire(ana, "main");
  world.acquire(ana, "main");
  EXPECT_TRUE(world.last.changed);

  world.acquire(ana, "main");

  EXPECT_FALSE(world.last.changed);
}

TEST(Lock, SomebodyElsesIsBusyAndSaysUntilWhen) {
  Grants world;
  world.acquire(ana, "main");
  world.pass(10s);

  const Reply reply = world.acquire(bo, "main");

  EXPECT_EQ(as<Busy>(reply), (Busy{lock_named("main"), ana, at(0s), at(60s), 0}));
  EXPECT_FALSE(world.last.changed);
}

TEST(Lock, BusySaysHowManyWaitAhead) {
  Grants world;
  world.acquire(ana, "main");
  world.acquire(bo, "main", waiting);
  world.acquire(cy, "main", waiting);

  EXPECT_EQ(as<Busy>(world.acquire(di, "main")).ahead, 2u);
}

TEST(Lock, ASilentHolderKeepsItToTheLastMomentOfItsTimeout) {
  Grants world;
  world.acquire(ana, "main");

  world.wait_unnoticed(60s);
  EXPECT_TRUE(is<Busy>(world.acquire(bo, "main")));
  world.wait_unnoticed(1ms);

  const Granted granted = as<Granted>(world.acquire(bo, "main"));
  EXPECT_EQ(granted.how, How::Reclaimed);
  EXPECT_EQ(granted.given.at(0).previous, ana);
  EXPECT_EQ(granted.given.at(0).token, Token{2});
  EXPECT_EQ(world.names(), (Names{"lock:acquired", "lock:stale", "lock:reclaimed"}));
}

TEST(Lock, MaxHoldEndsEvenAHolderThatIsHeardOf) {
  Grants world;
  const Token token = world.token_of(ana, "main", {.max_hold = 90s});
  world.pass(45s);
  world.beat(ana, "main", token);
  world.pass(45s);
  EXPECT_TRUE(is<lock::Alive>(world.beat(ana, "main", token)));

  world.pass(1ms);

  EXPECT_TRUE(is<lock::Lost>(world.beat(ana, "main", token)));
  EXPECT_TRUE(world.lock_is<lock::Stale>("main"));
}

TEST(Lock, TimeoutAndMaxHoldComeFromTheRequestElseTheDefinition) {
  Grants world;
  world.state.locks.defined.set(lock_named("main"), {90s, 200s, false});

  EXPECT_EQ(as<Granted>(world.acquire(ana, "main")).given.at(0).expires_at, at(90s));
  world.release(ana, "main");
  EXPECT_EQ(as<Granted>(world.acquire(ana, "main", {.timeout = 300s})).given.at(0).expires_at,
            at(200s));
  world.release(ana, "main");
  EXPECT_EQ(as<Granted>(world.acquire(ana, "main", {.timeout = 300s, .max_hold = 250s}))
                .given.at(0)
                .expires_at,
            at(250s));
}

TEST(Lock, ATimeoutOfAHundredMillionYearsIsInTheFuture) {
  Grants world;
  world.acquire(ana, "main", {.timeout = Duration::max(), .max_hold = Duration::max()});

  world.pass(24h);

  EXPECT_EQ(world.holder_of("main"), "ana");
}

TEST(Lock, WhatCannotBeMeantIsRefused) {
  Grants world;
  const auto no = [](const Reply& reply) { return as<Refused>(reply); };

  EXPECT_EQ(no(world.acquire(ana, Names{})), (Refused{Why::BadValue, "names"}));
  EXPECT_EQ(no(world.acquire(ana, "")), (Refused{Why::BadName, ""}));
  EXPECT_EQ(no(world.acquire(ana, "-rf")), (Refused{Why::BadName, "-rf"}));
  EXPECT_EQ(no(world.acquire({default_project, ""}, "main")), (Refused{Why::BadName, "holder"}));
  EXPECT_EQ(no(world.acquire(ana, "main", {.timeout = -1ms})), (Refused{Why::BadValue, "timeout"}));
  EXPECT_EQ(no(world.acquire(ana, "main", {.max_hold = -1ms})),
            (Refused{Why::BadValue, "max_hold"}));
  EXPECT_EQ(no(world.acquire(ana, "main", {.wait = -1ms})), (Refused{Why::BadValue, "wait"}));
  EXPECT_EQ(no(world.acquire(ana, "main", {.meta = inside({default_project, ""})})),
            (Refused{Why::BadName, "within"}));
  EXPECT_EQ(no(world.acquire(ana, Names(65, "main"))), (Refused{Why::OverLimit, "names"}));
  EXPECT_EQ(
      no(world.ask(lock::Command{lock::Acquire{{{ProjectNo{99}, "main"}}, ana, {}, {}, {}, {}}})),
      (Refused{Why::NotFound, "project"}));
  EXPECT_EQ(no(world.ask(
                lock::Command{lock::Acquire{{lock_named("main")}, bound(ana, 5), {}, {}, {}, {}}},
                SessionId{6})),
            (Refused{Why::BadValue, "session"}));
  EXPECT_EQ(world.state, initial_state(start));
}

TEST(Lock, ALockNamedTwiceInOneRequestIsOneLock) {
  Grants world;

  EXPECT_EQ(as<Granted>(world.acquire(ana, Names{"main", "main"})).given.size(), 1u);
}

TEST(Lock, AProjectHasSoManyLocksAndNoMore) {
  Grants world;
  world.state.locks.counts.set(default_project, limits::names_a_project);
  const Applied applied =
      apply(world.state,
            Request{default_project,
                    {},
                    true,
                    "",
                    lock::Command{lock::Acquire{{lock_named("main")}, ana, {}, {}, {}, {}}}},
            world.stamp);

  EXPECT_EQ(as<Refused>(applied.reply), (Refused{Why::OverLimit, "locks"}));
}

// ── release ──

TEST(Lock, AReleasedLockIsFree) {
  Grants world;
  const Token token = world.token_of(ana, "main");
  world.forget();

  EXPECT_TRUE(is<lock::Released>(world.release(ana, "main")));

  EXPECT_TRUE(world.lock_is<lock::Free>("main"));
  EXPECT_EQ(world.heard,
            (std::vector<EventBody>{
                lock::Event{lock::WasReleased{lock_named("main"), ana, token, false}}}));
}

TEST(Lock, ReleasingIsTheHoldersAffair) {
  Grants world;
  const Token token = world.token_of(ana, "main");

  EXPECT_EQ(as<lock::NotOwner>(world.release(bo, "main")), lock::NotOwner{ana});
  EXPECT_EQ(as<lock::NotOwner>(world.release(bo, "main", token)), lock::NotOwner{ana});
  EXPECT_EQ(as<lock::NotOwner>(world.release(ana, "main", Token{99})), lock::NotOwner{ana});
  EXPECT_FALSE(world.last.changed);
  EXPECT_TRUE(is<lock::Released>(world.release(ana, "main", token)));
}

TEST(Lock, ReleasingWhatIsFreeOrUnknownIsAlreadyFree) {
  Grants world;
  EXPECT_TRUE(is<lock::AlreadyFree>(world.release(ana, "never")));
  EXPECT_FALSE(world.last.changed);
  world.acquire(ana, "main");
  world.release(ana, "main");

  EXPECT_TRUE(is<lock::AlreadyFree>(world.release(ana, "main")));
}

TEST(Lock, ABoundHolderMustGiveItsToken) {
  Grants world;
  const Holder holder = bound(ana, 5);
  const Token token = world.token_of(holder, "main");

  EXPECT_EQ(as<Refused>(world.release(holder, "main")), (Refused{Why::BadValue, "token"}));
  EXPECT_TRUE(is<lock::Released>(world.release(holder, "main", token)));
  EXPECT_TRUE(world.state.sessions.sessions.empty());
}

TEST(Lock, TheSameNameOverAnotherConnectionIsAnotherHolder) {
  Grants world;
  world.acquire(bound(ana, 5), "main");

  EXPECT_TRUE(is<Busy>(world.acquire(bound(ana, 6), "main")));
  EXPECT_TRUE(is<Busy>(world.acquire(ana, "main")));
}

// ── heartbeat and check ──

TEST(Lock, AHeartbeatAtTheLimitCountsAndOneAfterItIsLost) {
  Grants world;
  const Token token = world.token_of(ana, "main");
  world.wait_unnoticed(60s);
  EXPECT_EQ(as<lock::Alive>(world.beat(ana, "main", token)), lock::Alive{at(120s)});
  world.wait_unnoticed(60s + 1ms);

  EXPECT_TRUE(is<lock::Lost>(world.beat(ana, "main", token)));
}

TEST(Lock, AnOldTokenIsLostWithTheCurrentHolder) {
  Grants world;
  const Token old = world.token_of(ana, "main");
  world.release(ana, "main");
  const Token current = world.token_of(bo, "main");

  EXPECT_EQ(as<lock::Lost>(world.beat(ana, "main", old)), lock::Lost{bo});
  EXPECT_EQ(as<lock::Lost>(world.beat(ana, "main", current)), lock::Lost{bo});
  EXPECT_EQ(as<lock::Lost>(world.beat(bo, "main", old)), lock::Lost{bo});
  EXPECT_EQ(as<lock::Superseded>(world.check("main", old)), lock::Superseded{current});
  EXPECT_TRUE(is<lock::Valid>(world.check("main", current)));
  EXPECT_FALSE(world.last.changed);
}

TEST(Lock, WhatIsUnknownIsLostAndSuperseded) {
  Grants world;

  EXPECT_EQ(as<lock::Lost>(world.beat(ana, "main", Token{1})), lock::Lost{});
  EXPECT_EQ(as<lock::Superseded>(world.check("main", Token{1})), lock::Superseded{});
  EXPECT_EQ(world.state, initial_state(start));
}

}  // namespace
}  // namespace reeve
