#include "engine/new_work.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <variant>

namespace reeve::engine {
namespace {

template <class... Words>
struct List {
  static constexpr std::size_t size = sizeof...(Words);
};

using NewWork = List<lock::Acquire,
                     semaphore::Create,
                     semaphore::Acquire,
                     queue::Create,
                     queue::Push,
                     queue::Redrive,
                     task::Run,
                     task::Restart,
                     pipeline::Start,
                     pipeline::Retry,
                     pipeline::ResumeFrom,
                     dispatch::Send,
                     worker::Start,
                     worker::Wake,
                     cron::Enable,
                     cron::RunNow,
                     board::AddSection,
                     board::Add,
                     board::AddNote,
                     board::Start,
                     board::Next,
                     decision::Ask,
                     mailbox::Send,
                     definition::Load,
                     EmitCustom>;

using GoesOn = List<lock::Release,
                    lock::Heartbeat,
                    lock::Check,
                    lock::ForceRelease,
                    lock::Cleanup,
                    semaphore::Resize,
                    semaphore::Release,
                    semaphore::Heartbeat,
                    semaphore::Remove,
                    queue::Take,
                    queue::TakeOne,
                    queue::Complete,
                    queue::Fail,
                    queue::Extend,
                    queue::Release,
                    queue::Bury,
                    queue::Drop,
                    queue::Hurry,
                    queue::Pause,
                    queue::Resume,
                    queue::Purge,
                    queue::Remove,
                    task::Heartbeat,
                    task::Observed,
                    task::SessionGone,
                    task::Report,
                    task::Nudge,
                    task::SendText,
                    task::Kill,
                    pipeline::Cancel,
                    pipeline::Transition,
                    pipeline::Unblock,
                    pipeline::AddCheckpoint,
                    pipeline::Pause,
                    pipeline::Continue,
                    pipeline::Finish,
                    pipeline::RemoveWorkspace,
                    dispatch::SawStarted,
                    dispatch::SawAlive,
                    dispatch::SawExit,
                    dispatch::SawBoot,
                    dispatch::Clear,
                    worker::Stop,
                    worker::Resize,
                    cron::Disable,
                    board::SetLocking,
                    board::RemoveSection,
                    board::RemoveTask,
                    board::Finish,
                    board::PutBack,
                    board::LetGo,
                    board::Heartbeat,
                    board::RunnerHeartbeat,
                    board::ForceRelease,
                    board::Cleanup,
                    board::ForgetRunner,
                    decision::Resolve,
                    mailbox::Read,
                    mailbox::Ack,
                    project::Open,
                    CancelRequest>;

// How many words there are in all: those of the nouns, and those that stand alone.
template <class Word>
struct Count : std::integral_constant<std::size_t, 1> {};
template <class... Words>
struct Count<std::variant<Words...>> : std::integral_constant<std::size_t, sizeof...(Words)> {};
template <class Sum>
struct Words;
template <class... Nouns>
struct Words<std::variant<Nouns...>>
    : std::integral_constant<std::size_t, (Count<Nouns>::value + ...)> {};

static_assert(NewWork::size + GoesOn::size == Words<CommandSum>::value,
              "a command is missing from the lists above, or stands in both");

template <class... All>
void expect_all(List<All...>, bool expected) {
  (static_cast<void>(
       [&] { EXPECT_EQ(is_new_work(Command(All{})), expected) << __PRETTY_FUNCTION__; }()),
   ...);
}

TEST(NewWork, BeginsSomethingOrStaysInTheState) { expect_all(NewWork{}, true); }

TEST(NewWork, IsNotWhatFinishesKeepsAliveOrMakesRoom) { expect_all(GoesOn{}, false); }

}  // namespace
}  // namespace reeve::engine
