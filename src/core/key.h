#pragma once

#include "base/boxed.h"
#include "base/persistent_map.h"
#include "base/time.h"
#include "core/id.h"

#include <compare>
#include <cstdint>
#include <optional>
#include <string>

// A request with a key is applied once: a retry gets the first answer, for 24 h from that and a
// project's last 100,000. Kept are the digest of the request, so that the same key with
// another request is found out, and its reply, a long one without its texts (core/kept_reply). A
// reply that says no is not kept, whatever time changed meanwhile: asking again is as good as
// asking first. A key whose request still waits takes over its place in line, however long that is.
namespace reeve {
class Turn;
struct Command;
struct Reply;
}  // namespace reeve

namespace reeve::key {

struct Name {
  ProjectNo project;
  std::string key;

  auto operator<=>(const Name&) const = default;
};

struct Entry {
  std::uint64_t digest = 0;
  Time since;                      // it was answered, or last found to wait still
  std::uint64_t order = 0;         // its place by age
  std::optional<WaiterId> waiter;  // still waiting
  Boxed<reeve::Reply> reply;
  // It waited for its answer, and has not asked again since: that may have reached nobody.
  bool unheard = false;

  bool operator==(const Entry&) const;
};

struct Age {
  ProjectNo project;
  std::uint64_t order = 0;

  auto operator<=>(const Age&) const = default;
};

struct Table {
  PersistentMap<Name, Entry> entries;
  PersistentMap<Age, Name> by_age;
  PersistentMap<WaiterId, Name> waiting;
  PersistentMap<ProjectNo, std::uint64_t> counts;
  std::uint64_t last_order = 0;

  bool operator==(const Table&) const;
};

// The oldest key of a project is over a day old.
struct Due {
  ProjectNo project;

  auto operator<=>(const Due&) const = default;
};

// The answer that was given before, if this key was: KEY_REUSED, the kept reply, or the place. What
// it gave is moved to the connection that asks now, as is the place.
std::optional<reeve::Reply> recall(Turn& turn, const Name& name, std::uint64_t digest);

// What a request is known by, whatever connection it comes over.
Command unbound(Command command);

// Whether a retry should get this answer: it gave something, or said that something is done.
bool is_kept(const reeve::Reply& reply);

// Keeps a reply, or the waiter that will have one.
void remember(Turn& turn, const Name& name, std::uint64_t digest, const reeve::Reply& reply);

// As if it had never been used.
void forget(Turn& turn, const Name& name);
void forget_waiter(Turn& turn, WaiterId waiter);

// An answer of this key reached nobody. Whether what it gave is to be taken back: not if the
// request was repeated meanwhile, for then another connection has it. The key of what is taken back
// may be used again, unless it is another request's by now; what was done for good stays done.
bool was_undelivered(Turn& turn, const Name& name, const reeve::Reply& reply);

// The waiter has its answer: the key, if it came with one, keeps it, or is forgotten with an answer
// that is not kept.
void answered(Turn& turn, WaiterId waiter, const reeve::Reply& reply);

void due(Turn& turn, const Due& due);

}  // namespace reeve::key
