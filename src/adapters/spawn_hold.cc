#include "adapters/spawn_hold.h"

#include "adapters/process.h"

#include <array>
#include <csignal>
#include <fcntl.h>
#include <spawn.h>
#include <unistd.h>

namespace reeve::adapters {

Result<SpawnedHold> spawn_hold(const RunDirectory& folder) {
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&files, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
  posix_spawn_file_actions_addopen(&files, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  posix_spawn_file_actions_addclosefrom_np(&files, 3);
  posix_spawnattr_t how;
  posix_spawnattr_init(&how);
  sigset_t none;
  sigset_t all;
  sigemptyset(&none);
  sigfillset(&all);
  posix_spawnattr_setsigmask(&how, &none);
  posix_spawnattr_setsigdefault(&how, &all);
  posix_spawnattr_setflags(&how,
                           POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);

  std::string name = "reeve";
  std::string word = "hold";
  std::string path = folder.path();
  const std::array<char*, 4> words{name.data(), word.data(), path.data(), nullptr};
  const std::array<char*, 1> nothing{nullptr};
  SpawnedHold hold;
  const int error =
      posix_spawn(&hold.pid, "/proc/self/exe", &files, &how, words.data(), nothing.data());
  posix_spawnattr_destroy(&how);
  posix_spawn_file_actions_destroy(&files);
  if (error != 0) {
    return fail(Error::Code::Io, "cannot start a process: " + error_text(error));
  }
  // Nobody else has this number as long as we have not waited for it.
  hold.pidfd = Descriptor(pidfd_open(hold.pid));
  return hold;
}

}  // namespace reeve::adapters
