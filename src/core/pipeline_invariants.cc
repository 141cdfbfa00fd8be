#include "base/match.h"
#include "core/invariants.h"
#include "core/limits.h"

#include <algorithm>
#include <string>

namespace reeve::pipeline {
namespace {

// Says what is wrong with one pipeline.
struct Judge {
  const State& state;
  const Pipeline& pipeline;
  Violations& violations;

  void must(bool truth, const char* words) {
    if (!truth) violations.push_back(to_text(pipeline.id) + ": " + words);
  }
  std::optional<Time> timer(Timer timer) const {
    return deadline_of(state.timers, Due{pipeline.id, timer});
  }
  template <class Stage>
  bool is_in() const {
    return std::holds_alternative<Stage>(pipeline.course);
  }
  bool in_outbox(EffectId effect) const {
    const reeve::Started* started = state.outbox.find(effect);
    const Address* to = started ? std::get_if<Address>(&started->effect.to) : nullptr;
    return to && *to == Address{pipeline.id, pipeline.entry, false};
  }
  bool at_work(WorkId work) const {
    const task::Task* task = state.tasks.tasks.find(work);
    return task && !task->over_at;
  }
  bool in_line() const {
    const Holder holder = holder_of(pipeline);
    const auto& waits = state.grants.waits;
    for (auto at = waits.lower_bound({holder, {}}); at != waits.end(); ++at) {
      if ((*at).holder != holder) break;
      const grant::Waiter* waiter = state.grants.waiters.find((*at).waiter);
      if (waiter && waiter->request.origin == grant::Origin{to_phase()}) return true;
    }
    return false;
  }
  grant::ToPhase to_phase() const { return {pipeline.id, pipeline.entry}; }
};

// Others wait for it, or its workspace is being removed.
bool is_needed(const Table& table, const Pipeline& pipeline) {
  const auto at = table.awaited.lower_bound({pipeline.id, {}});
  const bool is_awaited = at != table.awaited.end() && (*at).dependency == pipeline.id;
  return is_awaited || std::holds_alternative<Clearing>(pipeline.course);
}

void check_ended(Judge& j) {
  const Pipeline& p = j.pipeline;
  j.must(j.is_in<Idle>() || j.is_in<Clearing>(), "over, and in the middle of a phase");
  j.must(p.holding == Holding{}, "over, and holds something");
  j.must(!p.verdict && !p.paused && p.after.empty(), "over, and something is still to come");
  j.must(p.ended_at.has_value(), "over, and nobody knows since when");
  const Table& table = j.state.pipelines;
  j.must(p.ended_at &&
             table.ended.by_age.contains({p.project, *p.ended_at, p.id}) != is_needed(table, p),
         "over, and in the order of ending as one that is needed, or not in it");
  j.must(j.timer(Timer::Forget).has_value(), "never forgotten");
}

// What a state says and what goes on inside are one story.
void check_story(Judge& j) {
  const Pipeline& p = j.pipeline;
  match(
      p.state,
      [&](const Init&) { j.must(false, "was never started"); },
      [&](const Blocked& at) {
        switch (at.reason) {
          case Reason::Dependency:
            j.must(p.after.empty() == j.timer(Timer::Attend).has_value(),
                   "waits for pipelines that are done");
            [[fallthrough]];
          case Reason::Paused:
          case Reason::Backoff:
            return j.must(j.is_in<Idle>(), "waits outside of its phases, and is in one");
          case Reason::Guard:
            return j.must(j.is_in<Guarding>() || j.is_in<Leaving>(), "waits for no guard");
          case Reason::Lock:
          case Reason::Semaphore:
            return j.must(j.is_in<Acquiring>(), "waits for no lock");
          case Reason::Decision:
            return j.must(!j.is_in<Entering>() && !j.is_in<Preparing>() && !j.is_in<Acquiring>(),
                          "waits for an answer in the middle of its work");
        }
      },
      [&](const Running&) { j.must(!j.is_in<Idle>(), "runs, and nothing goes on"); },
      [&](const Done&) { check_ended(j); },
      [&](const Failed&) { check_ended(j); },
      [&](const Cancelled&) { check_ended(j); });
  j.must(p.ended_at.has_value() == is_over(p), "has an end, and goes on");
  j.must(is_over(p) || !j.is_in<Clearing>(), "open, and its workspace is being removed");
  j.must(is_over(p) || !j.timer(Timer::Forget), "open, and to be forgotten");
}

// What runs and asks somebody blocks it, and nothing else does.
void check_questions(Judge& j) {
  const Pipeline& p = j.pipeline;
  const Leaving* leaving = std::get_if<Leaving>(&p.course);
  if (!leaving && !j.is_in<Acting>()) return;
  const Blocked* blocked = std::get_if<Blocked>(&p.state);
  const bool at_guards = leaving && leaving->guards;
  const bool asks = (p.questions > 0 && !at_guards) || (leaving && leaving->asked);
  j.must(asks == (blocked && blocked->reason == Reason::Decision),
         "asks somebody and goes on, or waits and nobody was asked");
}

// Who waits for an answer of his own has asked for it.
void check_asked(Judge& j) {
  const Pipeline& p = j.pipeline;
  const auto& open = j.state.decisions.open_of;
  const bool asks_of_phase = open.contains(decision::PhaseOwner{p.id, p.entry});
  const auto first = open.lower_bound(decision::GuardOwner{p.id, p.entry, ""});
  const decision::GuardOwner* guard =
      first == open.end() ? nullptr : std::get_if<decision::GuardOwner>(&(*first).first);
  const bool asks_of_guard = guard && guard->pipeline == p.id && guard->entry == p.entry;
  const Blocked* blocked = std::get_if<Blocked>(&p.state);
  const bool waits = blocked && blocked->reason == Reason::Decision;
  const Leaving* leaving = std::get_if<Leaving>(&p.course);
  const bool of_its_own = j.is_in<Idle>() || j.is_in<Guarding>() || (leaving && leaving->asked);
  j.must((asks_of_phase || asks_of_guard) == (waits && of_its_own),
         "waits for an answer to no question, or asks and does not wait");
  j.must(!asks_of_guard || j.is_in<Guarding>(), "asks about a guard, and is at none");
}

void check_running(Judge& j) {
  const char* lost = "waits for an effect that is not in the outbox";
  const char* gone = "waits for an agent that is not at work";
  match(
      j.pipeline.course,
      [](const Idle&) {},
      [&](const Entering&) {
        j.must(j.timer(Timer::Attend).has_value(), "about to enter a phase, and never will");
      },
      [&](const Preparing& at) { j.must(j.in_outbox(at.effect), lost); },
      [&](const Guarding& at) {
        j.must(!at.check || j.in_outbox(*at.check), lost);
        if (at.index >= at.guards.size()) return;
        const guard::Guard& guard = at.guards[at.index];
        const bool checking = std::holds_alternative<guard::Checking>(guard.state);
        const bool passed = std::holds_alternative<guard::Passed>(guard.state);
        j.must(at.check ? checking || passed : !checking, "a guard and its check disagree");
      },
      [&](const Acquiring&) {
        // What had no room in a step stands in a chore.
        j.must(j.in_line() || !j.state.chores.waiting.empty(), "waits for locks in no line");
      },
      [&](const Acting& at) {
        if (const AgentRun* run = std::get_if<AgentRun>(&at.what)) {
          j.must(j.at_work(run->work), gone);
        }
        if (const ShellRun* run = std::get_if<ShellRun>(&at.what)) {
          j.must(j.in_outbox(run->effect), lost);
        }
        if (const StrategyRun* run = std::get_if<StrategyRun>(&at.what)) {
          const EffectId* effect = std::get_if<EffectId>(&run->running);
          j.must(!effect || j.in_outbox(*effect), lost);
          const WorkId* work = std::get_if<WorkId>(&run->running);
          j.must(!work || j.at_work(*work), gone);
        }
      },
      [&](const Leaving& at) {
        const EffectId* effect = std::get_if<EffectId>(&at.still);
        j.must(!effect || j.in_outbox(*effect), lost);
        const WorkId* work = std::get_if<WorkId>(&at.still);
        j.must(!work || j.at_work(*work), gone);
      },
      [&](const Clearing& at) { j.must(j.in_outbox(at.effect), lost); });
}

void check_timers_of(Judge& j) {
  const Pipeline& p = j.pipeline;
  const Blocked* blocked = std::get_if<Blocked>(&p.state);
  const bool backs_off = blocked && blocked->reason == Reason::Backoff;
  j.must(j.timer(Timer::Backoff).has_value() == backs_off, "a backoff without its timer");
  // Later than at its limit, if what was to be heard first had no room in the step.
  const std::optional<Time> max_hold = j.timer(Timer::MaxHold);
  const bool fits = p.holding.until ? max_hold && *max_hold > *p.holding.until : !max_hold;
  j.must(fits || j.is_in<Leaving>(), "max_hold without its timer");
  j.must(!j.timer(Timer::Timeout) || j.is_in<Acting>(), "a timeout of nothing");
  j.must(!j.timer(Timer::Guard) || j.is_in<Guarding>(), "a guard's timer without a guard");
  if (const Guarding* at = std::get_if<Guarding>(&p.course)) {
    const bool waits = at->index < at->guards.size() &&
                       std::holds_alternative<guard::Waiting>(at->guards[at->index].state);
    j.must(!waits || j.timer(Timer::Guard), "a guard that is never checked again");
  }
}

const Children* children_of(const Pipeline& pipeline) {
  if (const Acting* acting = std::get_if<Acting>(&pipeline.course)) {
    return std::get_if<Children>(&acting->what);
  }
  if (const Leaving* leaving = std::get_if<Leaving>(&pipeline.course)) {
    return std::get_if<Children>(&leaving->still);
  }
  return nullptr;
}

void check_children(Judge& j) {
  const auto& index = j.state.pipelines.children;
  std::uint32_t open = 0;
  for (auto at = index.lower_bound({j.pipeline.id, 0}); at != index.end(); ++at) {
    const auto& [key, child] = *at;
    if (key.parent != j.pipeline.id) break;
    ++open;
    const Pipeline* found = j.state.pipelines.pipelines.find(child);
    const Starter by = ByParent{j.pipeline.id, j.pipeline.entry, key.index};
    j.must(found && !is_over(*found), "an open child that is not open");
    j.must(found && found->origin->starter == by, "a child of another entry");
  }
  const Children* children = children_of(j.pipeline);
  j.must(open == (children ? children->open : 0), "its children are miscounted");
  if (!children) return;
  j.must(children->done + children->failed + children->open == children->next, "a child got lost");
  j.must(children->next <= children->total, "more children than there should be");
}

void check_dependencies(Judge& j) {
  for (const PipelineId dependency : j.pipeline.after) {
    j.must(j.state.pipelines.awaited.contains({dependency, j.pipeline.id}),
           "waits for a pipeline that will not tell it");
  }
}

// The open questions of agents and steps are counted where they block.
void check_questions_of_all(const State& state, Violations& violations) {
  PersistentMap<PipelineId, std::uint32_t> open;
  const auto count = [&](PipelineId id, std::uint64_t entry) {
    const Pipeline* pipeline = state.pipelines.pipelines.find(id);
    if (!pipeline || entry == 0 || is_over(*pipeline)) return;
    if (pipeline->entry == entry) ++open.edit_or_insert(id);
  };
  for (const auto& [owner, decision] : state.decisions.open_of) {
    if (const auto* asker = std::get_if<decision::AskOwner>(&owner)) {
      count(asker->pipeline, asker->entry);
    } else if (const auto* work = std::get_if<decision::WorkOwner>(&owner)) {
      const task::Task* task = state.tasks.tasks.find(work->work);
      if (task) count(task->begun->pipeline, task->begun->entry);
    }
  }
  for (const auto& [id, pipeline] : state.pipelines.pipelines) {
    const std::uint32_t* found = open.find(id);
    if (pipeline.questions != (found ? *found : 0)) {
      violations.push_back(to_text(id) + ": its questions are miscounted");
    }
  }
}

// Over the number that is kept only until the next tick: the oldest goes, or the one behind it,
// where the oldest by its number is the last that ended.
void check_kept(const State& state, Violations& violations) {
  const Finished<PipelineId>& ended = state.pipelines.ended;
  const auto goes = [&](PipelineId id) {
    const std::optional<Time> forgotten = deadline_of(state.timers, Due{id, Timer::Forget});
    return forgotten && *forgotten <= state.now;
  };
  for (const auto& [project, count] : ended.counts) {
    if (count <= limits::finished_kept) continue;
    const FinishedKey<PipelineId>& first = *oldest(ended, project);
    if (goes(first.id) || goes(ended.by_age.upper_bound(first)->id)) continue;
    violations.emplace_back("pipelines: too many are kept");
  }
}

void check_indexes(const State& state, Violations& violations) {
  const Table& table = state.pipelines;
  const auto must = [&](bool truth, const char* words) {
    if (!truth) violations.push_back(std::string("pipelines: ") + words);
  };
  for (const Awaited& pair : table.awaited) {
    const Pipeline* dependant = table.pipelines.find(pair.dependant);
    must(table.pipelines.contains(pair.dependency), "one that is awaited was forgotten");
    must(
        dependant && std::ranges::find(dependant->after, pair.dependency) != dependant->after.end(),
        "awaited by one that does not wait");
  }
  PersistentMap<ProjectNo, std::uint64_t> counts;
  for (const FinishedKey<PipelineId>& key : table.ended.by_age) {
    ++counts.edit_or_insert(key.project);
    const Pipeline* pipeline = table.pipelines.find(key.id);
    must(pipeline && pipeline->ended_at == key.at, "one has ended that has not");
  }
  must(counts == table.ended.counts, "those that ended are miscounted");
  for (const auto& [key, value] : table.outputs) {
    must(table.pipelines.contains(key.pipeline), "an output of nobody");
  }
  for (const auto& [key, value] : table.checkpoints) {
    must(table.pipelines.contains(key.pipeline), "a checkpoint of nobody");
  }
  for (const auto& [key, value] : table.children) {
    must(table.pipelines.contains(key.parent), "a child of nobody");
  }
  for (const auto& [subject, key] : state.timers.armed) {
    const Due* due = std::get_if<Due>(&subject);
    must(!due || table.pipelines.contains(due->pipeline), "a timer of nobody");
  }
  for (const auto& [number, waiter] : state.grants.waiters) {
    const auto* phase = std::get_if<grant::ToPhase>(&waiter.request.origin);
    const Pipeline* pipeline = phase ? table.pipelines.find(phase->pipeline) : nullptr;
    must(!pipeline || !state.chores.waiting.empty() ||
             (pipeline->entry == phase->entry &&
              std::holds_alternative<Acquiring>(pipeline->course)),
         "one waits for locks that it does not want");
  }
  for (const event_bus::Subscription& each : state.subscriptions.by_subscriber) {
    const event_bus::Guard* guard = std::get_if<event_bus::Guard>(&each.who);
    if (!guard) continue;
    const Pipeline* pipeline = table.pipelines.find(guard->pipeline);
    must(pipeline && pipeline->entry == guard->entry &&
             std::holds_alternative<Guarding>(pipeline->course),
         "a wake of a guard that is not there");
  }
}

}  // namespace

void check(const State& state, Violations& violations) {
  std::uint64_t open = 0;
  for (const auto& [id, pipeline] : state.pipelines.pipelines) {
    Judge judge{state, pipeline, violations};
    judge.must(pipeline.id == id && pipeline.origin, "is not itself");
    check_story(judge);
    check_questions(judge);
    check_asked(judge);
    check_running(judge);
    check_timers_of(judge);
    check_children(judge);
    check_dependencies(judge);
    if (!is_over(pipeline)) ++open;
  }
  if (open != state.pipelines.open) violations.emplace_back("pipelines: the open are miscounted");
  check_questions_of_all(state, violations);
  check_kept(state, violations);
  check_indexes(state, violations);
}

}  // namespace reeve::pipeline
