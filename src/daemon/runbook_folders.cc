#include "daemon/runbook_folders.h"

#include "runbook/load.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <string_view>
#include <sys/inotify.h>
#include <sys/stat.h>

namespace reeve::daemon {
namespace {

constexpr std::uint32_t itself = IN_DELETE_SELF | IN_MOVE_SELF;
constexpr std::uint32_t names = IN_CREATE | IN_DELETE | IN_MOVED_FROM | IN_MOVED_TO;
// IN_MODIFY besides IN_CLOSE_WRITE: who leaves the file open has written it all the same.
constexpr std::uint32_t texts = IN_MODIFY | IN_CLOSE_WRITE | IN_ATTRIB;

constexpr const char* reeve_folder = ".reeve";
constexpr const char* runbooks_folder = "runbooks";

}  // namespace

RunbookFolders::RunbookFolders() : inotify_(inotify_init1(IN_NONBLOCK | IN_CLOEXEC)) {}

// A folder that several have is one watch, with what each of them wants to hear.
bool RunbookFolders::add(const std::string& path, Use use, std::uint32_t events) {
  const int number =
      inotify_add_watch(inotify_.get(), path.c_str(), events | IN_ONLYDIR | IN_MASK_ADD);
  if (number < 0) return false;
  uses_[number].push_back(use);
  places_[use.project].watches.push_back(number);
  return true;
}

RunbookFolders::Watched RunbookFolders::watch(ProjectNo project, const std::string& root) {
  forget(project);
  places_[project].root = root;
  const std::string reeve = root + "/" + reeve_folder;
  const std::string runbooks = reeve + "/" + runbooks_folder;
  // From above: what comes between two of these is heard of by the first.
  const bool has_root = add(root, {project, Level::Root}, itself | names);
  const bool has_reeve = has_root && add(reeve, {project, Level::Reeve}, itself | names);
  const bool has_all =
      has_reeve && add(runbooks, {project, Level::Runbooks}, itself | names | texts);
  if (has_all) return Watched::Yes;
  if (errno == ENOSPC || errno == ENOMEM) return Watched::NoRoom;
  return has_root ? Watched::Yes : Watched::Lost;
}

void RunbookFolders::forget(ProjectNo project) {
  const auto place = places_.find(project);
  if (place == places_.end()) return;
  for (const int number : place->second.watches) {
    const auto found = uses_.find(number);
    if (found == uses_.end()) continue;
    std::erase_if(found->second, [&](const Use& use) { return use.project == project; });
    if (!found->second.empty()) continue;
    inotify_rm_watch(inotify_.get(), number);
    uses_.erase(found);
  }
  places_.erase(place);
}

bool RunbookFolders::matters(Level level, std::uint32_t events, const char* name) {
  if ((events & (itself | IN_IGNORED | IN_UNMOUNT)) != 0) return true;
  const std::string_view text = name;
  switch (level) {
    case Level::Root:
      return text == reeve_folder;
    case Level::Reeve:
      return text == runbooks_folder;
    case Level::Runbooks:
      return text.ends_with(".toml") && !text.starts_with('.');
  }
  return false;
}

std::set<ProjectNo> RunbookFolders::take() {
  std::set<ProjectNo> changed;
  std::set<ProjectNo> moved;  // their folders are others now
  alignas(inotify_event) std::array<char, 16384> bytes{};
  while (true) {
    const ssize_t size = read(inotify_.get(), bytes.data(), bytes.size());
    if (size < 0 && errno == EINTR) continue;
    if (size <= 0) break;
    for (std::size_t at = 0; at < static_cast<std::size_t>(size);) {
      inotify_event event{};
      std::memcpy(&event, bytes.data() + at, sizeof event);
      const char* const name = event.len > 0 ? bytes.data() + at + sizeof event : "";
      at += sizeof event + event.len;
      if ((event.mask & IN_Q_OVERFLOW) != 0) {  // who knows what was lost
        for (const auto& entry : places_) moved.insert(entry.first);
        continue;
      }
      const auto found = uses_.find(event.wd);
      if (found == uses_.end()) continue;
      for (const Use& use : found->second) {
        if (!matters(use.level, event.mask, name)) continue;
        const bool is_text = use.level == Level::Runbooks && event.len > 0;
        (is_text ? changed : moved).insert(use.project);
      }
      if ((event.mask & IN_IGNORED) != 0) uses_.erase(found);
    }
  }
  for (const ProjectNo project : moved) {
    watch(project, std::string(places_[project].root));
    changed.insert(project);
  }
  return changed;
}

bool changed_since(const std::string& root, Wall moment) {
  const auto is_new = [&](const std::string& path) {
    struct stat about{};
    if (stat(path.c_str(), &about) != 0) return false;
    const auto time = std::chrono::seconds(about.st_ctim.tv_sec) +
                      std::chrono::nanoseconds(about.st_ctim.tv_nsec);
    return time >= moment.time_since_epoch();
  };
  const std::string reeve = root + "/" + reeve_folder;
  const std::string runbooks = reeve + "/" + runbooks_folder;
  struct stat ignored{};
  const bool has_runbooks = stat(runbooks.c_str(), &ignored) == 0;
  if (is_new(has_runbooks ? runbooks : reeve)) return true;
  return std::ranges::any_of(runbook::discover(root), is_new);
}

}  // namespace reeve::daemon
