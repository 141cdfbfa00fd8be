#include "adapters/history/rows.h"

#include "base/match.h"
#include "codec/event_json.h"

#include <charconv>

namespace reeve::history {

Statement* Rows::find(const char* sql) {
  const auto found = statements_.find(sql);
  if (found != statements_.end()) return &found->second;
  Result<Statement> statement = Statement::prepare(database_, sql);
  if (!statement) {
    failure_ = statement.error();
    return nullptr;
  }
  return &statements_.emplace(sql, *std::move(statement)).first->second;
}

std::int64_t Rows::wall(Time time) const { return codec::wall_of(time, stamp_).value_or(0); }

Result<void> Rows::add(const Event& event, Stamp stamp, std::string_view project) {
  at_ = event.at.time_since_epoch().count();
  sequence_ = event.sequence;
  stamp_ = stamp;
  project_ = project;
  add_event(event);
  match(
      event.body,
      [&](const lock::Event& it) { add(it); },
      [&](const semaphore::Event& it) { add(it); },
      [&](const grant::Event& it) { add(it); },
      [](const custody::Event&) {},
      [&](const queue::Event& it) { add(it); },
      [](const task::Event&) {},
      [&](const pipeline::Event& it) { add(it); },
      [](const strategy::Event&) {},
      [](const guard::Event&) {},
      [](const dispatch::Event&) {},
      [](const worker::Event&) {},
      [](const cron::Event&) {},
      [&](const board::Event& it) { add(it); },
      [&](const decision::Event& it) { add(it); },
      [](const mailbox::Event&) {},
      [](const Escalate&) {},
      [&](const Custom& it) { add_gap(it); },
      [&](const System& it) { add(it); });
  if (failure_) return fail(*failure_);
  return {};
}

void Rows::add_event(const Event& event) {
  const EventName name = name_of(event.body);
  scratch_.clear();
  // As somebody sees it who belongs to a project: what is shared is called //name.
  codec::append_event_data(scratch_, event, default_project, stamp_);
  run("INSERT INTO events (seq, idx, at_ms, project, kind, subject, data) "
      "VALUES (?, ?, ?, ?, ?, ?, ?)",
      event.sequence,
      event.index,
      at_,
      project_,
      codec::event_kind(name),
      name.subject,
      scratch_);
}

// What the engine says of us when we were too slow, or begin too late. One gap may be told of
// twice, the second time with its true end.
void Rows::add_gap(const Custom& custom) {
  if (custom.name.noun != "history" || custom.name.verb != "gap") return;
  std::int64_t from = 0;
  std::int64_t to = 0;
  for (const auto& [key, value] : custom.data) {
    std::int64_t& number = key == "from" ? from : to;
    std::from_chars(value.data(), value.data() + value.size(), number);
  }
  run("INSERT INTO gaps (from_seq, to_seq, at_ms) VALUES (?, ?, ?) "
      "ON CONFLICT (from_seq) DO UPDATE SET to_seq = max(to_seq, excluded.to_seq)",
      from,
      to,
      at_);
}

}  // namespace reeve::history
