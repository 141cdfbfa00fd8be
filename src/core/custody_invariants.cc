#include "base/match.h"
#include "core/invariants.h"

namespace reeve::custody {
namespace {

bool names(const Boxed<HolderMeta>& meta, const Process& process) {
  return meta && meta->process == process;
}

bool is_true(const State& state, const Held& held) {
  return match(
      held.lease,
      [&](const LockLease& lease) {
        const lock::Lock* lock = state.locks.locks.find(lease.name);
        const lock::Tenure* tenure = lock ? lock::tenure_of(*lock) : nullptr;
        return tenure && names(tenure->meta, held.process);
      },
      [&](const SlotLease& lease) {
        const semaphore::Slot* slot = state.semaphores.slots.find({lease.name, lease.holder});
        return slot && names(slot->meta, held.process);
      },
      [&](const ItemLease& lease) { return state.queues.items.contains(lease.item); });
}

}  // namespace

void check(const State& state, Violations& violations) {
  for (const Held& held : state.custody.held) {
    if (!is_true(state, held)) {
      violations.push_back("process " + std::to_string(held.process.pid) +
                           " holds something that does not name it");
    }
  }
  for (const auto& [process, ending] : state.custody.endings) {
    const std::optional<Time> armed = deadline_of(state.timers, Due{process});
    const bool right = ending.gone       ? armed && *armed <= state.now
                       : ending.decision ? !armed
                                         : armed.has_value();
    if (!right) {
      violations.push_back("process " + std::to_string(process.pid) +
                           " is being ended and its timer is not right");
    }
  }
}

}  // namespace reeve::custody
