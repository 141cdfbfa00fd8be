#include "sim/planted_run.h"
#include "sim/run.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <unistd.h>
#include <vector>

// reeve_sim: docs/simulator.md.
namespace reeve::sim {
namespace {

constexpr std::string_view usage =
    R"(reeve_sim [--seed N] [--steps M] [--steps-a-seed K] [--seeds S] [--time 60s]
reeve_sim --replay SEED      the whole trace of one seed
reeve_sim --planted [NAME]   finds every planted bug, or one (reeve_sim_planted has them)

Without a limit it runs for 60 seconds. Without --seed the first seed comes from the clock.
)";

volatile std::uint64_t current_seed = 0;

// A CHECK that failed is a finding like any other: which seed was it?
void aborted(int) {
  std::array<char, 32> digits{};
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), current_seed).ptr;
  constexpr std::string_view before = "a CHECK failed in seed ";
  constexpr std::string_view after = "; see ./dev sim --replay with that seed\n";
  (void)!write(2, before.data(), before.size());
  (void)!write(2, digits.data(), static_cast<std::size_t>(end - digits.data()));
  (void)!write(2, after.data(), after.size());
}

[[noreturn]] void misuse(std::string_view what) {
  fmt::print(stderr, "reeve_sim: {}\n{}", what, usage);
  // One thread. NOLINTNEXTLINE(concurrency-mt-unsafe)
  std::exit(2);
}

std::uint64_t number(std::string_view text) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) {
    misuse(fmt::format("'{}' is not a number", text));
  }
  return value;
}

void print(const Finding& finding) {
  const Counts& counts = finding.counts;
  const auto rate = static_cast<double>(counts.steps) / finding.seconds;
  const auto rate_of_processor = static_cast<double>(counts.steps) / finding.processor_seconds;
  fmt::print(
      "{} seeds, {} steps in {:.1f} s: {:.0f} steps a second ({:.0f} a second of processor time)\n"
      "{} crashes, {} failures of the disk, {} clean stops, {} recoveries, {} rightly refused\n"
      "{} records, {} replies, {} effects started, {} observed, {} checkpoints, {} full checks\n"
      "{} answers that found nobody; short of space: {} new requests refused, {} others done\n"
      "{} slow syncs, {} storms of crashes, {} second daemons turned away, {} lines of the "
      "protocol\n",
      finding.seeds,
      counts.steps,
      finding.seconds,
      rate,
      rate_of_processor,
      counts.crashes,
      counts.failures,
      counts.stops,
      counts.recoveries,
      counts.refusals,
      counts.records,
      counts.replies,
      counts.effects,
      counts.observed,
      counts.checkpoints,
      counts.full_checks,
      counts.undelivered,
      counts.refused_full,
      counts.finished_full,
      counts.slow_syncs,
      counts.storms,
      counts.turned_away,
      counts.lines);
}

int run(int argc, char** argv) {
  Limits limits;
  std::optional<std::uint64_t> seed;
  std::optional<std::uint64_t> to_replay;
  bool planted_ones = false;
  std::string_view planted_name;
  const std::vector<std::string_view> words(argv + 1, argv + argc);
  for (std::size_t i = 0; i < words.size(); ++i) {
    const auto value = [&]() -> std::string_view {
      if (i + 1 >= words.size()) misuse(fmt::format("{} wants a value", words[i]));
      return words[++i];
    };
    if (words[i] == "--seed") {
      seed = number(value());
    } else if (words[i] == "--steps") {
      limits.steps = number(value());
    } else if (words[i] == "--steps-a-seed") {
      limits.steps_a_seed = number(value());
    } else if (words[i] == "--seeds") {
      limits.seeds = number(value());
    } else if (words[i] == "--time") {
      const std::string_view text = value();
      const Result<Duration> duration = parse_duration(text);
      if (!duration) misuse(duration.error().message);
      limits.time = *duration;
    } else if (words[i] == "--replay") {
      to_replay = number(value());
    } else if (words[i] == "--planted") {
      planted_ones = true;
      if (i + 1 < words.size() && !words[i + 1].starts_with("--")) planted_name = words[++i];
    } else if (words[i] == "--help") {
      fmt::print("{}", usage);
      return 0;
    } else {
      misuse(fmt::format("there is no {}", words[i]));
    }
  }
  if (planted_ones) {
    if (to_replay) {
      if (!plant(planted_name)) misuse("no such planted bug, or not reeve_sim_planted");
    } else {
      return find_planted(planted_name, seed.value_or(1), limits.time);
    }
  }

  std::signal(SIGABRT, aborted);
  if (to_replay) {
    current_seed = *to_replay;
    const Replay replayed = replay(
        *to_replay, limits.steps_a_seed, [](const std::string& line) { fmt::print("{}\n", line); });
    fmt::print("{} steps, trace {:016x}\n", replayed.counts.steps, replayed.hash);
    return replayed.failure ? 1 : 0;
  }
  limits.first_seed = seed.value_or(static_cast<std::uint64_t>(
      std::chrono::system_clock::now().time_since_epoch() / std::chrono::milliseconds{1}));
  if (!limits.steps && !limits.seeds && !limits.time) limits.time = std::chrono::seconds{60};
  fmt::print("first seed {}\n", limits.first_seed);
  std::fflush(stdout);
  const Finding finding =
      run_seeds(limits, [](std::uint64_t next, const Counts&) { current_seed = next; });
  print(finding);
  if (!finding.failure) return 0;
  fmt::print("\n{}", tell(*finding.failure, limits.steps_a_seed));
  return 1;
}

}  // namespace
}  // namespace reeve::sim

int main(int argc, char** argv) { return reeve::sim::run(argc, argv); }
