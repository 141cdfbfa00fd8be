#pragma once

#include "api/tell.h"
#include "core/event.h"
#include "core/queue.h"
#include "core/state.h"

#include <string>
#include <string_view>

// How things of the state are shown: LOCK, SEM, QUEUE and SHOWN of docs/protocol.md. Each writes
// the fields of an object that the caller begins and ends.
namespace reeve::api {

void show_lock(Tell& tell, const State& state, const LockName& name, const lock::Lock& lock);
void show_semaphore(Tell& tell,
                    const State& state,
                    const SemaphoreName& name,
                    const semaphore::Semaphore& semaphore);
void show_queue(Tell& tell, const State& state, queue::QueueNo no, const queue::Queue& queue);

// `in_list`: large data is told by its size alone.
void show_item(Tell& tell, const State& state, ItemId id, const queue::Item& item, bool in_list);

// "data". Bytes that were not pushed as JSON are shown as the JSON that they are, else as a string,
// else as {"base64"}; "bytes" beside it says which: "json", "text", "base64". Who reads JSON does
// not see its spaces, so with `exactly` the bytes stand beside it as "base64".
void show_data(Tell& tell, const Bytes& data, bool json, bool exactly);

// Label, user, host and pid; user and host are those of this machine unless told otherwise.
void show_meta(Tell& tell, const Boxed<HolderMeta>& meta);

void show_event(Tell& tell, const State& state, const Event& event);

// The state of an item as people see it: "delayed" is one of them.
std::string_view state_of(const queue::Item& item);

// The state of a lock at this moment: "free", "held", "stale", "ending".
std::string_view state_of(const LockName& name,
                          const lock::Lock& lock,
                          const State& state,
                          Time now);

}  // namespace reeve::api
