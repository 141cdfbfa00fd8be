#include "core/shapes_detail.h"

namespace reeve::reflect {

REEVE_HERE(Subject);
REEVE_HERE(Timers);
REEVE_HERE(Chores);

}  // namespace reeve::reflect
