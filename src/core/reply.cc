#include "core/reply.h"

namespace reeve {

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

Reply refused(Why why, std::string subject) { return Refused{why, std::move(subject)}; }

}  // namespace reeve
