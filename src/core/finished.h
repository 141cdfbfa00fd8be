#pragma once

#include "base/persistent_map.h"
#include "base/time.h"
#include "core/id.h"
#include "core/limits.h"

#include <compare>
#include <cstdint>
#include <optional>

// What is finished stays for a while, so that `show`, `wait` and a repeated request find it:
// a thousand of a kind and project, or 24 hours, whichever ends first. Oldest go first.
namespace reeve {

template <class Id>
struct FinishedKey {
  ProjectNo project;
  Time at;
  Id id;

  auto operator<=>(const FinishedKey&) const = default;
};

template <class Id>
struct Finished {
  PersistentSet<FinishedKey<Id>> by_age;
  PersistentMap<ProjectNo, std::uint64_t> counts;  // of by_age; no entry: none

  bool operator==(const Finished&) const = default;
};

template <class Id>
void add(Finished<Id>& finished, const FinishedKey<Id>& key) {
  if (finished.by_age.insert(key)) ++finished.counts.edit_or_insert(key.project);
}

template <class Id>
void remove(Finished<Id>& finished, const FinishedKey<Id>& key) {
  if (!finished.by_age.erase(key)) return;
  if (--*finished.counts.edit(key.project) == 0) finished.counts.erase(key.project);
}

inline Time kept_until(Time finished_at) {
  return saturating_add(finished_at, limits::finished_kept_for);
}

// The oldest of a project, or null.
template <class Id>
const FinishedKey<Id>* oldest(const Finished<Id>& finished, ProjectNo project) {
  const auto first = finished.by_age.lower_bound({project, Time::min(), Id{}});
  return first == finished.by_age.end() || first->project != project ? nullptr : &*first;
}

// The one to be forgotten next: it is too old, or there are too many. Of those that finish in one
// moment the order is that of their ids; the one that has just finished, `newest`, is not the
// oldest.
template <class Id>
std::optional<FinishedKey<Id>> overdue(const Finished<Id>& finished,
                                       ProjectNo project,
                                       Time now,
                                       const Id& newest = {}) {
  const FinishedKey<Id>* first = oldest(finished, project);
  if (!first) return std::nullopt;
  const bool too_many = *finished.counts.find(project) > limits::finished_kept;
  if (!too_many && now < kept_until(first->at)) return std::nullopt;
  if (first->id != newest) return *first;
  const auto second = finished.by_age.upper_bound(*first);
  if (second == finished.by_age.end() || second->project != project) return std::nullopt;
  return *second;
}

// When a tick has to look again.
template <class Id>
std::optional<Time> next_overdue(const Finished<Id>& finished, ProjectNo project) {
  const FinishedKey<Id>* first = oldest(finished, project);
  if (!first) return std::nullopt;
  return kept_until(first->at);
}

}  // namespace reeve
