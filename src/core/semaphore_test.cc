#include "core/semaphore.h"

#include "core/grant_testing.h"

namespace reeve {
namespace {

using namespace reeve::testing;
using grant::Full;
using grant::Granted;
using grant::How;
using Names = std::vector<std::string>;

Token token_in(const Reply& reply) { return as<Granted>(reply).given.at(0).token; }

Refused no(const Reply& reply) { return as<Refused>(reply); }

Full full(std::uint32_t available, std::uint32_t capacity, std::uint64_t ahead) {
  return {slots_named("agents"), available, capacity, ahead};
}

// ── create, resize, remove ──

TEST(Semaphore, IsCreatedOnceAndAgainWithTheSameWordsIsFine) {
  Grants world;

  EXPECT_TRUE(is<Ok>(world.create("agents", 4)));
  EXPECT_EQ(
      world.heard,
      (std::vector<EventBody>{semaphore::Event{semaphore::WasCreated{slots_named("agents"), 4}}}));
  EXPECT_TRUE(is<Ok>(world.create("agents", 4)));
  EXPECT_FALSE(world.last.changed);
}

TEST(Semaphore, CreatingItWithAnotherCapacityResizesIt) {
  Grants world;
  world.create("agents", 4);
  world.forget();

  world.create("agents", 2);

  EXPECT_EQ(world.heard,
            (std::vector<EventBody>{
                semaphore::Event{semaphore::WasResized{slots_named("agents"), 4, 2}}}));
}

TEST(Semaphore, CreatingItWithAnotherTimeoutChangesTheTimeoutOfGrantsToCome) {
  Grants world;
  world.create("agents", 4);
  world.create("agents", 4, 5min);

  EXPECT_EQ(as<Granted>(world.enter(ana, "agents")).given.at(0).expires_at, at(5min));
}

TEST(Semaphore, WhatCannotBeMeantIsRefused) {
  Grants world;

  EXPECT_EQ(no(world.create("", 1)), (Refused{Why::BadName, ""}));
  EXPECT_EQ(no(world.create("agents", 0)), (Refused{Why::BadValue, "capacity"}));
  EXPECT_EQ(no(world.create("agents", 1, -1ms)), (Refused{Why::BadValue, "heartbeat_timeout"}));
  EXPECT_EQ(no(world.ask(semaphore::Command{semaphore::Create{{ProjectNo{9}, "x"}, {1, {}}}})),
            (Refused{Why::NotFound, "project"}));
  EXPECT_EQ(no(world.resize("agents", 1)), (Refused{Why::NotFound, "agents"}));
  EXPECT_EQ(no(world.remove("agents")), (Refused{Why::NotFound, "agents"}));
  EXPECT_EQ(no(world.enter(ana, "agents")), (Refused{Why::NotFound, "agents"}));
  EXPECT_EQ(world.state, initial_state(start));
  world.create("agents", 3);
  EXPECT_EQ(no(world.resize("agents", 0)), (Refused{Why::BadValue, "capacity"}));
}

TEST(Semaphore, IsRemovedOnlyWhenNobodyHoldsOrAwaitsIt) {
  Grants world;
  world.create("agents", 1);
  world.acquire(bo, "other");
  world.enter(ana, "agents");
  world.enter(bo, "agents", 1, waiting);
  EXPECT_EQ(as<Refused>(world.remove("agents")), (Refused{Why::NotAllowed, "held"}));
  world.exit(ana, "agents");
  world.exit(bo, "agents");
  world.forget();

  EXPECT_TRUE(is<Ok>(world.remove("agents")));

  EXPECT_EQ(world.names(), Names{"semaphore:removed"});
  EXPECT_TRUE(world.state.semaphores.semaphores.empty());
  EXPECT_TRUE(world.state.semaphores.counts.empty());
}

TEST(Semaphore, IsNotRemovedWhileALineWaitsForItsHeadToComeBack) {
  Grants world;
  world.create("agents", 1);
  world.enter(ana, "agents");
  world.enter(bound(bo, 5), "agents", 1, waiting);
  world.input(Resumed{System::What::Ready});
  world.exit(ana, "agents");

  EXPECT_EQ(no(world.remove("agents")), (Refused{Why::NotAllowed, "waited for"}));
}

TEST(Semaphore, AProjectHasSoManyAndNoMore) {
  Grants world;
  State state = world.state;
  state.semaphores.counts.set(default_project, limits::names_a_project);

  const Applied applied =
      apply(state,
            Request{default_project,
                    {},
                    true,
                    "",
                    semaphore::Command{semaphore::Create{slots_named("agents"), {1, {}}}}},
            world.stamp);

  EXPECT_EQ(no(applied.reply), (Refused{Why::OverLimit, "semaphores"}));
}

// ── acquire ──

TEST(Semaphore, WhatFitsIsAcquiredUnderANewToken) {
  Grants world;
  world.create("agents", 4);
  world.forget();

  const Granted granted = as<Granted>(world.enter(ana, "agents", 3));

  EXPECT_EQ(
      granted,
      (Granted{How::Acquired,
               ana,
               {{"agents", Token{1}, at(60s), 3, std::nullopt, default_project, std::nullopt}}}));
  EXPECT_EQ(world.heard,
            (std::vector<EventBody>{semaphore::Event{
                semaphore::WasAcquired{slots_named("agents"), ana, 3, Token{1}}}}));
  EXPECT_EQ(world.in_use("agents"), 3u);
}

TEST(Semaphore, AWeightOfNothingOrOverTheCapacityIsAnErrorAtOnce) {
  Grants world;
  world.create("agents", 4);

  EXPECT_EQ(as<Refused>(world.enter(ana, "agents", 0)), (Refused{Why::BadValue, "weight"}));
  EXPECT_EQ(as<Refused>(world.enter(ana, "agents", 5, waiting)),
            (Refused{Why::BadValue, "weight"}));
  EXPECT_TRUE(is<Granted>(world.enter(ana, "agents", 4)));
}

TEST(Semaphore, WhatDoesNotFitIsFull) {
  Grants world;
  world.create("agents", 4);
  world.enter(ana, "agents", 3);

  EXPECT_EQ(as<Full>(world.enter(bo, "agents", 2)), full(1, 4, 0));
  EXPECT_FALSE(world.last.changed);
  EXPECT_TRUE(is<Granted>(world.enter(bo, "agents", 1)));
}

TEST(Semaphore, AskingForAsMuchOrLessAgainIsAHeartbeat) {
  Grants world;
  world.create("agents", 4);
  const Token token = token_in(world.enter(ana, "agents", 3));
  world.pass(30s);
  world.forget();

  for (const std::uint32_t weight : {3u, 1u}) {
    EXPECT_EQ(as<Granted>(world.enter(ana, "agents", weight)),
              (Granted{How::Extended,
                       ana,
                       {{"agents", token, at(90s), 3, std::nullopt, default_project, 3}}}));
  }
  EXPECT_TRUE(world.heard.empty());
  EXPECT_EQ(world.in_use("agents"), 3u);
}

TEST(Semaphore, AnIncreaseNeedsOnlyTheDifferenceUnderTheSameToken) {
  Grants world;
  world.create("agents", 4);
  const Token token = token_in(world.enter(ana, "agents", 2));
  world.enter(bo, "agents", 1);

  EXPECT_EQ(as<Full>(world.enter(ana, "agents", 4)), full(1, 4, 0));
  EXPECT_EQ(
      as<Granted>(world.enter(ana, "agents", 3)),
      (Granted{
          How::Acquired, ana, {{"agents", token, at(60s), 3, std::nullopt, default_project, 2}}}));
  EXPECT_EQ(world.in_use("agents"), 4u);
}

TEST(Semaphore, AnIncreaseGoesAheadOfTheLine) {
  Grants world;
  world.create("agents", 4);
  world.enter(ana, "agents", 2);
  const Reply heavy = world.enter(bo, "agents", 4, waiting);

  EXPECT_EQ(as<Granted>(world.enter(ana, "agents", 3)).how, How::Acquired);
  EXPECT_EQ(world.answer_to(heavy), nullptr);
  EXPECT_EQ(world.weight_of(ana, "agents"), 3u);
}

TEST(Semaphore, AnIncreaseThatHadToWaitGoesAheadOfTheLineToo) {
  Grants world;
  world.create("agents", 4);
  world.enter(ana, "agents", 2);
  world.enter(cy, "agents", 2);
  const Reply heavy = world.enter(bo, "agents", 4, waiting);
  const Reply more = world.enter(ana, "agents", 3, waiting);

  world.exit(cy, "agents");

  EXPECT_TRUE(world.got<Granted>(more));
  EXPECT_EQ(world.answer_to(heavy), nullptr);
  EXPECT_EQ(world.weight_of(ana, "agents"), 3u);
}

TEST(Semaphore, AHeavyWaiterAtTheHeadIsNotOvertakenByLightOnes) {
  Grants world;
  world.create("agents", 4);
  world.enter(ana, "agents", 2);
  const Reply heavy = world.enter(bo, "agents", 3, waiting);

  EXPECT_EQ(as<Full>(world.enter(cy, "agents", 1)), full(2, 4, 1));
  const Reply light = world.enter(cy, "agents", 1, waiting);
  EXPECT_EQ(world.answer_to(light), nullptr);

  world.exit(ana, "agents");
  EXPECT_TRUE(world.got<Granted>(heavy));
  EXPECT_TRUE(world.got<Granted>(light));
}

TEST(Semaphore, OneReleaseServesAllWhoFit) {
  Grants world;
  world.create("agents", 3);
  world.enter(ana, "agents", 3);
  const Reply one = world.enter(bo, "agents", 1, waiting);
  const Reply two = world.enter(cy, "agents", 1, waiting);
  const Reply three = world.enter(di, "agents", 2, waiting);

  world.exit(ana, "agents");

  EXPECT_TRUE(world.got<Granted>(one));
  EXPECT_TRUE(world.got<Granted>(two));
  EXPECT_EQ(world.answer_to(three), nullptr);
}

// ── release, heartbeat ──

TEST(Semaphore, ReleasingIsTheHoldersAffair) {
  Grants world;
  world.create("agents", 4);
  const Token token = token_in(world.enter(ana, "agents", 2));
  world.forget();

  EXPECT_TRUE(is<semaphore::NotHolder>(world.exit(bo, "agents")));
  EXPECT_TRUE(is<semaphore::NotHolder>(world.exit(ana, "agents", Token{9})));
  EXPECT_TRUE(is<semaphore::NotHolder>(world.exit(ana, "other")));
  EXPECT_FALSE(world.last.changed);
  EXPECT_TRUE(is<semaphore::Released>(world.exit(ana, "agents", token)));
  EXPECT_EQ(world.heard,
            (std::vector<EventBody>{
                semaphore::Event{semaphore::WasReleased{slots_named("agents"), ana, 2, false}}}));
  EXPECT_EQ(world.in_use("agents"), 0u);
}

TEST(Semaphore, ABoundHolderMustGiveItsToken) {
  Grants world;
  world.create("agents", 1);
  const Holder holder = bound(ana, 5);
  const Token token = token_in(world.enter(holder, "agents"));

  EXPECT_EQ(no(world.exit(holder, "agents")), (Refused{Why::BadValue, "token"}));
  EXPECT_TRUE(is<semaphore::Released>(world.exit(holder, "agents", token)));
}

TEST(Semaphore, AHeartbeatAtTheLimitCountsAndOneAfterItIsLost) {
  Grants world;
  world.create("agents", 1);
  const Token token = token_in(world.enter(ana, "agents"));
  world.wait_unnoticed(60s);
  EXPECT_EQ(as<semaphore::Alive>(world.beat_slot(ana, "agents", token)),
            semaphore::Alive{at(120s)});
  EXPECT_TRUE(is<semaphore::Lost>(world.beat_slot(ana, "agents", Token{9})));
  world.wait_unnoticed(60s + 1ms);

  EXPECT_TRUE(is<semaphore::Lost>(world.beat_slot(ana, "agents", token)));
  EXPECT_EQ(world.in_use("agents"), 0u);
}

// ── stale ──

TEST(Semaphore, AllStaleHoldersAreFreedByTheTickAtTheirDeadline) {
  Grants world;
  world.create("agents", 3);
  world.enter(ana, "agents");
  world.enter(bo, "agents");
  world.enter(cy, "agents", 1, {.timeout = 90s});
  const Reply heavy = world.enter(di, "agents", 2, waiting);
  world.forget();

  world.pass(60s);
  EXPECT_EQ(world.in_use("agents"), 3u);
  world.pass(1ms);

  EXPECT_TRUE(world.got<Granted>(heavy));
  EXPECT_EQ(world.names(), (Names{"semaphore:stale", "semaphore:stale", "semaphore:acquired"}));
  EXPECT_EQ(world.weight_of(cy, "agents"), 1u);
}

TEST(Semaphore, StaleHoldersCountAsGoneBeforeAnAcquireIsJudgedAllOfThem) {
  Grants world;
  world.create("agents", 3);
  world.enter(ana, "agents");
  world.enter(bo, "agents");
  world.enter(cy, "agents");
  world.wait_unnoticed(60s);
  EXPECT_EQ(as<Full>(world.enter(di, "agents", 3)).available, 0u);
  world.wait_unnoticed(1ms);

  EXPECT_TRUE(is<Granted>(world.enter(di, "agents", 3)));
}

TEST(Semaphore, EvenMoreThanAStepShouldTouchCountAsGone) {
  Grants world;
  world.create("agents", 300);
  for (int i = 0; i < 300; ++i) {
    world.enter({default_project, "holder" + std::to_string(i)}, "agents");
  }
  world.wait_unnoticed(60s + 1ms);

  EXPECT_TRUE(is<Granted>(world.enter(di, "agents", 300)));
}

TEST(Semaphore, WhatIsLeftOfManyStaleOnesGoesWithTheNextTick) {
  Grants world;
  world.create("agents", 300);
  for (int i = 0; i < 300; ++i) {
    world.enter({default_project, "holder" + std::to_string(i)}, "agents");
  }
  const Reply all = world.enter(di, "agents", 300, waiting);
  world.wait_unnoticed(60s + 1ms);

  world.tick();
  EXPECT_GT(world.in_use("agents"), 0u);
  world.tick();
  world.tick();

  EXPECT_TRUE(world.got<Granted>(all));
}

TEST(Semaphore, MaxHoldEndsEvenAHolderThatIsHeardOf) {
  Grants world;
  world.create("agents", 1);
  const Token token = token_in(world.enter(ana, "agents", 1, {.max_hold = 90s}));
  world.pass(50s);
  EXPECT_EQ(as<semaphore::Alive>(world.beat_slot(ana, "agents", token)), semaphore::Alive{at(90s)});
  world.pass(40s);
  EXPECT_EQ(world.in_use("agents"), 1u);
  world.pass(1ms);

  EXPECT_EQ(world.in_use("agents"), 0u);
}

TEST(Semaphore, GraceCountsFromTheMomentTheDaemonListensAgain) {
  Grants world;
  world.create("agents", 1);
  world.enter(ana, "agents");
  world.wait_unnoticed(1h);
  world.input(Resumed{System::What::Suspended});
  world.tick();
  EXPECT_EQ(world.in_use("agents"), 1u);

  world.pass(60s);
  EXPECT_EQ(world.in_use("agents"), 1u);
  world.pass(1ms);
  EXPECT_EQ(world.in_use("agents"), 0u);
}

// ── capacity ──

TEST(Semaphore, RaisingTheCapacityServesTheLine) {
  Grants world;
  world.create("agents", 1);
  world.enter(ana, "agents");
  const Reply place = world.enter(bo, "agents", 1, waiting);

  world.resize("agents", 2);

  EXPECT_TRUE(world.got<Granted>(place));
}

TEST(Semaphore, LoweringItBelowWhatIsInUseEvictsNobodyAndDrains) {
  Grants world;
  world.create("agents", 4);
  world.enter(ana, "agents", 2);
  world.enter(bo, "agents", 2);
  world.resize("agents", 2);

  EXPECT_EQ(world.in_use("agents"), 4u);
  EXPECT_EQ(as<Full>(world.enter(cy, "agents")), full(0, 2, 0));
  EXPECT_EQ(as<Granted>(world.enter(ana, "agents", 2)).how, How::Extended);
  world.exit(ana, "agents");
  EXPECT_EQ(as<Full>(world.enter(cy, "agents")), full(0, 2, 0));
  world.exit(bo, "agents");
  EXPECT_TRUE(is<Granted>(world.enter(cy, "agents", 2)));
}

TEST(Semaphore, WhoWaitsForMoreThanThereCanEverBeIsToldAndDoesNotBlockTheLine) {
  Grants world;
  world.create("agents", 4);
  world.enter(ana, "agents", 2);
  const Reply heavy = world.enter(bo, "agents", 4, waiting);
  const Reply light = world.enter(cy, "agents", 1, waiting);

  world.resize("agents", 3);

  EXPECT_EQ(as<Refused>(*world.answer_to(heavy)), (Refused{Why::BadValue, "weight"}));
  EXPECT_TRUE(world.got<Granted>(light));
}

// Nothing is later, and so nothing is over; whoever asks must not look for it without end.
TEST(Semaphore, AtTheEndOfTimeASlotStaysWhoseItIs) {
  Grants world;
  world.create("agents", 1);
  world.stamp.now = Time::max();
  world.enter(ana, "agents");
  EXPECT_TRUE(is<grant::Full>(world.enter(bo, "agents")));
  world.tick();
  EXPECT_TRUE(is<grant::Full>(world.enter(bo, "agents")));
}

TEST(Semaphore, EventsAreNamedAfterTheSemaphore) {
  Grants world;
  world.create("agents", 1);

  EXPECT_EQ(name_of(world.heard.at(0)), (EventName{"semaphore", "agents", "created"}));
  EXPECT_EQ(semaphore::name_of(semaphore::WasResized{{default_project, "agents"}, 1, 2}),
            (EventName{"semaphore", "agents", "resized"}));
}

}  // namespace
}  // namespace reeve
