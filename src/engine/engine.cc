#include "engine/engine.h"

#include "base/check.h"
#include "base/match.h"
#include "base/planted.h"
#include "codec/binary.h"
#include "core/digest.h"
#include "core/limits.h"
#include "engine/limits.h"
#include "engine/new_work.h"

#include <algorithm>
#include <chrono>
#include <utility>

namespace reeve::engine {

using namespace std::chrono_literals;

Engine::Engine(Remembered remembered, Ports ports)
    : state_(std::move(remembered.state)),
      ports_(std::move(ports)),
      events_(std::move(remembered.events)),
      unshown_(std::move(remembered.unshown)),
      durable_(state_.sequence),
      last_stamp_(remembered.stamp),
      checkpoint_(remembered.snapshot),
      checkpoint_bytes_(remembered.snapshot_bytes),
      bytes_since_checkpoint_(remembered.replayed_bytes) {
  if (checkpoint_ != 0) safe_checkpoints_.push_back(checkpoint_);
}

Engine::~Engine() = default;

void Engine::begin(Stamp stamp) {
  CHECK(!began_);
  began_ = true;
  last_look_ = stamp;
  for (const auto& [id, started] : state_.outbox) {
    if (planted(Bug::EffectForgotten)) continue;
    if (planted(Bug::RedoUnobserved)) {
      outbox_.add(id, started.effect, state_);
      continue;
    }
    outbox_.add_to_observe(id, started.effect, state_);
  }
  observes_ = outbox_.observing();
  observing_until_ = stamp.now + limits::observing;
  for (const auto& [name, port] : ports_.projectors) projectors_.add(name, port.passed);
  projectors_.committed(durable_, 0, stamp.now);
  if (!planted(Bug::NoResumed)) input(Resumed{System::What::Ready}, stamp);
  for (const auto& [name, port] : ports_.projectors) {
    if (port.passed < checkpoint_) record_gap({name, port.passed + 1, checkpoint_}, stamp);
  }
}

// ── Deciding ──

// Whoever was late for a deadline did not listen either: before anything is judged, leases count
// from now. What counts is the time in which something was due and nobody looked.
void Engine::notice(Stamp stamp) {
  CHECK(began_);
  const std::optional<Time> due = next_deadline(state_).engine;
  const bool late = due && stamp.now - std::max(*due, last_look_.now) > limits::late;
  last_look_ = stamp;
  if (late) input(Resumed{System::What::Late}, stamp);
}

Said Engine::decide(const Input& input, Stamp stamp) {
  Said said = apply_to(state_, input, stamp);
  if (!said.changed) return said;
  const std::string bytes = codec::to_bytes(input);
  if (open_.empty() || !open_.back().has_room_for(bytes)) open_.emplace_back();
  Batch& batch = open_.back();
  batch.add(stamp, bytes, digest_of(said));
  if (batch.first == 0) batch.first = state_.sequence;
  batch.last = state_.sequence;
  open_bytes_ += bytes.size();
  last_stamp_ = stamp;
  bytes_since_checkpoint_ += bytes.size();
  return said;
}

// Mostly the one that has its outcome. But somebody may also decide that nobody waits for one any
// longer: what comes later is an outcome like any other that nobody waits for.
std::vector<EffectId> Engine::left_outbox(const PersistentMap<EffectId, Started>& before,
                                          const Said& said) const {
  std::vector<EffectId> left;
  if (state_.outbox.size() == before.size() + said.effects.size()) return left;
  for (const auto& [id, started] : before) {
    if (!state_.outbox.contains(id)) left.push_back(id);
  }
  for (const Start& start : said.effects) {
    if (!state_.outbox.contains(start.id)) left.push_back(start.id);
  }
  return left;
}

void Engine::input(const Input& input, Stamp stamp, Ticket ticket) {
  if (failed_) return hold({.after = state_.sequence, .ticket = ticket});
  const PersistentMap<EffectId, Started> outbox = state_.outbox;
  Said said = decide(input, stamp);
  if (!said.changed && !ticket) return;
  if (ticket && (planted(Bug::ReplyEarly) || (planted(Bug::UnchangedEarly) && !said.changed))) {
    ports_.listener.replied(ticket, state_.sequence, said.reply);
    ticket = {};
  }
  if (planted(Bug::EventsEarly)) {
    for (Event& event : std::exchange(said.events, {})) events_.append(std::move(event));
    ports_.listener.news();
  }
  if (planted(Bug::EffectsEarly)) {
    for (const Start& start : std::exchange(said.effects, {})) {
      outbox_.add(start.id, start.effect, state_);
    }
  }
  Pending pending{.after = state_.sequence, .ticket = ticket, .now = stamp.now};
  pending.ended = left_outbox(outbox, said);
  for (const EffectId left : pending.ended) outbox_.still_running(left);  // no need to look at it
  pending.said = std::move(said);
  hold(std::move(pending));
}

void Engine::hold(Pending pending) { pending_.push_back(std::move(pending)); }

void Engine::answer(Ticket ticket, Reply reply) {
  Pending pending{.after = state_.sequence, .ticket = ticket};
  pending.said.emplace();
  pending.said->reply = std::move(reply);
  hold(std::move(pending));
}

// A repeated request is answered from what is kept of it: that is no new work.
bool Engine::refuses(const Request& request) const {
  if (room_ == journal::Room::Plenty && !is_full()) return false;
  if (!is_new_work(request.command)) return false;
  return request.key.empty() || !state_.keys.entries.contains({request.project, request.key});
}

void Engine::submit(Ticket ticket, Request request, Stamp stamp) {
  notice(stamp);
  if (!failed_ && refuses(request)) {
    return answer(ticket, refused(Why::Full, is_full() ? "state" : "disk"));
  }
  input(std::move(request), stamp, ticket);
}

void Engine::query(Ticket ticket, Stamp stamp) {
  notice(stamp);
  Pending pending{.after = state_.sequence, .ticket = ticket};
  if (!failed_) pending.snapshot = std::make_unique<Snapshot>(state_, stamp);
  hold(std::move(pending));
}

void Engine::effect_ended(EffectId effect, Outcome outcome, Stamp stamp) {
  notice(stamp);
  input(EffectEnded{effect, std::move(outcome)}, stamp);
}

void Engine::observed(EffectId effect, Observation observation, Stamp stamp) {
  notice(stamp);
  if (!outbox_.is_observing(effect)) return;
  match(
      observation,
      [&](const NeverStarted&) { outbox_.never_started(effect); },
      [&](const StillRunning&) { outbox_.still_running(effect); },
      [&](const Finished& finished) { input(EffectEnded{effect, finished.outcome}, stamp); },
      [&](const CannotKnow& cannot) {
        Outcome unknown{.ended = Ended::Unknown, .error = cannot.evidence};
        input(EffectEnded{effect, std::move(unknown)}, stamp);
      });
}

void Engine::process_gone(const Process& process, Stamp stamp) {
  notice(stamp);
  input(custody::ProcessGone{process}, stamp);
}

void Engine::session_ended(SessionId session, Stamp stamp) {
  notice(stamp);
  input(session::Ended{session}, stamp);
}

// Whose ten seconds are over is gone, whether or not a tick came by.
void Engine::session_returned(Ticket ticket, SessionId session, Stamp stamp) {
  notice(stamp);
  const session::Session* known = state_.sessions.sessions.find(session);
  const bool gone =
      !known || known->ended || (known->awaited_until && stamp.now >= *known->awaited_until);
  if (gone && !failed_) return answer(ticket, refused(Why::NotFound, "session"));
  input(session::Returned{session}, stamp, ticket);
}

void Engine::undelivered(ProjectNo project, std::string key, Reply reply, Stamp stamp) {
  notice(stamp);
  input(Undelivered{project, std::move(key), std::move(reply)}, stamp);
}

// ── Time ──

bool Engine::look(const Moment& moment) {
  const Stamp stamp = moment.stamp;
  if (moment.suspended) resumed(System::What::Suspended, stamp);
  if (moment.stepped != 0ms) clock_stepped(moment.stepped, stamp);
  return tick(stamp);
}

void Engine::resumed(System::What what, Stamp stamp) {
  last_look_ = stamp;  // whatever else was late is said by this as well
  input(Resumed{what}, stamp);
}

void Engine::clock_stepped(Duration by, Stamp stamp) {
  notice(stamp);
  input(ClockStepped{by}, stamp);
}

bool Engine::is_due(Stamp stamp) const {
  const Deadlines next = next_deadline(state_);
  return (next.engine && *next.engine <= stamp.now) || (next.wall && *next.wall <= stamp.wall);
}

bool Engine::waits_for_observations(Time now) const {
  return outbox_.observing() && now < observing_until_;
}

bool Engine::tick(Stamp stamp) {
  notice(stamp);
  if (failed_ || waits_for_observations(stamp.now)) return false;
  leave_laggards(stamp);
  if (!is_due(stamp)) return false;
  input(Tick{}, stamp);
  return is_due(stamp);
}

Deadlines Engine::next_wake() const {
  if (failed_) return {};
  Deadlines next = next_deadline(state_);
  if (waits_for_observations(last_look_.now)) {
    // Nothing is settled meanwhile, but whoever does not look now and then counts as late.
    next.wall.reset();
    const Time look = last_look_.now + limits::late / 2;
    next.engine =
        next.engine ? std::min(observing_until_, std::max(*next.engine, look)) : observing_until_;
  }
  if (const std::optional<Time> look = projectors_.next_look()) {
    next.engine = next.engine ? std::min(*next.engine, *look) : *look;
  }
  if (room_ != journal::Room::Plenty && no_prepare_before_ > last_look_.now) {
    next.engine = next.engine ? std::min(*next.engine, no_prepare_before_) : no_prepare_before_;
  }
  return next;
}

bool Engine::wants_input() const {
  return !failed_ && !waits_for_observations(last_look_.now) &&
         open_bytes_ + in_flight_bytes_ < limits::unsynced_bytes &&
         pending_.size() < limits::unsynced_replies;
}

// ── The journal ──

std::optional<Batch> Engine::take_batch() {
  if (failed_ || in_flight_ != 0 || open_.empty()) return std::nullopt;
  Batch batch = std::move(open_.front());
  open_.pop_front();
  in_flight_ = batch.last;
  in_flight_bytes_ = batch.bytes();
  open_bytes_ -= batch.bytes();
  return batch;
}

void Engine::committed(Sequence last) {
  CHECK(in_flight_ != 0 && last == in_flight_);
  durable_ = last;
  projectors_.committed(last, in_flight_bytes_, last_look_.now);
  in_flight_ = 0;
  in_flight_bytes_ = 0;
}

void Engine::commit_failed(Error error) {
  if (planted(Bug::OpenAfterFailure)) return;
  if (!failed_) failed_ = std::move(error);
}

bool Engine::wants_prepare(const journal::Journal& journal) {
  if (failed_ || !journal.wants_prepare()) return false;
  if (journal.room() != journal::Room::Plenty && last_look_.now < no_prepare_before_) return false;
  no_prepare_before_ = last_look_.now + limits::prepare_again;
  return true;
}

bool Engine::is_idle() const { return pending_.empty() && open_.empty() && in_flight_ == 0; }

// ── Checkpoints and projectors ──

void Engine::checkpoint() {
  if (failed_ || checkpointing_ || state_.sequence == checkpoint_) return;
  if (last_look_.now < no_checkpoint_before_) return;
  checkpointing_ = true;
  bytes_when_asked_ = bytes_since_checkpoint_;
  Pending pending{.after = state_.sequence};
  pending.snapshot = std::make_unique<Snapshot>(state_, last_stamp_);
  hold(std::move(pending));
}

std::optional<Snapshot> Engine::take_snapshot() { return std::exchange(snapshot_, std::nullopt); }

void Engine::checkpoint_written(const journal::SnapshotInfo& info) {
  CHECK(checkpointing_);
  checkpointing_ = false;
  checkpoint_ = info.moment.sequence;
  checkpoint_bytes_ = info.raw_bytes;
  bytes_since_checkpoint_ -= bytes_when_asked_;
  safe_checkpoints_.push_back(checkpoint_);
}

// A disk without room for a snapshot still has its reserve for commits; all else is the end.
void Engine::checkpoint_failed(const Error& error) {
  checkpointing_ = false;
  snapshot_.reset();
  no_checkpoint_before_ = last_look_.now + limits::checkpoint_again;
  if (error.code != Error::Code::Full) commit_failed(error);
}

std::optional<Sequence> Engine::take_truncation() {
  const Sequence passed = projectors_.all_passed();
  std::optional<Sequence> last;
  while (!safe_checkpoints_.empty() && safe_checkpoints_.front() <= passed) {
    last = safe_checkpoints_.front();
    safe_checkpoints_.pop_front();
  }
  if (last) no_prepare_before_ = {};  // there may be room again
  return last;
}

void Engine::projected(const std::string& projector, Sequence sequence, Stamp stamp) {
  notice(stamp);
  projectors_.passed(projector, sequence);
}

void Engine::projector_goes_on(const std::string& projector, Sequence from, Stamp stamp) {
  notice(stamp);
  if (failed_) return;
  CHECK(reached_ == durable_);
  if (from <= durable_) record_gap({projector, from, durable_}, stamp);
  projectors_.add(projector, durable_);
}

void Engine::leave_laggards(Stamp stamp) {
  for (const Gap& gap : projectors_.leave_laggards(stamp.now)) record_gap(gap, stamp);
}

// The gap is an event like any other: on disk, and shown to those who follow.
void Engine::record_gap(const Gap& gap, Stamp stamp) {
  Request request{.project = shared_project};
  request.command = EmitCustom{
      gap.projector + ":gap", {{"from", std::to_string(gap.from)}, {"to", std::to_string(gap.to)}}};
  input(std::move(request), stamp);
}

std::uint64_t Engine::state_bytes() const { return checkpoint_bytes_ + bytes_since_checkpoint_; }

bool Engine::is_full() const { return state_bytes() >= reeve::limits::state_bytes / 10 * 9; }

}  // namespace reeve::engine
