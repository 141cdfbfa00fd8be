#pragma once

#include "core/id.h"
#include "core/queue.h"
#include "core/state.h"

// Questions about queues: queue.list, queue.show, queue.peek, queue.stats.
namespace reeve::api {

class Asking;
class Tell;

void list_items(Asking& ask);
void show_one_item(Asking& ask);
void peek_item(Asking& ask);
void queue_stats(Asking& ask);

// Fields of the queue that the request names, if it is there.
void show_one_queue(Tell& tell, const State& state);

// The item that would be taken next; none if there is none.
ItemId first_ready(const State& state, queue::QueueNo no);

}  // namespace reeve::api
