#pragma once

#include "core/apply.h"
#include "engine/batch.h"
#include "engine/engine.h"
#include "engine/ports.h"
#include "journal/journal.h"
#include "sim/lock_model.h"
#include "sim/queue_model.h"
#include "sim/report.h"

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

// Knows what must be true. It keeps, apart from the engine, the records that were handed to the
// journal and a state of its own made from those that the journal called durable, and holds
// everything that leaves the engine against them:
//
//     take_batch ──▶ took()      in flight: may be there after a crash, all of it or nothing
//     commit ok  ──▶ committed() durable: must be there for ever
//     deliver    ──▶ replied(), answered(), ...   only of what is durable, in order, once
//     restart    ──▶ recovered() the state of one of exactly two sequences, to the last bit
namespace reeve::sim {

class Oracle {
 public:
  explicit Oracle(Report& report);

  engine::Sequence durable() const { return durable_; }
  const State& shadow() const { return shadow_; }

  // ── Requests ──
  void asked(engine::Ticket ticket, Request request, Stamp stamp);
  // Tickets for a return of a session or a copy of the state: only that they are answered.
  void asked_otherwise(engine::Ticket ticket);
  // What a line of the protocol meant: one of these is what a durable request of its key must be.
  void meant(Request request);
  // A reply to somebody whose request is not known here: it is durable, and comes in order.
  void overheard(engine::Sequence sequence);
  bool is_open(engine::Ticket ticket) const { return open_.contains(ticket.value); }
  std::size_t open() const { return open_.size(); }

  // ── The journal ──
  void took(engine::Batch& batch);
  void committed();
  bool in_flight() const { return !flying_.empty(); }

  // ── What leaves the engine ──
  void replied(engine::Ticket ticket, engine::Sequence sequence, const Reply& reply);
  void answered(WaiterId waiter, engine::Sequence sequence, const Reply& reply);
  void queried(engine::Ticket ticket, const State& state);
  void unavailable(engine::Ticket ticket);
  void followed(const Event& event);
  void follower_returned(engine::Sequence since);
  // After deliver(): all that was durable must have left.
  void delivered(engine::Sequence engine_durable);

  // ── A restart ──
  void daemon_ended();  // whoever waited for a reply will not have one
  // What recovery is shown; the last argument of `recovered` is the state it made of it.
  void replays(const journal::Record& record);
  void begins_from(const journal::SnapshotInfo& info);
  void recovered(const State& state, engine::Sequence snapshot);
  // Recovery will begin from a snapshot of this sequence, or a later one.
  void truncated(engine::Sequence sequence);

  // ── A projector, which must see every event once ──
  void projected(engine::Sequence sequence, std::uint32_t index);
  void projector_passed(engine::Sequence sequence);
  void projector_restarts(engine::Sequence passed);
  // It was too far behind, and left: what it missed is a gap. It begins again after a restart.
  bool projector_left() const { return projector_left_; }

  // Records that are durable and followed by another durable group, for damaging them.
  struct Kept {
    engine::Sequence sequence = 0;
    std::uint64_t batch = 0;
    Stamp stamp;
    std::string payload;
    std::uint64_t digest = 0;
  };
  const std::deque<Kept>& kept() const { return kept_; }

  // Every item the second model knows of is in the state, and the other way round.
  void compare_models();

  std::uint64_t replies() const { return replies_; }
  std::vector<EffectId> take_settled() { return std::exchange(settled_, {}); }

 private:
  struct Open {
    std::optional<Request> request;
    Stamp stamp;
  };
  // A durable input and what the core said to it.
  struct Decided {
    engine::Sequence sequence = 0;
    Stamp stamp;
    Input input;
    Said said;
    bool replied = false;
    std::size_t answered = 0;
  };
  struct Remembered {
    std::uint64_t digest = 0;
    std::optional<WaiterId> waiter;
    Reply reply;
  };

  Decided* find(engine::Sequence sequence);
  void advance_models(engine::Sequence through);
  bool judge_key(const Request& request, const Reply& reply, bool applied);
  bool check_told(engine::Sequence sequence, const char* what);
  void check_meant(const Request& request);

  Report& report_;
  State shadow_;
  engine::Sequence durable_ = 0;
  std::vector<Kept> flying_;
  std::deque<Kept> kept_;
  std::uint64_t batches_ = 0;

  std::unordered_map<std::uint64_t, Open> open_;
  std::deque<Decided> decided_;  // those whose words are yet to leave, or to reach the models
  engine::Sequence modelled_ = 0;
  engine::Sequence last_told_ = 0;

  std::deque<Event> events_;  // the follower is yet to see
  std::deque<std::pair<engine::Sequence, std::uint32_t>> to_project_;
  bool projector_left_ = false;
  std::size_t projected_ = 0;             // of them, shown to the projector and not yet passed
  std::map<EffectId, Outgoing> effects_;  // asked for, and without an outcome
  std::map<std::string, Remembered> keys_;
  std::map<std::uint64_t, std::string> waiting_keys_;
  std::multimap<std::string, Request> meant_;
  std::vector<EffectId> settled_;
  std::uint64_t replies_ = 0;

  LockModel locks_;
  QueueModel queues_;
};

}  // namespace reeve::sim
