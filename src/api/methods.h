#pragma once

#include <span>
#include <string_view>

// Every method of the protocol, one file a noun.
namespace reeve::api {

class Asking;
using Method = void (*)(Asking& ask);

struct Named {
  std::string_view name;
  Method method = nullptr;
};

std::span<const Named> lock_methods();
std::span<const Named> sem_methods();
std::span<const Named> queue_methods();
std::span<const Named> session_methods();
std::span<const Named> event_methods();
std::span<const Named> state_methods();
std::span<const Named> daemon_methods();
std::span<const Named> runbook_methods();
std::span<const Named> pipeline_methods();
std::span<const Named> worker_methods();  // and crons
std::span<const Named> decision_methods();
std::span<const Named> agent_methods();
std::span<const Named> history_methods();
std::span<const Named> task_methods();
std::span<const Named> section_methods();
std::span<const Named> runner_methods();  // and the locks of the board

// Null: there is none of this name.
Method find_method(std::string_view name);
std::string_view nearest_method(std::string_view name);

}  // namespace reeve::api
