#pragma once

#include "cli/client.h"
#include "cli/context.h"
#include "cli/signals.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

// Waiting in sight of a person: who holds it, since when, the place in line, and a bar that moves.
// On a terminal that is one line on stderr, drawn anew; elsewhere a plain line when the wait begins
// and one when something has changed. Ctrl-C leaves the line.
namespace reeve::cli {

struct WaitFor {
  std::string_view kind;  // "lock", "sem", "queue"
  std::vector<std::string> names;
  std::string holder;
  std::int64_t limit = -1;  // ms; -1: as long as it takes
};

struct Waited {
  Answer answer;
  bool interrupted = false;  // by a signal; the answer is CANCELLED, or came all the same
};

Waited wait_in_sight(Context& context, Client& client, Client::Ticket ticket, const WaitFor& what);

// The sentence for one look at a lock (LOCK of the protocol), a semaphore (SEM) or a queue of
// queue.stats.
std::string describe_wait(std::string_view kind,
                          const Json& thing,
                          const std::string& holder,
                          std::int64_t now,
                          bool with_label);

// `[####......]`: so much of it is over; without an end (negative) a block that wanders with
// `tick`.
std::string bar(double part, std::int64_t tick, std::size_t width);

}  // namespace reeve::cli
