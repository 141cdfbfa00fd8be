#include "core/cron.h"

#include "base/die_testing.h"
#include "core/heard_testing.h"
#include "core/testing.h"
#include "core/time_zone_testing.h"
#include "core/turn.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <functional>

namespace reeve::cron {
namespace {

using namespace reeve::testing;

const CronName nightly{default_project, "nightly"};
const CronName other{default_project, "other"};

Definition calendar(std::string_view expression,
                    Overlap overlap = Overlap::Skip,
                    CatchUp catch_up = CatchUp::Latest,
                    Duration window = 24h) {
  return {
      parse_expression(expression).value(), {}, overlap, catch_up, window, RunShell{"true", 10min}};
}

Definition every(Duration interval,
                 Overlap overlap = Overlap::Skip,
                 CatchUp catch_up = CatchUp::Latest,
                 Duration window = 24h) {
  return {Interval{interval}, {}, overlap, catch_up, window, RunShell{"true", {}}};
}

Plan plan_of(Definition definition) {
  return {{default_project, "hash"}, Boxed(std::move(definition)), {{"HOME", "/root"}}};
}

Outcome exited(int code) {
  Outcome outcome;
  outcome.exit_code = code;
  return outcome;
}

// A world that stands at noon of a day in May.
struct CronWorld : World {
  CronWorld() {
    stamp.wall = utc_at(2024, 5, 1, 12);
    definition::Set set;
    set.hash = "hash";
    set.root = "/repo";
    definition::Phase phase;
    phase.name = "prune";
    phase.action = definition::RunShell{"git worktree prune"};
    definition::Pipeline pipeline;
    pipeline.phases = {phase};
    pipeline.on_fail = definition::Fail{};
    set.pipelines.set("cleanup", pipeline);
    ask(definition::Command{definition::Load{default_project, Boxed(set)}});
    forget();
  }

  reeve::Reply enable(const Definition& definition, const CronName& name = nightly) {
    return ask(Command{Enable{name, plan_of(definition)}});
  }
  const Cron& cron(const CronName& name = nightly) { return *state.crons.crons.find(name); }
  std::vector<Wall> fired() const {
    std::vector<Wall> instants;
    for (const EventBody& body : heard) {
      if (const HasFired* it = find_in<HasFired>(body)) instants.push_back(it->instant);
    }
    return instants;
  }
  // The programs that were asked for, oldest first.
  std::vector<EffectId> programs() const {
    std::vector<EffectId> ids;
    for (const Start& start : started) {
      if (std::holds_alternative<Shell>(start.effect.what)) ids.push_back(start.id);
    }
    return ids;
  }
  // The clocks go on, but nobody looks.
  void sleep(Duration duration) {
    stamp.now += duration;
    stamp.wall += duration;
  }
};

using Names = std::vector<std::string>;

TEST(Cron, RunsItsProgramWhenItIsTime) {
  CronWorld world;
  EXPECT_EQ(as<Enabled>(world.enable(calendar("0 13 * * *"))), (Enabled{utc_at(2024, 5, 1, 13)}));

  world.pass(1h - 1ms);
  EXPECT_TRUE(world.started.empty());
  world.pass(1ms);

  ASSERT_EQ(world.started.size(), 1u);
  const Shell& shell = std::get<Shell>(world.started[0].effect.what);
  EXPECT_EQ(shell.text, "true");
  EXPECT_EQ(shell.timeout, Duration{10min});
  EXPECT_EQ(shell.label, "cron nightly");
  EXPECT_EQ(shell.directory, "/repo");
  EXPECT_EQ(shell.variables, (Variables{{"name", "nightly"}, {"project", "default"}}));
  EXPECT_EQ(shell.environment, (Variables{{"HOME", "/root"}, {"REEVE_PROJECT", "default"}}));
  EXPECT_EQ(world.names(), (Names{"cron:enabled", "cron:fired"}));
  EXPECT_EQ(world.fired(), (std::vector{utc_at(2024, 5, 1, 13)}));
}

TEST(Cron, MonitorsAreAProgramToo) {
  CronWorld world;
  Definition definition = calendar("0 13 * * *");
  definition.run = RunMonitors{{"idle_agents"}, "look"};
  world.enable(definition);
  world.pass(1h);
  ASSERT_EQ(world.started.size(), 1u);
  EXPECT_EQ(std::get<Shell>(world.started[0].effect.what).text, "look");
}

TEST(Cron, TheEndOfAProgramIsAnnounced) {
  CronWorld world;
  world.enable(every(1h));
  world.pass(1h);
  world.forget();
  const EffectId effect = world.state.outbox.first()->first;
  world.finish(effect, exited(3));
  ASSERT_EQ(world.heard.size(), 1u);
  EXPECT_EQ(*find_in<HasEnded>(world.heard[0]),
            (HasEnded{nightly, effect, pipeline::Ending::Failed, 3}));
  EXPECT_TRUE(world.cron().running.empty());
  EXPECT_EQ(world.cron().ended,
            (LastEnd{effect, utc_at(2024, 5, 1, 13), pipeline::Ending::Failed, 3}));

  world.finish(effect);
  EXPECT_FALSE(world.last.changed);
}

TEST(Cron, AnIntervalCountsFromWhenItWasEnabled) {
  CronWorld world;
  const Wall enabled_at = world.stamp.wall;
  EXPECT_EQ(as<Enabled>(world.enable(every(90s, Overlap::Allow))), (Enabled{enabled_at + 90s}));
  world.pass(90s - 1ms);
  EXPECT_TRUE(world.fired().empty());
  world.pass(1ms);
  EXPECT_EQ(world.fired(), (std::vector<Wall>{enabled_at + 90s}));
  world.pass(210s);
  EXPECT_EQ(world.fired(),
            (std::vector<Wall>{enabled_at + 90s, enabled_at + 180s, enabled_at + 270s}));
}

TEST(Cron, AnIntervalKnowsNothingOfAClockThatIsSet) {
  CronWorld world;
  world.enable(every(1h, Overlap::Allow));
  world.pass(30min);
  world.stamp.wall -= 5h;
  world.pass(30min);
  EXPECT_EQ(world.fired().size(), 1u);
  world.stamp.wall += 50h;
  world.pass(59min);
  EXPECT_EQ(world.fired().size(), 1u);
  world.pass(1min);
  EXPECT_EQ(world.fired().size(), 2u);
}

TEST(Cron, AClockThatIsSetBackFiresNothingTwice) {
  CronWorld world;
  world.enable(calendar("0 * * * *", Overlap::Allow));
  world.pass(2h);
  ASSERT_EQ(world.fired().size(), 2u);

  world.stamp.wall -= 2h;
  world.pass(2h);
  EXPECT_EQ(world.fired().size(), 2u);
  world.pass(1h);
  EXPECT_EQ(world.fired().size(), 3u);
}

// The clock is in another year for one tick, and the cron fires by it.
CronWorld fired_by_a_wrong_clock(const Definition& definition) {
  CronWorld world;
  world.enable(definition);
  world.stamp.wall += 24h * 365 * 6;
  world.input(Tick{});
  EXPECT_EQ(world.fired().size(), 1u);
  world.stamp.wall -= 24h * 365 * 6;
  world.forget();
  return world;
}

TEST(Cron, OneThatFiredByAWrongClockBeginsFromNowWhenItIsEnabledAnew) {
  const Definition hourly = calendar("0 * * * *", Overlap::Allow);
  CronWorld world = fired_by_a_wrong_clock(hourly);
  world.pass(3h);
  EXPECT_TRUE(world.fired().empty()) << "it stayed enabled";
  EXPECT_EQ(as<Enabled>(world.enable(hourly)).next, utc_at(2030, 4, 30, 13)) << "it still is";

  world.ask(Command{Disable{nightly}});
  EXPECT_EQ(as<Enabled>(world.enable(hourly)), (Enabled{utc_at(2024, 5, 1, 16)}));
  world.pass(1h);
  EXPECT_EQ(world.fired(), (std::vector{utc_at(2024, 5, 1, 16)}));
}

TEST(Cron, OneThatFiredByAWrongClockBeginsFromNowByAnotherSchedule) {
  CronWorld world = fired_by_a_wrong_clock(calendar("0 * * * *", Overlap::Allow));
  world.enable(calendar("0 * * * *", Overlap::Skip));
  world.pass(1h);
  EXPECT_TRUE(world.fired().empty()) << "another plan, but the same schedule";

  EXPECT_EQ(as<Enabled>(world.enable(calendar("30 * * * *"))),
            (Enabled{utc_at(2024, 5, 1, 13, 30)}));
}

TEST(Cron, AClockThatIsSetForwardIsADowntime) {
  CronWorld world;
  world.enable(calendar("30 * * * *", Overlap::Allow, CatchUp::None));
  world.stamp.wall += 3h;
  world.input(Tick{});
  EXPECT_EQ(world.names(), (Names{"cron:enabled", "cron:missed"}));
  EXPECT_EQ(*find_in<WasMissed>(world.heard[1]),
            (WasMissed{nightly, utc_at(2024, 5, 1, 12, 30), utc_at(2024, 5, 1, 14, 30)}));
}

TEST(Cron, WhileARunGoesOnSkipSkips) {
  CronWorld world;
  world.enable(every(1h));
  world.pass(2h);
  EXPECT_EQ(world.names(), (Names{"cron:enabled", "cron:fired", "cron:skipped"}));
  world.finish(world.programs()[0]);
  EXPECT_EQ(world.programs().size(), 1u);
  world.pass(1h);
  EXPECT_EQ(world.programs().size(), 2u);
}

TEST(Cron, BufferOneKeepsOneAndSkipsTheRest) {
  CronWorld world;
  world.enable(every(1h, Overlap::BufferOne));
  world.pass(3h);
  EXPECT_EQ(world.names(), (Names{"cron:enabled", "cron:fired", "cron:buffered", "cron:skipped"}));
  EXPECT_EQ(world.cron().buffered, 1u);

  world.forget();
  const EffectId first = world.state.outbox.first()->first;
  world.finish(first);
  EXPECT_EQ(world.names(), (Names{"cron:ended", "cron:fired"}));
  EXPECT_EQ(world.cron().buffered, 0u);
  world.finish(world.programs()[0]);
  EXPECT_EQ(world.programs().size(), 1u);
}

TEST(Cron, BufferAllKeepsThemAllAndRunsOneAfterTheOther) {
  CronWorld world;
  world.enable(every(1h, Overlap::BufferAll));
  world.pass(4h);
  EXPECT_EQ(world.cron().buffered, 3u);
  for (std::size_t i = 0; i < 4; ++i) {
    ASSERT_EQ(world.programs().size(), i + 1);
    EXPECT_EQ(world.cron().running.size(), 1u);
    world.finish(world.programs()[i]);
  }
  EXPECT_EQ(world.programs().size(), 4u);
  EXPECT_TRUE(world.cron().running.empty());
}

TEST(Cron, AllowRunsSideBySide) {
  CronWorld world;
  world.enable(every(1h, Overlap::Allow));
  world.pass(3h);
  EXPECT_EQ(world.cron().running.size(), 3u);
}

TEST(Cron, CancelOtherEndsTheRunningOneAndThenRuns) {
  CronWorld world;
  world.enable(every(1h, Overlap::CancelOther));
  world.pass(1h);
  const EffectId first = world.programs()[0];
  world.forget();

  world.pass(1h);
  EXPECT_EQ(world.names(), (Names{"cron:cancelled_other", "cron:buffered"}));
  ASSERT_EQ(world.started.size(), 1u);
  EXPECT_EQ(world.started[0].effect.what, (Outer{Kill{first}}));

  // It is told once, and one is enough to follow.
  world.pass(1h);
  EXPECT_EQ(world.started.size(), 1u);
  EXPECT_EQ(world.names().back(), "cron:skipped");

  world.forget();
  world.finish(first, exited(143));
  EXPECT_EQ(world.names(), (Names{"cron:ended", "cron:fired"}));
  EXPECT_EQ(find_in<HasEnded>(world.heard[0])->ending, pipeline::Ending::Cancelled);
  EXPECT_EQ(world.programs().size(), 1u);
}

TEST(Cron, AProgramThatASignalEndedHasFailedOrWasCancelled) {
  Outcome by_signal;  // as hold tells it: it ran, and has no exit code
  by_signal.signal = 9;
  CronWorld world;
  world.enable(every(1h, Overlap::CancelOther));
  world.pass(1h);
  world.finish(world.programs().back(), by_signal);
  EXPECT_EQ(world.cron().ended->ending, pipeline::Ending::Failed);

  world.pass(1h);
  const EffectId second = world.programs().back();
  world.pass(1h);
  by_signal.signal = 15;
  world.finish(second, by_signal);
  EXPECT_EQ(world.cron().ended->ending, pipeline::Ending::Cancelled);
}

TEST(Cron, WhatTakesThePlaceOfOneThatHadNoRoomIsNotCancelledItself) {
  CronWorld world;
  const Plan buffering = plan_of(every(1h, Overlap::BufferOne));
  world.ask(Command{RunNow{nightly, buffering}});
  const EffectId first = world.programs().back();
  world.ask(Command{RunNow{nightly, buffering}});
  {
    Turn turn(world.state, world.stamp);
    while (turn.may_touch()) turn.touch();
    turn.change().outbox.erase(first);
    finished(turn, first, Address{nightly}, exited(0));
    world.state.sequence = turn.sequence();
  }
  ASSERT_TRUE(world.cron().running.empty());
  ASSERT_EQ(world.cron().buffered, 1u);
  {
    Turn turn(world.state, world.stamp);
    cron::apply(turn, Command{RunNow{nightly, plan_of(every(1h, Overlap::CancelOther))}});
    world.state.sequence = turn.sequence();
  }
  world.forget();
  world.pass(0s);
  EXPECT_EQ(world.names(), Names{});
}

Definition cleaning(Duration interval, Overlap overlap) {
  Definition definition = every(interval, overlap);
  definition.run = RunPipeline{"cleanup", {}};
  return definition;
}

TEST(Cron, APipelineIsBegunAndItsEndMakesRoom) {
  CronWorld world;
  world.enable(cleaning(1h, Overlap::BufferOne));
  world.pass(1h);
  ASSERT_EQ(world.cron().running.size(), 1u);
  const PipelineId first = std::get<PipelineId>(*world.cron().running.first());
  EXPECT_EQ(world.fired().size(), 1u);
  world.pass(1h);
  EXPECT_EQ(world.cron().buffered, 1u);

  world.forget();
  world.World::finish(world.state.outbox.first()->first);
  EXPECT_EQ(world.fired().size(), 1u);
  EXPECT_EQ(world.cron().buffered, 0u);
  ASSERT_EQ(world.cron().running.size(), 1u);
  EXPECT_NE(std::get<PipelineId>(*world.cron().running.first()), first);
}

TEST(Cron, CancelOtherCancelsThePipeline) {
  CronWorld world;
  world.enable(cleaning(1h, Overlap::CancelOther));
  world.pass(1h);
  const cron::Run first = *world.cron().running.first();
  const EffectId program = world.state.outbox.first()->first;
  world.pass(1h);
  EXPECT_EQ(world.cron().buffered, 1u);
  world.World::finish(program, exited(143));
  while (!world.state.outbox.empty() && world.cron().running.contains(first)) {
    world.World::finish(world.state.outbox.first()->first, exited(0));
  }
  ASSERT_EQ(world.cron().running.size(), 1u);
  EXPECT_FALSE(world.cron().running.contains(first));
  EXPECT_FALSE(world.cron().cancelling);
}

TEST(Cron, APipelineThatCannotBeginIsAnnouncedAndTriedNextTime) {
  CronWorld world;
  Definition definition = every(1h);
  definition.run = RunPipeline{"unknown", {}};
  world.enable(definition);
  world.pass(2h);
  EXPECT_EQ(world.names(), (Names{"cron:enabled", "cron:refused", "cron:refused"}));
  EXPECT_EQ(find_in<WasRefused>(world.heard[1])->refused, (Refused{Why::NotFound, "unknown"}));
  EXPECT_EQ(as<Refused>(world.ask(Command{RunNow{nightly, {}}})),
            (Refused{Why::NotFound, "unknown"}));
}

TEST(Cron, TheDefinitionsAreKeptWhileItIsEnabled) {
  CronWorld world;
  const definition::SetKey key{default_project, "hash"};
  const auto pins = [&] { return world.state.definitions.sets.find(key)->pins; };
  world.enable(every(1h));
  EXPECT_EQ(pins(), 1u);
  world.enable(every(2h));
  EXPECT_EQ(pins(), 1u);
  world.ask(Command{Disable{nightly}});
  EXPECT_EQ(pins(), 0u);
}

TEST(Cron, AnInstantIsOnTimeForAMinute) {
  CronWorld world;
  world.enable(calendar("0 13 * * *", Overlap::Allow, CatchUp::None));
  world.sleep(1h + 60s);
  world.input(Tick{});
  EXPECT_EQ(world.fired(), (std::vector{utc_at(2024, 5, 1, 13)}));
  world.sleep(24h + 1ms);
  world.input(Tick{});
  EXPECT_EQ(world.fired().size(), 1u);
  EXPECT_EQ(world.names().back(), "cron:missed");
}

TEST(Cron, AfterDowntimeTheLatestIsRunAndTheRestIsMissed) {
  CronWorld world;
  world.enable(calendar("0 * * * *", Overlap::Allow, CatchUp::Latest));
  world.sleep(5h + 30min);
  world.input(Tick{});
  EXPECT_EQ(world.names(), (Names{"cron:enabled", "cron:missed", "cron:fired"}));
  EXPECT_EQ(*find_in<WasMissed>(world.heard[1]),
            (WasMissed{nightly, utc_at(2024, 5, 1, 13), utc_at(2024, 5, 1, 16)}));
  EXPECT_EQ(world.fired(), (std::vector{utc_at(2024, 5, 1, 17)}));
}

TEST(Cron, TheWindowIsGoodAtItsLimit) {
  for (const CatchUp catch_up : {CatchUp::Latest, CatchUp::All}) {
    for (const Duration late : {Duration{2h}, Duration{2h + 1ms}}) {
      CronWorld world;
      world.enable(calendar("0 13 * * *", Overlap::Allow, catch_up, 2h));
      world.sleep(1h + late);
      world.input(Tick{});
      EXPECT_EQ(world.fired().size(), late == 2h ? 1u : 0u);
      EXPECT_EQ(world.names().back(), late == 2h ? "cron:fired" : "cron:missed");
    }
  }
}

TEST(Cron, SoIsThatOfAnInterval) {
  for (const CatchUp catch_up : {CatchUp::None, CatchUp::Latest, CatchUp::All}) {
    const Duration limit = catch_up == CatchUp::None ? Duration{60s} : Duration{2h};
    for (const Duration late : {limit, limit + 1ms}) {
      CronWorld world;
      world.enable(every(5h, Overlap::Allow, catch_up, 2h));
      world.sleep(5h + late);
      world.input(Tick{});
      EXPECT_EQ(world.fired().size(), late == limit ? 1u : 0u);
      EXPECT_EQ(world.names().back(), late == limit ? "cron:fired" : "cron:missed");
    }
  }
}

TEST(Cron, AllWithinTheWindowAreRunInOrder) {
  CronWorld world;
  world.enable(calendar("0 * * * *", Overlap::Allow, CatchUp::All, 3h));
  world.sleep(6h);
  world.input(Tick{});
  EXPECT_EQ(
      world.names(),
      (Names{
          "cron:enabled", "cron:missed", "cron:fired", "cron:fired", "cron:fired", "cron:fired"}));
  EXPECT_EQ(*find_in<WasMissed>(world.heard[1]),
            (WasMissed{nightly, utc_at(2024, 5, 1, 13), utc_at(2024, 5, 1, 14)}));
  EXPECT_EQ(world.fired(),
            (std::vector{utc_at(2024, 5, 1, 15),
                         utc_at(2024, 5, 1, 16),
                         utc_at(2024, 5, 1, 17),
                         utc_at(2024, 5, 1, 18)}));
}

TEST(Cron, ManyThatWereMissedAreRunAPartAStep) {
  CronWorld world;
  world.enable(every(1s, Overlap::Allow, CatchUp::All));
  world.sleep(600s);
  world.input(Tick{});
  EXPECT_LE(world.fired().size(), 256u);
  EXPECT_GE(world.fired().size(), 250u);
  EXPECT_LE(next_deadline(world.state).engine, world.stamp.now);
  world.input(Tick{});
  world.input(Tick{});
  EXPECT_EQ(world.fired().size(), 600u);
}

TEST(Cron, YearsOfMinutesAreCaughtUpWithInOneStep) {
  CronWorld world;
  world.enable(calendar("* * * * *"));
  world.sleep(24h * 365 * 3);
  world.input(Tick{});
  EXPECT_EQ(world.names(), (Names{"cron:enabled", "cron:missed", "cron:fired"}));
}

TEST(Cron, EnablingTwiceChangesNothing) {
  CronWorld world;
  world.enable(every(1h));
  world.pass(30min);
  EXPECT_EQ(as<Enabled>(world.enable(every(1h))), (Enabled{utc_at(2024, 5, 1, 13)}));
  EXPECT_FALSE(world.last.changed);
}

TEST(Cron, ANewPlanTakesTheOldOnesPlaceAndKeepsTheBeat) {
  CronWorld world;
  world.enable(every(1h));
  world.pass(30min);
  EXPECT_EQ(as<Enabled>(world.enable(every(1h, Overlap::Allow))),
            (Enabled{utc_at(2024, 5, 1, 13)}));
  EXPECT_EQ(as<Enabled>(world.enable(every(2h))), (Enabled{utc_at(2024, 5, 1, 14, 30)}));
}

TEST(Cron, ANewPlanByTheSameTimesGoesOnCatchingUp) {
  for (const Definition& definition : {every(1min, Overlap::Allow, CatchUp::All),
                                       calendar("* * * * *", Overlap::Allow, CatchUp::All)}) {
    CronWorld world;
    world.enable(definition);
    world.sleep(600min);
    Definition changed = definition;
    changed.run = RunShell{"false", {}};
    world.enable(changed);
    EXPECT_LT(world.fired().size(), 600u);
    world.input(Tick{});
    world.input(Tick{});
    std::vector<Wall> minutes;
    for (int i = 1; i <= 600; ++i) minutes.push_back(utc_at(2024, 5, 1, 12) + i * 1min);
    EXPECT_EQ(world.fired(), minutes);
  }
}

TEST(Cron, ANewZoneCatchesUpWithNothing) {
  CronWorld world;
  Definition definition = calendar("0 13 * * *");
  world.enable(definition);
  world.pass(2h + 30min);
  definition.zone.rule.standard = -1h;
  EXPECT_EQ(as<Enabled>(world.enable(definition)), (Enabled{utc_at(2024, 5, 2, 14)}));
  world.input(Tick{});
  EXPECT_EQ(world.fired(), (std::vector{utc_at(2024, 5, 1, 13)}));
}

TEST(Cron, ANewZoneFiresNothingTwiceWhenTheClockWasSetBack) {
  CronWorld world;
  Definition definition = calendar("0 13 * * *");
  world.enable(definition);
  world.pass(1h);
  world.finish(world.programs()[0]);
  world.stamp.wall -= 2h;
  definition.zone.name = "Etc/UTC";  // the same times by another name
  EXPECT_EQ(as<Enabled>(world.enable(definition)), (Enabled{utc_at(2024, 5, 2, 13)}));
}

TEST(Cron, ANewPlanThatBuffersOneKeepsOne) {
  CronWorld world;
  world.enable(every(1h, Overlap::BufferAll));
  world.pass(4h);
  world.enable(every(1h, Overlap::BufferOne));
  EXPECT_EQ(world.cron().buffered, 1u);
}

TEST(Cron, ADisabledOneFiresNothingAndCatchesUpWithNothing) {
  CronWorld world;
  world.enable(calendar("0 * * * *", Overlap::Allow, CatchUp::All));
  EXPECT_TRUE(is<Ok>(world.ask(Command{Disable{nightly}})));
  world.pass(5h);
  world.ask(Command{Disable{nightly}});
  EXPECT_FALSE(world.last.changed);
  EXPECT_EQ(as<Enabled>(world.enable(calendar("0 * * * *", Overlap::Allow, CatchUp::All))),
            (Enabled{utc_at(2024, 5, 1, 18)}));
  world.input(Tick{});
  EXPECT_EQ(world.names(), (Names{"cron:enabled", "cron:disabled", "cron:enabled"}));
}

TEST(Cron, DisablingForgetsWhatWasBufferedAndLetsTheRunEnd) {
  CronWorld world;
  world.enable(every(1h, Overlap::BufferAll));
  world.pass(3h);
  world.ask(Command{Disable{nightly}});
  world.finish(world.programs()[0]);
  EXPECT_EQ(world.programs().size(), 1u);
  EXPECT_EQ(world.names().back(), "cron:ended");
}

TEST(Cron, DisablingForgetsAlsoWhatWasBufferedByHand) {
  CronWorld world;
  const Plan plan = plan_of(every(1h, Overlap::BufferAll));
  world.ask(Command{RunNow{nightly, plan}});
  EXPECT_TRUE(is<Buffered>(world.ask(Command{RunNow{nightly, plan}})));
  EXPECT_TRUE(is<Ok>(world.ask(Command{Disable{nightly}})));
  EXPECT_EQ(world.cron().buffered, 0u);
  world.finish(world.programs()[0]);
  EXPECT_EQ(world.programs().size(), 1u);
  EXPECT_EQ(world.names(), (Names{"cron:fired", "cron:buffered", "cron:ended"}));
}

TEST(Cron, WhatIsDueComesBeforeItIsDisabled) {
  CronWorld world;
  world.enable(every(1h));
  world.sleep(1h);
  world.ask(Command{Disable{nightly}});
  EXPECT_EQ(world.names(), (Names{"cron:enabled", "cron:fired", "cron:disabled"}));
}

TEST(Cron, ARunByHandObeysOverlapAndMovesNoInstant) {
  CronWorld world;
  world.enable(every(1h));
  EXPECT_TRUE(is<Fired>(world.ask(Command{RunNow{nightly, {}}})));
  EXPECT_TRUE(is<Skipped>(world.ask(Command{RunNow{nightly, {}}})));
  world.finish(world.programs()[0]);
  world.pass(1h);
  EXPECT_EQ(world.programs().size(), 2u);
}

TEST(Cron, OneThatIsNotEnabledBuffersNoMoreThanThePlanOfTheRequest) {
  CronWorld world;
  const auto run = [&](Overlap overlap) {
    return world.ask(Command{RunNow{nightly, plan_of(every(1h, overlap))}});
  };
  EXPECT_TRUE(is<Fired>(run(Overlap::BufferAll)));
  for (int i = 0; i < 3; ++i) run(Overlap::BufferAll);
  EXPECT_TRUE(is<Skipped>(run(Overlap::BufferOne)));
  EXPECT_EQ(world.cron().buffered, 1u);
}

TEST(Cron, OneThatIsNotEnabledRunsByThePlanOfTheRequest) {
  CronWorld world;
  EXPECT_EQ(as<Refused>(world.ask(Command{RunNow{nightly, {}}})),
            (Refused{Why::NotFound, "nightly"}));
  EXPECT_TRUE(
      is<Fired>(world.ask(Command{RunNow{nightly, plan_of(every(1h, Overlap::BufferOne))}})));
  EXPECT_EQ(
      as<Buffered>(world.ask(Command{RunNow{nightly, plan_of(every(1h, Overlap::BufferOne))}})),
      (Buffered{1}));
  world.finish(world.programs()[0]);
  EXPECT_EQ(world.programs().size(), 2u);
  world.pass(10h);
  EXPECT_EQ(world.programs().size(), 2u);
}

TEST(Cron, OneThatIsNotEnabledAndCannotBeginStaysAsItWas) {
  CronWorld world;
  Definition definition = every(1h, Overlap::Allow);
  definition.run = RunPipeline{"unknown", {}};
  const auto refused = [&] {
    return as<Refused>(world.ask(Command{RunNow{nightly, plan_of(definition)}}));
  };
  EXPECT_EQ(refused(), (Refused{Why::NotFound, "unknown"}));
  EXPECT_EQ(world.state.crons, Table{});

  const Plan plan = plan_of(every(1h, Overlap::BufferAll));
  for (int i = 0; i < 3; ++i) world.ask(Command{RunNow{nightly, plan}});
  const Table before = world.state.crons;
  EXPECT_EQ(refused(), (Refused{Why::NotFound, "unknown"}));
  EXPECT_EQ(world.state.crons, before);
}

TEST(Cron, WhatMakesNoSenseIsRefused) {
  CronWorld world;
  const auto why = [&](const CronName& name, Plan plan) {
    const auto reply = as<Refused>(world.ask(Command{Enable{name, std::move(plan)}}));
    EXPECT_FALSE(world.last.changed);
    return reply;
  };
  const CronName bad{default_project, "-x"};
  EXPECT_EQ(why(bad, plan_of(every(1h))), (Refused{Why::BadName, "-x"}));
  EXPECT_EQ(why(nightly, {}), (Refused{Why::BadValue, "definition"}));
  Plan unknown = plan_of(every(1h));
  unknown.set.hash = "gone";
  EXPECT_EQ(why(nightly, unknown), (Refused{Why::NotFound, "runbook"}));
  EXPECT_EQ(why(nightly, plan_of(every(0s))), (Refused{Why::BadValue, "schedule"}));
  EXPECT_EQ(why(nightly, plan_of(every(1h, Overlap::Skip, CatchUp::All, -1ms))),
            (Refused{Why::BadValue, "window"}));
  Definition nowhere = every(1h);
  nowhere.zone.before = 100h;
  EXPECT_EQ(why(nightly, plan_of(nowhere)), (Refused{Why::BadValue, "timezone"}));
  EXPECT_EQ(as<Refused>(world.ask(Command{Disable{nightly}})), (Refused{Why::NotFound, "nightly"}));
}

TEST(Cron, TheNextFiresAreShownInOrder) {
  CronWorld world;
  world.enable(calendar("0 3 * * *"));
  EXPECT_EQ(next_fires(world.cron(), world.stamp, 3),
            (std::vector{utc_at(2024, 5, 2, 3), utc_at(2024, 5, 3, 3), utc_at(2024, 5, 4, 3)}));
  EXPECT_EQ(next_fires(world.cron(), world.stamp, 1'000'000).size(), 1000u);
  world.enable(every(90s), other);
  EXPECT_EQ(next_fires(world.cron(other), world.stamp, 2),
            (std::vector<Wall>{world.stamp.wall + 90s, world.stamp.wall + 180s}));
  EXPECT_TRUE(next_fires(Cron{}, world.stamp, 5).empty());
}

TEST(Cron, TheLongestIntervalAndTheLastYearAreNoTrouble) {
  CronWorld world;
  EXPECT_EQ(as<Enabled>(world.enable(every(Duration::max()))), (Enabled{}));
  world.stamp.wall = Wall::max();
  EXPECT_EQ(as<Enabled>(world.enable(calendar("* * * * *"), other)), (Enabled{}));
  world.input(Tick{});
  world.stamp.wall = Wall::min();
  world.input(Tick{});
  EXPECT_TRUE(world.fired().empty());
}

// Whatever happens to the clocks: between one enabling and the next no instant is fired or skipped
// twice, they come in order, and but for `allow` no two runs go on at once.
RC_GTEST_PROP(Cron, NoInstantIsDoneTwiceWhateverTheClocksDo, ()) {
  CronWorld world;
  const Overlap overlap = *rc::gen::element(
      Overlap::Skip, Overlap::BufferOne, Overlap::BufferAll, Overlap::CancelOther, Overlap::Allow);
  const CatchUp catch_up = *rc::gen::element(CatchUp::None, CatchUp::Latest, CatchUp::All);
  const bool by_calendar = *rc::gen::arbitrary<bool>();
  const Definition definition =
      by_calendar ? calendar("*/7 * * * *", overlap, catch_up, 1h) : every(7min, overlap, catch_up);
  world.enable(definition);
  // Then `cron:fired` tells the instant of the schedule, and not when a run began.
  const bool by_schedule = by_calendar && (overlap == Overlap::Skip || overlap == Overlap::Allow);

  const int steps = *rc::gen::inRange(1, 30);
  for (int i = 0; i < steps; ++i) {
    switch (*die(8)) {
      case 0:
        world.pass(std::chrono::minutes{*die(60)});
        break;
      case 1:
        world.sleep(std::chrono::minutes{*die(300)});
        break;
      case 2:
        world.stamp.wall += std::chrono::minutes{*die(-300, 300)};
        break;
      case 3:
        world.input(Tick{});
        break;
      case 4:
        if (!world.state.outbox.empty()) world.finish(world.state.outbox.first()->first);
        break;
      case 5:
        if (!by_schedule) world.ask(Command{RunNow{nightly, {}}});
        break;
      case 6:
        world.ask(Command{Disable{nightly}});
        break;
      default:
        world.enable(definition);
    }
    if (overlap != Overlap::Allow) RC_ASSERT(world.cron().running.size() <= 1u);
  }
  if (by_schedule) {
    std::vector<Wall> instants;
    for (const EventBody& body : world.heard) {
      if (find_in<WasEnabled>(body)) instants.clear();
      if (const auto* fired = find_in<HasFired>(body)) instants.push_back(fired->instant);
      if (const auto* skipped = find_in<WasSkipped>(body)) instants.push_back(skipped->instant);
      if (const auto* missed = find_in<WasMissed>(body)) instants.push_back(missed->last);
      RC_ASSERT(std::adjacent_find(instants.begin(), instants.end(), std::greater_equal{}) ==
                instants.end());
    }
  }
}

}  // namespace
}  // namespace reeve::cron
