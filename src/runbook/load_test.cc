#include "runbook/load.h"

#include "runbook/bash_testing.h"
#include "runbook/document.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sys/stat.h>

namespace reeve::runbook {
namespace {

using namespace std::chrono_literals;

const std::filesystem::path runbooks = REEVE_RUNBOOKS;

std::string contents_of(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::expected<Runbook, Mistakes> loaded(const std::vector<File>& files) {
  return load(files, "/project", {check_with_bash, {}});
}

std::string mistakes_in(const std::vector<File>& files) {
  const auto result = loaded(files);
  std::string text;
  if (result) return text;
  for (const Mistake& mistake : result.error()) text += to_text(mistake) + "\n";
  return text;
}

// What is said of an agent that reads its prompt from this file in the first phase of a pipeline,
// unless told otherwise. The only file there is is `/project/there.txt`.
std::string told_of_prompt(const std::string& prompt_file,
                           const std::string& pipeline = "",
                           const std::string& phase = "",
                           const std::string& agent = "") {
  const std::string text =
      "[pipeline.go]\n" + pipeline +
      "[[pipeline.go.phase]]\nname = \"work\"\nagent = \"helper\"\n" + phase +
      "[agent.helper]\nkind = \"generic\"\ncommand = \"cat\"\nprompt_file = \"" + prompt_file +
      "\"\n" + agent;
  Outside outside{check_with_bash};
  outside.is_file = [](const std::string& path) { return path == "/project/there.txt"; };
  const std::vector<File> files{{"go.toml", text}};
  const auto result = load(files, "/project", outside);
  return result ? "" : result.error().front().message;
}

TEST(Load, APromptFileThatIsNotThereIsAMistake) {
  EXPECT_EQ(told_of_prompt("there.txt"), "");
  EXPECT_EQ(told_of_prompt("/project/there.txt"), "");
  EXPECT_EQ(told_of_prompt("here.txt"),
            "`prompt_file` in [agent.helper]: there is no file /project/here.txt");
  EXPECT_EQ(told_of_prompt("there.txt", "", "", "cwd = \"sub\"\n"),
            "`prompt_file` in [agent.helper]: there is no file /project/sub/there.txt");
}

TEST(Load, APromptFileThatMayComeLaterIsNone) {
  EXPECT_EQ(told_of_prompt("{name}.txt", "inputs = [\"name\"]\n"), "");
  EXPECT_EQ(told_of_prompt("here.txt", "workspace = \"worktree\"\n"), "");
  EXPECT_EQ(told_of_prompt("here.txt", "", "cwd = \"elsewhere\"\n"), "");
  EXPECT_EQ(told_of_prompt("here.txt",
                           "",
                           "pre = [\"ready\"]\n",
                           "[guard.ready]\ncondition = \"test -e here.txt\"\n"),
            "");
  EXPECT_EQ(told_of_prompt("here.txt",
                           "[[pipeline.go.phase]]\nname = \"first\"\nrun = \"touch here.txt\"\n"),
            "");
}

// A wrong runbook is a file, or a folder of files, and beside it what is to be said about it.
TEST(Load, EveryWrongRunbookIsToldWhatIsWrongAndWhere) {
  int count = 0;
  for (const auto& entry : std::filesystem::directory_iterator(runbooks / "wrong")) {
    if (entry.path().extension() == ".txt") continue;
    std::vector<File> files;
    if (entry.is_directory()) {
      for (const auto& each : std::filesystem::directory_iterator(entry.path())) {
        files.push_back({each.path().filename().string(), contents_of(each.path())});
      }
    } else {
      files.push_back({entry.path().filename().string(), contents_of(entry.path())});
    }
    std::filesystem::path expected = entry.path();
    expected.replace_extension(".txt");
    const std::string text = contents_of(expected);
    EXPECT_NE(text, "") << expected;
    EXPECT_EQ(mistakes_in(files), text) << entry.path();
    ++count;
  }
  EXPECT_GE(count, 40);
}

TEST(Load, EveryRightRunbookLoads) {
  for (const auto& entry : std::filesystem::directory_iterator(runbooks / "right")) {
    EXPECT_EQ(mistakes_in({{entry.path().filename().string(), contents_of(entry.path())}}), "");
  }
}

// ── Single promises ──

Runbook good(const std::string& text) {
  auto result = loaded({{"a.toml", text}});
  if (result) return *std::move(result);
  for (const Mistake& mistake : result.error()) ADD_FAILURE() << to_text(mistake);
  return {};
}

TEST(Load, AnAliasSaysTheSameInOtherWords) {
  EXPECT_EQ(good("[queue.q]\nmax_retries = 2\n").set.queues.find("q")->max_attempts, 3U);
  EXPECT_EQ(*good("[lock.l]\nheartbeat = \"30s\"\ntimeout = \"5m\"\n").set.locks.find("l"),
            (lock::Config{90s, 5min, false}));
  EXPECT_EQ(*good("[semaphore.s]\nmax = 2\nheartbeat = \"1s\"\n").set.semaphores.find("s"),
            (semaphore::Config{2, 3s}));
  const std::string rest = "source = \"true\"\nresponse = \"escalate\"\n";
  EXPECT_TRUE(good("[watcher.w]\n" + rest).monitors.contains("w"));
  EXPECT_TRUE(good("[scanner.w]\n" + rest).monitors.contains("w"));
  const Runbook task = good(
      "[pipeline.p]\n[[pipeline.p.phase]]\nname = \"a\"\ntask = \"x\"\n"
      "[agent.x]\ncommand = \"true\"\n");
  EXPECT_EQ(task.set.pipelines.find("p")->phases[0].action,
            (definition::Action{definition::RunAgent{"x"}}));
}

TEST(Load, RetryMayBeWrittenAsOnFail) {
  const Runbook runbook = good(
      "[pipeline.p]\n[[pipeline.p.phase]]\nname = \"a\"\nrun = \"true\"\n"
      "on_fail = \"retry:2:30s\"\n");
  EXPECT_EQ(runbook.set.pipelines.find("p")->phases[0].retry, (definition::Retry{2, 30s}));
  EXPECT_EQ(runbook.set.pipelines.find("p")->phases[0].on_fail, std::nullopt);
}

TEST(Load, APhaseMayEndThePipeline) {
  const Runbook runbook = good(
      "[pipeline.p]\non_fail = \"b\"\n[[pipeline.p.phase]]\nname = \"a\"\nrun = \"true\"\n"
      "next = \"end\"\n[[pipeline.p.phase]]\nname = \"b\"\nrun = \"true\"\n");
  EXPECT_TRUE(runbook.set.pipelines.find("p")->phases[0].ends);
  EXPECT_EQ(runbook.set.pipelines.find("p")->phases[0].next, "");
}

TEST(Load, AnAgentThatIsRunToCompletionMayBeSilentUnlessItsLimitIsWritten) {
  const Runbook runbook = good(
      "[agent.a]\ncommand = \"true\"\nmode = \"print\"\n"
      "[agent.b]\ncommand = \"true\"\nmode = \"print\"\nidle_timeout = \"3m\"\n"
      "[agent.c]\ncommand = \"true\"\n");
  EXPECT_EQ(runbook.set.agents.find("a")->idle_timeout, Duration::max());
  EXPECT_EQ(runbook.set.agents.find("b")->idle_timeout, 3min);
  EXPECT_EQ(runbook.set.agents.find("c")->idle_timeout, 3min);
}

TEST(Load, WhatAllProjectsShareIsDefinedByItsNameWithTwoSlashes) {
  const Runbook runbook = good(
      "[lock.\"//a\"]\nmax_hold = \"5m\"\n[semaphore.\"//b\"]\ncapacity = 3\n"
      "[queue.\"//c\"]\nmax_attempts = 7\n");
  EXPECT_EQ(runbook.set.locks.find("//a")->max_hold, 5min);
  EXPECT_EQ(runbook.set.semaphores.find("//b")->capacity, 3U);
  EXPECT_EQ(runbook.set.queues.find("//c")->max_attempts, 7U);
  EXPECT_EQ(mistakes_in({{"a.toml", "[guard.\"//a\"]\ncondition = \"true\"\n"}}),
            "a.toml:1:8: `//a`: a guard belongs to its project; only locks, semaphores and queues "
            "can be shared by all projects\n");
}

TEST(Load, DefaultsKeepTheOrderOfTheFile) {
  const Runbook runbook = good(
      "[pipeline.p]\ninputs = [\"a\", \"z\"]\ndefaults = { z = \"1\", a = \"{z}\" }\n"
      "[[pipeline.p.phase]]\nname = \"x\"\nrun = \"true\"\n");
  EXPECT_EQ(runbook.set.pipelines.find("p")->defaults, (definition::Map{{"z", "1"}, {"a", "{z}"}}));
}

TEST(Load, TheHashStandsForNamesBytesAndZones) {
  const auto hash = [](const std::vector<File>& files, const ReadZone& zone = {}) {
    return load(files, "/p", {{}, zone})->set.hash;
  };
  const File a{"a.toml", "[queue.a]\n"};
  const File b{"b.toml", "[queue.b]\n"};
  EXPECT_EQ(hash({a, b}), hash({b, a}));
  EXPECT_EQ(hash({a}).size(), 32U);
  EXPECT_NE(hash({a}), hash({{"a.toml", "[queue.a]\n\n"}}));
  EXPECT_NE(hash({a}), hash({{"c.toml", "[queue.a]\n"}}));
  const File cron{"c.toml", "[cron.c]\ninterval = \"1m\"\ntimezone = \"X\"\nrun = \"true\"\n"};
  const auto zone_at = [](int hours) {
    return [hours](const std::string& name) -> Result<time_zone::Zone> {
      const time_zone::Seconds offset{hours * 3600};
      return time_zone::Zone{name, offset, {}, {offset, {}}};
    };
  };
  EXPECT_EQ(hash({cron}, zone_at(1)), hash({cron}, zone_at(1)));
  EXPECT_NE(hash({cron}, zone_at(1)), hash({cron}, zone_at(2)));
}

TEST(Load, ASourceThatDoesNotSayHowOftenIsAskedAsOftenAsTheSettingsSay) {
  const auto load_with = [](std::string more, Duration interval) {
    const File file{"a.toml", "[queue.a]\nsource = \"echo []\"\n" + more};
    return load(std::vector{file}, "/p", {.poll_interval = interval})->set;
  };
  const auto poll = [](const definition::Set& set) { return set.sources.find("a")->poll; };
  EXPECT_EQ(poll(load_with("", 5s)), 5s);
  EXPECT_EQ(poll(load_with("poll = \"9s\"\n", 5s)), 9s);
  // Another set, or the daemon would go on with the one it has.
  EXPECT_NE(load_with("", 5s).hash, load_with("", 6s).hash);
  EXPECT_EQ(load_with("poll = \"9s\"\n", 5s).hash, load_with("poll = \"9s\"\n", 6s).hash);
}

TEST(Load, DeadLettersAreOfTheProjectUnlessTheyAreShared) {
  const Runbook runbook =
      good("[queue.a]\ndead_letter = \"b\"\n[queue.b]\ndead_letter = \"//all\"\n");
  const definition::Set set = set_for(runbook, ProjectNo{7});
  EXPECT_EQ(set.queues.find("a")->dead_letter, (QueueName{{7}, "b"}));
  EXPECT_EQ(set.queues.find("b")->dead_letter, (QueueName{shared_project, "all"}));
}

TEST(Load, NothingIsFoundWhereNothingIs) {
  EXPECT_EQ(discover("/nowhere"), std::vector<std::string>{});
  const std::vector<std::string> paths = {"/nowhere/a.toml"};
  const auto files = read_files(paths);
  ASSERT_FALSE(files);
  EXPECT_EQ(to_text(files.error()[0]),
            "/nowhere/a.toml:1:1: cannot be read: No such file or directory");
  EXPECT_TRUE(loaded({})->defined.empty());
}

TEST(Load, WhatIsNoFileIsAMistakeAndIsNotWaitedFor) {
  std::string folder = std::filesystem::temp_directory_path() / "reeve-load-XXXXXX";
  ASSERT_NE(::mkdtemp(folder.data()), nullptr);
  const std::string runbooks_here = folder + "/.reeve/runbooks";
  std::filesystem::create_directories(runbooks_here + "/b.toml");
  ASSERT_EQ(::mkfifo((runbooks_here + "/a.toml").c_str(), 0600), 0);
  std::ofstream(runbooks_here + "/c.toml") << std::string((std::size_t{4} << 20) + 1, '\n');
  const auto files = read_files(discover(folder));
  std::filesystem::remove_all(folder);
  ASSERT_FALSE(files);
  std::string text;
  for (const Mistake& mistake : files.error()) text += to_text(mistake) + "\n";
  EXPECT_EQ(text,
            runbooks_here + "/a.toml:1:1: cannot be read: it is no regular file\n" + runbooks_here +
                "/b.toml:1:1: cannot be read: it is no regular file\n" + runbooks_here +
                "/c.toml:1:1: is larger than 4 MiB, which is no runbook\n");
}

TEST(Load, APlaceInATextIsFoundThroughEscapesAndLines) {
  const std::string source =
      "a = \"\\u00e4\\t{x}\"\n"
      "b = \"\"\"\nä\n  {x}\"\"\"\n"
      "c = '''{x}'''\n"
      "d = \"\"\"a \\\n   {x}\"\"\"\n";
  const auto document = parse_document("f", source);
  ASSERT_TRUE(document);
  const auto place = [&](const char* key) {
    const Value& value = *find(document->root, key);
    return document->place_in(value, value.text.find('{'));
  };
  EXPECT_EQ(place("a"), (Place{1, 14}));
  EXPECT_EQ(place("b"), (Place{4, 3}));
  EXPECT_EQ(place("c"), (Place{5, 8}));
  EXPECT_EQ(place("d"), (Place{7, 4}));
}

TEST(Load, TheNearestNameIsTheOneThatTakesTheFewestChanges) {
  const std::vector<std::string> names = {"queue", "pipeline", "visibility_timeout"};
  EXPECT_EQ(nearest("quue", names), "queue");
  EXPECT_EQ(nearest("euque", names), "");
  EXPECT_EQ(nearest("qeuue", names), "queue");
  EXPECT_EQ(nearest("visibility", names), "visibility_timeout");
  EXPECT_EQ(nearest("x", names), "");
  EXPECT_EQ(hint("x", names), "; expected one of queue, pipeline and visibility_timeout");
}

}  // namespace
}  // namespace reeve::runbook
