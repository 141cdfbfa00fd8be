#include "core/shapes_detail.h"

namespace reeve::reflect {

REEVE_HERE(Command);
REEVE_HERE(definition::Set);

}  // namespace reeve::reflect
