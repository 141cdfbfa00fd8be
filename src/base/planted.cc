#include "base/planted.h"

#ifdef REEVE_PLANTED
namespace reeve {
Bug planted_bug = Bug::None;
}
#endif
