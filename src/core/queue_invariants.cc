#include "core/invariants.h"
#include "core/queue_place.h"

#include <algorithm>
#include <map>
#include <string>

namespace reeve::queue {
namespace {

// What a queue's counts should be, from its items and its line.
struct Found {
  Counts counts;
  std::uint32_t takers = 0;
  std::uint32_t purges = 0;
};

class Check {
 public:
  Check(const State& state, Violations& violations)
      : state_(state), table_(state.queues), violations_(violations) {}

  void run() {
    for (const auto& [id, item] : table_.items) check_item(id, item);
    for (const auto& [waiter, taker] : table_.takers) check_taker(waiter, taker);
    for (const auto& [number, chore] : state_.chores.waiting) {
      const PurgeAll* purge = std::get_if<PurgeAll>(&chore);
      if (purge && purge->state == ItemState::Pending) ++found_[purge->queue].purges;
    }
    check_sizes();
    for (const auto& [no, queue] : table_.queues) check_queue(no, queue);
    check_names();
    check_timers();
  }

 private:
  // Names are made when there is something to say: this is run after every step of a simulation.
  static std::string text_of(ItemId id) { return to_text(id); }
  static std::string text_of(WaiterId waiter) { return "taker " + std::to_string(waiter.value); }
  static std::string text_of(const Queue& queue) { return "'" + queue.name.name + "'"; }
  static std::string text_of(const QueueName& name) { return "'" + name.name + "'"; }
  static std::string text_of(const char* thing) { return thing; }

  template <class Thing>
  void expect(bool good, const Thing& thing, const char* what) {
    if (!good) violations_.push_back("queue: " + text_of(thing) + " " + what);
  }

  void check_item(const ItemId id, const Item& item) {
    const ItemId& thing = id;
    if (!table_.queues.contains(item.queue)) return expect(false, thing, "is in no queue");
    expect(id.value <= state_.last_number, thing, "has a number that was never given");
    expect(!item.rest || *item.rest != Rest{}, thing, "has a box with nothing in it");
    bytes_ += weight_of(item);
    const Rest& rest = rest_of(item);
    const bool pending = item.state == ItemState::Pending;
    const bool processing = item.state == ItemState::Processing;
    const bool ended = item.state == ItemState::Completed || item.state == ItemState::Dead;
    Counts& counts = found_[item.queue].counts;
    counts.pending += pending;
    counts.delayed += pending && rest.not_before;
    counts.processing += processing;
    counts.completed += item.state == ItemState::Completed;
    counts.dead += item.state == ItemState::Dead;

    const std::int64_t below = std::int64_t{INT32_MAX} - item.priority;
    const ReadyKey ready{item.queue, static_cast<std::uint32_t>(below), id};
    if (pending && !rest.not_before) expect_in(table_.ready, ready, ready_, thing, "is not ready");
    if (pending && rest.not_before) {
      const DueKey due{item.queue, Wait::Delay, *rest.not_before, id};
      expect_in(table_.due, due, due_, thing, "has a delay without an end");
    }
    if (pending && rest.origin) {
      expect_in(table_.guests, GuestKey{item.queue, id}, guests_, thing, "is no guest");
    }
    expect(pending || !rest.not_before, thing, "has a delay and is not pending");
    expect(ended == rest.ended_at.has_value(), thing, "has an end, or none, against its state");
    expect(ended || rest.ended == 0 || (pending && rest.origin), thing, "ended, and did not die");
    expect(rest.came_after <= (pending ? state_.last_number : 0), thing, "came later than now");
    expect(item.state == ItemState::Dead || rest.reason.empty(), thing, "has a reason, alive");
    if (ended) {
      const auto& index = item.state == ItemState::Dead ? table_.dead : table_.completed;
      auto& seen = item.state == ItemState::Dead ? dead_ : completed_;
      expect_in(index, EndedKey{item.queue, rest.ended, id}, seen, thing, "ended out of order");
    }
    const bool claimed = processing || item.state == ItemState::Completed;
    expect(claimed == rest.claim.has_value(), thing, "has a claim, or none, against its state");
    if (processing && rest.claim) check_claim(id, item, *rest.claim);
    expect(
        processing || !rest.claim || !rest.claim->due, thing, "is over and still has a deadline");
    if (!rest.dedupe_key.empty() && !ended) {
      const ItemId* holder = table_.dedupe.find({item.queue, rest.dedupe_key});
      const bool has_it = holder && *holder == id;
      expect(has_it || rest.origin, thing, "does not have its dedupe key");
      dedupe_ += has_it;
    }
  }

  void check_claim(const ItemId id, const Item& item, const Claim& claim) {
    const ItemId& thing = id;
    expect(claim.token.value <= state_.last_token, thing, "has a claim that was never given");
    expect(item.attempts > 0, thing, "was taken and counts no attempt");
    const bool ending = claim.ending != Ending::No;
    const bool watched = claim.visibility && !ending;
    expect(watched == claim.due.has_value(), thing, "has a claim whose end nobody watches");
    if (claim.due) {
      const DueKey due{item.queue, Wait::Claim, *claim.due, id};
      expect_in(table_.due, due, due_, thing, "has a claim without a deadline");
      expect(*claim.due <= over_at(lease_of(claim), state_.leases_from),
             thing,
             "has a claim whose deadline is late");
    }
    const LeaseRef lease = ItemLease{id};
    const SessionId session = claim.holder.session;
    const bool bound = state_.sessions.bound.contains({session, session::Thing{lease}});
    expect(!session || bound || ending, thing, "is not bound to its session");
    const bool named = claim.meta && claim.meta->process;
    expect(!named || state_.custody.held.contains({*claim.meta->process, lease}),
           thing,
           "is not known to be held by its process");
    expect(named || !ending, thing, "is being taken from nobody");
  }

  void check_taker(const WaiterId waiter, const Taker& taker) {
    const WaiterId& thing = waiter;
    expect(!taker.queues.empty() && taker.max > 0, thing, "waits for nothing");
    for (const QueueNo no : taker.queues) {
      expect_in(table_.lines, TakerPlace{no, waiter}, places_, thing, "is not in line");
      ++found_[no].takers;
    }
    expect(deadline_of(state_.timers, TakerDue{waiter}) == taker.until,
           thing,
           "has another timer than its limit");
    const session::Thing place = session::WaiterPlace{waiter};
    expect(!taker.session || state_.sessions.bound.contains({taker.session, place}),
           thing,
           "is not bound to its session");
  }

  // Every entry of an index was found from its item; none is left over.
  void check_sizes() {
    expect(table_.ready.size() == ready_, "ready", "has entries of no item");
    expect(table_.due.size() == due_, "due", "has entries of no item");
    expect(table_.completed.size() == completed_, "completed", "has entries of no item");
    expect(table_.dead.size() == dead_, "dead", "has entries of no item");
    expect(table_.guests.size() == guests_, "guests", "has entries of no item");
    expect(table_.dedupe.size() == dedupe_, "dedupe", "has keys of no item");
    expect(table_.lines.size() == places_, "lines", "have places of no taker");
    expect(table_.bytes == bytes_, "bytes", "are not what the items weigh");
    for (const DedupeKey& key : table_.refused) {
      expect(table_.queues.contains(key.queue), "refused", "has ids of no queue");
    }
    for (const DedupeKey& key : table_.listed) {
      expect(table_.queues.contains(key.queue), "listed", "has ids of no queue");
    }
  }

  void check_queue(QueueNo no, const Queue& queue) {
    const Queue& thing = queue;
    const Counts& counts = queue.counts;
    const Found& found = found_[no];
    expect(counts.pending == found.counts.pending, thing, "miscounts pending");
    expect(counts.delayed == found.counts.delayed, thing, "miscounts delayed");
    expect(counts.processing == found.counts.processing, thing, "miscounts processing");
    expect(counts.completed == found.counts.completed, thing, "miscounts completed");
    expect(counts.dead == found.counts.dead, thing, "miscounts dead");
    expect(queue.takers == found.takers, thing, "miscounts its line");
    expect(queue.purges == found.purges, thing, "miscounts its purges");
    expect(counts.pushed + counts.moved_in == counts.pending + counts.processing +
                                                  counts.completed + counts.dead + counts.dropped +
                                                  counts.forgotten + counts.moved_out,
           thing,
           "has lost or made an item");
    expect(queue.paused || (!queue.paused_until && !queue.paused_by),
           thing,
           "remembers a pause that is over");
    const std::optional<Next> next = next_of(state_, no);
    const std::optional<Time> due = next ? std::optional(next->when) : std::nullopt;
    expect(deadline_of(state_.timers, Due{no}) == due, thing, "has another timer than its first");
    expect(deadline_of(state_.timers, PauseDue{no}) == queue.paused_until,
           thing,
           "has another timer than its pause");
    expect(!leaves_waiting(no, queue), thing, "has items and lets a taker wait");
  }

  // Nobody waits while there is something for him, unless the line goes on with the next tick.
  bool leaves_waiting(QueueNo no, const Queue& queue) const {
    if (queue.paused || queue.unserved || queue.takers == 0) return false;
    const auto ready = table_.ready.lower_bound({no, 0, {}});
    if (ready == table_.ready.end() || ready->queue != no) return false;
    const WaiterId head = table_.lines.lower_bound({no, {}})->waiter;
    const SessionId session = table_.takers.find(head)->session;
    return session::is_here(state_, session);
  }

  void check_names() {
    expect(table_.names.size() == table_.queues.size(), "names", "are not one a queue");
    std::map<ProjectNo, std::uint32_t> of_project;
    for (const auto& [name, no] : table_.names) {
      const Queue* queue = table_.queues.find(no);
      expect(queue && queue->name == name, name, "names another queue");
      expect(no <= table_.last_queue, name, "has a number never given");
      ++of_project[name.project];
    }
    expect(table_.queues_of.size() == of_project.size(), "queues", "miscount projects");
    for (const auto& [project, count] : of_project) {
      const std::uint32_t* counted = table_.queues_of.find(project);
      expect(counted && *counted == count, "queues", "are miscounted in a project");
    }
  }

  void check_timers() {
    for (const auto& [subject, key] : state_.timers.armed) {
      if (const Due* due = std::get_if<Due>(&subject)) {
        expect(table_.queues.contains(due->queue), "a timer", "is of no queue");
      } else if (const PauseDue* pause = std::get_if<PauseDue>(&subject)) {
        expect(table_.queues.contains(pause->queue), "a timer", "is of no paused queue");
      } else if (const TakerDue* taker = std::get_if<TakerDue>(&subject)) {
        expect(table_.takers.contains(taker->waiter), "a timer", "is of no taker");
      }
    }
  }

  template <class Key, class Thing>
  void expect_in(const PersistentSet<Key>& index,
                 const Key& key,
                 std::size_t& seen,
                 const Thing& thing,
                 const char* what) {
    expect(index.contains(key), thing, what);
    ++seen;
  }

  const State& state_;
  const Table& table_;
  Violations& violations_;
  std::map<QueueNo, Found> found_;
  std::size_t ready_ = 0;
  std::size_t due_ = 0;
  std::size_t completed_ = 0;
  std::size_t dead_ = 0;
  std::size_t guests_ = 0;
  std::size_t dedupe_ = 0;
  std::size_t places_ = 0;
  std::uint64_t bytes_ = 0;
};

}  // namespace

void check(const State& state, Violations& violations) { Check(state, violations).run(); }

}  // namespace reeve::queue
