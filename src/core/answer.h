#pragma once

#include "core/id.h"

#include <cstdint>
#include <string>
#include <variant>

namespace reeve {

// Why a request was turned away without changing anything. The words a person reads are
// made in `api`: a code and the thing it is about are all the core says.
enum class Why {
  NotFound,      // `subject` does not exist
  BadName,       // empty, too long, begins with `-`, contains `..`, a control character or NUL
  BadValue,      // `subject` names the field
  OverLimit,     // `subject` names the limit
  Full,          // the state is full: finish something first
  KeyReused,     // the same key came with another request
  NotAllowed,    // in this state of the thing; `subject` says which
  Exists,        // it is there already
  Loop,          // a chain would loop: dead letters, dependencies
  Ambiguous,     // more than one thing answers to this name
};

struct Refused {
  Why why;
  std::string subject;

  bool operator==(const Refused&) const = default;
};

// Done, and there is nothing more to say.
struct Ok {
  bool operator==(const Ok&) const = default;
};

// The answer comes later, under this number.
struct Waiting {
  WaiterId waiter;

  bool operator==(const Waiting&) const = default;
};

// Why a wait ended without what it was for. Unfit: it can no longer be had at all.
enum class Left : std::uint8_t { TimedOut, Cancelled, SessionEnded, Unfit };

}  // namespace reeve
