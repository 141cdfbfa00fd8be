#include "base/die_testing.h"
#include "core/queue_testing.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <set>
#include <tuple>

namespace reeve::queue {
namespace {

using reeve::testing::die;
using namespace reeve::queue::testing;

// What somebody does, in four small numbers: a verb, and which queue, item or claim, and how.
using Act = std::tuple<int, int, int, int>;
using Acts = std::vector<Act>;

constexpr int verbs = 22;

rc::Gen<Acts> acts() {
  return rc::gen::container<Acts>(rc::gen::tuple(die(verbs), die(8), die(8), die(8)));
}

// Few queues, few items, short times, so that things collide. `bugs` has dead letters; `chores`
// stops when an item is exhausted and forgets quickly.
class Crowd : public QueueWorld {
 public:
  Crowd() {
    Config config;
    config.visibility_timeout = 4s;
    config.backoff_first = 1s;
    config.dead_letter = lost;
    create(bugs, config);
    config.dead_letter.reset();
    config.max_attempts = 2;
    config.keep_dead_for = 6s;
    create(lost, config);
    config.on_exhaust = OnExhaust::Pause;
    config.keep_completed = 2;
    config.keep_completed_for = 5s;
    create(chores, config);
  }

  // One act, and its answer if it is a request.
  reeve::Reply act(const Act& act) {
    const auto [verb, a, b, c] = act;
    const QueueName queue = queues()[static_cast<std::size_t>(a % 3)];
    switch (verb) {
      case 0:
      case 1:
      case 2:
        return push_two(
            queue, {with(b % 3, c % 2 * 2s, keys()[static_cast<std::size_t>(b % 4)]), with(c % 3)});
      case 3:
      case 4:
      case 5:
        return take_some({queue}, b % 3 + 1);
      case 6:
        return take_some({bugs, lost, chores}, b % 3 + 1);
      case 7:
      case 8:
        return about(b, [&](const ItemClaim& it) { return Complete{queue_at(it), {it}}; });
      case 9:
      case 10:
        return about(b, [&](const ItemClaim& it) { return Fail{queue_at(it), it, "red", {}}; });
      case 11:
        return about(b,
                     [&](const ItemClaim& it) { return Release{queue_at(it), it, c % 3 * 1s, c}; });
      case 12:
        return about(b, [&](const ItemClaim& it) { return Bury{queue_at(it), it, "", {}}; });
      case 13:
        return about(b, [&](const ItemClaim& it) { return Extend{queue_at(it), it, c * 1s}; });
      case 14:
        return c % 2 ? ask(Drop{queue, item(b)}) : ask(TakeOne{queue, item(b), bo, {}});
      case 15:
        if (c % 3 == 0) return ask(Redrive{queue, {item(b)}, false, {}});
        return c % 3 == 1 ? ask(Redrive{queue, {}, true, {}}) : ask(Redrive{queue, {}, false, 1});
      case 16:
        if (c % 3 == 0) return ask(Hurry{queue, 1, {}});
        return c % 3 == 1 ? ask(Hurry{queue, 1, item(b)})
                          : ask(Purge{queue, static_cast<ItemState>(b % 4)});
      case 17:
        if (c % 3 == 0) return ask(Pause{queue, {}});
        return c % 3 == 1 ? ask(Pause{queue, 3s}) : ask(Resume{queue});
      case 18:
        pass(c == 7 ? limits::completed_kept : b * 700ms);
        return {};
      case 19:
        stamp.now += b * 700ms;
        return {};
      case 20:
        return ask(Take{{queue, lost}, bo, {}, static_cast<std::uint32_t>(b % 2 + 1), 2s});
      default:
        input(Resumed{System::What::Suspended});
        return {};
    }
  }

  std::vector<ItemClaim> claims;  // all that were ever given
  std::set<std::uint64_t> spent;  // tokens with which something was accepted
  bool are_newer = true;          // each than all that were given before

 private:
  Token newest_;
  std::vector<ItemId> pushed;

  static std::vector<QueueName> queues() { return {bugs, lost, chores}; }
  static std::vector<std::string> keys() { return {"", "", "k", "l"}; }

  // One of those that were ever pushed, or one that never was. Not by the last number given: that
  // counts decisions too, which a tick may open.
  ItemId item(int number) const {
    const std::size_t at = static_cast<std::size_t>(number) % (pushed.size() + 1);
    return at == 0 ? ItemId{} : pushed[at - 1];
  }
  QueueName queue_at(const ItemClaim& claim) const {
    return item_of(claim.item) ? queue_of(claim.item) : bugs;
  }

  reeve::Reply push_two(const QueueName& queue, std::vector<NewItem> items) {
    const reeve::Reply reply = ask(Push{queue, std::move(items)});
    if (const Pushed* done = find_in<Pushed>(reply.value)) {
      pushed.insert(pushed.end(), done->ids.begin(), done->ids.end());
    }
    return reply;
  }

  reeve::Reply take_some(std::vector<QueueName> names, int max) {
    const reeve::Reply reply =
        ask(Take{std::move(names), ana, {}, static_cast<std::uint32_t>(max), {}});
    if (const Taken* taken = find_in<Taken>(reply.value)) {
      for (const TakenItem& one : taken->items) {
        claims.push_back({one.id, one.claim});
        are_newer = are_newer && newest_ < one.claim;
        newest_ = one.claim;
      }
    }
    return reply;
  }

  template <class Make>
  reeve::Reply about(int number, Make make) {
    if (claims.empty()) return {};
    const std::size_t from_last = static_cast<std::size_t>(number) % claims.size();
    const ItemClaim claim = claims[claims.size() - 1 - from_last];
    const reeve::Reply reply = ask(make(claim));
    const bool extended = is<Extended>(reply);
    if (last.changed && !is_stale(reply) && !extended) spent.insert(claim.claim.value);
    return reply;
  }

 public:
  static bool is_stale(const reeve::Reply& reply) {
    if (is<StaleClaim>(reply)) return true;
    const Settled* settled = find_in<Settled>(reply.value);
    return settled && std::holds_alternative<StaleClaim>(settled->items.at(0));
  }
};

bool has_violations() { return ::testing::Test::HasFailure(); }

// The world checks the invariants after every input: conservation, each item in one state of one
// queue, indexes and timers, nobody waiting for what is there.
RC_GTEST_PROP(QueueLaws, InvariantsHoldWhateverHappens, ()) {
  Crowd crowd;
  for (const Act& act : *acts()) {
    crowd.act(act);
    RC_ASSERT(!has_violations());
  }
  crowd.pass(1h);
  RC_ASSERT(!has_violations());
  RC_ASSERT(crowd.state.queues.takers.empty());
}

// As above, while the queues are given other settings, and people wait for several of them.
RC_GTEST_PROP(QueueLaws, InvariantsHoldAlsoWhileQueuesAreGivenOtherSettings, ()) {
  Crowd crowd;
  for (const Act& act : *acts()) {
    const auto [verb, a, b, c] = act;
    if (verb >= 14 && a % 2 == 0) {
      const QueueName& queue = c % 2 ? bugs : chores;
      Config config = crowd.of(queue).config;
      config.max_attempts = static_cast<std::uint32_t>(b % 4);
      config.on_exhaust = static_cast<OnExhaust>(c / 2 % 3);
      config.dead_letter = a < 4 ? std::optional(lost) : std::nullopt;
      config.keep_completed = static_cast<std::uint32_t>(c % 3);
      crowd.ask(Create{queue, config});
    } else if (verb == 13 && a % 2 == 0) {
      crowd.ask(Take{{bugs, lost, chores}, bo, {}, static_cast<std::uint32_t>(b % 3 + 1), 4s});
    } else {
      crowd.act(act);
    }
    RC_ASSERT(!has_violations());
  }
  crowd.pass(1h);
  RC_ASSERT(!has_violations());
  RC_ASSERT(crowd.state.queues.takers.empty());
}

RC_GTEST_PROP(QueueLaws, AttemptsNeverExceedTheMaximum, ()) {
  Crowd crowd;
  for (const Act& act : *acts()) {
    crowd.act(act);
    for (const auto& [id, item] : crowd.state.queues.items) {
      RC_ASSERT(item.attempts <= crowd.of(item.queue).config.max_attempts);
    }
  }
}

RC_GTEST_PROP(QueueLaws, ASpentClaimIsNeverGoodAgain, ()) {
  Crowd crowd;
  for (const Act& act : *acts()) {
    crowd.act(act);
    for (const ItemClaim& claim : crowd.claims) {
      if (!crowd.spent.contains(claim.claim.value)) continue;
      const Item* item = crowd.item_of(claim.item);
      const bool held =
          item && item->state == ItemState::Processing && item->rest->claim->token == claim.claim;
      RC_ASSERT(!held);
    }
  }
}

RC_GTEST_PROP(QueueLaws, EveryTakeGivesANewerClaim, ()) {
  Crowd crowd;
  for (const Act& act : *acts()) {
    crowd.act(act);
    RC_ASSERT(crowd.are_newer);
  }
}

RC_GTEST_PROP(QueueLaws, AClaimIsAcceptedExactlyWhileItIsTheItemsOwnAndGood, ()) {
  Crowd crowd;
  for (const Act& act : *acts()) {
    crowd.act(act);
    for (const ItemClaim& claim : crowd.claims) {
      const State settled = apply(crowd.state, Tick{}, crowd.stamp).state;
      const Item* item = settled.queues.items.find(claim.item);
      const bool good =
          item && item->state == ItemState::Processing && item->rest->claim->token == claim.claim;
      const QueueName name = item ? settled.queues.queues.find(item->queue)->name : bugs;
      const queue::Command fail = Fail{name, claim, "", {}};
      const Applied applied =
          apply(crowd.state, Request{default_project, {}, true, {}, fail}, crowd.stamp);
      RC_ASSERT(is<Ok>(applied.reply) == good);
    }
  }
}

// The best of what is ready once all that is due was settled.
std::vector<ItemId> best_of(const State& state, const QueueName& name) {
  std::vector<std::pair<std::int64_t, ItemId>> ready;
  for (const auto& [id, item] : state.queues.items) {
    const bool here = state.queues.queues.find(item.queue)->name == name;
    const bool delayed = item.rest && item.rest->not_before;
    if (here && item.state == ItemState::Pending && !delayed) {
      ready.emplace_back(-std::int64_t{item.priority}, id);
    }
  }
  std::sort(ready.begin(), ready.end());
  std::vector<ItemId> best;
  for (const auto& [priority, id] : ready) best.push_back(id);
  return best;
}

RC_GTEST_PROP(QueueLaws, WhatIsTakenIsAlwaysTheBestThereIs, ()) {
  Crowd crowd;
  for (const Act& act : *acts()) {
    crowd.act(act);
    const State settled = apply(crowd.state, Tick{}, crowd.stamp).state;
    if (settled.queues.queues.find(1)->paused) continue;
    const queue::Command take = Take{{bugs}, ana, {}, 100, {}};
    const Applied applied =
        apply(crowd.state, Request{default_project, {}, true, {}, take}, crowd.stamp);
    std::vector<ItemId> taken;
    for (const TakenItem& item : as<Taken>(applied.reply).items) taken.push_back(item.id);
    RC_ASSERT(taken == best_of(settled, bugs));
  }
}

// One world in which ticks come when they should, and one in which they come when they like. (Who
// waits is answered when the tick comes, and a grace counts from its moment: left out.)
RC_GTEST_PROP(QueueLaws, NoAnswerDependsOnWhenTheTicksCome, ()) {
  Crowd early;
  Crowd late;
  for (Act act : *acts()) {
    if (std::get<0>(act) > 19) std::get<0>(act) = 19;
    if (std::get<0>(act) >= 18) {
      early.pass(std::get<2>(act) * 700ms);
      late.stamp = early.stamp;
      if (std::get<0>(act) == 18) late.input(Tick{});
      continue;
    }
    RC_ASSERT(early.act(act) == late.act(act));
  }
  early.pass(2s);
  late.stamp = early.stamp;
  late.input(Tick{});
  RC_ASSERT(early.state.queues == late.state.queues);
}

RC_GTEST_PROP(QueueLaws, ASnapshotStaysAsItWas, ()) {
  Crowd crowd;
  std::vector<std::pair<State, std::vector<std::pair<ItemId, Item>>>> past;
  for (const Act& act : *acts()) {
    std::vector<std::pair<ItemId, Item>> items;
    for (const auto& [id, item] : crowd.state.queues.items) items.emplace_back(id, item);
    past.emplace_back(crowd.state, std::move(items));
    crowd.act(act);
  }
  for (const auto& [state, items] : past) {
    std::vector<std::pair<ItemId, Item>> now;
    for (const auto& [id, item] : state.queues.items) now.emplace_back(id, item);
    RC_ASSERT(now == items);
  }
}

}  // namespace
}  // namespace reeve::queue
