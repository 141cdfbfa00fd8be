#include "core/cron_schedule.h"

#include "base/match.h"

#include <algorithm>
#include <bit>
#include <chrono>

namespace reeve::cron {
namespace {

using namespace std::chrono;
using time_zone::Local;
using time_zone::Period;
using time_zone::Zone;

// A date comes back within this time or never: the rarest, a 29 February on a given day of the
// week, after forty years.
constexpr years horizon{48};

bool has(std::uint64_t bits, unsigned bit) { return (bits >> bit & 1U) != 0; }

// The lowest bit that is set and not below `from`; none if there is none.
std::optional<unsigned> next_bit(std::uint64_t bits, unsigned from) {
  if (from >= 64) return std::nullopt;
  const std::uint64_t rest = bits >> from;
  if (rest == 0) return std::nullopt;
  return from + static_cast<unsigned>(std::countr_zero(rest));
}

bool is_day(const Expression& expression, year_month_day date) {
  const bool day = has(expression.days, static_cast<unsigned>(date.day()));
  const weekday weekday_of{local_days{date}};
  const bool weekday = has(expression.weekdays, weekday_of.c_encoding());
  const bool either = !expression.any_day && !expression.any_weekday;
  return either ? day || weekday : day && weekday;
}

// The first minute of the day, not before `from` (minutes since midnight), that matches.
std::optional<minutes> minute_of_day(const Expression& expression, unsigned from) {
  const unsigned hour = from / 60;
  if (has(expression.hours, hour)) {
    if (const auto minute = next_bit(expression.minutes, from % 60)) {
      return hours{hour} + minutes{*minute};
    }
  }
  const auto later = next_bit(expression.hours, hour + 1);
  if (!later) return std::nullopt;
  return hours{*later} + minutes{std::countr_zero(expression.minutes)};
}

// The first whole minute of the calendar, at or after `from`, that matches; zones play no part.
std::optional<Local> next_local(const Expression& expression, Local from) {
  from = ceil<minutes>(from);
  const local_days today = floor<days>(from);
  const year_month_day first{today};
  const year limit = first.year() + horizon;
  unsigned minute = static_cast<unsigned>(floor<minutes>(from - today).count());

  for (year_month_day date = first; date.year() < limit;) {
    if (!has(expression.months, static_cast<unsigned>(date.month()))) {
      date = year_month_day{local_days{(date.year() / date.month() / 1) + months{1}}};
      minute = 0;
      continue;
    }
    if (is_day(expression, date)) {
      if (const auto found = minute_of_day(expression, minute)) return local_days{date} + *found;
    }
    date = year_month_day{local_days{date} + days{1}};
    minute = 0;
  }
  return std::nullopt;
}

// By elapsed time: whatever the clocks show, each time they show it.
std::optional<Wall> next_elapsed(const Expression& expression, const Zone& zone, Wall after) {
  Wall from = after + Duration{1};
  while (from < calendar_ends) {
    const Period period = period_at(zone, from);
    const auto local = next_local(expression, to_local(from, period));
    if (!local) return std::nullopt;
    const Wall at = Wall{local->time_since_epoch()} - period.offset;
    if (at < period.end) return at;
    from = period.end;
  }
  return std::nullopt;
}

// By the calendar: every date and minute once, the first time that the clocks show it or, if
// they never do, are past it. What they had shown before is over.
std::optional<Wall> next_on_calendar(const Expression& expression, const Zone& zone, Wall after) {
  const auto local = next_local(expression, high_water(zone, after) + Duration{1});
  if (!local) return std::nullopt;
  return first_at_or_past(zone, *local);
}

}  // namespace

bool is_sound(const Schedule& schedule) {
  return match(
      schedule,
      [](const Interval& interval) { return interval.every >= seconds{1}; },
      [](const Expression& expression) {
        const auto within = [](std::uint64_t bits, unsigned first, unsigned last) {
          return bits != 0 && (bits >> first) << first == bits && bits >> last <= 1;
        };
        return within(expression.minutes, 0, 59) && within(expression.hours, 0, 23) &&
               within(expression.days, 1, 31) && within(expression.months, 1, 12) &&
               within(expression.weekdays, 0, 6);
      });
}

std::optional<Wall> next_after(const Expression& expression, const Zone& zone, Wall after) {
  after = std::max(after, calendar_begins);
  if (after >= calendar_ends) return std::nullopt;
  const std::optional<Wall> next = expression.any_hour ? next_elapsed(expression, zone, after)
                                                       : next_on_calendar(expression, zone, after);
  return next && *next < calendar_ends ? next : std::nullopt;
}

std::optional<Wall> last_until(const Expression& expression,
                               const Zone& zone,
                               Wall after,
                               Wall until) {
  after = std::max(after, calendar_begins);
  until = std::min(until, calendar_ends);
  const auto is_within = [&](std::optional<Wall> at) { return at && *at <= until; };
  std::optional<Wall> found = next_after(expression, zone, after);
  if (!is_within(found)) return std::nullopt;
  // What comes after a moment never moves back as the moment moves on: halve.
  Wall low = *found;
  Wall high = until;
  while (low < high) {
    const Wall middle = low + (high - low) / 2;
    const std::optional<Wall> next = next_after(expression, zone, middle);
    if (is_within(next)) {
      low = *next;
    } else {
      high = middle;
    }
  }
  return low;
}

}  // namespace reeve::cron
