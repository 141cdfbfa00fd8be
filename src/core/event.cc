#include "core/event.h"

#include "base/match.h"

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

EventName name_of(const EventBody& body) {
  return match(
      body, [](const lock::Event& event) { return lock::name_of(event); },
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
