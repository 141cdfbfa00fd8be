#include "sim/disk.h"

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>

namespace reeve::sim {
namespace {

using journal::Access;
using journal::File;
using Contents = std::map<std::string, std::string>;

void put(Disk& disk, const std::string& name, const std::string& bytes, bool sync) {
  const auto file = disk.create(name, Access::Write);
  ASSERT_TRUE((*file)->write(0, bytes).has_value());
  if (sync) {
    ASSERT_TRUE((*file)->sync().has_value());
    ASSERT_TRUE(disk.sync_directory().has_value());
  }
}

void overwrite(Disk& disk, const std::string& name, const std::string& bytes) {
  const auto file = disk.open(name, Access::Write);
  ASSERT_TRUE((*file)->write(0, bytes).has_value());
}

// Everything that the directory may hold after a crash, by trying many seeds.
template <class Play>
std::set<Contents> outcomes(Play play, Disk::Fault how = Disk::Fault::PowerLoss) {
  std::set<Contents> found;
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    Disk disk(seed);
    play(disk);
    disk.restart(how);
    found.insert(disk.contents());
  }
  return found;
}

TEST(Disk, WhatWasSyncedStays) {
  EXPECT_EQ(outcomes([](Disk& disk) { put(disk, "a", "hello", true); }),
            (std::set<Contents>{{{"a", "hello"}}}));
}

TEST(Disk, EverySectorThatWasNotSyncedIsOldOrNewByItself) {
  const std::string a(512, 'a');
  const std::string b(512, 'b');
  const auto found = outcomes([&](Disk& disk) {
    put(disk, "f", a + a, true);
    overwrite(disk, "f", b + b);
  });
  EXPECT_EQ(found,
            (std::set<Contents>{{{"f", a + a}}, {{"f", a + b}}, {{"f", b + a}}, {{"f", b + b}}}));
}

TEST(Disk, AFileWhoseDirectoryWasNotSyncedMayBeGone) {
  const auto found = outcomes([](Disk& disk) {
    const auto file = disk.create("a", Access::Write);
    (void)(*file)->write(0, "x");
    (void)(*file)->sync();
  });
  EXPECT_EQ(found, (std::set<Contents>{{}, {{"a", "x"}}}));
}

TEST(Disk, ARenameThatWasNotSyncedHappenedOrNot) {
  const auto found = outcomes([](Disk& disk) {
    put(disk, "a", "x", true);
    put(disk, "b", "y", true);
    (void)disk.rename("a", "b");
  });
  EXPECT_EQ(found, (std::set<Contents>{{{"a", "x"}, {"b", "y"}}, {{"b", "x"}}}));
}

TEST(Disk, ARemovalThatWasNotSyncedHappenedOrNot) {
  const auto found = outcomes([](Disk& disk) {
    put(disk, "a", "x", true);
    (void)disk.remove("a");
  });
  EXPECT_EQ(found, (std::set<Contents>{{}, {{"a", "x"}}}));
}

TEST(Disk, StepsInTheDirectorySurviveIndependently) {
  const auto found = outcomes([](Disk& disk) {
    put(disk, "a", "x", true);
    put(disk, "b", "y", true);
    (void)disk.remove("a");
    (void)disk.remove("b");
  });
  EXPECT_EQ(found.size(), 4U);
}

TEST(Disk, AKilledProcessLeavesThePageCache) {
  const auto found =
      outcomes([](Disk& disk) { put(disk, "a", "hello", false); }, Disk::Fault::Kill);
  EXPECT_EQ(found, (std::set<Contents>{{{"a", "hello"}}}));
}

TEST(Disk, AfterAFailedSyncReadsShowWhatTheDiskDoesNotHave) {
  const std::string old(512, 'a');
  const std::string now(512, 'b');
  bool lied = false;
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    Disk disk(seed);
    put(disk, "f", old, true);
    const auto file = disk.open("f", Access::Write);
    ASSERT_TRUE((*file)->write(0, now).has_value());
    disk.strike(1, Disk::Fault::Eio);
    ASSERT_FALSE((*file)->sync().has_value());
    EXPECT_EQ(disk.contents().at("f"), now);
    // A second sync says yes and writes nothing.
    EXPECT_TRUE((*file)->sync().has_value());
    disk.restart(Disk::Fault::PowerLoss);
    lied = lied || disk.contents().at("f") == old;
  }
  EXPECT_TRUE(lied);
}

TEST(Disk, StrikesAtTheOperationItWasToldTo) {
  Disk disk(1);
  disk.strike(3, Disk::Fault::Eio);
  EXPECT_TRUE(disk.list().has_value());
  EXPECT_TRUE(disk.list().has_value());
  EXPECT_FALSE(disk.list().has_value());
  EXPECT_TRUE(disk.list().has_value());
  EXPECT_FALSE(disk.is_down());

  disk.strike(1, Disk::Fault::PowerLoss);
  EXPECT_FALSE(disk.list().has_value());
  EXPECT_TRUE(disk.is_down());
  EXPECT_FALSE(disk.list().has_value());
  disk.restart();
  EXPECT_TRUE(disk.list().has_value());
}

TEST(Disk, FilesThatWereOpenAreUselessAfterACrash) {
  Disk disk(1);
  const auto file = disk.create("a", Access::Write);
  disk.restart(Disk::Fault::Kill);
  EXPECT_FALSE((*file)->write(0, "x").has_value());
  EXPECT_EQ(disk.contents().at("a"), "");
}

TEST(Disk, IsFullWhenItIs) {
  Disk disk(1);
  disk.set_free_space(4);
  const auto file = disk.create("a", Access::Write);
  EXPECT_TRUE((*file)->write(0, "four").has_value());
  const auto fifth = (*file)->write(4, "5");
  ASSERT_FALSE(fifth.has_value());
  EXPECT_EQ(fifth.error().code, Error::Code::Full);
  EXPECT_TRUE(disk.remove("a").has_value());
  EXPECT_EQ(disk.free_space().value(), 4U);
}

TEST(Disk, TurnsBitsAroundForGood) {
  Disk disk(1);
  put(disk, "a", "x", true);
  disk.flip("a", 0, 0);
  EXPECT_EQ(disk.contents().at("a"), "y");
  disk.restart();
  EXPECT_EQ(disk.contents().at("a"), "y");
}

TEST(Disk, TheSameSeedMeansTheSameFate) {
  const auto play = [](std::uint64_t seed) {
    Disk disk(seed);
    put(disk, "f", std::string(100'000, 'a'), true);
    overwrite(disk, "f", std::string(100'000, 'b'));
    disk.restart();
    return disk.contents();
  };
  EXPECT_EQ(play(7), play(7));
  EXPECT_NE(play(7), play(8));
}

}  // namespace
}  // namespace reeve::sim
