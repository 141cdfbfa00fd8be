#include "core/event.h"

#include "base/match.h"

#include <utility>

namespace reeve {
namespace {

std::string verb_of(System::What what) {
  switch (what) {
    case System::What::Ready:
      return "ready";
    case System::What::Suspended:
      return "suspended";
    case System::What::Late:
      return "late";
    case System::What::ClockStepped:
      return "clock-stepped";
  }
  return {};
}

}  // namespace

EventBody::EventBody(lock::Event event) : EventSum(std::move(event)) {}
EventBody::EventBody(semaphore::Event event) : EventSum(std::move(event)) {}
EventBody::EventBody(grant::Event event) : EventSum(std::move(event)) {}
EventBody::EventBody(custody::Event event) : EventSum(std::move(event)) {}
EventBody::EventBody(queue::Event event) : EventSum(std::move(event)) {}
EventBody::EventBody(task::Event event) : EventSum(std::move(event)) {}
EventBody::EventBody(pipeline::Event event) : EventSum(std::move(event)) {}
EventBody::EventBody(strategy::Event event) : EventSum(std::move(event)) {}
EventBody::EventBody(guard::Event event) : EventSum(std::move(event)) {}
EventBody::EventBody(dispatch::Event event) : EventSum(std::move(event)) {}
EventBody::EventBody(worker::Event event) : EventSum(std::move(event)) {}
EventBody::EventBody(cron::Event event) : EventSum(std::move(event)) {}
EventBody::EventBody(board::Event event) : EventSum(std::move(event)) {}
EventBody::EventBody(decision::Event event) : EventSum(std::move(event)) {}
EventBody::EventBody(mailbox::Event event) : EventSum(std::move(event)) {}
EventBody::EventBody(Escalate event) : EventSum(std::move(event)) {}
EventBody::EventBody(Custom event) : EventSum(std::move(event)) {}
EventBody::EventBody(System event) : EventSum(std::move(event)) {}
EventBody::EventBody(const EventBody&) = default;
EventBody::EventBody(EventBody&&) noexcept = default;
EventBody& EventBody::operator=(const EventBody&) = default;
EventBody& EventBody::operator=(EventBody&&) noexcept = default;
EventBody::~EventBody() = default;

bool operator==(const EventBody& a, const EventBody& b) {
  return static_cast<const EventSum&>(a) == static_cast<const EventSum&>(b);
}

EventName name_of(const EventBody& body) {
  return match(
      body,
      [](const lock::Event& event) { return lock::name_of(event); },
      [](const semaphore::Event& event) { return semaphore::name_of(event); },
      [](const grant::Event& event) { return grant::name_of(event); },
      [](const custody::Event& event) { return custody::name_of(event); },
      [](const queue::Event& event) { return queue::name_of(event); },
      [](const task::Event& event) { return task::name_of(event); },
      [](const pipeline::Event& event) { return pipeline::name_of(event); },
      [](const strategy::Event& event) { return strategy::name_of(event); },
      [](const guard::Event& event) { return guard::name_of(event); },
      [](const dispatch::Event& event) { return dispatch::name_of(event); },
      [](const worker::Event& event) { return worker::name_of(event); },
      [](const cron::Event& event) { return cron::name_of(event); },
      [](const board::Event& event) { return board::name_of(event); },
      [](const decision::Event& event) { return decision::name_of(event); },
      [](const mailbox::Event& event) { return mailbox::name_of(event); },
      [](const Escalate& event) { return EventName{"escalate", event.subject, ""}; },
      [](const Custom& event) { return event.name; },
      [](const System& event) { return EventName{"system", "", verb_of(event.what)}; });
}

}  // namespace reeve
