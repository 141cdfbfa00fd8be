#include "config/files.h"

#include <fmt/format.h>

#include <array>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <optional>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

namespace reeve::config {
namespace {

constexpr std::size_t largest = std::size_t{1} << 20U;

class Open {
 public:
  explicit Open(int number) : number_(number) {}
  Open(const Open&) = delete;
  Open& operator=(const Open&) = delete;
  ~Open() {
    if (number_ >= 0) ::close(number_);
  }

  int number() const { return number_; }
  explicit operator bool() const { return number_ >= 0; }

 private:
  int number_;
};

std::string reason() { return std::strerror(errno); }  // NOLINT(concurrency-mt-unsafe)

// None: it is not there. An error says why it cannot be read.
Result<std::optional<std::string>> read_text(const std::string& path) {
  const Open file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  if (!file && (errno == ENOENT || errno == ENOTDIR)) return std::nullopt;
  if (!file) return fail(Error::Code::Io, fmt::format("cannot be read: {}", reason()));
  struct stat about{};
  if (::fstat(file.number(), &about) != 0) {
    return fail(Error::Code::Io, fmt::format("cannot be read: {}", reason()));
  }
  // Of a pipe that nobody writes to there would be nothing, which is not what it says.
  if (!S_ISREG(about.st_mode)) {
    return fail(Error::Code::Io, "cannot be read: it is no regular file");
  }
  std::string text;
  std::array<char, 4096> buffer{};
  for (;;) {
    const ssize_t got = ::read(file.number(), buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return fail(Error::Code::Io, fmt::format("cannot be read: {}", reason()));
    if (got == 0) return text;
    text.append(buffer.data(), static_cast<std::size_t>(got));
    if (text.size() > largest) return fail(Error::Code::Io, "is larger than 1 MiB");
  }
}

std::string folder_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  return slash == 0 || slash == std::string::npos ? "/" : path.substr(0, slash);
}

Result<void> make_folders(const std::string& path) {
  if (path == "/" || ::mkdir(path.c_str(), 0777) == 0 || errno == EEXIST) return {};
  if (errno == ENOENT) {
    if (auto above = make_folders(folder_of(path)); !above) return above;
    if (::mkdir(path.c_str(), 0777) == 0 || errno == EEXIST) return {};
  }
  return fail(Error::Code::Io, fmt::format("cannot make the folder {}: {}", path, reason()));
}

// Where the file really is: it may be a link into somebody's collection of such files.
std::string real_path(const std::string& path) {
  std::array<char, PATH_MAX> real{};
  return ::realpath(path.c_str(), real.data()) == nullptr ? path : std::string(real.data());
}

bool write_all(int file, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(file, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return false;
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  return true;
}

// Aside, synced, renamed, and the folder synced: the order decides that a crash leaves the old file
// or the new one.
Result<void> replace(const std::string& path, std::string_view text, int folder) {
  std::string aside = path + ".XXXXXX";
  const Open file(::mkostemp(aside.data(), O_CLOEXEC));
  if (!file) return fail(Error::Code::Io, fmt::format("cannot write {}: {}", aside, reason()));
  struct stat old{};
  const mode_t mask = ::umask(0);
  ::umask(mask);
  const mode_t mode = ::stat(path.c_str(), &old) == 0 ? old.st_mode & 07777U : 0666U & ~mask;
  const bool done = write_all(file.number(), text) && ::fchmod(file.number(), mode) == 0 &&
                    ::fsync(file.number()) == 0 && ::rename(aside.c_str(), path.c_str()) == 0;
  if (!done) {
    const std::string why = reason();
    ::unlink(aside.c_str());
    return fail(Error::Code::Io, fmt::format("cannot write {}: {}", path, why));
  }
  if (::fsync(folder) != 0) {
    return fail(Error::Code::Io, fmt::format("cannot sync {}: {}", folder_of(path), reason()));
  }
  return {};
}

std::string variable(const char* name) {
  const char* const value = std::getenv(name);  // NOLINT(concurrency-mt-unsafe)
  return value == nullptr ? "" : value;
}

}  // namespace

std::string user_file() {
  if (const std::string config = variable("XDG_CONFIG_HOME"); config.starts_with('/')) {
    return config + "/reeve/config.toml";
  }
  const std::string home = variable("HOME");
  return home.starts_with('/') ? home + "/.config/reeve/config.toml" : "";
}

std::string project_file(std::string_view root) {
  return root.empty() ? "" : fmt::format("{}/.reeve/config.toml", root == "/" ? "" : root);
}

std::expected<Layer, Mistakes> read_layer_file(Origin origin, const std::string& path) {
  if (path.empty()) return Layer{.origin = origin, .file = ""};
  const auto text = read_text(path);
  if (!text) return std::unexpected(Mistakes{{path, {}, text.error().message}});
  if (!*text) return Layer{.origin = origin, .file = path};
  return read_layer(origin, path, **text);
}

std::expected<Settings, Mistakes> read_settings(const std::string& user,
                                                const std::string& project) {
  auto users = read_layer_file(Origin::User, user);
  auto projects = read_layer_file(Origin::Project, project);
  if (users && projects) return Settings(*std::move(users), *std::move(projects));
  Mistakes mistakes;
  for (const auto* layer : {&users, &projects}) {
    if (*layer) continue;
    mistakes.insert(mistakes.end(), layer->error().begin(), layer->error().end());
  }
  return std::unexpected(std::move(mistakes));
}

Result<void> change_file(const std::string& path,
                         const std::function<Result<std::string>(std::string_view)>& edit) {
  if (auto made = make_folders(folder_of(path)); !made) return made;
  const std::string real = real_path(path);
  const std::string folder = folder_of(real);
  const Open lock(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!lock) return fail(Error::Code::Io, fmt::format("cannot open {}: {}", folder, reason()));
  while (::flock(lock.number(), LOCK_EX) != 0) {
    if (errno == EINTR) continue;
    return fail(Error::Code::Io, fmt::format("cannot lock {}: {}", folder, reason()));
  }
  const auto before = read_text(real);
  if (!before) return fail(before.error().code, fmt::format("{} {}", path, before.error().message));
  const std::string text = before->value_or("");
  const Result<std::string> after = edit(text);
  if (!after) return fail(after.error());
  if (*after == text && before->has_value()) return {};
  return replace(real, *after, lock.number());
}

}  // namespace reeve::config
