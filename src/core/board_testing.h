#pragma once

#include "core/board.h"
#include "core/testing.h"

// A board with a few runners and sections, for tests.
namespace reeve::board {

using namespace reeve::testing;

inline const RunnerName ana{default_project, "ana"};
inline const RunnerName bo{default_project, "bo"};
inline const RunnerName cy{default_project, "cy"};
inline const RunnerName nobody{default_project, ""};
inline const SectionName backend{default_project, "backend"};
inline const SectionName frontend{default_project, "frontend"};

struct BoardWorld : World {
  reeve::Reply say(Command command, SessionId session = {}) {
    return ask(std::move(command), session);
  }
  BoardTaskId add(std::string title,
                  std::optional<SectionName> section = {},
                  std::int32_t priority = 0) {
    return as<Added>(say(Add{std::move(title), std::move(section), priority, ""})).task;
  }
  reeve::Reply start(TaskRef task, const RunnerName& runner) {
    return say(Start{std::move(task), runner, {}});
  }
  WaiterId wait_to_start(TaskRef task,
                         const RunnerName& runner,
                         std::optional<Duration> at_most = {}) {
    return as<Waiting>(say(Start{std::move(task), runner, Wait{at_most}})).waiter;
  }
  reeve::Reply finish(TaskRef task, const RunnerName& runner, Status status = Status::Completed) {
    return say(Finish{std::move(task), runner, {}, status, ""});
  }
  reeve::Reply heartbeat(TaskRef task, const RunnerName& runner, std::optional<Token> token = {}) {
    return say(Heartbeat{std::move(task), runner, token});
  }
  reeve::Reply next(const RunnerName& runner, NextTask next = {}) {
    return say(Next{runner, std::move(next), {}});
  }
  const BoardTask& task(BoardTaskId id) const { return *state.board.tasks.find(id); }
  const Section& section(const SectionName& name) const { return *state.board.sections.find(name); }

  // What the waiter was told; an empty one if nothing yet.
  reeve::Reply told(WaiterId waiter) const {
    for (const Answer& answer : answers) {
      if (answer.waiter == waiter) return answer.reply;
    }
    return {Ok{}};
  }
};

using Names = std::vector<std::string>;

}  // namespace reeve::board
