#include "core/project.h"

#include "base/match.h"
#include "core/names.h"
#include "core/turn.h"

#include <string>
#include <string_view>

namespace reeve::project {
namespace {

// As many bytes of it at most, and no part of a letter (of UTF-8).
std::string_view beginning_of(std::string_view name, std::size_t bytes) {
  if (name.size() <= bytes) return name;
  const auto goes_on = [&] { return (static_cast<unsigned char>(name[bytes]) & 0xC0) == 0x80; };
  while (bytes > 0 && goes_on()) --bytes;
  return name.substr(0, bytes);
}

// The name itself, or with the first number that makes it nobody's else.
std::string free_name(const Table& table, const std::string& wanted) {
  if (!table.by_name.contains(wanted)) return wanted;
  for (std::uint32_t number = 2;; ++number) {
    const std::string ending = "-" + std::to_string(number);
    std::string name(beginning_of(wanted, limits::name_bytes - ending.size()));
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
