#include "tools/runbook_command.h"

#include "runbook/load.h"
#include "tools/bash_check.h"
#include "tools/runbook_examples.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

namespace reeve::tools {
namespace {

struct Said {
  int code = -1;
  std::string out;
  std::string err;
};

// A project with runbooks, gone at the end.
class RunbookCommand : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = ::testing::TempDir() + "reeve_runbooks_XXXXXX";
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    root_ = pattern;
    std::filesystem::create_directories(root_ / ".reeve/runbooks");
  }
  void TearDown() override { std::filesystem::remove_all(root_); }

  void write(const std::string& name, std::string_view text) const {
    std::ofstream(root_ / ".reeve/runbooks" / name) << text;
  }
  Said say(const std::vector<std::string_view>& words, bool dry = false) const {
    Said said;
    const Sink out = [&](std::string_view line) { said.out += std::string(line) + "\n"; };
    const Sink err = [&](std::string_view line) { said.err += std::string(line) + "\n"; };
    const RunbookPlace place{root_.string(), "demo"};
    said.code =
        dry ? dry_run_command(words, place, out, err) : runbook_command(words, place, out, err);
    return said;
  }
  Said dry(const std::vector<std::string_view>& words) const { return say(words, true); }

  std::filesystem::path root_;
};

constexpr std::string_view release = R"([command.release]
args = "<version> [-n/--note <text>]"
defaults = { note = "" }
run  = { pipeline = "release" }

[pipeline.release]
inputs = ["version", "note", "tag"]
defaults = { tag = "v{version}" }

[[pipeline.release.phase]]
name = "build"
run  = """
make V={version}
echo {note} {id}
"""
pre  = ["clean"]
retry = { max = 1, delay = "5s" }

[[pipeline.release.phase]]
name = "publish"
lock = "registry"
run  = "git push origin {tag}"

[guard.clean]
condition = "test -z {note}"

[lock.registry]
)";

TEST_F(RunbookCommand, CheckIsContentWithWhatIsRight) {
  write("release.toml", release);
  EXPECT_EQ(say({"check"}).out, "1 file, 4 definitions, no mistakes\n");
  EXPECT_EQ(say({"check"}).code, 0);
  const Said json = say({"check", "--json"});
  EXPECT_TRUE(json.out.starts_with(
      R"({"success":true,"command":"runbook check","data":{"files":[".reeve/runbooks/release.toml"],"definitions":4,"hash":")"))
      << json.out;
}

TEST_F(RunbookCommand, CheckTellsEveryMistakeAndFails) {
  write("a.toml", "[queue.bugs]\nmax_atempts = 3\n[guard.g]\ncondition = \"if\"\n");
  write("b.toml", "[queue.bugs]\n");
  const Said said = say({"check"});
  EXPECT_EQ(said.code, 1);
  EXPECT_EQ(said.out,
            ".reeve/runbooks/a.toml:2:1: unknown key `max_atempts` in [queue.bugs]; did you mean "
            "`max_attempts`?\n"
            ".reeve/runbooks/a.toml:4:14: `condition` in [guard.g]: bash cannot read this: syntax "
            "error: unexpected end of file\n"
            ".reeve/runbooks/b.toml:1:8: queue `bugs` is defined twice: first at "
            ".reeve/runbooks/a.toml:1:8\n");
  EXPECT_EQ(said.err, "reeve runbook check: 3 mistakes; nothing was loaded\n");
  const Said json = say({"check",
                         (root_ / ".reeve/runbooks/b.toml").string(),
                         (root_ / "none.toml").string(),
                         "--json"});
  EXPECT_EQ(json.code, 1);
  EXPECT_EQ(
      json.out,
      R"({"success":false,"command":"runbook check","error":{"code":"RUNBOOK_WRONG","message":"one mistake","details":{"mistakes":[{"file":")" +
          (root_ / "none.toml").string() +
          R"(","line":1,"column":1,"message":"cannot be read: No such file or directory; until it can be, only the syntax of the other files is checked"}]}}})"
          "\n");
}

TEST_F(RunbookCommand, ListAndShowSayWhatIsThere) {
  write("release.toml", release);
  EXPECT_EQ(say({"list"}).out,
            "command    release <version> [-n/--note <text>]  .reeve/runbooks/release.toml:1\n"
            "guard      clean                                 .reeve/runbooks/release.toml:24\n"
            "lock       registry                              .reeve/runbooks/release.toml:27\n"
            "pipeline   release                               .reeve/runbooks/release.toml:6\n");
  EXPECT_EQ(say({"show", "clean"}).out,
            "# guard.clean, .reeve/runbooks/release.toml:24\n[guard.clean]\ncondition = \"test -z "
            "{note}\"\n");
  EXPECT_NE(say({"show", "pipeline.release"}).out.find("name = \"publish\""), std::string::npos);
  EXPECT_EQ(say({"show", "cleen"}).err,
            "reeve runbook show: nothing is called `cleen`; did you mean `clean`?\n");
  EXPECT_EQ(say({"show", "cleen"}).code, 3);
}

TEST_F(RunbookCommand, EveryExampleIsARightRunbook) {
  for (const RunbookExample& example : runbook_examples()) {
    const std::vector<runbook::File> files = {{"example.toml", std::string(example.text)}};
    const auto loaded = runbook::load(files, "/p", {bash_check, {}});
    ASSERT_TRUE(loaded) << example.name << ": " << to_text(loaded.error()[0]);
    EXPECT_EQ(say({"example", example.name}).out, example.text);
  }
  EXPECT_EQ(say({"example", "pipelin"}).err,
            "reeve runbook example: there is no example `pipelin`; did you mean `pipeline`?\n");
}

TEST_F(RunbookCommand, TheExamplesAreListedForPeopleProgramsAndScripts) {
  EXPECT_TRUE(say({"example"}).out.starts_with("pipeline   two phases"));
  const Said json = say({"example", "--json"});
  EXPECT_TRUE(json.out.starts_with(
      R"({"success":true,"command":"runbook example","data":{"examples":[{"name":"pipeline","about":"two)"))
      << json.out;
  EXPECT_EQ(std::ranges::count(json.out, '\n'), 1);
  EXPECT_TRUE(say({"example", "--quiet"}).out.starts_with("pipeline\nqueue\n"));
}

TEST_F(RunbookCommand, AFileThatCannotBeReadIsWhyTheOthersAreNotLookedAt) {
  write("a.toml", "[queue.q]\nmax_atempts = 1\n");
  std::filesystem::create_directory(root_ / ".reeve/runbooks/b.toml");
  EXPECT_NE(
      say({"check"}).out.find("; until it can be, only the syntax of the other files is checked"),
      std::string::npos)
      << say({"check"}).out;
}

TEST_F(RunbookCommand, TheSyntaxOfTheOthersIsToldAlsoIfAFileCannotBeRead) {
  std::filesystem::create_symlink("nowhere", root_ / ".reeve/runbooks/x.toml");
  write("y.toml", "[a\n");
  const std::string told = say({"check"}).out;
  EXPECT_NE(told.find("x.toml:1:1: cannot be read"), std::string::npos) << told;
  EXPECT_NE(told.find("y.toml:1:"), std::string::npos) << told;
}

TEST_F(RunbookCommand, MisuseIsAnsweredWithTheUsage) {
  EXPECT_EQ(say({}).code, 2);
  EXPECT_EQ(say({"chekc"}).err, "reeve runbook: unknown command chekc; did you mean `check`?\n");
  EXPECT_EQ(say({"list", "--all"}).code, 2);
  EXPECT_EQ(say({"show"}).code, 2);
  EXPECT_EQ(say({"--help"}).code, 0);
}

TEST_F(RunbookCommand, ADryRunShowsEveryTextWithItsValues) {
  write("release.toml", release);
  EXPECT_EQ(dry({"release", "1.2", "--note", "it's $(new)", "--dry-run"}).out,
            "release would start pipeline release\n"
            "  {version}   1.2\n"
            "  {note}      it's $(new)\n"
            "  {tag}       v1.2\n"
            "phase build\n"
            "  pre         clean: test -z 'it'\\''s $(new)'\n"
            "  checked     again every 10s\n"
            "  run         make V=1.2\n"
            "              echo 'it'\\''s $(new)' <id>\n"
            "  retry       once, after 5s\n"
            "  on_fail     escalate\n"
            "  on_unknown  ask\n"
            "  next        publish\n"
            "phase publish\n"
            "  lock        registry\n"
            "  run         git push origin v1.2\n"
            "  on_fail     escalate\n"
            "  on_unknown  ask\n"
            "  next        done\n");
  const Said json = dry({"release", "1.2", "--json", "--dry-run"});
  EXPECT_EQ(json.code, 0);
  EXPECT_TRUE(json.out.starts_with(
      R"({"success":true,"command":"run","data":{"summary":"release would start pipeline release","values":{"version":"1.2","note":"","tag":"v1.2"},"lines":[],"phases":[{"name":"build","lines":[{"what":"pre",)"))
      << json.out;
}

TEST_F(RunbookCommand, ADryRunTellsWhatAChildGetsFromItsParent) {
  write("all.toml", R"toml([command.all]
args = "<branch> <v>"
run = { pipeline = "all" }
[pipeline.all]
inputs = ["branch", "v"]
[[pipeline.all.phase]]
name = "one"
pipeline = "kid"
inputs = { v = "{v}-x" }
[[pipeline.all.phase]]
name = "two"
parallel = ["kid2"]
[[pipeline.all.phase]]
name = "each"
for_each = "[1]"
pipeline = "kid3"
[pipeline.kid]
inputs = ["branch", "v", "w"]
defaults = { branch = "kid-default", w = "{branch}/{v}" }
[[pipeline.kid.phase]]
name = "say"
run = "echo kid {branch} {v} {w}"
[pipeline.kid2]
inputs = ["branch", "v"]
[[pipeline.kid2.phase]]
name = "say"
run = "echo {branch} {v}"
[pipeline.kid3]
inputs = ["v", "branch"]
[[pipeline.kid3.phase]]
name = "say"
run = "echo {branch} {v}"
)toml");
  const std::string out = dry({"all", "B", "V"}).out;
  EXPECT_NE(out.find("child phase say: echo kid B V-x B/V-x\n"), std::string::npos) << out;
  EXPECT_NE(out.find("kid2: say\n  child phase say: echo B V\n"), std::string::npos) << out;
  EXPECT_NE(out.find("kid3: say\n  child phase say: echo B <v>\n"), std::string::npos) << out;
}

TEST_F(RunbookCommand, ADryRunFitsValuesToTheQuotesAroundThem) {
  write("all.toml", R"toml([command.all]
args = "<x>"
run = """
echo {x} "y={x}" 'z={x}' $'w={x}' "$(echo {x})" `echo "{x}"` ${x} {{x}}
cat <<E
{x}
E
"""
)toml");
  const std::string out = dry({"all", "a \"b' $c"}).out;
  for (const char* part : {R"(echo 'a "b'\'' $c' "y=a \"b' \$c" )",
                           R"( 'z=a "b'\'' $c' $'w=a "b\' $c' )",
                           R"_( "$(echo 'a "b'\'' $c')" `echo "a \\"b' \\$c"` ${x} {x})_",
                           R"( a "b' \$c)"}) {
    EXPECT_NE(out.find(part), std::string::npos) << part << "\n" << out;
  }
}

TEST_F(RunbookCommand, TheListHasHooksAndNotifications) {
  write("release.toml", R"toml([events]
"pipeline:complete" = "true"
"ci:*:green" = "true"
[notify]
on = ["pipeline:failed", "escalate"]
)toml");
  EXPECT_EQ(say({"list"}).out,
            "events     ci:*:green                 .reeve/runbooks/release.toml:3\n"
            "events     pipeline:complete          .reeve/runbooks/release.toml:2\n"
            "notify     pipeline:failed, escalate  .reeve/runbooks/release.toml:4\n");
  EXPECT_EQ(say({"show", "events.ci:*:green"}).out,
            "# events.ci:*:green, .reeve/runbooks/release.toml:3\n\"ci:*:green\" = \"true\"\n");
}

TEST_F(RunbookCommand, ADryRunTellsHowLongHowOftenAndWhatItWouldStart) {
  write("all.toml", R"([command.all]
run = { pipeline = "all" }
[pipeline.all]
workspace = { git = true, branch = "work" }
[[pipeline.all.phase]]
name = "checks"
parallel = ["lint", "unit"]
join = "first_failure"
[[pipeline.all.phase]]
name = "build"
run = "make"
post = ["green"]
timeout = "10m"
retry = { max = 2, delay = "30s" }
on_unknown = "retry"
[[pipeline.all.phase]]
name = "merge"
strategy = "land"
[guard.green]
condition = "ci"
retry = { max = 3, interval = "5s" }
timeout = "1h"
on_timeout = "fail"
[strategy.land]
on_exhaust = "fail"
[[strategy.land.attempt]]
name = "replay"
merge = "rebase"
into = "main"
timeout = "2m"
[pipeline.lint]
[[pipeline.lint.phase]]
name = "style"
run = "true"
[[pipeline.lint.phase]]
name = "types"
run = "true"
[pipeline.unit]
[[pipeline.unit.phase]]
name = "test"
run = "true"
)");
  EXPECT_EQ(dry({"all"}).out,
            "all would start pipeline all\n"
            "  workspace   git worktree, branch work\n"
            "phase checks\n"
            "  parallel    lint, unit\n"
            "  child       lint: style, types\n"
            "  child phase style: true\n"
            "  child phase types: true\n"
            "  child       unit: test\n"
            "  child phase test: true\n"
            "  join        first_failure\n"
            "  on_fail     escalate\n"
            "  on_unknown  ask\n"
            "  next        build\n"
            "phase build\n"
            "  run         make\n"
            "  timeout     10m\n"
            "  post        green: ci\n"
            "  checked     again every 5s, 3 times; timeout 1h: fail\n"
            "  retry       2 times, after 30s\n"
            "  on_fail     escalate\n"
            "  on_unknown  retry\n"
            "  next        merge\n"
            "phase merge\n"
            "  strategy    land\n"
            "  attempt     replay: rebase work into main\n"
            "  timeout     2m\n"
            "  on_exhaust  fail\n"
            "  on_fail     escalate\n"
            "  on_unknown  ask\n"
            "  next        done\n");
}

TEST_F(RunbookCommand, ADryRunOfOtherKinds) {
  write("x.toml",
        "[command.say]\nargs = \"<what>\"\nrun = \"echo {what}\"\n"
        "[command.push]\nargs = \"<bug>\"\nrun = { queue = \"bugs\" }\n[queue.bugs]\n"
        "[command.ask]\nargs = \"<bug>\"\nrun = { agent = \"x\" }\n"
        "[agent.x]\ncommand = \"cat\"\nprompt = \"Fix {bug}\"\n");
  EXPECT_EQ(dry({"say", "a b"}).out,
            "say would run in this terminal\n  {what}      a b\n  run         echo 'a b'\n");
  EXPECT_EQ(dry({"push", "4\"2"}).out,
            "push would push an item to queue bugs\n  {bug}       4\"2\n"
            "  item        {\"bug\":\"4\\\"2\"}\n");
  EXPECT_EQ(dry({"ask", "7"}).out,
            "ask would start agent x\n  {bug}       7\n"
            "  agent       x (generic, in a session): cat\n  prompt      Fix 7\n"
            "  idle_timeout 3m\n  on_exit     done\n  on_error    escalate\n"
            "  on_permission escalate\n");
}

TEST_F(RunbookCommand, ADryRunTellsWhatFollowsOnWhatAndWhatIsOnlyReachedOtherwise) {
  write("x.toml", R"([command.go]
args = "<b>"
run = { pipeline = "go" }
[pipeline.go]
inputs = ["b"]
on_cancel = "tidy"
[[pipeline.go.phase]]
name = "work"
agent = "x"
pre = ["green"]
on_fail = "mend"
next = "land"
[[pipeline.go.phase]]
name = "tidy"
run = "true"
[[pipeline.go.phase]]
name = "mend"
run = "true"
next = "land"
[[pipeline.go.phase]]
name = "land"
strategy = "land"
[guard.green]
condition = "ci"
wake_on = ["ci:{b}:green"]
retry = { max = 1, interval = "5s" }
[strategy.land]
[[strategy.land.attempt]]
name = "one"
run = "true"
fallback_on = ["conflict", "timeout"]
[agent.x]
command = "cat"
timeout = "1h"
progress_timeout = "30m"
on_idle = ["nudge:2", "restart", "escalate"]
on_exit = "fail"
checkpoint = { every = "10m", run = "git commit -qam {b}" }
)");
  const std::string told = dry({"go", "main"}).out;
  for (const std::string_view line : {"  on_cancel   phase tidy\n",
                                      "  checked     again every 5s, once\n",
                                      "  wake_on     ci:main:green\n",
                                      "  timeout     1h\n",
                                      "  on_idle     nudge 2 times, restart once, escalate\n",
                                      "  progress    within 30m\n",
                                      "  on_exit     fail\n",
                                      "  on_error    the phase fails\n",
                                      "  checkpoint  every 10m: git commit -qam main\n",
                                      "  fallback_on conflict, timeout\n",
                                      "phase tidy\n  reached     only if it is cancelled",
                                      "phase mend\n  reached     only by on_fail",
                                      "phase land\n  strategy"}) {
    EXPECT_NE(told.find(line), std::string::npos) << line << told;
  }
}

TEST_F(RunbookCommand, ADryRunWithWrongWordsSaysHowToCallIt) {
  write("release.toml", release);
  EXPECT_EQ(
      dry({"release"}).err,
      "reeve run: missing <version>\nusage: reeve run release <version> [-n/--note <text>]\n");
  EXPECT_EQ(dry({"release"}).code, 2);
  EXPECT_EQ(dry({"relaese", "1"}).err,
            "reeve run: there is no command `relaese`; did you mean `release`?\n");
  EXPECT_EQ(dry({"relaese", "1"}).code, 3);
  EXPECT_EQ(dry({}).code, 2);
}

}  // namespace
}  // namespace reeve::tools
