#include "core/decision.h"
#include "core/dispatch.h"
#include "core/dispatch_testing.h"
#include "core/testing.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace reeve::dispatch {
namespace {

using namespace reeve::testing;

// ── A resumed agent ──

TEST(Dispatch, AStartedChildKeepsTheClaimUntilItIsSeenAlive) {
  World world;
  const DispatchId id = begin_started(world);
  EXPECT_TRUE(has_claim(world));
  EXPECT_EQ(the(world, id).evidence, (Evidence{child, "/run/ana.sock", start, start, {}}));

  world.forget();
  world.ask(Command{SawAlive{id}});
  EXPECT_FALSE(has_claim(world));
  EXPECT_TRUE(is_in<Seen>(world, id));
  EXPECT_EQ(said(world), (std::vector<Event>{WasReleased{id, ana, SocketAlive{}}}));
}

TEST(Dispatch, AChildThatWasSeenStaysUntilItsOutcomeComes) {
  World world;
  const DispatchId id = begin_started(world);
  world.ask(Command{SawAlive{id}});
  world.pass(1h);
  EXPECT_TRUE(is_in<Seen>(world, id));

  world.forget();
  world.finish({1, 0}, exited(3, "did it"));
  EXPECT_EQ(said(world), (std::vector<Event>{WasEnded{id, ana, Result::Delivered}}));
  EXPECT_EQ(the(world, id).state,
            (decltype(Dispatch::state){Ended{at(1h), Result::Delivered, 3, "did it"}}));
}

TEST(Dispatch, WhicheverOfLifeAndExitComesFirstReleasesAndTheOtherDoesNot) {
  for (const bool alive_first : {true, false}) {
    World world;
    const DispatchId id = begin_started(world);
    const std::vector<Command> observations = {SawAlive{id}, SawExit{id, 1}};

    world.ask(Command{observations[alive_first ? 0 : 1]});
    EXPECT_FALSE(has_claim(world));
    world.ask(Command{observations[alive_first ? 1 : 0]});
    EXPECT_FALSE(world.last.changed);
  }
}

TEST(Dispatch, AChildThatCouldNotBeStartedReleasesTheClaim) {
  World world;
  const DispatchId id = begin(world, resume());

  world.forget();
  world.finish({1, 0}, failed);
  EXPECT_EQ(said(world),
            (std::vector<Event>{WasReleased{id, ana, SpawnStartFailed{"no such program"}},
                                WasEnded{id, ana, Result::NotDelivered}}));
}

TEST(Dispatch, AnyEndOfTheChildReleasesTheClaim) {
  Outcome by_signal = failed;
  by_signal.signal = 9;
  for (const Outcome& outcome : {exited(0), by_signal}) {
    for (const bool started : {false, true}) {
      World world;
      const DispatchId id = started ? begin_started(world) : begin(world, resume());

      world.forget();
      world.finish({1, 0}, outcome);
      EXPECT_EQ(said(world),
                (std::vector<Event>{WasReleased{id, ana, ChildExited{outcome.exit_code}},
                                    WasEnded{id, ana, Result::Delivered}}));
    }
  }
}

TEST(Dispatch, AnUnknownOutcomeIsNoProof) {
  World world;
  const DispatchId id = begin_started(world);

  world.forget();
  world.finish({1, 0}, unknown);
  EXPECT_TRUE(has_claim(world));
  EXPECT_TRUE(is_in<Retained>(world, id));
  EXPECT_EQ(said(world), (std::vector<Event>{WasRetained{id, ana, the(world, id).evidence}}));

  world.ask(Command{SawExit{id, 0}});
  EXPECT_FALSE(has_claim(world));
  EXPECT_TRUE(is_in<Ended>(world, id));
}

// ── Silence ──

TEST(Dispatch, AChildThatShowsNothingFor30SecondsIsKilled) {
  World world;
  const DispatchId id = begin_started(world);
  world.forget();

  world.pass(30s - 1ms);
  EXPECT_TRUE(is_in<Started>(world, id));
  world.pass(1ms);
  EXPECT_TRUE(is_in<Killing>(world, id));
  ASSERT_EQ(world.started.size(), 1u);
  EXPECT_EQ(world.started[0].effect, (Outgoing{Kill{EffectId{1, 0}, 5s}, Address{id, Part::Kill}}));
  EXPECT_TRUE(has_claim(world));
}

TEST(Dispatch, AKilledChildThatWasSeenDeadReleasesTheClaim) {
  World world;
  const DispatchId id = begin_started(world);
  world.pass(30s);
  world.forget();

  world.finish(world.last.effects.empty() ? std::get<Killing>(the(world, id).state).kill
                                          : world.last.effects[0].id);
  EXPECT_FALSE(has_claim(world));
  EXPECT_EQ(said(world), (std::vector<Event>{WasReleased{id, ana, ChildExited{}}}));
}

TEST(Dispatch, TheClaimOfAChildThatNobodyCanSeeIsRetainedWithItsEvidenceForEver) {
  World world;
  const DispatchId id = begin_started(world);
  world.pass(35s - 1ms);
  EXPECT_TRUE(is_in<Killing>(world, id));
  world.forget();
  world.pass(1ms);

  EXPECT_TRUE(is_in<Retained>(world, id));
  const Evidence evidence{child, "/run/ana.sock", start, start, at(30s)};
  EXPECT_EQ(said(world), (std::vector<Event>{WasRetained{id, ana, evidence}}));
  const decision::Decision& question = world.state.decisions.decisions.begin()->second;
  EXPECT_EQ(question.question,
            "is the agent ana, resumed as process " + std::to_string(child.pid) + ", still there?");
  EXPECT_EQ(question.context,
            to_text(id) +
                " has shown neither life nor exit: started after 0 s, killed after 30 s, given up "
                "after 35 s; its socket is /run/ana.sock");
  world.pass(1000h);
  EXPECT_TRUE(has_claim(world));
  EXPECT_EQ(as<Busy>(world.ask(Command{resume("m2")})), (Busy{id, true}));
}

TEST(Dispatch, OfAChildThatNobodySawNoProcessIsNamed) {
  World world;
  const DispatchId id = begin(world, resume());
  world.pass(2s);
  world.finish(the(world, id).effect, unknown);

  ASSERT_TRUE(is_in<Retained>(world, id));
  const decision::Decision& question = world.state.decisions.decisions.begin()->second;
  EXPECT_EQ(question.question, "is the agent ana, which may have been resumed, still there?");
  EXPECT_EQ(question.context,
            to_text(id) +
                " has shown neither life nor exit: not seen to start, given up after 2 s; no "
                "socket of it is known");
}

TEST(Dispatch, ItsEventsAreNamedAfterIt) {
  const DispatchId id{7};
  const auto verb = [&](const Event& event) {
    const EventName name = name_of(event);
    EXPECT_EQ(name, (EventName{"dispatch", to_text(id), name.verb}));
    return name.verb;
  };
  EXPECT_EQ(verb(WasPlanned{id, ana}), "planned");
  EXPECT_EQ(verb(WasReleased{id, ana, std::nullopt}), "released");
  EXPECT_EQ(verb(WasRetained{id, ana, {}}), "retained");
  EXPECT_EQ(verb(WasEnded{id, ana}), "ended");
}

TEST(Dispatch, AKillThatFailedRetainsAtOnce) {
  World world;
  const DispatchId id = begin_started(world);
  world.pass(30s);

  world.finish(std::get<Killing>(the(world, id).state).kill, failed);
  EXPECT_TRUE(is_in<Retained>(world, id));
}

TEST(Dispatch, ProofThatComesLateStillReleasesARetainedClaim) {
  World world;
  const DispatchId id = begin_retained(world);

  world.ask(Command{SawAlive{id}});
  EXPECT_FALSE(has_claim(world));
  EXPECT_TRUE(is_in<Seen>(world, id));
}

TEST(Dispatch, OnlyARetainedClaimCanBeClearedByHand) {
  World world;
  const DispatchId id = begin_started(world);
  EXPECT_EQ(as<Refused>(world.ask(Command{Clear{id}})), (Refused{Why::NotAllowed, to_text(id)}));
  world.pass(35s);
  world.forget();

  EXPECT_TRUE(is<Ok>(world.ask(Command{Clear{id}})));
  EXPECT_FALSE(has_claim(world));
  EXPECT_EQ(said(world), (std::vector<Event>{WasReleased{id, ana, std::nullopt}}));
  EXPECT_TRUE(is_in<Seen>(world, id));
  EXPECT_EQ(as<Refused>(world.ask(Command{Clear{id}})), (Refused{Why::NotAllowed, to_text(id)}));
}

TEST(Dispatch, APersonMayLookAgainOrReleaseAnyway) {
  World world;
  const DispatchId id = begin_retained(world);

  decide(world, id, decision::Choice::LookAgain);
  EXPECT_TRUE(is_in<Killing>(world, id));
  EXPECT_TRUE(has_claim(world));
  decide(world, id, decision::Choice::ReleaseAnyway);  // an answer to a question of the past
  EXPECT_TRUE(has_claim(world));
  world.pass(5s);
  EXPECT_TRUE(is_in<Retained>(world, id));
  decide(world, id, decision::Choice::ReleaseAnyway);
  EXPECT_FALSE(has_claim(world));
}

TEST(Dispatch, AMachineThatWasStartedAnewHasNoChildrenOfItsFormerLife) {
  World world;
  const DispatchId id = begin_retained(world);
  world.ask(Command{SawBoot{"boot-1"}});
  EXPECT_TRUE(has_claim(world));

  for (const char* later : {"boot-2", "boot-0"}) {
    World next = world;
    next.forget();
    next.ask(Command{SawBoot{later}});
    EXPECT_FALSE(has_claim(next));
    EXPECT_EQ(said(next), (std::vector<Event>{WasReleased{id, ana, ChildExited{}}}));
  }
}

TEST(Dispatch, NewsOfAChildOfAFormerBootIsNewsOfItsEnd) {
  World world;
  world.ask(Command{SawBoot{"boot-2"}});

  const DispatchId id = begin_started(world);
  EXPECT_FALSE(has_claim(world));
  EXPECT_TRUE(is_in<Seen>(world, id));
}

TEST(Dispatch, ManyChildrenOfAFormerBootEndAPartATick) {
  World world;
  for (int i = 0; i < 300; ++i) {
    Send send = resume();
    send.to = "agent" + std::to_string(i);
    const DispatchId id = begin(world, send);
    world.ask(Command{SawStarted{id, child, ""}});
  }

  world.ask(Command{SawBoot{"boot-2"}});
  EXPECT_EQ(world.state.dispatches.claims.size(), 300 - limits::touched_a_step);
  world.pass(0s);
  EXPECT_TRUE(world.state.dispatches.claims.empty());
}

// ── What was seen comes before what is due: we may have been away ──

TEST(Dispatch, AChildThatIsSeenAliveIsNotKilledBecauseTheNewsIsLate) {
  for (const bool tick_first : {false, true}) {
    World world;
    const DispatchId id = begin_started(world);
    world.forget();
    world.stamp.now += 60s;
    if (tick_first) world.input(Tick{});
    world.ask(Command{SawAlive{id}});
    EXPECT_FALSE(has_claim(world));
    EXPECT_TRUE(is_in<Seen>(world, id));
    EXPECT_EQ(world.started.size(), tick_first ? 1u : 0u) << "of kills";
  }
}

TEST(Dispatch, NorOneThatIsKnownToHaveEnded) {
  const auto after_a_minute = [](auto news) {
    World world;
    const DispatchId id = begin_started(world);
    world.forget();
    world.stamp.now += 60s;
    news(world, id);
    EXPECT_FALSE(has_claim(world));
    EXPECT_TRUE(world.started.empty()) << "there is nothing to kill";
  };
  after_a_minute([](World& world, DispatchId id) { world.ask(Command{SawExit{id, 0}}); });
  after_a_minute([](World& world, DispatchId) { world.ask(Command{SawBoot{"boot-2"}}); });
  after_a_minute(
      [](World& world, DispatchId id) { world.finish(the(world, id).effect, exited(0)); });
}

// ── A look is as old as it is ──

TEST(Dispatch, ALookFromBeforeTheLastReleaseCountsForNothing) {
  World world;
  world.pass(1s);
  const Time looked_at = world.stamp.now;  // two see that ana is dormant
  world.pass(1s);
  const DispatchId id = begin_started(world);
  world.pass(1s);
  world.ask(Command{SawAlive{id}});
  world.forget();

  Send other = resume("m2");
  other.seen_at = looked_at;
  EXPECT_TRUE(is<LookAgain>(world.ask(Command{other}))) << "a second child beside the living one";
  EXPECT_FALSE(world.last.changed);
  other.seen_at = world.stamp.now;
  EXPECT_TRUE(is<LookAgain>(world.ask(Command{other}))) << "it may have been before, still";
  other.seen_at = world.stamp.now + 1ms;
  EXPECT_TRUE(is<Planned>(world.ask(Command{other}))) << "it has gone to sleep again";
}

TEST(Dispatch, SoDoesOneOfASessionThatMayHaveEndedMeanwhile) {
  World world;
  const DispatchId id = begin(world, to_ana(Liveness::Alive));
  world.finish(the(world, id).effect);
  Send other = to_ana(Liveness::Alive, false, "m2");
  other.seen_at = start;
  EXPECT_TRUE(is<LookAgain>(world.ask(Command{other})));
}

TEST(Dispatch, AMailboxNeedsNoLook) {
  World world;
  const DispatchId id = begin_started(world);
  world.ask(Command{SawAlive{id}});
  Send other = to_ana(Liveness::Unsupported, false, "m2");
  other.seen_at = start;
  EXPECT_EQ(as<Planned>(world.ask(Command{other})).transport, Transport::Mailbox);
}

TEST(Dispatch, WhenATargetWasLetGoOfIsForgottenWithTheDispatch) {
  World world;
  const DispatchId id = begin_started(world);
  world.finish(the(world, id).effect, exited(0));
  EXPECT_EQ(world.state.dispatches.released.size(), 1u);
  world.pass(24h);
  EXPECT_TRUE(world.state.dispatches.released.empty());
}

TEST(Dispatch, AMessageIsKnownToTheLastMomentOfItsDayTickOrNoTick) {
  World world;
  const DispatchId id = begin(world, to_ana(Liveness::Unsupported));
  world.stamp.now += 24h - 1ms;
  EXPECT_EQ(as<Again>(world.ask(Command{to_ana(Liveness::Unsupported)})), Again{id});
  world.stamp.now += 1ms;
  EXPECT_TRUE(is<Planned>(world.ask(Command{to_ana(Liveness::Unsupported)})));
}

TEST(Dispatch, AnEndedOneIsForgottenAfter24Hours) {
  World world;
  const DispatchId id = begin(world, to_ana(Liveness::Unsupported));
  world.pass(24h - 1ms);
  EXPECT_EQ(as<Again>(world.ask(Command{to_ana(Liveness::Unsupported)})), Again{id});
  world.pass(1ms);
  EXPECT_TRUE(world.state.dispatches.dispatches.empty());
  EXPECT_TRUE(world.state.dispatches.by_message.empty());
}

TEST(Dispatch, WhatIsKnownOfALaterOneIsNotForgottenWithAnEarlier) {
  World world;
  const DispatchId first = begin(world, to_ana(Liveness::Alive));
  world.finish(the(world, first).effect, failed);  // it certainly did not arrive: once more
  world.pass(12h);
  const DispatchId second = begin(world, to_ana(Liveness::Alive));
  world.finish(the(world, second).effect);
  world.pass(12h);
  ASSERT_FALSE(world.state.dispatches.dispatches.contains(first));

  EXPECT_EQ(as<Again>(world.ask(Command{to_ana(Liveness::Alive)})), Again{second});
  Send old = to_ana(Liveness::Alive, false, "m2");
  old.seen_at = start;  // before the second let go of the target
  EXPECT_TRUE(is<LookAgain>(world.ask(Command{old})));
  world.pass(12h);
  EXPECT_TRUE(world.state.dispatches.dispatches.empty());
}

// ── The machine was started anew, and nobody had heard that the child was ──

TEST(Dispatch, AnUnknownStartOfAFormerBootIsAnEnd) {
  World world;
  world.ask(Command{SawBoot{"boot-1"}});
  const DispatchId id = begin(world, resume());
  world.finish(the(world, id).effect, unknown);
  EXPECT_TRUE(is_in<Retained>(world, id));
  world.ask(Command{SawBoot{"boot-2"}});
  EXPECT_FALSE(has_claim(world));
  EXPECT_TRUE(is_in<Ended>(world, id));
}

TEST(Dispatch, OneThatHasYetToStartKeepsItsClaimAndBelongsToTheNewBoot) {
  World world;
  world.ask(Command{SawBoot{"boot-1"}});
  const DispatchId id = begin(world, resume());
  world.ask(Command{SawBoot{"boot-2"}});
  EXPECT_TRUE(has_claim(world)) << "what is in the outbox and was not started will be";
  world.finish(the(world, id).effect, unknown);
  EXPECT_TRUE(has_claim(world)) << "it may live in this boot";
  world.ask(Command{SawBoot{"boot-3"}});
  EXPECT_FALSE(has_claim(world));
}

TEST(Dispatch, AKillOfWhichNobodyKnowsIsDoneAgain) {
  World world;
  const DispatchId id = begin_started(world);
  world.pass(30s);
  const EffectId first = std::get<Killing>(the(world, id).state).kill;
  world.finish(first, unknown);
  ASSERT_TRUE(is_in<Killing>(world, id));
  EXPECT_NE(std::get<Killing>(the(world, id).state).kill, first);
}

TEST(Dispatch, AnUnknownOutcomeOfARetainedOneAsksNobodyAgain) {
  World world;
  const DispatchId id = begin_retained(world);
  const auto asked = world.state.decisions.open_of;
  ASSERT_EQ(asked.size(), 1u);
  world.finish(the(world, id).effect, unknown);
  EXPECT_TRUE(is_in<Retained>(world, id));
  EXPECT_EQ(world.state.decisions.open_of, asked);
}

TEST(Dispatch, AKillThatFailedLateSaysNothingOfTheNextOne) {
  World world;
  const DispatchId id = begin_started(world);
  world.pass(30s);
  const EffectId first = std::get<Killing>(the(world, id).state).kill;
  world.pass(5s);
  const DecisionId asked = (*world.state.decisions.open_of.begin()).second;
  world.ask(decision::Command{decision::Resolve{asked, decision::Choice::LookAgain}});
  ASSERT_TRUE(is_in<Killing>(world, id));
  world.finish(first, failed);
  EXPECT_TRUE(is_in<Killing>(world, id));
}

}  // namespace
}  // namespace reeve::dispatch
