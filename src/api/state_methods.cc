#include "api/errors.h"
#include "api/limits.h"
#include "api/methods.h"
#include "api/paging.h"
#include "api/rpc.h"
#include "api/show.h"
#include "api/why.h"
#include "codec/shell_word.h"

#include <fmt/format.h>

#include <algorithm>

// Questions about everything: why.get, state.show, status.get, project.list, names.list.
namespace reeve::api {
namespace {

constexpr std::string_view known_kinds[] = {"lock", "sem", "queue", "item"};

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
  const std::string_view kind = said.empty() ? std::string_view("thing called") : said;
  tell_not_found(tell, kind, text);
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
    ask.params.refuse("kind", "must be lock, sem, queue or item");
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
  why_item(tell, state, *parse_id<ItemId>(tell.kept().name));
}

void why(Asking& ask) {
  keep_meant(ask);
  ask.look(show_why);
}

void show_meant(Tell& tell, const State& state) {
  const std::optional<std::string_view> kind = kind_meant(tell, state);
  if (!kind) return;
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
  } else {
    const ItemId id = *parse_id<ItemId>(tell.kept().name);
    show_item(tell, state, id, *state.queues.items.find(id), false);
  }
}

void show(Asking& ask) {
  keep_meant(ask);
  ask.look(show_meant);
}

// ── All at once ──

template <class Map, class Each>
void each_of(const Map& map, ProjectNo project, Each each) {
  using Name = std::remove_cvref_t<decltype(map.begin()->first)>;
  for (const ProjectNo of : {project, shared_project}) {
    for (auto at = map.lower_bound(Name{of, ""}); at != map.end() && at->first.project == of;
         ++at) {
      if (!each(at->first, at->second)) return;
    }
    if (project == shared_project) return;
  }
}

// Things that will not go on by themselves; each with what to do about it.
struct Attention {
  std::string kind;
  std::string name;
  std::string detail;
};

void show_status(Tell& tell, const State& state) {
  const Time now = tell.now().now;
  std::vector<Attention> attention;
  const auto attend = [&](std::string_view kind, std::string name, std::string detail) {
    if (attention.size() < limits::waiters_shown) {
      attention.push_back({std::string(kind), std::move(name), std::move(detail)});
    }
  };
  const project::Project* project = state.projects.projects.find(tell.project());
  JsonWriter& json = tell.result().field("project", project ? project->name : "default");

  std::uint64_t held = 0;
  std::uint64_t stale = 0;
  std::uint64_t waiting = 0;
  each_of(state.locks.locks, tell.project(), [&](const LockName& name, const lock::Lock& lock) {
    const std::string_view how = state_of(lock, state, now);
    held += how == "held" || how == "ending" ? 1U : 0U;
    stale += how == "stale" ? 1U : 0U;
    waiting += lock.waiting;
    if (how == "stale") {
      const std::string shown = tell.name(name);
      attend("lock",
             shown,
             fmt::format("its holder fell silent; try `reeve why {}`", codec::shell_word(shown)));
    }
    return true;
  });
  json.key("locks").begin_object().field("held", held).field("stale", stale);
  json.field("waiting", waiting).end_object();

  std::uint64_t count = 0;
  std::uint64_t full = 0;
  waiting = 0;
  each_of(state.semaphores.semaphores,
          tell.project(),
          [&](const SemaphoreName&, const semaphore::Semaphore& semaphore) {
            ++count;
            full += semaphore::available(semaphore) == 0 ? 1U : 0U;
            waiting += semaphore.waiting;
            return true;
          });
  json.key("semaphores").begin_object().field("count", count).field("full", full);
  json.field("waiting", waiting).end_object();

  std::size_t shown = 0;
  json.key("queues").begin_array();
  each_of(state.queues.names, tell.project(), [&](const QueueName& name, const queue::QueueNo& no) {
    const queue::Queue& queue = *state.queues.queues.find(no);
    json.begin_object();
    show_queue(tell, state, no, queue);
    json.end_object();
    const std::string text = tell.name(name);
    if (queue.counts.dead > 0) {
      attend("queue",
             text,
             fmt::format("{} dead; try `reeve queue list {} --state dead`",
                         queue.counts.dead,
                         codec::shell_word(text)));
    }
    if (queue.paused)
      attend("queue",
             text,
             fmt::format("paused; try `reeve queue resume {}`", codec::shell_word(text)));
    return ++shown < limits::list_entries;
  });
  json.end_array().key("attention").begin_array();
  for (const Attention& thing : attention) {
    json.begin_object().field("kind", thing.kind).field("name", thing.name);
    json.field("detail", thing.detail).end_object();
  }
  json.end_array();
}

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
  } else {
    for (const auto& [name, number] : state.projects.by_name) {
      if (number != shared_project && !add(name)) break;
    }
  }
  json.end_array();
}

void names(Asking& ask) {
  const std::string_view kind = ask.params.need_text("kind");
  if (kind != "lock" && kind != "sem" && kind != "queue" && kind != "project") {
    ask.params.refuse("kind", "must be lock, sem, queue or project");
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
