#include "daemon/home.h"

#include "codec/json_text.h"
#include "journal/real_files.h"

#include <fmt/format.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <system_error>
#include <time.h>
#include <unistd.h>

namespace reeve::daemon {
namespace {

constexpr int most_lookers = 100;

std::string reason(int error) { return std::generic_category().message(error); }

std::optional<std::string> environment(const char* name) {
  const char* value = std::getenv(name);  // NOLINT(concurrency-mt-unsafe): before any thread
  if (!value || *value == '\0') return std::nullopt;
  return value;
}

std::string absolute(const std::string& path) {
  if (path.starts_with('/')) return path;
  std::array<char, 4096> here{};
  return getcwd(here.data(), here.size()) ? std::string(here.data()) + "/" + path : path;
}

// It is one already, or nothing is in it: whose mode could be changed without harm to others.
bool may_become_a_home(int folder) {
  if (faccessat(folder, "journal", F_OK, AT_SYMLINK_NOFOLLOW) == 0) return true;
  const int copy = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  DIR* entries = copy < 0 ? nullptr : fdopendir(copy);
  if (!entries) {
    if (copy >= 0) close(copy);
    return false;
  }
  int count = 0;
  while (readdir(entries)) ++count;  // NOLINT(concurrency-mt-unsafe): a stream of our own
  closedir(entries);
  return count <= 2;
}

}  // namespace

Result<std::string> find_home(const std::optional<std::string>& given) {
  if (given) return absolute(*given);
  if (const auto home = environment("REEVE_HOME")) return absolute(*home);
  // One that is relative would be another home in every folder: it counts for nothing.
  const auto state = environment("XDG_STATE_HOME");
  if (state && state->starts_with('/')) return *state + "/reeve";
  if (const auto user = environment("HOME")) return absolute(*user) + "/.local/state/reeve";
  return fail(Error::Code::NotFound,
              "nobody says where the home is: set REEVE_HOME, or give --home DIR");
}

std::string find_socket(const std::string& home) {
  if (const auto socket = environment("REEVE_SOCKET")) return absolute(*socket);
  return home + "/reeve.sock";
}

Result<Descriptor> open_private_folder(const std::string& path,
                                       bool others_may_look,
                                       std::string_view otherwise) {
  Descriptor folder(open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!folder) {
    struct stat link{};
    if (lstat(path.c_str(), &link) == 0 && S_ISLNK(link.st_mode)) {
      return fail(Error::Code::Io,
                  fmt::format("{} is a symbolic link; name the folder it leads to", path));
    }
    return fail(Error::Code::Io, fmt::format("cannot open the folder {}: {}", path, reason(errno)));
  }
  struct stat about{};
  if (fstat(folder.get(), &about) != 0) {
    return fail(Error::Code::Io, fmt::format("cannot look at {}: {}", path, reason(errno)));
  }
  if (about.st_uid != geteuid()) {
    return fail(
        Error::Code::Io,
        fmt::format("{} belongs to another user (uid {}); {}", path, about.st_uid, otherwise));
  }
  const mode_t forbidden = others_may_look ? 022 : 077;
  if ((about.st_mode & forbidden) != 0 && !may_become_a_home(folder.get())) {
    return fail(Error::Code::Io,
                fmt::format("{} is open to others (mode {:04o}) and no home of Reeve; {}",
                            path,
                            about.st_mode & 07777U,
                            otherwise));
  }
  if ((about.st_mode & forbidden) != 0) {
    return fail(Error::Code::Io,
                fmt::format("{} is open to others (mode {:04o}); try `chmod 700 {}`",
                            path,
                            about.st_mode & 07777U,
                            path));
  }
  return folder;
}

Result<Descriptor> open_home(const std::string& path) {
  struct stat about{};
  if (lstat(path.c_str(), &about) != 0) {
    if (auto made = journal::make_directory(path); !made) return fail(made.error());
  }
  return open_private_folder(path, false, "choose another with --home DIR");
}

Result<Instance> Instance::claim(const Descriptor& home, const std::string& path) {
  Descriptor file(
      openat(home.get(), "daemon.lock", O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!file) {
    return fail(Error::Code::Io,
                fmt::format("cannot open {}/daemon.lock: {}", path, reason(errno)));
  }
  // Somebody who only looks whether it is held (`reeve journal info`) shares it for a moment.
  for (int attempt = 0; attempt < most_lookers; ++attempt) {
    if (flock(file.get(), LOCK_EX | LOCK_NB) == 0) return Instance(std::move(file));
    if (flock(file.get(), LOCK_SH | LOCK_NB) != 0) break;
    flock(file.get(), LOCK_UN);
    constexpr timespec a_moment{.tv_sec = 0, .tv_nsec = 1'000'000};
    nanosleep(&a_moment, nullptr);
  }
  std::array<char, 1024> text{};
  const ssize_t size = pread(file.get(), text.data(), text.size(), 0);
  std::string pid = "unknown";
  std::string version = "unknown";
  codec::JsonCursor cursor(
      std::string_view(text.data(), size > 0 ? static_cast<std::size_t>(size) : 0));
  std::string name;
  std::string value;
  std::string_view number;
  cursor.skip_if('{');
  do {
    if (!cursor.read_string(name) || !cursor.read_mark(':')) break;
    if (cursor.kind() == codec::JsonKind::Number && cursor.read_number(number)) {
      if (name == "pid") pid = number;
    } else if (cursor.read_string(value)) {
      if (name == "version") version = value;
    }
  } while (cursor.skip_if(','));
  return fail(Error::Code::Conflict,
              fmt::format("a daemon already runs in {}: pid {}, version {}", path, pid, version));
}

void Instance::write(std::string_view version, std::string_view socket) const {
  std::string text = fmt::format("{{\"pid\":{},\"version\":", getpid());
  codec::append_json_string(text, version);
  text += ",\"socket\":";
  codec::append_json_string(text, socket);
  text += "}\n";
  // Nobody's safety hangs on it: the lock is what counts.
  if (ftruncate(file_.get(), 0) == 0) {
    [[maybe_unused]] const ssize_t written = pwrite(file_.get(), text.data(), text.size(), 0);
  }
}

}  // namespace reeve::daemon
