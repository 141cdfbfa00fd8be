#include "cli/child.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <dirent.h>
#include <fcntl.h>
#include <map>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

namespace reeve::cli {

namespace {

constexpr int not_executable = 126;
constexpr int not_found = 127;

bool read_exactly(int descriptor, char* to, std::size_t size) {
  while (size > 0) {
    const ssize_t got = ::read(descriptor, to, size);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    to += got;
    size -= static_cast<std::size_t>(got);
  }
  return true;
}

// In the child: waits for leave to run, and runs.
[[noreturn]] void run_when_let_go(int gate, const Child::Plan& plan, pid_t parent) {
  ::setpgid(0, 0);
  ::prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (::getppid() != parent) ::_exit(0);
  for (const int signal : {SIGPIPE, SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP, SIGTTIN, SIGTTOU}) {
    std::signal(signal, SIG_DFL);
  }
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  std::uint32_t size = 0;
  if (!read_exactly(gate, reinterpret_cast<char*>(&size), sizeof size)) ::_exit(0);  // NOLINT
  std::string variables(size, '\0');
  if (!read_exactly(gate, variables.data(), size)) ::_exit(0);
  for (std::size_t at = 0; at < variables.size();) {
    const char* const entry = variables.data() + at;
    const std::string text(entry);
    const std::size_t equals = text.find('=');
    // NOLINTNEXTLINE(concurrency-mt-unsafe): one thread
    ::setenv(text.substr(0, equals).c_str(), text.substr(equals + 1).c_str(), 1);
    at += text.size() + 1;
  }
  if (plan.in >= 0) ::dup2(plan.in, STDIN_FILENO);
  if (plan.err >= 0) ::dup2(plan.err, STDERR_FILENO);
  std::vector<std::string> words = plan.words;
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  ::execvp(arguments[0], arguments.data());
  const bool missing = errno == ENOENT || errno == ENOTDIR;
  const std::string complaint =
      fmt::format("reeve: cannot run {}: {}\n", words[0], missing ? "not found" : "not executable");
  [[maybe_unused]] const auto told = ::write(STDERR_FILENO, complaint.data(), complaint.size());
  ::_exit(missing ? not_found : not_executable);
}

// Who is whose child, of all processes.
std::multimap<pid_t, pid_t> children_by_parent() {
  std::multimap<pid_t, pid_t> children;
  DIR* const processes = ::opendir("/proc");
  if (processes == nullptr) return children;
  while (const dirent* entry = ::readdir(processes)) {  // NOLINT(concurrency-mt-unsafe)
    const std::string_view name = entry->d_name;
    pid_t pid = 0;
    if (std::from_chars(name.begin(), name.end(), pid).ptr != name.end() || pid <= 0) continue;
    const int file = ::open(fmt::format("/proc/{}/stat", pid).c_str(), O_RDONLY | O_CLOEXEC);
    if (file < 0) continue;
    std::string text(1024, '\0');
    const ssize_t got = ::read(file, text.data(), text.size());
    ::close(file);
    text.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
    // pid (name) state ppid: the name may contain anything, so from the last parenthesis on.
    const std::size_t name_end = text.rfind(')');
    if (name_end == std::string::npos || name_end + 4 >= text.size()) continue;
    if (text[name_end + 2] == 'Z') continue;
    pid_t parent = 0;
    std::from_chars(text.data() + name_end + 4, text.data() + text.size(), parent);
    children.emplace(parent, pid);
  }
  ::closedir(processes);
  return children;
}

}  // namespace

Result<Child> Child::prepare(const Plan& plan) {
  int ends[2];  // NOLINT(modernize-avoid-c-arrays): pipe2 wants one
  if (::pipe2(ends, O_CLOEXEC) != 0) return fail(Error::Code::Io, "cannot make a pipe");
  const pid_t parent = ::getpid();
  const pid_t pid = ::fork();
  if (pid < 0) {
    ::close(ends[0]);
    ::close(ends[1]);
    return fail(Error::Code::Io, "cannot start another process");
  }
  if (pid == 0) {
    ::close(ends[1]);
    run_when_let_go(ends[0], plan, parent);
  }
  ::close(ends[0]);
  ::setpgid(pid, pid);  // here too: nobody may see it without its group
  return Child(pid, ends[1]);
}

Child::Child(Child&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)), gate_(std::exchange(other.gate_, -1)) {}

Child& Child::operator=(Child&& other) noexcept {
  abandon();
  pid_ = std::exchange(other.pid_, -1);
  gate_ = std::exchange(other.gate_, -1);
  return *this;
}

Child::~Child() { abandon(); }

void Child::abandon() {
  if (gate_ < 0) return;
  ::close(std::exchange(gate_, -1));
  while (::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
  }
}

void Child::go(const std::vector<std::pair<std::string, std::string>>& variables) {
  std::string text;
  for (const auto& [name, value] : variables) {
    text += fmt::format("{}={}", name, value);
    text += '\0';
  }
  const auto size = static_cast<std::uint32_t>(text.size());
  std::string message(reinterpret_cast<const char*>(&size), sizeof size);  // NOLINT
  message += text;
  std::string_view left = message;
  while (!left.empty()) {
    const ssize_t written = ::write(gate_, left.data(), left.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) break;  // it was killed meanwhile: its status says so
    left.remove_prefix(static_cast<std::size_t>(written));
  }
  ::close(std::exchange(gate_, -1));
}

void Child::signal(int signal) const { ::kill(-pid_, signal); }

int code_of(int status) {
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

std::vector<pid_t> descendants(pid_t spared) {
  const auto children = children_by_parent();
  std::vector<pid_t> found{::getpid()};
  for (std::size_t i = 0; i < found.size(); ++i) {
    const auto [from, to] = children.equal_range(found[i]);
    for (auto child = from; child != to; ++child) {
      if (child->second != spared) found.push_back(child->second);
    }
  }
  found.erase(found.begin());
  return found;
}

std::optional<int> end_tree(pid_t child, pid_t spared, int grace) {
  std::optional<int> status;
  const auto reap = [&] {
    int how = 0;
    for (pid_t pid = 0; (pid = ::waitpid(-1, &how, WNOHANG)) > 0;) {
      if (pid == child) status = how;
    }
  };
  constexpr int pause = 10;
  for (int waited = 0;; waited += pause) {
    reap();
    // Anew every time: a process may fork as it ends.
    const std::vector<pid_t> left = descendants(spared);
    const bool group_left = ::kill(-child, 0) == 0;
    if (left.empty() && !group_left) return status;
    const bool now_by_force = waited >= grace;
    if (waited == 0 || now_by_force) {
      const int signal = now_by_force ? SIGKILL : SIGTERM;
      if (group_left) ::kill(-child, signal);
      for (const pid_t pid : left) ::kill(pid, signal);
      // What was stopped cannot end.
      if (group_left) ::kill(-child, SIGCONT);
    }
    const timespec time{.tv_sec = 0, .tv_nsec = pause * 1'000'000};
    ::nanosleep(&time, nullptr);
  }
}

Gatherer::Gatherer() { ::prctl(PR_SET_CHILD_SUBREAPER, 1); }
Gatherer::~Gatherer() { ::prctl(PR_SET_CHILD_SUBREAPER, 0); }

void Foreground::give(pid_t group) {
  if (given_) return;
  if (terminal_ < 0) {
    if (::isatty(STDIN_FILENO) == 0 || ::tcgetpgrp(STDIN_FILENO) != ::getpgrp()) return;
    terminal_ = STDIN_FILENO;
  }
  std::signal(SIGTTOU, SIG_IGN);
  given_ = ::tcsetpgrp(terminal_, group) == 0;
}

void Foreground::take_back() {
  if (!given_) return;
  ::tcsetpgrp(terminal_, ::getpgrp());
  given_ = false;
}

}  // namespace reeve::cli
