#include "api/board.h"
#include "api/errors.h"
#include "api/ids.h"
#include "api/limits.h"
#include "api/methods.h"
#include "api/paging.h"
#include "api/rpc.h"
#include "api/show.h"
#include "api/show_run.h"
#include "api/status.h"
#include "api/why.h"

#include <fmt/format.h>

#include <algorithm>

// Questions about everything: why.get, state.show, status.get, project.list, names.list.
namespace reeve::api {
namespace {

constexpr std::string_view known_kinds[] = {"lock",
                                            "sem",
                                            "queue",
                                            "worker",
                                            "cron",
                                            "item",
                                            "pipeline",
                                            "decision",
                                            "agent",
                                            "task",
                                            "section"};

// ── What is meant by a name ──

// kept: name what was asked for, second the kind that was said. None: that was told.
std::optional<std::string_view> kind_meant(Tell& tell, const State& state) {
  const std::string& text = tell.kept().name;
  const std::string& said = tell.kept().second;
  const std::vector<std::string_view> kinds = kinds_of(state, text, tell.project());
  if (!said.empty() && std::ranges::find(kinds, said) != kinds.end()) {
    return *std::ranges::find(known_kinds, said);
  }
  if (said.empty() && kinds.size() == 1) return kinds.front();
  if (said.empty() && kinds.size() > 1) {
    std::string all;
    for (const std::string_view kind : kinds)
      all += fmt::format("{}{}", all.empty() ? "" : ", ", kind);
    JsonWriter& json = tell.error(
        code::ambiguous,
        fmt::format(
            "more than one thing is called {} ({}); say which with --kind", quoted(text), all));
    json.field("name", text).key("kinds").begin_array();
    for (const std::string_view kind : kinds) json.text(kind);
    json.end_array();
    return std::nullopt;
  }
  tell_not_found(tell, said, text);
  return std::nullopt;
}

// The item whose id begins so, if what was said is nothing by itself: for people.
std::string item_meant(Asking& ask, std::string_view text) {
  const std::size_t least = prefix_of(ItemId{}).size() + 1;
  if (text.size() < least || !text.starts_with(prefix_of(ItemId{}))) return std::string(text);
  if (!kinds_of(ask.state(), text, ask.project()).empty()) return std::string(text);
  std::string found;
  std::size_t looked_at = 0;
  for (const auto& [id, item] : ask.state().queues.items) {
    if (++looked_at > limits::prefix_search) {
      ask.params.refuse("id", "must be whole: there are too many items to look for its beginning");
      break;
    }
    std::string whole = to_text(id);
    if (!whole.starts_with(text)) continue;
    if (!found.empty()) {
      ask.params.refuse("id", fmt::format("{} is the beginning of more than one id", quoted(text)));
      break;
    }
    found = std::move(whole);
  }
  return found.empty() ? std::string(text) : found;
}

void keep_meant(Asking& ask) {
  ask.kept.name = item_meant(ask, ask.params.need_text("id"));
  ask.kept.second = ask.params.text("kind").value_or("");
  const bool known = std::ranges::find(known_kinds, ask.kept.second) != std::end(known_kinds);
  if (!ask.kept.second.empty() && !known) {
    ask.params.refuse("kind",
                      "must be lock, sem, queue, worker, cron, item, pipeline, decision, agent, "
                      "task or section");
  }
}

void show_why(Tell& tell, const State& state) {
  const std::optional<std::string_view> kind = kind_meant(tell, state);
  if (!kind) return;
  if (*kind == "lock") return why_lock(tell, state, name_of<LockName>(tell));
  if (*kind == "sem") return why_semaphore(tell, state, name_of<SemaphoreName>(tell));
  if (*kind == "queue") {
    return why_queue(tell, state, *state.queues.names.find(name_of<QueueName>(tell)));
  }
  if (*kind == "worker") return why_worker(tell, state, name_of<WorkerName>(tell));
  if (*kind == "cron") return why_cron(tell, state, name_of<CronName>(tell));
  if (*kind == "item") return why_item(tell, state, *parse_id<ItemId>(tell.kept().name));
  if (*kind == "section") return why_section(tell, state, name_of<SectionName>(tell));
  const std::string& text = tell.kept().name;
  if (*kind == "task") {
    if (const auto id = task_or_tell(tell, state, text)) why_task(tell, state, *id);
    return;
  }
  if (*kind == "pipeline") {
    if (const auto id = id_or_tell<PipelineId>(tell, state.pipelines.pipelines, text, *kind)) {
      why_pipeline(tell, state, *id);
    }
  } else if (*kind == "decision") {
    if (const auto id = id_or_tell<DecisionId>(tell, state.decisions.decisions, text, *kind)) {
      why_decision(tell, state, *id);
    }
  } else if (const auto id = id_or_tell<WorkId>(tell, state.tasks.attempts, text, *kind)) {
    why_agent(tell, state, *id);
  }
}

void why(Asking& ask) {
  keep_meant(ask);
  ask.look(show_why);
}

// What is meant may be the beginning of more than one id, so nothing is said before it is found.
void show_by_id(Tell& tell, const State& state, std::string_view kind) {
  const std::string& text = tell.kept().name;
  if (kind == "pipeline") {
    const auto id = id_or_tell<PipelineId>(tell, state.pipelines.pipelines, text, kind);
    if (!id) return;
    tell.result().field("kind", kind);
    show_pipeline(tell, state, *state.pipelines.pipelines.find(*id), false);
  } else if (kind == "decision") {
    const auto id = id_or_tell<DecisionId>(tell, state.decisions.decisions, text, kind);
    if (!id) return;
    tell.result().field("kind", kind);
    show_decision(tell, state, *id, *state.decisions.decisions.find(*id));
  } else {
    const auto id = id_or_tell<WorkId>(tell, state.tasks.attempts, text, kind);
    if (!id) return;
    tell.result().field("kind", kind);
    show_agent(tell, state, *state.tasks.tasks.find(state.tasks.attempts.find(*id)->work));
  }
}

void show_meant(Tell& tell, const State& state) {
  const std::optional<std::string_view> kind = kind_meant(tell, state);
  if (!kind) return;
  if (*kind == "pipeline" || *kind == "decision" || *kind == "agent") {
    return show_by_id(tell, state, *kind);
  }
  tell.result().field("kind", *kind);
  if (*kind == "lock") {
    const LockName name = name_of<LockName>(tell);
    show_lock(tell, state, name, *state.locks.locks.find(name));
  } else if (*kind == "sem") {
    const SemaphoreName name = name_of<SemaphoreName>(tell);
    show_semaphore(tell, state, name, *state.semaphores.semaphores.find(name));
  } else if (*kind == "queue") {
    const queue::QueueNo no = *state.queues.names.find(name_of<QueueName>(tell));
    show_queue(tell, state, no, *state.queues.queues.find(no));
  } else if (*kind == "item") {
    const ItemId id = *parse_id<ItemId>(tell.kept().name);
    show_item(tell, state, id, *state.queues.items.find(id), false);
  } else if (*kind == "worker") {
    const WorkerName name = name_of<WorkerName>(tell);
    show_worker(tell, state, name, *state.workers.workers.find(name));
  } else if (*kind == "cron") {
    const CronName name = name_of<CronName>(tell);
    show_cron(tell, state, name, *state.crons.crons.find(name));
  } else if (*kind == "task") {
    const BoardTaskId id = *task_meant(state, tell.project(), tell.kept().name).id;
    show_board_task(tell, state, id, *state.board.tasks.find(id), false);
  } else if (*kind == "section") {
    const SectionName name = name_of<SectionName>(tell);
    show_section(tell, state, name, *state.board.sections.find(name), false);
  }
}

void show(Asking& ask) {
  keep_meant(ask);
  ask.look(show_meant);
}

// ── All at once ──

void status(Asking& ask) { ask.look(show_status); }

void show_projects(Tell& tell, const State& state) {
  JsonWriter& json = tell.result().key("projects").begin_array();
  for (const auto& [number, project] : state.projects.projects) {
    if (number == shared_project) continue;
    json.begin_object().field("name", project.name);
    if (!project.path.empty()) json.field("path", project.path);
    json.end_object();
  }
  json.end_array();
}

void projects(Asking& ask) { ask.look(show_projects); }

// kept: name the prefix, second the kind.
void show_names(Tell& tell, const State& state) {
  const std::string& prefix = tell.kept().name;
  const std::string& kind = tell.kept().second;
  std::size_t count = 0;
  JsonWriter& json = tell.result().key("names").begin_array();
  const auto add = [&](const std::string& name) {
    if (name.starts_with(prefix)) {
      json.text(name);
      ++count;
    }
    return count < limits::list_entries;
  };
  const auto add_all = [&](const auto& map) {
    each_of(
        map, tell.project(), [&](const auto& name, const auto&) { return add(tell.name(name)); });
  };
  if (kind == "lock") {
    add_all(state.locks.locks);
  } else if (kind == "sem") {
    add_all(state.semaphores.semaphores);
  } else if (kind == "queue") {
    add_all(state.queues.names);
  } else if (kind == "worker") {
    add_all(state.workers.workers);
  } else if (kind == "cron") {
    add_all(state.crons.crons);
  } else if (kind == "pipeline") {
    for (const auto& [id, pipeline] : state.pipelines.pipelines) {
      if (pipeline.project == tell.project() && !add(to_text(id))) break;
    }
  } else if (kind == "decision") {
    for (const auto& [owner, id] : state.decisions.open_of) {
      const ProjectNo of = state.decisions.decisions.find(id)->project;
      const bool ours = of == tell.project() || of == shared_project;
      if (ours && !add(to_text(id))) break;
    }
  } else if (kind == "agent") {
    for (const auto& [id, task] : state.tasks.tasks) {
      if (task.begun->project == tell.project() && !add(to_text(id))) break;
    }
  } else if (kind == "section") {
    add_all(state.board.sections);
  } else if (kind == "runner") {
    add_all(state.board.runners);
  } else if (kind == "task") {
    for (const auto& [id, task] : state.board.tasks) {
      if (is_seen(task, tell.project()) && !add(to_text(id))) break;
    }
  } else {
    for (const auto& [name, number] : state.projects.by_name) {
      if (number != shared_project && !add(name)) break;
    }
  }
  json.end_array();
}

void names(Asking& ask) {
  const std::string_view kind = ask.params.need_text("kind");
  const bool known =
      kind != "item" && std::ranges::find(known_kinds, kind) != std::end(known_kinds);
  if (!known && kind != "project" && kind != "runner") {
    ask.params.refuse("kind",
                      "must be lock, sem, queue, worker, cron, pipeline, decision, agent, task, "
                      "section, runner or project");
  }
  ask.kept.second = kind;
  ask.kept.name = ask.params.text("prefix").value_or("");
  ask.look(show_names);
}

constexpr Named methods[] = {
    {"why.get", why},
    {"state.show", show},
    {"status.get", status},
    {"project.list", projects},
    {"names.list", names},
};

}  // namespace

std::span<const Named> state_methods() { return methods; }

}  // namespace reeve::api
