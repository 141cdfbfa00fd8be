#include "core/custody.h"

#include "core/grant_testing.h"

namespace reeve {
namespace {

using namespace reeve::testing;
using custody::Cause;
using custody::ProcessGone;
using grant::Busy;
using grant::Granted;
using Names = std::vector<std::string>;

Outcome ended(Ended how) {
  Outcome outcome;
  outcome.ended = how;
  return outcome;
}
const Outcome seen_dead = ended(Ended::Done);
const Outcome not_seen = ended(Ended::Failed);

TEST(Custody, AStaleHolderThatNamesAProcessIsEndedFirst) {
  Grants world;
  world.acquire(ana, "main", {.meta = with_process(1)});
  const Reply place = world.acquire(bo, "main", waiting);
  world.forget();

  world.pass(60s + 1ms);

  ASSERT_EQ(world.started.size(), 1u);
  EXPECT_EQ(world.started.at(0).effect, (Outgoing{Kill{process(1), 5s}, ToCustody{process(1)}}));
  EXPECT_TRUE(world.lock_is<lock::Ending>("main"));
  EXPECT_EQ(world.answer_to(place), nullptr);
  EXPECT_EQ(world.names(), (Names{"lock:stale", "lock:ending"}));

  world.finish(world.started.at(0).id, seen_dead);

  EXPECT_TRUE(world.got<Granted>(place));
  EXPECT_EQ(world.names(),
            (Names{"lock:stale", "lock:ending", "process:gone", "lock:released", "lock:acquired"}));
}

TEST(Custody, WhileItIsEndingTheTokenIsRefusedAndNothingIsGivenOn) {
  Grants world;
  const Token token = world.token_of(ana, "main", {.meta = with_process(1)});
  world.pass(60s + 1ms);

  EXPECT_EQ(as<lock::Lost>(world.beat(ana, "main", token)), lock::Lost{});
  EXPECT_EQ(as<lock::Superseded>(world.check("main", token)), lock::Superseded{});
  EXPECT_EQ(as<Busy>(world.acquire(bo, "main")),
            (Busy{lock_named("main"), ana, at(0s), std::nullopt, 0}));
  EXPECT_TRUE(is<Busy>(world.acquire(ana, "main")));
  EXPECT_TRUE(is<lock::Released>(world.release(ana, "main", token)));
  EXPECT_EQ(as<lock::NotOwner>(world.release(bo, "main")), lock::NotOwner{ana});
  EXPECT_TRUE(is<lock::Cleaned>(world.cleanup()));
  EXPECT_TRUE(world.lock_is<lock::Ending>("main"));
}

TEST(Custody, TheCauseIsSaid) {
  Grants world;
  world.acquire(ana, "silent", {.meta = with_process(1)});
  world.acquire(ana, "long", {.meta = with_process(2), .timeout = 1h, .max_hold = 30s});
  world.acquire(ana, "forced", {.meta = with_process(3), .timeout = 1h});
  world.acquire(ana, "both", {.meta = with_process(4), .max_hold = 60s});
  world.acquire(ana, "silent first", {.meta = with_process(5), .max_hold = 60s + 1ms});
  world.create("slots", 2);
  world.enter(bo, "slots", 1, {.meta = with_process(6), .max_hold = 60s});
  world.enter(cy, "slots", 1, {.meta = with_process(7), .max_hold = 60s + 1ms});
  world.pass(61s);
  world.force("forced");

  const auto cause = [&](const std::string& name) {
    return std::get<lock::Ending>(world.state.locks.locks.find(lock_named(name))->state).cause;
  };
  EXPECT_EQ(cause("silent"), Cause::Silent);
  EXPECT_EQ(cause("long"), Cause::MaxHold);
  EXPECT_EQ(cause("forced"), Cause::Forced);
  EXPECT_EQ(cause("both"), Cause::MaxHold);
  EXPECT_EQ(cause("silent first"), Cause::Silent);
  const auto cause_of = [&](std::int64_t pid) {
    return world.state.custody.endings.find(process(pid))->cause;
  };
  EXPECT_EQ(cause_of(6), Cause::MaxHold);
  EXPECT_EQ(cause_of(7), Cause::Silent);
}

TEST(Custody, TheCauseIsTheLimitThatCameFirstHoweverLateThatIsNoticed) {
  Grants world;
  world.acquire(ana, "main", {.meta = with_process(1), .max_hold = 2min});
  world.acquire(ana, "docs", {.meta = with_process(2), .timeout = 2min, .max_hold = 60s});
  world.create("slots", 2);
  world.enter(bo, "slots", 1, {.meta = with_process(3), .max_hold = 2min});
  world.enter(cy, "slots", 1, {.meta = with_process(4), .timeout = 2min, .max_hold = 60s});

  world.wait_unnoticed(1h);
  world.input(Tick{});

  const auto cause_of = [&](std::int64_t pid) {
    return world.state.custody.endings.find(process(pid))->cause;
  };
  EXPECT_EQ(cause_of(1), Cause::Silent);
  EXPECT_EQ(cause_of(2), Cause::MaxHold);
  EXPECT_EQ(cause_of(3), Cause::Silent);
  EXPECT_EQ(cause_of(4), Cause::MaxHold);
}

TEST(Custody, AProcessThatEndsByItselfFreesAllItHeldAtOnce) {
  Grants world;
  world.create("agents", 1);
  world.acquire(ana, Names{"main", "docs"}, {.meta = with_process(1)});
  world.enter(ana, "agents", 1, {.meta = with_process(1)});
  world.acquire(ana, "other", {.meta = with_process(2)});
  const Reply place = world.acquire(bo, "docs", waiting);
  world.forget();

  world.input(ProcessGone{process(1)});

  EXPECT_TRUE(world.got<Granted>(place));
  EXPECT_TRUE(world.lock_is<lock::Free>("main"));
  EXPECT_EQ(world.in_use("agents"), 0u);
  EXPECT_EQ(world.holder_of("other"), "ana");
  EXPECT_EQ(world.names(),
            (Names{"process:gone",
                   "lock:released",
                   "lock:acquired",
                   "lock:released",
                   "semaphore:released"}));
  EXPECT_EQ(world.heard.at(0),
            (EventBody{custody::Event{custody::WasObservedGone{process(1), false}}}));
  EXPECT_TRUE(world.started.empty());
}

TEST(Custody, TheEndOfAnUnknownProcessChangesNothing) {
  Grants world;
  world.acquire(ana, "main", {.meta = with_process(1)});

  world.input(ProcessGone{process(2)});
  EXPECT_FALSE(world.last.changed);
  Process later = process(1);
  later.start_time = 8;
  world.input(ProcessGone{later});
  EXPECT_FALSE(world.last.changed);
}

TEST(Custody, WhatWasReleasedIsNotFreedByTheEndOfTheProcess) {
  Grants world;
  world.acquire(ana, "main", {.meta = with_process(1)});
  world.release(ana, "main");
  world.acquire(bo, "main");

  world.input(ProcessGone{process(1)});

  EXPECT_FALSE(world.last.changed);
  EXPECT_EQ(world.holder_of("main"), "bo");
}

TEST(Custody, ALeaseEndsWithTheProcessThatItsHolderNamedLast) {
  Grants world;
  world.create("agents", 1);
  world.acquire(ana, "main", {.meta = with_process(1)});
  world.enter(ana, "agents", 1, {.meta = with_process(1)});
  world.acquire(ana, "plain");
  world.forget();

  EXPECT_EQ(as<Granted>(world.acquire(ana, "main", {.meta = with_process(2)})).how,
            grant::How::Extended);
  EXPECT_EQ(as<Granted>(world.enter(ana, "agents", 1, {.meta = with_process(2)})).how,
            grant::How::Extended);
  world.acquire(ana, "plain", {.meta = with_process(2)});
  // Who names none leaves it as it was.
  world.acquire(ana, "main");
  world.enter(ana, "agents");

  world.input(ProcessGone{process(1)});
  EXPECT_FALSE(world.last.changed);
  EXPECT_EQ(world.holder_of("main"), "ana");
  EXPECT_EQ(world.in_use("agents"), 1u);

  world.input(ProcessGone{process(2)});
  EXPECT_TRUE(world.lock_is<lock::Free>("main"));
  EXPECT_TRUE(world.lock_is<lock::Free>("plain"));
  EXPECT_EQ(world.in_use("agents"), 0u);
}

TEST(Custody, WhatAPhaseHoldsDoesNotEndWithAStepThatAsksForItToo) {
  Grants world;
  world.create("agents", 1);
  Turn turn(world.state, world.stamp);
  (void)grant::ask(turn,
                   {.holder = ana,
                    .meta = {},
                    .locks = {{lock_named("main"), {}, {}}},
                    .slots = {{slots_named("agents"), 1, {}, {}}},
                    .origin = grant::ToPhase{PipelineId{1}, 1},
                    .session = {},
                    .wait = for_ever});
  world.acquire(ana, "main", {.meta = with_process(1)});
  world.enter(ana, "agents", 1, {.meta = with_process(1)});

  world.input(ProcessGone{process(1)});

  EXPECT_EQ(world.holder_of("main"), "ana");
  EXPECT_EQ(world.in_use("agents"), 1u);
}

TEST(Custody, ForceReleaseEndsTheProcessFirst) {
  Grants world;
  world.acquire(ana, "main", {.meta = with_process(1)});
  world.forget();

  EXPECT_TRUE(is<lock::Released>(world.force("main")));
  EXPECT_TRUE(world.lock_is<lock::Ending>("main"));
  EXPECT_EQ(world.names(), (Names{"lock:forced", "lock:ending"}));
  EXPECT_TRUE(is<lock::Released>(world.force("main")));
  EXPECT_FALSE(world.last.changed) << "it is on its way";

  world.input(ProcessGone{process(1)});
  EXPECT_TRUE(world.lock_is<lock::Free>("main"));
}

TEST(Custody, ForceReleaseNowSkipsThatAndSaysSo) {
  Grants world;
  const Token token = world.token_of(ana, "main", {.meta = with_process(1)});
  world.forget();

  world.force("main", true);

  EXPECT_TRUE(world.lock_is<lock::Free>("main"));
  EXPECT_TRUE(world.started.empty());
  EXPECT_EQ(world.heard,
            (std::vector<EventBody>{lock::Event{
                lock::WasForced{lock_named("main"), ana, token, "root", "hurry", true}}}));
}

TEST(Custody, ForceReleaseNowAlsoEndsTheWaitForAnEnd) {
  Grants world;
  world.acquire(ana, "main", {.meta = with_process(1)});
  const Reply place = world.acquire(bo, "main", waiting);
  world.force("main");
  world.force("main", true);

  EXPECT_TRUE(world.got<Granted>(place));
  world.finish(world.started.at(0).id, seen_dead);
  EXPECT_EQ(world.holder_of("main"), "bo");
  EXPECT_TRUE(world.state.custody.endings.empty());
}

TEST(Custody, ASlotThatNamesAProcessEndsInTwoStepsToo) {
  Grants world;
  world.create("agents", 1);
  const Token token =
      as<Granted>(world.enter(ana, "agents", 1, {.meta = with_process(1)})).given.at(0).token;
  const Reply place = world.enter(bo, "agents", 1, waiting);
  world.pass(60s + 1ms);

  EXPECT_EQ(world.in_use("agents"), 1u);
  EXPECT_TRUE(is<semaphore::Lost>(world.beat_slot(ana, "agents", token)));
  EXPECT_TRUE(is<semaphore::Released>(world.exit(ana, "agents", token)));
  EXPECT_TRUE(is<grant::Full>(world.enter(ana, "agents")));
  EXPECT_EQ(world.answer_to(place), nullptr);

  world.finish(world.started.at(0).id, seen_dead);
  EXPECT_TRUE(world.got<Granted>(place));
}

TEST(Custody, OneProcessIsEndedOnceForAllItsLeases) {
  Grants world;
  world.acquire(ana, "one", {.meta = with_process(1)});
  world.acquire(ana, "two", {.meta = with_process(1)});

  world.pass(61s);

  EXPECT_EQ(world.started.size(), 1u);
  world.finish(world.started.at(0).id, seen_dead);
  EXPECT_TRUE(world.lock_is<lock::Free>("one"));
  EXPECT_TRUE(world.lock_is<lock::Free>("two"));
}

TEST(Custody, WhatCannotBeSeenDeadForThirtySecondsAsksSomebody) {
  Grants world;
  world.acquire(ana, "main", {.meta = with_process(1)});
  world.force("main");
  world.finish(world.started.at(0).id, not_seen);
  world.forget();

  world.pass(30s - 1ms);
  EXPECT_TRUE(world.heard.empty());
  world.pass(1ms);

  EXPECT_EQ(world.names().at(0), "process:unobserved");
  EXPECT_TRUE(world.lock_is<lock::Ending>("main"));
  EXPECT_TRUE(world.state.custody.endings.find(process(1))->decision.has_value());
  world.pass(24h);
  EXPECT_TRUE(world.lock_is<lock::Ending>("main")) << "nothing is given on blindly";
}

Grants asked() {
  Grants world;
  world.acquire(ana, "main", {.meta = with_process(1)});
  world.acquire(bo, "main", waiting);
  world.force("main");
  world.finish(world.started.at(0).id, not_seen);
  world.pass(30s);
  world.forget();
  return world;
}

TEST(Custody, ToLookAgainIsToEndItAgain) {
  Grants world = asked();
  Turn turn(world.state, world.stamp);

  custody::decided(turn, process(1), chosen(decision::Choice::LookAgain));

  EXPECT_EQ(world.state.outbox.size(), 1u);
  EXPECT_EQ(world.state.custody.endings.find(process(1))->decision, std::nullopt);
  world.stamp.now += 1ms;
  world.finish(world.state.outbox.first()->first, seen_dead);
  EXPECT_EQ(world.holder_of("main"), "bo");
}

TEST(Custody, ToReleaseAnywayGivesOnAndSaysThatNobodySaw) {
  Grants world = asked();
  Turn turn(world.state, world.stamp);

  custody::decided(turn, process(1), chosen(decision::Choice::ReleaseAnyway));

  EXPECT_EQ(world.holder_of("main"), "bo");
  EXPECT_TRUE(world.state.custody.endings.empty());
}

TEST(Custody, WithNothingLeftToGiveOnNobodyIsAskedAnyMore) {
  Grants world = asked();
  ASSERT_EQ(world.state.decisions.open_of.size(), 1u);

  world.force("main", true);

  EXPECT_TRUE(world.state.decisions.open_of.empty());
  EXPECT_TRUE(world.state.custody.endings.empty());
}

TEST(Custody, AnAnswerNobodyWaitsForChangesNothing) {
  Grants world = asked();
  const State before = world.state;
  Turn turn(world.state, world.stamp);

  custody::decided(turn, process(1), chosen(decision::Choice::Cancel));
  custody::decided(turn, process(9), chosen(decision::Choice::ReleaseAnyway));

  EXPECT_EQ(world.state, before);
}

TEST(Custody, AProcessSeenDeadAfterAllNeedsNoAnswer) {
  Grants world = asked();

  world.input(ProcessGone{process(1)});

  EXPECT_EQ(world.holder_of("main"), "bo");
  EXPECT_TRUE(world.state.custody.endings.empty());
}

TEST(Custody, ManyLeasesOfOneProcessAreGivenOnAPartATick) {
  Grants world;
  for (int i = 0; i < 600; ++i) {
    world.acquire(ana, "lock" + std::to_string(i), {.meta = with_process(1), .timeout = 1h});
  }
  world.forget();

  world.input(ProcessGone{process(1)});
  EXPECT_FALSE(world.state.custody.held.empty());
  world.input(ProcessGone{process(1)});
  EXPECT_FALSE(world.last.changed) << "known, and being seen to";
  world.pass(0ms);

  EXPECT_TRUE(world.state.custody.held.empty());
  EXPECT_TRUE(world.state.custody.endings.empty());
  EXPECT_EQ(std::ranges::count(world.names(), "process:gone"), 1);
}

TEST(Custody, AKillOfWhichNobodyKnowsIsDoneAgain) {
  Grants world;
  world.acquire(ana, "main", {.meta = with_process(1)});
  world.forget();
  world.pass(60s + 1ms);
  ASSERT_EQ(world.started.size(), 1u);
  world.finish(world.started.at(0).id, ended(Ended::Unknown));
  ASSERT_EQ(world.started.size(), 2u);
  EXPECT_EQ(world.started.at(1).effect, world.started.at(0).effect);
  EXPECT_TRUE(world.lock_is<lock::Ending>("main"));
  world.finish(world.started.at(1).id, seen_dead);
  EXPECT_TRUE(world.lock_is<lock::Free>("main"));
}

TEST(Custody, AKillThatIsDoneAgainHasItsOwnTimeToBeSeen) {
  Grants world;
  world.acquire(ana, "main", {.meta = with_process(1)});
  world.force("main");
  world.wait_unnoticed(1h);
  world.finish(world.started.at(0).id, ended(Ended::Unknown));
  ASSERT_EQ(world.started.size(), 2u);

  world.tick();
  world.pass(30s - 1ms);
  EXPECT_FALSE(world.state.custody.endings.find(process(1))->decision.has_value());
  world.pass(1ms);
  EXPECT_TRUE(world.state.custody.endings.find(process(1))->decision.has_value());
}

}  // namespace
}  // namespace reeve
