#include "tools/bash_check.h"

#include <array>
#include <cerrno>
#include <cstdlib>
#include <fcntl.h>
#include <spawn.h>
#include <string_view>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

namespace reeve::tools {
namespace {

// A file in memory, closed at the end.
class MemoryFile {
 public:
  explicit MemoryFile(const char* name) : descriptor_(::memfd_create(name, MFD_CLOEXEC)) {}
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;
  ~MemoryFile() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }

  int descriptor() const { return descriptor_; }
  bool write(std::string_view text) const {
    while (!text.empty()) {
      const ssize_t written = ::write(descriptor_, text.data(), text.size());
      if (written < 0 && errno == EINTR) continue;
      if (written <= 0) return false;
      text.remove_prefix(static_cast<std::size_t>(written));
    }
    return ::lseek(descriptor_, 0, SEEK_SET) == 0;
  }
  std::string read() const {
    std::string all;
    std::array<char, 4096> buffer{};
    for (off_t at = 0;;) {
      const ssize_t got = ::pread(descriptor_, buffer.data(), buffer.size(), at);
      if (got <= 0) return all;
      all.append(buffer.data(), static_cast<std::size_t>(got));
      at += got;
    }
  }

 private:
  int descriptor_;
};

std::string path_variable() {
  // Nobody changes it: this program has one thread here. NOLINTNEXTLINE(concurrency-mt-unsafe)
  const char* const path = std::getenv("PATH");
  return std::string("PATH=") + (path != nullptr ? path : "/usr/bin:/bin");
}

}  // namespace

std::optional<runbook::ShellComplaint> bash_check(const std::string& program) {
  const MemoryFile in("program");
  const MemoryFile err("complaint");
  if (in.descriptor() < 0 || err.descriptor() < 0 || !in.write(program + "\n")) {
    return runbook::ShellComplaint{1, "cannot be handed to bash"};
  }
  posix_spawn_file_actions_t actions{};
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_adddup2(&actions, in.descriptor(), STDIN_FILENO);
  ::posix_spawn_file_actions_adddup2(&actions, err.descriptor(), STDERR_FILENO);
  ::posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
  std::string bash = "bash";
  std::string option = "-n";
  std::string path = path_variable();
  std::string language = "LC_ALL=C.UTF-8";
  const std::array<char*, 3> argv = {bash.data(), option.data(), nullptr};
  const std::array<char*, 3> envp = {path.data(), language.data(), nullptr};
  pid_t child = -1;
  const int failed = ::posix_spawnp(&child, "bash", &actions, nullptr, argv.data(), envp.data());
  ::posix_spawn_file_actions_destroy(&actions);
  if (failed != 0) return runbook::ShellComplaint{1, "bash cannot be started; is it installed?"};
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  const int code = WIFEXITED(status) ? WEXITSTATUS(status) : 128;
  return runbook::complaint_of(code, err.read());
}

}  // namespace reeve::tools
