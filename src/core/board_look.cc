#include "base/match.h"
#include "core/board_detail.h"

#include <algorithm>
#include <array>

// Which task it is that somebody can start.
namespace reeve::board {
namespace {

// The first task of a section that nobody has. One whose lock is over is nobody's, be it that this
// is still to be said: another's board may say it, or a later tick.
std::optional<BoardTaskId> first_free(const Turn& turn, const SectionName& name, Time when) {
  const Table& table = turn.state().board;
  std::optional<ReadyKey> first;
  const auto ready = table.ready.lower_bound({name, 0, {}});
  if (ready != table.ready.end() && (*ready).place == name) first = *ready;
  // Of a section that nobody has, all that is over was said (unlock).
  const Section* section = find(turn, name);
  if (section && section->lock) {
    for (auto at = table.held_in_section.lower_bound({name, {}});
         at != table.held_in_section.end() && (*at).section == name;
         ++at) {
      const BoardTask& task = *find(turn, (*at).task);
      if (task.lock->expired || is_good(turn, *task.lock, when)) continue;
      const ReadyKey key = ready_key((*at).task, task);
      if (!first || key < *first) first = key;
    }
  }
  if (!first) return std::nullopt;
  return first->task;
}

Verdict next_of_section(const Turn& turn,
                        const RunnerName& runner,
                        const SectionName& name,
                        Time when) {
  const Section* section = find(turn, name);
  if (!section || section->open == 0) return Nothing{};
  if (const auto locked = held_by_another(turn, name, runner, when)) return *locked;
  if (const auto task = first_free(turn, name, when)) return CanStart{*task};
  return Nothing{true};
}

// Of those without a section: each has a line of its own.
std::optional<BoardTaskId> next_of_none(const Turn& turn, const RunnerName& runner, Time when) {
  const PersistentSet<ReadyKey>& ready = turn.state().board.ready;
  const SectionName none{runner.project, ""};
  for (auto at = ready.lower_bound({none, 0, {}}); at != ready.end() && (*at).place == none; ++at) {
    const Verdict verdict = may_start(turn, (*at).task, runner, when);
    if (std::holds_alternative<CanStart>(verdict)) return (*at).task;
  }
  return std::nullopt;
}

std::optional<BoardTaskId> of_own_sections(const Turn& turn, const RunnerName& runner, Time when) {
  const PersistentSet<HeldKey>& held = turn.state().board.held;
  for (auto at = held.lower_bound({runner, SectionName{}});
       at != held.end() && (*at).runner == runner;
       ++at) {
    const SectionName* section = std::get_if<SectionName>(&(*at).what);
    if (!section || !has_section(turn, *section, runner, when)) continue;
    if (const auto task = first_free(turn, *section, when)) return task;
  }
  return std::nullopt;
}

// The sections of its own project come first, then those that are shared.
Verdict next_of_all(const Turn& turn, const RunnerName& runner, bool in_order, Time when) {
  const Table& table = turn.state().board;
  if (const auto task = of_own_sections(turn, runner, when)) return CanStart{*task};
  const bool is_kept = awaited_head(turn, line_of_any(runner.project), runner) != nullptr;
  if (is_kept && !in_order) return Nothing{true};
  bool open = false;
  for (const ProjectNo project : {runner.project, shared_project}) {
    for (auto at = table.open_sections.lower_bound({project, 0, {}});
         at != table.open_sections.end() && (*at).project == project;
         ++at) {
      const Verdict verdict = next_of_section(turn, runner, {project, (*at).name}, when);
      if (std::holds_alternative<CanStart>(verdict)) return verdict;
      const Nothing* nothing = std::get_if<Nothing>(&verdict);
      if (nothing && !nothing->open) continue;
      if (in_order) return verdict;
      open = true;
    }
  }
  // In order one asks for a section while there is one, and else for any, like those in that line.
  const auto task = is_kept ? std::nullopt : next_of_none(turn, runner, when);
  if (task) return CanStart{*task};
  const Project* project = table.projects.find(runner.project);
  return Nothing{open || (project && project->open > 0)};
}

// Its section counts as well, unless the runner has that.
bool has_room(const Turn& turn, BoardTaskId id, const RunnerName& runner) {
  const PersistentSet<HeldKey>& held = turn.state().board.held;
  const std::optional<SectionName>& section = find(turn, id)->section;
  std::size_t more = held.contains({runner, id}) ? 0 : 1;
  if (section && !held.contains({runner, *section})) ++more;
  return more == 0 || count_held(turn, runner) + more <= most_held;
}

}  // namespace

bool has_open_section(const Turn& turn, const RunnerName& runner) {
  const PersistentSet<SectionPlace>& open = turn.state().board.open_sections;
  return std::ranges::any_of(std::array{runner.project, shared_project}, [&](ProjectNo project) {
    const auto first = open.lower_bound({project, 0, {}});
    return first != open.end() && (*first).project == project;
  });
}

Verdict look_for(const Turn& turn, const RunnerName& runner, const Wanted& wanted, Time when) {
  Verdict verdict = match(
      wanted,
      [&](const ThisTask& it) { return may_start(turn, it.task, runner, when); },
      [&](const NextTask& it) {
        return it.section ? next_of_section(turn, runner, *it.section, when)
                          : next_of_all(turn, runner, it.in_order, when);
      });
  const CanStart* can = std::get_if<CanStart>(&verdict);
  const NextTask* next = std::get_if<NextTask>(&wanted);
  const bool is_only_named = next && !next->start;
  if (!can || is_only_named || has_room(turn, can->task, runner)) return verdict;
  return HandsFull{can->task};
}

reeve::Reply act(
    Turn& turn, const RunnerName& runner, const Wanted& wanted, const Verdict& verdict, Time when) {
  return match(
      verdict,
      [&](const CanStart& can) -> reeve::Reply {
        const NextTask* next = std::get_if<NextTask>(&wanted);
        if (next && !next->start) return {Found{can.task}};
        return {take(turn, can.task, runner, when)};
      },
      [](const TaskLocked& locked) -> reeve::Reply { return {locked}; },
      [](const SectionLocked& locked) -> reeve::Reply { return {locked}; },
      [](const TaskFinished& finished) -> reeve::Reply { return {finished}; },
      [](const Nothing& nothing) -> reeve::Reply { return {nothing}; },
      [](const HandsFull&) { return refused(Why::OverLimit, "held"); },
      [](const Removed& removed) { return refused(Why::NotFound, to_text(removed.task)); });
}

}  // namespace reeve::board
