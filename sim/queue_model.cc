#include "sim/queue_model.h"

#include "sim/words.h"

#include <algorithm>

namespace reeve::sim {

namespace {

// The shortest rest after so many attempts: a fifth of it may be taken off.
Duration least_backoff(const queue::Config& config, std::uint32_t attempts) {
  Duration rest = config.backoff_first;
  for (std::uint32_t i = 1; i < attempts; ++i) rest = std::min(rest * 2, config.backoff_max);
  return std::min(rest, config.backoff_max) * 4 / 5;
}

}  // namespace

QueueModel::Item* QueueModel::find(ItemId id) {
  const auto found = items_.find(id.value);
  return found == items_.end() ? nullptr : &found->second;
}

bool QueueModel::may_be_lost(const Item& item, Time now) const {
  return !item.certain || now > limit_of(item) || sessions_.may_be_gone(item.holder.session, now) ||
         (item.process && sessions_.may_be_gone(*item.process));
}

bool QueueModel::may_have_died(const Item& item) const {
  const auto config = configs_.find(item.queue);
  return item.place == Place::Pending && config != configs_.end() &&
         config->second.max_attempts != 0 && item.attempts >= config->second.max_attempts;
}

void QueueModel::pushed(Stamp stamp, const queue::Push& push, const queue::Pushed& reply) {
  if (reply.ids.size() != push.items.size()) {
    return report_.violated("a push was not answered item by item");
  }
  for (std::size_t i = 0; i < reply.ids.size(); ++i) {
    if (reply.duplicate[i]) {
      if (!find(reply.ids[i])) report_.violated("a push repeats an item that nobody pushed");
      continue;
    }
    if (reply.ids[i].value <= last_item_) {
      report_.violated("a pushed item does not come after all before it");
    }
    last_item_ = std::max(last_item_, reply.ids[i].value);
    const queue::NewItem& pushed = push.items[i];
    Item item;
    item.queue = push.queue.name;
    item.data = std::string(pushed.data.view());
    item.priority = pushed.priority;
    item.ready = stamp.now + pushed.delay;
    items_.insert_or_assign(reply.ids[i].value, std::move(item));
  }
}

void QueueModel::take_one(Stamp stamp, const Take& take, const queue::TakenItem& taken) {
  Item* item = find(taken.id);
  if (!item) {
    return report_.violated(fmt::format("item {} was taken and never pushed", taken.id.value));
  }
  const queue::Config& config = configs_[item->queue];
  const Time now = stamp.now;
  const auto wrong = [&](const std::string& what) {
    report_.violated(fmt::format("item {} of {}, taken: {}", taken.id.value, item->queue, what));
  };
  if (taken.data.view() != item->data) wrong("with other data than it was pushed with");
  std::uint32_t least = item->attempts_least;
  std::uint32_t most = item->attempts;
  bool moved = false;
  if (item->place == Place::Processing) {
    if (!may_be_lost(*item, now)) {
      wrong(fmt::format("though {} has it with claim {}", item->holder.name, item->token.value));
    }
    const bool over = now > limit_of(*item);
    const bool freed =
        !item->certain || sessions_.may_be_gone(item->holder.session, now) || item->process;
    if (freed && least > 0) --least;
    if (over && !freed) {
      if (config.max_attempts != 0 && item->attempts >= config.max_attempts) moved = true;
      const Duration rest = moved ? Duration{0} : least_backoff(config, item->attempts);
      if (now < limit_of(*item) + rest) wrong("before its rest was over");
    }
    if (over && freed) moved = true;  // maybe
  } else if (item->place == Place::Pending) {
    if (now < item->ready) {
      wrong(fmt::format("{} ms before its time", (item->ready - now).count()));
    }
  } else if (item->certain) {
    wrong("though it was over");
  }
  const bool elsewhere = taken.queue.name != item->queue;
  if (elsewhere) {
    if (!config.dead_letter || config.dead_letter->name != taken.queue.name) {
      wrong("from queue " + taken.queue.name);
    }
    least = 0;
    most = 0;
  }
  if (moved && !elsewhere && item->certain && !config.dead_letter &&
      item->place == Place::Processing && !item->process &&
      !sessions_.may_be_gone(item->holder.session, now)) {
    wrong("though its attempts were used up");
  }
  if (taken.attempts < least + 1 || taken.attempts > most + 1) {
    wrong(fmt::format(
        "for the {}. time, which should be {} to {}", taken.attempts, least + 1, most + 1));
  }
  const queue::Config& there = configs_[taken.queue.name];
  if (there.max_attempts != 0 && taken.attempts > there.max_attempts) wrong("once too often");
  if (taken.claim.value <= token_before_) wrong("with a token that did not grow");
  last_token_ = std::max(last_token_, taken.claim.value);

  item->queue = taken.queue.name;
  item->place = Place::Processing;
  item->certain = true;
  item->attempts = taken.attempts;
  item->attempts_least = taken.attempts;
  item->token = taken.claim;
  item->holder = take.holder;
  item->process = take.process;
  item->last_sign = now;
  item->lapsed.reset();
  item->visibility = there.visibility_timeout;
}

// Within a queue: nothing that was certainly ready comes after what was given. What falls due in
// one step does so in the order in which it was due, so what counts is what was ready before the
// step.
void QueueModel::check_order(const queue::Taken& reply) {
  for (const queue::TakenItem& taken : reply.items) {
    for (const auto& [id, other] : items_) {
      if (other.place != Place::Pending || !other.certain || other.ready > settled_) continue;
      if (may_have_died(other)) continue;
      if (other.queue != taken.queue.name) continue;
      const bool better = other.priority > taken.priority ||
                          (other.priority == taken.priority && id < taken.id.value);
      if (better) {
        report_.violated(
            fmt::format("item {} was taken before item {} of the same queue", taken.id.value, id));
      }
    }
  }
}

void QueueModel::taken(Stamp stamp, const Take& take, const queue::Taken& reply) {
  for (const queue::TakenItem& item : reply.items) {
    if (is_modelled(item.queue)) take_one(stamp, take, item);
  }
  if (std::ranges::all_of(reply.items, [](const auto& item) { return is_modelled(item.queue); })) {
    check_order(reply);
  }
}

QueueModel::Item* QueueModel::judge_claim(Time now,
                                          const queue::ItemClaim& claim,
                                          bool accepted,
                                          const char* what) {
  Item* item = find(claim.item);
  const bool current = item && item->place == Place::Processing && item->token == claim.claim;
  if (accepted) {
    if (!current) {
      report_.violated(fmt::format("{} of item {} was accepted with the old claim {}",
                                   what,
                                   claim.item.value,
                                   claim.claim.value));
      return nullptr;
    }
    if (now > limit_of(*item)) {
      report_.violated(fmt::format(
          "{} of item {} was accepted after its claim was over", what, claim.item.value));
    }
    return item;
  }
  if (current && !may_be_lost(*item, now)) {
    report_.violated(fmt::format("{} of item {} was refused though claim {} is good for {} ms",
                                 what,
                                 claim.item.value,
                                 claim.claim.value,
                                 (limit_of(*item) - now).count()));
  }
  return nullptr;
}

void QueueModel::settled(Stamp stamp,
                         const queue::Complete& complete,
                         const queue::Settled& reply) {
  for (std::size_t i = 0; i < complete.items.size() && i < reply.items.size(); ++i) {
    const queue::ItemClaim& claim = complete.items[i];
    const bool accepted = std::holds_alternative<ItemId>(reply.items[i]);
    const Item* before = find(claim.item);
    if (accepted && before && before->place == Place::Completed && before->token == claim.claim) {
      continue;  // said again
    }
    Item* item = judge_claim(stamp.now, claim, accepted, "the completion");
    if (!item) continue;
    item->place = Place::Completed;
    item->certain = true;
  }
}

void QueueModel::failed(Stamp stamp, Item& item, std::optional<Duration> retry_after) {
  const queue::Config& config = configs_[item.queue];
  if (config.max_attempts != 0 && item.attempts >= config.max_attempts) {
    item.attempts = 0;
    item.attempts_least = 0;
    if (config.dead_letter) {
      item.queue = config.dead_letter->name;
      item.place = Place::Pending;
      item.ready = stamp.now;
    } else {
      item.place = Place::Dead;
    }
    return;
  }
  item.place = Place::Pending;
  item.certain = retry_after.has_value();
  item.ready = stamp.now + (retry_after ? *retry_after : least_backoff(config, item.attempts));
}

void QueueModel::replied(Stamp stamp, const Request& request, const Reply& reply) {
  const auto* command = std::get_if<queue::Command>(&request.command);
  if (!command) return;
  if (const auto* create = std::get_if<queue::Create>(command)) {
    if (word<Ok>(reply)) configs_[create->name.name] = create->config;
  } else if (const auto* push = std::get_if<queue::Push>(command)) {
    const auto* said = word<queue::Pushed>(reply);
    if (said && is_modelled(push->queue)) pushed(stamp, *push, *said);
  } else if (const auto* take = std::get_if<queue::Take>(command)) {
    const Take who{take->holder, named_process(take->meta)};
    if (const auto* waiting = word<Waiting>(reply)) waiting_.insert({waiting->waiter.value, who});
    if (const auto* said = word<queue::Taken>(reply)) taken(stamp, who, *said);
  } else if (const auto* complete = std::get_if<queue::Complete>(command)) {
    if (const auto* said = word<queue::Settled>(reply)) settled(stamp, *complete, *said);
  } else if (const auto* fail = std::get_if<queue::Fail>(command)) {
    if (word<Refused>(reply)) return;
    Item* item = judge_claim(stamp.now, fail->item, word<Ok>(reply) != nullptr, "the failure");
    if (item) failed(stamp, *item, fail->retry_after);
  } else if (const auto* extend = std::get_if<queue::Extend>(command)) {
    if (word<Refused>(reply)) return;
    const auto* said = word<queue::Extended>(reply);
    Item* item = judge_claim(stamp.now, extend->item, said != nullptr, "an extension");
    if (!item) return;
    item->last_sign = stamp.now;
    item->visibility = extend->by.value_or(configs_[item->queue].visibility_timeout);
    if (said->visible_at != limit_of(*item)) {
      report_.violated("an extension says another moment than the claim has");
    }
  } else if (const auto* release = std::get_if<queue::Release>(command)) {
    if (word<Refused>(reply)) return;
    Item* item = judge_claim(stamp.now, release->item, word<Ok>(reply) != nullptr, "a release");
    if (!item) return;
    item->place = Place::Pending;
    item->ready = stamp.now + release->delay;
    item->attempts -= item->attempts > 0 ? 1 : 0;
    item->attempts_least = item->attempts;
    if (release->priority) item->priority = *release->priority;
  } else if (const auto* drop = std::get_if<queue::Drop>(command)) {
    Item* item = find(drop->item);
    if (item && word<Ok>(reply)) item->place = Place::Dropped;
  }
}

// A taker that waited may have been given what another gives back in the same step: then the
// giving comes first. What was due before the request was settled before it.
void QueueModel::decided(Stamp stamp,
                         const Input& input,
                         const Said& said,
                         const Outgoing* ended_effect,
                         bool repeated) {
  token_before_ = last_token_;
  for (auto& [id, item] : items_) {
    if (item.place != Place::Processing || stamp.now <= limit_of(item)) continue;
    if (settles(input)) item.lapsed = limit_of(item);
    if (may_settle(input)) item.certain = false;
  }
  sessions_.decided(stamp, input, ended_effect);
  const Request* request = repeated ? nullptr : std::get_if<Request>(&input);
  const auto answer_all = [&] {
    for (const Answer& answer : said.answers) {
      const auto found = waiting_.find(answer.waiter.value);
      if (found == waiting_.end()) continue;
      const Take take = found->second;
      waiting_.erase(found);
      if (const auto* got = word<queue::Taken>(answer.reply)) taken(stamp, take, *got);
    }
  };
  if (const auto* lost = std::get_if<Undelivered>(&input)) {
    if (const auto* nobodys = word<queue::Taken>(lost->reply)) {
      for (const queue::TakenItem& item : nobodys->items) {
        Item* const known = find(item.id);
        if (known && known->token == item.claim) known->certain = false;
      }
    }
  }
  const queue::Command* command =
      request ? std::get_if<queue::Command>(&request->command) : nullptr;
  const bool takes = command && std::holds_alternative<queue::Take>(*command);
  if (takes) answer_all();
  if (request) replied(stamp, *request, said.reply);
  answer_all();
  // Only requests and ticks settle what is due.
  if (std::holds_alternative<Request>(input) || std::holds_alternative<Tick>(input)) {
    settled_ = stamp.now;
  }
}

void QueueModel::judged(Stamp stamp, const Request& request, const Reply& reply) {
  token_before_ = last_token_;
  if (const auto* taken = word<queue::Taken>(reply); taken && !taken->items.empty()) return;
  if (word<queue::Pushed>(reply) || word<Waiting>(reply)) return;  // a repeated request
  replied(stamp, request, reply);
}

void QueueModel::compare(const State& state, Time now) {
  // What has ended is kept for a while only.
  const auto may_be_forgotten = [&](const Item& item) {
    return item.place == Place::Completed || item.place == Place::Dead ||
           item.place == Place::Dropped || may_have_died(item) ||
           (item.place == Place::Processing && may_be_lost(item, now));
  };
  std::erase_if(items_, [&](const auto& known) {
    return may_be_forgotten(known.second) && !state.queues.items.contains(ItemId{known.first});
  });
  for (const auto& [id, item] : items_) {
    const queue::Item* there = state.queues.items.find(ItemId{id});
    if (!there) {
      report_.violated(fmt::format("item {} is nowhere", id));
      continue;
    }
    using enum queue::ItemState;
    const auto must_be = [&](queue::ItemState where) {
      if (there->state != where) {
        report_.violated(fmt::format("item {} is in state {} and should be in {}",
                                     id,
                                     static_cast<int>(there->state),
                                     static_cast<int>(where)));
      }
    };
    switch (item.place) {
      case Place::Pending:
        if (item.certain && !may_have_died(item)) must_be(Pending);
        break;
      case Place::Processing:
        if (!may_be_lost(item, now)) must_be(Processing);
        break;
      case Place::Completed:
        must_be(Completed);
        break;
      case Place::Dead:
        if (item.certain) must_be(Dead);
        break;
      case Place::Dropped:
        report_.violated(fmt::format("item {} was dropped and is there", id));
        break;
    }
  }
  for (const auto& [id, item] : state.queues.items) {
    const queue::Queue* queue = state.queues.queues.find(item.queue);
    if (queue && is_modelled(queue->name) && !items_.contains(id.value)) {
      report_.violated(fmt::format("item {} comes from nowhere", id.value));
    }
  }
}

}  // namespace reeve::sim
