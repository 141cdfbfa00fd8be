// Files that fail, are taken away, or cannot be opened: what ends a journal and what does not.

#include "journal/meddling_testing.h"
#include "journal/names.h"
#include "journal/testing.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <csignal>
#include <fcntl.h>
#include <filesystem>
#include <mutex>
#include <optional>
#include <string>
#include <sys/resource.h>
#include <thread>
#include <unistd.h>
#include <utility>
#include <vector>

namespace reeve::journal {
namespace {

using Strings = std::vector<std::string>;

const Error broken{Error::Code::Io, "broken"};

// No descriptor is left while it lives.
class NoDescriptors {
 public:
  NoDescriptors() {
    ::getrlimit(RLIMIT_NOFILE, &before_);
    const int next = ::dup(STDERR_FILENO);
    if (next < 0) return;
    ::close(next);
    const rlimit none{.rlim_cur = static_cast<rlim_t>(next), .rlim_max = before_.rlim_max};
    ::setrlimit(RLIMIT_NOFILE, &none);
  }
  ~NoDescriptors() { ::setrlimit(RLIMIT_NOFILE, &before_); }
  NoDescriptors(const NoDescriptors&) = delete;
  NoDescriptors& operator=(const NoDescriptors&) = delete;

 private:
  rlimit before_{};
};

TEST(FailingFiles, WithoutDescriptorsCommitsGoOn) {
  Scratch scratch;
  const Result<Opened> opened = open(scratch.files());
  Journal& journal = *opened->journal;
  ASSERT_TRUE(journal.prepare().has_value());
  {
    const NoDescriptors none;
    // Into the spare, which is open.
    for (char c = 'a'; c < 'd'; ++c) commit(journal, {std::string(3500, c)});
    const NoDescriptors still_none;  // the first segment had one
    const Result<void> prepared = journal.prepare();
    ASSERT_FALSE(prepared.has_value());
    EXPECT_EQ(prepared.error().code, Error::Code::Full) << prepared.error().message;
    EXPECT_NE(prepared.error().message.find("Too many open files"), std::string::npos);
    const auto writer = journal.begin_snapshot({.sequence = 1, .stamp = {}});
    ASSERT_FALSE(writer.has_value());
    EXPECT_EQ(writer.error().code, Error::Code::Full);
    commit(journal, {"d"});
  }
  ASSERT_TRUE(journal.prepare().has_value());
  EXPECT_EQ(journal.room(), Room::Plenty);
  EXPECT_TRUE(std::filesystem::exists(scratch.path(spare_name)));
  snapshot(journal, 1, "one");
  EXPECT_EQ(commit(journal, {"e"}), 5U);
}

TEST(FailingFiles, ASnapshotThatCannotBeReadBackForWantOfADescriptorIsNoEnd) {
  Scratch scratch;
  const Result<Opened> opened = open(scratch.files());
  Journal& journal = *opened->journal;
  commit(journal, {"a"});
  {
    auto writer = journal.begin_snapshot({.sequence = 1, .stamp = {}});
    ASSERT_TRUE((*writer)->append("one").has_value());
    const NoDescriptors none;
    const Result<SnapshotInfo> finished = (*writer)->finish(1);
    ASSERT_FALSE(finished.has_value());
    EXPECT_EQ(finished.error().code, Error::Code::Full);
  }
  EXPECT_EQ(scratch.names(), Strings{segment_name(1)});
  EXPECT_EQ(commit(journal, {"b"}), 2U);
}

TEST(FailingFiles, WhatIsWrittenToARemovedFileIsNotAcknowledged) {
  Scratch scratch;
  const Result<Opened> opened = open(scratch.files());
  commit(*opened->journal, {"a"});
  std::filesystem::remove_all(scratch.path());
  const std::vector<Entry> entries{entry("b")};
  const Result<Sequence> last = opened->journal->commit(entries);
  ASSERT_FALSE(last.has_value());
  EXPECT_EQ(last.error().message,
            scratch.path(segment_name(1)) + ": was removed while it was in use");
  EXPECT_EQ(opened->journal->prepare().error(), last.error());
}

TEST(FailingFiles, ErrorsNameTheSegmentThatASpareHasBecome) {
  Scratch scratch;
  const Result<Opened> opened = open(scratch.files());
  ASSERT_TRUE(opened->journal->prepare().has_value());
  for (char c = 'a'; c < 'c'; ++c) commit(*opened->journal, {std::string(3500, c)});
  rlimit before{};
  ::getrlimit(RLIMIT_FSIZE, &before);
  const rlimit little{.rlim_cur = 4096, .rlim_max = before.rlim_max};
  const auto handler = ::signal(SIGXFSZ, SIG_IGN);
  ::setrlimit(RLIMIT_FSIZE, &little);
  const std::vector<Entry> entries{entry("x")};
  const Result<Sequence> last = opened->journal->commit(entries);
  ::setrlimit(RLIMIT_FSIZE, &before);
  (void)::signal(SIGXFSZ, handler);
  ASSERT_FALSE(last.has_value());
  EXPECT_TRUE(last.error().message.starts_with("cannot write " + scratch.path(segment_name(2))))
      << last.error().message;
}

// Two threads sync the directory; Linux tells of a failure once, so the second sync may succeed
// without having done what the first should have.
TEST(FailingFiles, AFailedSyncOfTheDirectoryEndsTheOtherThreadToo) {
  Scratch scratch;
  Meddling files(scratch.files());
  const Result<Opened> opened = open(files);
  Journal& journal = *opened->journal;
  commit(journal, {std::string(3500, 'a')});

  std::mutex mutex;
  std::condition_variable changed;
  bool committing = false;  // the other thread is past its look at whether it has ended
  bool failing = false;
  bool failed = false;
  files.meddler = [&](const std::string& call) -> std::optional<Error> {
    std::unique_lock lock(mutex);
    if (call == "rename " + unfinished(segment_name(2))) {
      committing = true;
      changed.notify_all();
      changed.wait(lock, [&] { return failing; });
      return std::nullopt;
    }
    if (call != "sync_directory" || std::exchange(failed, true)) return std::nullopt;
    changed.wait(lock, [&] { return committing; });
    failing = true;
    changed.notify_all();
    lock.unlock();
    // Whoever does not wait for us has time enough not to.
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    return broken;
  };
  std::thread keeper([&] { EXPECT_EQ(journal.prepare().error(), broken); });
  const std::string large(3500, 'b');
  const std::vector<Entry> entries{entry(large)};
  {
    std::unique_lock lock(mutex);
    changed.wait_for(lock, std::chrono::milliseconds(100), [&] { return failed; });
  }
  const Result<Sequence> last = journal.commit(entries);
  keeper.join();
  ASSERT_FALSE(last.has_value());
  EXPECT_EQ(last.error(), broken);
}

// A first segment that came back while a later one did not would look like a journal with a gap.
TEST(FailingFiles, TheFirstSegmentIsGoneForGoodBeforeTheOthers) {
  Scratch scratch;
  Meddling files(scratch.files());
  const Result<Opened> opened = open(files);
  for (char c = 'a'; c < 'i'; ++c) commit(*opened->journal, {std::string(3500, c)});
  snapshot(*opened->journal, 8, "eight");
  files.take_calls();
  ASSERT_TRUE(opened->journal->truncate(8).has_value());
  const Strings calls = files.take_calls();
  ASSERT_GE(calls.size(), 3U);
  EXPECT_EQ(Strings(calls.begin(), calls.begin() + 3),
            (Strings{"remove " + segment_name(1), "sync_directory", "remove " + segment_name(2)}));
}

// One that came back while the segments behind it did not would have nothing that follows it.
TEST(FailingFiles, AnOlderSnapshotIsGoneForGoodBeforeTheSegmentsBehindIt) {
  Scratch scratch;
  Meddling files(scratch.files());
  const Result<Opened> opened = open(files);
  for (char c = 'a'; c < 'f'; ++c) commit(*opened->journal, {std::string(3500, c)});
  snapshot(*opened->journal, 1, "one");
  snapshot(*opened->journal, 5, "five");
  files.take_calls();
  ASSERT_TRUE(opened->journal->truncate(5).has_value());
  const Strings calls = files.take_calls();
  ASSERT_GE(calls.size(), 3U);
  EXPECT_EQ(Strings(calls.begin(), calls.begin() + 3),
            (Strings{"remove " + snapshot_name(1), "sync_directory", "remove " + segment_name(1)}));
}

// A crash would leave them in it, to be found one day behind another header.
TEST(FailingFiles, WhatIsWrittenAgainAtAStartIsNotWrittenToTheSpare) {
  Scratch scratch;
  {
    const Result<Opened> opened = open(scratch.files());
    commit(*opened->journal, {"a"});
    ASSERT_TRUE(opened->journal->prepare().has_value());
  }
  ASSERT_TRUE(std::filesystem::exists(scratch.path(spare_name)));
  Meddling files(scratch.files());
  ASSERT_TRUE(open(files).has_value());
  for (const std::string& call : files.take_calls()) EXPECT_NE(call, "rename " + spare_name);
}

TEST(FailingFiles, WhatIsGoneAlreadyNeedNotBeRemoved) {
  Scratch scratch;
  const Result<Opened> opened = open(scratch.files());
  for (char c = 'a'; c < 'f'; ++c) commit(*opened->journal, {std::string(3500, c)});
  snapshot(*opened->journal, 1, "one");
  snapshot(*opened->journal, 5, "five");
  std::filesystem::remove(scratch.path(segment_name(1)));
  std::filesystem::remove(scratch.path(snapshot_name(1)));
  ASSERT_TRUE(opened->journal->truncate(5).has_value());
  EXPECT_EQ(commit(*opened->journal, {"f"}), 6U);
}

}  // namespace
}  // namespace reeve::journal
