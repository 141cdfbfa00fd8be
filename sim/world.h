#pragma once

#include "engine/checkpoint.h"
#include "engine/clock.h"
#include "engine/engine.h"
#include "journal/journal.h"
#include "sim/clients.h"
#include "sim/clocks.h"
#include "sim/dice.h"
#include "sim/disk.h"
#include "sim/hands.h"
#include "sim/oracle.h"
#include "sim/plan.h"
#include "sim/report.h"
#include "sim/wire.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

// One seed: a machine with a disk, clocks, clients and processes, and the real daemon on it, which
// is driven here as its own loop would drive it. One thing happens a step. docs/simulator.md says
// what is checked when.
namespace reeve::sim {

struct Counts {
  std::uint64_t steps = 0;
  std::uint64_t crashes = 0;     // loss of power, kill, in any operation or between two
  std::uint64_t stops = 0;       // clean ones
  std::uint64_t failures = 0;    // the disk refused, and the daemon ended itself
  std::uint64_t recoveries = 0;  // those that succeeded
  std::uint64_t refusals = 0;    // damage, or another version, that was rightly refused
  std::uint64_t records = 0;
  std::uint64_t replies = 0;
  std::uint64_t effects = 0;
  std::uint64_t observed = 0;
  std::uint64_t checkpoints = 0;
  std::uint64_t full_checks = 0;
  std::uint64_t undelivered = 0;    // answers to connections that were gone
  std::uint64_t refused_full = 0;   // new work while the disk was short of space
  std::uint64_t finished_full = 0;  // and work that was finished meanwhile
  std::uint64_t slow_syncs = 0;
  std::uint64_t storms = 0;
  std::uint64_t turned_away = 0;  // second daemons
  std::uint64_t lines = 0;        // of the protocol, sent whole

  void add(const Counts& other);
};

class World final : private engine::Listener, private engine::Projector {
 public:
  using Sequence = engine::Sequence;

  World(std::uint64_t seed, Report& report, std::optional<std::uint64_t> steps = {});
  ~World() override;

  // All of it, up to the first violation.
  void run();

  const Counts& counts() const { return counts_; }
  const Plan& plan() const { return plan_; }

 private:
  // The daemon while it runs.
  struct Daemon {
    std::unique_ptr<journal::Journal> journal;
    std::optional<engine::Clock> clock;
    std::unique_ptr<engine::Engine> engine;
    std::unique_ptr<engine::Checkpointer> checkpointer;  // before the journal it writes to
    std::optional<engine::Batch> batch;                  // on its way
    bool committed = false;  // and on the disk, which the engine does not know yet
    engine::Cursor follower;
    std::optional<engine::Sequence> truncated;
  };
  struct Asker {
    std::size_t client = 0;
    std::optional<Request> request;
    bool returns = false;
  };

  // world.cc: the course of things
  void step();
  void drain();
  bool is_drained() const;
  void check(bool whole);
  Stamp stamp() const { return now_; }
  void look();
  void deliver();
  void take_back_lost();

  // world_clients.cc
  void set_up();
  void client_acts();
  void submit(std::size_t client, Request request);
  void touch(const Command& command);
  void judge_room(const Request& request, const Reply& reply);
  void touch_all() { touched_grants_ = touched_queues_ = true; }
  void disconnect(std::size_t client);
  void come_back(std::size_t client);
  void time_passes();
  void pass(Duration by);
  void odd_time();
  void kind_clients();

  // world_daemon.cc
  void writer_goes_on();
  void housekeeping();
  void write_checkpoint();
  void project();
  void judge_reserve(const Result<journal::Sequence>& committed);
  void failed(const Error& error);
  bool waits_for_disk();

  // world_faults.cc
  void maybe_fault();
  void set_strike(std::uint64_t nth, Disk::Fault fault);
  bool has_struck() const { return struck_ && disk_.operations() >= strike_at_; }
  void take_disk_down(Disk::Fault how);
  void crash(Disk::Fault how);
  void end_daemon(bool power_lost);
  void stop_cleanly();
  bool start();  // false: it has to be tried again, or there is a violation
  void damage();
  void lose_file();
  bool try_version();
  void second_daemon();
  Result<engine::Remembered> remember(journal::Recovery& recovery);
  void began(engine::Remembered remembered, std::unique_ptr<journal::Journal> journal);
  journal::Options options() const;

  // Listener
  void replied(engine::Ticket ticket, engine::Sequence sequence, const Reply& reply) override;
  void answered(WaiterId waiter, engine::Sequence sequence, const Reply& reply) override;
  void queried(engine::Ticket ticket, const State& state, Stamp stamp) override;
  void unavailable(engine::Ticket ticket, const Error& error) override;
  void news() override;
  // Projector
  void project(const Event& event, Time now, const State& state) override;
  void reached(engine::Sequence sequence) override;

  std::uint64_t seed_;
  Report& report_;
  Dice dice_;
  Plan plan_;
  Disk disk_;
  Clocks clocks_;
  SimHands hands_;
  Oracle oracle_;
  Clients clients_;
  Wire wire_;
  Counts counts_;

  std::optional<Daemon> daemon_;
  Stamp now_;
  Time looked_;  // when the daemon last looked at its clocks
  bool faults_ = true;
  bool struck_ = false;  // a strike was set, and nobody has seen to its consequences
  Disk::Fault strike_ = Disk::Fault::Eio;
  std::uint64_t strike_at_ = 0;
  bool full_ = false;
  std::optional<Duration> slow_until_;  // by the boot clock: the disk is busy
  std::uint64_t storm_ = 0;             // crashes that are still to come
  std::uint64_t reserve_ = 0;           // what can be committed though the disk is full
  std::uint64_t until_check_ = 0;
  bool touched_grants_ = true;  // by what happened since the last check
  bool touched_queues_ = true;
  Sequence checked_ = 0;

  // Ours begin where those of the protocol's desk will not come.
  static constexpr std::uint64_t own_tickets = std::uint64_t{1} << 40U;
  static bool is_of_wire(engine::Ticket ticket) { return ticket.value < own_tickets; }
  std::uint64_t last_ticket_ = own_tickets;
  std::unordered_map<std::uint64_t, Asker> askers_;
  struct Waiter {
    std::size_t client = 0;
    SessionId session;  // the connection that is to have the answer
    std::string key;
  };
  std::unordered_map<std::uint64_t, Waiter> waiters_;
  struct Lost {
    Waiter waiter;
    Reply reply;
    bool disconnects = false;
  };
  std::vector<Lost> lost_;  // answers that nobody got

  // What the follower has seen, and what the projector has: shown, and made durable.
  engine::Sequence followed_ = 0;
  std::pair<engine::Sequence, std::uint32_t> projected_{0, 0};
  engine::Sequence projector_reached_ = 0;
  engine::Sequence shown_in_replay_ = 0;  // in any start, also one that was interrupted
  engine::Sequence projector_passed_ = 0;
  std::vector<std::pair<engine::Sequence, std::uint32_t>> replayed_;
  engine::Sequence snapshot_ = 0;  // the last one that is safe
};

}  // namespace reeve::sim
