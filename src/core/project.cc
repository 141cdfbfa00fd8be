#include "core/project.h"

#include "base/match.h"
#include "base/text_part.h"
#include "core/names.h"
#include "core/turn.h"

#include <string>

namespace reeve::project {
namespace {

// The name itself, or with the first number that makes it nobody's else.
std::string free_name(const Table& table, const std::string& wanted) {
  if (!table.by_name.contains(wanted)) return wanted;
  for (std::uint32_t number = 2;; ++number) {
    const std::string ending = "-" + std::to_string(number);
    std::string name(first_bytes(wanted, limits::name_bytes - ending.size()));
    name += ending;
    if (!table.by_name.contains(name)) return name;
  }
}

reeve::Reply open(Turn& turn, const Open& command) {
  const Table& table = turn.state().projects;
  if (command.path.empty()) return {Reply{Opened{default_project, "default"}}};
  if (const ProjectNo* known = table.by_path.find(command.path)) {
    return {Reply{Opened{*known, table.projects.find(*known)->name}}};
  }
  if (!is_good_name(command.name)) return refused(Why::BadName, command.name);
  if (command.path.size() > limits::path_bytes) return refused(Why::OverLimit, "path");
  if (table.projects.size() >= limits::projects) return refused(Why::OverLimit, "projects");

  const std::string name = free_name(table, command.name);
  Table& changed = turn.change().projects;
  const ProjectNo project{changed.projects.last()->first.value + 1};
  changed.projects.set(project, {command.path, name});
  changed.by_path.set(command.path, project);
  changed.by_name.set(name, project);
  return {Reply{Opened{project, name}}};
}

}  // namespace

reeve::Reply apply(Turn& turn, const Command& command) {
  return match(command, [&](const Open& open_it) { return open(turn, open_it); });
}

}  // namespace reeve::project
