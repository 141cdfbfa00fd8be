// What a request costs on its way through the engine, and how many a second go through it.
//
//     ./dev bench engine
//
// First the parts of one push of 200 bytes, each over 200,000 requests in processor time of this
// thread: deciding (apply), writing the input as bytes (encode), the digest of what was said, all
// of it with the rest of Engine::submit() and deliver(). Then pushes a second by the clock, in
// batches of so many as clients wait at once: on a journal that does nothing, and on the real one,
// whose thread syncs a batch while the next is being decided. The rounds of the two take turns, so
// that a busy neighbour slows both. Then a start after a crash: one million items in a checkpoint
// and 10,000 records since. Last, one from records alone, each of which is decided again.
// `./dev bench engine parts` (or rates, start, replay) does only that.

#include "engine/engine.h"

#include "codec/binary.h"
#include "core/apply.h"
#include "core/digest.h"
#include "engine/checkpoint.h"
#include "engine/recovery.h"
#include "engine/writer.h"
#include "journal/file_journal.h"
#include "journal/real_files.h"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <memory>
#include <mutex>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace reeve::bench {
namespace {

constexpr std::size_t requests = 200'000;
constexpr std::size_t item_bytes = 200;
constexpr Stamp stamp{Time{} + std::chrono::hours{1}, Wall{std::chrono::hours{24 * 365 * 50}}};
const QueueName queue_name{default_project, "bench"};

double worked() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) * 1e9 + static_cast<double>(time.tv_nsec);
}

Request request(queue::Command command) {
  return {default_project, {}, true, {}, std::move(command)};
}

Request push_of(std::size_t number) {
  queue::NewItem item;
  item.data = Bytes(std::string(item_bytes, static_cast<char>('a' + number % 26)));
  return request(queue::Push{queue_name, {std::move(item)}});
}

struct Nobody final : engine::Hands, engine::Listener {
  void start(const Start&) override {}
  void observe(const Start&) override {}
  void watch(const Process&) override {}
  void forget(const Process&) override {}
  void replied(engine::Ticket, engine::Sequence, const Reply&) override { ++replies; }
  void answered(WaiterId, engine::Sequence, const Reply&) override {}
  void queried(engine::Ticket, const State&, Stamp) override {}
  void unavailable(engine::Ticket, const Error&) override {}
  void news() override {}

  std::uint64_t replies = 0;
};

struct House {
  Nobody nobody;
  engine::Engine engine;

  explicit House(engine::Remembered remembered) : engine(std::move(remembered), {nobody, nobody}) {
    engine.begin(stamp);
    engine.submit(engine::Ticket{1}, request(queue::Create{queue_name, {}}), stamp);
  }
  void submit(std::size_t number) {
    engine.submit(engine::Ticket{number + 2}, push_of(number), stamp);
  }
};

// ── The parts of a request ──

void parts() {
  std::vector<Input> inputs;
  for (std::size_t i = 0; i < requests; ++i) inputs.emplace_back(push_of(i));
  State state = initial_state(stamp.now);
  apply_to(state, request(queue::Create{queue_name, {}}), stamp).changed;
  std::vector<Said> said;
  said.reserve(requests);

  double before = worked();
  for (const Input& input : inputs) said.push_back(apply_to(state, input, stamp));
  const double apply = (worked() - before) / requests;

  std::size_t bytes = 0;
  before = worked();
  for (const Input& input : inputs) bytes += codec::to_bytes(input).size();
  const double encode = (worked() - before) / requests;

  std::uint64_t digests = 0;
  before = worked();
  for (const Said& one : said) digests ^= digest_of(one);
  const double digest = (worked() - before) / requests;

  before = worked();
  for (const Said& one : said) {
    for (const Event& event : one.events) bytes += codec::to_bytes(event).size();
  }
  const double events = (worked() - before) / requests;

  House house(engine::nothing_remembered());
  before = worked();
  for (std::size_t i = 0; i < requests; ++i) {
    house.engine.submit(engine::Ticket{i + 2}, std::get<Request>(std::move(inputs[i])), stamp);
    if (i % 64 != 0) continue;
    const std::optional<engine::Batch> batch = house.engine.take_batch();
    house.engine.committed(batch->last);
    house.engine.deliver();
  }
  const double all = (worked() - before) / requests;

  fmt::print("a push of {} bytes, in ns of processor time (check {:x} {})\n",
             item_bytes,
             digests,
             bytes % 10);
  const auto line = [&](const char* what, double nanoseconds) {
    fmt::print("  {:<34}{:>8.0f}{:>8.0f} %\n", what, nanoseconds, nanoseconds / all * 100);
  };
  line("apply", apply);
  line("encode", encode);
  line("digest", digest);
  line("size of its events", events);
  line("all of submit, commit and deliver", all);
}

// ── Requests a second ──

double rate(std::size_t count, double seconds) { return static_cast<double>(count) / seconds; }

double seconds_since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

// Commits that are there at once: what the engine itself can do.
double without_a_disk(std::size_t clients, std::size_t count) {
  House house(engine::nothing_remembered());
  const auto begin = std::chrono::steady_clock::now();
  for (std::size_t i = 0; i < count;) {
    for (std::size_t client = 0; client < clients && i < count; ++client) house.submit(i++);
    const std::optional<engine::Batch> batch = house.engine.take_batch();
    house.engine.committed(batch->last);
    house.engine.deliver();
  }
  return rate(house.nobody.replies, seconds_since(begin));
}

template <class T>
T must(Result<T> result) {
  if (!result) {
    fmt::print(stderr, "{}\n", result.error().message);
    std::abort();
  }
  return *std::move(result);
}

std::string fresh_home() {
  const char* home = std::getenv("REEVE_BENCH_DIR");
  std::string path =
      (home ? std::string(home) : std::filesystem::current_path().string()) + "/engine_bench_home";
  std::filesystem::remove_all(path);
  if (!journal::make_directory(path)) std::abort();
  return path;
}

// As in the daemon: so many clients, each asks again when it has its reply.
double on_a_disk(std::size_t clients, std::size_t count) {
  const std::string path = fresh_home();
  const auto files = must(journal::RealFiles::open_directory(path));
  journal::Options options;
  options.fresh_id = journal::random_journal_id();
  const auto recovery = must(journal::open_file_journal(*files, options));
  House house(must(engine::remember(*recovery)));
  const auto opened = must(recovery->begin());
  journal::Journal& journal = *opened;

  std::mutex mutex;
  std::condition_variable woken;
  bool awake = false;
  double result = 0;
  {
    engine::Writer writer(journal, [&] {
      const std::scoped_lock lock(mutex);
      awake = true;
      woken.notify_one();
    });
    const auto begin = std::chrono::steady_clock::now();
    std::size_t asked = 0;
    while (house.nobody.replies < count) {
      while (asked < count + 1 && asked < house.nobody.replies + clients) house.submit(asked++);
      if (std::optional<engine::Batch> batch = house.engine.take_batch()) {
        writer.begin(*std::move(batch));
      }
      {
        std::unique_lock lock(mutex);
        woken.wait(lock, [&] { return awake; });
        awake = false;
      }
      if (const auto finished = writer.finished()) {
        if (!*finished) std::abort();
        house.engine.committed(**finished);
      }
      house.engine.deliver();
      if (journal.wants_prepare() && !journal.prepare()) std::abort();
    }
    result = rate(house.nobody.replies, seconds_since(begin));
  }
  std::filesystem::remove_all(path);
  return result;
}

void rates() {
  fmt::print("\npushes a second\n{:>10}{:>16}{:>16}\n", "clients", "no disk", "journal");
  for (const std::size_t clients : {std::size_t{1}, std::size_t{16}, std::size_t{128}}) {
    double best_without = 0;
    double best_with = 0;
    for (int round = 0; round < 3; ++round) {
      best_without = std::max(best_without, without_a_disk(clients, requests));
      best_with = std::max(best_with, on_a_disk(clients, clients == 1 ? 2'000 : 20'000));
    }
    fmt::print("{:>10}{:>16.0f}{:>16.0f}\n", clients, best_without, best_with);
  }
}

// ── A start after a crash ──

// What no compression makes smaller.
Bytes noise() {
  static std::mt19937_64 random(1);
  std::string data(item_bytes, ' ');
  for (char& letter : data) letter = static_cast<char>(random());
  return Bytes(data);
}

void commit(House& house, journal::Journal& journal) {
  while (std::optional<engine::Batch> batch = house.engine.take_batch()) {
    house.engine.committed(must(journal.commit(batch->entries())));
  }
  house.engine.deliver();
}

// Seconds to the first commit after a crash, and of what.
struct Back {
  double seconds = 0;
  double work = 0;  // of the processor
  double opening = 0;
  double remembering = 0;
};

Back come_back(journal::Files& files, const journal::Options& options) {
  Back back;
  const auto begin = std::chrono::steady_clock::now();
  const double before = worked();
  const auto recovery = must(journal::open_file_journal(files, options));
  back.opening = seconds_since(begin);
  engine::Remembered remembered = must(engine::remember(*recovery));
  back.remembering = seconds_since(begin) - back.opening;
  House house(std::move(remembered));
  const auto journal = must(recovery->begin());
  commit(house, *journal);
  back.seconds = seconds_since(begin);
  back.work = (worked() - before) / 1e9;
  return back;
}

void start() {
  constexpr std::size_t items = 1'000'000;
  constexpr std::size_t since = 10'000;
  const std::string path = fresh_home();
  const auto files = must(journal::RealFiles::open_directory(path));
  journal::Options options;
  options.fresh_id = journal::random_journal_id();
  std::uint64_t stored = 0;
  double writing = 0;
  {
    const auto recovery = must(journal::open_file_journal(*files, options));
    House house(must(engine::remember(*recovery)));
    const auto journal = must(recovery->begin());
    for (std::size_t i = 0; i < items / 1000; ++i) {
      Request push = push_of(i);
      auto& words = std::get<queue::Push>(std::get<queue::Command>(push.command));
      words.items.resize(1000, words.items.front());
      for (queue::NewItem& item : words.items) item.data = noise();
      house.engine.submit(engine::Ticket{i + 2}, std::move(push), stamp);
      if (i % 10 == 9) commit(house, *journal);
    }
    commit(house, *journal);
    house.engine.checkpoint();
    house.engine.deliver();
    const std::optional<engine::Snapshot> snapshot = house.engine.take_snapshot();
    const auto begin = std::chrono::steady_clock::now();
    const journal::SnapshotInfo info = must(engine::write_checkpoint(*journal, *snapshot));
    writing = seconds_since(begin);
    stored = info.stored_bytes;
    house.engine.checkpoint_written(info);
    if (!journal->truncate(info.moment.sequence)) std::abort();
    for (std::size_t i = 0; i < since; ++i) {
      house.submit(items + i);
      if (i % 100 == 99) commit(house, *journal);
    }
    commit(house, *journal);
  }  // nobody says goodbye
  const Back back = come_back(*files, options);
  fmt::print("\na start with {} items in a checkpoint and {} records since\n", items, since);
  fmt::print("  to the first commit {:.2f} s, {:.2f} s of it worked\n", back.seconds, back.work);
  fmt::print(
      "  of it {:.2f} s finding the journal, {:.2f} s reading the checkpoint and deciding "
      "again, {:.2f} s the rest\n",
      back.opening,
      back.remembering,
      back.seconds - back.opening - back.remembering);
  fmt::print("  the checkpoint took {:.2f} s and {:.0f} bytes an item\n",
             writing,
             static_cast<double>(stored) / items);
  std::filesystem::remove_all(path);
}

void replay() {
  constexpr std::size_t records = 500'000;
  const std::string path = fresh_home();
  const auto files = must(journal::RealFiles::open_directory(path));
  journal::Options options;
  options.fresh_id = journal::random_journal_id();
  {
    const auto recovery = must(journal::open_file_journal(*files, options));
    House house(must(engine::remember(*recovery)));
    const auto journal = must(recovery->begin());
    for (std::size_t i = 0; i < records; ++i) {
      house.submit(i);
      if (i % 1000 == 999) commit(house, *journal);
    }
    commit(house, *journal);
  }  // nobody says goodbye
  const Back back = come_back(*files, options);
  fmt::print("\na start from {} records of one push each\n", records);
  fmt::print("  {:.0f} a second by the clock, {:.0f} by the processor\n",
             rate(records, back.remembering),
             rate(records, back.work));
  std::filesystem::remove_all(path);
}

}  // namespace

void run(std::string_view what) {
  if (what.empty() || what == "parts") parts();
  if (what.empty() || what == "rates") rates();
  if (what.empty() || what == "start") start();
  if (what.empty() || what == "replay") replay();
}

}  // namespace reeve::bench

int main(int count, char** words) { reeve::bench::run(count > 1 ? words[1] : ""); }
