#include "core/invariants.h"

#include <string>

namespace reeve::mailbox {
namespace {

std::string named(const Message& message) {
  return "mail: message " + message.id + " of " + message.box.name + " ";
}

void check_message(const State& state,
                   MessageNo number,
                   const Message& message,
                   Violations& violations) {
  const Table& table = state.mail;
  const MessageNo* by_id = table.by_id.find({message.box, message.id});
  if (!by_id || *by_id != number) violations.push_back(named(message) + "is not found by its id");
  const bool waits = table.waiting.contains({message.box, number});
  if (waits == message.acked_at.has_value()) {
    violations.push_back(named(message) + "waits and is acknowledged, or neither");
  }
  if (message.acked_at &&
      !table.acked.by_age.contains({message.box.project, *message.acked_at, number})) {
    violations.push_back(named(message) + "was acknowledged and would never be forgotten");
  }
  if (message.sent_at > state.now) violations.push_back(named(message) + "is from the future");
}

}  // namespace

void check(const State& state, Violations& violations) {
  const Table& table = state.mail;
  for (const auto& [number, message] : table.messages) {
    check_message(state, number, message, violations);
  }
  if (table.by_id.size() != table.messages.size()) {
    violations.push_back("mail: an id leads to no message");
  }
  if (table.waiting.size() + table.acked.by_age.size() != table.messages.size()) {
    violations.push_back("mail: a message that is not there waits or is acknowledged");
  }
  PersistentMap<BoxName, std::uint64_t> waiting;
  for (const WaitingKey& key : table.waiting) ++waiting.edit_or_insert(key.box);
  if (waiting != table.counts) violations.push_back("mail: the boxes are counted wrongly");
  for (const auto& [box, count] : table.counts) {
    if (count > limits::mail_a_box) violations.push_back("mail: " + box.name + " is too full");
  }
  PersistentMap<ProjectNo, std::uint64_t> acked;
  for (const FinishedKey<MessageNo>& key : table.acked.by_age) {
    ++acked.edit_or_insert(key.project);
  }
  if (acked != table.acked.counts) violations.push_back("mail: read mail is counted wrongly");
  for (const auto& [project, count] : table.acked.counts) {
    if (count > limits::finished_kept) violations.push_back("mail: too much read mail is kept");
    if (deadline_of(state.timers, Due{project}) != next_overdue(table.acked, project)) {
      violations.push_back("mail: the oldest read mail has no timer of its own");
    }
  }
}

}  // namespace reeve::mailbox
