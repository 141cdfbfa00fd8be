#include "core/time_zone.h"

#include <algorithm>
#include <array>
#include <iterator>

namespace reeve::time_zone {
namespace {

using namespace std::chrono;

constexpr Seconds largest_offset = hours{26};
constexpr Seconds largest_change_time = hours{167};
constexpr std::size_t most_transitions = 1024;
constexpr Wall earliest = sys_days{year{1} / 1 / 1};
constexpr Wall latest = sys_days{year{9999} / 12 / 31};

bool is_sound(Seconds offset) { return offset >= -largest_offset && offset <= largest_offset; }

bool is_sound(const Change& change) {
  return change.month >= 1 && change.month <= 12 && change.week >= 1 && change.week <= 5 &&
         change.weekday <= 6 && change.time >= -largest_change_time &&
         change.time <= largest_change_time;
}

// The moment of a yearly change; `offset` is the one in force before it.
Wall moment_of(const Change& change, year year, Seconds offset) {
  const weekday day{change.weekday};
  const month month{change.month};
  const sys_days date = change.week == 5 ? sys_days{year / month / day[last]}
                                         : sys_days{year / month / day[change.week]};
  return Wall{date} + change.time - offset;
}

// The changes of the years around `at`, in order: at least one is not after it, one is. (A
// change may be moved into the neighbouring year by its time, so one year more each way.)
std::array<Transition, 10> changes_around(const Rule& rule, const Daylight& daylight, Wall at) {
  const year middle = year_month_day{floor<days>(at)}.year();
  std::array<Transition, 10> changes;
  auto next = changes.begin();
  for (year year = middle - years{2}; year <= middle + years{2}; ++year) {
    *next++ = {moment_of(daylight.start, year, rule.standard), daylight.offset, true};
    *next++ = {moment_of(daylight.end, year, daylight.offset), rule.standard, false};
  }
  std::ranges::sort(changes, {}, &Transition::at);
  return changes;
}

Period by_rule(const Rule& rule, Wall at) {
  if (!rule.daylight || at < earliest || at > latest) {
    return {Wall::min(), Wall::max(), rule.standard};
  }
  const std::array<Transition, 10> changes = changes_around(rule, *rule.daylight, at);
  const auto next = std::ranges::upper_bound(changes, at, {}, &Transition::at);
  const Transition& current = *std::prev(next);
  return {current.at, next->at, current.offset};
}

}  // namespace

bool is_sound(const Zone& zone) {
  if (!is_sound(zone.before) || !is_sound(zone.rule.standard)) return false;
  if (zone.transitions.size() > most_transitions) return false;
  Wall previous = earliest - Duration{1};
  for (const Transition& transition : zone.transitions) {
    if (transition.at <= previous || transition.at > latest) return false;
    if (!is_sound(transition.offset)) return false;
    previous = transition.at;
  }
  const std::optional<Daylight>& daylight = zone.rule.daylight;
  return !daylight ||
         (is_sound(daylight->offset) && is_sound(daylight->start) && is_sound(daylight->end));
}

Period period_at(const Zone& zone, Wall at) {
  const auto next = std::ranges::upper_bound(zone.transitions, at, {}, &Transition::at);
  if (next == zone.transitions.end()) {
    Period period = by_rule(zone.rule, at);
    if (!zone.transitions.empty()) {
      period.begin = std::max(period.begin, zone.transitions.back().at);
    }
    return period;
  }
  if (next == zone.transitions.begin()) return {Wall::min(), next->at, zone.before};
  return {std::prev(next)->at, next->at, std::prev(next)->offset};
}

Wall first_at_or_past(const Zone& zone, Local local) {
  const Wall as_if_utc{local.time_since_epoch()};
  // No clock runs further ahead of UTC than this.
  Period period = period_at(zone, as_if_utc - largest_offset);
  while (true) {
    const Wall at = std::max(period.begin, as_if_utc - period.offset);
    if (at < period.end) return at;
    period = period_at(zone, period.end);
  }
}

Local high_water(const Zone& zone, Wall at) {
  Period period = period_at(zone, at);
  Local most = to_local(at, period);
  // From further back no offset reaches what the clocks show now.
  while (period.begin > at - 2 * largest_offset) {
    const Wall before = period.begin - Duration{1};
    period = period_at(zone, before);
    most = std::max(most, to_local(before, period));
  }
  return most;
}

}  // namespace reeve::time_zone
