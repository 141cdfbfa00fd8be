#pragma once

#include "base/time.h"
#include "core/answer.h"
#include "core/board_value.h"
#include "core/board_words.h"
#include "core/id.h"

#include <optional>

// A board of tasks that many runners (people, scripts, agents) share without stepping on each
// other. A task may belong to a section. Whoever starts a task takes the lock of its section and
// the lock of the task in one step; in a section works one runner at a time.
//
//               start                    completed, review, failed, skipped
//     pending ─────────▶ in_progress ──────────────────────────────────────▶ finished
//        ▲                │  │  ▲                                               │
//        └────────────────┘  └──┘ claimed: the lock was over, by anybody, once   │
//        │ let go, forced, cleaned up                                           │
//        └──────────────────────────────────────────────────────────────────────┘
//                                        reopened
//
// In progress means locked. A lock is a lease (core/lease.h) that its runner's heartbeats extend;
// one that is over has been lost: its runner is told so, and the first who asks gets it with a new
// token. A section stays with its runner until no open task (pending or in progress) of it is
// left, or the runner lets go of it, or its lease is over; and that is not while a task in it is
// held, so no second runner can come in.
//
// Who has to wait stands in a line, of the section or of the task without one: first come, first
// served. A waiter whose task was finished by another is told so.
//
// What is kept of it: core/board_value.h. What can be asked, and is told: core/board_words.h.
namespace reeve {
class Turn;
struct EventName;
struct Reply;
}  // namespace reeve

namespace reeve::board {

// The first thing that time does on this project's board.
struct Due {
  ProjectNo project;

  auto operator<=>(const Due&) const = default;
};

reeve::Reply apply(Turn& turn, const Command& command);
void due(Turn& turn, const Due& due);

// A runner that waits gives up; or is there again, and its line goes on.
void leave(Turn& turn, WaiterId waiter, Left left);
void came_back(Turn& turn, WaiterId waiter);

// The answer found nobody: what was new in it, task and section, goes to the next.
void take_back(Turn& turn, const Started& started);

EventName name_of(const Event& event);

// Until when a section is its runner's: as long as its lease is good, or a task in it is held.
// None if nobody has it.
std::optional<Time> section_limit(const Table& table, const SectionName& name, Time leases_from);

}  // namespace reeve::board
