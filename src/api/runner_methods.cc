#include "api/board.h"
#include "api/errors.h"
#include "api/fields.h"
#include "api/methods.h"
#include "api/paging.h"
#include "api/rpc.h"
#include "base/match.h"

#include <fmt/format.h>

#include <charconv>
#include <vector>

// The runners of the board, and the locks they have.
namespace reeve::api {
namespace {

using board::RunnerName;

// ── Runners ──

void heartbeat(Asking& ask) {
  board::RunnerHeartbeat command{ask.need_name<RunnerName>()};
  ask.submit("runner", std::move(command), tell_board);
}

void forget(Asking& ask) {
  board::ForgetRunner command{ask.need_name<RunnerName>()};
  ask.submit("runner", std::move(command), [](Tell& tell, const Reply&) {
    tell.result().field("name", tell.kept().name);
  });
}

void show_runners(Tell& tell, const State& state) {
  tell.result();
  page_of_names(tell,
                state.board.runners,
                "runners",
                [&](const RunnerName& name, const board::Runner& runner) {
                  show_runner(tell, state, name, runner, true);
                });
}

void list_runners(Asking& ask) {
  keep_page(ask);
  ask.look(show_runners);
}

void show_one_runner(Tell& tell, const State& state) {
  const auto name = name_of<RunnerName>(tell);
  const board::Runner* runner = state.board.runners.find(name);
  if (!runner) return tell_not_found(tell, "runner", tell.kept().name);
  tell.result();
  show_runner(tell, state, name, *runner, false);
}

void show_the_runner(Asking& ask) {
  ask.need_name<RunnerName>();
  ask.look(show_one_runner);
}

// ── Locks ──

// Where a list goes on: the runner, and what it has. No name has a tab in it.
std::string place_of(const board::HeldKey& key) {
  const std::string runner = fmt::format("{}\t{}", key.runner.project.value, key.runner.name);
  return match(
      key.what,
      [&](const BoardTaskId& id) { return fmt::format("{}\t{}", runner, to_text(id)); },
      [&](const SectionName& name) {
        return fmt::format("{}\t{}\t{}", runner, name.project.value, name.name);
      });
}

std::optional<ProjectNo> parse_project(std::string_view text) {
  ProjectNo project;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), project.value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return project;
}

std::optional<board::HeldKey> parse_place(std::string_view text) {
  std::vector<std::string_view> parts;
  for (std::size_t tab = text.find('\t'); tab != std::string_view::npos; tab = text.find('\t')) {
    parts.push_back(text.substr(0, tab));
    text.remove_prefix(tab + 1);
  }
  parts.push_back(text);
  const auto project = parse_project(parts[0]);
  if (!project || parts.size() < 3 || parts.size() > 4) return std::nullopt;
  const RunnerName runner{*project, std::string(parts[1])};
  if (parts.size() == 3) {
    const auto id = parse_id<BoardTaskId>(parts[2]);
    return id ? std::optional(board::HeldKey{runner, *id}) : std::nullopt;
  }
  const auto of_section = parse_project(parts[2]);
  if (!of_section) return std::nullopt;
  return board::HeldKey{runner, SectionName{*of_section, std::string(parts[3])}};
}

// What the project's runners have, wherever that is, and what others have of what it sees.
bool is_lock_seen(const State& state, const board::HeldKey& key, ProjectNo project) {
  if (key.runner.project == project) return true;
  return match(
      key.what,
      [&](const BoardTaskId& id) {
        const board::BoardTask* task = state.board.tasks.find(id);
        return task && is_seen(*task, project);
      },
      [&](const SectionName& name) {
        return name.project == project || name.project == shared_project;
      });
}

// kept: name the type, second where to begin, number the limit.
void show_locks(Tell& tell, const State& state) {
  const std::string& type = tell.kept().name;
  const auto& held = state.board.held;
  const auto after = parse_place(tell.kept().second);
  auto left = tell.kept().number;
  std::string last;
  std::string next;
  tell.result().key("locks").begin_array();
  for (auto at = after ? held.upper_bound(*after) : held.begin(); at != held.end(); ++at) {
    if (!is_lock_seen(state, *at, tell.project())) continue;
    const bool is_task = std::holds_alternative<BoardTaskId>(at->what);
    if (!type.empty() && (type == "task") != is_task) continue;
    if (left-- == 0 || tell.size() > limits::list_bytes) {
      next = last;
      break;
    }
    last = place_of(*at);
    tell.json.begin_object();
    show_board_lock(tell, state, at->what);
    tell.json.end_object();
  }
  tell.json.end_array();
  if (!next.empty()) tell.json.field("next", next);
}

void list_locks(Asking& ask) {
  const std::string_view type = ask.params.text("type").value_or("all");
  if (type != "task" && type != "section" && type != "all") {
    ask.params.refuse("type", "must be task, section or all");
  }
  ask.kept.name = type == "all" ? "" : type;
  const std::string_view after = ask.params.text("after").value_or("");
  if (!after.empty() && !parse_place(after)) {
    ask.params.refuse("after", "must be what `next` of the page before was");
  }
  ask.kept.second = after;
  ask.kept.number = ask.params.integer("limit", 1, limits::list_entries)
                        .value_or(static_cast<std::int64_t>(limits::list_default));
  ask.look(show_locks);
}

// A task, a section, or both by one name.
struct MeantThing {
  std::optional<BoardTaskId> task;
  std::optional<SectionName> section;

  std::optional<LockedThing> only() const {
    if (task && !section) return LockedThing{*task};
    if (section && !task) return LockedThing{*section};
    return std::nullopt;
  }
};

MeantThing thing_meant(const State& state,
                       ProjectNo project,
                       std::string_view text,
                       std::string_view type) {
  MeantThing meant;
  const auto section = name_written<SectionName>(text, project);
  if (type != "task" && state.board.sections.contains(section)) meant.section = section;
  if (type != "section") meant.task = task_meant(state, project, text).id;
  return meant;
}

// Who has both by one name says which. None: that was told.
std::optional<LockedThing> thing_or_tell(Tell& tell,
                                         const State& state,
                                         std::string_view text,
                                         std::string_view type) {
  const MeantThing meant = thing_meant(state, tell.project(), text, type);
  if (const auto only = meant.only()) return only;
  if (meant.section) {
    tell.error(
            code::ambiguous,
            fmt::format("a task and a section are called {}; say which with --type", quoted(text)))
        .field("name", text);
    return std::nullopt;
  }
  if (type == "section") {
    tell_not_found(tell, "section", text);
  } else {
    task_or_tell(tell, state, text);
  }
  return std::nullopt;
}

void read_thing(Asking& ask) {
  ask.kept.name = ask.params.need_text("id");
  ask.kept.second = ask.params.text("type").value_or("");
  const std::string& type = ask.kept.second;
  if (!type.empty() && type != "task" && type != "section") {
    ask.params.refuse("type", "must be task or section");
  }
}

void show_one_lock(Tell& tell, const State& state) {
  const auto thing = thing_or_tell(tell, state, tell.kept().name, tell.kept().second);
  if (!thing) return;
  tell.result();
  show_board_lock(tell, state, *thing);
  const board::BoardTask* task = nullptr;
  if (const auto* id = std::get_if<BoardTaskId>(&*thing)) task = state.board.tasks.find(*id);
  const board::Line line = !task           ? board::Line{std::get<SectionName>(*thing)}
                           : task->section ? board::Line{*task->section}
                                           : board::Line{std::get<BoardTaskId>(*thing)};
  show_board_line(tell, state, line);
}

void show_lock_of(Asking& ask) {
  read_thing(ask);
  ask.look(show_one_lock);
}

// What somebody else works on is taken from them, so it has to be said that this is meant.
void release(Asking& ask) {
  read_thing(ask);
  const bool force = ask.params.flag("force");
  board::ForceRelease command;
  command.by = ask.params.text("by").value_or(ask.desk().steward().about().user);
  command.reason = ask.params.text("reason").value_or("");
  if (!ask.is_good()) return;
  const std::string text = ask.kept.name;
  const auto thing = thing_meant(ask.state(), ask.project(), text, ask.kept.second).only();
  if (!thing || !force) {
    const State& state = ask.state();
    return ask.answer([&](Tell& tell) {
      if (!thing_or_tell(tell, state, text, tell.kept().second)) return;
      const board::Tenure* lock = tenure_of(state, *thing);
      tell.error(code::not_allowed,
                 fmt::format("{} is {}; --force takes it away all the same",
                             quoted(text),
                             lock ? fmt::format("locked by runner {}",
                                                runner_in_words(tell, state, lock->runner))
                                  : std::string("not locked")))
          .field("name", text);
    });
  }
  ask.kept.flag = tenure_of(ask.state(), *thing) != nullptr;
  match(
      *thing,
      [&](const BoardTaskId& id) {
        ask.kept.second = to_text(id);
        command.what = board::TaskRef{id};
      },
      [&](const SectionName& name) {
        ask.kept.second.clear();
        command.what = name;
      });
  ask.submit("lock", std::move(command), [](Tell& tell, const Reply&) {
    const Kept& kept = tell.kept();
    tell.result().field("type", kept.second.empty() ? "section" : "task");
    tell.json.field("id", kept.second.empty() ? kept.name : kept.second);
    tell.json.field("outcome", kept.flag ? "released" : "already_free");
  });
}

void cleanup(Asking& ask) {
  ask.kept.flag = ask.params.flag("dry_run");
  ask.submit_and_look("lock", board::Cleanup{ask.project(), ask.kept.flag}, tell_board);
}

constexpr Named methods[] = {
    {"runner.list", list_runners},
    {"runner.show", show_the_runner},
    {"runner.heartbeat", heartbeat},
    {"runner.forget", forget},
    {"locks.list", list_locks},
    {"locks.show", show_lock_of},
    {"locks.release", release},
    {"locks.cleanup", cleanup},
};

}  // namespace

std::span<const Named> runner_methods() { return methods; }

}  // namespace reeve::api
