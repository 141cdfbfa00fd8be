#include "adapters/secrets.h"

#include "adapters/run_directory.h"

#include <algorithm>
#include <ctime>
#include <dirent.h>
#include <fcntl.h>
#include <set>
#include <string_view>
#include <sys/stat.h>
#include <unistd.h>

namespace reeve::adapters {
namespace {

constexpr std::time_t an_hour = 3600;

// The names of the files that anything speaks of.
std::set<std::string, std::less<>> named_in(const State& state) {
  std::set<std::string, std::less<>> names;
  const auto add = [&](const Variables& environment) {
    for (const auto& [name, value] : environment) {
      if (name == secrets_variable) names.insert(value.substr(value.rfind('/') + 1));
    }
  };
  for (const auto& [id, pipeline] : state.pipelines.pipelines) add(pipeline.origin->environment);
  for (const auto& [id, task] : state.tasks.tasks) add(task.begun->environment);
  for (const auto& [name, worker] : state.workers.workers) add(worker.environment);
  for (const auto& [name, cron] : state.crons.crons) add(cron.plan.environment);
  for (const auto& [id, started] : state.outbox) {
    if (const Shell* shell = std::get_if<Shell>(&started.effect.what)) add(shell->environment);
    if (const Spawn* spawn = std::get_if<Spawn>(&started.effect.what)) add(spawn->environment);
  }
  return names;
}

}  // namespace

Passed read_secrets(const std::string& path) {
  Passed passed;
  const std::string text = read_whole(path).value_or("");
  for (std::string_view rest = text; !rest.empty();) {
    const std::size_t end = std::min(rest.find('\0'), rest.size());
    const std::string_view entry = rest.substr(0, end);
    rest.remove_prefix(std::min(rest.size(), end + 1));
    const std::size_t equals = entry.find('=');
    if (equals == std::string_view::npos || equals < 2) continue;
    const std::string value(entry.substr(equals + 1));
    passed.variables.emplace_back(entry.substr(1, equals - 1), value);
    passed.secrets.push_back(value);
  }
  return passed;
}

void sweep_secrets(const std::string& home, const State& state) {
  DIR* const folder = opendir((home + "/secrets").c_str());
  if (!folder) return;
  const std::set<std::string, std::less<>> named = named_in(state);
  const std::time_t now = std::time(nullptr);
  // The stream is this call's own.
  while (const dirent* entry = readdir(folder)) {  // NOLINT(concurrency-mt-unsafe)
    struct stat about{};
    const bool is_old = fstatat(dirfd(folder), entry->d_name, &about, AT_SYMLINK_NOFOLLOW) == 0 &&
                        S_ISREG(about.st_mode) && about.st_mtim.tv_sec < now - an_hour;
    if (is_old && !named.contains(std::string_view(entry->d_name))) {
      unlinkat(dirfd(folder), entry->d_name, 0);
    }
  }
  closedir(folder);
}

}  // namespace reeve::adapters
