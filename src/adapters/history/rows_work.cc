#include "adapters/history/rows.h"
#include "base/match.h"

// Pipelines with the time each phase took, and the decisions that people made.
namespace reeve::history {
namespace {

const char* word_for(pipeline::Reason reason) {
  switch (reason) {
    case pipeline::Reason::Dependency:
      return "dependency";
    case pipeline::Reason::Guard:
      return "guard";
    case pipeline::Reason::Lock:
      return "lock";
    case pipeline::Reason::Semaphore:
      return "semaphore";
    case pipeline::Reason::Decision:
      return "decision";
    case pipeline::Reason::Paused:
      return "paused";
    case pipeline::Reason::Backoff:
      return "backoff";
  }
  return "";
}

const char* word_for(decision::Cause cause) {
  switch (cause) {
    case decision::Cause::PhaseFailed:
      return "phase_failed";
    case decision::Cause::GuardFailed:
      return "guard_failed";
    case decision::Cause::AgentStuck:
      return "agent_stuck";
    case decision::Cause::AgentPermission:
      return "agent_permission";
    case decision::Cause::ItemExhausted:
      return "item_exhausted";
    case decision::Cause::ProcessUnobserved:
      return "process_unobserved";
    case decision::Cause::LockStale:
      return "lock_stale";
    case decision::Cause::Asked:
      return "asked";
    case decision::Cause::AgentGone:
      return "agent_gone";
  }
  return "";
}

}  // namespace

// The one before is over, if nothing has said how it ended.
void Rows::begin_phase(PipelineId pipeline, const std::string& phase, std::uint32_t attempt) {
  end_phase(pipeline, "done", std::nullopt);
  const std::string id = to_text(pipeline);
  run("INSERT INTO phases (pipeline, number, phase, attempt, entered_ms) "
      "SELECT ?1, coalesce(max(number), 0) + 1, ?2, ?3, ?4 FROM phases WHERE pipeline = ?1",
      id,
      phase,
      attempt,
      at_);
  run("UPDATE pipelines SET state = 'running', phase = ?, error = NULL, ended_ms = NULL "
      "WHERE id = ?",
      phase,
      id);
}

void Rows::end_phase(PipelineId pipeline,
                     const char* outcome,
                     std::optional<std::string_view> error) {
  run("UPDATE phases SET ended_ms = ?1, outcome = ?2, error = ?3, "
      "blocked_ms = blocked_ms + ?1 - coalesce(blocked_since_ms, ?1), blocked_since_ms = NULL "
      "WHERE pipeline = ?4 AND ended_ms IS NULL",
      at_,
      outcome,
      error,
      to_text(pipeline));
}

void Rows::end_pipeline(PipelineId pipeline,
                        const char* state,
                        std::optional<std::string_view> error) {
  end_phase(pipeline, state, error);
  run("UPDATE pipelines SET state = ?, ended_ms = ?, error = ? WHERE id = ?",
      state,
      at_,
      error,
      to_text(pipeline));
}

void Rows::add(const pipeline::Event& event) {
  match(
      event,
      [&](const pipeline::WasStarted& it) {
        run("INSERT INTO pipelines (id, project, name, state, started_ms) "
            "VALUES (?, ?, ?, 'running', ?) ON CONFLICT (id) DO UPDATE SET "
            "name = excluded.name, state = 'running', started_ms = excluded.started_ms",
            to_text(it.pipeline),
            project_,
            it.name,
            at_);
      },
      [&](const pipeline::EnteredPhase& it) { begin_phase(it.pipeline, it.phase, 1); },
      [&](const pipeline::FailedPhase& it) { end_phase(it.pipeline, "failed", it.error); },
      [&](const pipeline::WasBlocked& it) {
        const std::string id = to_text(it.pipeline);
        const char* const reason = word_for(it.reason);
        // Whoever waits for a dependency was not started yet, and nobody has said its name.
        run("INSERT INTO pipelines (id, project, name, state, phase) "
            "VALUES (?, ?, '', 'blocked', ?) ON CONFLICT (id) DO UPDATE SET state = 'blocked'",
            id,
            project_,
            it.phase);
        run("UPDATE phases SET blocked_on = ?, blocked_since_ms = ? "
            "WHERE pipeline = ? AND ended_ms IS NULL",
            reason,
            at_,
            id);
      },
      [&](const pipeline::WasUnblocked& it) {
        const std::string id = to_text(it.pipeline);
        run("UPDATE pipelines SET state = 'running' WHERE id = ?", id);
        run("UPDATE phases SET blocked_ms = blocked_ms + ?1 - coalesce(blocked_since_ms, ?1), "
            "blocked_since_ms = NULL WHERE pipeline = ?2 AND ended_ms IS NULL",
            at_,
            id);
      },
      [&](const pipeline::WasRetried& it) { begin_phase(it.pipeline, it.phase, it.attempt); },
      [&](const pipeline::WasCompleted& it) { end_pipeline(it.pipeline, "done", std::nullopt); },
      [&](const pipeline::HasFailed& it) { end_pipeline(it.pipeline, "failed", it.error); },
      [&](const pipeline::WasCancelled& it) {
        end_pipeline(it.pipeline, "cancelled", std::nullopt);
      },
      [](const pipeline::MadeCheckpoint&) {},
      [](const guard::Event&) {},
      [](const strategy::Event&) {},
      [](const pipeline::WorkspaceRemoved&) {},
      [](const pipeline::WorkspaceKept&) {});
}

void Rows::add(const decision::Event& event) {
  match(
      event,
      [&](const decision::WasOpened& it) {
        run("INSERT OR IGNORE INTO decisions (id, project, cause, question, state, opened_ms) "
            "VALUES (?, ?, ?, ?, 'open', ?)",
            to_text(it.decision),
            project_,
            word_for(it.cause),
            it.question,
            at_);
      },
      [&](const decision::WasAnswered& it) {
        run("UPDATE decisions SET state = 'answered', choice = ?, answer = ?, answered_by = ?, "
            "closed_ms = ? WHERE id = ?",
            decision::text_of(it.choice),
            it.text,
            it.by,
            at_,
            to_text(it.decision));
      },
      [&](const decision::WasRetired& it) {
        run("UPDATE decisions SET state = 'retired', closed_ms = ? WHERE id = ?",
            at_,
            to_text(it.decision));
      });
}

}  // namespace reeve::history
