#include "api/beanstalk/connection.h"
#include "base/match.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

// What came of the commands. Called while the engine hands out what is durable, so nothing is asked
// here: whatever was held up goes on with the next tick (Connection::next_wake).
namespace reeve::api::beanstalk {
namespace {

// The job that peek-ready, peek-delayed or peek-buried is about.
std::optional<ItemId> first_of(Op op, const State& state, const QueueName& name) {
  const queue::Table& table = state.queues;
  const queue::QueueNo* no = table.names.find(name);
  if (!no) return std::nullopt;
  if (op == Op::PeekReady) {
    const auto at = table.ready.lower_bound({*no, 0, {}});
    return at != table.ready.end() && at->queue == *no ? std::optional(at->item) : std::nullopt;
  }
  if (op == Op::PeekBuried) {
    const auto at = table.dead.lower_bound({*no, 0, {}});
    return at != table.dead.end() && at->queue == *no ? std::optional(at->item) : std::nullopt;
  }
  const auto at = table.due.lower_bound({*no, queue::Wait::Delay, Time::min(), {}});
  const bool found = at != table.due.end() && at->queue == *no && at->wait == queue::Wait::Delay;
  return found ? std::optional(at->item) : std::nullopt;
}

}  // namespace

void Connection::waits(Call call, WaiterId waiter) {
  if (at(call).op == Op::Kick) {
    kick_ = call;
    return;
  }
  waiting_ = call;
  waiter_ = waiter;
  ++ledger_.waiting;
  touched();  // a wait may have to be ended early
}

void Connection::waits_no_more(Call call) {
  if (call == kick_) kick_ = {};
  if (call == reserve_) reserve_ = {};
  if (call != waiting_ || !waiting_) return;
  waiting_ = {};
  waiter_ = {};
  cancelled_ = false;
  --ledger_.waiting;
}

void Connection::replied(Call call, Sequence /*sequence*/, const Reply& reply, Stamp /*now*/) {
  if (at(call).silent) return answer(call, "");
  const Op op = at(call).op;
  if (op == Op::Reserve || op == Op::ReserveWithTimeout || op == Op::ReserveJob) {
    --untold_;
    --bodies_;
  }
  waits_no_more(call);
  if (const queue::Reply* of_queue = std::get_if<queue::Reply>(&reply.value)) {
    heard(call, *of_queue);
  } else if (const Refused* no = std::get_if<Refused>(&reply.value)) {
    refused(call, *no);
  } else if (std::holds_alternative<Ok>(reply.value)) {
    heard_ok(call);
  } else {
    answer(call, "INTERNAL_ERROR\r\n");
  }
}

void Connection::heard(Call call, const queue::Reply& reply) {
  match(
      reply,
      [&](const queue::Pushed& pushed) {
        const ItemId id = pushed.ids.front();
        if (at(call).delay > 0) ledger_.past(state(), id).delay = at(call).delay;
        ++ledger_.total_jobs;
        fmt::format_to(std::back_inserter(answer_to(call)), "INSERTED {}\r\n", id.value);
        answered(call);
      },
      [&](const queue::Taken& taken) { reserved(call, taken); },
      [&](const queue::Settled& settled) {
        if (std::holds_alternative<ItemId>(settled.items.front())) return heard_ok(call);
        answer(call, "NOT_FOUND\r\n");
      },
      [&](const queue::StaleClaim&) { answer(call, "NOT_FOUND\r\n"); },
      [&](const queue::Extended& extended) {
        const auto found = held_.find(extended.item.value);
        if (found != held_.end()) found->second.until = extended.visible_at.value_or(Time::max());
        answer(call, "TOUCHED\r\n");
      },
      [&](const queue::Counted& counted) {
        if (at(call).op == Op::KickJob) return answer(call, "KICKED\r\n");
        fmt::format_to(std::back_inserter(answer_to(call)), "KICKED {}\r\n", counted.items);
        answered(call);
      });
}

void Connection::heard_ok(Call call) {
  const Open& what = at(call);
  const ItemId id{what.id};
  if (what.op == Op::Delete) {
    if (Tube* tube = ledger_.known(what.text)) ++tube->deletes;
    ledger_.forget(id);
    return answer(call, "DELETED\r\n");
  }
  if (what.op == Op::Release) {
    Past& past = ledger_.past(state(), id);
    ++past.releases;
    ++past.reserves;  // the item takes its attempt back
    past.delay = what.delay;
    return answer(call, "RELEASED\r\n");
  }
  if (what.op == Op::Bury) {
    ++ledger_.past(state(), id).buries;
    return answer(call, "BURIED\r\n");
  }
  answer(call, what.op == Op::PauseTube ? "PAUSED\r\n" : "INTERNAL_ERROR\r\n");
}

void Connection::reserved(Call call, const queue::Taken& taken) {
  const bool soon = std::exchange(deadline_soon_, false);
  if (taken.items.empty()) return answer(call, soon ? "DEADLINE_SOON\r\n" : "TIMED_OUT\r\n");
  const queue::TakenItem& item = taken.items.front();
  const Time until = item.visible_at.value_or(Time::max());
  held_.insert_or_assign(item.id.value, Held{item.queue, item.claim, until});
  none_due_before_ = std::min(none_due_before_, until);
  const std::string_view body = item.data.view();
  std::string& text = answer_to(call);
  fmt::format_to(std::back_inserter(text), "RESERVED {} {}\r\n", item.id.value, body.size());
  text.append(body).append("\r\n");
  answered(call);
}

void Connection::refused(Call call, const Refused& refused) {
  const Op op = at(call).op;
  if (op == Op::ReserveJob || op == Op::Delete || op == Op::KickJob) {
    if (refused.why == Why::NotFound || refused.why == Why::NotAllowed) {
      return answer(call, "NOT_FOUND\r\n");
    }
  }
  if (refused.why == Why::Full || refused.why == Why::OverLimit) {
    return answer(call, "OUT_OF_MEMORY\r\n");
  }
  answer(call, "INTERNAL_ERROR\r\n");
}

void Connection::unavailable(Call call, const Error& /*error*/) {
  waits_no_more(call);
  answer(call, at(call).silent ? "" : "INTERNAL_ERROR\r\n");
  end();
}

// ── Questions ──

void Connection::ok(Call call, std::string_view yaml) {
  fmt::format_to(std::back_inserter(answer_to(call)), "OK {}\r\n{}\r\n", yaml.size(), yaml);
  answered(call);
}

void Connection::peeked(Call call, const State& state, std::optional<ItemId> id) {
  const queue::Item* item = id ? ledger_.job(state, *id) : nullptr;
  if (!item) return answer(call, "NOT_FOUND\r\n");
  const std::string_view body = item->data.view();
  std::string& text = answer_to(call);
  fmt::format_to(std::back_inserter(text), "FOUND {} {}\r\n", id->value, body.size());
  text.append(body).append("\r\n");
  answered(call);
}

void Connection::queried(Call call, const State& state, Stamp now) {
  --bodies_;
  const Op op = at(call).op;
  const ItemId id{at(call).id};
  const std::string name = at(call).text;
  if (op == Op::Stats) {
    return ok(call, stats(ledger_, state, desk_.steward().about(), machine_, now.now));
  }
  if (op == Op::ListTubes) return ok(call, list(ledger_.tubes(state)));
  if (op == Op::StatsTube) {
    if (!ledger_.exists(state, name)) return answer(call, "NOT_FOUND\r\n");
    return ok(call, stats_tube(ledger_, state, name, now.now));
  }
  if (op == Op::StatsJob) {
    if (!ledger_.job(state, id)) return answer(call, "NOT_FOUND\r\n");
    return ok(call, stats_job(ledger_, state, id, now.now));
  }
  peeked(call, state, op == Op::Peek ? id : first_of(op, state, ledger_.queue_of(name)));
}

}  // namespace reeve::api::beanstalk
