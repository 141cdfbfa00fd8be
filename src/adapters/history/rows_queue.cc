#include "adapters/history/rows.h"
#include "base/match.h"

// Queues: the way of every item, and every attempt at it.
namespace reeve::history {

void Rows::end_attempt(Token claim, const char* outcome, std::optional<std::string_view> error) {
  run("UPDATE item_attempts SET ended_ms = ?, outcome = ?, error = ? "
      "WHERE claim = ? AND ended_ms IS NULL",
      at_,
      outcome,
      error,
      claim.value);
}

void Rows::put_back(ItemId item) {
  run("UPDATE queue_items SET state = 'pending', holder = NULL, claim = NULL, last_seq = ? "
      "WHERE id = ?",
      sequence_,
      to_text(item));
}

void Rows::add(const queue::Event& event) {
  match(
      event,
      [&](const queue::WasPushed& it) {
        run("INSERT OR IGNORE INTO queue_items (id, project, queue, state, priority, pushed_ms, "
            "first_seq, last_seq) VALUES (?1, ?2, ?3, 'pending', ?4, ?5, ?6, ?6)",
            to_text(it.item),
            project_,
            it.queue.name,
            it.priority,
            at_,
            sequence_);
      },
      [&](const queue::WasTaken& it) {
        const std::string item = to_text(it.item);
        run("INSERT OR IGNORE INTO item_attempts (claim, item, project, queue, attempt, holder, "
            "taken_ms) VALUES (?, ?, ?, ?, ?, ?, ?)",
            it.claim.value,
            item,
            project_,
            it.queue.name,
            it.attempt,
            it.holder.name,
            at_);
        run("UPDATE queue_items SET state = 'processing', attempts = ?, claim = ?, holder = ?, "
            "taken_ms = coalesce(taken_ms, ?), last_seq = ? WHERE id = ?",
            it.attempt,
            it.claim.value,
            it.holder.name,
            at_,
            sequence_,
            item);
      },
      [&](const queue::WasCompleted& it) {
        end_attempt(it.claim, "completed", std::nullopt);
        run("UPDATE queue_items SET state = 'completed', ended_ms = ?, error = NULL, last_seq = ? "
            "WHERE id = ?",
            at_,
            sequence_,
            to_text(it.item));
      },
      [&](const queue::HasFailed& it) {
        const std::string item = to_text(it.item);
        run("UPDATE item_attempts SET ended_ms = ?, outcome = 'failed', error = ? "
            "WHERE claim = (SELECT claim FROM queue_items WHERE id = ?) AND ended_ms IS NULL",
            at_,
            it.error,
            item);
        put_back(it.item);
        run("UPDATE queue_items SET error = ? WHERE id = ?", it.error, item);
      },
      [&](const queue::TimedOut& it) {
        end_attempt(it.claim, "timed_out", "visibility timeout");
        put_back(it.item);
        run("UPDATE queue_items SET error = 'visibility timeout' WHERE id = ?", to_text(it.item));
      },
      [&](const queue::WasReleased& it) {
        end_attempt(it.claim, it.ended ? "ended" : "released", std::nullopt);
        put_back(it.item);
        run("UPDATE queue_items SET attempts = max(attempts - 1, 0) WHERE id = ?",
            to_text(it.item));
      },
      [&](const queue::HasDied& it) {
        const std::string item = to_text(it.item);
        run("UPDATE item_attempts SET ended_ms = ?, outcome = 'dead', error = ? "
            "WHERE claim = (SELECT claim FROM queue_items WHERE id = ?) AND ended_ms IS NULL",
            at_,
            it.reason,
            item);
        run("UPDATE queue_items SET state = 'dead', ended_ms = ?, error = ?, holder = NULL, "
            "claim = NULL, last_seq = ? WHERE id = ?",
            at_,
            it.reason,
            sequence_,
            item);
        if (!it.moved_to) return;
        run("UPDATE queue_items SET state = 'pending', ended_ms = NULL, attempts = 0, queue = ? "
            "WHERE id = ?",
            it.moved_to->name,
            item);
      },
      [&](const queue::WasRedriven& it) {
        run("UPDATE queue_items SET state = 'pending', ended_ms = NULL, attempts = 0, "
            "queue = coalesce(?, queue), last_seq = ? WHERE id = ?",
            it.home ? std::optional<std::string>(it.home->name) : std::nullopt,
            sequence_,
            to_text(it.item));
      },
      [&](const queue::WasDropped& it) {
        run("UPDATE queue_items SET state = 'dropped', ended_ms = ?, last_seq = ? WHERE id = ?",
            at_,
            sequence_,
            to_text(it.item));
      },
      [](const queue::WasPaused&) {},
      [](const queue::WasResumed&) {},
      [](const queue::WasCreated&) {},
      [](const queue::WasRemoved&) {},
      [](const queue::WasRefused&) {});
}

}  // namespace reeve::history
