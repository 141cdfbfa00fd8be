#include "adapters/history/history.h"

#include "adapters/history/testing.h"

#include <atomic>
#include <filesystem>
#include <fstream>
#include <functional>
#include <thread>

namespace reeve::history {
namespace {

struct TheHistory : testing::Test {
  void show(History& history, const Put& put) const {
    history.project(put.event, put.stamp.now, state);
  }
  static void wait_until(const std::function<bool()>& holds) {
    const auto until = std::chrono::steady_clock::now() + 20s;
    while (!holds() && std::chrono::steady_clock::now() < until) std::this_thread::sleep_for(2ms);
    EXPECT_TRUE(holds());
  }
  Lines ask(const std::string& sql) const { return rows(scratch.path(), sql); }

  Scratch scratch;
  reeve::State state;
};

TEST_F(TheHistory, WritesWhatItIsShownAndSaysHowFarItIs) {
  History history(scratch.path(), {});
  EXPECT_EQ(history.passed(), 0U);
  history.begin();
  for (std::uint64_t i = 1; i <= 100; ++i) show(history, acquired(i));
  history.reached(103);
  history.hurry();
  wait_until([&] { return history.passed() == 103; });
  EXPECT_EQ(history.take_passed(), std::optional<Sequence>(103));
  EXPECT_EQ(history.take_passed(), std::nullopt);
  EXPECT_EQ(ask("SELECT count(*), max(seq) FROM events"), Lines{"100|100"});
}

TEST_F(TheHistory, IsMadeForWhoeverAsksAndNotBeforeTheDaemonServes) {
  const auto is_there = [&] { return std::ifstream(scratch.path()).good(); };
  History history(scratch.path(), {});
  EXPECT_FALSE(history.is_off());
  EXPECT_FALSE(history.status().is_made);
  EXPECT_FALSE(is_there());

  std::atomic<int> woken = 0;
  history.wake_with([&] { ++woken; });
  history.begin();
  history.hurry();
  wait_until([&] { return woken > 0 && history.status().is_made; });
  EXPECT_EQ(ask("SELECT count(*) FROM events"), Lines{"0"});
  history.wake_with({});
}

TEST_F(TheHistory, WhoseFileIsALinkIsOff) {
  std::filesystem::create_symlink("/nowhere/at/all", scratch.path());
  History history(scratch.path(), {});
  EXPECT_TRUE(history.is_off());
  EXPECT_NE(history.status().problem, "");
}

TEST_F(TheHistory, GoesOnFromWhereItWasWhenItIsOpenedAgain) {
  {
    History history(scratch.path(), {});
    history.begin();
    for (std::uint64_t i = 1; i <= 10; ++i) show(history, acquired(i));
    history.reached(10);
    history.stop(10s);
  }
  History history(scratch.path(), {});
  EXPECT_EQ(history.passed(), 10U);
  history.begin();
  // A replay shows more than is missing.
  for (std::uint64_t i = 5; i <= 12; ++i) show(history, acquired(i));
  history.reached(12);
  history.stop(10s);
  EXPECT_EQ(ask("SELECT count(*), max(seq) FROM events"), Lines{"12|12"});
}

TEST_F(TheHistory, KnowsWhatAProjectIsCalledAlsoIfItsFirstEventsAreSkipped) {
  state.projects.projects.set(default_project, {"", "shop"});
  for (int opened = 0; opened < 2; ++opened) {
    History history(scratch.path(), {});
    history.begin();
    for (std::uint64_t i = 1; i <= 5; ++i) {
      if (opened == 1 || i <= 3) show(history, acquired(i));
    }
    history.reached(opened == 0 ? 3 : 5);
    history.stop(10s);
  }
  EXPECT_EQ(ask("SELECT DISTINCT project, count(*) FROM events"), Lines{"shop|5"});
}

TEST_F(TheHistory, IsOffWithADamagedFileAndHoldsNobodyBack) {
  std::ofstream(scratch.path()) << std::string(5000, 'x');
  History history(scratch.path(), {});
  EXPECT_TRUE(history.is_off());
  EXPECT_EQ(history.passed(), std::numeric_limits<Sequence>::max());
  EXPECT_NE(history.status().problem, "");
  history.begin();
  show(history, acquired(1));
  history.reached(1);
  EXPECT_EQ(history.status().waiting_bytes, 0U);
}

TEST_F(TheHistory, TakesNoMoreThanItsBufferAndGoesOnBehindTheGap) {
  History history(scratch.path(), {.buffer_bytes = 2000});
  std::uint64_t shown = 0;
  while (history.status().waiting_bytes < 1900) show(history, acquired(++shown));
  for (std::uint64_t i = shown + 1; i <= shown + 50; ++i) show(history, acquired(i));
  history.reached(shown + 50);
  // As long as something waits to be written there is nothing to be said.
  EXPECT_EQ(history.wants_to_go_on(false), std::nullopt);

  history.begin();
  history.hurry();
  wait_until([&] { return history.wants_to_go_on(false).has_value(); });
  const Sequence missed = *history.wants_to_go_on(false);
  EXPECT_GE(missed, shown);
  EXPECT_EQ(history.passed(), missed - 1);
  history.go_on(shown + 50);
  EXPECT_EQ(history.wants_to_go_on(false), std::nullopt);
  show(history, acquired(shown + 51));
  history.reached(shown + 51);
  history.stop(10s);
  EXPECT_EQ(ask("SELECT count(*), max(seq) FROM events"),
            Lines{fmt::format("{}|{}", missed, shown + 51)});
  EXPECT_EQ(history.status().passed, shown + 51);
}

TEST_F(TheHistory, GoesOnAfterItWasLeft) {
  History history(scratch.path(), {});
  history.begin();
  show(history, acquired(1));
  history.reached(4);
  history.hurry();
  wait_until([&] { return history.wants_to_go_on(true).has_value(); });
  EXPECT_EQ(history.wants_to_go_on(true), std::optional<Sequence>(5));
  EXPECT_EQ(history.wants_to_go_on(false), std::nullopt);
}

TEST_F(TheHistory, IsMadeAnewWhileEventsGoOn) {
  std::ofstream(scratch.path()) << std::string(5000, 'x');
  History history(scratch.path(), {});
  history.begin();
  const auto replay = [&](const History::Sink& sink,
                          const std::function<void()>& anew) -> Result<Sequence> {
    anew();
    for (std::uint64_t i = 21; i <= 33; ++i) {
      const Put put = acquired(i);
      sink(put.event, put.stamp.now, state);
    }
    return 21;
  };
  ASSERT_TRUE(history.rebuild(30, replay));
  EXPECT_FALSE(history.rebuild(30, replay));
  // What is later than 30 comes as ever.
  for (std::uint64_t i = 31; i <= 35; ++i) show(history, acquired(i));
  history.reached(35);
  std::optional<Result<History::Rebuilt>> rebuilt;
  wait_until([&] { return rebuilt || (rebuilt = history.take_rebuilt()).has_value(); });
  ASSERT_TRUE(*rebuilt) << rebuilt->error().message;
  EXPECT_EQ((*rebuilt)->from, 21U);
  EXPECT_EQ((*rebuilt)->to, 30U);
  EXPECT_EQ((*rebuilt)->events, 10U);
  history.stop(10s);
  EXPECT_EQ(ask("SELECT min(seq), max(seq), count(*) FROM events"), Lines{"21|35|15"});
  EXPECT_EQ(ask("SELECT from_seq, to_seq FROM gaps"), Lines{"1|20"});
}

TEST_F(TheHistory, ThatIsTurnedOffMakesNoFile) {
  History history(scratch.path(), {.enabled = false});
  history.begin();
  show(history, acquired(1));
  history.reached(1);
  history.stop(1s);
  EXPECT_FALSE(std::filesystem::exists(scratch.path()));
}

}  // namespace
}  // namespace reeve::history
