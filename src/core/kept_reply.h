#pragma once

#include "core/reply.h"

namespace reeve {
struct State;
}

// What a key keeps of a reply (core/key), a hundred thousand times a project. Over 4 KiB that is
// the ids, what a retry needs to go on: at most a batch of items with their claims, or the 64 names
// that one request may be given. Of texts, and of lists that nobody needs to go on, the beginning.
namespace reeve::key {

reeve::Reply shortened(reeve::Reply reply);

// The kept reply as the retry gets it, with what the state knows of the ids in it: a repeated take
// hands out the data of what is still its own. Of an item that is gone not even the queue is known.
reeve::Reply told_again(const State& state, reeve::Reply reply);

}  // namespace reeve::key
