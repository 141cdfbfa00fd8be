#include "adapters/history/file.h"

#include "adapters/history/schema.h"
#include "adapters/history/testing.h"

#include <fstream>
#include <iterator>

namespace reeve::history {
namespace {

struct HistoryFile : testing::Test {
  std::unique_ptr<File> open() {
    Result<std::unique_ptr<File>> file = File::open(scratch.path());
    EXPECT_TRUE(file) << file.error().message;
    return *std::move(file);
  }
  Lines ask(const std::string& sql) const { return rows(scratch.path(), sql); }

  Scratch scratch;
};

TEST_F(HistoryFile, HasWhatWasCommittedAndItsPlaceInOneTransaction) {
  {
    auto file = open();
    ASSERT_TRUE(file->add(acquired(3)));
    ASSERT_TRUE(file->add(acquired(3, 1, "bo")));
    ASSERT_TRUE(file->commit(5));
    ASSERT_TRUE(file->add(acquired(7)));  // and the process is gone
  }
  EXPECT_EQ(open()->place(), (Place{.reached = 5, .sequence = 3, .index = 1, .events = 2}));
  EXPECT_EQ(ask("SELECT seq, idx FROM events ORDER BY seq, idx"), (Lines{"3|0", "3|1"}));
}

TEST_F(HistoryFile, WhatIsShownAgainAfterACrashIsSkipped) {
  {
    auto file = open();
    // The transaction ends in the middle of a sequence.
    ASSERT_TRUE(file->add(acquired(3)));
    ASSERT_TRUE(file->commit(2));
  }
  auto file = open();
  for (const Put& again : {acquired(2), acquired(3), acquired(3, 1, "bo"), acquired(4)}) {
    ASSERT_TRUE(file->add(again));
  }
  ASSERT_TRUE(file->commit(4));
  EXPECT_EQ(ask("SELECT seq, idx FROM events ORDER BY seq, idx"), (Lines{"3|0", "3|1", "4|0"}));
}

TEST_F(HistoryFile, WhatWasRolledBackCanBeAddedOnceMore) {
  auto file = open();
  ASSERT_TRUE(file->add(acquired(1)));
  ASSERT_TRUE(file->commit(1));
  ASSERT_TRUE(file->add(acquired(2)));
  file->roll_back();
  ASSERT_TRUE(file->add(acquired(2)));
  ASSERT_TRUE(file->commit(2));
  EXPECT_EQ(ask("SELECT seq FROM events"), (Lines{"1", "2"}));
  EXPECT_EQ(file->place().events, 2U);
}

TEST_F(HistoryFile, IsItsUsersAlone) {
  open();
  const auto permissions = std::filesystem::status(scratch.path()).permissions();
  EXPECT_EQ(permissions, std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
}

TEST_F(HistoryFile, TellsMomentsByTheWallAndInUtc) {
  auto file = open();
  ASSERT_TRUE(file->add(
      put(5, 0, queue::HasFailed{{default_project, "mail"}, ItemId{1}, "no route", Time{65s}})));
  ASSERT_TRUE(file->commit(5));
  EXPECT_EQ(ask("SELECT at_ms, at, kind, subject, json_extract(data, '$.retry_at') FROM events"),
            (Lines{"1893456005000|2030-01-01T00:00:05.000Z|queue:fail|mail|"
                   "2030-01-01T00:01:05.000Z"}));
}

// ── Files that are not ours to write ──

std::string bytes_of(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

TEST_F(HistoryFile, ADamagedOneIsRefusedAndLeftAlone) {
  std::ofstream(scratch.path()) << std::string(8192, 'x');
  const std::string before = bytes_of(scratch.path());
  const auto file = File::open(scratch.path());
  ASSERT_FALSE(file);
  EXPECT_EQ(file.error().code, Error::Code::Corrupt);
  EXPECT_EQ(bytes_of(scratch.path()), before);
}

TEST_F(HistoryFile, AnothersDatabaseIsRefusedAndLeftAlone) {
  {
    auto other = Database::open(scratch.path(), Database::For::Write);
    ASSERT_TRUE(other);
    ASSERT_TRUE(other->run("CREATE TABLE theirs (a); INSERT INTO theirs VALUES (1)"));
  }
  const std::string before = bytes_of(scratch.path());
  const auto file = File::open(scratch.path());
  ASSERT_FALSE(file);
  EXPECT_EQ(file.error().code, Error::Code::Corrupt);
  EXPECT_NE(file.error().message.find("no history of Reeve"), std::string::npos);
  EXPECT_EQ(bytes_of(scratch.path()), before);
}

TEST_F(HistoryFile, ANewerOneIsRefused) {
  open();
  {
    auto newer = Database::open(scratch.path(), Database::For::Write);
    ASSERT_TRUE(newer);
    ASSERT_TRUE(newer->run("PRAGMA user_version = 9"));
  }
  const auto file = File::open(scratch.path());
  ASSERT_FALSE(file);
  EXPECT_EQ(file.error().code, Error::Code::Conflict);
}

// ── What is forgotten ──

struct Trimmed : HistoryFile {
  // Ten sequences, each with a lock that is taken and given back.
  void fill() {
    for (std::uint64_t i = 1; i <= 10; ++i) {
      ASSERT_TRUE(file->add(acquired(2 * i)));
      ASSERT_TRUE(file->add(put(
          2 * i + 1,
          0,
          lock::WasReleased{{default_project, "main"}, {default_project, "ana"}, Token{200 * i}})));
    }
    ASSERT_TRUE(file->commit(21));
  }
  void trim(const Settings& settings, Duration after) {
    for (int i = 0; i < 100; ++i) {
      const Result<bool> more = file->trim(settings, Wall{Duration{first_wall} + after});
      ASSERT_TRUE(more) << more.error().message;
      if (!*more) return;
    }
    FAIL() << "there is always more to forget";
  }

  std::unique_ptr<File> file = open();
};

TEST_F(Trimmed, NothingIsForgottenWithinTheLimits) {
  fill();
  trim({}, 1h);
  EXPECT_EQ(ask("SELECT count(*) FROM events"), Lines{"20"});
  EXPECT_EQ(ask("SELECT count(*) FROM lock_holds"), Lines{"10"});
}

TEST_F(Trimmed, TheOldestGoByAge) {
  fill();
  trim({.keep = 10s}, 20s);
  EXPECT_EQ(ask("SELECT min(seq), count(*) FROM events"), Lines{"10|12"});
  EXPECT_EQ(ask("SELECT min(released_ms) - 1893456000000 FROM lock_holds"), Lines{"11000"});
  EXPECT_EQ(file->place().events, 12U);
}

TEST_F(Trimmed, TheOldestGoByCountAndWithThemWhatEndedBefore) {
  fill();
  trim({.most_events = 4}, 1h);
  EXPECT_EQ(ask("SELECT min(seq), count(*) FROM events"), Lines{"18|4"});
  EXPECT_EQ(ask("SELECT count(*) FROM lock_holds"), Lines{"2"});
}

TEST_F(Trimmed, TheOldestGoByBytesUntilItFits) {
  for (std::uint64_t i = 1; i <= 6000; ++i) ASSERT_TRUE(file->add(acquired(i)));
  ASSERT_TRUE(file->commit(6000));
  trim({.most_bytes = 400'000}, 1h);
  const Lines left = ask("SELECT count(*) FROM events");
  EXPECT_LT(std::stoi(left.at(0)), 4500);
  EXPECT_EQ(ask("SELECT max(seq) FROM events").at(0) == "6000" || left.at(0) == "0", true);
}

TEST_F(Trimmed, WhatHasNotEndedStays) {
  ASSERT_TRUE(file->add(acquired(1)));
  ASSERT_TRUE(file->commit(1));
  trim({.keep = 10s}, 1h);
  EXPECT_EQ(ask("SELECT count(*) FROM events"), Lines{"0"});
  EXPECT_EQ(ask("SELECT name, holder FROM lock_holds"), Lines{"main|ana"});
}

}  // namespace
}  // namespace reeve::history
