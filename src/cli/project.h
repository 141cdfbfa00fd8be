#pragma once

#include <optional>
#include <string>
#include <string_view>

// Which project a command is about, found from the working directory: upward to the nearest `.git`
// or `.reeve`. A git worktree belongs, with the path below it, to its main repository; that is read
// from `.git` and `commondir`, without a git process. Nothing found: the project `default`.
namespace reeve::cli {

struct ProjectRoot {
  std::string path;  // real
  std::string name;  // `project.name` of .reeve/config.toml, else the folder's

  bool operator==(const ProjectRoot&) const = default;
};

// `from` is an absolute path.
std::optional<ProjectRoot> find_project(std::string_view from);

// The same, but a git worktree is its own.
std::optional<ProjectRoot> find_checkout(std::string_view from);

// `project.name` in the text of a config.toml, as `name = "x"` below [project] or as
// `project.name = "x"`.
std::optional<std::string> project_name_in(std::string_view toml);

}  // namespace reeve::cli
