#include "engine/clock.h"

#include "engine/limits.h"

#include <algorithm>

namespace reeve::engine {

Clock::Clock(Time last, const Reading& first)
    : start_(std::max(last, Time(first.wall.time_since_epoch()))),
      first_(first),
      last_(first),
      now_(start_) {}

Moment Clock::read(const Reading& reading) {
  const Duration boot = reading.boot - last_.boot;
  const Duration slept = boot - (reading.monotonic - last_.monotonic);
  const Duration stepped = (reading.wall - last_.wall) - boot;
  last_ = reading;
  now_ = std::max(now_, start_ + (reading.boot - first_.boot));

  Moment moment{.stamp = {now_, reading.wall}};
  moment.suspended = slept > limits::suspended;
  if (stepped > limits::stepped || stepped < -limits::stepped) moment.stepped = stepped;
  return moment;
}

std::optional<Duration> Clock::until(const Deadlines& deadlines, Stamp now) {
  std::optional<Duration> sleep;
  const auto consider = [&](Duration until) {
    const Duration wait = std::max(until, Duration{0});
    sleep = sleep ? std::min(*sleep, wait) : wait;
  };
  if (deadlines.engine) consider(*deadlines.engine - now.now);
  if (deadlines.wall) consider(*deadlines.wall - now.wall);
  return sleep;
}

}  // namespace reeve::engine
