#include "sim/run.h"

#include <fmt/format.h>

#include <ctime>
#include <deque>

namespace reeve::sim {

Finding run_seeds(const Limits& limits,
                  const std::function<void(std::uint64_t, const Counts&)>& before) {
  using Clock = std::chrono::steady_clock;
  const Clock::time_point start = Clock::now();
  const std::clock_t start_of_processor = std::clock();
  const auto elapsed = [&] { return Clock::now() - start; };
  Finding finding;
  for (std::uint64_t seed = limits.first_seed;; ++seed) {
    if (limits.seeds && finding.seeds >= *limits.seeds) break;
    if (limits.steps && finding.counts.steps >= *limits.steps) break;
    if (limits.time && elapsed() >= *limits.time) break;
    if (before) before(seed, finding.counts);
    Report report;
    World world(seed, report, limits.steps_a_seed);
    world.run();
    finding.counts.add(world.counts());
    ++finding.seeds;
    if (report.failed()) {
      finding.failure = Failure{seed, world.counts().steps, *report.violation()};
      break;
    }
  }
  finding.seconds = std::chrono::duration<double>(elapsed()).count();
  finding.processor_seconds =
      static_cast<double>(std::clock() - start_of_processor) / CLOCKS_PER_SEC;
  return finding;
}

Replay replay(std::uint64_t seed,
              std::optional<std::uint64_t> steps,
              const std::function<void(const std::string&)>& line) {
  Report report;
  report.listener = line;
  World world(seed, report, steps);
  world.run();
  Replay result{.failure = {}, .counts = world.counts(), .hash = report.hash()};
  if (report.failed()) {
    result.failure = Failure{seed, world.counts().steps, *report.violation()};
  }
  return result;
}

std::string tell(const Failure& failure, std::optional<std::uint64_t> steps_a_seed) {
  constexpr std::size_t shown = 60;
  std::deque<std::string> last;
  const Replay again = replay(failure.seed, steps_a_seed, [&](const std::string& line) {
    last.push_back(line);
    if (last.size() > shown) last.pop_front();
  });
  std::string text;
  for (const std::string& line : last) text += line + "\n";
  text += fmt::format("\nviolated: {}\nseed {}, step {}\nall of it: ./dev sim --replay {}{}\n",
                      failure.what,
                      failure.seed,
                      failure.step,
                      failure.seed,
                      steps_a_seed ? fmt::format(" --steps-a-seed {}", *steps_a_seed) : "");
  if (!again.failure || again.failure->what != failure.what) {
    text += "(the second run went otherwise: something here is not deterministic)\n";
  }
  return text;
}

}  // namespace reeve::sim
