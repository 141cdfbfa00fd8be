#include "core/pipeline_transition.h"

#include "base/match.h"
#include "core/effect.h"
#include "core/pipeline.h"

#include <algorithm>
#include <chrono>
#include <limits>

namespace reeve::pipeline {
namespace {

std::uint32_t one_more(std::uint32_t count) {
  return count == std::numeric_limits<std::uint32_t>::max() ? count : count + 1;
}

// The hands of `transition`: the pipeline being moved, and what is announced about it.
struct Mover {
  Pipeline pipeline;
  Time now;
  Effects effects = {};
  bool moved = false;

  const std::string& name() const {
    static const std::string none;
    return pipeline.origin ? pipeline.origin->name : none;
  }

  void announce(Event event) {
    effects.push_back({Inner{Emit{pipeline.project, std::move(event)}}});
  }

  void become(Status state) {
    pipeline.state = std::move(state);
    moved = true;
  }

  // Every entry has a number of its own.
  void run(std::string phase, std::uint32_t attempt) {
    ++pipeline.entry;
    pipeline.phase_started_at = now;
    pipeline.failure.reset();
    pipeline.questions = 0;
    pipeline.course = Entering{};
    become(Running{std::move(phase), attempt});
  }

  void visit(const std::string& phase) {
    std::uint32_t& visits = pipeline.visits.edit_or_insert(phase);
    visits = one_more(visits);
    pipeline.left.erase(phase);
    pipeline.retries = 0;
    announce(EnteredPhase{pipeline.id, name(), phase});
    run(phase, 1);
  }

  void retry(const std::string& phase, std::uint32_t attempt) {
    announce(WasRetried{pipeline.id, phase, one_more(attempt)});
    run(phase, one_more(attempt));
  }

  void block(Reason reason, const std::string& phase, std::uint32_t attempt) {
    announce(WasBlocked{pipeline.id, phase, reason});
    become(Blocked{reason, phase, attempt, now});
  }

  void cancel() {
    announce(WasCancelled{pipeline.id, name()});
    become(Cancelled{});
  }
};

// ── The rows. What a state does not name, it does not do. ──

void from(Mover& m, const Init&, const Move& move) {
  if (const auto* start = std::get_if<move::Start>(&move)) {
    if (start->unmet) return m.block(Reason::Dependency, start->first, 1);
    m.announce(WasStarted{m.pipeline.id, m.name()});
    return m.visit(start->first);
  }
  if (std::holds_alternative<move::Cancel>(move)) m.cancel();
}

void unblock(Mover& m, const Blocked& at) {
  m.announce(WasUnblocked{m.pipeline.id, at.resume_phase});
  switch (at.reason) {
    case Reason::Dependency:
      m.announce(WasStarted{m.pipeline.id, m.name()});
      return m.visit(at.resume_phase);
    case Reason::Backoff:
      return m.retry(at.resume_phase, at.attempt);
    case Reason::Paused:
      return m.run(at.resume_phase, at.attempt);
    case Reason::Guard:
    case Reason::Lock:
    case Reason::Semaphore:
    case Reason::Decision:
      // In the middle of its course, which goes on.
      return m.become(Running{at.resume_phase, at.attempt});
  }
}

void jump(Mover& m, const Blocked& at, const std::string& to) {
  if (at.reason == Reason::Paused) take_visit_back(m.pipeline);
  m.announce(WasUnblocked{m.pipeline.id, at.resume_phase});
  if (at.reason == Reason::Dependency) m.announce(WasStarted{m.pipeline.id, m.name()});
  m.visit(to);
}

void from(Mover& m, const Blocked& at, const Move& move) {
  match(
      move,
      [](const move::Start&) {},
      [](const move::PhaseComplete&) {},
      [](const move::PhaseFailed&) {},
      [&](const move::Block& block) {
        if (block.reason != at.reason) m.block(block.reason, at.resume_phase, at.attempt);
      },
      [&](const move::Unblock&) { unblock(m, at); },
      [&](const move::Retry&) {
        if (at.reason != Reason::Decision && at.reason != Reason::Backoff) return;
        m.pipeline.retries = 0;
        m.announce(WasUnblocked{m.pipeline.id, at.resume_phase});
        m.retry(at.resume_phase, at.attempt);
      },
      [&](const move::Jump& to) { jump(m, at, to.phase); },
      [&](const move::Cancel&) { m.cancel(); });
}

void from(Mover& m, const Running& at, const Move& move) {
  match(
      move,
      [](const move::Start&) {},
      [&](const move::PhaseComplete& complete) {
        if (complete.phase != at.phase || complete.attempt != at.attempt) return;
        if (!complete.next.empty()) return m.visit(complete.next);
        m.announce(WasCompleted{m.pipeline.id, m.name()});
        m.become(Done{});
      },
      [&](const move::PhaseFailed& failed) {
        if (failed.phase != at.phase || failed.attempt != at.attempt) return;
        m.announce(HasFailed{m.pipeline.id, m.name(), failed.as.phase, failed.as.error});
        m.become(failed.as);
      },
      [&](const move::Block& block) { m.block(block.reason, at.phase, at.attempt); },
      [](const move::Unblock&) {},
      [](const move::Retry&) {},
      [&](const move::Jump& jump) { m.visit(jump.phase); },
      [&](const move::Cancel&) { m.cancel(); });
}

void from(Mover& m, const Failed& at, const Move& move) {
  if (const auto* retry = std::get_if<move::Retry>(&move)) {
    if (!at.recoverable && !retry->force) return;
    m.pipeline.retries = 0;
    return m.retry(at.phase, at.attempt);
  }
  if (const auto* jump = std::get_if<move::Jump>(&move)) m.visit(jump->phase);
}

}  // namespace

Step<Pipeline, bool> transition(Pipeline pipeline, const Move& move, Time now) {
  // The rows look at the state as it was while they replace it.
  const Status state = pipeline.state;
  Mover m{std::move(pipeline), now};
  match(
      state,
      [&](const Init& at) { from(m, at, move); },
      [&](const Blocked& at) { from(m, at, move); },
      [&](const Running& at) { from(m, at, move); },
      [](const Done&) {},
      [&](const Failed& at) { from(m, at, move); },
      [](const Cancelled&) {});
  return {std::move(m.pipeline), m.moved, std::move(m.effects)};
}

void take_visit_back(Pipeline& pipeline) {
  if (attempt_of(pipeline) != 1) return;
  const std::string phase = phase_of(pipeline);
  std::uint32_t* visits = pipeline.visits.edit(phase);
  if (visits && --*visits == 0) pipeline.visits.erase(phase);
}

bool is_over(const Pipeline& pipeline) {
  return std::holds_alternative<Done>(pipeline.state) ||
         std::holds_alternative<Failed>(pipeline.state) ||
         std::holds_alternative<Cancelled>(pipeline.state);
}

std::string phase_of(const Pipeline& pipeline) {
  return match(
      pipeline.state,
      [](const Init&) { return std::string(); },
      [](const Blocked& at) { return at.resume_phase; },
      [](const Running& at) { return at.phase; },
      [](const Done&) { return std::string(); },
      [](const Failed& at) { return at.phase; },
      [](const Cancelled&) { return std::string(); });
}

std::uint32_t attempt_of(const Pipeline& pipeline) {
  return match(
      pipeline.state,
      [](const Init&) { return std::uint32_t{0}; },
      [](const Blocked& at) { return at.attempt; },
      [](const Running& at) { return at.attempt; },
      [](const Done&) { return std::uint32_t{0}; },
      [](const Failed& at) { return at.attempt; },
      [](const Cancelled&) { return std::uint32_t{0}; });
}

// ── What comes after a failure ──

const definition::Phase* phase_named(const definition::Pipeline& definition,
                                     const std::string& name) {
  for (const definition::Phase& phase : definition.phases) {
    if (phase.name == name) return &phase;
  }
  return nullptr;
}

const definition::Phase* phase_after(const definition::Pipeline& definition,
                                     const definition::Phase& phase) {
  if (!phase.next.empty()) return phase_named(definition, phase.next);
  if (phase.ends) return nullptr;
  const std::size_t index = static_cast<std::size_t>(&phase - definition.phases.data());
  return index + 1 < definition.phases.size() ? &definition.phases[index + 1] : nullptr;
}

namespace {

// An `on_fail` target without its own `next` is cleanup, with one it is recovery.
Then go_to(const definition::Pipeline& definition, const std::string& name, bool recoverable) {
  const definition::Phase* target = phase_named(definition, name);
  if (!target) return GiveUp{recoverable};
  if (target->ends || !target->next.empty()) return Recover{name};
  return CleanUp{name, recoverable};
}

// Where neither a second try nor a recovery is wanted, what cleans up still may.
Then only_clean_up(const definition::Pipeline& definition,
                   const definition::OnFail& on_fail,
                   bool recoverable) {
  const definition::GoTo* target = std::get_if<definition::GoTo>(&on_fail);
  const Then then = target ? go_to(definition, target->phase, recoverable) : GiveUp{recoverable};
  return std::holds_alternative<Recover>(then) ? Then{GiveUp{recoverable}} : then;
}

// Such a try costs nothing, so there is no end to them; and it may be the step itself that ends
// whatever has the custody of it. After the second they come at 1, 2, 4 ... 64 s.
Duration pause_after_unknown(std::uint32_t attempt) {
  using namespace std::chrono_literals;
  if (attempt < 2) return 0s;
  return Duration{1s} * (1 << std::min<std::uint32_t>(attempt - 2, 6));
}

}  // namespace

Then after_failure(const Pipeline& pipeline,
                   const definition::Pipeline& definition,
                   const definition::Phase& phase,
                   const definition::Strategy* strategy,
                   const Failure& failure) {
  using definition::AskSomebody;
  using definition::Fail;
  using definition::GoTo;

  definition::OnFail on_fail = phase.on_fail.value_or(definition.on_fail);
  const bool may_retry = pipeline.retries < phase.retry.max;
  const bool cleaning = pipeline.verdict.has_value();

  switch (failure.cause) {
    case Cause::Fatal:
    case Cause::Told:
      // No second question either.
      return cleaning ? Then{GiveUp{false}} : only_clean_up(definition, on_fail, false);
    case Cause::Circuit:
      // Going elsewhere and on from there is what opened it.
      if (cleaning) return GiveUp{};
      if (std::holds_alternative<AskSomebody>(on_fail)) return AskFirst{};
      return only_clean_up(definition, on_fail, true);
    case Cause::Unknown:
      if (phase.on_unknown == definition::OnUnknown::Retry) {
        const Duration pause = pause_after_unknown(attempt_of(pipeline));
        return TryAgain{std::max(phase.retry.delay, pause), false};
      }
      if (cleaning) return GiveUp{};
      if (phase.on_unknown == definition::OnUnknown::Ask) return AskFirst{};
      break;  // Fail: to do it again is what the runbook does not want
    case Cause::Exhausted:
      if (may_retry) return TryAgain{phase.retry.delay};
      if (strategy && !std::holds_alternative<Fail>(strategy->on_exhaust)) {
        on_fail = strategy->on_exhaust;
      } else if (strategy && !phase.on_fail && std::holds_alternative<AskSomebody>(on_fail)) {
        on_fail = Fail{};  // nobody need be asked; what the pipeline does by itself it does
      }
      break;
    case Cause::Ordinary:
    case Cause::Guard:
      if (may_retry) return TryAgain{phase.retry.delay};
      break;
  }
  if (cleaning) return GiveUp{};
  return match(
      on_fail,
      [](const AskSomebody&) -> Then { return AskFirst{}; },
      [](const Fail&) -> Then { return GiveUp{}; },
      [&](const GoTo& target) -> Then { return go_to(definition, target.phase, true); });
}

}  // namespace reeve::pipeline
