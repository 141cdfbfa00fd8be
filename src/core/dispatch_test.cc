#include "core/dispatch.h"

#include "base/die_testing.h"
#include "core/dispatch_testing.h"
#include "core/testing.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <string>
#include <vector>

namespace reeve::dispatch {
namespace {

using namespace reeve::testing;

// ── Plans ──

TEST(Dispatch, ALivingAgentIsSentTheMessageOverItsSession) {
  World world;

  const DispatchId id{1};
  EXPECT_EQ(as<Planned>(world.ask(Command{to_ana(Liveness::Alive)})),
            (Planned{id, "m1", Transport::ControlSocket}));
  ASSERT_EQ(world.started.size(), 1u);
  EXPECT_EQ(world.started[0].effect,
            (Outgoing{reeve::Send{{9}, "m1", "hello"}, Address{id, Part::Send}}));
  EXPECT_TRUE(has_claim(world));
  EXPECT_EQ(said(world), (std::vector<Event>{WasPlanned{id, ana, Transport::ControlSocket}}));

  world.forget();
  world.finish(world.last.effects[0].id);
  EXPECT_FALSE(has_claim(world));
  EXPECT_EQ(the(world, id).state, (decltype(Dispatch::state){Ended{start, Result::Delivered}}));
  EXPECT_EQ(said(world),
            (std::vector<Event>{WasReleased{id, ana, SendFinal{SendOutcome::Sent}},
                                WasEnded{id, ana, Result::Delivered}}));
  EXPECT_EQ(world.names(), (std::vector<std::string>{"dispatch:released", "dispatch:ended"}));
}

TEST(Dispatch, AnyFinalOutcomeOfASendReleasesTheClaim) {
  for (const Outcome& outcome : {Outcome{}, failed, unknown}) {
    World world;
    const DispatchId id = begin(world, to_ana(Liveness::Alive));

    world.finish(world.started[0].id, outcome);
    EXPECT_FALSE(has_claim(world));
    EXPECT_TRUE(is_in<Ended>(world, id));
  }
}

TEST(Dispatch, ADormantAgentIsResumedInTheBackgroundIfTheCallerWantsTheOutcome) {
  World world;

  EXPECT_EQ(as<Planned>(world.ask(Command{resume()})).transport, Transport::SpawnBg);
  ASSERT_EQ(world.started.size(), 1u);
  EXPECT_EQ(world.started[0].effect,
            (Outgoing{Spawn{{2}, "ana", "claude --resume x", "hello", "/ws", {}, false, {}},
                      Address{{1}, Part::Spawn}}));
  EXPECT_TRUE(has_claim(world));
  EXPECT_TRUE(is_in<Starting>(world, {1}));
}

TEST(Dispatch, WithoutAnOutcomeWantedOrAChannelTheMailboxIsUsedAndNoClaimHeld) {
  for (const Send& send : {to_ana(Liveness::Dead),
                           to_ana(Liveness::Unsupported),
                           to_ana(Liveness::Unsupported, true)}) {
    World world;

    const DispatchId id = begin(world, send);
    EXPECT_TRUE(world.started.empty());
    EXPECT_FALSE(has_claim(world));
    EXPECT_EQ(the(world, id).state, (decltype(Dispatch::state){Ended{start, Result::Mailed}}));
    EXPECT_EQ(world.names(),
              (std::vector<std::string>{"dispatch:planned", "mail:sent", "dispatch:ended"}));
    EXPECT_EQ(world.state.mail.messages.size(), 1u);
  }
}

TEST(Dispatch, NobodyActsOnAnIndeterminateAgent) {
  World world;

  for (const bool wants : {false, true}) {
    EXPECT_TRUE(is<LookAgain>(world.ask(Command{to_ana(Liveness::Indeterminate, wants)})));
    EXPECT_FALSE(world.last.changed);
  }
}

// ── Claims and messages ──

TEST(Dispatch, TwoDispatchesNeverActOnOneTargetAtATime) {
  World world;
  const DispatchId first = begin(world, resume());

  for (const Liveness seen : {Liveness::Alive, Liveness::Dead, Liveness::Unsupported}) {
    EXPECT_EQ(as<Busy>(world.ask(Command{to_ana(seen, true, "m2")})), (Busy{first, false}));
    EXPECT_FALSE(world.last.changed);
  }
  Send to_another = resume("m2");
  to_another.to = "cleo";
  EXPECT_TRUE(is<Planned>(world.ask(Command{to_another})));
}

TEST(Dispatch, TheSameMessageIsDispatchedOnce) {
  World world;
  const DispatchId first = begin(world, to_ana(Liveness::Alive));

  EXPECT_EQ(as<Again>(world.ask(Command{to_ana(Liveness::Alive)})), Again{first});
  world.finish(world.started[0].id, unknown);  // perhaps it arrived: not again
  EXPECT_EQ(as<Again>(world.ask(Command{to_ana(Liveness::Alive)})), Again{first});
  EXPECT_FALSE(world.last.changed);
}

TEST(Dispatch, AMessageThatCertainlyDidNotArriveMayBeDispatchedAgain) {
  World world;
  const DispatchId first = begin(world, to_ana(Liveness::Alive));
  world.finish(world.started[0].id, failed);

  const DispatchId second = begin(world, to_ana(Liveness::Alive));
  EXPECT_NE(first, second);
  EXPECT_EQ(as<Again>(world.ask(Command{to_ana(Liveness::Alive)})), Again{second});
}

// It may have been typed already.
TEST(Dispatch, AMessageWhoseSendWasCutOffIsNotSentAgain) {
  Outcome cut_off = failed;
  cut_off.timed_out = true;
  Outcome ended_by_signal = failed;
  ended_by_signal.signal = 15;
  for (const Outcome& outcome : {cut_off, ended_by_signal}) {
    World world;
    const DispatchId first = begin(world, to_ana(Liveness::Alive));
    world.finish(world.started[0].id, outcome);
    EXPECT_FALSE(has_claim(world));
    EXPECT_EQ(std::get<Ended>(the(world, first).state).result, Result::Unknown);

    EXPECT_EQ(as<Again>(world.ask(Command{to_ana(Liveness::Alive)})), Again{first});
    EXPECT_EQ(world.started.size(), 1u);
  }
}

TEST(Dispatch, AMessageWithoutAnIdGetsOneThatIsNobodyElses) {
  World world;
  const std::string made = to_text(DispatchId{2});
  begin(world, to_ana(Liveness::Unsupported, false, made));  // takes the numbers 1 and 2

  EXPECT_EQ(as<Planned>(world.ask(Command{to_ana(Liveness::Unsupported, false, "")})).message_id,
            to_text(DispatchId{3}));
  World other;
  other.state.last_number = 1;
  other.state.dispatches = world.state.dispatches;
  other.state.mail = world.state.mail;
  other.state.timers = world.state.timers;
  other.state.last_number = 1;
  EXPECT_NE(as<Planned>(other.ask(Command{to_ana(Liveness::Unsupported, false, "")})).message_id,
            made);
}

TEST(Dispatch, AMadeIdIsThatOfNoMailEither) {
  World world;
  world.ask(mailbox::Send{"ana", to_text(DispatchId{2}), "bo", "hello"});  // takes the number 1

  begin(world, to_ana(Liveness::Unsupported, false, ""));

  EXPECT_EQ(as<mailbox::Mail>(world.ask(mailbox::Read{"ana", "", 10})).messages.size(), 2u);
}

TEST(Dispatch, TextResumeAndWorkspaceMayHaveSixtyFourKiB) {
  World world;
  Send longest = resume();
  longest.text = std::string(limits::text_bytes, 'x');
  longest.resume = longest.text;
  longest.workspace = longest.text;
  begin(world, longest);
  EXPECT_EQ(world.started.size(), 1u);
}

TEST(Dispatch, WhatMakesNoSenseIsRefusedAndChangesNothing) {
  World world;
  const auto refusal = [&](Send send) { return as<Refused>(world.ask(Command{send})); };
  Send nameless = resume();
  nameless.to = "";
  Send homeless = to_ana(Liveness::Alive);
  homeless.session = {};
  Send hopeless = resume();
  hopeless.resume = "";
  Send endless = resume();
  endless.text = std::string(limits::text_bytes + 1, 'x');
  Send boundless = resume();
  boundless.resume = endless.text;
  Send lost = resume();
  lost.workspace = endless.text;

  EXPECT_EQ(refusal(nameless), (Refused{Why::BadName, ""}));
  EXPECT_EQ(refusal(resume("-m")), (Refused{Why::BadName, "-m"}));
  EXPECT_EQ(refusal(homeless), (Refused{Why::BadValue, "session"}));
  EXPECT_EQ(refusal(hopeless), (Refused{Why::BadValue, "resume"}));
  EXPECT_EQ(refusal(boundless), (Refused{Why::BadValue, "resume"}));
  EXPECT_EQ(refusal(endless), (Refused{Why::OverLimit, "text"}));
  EXPECT_EQ(refusal(lost), (Refused{Why::BadValue, "workspace"}));
  endless.seen = Liveness::Unsupported;
  EXPECT_EQ(refusal(endless), (Refused{Why::OverLimit, "text"}));

  const Refused unknown_id{Why::NotFound, to_text(DispatchId{77})};
  EXPECT_EQ(as<Refused>(world.ask(Command{SawStarted{{77}, child, ""}})), unknown_id);
  EXPECT_EQ(as<Refused>(world.ask(Command{SawAlive{{77}}})), unknown_id);
  EXPECT_EQ(as<Refused>(world.ask(Command{SawExit{{77}, 0}})), unknown_id);
  EXPECT_EQ(as<Refused>(world.ask(Command{Clear{{77}}})), unknown_id);
  EXPECT_EQ(as<Refused>(world.ask(Command{SawBoot{""}})), (Refused{Why::BadValue, "boot_id"}));
  EXPECT_EQ(world.state, initial_state(start));
}

// ── Laws ──

RC_GTEST_PROP(Dispatch, AClaimIsReleasedAtMostOnceAndOnlyByProofOrByHand, ()) {
  World world;
  const auto steps = *rc::gen::container<std::vector<int>>(die(16));
  std::vector<Start> running;
  int last_message = 0;

  for (const int step : steps) {
    world.forget();
    const std::optional<DispatchId> holder =
        has_claim(world) ? std::optional(*world.state.dispatches.claims.find(ana)) : std::nullopt;
    const DispatchId id = holder.value_or(DispatchId{*die<std::uint64_t>(8)});
    const bool knew_it = holder && std::get_if<Retained>(&the(world, id).state);
    const bool has_child = holder && the(world, id).transport == Transport::SpawnBg;
    bool proof = true;
    if (step < 4) {
      const Liveness seen = static_cast<Liveness>(step);
      world.ask(Command{to_ana(seen, true, "m" + std::to_string(++last_message))});
      proof = false;
    } else if (step < 6) {
      world.ask(Command{SawStarted{id, child, "s"}});
      proof = false;
    } else if (step == 6) {
      world.ask(Command{SawAlive{id}});
      proof = has_child;
    } else if (step == 7) {
      world.ask(Command{SawExit{id, 0}});
      proof = has_child;
    } else if (step == 8) {
      world.ask(Command{Clear{id}});
      proof = knew_it;
    } else if (step < 12) {
      world.pass(Duration{step == 9 ? 5000 : step == 10 ? 30'000 : 1});
      proof = false;
    } else if (!running.empty()) {
      const Start first = running.front();
      running.erase(running.begin());
      const Outcome outcome = step == 12 ? unknown : step == 13 ? failed : Outcome{};
      world.finish(first.id, outcome);
      const Address* to = std::get_if<Address>(&first.effect.to);
      proof = to->part == Part::Send || (step != 12 && !(step == 13 && to->part == Part::Kill));
    }
    running.insert(running.end(), world.started.begin(), world.started.end());

    int releases = 0;
    for (const Event& event : said(world)) releases += std::holds_alternative<WasReleased>(event);
    RC_ASSERT(releases <= 1);
    RC_ASSERT(releases == 0 || proof);
    RC_ASSERT(check_state(world.state).empty());
  }
}

}  // namespace
}  // namespace reeve::dispatch
