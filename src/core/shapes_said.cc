#include "core/shapes_detail.h"

namespace reeve::reflect {

REEVE_HERE(Reply);
REEVE_HERE(EventBody);
REEVE_HERE(Inner);
REEVE_HERE(Outgoing);

}  // namespace reeve::reflect
