#include "core/task.h"

#include "base/die_testing.h"
#include "core/task_testing.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <string>
#include <vector>

namespace reeve::task {
namespace {

using agent::Doing;
using reeve::testing::die;

TEST(Task, OneThatCannotBeReachedIsAnnouncedByThatName) {
  const WorkId id{7};
  EXPECT_EQ(name_of(WasUnreached{id, "no such session"}),
            (EventName{"task", to_text(id), "unreached"}));
}

// ── A life ──

TEST(Task, ItIsStartedWatchedNudgedRestartedAndAskedAbout) {
  World world;
  const WorkId id = begin_in(world);
  world.finish(open_effect<Spawn>(world));

  world.pass(3min + 6s);
  world.finish(open_effect<reeve::Nudge>(world));
  world.pass(3min + 6s);
  world.finish(open_effect<reeve::Nudge>(world));
  EXPECT_EQ(task_events(world), (Verbs{"started", "stuck", "nudged", "nudged"}));
  world.forget();
  world.pass(3min + 6s);
  EXPECT_EQ(task_events(world), Verbs{"restarting"});
  EXPECT_EQ(state_of(the(world, id)), "Pending");

  world.forget();
  world.finish(open_effect<reeve::Kill>(world));
  const WorkId second = the(world, id).attempt;
  EXPECT_NE(second, id);
  EXPECT_EQ(std::get<Spawn>(world.started.at(0).effect.what).work, second);
  world.finish(open_effect<Spawn>(world));
  EXPECT_EQ(task_events(world), Verbs{"started"});
  EXPECT_EQ(state_of(the(world, id)), "Running");
}

TEST(Task, DoneIsReportedWhenTheEndOfItsSessionWasObserved) {
  World world;
  const WorkId id = begin_running(world);

  EXPECT_TRUE(is<Ok>(world.ask(Command{Report{id, std::nullopt, "all good"}})));
  EXPECT_EQ(task_events(world), Verbs{"complete"});
  EXPECT_EQ(the(world, id).over_at, std::nullopt);
  EXPECT_TRUE(is<AlreadyDone>(world.ask(Command{Report{id, "no", ""}})));
  world.pass(3s);
  world.finish(open_effect<reeve::Kill>(world));
  EXPECT_EQ(the(world, id).over_at, at(3s));
  EXPECT_EQ(std::get<Done>(the(world, id).state), (Done{Success{"all good"}, start}));
}

TEST(Task, AnErrorThatItReportsIsItsFailure) {
  World world;
  const WorkId id = begin_running(world);

  world.ask(Command{Report{id, "cannot build", ""}});
  EXPECT_EQ(world.heard, (std::vector<EventBody>{Event{WasFailed{id, "cannot build"}}}));
}

TEST(Task, WhatAnOlderAttemptSaysIsDropped) {
  World world;
  const WorkId first = begin_running(world);
  world.ask(Command{Restart{first}});
  EXPECT_EQ(as<Superseded>(world.ask(Command{Report{first, {}, "late"}})), Superseded{});
  EXPECT_EQ(as<Superseded>(world.ask(Command{Heartbeat{first}})), Superseded{});
  world.finish(open_effect<reeve::Kill>(world));
  world.finish(open_effect<Spawn>(world));
  const WorkId second = the(world, first).attempt;

  for (const Command& command : std::vector<Command>{Heartbeat{first},
                                                     Observed{first, seen(Doing::Exited, start)},
                                                     SessionGone{first},
                                                     Report{first, {}, ""}}) {
    EXPECT_EQ(as<Superseded>(world.ask(command)), Superseded{second});
    EXPECT_FALSE(world.last.changed);
  }
  EXPECT_TRUE(is<Beat>(world.ask(Command{Heartbeat{second}})));
  EXPECT_TRUE(is<Ok>(world.ask(Command{Nudge{first, ""}})));  // people may use any of its ids
  EXPECT_TRUE(is<Ok>(world.ask(Command{Kill{second}})));
}

TEST(Task, AHeartbeatIsToldWhenTheNextIsDueAndWhetherItIsOver) {
  World world;
  const WorkId id = begin_running(world);
  world.pass(1min);

  EXPECT_EQ(as<Beat>(world.ask(Command{Heartbeat{id}})), (Beat{false, at(4min)}));
  EXPECT_EQ(task_events(world).back(), "heartbeat");
  world.ask(Command{Kill{id}});
  EXPECT_EQ(as<Beat>(world.ask(Command{Heartbeat{id}})), (Beat{true, std::nullopt}));
}

TEST(Task, AnObservationOfASessionThatIsGoneEndsItWithoutAKill) {
  World world;
  Begin begun = fixer();
  begun.agent.on_exit = DoDone{};
  const WorkId id = begin_running(world, begun);

  EXPECT_TRUE(is<Ok>(world.ask(Command{SessionGone{id}})));
  EXPECT_EQ(task_events(world), Verbs{"complete"});
  EXPECT_TRUE(world.started.empty());
  EXPECT_EQ(the(world, id).over_at, start);
}

TEST(Task, AnExitThatIsOnlyToldIsMadeSureOf) {
  World world;
  Begin begun = fixer();
  begun.agent.on_exit = DoDone{};
  const WorkId id = begin_running(world, begun);

  world.ask(Command{Observed{id, seen(Doing::Exited, start)}});
  EXPECT_EQ(the(world, id).over_at, std::nullopt);
  world.finish(open_effect<reeve::Kill>(world));
  EXPECT_EQ(the(world, id).over_at, start);
}

TEST(Task, ASessionThatCouldNotBeStartedIsAFailure) {
  World world;
  const WorkId id = begin_in(world);

  world.finish(open_effect<Spawn>(world), ended(Ended::Failed, "no tmux"));
  EXPECT_EQ(std::get<Done>(the(world, id).state).result, Result{Failed{"no tmux"}});
  EXPECT_EQ(the(world, id).over_at, start);
}

TEST(Task, ARunToCompletionEndsWithItsOutcome) {
  World world;
  const WorkId id = begin_in(world, resolver());
  EXPECT_EQ(state_of(the(world, id)), "Running");

  world.finish(open_effect<Spawn>(world), exit_with(0, "merged"));
  EXPECT_EQ(std::get<Done>(the(world, id).state).result, Result{Success{"merged"}});
  EXPECT_EQ(the(world, id).over_at, start);
}

TEST(Task, TheRunOfACancelledOneIsItsEndEvenIfTheKillIsLate) {
  World world;
  const WorkId id = begin_in(world, resolver());
  const EffectId run = open_effect<Spawn>(world);
  in_turn(world, [&](Turn& turn) { cancel(turn, id); });

  world.finish(run, exit_with(0, "merged after all"));
  EXPECT_EQ(std::get<Done>(the(world, id).state).result, Result{Cancelled{}});
  EXPECT_EQ(the(world, id).over_at, start);
  const Task before = the(world, id);
  world.finish(open_effect<reeve::Kill>(world));
  EXPECT_EQ(the(world, id), before);
}

// ── By hand ──

TEST(Task, WhatIsSaidToItReachesItsSessionOrIsRefused) {
  World world;
  const WorkId id = begin_in(world);
  const Refused not_now{Why::NotAllowed, to_text(id) + " has no session to hear it"};
  EXPECT_EQ(as<Refused>(world.ask(Command{SendText{id, "", "hello"}})), not_now);
  world.finish(open_effect<Spawn>(world));
  world.forget();

  EXPECT_TRUE(is<Ok>(world.ask(Command{SendText{id, "m1", "hello"}})));
  EXPECT_TRUE(is<Ok>(world.ask(Command{Nudge{id, "go on"}})));
  ASSERT_EQ(world.started.size(), 2u);
  EXPECT_EQ(world.started[0].effect.what, (Outer{Send{id, "m1", "hello"}}));
  EXPECT_EQ(world.started[1].effect.what, (Outer{reeve::Nudge{id, "go on"}}));
  world.finish(world.started[0].id);
  world.forget();
  world.finish(open_effect<reeve::Nudge>(world), ended(Ended::Failed, "no pane"));
  EXPECT_EQ(world.heard, (std::vector<EventBody>{Event{WasUnreached{id, "no pane"}}}));
}

TEST(Task, WordsThatItsSessionWasNotThereToHearDidNotReachIt) {
  World world;
  const WorkId id = begin_running(world);
  world.ask(Command{SendText{id, "m1", "hello"}});
  world.forget();
  Outcome outcome;  // whatever says them ran to its end, and that was not a good one
  outcome.exit_code = 1;
  outcome.output = "its session is not there any more\n";
  world.finish(open_effect<Send>(world), outcome);
  const std::string why = "exit code 1: its session is not there any more";
  EXPECT_EQ(world.heard, (std::vector<EventBody>{Event{WasUnreached{id, why}}}));
}

TEST(Task, WordsOfWhichNobodyKnowsWhetherTheyArrivedAreNotSaidAgainButShown) {
  World world;
  const WorkId id = begin_running(world);
  world.ask(Command{SendText{id, "m1", "hello"}});
  world.ask(Command{Nudge{id, "go on"}});
  const std::vector<Start> said = world.started;
  ASSERT_EQ(said.size(), 2u);

  for (const Start& start : said) {
    world.forget();
    world.finish(start.id, ended(Ended::Unknown, "the daemon was killed"));
    EXPECT_EQ(world.heard,
              (std::vector<EventBody>{Event{WasUnreached{id, "the daemon was killed"}}}));
    EXPECT_EQ(world.started, std::vector<Start>{});
  }
}

TEST(Task, ARunToCompletionHearsNothing) {
  World world;
  const WorkId id = begin_in(world, resolver());

  EXPECT_EQ(as<Refused>(world.ask(Command{Nudge{id, ""}})),
            (Refused{Why::NotAllowed, to_text(id) + " has no session to hear it"}));
  EXPECT_FALSE(world.last.changed);
}

TEST(Task, OneThatHasEndedIsNotSpokenToAndNotStartedAnew) {
  World world;
  const WorkId id = begin_running(world);
  world.ask(Command{Kill{id}});
  world.finish(open_effect<reeve::Kill>(world));

  const Refused ended{Why::NotAllowed, to_text(id) + " has ended"};
  EXPECT_EQ(as<Refused>(world.ask(Command{SendText{id, "", "hello"}})), ended);
  EXPECT_EQ(as<Refused>(world.ask(Command{Nudge{id, ""}})), ended);
  EXPECT_EQ(as<Refused>(world.ask(Command{Restart{id}})), ended);
  EXPECT_FALSE(world.last.changed);
  EXPECT_TRUE(is<AlreadyDone>(world.ask(Command{Kill{id}})));
}

TEST(Task, TextOfWhichNothingCanBeTypedIsRefused) {
  World world;
  const WorkId id = begin_running(world);
  const Refused nothing{Why::BadValue, "text"};
  for (const std::string text : {"\n\t", "\x1b\x03", "\x7f", "\xc2\x9b"}) {
    EXPECT_EQ(as<Refused>(world.ask(Command{SendText{id, "", text}})), nothing);
    EXPECT_EQ(as<Refused>(world.ask(Command{Nudge{id, text}})), nothing);
  }
  EXPECT_EQ(as<Refused>(world.ask(Command{SendText{id, "", ""}})), nothing);
  EXPECT_TRUE(world.started.empty());
  EXPECT_TRUE(is<Ok>(world.ask(Command{SendText{id, "", "\xc3\xa9"}})));
  EXPECT_TRUE(is<Ok>(world.ask(Command{Nudge{id, ""}}))) << "a nudge has words of its own";
}

TEST(Task, WhatMakesNoSenseIsRefusedAndChangesNothing) {
  World world;
  const WorkId nobody{77};
  const std::string longest_text(limits::text_bytes, 'x');
  const std::string long_text = longest_text + "x";

  for (const Command& command : std::vector<Command>{Heartbeat{nobody},
                                                     Observed{nobody, {}},
                                                     SessionGone{nobody},
                                                     Report{nobody, {}, ""},
                                                     Nudge{nobody, ""},
                                                     SendText{nobody, "", "x"},
                                                     Restart{nobody},
                                                     Kill{nobody}}) {
    EXPECT_EQ(as<Refused>(world.ask(command)), (Refused{Why::NotFound, to_text(nobody)}));
  }
  EXPECT_EQ(as<Refused>(world.ask(Command{Nudge{nobody, long_text}})),
            (Refused{Why::OverLimit, "text"}));
  EXPECT_EQ(as<Refused>(world.ask(Command{Nudge{nobody, longest_text}})),
            (Refused{Why::NotFound, to_text(nobody)}));
  EXPECT_EQ(as<Refused>(world.ask(Command{SendText{nobody, "-m", ""}})),
            (Refused{Why::BadName, "-m"}));
  EXPECT_EQ(as<Refused>(world.ask(Command{task::Run{"", "", "", {}}})),
            (Refused{Why::BadName, ""}));
  EXPECT_EQ(as<Refused>(world.ask(Command{task::Run{"x", long_text, "", {}}})),
            (Refused{Why::OverLimit, "prompt"}));
  EXPECT_EQ(as<Refused>(world.ask(Command{task::Run{"x", longest_text, "", {}}})),
            (Refused{Why::NotFound, "x"}));
  EXPECT_EQ(as<Refused>(world.ask(Command{task::Run{"x", "", "", {}}})),
            (Refused{Why::NotFound, "x"}));
  EXPECT_EQ(world.state, initial_state(start));
}

TEST(Task, ADecisionResumesTheWork) {
  World world;
  Begin begun = fixer();
  begun.agent.on_idle = {DoEscalate{}};
  const WorkId id = begin_running(world, begun);
  world.pass(4min);
  ASSERT_EQ(state_of(the(world, id)), "Stuck(idle)");

  World nudged = world;
  decide(nudged, id, decision::Choice::Nudge, "try again");
  open_effect<reeve::Nudge>(nudged);
  World restarted = world;
  decide(restarted, id, decision::Choice::Restart);
  EXPECT_EQ(state_of(the(restarted, id)), "Pending");
  World done = world;
  decide(done, id, decision::Choice::Done, "fine as it is");
  EXPECT_EQ(std::get<Done>(the(done, id).state).result, Result{Success{"fine as it is"}});
  World failed = world;
  decide(failed, id, decision::Choice::Fail);
  EXPECT_EQ(state_of(the(failed, id)), "Failed");
  World cancelled = world;
  decide(cancelled, id, decision::Choice::Cancel);
  EXPECT_EQ(state_of(the(cancelled, id)), "Cancelled");
}

TEST(Task, WhatCannotBeSeenDeadIsNotSpawnedAgainUntilSomebodySaysSo) {
  World world;
  const WorkId id = begin_running(world);
  world.ask(Command{Restart{id}});
  world.finish(open_effect<reeve::Kill>(world), ended(Ended::Failed));
  EXPECT_EQ(body_of(the(world, id)), "Unseen");
  world.pass(1h);
  EXPECT_EQ(the(world, id).attempt, id);

  decide(world, id, decision::Choice::LookAgain);
  EXPECT_EQ(body_of(the(world, id)), "Ending");
  world.finish(open_effect<reeve::Kill>(world), ended(Ended::Failed));
  decide(world, id, decision::Choice::ReleaseAnyway);
  EXPECT_NE(the(world, id).attempt, id);
  EXPECT_EQ(body_of(the(world, id)), "Starting");
}

// ── Time ──

TEST(Task, WhetherATickCameFirstMakesNoDifference) {
  World ticked;
  const WorkId id = begin_running(ticked);
  ticked.pass(3min + 1ms);
  ticked.stamp.now += 5s;
  World not_ticked = ticked;

  ticked.input(Tick{});
  ticked.ask(Command{Heartbeat{id}});
  not_ticked.ask(Command{Heartbeat{id}});
  EXPECT_EQ(the(ticked, id).state, the(not_ticked, id).state);
  EXPECT_EQ(task_events(ticked), (Verbs{"stuck", "nudged", "heartbeat", "recovered"}));
  EXPECT_EQ(task_events(not_ticked), task_events(ticked));
}

TEST(Task, ATimerThatFindsTheLeaseStillGoodMovesToTheNewOne) {
  World world;
  begin_running(world);
  world.pass(2min);
  world.input(Resumed{});

  world.pass(3min);
  EXPECT_TRUE(task_events(world).empty());
  world.pass(5s + 1ms);
  EXPECT_EQ(task_events(world), (Verbs{"stuck", "nudged"}));
}

TEST(Task, AFinishedOneIsForgottenAfter24HoursWithAllItsAttempts) {
  World world;
  const WorkId id = begin_running(world);
  world.ask(Command{Restart{id}});
  world.finish(open_effect<reeve::Kill>(world));
  world.ask(Command{Kill{id}});
  world.finish(open_effect<Spawn>(world));
  world.finish(open_effect<reeve::Kill>(world));

  world.pass(24h - 1ms);
  EXPECT_TRUE(is<AlreadyDone>(world.ask(Command{Kill{id}})));
  world.stamp.now += 1ms;
  EXPECT_TRUE(is<Refused>(world.ask(Command{Kill{id}})));  // whether or not a tick came first
  world.pass(0s);
  EXPECT_EQ(world.state.tasks, Table{});
}

TEST(Task, OfFinishedOnesAThousandAreKept) {
  World world;
  for (std::size_t i = 0; i <= limits::finished_kept; ++i) {
    Turn turn(world.state, world.stamp);
    begin(turn, resolver());
    world.state.sequence = turn.sequence();
    const EffectId run = world.state.outbox.first()->first;
    world.state = apply(std::move(world.state), EffectEnded{run, {}}, world.stamp).state;
  }
  world.input(Tick{});

  EXPECT_EQ(world.state.tasks.tasks.size(), limits::finished_kept);
  EXPECT_EQ(world.state.tasks.attempts.size(), limits::finished_kept);
}

TEST(Task, AThousandAreKeptAlsoIfTheStepHasNoRoomToForgetMore) {
  World world;
  const auto begin_one = [&] {
    Turn turn(world.state, world.stamp);
    begin(turn, resolver());
    world.state.sequence = turn.sequence();
    return world.state.outbox.first()->first;
  };
  for (std::size_t i = 0; i < limits::finished_kept; ++i) {
    const EffectId run = begin_one();
    world.state = apply(std::move(world.state), EffectEnded{run, {}}, world.stamp).state;
  }
  const EffectId last = begin_one();
  const auto to = std::get<Address>(world.state.outbox.find(last)->effect.to);

  in_turn(world, [&](Turn& turn) {
    while (turn.may_touch()) turn.touch();
    turn.change().outbox.erase(last);
    finished(turn, last, to, {});
  });

  EXPECT_EQ(world.state.tasks.tasks.size(), limits::finished_kept);
}

TEST(Task, TheTasksOfAPipelineAreFoundByIt) {
  World world;
  Begin begun = fixer();
  begun.pipeline = {40};
  begun.entry = 3;
  const WorkId id = begin_in(world, begun);

  EXPECT_TRUE(world.state.tasks.of_pipeline.contains({{40}, id}));
}

// ── Laws ──

RC_GTEST_PROP(TaskLaw, WhateverComesInTheInvariantsHold, ()) {
  World world;
  Begin begun = fixer();
  begun.agent.on_exit = DoRestart{1};
  begun.agent.checkpoint_every = 7min;
  begun.agent.checkpoint_run = "true";
  begun.agent.timeout = 3h;
  const std::vector<WorkId> tasks = {begin_in(world, begun), begin_in(world, resolver())};
  // What happens, and what exactly: to which of the two, seen how, by which attempt.
  const auto steps =
      *rc::gen::container<std::vector<std::pair<int, int>>>(40, rc::gen::pair(die(40), die(64)));

  for (const auto& [step, how] : steps) {
    const WorkId id = tasks[static_cast<std::size_t>(how % 2)];
    const Task* task = world.state.tasks.tasks.find(id);
    const WorkId attempt = task && how / 2 % 4 ? task->attempt : id;
    const std::vector<Command> commands = {
        Heartbeat{attempt},
        Observed{attempt, seen(static_cast<Doing>(how / 8), world.stamp.now), how % 3 == 0},
        SessionGone{attempt},
        Report{attempt, {}, ""},
        Nudge{attempt, ""},
        Restart{attempt}};
    if (step < 12) {
      world.ask(Command{commands[static_cast<std::size_t>(step / 2)]});
    } else if (step < 26) {
      if (world.state.outbox.empty()) continue;
      const EffectId effect = world.state.outbox.first()->first;
      world.finish(effect, ended(static_cast<Ended>(how % 7 == 0 ? 1 : how % 11 == 0 ? 2 : 0)));
    } else if (step == 26) {
      world.input(Resumed{});
    } else if (step == 27) {
      if (asked_about(world, id)) decide(world, id, decision::Choice::ReleaseAnyway);
    } else {
      world.pass(Duration{(step - 27) * 30'000});
    }
    RC_ASSERT(check_state(world.state).empty());
  }
}

}  // namespace
}  // namespace reeve::task
