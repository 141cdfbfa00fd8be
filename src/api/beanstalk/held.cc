#include "api/beanstalk/connection.h"
#include "core/lease.h"

#include <algorithm>

// What this connection has reserved. The state knows, and is asked where it matters; held_ is what
// the client was told, so that the busy commands find their claim without looking it up, and so
// that it is noticed when time took a job away.
namespace reeve::api::beanstalk {

std::optional<Connection::Held> Connection::claim_of(ItemId id, Time now) const {
  const queue::Item* item = ledger_.job(state(), id);
  if (!item || item->state != queue::ItemState::Processing) return std::nullopt;
  const queue::Claim& claim = *item->rest->claim;
  if (claim.holder.session != session() || claim.ending != queue::Ending::No) return std::nullopt;
  const Lease lease = lease_of(claim);
  if (reeve::is_over(lease, state().leases_from, now)) return std::nullopt;
  return Held{state().queues.queues.find(item->queue)->name,
              claim.token,
              limit_of(lease, state().leases_from).value_or(Time::max())};
}

std::optional<Connection::Held> Connection::held(ItemId id, Time now) {
  const auto found = held_.find(id.value);
  if (found != held_.end() && now <= found->second.until) return found->second;
  if (found == held_.end() && untold_ == 0) return std::nullopt;
  return claim_of(id, now);
}

// Notices what time has taken away, and finds out when it will take the next.
void Connection::look_at_held(Time now) {
  if (held_.empty() || none_due_before_ - deadline_margin > now) return;
  looked_at_ = now;
  none_due_before_ = Time::max();
  for (auto at = held_.begin(); at != held_.end();) {
    Held& known = at->second;
    if (known.until - deadline_margin <= now) {
      const queue::Item* item = ledger_.job(state(), ItemId{at->first});
      const bool ours = item && item->state == queue::ItemState::Processing &&
                        item->rest->claim->token == known.claim;
      if (!ours) {
        ++ledger_.timeouts;
        at = held_.erase(at);
        continue;
      }
      const auto limit = limit_of(lease_of(*item->rest->claim), state().leases_from);
      known.until = limit.value_or(Time::max());  // it may have been touched
    }
    none_due_before_ = std::min(none_due_before_, known.until);
    ++at;
  }
}

bool Connection::is_deadline_soon(Time now) {
  if (untold_ > 0 && is_soon_in_state(now)) return true;
  look_at_held(now);
  return !held_.empty() && none_due_before_ - deadline_margin <= now;
}

// Of all that is bound to this session, told or not.
bool Connection::is_soon_in_state(Time now) const {
  const auto& bound = state().sessions.bound;
  for (auto at = bound.lower_bound({session(), LeaseRef{}});
       at != bound.end() && at->session == session();
       ++at) {
    const LeaseRef* lease = std::get_if<LeaseRef>(&at->thing);
    const ItemLease* item = lease ? std::get_if<ItemLease>(lease) : nullptr;
    if (!item) continue;
    const std::optional<Held> claim = claim_of(item->item, now);
    if (claim && claim->until - deadline_margin <= now) return true;
  }
  return false;
}

// Also of tubes that are paused: the original does not look.
bool Connection::has_ready() const {
  const queue::Table& table = state().queues;
  return std::ranges::any_of(watched_queues_, [&](const QueueName& name) {
    const queue::QueueNo* no = table.names.find(name);
    if (!no) return false;
    const auto first = table.ready.lower_bound({*no, 0, {}});
    return first != table.ready.end() && first->queue == *no;
  });
}

}  // namespace reeve::api::beanstalk
