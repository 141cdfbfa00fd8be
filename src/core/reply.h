#pragma once

#include "core/answer.h"
#include "core/board.h"
#include "core/cron.h"
#include "core/decision.h"
#include "core/dispatch.h"
#include "core/grant.h"
#include "core/lock.h"
#include "core/mailbox.h"
#include "core/pipeline.h"
#include "core/project.h"
#include "core/queue.h"
#include "core/semaphore.h"
#include "core/task.h"
#include "core/worker.h"

#include <variant>

namespace reeve {

// The answer to an input: one small variant a noun. The core has no errors, it has answers.
struct Reply {
  std::variant<Ok, Refused, Waiting, grant::Reply, lock::Reply, semaphore::Reply, queue::Reply,
               task::Reply, pipeline::Reply, dispatch::Reply, worker::Reply, cron::Reply,
               board::Reply, decision::Reply, mailbox::Reply, project::Reply>
      value = Ok{};

  bool operator==(const Reply&) const = default;
};

inline Reply refused(Why why, std::string subject) { return {Refused{why, std::move(subject)}}; }

}  // namespace reeve
