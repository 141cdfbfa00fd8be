#include "cli/project.h"

#include "codec/json_text.h"
#include "config/document.h"

#include <array>
#include <climits>
#include <cstdlib>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace reeve::cli {

namespace {

enum class Entry { None, File, Folder };

Entry look_at(const std::string& path) {
  struct stat status{};
  if (::stat(path.c_str(), &status) != 0) return Entry::None;
  return S_ISDIR(status.st_mode) ? Entry::Folder : Entry::File;
}

// The first 64 KiB: what we read is small. Of what is no regular file nothing, and nobody waits for
// the other end of a pipe: who needs what it says (config/files.h) says what is wrong with it.
std::optional<std::string> read_small(const std::string& path) {
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (descriptor < 0) return std::nullopt;
  std::string text(std::size_t{64} << 10U, '\0');
  struct stat status{};
  const bool is_file = ::fstat(descriptor, &status) == 0 && S_ISREG(status.st_mode);
  const ssize_t got = is_file ? ::read(descriptor, text.data(), text.size()) : -1;
  ::close(descriptor);
  if (got < 0) return std::nullopt;
  text.resize(static_cast<std::size_t>(got));
  return text;
}

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view space = " \t\r\n";
  while (!text.empty() && space.find(text.front()) != std::string_view::npos) text.remove_prefix(1);
  while (!text.empty() && space.find(text.back()) != std::string_view::npos) text.remove_suffix(1);
  return text;
}

std::string joined(std::string_view base, std::string_view path) {
  if (path.starts_with('/')) return std::string(path);
  return std::string(base) + "/" + std::string(path);
}

std::string_view parent_of(std::string_view path) {
  const std::size_t slash = path.rfind('/');
  return slash == 0 ? "/" : path.substr(0, slash);
}

std::optional<std::string> real_path(const std::string& path) {
  std::array<char, PATH_MAX> buffer{};
  if (::realpath(path.c_str(), buffer.data()) == nullptr) return std::nullopt;
  return std::string(buffer.data());
}

// Where the main repository of a worktree is; none if the folder is no worktree.
std::optional<std::string> main_repository(const std::string& folder) {
  const auto git = read_small(folder + "/.git");
  if (!git || !git->starts_with("gitdir:")) return std::nullopt;
  const std::string directory = joined(folder, trimmed(std::string_view(*git).substr(7)));
  const auto common = read_small(directory + "/commondir");
  if (!common) return std::nullopt;  // a submodule is a project of its own
  const auto shared = real_path(joined(directory, trimmed(*common)));
  if (!shared) return std::nullopt;
  return shared->ends_with("/.git") ? std::string(parent_of(*shared)) : *shared;
}

// A basic or literal string of TOML, on one line; escapes of one letter.
std::optional<std::string> toml_string(std::string_view value) {
  value = trimmed(value);
  if (value.empty() || (value[0] != '"' && value[0] != '\'')) return std::nullopt;
  const char quote = value[0];
  std::string text;
  for (std::size_t i = 1; i < value.size(); ++i) {
    if (value[i] == quote) return text.empty() ? std::nullopt : std::optional<std::string>(text);
    if (quote == '"' && value[i] == '\\' && i + 1 < value.size()) ++i;
    text += value[i];
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::string> project_name_in(std::string_view toml) {
  std::string table;
  while (!toml.empty()) {
    const std::size_t end = toml.find('\n');
    const std::string_view line = trimmed(toml.substr(0, end));
    toml = end == std::string_view::npos ? "" : toml.substr(end + 1);
    if (line.starts_with('[')) {
      table = trimmed(line.substr(1, line.find(']') - 1));
      continue;
    }
    const std::size_t equals = line.find('=');
    if (equals == std::string_view::npos || line.starts_with('#')) continue;
    const std::string key(trimmed(line.substr(0, equals)));
    if ((table.empty() && key == "project.name") || (table == "project" && key == "name")) {
      return toml_string(line.substr(equals + 1));
    }
  }
  return std::nullopt;
}

namespace {

// The name of a folder as a name of ours: names do not begin with `-`, have no `..` and no control
// characters, and 200 bytes at most.
std::string good_name(std::string_view folder) {
  std::string name;
  for (const char letter : folder.substr(0, 200)) {
    const bool bad = static_cast<unsigned char>(letter) < 0x20 || letter == 0x7f ||
                     (letter == '-' && name.empty()) || (letter == '.' && name.ends_with('.'));
    name += bad ? '_' : letter;
  }
  while (!name.empty() && !codec::is_utf8(name)) name.pop_back();
  return name.empty() ? "root" : name;
}

// However TOML lets it be written. Of a file with a mistake: none.
std::string whole_project_name_in(std::string_view toml) {
  const auto document = config::parse_document("", toml);
  const config::Entry* const entry = document ? document->find("project.name") : nullptr;
  return entry != nullptr ? entry->value.text : "";
}

std::optional<ProjectRoot> find(std::string_view from, bool with_worktrees) {
  std::string root;
  std::string folder(from);
  for (;; folder = parent_of(folder)) {
    const std::string base = folder == "/" ? "" : folder;
    const Entry git = look_at(base + "/.git");
    if (root.empty() && (git != Entry::None || look_at(base + "/.reeve") == Entry::Folder)) {
      root = folder;
    }
    // The way on, from a .reeve, is only to learn whether it lies in a worktree.
    if (git == Entry::File && with_worktrees) {
      if (const auto main = main_repository(folder)) root = *main + root.substr(folder.size());
    }
    if (git != Entry::None || folder == "/") break;
  }
  if (root.empty()) return std::nullopt;
  ProjectRoot project;
  project.path = real_path(root).value_or(root);
  if (const auto config = read_small(project.path + "/.reeve/config.toml")) {
    project.name = project_name_in(*config).value_or("");
    // A quick look is enough for nearly all; this is for the others.
    const bool is_odd = project.name.empty() ? config->find("project") != std::string::npos
                                             : config->find('\\') != std::string::npos;
    if (is_odd) project.name = whole_project_name_in(*config);
  }
  if (project.name.empty()) {
    project.name = good_name(std::string_view(project.path).substr(project.path.rfind('/') + 1));
  }
  return project;
}

}  // namespace

std::optional<ProjectRoot> find_project(std::string_view from) { return find(from, true); }

std::optional<ProjectRoot> find_checkout(std::string_view from) { return find(from, false); }

}  // namespace reeve::cli
