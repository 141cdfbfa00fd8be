#include "sim/oracle.h"

#include "codec/binary.h"
#include "codec/json.h"
#include "core/digest.h"
#include "core/invariants.h"
#include "engine/recovery.h"
#include "sim/words.h"

#include <algorithm>
#include <utility>

namespace reeve::sim {
namespace {

// Whether a retry must be told this again. Of grants and takes it has an opinion of its own: what
// was given, and that a wait is over. Of the rest it knows nothing but what the core says.
bool stands(const Reply& reply) {
  if (word<grant::Reply>(reply)) {
    return word<grant::Granted>(reply) || word<grant::NotGranted>(reply);
  }
  if (const auto* taken = word<queue::Taken>(reply)) return !taken->items.empty();
  return key::is_kept(reply);
}

bool is_of_nobody(const Reply& reply) {
  const auto* grant = word<grant::NotGranted>(reply);
  const auto* board = word<board::WaitEnded>(reply);
  return (grant && grant->left == Left::SessionEnded) ||
         (board && board->left == Left::SessionEnded);
}

}  // namespace

Oracle::Oracle(Report& report)
    : report_(report),
      shadow_(engine::nothing_remembered().state),
      locks_(report),
      queues_(report) {}

void Oracle::asked(engine::Ticket ticket, Request request, Stamp stamp) {
  open_.insert_or_assign(ticket.value, Open{std::move(request), stamp});
}

void Oracle::asked_otherwise(engine::Ticket ticket) {
  open_.insert_or_assign(ticket.value, Open{});
}

void Oracle::meant(Request request) {
  std::string key = request.key;
  meant_.emplace(std::move(key), std::move(request));
}

void Oracle::check_meant(const Request& request) {
  if (request.key.empty()) return;
  const auto [first, last] = meant_.equal_range(request.key);
  if (first == last) return;
  const auto is_it = [&](const auto& meant) { return meant.second == request; };
  if (std::none_of(first, last, is_it)) {
    report_.violated(fmt::format("a line was read as another request: key {}, {}",
                                 request.key,
                                 codec::to_json(request.command)));
  }
}

void Oracle::overheard(engine::Sequence sequence) {
  ++replies_;
  if (check_told(sequence, "a reply")) advance_models(sequence);
}

void Oracle::took(engine::Batch& batch) {
  const auto entries = batch.entries();
  ++batches_;
  if (batch.first != durable_ + 1 || batch.last != durable_ + entries.size()) {
    report_.violated(fmt::format(
        "a batch of {} from {} to {} after {}", entries.size(), batch.first, batch.last, durable_));
  }
  if (!flying_.empty()) report_.violated("a batch was taken while another was on its way");
  for (std::size_t i = 0; i < entries.size(); ++i) {
    const journal::Entry& entry = entries[i];
    flying_.push_back(
        {durable_ + 1 + i, batches_, entry.stamp, std::string(entry.payload), entry.digest});
  }
}

void Oracle::committed() {
  for (Kept& kept : flying_) {
    Result<Input> input = codec::from_bytes<Input>(kept.payload);
    if (!input) return report_.violated("a record cannot be read: " + input.error().message);
    const std::uint64_t tokens = shadow_.last_token;
    const std::uint64_t numbers = shadow_.last_number;
    const Time now = shadow_.now;
    const Time leases_from = shadow_.leases_from;
    const EffectEnded* ended = std::get_if<EffectEnded>(&*input);
    if (const auto* request = std::get_if<Request>(&*input)) check_meant(*request);
    Said said = apply_to(shadow_, *input, kept.stamp);
    if (!said.changed || shadow_.sequence != kept.sequence) {
      return report_.violated(fmt::format("record {} changes nothing", kept.sequence));
    }
    if (digest_of(said) != kept.digest) {
      return report_.violated(fmt::format("record {} was decided differently", kept.sequence));
    }
    if (shadow_.last_token < tokens || shadow_.last_number < numbers || shadow_.now < now ||
        shadow_.leases_from < leases_from) {
      return report_.violated(fmt::format("record {}: a counter ran backwards", kept.sequence));
    }
    if (report_.is_heard()) {
      report_.say("    record {} at {} {}",
                  kept.sequence,
                  kept.stamp.now.time_since_epoch().count(),
                  codec::to_json(*input));
      for (const Event& event : said.events) {
        report_.say("      event {}", codec::to_json(event.body));
      }
    }
    for (const Event& event : said.events) {
      events_.push_back(event);
      to_project_.emplace_back(event.sequence, event.index);
      const Custom* custom = std::get_if<Custom>(&event.body);
      if (custom && custom->name.verb == "gap") projector_left_ = true;
    }
    if (ended) settled_.push_back(ended->effect);
    report_.mark(kept.digest);
    decided_.push_back({kept.sequence, kept.stamp, *std::move(input), std::move(said)});
    durable_ = kept.sequence;
    kept_.push_back(std::move(kept));
  }
  flying_.clear();
}

Oracle::Decided* Oracle::find(engine::Sequence sequence) {
  if (decided_.empty() || sequence < decided_.front().sequence) return nullptr;
  const std::size_t at = sequence - decided_.front().sequence;
  return at < decided_.size() ? &decided_[at] : nullptr;
}

bool Oracle::check_told(engine::Sequence sequence, const char* what) {
  if (sequence > durable_) {
    report_.violated(
        fmt::format("{} of sequence {} left when {} was durable", what, sequence, durable_));
    return false;
  }
  if (sequence < last_told_) {
    report_.violated(fmt::format("{} of sequence {} left after {}", what, sequence, last_told_));
    return false;
  }
  last_told_ = sequence;
  return true;
}

void Oracle::replied(engine::Ticket ticket, engine::Sequence sequence, const Reply& reply) {
  ++replies_;
  const auto found = open_.find(ticket.value);
  if (found == open_.end()) return report_.violated("a reply to a request that is not open");
  const Open open = std::move(found->second);
  open_.erase(found);
  if (!check_told(sequence, "a reply")) return;
  if (!open.request) return;

  Decided* decided = find(sequence);
  const Request* own = decided ? std::get_if<Request>(&decided->input) : nullptr;
  if (own && !decided->replied && *own == *open.request) {
    decided->replied = true;
    if (decided->said.reply != reply) {
      report_.violated(fmt::format("the reply to {} is not what was decided", sequence));
    }
    advance_models(sequence);
    return;
  }
  // It changed nothing, and was judged after this sequence.
  advance_models(sequence);
  if (const Refused* refused = word<Refused>(reply); refused && refused->why == Why::Full) return;
  judge_key(*open.request, reply, false);
  if (!open.request->key.empty() && keys_.contains(open.request->key)) return;
  locks_.judged(open.stamp, *open.request, reply);
  queues_.judged(open.stamp, *open.request, reply);
}

void Oracle::answered(WaiterId waiter, engine::Sequence sequence, const Reply& reply) {
  if (!check_told(sequence, "an answer")) return;
  Decided* decided = find(sequence);
  const auto is_it = [&](const Answer& answer) {
    return answer.waiter == waiter && answer.reply == reply;
  };
  if (!decided || std::ranges::none_of(decided->said.answers, is_it)) {
    return report_.violated(fmt::format("an answer to {} that nobody decided", waiter.value));
  }
  ++decided->answered;
}

void Oracle::queried(engine::Ticket ticket, const State& state) {
  if (open_.erase(ticket.value) == 0) report_.violated("a state that nobody asked for");
  if (state.sequence > durable_) report_.violated("a state was shown before it was durable");
}

void Oracle::unavailable(engine::Ticket ticket) {
  if (open_.erase(ticket.value) == 0) report_.violated("unavailable, to nobody's request");
}

void Oracle::followed(const Event& event) {
  if (event.sequence > durable_) {
    return report_.violated(
        fmt::format("an event of {} was seen when {} was durable", event.sequence, durable_));
  }
  if (events_.empty() || !(events_.front() == event)) {
    return report_.violated(
        fmt::format("event {}-{} is not the next one", event.sequence, event.index));
  }
  events_.pop_front();
}

// It has seen everything up to `since`; what comes next must be what comes after that.
void Oracle::follower_returned(engine::Sequence since) {
  while (!events_.empty() && events_.front().sequence <= since) events_.pop_front();
}

void Oracle::delivered(engine::Sequence engine_durable) {
  if (engine_durable > durable_) report_.violated("the engine believes more than the journal said");
  advance_models(std::min(durable_, engine_durable));
  while (!decided_.empty() && decided_.front().sequence <= engine_durable) {
    const Decided& decided = decided_.front();
    if (decided.answered != decided.said.answers.size()) {
      report_.violated(fmt::format("{} of {} answers of sequence {} left",
                                   decided.answered,
                                   decided.said.answers.size(),
                                   decided.sequence));
    }
    decided_.pop_front();
  }
}

// In the order of sequences, and no further than what clients have been told: so a reply that
// changed nothing is judged at exactly its place.
void Oracle::advance_models(engine::Sequence through) {
  for (; modelled_ < through; ++modelled_) {
    const Decided* decided = find(modelled_ + 1);
    if (!decided) return;
    bool repeated = false;
    const Request* request = std::get_if<Request>(&decided->input);
    if (request && !request->key.empty()) {
      repeated = judge_key(*request, decided->said.reply, true);
    }
    for (const Answer& answer : decided->said.answers) {
      const auto key = waiting_keys_.find(answer.waiter.value);
      if (key == waiting_keys_.end()) continue;
      // The end of its connection is nobody's answer: the key is as new.
      if (is_of_nobody(answer.reply) || !stands(answer.reply)) {
        keys_.erase(key->second);
      } else {
        keys_[key->second].waiter.reset();
        keys_[key->second].reply = answer.reply;
      }
      waiting_keys_.erase(key);
    }
    if (const auto* lost = std::get_if<Undelivered>(&decided->input)) {
      const auto found = keys_.find(lost->key);
      if (found != keys_.end() && !found->second.waiter) keys_.erase(found);
    }
    const Outgoing* effect = nullptr;
    std::optional<Outgoing> done;
    if (const auto* ended = std::get_if<EffectEnded>(&decided->input)) {
      const auto was = effects_.find(ended->effect);
      if (was != effects_.end()) {
        if (ended->outcome.ended == Ended::Done) done = was->second;
        effects_.erase(was);
      }
    }
    if (done) effect = &*done;
    for (const Start& start : decided->said.effects) effects_[start.id] = start.effect;
    locks_.decided(decided->stamp, decided->input, decided->said, effect, repeated);
    queues_.decided(decided->stamp, decided->input, decided->said, effect, repeated);
  }
}

// The first reply to a key that changed something is the only one there is. One that waits is told
// its place again, until it has its answer. Whether the request was one of a key that was known.
bool Oracle::judge_key(const Request& request, const Reply& reply, bool applied) {
  if (request.key.empty()) return false;
  const auto found = keys_.find(request.key);
  if (found == keys_.end() && (!applied || !stands(reply))) return false;
  const std::uint64_t digest = digest_of(key::unbound(request.command));
  if (found == keys_.end()) {
    Remembered remembered{digest, std::nullopt, reply};
    if (const Waiting* waiting = word<Waiting>(reply)) {
      remembered.waiter = waiting->waiter;
      waiting_keys_[waiting->waiter.value] = request.key;
    }
    keys_.emplace(request.key, std::move(remembered));
    return false;
  }
  const Remembered& first = found->second;
  if (first.digest != digest) {
    const Refused* refused = word<Refused>(reply);
    if (!refused || refused->why != Why::KeyReused) {
      report_.violated("a key was taken for another request: " + request.key);
    }
    return true;
  }
  if (reply == first.reply) return true;
  if (first.waiter && applied) {
    // It may have been answered in this very step: then either is right, and after an answer that
    // does not stand it is the first again.
    const Decided* decided = find(modelled_ + 1);
    for (const Answer& answer : decided->said.answers) {
      if (answer.waiter != *first.waiter) continue;
      if (answer.reply == reply) return true;
      if (stands(answer.reply) && !is_of_nobody(answer.reply)) break;
      waiting_keys_.erase(first.waiter->value);
      keys_.erase(found);
      return judge_key(request, reply, applied);
    }
  }
  report_.violated("a repeated request got another reply, key " + request.key);
  return true;
}

}  // namespace reeve::sim
