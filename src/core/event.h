#pragma once

#include "base/bytes.h"
#include "base/time.h"
#include "core/board.h"
#include "core/cron.h"
#include "core/custody.h"
#include "core/decision.h"
#include "core/dispatch.h"
#include "core/event_name.h"
#include "core/grant.h"
#include "core/guard.h"
#include "core/id.h"
#include "core/lock.h"
#include "core/mailbox.h"
#include "core/pipeline.h"
#include "core/queue.h"
#include "core/semaphore.h"
#include "core/strategy.h"
#include "core/task.h"
#include "core/walled.h"
#include "core/worker.h"

#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace reeve {

// Somebody must look: the seed's Escalate. What to do about it is a decision (core/decision).
struct Escalate {
  std::string subject;
  std::string message;

  bool operator==(const Escalate&) const = default;
};

// A user's own event: `reeve emit ci:green branch=main`.
struct Custom {
  EventName name;
  std::vector<std::pair<std::string, std::string>> data;

  bool operator==(const Custom&) const = default;
};

// What the engine tells of itself: the daemon is ready, the machine slept, the clock was set.
struct System {
  enum class What : std::uint8_t { Ready, Suspended, Late, ClockStepped };
  What what = What::Ready;

  bool operator==(const System&) const = default;
};

using EventSum = std::variant<lock::Event,
                              semaphore::Event,
                              grant::Event,
                              custody::Event,
                              queue::Event,
                              task::Event,
                              pipeline::Event,
                              strategy::Event,
                              guard::Event,
                              dispatch::Event,
                              worker::Event,
                              cron::Event,
                              board::Event,
                              decision::Event,
                              mailbox::Event,
                              Escalate,
                              Custom,
                              System>;

// What happened: one small variant a noun, behind a wall (core/walled).
struct EventBody : EventSum {
  EventBody(lock::Event event);
  EventBody(semaphore::Event event);
  EventBody(grant::Event event);
  EventBody(custody::Event event);
  EventBody(queue::Event event);
  EventBody(task::Event event);
  EventBody(pipeline::Event event);
  EventBody(strategy::Event event);
  EventBody(guard::Event event);
  EventBody(dispatch::Event event);
  EventBody(worker::Event event);
  EventBody(cron::Event event);
  EventBody(board::Event event);
  EventBody(decision::Event event);
  EventBody(mailbox::Event event);
  EventBody(Escalate event);
  EventBody(Custom event);
  EventBody(System event);
  template <walled::WordOf<EventSum> Word>
  EventBody(Word word) : EventBody(walled::NounFor<Word, EventSum>(std::move(word))) {}
  EventBody(const EventBody& other);
  EventBody(EventBody&& other) noexcept;
  EventBody& operator=(const EventBody& other);
  EventBody& operator=(EventBody&& other) noexcept;
  ~EventBody();

  friend bool operator==(const EventBody& a, const EventBody& b);
};

// A fact the core announces. Its id is the input that caused it and its place in that step.
struct Event {
  std::uint64_t sequence = 0;
  std::uint32_t index = 0;
  Wall at;
  ProjectNo project;
  EventBody body;

  bool operator==(const Event&) const = default;
};

EventName name_of(const EventBody& body);

}  // namespace reeve
