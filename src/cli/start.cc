#include "cli/start.h"

#include <fmt/format.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

namespace reeve::cli {

namespace {

constexpr int ready_descriptor = 3;

// In the grandchild. Only what the daemon should have is left.
[[noreturn]] void become_daemon(int ready, const Home& home, const std::vector<std::string>& more) {
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);  // NOLINT(concurrency-mt-unsafe): one thread
  for (const int signal : {SIGPIPE, SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTTOU}) {
    std::signal(signal, SIG_DFL);
  }
  // Its own files are its user's alone; what runs for the user has the user's mask.
  const std::string mask = fmt::format("{:04o}", ::umask(077));
  ::setenv("REEVE_UMASK", mask.c_str(), 1);  // NOLINT(concurrency-mt-unsafe): one thread
  if (::chdir("/") != 0) ::_exit(1);
  const int null = ::open("/dev/null", O_RDWR);
  if (null < 0) ::_exit(1);
  for (const int descriptor : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    ::dup2(null, descriptor);
  }
  if (ready != ready_descriptor) ::dup2(ready, ready_descriptor);
  ::fcntl(ready_descriptor, F_SETFD, 0);
  ::close_range(ready_descriptor + 1, ~0U, 0);
  // What is about the caller and not about the daemon.
  for (const char* name :
       {"REEVE_HOLDER", "REEVE_WITHIN", "REEVE_FENCE", "REEVE_PROJECT", "REEVE_HOME"}) {
    ::unsetenv(name);  // NOLINT(concurrency-mt-unsafe): one thread
  }
  std::vector<std::string> words{"reeve", "daemon", "run", "--home", home.path, "--ready-fd", "3"};
  words.insert(words.end(), more.begin(), more.end());
  std::vector<char*> arguments;
  arguments.reserve(words.size() + 1);
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  ::execv("/proc/self/exe", arguments.data());
  const std::string failed = fmt::format("cannot run /proc/self/exe: errno {}\n", errno);
  [[maybe_unused]] const auto told = ::write(ready_descriptor, failed.data(), failed.size());
  ::_exit(1);
}

// The one line, or what there is of it at the end. A person is told when it takes long.
std::string read_line(int descriptor) {
  std::string line;
  bool told = false;
  while (!line.ends_with('\n')) {
    pollfd ready{.fd = descriptor, .events = POLLIN, .revents = 0};
    const int count = ::poll(&ready, 1, told ? -1 : 2000);
    if (count < 0 && errno == EINTR) continue;
    if (count == 0) {
      told = true;
      Output().note("the daemon is starting and reads its journal; Ctrl-C to stop waiting");
      continue;
    }
    char letter = 0;
    const ssize_t got = ::read(descriptor, &letter, 1);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    line += letter;
  }
  while (line.ends_with('\n')) line.pop_back();
  return line;
}

}  // namespace

std::expected<Started, Failure> start_daemon(const Home& home,
                                             const std::vector<std::string>& more) {
  int ends[2];  // NOLINT(modernize-avoid-c-arrays): pipe2 wants one
  if (::pipe2(ends, O_CLOEXEC) != 0) {
    return std::unexpected(Failure{"UNAVAILABLE", "cannot make a pipe to start the daemon"});
  }
  // Who gathers orphans (`lock run`) must not become the parent of the daemon.
  int reaper = 0;
  ::prctl(PR_GET_CHILD_SUBREAPER, &reaper);
  if (reaper != 0) ::prctl(PR_SET_CHILD_SUBREAPER, 0);
  const pid_t middle = ::fork();
  if (middle == 0) {
    ::setsid();
    const pid_t daemon = ::fork();
    if (daemon == 0) become_daemon(ends[1], home, more);
    ::_exit(daemon < 0 ? 1 : 0);
  }
  ::close(ends[1]);
  int status = 0;
  while (middle > 0 && ::waitpid(middle, &status, 0) < 0 && errno == EINTR) {
  }
  if (reaper != 0) ::prctl(PR_SET_CHILD_SUBREAPER, 1);
  const std::string line = read_line(ends[0]);
  ::close(ends[0]);
  if (line == "ready") return Started::Ready;
  // The one other line that is no failure: somebody was faster.
  if (line.starts_with("a daemon already runs")) return Started::Running;
  if (!line.empty()) {
    return std::unexpected(
        Failure{"UNAVAILABLE", fmt::format("the daemon did not start: {}", line)});
  }
  return Started::Died;
}

}  // namespace reeve::cli
