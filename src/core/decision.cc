#include "core/decision.h"

#include "base/match.h"
#include "core/names.h"
#include "core/turn.h"

#include <algorithm>
#include <utility>

namespace reeve::decision {
namespace {

const Decision* find(const Turn& turn, DecisionId id) {
  return turn.state().decisions.decisions.find(id);
}

bool is_open(const Decision& decision) { return std::holds_alternative<Open>(decision.state); }

// ── Closing ──

const ClosedKey* oldest_closed(const Turn& turn, ProjectNo project) {
  const PersistentSet<ClosedKey>& closed = turn.state().decisions.closed;
  const auto at = closed.lower_bound(ClosedKey{project, Time::min(), {}});
  return at == closed.end() || at->project != project ? nullptr : &*at;
}

Time forgotten_at(const ClosedKey& key) {
  return saturating_add(key.at, limits::finished_kept_for);
}

void arm_oldest(Turn& turn, ProjectNo project) {
  std::optional<Time> due;
  if (const ClosedKey* oldest = oldest_closed(turn, project)) due = forgotten_at(*oldest);
  turn.arm(Due{{}, project}, due);
}

void forget(Turn& turn, const ClosedKey& key) {
  Table& table = turn.change().decisions;
  table.decisions.erase(key.decision);
  table.closed.erase(key);
  std::uint32_t& count = table.closed_count.edit_or_insert(key.project);
  if (--count == 0) table.closed_count.erase(key.project);
}

void close(Turn& turn, DecisionId id, std::variant<Open, Answered, Retired> state) {
  Table& table = turn.change().decisions;
  Decision* decision = table.decisions.edit(id);
  decision->state = std::move(state);
  const ProjectNo project = decision->project;
  table.open_of.erase(Owner(decision->owner));
  table.closed.insert(ClosedKey{project, turn.now(), id});
  turn.arm(Due{id, {}}, std::nullopt);
  if (++table.closed_count.edit_or_insert(project) > limits::finished_kept) {
    // Of those that close in one moment the order is that of their ids: this one is not the oldest.
    const ClosedKey first = *oldest_closed(turn, project);
    forget(turn, first.decision == id ? ClosedKey(*table.closed.upper_bound(first)) : first);
  }
  arm_oldest(turn, project);
}

void unbind(Turn& turn, WaiterId waiter, SessionId session) {
  if (session) session::unbind(turn, session, session::WaiterPlace{waiter});
}

// The entry into a phase of which something asks: its agent, or its step. A phase or a guard that
// asks is blocked by its own doing.
struct Entry {
  PipelineId pipeline;
  std::uint64_t entry = 0;
};

Entry entry_of(const Turn& turn, const Owner& owner) {
  if (const AskOwner* asker = std::get_if<AskOwner>(&owner)) return {asker->pipeline, asker->entry};
  const WorkOwner* worker = std::get_if<WorkOwner>(&owner);
  const task::Task* task = worker ? turn.state().tasks.tasks.find(worker->work) : nullptr;
  return task ? Entry{task->begun->pipeline, task->begun->entry} : Entry{};
}

void tell_phase(Turn& turn, const Owner& owner, void (&verb)(Turn&, PipelineId, std::uint64_t)) {
  const Entry at = entry_of(turn, owner);
  if (at.entry > 0) verb(turn, at.pipeline, at.entry);
}

// Whoever waited for it goes on. By now the decision is closed: what comes of the answer may
// well be the next question of the same owner.
void tell_owner(Turn& turn, DecisionId id, const Decision& closed, const Answer& answer) {
  match(
      closed.owner,
      [&](const PhaseOwner& owner) { pipeline::decided(turn, owner, answer); },
      [&](const GuardOwner& owner) { pipeline::decided(turn, owner, answer); },
      [&](const WorkOwner& owner) { task::decided(turn, owner.work, answer); },
      [&](const ItemOwner& owner) { queue::decided(turn, owner.item, answer); },
      [&](const LockOwner& owner) { lock::decided(turn, owner.lock, answer); },
      [&](const ProcessOwner& owner) { custody::decided(turn, owner.process, answer); },
      [&](const DispatchOwner& owner) { dispatch::decided(turn, owner.dispatch, answer); },
      [&](const AskOwner& owner) {
        unbind(turn, owner.waiter, closed.session);
        if (owner.entry > 0) pipeline::answered(turn, owner.pipeline, owner.entry, answer.text);
        turn.answer(owner.waiter, {Reply{Resolved{id, answer}}});
      });
}

void answer_with(Turn& turn, DecisionId id, const Answer& answer) {
  const Decision decision = *find(turn, id);
  close(turn, id, Answered{answer});
  turn.emit(decision.project, Event{WasAnswered{id, answer.choice, answer.text, answer.by}});
  tell_phase(turn, decision.owner, pipeline::question_closed);
  tell_owner(turn, id, decision, answer);
}

void retire_one(Turn& turn, DecisionId id, Left left) {
  const Decision decision = *find(turn, id);
  close(turn, id, Retired{turn.now()});
  turn.emit(decision.project, Event{WasRetired{id}});
  tell_phase(turn, decision.owner, pipeline::question_closed);
  if (const AskOwner* asker = std::get_if<AskOwner>(&decision.owner)) {
    unbind(turn, asker->waiter, decision.session);
    turn.answer(asker->waiter, {Reply{NotAnswered{left}}});
  }
}

// ── What an answer means ──

Answer by_option(const Decision& decision, std::uint32_t number) {
  return {Choice::Option, number, decision.options[number], {}, {}};
}

// The choice by its number, among what was offered.
std::optional<Answer> by_number(const Decision& decision, std::uint32_t number) {
  if (decision.cause == Cause::Asked) {
    if (number >= decision.options.size()) return std::nullopt;
    return by_option(decision, number);
  }
  const std::vector<Choice> choices = choices_of(decision.cause);
  if (number >= choices.size()) return std::nullopt;
  return Answer{choices[number], 0, {}, {}, {}};
}

std::optional<Answer> by_name(const Decision& decision, Choice choice) {
  const bool any_text = decision.cause == Cause::Asked && decision.options.empty();
  if (any_text && choice == Choice::Text) return Answer{Choice::Text, 0, {}, {}, {}};
  const std::vector<Choice> choices = choices_of(decision.cause);
  if (std::ranges::find(choices, choice) == choices.end()) return std::nullopt;
  return Answer{choice, 0, {}, {}, {}};
}

std::optional<Answer> by_text(const Decision& decision, const std::string& text) {
  if (decision.cause == Cause::Asked) {
    if (decision.options.empty()) return Answer{Choice::Text, 0, std::string(cut(text)), {}, {}};
    const auto found = std::ranges::find(decision.options, text);
    if (found == decision.options.end()) return std::nullopt;
    return by_option(decision, static_cast<std::uint32_t>(found - decision.options.begin()));
  }
  for (const Choice choice : choices_of(decision.cause)) {
    if (text_of(choice) == text) return Answer{choice, 0, {}, {}, {}};
  }
  return std::nullopt;
}

std::optional<Answer> meant_by(const Decision& decision, const Resolve& command) {
  std::optional<Answer> answer = match(
      command.choice,
      [&](Choice choice) { return by_name(decision, choice); },
      [&](std::uint32_t number) { return by_number(decision, number); },
      [&](const std::string& text) { return by_text(decision, text); });
  if (!answer) return std::nullopt;
  if (answer->choice == Choice::Option) {
    answer->note = cut(command.text);
  } else if (!command.text.empty()) {
    answer->text = cut(command.text);
  }
  if (answer->choice == Choice::Text && answer->text.empty()) return std::nullopt;
  return answer;
}

// If its deadline has come, makes it so.
void settle(Turn& turn, DecisionId id) {
  const Decision* decision = find(turn, id);
  if (!decision || !is_open(*decision)) return;
  const std::optional<Time> deadline = acts_at(*decision);
  if (!deadline) return;
  if (turn.now() < *deadline) return turn.arm(Due{id, {}}, deadline);
  std::optional<Answer> answer;
  if (decision->default_choice) answer = by_number(*decision, *decision->default_choice);
  if (!answer) return retire_one(turn, id, Left::TimedOut);
  answer->by = "deadline";
  answer->at = turn.now();
  answer_with(turn, id, *answer);
}

// ── Commands ──

reeve::Reply resolve(Turn& turn, const Resolve& command) {
  settle(turn, command.decision);
  const DecisionId id = command.decision;
  const Decision* decision = find(turn, id);
  if (!decision) return refused(Why::NotFound, to_text(id));
  const auto is_forgotten = [&](Time closed_at) {
    return turn.now() >= forgotten_at(ClosedKey{decision->project, closed_at, id});
  };
  return match(
      decision->state,
      [&](const Open&) -> reeve::Reply {
        std::optional<Answer> answer = meant_by(*decision, command);
        if (!answer) return refused(Why::BadValue, "choice");
        answer->by = cut(command.by);
        answer->at = turn.now();
        answer_with(turn, id, *answer);
        return {Reply{Resolved{id, *answer}}};
      },
      [&](const Answered& answered) -> reeve::Reply {
        if (is_forgotten(answered.answer.at)) return refused(Why::NotFound, to_text(id));
        return {Reply{AlreadyAnswered{id, answered.answer}}};
      },
      [&](const Retired& retired) -> reeve::Reply {
        if (is_forgotten(retired.at)) return refused(Why::NotFound, to_text(id));
        return refused(Why::NotAllowed, "retired");
      });
}

std::optional<Refused> check_ask(const Turn& turn, const Ask& command) {
  if (command.question.empty()) return Refused{Why::BadValue, "question"};
  if (command.options.size() > limits::names_a_request) return Refused{Why::OverLimit, "options"};
  for (const std::string& option : command.options) {
    if (!is_good_name(option)) return Refused{Why::BadValue, "options"};
  }
  if (command.within && *command.within < Duration{0}) return Refused{Why::BadValue, "within"};
  if (command.default_choice && *command.default_choice >= command.options.size()) {
    return Refused{Why::BadValue, "default"};
  }
  if (turn.state().decisions.open_of.size() >= limits::open_decisions) {
    return Refused{Why::OverLimit, "decisions"};
  }
  if (!session::has_room(turn.state(), turn.session())) {
    return Refused{Why::OverLimit, "sessions"};
  }
  return std::nullopt;
}

reeve::Reply ask(Turn& turn, const Ask& command) {
  if (std::optional<Refused> bad = check_ask(turn, command)) return {*std::move(bad)};
  const WaiterId waiter = turn.next_id<WaiterId>();
  // Only what a phase runs can ask for it.
  const pipeline::Pipeline* from = turn.state().pipelines.pipelines.find(command.pipeline);
  const bool runs = from && std::holds_alternative<pipeline::Acting>(from->course);
  open(turn,
       {turn.project(),
        AskOwner{waiter, command.pipeline, runs ? from->entry : 0},
        Cause::Asked,
        command.question,
        "",
        command.options,
        command.within,
        command.default_choice});
  move_to_session(turn, waiter, turn.session());
  return {Waiting{waiter}};
}

}  // namespace

std::vector<Choice> choices_of(Cause cause) {
  using enum Choice;
  switch (cause) {
    case Cause::PhaseFailed:
      return {Retry, Skip, Fail, Cancel};
    case Cause::GuardFailed:
      return {CheckAgain, Pass, Fail, Cancel};
    case Cause::AgentStuck:
      return {Nudge, Restart, Done, Fail, Cancel};
    case Cause::AgentGone:
      return {Restart, Done, Fail, Cancel};
    case Cause::AgentPermission:
      return {Allow, Deny, Cancel};
    case Cause::ItemExhausted:
      return {Retry, Dead, Drop};
    case Cause::ProcessUnobserved:
    case Cause::LockStale:
      return {LookAgain, ReleaseAnyway};
    case Cause::Asked:
      return {};
  }
  return {};
}

std::string_view text_of(Choice choice) {
  switch (choice) {
    case Choice::Retry:
      return "retry";
    case Choice::Skip:
      return "skip";
    case Choice::Fail:
      return "fail";
    case Choice::Cancel:
      return "cancel";
    case Choice::CheckAgain:
      return "check again";
    case Choice::Pass:
      return "pass";
    case Choice::Nudge:
      return "nudge";
    case Choice::Restart:
      return "restart";
    case Choice::Done:
      return "done";
    case Choice::Allow:
      return "allow";
    case Choice::Deny:
      return "deny";
    case Choice::Dead:
      return "dead";
    case Choice::Drop:
      return "drop";
    case Choice::LookAgain:
      return "look again";
    case Choice::ReleaseAnyway:
      return "release anyway";
    case Choice::Option:
      return "option";
    case Choice::Text:
      return "text";
  }
  return {};
}

std::optional<Time> acts_at(const Decision& decision) {
  if (!is_open(decision)) return std::nullopt;
  const bool has_choice =
      decision.default_choice && by_number(decision, *decision.default_choice).has_value();
  if (!has_choice && !std::holds_alternative<AskOwner>(decision.owner)) return std::nullopt;
  return decision.deadline;
}

reeve::Reply apply(Turn& turn, const Command& command) {
  return match(
      command,
      [&](const Resolve& it) { return resolve(turn, it); },
      [&](const Ask& it) { return ask(turn, it); });
}

void due(Turn& turn, const Due& due) {
  if (due.decision) return settle(turn, due.decision);
  while (turn.may_touch()) {
    const ClosedKey* oldest = oldest_closed(turn, due.project);
    if (!oldest || turn.now() < forgotten_at(*oldest)) break;
    turn.touch();
    forget(turn, ClosedKey(*oldest));
  }
  arm_oldest(turn, due.project);
}

EventName name_of(const Event& event) {
  return match(
      event,
      [](const WasOpened& it) { return EventName{"decision", to_text(it.decision), "opened"}; },
      [](const WasAnswered& it) { return EventName{"decision", to_text(it.decision), "resolved"}; },
      [](const WasRetired& it) { return EventName{"decision", to_text(it.decision), "retired"}; });
}

DecisionId open(Turn& turn, Question question) {
  // Before the older one goes: in between nobody should seem to go on.
  tell_phase(turn, question.owner, pipeline::question_opened);
  retire(turn, question.owner);
  const DecisionId id = turn.next_id<DecisionId>();
  Decision decision;
  decision.project = question.project;
  decision.owner = question.owner;
  decision.cause = question.cause;
  decision.question = cut(question.question);
  decision.context = cut(question.context);
  decision.options = std::move(question.options);
  decision.opened_at = turn.now();
  if (question.within) decision.deadline = saturating_add(turn.now(), *question.within);
  decision.default_choice = question.default_choice;

  const std::optional<Time> deadline = acts_at(decision);
  const std::string text = decision.question;
  Table& table = turn.change().decisions;
  table.decisions.set(id, std::move(decision));
  table.open_of.set(question.owner, id);
  turn.arm(Due{id, {}}, deadline);
  turn.emit(question.project, Event{WasOpened{id, question.cause, text}});
  turn.emit(question.project, Escalate{to_text(id), text});
  return id;
}

void retire(Turn& turn, const Owner& owner) {
  const DecisionId* id = turn.state().decisions.open_of.find(owner);
  if (id) retire_one(turn, DecisionId(*id), Left::Cancelled);
}

// Owners are in the order of their waiters, whatever the pipeline.
const DecisionId* asked_by(const Table& table, WaiterId waiter) {
  const auto at = table.open_of.lower_bound(AskOwner{waiter, {}});
  if (at == table.open_of.end()) return nullptr;
  const AskOwner* asker = std::get_if<AskOwner>(&at->first);
  return asker && asker->waiter == waiter ? &at->second : nullptr;
}

void leave(Turn& turn, WaiterId waiter, Left left) {
  const DecisionId* id = asked_by(turn.state().decisions, waiter);
  if (id) retire_one(turn, DecisionId(*id), left);
}

void move_to_session(Turn& turn, WaiterId waiter, SessionId session) {
  const DecisionId* found = asked_by(turn.state().decisions, waiter);
  if (!found) return;
  const DecisionId id = *found;
  const SessionId from = find(turn, id)->session;
  if (from == session) return;
  turn.change().decisions.decisions.edit(id)->session = session;
  unbind(turn, waiter, from);
  if (session) session::bind(turn, session, session::WaiterPlace{waiter});
}

}  // namespace reeve::decision
