#include "sim/lock_model.h"

#include "sim/words.h"

#include <algorithm>
#include <vector>

namespace reeve::sim {
namespace {

template <class Command>
const Command* command_in(const Request& request) {
  if (const auto* lock = std::get_if<lock::Command>(&request.command)) {
    if constexpr (std::is_constructible_v<lock::Command, Command>) {
      return std::get_if<Command>(lock);
    }
  }
  if (const auto* semaphore = std::get_if<semaphore::Command>(&request.command)) {
    if constexpr (std::is_constructible_v<semaphore::Command, Command>) {
      return std::get_if<Command>(semaphore);
    }
  }
  return nullptr;
}

}  // namespace

Time LockModel::limit_of(const Tenure& tenure) const {
  if (tenure.lapsed) return *tenure.lapsed;
  Time limit = std::max(tenure.last_sign, sessions_.leases_from()) +
               tenure.want.timeout.value_or(limits::heartbeat_timeout);
  if (tenure.want.max_hold) limit = std::min(limit, tenure.since + *tenure.want.max_hold);
  return limit;
}

// What is over when the due is settled is over for good, whatever grace comes later.
void LockModel::lapse(Time now) {
  const auto look_at = [&](Tenure& tenure) {
    if (!tenure.lapsed && now > limit_of(tenure)) tenure.lapsed = limit_of(tenure);
  };
  for (auto& [name, tenure] : locks_) look_at(tenure);
  for (auto& [key, tenure] : slots_) look_at(tenure);
}

bool LockModel::may_be_lost(const Tenure& tenure, Time now) const {
  return tenure.uncertain || is_over(tenure, now) ||
         sessions_.may_be_gone(tenure.want.holder.session, now) ||
         (tenure.want.process && sessions_.may_be_gone(*tenure.want.process));
}

// Time alone takes nothing from the living: one that names a process is free when that was seen
// dead.
bool LockModel::may_be_free(const Tenure& tenure, Time now) const {
  if (tenure.uncertain) return true;
  if (tenure.want.process) return sessions_.may_be_gone(*tenure.want.process);
  return may_be_lost(tenure, now);
}

// A wait that ended in time and is noticed late has kept what its holder had as of then, when that
// was good; the answer says until when. It ends with the process that was named last.
void LockModel::kept(Tenure& tenure, const Want& want, const grant::Given& given, Time now) {
  Tenure then = tenure;
  then.last_sign = now;
  then.lapsed.reset();
  if (given.expires_at && (*given.expires_at < limit_of(then) || *given.expires_at < now)) {
    const Duration timeout = tenure.want.timeout.value_or(limits::heartbeat_timeout);
    then.last_sign = std::min(*given.expires_at - timeout, limit_of(tenure));
  }
  if (is_over(tenure, then.last_sign)) report_.violated("a lease that was over was extended");
  then.last_sign = std::max(tenure.last_sign, then.last_sign);
  if (want.process) then.want.process = want.process;
  tenure = std::move(then);
}

void LockModel::lock_granted(Stamp stamp, const Want& want, const grant::Given& given) {
  const auto found = locks_.find(given.name);
  if (found != locks_.end()) {
    Tenure& before = found->second;
    if (before.token == given.token && before.want.holder == want.holder) {
      return kept(before, want, given, stamp.now);
    }
    if (!may_be_free(before, stamp.now)) {
      report_.violated(fmt::format("lock {} was given to {} though {} holds it with token {}",
                                   given.name,
                                   want.holder.name,
                                   before.want.holder.name,
                                   before.token.value));
    }
  }
  if (given.token.value <= token_before_) {
    report_.violated(fmt::format(
        "token {} of lock {} is not larger than {}", given.token.value, given.name, token_before_));
  }
  last_token_ = std::max(last_token_, given.token.value);
  Tenure tenure{want, given.token, stamp.now, stamp.now};
  if (given.expires_at != limit_of(tenure)) {
    report_.violated("a grant expires at another moment than its lease says");
  }
  locks_.insert_or_assign(given.name, std::move(tenure));
}

LockModel::Tenure* LockModel::find_slot(const std::string& name, const Holder& holder) {
  const auto found = slots_.find({name, holder});
  return found == slots_.end() ? nullptr : &found->second;
}

void LockModel::slot_granted(Stamp stamp, const Want& want, const grant::Given& given) {
  Tenure* before = find_slot(given.name, want.holder);
  if (before && before->token == given.token) {
    kept(*before, want, given, stamp.now);
    before->weight = std::max(before->weight, given.weight);
  } else {
    if (before && !may_be_free(*before, stamp.now)) {
      report_.violated("a slot was given a new token though its lease was good");
    }
    if (given.token.value <= token_before_) report_.violated("a token of a slot did not grow");
    last_token_ = std::max(last_token_, given.token.value);
    slots_.insert_or_assign({given.name, want.holder},
                            Tenure{want, given.token, stamp.now, stamp.now, given.weight});
  }
  const auto capacity = capacities_.find(given.name);
  if (capacity == capacities_.end()) return;
  std::uint64_t sum = 0;
  for (const auto& [key, slot] : slots_) {
    if (key.name != given.name) continue;
    const bool counts = key.holder == want.holder || !may_be_free(slot, stamp.now);
    if (counts) sum += slot.weight;
  }
  if (sum > capacity->second) {
    report_.violated(fmt::format(
        "semaphore {} of capacity {} was given away {} times", given.name, capacity->second, sum));
  }
}

void LockModel::granted(Stamp stamp, const Want& want, const grant::Granted& granted) {
  for (const grant::Given& given : granted.given) {
    given.weight == 0 ? lock_granted(stamp, want, given) : slot_granted(stamp, want, given);
  }
}

// What frees something, before anybody else is given it in the same step.
void LockModel::released(const Request& request, const Reply& reply, Time now) {
  if (const auto* release = command_in<lock::Release>(request)) {
    const auto found = locks_.find(release->name.name);
    if (!word<lock::Released>(reply)) {
      if (found != locks_.end() && found->second.want.holder == release->holder &&
          (!release->token || *release->token == found->second.token) &&
          !may_be_lost(found->second, now) && !word<Refused>(reply)) {
        report_.violated("a holder could not release its lock");
      }
      return;
    }
    // One that names a process is given on when that was seen dead.
    if (found != locks_.end()) found->second.uncertain = true;
  }
  if (const auto* force = command_in<lock::ForceRelease>(request)) {
    const auto found = locks_.find(force->name.name);
    if (found != locks_.end()) found->second.uncertain = true;
  }
  if (command_in<lock::Cleanup>(request)) {
    for (auto& [name, tenure] : locks_) tenure.uncertain |= is_over(tenure, now);
  }
  if (const auto* release = command_in<semaphore::Release>(request)) {
    if (word<semaphore::Released>(reply)) slots_.erase({release->name.name, release->holder});
  }
}

// What nobody heard of may be somebody else's. What its holder had before stays, as much of it.
void LockModel::taken_back(const Reply& reply) {
  const auto* granted = word<grant::Granted>(reply);
  if (!granted) return;
  for (const grant::Given& given : granted->given) {
    const auto lose = [&](Tenure& tenure) {
      if (tenure.token != given.token) return;
      if (given.had) {
        tenure.weight = *given.had;
      } else {
        tenure.uncertain = true;
      }
    };
    for (auto& [name, tenure] : locks_) lose(tenure);
    for (auto& [key, tenure] : slots_) lose(tenure);
  }
}

void LockModel::alive(
    Tenure* tenure, Token token, std::optional<Time> expires_at, Time now, const char* what) {
  if (!tenure || tenure->token != token) {
    report_.violated(fmt::format("{} accepted the old token {}", what, token.value));
  } else if (is_over(*tenure, now)) {
    report_.violated(fmt::format(
        "{} was accepted {} ms after the lease was over", what, (now - limit_of(*tenure)).count()));
  } else if (expires_at) {
    tenure->last_sign = now;
    if (*expires_at != limit_of(*tenure)) {
      report_.violated(fmt::format("{} says another expiry than the lease", what));
    }
  }
}

void LockModel::lost(const Tenure* tenure, Token token, Time now, const char* what) {
  if (tenure && tenure->token == token && !may_be_lost(*tenure, now)) {
    report_.violated(fmt::format("{} was refused {} ms before the lease is over (token {})",
                                 what,
                                 (limit_of(*tenure) - now).count(),
                                 token.value));
  }
}

void LockModel::replied(Stamp stamp, const Request& request, const Reply& reply) {
  const auto lock_of = [&](const std::string& name) {
    const auto found = locks_.find(name);
    return found == locks_.end() ? nullptr : &found->second;
  };
  if (const auto* beat = command_in<lock::Heartbeat>(request)) {
    Tenure* tenure = lock_of(beat->name.name);
    if (const auto* word_alive = word<lock::Alive>(reply)) {
      alive(tenure, beat->token, word_alive->expires_at, stamp.now, "a heartbeat");
    } else if (word<lock::Lost>(reply)) {
      lost(tenure, beat->token, stamp.now, "a heartbeat");
    }
  }
  if (const auto* check = command_in<lock::Check>(request)) {
    Tenure* tenure = lock_of(check->name.name);
    if (word<lock::Valid>(reply)) {
      alive(tenure, check->token, std::nullopt, stamp.now, "a check");
    } else if (word<lock::Superseded>(reply)) {
      lost(tenure, check->token, stamp.now, "a check");
    }
  }
  if (const auto* beat = command_in<semaphore::Heartbeat>(request)) {
    Tenure* tenure = find_slot(beat->name.name, beat->holder);
    if (const auto* word_alive = word<semaphore::Alive>(reply)) {
      alive(tenure, beat->token, word_alive->expires_at, stamp.now, "a slot's heartbeat");
    } else if (word<semaphore::Lost>(reply)) {
      lost(tenure, beat->token, stamp.now, "a slot's heartbeat");
    }
  }
  if (const auto* create = command_in<semaphore::Create>(request)) {
    if (word<Ok>(reply)) capacities_[create->name.name] = create->config.capacity;
  }
  Want want;
  if (const auto* acquire = command_in<lock::Acquire>(request)) {
    want = {acquire->holder, named_process(acquire->meta), acquire->timeout, acquire->max_hold, {}};
    for (const LockName& name : acquire->names) want.names.push_back(name.name);
  } else if (const auto* slot = command_in<semaphore::Acquire>(request)) {
    want = {
        slot->holder, named_process(slot->meta), slot->timeout, slot->max_hold, {slot->name.name}};
  } else {
    return;
  }
  if (const auto* grant = word<grant::Granted>(reply)) granted(stamp, want, *grant);
  if (const auto* waiting = word<Waiting>(reply)) waiting_.insert({waiting->waiter.value, want});
  if (const auto* busy = word<grant::Busy>(reply)) {
    const auto waits = [&](const auto& other) {
      return std::ranges::count(other.second.names, busy->name.name) > 0;
    };
    if (!locks_.contains(busy->name.name) && std::ranges::none_of(waiting_, waits)) {
      report_.violated("busy, though nobody ever held it and nobody waits: " + busy->name.name);
    }
  }
}

void LockModel::decided(Stamp stamp,
                        const Input& input,
                        const Said& said,
                        const Outgoing* ended_effect,
                        bool repeated) {
  token_before_ = last_token_;
  if (settles(input)) lapse(stamp.now);
  if (may_settle(input)) {
    for (auto& [name, tenure] : locks_) tenure.uncertain |= is_over(tenure, stamp.now);
    for (auto& [key, tenure] : slots_) tenure.uncertain |= is_over(tenure, stamp.now);
  }
  sessions_.decided(stamp, input, ended_effect);
  if (const auto* lost = std::get_if<Undelivered>(&input)) taken_back(lost->reply);
  const Request* request = repeated ? nullptr : std::get_if<Request>(&input);
  if (request) released(*request, said.reply, stamp.now);
  for (const Answer& answer : said.answers) {
    const auto found = waiting_.find(answer.waiter.value);
    if (found == waiting_.end()) continue;
    const Want want = found->second;
    waiting_.erase(found);
    if (const auto* grant = word<grant::Granted>(answer.reply)) granted(stamp, want, *grant);
  }
  if (!request) return;
  replied(stamp, *request, said.reply);
  // Asked for and had in one step, by way of others who left.
  for (const Answer& answer : said.answers) {
    const auto found = waiting_.find(answer.waiter.value);
    if (found == waiting_.end()) continue;
    const Want want = found->second;
    waiting_.erase(found);
    if (const auto* grant = word<grant::Granted>(answer.reply)) granted(stamp, want, *grant);
  }
}

void LockModel::judged(Stamp stamp, const Request& request, const Reply& reply) {
  token_before_ = last_token_;
  if (word<grant::Granted>(reply) || word<Waiting>(reply)) {
    // A repeated request, or one by the holder within the same millisecond.
    return;
  }
  released(request, reply, stamp.now);
  replied(stamp, request, reply);
}

void LockModel::compare(const State& state, Time now) {
  for (const auto& [name, tenure] : locks_) {
    if (may_be_lost(tenure, now)) continue;
    const lock::Lock* lock = state.locks.locks.find({default_project, name});
    const lock::Held* held = lock ? std::get_if<lock::Held>(&lock->state) : nullptr;
    if (!held || held->tenure.lease.token != tenure.token) {
      report_.violated(fmt::format("lock {} is not held by {} any more, and nothing ended that",
                                   name,
                                   tenure.want.holder.name));
    }
  }
}

}  // namespace reeve::sim
