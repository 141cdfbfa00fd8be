#include "core/shapes_detail.h"

namespace reeve::reflect {

REEVE_HERE(lock::Table);
REEVE_HERE(semaphore::Table);
REEVE_HERE(grant::Table);
REEVE_HERE(custody::Table);
REEVE_HERE(session::Table);
REEVE_HERE(queue::Table);
REEVE_HERE(task::Table);
REEVE_HERE(pipeline::Table);
REEVE_HERE(dispatch::Table);

}  // namespace reeve::reflect
