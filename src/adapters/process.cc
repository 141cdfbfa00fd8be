#include "adapters/process.h"

#include "adapters/descriptor.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <ctime>
#include <dirent.h>
#include <fcntl.h>
#include <set>
#include <string_view>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace reeve::adapters {
namespace {

// An error number, or 0.
int read_file(const std::string& path, std::string& text, std::uint32_t* owner = nullptr) {
  text.clear();
  const Descriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file) return errno;
  struct stat about{};
  if (owner && fstat(file.get(), &about) == 0) *owner = about.st_uid;
  std::array<char, 4096> piece{};
  while (true) {
    const ssize_t size = read(file.get(), piece.data(), piece.size());
    if (size < 0 && errno == EINTR) continue;
    if (size < 0) return errno;
    if (size == 0) return 0;
    text.append(piece.data(), static_cast<std::size_t>(size));
  }
}

bool is_gone(int number) { return number == ENOENT || number == ESRCH; }
// A look at all of them leaves out what is hidden; but without means it is none.
bool lacks_means(int number) { return number == EMFILE || number == ENFILE || number == ENOMEM; }

Error cannot_tell(int number) {
  return {Error::Code::Io, "cannot look at processes: error " + std::to_string(number)};
}

std::string path_of(std::int64_t pid, std::string_view file) {
  return "/proc/" + std::to_string(pid) + "/" + std::string(file);
}

std::string words_of(std::int64_t pid) {
  std::string words;
  read_file(path_of(pid, "cmdline"), words);
  return words;
}

// An error number, or 0.
int read_status(std::int64_t pid, std::optional<ProcessStatus>& status) {
  std::uint32_t owner = 0;
  std::string text;
  const int number = read_file(path_of(pid, "stat"), text, &owner);
  if (number != 0) return number;
  status = parse_stat(text);
  if (status) status->user = owner;
  return 0;
}

// The variables of a process of this user's, each with a NUL behind it.
int read_environment(std::int64_t pid, std::string& text) {
  return read_file(path_of(pid, "environ"), text);
}

// Whether the first word ends so, and what is behind it begins so.
bool says(std::string_view words, std::string_view name, std::string_view rest) {
  const std::size_t end = words.find('\0');
  return end != std::string_view::npos && words.substr(0, end).ends_with(name) &&
         words.substr(end).starts_with(rest);
}

template <class Number>
std::optional<Number> number_in(std::string_view text) {
  Number number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{}) return std::nullopt;
  return number;
}

}  // namespace

std::string boot_id() {
  std::string text;
  read_file("/proc/sys/kernel/random/boot_id", text);
  while (!text.empty() && text.back() == '\n') text.pop_back();
  return text;
}

// "4242 (any (name) at all) S 1 4242 ...": the name may have anything in it, and ends with the last
// parenthesis. Behind it are the fields from the third on.
std::optional<ProcessStatus> parse_stat(std::string_view text) {
  const std::size_t end = text.rfind(')');
  const std::optional<std::int64_t> pid = number_in<std::int64_t>(text);
  if (end == std::string_view::npos || !pid) return std::nullopt;
  std::vector<std::string_view> fields;
  for (std::string_view rest = text.substr(end + 1); !rest.empty();) {
    const std::size_t begin = rest.find_first_not_of(' ');
    if (begin == std::string_view::npos) break;
    rest.remove_prefix(begin);
    fields.push_back(rest.substr(0, rest.find(' ')));
    rest.remove_prefix(fields.back().size());
  }
  constexpr std::size_t state = 0;
  constexpr std::size_t parent = 1;
  constexpr std::size_t group = 2;
  constexpr std::size_t session = 3;
  constexpr std::size_t start_time = 19;
  if (fields.size() <= start_time) return std::nullopt;
  ProcessStatus status;
  status.pid = *pid;
  status.is_zombie = fields[state] == "Z" || fields[state] == "X";
  status.parent = number_in<std::int64_t>(fields[parent]).value_or(0);
  status.group = number_in<std::int64_t>(fields[group]).value_or(0);
  status.session = number_in<std::int64_t>(fields[session]).value_or(0);
  status.start_time = number_in<std::uint64_t>(fields[start_time]).value_or(0);
  return status;
}

Result<std::optional<ProcessStatus>> look_up(std::int64_t pid) {
  std::optional<ProcessStatus> status;
  const int number = read_status(pid, status);
  if (number != 0 && !is_gone(number)) return fail(cannot_tell(number));
  return status;
}

std::optional<ProcessStatus> status_of(std::int64_t pid) {
  return look_up(pid).value_or(std::nullopt);
}

Result<std::vector<ProcessStatus>> all_processes() {
  DIR* const directory = opendir("/proc");
  if (!directory) return fail(cannot_tell(errno));
  std::vector<ProcessStatus> all;
  int trouble = 0;
  // The stream is this call's own.
  while (const dirent* entry = readdir(directory)) {  // NOLINT(concurrency-mt-unsafe)
    const std::string_view name = entry->d_name;
    if (name.find_first_not_of("0123456789") != std::string_view::npos) continue;
    const std::optional<std::int64_t> pid = number_in<std::int64_t>(name);
    if (!pid) continue;
    std::optional<ProcessStatus> status;
    const int number = read_status(*pid, status);
    if (lacks_means(number)) trouble = number;
    if (status) all.push_back(*status);
  }
  closedir(directory);
  if (trouble != 0) return fail(cannot_tell(trouble));
  return all;
}

bool is_daemon(std::int64_t pid) {
  constexpr std::string_view rest("\0daemon\0run\0", 12);
  return says(words_of(pid), "reeve", rest);
}

bool is_of_reeve(const ProcessStatus& status) {
  const std::string words = words_of(status.pid);
  constexpr std::string_view daemon("\0daemon\0run\0", 12);
  constexpr std::string_view hold("\0hold\0", 6);
  if (says(words, "reeve", daemon) || says(words, "reeve", hold)) return true;
  // A client has the mark too, but is part of whoever calls it: only a server leads a session.
  if (status.session != status.pid || !says(words, "tmux", std::string_view("\0", 1))) return false;
  std::string environment;
  read_environment(status.pid, environment);
  const std::string wanted = '\0' + std::string(server_mark) + '\0';
  return ('\0' + environment).find(wanted) != std::string::npos;
}

Result<std::vector<ProcessStatus>> descendants_of(std::int64_t pid) {
  const Result<std::vector<ProcessStatus>> all = all_processes();
  if (!all) return all;
  std::set<std::int64_t> tree{pid};
  std::vector<ProcessStatus> found;
  for (bool grown = true; grown;) {
    grown = false;
    for (const ProcessStatus& status : *all) {
      if (tree.contains(status.pid) || !tree.contains(status.parent)) continue;
      if (is_of_reeve(status)) continue;
      tree.insert(status.pid);
      found.push_back(status);
      grown = true;
    }
  }
  return found;
}

Result<Marked> marked_by(const std::string& name) {
  const Result<std::vector<ProcessStatus>> all = all_processes();
  if (!all) return fail(all.error());
  const std::string begin = name + "=";
  Marked found;
  std::string text;
  for (const ProcessStatus& status : *all) {
    if (status.user != geteuid() || status.is_zombie) continue;
    const int number = read_environment(status.pid, text);
    if (lacks_means(number)) return fail(cannot_tell(number));
    for (std::string_view rest = text; !rest.empty();) {
      const std::string_view entry = rest.substr(0, rest.find('\0'));
      rest.remove_prefix(std::min(entry.size() + 1, rest.size()));
      if (!entry.starts_with(begin)) continue;
      if (!is_daemon(status.pid)) {
        found[std::string(entry.substr(begin.size()))].push_back(status);
      }
      break;
    }
  }
  return found;
}

Result<std::vector<ProcessStatus>> marked_with(const std::string& variable) {
  const std::size_t equals = variable.find('=');
  Result<Marked> marked = marked_by(variable.substr(0, equals));
  if (!marked) return fail(marked.error());
  return std::move((*marked)[variable.substr(equals + 1)]);
}

int pidfd_open(std::int64_t pid) {
  return static_cast<int>(syscall(SYS_pidfd_open, static_cast<pid_t>(pid), 0));
}

void send_signal(std::int64_t pid, std::uint64_t start_time, int number) {
  const Descriptor process(pidfd_open(pid));
  if (!process) return;
  const std::optional<ProcessStatus> status = status_of(pid);
  if (!status || status->start_time != start_time || status->is_zombie) return;
  syscall(SYS_pidfd_send_signal, process.get(), number, nullptr, 0);
}

bool is_our_own_life(std::int64_t pid, bool group) {
  if (pid <= 1) return true;
  for (std::int64_t line = getpid(); line > 1;) {
    const std::optional<ProcessStatus> status = status_of(line);
    if (line == pid) return true;
    if (!status) return false;
    if (group && status->group == pid) return true;
    line = status->parent;
  }
  return false;
}

std::optional<Process> own_process(std::int64_t pid, bool group, const std::string& boot) {
  const std::optional<ProcessStatus> status = status_of(pid);
  if (!status || status->is_zombie || status->user != geteuid()) return std::nullopt;
  if (group && status->group != pid) return std::nullopt;
  if (is_our_own_life(pid, group)) return std::nullopt;
  return Process{pid, status->start_time, boot, group};
}

// A group is told by its number, which the kernel does not give to another process while one of it
// is left; so a member that started before the leader did is not one of it.
Life life_of(const Process& process, const std::string& boot) {
  if (process.boot_id != boot) return Life::Gone;
  const Result<std::optional<ProcessStatus>> seen = look_up(process.pid);
  if (!seen) return Life::CannotTell;
  const std::optional<ProcessStatus>& itself = *seen;
  if (!process.group) {
    const bool is_it = itself && !itself->is_zombie && itself->start_time == process.start_time;
    return is_it ? Life::There : Life::Gone;
  }
  if (itself && itself->start_time != process.start_time) return Life::Gone;
  const Result<std::vector<ProcessStatus>> all = all_processes();
  if (!all) return Life::CannotTell;
  const bool is_any = std::ranges::any_of(*all, [&](const ProcessStatus& status) {
    return status.group == process.pid && !status.is_zombie &&
           status.start_time >= process.start_time;
  });
  return is_any ? Life::There : Life::Gone;
}

bool is_alive(const Process& process, const std::string& boot) {
  return life_of(process, boot) != Life::Gone;
}

Duration since_boot() {
  timespec time{};
  clock_gettime(CLOCK_BOOTTIME, &time);
  return Duration{time.tv_sec * 1000 + time.tv_nsec / 1'000'000};
}

Duration began_at(const Process& process) {
  const auto a_second = static_cast<std::uint64_t>(std::max(sysconf(_SC_CLK_TCK), 1L));
  return Duration{static_cast<std::int64_t>(process.start_time * 1000 / a_second)};
}

}  // namespace reeve::adapters
