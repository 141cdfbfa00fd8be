#include "daemon/look_times.h"

#include <algorithm>

namespace reeve::daemon {

void LookTimes::changed(Moment now) {
  if (!first_) first_ = now;
  last_ = now;
}

std::optional<LookTimes::Moment> LookTimes::due() const {
  if (looking_ || !first_) return std::nullopt;
  const Moment calm = std::min<Moment>(last_ + quiet, *first_ + longest_unrest);
  return not_before_ ? std::max(calm, *not_before_) : calm;
}

void LookTimes::began(Moment now) {
  first_.reset();
  not_before_ = now + least_between;
  looking_ = true;
}

}  // namespace reeve::daemon
