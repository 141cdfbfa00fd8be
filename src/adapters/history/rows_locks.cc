#include "adapters/history/rows.h"
#include "base/match.h"

// Locks and semaphores: who held what, and who waited for it.
namespace reeve::history {
namespace {

const char* outcome_of(Left left) {
  switch (left) {
    case Left::TimedOut:
      return "timed_out";
    case Left::Cancelled:
      return "cancelled";
    case Left::SessionEnded:
      return "session_ended";
    case Left::Unfit:
      return "refused";
  }
  return "";
}

}  // namespace

// Whoever waited for it does so no longer: that is said by nothing else. A slot that becomes larger
// keeps its token.
void Rows::begin_hold(const char* kind,
                      const std::string& name,
                      const std::string& holder,
                      std::uint32_t weight,
                      Token token) {
  run("INSERT INTO lock_holds (token, kind, project, name, holder, weight, acquired_ms) "
      "VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT (token) DO UPDATE SET weight = excluded.weight",
      token.value,
      kind,
      project_,
      name,
      holder,
      weight,
      at_);
  run("UPDATE lock_waits SET outcome = 'granted', kind = ?, ended_ms = ? "
      "WHERE holder = ? AND name = ? AND project = ? AND ended_ms IS NULL "
      "AND coalesce(kind, '') NOT IN ('section', 'task')",
      kind,
      at_,
      holder,
      name,
      project_);
}

void Rows::end_wait(WaiterId waiter, std::optional<Left> left) {
  run("UPDATE lock_waits SET outcome = ?, ended_ms = ? WHERE waiter = ? AND ended_ms IS NULL",
      left ? outcome_of(*left) : "granted",
      at_,
      waiter.value);
}

void Rows::add(const lock::Event& event) {
  const auto release = [&](Token token, const char* how) {
    // One that was forced stays so, and is released when its process was seen to be gone.
    run("UPDATE lock_holds SET released_ms = ?, how = coalesce(how, ?) WHERE token = ?",
        at_,
        how,
        token.value);
  };
  match(
      event,
      [&](const lock::WasAcquired& it) {
        begin_hold("lock", it.name.name, it.holder.name, 1, it.token);
      },
      [&](const lock::WasReclaimed& it) {
        run("UPDATE lock_holds SET released_ms = ?, how = coalesce(how, 'reclaimed') "
            "WHERE name = ? AND holder = ? AND project = ? AND kind = 'lock' "
            "AND released_ms IS NULL",
            at_,
            it.name.name,
            it.previous.name,
            project_);
        begin_hold("lock", it.name.name, it.holder.name, 1, it.token);
      },
      [&](const lock::WasReleased& it) { release(it.token, it.ended ? "ended" : "released"); },
      [&](const lock::WentStale& it) {
        run("UPDATE lock_holds SET stale_ms = ? WHERE token = ?", at_, it.token.value);
      },
      [](const lock::IsEnding&) {},
      [&](const lock::WasForced& it) {
        run("UPDATE lock_holds SET released_ms = ?, how = 'forced', forced_by = ?, reason = ? "
            "WHERE token = ?",
            at_,
            it.by,
            it.reason,
            it.token.value);
      });
}

void Rows::add(const semaphore::Event& event) {
  match(
      event,
      [](const semaphore::WasCreated&) {},
      [](const semaphore::WasResized&) {},
      [&](const semaphore::WasAcquired& it) {
        begin_hold("semaphore", it.name.name, it.holder.name, it.weight, it.token);
      },
      [&](const semaphore::WasReleased& it) {
        // A part of a slot may be given back; one that was stale is gone with its process.
        run("UPDATE lock_holds SET weight = weight - ?1 WHERE name = ?2 AND holder = ?3 AND "
            "project = ?4 AND kind = 'semaphore' AND released_ms IS NULL AND weight > ?1",
            it.weight,
            it.name.name,
            it.holder.name,
            project_);
        if (database_.changes() > 0) return;
        run("UPDATE lock_holds SET released_ms = ?, how = ? WHERE name = ? AND holder = ? AND "
            "project = ? AND kind = 'semaphore' AND released_ms IS NULL",
            at_,
            it.ended ? "ended" : "released",
            it.name.name,
            it.holder.name,
            project_);
        if (database_.changes() > 0 || !it.ended) return;
        run("UPDATE lock_holds SET released_ms = ? WHERE token = (SELECT max(token) FROM "
            "lock_holds WHERE name = ? AND holder = ? AND project = ? AND kind = 'semaphore' AND "
            "how = 'stale')",
            at_,
            it.name.name,
            it.holder.name,
            project_);
      },
      [&](const semaphore::WentStale& it) {
        run("UPDATE lock_holds SET stale_ms = ?1, released_ms = ?1, how = 'stale' "
            "WHERE name = ?2 AND holder = ?3 AND project = ?4 AND kind = 'semaphore' AND "
            "released_ms IS NULL",
            at_,
            it.name.name,
            it.holder.name,
            project_);
      },
      [](const semaphore::WasRemoved&) {});
}

void Rows::add(const grant::Event& event) {
  match(
      event,
      [&](const grant::BeganWaiting& it) {
        for (const std::string& name : it.names) {
          // Of what kind it is says whoever has it.
          run("INSERT OR IGNORE INTO lock_waits (waiter, kind, project, name, holder, began_ms) "
              "VALUES (?1, (SELECT kind FROM lock_holds WHERE name = ?3 AND released_ms IS NULL "
              "LIMIT 1), ?2, ?3, ?4, ?5)",
              it.waiter.value,
              project_,
              name,
              it.holder.name,
              at_);
        }
      },
      [&](const grant::StoppedWaiting& it) { end_wait(it.waiter, it.left); });
}

}  // namespace reeve::history
