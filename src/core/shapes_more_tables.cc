#include "core/shapes_detail.h"

namespace reeve::reflect {

REEVE_HERE(worker::Table);
REEVE_HERE(cron::Table);
REEVE_HERE(board::Table);
REEVE_HERE(decision::Table);
REEVE_HERE(mailbox::Table);
REEVE_HERE(definition::Table);
REEVE_HERE(project::Table);
REEVE_HERE(event_bus::Table);
REEVE_HERE(key::Table);

}  // namespace reeve::reflect
