#include "daemon/runbook_look.h"

#include "adapters/run_directory.h"
#include "adapters/spawn_self.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
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
  Result<adapters::Spawned> spawned = adapters::spawn_self(
      {"--home", home, "--project=" + project, "runbook", "load", "--no-start"},
      {environment_of_looks(), look.output_.get()});
  if (!spawned) return std::unexpected(spawned.error());
  look.pid_ = spawned->pid;
  look.pidfd_ = std::move(spawned->pidfd);
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
