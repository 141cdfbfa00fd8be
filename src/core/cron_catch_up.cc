#include "base/match.h"
#include "core/cron.h"

#include <algorithm>

// Which instants there are, and which of those that passed are still run: pure functions of one
// cron and the clocks.
namespace reeve::cron {
namespace {

constexpr std::size_t most_shown = 1000;

Wall moved(Wall wall, Duration by) {
  const Time sum = saturating_add(Time(wall.time_since_epoch()), by);
  return Wall(sum.time_since_epoch());
}

Stamp moved(Stamp stamp, Duration by) {
  return {saturating_add(stamp.now, by), moved(stamp.wall, by)};
}

// The `number`-th beat of an interval; none if that is further than time goes.
std::optional<Time> beat(const Interval& interval, Stamp anchor, std::int64_t number) {
  std::int64_t elapsed = 0;
  if (__builtin_mul_overflow(interval.every.count(), number, &elapsed)) return std::nullopt;
  const Time at = saturating_add(anchor.now, Duration{elapsed});
  if (at == Time::max()) return std::nullopt;
  return at;
}

std::int64_t beats_until(const Interval& interval, Stamp anchor, Time until) {
  if (until < anchor.now) return 0;
  return (until - anchor.now) / interval.every;
}

// The last instant after `cron.last` and not after `until`, both clocks shifted alike.
std::optional<Stamp> last_instant(const Cron& cron, Stamp until) {
  return match(
      cron.plan.definition->schedule,
      [&](const Interval& interval) -> std::optional<Stamp> {
        const std::int64_t number = beats_until(interval, cron.anchor, until.now);
        const std::optional<Time> at = beat(interval, cron.anchor, number);
        if (!at || *at <= cron.last.now || number == 0) return std::nullopt;
        return moved(until, *at - until.now);
      },
      [&](const Expression& expression) -> std::optional<Stamp> {
        const std::optional<Wall> at =
            last_until(expression, cron.plan.definition->zone, cron.last.wall, until.wall);
        if (!at) return std::nullopt;
        return moved(until, *at - until.wall);
      });
}

}  // namespace

std::optional<Stamp> instant_after(const Cron& cron, Stamp last, Stamp now) {
  return match(
      cron.plan.definition->schedule,
      [&](const Interval& interval) -> std::optional<Stamp> {
        const std::int64_t number = beats_until(interval, cron.anchor, last.now) + 1;
        const std::optional<Time> at = beat(interval, cron.anchor, number);
        if (!at) return std::nullopt;
        return moved(now, *at - now.now);
      },
      [&](const Expression& expression) -> std::optional<Stamp> {
        const std::optional<Wall> at =
            next_after(expression, cron.plan.definition->zone, last.wall);
        if (!at) return std::nullopt;
        return moved(now, *at - now.wall);
      });
}

std::optional<Finding> look(const Cron& cron, Stamp now) {
  const std::optional<Stamp> first = instant_after(cron, cron.last, now);
  if (!first || first->now > now.now) return std::nullopt;
  const Definition& definition = *cron.plan.definition;
  const Duration window = std::max(definition.window, on_time);

  if (definition.catch_up == CatchUp::All) {
    if (now.now - first->now <= window) return Finding{{}, first, *first};
    const Stamp outside = moved(now, -window - Duration{1});
    const Stamp last = last_instant(cron, outside).value_or(*first);
    return Finding{{{first->wall, last.wall}}, {}, last};
  }

  const Stamp latest = last_instant(cron, now).value_or(*first);
  const Duration patience = definition.catch_up == CatchUp::None ? on_time : window;
  if (now.now - latest.now > patience) {
    return Finding{{{first->wall, latest.wall}}, {}, latest};
  }
  Finding finding{{}, latest, latest};
  if (latest.now > first->now) {
    const Stamp before = last_instant(cron, moved(latest, Duration{-1})).value_or(*first);
    finding.missed = {first->wall, before.wall};
  }
  return finding;
}

std::vector<Wall> next_fires(const Cron& cron, Stamp now, std::size_t count) {
  std::vector<Wall> fires;
  if (!cron.plan.definition) return fires;
  Stamp last{std::max(cron.last.now, now.now), std::max(cron.last.wall, now.wall)};
  while (fires.size() < std::min(count, most_shown)) {
    const std::optional<Stamp> next = instant_after(cron, last, now);
    if (!next) break;
    fires.push_back(next->wall);
    last = *next;
  }
  return fires;
}

}  // namespace reeve::cron
