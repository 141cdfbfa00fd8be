// The journal against the disk it stands on, in one run: what a commit costs beside the raw synced
// write of the same size, how fast a million records come back, and what a snapshot being written
// does to the commits of others. Everything happens in a directory of its own below $TMPDIR.

#include "journal/file_journal.h"
#include "journal/real_files.h"
#include "journal/segment_writer.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <unistd.h>
#include <vector>

namespace {

using namespace reeve;
using namespace reeve::journal;
using Clock = std::chrono::steady_clock;

template <class T>
T must(Result<T> result) {
  if (result) return std::move(*result);
  fmt::print(stderr, "journal_bench: {}\n", result.error().message);
  std::exit(1);
}

void must(const Result<void>& result) {
  if (result) return;
  fmt::print(stderr, "journal_bench: {}\n", result.error().message);
  std::exit(1);
}

struct Directory {
  Directory() {
    std::string pattern = (std::filesystem::temp_directory_path() / "reeve-bench-XXXXXX").string();
    path = ::mkdtemp(pattern.data());
  }
  Directory(const Directory&) = delete;
  Directory& operator=(const Directory&) = delete;
  ~Directory() { std::filesystem::remove_all(path); }
  std::filesystem::path path;
};

double microseconds(Clock::duration duration) {
  return std::chrono::duration<double, std::micro>(duration).count();
}

template <class Body>
double timed(Body body) {
  const auto begin = Clock::now();
  body();
  return microseconds(Clock::now() - begin);
}

double at(std::vector<double> values, double part) {
  std::ranges::sort(values);
  return values[static_cast<std::size_t>(static_cast<double>(values.size() - 1) * part)];
}

std::unique_ptr<Journal> open(Files& files, const GroupVisitor& visitor) {
  Options options;
  options.fresh_id = random_journal_id();
  const auto recovery = must(open_file_journal(files, options));
  must(recovery->replay(visitor));
  return must(recovery->begin());
}

Result<void> ignore(std::span<const Record> /*group*/) { return {}; }

std::vector<Entry> batch(std::size_t count, std::string_view payload) {
  Entry entry;
  entry.payload = payload;
  return std::vector<Entry>(count, entry);
}

// Interleaved, so that a disk in a bad mood is so to both.
void commit_against_raw_write() {
  fmt::print("commit against the raw synced write of the same size, 200-byte payloads\n");
  fmt::print("{:>8} {:>8} {:>10} {:>12} {:>12} {:>8} {:>12} {:>8}\n",
             "method",
             "records",
             "bytes",
             "raw p50 us",
             "commit p50",
             "ratio",
             "raw p99",
             "p99");
  for (const SyncMethod method : {SyncMethod::Probe, SyncMethod::DataSync}) {
    for (const std::size_t count : {std::size_t{1}, std::size_t{16}, std::size_t{128}}) {
      const Directory directory;
      const auto files = must(RealFiles::open_directory(directory.path.string(), method));
      const auto journal = open(*files, ignore);
      must(journal->prepare());
      const std::string payload(200, 'x');
      const std::vector<Entry> entries = batch(count, payload);
      const std::uint64_t bytes = group_size(entries);
      const std::uint64_t blocks = (bytes + block_size - 1) / block_size * block_size;

      constexpr std::uint64_t raw_size = std::uint64_t{64} << 20U;
      must(make_zeroes(*files, "raw", raw_size));
      const auto raw = must(files->open("raw", Access::Commit));
      BlockBuffer buffer;
      char* const bytes_of_raw = buffer.grow_to(blocks, 0);
      const std::string_view written(bytes_of_raw, blocks);

      std::vector<double> raw_times;
      std::vector<double> commit_times;
      std::uint64_t offset = 0;
      for (int i = 0; i < 1500; ++i) {
        if (offset + blocks > raw_size) offset = 0;
        // New bytes, as a journal's are: what the processor has just made takes the disk longer to
        // fetch. Making them is not counted.
        std::fill_n(bytes_of_raw, blocks, static_cast<char>(i));
        raw_times.push_back(timed([&] {
          must(raw->write(offset, written));
          must(raw->sync());
        }));
        // As a journal moves on: by bytes, not by blocks.
        offset += bytes / block_size * block_size;
        commit_times.push_back(timed([&] { must(journal->commit(entries)); }));
        if (journal->wants_prepare()) must(journal->prepare());
      }
      fmt::print("{:>8} {:>8} {:>10} {:>12.1f} {:>12.1f} {:>7.2f}x {:>12.1f} {:>8.1f}\n",
                 files->sync_method() == SyncMethod::Direct ? "direct" : "datasync",
                 count,
                 bytes,
                 at(raw_times, 0.5),
                 at(commit_times, 0.5),
                 at(commit_times, 0.5) / at(raw_times, 0.5),
                 at(raw_times, 0.99),
                 at(commit_times, 0.99));
    }
  }
}

void recover_a_million() {
  const Directory directory;
  const auto files = must(RealFiles::open_directory(directory.path.string()));
  {
    const auto journal = open(*files, ignore);
    const std::string payload(250, 'x');
    const std::vector<Entry> entries = batch(1000, payload);
    for (int i = 0; i < 1000; ++i) {
      must(journal->commit(entries));
      if (journal->wants_prepare()) must(journal->prepare());
    }
  }
  for (int round = 0; round < 3; ++round) {
    std::uint64_t records = 0;
    std::uint64_t sum = 0;
    const std::clock_t cpu_before = std::clock();
    const double took = timed([&] {
      open(*files, [&](std::span<const Record> group) -> Result<void> {
        for (const Record& record : group) sum += record.entry.payload.size() + record.sequence;
        records += group.size();
        return {};
      });
    });
    fmt::print(
        "recovery of {} records of 250 bytes after an unclean stop: {:.0f} ms, {:.0f} ms of "
        "them at work\n",
        records,
        took / 1000,
        1000.0 * static_cast<double>(std::clock() - cpu_before) / CLOCKS_PER_SEC);
  }
}

void commits_beside_a_snapshot() {
  const Directory directory;
  const auto files = must(RealFiles::open_directory(directory.path.string()));
  const auto journal = open(*files, ignore);
  must(journal->prepare());
  const std::string payload(200, 'x');
  const std::vector<Entry> entries = batch(16, payload);

  // Both threads at their work: a stretch without a snapshot and one with, several times over, so
  // that the disk's moods fall on both alike.
  std::vector<double> alone;
  std::vector<double> beside;
  double snapshot_time = 0;
  std::uint64_t stored = 0;
  for (int round = 0; round < 3; ++round) {
    const auto measure = [&](std::vector<double>& times) {
      times.push_back(timed([&] { must(journal->commit(entries)); }));
    };
    for (int i = 0; i < 3000; ++i) measure(alone);
    must(journal->prepare());
    std::atomic<bool> done = false;
    const Sequence last = journal->next_sequence() - 1;
    std::thread other([&] {
      snapshot_time += timed([&] {
        const auto writer = must(journal->begin_snapshot({.sequence = last, .stamp = {}}));
        std::uint64_t random = 1;
        std::string item(220, ' ');
        for (int i = 0; i < 1'000'000; ++i) {
          // Half of it as hard to compress as a payload may be.
          for (std::size_t at = 0; at < 110; at += 8) {
            random = random * 6364136223846793005U + 1442695040888963407U;
            std::copy_n(reinterpret_cast<const char*>(&random),
                        8,
                        item.begin() + static_cast<std::ptrdiff_t>(at));
          }
          must(writer->append(item));
        }
        stored = must(writer->finish(0)).stored_bytes;
      });
      must(journal->truncate(last));
      done = true;
    });
    while (!done) measure(beside);
    other.join();
    must(journal->prepare());
  }
  fmt::print("snapshot of 1,000,000 items of 220 bytes: {:.0f} ms, {} MiB stored\n",
             snapshot_time / 3 / 1000,
             stored >> 20U);
  fmt::print("commits of 16 records, us      p50      p99    p99.9      max\n");
  for (const auto& [name, times] :
       {std::pair{"without a snapshot", &alone}, {"beside one", &beside}}) {
    fmt::print("{:>22} {:>11.1f} {:>8.1f} {:>8.1f} {:>8.1f}   ({} commits)\n",
               name,
               at(*times, 0.5),
               at(*times, 0.99),
               at(*times, 0.999),
               at(*times, 1.0),
               times->size());
  }
  fmt::print("p99 raised by {:.2f} ms\n", (at(beside, 0.99) - at(alone, 0.99)) / 1000);
}

}  // namespace

int main() {
  commit_against_raw_write();
  recover_a_million();
  commits_beside_a_snapshot();
  return 0;
}
