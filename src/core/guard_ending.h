#pragma once

#include "core/guard.h"

// Of a guard with `on_timeout = "escalate"` whose time is up in the middle of a check: the step
// says Ask while the guard is still Checking. The check is to be ended first. Its outcome comes to
// `checked` like any other's, and with it Ask once more, which then has what the check said. It was
// cut short, so how it ended counts for nothing; but one that passed has passed.
namespace reeve::guard {

bool is_ending(const Guard& guard, const definition::Guard& definition);

}  // namespace reeve::guard
