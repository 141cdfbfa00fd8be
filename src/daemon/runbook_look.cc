#include "daemon/runbook_look.h"

#include "adapters/process.h"
#include "adapters/run_directory.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <fcntl.h>
#include <spawn.h>
#include <string_view>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include <utility>
#include <vector>

namespace reeve::daemon {
namespace {

constexpr std::size_t longest_said = 1000;

// The daemon may have been started by a step: what is said of that step is not said of this, or it
// would be taken for a part of it. Where the socket is has no other word.
std::vector<std::string> environment_of_looks() {
  std::vector<std::string> all;
  for (char** variable = environ; *variable != nullptr; ++variable) {
    const std::string_view text = *variable;
    if (!text.starts_with("REEVE_") || text.starts_with("REEVE_SOCKET=")) all.emplace_back(text);
  }
  return all;
}

std::vector<char*> pointers_to(std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  pointers.reserve(texts.size() + 1);
  for (std::string& text : texts) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

int spawn(pid_t& pid, int output, std::vector<std::string> words) {
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&files, output, STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&files, output, STDERR_FILENO);
  posix_spawn_file_actions_addclosefrom_np(&files, STDERR_FILENO + 1);
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
  std::vector<std::string> environment = environment_of_looks();
  const int error = posix_spawn(&pid,
                                "/proc/self/exe",
                                &files,
                                &how,
                                pointers_to(words).data(),
                                pointers_to(environment).data());
  posix_spawnattr_destroy(&how);
  posix_spawn_file_actions_destroy(&files);
  return error;
}

std::string one_line_of(int file) {
  std::string text(longest_said, '\0');
  const ssize_t size = pread(file, text.data(), text.size(), 0);
  text.resize(static_cast<std::size_t>(std::max<ssize_t>(size, 0)));
  while (text.ends_with('\n')) text.pop_back();
  for (std::size_t at = text.find('\n'); at != std::string::npos; at = text.find('\n', at)) {
    text.replace(at, 1, "; ");
  }
  return text;
}

}  // namespace

Result<RunbookLook> RunbookLook::begin(const std::string& home,
                                       const std::string& project,
                                       LookTimes::Moment now) {
  RunbookLook look;
  // In memory: it is never too full to write to, and nobody has to read along.
  look.output_ = adapters::Descriptor(memfd_create("reeve runbook load", MFD_CLOEXEC));
  if (!look.output_) {
    return fail(Error::Code::Io, "cannot start a process: " + adapters::error_text(errno));
  }
  const int error =
      spawn(look.pid_,
            look.output_.get(),
            {"reeve", "--home", home, "--project=" + project, "runbook", "load", "--no-start"});
  if (error != 0) {
    look.pid_ = -1;
    return fail(Error::Code::Io, "cannot start a process: " + adapters::error_text(error));
  }
  // Nobody else has this number as long as we have not waited for it.
  look.pidfd_ = adapters::Descriptor(adapters::pidfd_open(look.pid_));
  look.until_ = now + longest;
  return look;
}

RunbookLook::RunbookLook(RunbookLook&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)),
      pidfd_(std::move(other.pidfd_)),
      output_(std::move(other.output_)),
      until_(other.until_) {}

RunbookLook::~RunbookLook() {
  if (pid_ < 0) return;
  kill({});
  waitpid(pid_, nullptr, WNOHANG);
}

void RunbookLook::kill(LookTimes::Moment now) {
  if (pid_ > 0) ::kill(-pid_, SIGKILL);
  until_ = now + longest;
}

std::optional<RunbookLook::Seen> RunbookLook::over() {
  int status = 0;
  if (pid_ < 0 || waitpid(pid_, &status, WNOHANG) != pid_) return std::nullopt;
  pid_ = -1;
  Seen seen{WIFEXITED(status) && WEXITSTATUS(status) == 0, one_line_of(output_.get())};
  if (WIFSIGNALED(status)) seen.said = fmt::format("it was ended by signal {}", WTERMSIG(status));
  return seen;
}

}  // namespace reeve::daemon
