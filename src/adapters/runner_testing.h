#pragma once

#include "adapters/runner.h"
#include "adapters/testing.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

namespace reeve::adapters::testing {

// A runner in a home of its own, with a state that knows one project and one pipeline of it; and
// the next one, after a restart.
struct RunnerTest : ::testing::Test {
  static constexpr ProjectNo project{2};
  static constexpr PipelineId pipeline{7};

  RunnerTest();
  ~RunnerTest() override;

  // What the next runner knows of its daemon.
  Surroundings surroundings();
  // As the daemon does at its end and its next start. What was not taken is forgotten.
  void restart();

  Start start_of(Outer what, Address to = pipeline::Address{pipeline, 1});
  Start shell(const std::string& text, const std::string& label = "work#1");
  // Stands in the outbox from now on, as in the engine's, until it has its outcome.
  EffectId begin(Outer what, Address to = pipeline::Address{pipeline, 1});

  // Waits for the outcome of this effect; others that come meanwhile are kept.
  Outcome outcome_of(EffectId effect, std::chrono::milliseconds most = 20s);
  Outcome play(Outer what) { return outcome_of(begin(std::move(what))); }
  engine::Observation observe(EffectId effect);
  // The next report of this kind.
  template <class Kind>
  std::optional<Kind> next(std::chrono::milliseconds most = 10s) {
    const auto end = std::chrono::steady_clock::now() + most;
    do {
      for (auto at = reports.begin(); at != reports.end(); ++at) {
        if (Kind* found = std::get_if<Kind>(&*at)) {
          Kind kind = *found;
          reports.erase(at);
          return kind;
        }
      }
      look();
    } while (std::chrono::steady_clock::now() < end);
    return std::nullopt;
  }
  void look();
  bool has_run(EffectId effect) const;

  Home home;
  std::string home_path = home.at("home");  // where the next runner keeps what it keeps
  std::string root = home.at("project");
  std::string search_path = "/usr/local/bin:/usr/bin:/bin";  // of the next runner
  State state;
  std::map<EffectId, Start> outbox;
  std::unique_ptr<Runner> runner;
  std::vector<Report> reports;
  EffectId last{100, 0};
};

}  // namespace reeve::adapters::testing
