#include "adapters/spawn_self.h"

#include "adapters/pointers.h"
#include "adapters/process.h"
#include "adapters/run_directory.h"

#include <csignal>
#include <fcntl.h>
#include <spawn.h>
#include <unistd.h>

namespace reeve::adapters {
namespace {

constexpr int third = STDERR_FILENO + 1;

// Where it prints to, at one of its two.
void send_output(posix_spawn_file_actions_t& files, int output, int at) {
  if (output >= 0) {
    posix_spawn_file_actions_adddup2(&files, output, at);
  } else {
    posix_spawn_file_actions_addopen(&files, at, "/dev/null", O_WRONLY, 0);
  }
}

}  // namespace

Result<Spawned> spawn_self(std::vector<std::string> words, Belongings belongings) {
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  send_output(files, belongings.output, STDOUT_FILENO);
  send_output(files, belongings.output, STDERR_FILENO);
  // Over itself would leave it to be closed: first away from there.
  const Descriptor far(belongings.third < 0 ? -1
                                            : fcntl(belongings.third, F_DUPFD_CLOEXEC, third + 1));
  if (far) posix_spawn_file_actions_adddup2(&files, far.get(), third);
  posix_spawn_file_actions_addclosefrom_np(&files, far ? third + 1 : third);
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

  words.insert(words.begin(), "reeve");
  Spawned spawned;
  const int error = posix_spawn(&spawned.pid,
                                "/proc/self/exe",
                                &files,
                                &how,
                                pointers_to(words).data(),
                                pointers_to(belongings.environment).data());
  posix_spawnattr_destroy(&how);
  posix_spawn_file_actions_destroy(&files);
  if (error != 0) {
    return fail(Error::Code::Io, "cannot start a process: " + error_text(error));
  }
  // Nobody else has this number as long as we have not waited for it.
  spawned.pidfd = Descriptor(pidfd_open(spawned.pid));
  return spawned;
}

}  // namespace reeve::adapters
