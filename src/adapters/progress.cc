#include "adapters/progress.h"

#include <filesystem>
#include <fstream>
#include <sys/stat.h>

namespace reeve::adapters {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view pointer = "gitdir: ";  // to a worktree's own part of the repository

// Where git notes each move of HEAD; empty outside of repositories.
std::string head_log_of(const std::string& workspace) {
  std::error_code error;
  for (fs::path folder = workspace; folder.is_absolute(); folder = folder.parent_path()) {
    const fs::path git = folder / ".git";
    if (fs::is_directory(git, error)) return git / "logs/HEAD";
    if (fs::is_regular_file(git, error)) {
      std::string line;
      std::getline(std::ifstream(git), line);
      if (!line.starts_with(pointer)) return {};
      return folder / line.substr(pointer.size()) / "logs/HEAD";
    }
    if (folder == folder.root_path()) break;
  }
  return {};
}

}  // namespace

std::uint64_t change_of(const std::string& path) {
  struct stat about{};
  if (stat(path.c_str(), &about) != 0) return 0;
  const auto seconds = static_cast<std::uint64_t>(about.st_mtim.tv_sec);
  const std::uint64_t written =
      seconds * 1'000'000'000U + static_cast<std::uint64_t>(about.st_mtim.tv_nsec);
  return static_cast<std::uint64_t>(about.st_size) * 31 + written;
}

std::uint64_t progress_of(const std::string& output, const std::string& workspace) {
  return change_of(output) * 31 + change_of(head_log_of(workspace));
}

}  // namespace reeve::adapters
