#include "core/mailbox.h"

#include "base/match.h"
#include "core/names.h"
#include "core/turn.h"

#include <algorithm>
#include <utility>

namespace reeve::mailbox {
namespace {

void forget(Turn& turn, const FinishedKey<MessageNo>& key) {
  Table& table = turn.change().mail;
  const Message& message = *table.messages.find(key.id);
  table.by_id.erase({message.box, message.id});
  table.messages.erase(key.id);
  remove(table.acked, key);
}

// One in any case: as many go as come, also where this step has no room for more.
void forget_overdue(Turn& turn, ProjectNo project, MessageNo newest = {}) {
  do {
    const auto key = overdue(turn.state().mail.acked, project, turn.now(), newest);
    if (!key) break;
    turn.touch();
    forget(turn, *key);
  } while (turn.may_touch());
  turn.arm(Due{project}, next_overdue(turn.state().mail.acked, project));
}

// The message of that id, if it is still remembered: whether a tick came first to forget it
// makes no difference.
std::optional<MessageNo> find(const Turn& turn, const IdKey& key) {
  const Table& table = turn.state().mail;
  const MessageNo* number = table.by_id.find(key);
  if (!number) return std::nullopt;
  const std::optional<Time> acked_at = table.messages.find(*number)->acked_at;
  if (acked_at && turn.now() >= kept_until(*acked_at)) return std::nullopt;
  return *number;
}

// A made id is nobody else's, even if somebody chose his own to look like one.
std::string made_id(Turn& turn, const BoxName& box, MessageNo number) {
  for (;; number = turn.next_id<MessageNo>()) {
    std::string id = "mail-" + encode_id(number.value);
    if (!turn.state().mail.by_id.contains({box, id})) return id;
  }
}

std::optional<Refused> bad_names(const std::string& box, const std::string& id) {
  if (!is_good_name(box)) return Refused{Why::BadName, box};
  if (!is_good_name(id)) return Refused{Why::BadName, id};
  return std::nullopt;
}

reeve::Reply read(Turn& turn, const Read& command) {
  if (!is_good_name(command.box)) return refused(Why::BadName, command.box);
  const Table& table = turn.state().mail;
  const BoxName box{turn.project(), command.box};
  MessageNo after{};
  if (!command.after.empty()) {
    const std::optional<MessageNo> last = find(turn, {box, command.after});
    if (!last) return refused(Why::NotFound, command.after);
    after = *last;
  }

  const std::size_t max = std::min<std::size_t>(command.max, limits::batch_items);
  Mail mail;
  std::size_t bytes = 0;
  for (auto at = table.waiting.upper_bound({box, after});
       at != table.waiting.end() && at->box == box;
       ++at) {
    const Message& message = *table.messages.find(at->number);
    bytes += message.text.size();
    if (mail.messages.size() == max || bytes > limits::batch_bytes) {
      mail.more = true;
      break;
    }
    mail.messages.push_back(message);
  }
  return {Reply{std::move(mail)}};
}

reeve::Reply ack(Turn& turn, const Ack& command) {
  if (const auto refusal = bad_names(command.box, command.id)) return {*refusal};
  const BoxName box{turn.project(), command.box};
  const std::optional<MessageNo> number = find(turn, {box, command.id});
  if (!number) return refused(Why::NotFound, command.id);
  if (turn.state().mail.messages.find(*number)->acked_at) return {Reply{Acked{true}}};

  Table& table = turn.change().mail;
  table.messages.edit(*number)->acked_at = turn.now();
  table.waiting.erase({box, *number});
  if (--*table.counts.edit(box) == 0) table.counts.erase(box);
  add(table.acked, {box.project, turn.now(), *number});
  forget_overdue(turn, box.project, *number);
  turn.emit(box.project, Event{WasAcked{box.name, command.id}});
  return {Reply{Acked{false}}};
}

}  // namespace

std::optional<Refused> refusal_of(const Turn& turn, ProjectNo project, const Send& message) {
  if (!is_good_name(message.to)) return Refused{Why::BadName, message.to};
  if (!message.id.empty() && !is_good_name(message.id)) return Refused{Why::BadName, message.id};
  if (message.from.size() > limits::name_bytes) return Refused{Why::BadValue, "from"};
  if (message.text.size() > limits::text_bytes) return Refused{Why::OverLimit, "text"};
  const BoxName box{project, message.to};
  if (!message.id.empty() && find(turn, {box, message.id})) return std::nullopt;
  const std::uint64_t* count = turn.state().mail.counts.find(box);
  if (count && *count >= limits::mail_a_box) return Refused{Why::OverLimit, "mail"};
  return std::nullopt;
}

std::variant<Sent, Refused> send(Turn& turn, ProjectNo project, const Send& message) {
  if (std::optional<Refused> refusal = refusal_of(turn, project, message)) {
    return *std::move(refusal);
  }
  const BoxName box{project, message.to};
  if (!message.id.empty() && find(turn, {box, message.id})) return Sent{message.id, true};

  // An id that is too old to count but not yet forgotten makes room first.
  if (const MessageNo* old = turn.state().mail.by_id.find({box, message.id})) {
    const MessageNo number = *old;
    forget(turn, {project, *turn.state().mail.messages.find(number)->acked_at, number});
    turn.arm(Due{project}, next_overdue(turn.state().mail.acked, project));
  }
  const MessageNo number = turn.next_id<MessageNo>();
  const std::string id = message.id.empty() ? made_id(turn, box, number) : message.id;
  Table& table = turn.change().mail;
  table.messages.set(number, {box, id, message.from, message.text, turn.now(), std::nullopt});
  table.by_id.set({box, id}, number);
  table.waiting.insert({box, number});
  ++table.counts.edit_or_insert(box);
  turn.emit(project, Event{WasSent{box.name, id, message.from}});
  return Sent{id, false};
}

reeve::Reply apply(Turn& turn, const Command& command) {
  return match(
      command,
      [&](const Send& message) -> reeve::Reply {
        return match(
            send(turn, turn.project(), message),
            [](Sent sent) -> reeve::Reply { return {Reply{std::move(sent)}}; },
            [](Refused refusal) -> reeve::Reply { return {std::move(refusal)}; });
      },
      [&](const Read& it) { return read(turn, it); },
      [&](const Ack& it) { return ack(turn, it); });
}

void due(Turn& turn, const Due& due) { forget_overdue(turn, due.project); }

void finished(Turn&, EffectId, const Address&, const Outcome&) {}

EventName name_of(const Event& event) {
  return match(
      event,
      [](const WasSent& sent) { return EventName{"mail", sent.box, "sent"}; },
      [](const WasAcked& acked) { return EventName{"mail", acked.box, "acked"}; });
}

}  // namespace reeve::mailbox
