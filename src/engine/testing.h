#pragma once

#include "core/grant_testing.h"
#include "core/testing.h"
#include "engine/engine.h"
#include "engine/recovery.h"
#include "journal/journal.h"

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

// A house for tests: an engine on a journal in memory, a clock that only the test moves, and ports
// that write down what reached them.
namespace reeve::engine::testing {

using namespace std::chrono_literals;
using reeve::testing::as;
using reeve::testing::is;

// ── Words ──

inline Command take_lock(const Holder& holder,
                         const std::string& name,
                         const reeve::testing::Terms& terms = {}) {
  return lock::Acquire{{reeve::testing::lock_named(name)},
                       holder,
                       terms.meta,
                       terms.timeout,
                       terms.max_hold,
                       terms.wait};
}
inline Command give_lock(const Holder& holder, const std::string& name) {
  return lock::Release{reeve::testing::lock_named(name), holder, std::nullopt};
}
inline Command look_at_lock(const std::string& name) {
  return lock::Check{reeve::testing::lock_named(name), Token{1}};
}
inline Command emit(const std::string& name = "ci:green") { return EmitCustom{name, {}}; }

// From now on every `ci:green` runs a shell program: one effect.
Command hook_on_green();

// ── The disk ──

// A directory that is not there yet, for this process alone.
std::filesystem::path own_directory(const std::string& name);

// What survives a crash: whole groups, and snapshots that were finished. Faults on request.
struct MemoryDisk {
  struct Kept {
    journal::Record record;
    std::string payload;
  };
  struct KeptSnapshot {
    journal::SnapshotInfo info;
    std::string bytes;
  };

  std::vector<Kept> records;
  journal::Group groups = 0;
  std::map<Sequence, KeptSnapshot> snapshots;
  Sequence truncated = 0;
  bool clean = false;

  std::optional<Error> fails;         // every commit from now on
  std::chrono::nanoseconds takes{0};  // every commit, by the clock
  bool full = false;                  // snapshots find no room
  journal::Room room = journal::Room::Plenty;
  bool wants_snapshot = false;
  bool wants_prepare = false;
};

// `disk` outlives both.
std::unique_ptr<journal::Recovery> open_memory_journal(MemoryDisk& disk);

struct Replied {
  Ticket ticket;
  Sequence sequence = 0;
  Reply reply;

  bool operator==(const Replied&) const = default;
};

class House final : public Hands, public Listener, public Projector {
 public:
  using Open = std::function<Result<std::unique_ptr<journal::Recovery>>()>;

  // Nothing is there yet, or what the last crash left.
  explicit House(MemoryDisk& disk, bool with_history = false);
  explicit House(Open open, bool with_history = false);
  ~House() override;

  // The daemon starts, so many seconds after the stamp; afterwards begin() is durable.
  void start();
  void start_without_commit();
  void crash();  // what is not on disk is gone

  Result<std::unique_ptr<journal::Recovery>> open() const { return open_(); }
  Engine& engine() { return *engine_; }
  journal::Journal& journal() { return *journal_; }

  Ticket ask(Command command, SessionId session = {}, std::string key = {});
  Ticket query();
  // Asks, commits, delivers, and says what was replied.
  Reply get(Command command, SessionId session = {}, std::string key = {});

  // Commits all there is and delivers.
  void settle();
  bool commit();  // one batch, not delivered; false if there is none
  void end_effect(EffectId effect, Outcome outcome = {});
  void observe(EffectId effect, Observation observation);
  void checkpoint();  // asks, commits, writes it, truncates

  // Time passes; the loop wakes when the engine wants to.
  void pass(Duration duration);

  Stamp stamp{reeve::testing::start, Wall{std::chrono::hours{24 * 365 * 50}}};

  // What came out.
  std::vector<Replied> replies;
  std::vector<std::pair<Ticket, Sequence>> queries;
  std::vector<State> seen;
  std::vector<std::pair<Ticket, Error>> refusals;
  std::vector<std::pair<WaiterId, Reply>> answers;
  std::vector<Start> started;
  std::vector<Start> observed;
  std::vector<Event> projected;
  std::set<Process> watched;
  Sequence reached_sequence = 0;
  int news_count = 0;
  std::optional<Replied> reply_to(Ticket ticket) const;
  std::vector<std::string> event_names() const;

  void start(const Start& effect) override { started.push_back(effect); }
  void observe(const Start& effect) override { observed.push_back(effect); }
  void watch(const Process& process) override { watched.insert(process); }
  void forget(const Process& process) override { watched.erase(process); }
  void replied(Ticket ticket, Sequence sequence, const Reply& reply) override;
  void answered(WaiterId waiter, Sequence sequence, const Reply& reply) override;
  void queried(Ticket ticket, const State& state, Stamp at) override;
  void unavailable(Ticket ticket, const Error& error) override;
  void news() override { ++news_count; }
  void project(const Event& event, Time, const State&) override { projected.push_back(event); }
  void reached(Sequence sequence) override;

 private:
  Open open_;
  bool with_history_;
  std::unique_ptr<journal::Recovery> recovery_;
  std::unique_ptr<journal::Journal> journal_;
  std::unique_ptr<Engine> engine_;
  std::uint64_t last_ticket_ = 0;
  std::set<Ticket> replied_;
};

}  // namespace reeve::engine::testing
