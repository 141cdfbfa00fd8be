#include "cli/child.h"

#include "cli/home.h"
#include "cli/output.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <dirent.h>
#include <fcntl.h>
#include <map>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

namespace reeve::cli {

namespace {

constexpr int keeper_grace = 5000;
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

void write_all(int descriptor, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(descriptor, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return;
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
}

template <class T>
std::string_view bytes_of(const T& value) {
  return {reinterpret_cast<const char*>(&value), sizeof value};  // NOLINT
}

// The keeper has no exec to close them for it: the socket and the gates of its siblings. What the
// user handed down (a jobserver of make, say) does not close by itself and stays.
void close_ours(int gate, int news) {
  std::vector<int> ours;
  DIR* const open = ::opendir("/proc/self/fd");
  if (open == nullptr) return;
  while (const dirent* entry = ::readdir(open)) {  // NOLINT(concurrency-mt-unsafe)
    const std::string_view name = entry->d_name;
    int descriptor = 0;
    if (std::from_chars(name.begin(), name.end(), descriptor).ptr != name.end()) continue;
    if (descriptor <= STDERR_FILENO || descriptor == gate || descriptor == news) continue;
    if (descriptor == ::dirfd(open)) continue;
    const int flags = ::fcntl(descriptor, F_GETFD);
    if (flags >= 0 && (flags & FD_CLOEXEC) != 0) ours.push_back(descriptor);
  }
  ::closedir(open);
  for (const int descriptor : ours) ::close(descriptor);
}

// In the process that becomes the command.
[[noreturn]] void become(const std::vector<std::string>& command) {
  for (int signal = 1; signal < NSIG; ++signal) {
    // What was ignored when we were started (nohup) stays so; SIGPIPE is ours.
    if (signal == SIGPIPE || signal == SIGTTOU) std::signal(signal, SIG_DFL);
  }
  sigset_t none;
  ::sigemptyset(&none);
  ::pthread_sigmask(SIG_SETMASK, &none, nullptr);
  std::vector<std::string> words = command;
  std::vector<char*> arguments;
  arguments.reserve(words.size() + 1);
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  ::execvp(arguments[0], arguments.data());
  const bool missing = errno == ENOENT || errno == ENOTDIR;
  write_all(STDERR_FILENO,
            fmt::format(
                "reeve: cannot run {}: {}\n", words[0], missing ? "not found" : "not executable"));
  ::_exit(missing ? not_found : not_executable);
}

struct Process {
  pid_t pid = 0;
  pid_t parent = 0;
  pid_t group = 0;
};

// Of this machine, those that run: no zombies.
std::vector<Process> processes() {
  std::vector<Process> all;
  DIR* const entries = ::opendir("/proc");
  if (entries == nullptr) return all;
  while (const dirent* entry = ::readdir(entries)) {  // NOLINT(concurrency-mt-unsafe)
    const std::string_view name = entry->d_name;
    Process process;
    const auto read = std::from_chars(name.begin(), name.end(), process.pid);
    if (read.ptr != name.end() || process.pid <= 0) continue;
    const std::string path = fmt::format("/proc/{}/stat", process.pid);
    const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (file < 0) continue;
    std::string text(1024, '\0');
    const ssize_t got = ::read(file, text.data(), text.size());
    ::close(file);
    text.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
    // pid (name) state ppid pgrp: the name may contain anything, so from the last parenthesis on.
    const std::size_t name_end = text.rfind(')');
    if (name_end == std::string::npos || name_end + 4 >= text.size()) continue;
    if (text[name_end + 2] == 'Z') continue;
    const char* const end = text.data() + text.size();
    const char* const behind = std::from_chars(text.data() + name_end + 4, end, process.parent).ptr;
    if (behind < end) std::from_chars(behind + 1, end, process.group);
    all.push_back(process);
  }
  ::closedir(entries);
  return all;
}

// All that descends from this process, but the daemon of the home and what descends from it.
std::vector<pid_t> descendants(const std::string& home) {
  std::multimap<pid_t, pid_t> children;
  for (const Process& process : processes()) children.emplace(process.parent, process.pid);
  const pid_t spared = home.empty() ? 0 : daemon_of(home).pid;
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

void nap() {
  const timespec time{.tv_sec = 0, .tv_nsec = 10'000'000};
  ::nanosleep(&time, nullptr);
}

// Whether the other end of the gate was closed, within so many ms.
bool is_dismissed(int gate, int milliseconds) {
  pollfd end{.fd = gate, .events = POLLIN, .revents = 0};
  return ::poll(&end, 1, milliseconds) > 0;
}

// The keeper: waits for leave, runs the command, tells of it, and stays until it is dismissed.
[[noreturn]] void keep(int gate, int news, const Child::Plan& plan) {
  ::setpgid(0, 0);
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
  sigset_t all;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, nullptr);
  if (plan.in >= 0) ::dup2(plan.in, STDIN_FILENO);
  if (plan.err >= 0) ::dup2(plan.err, STDERR_FILENO);
  close_ours(gate, news);
  std::uint32_t size = 0;
  if (!read_exactly(gate, reinterpret_cast<char*>(&size), sizeof size)) ::_exit(0);  // NOLINT
  std::string variables(size, '\0');
  if (!read_exactly(gate, variables.data(), size)) ::_exit(0);
  for (std::size_t at = 0; at < variables.size();) {
    const std::string text(variables.data() + at);
    const std::size_t equals = text.find('=');
    // NOLINTNEXTLINE(concurrency-mt-unsafe): one thread
    ::setenv(text.substr(0, equals).c_str(), text.substr(equals + 1).c_str(), 1);
    at += text.size() + 1;
  }
  const pid_t command = ::fork();
  if (command == 0) become(plan.words);
  const int family = command < 0 ? -1 : static_cast<int>(::syscall(SYS_pidfd_open, command, 0));
  bool ended = command < 0;
  if (ended) write_all(news, bytes_of(Child::News{.stopped = false, .code = not_executable}));
  int poll_every = family < 0 ? 20 : -1;
  while (!ended) {
    // A stop is no end of the process, so it is looked for now and then.
    std::array<pollfd, 2> either{pollfd{.fd = gate, .events = POLLIN, .revents = 0},
                                 pollfd{.fd = family, .events = POLLIN, .revents = 0}};
    ::poll(either.data(), either.size(), poll_every < 0 ? 200 : poll_every);
    int status = 0;
    if (::waitpid(command, &status, WNOHANG | WUNTRACED) == command) {
      Child::News what;
      what.stopped = WIFSTOPPED(status);
      what.code = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
      ended = !what.stopped;
      write_all(news, bytes_of(what));
    } else if (either[0].revents != 0) {
      // Whoever asked for it is gone.
      TreeEnd end({}, plan.home, keeper_grace);
      while (!end.step()) nap();
      ::_exit(0);
    }
    reap_orphans(command);
  }
  while (!is_dismissed(gate, 200)) reap_orphans(-1);
  ::_exit(0);
}

}  // namespace

Result<Child> Child::prepare(const Plan& plan) {
  int gate[2];  // NOLINT(modernize-avoid-c-arrays): pipe2 wants them so
  int news[2];  // NOLINT(modernize-avoid-c-arrays)
  if (::pipe2(gate, O_CLOEXEC) != 0) return fail(Error::Code::Io, "cannot make a pipe");
  if (::pipe2(news, O_CLOEXEC) != 0) {
    ::close(gate[0]);
    ::close(gate[1]);
    return fail(Error::Code::Io, "cannot make a pipe");
  }
  const pid_t pid = ::fork();
  if (pid == 0) keep(gate[0], news[1], plan);
  ::close(gate[0]);
  ::close(news[1]);
  if (pid < 0) {
    ::close(gate[1]);
    ::close(news[0]);
    return fail(Error::Code::Io, "cannot start another process");
  }
  ::setpgid(pid, pid);  // here too: nobody may see it without its group
  ::fcntl(news[0], F_SETFL, O_NONBLOCK);
  return Child(pid, gate[1], news[0]);
}

Child::Child(Child&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)),
      gate_(std::exchange(other.gate_, -1)),
      news_(std::exchange(other.news_, -1)),
      stand_in_(std::exchange(other.stand_in_, -1)),
      stand_in_gate_(std::exchange(other.stand_in_gate_, -1)) {}

Child& Child::operator=(Child&& other) noexcept {
  dismiss();
  pid_ = std::exchange(other.pid_, -1);
  gate_ = std::exchange(other.gate_, -1);
  news_ = std::exchange(other.news_, -1);
  stand_in_ = std::exchange(other.stand_in_, -1);
  stand_in_gate_ = std::exchange(other.stand_in_gate_, -1);
  return *this;
}

void Child::dismiss() {
  if (pid_ < 0) return;
  ::close(std::exchange(gate_, -1));
  ::close(std::exchange(news_, -1));
  while (::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
  }
  pid_ = -1;
  if (stand_in_ < 0) return;
  ::close(std::exchange(stand_in_gate_, -1));
  while (::waitpid(stand_in_, nullptr, 0) < 0 && errno == EINTR) {
  }
  stand_in_ = -1;
}

// The keeper is not reaped before dismiss(), so its group is there to be entered, and its number
// nobody else's.
void Child::stand_in() {
  if (stand_in_ >= 0) return;
  int gate[2];  // NOLINT(modernize-avoid-c-arrays): pipe2 wants them so
  if (::pipe2(gate, O_CLOEXEC) != 0) return;
  const pid_t pid = ::fork();
  if (pid == 0) {
    ::setpgid(0, pid_);
    sigset_t all;
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, nullptr);
    close_ours(gate[0], gate[0]);
    while (!is_dismissed(gate[0], -1)) {
    }
    ::_exit(0);
  }
  ::close(gate[0]);
  if (pid < 0) {
    ::close(gate[1]);
    return;
  }
  ::setpgid(pid, pid_);
  stand_in_ = pid;
  stand_in_gate_ = gate[1];
}

std::vector<pid_t> Child::ours() const {
  std::vector<pid_t> ours{pid_};
  if (stand_in_ >= 0) ours.push_back(stand_in_);
  return ours;
}

void Child::go(const std::vector<std::pair<std::string, std::string>>& variables) const {
  std::string text;
  for (const auto& [name, value] : variables) {
    text += fmt::format("{}={}", name, value);
    text += '\0';
  }
  write_all(gate_, bytes_of(static_cast<std::uint32_t>(text.size())));
  write_all(gate_, text);
}

void Child::signal(int signal) const { ::kill(-pid_, signal); }

std::optional<Child::News> Child::next_news() const {
  News what;
  const ssize_t got = ::read(news_, &what, sizeof what);
  if (got == static_cast<ssize_t>(sizeof what)) return what;
  if (got == 0) return News{.stopped = false, .code = 128 + SIGKILL, .orphaned = true};
  return std::nullopt;
}

bool TreeEnd::step() {
  const auto is_kept = [&](pid_t pid) { return std::ranges::find(kept_, pid) != kept_.end(); };
  // Orphans that were gathered; those who are kept are reaped by whoever has them.
  while (true) {
    siginfo_t ended{};
    if (::waitid(P_ALL, 0, &ended, WEXITED | WNOHANG | WNOWAIT) != 0 || ended.si_pid == 0) break;
    if (is_kept(ended.si_pid)) break;
    ::waitpid(ended.si_pid, nullptr, WNOHANG);
  }
  // Anew every time: a process may fork as it ends.
  std::vector<pid_t> left = descendants(home_);
  std::erase_if(left, is_kept);
  if (left.empty()) return true;
  const bool first = !began_;
  if (first) began_ = steady_now();
  const bool by_force = steady_now() - *began_ >= grace_;
  if (!first && !by_force) return false;
  for (const pid_t pid : left) {
    ::kill(pid, by_force ? SIGKILL : SIGTERM);
    ::kill(pid, SIGCONT);  // what was stopped cannot end
  }
  return false;
}

void kill_group(pid_t group, const std::vector<pid_t>& kept) {
  while (true) {
    bool any = false;
    for (const Process& process : processes()) {
      if (process.group != group || std::ranges::find(kept, process.pid) != kept.end()) continue;
      any = true;
      ::kill(process.pid, SIGKILL);
    }
    if (!any) return;
    nap();
  }
}

void reap_orphans(pid_t keeper) {
  siginfo_t ended{};
  while (::waitid(P_ALL, 0, &ended, WEXITED | WNOHANG | WNOWAIT) == 0 && ended.si_pid != 0) {
    if (ended.si_pid == keeper) return;  // it is reaped when it is dismissed
    ::waitpid(ended.si_pid, nullptr, WNOHANG);
    ended = {};
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
