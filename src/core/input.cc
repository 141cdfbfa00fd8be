#include "core/input.h"

namespace reeve {

Command::Command() = default;
Command::Command(lock::Command command) : CommandSum(std::move(command)) {}
Command::Command(semaphore::Command command) : CommandSum(std::move(command)) {}
Command::Command(queue::Command command) : CommandSum(std::move(command)) {}
Command::Command(task::Command command) : CommandSum(std::move(command)) {}
Command::Command(pipeline::Command command) : CommandSum(std::move(command)) {}
Command::Command(dispatch::Command command) : CommandSum(std::move(command)) {}
Command::Command(worker::Command command) : CommandSum(std::move(command)) {}
Command::Command(cron::Command command) : CommandSum(std::move(command)) {}
Command::Command(board::Command command) : CommandSum(std::move(command)) {}
Command::Command(decision::Command command) : CommandSum(std::move(command)) {}
Command::Command(mailbox::Command command) : CommandSum(std::move(command)) {}
Command::Command(definition::Command command) : CommandSum(std::move(command)) {}
Command::Command(project::Command command) : CommandSum(std::move(command)) {}
Command::Command(EmitCustom command) : CommandSum(std::move(command)) {}
Command::Command(CancelRequest command) : CommandSum(std::move(command)) {}
Command::Command(const Command&) = default;
Command::Command(Command&&) noexcept = default;
Command& Command::operator=(const Command&) = default;
Command& Command::operator=(Command&&) noexcept = default;
Command::~Command() = default;

bool operator==(const Command& a, const Command& b) {
  return static_cast<const CommandSum&>(a) == static_cast<const CommandSum&>(b);
}

bool is_observation(const Command& command) {
  const CommandSum& sum = command;
  if (const task::Command* of_task = std::get_if<task::Command>(&sum)) {
    return std::holds_alternative<task::Observed>(*of_task) ||
           std::holds_alternative<task::SessionGone>(*of_task);
  }
  if (const dispatch::Command* of_dispatch = std::get_if<dispatch::Command>(&sum)) {
    return !std::holds_alternative<dispatch::Send>(*of_dispatch) &&
           !std::holds_alternative<dispatch::Clear>(*of_dispatch);
  }
  return false;
}

}  // namespace reeve
