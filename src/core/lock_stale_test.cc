#include "core/grant_testing.h"
#include "core/lock.h"

namespace reeve {
namespace {

using namespace reeve::testing;
using grant::Granted;
using grant::How;
using Names = std::vector<std::string>;

TEST(Lock, AStaleLockIsAnnouncedOnceAndStaysUntilSomebodyAsks) {
  Grants world;
  world.acquire(ana, "main");
  world.forget();

  world.pass(1h);

  EXPECT_EQ(
      world.heard,
      (std::vector<EventBody>{lock::Event{lock::WentStale{lock_named("main"), ana, Token{1}}}}));
  EXPECT_TRUE(world.lock_is<lock::Stale>("main"));
  EXPECT_EQ(as<Granted>(world.acquire(bo, "main")).how, How::Reclaimed);
}

TEST(Lock, ATickAtTheFirstMomentHandsAStaleLockToTheFirstInLine) {
  Grants world;
  world.acquire(ana, "main");
  const Reply bo_waits = world.acquire(bo, "main", waiting);
  const Reply cy_waits = world.acquire(cy, "main", waiting);
  world.forget();

  world.pass(60s);
  EXPECT_EQ(world.holder_of("main"), "ana");
  world.pass(1ms);

  EXPECT_EQ(as<Granted>(*world.answer_to(bo_waits)),
            (Granted{How::Reclaimed,
                     bo,
                     {{"main", Token{2}, at(120s + 1ms), 0, ana, default_project, std::nullopt}}}));
  EXPECT_EQ(world.answer_to(cy_waits), nullptr);
  EXPECT_EQ(world.heard,
            (std::vector<EventBody>{
                lock::Event{lock::WentStale{lock_named("main"), ana, Token{1}}},
                lock::Event{lock::WasReclaimed{lock_named("main"), ana, bo, Token{2}}}}));
}

TEST(Lock, WhoLostItIsToldLostAndOnlyItsReleaseStillCounts) {
  Grants world;
  const Token token = world.token_of(ana, "main");
  world.pass(60s + 1ms);

  EXPECT_EQ(as<lock::Lost>(world.beat(ana, "main", token)), lock::Lost{});
  EXPECT_EQ(as<lock::Superseded>(world.check("main", token)), lock::Superseded{});
  EXPECT_TRUE(is<lock::Released>(world.release(ana, "main", token)));
  EXPECT_TRUE(world.lock_is<lock::Free>("main"));
}

TEST(Lock, AStaleHoldersOwnAcquireIsANewGrant) {
  Grants world;
  const Token old = world.token_of(ana, "main");
  world.pass(60s + 1ms);

  const Granted granted = as<Granted>(world.acquire(ana, "main"));

  EXPECT_EQ(granted.how, How::Acquired);
  EXPECT_EQ(granted.given.at(0).previous, std::nullopt);
  EXPECT_GT(granted.given.at(0).token, old);
  EXPECT_TRUE(is<lock::Lost>(world.beat(ana, "main", old)));
  EXPECT_TRUE(is<lock::NotOwner>(world.release(ana, "main", old)));
}

TEST(Lock, NoVerbDependsOnWhetherATickCameFirst) {
  for (const bool ticked : {false, true}) {
    Grants world;
    const Token token = world.token_of(ana, "main");
    world.wait_unnoticed(60s + 1ms);
    if (ticked) world.tick();

    EXPECT_TRUE(is<lock::Lost>(world.beat(ana, "main", token))) << ticked;
    EXPECT_TRUE(is<lock::Superseded>(world.check("main", token))) << ticked;
    EXPECT_EQ(as<lock::NotOwner>(world.release(bo, "main")), lock::NotOwner{ana}) << ticked;
    EXPECT_EQ(as<lock::Cleaned>(world.cleanup()).names.size(), 1u) << ticked;
  }
}

TEST(Lock, CleanupFreesTheStaleOnesOfAProjectOrOfAll) {
  Grants world;
  world.acquire(ana, "one");
  world.acquire(ana, "kept", {.timeout = 1h});
  world.ask(lock::Command{lock::Acquire{{{shared_project, "ours"}}, ana, {}, {}, {}, {}}});
  world.wait_unnoticed(60s);
  EXPECT_EQ(as<lock::Cleaned>(world.cleanup()).names, std::vector<LockName>{});
  world.wait_unnoticed(1ms);

  EXPECT_EQ(as<lock::Cleaned>(world.cleanup()).names, (std::vector{lock_named("one")}));
  EXPECT_EQ(as<lock::Cleaned>(world.cleanup(shared_project)).names,
            (std::vector{LockName{shared_project, "ours"}}));
  EXPECT_EQ(as<lock::Cleaned>(world.cleanup(shared_project)).names, std::vector<LockName>{});
  EXPECT_EQ(world.holder_of("kept"), "ana");
  EXPECT_EQ(world.names().back(), "lock:released");
}

TEST(Lock, ACleanupOfVeryManyGoesOnWithTheNextTickAndAnswersAtItsEnd) {
  Grants world;
  for (int i = 0; i < 600; ++i) world.acquire(ana, "lock" + std::to_string(i));
  world.wait_unnoticed(61s);

  const Reply reply = world.cleanup();
  EXPECT_EQ(world.answer_to(reply), nullptr);
  for (int i = 0; i < 10; ++i) world.tick();

  EXPECT_EQ(as<lock::Cleaned>(*world.answer_to(reply)).names.size(), 600u);
  EXPECT_TRUE(world.state.chores.waiting.empty());
}

TEST(Lock, AFreeLockWithoutALineIsForgottenADayAfterItBecameFree) {
  Grants world;
  world.acquire(ana, "main");
  world.pass(10s);
  world.release(ana, "main");

  world.pass(24h - 1ms);
  EXPECT_TRUE(world.lock_is<lock::Free>("main"));
  world.pass(1ms);

  EXPECT_TRUE(world.state.locks.locks.empty());
  EXPECT_TRUE(world.state.locks.counts.empty());
  EXPECT_EQ(world.token_of(ana, "main"), Token{2});
}

TEST(Lock, GraceCountsFromTheMomentTheDaemonListensAgain) {
  Grants world;
  const Token token = world.token_of(ana, "main");
  world.wait_unnoticed(1h);
  world.input(Resumed{System::What::Suspended});
  world.tick();

  EXPECT_EQ(world.holder_of("main"), "ana");
  world.pass(60s);
  EXPECT_TRUE(is<lock::Valid>(world.check("main", token)));
  world.pass(1ms);
  EXPECT_TRUE(world.lock_is<lock::Stale>("main"));
}

TEST(Lock, MaxHoldRunsOnThroughGrace) {
  Grants world;
  world.acquire(ana, "main", {.max_hold = 30min});
  world.wait_unnoticed(1h);
  world.input(Resumed{System::What::Suspended});
  world.tick();

  EXPECT_TRUE(world.lock_is<lock::Stale>("main"));
}

TEST(Lock, WhatWasAnnouncedStaleIsNotRevivedByGrace) {
  Grants world;
  const Token token = world.token_of(ana, "main");
  world.pass(61s);
  world.input(Resumed{System::What::Suspended});

  EXPECT_TRUE(is<lock::Lost>(world.beat(ana, "main", token)));
}

// ── force ──

TEST(Lock, ForceReleaseRecordsWhoAndWhyAndServesTheLine) {
  Grants world;
  const Token token = world.token_of(ana, "main");
  const Reply bo_waits = world.acquire(bo, "main", waiting);
  world.forget();

  EXPECT_TRUE(is<lock::Released>(world.force("main")));

  EXPECT_EQ(as<Granted>(*world.answer_to(bo_waits)).how, How::Acquired);
  EXPECT_EQ(world.heard.at(0),
            (EventBody{lock::Event{
                lock::WasForced{lock_named("main"), ana, token, "root", "hurry", false}}}));
  EXPECT_EQ(as<lock::Lost>(world.beat(ana, "main", token)), lock::Lost{bo});
}

TEST(Lock, ForcingWhatIsFreeOrUnknownIsAlreadyFree) {
  Grants world;
  EXPECT_TRUE(is<lock::AlreadyFree>(world.force("main")));
  EXPECT_EQ(world.state, initial_state(start));
  world.acquire(ana, "main");
  world.release(ana, "main");

  EXPECT_TRUE(is<lock::AlreadyFree>(world.force("main", true)));
  EXPECT_FALSE(world.last.changed);
}

TEST(Lock, AStaleLockCanBeForced) {
  Grants world;
  world.acquire(ana, "main");
  world.pass(61s);

  EXPECT_TRUE(is<lock::Released>(world.force("main")));
  EXPECT_TRUE(world.lock_is<lock::Free>("main"));
}

TEST(Lock, EventsAreNamedAfterTheLock) {
  Grants world;
  world.acquire(ana, "main");

  EXPECT_EQ(name_of(world.heard.at(0)), (EventName{"lock", "main", "acquired"}));
}

// ── escalation ──

TEST(Lock, TheAnswerToReleaseAStaleLockFreesItAndNoOtherDoes) {
  Grants world;
  world.state.locks.defined.set(lock_named("main"), {std::nullopt, std::nullopt, true});
  world.acquire(ana, "main");
  world.pass(61s);
  ASSERT_TRUE(world.lock_is<lock::Stale>("main"));

  Turn turn(world.state, world.stamp);
  lock::decided(turn, lock_named("main"), chosen(decision::Choice::LookAgain));
  EXPECT_TRUE(world.lock_is<lock::Stale>("main"));

  lock::decided(turn, lock_named("main"), chosen(decision::Choice::ReleaseAnyway));
  EXPECT_TRUE(world.lock_is<lock::Free>("main"));
}

TEST(Lock, AnAnswerThatComesWhenTheLockHasMovedOnChangesNothing) {
  Grants world;
  world.acquire(ana, "main");
  world.pass(61s);
  world.acquire(bo, "main");

  const State before = world.state;
  Turn turn(world.state, world.stamp);
  lock::decided(turn, lock_named("main"), chosen(decision::Choice::ReleaseAnyway));
  lock::decided(turn, lock_named("never"), chosen(decision::Choice::ReleaseAnyway));

  EXPECT_EQ(world.state, before);
}

}  // namespace
}  // namespace reeve
