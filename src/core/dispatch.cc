#include "core/dispatch.h"

#include "base/match.h"
#include "core/decision.h"
#include "core/mailbox.h"
#include "core/names.h"
#include "core/turn.h"

#include <chrono>
#include <utility>

namespace reeve::dispatch {
namespace {

bool is_retained(const Dispatch& dispatch) {
  return std::holds_alternative<Retained>(dispatch.state);
}

// ── Writing ──

// One in any case: as many go as come, also where this step has no room for more.
void forget_overdue(Turn& turn, ProjectNo project, DispatchId newest = {}) {
  do {
    const auto key = overdue(turn.state().dispatches.ended, project, turn.now(), newest);
    if (!key) break;
    turn.touch();
    Table& table = turn.change().dispatches;
    const Dispatch& old = *table.dispatches.find(key->id);
    const MessageKey message{old.to, old.message_id};
    if (*table.by_message.find(message) == key->id) table.by_message.erase(message);
    const Released* released = table.released.find(old.to);
    if (released && released->dispatch == key->id) table.released.erase(Target(old.to));
    table.dispatches.erase(key->id);
    remove(table.ended, *key);
  } while (turn.may_touch());
  turn.arm(Due{{}, project}, next_overdue(turn.state().dispatches.ended, project));
}

// The one place where a dispatch is written; what is derived from its state follows.
void put(Turn& turn, DispatchId id, Dispatch dispatch) {
  Table& table = turn.change().dispatches;
  if (const Dispatch* before = table.dispatches.find(id)) {
    table.children.erase({before->evidence.process.boot_id, id});
  }
  const ChildKey child{dispatch.evidence.process.boot_id, id};
  if (has_child(dispatch) && !child.boot_id.empty()) table.children.insert(child);
  const std::optional<Time> look = next_look(dispatch);
  table.dispatches.set(id, std::move(dispatch));
  turn.arm(Due{id, {}}, look);
}

void end(Turn& turn, DispatchId id, Dispatch dispatch, Ended ended) {
  ended.output.resize(cut(ended.output).size());
  const Target to = dispatch.to;
  const Result result = ended.result;
  dispatch.state = std::move(ended);
  dispatch.awaits_outcome = false;
  put(turn, id, std::move(dispatch));
  add(turn.change().dispatches.ended, {to.project, turn.now(), id});
  forget_overdue(turn, to.project, id);
  turn.emit(to.project, Event{WasEnded{id, to, result}});
}

void let_go(Turn& turn, DispatchId id, Dispatch& dispatch, std::optional<ReleaseEvent> proof) {
  dispatch.release.released = true;
  Table& table = turn.change().dispatches;
  table.claims.erase(dispatch.to);
  table.released.set(dispatch.to, {id, turn.now()});
  decision::retire(turn, decision::DispatchOwner{id});
  turn.emit(dispatch.to.project, Event{WasReleased{id, dispatch.to, std::move(proof)}});
}

// Folds what happened into the release of the claim.
void reduce(Turn& turn, DispatchId id, Dispatch& dispatch, const ReleaseEvent& event) {
  const Reduced reduced = reduce_release(dispatch.policy, dispatch.release, event);
  if (reduced.should_release) let_go(turn, id, dispatch, event);
}

// The child was seen: what is left is to hear how it ended, unless that was heard already.
void seen(Turn& turn, DispatchId id, Dispatch dispatch, Ended otherwise) {
  if (!dispatch.awaits_outcome) return end(turn, id, std::move(dispatch), std::move(otherwise));
  dispatch.state = Seen{turn.now()};
  put(turn, id, std::move(dispatch));
}

void kill(Turn& turn, DispatchId id, Dispatch dispatch) {
  const EffectId kill =
      turn.start(Kill{dispatch.effect, limits::kill_grace}, Address{id, Part::Kill});
  dispatch.state = Killing{turn.now(), kill};
  dispatch.evidence.killed_at = turn.now();
  put(turn, id, std::move(dispatch));
}

// What is known of the child, and when each of it was, counted from when it was asked for: whoever
// has to decide sees nothing else.
std::string known_of(const Evidence& evidence, Time now) {
  const auto after = [&](Time at) {
    return " after " + std::to_string((at - evidence.asked_at) / std::chrono::seconds{1}) + " s";
  };
  const std::string& socket = evidence.socket;
  return (evidence.started_at ? "started" + after(*evidence.started_at) : "not seen to start") +
         (evidence.killed_at ? ", killed" + after(*evidence.killed_at) : "") + ", given up" +
         after(now) + (socket.empty() ? "; no socket of it is known" : "; its socket is " + socket);
}

void retain(Turn& turn, DispatchId id, Dispatch dispatch) {
  dispatch.state = Retained{turn.now()};
  const Evidence& evidence = dispatch.evidence;
  turn.emit(dispatch.to.project, Event{WasRetained{id, dispatch.to, evidence}});
  const std::string child = evidence.started_at
                                ? ", resumed as process " + std::to_string(evidence.process.pid)
                                : ", which may have been resumed";
  decision::open(
      turn,
      {dispatch.to.project,
       decision::DispatchOwner{id},
       decision::Cause::ProcessUnobserved,
       "is the agent " + dispatch.to.name + child + ", still there?",
       to_text(id) + " has shown neither life nor exit: " + known_of(evidence, turn.now())});
  put(turn, id, std::move(dispatch));
}

// What is due comes before what is new.
void settle(Turn& turn, DispatchId id) {
  const Dispatch* dispatch = turn.state().dispatches.dispatches.find(id);
  if (!dispatch) return;
  const std::optional<Time> look = next_look(*dispatch);
  if (!look || turn.now() < *look) return;
  if (std::holds_alternative<Started>(dispatch->state)) return kill(turn, id, *dispatch);
  if (std::holds_alternative<Killing>(dispatch->state)) return retain(turn, id, *dispatch);
}

// ── send ──

std::optional<Refused> refusal_of(const Turn& turn, const Send& command, Transport transport) {
  const mailbox::Send mail{command.to, command.message_id, command.from, command.text};
  if (transport == Transport::Mailbox) return mailbox::refusal_of(turn, turn.project(), mail);
  if (!is_good_name(command.to)) return Refused{Why::BadName, command.to};
  if (!command.message_id.empty() && !is_good_name(command.message_id)) {
    return Refused{Why::BadName, command.message_id};
  }
  if (command.text.size() > limits::text_bytes) return Refused{Why::OverLimit, "text"};
  if (transport == Transport::ControlSocket && !command.session) {
    return Refused{Why::BadValue, "session"};
  }
  if (transport == Transport::SpawnBg &&
      (command.resume.empty() || command.resume.size() > limits::text_bytes)) {
    return Refused{Why::BadValue, "resume"};
  }
  if (command.workspace.size() > limits::text_bytes) return Refused{Why::BadValue, "workspace"};
  return std::nullopt;
}

// The earlier dispatch of the same message, if it was not in vain and is still remembered.
std::optional<DispatchId> same_message(const Turn& turn, const MessageKey& key) {
  const Table& table = turn.state().dispatches;
  const DispatchId* id = key.id.empty() ? nullptr : table.by_message.find(key);
  if (!id) return std::nullopt;
  const Ended* ended = std::get_if<Ended>(&table.dispatches.find(*id)->state);
  if (ended && ended->result == Result::NotDelivered) return std::nullopt;
  if (ended && turn.now() >= kept_until(ended->at)) return std::nullopt;
  return *id;
}

void carry_out(Turn& turn, DispatchId id, Dispatch dispatch, const Send& command) {
  switch (dispatch.transport) {
    case Transport::ControlSocket:
      dispatch.state = Sending{};
      dispatch.awaits_outcome = true;
      dispatch.effect = turn.start(reeve::Send{command.session, dispatch.message_id, dispatch.text},
                                   Address{id, Part::Send});
      return put(turn, id, std::move(dispatch));
    case Transport::SpawnBg:
      dispatch.state = Starting{};
      dispatch.awaits_outcome = true;
      dispatch.evidence.process.boot_id = turn.state().dispatches.boot_id;
      dispatch.effect = turn.start(Spawn{turn.next_id<WorkId>(),
                                         dispatch.to.name,
                                         command.resume,
                                         dispatch.text,
                                         command.workspace,
                                         {},
                                         false,
                                         std::nullopt},
                                   Address{id, Part::Spawn});
      return put(turn, id, std::move(dispatch));
    case Transport::Mailbox:
      mailbox::send(turn,
                    dispatch.to.project,
                    {dispatch.to.name, dispatch.message_id, command.from, dispatch.text});
      reduce(turn, id, dispatch, MailboxEnqueued{});
      return end(turn, id, std::move(dispatch), {turn.now(), Result::Mailed});
  }
}

reeve::Reply send(Turn& turn, const Send& command) {
  const Table& table = turn.state().dispatches;
  const Target to{turn.project(), command.to};
  if (const auto same = same_message(turn, {to, command.message_id})) {
    return {Reply{Again{*same}}};
  }
  if (const DispatchId* other = table.claims.find(to)) {
    return {Reply{Busy{*other, is_retained(*table.dispatches.find(*other))}}};
  }
  const std::variant<Transport, LookAgain> decided =
      decide_transport(command.seen, command.wants_outcome);
  const Transport* transport = std::get_if<Transport>(&decided);
  if (!transport) return {Reply{LookAgain{}}};
  // What was seen before the target was last let go of says nothing of what that left behind.
  const Released* released = table.released.find(to);
  const bool is_outdated = released && command.seen_at <= released->at;
  if (is_outdated && *transport != Transport::Mailbox) return {Reply{LookAgain{}}};
  if (std::optional<Refused> refusal = refusal_of(turn, command, *transport)) {
    return {*std::move(refusal)};
  }
  // The id the next thing gets: nothing has been taken until the pairing was judged.
  const Plan plan{*transport, to};
  std::optional<Claim> claim;
  if (*transport != Transport::Mailbox) claim = Claim{to, {turn.state().last_number + 1}};
  const auto policy = decide_release_policy(plan, claim);
  if (!std::holds_alternative<ReleasePolicy>(policy)) return refused(Why::NotAllowed, "claim");

  const DispatchId id = turn.next_id<DispatchId>();
  std::string message_id = command.message_id.empty() ? to_text(id) : command.message_id;
  if (command.message_id.empty()) {
    // Nobody else's, even if somebody chose his own to look like a made one.
    const mailbox::BoxName box{to.project, to.name};
    while (table.by_message.contains({to, message_id}) ||
           turn.state().mail.by_id.contains({box, message_id})) {
      message_id = to_text(turn.next_id<DispatchId>());
    }
  }
  Table& changed = turn.change().dispatches;
  if (claim) changed.claims.set(to, id);
  changed.by_message.set({to, message_id}, id);
  Dispatch dispatch;
  dispatch.to = to;
  dispatch.message_id = message_id;
  dispatch.text = command.text;
  dispatch.transport = *transport;
  dispatch.policy = std::get<ReleasePolicy>(policy);
  dispatch.evidence.asked_at = turn.now();
  turn.emit(to.project, Event{WasPlanned{id, to, *transport}});
  carry_out(turn, id, std::move(dispatch), command);
  return {Reply{Planned{id, std::move(message_id), *transport}}};
}

// ── Observations: what is due is settled after them, see input.h ──

// The dispatch whose child may be seen, or null: another one changes nothing.
const Dispatch* with_spawn(const Turn& turn, DispatchId id) {
  const Dispatch* dispatch = turn.state().dispatches.dispatches.find(id);
  return dispatch && dispatch->transport == Transport::SpawnBg ? dispatch : nullptr;
}

reeve::Reply saw(Turn& turn, DispatchId id, const ReleaseEvent& event, Ended otherwise) {
  const Dispatch* found = with_spawn(turn, id);
  if (!found) return refused(Why::NotFound, to_text(id));
  if (found->release.released) return {Ok{}};
  Dispatch dispatch = *found;
  reduce(turn, id, dispatch, event);
  seen(turn, id, std::move(dispatch), std::move(otherwise));
  return {Ok{}};
}

// A child of another boot than the present, or none: their end is certain.
std::optional<DispatchId> child_of_another_boot(const Table& table) {
  if (table.boot_id.empty()) return std::nullopt;
  if (const ChildKey* first = table.children.first(); first && first->boot_id < table.boot_id) {
    return first->dispatch;
  }
  if (const ChildKey* last = table.children.last(); last && last->boot_id > table.boot_id) {
    return last->dispatch;
  }
  return std::nullopt;
}

void end_former_children(Turn& turn) {
  while (const auto id = child_of_another_boot(turn.state().dispatches)) {
    if (!turn.may_touch()) return turn.arm(Due{}, turn.now());
    turn.touch();
    Dispatch dispatch = *turn.state().dispatches.dispatches.find(*id);
    if (std::holds_alternative<Starting>(dispatch.state)) {
      // Nobody has seen it start: it may yet, after this boot. If it had, its outcome is unknown,
      // and comes before the news of the boot.
      dispatch.evidence.process.boot_id = turn.state().dispatches.boot_id;
      put(turn, *id, std::move(dispatch));
    } else {
      saw(turn, *id, ChildExited{}, {turn.now(), Result::Unknown});
    }
  }
}

reeve::Reply saw_started(Turn& turn, const SawStarted& saw) {
  const Dispatch* found = with_spawn(turn, saw.dispatch);
  if (!found) return refused(Why::NotFound, to_text(saw.dispatch));
  if (saw.process.boot_id.size() > limits::name_bytes) return refused(Why::BadValue, "boot_id");
  if (saw.socket.size() > limits::text_bytes) return refused(Why::BadValue, "socket");
  if (!std::holds_alternative<Starting>(found->state)) return {Ok{}};
  Dispatch dispatch = *found;
  dispatch.evidence.process = saw.process;
  dispatch.evidence.socket = saw.socket;
  dispatch.evidence.started_at = turn.now();
  dispatch.state = Started{turn.now()};
  reduce(turn, saw.dispatch, dispatch, SpawnStarted{saw.process.pid});
  put(turn, saw.dispatch, std::move(dispatch));
  end_former_children(turn);  // the news may be older than the machine's last start
  return {Ok{}};
}

reeve::Reply saw_boot(Turn& turn, const SawBoot& saw) {
  if (!is_good_name(saw.boot_id)) return refused(Why::BadValue, "boot_id");
  if (turn.state().dispatches.boot_id != saw.boot_id) {
    turn.change().dispatches.boot_id = saw.boot_id;
  }
  end_former_children(turn);
  return {Ok{}};
}

void release_anyway(Turn& turn, DispatchId id) {
  Dispatch dispatch = *turn.state().dispatches.dispatches.find(id);
  let_go(turn, id, dispatch, std::nullopt);
  seen(turn, id, std::move(dispatch), {turn.now(), Result::Unknown});
}

reeve::Reply clear(Turn& turn, const Clear& command) {
  settle(turn, command.dispatch);
  const Dispatch* found = turn.state().dispatches.dispatches.find(command.dispatch);
  if (!found) return refused(Why::NotFound, to_text(command.dispatch));
  if (!is_retained(*found)) return refused(Why::NotAllowed, to_text(command.dispatch));
  release_anyway(turn, command.dispatch);
  return {Ok{}};
}

// ── Outcomes ──

void sent(Turn& turn, DispatchId id, Dispatch dispatch, const Outcome& outcome) {
  const SendOutcome how = send_outcome(outcome);
  reduce(turn, id, dispatch, SendFinal{how});
  end(turn, id, std::move(dispatch), {turn.now(), result_of(how), std::nullopt, outcome.error});
}

void spawned(Turn& turn, DispatchId id, Dispatch dispatch, const Outcome& outcome) {
  if (outcome.ended == reeve::Ended::Unknown) {
    // Nobody knows: that is no proof. A claim that was released already is not taken back.
    dispatch.awaits_outcome = false;
    if (is_retained(dispatch)) return put(turn, id, std::move(dispatch));
    if (!dispatch.release.released) return retain(turn, id, std::move(dispatch));
    return end(turn, id, std::move(dispatch), {turn.now(), Result::Unknown});
  }
  const bool ran = outcome.ended == reeve::Ended::Done || outcome.exit_code || outcome.signal ||
                   outcome.timed_out || dispatch.evidence.started_at || dispatch.release.released;
  if (!ran) {
    reduce(turn, id, dispatch, SpawnStartFailed{outcome.error});
    const Ended ended{turn.now(), Result::NotDelivered, std::nullopt, outcome.error};
    return end(turn, id, std::move(dispatch), ended);
  }
  reduce(turn, id, dispatch, ChildExited{outcome.exit_code});
  const Ended ended{turn.now(), Result::Delivered, outcome.exit_code, outcome.output};
  end(turn, id, std::move(dispatch), ended);
}

void killed(
    Turn& turn, DispatchId id, const Dispatch& dispatch, EffectId effect, reeve::Ended how) {
  if (how == reeve::Ended::Done) {
    saw(turn, id, ChildExited{}, {turn.now(), Result::Unknown});
    return;
  }
  const Killing* killing = std::get_if<Killing>(&dispatch.state);
  if (!killing || killing->kill != effect) return;
  if (how == reeve::Ended::Unknown) return kill(turn, id, dispatch);
  retain(turn, id, dispatch);
}

}  // namespace

reeve::Reply apply(Turn& turn, const Command& command) {
  return match(
      command,
      [&](const Send& it) { return send(turn, it); },
      [&](const SawStarted& it) { return saw_started(turn, it); },
      [&](const SawAlive& it) {
        return saw(turn, it.dispatch, SocketAlive{}, {turn.now(), Result::Delivered});
      },
      [&](const SawExit& it) {
        const Ended ended{turn.now(), Result::Delivered, it.code};
        return saw(turn, it.dispatch, ChildExited{it.code}, ended);
      },
      [&](const SawBoot& it) { return saw_boot(turn, it); },
      [&](const Clear& it) { return clear(turn, it); });
}

void due(Turn& turn, const Due& due) {
  if (due.dispatch) return settle(turn, due.dispatch);
  if (due.project) return forget_overdue(turn, *due.project);
  end_former_children(turn);
}

void finished(Turn& turn, EffectId effect, const Address& to, const Outcome& outcome) {
  const Dispatch* dispatch = turn.state().dispatches.dispatches.find(to.dispatch);
  if (!dispatch || std::holds_alternative<Ended>(dispatch->state)) return;
  switch (to.part) {
    case Part::Send:
      return sent(turn, to.dispatch, *dispatch, outcome);
    case Part::Spawn:
      return spawned(turn, to.dispatch, *dispatch, outcome);
    case Part::Kill:
      return killed(turn, to.dispatch, *dispatch, effect, outcome.ended);
  }
}

void decided(Turn& turn, DispatchId id, const decision::Answer& answer) {
  const Dispatch* dispatch = turn.state().dispatches.dispatches.find(id);
  if (!dispatch || !is_retained(*dispatch)) return;
  if (answer.choice == decision::Choice::LookAgain) return kill(turn, id, *dispatch);
  if (answer.choice == decision::Choice::ReleaseAnyway) return release_anyway(turn, id);
}

}  // namespace reeve::dispatch
