#include "api/beanstalk/ledger.h"

#include <algorithm>

namespace reeve::api::beanstalk {
namespace {

constexpr std::size_t pasts_before_sweep = 10'000;

std::uint64_t jobs_in(const queue::Counts& counts) {
  return counts.pending + counts.processing + counts.dead;
}

}  // namespace

std::uint32_t timeouts_of(const queue::Item& item) {
  const bool at_work = item.state == queue::ItemState::Processing;
  const bool buried =
      item.state == queue::ItemState::Dead && item.rest && item.rest->reason == "buried";
  const std::uint32_t others = at_work || buried ? 1 : 0;
  return item.attempts - std::min(item.attempts, others);
}

Ledger::Ledger(Settings with) : settings(with), sweep_at_(pasts_before_sweep) {
  tubes_.try_emplace(std::string(default_tube));
}

const queue::Queue* Ledger::find(const State& state, std::string_view tube) const {
  const queue::QueueNo* no = state.queues.names.find(queue_of(tube));
  return no ? state.queues.queues.find(*no) : nullptr;
}

const queue::Item* Ledger::job(const State& state, ItemId id) const {
  const queue::Item* item = state.queues.items.find(id);
  if (!item || item->state == queue::ItemState::Completed) return nullptr;
  const queue::Queue* queue = state.queues.queues.find(item->queue);
  return queue && queue->name.project == settings.project ? item : nullptr;
}

Tube* Ledger::known(std::string_view tube) {
  const auto found = tubes_.find(tube);
  return found == tubes_.end() ? nullptr : &found->second;
}

// One that nobody used and that had no jobs was gone; its counts begin anew.
Tube& Ledger::enter(const State& state, std::string_view name) {
  auto found = tubes_.find(name);
  const bool is_new = found == tubes_.end();
  if (is_new) found = tubes_.try_emplace(std::string(name)).first;
  Tube& tube = found->second;
  if (tube.users + tube.watchers > 0 || name == default_tube) return tube;
  const queue::Queue* queue = find(state, name);
  const std::uint64_t jobs = queue ? jobs_in(queue->counts) : 0;
  if (jobs > 0 && !is_new) return tube;
  tube = {};
  if (queue) tube.pushed_before = queue->counts.pushed + queue->counts.moved_in - jobs;
  return tube;
}

void Ledger::left(const State& state, std::string_view name) {
  const auto found = tubes_.find(name);
  if (found == tubes_.end() || exists(state, name) || pause_outlived(state, name)) return;
  tubes_.erase(found);
}

// One that was paused elsewhere stays paused: that was the queue, not the tube.
bool Ledger::pause_outlived(const State& state, std::string_view name) const {
  const auto found = tubes_.find(name);
  if (found == tubes_.end() || found->second.pauses == 0 || exists(state, name)) return false;
  const queue::Queue* queue = find(state, name);
  return queue && queue->paused && queue->paused_until;
}

bool Ledger::exists(const State& state, std::string_view name) const {
  if (name == default_tube) return true;
  const auto found = tubes_.find(name);
  if (found != tubes_.end() && found->second.users + found->second.watchers > 0) return true;
  const queue::Queue* queue = find(state, name);
  return queue && jobs_in(queue->counts) > 0;
}

std::vector<std::string> Ledger::tubes(const State& state) const {
  std::vector<std::string> names;
  for (const auto& [name, tube] : tubes_) {
    if (tube.users + tube.watchers > 0) names.push_back(name);
  }
  const auto& known = state.queues.names;
  for (auto at = known.lower_bound(queue_of("")); at != known.end(); ++at) {
    if (at->first.project != settings.project) break;
    const queue::Queue* queue = state.queues.queues.find(at->second);
    if (queue && jobs_in(queue->counts) > 0 && is_tube_name(at->first.name)) {
      names.push_back(at->first.name);
    }
  }
  std::ranges::sort(names);
  names.erase(std::ranges::unique(names).begin(), names.end());
  std::erase(names, default_tube);
  names.insert(names.begin(), std::string(default_tube));
  return names;
}

// Jobs that ended elsewhere are noticed here.
Past& Ledger::past(const State& state, ItemId id) {
  if (pasts_.size() >= sweep_at_) {
    std::erase_if(pasts_, [&](const auto& entry) { return !job(state, ItemId{entry.first}); });
    sweep_at_ = std::max(pasts_before_sweep, pasts_.size() * 2);
  }
  return pasts_[id.value];
}

Past Ledger::past_of(ItemId id) const {
  const auto found = pasts_.find(id.value);
  return found == pasts_.end() ? Past{} : found->second;
}

void Ledger::remember_attempts(const State& state, ItemId id, const queue::Item& item) {
  Past& known = past(state, id);
  known.reserves += item.attempts;
  known.timeouts += timeouts_of(item);
}

}  // namespace reeve::api::beanstalk
