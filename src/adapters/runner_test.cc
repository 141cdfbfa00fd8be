#include "adapters/runner.h"

#include "adapters/nursery.h"
#include "adapters/runner_testing.h"

#include <csignal>
#include <filesystem>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>

namespace reeve::adapters::testing {
namespace {

using Clock = std::chrono::steady_clock;

// ── Running ──

TEST_F(RunnerTest, AStepRunsWhereItShouldWithItsValuesInTheEnvironment) {
  Start start = shell(R"(pwd; echo "${REEVE_V_bug}" "${REEVE_V_item_Z_id}"; env | grep -c SECRET)");
  Shell& step = std::get<Shell>(start.effect.what);
  step.variables = {{"bug", "$(touch evil) 'x'"}, {"item_.id", "4"}};
  step.environment.emplace_back("REEVE_PHASE", "work");
  const Outcome outcome = play(step);
  EXPECT_EQ(outcome.output, root + "\n$(touch evil) 'x' 4\n0\n");
  EXPECT_FALSE(std::filesystem::exists(root + "/evil"));
  EXPECT_EQ(outcome.exit_code, 1);
}

TEST_F(RunnerTest, ItsEnvironmentIsTheCallersOrElseTheDaemonsByTheAllowList) {
  Shell step = std::get<Shell>(shell("env | sort | grep -v '^_=\\|SHLVL\\|PWD'").effect.what);
  const EffectId with = begin(step);
  const std::string ours = "REEVE_HOME=" + home.at("home") +
                           "\nREEVE_OUTPUT=" + home.at("home/runs/") + to_text(with) +
                           "/output\nREEVE_RUN=" + home.at("home/runs/") + to_text(with) +
                           "\nREEVE_SOCKET=" + home.at("home/reeve.sock") + "\n";
  const std::string own = std::filesystem::read_symlink("/proc/self/exe").parent_path().string();
  EXPECT_EQ(outcome_of(with).output,
            "PATH=/usr/local/bin:/usr/bin:/bin:" + own + "\n" + ours +
                "REEVE_TEST_HOME=" + home.path() + "\n");
  step.environment = {{"REEVE_PROJECT", "ours"}};
  const std::string output = play(step).output;
  EXPECT_NE(output.find("HOME=" + home.path() + "\n"), std::string::npos);
  EXPECT_NE(output.find("LC_TIME=C\n"), std::string::npos);
  EXPECT_EQ(output.find("SECRET"), std::string::npos);
}

TEST_F(RunnerTest, ALaterValueOfAVariableIsTheOneThatCounts) {
  Shell step = std::get<Shell>(shell("echo $CI").effect.what);
  step.environment.emplace_back("CI", "1");
  step.environment.emplace_back("CI", "2");
  EXPECT_EQ(play(step).output, "2\n");
}

TEST_F(RunnerTest, AnInputHidesWhatIsBuiltIn) {
  Shell step = std::get<Shell>(shell("echo \"${REEVE_V_name}\"").effect.what);
  step.variables = {{"name", "given"}, {"name", "fix"}};
  EXPECT_EQ(play(step).output, "given\n");
}

TEST_F(RunnerTest, AFieldOfAHooksEventHidesWhatIsBuiltIn) {
  Shell hook = std::get<Shell>(shell("echo \"${REEVE_V_id}\"", "hook").effect.what);
  hook.variables = {{"id", ""}, {"noun", "service"}, {"id", "web"}};
  EXPECT_EQ(outcome_of(begin(hook, ToNobody{})).output, "web\n");
}

TEST_F(RunnerTest, WhatAnAttemptSaysIsKeptByPipelineAndLabel) {
  const EffectId first = begin(shell("echo one").effect.what);
  outcome_of(first);
  const std::string folder = "home/logs/" + reeve::to_text(pipeline) + "/";
  EXPECT_EQ(home.read(folder + "work#1." + to_text(first) + ".log"), "one\n");
  play(shell("echo a", "guard tests/pass").effect.what);
  play(shell("echo b", "guard tests/pass").effect.what);
  EXPECT_EQ(home.read(folder + "guard tests%2Fpass.log"), "b\n");
}

TEST_F(RunnerTest, TheFolderOfARunGoesWhenItsOutcomeIsDurable) {
  const EffectId effect = begin(shell("true").effect.what);
  outcome_of(effect);
  runner->durable(0);
  EXPECT_TRUE(has_run(effect));
  runner->durable(1);
  EXPECT_TRUE(becomes_true([&] { return !has_run(effect); }));
  EXPECT_EQ(runner->running(), 0U);
}

TEST_F(RunnerTest, AlsoIfItsStepMadeFoldersInIt) {
  const EffectId effect =
      begin(shell("mkdir -p $REEVE_RUN/a/b; touch $REEVE_RUN/a/b/c").effect.what);
  outcome_of(effect);
  runner->durable(1);
  EXPECT_TRUE(becomes_true([&] { return !has_run(effect); }, 20s));
}

TEST_F(RunnerTest, FilesAreForTheirUserAlone) {
  const EffectId effect = begin(shell("sleep 0.1").effect.what);
  for (const std::string& path : {home.at("home/runs/" + to_text(effect)),
                                  home.at("home/runs/" + to_text(effect) + "/spec"),
                                  home.at("home/logs")}) {
    struct stat about{};
    ASSERT_EQ(stat(path.c_str(), &about), 0) << path;
    EXPECT_EQ(about.st_mode & 0077U, 0U) << path;
  }
  outcome_of(effect);
}

TEST_F(RunnerTest, AValueThatCannotTravelIsRefusedByName) {
  Shell step = std::get<Shell>(shell("true").effect.what);
  step.variables = {{"bug", std::string(200'000, 'x')}};
  const Outcome outcome = play(step);
  EXPECT_EQ(outcome.ended, Ended::Failed);
  EXPECT_EQ(outcome.error, "the value of {bug} is longer than 100 KiB");
}

TEST_F(RunnerTest, AStepsTimeoutIsKept) {
  Shell step = std::get<Shell>(shell("sleep 300").effect.what);
  step.timeout = Duration{100};
  const Outcome outcome = play(step);
  EXPECT_TRUE(outcome.timed_out);
  EXPECT_EQ(outcome.ended, Ended::Failed);
}

TEST_F(RunnerTest, TheCheckpointOfAStrategyIsWhatItSaysOnStdout) {
  EXPECT_EQ(play(shell("echo noise >&2; echo abc", "merge#1 checkpoint").effect.what).output,
            "abc\n");
}

// ── Notifications and queues ──

TEST_F(RunnerTest, WhatAPhaseIsCalledDoesNotMakeItAGuardOrACheckpoint) {
  Surroundings around;
  around.program = "/usr/bin/reeve";
  around.state = [this]() -> const State& { return state; };
  const auto spec = [&](const std::string& label) {
    return plan_for(shell("true", label), around)->spec;
  };
  EXPECT_FALSE(spec("guard tests_pass").synced);
  EXPECT_TRUE(spec("guard rails#1").synced);
  EXPECT_TRUE(spec("merge#12 checkpoint").only_stdout);
  EXPECT_FALSE(spec("merge#12 my checkpoint").only_stdout);
  EXPECT_FALSE(spec("a checkpoint#1").only_stdout);
}

TEST_F(RunnerTest, TheMonitorsOfACronAreLookedAtByTheProgramThatRunsHere) {
  Surroundings around;
  around.program = "/opt/it's/reeve";
  around.state = [this]() -> const State& { return state; };
  const auto text = [&](const std::string& program, bool of_cron) {
    Start start = shell(program, "cron look");
    if (of_cron) start.effect.to = cron::Address{{project, "look"}};
    return plan_for(start, around)->spec.text;
  };
  EXPECT_EQ(text("exec reeve monitor run -- 'idle'", true),
            "exec '/opt/it'\\''s/reeve' monitor run -- 'idle'");
  EXPECT_EQ(text("exec reeve monitor run -- 'idle'", false), "exec reeve monitor run -- 'idle'");
  EXPECT_EQ(text("reeve wait x", true), "reeve wait x");
}

TEST_F(RunnerTest, ANotificationsCommandReadsTheEvent) {
  Notify notify;
  notify.title = "ci:green";
  notify.command = "cat > heard; echo \"$REEVE_TITLE\" >> heard";
  const Event event{1, 0, {}, project, Custom{{"ci", "", "green"}, {}}};
  notify.about = {event};
  const Outcome outcome = play(notify);
  EXPECT_EQ(outcome.exit_code, 0) << outcome.output;
  EXPECT_EQ(home.read("project/heard"), "{\"name\":\"ci\"}\nci:green\n");
}

TEST_F(RunnerTest, TheDesktopIsToldIfThereIsOne) {
  home.write("bin/notify-send", "#!/bin/sh\nprintf '%s\\n' \"$@\" > \"$HOME/told\"\n");
  std::filesystem::permissions(home.at("bin/notify-send"), std::filesystem::perms::all);
  Notify notify;
  notify.title = "pipeline:failed";
  notify.message = "-x $(y)";
  search_path = home.at("bin");
  restart();
  EXPECT_EQ(play(notify).exit_code, 0);
  EXPECT_EQ(home.read("told"), "--app-name=reeve\n--\npipeline:failed\n-x $(y)\n");
  search_path = home.at("nothing");
  restart();
  const Outcome outcome = play(notify);
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_EQ(outcome.output, "there is no notify-send on this machine\n");
}

TEST_F(RunnerTest, ASourceGivesItsItemsByTheirIds) {
  PollQueue poll{{project, "bugs"},
                 R"(echo noise >&2; echo '[{"id": 7, "a": [1]}, {"b": 1, "id": "x"}]')"};
  EXPECT_EQ(play(poll).values,
            (Variables{{"7", R"({"id": 7, "a": [1]})"}, {"x", R"({"b": 1, "id": "x"})"}}));
  poll.command = R"(printf '{"id":"1"}\n{"id":"2"}\n')";
  EXPECT_EQ(play(poll).values, (Variables{{"1", R"({"id":"1"})"}, {"2", R"({"id":"2"})"}}));
  poll.command = "echo '[]'";
  EXPECT_EQ(play(poll).ended, Ended::Done);
  EXPECT_EQ(play(poll).values, Variables{});
  // As `false | cat` does.
  for (const char* nothing : {"true", "echo"}) {
    poll.command = nothing;
    EXPECT_EQ(play(poll).error, "the source says nothing; that it has none is said by []");
  }
  poll.command = R"(echo '[{"name": 1}]')";
  EXPECT_EQ(play(poll).error, "item 1 of the source has no id");
  poll.command = "echo '[{'";
  EXPECT_EQ(play(poll).ended, Ended::Failed);
  poll.command = "echo '[]'; echo no network >&2; exit 3";
  EXPECT_EQ(play(poll).exit_code, 3);
  EXPECT_TRUE(play(poll).output.ends_with("no network\n"));
}

TEST_F(RunnerTest, WhatIsKnownOfASourceComesWithoutItsData) {
  const QueueName bugs{project, "bugs"};
  state.queues.names.set(bugs, 1);
  state.queues.listed.insert({1, "7"});
  const Outcome outcome = play(PollQueue{bugs, R"(echo '[{"id": 7}, {"id": 8}]')"});
  EXPECT_EQ(outcome.values, (Variables{{"7", ""}, {"8", R"({"id": 8})"}}));
  EXPECT_EQ(outcome.output, "");
}

TEST_F(RunnerTest, ASourceThatSaysTooMuchIsToldSo) {
  PollQueue poll{{project, "bugs"},
                 R"(printf '[{"id":1,"a":"'; head -c 9000000 /dev/zero | tr '\0' x; echo '"}]')"};
  EXPECT_EQ(play(poll).error,
            "the source says more than 8 MiB, or there is no room for what it says");
}

TEST_F(RunnerTest, ManyItemsComeWhole) {
  PollQueue poll{
      {project, "bugs"},
      R"(for i in $(seq 5000); do echo "{\"id\":$i,\"text\":\"xxxxxxxxxxxxxxxxxxxx\"}"; done)"};
  EXPECT_EQ(play(poll).values.size(), 5000U);
}

TEST_F(RunnerTest, AnItemIsTakenThereByItsId) {
  const TakeQueueItem take{{project, "bugs"}, R"(echo "${REEVE_V_id}" > taken)", "4 2"};
  EXPECT_EQ(play(take).exit_code, 0);
  EXPECT_EQ(home.read("project/taken"), "4 2\n");
}

// ── Kills ──

TEST_F(RunnerTest, ARunIsEndedWithItsWholeTree) {
  const EffectId effect =
      begin(shell("trap '' TERM; setsid sleep 300 & echo ready; wait; sleep 300").effect.what);
  ASSERT_TRUE(
      becomes_true([&] { return marked_with("REEVE_TEST_HOME=" + home.path())->size() > 1; }));
  const EffectId kill = begin(Kill{effect, Duration{200}});
  const Outcome outcome = outcome_of(effect);
  EXPECT_EQ(outcome.ended, Ended::Failed);
  EXPECT_EQ(outcome.error, "ended on request");
  EXPECT_EQ(outcome_of(kill).ended, Ended::Done);
  EXPECT_TRUE(marked_with("REEVE_TEST_HOME=" + home.path())->empty());
}

TEST_F(RunnerTest, WhatIsNotThereNeedsNoEnd) {
  EXPECT_EQ(play(Kill{EffectId{1, 1}}).ended, Ended::Done);
  EXPECT_EQ(play(Kill{WorkId{5}}).ended, Ended::Done);
}

TEST_F(RunnerTest, WhatWasEndedBeforeItsTurnNeverHasIt) {
  const Start start = shell("touch ran");
  state.outbox.set(start.id, {start.effect, {}});
  play(Kill{start.id});
  runner->start(start);
  EXPECT_EQ(outcome_of(start.id).ended, Ended::Failed);
  EXPECT_FALSE(std::filesystem::exists(root + "/ran"));
}

// ── Restarts ──

TEST_F(RunnerTest, ARunThatOutlivesTheDaemonIsAdopted) {
  const EffectId effect = begin(
      shell("until [ -e go ]; do sleep 0.02; done; echo x=1 > $REEVE_OUTPUT; exit 3").effect.what);
  ASSERT_TRUE(becomes_true([&] {
    return has_run(effect) &&
           std::filesystem::exists(home.at("home/runs/" + to_text(effect) + "/started"));
  }));
  restart();
  EXPECT_EQ(observe(effect), engine::Observation{engine::StillRunning{}});
  output_of("touch '" + home.at("project/go") + "'");
  const Outcome outcome = outcome_of(effect);
  EXPECT_EQ(outcome.exit_code, 3);
  EXPECT_EQ(outcome.values, (Variables{{"x", "1"}}));
}

TEST_F(RunnerTest, OneThatHasOnlyJustBegunIsAdoptedOrNeverBegins) {
  for (int i = 0; i < 20; ++i) {
    const EffectId effect = begin(shell("echo x >> count").effect.what);
    restart();
    const engine::Observation seen = observe(effect);
    if (std::holds_alternative<engine::NeverStarted>(seen)) {
      runner->start({effect, state.outbox.find(effect)->effect});
    }
    if (!std::holds_alternative<engine::Finished>(seen)) {
      EXPECT_EQ(outcome_of(effect).exit_code, 0);
    }
  }
  std::this_thread::sleep_for(100ms);
  EXPECT_EQ(home.read("project/count").size(), 40U);
}

TEST_F(RunnerTest, OneThatEndedMeanwhileIsKnown) {
  const EffectId effect = begin(shell("echo said; exit 2").effect.what);
  const RunDirectory folder(home.at("home/runs/" + to_text(effect)));
  ASSERT_TRUE(becomes_true([&] { return folder.has_started(); }));
  ASSERT_TRUE(
      becomes_true([&] { return std::holds_alternative<RunDirectory::Ended>(folder.look()); }));
  restart();
  const engine::Observation seen = observe(effect);
  ASSERT_TRUE(std::holds_alternative<engine::Finished>(seen));
  EXPECT_EQ(std::get<engine::Finished>(seen).outcome.output, "said\n");
  runner->durable(1);
  EXPECT_TRUE(becomes_true([&] { return !has_run(effect); }));
}

TEST_F(RunnerTest, OneThatNeverBeganCanBeStarted) {
  const Start start = shell("echo yes");
  state.outbox.set(start.id, {start.effect, {}});
  EXPECT_EQ(observe(start.id), engine::Observation{engine::NeverStarted{}});
  runner->start(start);
  EXPECT_EQ(outcome_of(start.id).output, "yes\n");
}

// It was started: to say that it was not would have it done again.
TEST_F(RunnerTest, AFolderThatIsGoneMeansThatNobodyKnows) {
  const Outcome outcome = play(shell("rm -rf \"$REEVE_RUN\"; exit 0").effect.what);
  EXPECT_EQ(outcome.ended, Ended::Unknown);
  EXPECT_EQ(outcome.error, "the folder of its run is gone");
}

TEST_F(RunnerTest, AKilledHoldMeansThatNobodyKnows) {
  const EffectId effect = begin(shell("until [ -e go ]; do sleep 0.02; done").effect.what);
  const RunDirectory folder(home.at("home/runs/" + to_text(effect)));
  ASSERT_TRUE(becomes_true([&] { return marked_with("REEVE_RUN=" + folder.path())->size() > 0; }));
  ::kill(static_cast<pid_t>(std::get<RunDirectory::Running>(folder.look()).hold->pid), SIGKILL);
  EXPECT_FALSE(next<EffectDone>(300ms));  // not before what it held is gone
  home.write("project/go", "");
  const Outcome outcome = outcome_of(effect);
  EXPECT_EQ(outcome.ended, Ended::Unknown);
  EXPECT_EQ(outcome.error, "its hold was killed");
  EXPECT_TRUE(marked_with("REEVE_RUN=" + folder.path())->empty());
}

TEST_F(RunnerTest, WhatAKilledHoldLeftCanBeEnded) {
  const EffectId effect = begin(shell("trap '' TERM; sleep 300; sleep 300").effect.what);
  const RunDirectory folder(home.at("home/runs/" + to_text(effect)));
  ASSERT_TRUE(becomes_true([&] { return marked_with("REEVE_RUN=" + folder.path())->size() > 1; }));
  ::kill(static_cast<pid_t>(std::get<RunDirectory::Running>(folder.look()).hold->pid), SIGKILL);
  restart();
  EXPECT_EQ(observe(effect), engine::Observation{engine::StillRunning{}});
  const EffectId kill = begin(Kill{effect, Duration{200}});
  EXPECT_EQ(outcome_of(effect).ended, Ended::Unknown);
  EXPECT_EQ(outcome_of(kill).ended, Ended::Done);
  EXPECT_TRUE(marked_with("REEVE_RUN=" + folder.path())->empty());
}

TEST_F(RunnerTest, AfterAnotherBootNobodyKnowsWhatBecameOfIt) {
  const Start start = shell("true");
  state.outbox.set(start.id, {start.effect, {}});
  const RunDirectory folder(home.at("home/runs/" + to_text(start.id)));
  ASSERT_TRUE(folder.prepare(home.spec("true")));
  ASSERT_TRUE(folder.write_started({getpid(), 1, "another boot"}, true));
  EXPECT_EQ(observe(start.id),
            (engine::Observation{engine::CannotKnow{"the machine was started anew while it ran"}}));
}

TEST_F(RunnerTest, FoldersThatNobodyWaitsForAreClearedAway) {
  const EffectId effect = begin(shell("true").effect.what);
  outcome_of(effect);
  restart();
  EXPECT_TRUE(has_run(effect));
  EXPECT_TRUE(becomes_true([&] {
    look();
    return !has_run(effect);
  }));
}

// ── Much of it ──

TEST_F(RunnerTest, AThousandRunsAreCheapAndLeaveNothing) {
  Clock::duration spent{};
  constexpr int runs = 1000;
  int begun = 0;
  int ended = 0;
  const auto in_daemon = [&](const auto& work) {
    const auto began = Clock::now();
    work();
    spent += Clock::now() - began;
  };
  while (ended < runs) {
    while (begun < runs && begun - ended < 8) {
      const Start start = shell("true");
      state.outbox.set(start.id, {start.effect, {}});
      in_daemon([&] { runner->start(start); });
      ++begun;
    }
    std::this_thread::sleep_for(1ms);
    in_daemon([&] {
      runner->look();
      for (const Report& report : runner->take()) {
        if (const EffectDone* done = std::get_if<EffectDone>(&report)) {
          EXPECT_EQ(done->outcome.exit_code, 0);
          ++ended;
        }
        runner->decided(report, 1);
      }
      runner->durable(1);
    });
  }
  // For people: on a machine that does other things as well it says little.
  const double each = std::chrono::duration<double, std::milli>(spent).count() / runs;
  std::printf("daemon: %.3f ms a run\n", each);
  EXPECT_TRUE(becomes_true([&] { return std::filesystem::is_empty(home.at("home/runs")); }));
}

TEST_F(RunnerTest, ANurseryWithNothingToDoWaitsForMore) {
  Nursery nursery;
  ASSERT_TRUE(nursery);
  std::this_thread::sleep_for(1500ms);  // longer than it listens at a time
  EXPECT_FALSE(nursery.next());
  EXPECT_TRUE(nursery);
}

TEST_F(RunnerTest, WithoutItsNurseryItGoesOn) {
  const EffectId before = begin(shell("echo one").effect.what);
  const std::vector<ProcessStatus> all = all_processes().value();
  for (const ProcessStatus& status : all) {
    const std::string path = "/proc/" + std::to_string(status.pid) + "/cmdline";
    if (status.parent != getpid()) continue;
    if (output_of("tr '\\0' ' ' < " + path).find("hold --nursery") == std::string::npos) continue;
    send_signal(status.pid, status.start_time, SIGKILL);
  }
  EXPECT_EQ(outcome_of(before).output, "one\n");
  EXPECT_EQ(play(shell("echo two").effect.what).output, "two\n");
  runner->durable(1);
  EXPECT_TRUE(becomes_true([&] { return !has_run(before); }));
}

}  // namespace
}  // namespace reeve::adapters::testing
