#include "api/board.h"
#include "api/methods.h"
#include "api/paging.h"
#include "api/rpc.h"

#include <fmt/format.h>

#include <charconv>

// The sections of the board, and how long its locks are good.
namespace reeve::api {
namespace {

// ── Changes ──

void tell_section(Tell& tell, const Reply& reply) {
  if (std::holds_alternative<board::Reply>(reply.value)) return tell_board(tell, reply);
  const auto name = name_of<SectionName>(tell);
  tell.result();
  if (const board::Section* section = tell.state().board.sections.find(name)) {
    show_section(tell, tell.state(), name, *section, true);
  } else {
    tell.json.field("name", tell.kept().name);
  }
}

// kept: flag that somebody had it.
void tell_let_go(Tell& tell, const Reply& reply) {
  tell_section(tell, reply);
  if (std::holds_alternative<board::Reply>(reply.value)) return;
  tell.json.field("outcome", tell.kept().flag ? "released" : "already_free");
}

void add(Asking& ask) {
  board::AddSection command{ask.need_name<SectionName>()};
  ask.submit_and_look("section", std::move(command), tell_section);
}

void remove(Asking& ask) {
  board::RemoveSection command{ask.need_name<SectionName>()};
  ask.submit_and_look("section", std::move(command), tell_section);
}

void release(Asking& ask) {
  board::LetGo command;
  command.section = ask.need_name<SectionName>();
  command.runner = need_runner(ask);
  ask.kept.flag = tenure_of(ask.state(), command.section) != nullptr;
  ask.submit_and_look("section", std::move(command), tell_let_go);
}

// ── Questions ──

// Where a list goes on is the number of a section, with `//` before it if it is a shared one.
std::optional<std::uint64_t> parse_order(std::string_view text) {
  if (text.starts_with("//")) text.remove_prefix(2);
  std::uint64_t order = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), order);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return order;
}

// In the order in which tasks are looked for: that of their making.
void show_sections(Tell& tell, const State& state) {
  const std::string& after = tell.kept().second;
  auto left = tell.kept().number;
  std::string next;
  tell.result().key("sections").begin_array();
  const auto walk = [&](ProjectNo project, std::uint64_t from) {
    const auto& order = state.board.section_order;
    for (auto at = order.lower_bound({project, from, ""}); at != order.end(); ++at) {
      if (at->project != project || !next.empty()) return;
      if (left-- == 0 || tell.size() > limits::list_bytes) {
        next = tell.shown(project, std::to_string(at->order));
        return;
      }
      const SectionName name{project, at->name};
      tell.json.begin_object();
      show_section(tell, state, name, *state.board.sections.find(name), true);
      tell.json.end_object();
    }
  };
  const std::uint64_t from = parse_order(after).value_or(0);
  const bool in_shared = after.starts_with("//");
  if (!in_shared) walk(tell.project(), from);
  if (tell.project() != shared_project) walk(shared_project, in_shared ? from : 0);
  tell.json.end_array();
  if (!next.empty()) tell.json.field("next", next);
}

void list(Asking& ask) {
  const std::string_view after = ask.params.text("after").value_or("");
  if (!after.empty() && !parse_order(after)) {
    ask.params.refuse("after", "must be what `next` of the page before was");
  }
  ask.kept.second = after;
  ask.kept.number = ask.params.integer("limit", 1, limits::list_entries)
                        .value_or(static_cast<std::int64_t>(limits::list_entries));
  ask.look(show_sections);
}

void show_one(Tell& tell, const State& state) {
  const auto name = name_of<SectionName>(tell);
  const board::Section* section = state.board.sections.find(name);
  if (!section) return tell_not_found(tell, "section", tell.kept().name);
  tell.result();
  show_section(tell, state, name, *section, false);
}

void show(Asking& ask) {
  ask.need_name<SectionName>();
  ask.look(show_one);
}

// ── How long locks are good ──

void tell_locking(Tell& tell, const State& state) {
  const board::Project* project = state.board.projects.find(tell.project());
  const board::Locking locking = project ? project->locking : board::Locking{};
  JsonWriter& json = tell.result();
  json.field("task_timeout_ms", locking.task_timeout.count());
  json.field("section_timeout_ms", locking.section_timeout.count());
  json.field("wait_timeout_ms", locking.wait_timeout.count());
}

// What is not named stays; with what is there already nothing is written down.
void configure(Asking& ask) {
  const board::Project* project = ask.state().board.projects.find(ask.project());
  const board::Locking before = project ? project->locking : board::Locking{};
  board::Locking locking = before;
  locking.task_timeout = ask.params.some_duration("task_timeout_ms").value_or(before.task_timeout);
  locking.section_timeout =
      ask.params.some_duration("section_timeout_ms").value_or(before.section_timeout);
  locking.wait_timeout = ask.params.duration("wait_timeout_ms").value_or(before.wait_timeout);
  if (locking == before) return ask.look(tell_locking);
  ask.submit_and_look("board",
                      board::SetLocking{ask.project(), locking},
                      [](Tell& tell, const Reply&) { tell_locking(tell, tell.state()); });
}

constexpr Named methods[] = {
    {"section.add", add},
    {"section.remove", remove},
    {"section.release", release},
    {"section.list", list},
    {"section.show", show},
    {"board.configure", configure},
};

}  // namespace

std::span<const Named> section_methods() { return methods; }

}  // namespace reeve::api
