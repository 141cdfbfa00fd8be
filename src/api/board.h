#pragma once

#include "api/rpc.h"
#include "api/tell.h"
#include "core/board.h"
#include "core/state.h"

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

// What the methods about the board have in common: task.*, section.*, runner.*, locks.*. The words
// of a lock that somebody else has are those of the seed: TASK_LOCKED and SECTION_LOCKED with
// {"taskId" or "sectionId", "lockedBy", "expiresAt"}. A runner of another project, who can only be
// met in a section that all share or by the id of a task, is told with its project.
namespace reeve::api {

std::string_view text_of(board::Status status);
std::optional<board::Status> status_named(std::string_view text);

// ── Which task is meant ──

// By its id, by its title, or by the beginning of its id; an exact title comes before a beginning.
// Titles are those of the project, then those of tasks that others added to shared sections.
struct MeantTask {
  board::TaskRef ref;             // for the core, which has the last word
  std::optional<BoardTaskId> id;  // none: there is none, or more than one
  bool ambiguous = false;         // more than one may be meant, and the core cannot tell that
  bool same_title = false;        // more than one has this title; else its beginning is theirs
};
MeantTask task_meant(const State& state, ProjectNo project, std::string_view text);

// Of a request that changes something, after all its other fields were read. It is remembered:
// name as it was written, second its id. None: that was told, and the request is over.
std::optional<board::TaskRef> task_asked(Asking& ask, std::string_view text);

// Of a question. None: that was told.
std::optional<BoardTaskId> task_or_tell(Tell& tell, const State& state, std::string_view text);

// `runner`, as those say who work.
board::RunnerName need_runner(Asking& ask, std::string_view field = "runner");

// `wait_ms`. -1: as long as one waits on this board, its wait_timeout.
std::optional<board::Wait> wait_on_board(Asking& ask);

// ── Showing (board_show.cc): the fields of an object that the caller begins and ends ──

// Whether somebody of this project sees it: its own, and what is in a section that all share.
bool is_seen(const board::BoardTask& task, ProjectNo project);

// None: of this project, or of no project in particular.
std::optional<std::string> other_project(const Tell& tell, const State& state, ProjectNo project);
// Its name; `project_field` is there if it is a runner of another project.
void show_runner_name(Tell& tell,
                      const State& state,
                      const board::RunnerName& name,
                      std::string_view field,
                      std::string_view project_field);
// For sentences: `ana`, or `ana of shop`.
std::string runner_in_words(const Tell& tell, const State& state, const board::RunnerName& name);

void show_board_task(
    Tell& tell, const State& state, BoardTaskId id, const board::BoardTask& task, bool in_list);
void show_section(Tell& tell,
                  const State& state,
                  const SectionName& name,
                  const board::Section& section,
                  bool in_list);
void show_runner(Tell& tell,
                 const State& state,
                 const board::RunnerName& name,
                 const board::Runner& runner,
                 bool in_list);

// The lock of a task or a section, one that nobody has too.
using LockedThing = std::variant<BoardTaskId, SectionName>;
void show_board_lock(Tell& tell, const State& state, const LockedThing& what);

// "line": the first of those who wait there; and how many do.
void show_board_line(Tell& tell, const State& state, const board::Line& line);

// Until when it is good; whether that is over.
std::optional<Time> limit_of(const State& state, const LockedThing& what);
bool is_over(const State& state, const LockedThing& what, Time now);
const board::Tenure* tenure_of(const State& state, const LockedThing& what);

// ── Telling (board_tell.cc) ──

// All that the board answers. Of a request that looks.
void tell_board(Tell& tell, const Reply& reply);

// More than one task is called so.
void tell_same_title(Tell& tell, std::string_view title);

// What the board has altogether, for status.get.
void show_board(Tell& tell, const State& state);

}  // namespace reeve::api
