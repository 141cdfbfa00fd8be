#include "core/invariants.h"

namespace reeve {

Violations check_state(const State& state) {
  Violations violations;
  lock::check(state, violations);
  semaphore::check(state, violations);
  grant::check(state, violations);
  custody::check(state, violations);
  session::check(state, violations);
  queue::check(state, violations);
  task::check(state, violations);
  pipeline::check(state, violations);
  dispatch::check(state, violations);
  worker::check(state, violations);
  cron::check(state, violations);
  board::check(state, violations);
  decision::check(state, violations);
  mailbox::check(state, violations);
  definition::check(state, violations);
  key::check(state, violations);
  return violations;
}

Violations check_step(const State&, const Applied&) { return {}; }

}  // namespace reeve
