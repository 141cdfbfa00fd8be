#include "base/die_testing.h"
#include "core/task_step.h"
#include "core/task_testing.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <string>
#include <vector>

namespace reeve::task {
namespace {

using agent::Doing;
using reeve::testing::die;

// ── Responses ──

TEST(Task, TheListIsGoneThroughInOrderAndARestartResetsTheNudges) {
  Drive drive;

  EXPECT_EQ(drive.idle_out(), "Stuck(idle) stuck Nudge nudged");
  EXPECT_EQ(drive.idle_out(), "Nudge nudged");
  EXPECT_EQ(drive.idle_out(), "Pending restarting Kill (Ending)");
  drive.come_back();
  EXPECT_EQ(drive.task.attempt, (WorkId{2}));
  EXPECT_EQ(drive.idle_out(), "Stuck(idle) stuck Nudge nudged");
  EXPECT_EQ(drive.idle_out(), "Nudge nudged");
  EXPECT_EQ(drive.idle_out(), "ask");
  EXPECT_EQ(next_look(drive.task, start), std::nullopt);
  EXPECT_EQ(drive.look_at(100h), "-");
  EXPECT_EQ(drive.see(Doing::Idle, 101h), "-");
  EXPECT_EQ(drive.asked, 1);
}

TEST(Task, SomebodyIsAskedOnceUntilItMovesAgain) {
  Begin begin = fixer();
  begin.agent.on_idle = {DoEscalate{}};
  Drive drive(begin);
  EXPECT_EQ(drive.idle_out(), "Stuck(idle) stuck ask");

  drive.take(heartbeat(drive.task, drive.now + 1ms));
  EXPECT_EQ(drive.last, "Running heartbeat recovered");
  EXPECT_TRUE(drive.step.outcome.retire);
  EXPECT_EQ(drive.idle_out(), "Stuck(idle) stuck ask");
}

TEST(Task, AListThatIsUsedUpFailsAfterRestartsAndElseAsks) {
  Begin restarts = fixer();
  restarts.agent.on_idle = {DoRestart{1}};
  Drive first(restarts);
  first.idle_out();
  first.come_back();
  EXPECT_EQ(first.idle_out(), "Failed stuck failed Kill (Ending)");

  Begin nudges = fixer();
  nudges.agent.on_idle = {DoNudge{1}};
  Drive second(nudges);
  second.idle_out();
  EXPECT_EQ(second.idle_out(), "ask");

  Begin nothing = fixer();
  nothing.agent.on_idle = {};
  EXPECT_EQ(Drive(nothing).idle_out(), "Stuck(idle) stuck ask");
}

TEST(Task, BudgetsOfOneKindAddUp) {
  Begin begin = fixer();
  begin.agent.on_idle = {DoNudge{1}, DoRestart{1}, DoNudge{1}, DoEscalate{}};
  Drive drive(begin);

  EXPECT_EQ(drive.idle_out(), "Stuck(idle) stuck Nudge nudged");
  EXPECT_EQ(drive.idle_out(), "Pending restarting Kill (Ending)");
  drive.come_back();
  EXPECT_EQ(drive.idle_out(), "Stuck(idle) stuck Nudge nudged");
  EXPECT_EQ(drive.idle_out(), "Nudge nudged");
  EXPECT_EQ(drive.idle_out(), "ask");
}

TEST(Task, OnIdleMayEndItAtOnce) {
  Begin begin = fixer();
  begin.agent.on_idle = {DoDone{}};
  EXPECT_EQ(Drive(begin).idle_out(), "Success complete Kill (Ending)");
  begin.agent.on_idle = {DoFail{}};
  EXPECT_EQ(Drive(begin).idle_out(), "Failed failed Kill (Ending)");
}

TEST(Task, WhatAPersonDoesCostsNoBudget) {
  Drive drive;
  for (int i = 0; i < 5; ++i) drive.take(nudge(drive.task, "go on", drive.now));
  drive.take(restart(drive.task, drive.now));
  drive.come_back();

  EXPECT_EQ(drive.task.nudges, 0u);
  EXPECT_EQ(drive.task.restarts, 0u);
}

TEST(Task, OnExitDecidesWhatAnExitMeans) {
  const auto exit_with_response = [](definition::Response response) {
    Begin begin = fixer();
    begin.agent.on_exit = response;
    Drive drive(begin);
    return drive.take(gone(drive.task, {}, at(1s))).last;
  };
  EXPECT_EQ(exit_with_response(DoDone{}), "Success complete (None)");
  EXPECT_EQ(exit_with_response(DoFail{}), "Failed failed (None)");
  EXPECT_EQ(exit_with_response(DoEscalate{}), "Stuck(dead) stuck ask (None)");
  EXPECT_EQ(exit_with_response(DoRestart{1}), "Pending stuck restarting (None)");
  EXPECT_EQ(exit_with_response(DoRestart{0}), "Failed stuck failed (None)");
  EXPECT_EQ(exit_with_response(DoNudge{9}), "Stuck(dead) stuck ask (None)");
}

TEST(Task, OnErrorDecidesWhatAnErrorMeansAndIsAskedOncePerError) {
  Begin begin = fixer();
  begin.agent.on_error = DoNudge{1};
  Drive drive(begin);

  EXPECT_EQ(drive.see(Doing::Errored, 1s), "Stuck(errored) stuck Nudge nudged");
  EXPECT_EQ(drive.see(Doing::Errored, 2s), "-");
  drive.now = at(3s);
  drive.take(observe(drive.task, seen(Doing::Errored, at(3s), "another"), false, start, at(3s)));
  EXPECT_EQ(drive.last, "ask");
  begin.agent.on_error = DoFail{};
  Drive failing(begin);
  failing.take(observe(failing.task, seen(Doing::Errored, at(1s), "oh"), false, start, at(1s)));
  EXPECT_EQ(std::get<Done>(failing.task.state).result, Result{Failed{"errored: oh"}});
}

TEST(Task, APermissionIsAskedForOnceAndNobodyIsIdleMeanwhile) {
  Drive drive;

  EXPECT_EQ(drive.see(Doing::WaitingPermission, 1s), "ask");
  EXPECT_EQ(*drive.step.outcome.ask, decision::Cause::AgentPermission);
  EXPECT_EQ(drive.see(Doing::WaitingPermission, 2s), "-");
  EXPECT_EQ(drive.look_at(10h), "-");
  drive.take(heartbeat(drive.task, at(11h)));  // alive, but still waiting
  EXPECT_FALSE(drive.step.outcome.retire);
  drive.take(progress(drive.task, at(11h)));  // a checkpoint, by whatever process
  EXPECT_FALSE(drive.step.outcome.retire);
  EXPECT_EQ(drive.see(Doing::WaitingPermission, 11h, true), "-");
  EXPECT_FALSE(drive.step.outcome.retire);
  EXPECT_EQ(drive.look_at(11h + 30min), "-");
  EXPECT_EQ(drive.see(Doing::Working, 12h), "-");
  EXPECT_TRUE(drive.step.outcome.retire);
}

TEST(Task, WhoeverIsGoneIsNoLongerAskedAboutItsPermission) {
  Drive drive;
  drive.see(Doing::WaitingPermission, 1s);

  EXPECT_EQ(drive.take(gone(drive.task, {}, at(2s))).last, "Stuck(dead) stuck ask (None)");
  EXPECT_EQ(*drive.step.outcome.ask, decision::Cause::AgentGone);
}

TEST(Task, OfASessionThatIsGoneAnotherQuestionIsAskedThanOfOneThatIsStuck) {
  Drive drive;
  drive.see(Doing::Errored, 1s);
  ASSERT_EQ(*drive.step.outcome.ask, decision::Cause::AgentStuck);

  drive.take(gone(drive.task, exit_with(3, "one\nsh: claude: not found\n"), at(2s)));
  ASSERT_EQ(drive.step.outcome.ask, decision::Cause::AgentGone);
  const decision::Question question = question_about(drive.task, *drive.step.outcome.ask);
  EXPECT_EQ(question.question,
            "agent fixer (" + to_text(work) +
                ") has ended (exit code 3: sh: claude: not found): what now?");
  EXPECT_EQ(question.context,
            "exited: exit code 3: sh: claude: not found\n"
            "it said last:\none\nsh: claude: not found");
  EXPECT_EQ(drive.take(gone(drive.task, exit_with(3), at(3s))).last, "-");
}

TEST(Task, WhatItSaidLastBeginsAtACharacter) {
  Drive drive;
  std::string last(1998, 'x');
  last.insert(1, "\n");
  drive.take(gone(drive.task, exit_with(3, "\u00e4" + last), at(1s)));
  const std::string context = question_about(drive.task, *drive.step.outcome.ask).context;
  const std::string shown = "\nit said last:\n";
  EXPECT_EQ(context.substr(context.find(shown) + shown.size()), last);
}

TEST(Task, OfAnIdleOneTheQuestionSaysWhatIsWrong) {
  Begin begin = fixer();
  begin.agent.on_idle = {DoEscalate{}};
  Drive drive(begin);
  drive.idle_out();
  const decision::Question question = question_about(drive.task, *drive.step.outcome.ask);
  EXPECT_EQ(question.cause, decision::Cause::AgentStuck);
  EXPECT_TRUE(question.context.starts_with("no sign of life, last seen: ")) << question.context;
}

TEST(Task, RestartsThatAreUsedUpDoNotHideHowItEnded) {
  Begin begin = fixer();
  begin.agent.on_error = DoRestart{0};
  Drive drive(begin);
  drive.take(gone(drive.task, exit_with(3, "no network\n"), at(1s)));
  EXPECT_EQ(std::get<Done>(drive.task.state).result,
            Result{Failed{"exited: exit code 3: no network, and its restarts are used up"}});
}

TEST(Task, AllowAndDenyAreSentToTheSessionWithTheWordsOfThePerson) {
  Drive drive;
  drive.see(Doing::WaitingPermission, 1s);

  drive.take(answer(drive.task, {decision::Choice::Deny, 0, "use git", "ana", at(2s)}, at(2s)));
  EXPECT_EQ(drive.step.effects,
            (Effects{{Outgoing{Send{work, to_text(work) + ".1", "deny"},
                               Address{work, work, Part::Send}}},
                     {Outgoing{Send{work, to_text(work) + ".2", "use git"},
                               Address{work, work, Part::Send}}}}));
  EXPECT_EQ(drive.see(Doing::WaitingPermission, 3s), "-");
  EXPECT_EQ(drive.idle_out(), "Stuck(idle) stuck Nudge nudged");
}

TEST(Task, AnAnswerThatIsOfNoUseIsFollowedByAnotherQuestion) {
  Begin begin = fixer();
  begin.agent.on_idle = {DoEscalate{}};
  Drive drive(begin);
  drive.idle_out();

  drive.take(answer(drive.task, {decision::Choice::Nudge, 0, "try", "ana", drive.now}, drive.now));
  EXPECT_EQ(drive.last, "Nudge nudged");
  EXPECT_EQ(drive.idle_out(), "ask");
}

// ── Laws ──

// Anything that can happen, a little later than the last thing.
Next happen(const Task& task, int what, Time now) {
  using decision::Choice;
  const auto see = [&](Doing doing, bool progress = false) {
    const Time when = now - Duration{*die(3) * 60'000};
    return observe(task, seen(doing, when), progress, start, now);
  };
  const auto choose = [&](Choice choice) { return answer(task, {choice, 0, "", "ana", now}, now); };
  switch (what) {
    case 0:
      return heartbeat(task, now);
    case 1:
      return see(Doing::Working);
    case 2:
      return see(Doing::Idle);
    case 3:
      return see(Doing::WaitingPermission);
    case 4:
      return see(Doing::RateLimited);
    case 5:
      return see(Doing::Errored);
    case 6:
      return see(Doing::Unknown, true);
    case 7:
      return see(Doing::Exited);
    case 8:
      return gone(task, {}, now);
    case 9:
      return killed(task, {}, now);
    case 10:
      return killed(task, unseen_dead(), now);
    case 11:
      return spawned(task, {}, now);
    case 12:
      return choose(Choice::LookAgain);
    case 13:
      return choose(Choice::Nudge);
    case 14:
      return choose(Choice::Restart);
    case 15:
      return *die(8) == 0 ? finish(task, Success{}, now) : heartbeat(task, now);
    default:
      return look(task, start, now);
  }
}

bool is_by_hand(int what) { return what >= 12 && what <= 15; }

std::size_t count(const Next& step, const std::string& word) {
  const std::string words = effects_of(step.effects) + " ";
  return words.find(" " + word + " ") == std::string::npos ? 0 : 1;
}

RC_GTEST_PROP(TaskLaw, BudgetsAreKeptSomebodyIsAskedOnceAndWhatIsDoneStaysDone, ()) {
  Begin begin = fixer();
  begin.agent.on_exit = DoRestart{2};
  begin.agent.progress_timeout = 30min;
  begin.agent.timeout = 8h;
  Task task = running(begin);
  Time now = start;
  std::size_t nudges = 0;    // of this attempt
  std::size_t restarts = 0;  // of the task
  bool is_asked = false;     // about its being stuck
  const auto steps = *rc::gen::container<std::vector<int>>(200, die(30));

  for (const int what : steps) {
    now += Duration{*die(200'000)};
    const Next step = happen(task, what, now);
    const bool moves = count(step, "recovered") || count(step, "restarting") || is_by_hand(what) ||
                       (task.asked && !step.next.asked);
    if (moves) is_asked = false;
    if (!is_by_hand(what)) {
      nudges += count(step, "Nudge");
      restarts += count(step, "restarting");
    }
    if (count(step, "restarting")) nudges = 0;
    RC_ASSERT(nudges <= 2u);
    RC_ASSERT(restarts <= 2u);
    if (step.outcome.ask == decision::Cause::AgentStuck) {
      RC_ASSERT(!is_asked);
      is_asked = true;
    }
    if (std::holds_alternative<Done>(task.state)) RC_ASSERT(step.next.state == task.state);
    RC_ASSERT(step.effects.size() <= 4u);
    task = step.next;
    if (wants_spawn(task)) task = spawn(task, {task.attempt.value + 1}, now).next;
    const auto due = next_look(task, start);
    if (std::holds_alternative<Done>(task.state)) RC_ASSERT(!due);
  }
}

// Whoever is at work is watched, or somebody was asked about it: nothing hangs unseen.
RC_GTEST_PROP(TaskLaw, NothingIsStuckWithoutATimerOrAQuestion, ()) {
  Task task = running();
  Time now = start;
  const auto steps = *rc::gen::container<std::vector<int>>(100, die(30));

  for (const int what : steps) {
    now += Duration{*die(200'000)};
    task = happen(task, what, now).next;
    if (wants_spawn(task)) task = spawn(task, {task.attempt.value + 1}, now).next;
    const bool is_at_work =
        std::holds_alternative<Running>(task.state) || std::holds_alternative<Stuck>(task.state);
    if (is_at_work) RC_ASSERT(task.asked || next_look(task, start));
    if (!is_at_work) RC_ASSERT(task.body != Body::Live);
  }
}

}  // namespace
}  // namespace reeve::task
