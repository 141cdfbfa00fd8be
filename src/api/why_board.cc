#include "api/board.h"
#include "api/why.h"
#include "api/why_chain.h"
#include "base/match.h"
#include "codec/shell_word.h"

#include <fmt/format.h>

namespace reeve::api {
namespace {

void holder(Tell& tell, const State& state, const LockedThing& what) {
  const board::Tenure* lock = tenure_of(state, what);
  if (!lock) return;
  JsonWriter& json = tell.json.begin_object();
  match(
      what,
      [&](const BoardTaskId& id) { json.field("kind", "task").field("name", to_text(id)); },
      [&](const SectionName& name) {
        json.field("kind", "section").field("name", tell.name(name));
      });
  show_runner_name(tell, state, lock->runner, "holder", "holder_project");
  json.field("depth", 0);
  tell.moment("since", lock->lease.acquired_at);
  const bool over = is_over(state, what, tell.now().now);
  json.field(
      "detail",
      over ? "its time is over: the first who asks gets it"
           : fmt::format("see `reeve runner show {}`", codec::shell_word(tell.name(lock->runner))));
  json.end_object();
}

void line(Tell& tell, const State& state, const board::Line& of) {
  tell.json.key("line").begin_array();
  std::size_t count = 0;
  const PersistentSet<board::LinePlace>& lines = state.board.lines;
  for (auto at = lines.lower_bound({of, {}}); at != lines.end() && at->line == of; ++at) {
    if (++count > limits::waiters_shown) continue;
    const board::Waiter& waiter = *state.board.waiters.find(at->waiter);
    tell.json.begin_object();
    show_runner_name(tell, state, waiter.runner, "holder", "holder_project");
    tell.json.field("place", count);
    tell.moment("since", waiter.since);
    tell.moment("until", waiter.until);
    tell.json.end_object();
  }
  tell.json.end_array().field("waiting", count);
}

// When whoever has it has been silent for too long.
std::optional<Next> next_of(Tell& tell, const State& state, const LockedThing& what) {
  const board::Tenure* lock = tenure_of(state, what);
  if (!lock || is_over(state, what, tell.now().now)) return std::nullopt;
  return Next{fmt::format("anybody can claim it unless {} sends a heartbeat",
                          runner_in_words(tell, state, lock->runner)),
              limit_of(state, what)};
}

}  // namespace

void why_task(Tell& tell, const State& state, BoardTaskId id) {
  const board::BoardTask& task = *state.board.tasks.find(id);
  tell.result().key("id").plain(to_text(id)).field("kind", "task").field("title", task.title);
  tell.json.field("state", text_of(task.status));
  tell.json.key("waiting_on").begin_array();
  holder(tell, state, id);
  // Of one that somebody has, the section says nothing more.
  const bool in_section = task.section && !task.lock && board::is_open(task.status);
  if (in_section) holder(tell, state, *task.section);
  tell.json.end_array();
  line(tell, state, task.section ? board::Line{*task.section} : board::Line{id});
  tell_next(tell, in_section ? next_of(tell, state, *task.section) : next_of(tell, state, id));
}

void why_section(Tell& tell, const State& state, const SectionName& name) {
  const board::Section& section = *state.board.sections.find(name);
  tell.result().field("id", tell.name(name)).field("kind", "section");
  tell.json.field("open", section.open);
  tell.json.key("waiting_on").begin_array();
  holder(tell, state, name);
  tell.json.end_array();
  line(tell, state, name);
  tell_next(tell, next_of(tell, state, name));
}

}  // namespace reeve::api
