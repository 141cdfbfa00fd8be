#pragma once

#include "base/result.h"
#include "base/time.h"
#include "core/apply.h"
#include "core/input.h"
#include "core/state.h"
#include "engine/batch.h"
#include "engine/checkpoint.h"
#include "engine/clock.h"
#include "engine/event_log.h"
#include "engine/outbox.h"
#include "engine/ports.h"
#include "engine/projectors.h"
#include "engine/recovery.h"
#include "journal/journal.h"

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

// Owns the state and keeps order. Every input is decided at once and written afterwards; what it
// says and asks for leaves, by deliver(), only when it is durable. Single-threaded and passive: it
// has no thread, reads no clock and never sleeps, so the daemon's loop and the simulator drive the
// same code:
//
//     engine.look(clock.read(reading));          what happened to the clocks, what is due
//     engine.submit(ticket, request, stamp);     decided here
//     if (auto batch = engine.take_batch()) ...  journal.commit(batch->entries()), elsewhere
//     engine.committed(last);                    and meanwhile the next batch is being decided
//     engine.deliver();                          the one place where anything leaves
//     sleep until engine.next_wake()
//
// An input that changed nothing is not written and takes no sequence; its reply carries the
// sequence it was judged after and waits until that is durable. So all replies leave in the order
// of their decisions, and whoever has a reply sees in every later one at least as much.
namespace reeve::engine {

struct ProjectorPort {
  Projector* projector = nullptr;
  Sequence passed = 0;  // what it has made durable, as it says itself
};

struct Ports {
  Hands& hands;
  Listener& listener;
  std::map<std::string, ProjectorPort> projectors = {};  // by name: `history`
};

class Engine {
 public:
  Engine(Remembered remembered, Ports ports);
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;
  ~Engine();

  // The first input there is: the daemon listens again. Leases count from now, connections have ten
  // seconds to come back, and the effects of the outbox are observed before anything due is
  // settled. A projector that is behind the snapshot the state was made from has a gap, which is
  // recorded. Once, before all below.
  void begin(Stamp stamp);

  // ── What comes in. Stamps never run backwards ──

  // The clocks were read: says so to the core if the machine slept or the wall was set, and settles
  // what is due, at most 256 things. True: there is more, look again after serving others.
  bool look(const Moment& moment);
  bool tick(Stamp stamp);
  void resumed(System::What what, Stamp stamp);
  void clock_stepped(Duration by, Stamp stamp);

  void submit(Ticket ticket, Request request, Stamp stamp);

  // The state as it is now, when all it contains is durable: Listener::queried().
  void query(Ticket ticket, Stamp stamp);

  // An outcome for an effect that nobody waits for changes nothing.
  void effect_ended(EffectId effect, Outcome outcome, Stamp stamp);
  void observed(EffectId effect, Observation observation, Stamp stamp);
  void process_gone(const Process& process, Stamp stamp);

  // Connections are numbered by whoever has them; a number is never used again, not even by a
  // later process. A return is answered Ok, or Refused (NotFound) if its ten seconds were over.
  void session_ended(SessionId session, Stamp stamp);
  void session_returned(Ticket ticket, SessionId session, Stamp stamp);

  // An answer that left by Listener::answered() cannot reach who waited for it: the connection was
  // gone, or ended before the answer was handed to its socket. What it gave is taken back and goes
  // to the next, and its key may be used again. An answer that gave nothing changes nothing.
  void undelivered(ProjectNo project, std::string key, Reply reply, Stamp stamp);

  // False: too much is decided and not yet durable, the outbox is still being observed, or it is
  // over. Nothing more should be read from clients; what comes in all the same is still decided.
  // (A request settles what is due before it is judged: so at a start clients wait, 6 s at most,
  // until it is known what became of the work whose deadlines passed meanwhile.)
  bool wants_input() const;

  // When tick() has something to do. Fires late, never early.
  Deadlines next_wake() const;

  // ── The journal ──

  // What is to be committed next; none while a batch is on its way, or if there is nothing. There
  // is no timer: a commit begins as soon as the one before has ended. Not always all there is: a
  // batch has a size that the journal is sure to have room for.
  std::optional<Batch> take_batch();
  void committed(Sequence last);

  // The first failure is the last: nobody knows what the disk holds, so nothing is acknowledged any
  // more. Everything open, and everything that still comes, is answered unavailable.
  void commit_failed(Error error);
  const std::optional<Error>& wants_stop() const { return failed_; }

  // What Journal::room() says. Without plenty, and with a nearly full state, new work is refused.
  void room(journal::Room room) { room_ = room; }

  // Whether Journal::prepare() is to be called now. The journal wants it again and again while
  // space is short: then it is called once a second, and after a truncation.
  bool wants_prepare(const journal::Journal& journal);

  // Hands out everything that is durable, in order. The only function that reaches a port.
  void deliver();

  Sequence durable() const { return durable_; }
  bool is_idle() const;  // all that was decided is durable and delivered

  // ── Checkpoints and projectors ──

  // Asks for a checkpoint of the present state: when Journal::wants_snapshot(), and on a clean
  // stop. One at a time: asking again before the last one is written, or soon after it failed, does
  // nothing, and neither does asking for a state that is in a checkpoint already.
  void checkpoint();
  bool is_checkpointing() const { return checkpointing_; }

  // There after deliver() once all it contains is durable; for write_checkpoint().
  std::optional<Snapshot> take_snapshot();
  void checkpoint_written(const journal::SnapshotInfo& info);
  void checkpoint_failed(const Error& error);

  // What Journal::truncate() may be told, if that is more than before: a checkpoint is safe and
  // all projectors have passed it.
  std::optional<Sequence> take_truncation();

  // A projector has made everything up to `sequence` durable.
  void projected(const std::string& projector, Sequence sequence, Stamp stamp);

  // It cannot have what came from `from` on, or was left: it goes on from what is durable now, and
  // the gap is recorded. Only right after deliver().
  void projector_goes_on(const std::string& projector, Sequence from, Stamp stamp);
  // Whether events still go to it; not once it was left.
  bool projects(const std::string& projector) const { return projectors_.counts(projector); }

  // ── What can be seen ──

  // Of the present, durable or not: for decisions of the loop, never to be told to anybody.
  const State& state() const { return state_; }
  // Durable all of them.
  const EventLog& events() const { return events_; }
  // About how many bytes the state would take if it were written.
  std::uint64_t state_bytes() const;
  bool is_full() const;
  journal::Room room() const { return room_; }
  const Outbox& outbox() const { return outbox_; }
  // How many effects may run at a time. Nothing that is decided depends on it.
  void allow_running(std::size_t most) { outbox_.allow(most); }

 private:
  // What one input caused, until it may leave.
  struct Pending {
    Sequence after = 0;  // leaves when this is durable
    Ticket ticket = {};
    Time now = {};                     // when it was decided
    std::optional<Said> said = {};     // none: it came after the end
    std::vector<EffectId> ended = {};  // left the outbox: makes room for the next effects
    // Of a query, or without a ticket of a checkpoint. Apart, because it is large and few have one.
    std::unique_ptr<Snapshot> snapshot = {};
  };

  void notice(Stamp stamp);
  Said decide(const Input& input, Stamp stamp);
  std::vector<EffectId> left_outbox(const PersistentMap<EffectId, Started>& before,
                                    const Said& said) const;
  void input(const Input& input, Stamp stamp, Ticket ticket = {});
  void hold(Pending pending);
  void answer(Ticket ticket, Reply reply);
  bool refuses(const Request& request) const;
  bool is_due(Stamp stamp) const;
  bool waits_for_observations(Time now) const;
  void release(Pending& pending);
  void give_up();
  void start_ready();
  void observe_outbox();
  void watch_processes();
  void show_replayed();
  void leave_laggards(Stamp stamp);
  void record_gap(const Gap& gap, Stamp stamp);

  State state_;
  Ports ports_;
  EventLog events_;
  Outbox outbox_;
  Projectors projectors_;

  std::vector<Unshown>
      unshown_;             // projectors have yet to see what the last group of the replay said
  std::deque<Batch> open_;  // to be committed; none of them empty, inputs go to the last
  std::uint64_t open_bytes_ = 0;
  Sequence in_flight_ = 0;  // the last sequence of the batch on its way; 0: none
  std::uint64_t in_flight_bytes_ = 0;
  Sequence durable_ = 0;
  std::optional<Error> failed_;
  journal::Room room_ = journal::Room::Plenty;

  std::deque<Pending> pending_;
  bool began_ = false;
  bool delivering_ = false;
  bool observes_ = false;  // the outbox is yet to be looked at
  Time observing_until_;   // deadlines wait for observations, but not for ever
  Stamp last_look_;
  Stamp last_stamp_;      // of the last input that changed anything
  Sequence reached_ = 0;  // what projectors were told
  PersistentSet<custody::Held> watched_;

  bool checkpointing_ = false;
  Time no_checkpoint_before_;
  Time no_prepare_before_;
  std::optional<Snapshot> snapshot_;
  Sequence checkpoint_ = 0;                // the last one that is safe
  std::deque<Sequence> safe_checkpoints_;  // those that truncation has not reached
  std::uint64_t checkpoint_bytes_ = 0;
  std::uint64_t bytes_since_checkpoint_ = 0;  // decided since the state of the last one
  std::uint64_t bytes_when_asked_ = 0;        // what of them the one being written contains
};

}  // namespace reeve::engine
