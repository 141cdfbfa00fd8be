#include "cli/home.h"

#include "base/check.h"
#include "cli/json.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <csignal>
#include <cstdlib>
#include <fcntl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

namespace reeve::cli {

namespace {

std::string read_all(int file) {
  std::string text;
  std::array<char, 4096> buffer{};
  for (ssize_t got = 0; (got = ::read(file, buffer.data(), buffer.size())) > 0;) {
    text.append(buffer.data(), static_cast<std::size_t>(got));
  }
  ::close(file);
  return text;
}

// Whether somebody holds a flock on the file of this number. Of files of several disks the numbers
// may be the same; then the process decides, as it does without /proc/locks.
bool is_locked(ino_t inode) {
  const int file = ::open("/proc/locks", O_RDONLY | O_CLOEXEC);
  if (file < 0) return true;
  const std::string locks = read_all(file);
  const std::string wanted = ":" + std::to_string(inode) + " ";
  for (std::size_t at = 0; at < locks.size();) {
    const std::size_t end = std::min(locks.find('\n', at), locks.size());
    const std::string_view line = std::string_view(locks).substr(at, end - at);
    if (line.find("FLOCK") != std::string_view::npos && line.find(wanted) != line.npos) return true;
    at = end + 1;
  }
  return false;
}

}  // namespace

DaemonMark daemon_of(const std::string& home) {
  const int file =
      ::open((home + "/daemon.lock").c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
  if (file < 0) return {};
  struct stat about{};
  const bool known = ::fstat(file, &about) == 0;
  const auto mark = parse_json(read_all(file));
  if (!known || !mark) return {};
  const auto pid = static_cast<int>((*mark)["pid"].number());
  if (pid <= 0 || (::kill(pid, 0) != 0 && errno == ESRCH) || !is_locked(about.st_ino)) return {};
  return {pid, (*mark)["socket"].text()};
}

std::optional<std::string> environment(const char* name) {
  // One thread. NOLINTNEXTLINE(concurrency-mt-unsafe)
  const char* const value = std::getenv(name);
  if (value == nullptr || *value == '\0') return std::nullopt;
  return value;
}

std::string working_directory() {
  std::array<char, PATH_MAX> buffer{};
  return ::getcwd(buffer.data(), buffer.size()) == nullptr ? "/" : std::string(buffer.data());
}

std::optional<Home> find_home(std::optional<std::string_view> given) {
  const auto absolute = [](const std::string& path) {
    return path.starts_with('/') ? path : working_directory() + "/" + path;
  };
  Home home;
  home.is_named = given || environment("REEVE_HOME");
  if (given) {
    home.path = absolute(std::string(*given));
  } else if (const auto named = environment("REEVE_HOME")) {
    home.path = absolute(*named);
  } else if (const auto state = environment("XDG_STATE_HOME"); state && state->starts_with('/')) {
    home.path = *state + "/reeve";
  } else if (const auto user = environment("HOME")) {
    home.path = absolute(*user + "/.local/state/reeve");
  } else {
    return std::nullopt;
  }
  while (home.path.size() > 1 && home.path.ends_with('/')) home.path.pop_back();
  const auto socket = environment("REEVE_SOCKET");
  const std::string own = home.path + "/reeve.sock";
  home.socket = socket ? absolute(*socket) : own;
  home.is_elsewhere = home.socket != own;
  return home;
}

std::string random_word(std::size_t length) {
  constexpr std::string_view letters = "0123456789abcdefghjkmnpqrstvwxyz";
  std::array<unsigned char, 32> bytes{};
  CHECK(length <= bytes.size());
  CHECK(::getrandom(bytes.data(), length, 0) == static_cast<ssize_t>(length));
  std::string word;
  for (std::size_t i = 0; i < length; ++i) word += letters[bytes.at(i) % letters.size()];
  return word;
}

}  // namespace reeve::cli
