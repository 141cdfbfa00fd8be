#include "sim/journal_game.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <iostream>
#include <string>

namespace reeve::sim {
namespace {

// REEVE_GAMES plays more of them, REEVE_SEED one alone.
std::uint64_t from_environment(const char* name, std::uint64_t otherwise) {
  // Nobody sets it while tests run. NOLINTNEXTLINE(concurrency-mt-unsafe)
  const char* const text = std::getenv(name);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

TEST(JournalGame, WhateverTheDiskDoesEverythingAcknowledgedIsThereOnceAndInOrder) {
  const std::uint64_t only = from_environment("REEVE_SEED", 0);
  const std::uint64_t first = only != 0 ? only : 1;
  const std::uint64_t last = only != 0 ? only : from_environment("REEVE_GAMES", 600);
  const auto begin = std::chrono::steady_clock::now();
  GameReport sum;
  for (std::uint64_t seed = first; seed <= last; ++seed) {
    JournalGame game(seed);
    const GameReport& report = game.play(400);
    ASSERT_EQ(report.violation, "") << "play it again with REEVE_SEED=" << seed;
    sum.steps += report.steps;
    sum.commits += report.commits;
    sum.crashes += report.crashes;
    sum.crashes_in_recovery += report.crashes_in_recovery;
    sum.errors += report.errors;
    sum.snapshots += report.snapshots;
    sum.torn_tails += report.torn_tails;
    sum.flips_refused += report.flips_refused;
    sum.clean_stops += report.clean_stops;
  }
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  std::cout << sum.steps << " steps, " << sum.commits << " commits, " << sum.crashes << " crashes ("
            << sum.crashes_in_recovery << " in a recovery), " << sum.errors << " errors, "
            << sum.snapshots << " snapshots, " << sum.torn_tails << " torn tails, "
            << sum.flips_refused << " flips refused, " << sum.clean_stops << " clean stops; "
            << static_cast<std::uint64_t>(static_cast<double>(sum.crashes) / took.count())
            << " crashes a second\n";

  // A game that never gets into trouble proves nothing.
  if (only != 0) return;
  EXPECT_GT(sum.crashes, 5 * last);
  EXPECT_GT(sum.crashes_in_recovery, last);
  EXPECT_GT(sum.errors, last / 2);
  EXPECT_GT(sum.snapshots, last);
  EXPECT_GT(sum.torn_tails, last / 2);
  EXPECT_GT(sum.flips_refused, last / 2);
  EXPECT_GT(sum.clean_stops, last);
}

}  // namespace
}  // namespace reeve::sim
