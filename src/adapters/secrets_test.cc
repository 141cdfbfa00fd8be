#include "adapters/secrets.h"

#include "adapters/redactor.h"
#include "adapters/runner_testing.h"

#include <fcntl.h>
#include <filesystem>
#include <sys/stat.h>

namespace reeve::adapters::testing {
namespace {

using namespace std::string_view_literals;

TEST(Redactor, ASecretIsNotShownHoweverItComes) {
  const std::string text = "a hunter2hunter2 b hunter2 hunter2hunter c";
  const std::string plain = "a *** b hunter2 hunter2hunter c";
  for (std::size_t size = 1; size <= text.size(); ++size) {
    Redactor redactor({"hunter2hunter2", "abc"});
    std::string shown;
    for (std::size_t at = 0; at < text.size(); at += size) {
      shown += redactor.pass(text.substr(at, size));
    }
    shown += redactor.rest();
    EXPECT_EQ(shown, plain) << size;
    EXPECT_EQ(redactor.whole(text), plain);
  }
}

TEST(Redactor, TheLongestThatFitsCountsAndLinesAreSecretToo) {
  const Redactor redactor({"word", "wordplay", "first line\nsecond line\n", "x"});
  EXPECT_EQ(redactor.whole("word wordplay wordplan x"), "*** *** ***plan x");
  EXPECT_EQ(redactor.whole("> first line\n> second line\n"), "> ***\n> ***\n");
}

struct SecretsTest : RunnerTest {
  std::string path = home.at("home/secrets/abc");

  void keep(const std::string& name, std::string_view text, int hours = 0) const {
    home.write("home/secrets/" + name, text);
    const timespec time{std::time(nullptr) - hours * 3600, 0};
    const timespec times[2] = {time, time};
    utimensat(AT_FDCWD, home.at("home/secrets/" + name).c_str(), times, 0);
  }
  bool is_kept(const std::string& name) const {
    return std::filesystem::exists(home.at("home/secrets/" + name));
  }
  Shell step(const std::string& text, const std::string& names = "URL TOKEN") {
    Shell shell_step = std::get<Shell>(shell(text).effect.what);
    shell_step.environment.emplace_back("REEVE_SECRETS", path);
    shell_step.environment.emplace_back("REEVE_PASSED", names);
    return shell_step;
  }
};

constexpr std::string_view passed = "pURL=http://tracker\0sTOKEN=hunter2hunter2\0"sv;

TEST_F(SecretsTest, ASecretReachesAStepAndNothingThatIsKept) {
  keep("abc", passed);
  const EffectId effect =
      begin(step("echo $URL ${#TOKEN} $TOKEN; echo $TOKEN >&2; printf hunter2; sleep 0.3; "
                 "printf 'hunter2\\n'; echo key=${#TOKEN} >> $REEVE_OUTPUT"));
  const Outcome outcome = outcome_of(effect);
  EXPECT_EQ(outcome.output, "*** 14 ***\n***\n***\n");
  EXPECT_EQ(outcome.values, (Variables{{"key", "14"}}));
  const std::string log =
      home.read("home/logs/" + reeve::to_text(pipeline) + "/work#1." + to_text(effect) + ".log");
  EXPECT_EQ(log, outcome.output);
}

// The word of another run within the same one is not for this one, and not for its log either.
TEST_F(SecretsTest, OfWhatTheFileHasAStepSeesWhatItsRunMay) {
  keep("abc", passed);
  EXPECT_EQ(play(step("echo [${#URL}] [$TOKEN] [$REEVE_PASSED] hunter2hunter2", "URL")).output,
            "[14] [] [] ***\n");
  EXPECT_EQ(play(step("echo [$URL] [$TOKEN]", "")).output, "[] []\n");
  EXPECT_EQ(play(step("echo [$URL] [$TOKEN]", "UR TOKENS OKEN")).output, "[] []\n");
}

TEST_F(SecretsTest, ASessionKeepsItsSecretsAsWell) {
  keep("abc", passed);
  Spawn spawn;
  spawn.work = WorkId{9};
  spawn.kind = "generic";
  spawn.command = "echo token $TOKEN; sleep 300";
  spawn.workspace = root;
  spawn.environment = {{"PATH", "/usr/local/bin:/usr/bin:/bin"},
                       {"REEVE_TEST_HOME", home.path()},
                       {"REEVE_SECRETS", path},
                       {"REEVE_PASSED", "TOKEN"}};
  const EffectId effect = begin(spawn, task::Address{spawn.work, spawn.work});
  const std::string log =
      "home/logs/" + reeve::to_text(spawn.work) + "/agent." + to_text(effect) + ".log";
  EXPECT_TRUE(
      becomes_true([&] { return home.read(log).find("token ***") != std::string::npos; }, 20s))
      << home.read(log);
  play(Kill{spawn.work, Duration{100}});
}

TEST_F(SecretsTest, ThePhasesOwnValueAndOursComeAfterWhatIsLetThrough) {
  keep("abc", "pCI=passed\0pREEVE_PHASE=passed\0pREEVE_HOME=passed\0pURL=u\0"sv);
  Shell shell_step =
      step("echo $CI $REEVE_PHASE $URL; [ $REEVE_HOME = passed ]", "CI REEVE_PHASE REEVE_HOME URL");
  shell_step.environment.emplace_back("CI", "own");
  shell_step.environment.emplace_back("REEVE_PHASE", "work");
  const Outcome outcome = play(shell_step);
  EXPECT_EQ(outcome.output, "own work u\n");
  EXPECT_EQ(outcome.exit_code, 1);
}

TEST_F(SecretsTest, AFileThatNothingSpeaksOfGoesAfterAnHour) {
  for (const char* name : {"pipeline", "outbox", "nobody"}) keep(name, passed, 2);
  keep("young", passed);
  pipeline::Pipeline value = *state.pipelines.pipelines.find(pipeline);
  pipeline::Begin origin = *value.origin;
  origin.environment = {{"REEVE_SECRETS", home.at("home/secrets/pipeline")}};
  value.origin = Boxed<pipeline::Begin>(origin);
  state.pipelines.pipelines.set(pipeline, value);
  path = home.at("home/secrets/outbox");
  const Start start = start_of(step("true"));
  state.outbox.set(start.id, {start.effect, {}});
  restart();
  EXPECT_FALSE(is_kept("nobody"));
  for (const char* name : {"pipeline", "outbox", "young"}) EXPECT_TRUE(is_kept(name)) << name;
  state.outbox.erase(start.id);
  restart();
  EXPECT_FALSE(is_kept("outbox"));
  EXPECT_TRUE(is_kept("pipeline"));
}

}  // namespace
}  // namespace reeve::adapters::testing
