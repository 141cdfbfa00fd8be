#include "engine/projectors.h"

#include <algorithm>
#include <chrono>

namespace reeve::engine {

using namespace std::chrono_literals;

void Projectors::add(const std::string& name, Sequence passed) {
  places_.insert_or_assign(name, Place{passed, false});
}

void Projectors::passed(const std::string& name, Sequence sequence) {
  const auto found = places_.find(name);
  if (found == places_.end() || found->second.left) return;
  found->second.passed = std::max(found->second.passed, sequence);
  forget_passed();
}

void Projectors::committed(Sequence last, std::uint64_t bytes, Time now) {
  if (places_.empty()) return;
  last_ = last;
  if (committed_.empty() || now - committed_.back().at >= 1s) {
    committed_.push_back({last, bytes_, now});
  } else {
    committed_.back().last = last;
  }
  bytes_ += bytes;
  forget_passed();
}

std::vector<Gap> Projectors::leave_laggards(Time now) {
  std::vector<Gap> gaps;
  for (auto& [name, place] : places_) {
    if (place.left) continue;
    const auto first = std::ranges::upper_bound(committed_, place.passed, {}, &Committed::last);
    if (first == committed_.end()) continue;
    const bool too_late = now - first->at > limits::projector_behind;
    const bool too_much = bytes_ - first->bytes_before > limits::projector_bytes;
    if (!too_late && !too_much) continue;
    place.left = true;
    gaps.push_back({name, place.passed + 1, last_});
  }
  if (!gaps.empty()) forget_passed();
  return gaps;
}

Sequence Projectors::all_passed() const {
  Sequence least = nobody;
  for (const auto& [name, place] : places_) {
    if (!place.left) least = std::min(least, place.passed);
  }
  return least;
}

bool Projectors::counts(const std::string& name) const {
  const auto found = places_.find(name);
  return found != places_.end() && !found->second.left;
}

std::optional<Time> Projectors::next_look() const {
  if (committed_.empty()) return std::nullopt;
  return committed_.front().at + limits::projector_behind + 1ms;
}

void Projectors::forget_passed() {
  const Sequence least = all_passed();
  while (!committed_.empty() && committed_.front().last <= least) committed_.pop_front();
}

}  // namespace reeve::engine
