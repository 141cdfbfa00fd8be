#pragma once

#include "base/persistent_map.h"
#include "base/time.h"
#include "core/answer.h"
#include "core/finished.h"
#include "core/id.h"

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

// Messages for an agent (or anybody with a name), kept until they were read and acknowledged.
//
//            send                    ack                    1,000 a project, or 24 h
//     ──────────────▶ Waiting ──────────────▶ Acknowledged ──────────────▶ forgotten
//                      │   ▲
//                      └───┘ read: stays where it is
//
// A message is on disk before its sender is told so. Reading takes nothing away; a reader that
// dies in between finds everything again. The same id sent twice to one box is delivered once,
// also after it was acknowledged, for as long as it is remembered. A box comes into being with
// its first message, and its messages stand in the order in which they were sent.
namespace reeve {
class Turn;
struct EventName;
struct Outcome;
struct Reply;
}  // namespace reeve

namespace reeve::mailbox {

using BoxName = Scoped<struct BoxKind>;
using MessageNo = Number<struct MessageKind>;  // its place in the order of all mail

struct Message {
  BoxName box;
  std::string id;
  std::string from;
  std::string text;
  Time sent_at;
  std::optional<Time> acked_at;

  bool operator==(const Message&) const = default;
};

struct IdKey {
  BoxName box;
  std::string id;

  auto operator<=>(const IdKey&) const = default;
};

struct WaitingKey {
  BoxName box;
  MessageNo number;

  auto operator<=>(const WaitingKey&) const = default;
};

struct Table {
  PersistentMap<MessageNo, Message> messages;
  PersistentMap<IdKey, MessageNo> by_id;
  PersistentSet<WaitingKey> waiting;             // not acknowledged, in order
  PersistentMap<BoxName, std::uint64_t> counts;  // of waiting; no entry: none
  Finished<MessageNo> acked;

  bool operator==(const Table&) const = default;
};

// ── Commands ──

struct Send {
  std::string to;
  std::string id;    // empty: one is made
  std::string from;  // may be empty
  std::string text;

  bool operator==(const Send&) const = default;
};

// What waits in a box, oldest first, at most a batch; `after` goes on behind a message.
struct Read {
  std::string box;
  std::string after;  // an id; empty: from the beginning
  std::uint32_t max = 100;

  bool operator==(const Read&) const = default;
};

struct Ack {
  std::string box;
  std::string id;

  bool operator==(const Ack&) const = default;
};

using Command = std::variant<Send, Read, Ack>;

// ── Replies ──

struct Sent {
  std::string id;
  bool again = false;  // it had been sent before: nothing was added

  bool operator==(const Sent&) const = default;
};

struct Mail {
  std::vector<Message> messages;
  bool more = false;

  bool operator==(const Mail&) const = default;
};

struct Acked {
  bool again = false;

  bool operator==(const Acked&) const = default;
};

using Reply = std::variant<Sent, Mail, Acked>;

// ── Events: mail:sent, mail:acked; the subject is the box ──

struct WasSent {
  std::string box;
  std::string id;
  std::string from;

  bool operator==(const WasSent&) const = default;
};

struct WasAcked {
  std::string box;
  std::string id;

  bool operator==(const WasAcked&) const = default;
};

using Event = std::variant<WasSent, WasAcked>;

// The oldest acknowledged message of a project is to be forgotten.
struct Due {
  ProjectNo project;

  auto operator<=>(const Due&) const = default;
};

// Mail causes no effects.
struct Address {
  bool operator==(const Address&) const = default;
};

reeve::Reply apply(Turn& turn, const Command& command);
void due(Turn& turn, const Due& due);
void finished(Turn& turn, EffectId effect, const Address& to, const Outcome& outcome);

// `send` for other nouns: what a dispatch leaves for an agent that cannot be reached now.
std::variant<Sent, Refused> send(Turn& turn, ProjectNo project, const Send& message);

// Whether `send` would refuse it, before anything is done.
std::optional<Refused> refusal_of(const Turn& turn, ProjectNo project, const Send& message);

EventName name_of(const Event& event);

}  // namespace reeve::mailbox
