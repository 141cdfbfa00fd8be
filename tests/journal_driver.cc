// A small user of the journal for tests that kill it: commits numbered payloads, with snapshots on
// the way, and says "ack N" on stdout when number N is durable.
//
//   journal_driver run DIR COUNT [direct|datasync] [threads]   commit up to number COUNT, then stop
//   journal_driver check DIR ACKED    all numbers are there once, at least up to ACKED; prints how
//   many
//
// Exit: 0 done, 3 the journal reported an error (the last line of stderr), 1 something is wrong.

#include "journal/file_journal.h"
#include "journal/real_files.h"

#include <fmt/format.h>

#include <atomic>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <unistd.h>
#include <vector>

namespace {

using namespace reeve;
using namespace reeve::journal;

constexpr int exit_wrong = 1;
constexpr int exit_journal = 3;

void say(const std::string& line) {
  const std::string text = line + "\n";
  if (::write(STDOUT_FILENO, text.data(), text.size()) < 0) std::_Exit(exit_wrong);
}

[[noreturn]] void stop(int status, std::string_view why) {
  std::fputs(fmt::format("{}\n", why).c_str(), stderr);
  std::_Exit(status);
}

[[noreturn]] void journal_failed(const Error& error) { stop(exit_journal, error.message); }

std::uint64_t number_in(std::string_view text) {
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.begin(), text.end(), number);
  if (error != std::errc{}) stop(exit_wrong, fmt::format("no number in {}", text));
  return number;
}

// Long and short ones, so that groups end everywhere in a block.
std::string payload(std::uint64_t number) {
  return fmt::format("{}:{}", number, std::string(number * 37 % 900, 'p'));
}

Options options() {
  Options options;
  options.fresh_id = random_journal_id();
  options.first_segment = 8192;
  options.largest_segment = 32768;
  options.largest_group = 8192;
  options.chunk_size = 512;
  options.sync_every = 1024;
  return options;
}

struct Memory {
  std::uint64_t last = 0;
  std::unique_ptr<Journal> journal;
};

Memory recover(Files& files) {
  const auto recovery = open_file_journal(files, options());
  if (!recovery) journal_failed(recovery.error());
  Memory memory;
  std::string state;
  for (;;) {
    const auto chunk = (*recovery)->next_chunk();
    if (!chunk) journal_failed(chunk.error());
    if (chunk->empty()) break;
    state += *chunk;
  }
  if ((*recovery)->snapshot()) {
    memory.last = number_in(state);
    if (memory.last != (*recovery)->snapshot()->moment.sequence) stop(exit_wrong, "other snapshot");
  }
  const auto told = (*recovery)->replay([&](std::span<const Record> group) -> Result<void> {
    for (const Record& record : group) {
      ++memory.last;
      if (record.sequence != memory.last || record.entry.payload != payload(memory.last)) {
        stop(exit_wrong, fmt::format("number {} is not there, or twice", memory.last));
      }
    }
    return {};
  });
  if (!told) journal_failed(told.error());
  auto journal = (*recovery)->begin();
  if (!journal) journal_failed(journal.error());
  memory.journal = std::move(*journal);
  return memory;
}

void write_snapshot(Journal& journal, std::uint64_t last) {
  auto writer = journal.begin_snapshot({.sequence = last, .stamp = {}});
  if (!writer) journal_failed(writer.error());
  const std::string state = fmt::format("{} {}", last, std::string(3000, 's'));
  if (const auto appended = (*writer)->append(state); !appended) journal_failed(appended.error());
  if (const auto done = (*writer)->finish(last); !done) journal_failed(done.error());
  if (const auto done = journal.truncate(last); !done) journal_failed(done.error());
}

void commit(Journal& journal, std::uint64_t& last, std::uint64_t count) {
  std::vector<std::string> payloads;
  std::vector<Entry> entries;
  for (std::uint64_t i = 1; i <= count; ++i) payloads.push_back(payload(last + i));
  for (const std::string& each : payloads) {
    Entry entry;
    entry.payload = each;
    entries.push_back(entry);
  }
  const auto done = journal.commit(entries);
  if (!done) journal_failed(done.error());
  last = *done;
  say(fmt::format("ack {}", last));
}

void run(Files& files, std::uint64_t count, bool threads) {
  Memory memory = recover(files);
  Journal& journal = *memory.journal;
  say(fmt::format("ack {}", memory.last));
  const std::uint64_t first = memory.last;

  std::atomic<bool> done = false;
  std::thread other;
  if (threads) {
    other = std::thread([&] {
      while (!done) {
        if (const auto made = journal.prepare(); !made) journal_failed(made.error());
        write_snapshot(journal, journal.next_sequence() - 1);
      }
    });
  }
  bool half = false;
  while (memory.last < count) {
    commit(journal, memory.last, std::min<std::uint64_t>(1 + memory.last % 3, count - memory.last));
    if (threads) continue;
    if (memory.last % 5 == 0) {
      if (const auto made = journal.prepare(); !made) journal_failed(made.error());
    }
    if (!half && memory.last >= first + (count - first) / 2) {
      half = true;
      write_snapshot(journal, memory.last);
    }
  }
  done = true;
  if (threads) other.join();
  write_snapshot(journal, memory.last);
  if (const auto closed = journal.close(); !closed) journal_failed(closed.error());
  say("closed");
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string_view> words(argv + 1, argv + argc);
  if (words.size() < 3)
    stop(2, "usage: journal_driver run|check DIR N [direct|datasync] [threads]");
  SyncMethod method = SyncMethod::Probe;
  if (words.size() > 3) method = words[3] == "direct" ? SyncMethod::Direct : SyncMethod::DataSync;
  const auto files = RealFiles::open_directory(std::string(words[1]), method);
  if (!files) journal_failed(files.error());
  const std::uint64_t number = number_in(words[2]);
  if (words[0] == "run") {
    run(**files, number, words.size() > 4);
    return 0;
  }
  const Memory memory = recover(**files);
  if (memory.last < number) {
    stop(exit_wrong, fmt::format("{} was acknowledged, {} are there", number, memory.last));
  }
  say(fmt::format("{}", memory.last));
  return 0;
}
