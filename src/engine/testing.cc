#include "engine/testing.h"

#include <algorithm>
#include <unistd.h>
#include <utility>

namespace reeve::engine::testing {

Command hook_on_green() {
  definition::Set set;
  set.hash = "one";
  set.root = "/home/ana/shop";
  set.hooks.push_back({"ci:green", "make deploy"});
  return definition::Load{default_project, Boxed<definition::Set>(std::move(set))};
}

std::filesystem::path own_directory(const std::string& name) {
  std::filesystem::path path(::testing::TempDir());
  path /= "reeve_engine_" + name + "_" + std::to_string(getpid());
  std::filesystem::remove_all(path);
  return path;
}

House::House(Open open, bool with_history) : open_(std::move(open)), with_history_(with_history) {}
House::House(MemoryDisk& disk, bool with_history)
    : House([&disk] { return open_memory_journal(disk); }, with_history) {}
House::~House() = default;

void House::start_without_commit() {
  auto recovery = open_();
  ASSERT_TRUE(recovery) << recovery.error().message;
  recovery_ = *std::move(recovery);
  const Sequence had = reached_sequence;
  Result<Remembered> remembered = remember(*recovery_, [&](const Event& event, Time, const State&) {
    if (with_history_ && event.sequence > had) projected.push_back(event);
  });
  ASSERT_TRUE(remembered) << remembered.error().message;
  auto journal = recovery_->begin();
  ASSERT_TRUE(journal);
  journal_ = *std::move(journal);
  Ports ports{*this, *this};
  if (with_history_) ports.projectors["history"] = {this, reached_sequence};
  stamp.now = std::max(stamp.now, remembered->state.now);
  engine_ = std::make_unique<Engine>(*std::move(remembered), std::move(ports));
  engine_->begin(stamp);
}

void House::start() {
  start_without_commit();
  settle();
}

void House::crash() {
  engine_.reset();
  journal_.reset();
  recovery_.reset();
}

Ticket House::ask(Command command, SessionId session, std::string key) {
  const Ticket ticket{++last_ticket_};
  Request request{.session = session, .key = std::move(key)};
  request.command = std::move(command);
  engine_->submit(ticket, std::move(request), stamp);
  return ticket;
}

Ticket House::query() {
  const Ticket ticket{++last_ticket_};
  engine_->query(ticket, stamp);
  return ticket;
}

Reply House::get(Command command, SessionId session, std::string key) {
  const Ticket ticket = ask(std::move(command), session, std::move(key));
  settle();
  const std::optional<Replied> found = reply_to(ticket);
  if (!found) {
    ADD_FAILURE() << "no reply";
    return {};
  }
  return found->reply;
}

bool House::commit() {
  engine_->room(journal_->room());
  std::optional<Batch> batch = engine_->take_batch();
  if (!batch) return false;
  const Result<Sequence> last = journal_->commit(batch->entries());
  if (last) {
    engine_->committed(*last);
  } else {
    engine_->commit_failed(last.error());
  }
  return true;
}

void House::settle() {
  engine_->room(journal_->room());
  do {
    engine_->deliver();
  } while (commit());
  engine_->deliver();
}

void House::end_effect(EffectId effect, Outcome outcome) {
  engine_->effect_ended(effect, std::move(outcome), stamp);
}

void House::observe(EffectId effect, Observation observation) {
  engine_->observed(effect, std::move(observation), stamp);
}

void House::checkpoint() {
  engine_->checkpoint();
  settle();
  const std::optional<Snapshot> snapshot = engine_->take_snapshot();
  ASSERT_TRUE(snapshot);
  const Result<journal::SnapshotInfo> info = write_checkpoint(*journal_, *snapshot);
  if (!info) return engine_->checkpoint_failed(info.error());
  engine_->checkpoint_written(*info);
  if (const auto passed = engine_->take_truncation()) {
    ASSERT_TRUE(journal_->truncate(*passed));
  }
}

void House::pass(Duration duration) {
  const Stamp end{stamp.now + duration, stamp.wall + duration};
  while (stamp.now <= end.now) {
    while (engine_->tick(stamp)) settle();
    settle();
    const std::optional<Duration> sleep = Clock::until(engine_->next_wake(), stamp);
    if (stamp.now == end.now) break;
    const Duration step = std::min(sleep.value_or(duration), end.now - stamp.now);
    stamp = {stamp.now + std::max(step, Duration{1}), stamp.wall + std::max(step, Duration{1})};
  }
}

std::optional<Replied> House::reply_to(Ticket ticket) const {
  const auto found = std::ranges::find(replies, ticket, &Replied::ticket);
  if (found == replies.end()) return std::nullopt;
  return *found;
}

std::vector<std::string> House::event_names() const {
  std::vector<std::string> names;
  Cursor cursor;
  cursor = std::get<Cursor>(engine_->events().since(0));
  Slice slice;
  do {
    slice = engine_->events().read(cursor, {});
    for (const Event& event : slice.events) {
      const EventName name = name_of(event.body);
      names.push_back(name.noun + ":" + name.verb);
    }
  } while (slice.more);
  return names;
}

void House::replied(Ticket ticket, Sequence sequence, const Reply& reply) {
  EXPECT_LT(sequence, journal_->next_sequence()) << "a reply left before it was durable";
  EXPECT_TRUE(replied_.insert(ticket).second) << "a second reply";
  replies.push_back({ticket, sequence, reply});
}

void House::answered(WaiterId waiter, Sequence, const Reply& reply) {
  answers.emplace_back(waiter, reply);
}

void House::queried(Ticket ticket, const State& state, Stamp) {
  queries.emplace_back(ticket, state.sequence);
  seen.push_back(state);
}

void House::unavailable(Ticket ticket, const Error& error) { refusals.emplace_back(ticket, error); }

void House::reached(Sequence sequence) { reached_sequence = sequence; }

}  // namespace reeve::engine::testing
