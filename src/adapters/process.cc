#include "adapters/process.h"

#include "adapters/descriptor.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <dirent.h>
#include <fcntl.h>
#include <set>
#include <string_view>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace reeve::adapters {
namespace {

std::string read_file(const std::string& path, std::uint32_t* owner = nullptr) {
  const Descriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file) return {};
  struct stat about{};
  if (owner && fstat(file.get(), &about) == 0) *owner = about.st_uid;
  std::string text(4096, '\0');
  const ssize_t size = read(file.get(), text.data(), text.size());
  text.resize(size > 0 ? static_cast<std::size_t>(size) : 0);
  return text;
}

// With a NUL before and behind each variable.
std::string environment_of(std::int64_t pid) {
  const std::string path = "/proc/" + std::to_string(pid) + "/environ";
  const Descriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  std::string text(1, '\0');
  std::array<char, 4096> block{};
  for (ssize_t size = 0; file && (size = read(file.get(), block.data(), block.size())) > 0;) {
    text.append(block.data(), static_cast<std::size_t>(size));
  }
  return text;
}

std::string words_of(std::int64_t pid) {
  return read_file("/proc/" + std::to_string(pid) + "/cmdline");
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
  std::string text = read_file("/proc/sys/kernel/random/boot_id");
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

std::optional<ProcessStatus> status_of(std::int64_t pid) {
  std::uint32_t owner = 0;
  const std::string text = read_file("/proc/" + std::to_string(pid) + "/stat", &owner);
  std::optional<ProcessStatus> status = parse_stat(text);
  if (status) status->user = owner;
  return status;
}

std::vector<ProcessStatus> all_processes() {
  std::vector<ProcessStatus> all;
  DIR* const directory = opendir("/proc");
  if (!directory) return all;
  // The stream is this call's own.
  while (const dirent* entry = readdir(directory)) {  // NOLINT(concurrency-mt-unsafe)
    const std::string_view name = entry->d_name;
    if (name.find_first_not_of("0123456789") != std::string_view::npos) continue;
    const std::optional<std::int64_t> pid = number_in<std::int64_t>(name);
    if (!pid) continue;
    if (const std::optional<ProcessStatus> status = status_of(*pid)) all.push_back(*status);
  }
  closedir(directory);
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
  const std::string wanted = '\0' + std::string(server_mark) + '\0';
  return environment_of(status.pid).find(wanted) != std::string::npos;
}

std::vector<ProcessStatus> descendants_of(std::int64_t pid) {
  const std::vector<ProcessStatus> all = all_processes();
  std::set<std::int64_t> tree{pid};
  std::vector<ProcessStatus> found;
  for (bool grown = true; grown;) {
    grown = false;
    for (const ProcessStatus& status : all) {
      if (tree.contains(status.pid) || !tree.contains(status.parent)) continue;
      if (is_of_reeve(status)) continue;
      tree.insert(status.pid);
      found.push_back(status);
      grown = true;
    }
  }
  return found;
}

std::vector<ProcessStatus> marked_with(const std::string& variable) {
  const std::string wanted = '\0' + variable + '\0';
  std::vector<ProcessStatus> found;
  for (const ProcessStatus& status : all_processes()) {
    if (status.user != geteuid() || status.is_zombie) continue;
    const bool is_marked = environment_of(status.pid).find(wanted) != std::string::npos;
    if (is_marked && !is_daemon(status.pid)) found.push_back(status);
  }
  return found;
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
bool is_alive(const Process& process, const std::string& boot) {
  if (process.boot_id != boot) return false;
  if (!process.group) {
    const std::optional<ProcessStatus> status = status_of(process.pid);
    return status && !status->is_zombie && status->start_time == process.start_time;
  }
  const std::optional<ProcessStatus> leader = status_of(process.pid);
  if (leader && leader->start_time != process.start_time) return false;
  const std::vector<ProcessStatus> all = all_processes();
  return std::ranges::any_of(all, [&](const ProcessStatus& status) {
    return status.group == process.pid && !status.is_zombie &&
           status.start_time >= process.start_time;
  });
}

}  // namespace reeve::adapters
