#include "sim/run.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

namespace reeve::sim {
namespace {

std::string told(const Finding& finding) {
  if (!finding.failure) return "nothing";
  return tell(*finding.failure, std::nullopt);
}

TEST(Simulator, FindsNothingInAFewSeeds) {
  const Finding finding = run_seeds({.first_seed = 1, .seeds = 60});
  EXPECT_FALSE(finding.failure) << told(finding);
  EXPECT_GT(finding.counts.crashes, 60U);
  EXPECT_GT(finding.counts.recoveries, finding.counts.crashes / 2);
  EXPECT_GT(finding.counts.refusals, 0U);
  EXPECT_GT(finding.counts.checkpoints, 0U);
  EXPECT_GT(finding.counts.observed, 0U);
  EXPECT_GT(finding.counts.undelivered, 0U);
  // On a disk that is short of space new work is refused, and work is still finished.
  EXPECT_GT(finding.counts.refused_full, 0U);
  EXPECT_GT(finding.counts.finished_full, 0U);
  EXPECT_GT(finding.counts.slow_syncs, 0U);
  EXPECT_GT(finding.counts.storms, 0U);
  EXPECT_GT(finding.counts.turned_away, 0U);
  EXPECT_GT(finding.counts.lines, 100U);
}

TEST(Simulator, RunsASeedTheSameWayEveryTime) {
  for (const std::uint64_t seed : {3U, 14U, 2003U}) {
    std::vector<std::string> lines;
    const Replay first =
        replay(seed, std::nullopt, [&](const std::string& line) { lines.push_back(line); });
    // Elsewhere in memory, and with nobody listening.
    const std::vector<char> in_the_way(1'000'003);
    run_seeds({.first_seed = seed + 1, .seeds = 2});
    std::size_t at = 0;
    const Replay second = replay(seed, std::nullopt, [&](const std::string& line) {
      ASSERT_LT(at, lines.size());
      EXPECT_EQ(line, lines[at]);
      ++at;
    });
    EXPECT_EQ(first.hash, second.hash);
    EXPECT_EQ(first.counts.steps, second.counts.steps);
    EXPECT_NE(first.hash, replay(seed + 1, std::nullopt, {}).hash);
  }
}

TEST(Simulator, FindsNothingInSeedsThatOnceFailed) {
  std::ifstream file(REEVE_SIM_SEEDS);
  ASSERT_TRUE(file);
  std::string line;
  std::size_t seeds = 0;
  while (std::getline(file, line)) {
    if (line.empty() || line.front() == '#') continue;
    std::istringstream words(line);
    std::uint64_t seed = 0;
    ASSERT_TRUE(words >> seed) << line;
    const Finding finding = run_seeds({.first_seed = seed, .seeds = 1});
    EXPECT_FALSE(finding.failure) << line << "\n" << told(finding);
    ++seeds;
  }
  EXPECT_GT(seeds, 0U);
}

}  // namespace
}  // namespace reeve::sim
