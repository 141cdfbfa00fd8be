#pragma once

#include "core/apply.h"
#include "sim/report.h"
#include "sim/session_model.h"

#include <cstdint>
#include <map>
#include <set>
#include <string>

// A second, simple model of queues, written apart from the core. It follows every item by the
// replies alone and says when one of them cannot be true:
//
//   - an item that nobody pushed, with other data, or in another queue than it can be in;
//   - one that somebody has whose claim is good;
//   - one that comes before its delay, or out of order before one that was certainly ready;
//   - an attempt too many, or not the next one;
//   - a claim accepted though it is old or over, or refused though nothing could have ended it;
//   - an acknowledged item that is nowhere, or one from nowhere.
//
// Queues whose items workers take are left out: their takers do not speak to us.
namespace reeve::sim {

class QueueModel {
 public:
  explicit QueueModel(Report& report) : report_(report) {}

  void decided(Stamp stamp,
               const Input& input,
               const Said& said,
               const Outgoing* ended_effect,
               bool repeated);
  void judged(Stamp stamp, const Request& request, const Reply& reply);

  // The whole table against what was followed.
  void compare(const State& state, Time now);

  static bool is_modelled(const QueueName& name) { return name.name != "jobs"; }

 private:
  enum class Place : std::uint8_t { Pending, Processing, Completed, Dead, Dropped };
  struct Item {
    std::string queue;
    std::string data;
    std::int32_t priority = 0;
    Place place = Place::Pending;
    bool certain = true;  // that it is in this place, unless time has ended its claim
    std::uint32_t attempts = 0;
    std::uint32_t attempts_least = 0;  // one whose claim was freed is not charged for it
    Time ready;                        // not before this
    Token token;
    Holder holder;
    std::optional<Process> process;
    Time last_sign;
    Duration visibility{0};
    std::optional<Time> lapsed;  // what its limit was when it was over: for good
  };
  struct Take {
    Holder holder;
    std::optional<Process> process;
  };

  Time limit_of(const Item& item) const {
    if (item.lapsed) return *item.lapsed;
    return std::max(item.last_sign, sessions_.leases_from()) + item.visibility;
  }
  bool may_be_lost(const Item& item, Time now) const;
  // Its attempts are used up though it waits: the maximum was lowered meanwhile. The next take
  // finds it so, and then it is dead.
  bool may_have_died(const Item& item) const;
  void pushed(Stamp stamp, const queue::Push& push, const queue::Pushed& reply);
  void taken(Stamp stamp, const Take& take, const queue::Taken& reply);
  void take_one(Stamp stamp, const Take& take, const queue::TakenItem& taken);
  void check_order(const queue::Taken& reply);
  void settled(Stamp stamp, const queue::Complete& complete, const queue::Settled& reply);
  void failed(Stamp stamp, Item& item, std::optional<Duration> retry_after);
  void replied(Stamp stamp, const Request& request, const Reply& reply);
  // Whether the claim may be as good, or as bad, as the reply says.
  Item* judge_claim(Time now, const queue::ItemClaim& claim, bool accepted, const char* what);
  Item* find(ItemId id);

  Report& report_;
  SessionModel sessions_;
  std::map<std::string, queue::Config> configs_;
  std::map<std::uint64_t, Item> items_;
  std::map<std::uint64_t, Take> waiting_;
  std::uint64_t last_item_ = 0;
  Time settled_ = Time::min();  // what was due by then has happened
  std::uint64_t last_token_ = 0;
  std::uint64_t token_before_ = 0;
};

}  // namespace reeve::sim
