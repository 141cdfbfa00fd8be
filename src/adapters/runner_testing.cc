#include "adapters/runner_testing.h"

#include <filesystem>
#include <poll.h>
#include <unistd.h>

namespace reeve::adapters::testing {

RunnerTest::RunnerTest() {
  std::filesystem::create_directories(root);
  state.projects.projects.set(project, {root, "ours"});
  pipeline::Pipeline value;
  value.id = pipeline;
  value.project = project;
  pipeline::Begin begin;
  begin.name = "fix";
  value.origin = Boxed<pipeline::Begin>(begin);
  state.pipelines.pipelines.set(pipeline, value);
  restart();
}

RunnerTest::~RunnerTest() {
  runner.reset();
  const std::string socket = home_path + "/tmux.sock";
  if (std::filesystem::exists(socket)) {
    output_of("tmux -S \"" + socket + "\" kill-server 2>/dev/null || true");
  }
}

Surroundings RunnerTest::surroundings() {
  Surroundings around;
  around.home = home_path;
  around.socket = home_path + "/reeve.sock";
  around.program = std::filesystem::read_symlink("/proc/self/exe").string();
  around.environment = {
      {"PATH", search_path}, {"HOME", home.path()}, {"LC_TIME", "C"}, {"SECRET", "not for steps"}};
  around.state = [this]() -> const State& { return state; };
  around.event_json = [](const Event& event) {
    return R"({"name":")" + name_of(event.body).noun + R"("})";
  };
  return around;
}

void RunnerTest::restart() {
  runner.reset();
  reports.clear();
  runner = std::make_unique<Runner>(surroundings(), boot_id());
  runner->begin();
}

Start RunnerTest::start_of(Outer what, Address to) {
  ++last.sequence;
  return {last, {std::move(what), std::move(to)}};
}

Start RunnerTest::shell(const std::string& text, const std::string& label) {
  Shell shell;
  shell.text = text;
  shell.directory = root;
  shell.pipeline = pipeline;
  shell.label = label;
  shell.environment = {{"PATH", "/usr/local/bin:/usr/bin:/bin"}, {"REEVE_TEST_HOME", home.path()}};
  return start_of(std::move(shell));
}

EffectId RunnerTest::begin(Outer what, Address to) {
  const Start start = start_of(std::move(what), std::move(to));
  state.outbox.set(start.id, {start.effect, {}});
  runner->start(start);
  return start.id;
}

void RunnerTest::look() {
  pollfd ready{runner->fd(), POLLIN, 0};
  if (!runner->has_reports()) poll(&ready, 1, 20);
  runner->look();
  for (Report& report : runner->take()) {
    runner->decided(report, 1);
    if (const auto* done = std::get_if<EffectDone>(&report)) state.outbox.erase(done->effect);
    reports.push_back(std::move(report));
  }
}

Outcome RunnerTest::outcome_of(EffectId effect, std::chrono::milliseconds most) {
  const auto end = std::chrono::steady_clock::now() + most;
  do {
    for (auto at = reports.begin(); at != reports.end(); ++at) {
      const EffectDone* done = std::get_if<EffectDone>(&*at);
      if (!done || done->effect != effect) continue;
      Outcome outcome = done->outcome;
      reports.erase(at);
      return outcome;
    }
    look();
  } while (std::chrono::steady_clock::now() < end);
  ADD_FAILURE() << "no outcome for " << to_text(effect);
  return {.ended = Ended::Unknown};
}

engine::Observation RunnerTest::observe(EffectId effect) {
  runner->observe({effect, state.outbox.find(effect)->effect});
  const std::optional<EffectObserved> seen = next<EffectObserved>();
  EXPECT_TRUE(seen && seen->effect == effect);
  return seen ? seen->observation : engine::CannotKnow{};
}

bool RunnerTest::has_run(EffectId effect) const {
  return std::filesystem::exists(home.at("home/runs/" + to_text(effect)));
}

}  // namespace reeve::adapters::testing
