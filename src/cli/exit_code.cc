#include "cli/exit_code.h"

#include <array>
#include <utility>

namespace reeve::cli {

namespace {

constexpr std::array<std::pair<std::string_view, Exit>, 38> codes{{
    {"USAGE", Exit::Usage},
    {"BAD_NAME", Exit::Usage},
    {"BAD_VALUE", Exit::Usage},
    {"BAD_PARAMS", Exit::Usage},
    {"OVER_LIMIT", Exit::Usage},
    {"TOO_LONG", Exit::Usage},
    {"KEY_REUSED", Exit::Usage},
    {"AMBIGUOUS", Exit::Usage},
    {"LOOP", Exit::Usage},
    {"TOO_MUCH", Exit::Failed},
    {"FAILED", Exit::Failed},
    {"DISK_FULL", Exit::Failed},
    {"IO", Exit::Failed},
    {"GONE", Exit::NotFound},
    {"NOT_FOUND", Exit::NotFound},
    {"CANCELLED", Exit::Cancelled},
    {"NOT_OWNER", Exit::NotAllowed},
    {"NOT_HOLDER", Exit::NotAllowed},
    {"NOT_ALLOWED", Exit::NotAllowed},
    {"EXISTS", Exit::Failed},
    {"LOCKED", Exit::NotObtained},
    {"FULL", Exit::NotObtained},
    {"WOULD_DEADLOCK", Exit::NotObtained},
    {"LOST", Exit::NotObtained},
    {"SUPERSEDED", Exit::NotObtained},
    {"STALE_CLAIM", Exit::NotObtained},
    {"TASK_LOCKED", Exit::NotObtained},
    {"SECTION_LOCKED", Exit::NotObtained},
    {"TASK_FINISHED", Exit::NotObtained},
    {"TIMED_OUT", Exit::NotObtained},
    {"UNAVAILABLE", Exit::Unavailable},
    {"INTERRUPTED", Exit::Interrupted},
    {"LEASE_LOST", Exit::Lost},
    {"RUNBOOK_WRONG", Exit::Failed},
    {"RUNBOOK_UNKNOWN", Exit::Failed},
    {"NOT_SUPPORTED", Exit::Failed},
    {"ANSWERED", Exit::NotAllowed},
    {"WAIT_TIMED_OUT", Exit::TimedOut},
}};

}  // namespace

Exit exit_of(std::string_view code) {
  for (const auto& [name, exit] : codes) {
    if (name == code) return exit;
  }
  return Exit::Failed;
}

}  // namespace reeve::cli
