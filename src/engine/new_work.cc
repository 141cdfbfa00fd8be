#include "engine/new_work.h"

#include "base/match.h"

namespace reeve::engine {
namespace {

// Taking a lease begins something; everything a holder says afterwards keeps or ends it.
bool judge(const lock::Command& command) {
  return match(
      command,
      [](const lock::Acquire&) { return true; },
      [](const lock::Release&) { return false; },
      [](const lock::Heartbeat&) { return false; },
      [](const lock::Check&) { return false; },
      [](const lock::ForceRelease&) { return false; },
      [](const lock::Cleanup&) { return false; });
}

bool judge(const semaphore::Command& command) {
  return match(
      command,
      [](const semaphore::Create&) { return true; },
      [](const semaphore::Resize&) { return false; },  // one number for another
      [](const semaphore::Acquire&) { return true; },
      [](const semaphore::Release&) { return false; },
      [](const semaphore::Heartbeat&) { return false; },
      [](const semaphore::Remove&) { return false; });
}

// Who takes from a queue empties it: refusing that would keep a full state full.
bool judge(const queue::Command& command) {
  return match(
      command,
      [](const queue::Create&) { return true; },
      [](const queue::Push&) { return true; },
      [](const queue::Take&) { return false; },
      [](const queue::TakeOne&) { return false; },
      [](const queue::Complete&) { return false; },
      [](const queue::Fail&) { return false; },
      [](const queue::Extend&) { return false; },
      [](const queue::Release&) { return false; },
      [](const queue::Bury&) { return false; },
      [](const queue::Drop&) { return false; },
      [](const queue::Redrive&) { return true; },  // what had ended begins again
      [](const queue::Hurry&) { return false; },
      [](const queue::Pause&) { return false; },
      [](const queue::Resume&) { return false; },
      [](const queue::Purge&) { return false; },
      [](const queue::Remove&) { return false; });
}

// An agent at work may be talked to until it is done; none is started.
bool judge(const task::Command& command) {
  return match(
      command,
      [](const task::Run&) { return true; },
      [](const task::Heartbeat&) { return false; },
      [](const task::Observed&) { return false; },
      [](const task::SessionGone&) { return false; },
      [](const task::Report&) { return false; },
      [](const task::Nudge&) { return false; },
      [](const task::SendText&) { return false; },
      [](const task::Restart&) { return true; },
      [](const task::Kill&) { return false; });
}

// What is open may go on to its end; what has ended stays so for now.
bool judge(const pipeline::Command& command) {
  return match(
      command,
      [](const pipeline::Start&) { return true; },
      [](const pipeline::Cancel&) { return false; },
      [](const pipeline::Retry&) { return true; },
      [](const pipeline::ResumeFrom&) { return true; },
      [](const pipeline::Transition&) { return false; },
      [](const pipeline::Unblock&) { return false; },
      [](const pipeline::AddCheckpoint&) { return false; },  // said by a step that runs
      [](const pipeline::Pause&) { return false; },
      [](const pipeline::Continue&) { return false; },
      [](const pipeline::Finish&) { return false; },
      [](const pipeline::RemoveWorkspace&) { return false; });
}

// What was seen is evidence: without it a claim would never be released.
bool judge(const dispatch::Command& command) {
  return match(
      command,
      [](const dispatch::Send&) { return true; },
      [](const dispatch::SawStarted&) { return false; },
      [](const dispatch::SawAlive&) { return false; },
      [](const dispatch::SawExit&) { return false; },
      [](const dispatch::SawBoot&) { return false; },
      [](const dispatch::Clear&) { return false; });
}

bool judge(const worker::Command& command) {
  return match(
      command,
      [](const worker::Start&) { return true; },
      [](const worker::Stop&) { return false; },
      [](const worker::Wake&) { return true; },
      [](const worker::Resize&) { return false; });
}

bool judge(const cron::Command& command) {
  return match(
      command,
      [](const cron::Enable&) { return true; },
      [](const cron::Disable&) { return false; },
      [](const cron::RunNow&) { return true; });
}

bool judge(const board::Command& command) {
  return match(
      command,
      [](const board::SetLocking&) { return false; },
      [](const board::AddSection&) { return true; },
      [](const board::RemoveSection&) { return false; },
      [](const board::Add&) { return true; },
      [](const board::AddNote&) { return true; },
      [](const board::RemoveTask&) { return false; },
      [](const board::Start&) { return true; },
      [](const board::Finish&) { return false; },
      [](const board::PutBack&) { return false; },
      [](const board::LetGo&) { return false; },
      [](const board::Heartbeat&) { return false; },
      [](const board::RunnerHeartbeat&) { return false; },
      [](const board::Next&) { return true; },
      [](const board::ForceRelease&) { return false; },
      [](const board::Cleanup&) { return false; },
      [](const board::ForgetRunner&) { return false; });
}

bool judge(const decision::Command& command) {
  return match(
      command,
      [](const decision::Resolve&) { return false; },
      [](const decision::Ask&) { return true; });
}

bool judge(const mailbox::Command& command) {
  return match(
      command,
      [](const mailbox::Send&) { return true; },
      [](const mailbox::Read&) { return false; },
      [](const mailbox::Ack&) { return false; });
}

bool judge(const definition::Command& command) {
  return match(command, [](const definition::Load&) { return true; });
}

// Whoever finishes something says first where: a project is opened before every request.
bool judge(const project::Command& command) {
  return match(command, [](const project::Open&) { return false; });
}

}  // namespace

bool is_new_work(const Command& command) {
  return match(
      static_cast<const CommandSum&>(command),
      [](const lock::Command& words) { return judge(words); },
      [](const semaphore::Command& words) { return judge(words); },
      [](const queue::Command& words) { return judge(words); },
      [](const task::Command& words) { return judge(words); },
      [](const pipeline::Command& words) { return judge(words); },
      [](const dispatch::Command& words) { return judge(words); },
      [](const worker::Command& words) { return judge(words); },
      [](const cron::Command& words) { return judge(words); },
      [](const board::Command& words) { return judge(words); },
      [](const decision::Command& words) { return judge(words); },
      [](const mailbox::Command& words) { return judge(words); },
      [](const definition::Command& words) { return judge(words); },
      [](const project::Command& words) { return judge(words); },
      [](const EmitCustom&) { return true; },
      [](const CancelRequest&) { return false; });
}

}  // namespace reeve::engine
