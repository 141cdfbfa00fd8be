#include "base/match.h"
#include "core/board_detail.h"
#include "core/names.h"

// Looking things up, and the small steps that several verbs take.
namespace reeve::board {

const BoardTask* find(const Turn& turn, BoardTaskId task) {
  return turn.state().board.tasks.find(task);
}

const Section* find(const Turn& turn, const SectionName& section) {
  return turn.state().board.sections.find(section);
}

BoardTask& edit(Turn& turn, BoardTaskId task) { return *turn.change().board.tasks.edit(task); }

Section& edit(Turn& turn, const SectionName& section) {
  return *turn.change().board.sections.edit(section);
}

Project& edit(Turn& turn, ProjectNo project) {
  return turn.change().board.projects.edit_or_insert(project);
}

Locking locking_of(const Turn& turn, ProjectNo project) {
  const Project* board = turn.state().board.projects.find(project);
  return board ? board->locking : Locking{};
}

SectionName place_of(const BoardTask& task) {
  return task.section.value_or(SectionName{task.project, ""});
}

ReadyKey ready_key(BoardTaskId id, const BoardTask& task) {
  const std::int64_t below = std::int64_t{INT32_MAX} - task.priority;
  return {place_of(task), static_cast<std::uint32_t>(below), id};
}

std::variant<BoardTaskId, Refused> resolve(const Turn& turn, const TaskRef& ref) {
  return match(
      ref,
      [&](const BoardTaskId& id) -> std::variant<BoardTaskId, Refused> {
        if (!find(turn, id)) return Refused{Why::NotFound, to_text(id)};
        return id;
      },
      [&](const std::string& title) -> std::variant<BoardTaskId, Refused> {
        const PersistentSet<TitleKey>& titles = turn.state().board.titles;
        std::optional<BoardTaskId> open;
        std::optional<BoardTaskId> any;
        std::size_t count = 0;
        for (auto at = titles.lower_bound({turn.project(), title, {}});
             at != titles.end() && (*at).project == turn.project() && (*at).title == title;
             ++at) {
          ++count;
          any = (*at).task;
          if (!is_open(find(turn, *any)->status)) continue;
          if (open) return Refused{Why::Ambiguous, title};
          open = any;
        }
        if (open) return *open;
        if (count > 1) return Refused{Why::Ambiguous, title};
        if (!any) return Refused{Why::NotFound, title};
        return *any;
      });
}

std::optional<Refused> mistake_in(const Turn& turn, const RunnerName& runner) {
  if (!is_good_name(runner.name)) return Refused{Why::BadName, runner.name};
  const Project* project = turn.state().board.projects.find(runner.project);
  if (project && project->runners >= most_runners && !turn.state().board.runners.contains(runner)) {
    return Refused{Why::OverLimit, "runners"};
  }
  return std::nullopt;
}

std::size_t count_held(const Turn& turn, const RunnerName& runner) {
  const PersistentSet<HeldKey>& held = turn.state().board.held;
  std::size_t count = 0;
  for (auto at = held.lower_bound({runner, {}}); at != held.end() && (*at).runner == runner; ++at) {
    ++count;
  }
  return count;
}

void add_note(Turn& turn, BoardTaskId id, const std::string& by, const std::string& text) {
  if (text.empty() || find(turn, id)->notes.size() >= most_notes) return;
  edit(turn, id).notes.push_back({turn.now(), by, std::string(cut(text))});
}

std::optional<std::string> said(const std::string& text) {
  if (text.empty()) return std::nullopt;
  return std::string(cut(text));
}

void make_section(Turn& turn, const SectionName& name) {
  Section section;
  section.order = ++edit(turn, name.project).last_section;
  Table& table = turn.change().board;
  table.sections.set(name, section);
  table.section_order.insert({name.project, section.order, name.name});
  turn.emit(name.project, SectionAdded{name});
}

std::variant<BoardTaskId, Refused> settled(Turn& turn, const TaskRef& ref) {
  settle(turn, turn.project());
  std::variant<BoardTaskId, Refused> found = resolve(turn, ref);
  const BoardTaskId* id = std::get_if<BoardTaskId>(&found);
  if (!id || find(turn, *id)->project == turn.project()) return found;
  settle(turn, find(turn, *id)->project);
  return resolve(turn, *id);
}

void after_release(Turn& turn, BoardTaskId id, const std::optional<SectionName>& section) {
  tell_waiters(turn, id);
  release_if_done(turn, section);
  serve(turn, section ? Line{*section} : Line{id}, turn.now());
}

void count_open(Turn& turn, const SectionName& name, bool more) {
  Section& section = edit(turn, name);
  section.open = more ? section.open + 1 : section.open - 1;
  const SectionPlace place{name.project, section.order, name.name};
  if (more) {
    turn.change().board.open_sections.insert(place);
  } else if (section.open == 0) {
    turn.change().board.open_sections.erase(place);
  }
}

}  // namespace reeve::board
