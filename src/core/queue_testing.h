#pragma once

#include "core/testing.h"

#include <string>
#include <utility>
#include <vector>

// A world with queues in it, and few words to move their items.
namespace reeve::queue::testing {

using namespace reeve::testing;

inline const QueueName bugs{default_project, "bugs"};
inline const QueueName chores{default_project, "chores"};
inline const QueueName lost{default_project, "lost"};

inline const Holder ana{default_project, "ana"};
inline const Holder bo{default_project, "bo"};

inline NewItem with(std::int32_t priority, Duration delay = 0ms, std::string key = {}) {
  NewItem item;
  item.data = Bytes("{}");
  item.priority = priority;
  item.delay = delay;
  item.dedupe_key = std::move(key);
  return item;
}

inline Config plain() {
  Config config;
  config.visibility_timeout = 30s;
  config.backoff_first = 0s;
  return config;
}

struct QueueWorld : World {
  void create(const QueueName& queue, const Config& config) {
    EXPECT_TRUE(is<Ok>(ask(Create{queue, config})));
  }

  ItemId push(const QueueName& queue, NewItem item = with(0)) {
    return as<Pushed>(ask(Push{queue, {std::move(item)}})).ids.at(0);
  }

  std::vector<TakenItem> take_all(std::vector<QueueName> queues,
                                  std::uint32_t max = 1,
                                  Holder holder = ana) {
    return as<Taken>(ask(Take{std::move(queues), std::move(holder), {}, max, {}})).items;
  }

  // One item, which must be there.
  TakenItem take(const QueueName& queue, Holder holder = ana) {
    const std::vector<TakenItem> items = take_all({queue}, 1, std::move(holder));
    if (items.size() == 1) return items.front();
    ADD_FAILURE() << "nothing to take";
    return {};
  }

  bool nothing_in(const QueueName& queue) { return take_all({queue}).empty(); }

  // Someone who waits.
  WaiterId await(std::vector<QueueName> queues,
                 Duration wait = 1h,
                 SessionId session = {},
                 std::uint32_t max = 1,
                 Holder holder = bo) {
    holder.session = session;
    return as<Waiting>(ask(Take{std::move(queues), holder, {}, max, wait}, session)).waiter;
  }

  reeve::Reply complete(const QueueName& queue, const TakenItem& taken) {
    return ask(Complete{queue, {{taken.id, taken.claim}}});
  }
  bool completes(const QueueName& queue, const TakenItem& taken) {
    return as<Settled>(complete(queue, taken)) == Settled{{taken.id}};
  }
  reeve::Reply fail(const QueueName& queue,
                    const TakenItem& taken,
                    std::string error = "boom",
                    std::optional<Duration> retry_after = {}) {
    return ask(Fail{queue, {taken.id, taken.claim}, std::move(error), retry_after});
  }
  reeve::Reply release(const QueueName& queue,
                       const TakenItem& taken,
                       Duration delay = 0ms,
                       std::optional<std::int32_t> priority = {}) {
    return ask(Release{queue, {taken.id, taken.claim}, delay, priority});
  }

  // Takes and fails it until it is dead.
  void kill(const QueueName& queue, ItemId item) {
    for (int i = 0; i < 100 && item_of(item) && state_of(item) == ItemState::Pending; ++i) {
      const std::vector<TakenItem> taken = as<Taken>(ask(TakeOne{queue, item, ana, {}})).items;
      if (taken.empty()) return;
      fail(queue, taken.front());
      const Item* now = item_of(item);
      if (!now || queue_of(item) != queue) return;
    }
  }

  const Item* item_of(ItemId item) const { return state.queues.items.find(item); }
  ItemState state_of(ItemId item) const { return item_of(item)->state; }
  Rest rest_of(ItemId item) const {
    const Item* found = item_of(item);
    return found && found->rest ? *found->rest : Rest{};
  }
  QueueName queue_of(ItemId item) const { return of(item_of(item)->queue).name; }
  const Queue& of(QueueNo no) const { return *state.queues.queues.find(no); }
  const Queue& of(const QueueName& name) const { return of(*state.queues.names.find(name)); }
  const Counts& counts(const QueueName& name) const { return of(name).counts; }

  // The last answer to somebody who waited.
  reeve::Reply answer_to(WaiterId waiter) const {
    for (auto at = answers.rbegin(); at != answers.rend(); ++at) {
      if (at->waiter == waiter) return at->reply;
    }
    return {};
  }
  std::vector<TakenItem> got(WaiterId waiter) const {
    const reeve::Reply answer = answer_to(waiter);
    const Taken* taken = find_in<Taken>(answer.value);
    return taken ? taken->items : std::vector<TakenItem>{};
  }
  bool was_answered(WaiterId waiter) const { return is<Taken>(answer_to(waiter)); }

  // The events of queues that were heard since `forget`, of one kind.
  template <class Fact>
  std::vector<Fact> told() const {
    std::vector<Fact> found;
    for (const EventBody& body : heard) {
      if (const Fact* fact = find_in<Fact>(body)) found.push_back(*fact);
    }
    return found;
  }
};

inline bool refuses(const reeve::Reply& reply, Why why, const std::string& subject) {
  const Refused* refused = find_in<Refused>(reply.value);
  return refused && *refused == Refused{why, subject};
}

}  // namespace reeve::queue::testing
