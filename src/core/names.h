#pragma once

#include "base/text_part.h"
#include "core/id.h"
#include "core/limits.h"

#include <string>
#include <string_view>

namespace reeve {

// What users may call things: 1 to 200 bytes, not all blanks, not beginning with `-` or `//`,
// without `..`, control characters or NUL. (Names reach command lines, paths and tables; `//` says
// whose a name is.)
inline bool is_good_name(std::string_view name) {
  if (name.size() > limits::name_bytes) return false;
  if (name.find_first_not_of(' ') == std::string_view::npos) return false;  // or empty
  if (name.front() == '-' || name.starts_with("//")) return false;
  if (name.find("..") != std::string_view::npos) return false;
  for (const char letter : name) {
    const unsigned char byte = static_cast<unsigned char>(letter);
    if (byte < 0x20 || byte == 0x7f) return false;
  }
  return true;
}

// `main` of this project, `//main` of all of them.
template <class Name>
Name scoped_name(ProjectNo project, std::string_view text) {
  if (text.starts_with("//")) return {shared_project, std::string(text.substr(2))};
  return {project, std::string(text)};
}

// What a value may be that travels in the environment: at most 100 KiB, without NUL.
inline bool is_good_value(std::string_view value) {
  return value.size() <= limits::value_bytes && value.find('\0') == std::string_view::npos;
}

// Whether a project may name one more of them. Its own are counted where there are so many in all.
template <class Things>
bool may_name_another(const Things& things, ProjectNo project) {
  if (things.size() < limits::names_a_project) return true;
  std::size_t own = 0;
  for (auto at = things.lower_bound({project, ""}); at != things.end(); ++at) {
    if (at->first.project != project) break;
    if (++own == limits::names_a_project) return false;
  }
  return true;
}

// Where a path leads that counts from this folder; an empty one: to the folder.
inline std::string path_within(std::string_view folder, std::string_view path) {
  if (path.empty()) return std::string(folder);
  if (path.front() == '/' || folder.empty()) return std::string(path);
  return std::string(folder).append("/").append(path);
}

// Long texts that come with a request are kept to a bound: cut, not refused.
inline std::string_view cut(std::string_view text) { return first_bytes(text, limits::text_bytes); }

}  // namespace reeve
