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
#include "core/walled.h"
#include "core/worker.h"

#include <string>
#include <utility>
#include <variant>

namespace reeve {

using ReplySum = std::variant<Ok,
                              Refused,
                              Waiting,
                              grant::Reply,
                              lock::Reply,
                              semaphore::Reply,
                              queue::Reply,
                              task::Reply,
                              pipeline::Reply,
                              dispatch::Reply,
                              worker::Reply,
                              cron::Reply,
                              board::Reply,
                              decision::Reply,
                              mailbox::Reply,
                              project::Reply>;

// The answer to an input: one small variant a noun, behind a wall (core/walled). The core has no
// errors, it has answers.
struct Reply {
  ReplySum value;

  Reply();
  Reply(Ok reply);
  Reply(Refused reply);
  Reply(Waiting reply);
  Reply(grant::Reply reply);
  Reply(lock::Reply reply);
  Reply(semaphore::Reply reply);
  Reply(queue::Reply reply);
  Reply(task::Reply reply);
  Reply(pipeline::Reply reply);
  Reply(dispatch::Reply reply);
  Reply(worker::Reply reply);
  Reply(cron::Reply reply);
  Reply(board::Reply reply);
  Reply(decision::Reply reply);
  Reply(mailbox::Reply reply);
  Reply(project::Reply reply);
  template <walled::WordOf<ReplySum> Word>
  Reply(Word word) : Reply(walled::NounFor<Word, ReplySum>(std::move(word))) {}
  Reply(const Reply& other);
  Reply(Reply&& other) noexcept;
  Reply& operator=(const Reply& other);
  Reply& operator=(Reply&& other) noexcept;
  ~Reply();

  bool operator==(const Reply& other) const;
};

// Whether it gave something, or says that something is done.
bool did_something(const Reply& reply);

Reply refused(Why why, std::string subject);

}  // namespace reeve
