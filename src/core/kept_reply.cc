#include "core/kept_reply.h"

#include "base/match.h"
#include "base/text_part.h"
#include "core/limits.h"
#include "core/state.h"

#include <algorithm>

namespace reeve::key {
namespace {

// So many names are kept; of longer lists the beginning, or none.
constexpr std::size_t most_names = limits::kept_reply_bytes / limits::name_bytes;

// Takes what there is room for, and leaves that much less.
void cut_to_room(std::size_t& room, std::string& text) {
  text.resize(first_bytes(text, room).size());
  room -= text.size();
}

// The queue of each can be asked of the item, and so can its data: see `told_again`.
void shorten(queue::Taken& taken) {
  std::size_t bytes = 0;
  for (const queue::TakenItem& item : taken.items) bytes += item.data.size();
  for (queue::TakenItem& item : taken.items) {
    if (bytes > limits::kept_reply_bytes) item.data = Bytes();
    if (taken.items.size() > most_names) item.queue.name.clear();
  }
}

// Whose it is now can be asked for.
void shorten(queue::Settled& settled) {
  if (settled.items.size() <= most_names) return;
  for (auto& item : settled.items) {
    if (auto* stale = std::get_if<queue::StaleClaim>(&item)) stale->current.reset();
  }
}

// The names are what a retry finds its leases by. Whom they were taken from is news once.
void shorten(grant::Granted& granted) {
  if (granted.given.size() <= most_names / 2) return;
  for (grant::Given& given : granted.given) given.previous.reset();
}

void shorten(decision::Resolved& resolved) {
  std::size_t room = limits::kept_reply_bytes;
  decision::Answer& answer = resolved.answer;
  answer.by.resize(first_bytes(answer.by, limits::name_bytes).size());
  cut_to_room(room, answer.by);
  cut_to_room(room, answer.text);
  cut_to_room(room, answer.note);
}

// Of a list that nobody needs to go on, its beginning.
template <class Names>
void cut_names(Names& names) {
  if (names.size() > most_names) names.resize(most_names);
}

// ── One opinion a word: what is not shortened here has no more in it than ids, numbers and one or
//    two names, or is not kept at all ──

void shorten(grant::Reply& reply) {
  match(
      reply,
      [](grant::Granted& granted) { shorten(granted); },
      [](grant::Busy&) {},
      [](grant::Full&) {},
      [](grant::WouldDeadlock&) {},
      [](grant::NotGranted&) {});
}

void shorten(lock::Reply& reply) {
  match(
      reply,
      [](lock::Released&) {},
      [](lock::NotOwner&) {},
      [](lock::AlreadyFree&) {},
      [](lock::Alive&) {},
      [](lock::Lost&) {},
      [](lock::Valid&) {},
      [](lock::Superseded&) {},
      [](lock::Cleaned& cleaned) { cut_names(cleaned.names); });
}

void shorten(semaphore::Reply& reply) {
  match(
      reply,
      [](semaphore::Released&) {},
      [](semaphore::NotHolder&) {},
      [](semaphore::Alive&) {},
      [](semaphore::Lost&) {});
}

void shorten(queue::Reply& reply) {
  match(
      reply,
      [](queue::Pushed&) {},
      [](queue::Taken& taken) { shorten(taken); },
      [](queue::Settled& settled) { shorten(settled); },
      [](queue::StaleClaim&) {},
      [](queue::Extended&) {},
      [](queue::Counted&) {});
}

void shorten(task::Reply& reply) {
  match(
      reply,
      [](task::Begun&) {},
      [](task::Beat&) {},
      [](task::Superseded&) {},
      [](task::AlreadyDone&) {});
}

void shorten(pipeline::Reply& reply) {
  match(reply, [](pipeline::Started&) {});
}

void shorten(dispatch::Reply& reply) {
  match(
      reply,
      [](dispatch::Planned&) {},
      [](dispatch::Again&) {},
      [](dispatch::Busy&) {},
      [](dispatch::LookAgain&) {});
}

void shorten(worker::Reply& reply) {
  match(reply, [](worker::Working&) {});
}

void shorten(cron::Reply& reply) {
  match(
      reply,
      [](cron::Enabled&) {},
      [](cron::Fired&) {},
      [](cron::Buffered&) {},
      [](cron::Skipped&) {});
}

void shorten(board::Reply& reply) {
  match(
      reply,
      [](board::Added&) {},
      [](board::Started&) {},
      [](board::TaskLocked&) {},
      [](board::SectionLocked&) {},
      [](board::TaskFinished&) {},
      [](board::Lost&) {},
      [](board::Extended&) {},
      [](board::Alive&) {},
      [](board::Found&) {},
      [](board::Nothing&) {},
      [](board::CleanedUp& cleaned) { cut_names(cleaned.locks); },
      [](board::WaitEnded&) {});
}

void shorten(decision::Reply& reply) {
  match(
      reply,
      [](decision::Resolved& resolved) { shorten(resolved); },
      [](decision::AlreadyAnswered&) {},
      [](decision::NotAnswered&) {});
}

void shorten(mailbox::Reply& reply) {
  match(reply, [](mailbox::Sent&) {}, [](mailbox::Mail&) {}, [](mailbox::Acked&) {});
}

void shorten(project::Reply& reply) {
  match(reply, [](project::Opened&) {});
}

// ── Told again ──

void fill_in(const State& state, queue::TakenItem& taken) {
  const queue::Item* item = state.queues.items.find(taken.id);
  if (!item) return;
  if (taken.queue.name.empty()) taken.queue = state.queues.queues.find(item->queue)->name;
  const bool is_its_own =
      item->state == queue::ItemState::Processing && item->rest->claim->token == taken.claim;
  if (is_its_own) taken.data = item->data;
}

}  // namespace

reeve::Reply shortened(reeve::Reply reply) {
  match(
      reply.value,
      [](Ok&) {},
      [](Refused&) {},
      [](Waiting&) {},
      [](grant::Reply& of_grant) { shorten(of_grant); },
      [](lock::Reply& of_lock) { shorten(of_lock); },
      [](semaphore::Reply& of_semaphore) { shorten(of_semaphore); },
      [](queue::Reply& of_queue) { shorten(of_queue); },
      [](task::Reply& of_task) { shorten(of_task); },
      [](pipeline::Reply& of_pipeline) { shorten(of_pipeline); },
      [](dispatch::Reply& of_dispatch) { shorten(of_dispatch); },
      [](worker::Reply& of_worker) { shorten(of_worker); },
      [](cron::Reply& of_cron) { shorten(of_cron); },
      [](board::Reply& of_board) { shorten(of_board); },
      [](decision::Reply& of_decision) { shorten(of_decision); },
      [](mailbox::Reply& of_mailbox) { shorten(of_mailbox); },
      [](project::Reply& of_project) { shorten(of_project); });
  return reply;
}

reeve::Reply told_again(const State& state, reeve::Reply reply) {
  queue::Reply* of_queue = std::get_if<queue::Reply>(&reply.value);
  queue::Taken* taken = of_queue ? std::get_if<queue::Taken>(of_queue) : nullptr;
  if (!taken) return reply;
  for (queue::TakenItem& item : taken->items) fill_in(state, item);
  return reply;
}

}  // namespace reeve::key
