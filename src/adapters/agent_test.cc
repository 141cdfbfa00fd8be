#include "adapters/runner_testing.h"

#include <csignal>
#include <filesystem>
#include <fstream>
#include <thread>
#include <unistd.h>

// Agents of kind generic, in both modes, with the real tmux.
namespace reeve::adapters::testing {
namespace {

struct AgentTest : RunnerTest {
  static constexpr WorkId work{9};

  Spawn agent(const std::string& command, bool session) {
    Spawn spawn;
    spawn.work = work;
    spawn.agent = "fixer";
    spawn.command = command;
    spawn.prompt = "Fix it.";
    spawn.workspace = root;
    spawn.session = session;
    spawn.kind = "generic";
    spawn.environment = {{"PATH", "/usr/local/bin:/usr/bin:/bin"},
                         {"REEVE_TEST_HOME", home.path()}};
    return spawn;
  }
  Address to = task::Address{work, work};

  std::string tmux(const std::string& words) {
    return output_of("tmux -S '" + home.at("home/tmux.sock") + "' " + words);
  }
  std::string session() const { return reeve::to_text(work); }
  std::string link() const { return home.at("home/agents/" + session()); }
  bool has_link() const {
    return std::filesystem::is_symlink(std::filesystem::symlink_status(link()));
  }
  std::string said(const std::string& name = "said") { return home.read("project/" + name); }
  // Reads lines and writes them down, until one says `stop`.
  static constexpr const char* listener =
      "echo ready; while read -r line; do echo \"$line\" >> said; echo \"got $line\"; "
      "[ \"$line\" = stop ] && break; done; echo result=fine >> $REEVE_OUTPUT; exit 3";
};

// ── print ──

TEST_F(AgentTest, OneThatIsRunToCompletionReadsItsPrompt) {
  const EffectId effect =
      begin(agent("cat; echo; echo $REEVE_AGENT; echo \"$REEVE_PROMPT\"; exit 2", false), to);
  const Outcome outcome = outcome_of(effect);
  EXPECT_EQ(outcome.output, "Fix it.\n" + session() + "\nFix it.\n");
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_EQ(home.read("home/logs/" + session() + "/agent." + to_text(effect) + ".log"),
            outcome.output);
}

TEST_F(AgentTest, ThePromptMayBeAFile) {
  home.write("project/prompt.md", "From a file.\n");
  Spawn spawn = agent("cat", false);
  spawn.prompt.clear();
  spawn.prompt_file = "prompt.md";
  EXPECT_EQ(outcome_of(begin(spawn, to)).output, "From a file.\n");
  spawn.prompt_file = "missing.md";
  EXPECT_EQ(outcome_of(begin(spawn, to)).error,
            "the prompt cannot be read from " + root + "/missing.md");
}

TEST_F(AgentTest, OtherKindsAreRefusedPlainly) {
  for (const bool in_session : {true, false}) {
    Spawn spawn = agent("claude", in_session);
    spawn.kind = "claude";
    const Outcome outcome = outcome_of(begin(spawn, to));
    EXPECT_EQ(outcome.ended, Ended::Failed);
    EXPECT_EQ(outcome.error, "this version cannot run agents of kind claude");
  }
}

TEST_F(AgentTest, WhatItSaysIsASignOfLife) {
  begin(agent("sleep 0.3; echo one; sleep 300", false), to);
  const std::optional<AgentActive> active = next<AgentActive>();
  ASSERT_TRUE(active);
  EXPECT_EQ(active->work, work);
  EXPECT_FALSE(next<AgentActive>(1500ms));  // silence is none
}

TEST_F(AgentTest, WordsAreNoProgressButAValueIs) {
  begin(agent("echo one; sleep 2; echo done=1 >> $REEVE_OUTPUT; sleep 300", false), to);
  const std::optional<AgentActive> words = next<AgentActive>();
  ASSERT_TRUE(words);
  EXPECT_FALSE(words->progress);
  const std::optional<AgentActive> value = next<AgentActive>();
  ASSERT_TRUE(value);
  EXPECT_TRUE(value->progress);
  EXPECT_FALSE(next<AgentActive>(1500ms));
}

TEST_F(AgentTest, ACommitIsProgressAlsoOfOneThatSaysNothing) {
  // In a worktree, and in a folder of it.
  ASSERT_EQ(output_of("cd '" + root +
                      "' && git init -q . && git config user.name a && git config user.email a@b"
                      " && git commit -q --allow-empty -m one && git worktree add -q tree 2>&1"
                      " && mkdir tree/folder"),
            "");
  Spawn spawn = agent("sleep 2; git commit -q --allow-empty -m two; sleep 300", false);
  spawn.workspace = root + "/tree/folder";
  begin(spawn, to);
  const std::optional<AgentActive> commit = next<AgentActive>();
  ASSERT_TRUE(commit);
  EXPECT_TRUE(commit->progress);
  EXPECT_FALSE(next<AgentActive>(1500ms));
}

TEST_F(AgentTest, TheChildOfADispatchIsToldOf) {
  Spawn spawn = agent("echo hello; sleep 300", false);
  spawn.kind.clear();
  begin(spawn, dispatch::Address{DispatchId{4}, dispatch::Part::Spawn});
  const std::optional<ChildStarted> started = next<ChildStarted>();
  ASSERT_TRUE(started);
  EXPECT_EQ(started->dispatch, DispatchId{4});
  EXPECT_TRUE(is_alive(started->process, boot_id()));
  const std::optional<ChildAlive> alive = next<ChildAlive>();
  ASSERT_TRUE(alive);
  EXPECT_EQ(alive->dispatch, DispatchId{4});
}

// ── session ──

TEST_F(AgentTest, ASessionIsStartedAndGivenItsPrompt) {
  const EffectId effect = begin(agent(listener, true), to);
  const Outcome outcome = outcome_of(effect);
  EXPECT_EQ(outcome.ended, Ended::Done) << outcome.error << outcome.output;
  EXPECT_TRUE(becomes_true([&] { return said() == "Fix it.\n"; }));
  EXPECT_EQ(tmux("list-sessions -F '#{session_name}'"), session());
  EXPECT_TRUE(next<AgentActive>());
  EXPECT_TRUE(becomes_true([&] {
    const std::string log =
        home.read("home/logs/" + session() + "/agent." + to_text(effect) + ".log");
    return log.find("got Fix it.") != std::string::npos;
  }));
}

TEST_F(AgentTest, AMessageIsTypedAndItsEndIsTold) {
  const EffectId effect = begin(agent(listener, true), to);
  ASSERT_EQ(outcome_of(effect).ended, Ended::Done);
  EXPECT_EQ(play(Send{work, "m1", "two words; $(x) `y` \\ -t #{pid}"}).exit_code, 0);
  EXPECT_TRUE(
      becomes_true([&] { return said() == "Fix it.\ntwo words; $(x) `y` \\ -t #{pid}\n"; }));
  EXPECT_EQ(play(Nudge{work, ""}).exit_code, 0);
  EXPECT_TRUE(becomes_true([&] { return said().ends_with("\ncontinue\n"); }));
  EXPECT_EQ(play(Send{work, "m2", "stop"}).exit_code, 0);
  const std::optional<AgentGone> gone = next<AgentGone>();
  ASSERT_TRUE(gone);
  EXPECT_EQ(gone->work, work);
  EXPECT_EQ(gone->outcome.exit_code, 3);
  EXPECT_NE(gone->outcome.output.find("got stop"), std::string::npos) << gone->outcome.output;
  EXPECT_EQ(gone->outcome.values, (Variables{{"result", "fine"}}));
  EXPECT_TRUE(has_link());
  runner->durable(1);
  EXPECT_FALSE(has_link());
  EXPECT_TRUE(becomes_true([&] { return !has_run(effect); }));
  const Outcome late = play(Send{work, "m3", "late"});
  EXPECT_EQ(late.exit_code, 1);
  EXPECT_EQ(late.output, "its session is not there any more\n");
}

TEST_F(AgentTest, WhatIsTypedIsTextAndNothingElse) {
  ASSERT_EQ(outcome_of(begin(agent(listener, true), to)).ended, Ended::Done);
  ASSERT_TRUE(becomes_true([&] { return said() == "Fix it.\n"; }, 20s));
  EXPECT_EQ(play(Send{work, "m1", "a\x1B[201~\x03\x04\x7F\u009B31m b\xC3\xBC"}).exit_code, 0);
  EXPECT_TRUE(becomes_true([&] { return said() == "Fix it.\na[201~31m b\xC3\xBC\n"; }, 20s));
}

TEST_F(AgentTest, TheHomeMayHaveAnyName) {
  home_path = home.at("j\xC3\xBCrgen's $(own) #{pid} %H home");
  restart();
  const EffectId effect = begin(agent(listener, true), to);
  const Outcome outcome = outcome_of(effect);
  EXPECT_EQ(outcome.ended, Ended::Done) << outcome.error << outcome.output;
  const std::string log = home_path + "/logs/" + session() + "/agent." + to_text(effect) + ".log";
  EXPECT_TRUE(becomes_true(
      [&] { return read_whole(log).value_or("").find("got Fix it.") != std::string::npos; }, 20s));
  play(Kill{work, Duration{100}});
}

TEST_F(AgentTest, ASessionIsEndedWithAllThatItStarted) {
  const EffectId effect = begin(
      agent("trap '' TERM HUP; setsid sleep 300 & echo ready; sleep 300; sleep 300", true), to);
  ASSERT_EQ(outcome_of(effect).ended, Ended::Done);
  ASSERT_TRUE(
      becomes_true([&] { return marked_with("REEVE_TEST_HOME=" + home.path())->size() >= 3; }));
  const EffectId kill = begin(Kill{work, Duration{200}}, to);
  EXPECT_EQ(outcome_of(kill).ended, Ended::Done);
  EXPECT_TRUE(marked_with("REEVE_TEST_HOME=" + home.path())->empty());
  EXPECT_TRUE(next<AgentGone>());
}

TEST_F(AgentTest, ASessionIsAdoptedAfterARestart) {
  const EffectId effect = begin(agent(listener, true), to);
  ASSERT_EQ(outcome_of(effect).ended, Ended::Done);
  restart();
  ASSERT_EQ(runner->running(), 1U);
  EXPECT_EQ(play(Send{work, "m1", "stop"}).exit_code, 0);
  const std::optional<AgentGone> gone = next<AgentGone>();
  ASSERT_TRUE(gone);
  EXPECT_EQ(gone->outcome.exit_code, 3);
}

TEST_F(AgentTest, OneThatEndedWhileNobodyListenedIsToldOfLater) {
  const EffectId effect = begin(agent(listener, true), to);
  ASSERT_EQ(outcome_of(effect).ended, Ended::Done);
  runner.reset();
  tmux("send-keys -t " + session() + " stop Enter");
  ASSERT_TRUE(becomes_true(
      [&] { return std::filesystem::exists(home.at("home/runs/" + to_text(effect) + "/exit")); }));
  restart();
  const std::optional<AgentGone> gone = next<AgentGone>();
  ASSERT_TRUE(gone);
  EXPECT_EQ(gone->outcome.exit_code, 3);
}

TEST_F(AgentTest, AStartThatADaemonDidNotSeeTheEndOfIsObserved) {
  const EffectId effect = begin(agent(listener, true), to);
  ASSERT_TRUE(becomes_true([&] {
    return std::filesystem::exists(home.at("home/runs/" + to_text(effect) + ".start/started"));
  }));
  restart();
  const engine::Observation seen = observe(effect);
  if (std::holds_alternative<engine::StillRunning>(seen)) {
    EXPECT_EQ(outcome_of(effect).ended, Ended::Done);
  } else {
    EXPECT_EQ(seen, engine::Observation{engine::Finished{}});
  }
  EXPECT_TRUE(becomes_true([&] { return said() == "Fix it.\n"; }));
  EXPECT_EQ(play(Send{work, "m1", "stop"}).exit_code, 0);
  EXPECT_TRUE(next<AgentGone>());
}

TEST_F(AgentTest, AKilledServerIsTheEndOfItsSessions) {
  const EffectId effect = begin(agent("echo ready; sleep 300", true), to);
  ASSERT_EQ(outcome_of(effect).ended, Ended::Done);
  tmux("kill-server");
  const std::optional<AgentGone> gone = next<AgentGone>();
  ASSERT_TRUE(gone);
  EXPECT_EQ(gone->outcome.error, "ended on request");
  EXPECT_TRUE(marked_with("REEVE_TEST_HOME=" + home.path())->empty());
}

TEST_F(AgentTest, AFolderThatIsNotThereEndsASessionAtOnce) {
  Spawn spawn = agent(listener, true);
  spawn.workspace = home.at("nowhere");
  begin(spawn, to);
  const std::optional<AgentGone> gone = next<AgentGone>();
  ASSERT_TRUE(gone);
  EXPECT_EQ(gone->outcome.ended, Ended::Failed);
  EXPECT_EQ(gone->outcome.error,
            "cannot work in " + home.at("nowhere") + ": No such file or directory");
}

}  // namespace
}  // namespace reeve::adapters::testing
