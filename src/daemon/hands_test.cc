#include "adapters/process.h"
#include "adapters/runner.h"
#include "daemon/hearing.h"
#include "daemon/poller.h"
#include "engine/testing.h"
#include "runbook/load.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <poll.h>
#include <random>
#include <sstream>

// The engine and its hands together, with the real shell and the real git: everything of the daemon
// but its doors. A runbook is loaded, its pipelines run, and the daemon dies in between.
namespace reeve::daemon {
namespace {

using namespace std::chrono_literals;
using engine::testing::MemoryDisk;

struct HandsTest : ::testing::Test, engine::Listener {
  HandsTest() {
    std::string path = (std::filesystem::temp_directory_path() / "reeve_hands_XXXXXX").string();
    if (!mkdtemp(path.data())) std::abort();
    base = path;
    root = base + "/project";
    std::filesystem::create_directories(root);
    start();
  }
  ~HandsTest() override {
    crash();
    const auto left = [&] {
      const auto all = adapters::marked_with("REEVE_HOME=" + base + "/home").value();
      for (const auto& status : all) adapters::send_signal(status.pid, status.start_time, SIGKILL);
      return !all.empty();
    };
    while (left()) usleep(10'000);
    std::error_code ignored;
    std::filesystem::remove_all(base, ignored);
  }

  void start() {
    recovery = engine::testing::open_memory_journal(disk);
    Result<engine::Remembered> remembered = engine::remember(*recovery);
    ASSERT_TRUE(remembered);
    journal = *recovery->begin();
    adapters::Surroundings around;
    around.home = base + "/home";
    around.socket = base + "/home/reeve.sock";
    around.program = std::filesystem::read_symlink("/proc/self/exe").string();
    around.environment = {{"PATH", "/usr/local/bin:/usr/bin:/bin"}, {"HOME", base}};
    around.state = [this]() -> const State& { return engine->state(); };
    runner = std::make_unique<adapters::Runner>(around, adapters::boot_id());
    clock = std::make_unique<engine::Clock>(remembered->state.now, read_clocks());
    engine =
        std::make_unique<engine::Engine>(*std::move(remembered), engine::Ports{*runner, *this});
    now = clock->read(read_clocks()).stamp;
    runner->begin();
    engine->begin(now);
  }
  // What is not on disk is gone; what runs goes on.
  void crash() {
    engine.reset();
    runner.reset();
    journal.reset();
    recovery.reset();
  }
  void restart() {
    crash();
    start();
  }

  void turn() {
    pollfd ready{runner->fd(), POLLIN, 0};
    if (!runner->has_reports()) poll(&ready, 1, 5);
    const engine::Moment moment = clock->read(read_clocks());
    now = moment.stamp;
    engine->look(moment);
    runner->look();
    runner->durable(engine->durable());
    for (const adapters::Report& report : runner->take()) {
      tell(*engine, report, now);
      runner->decided(report, engine->state().sequence);
    }
    settle();
  }
  void settle() {
    engine->deliver();
    while (auto batch = engine->take_batch()) {
      engine->committed(*journal->commit(batch->entries()));
      engine->deliver();
    }
  }
  bool becomes(const std::function<bool()>& condition, std::chrono::milliseconds most = 30s) {
    const auto end = std::chrono::steady_clock::now() + most;
    while (!condition()) {
      if (std::chrono::steady_clock::now() > end) return false;
      turn();
    }
    return true;
  }

  Reply ask(Command command, ProjectNo of) {
    const engine::Ticket ticket{++last_ticket};
    engine->submit(ticket, Request{.project = of, .command = std::move(command)}, now);
    settle();
    return replies[ticket];
  }

  void load(const std::string& text) {
    const Reply opened = ask(project::Open{root, "ours"}, default_project);
    project = std::get<project::Opened>(std::get<project::Reply>(opened.value)).project;
    const std::vector<runbook::File> files{{"ours.toml", text}};
    const auto loaded = runbook::load(files, root, {});
    ASSERT_TRUE(loaded) << loaded.error().front().message;
    ask(definition::Load{project, Boxed<definition::Set>(runbook::set_for(*loaded, project))},
        project);
  }
  PipelineId run(const std::string& name, definition::Map inputs = {}) {
    const PipelineId id{engine->state().last_number + 1};
    ask(pipeline::Start{name, std::move(inputs), {}}, project);
    return id;
  }
  const pipeline::Pipeline* at(PipelineId id) {
    return engine->state().pipelines.pipelines.find(id);
  }
  bool is_done(PipelineId id) {
    return at(id) && std::holds_alternative<pipeline::Done>(at(id)->state);
  }
  bool has_failed(PipelineId id) {
    return at(id) && std::holds_alternative<pipeline::Failed>(at(id)->state);
  }
  std::string read(const std::string& path) const {
    std::ifstream file(path);
    std::stringstream text;
    text << file.rdbuf();
    return text.str();
  }
  std::string shell(const std::string& text) const {
    std::FILE* const pipe = popen(("cd '" + root + "' && { " + text + "; } 2>&1").c_str(), "r");
    std::string said;
    for (int letter = 0; (letter = std::fgetc(pipe)) != EOF;) said += static_cast<char>(letter);
    EXPECT_EQ(pclose(pipe), 0) << said;
    while (!said.empty() && said.back() == '\n') said.pop_back();
    return said;
  }

  void replied(engine::Ticket ticket, engine::Sequence, const Reply& reply) override {
    replies[ticket] = reply;
  }
  void answered(WaiterId, engine::Sequence, const Reply&) override {}
  void queried(engine::Ticket, const State&, Stamp) override {}
  void unavailable(engine::Ticket, const Error& error) override { ADD_FAILURE() << error.message; }
  void news() override {}

  std::string base;
  std::string root;
  MemoryDisk disk;
  std::unique_ptr<journal::Recovery> recovery;
  std::unique_ptr<journal::Journal> journal;
  std::unique_ptr<adapters::Runner> runner;
  std::unique_ptr<engine::Clock> clock;
  std::unique_ptr<engine::Engine> engine;
  std::map<engine::Ticket, Reply> replies;
  std::uint64_t last_ticket = 0;
  Stamp now;
  ProjectNo project;
};

TEST_F(HandsTest, PhasesRunOneAfterTheOtherAndTellEachOtherWhatTheyFound) {
  load(R"toml(
[pipeline.fix]
inputs = ["bug"]
[[pipeline.fix.phase]]
name = "look"
run  = "echo found={bug}-x >> $REEVE_OUTPUT"
[[pipeline.fix.phase]]
name = "tell"
pre  = ["is_there"]
run  = "echo {look.found} > result"
[guard.is_there]
condition = "test -n {look.found}"
)toml");
  const PipelineId id = run("fix", {{"bug", "4; exit 9"}});
  EXPECT_TRUE(becomes([&] { return is_done(id); }));
  EXPECT_EQ(read(root + "/result"), "4; exit 9-x\n");
  EXPECT_TRUE(becomes([&] { return std::filesystem::is_empty(base + "/home/runs"); }));
}

TEST_F(HandsTest, WorkIsDoneInAWorktreeAndMergedByAStrategy) {
  shell(
      "git init -q -b main . && git config user.name a && git config user.email a@b && "
      "echo 1 > file && git add . && git commit -qm first");
  load(R"toml(
[pipeline.fix]
inputs    = ["bug"]
workspace = { git = true, branch = "fix/{bug}", base = "main" }
[[pipeline.fix.phase]]
name = "work"
run  = """
until git log --format=%s main | grep -q meanwhile; do sleep 0.05; done
echo {bug} > new && git add new && git commit -qm work"""
[[pipeline.fix.phase]]
name     = "merge"
strategy = "merge"
[strategy.merge]
checkpoint = "git rev-parse HEAD"
on_exhaust = "fail"
[[strategy.merge.attempt]]
name  = "ff"
merge = "ff"
into  = "main"
[[strategy.merge.attempt]]
name  = "rebase"
merge = "rebase"
into  = "main"
)toml");
  const PipelineId id = run("fix", {{"bug", "4"}});
  ASSERT_TRUE(becomes([&] { return at(id) && !at(id)->workspace.empty(); }));
  shell("echo other > other && git add other && git commit -qm meanwhile");
  EXPECT_TRUE(becomes([&] { return is_done(id) || has_failed(id); }));
  EXPECT_TRUE(is_done(id));
  EXPECT_EQ(shell("git log --format=%s | paste -sd ' '"), "work meanwhile first");
  EXPECT_EQ(read(root + "/new"), "4\n");
}

TEST_F(HandsTest, AnAgentRunsToItsEnd) {
  load(R"toml(
[pipeline.ask]
[[pipeline.ask.phase]]
name  = "work"
agent = "helper"
[agent.helper]
kind    = "generic"
mode    = "print"
command = "cat > prompt; echo answer=42 >> $REEVE_OUTPUT"
prompt  = "How much?"
)toml");
  const PipelineId id = run("ask");
  EXPECT_TRUE(becomes([&] { return is_done(id); }));
  EXPECT_EQ(read(root + "/prompt"), "How much?");
}

TEST_F(HandsTest, ACancelledStepIsSeenDeadBeforeItsLockIsGivenOn) {
  load(R"toml(
[pipeline.long]
inputs = ["name"]
[[pipeline.long.phase]]
name = "hold"
lock = "main"
run  = "n={name}; echo begin $n >> order; trap 'sleep 0.3; echo end $n >> order; exit' TERM; sleep 300 & wait"
[lock.main]
)toml");
  const PipelineId first = run("long", {{"name", "a"}});
  const PipelineId second = run("long", {{"name", "b"}});
  ASSERT_TRUE(becomes([&] { return read(root + "/order") == "begin a\n"; }));
  ask(pipeline::Cancel{first}, project);
  EXPECT_TRUE(becomes([&] { return read(root + "/order") == "begin a\nend a\nbegin b\n"; }));
  ask(pipeline::Cancel{second}, project);
  EXPECT_TRUE(becomes([&] {
    return at(second) && std::holds_alternative<pipeline::Cancelled>(at(second)->state);
  }));
}

TEST_F(HandsTest, NoPhaseHappensTwiceHoweverOftenTheDaemonDies) {
  load(R"toml(
[pipeline.steps]
inputs = ["name"]
[[pipeline.steps.phase]]
name = "one"
run  = "echo {name} one >> done; sleep 0.05; echo value={name} >> $REEVE_OUTPUT"
[[pipeline.steps.phase]]
name = "two"
run  = "echo {one.value} two >> done"
[[pipeline.steps.phase]]
name = "three"
run  = "sleep 0.02; echo {name} three >> done"
)toml");
  std::mt19937 random(42);  // NOLINT: the same deaths every time
  std::vector<PipelineId> all;
  for (int i = 0; i < 12; ++i) all.push_back(run("steps", {{"name", "p" + std::to_string(i)}}));
  for (int death = 0; death < 15; ++death) {
    const int turns = static_cast<int>(random() % 12);
    for (int i = 0; i < turns; ++i) turn();
    restart();
  }
  EXPECT_TRUE(
      becomes([&] { return std::ranges::all_of(all, [&](auto id) { return is_done(id); }); }));
  EXPECT_EQ(shell("sort done | uniq -c | awk '{print $1}' | sort | uniq -c | tr -s ' '"), " 36 1");
}

}  // namespace
}  // namespace reeve::daemon
