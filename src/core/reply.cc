#include "core/reply.h"

#include "base/match.h"

#include <algorithm>

namespace reeve {
namespace {

bool did_something(const grant::Reply& reply) {
  return match(
      reply,
      [](const grant::Granted&) { return true; },
      [](const grant::Busy&) { return false; },
      [](const grant::Full&) { return false; },
      [](const grant::WouldDeadlock&) { return false; },
      [](const grant::NotGranted&) { return true; });
}

bool did_something(const lock::Reply& reply) {
  return match(
      reply,
      [](const lock::Released&) { return true; },
      [](const lock::NotOwner&) { return false; },
      [](const lock::AlreadyFree&) { return false; },
      [](const lock::Alive&) { return true; },
      [](const lock::Lost&) { return false; },
      [](const lock::Valid&) { return false; },
      [](const lock::Superseded&) { return false; },
      [](const lock::Cleaned&) { return true; });
}

bool did_something(const semaphore::Reply& reply) {
  return match(
      reply,
      [](const semaphore::Released&) { return true; },
      [](const semaphore::NotHolder&) { return false; },
      [](const semaphore::Alive&) { return true; },
      [](const semaphore::Lost&) { return false; });
}

bool did_something(const queue::Reply& reply) {
  return match(
      reply,
      [](const queue::Pushed&) { return true; },
      [](const queue::Taken& taken) { return !taken.items.empty(); },
      [](const queue::Settled& settled) {
        return std::ranges::any_of(
            settled.items, [](const auto& item) { return std::holds_alternative<ItemId>(item); });
      },
      [](const queue::StaleClaim&) { return false; },
      [](const queue::Extended&) { return true; },
      [](const queue::Counted&) { return true; });
}

bool did_something(const task::Reply& reply) {
  return match(
      reply,
      [](const task::Begun&) { return true; },
      [](const task::Beat& beat) { return !beat.over; },
      [](const task::Superseded&) { return false; },
      [](const task::AlreadyDone&) { return false; });
}

bool did_something(const pipeline::Reply& reply) {
  return match(reply, [](const pipeline::Started&) { return true; });
}

bool did_something(const dispatch::Reply& reply) {
  return match(
      reply,
      [](const dispatch::Planned&) { return true; },
      [](const dispatch::Again&) { return true; },
      [](const dispatch::Busy&) { return false; },
      [](const dispatch::LookAgain&) { return false; });
}

bool did_something(const worker::Reply& reply) {
  return match(reply, [](const worker::Working&) { return true; });
}

bool did_something(const cron::Reply& reply) {
  return match(
      reply,
      [](const cron::Enabled&) { return true; },
      [](const cron::Fired&) { return true; },
      [](const cron::Buffered&) { return true; },
      [](const cron::Skipped&) { return false; });
}

bool did_something(const board::Reply& reply) {
  return match(
      reply,
      [](const board::Added&) { return true; },
      [](const board::Started&) { return true; },
      [](const board::TaskLocked&) { return false; },
      [](const board::SectionLocked&) { return false; },
      [](const board::TaskFinished&) { return false; },
      [](const board::Lost&) { return false; },
      [](const board::Extended&) { return true; },
      [](const board::Alive&) { return true; },
      [](const board::Found&) { return false; },
      [](const board::Nothing&) { return false; },
      [](const board::CleanedUp&) { return true; },
      [](const board::WaitEnded&) { return true; });
}

// A question that nobody answered was put all the same.
bool did_something(const decision::Reply& reply) {
  return match(
      reply,
      [](const decision::Resolved&) { return true; },
      [](const decision::AlreadyAnswered&) { return false; },
      [](const decision::NotAnswered&) { return true; });
}

bool did_something(const mailbox::Reply& reply) {
  return match(
      reply,
      [](const mailbox::Sent&) { return true; },
      [](const mailbox::Mail&) { return false; },
      [](const mailbox::Acked&) { return true; });
}

bool did_something(const project::Reply& reply) {
  return match(reply, [](const project::Opened&) { return true; });
}

}  // namespace

Reply::Reply() = default;
Reply::Reply(Ok reply) : value(std::move(reply)) {}
Reply::Reply(Refused reply) : value(std::move(reply)) {}
Reply::Reply(Waiting reply) : value(std::move(reply)) {}
Reply::Reply(grant::Reply reply) : value(std::move(reply)) {}
Reply::Reply(lock::Reply reply) : value(std::move(reply)) {}
Reply::Reply(semaphore::Reply reply) : value(std::move(reply)) {}
Reply::Reply(queue::Reply reply) : value(std::move(reply)) {}
Reply::Reply(task::Reply reply) : value(std::move(reply)) {}
Reply::Reply(pipeline::Reply reply) : value(std::move(reply)) {}
Reply::Reply(dispatch::Reply reply) : value(std::move(reply)) {}
Reply::Reply(worker::Reply reply) : value(std::move(reply)) {}
Reply::Reply(cron::Reply reply) : value(std::move(reply)) {}
Reply::Reply(board::Reply reply) : value(std::move(reply)) {}
Reply::Reply(decision::Reply reply) : value(std::move(reply)) {}
Reply::Reply(mailbox::Reply reply) : value(std::move(reply)) {}
Reply::Reply(project::Reply reply) : value(std::move(reply)) {}
Reply::Reply(const Reply&) = default;
Reply::Reply(Reply&&) noexcept = default;
Reply& Reply::operator=(const Reply&) = default;
Reply& Reply::operator=(Reply&&) noexcept = default;
Reply::~Reply() = default;

bool Reply::operator==(const Reply& other) const { return value == other.value; }

// One opinion a word. That a wait is over is something, for a retry is not to wait anew.
bool did_something(const Reply& reply) {
  return match(
      reply.value,
      [](const Ok&) { return true; },
      [](const Refused&) { return false; },
      [](const Waiting&) { return true; },
      [](const grant::Reply& of_grant) { return did_something(of_grant); },
      [](const lock::Reply& of_lock) { return did_something(of_lock); },
      [](const semaphore::Reply& of_semaphore) { return did_something(of_semaphore); },
      [](const queue::Reply& of_queue) { return did_something(of_queue); },
      [](const task::Reply& of_task) { return did_something(of_task); },
      [](const pipeline::Reply& of_pipeline) { return did_something(of_pipeline); },
      [](const dispatch::Reply& of_dispatch) { return did_something(of_dispatch); },
      [](const worker::Reply& of_worker) { return did_something(of_worker); },
      [](const cron::Reply& of_cron) { return did_something(of_cron); },
      [](const board::Reply& of_board) { return did_something(of_board); },
      [](const decision::Reply& of_decision) { return did_something(of_decision); },
      [](const mailbox::Reply& of_mailbox) { return did_something(of_mailbox); },
      [](const project::Reply& of_project) { return did_something(of_project); });
}

Reply refused(Why why, std::string subject) { return Refused{why, std::move(subject)}; }

}  // namespace reeve
