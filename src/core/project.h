#pragma once

#include "base/persistent_map.h"
#include "core/answer.h"
#include "core/id.h"

#include <string>
#include <variant>

// A project is a folder: its id is the real path of its root, its name the one it was given
// or the folder's, with a number if that is taken (and cut to make room for it). In the state it is
// a small number, so that every name can carry it. `default` is there from the beginning and has no
// folder.
namespace reeve {
class Turn;
struct Reply;
}  // namespace reeve

namespace reeve::project {

struct Project {
  std::string path;
  std::string name;

  bool operator==(const Project&) const = default;
};

struct Table {
  PersistentMap<ProjectNo, Project> projects;
  PersistentMap<std::string, ProjectNo> by_path;
  PersistentMap<std::string, ProjectNo> by_name;

  bool operator==(const Table&) const = default;
};

// Makes the project known, if it is not, and says its number.
struct Open {
  std::string path;
  std::string name;

  bool operator==(const Open&) const = default;
};

using Command = std::variant<Open>;

struct Opened {
  ProjectNo project;
  std::string name;

  bool operator==(const Opened&) const = default;
};

using Reply = std::variant<Opened>;

reeve::Reply apply(Turn& turn, const Command& command);

}  // namespace reeve::project
