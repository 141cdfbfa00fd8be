#include "tools/home_lock.h"

#include "tools/json.h"

#include <fmt/format.h>

#include <array>
#include <cerrno>
#include <fcntl.h>
#include <filesystem>
#include <string_view>
#include <sys/file.h>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>

namespace reeve::tools {

namespace {

using adapters::Descriptor;
namespace fs = std::filesystem;

constexpr const char* lock_name = "daemon.lock";

// The folders that may be its home: where it is, and where it says it is, if it is a link.
std::vector<fs::path> homes_of(const std::string& journal) {
  std::error_code ignored;
  fs::path named = fs::absolute(journal, ignored).lexically_normal();
  if (!named.has_filename()) named = named.parent_path();
  std::vector<fs::path> homes{named.parent_path()};
  const fs::path real = fs::canonical(named, ignored);
  if (!ignored && real.parent_path() != homes[0]) homes.push_back(real.parent_path());
  return homes;
}

bool is_in_a_home(const std::string& journal) {
  const fs::path path = fs::path(journal).lexically_normal();
  return (path.has_filename() ? path : path.parent_path()).filename() == "journal";
}

bool same_file(const Descriptor& one, const Descriptor& other) {
  struct stat a{};
  struct stat b{};
  return fstat(one.get(), &a) == 0 && fstat(other.get(), &b) == 0 && a.st_dev == b.st_dev &&
         a.st_ino == b.st_ino;
}

// {"pid":123,…}: the number.
std::string pid_in(const Descriptor& file) {
  std::array<char, 1024> text{};
  const ssize_t size = pread(file.get(), text.data(), text.size(), 0);
  const std::string_view all(text.data(), size > 0 ? static_cast<std::size_t>(size) : 0);
  constexpr std::string_view before = "\"pid\":";
  const std::size_t at = all.find(before);
  std::string pid;
  for (std::size_t i = at == all.npos ? all.size() : at + before.size();
       i < all.size() && all[i] >= '0' && all[i] <= '9';
       ++i) {
    pid += all[i];
  }
  return pid.empty() ? "unknown" : pid;
}

}  // namespace

Result<HomeLock> HomeLock::hold(const std::string& journal, const std::string& does) {
  HomeLock lock;
  const int create = is_in_a_home(journal) ? O_CREAT : 0;
  for (const fs::path& home : homes_of(journal)) {
    const std::string path = (home / lock_name).string();
    Descriptor file(open(path.c_str(), O_RDWR | create | O_NOFOLLOW | O_CLOEXEC, 0600));
    if (!file && errno == ENOENT) continue;
    if (!file) {
      return fail(Error::Code::Io,
                  fmt::format("cannot open {}: {}", path, std::generic_category().message(errno)));
    }
    if (!lock.files_.empty() && same_file(lock.files_[0], file)) continue;
    if (flock(file.get(), LOCK_EX | LOCK_NB) != 0) {
      return fail(Error::Code::Conflict,
                  fmt::format("{} is in use by process {}; first `reeve --home {} daemon stop`",
                              journal,
                              pid_in(file),
                              home.string()));
    }
    const std::string text = fmt::format("{{\"pid\":{},\"version\":{}}}\n", getpid(), json(does));
    // Nobody's safety hangs on it: the lock is what counts.
    if (ftruncate(file.get(), 0) == 0) {
      [[maybe_unused]] const ssize_t written = pwrite(file.get(), text.data(), text.size(), 0);
    }
    lock.files_.push_back(std::move(file));
  }
  return lock;
}

std::optional<std::string> user_of(const std::string& journal) {
  for (const fs::path& home : homes_of(journal)) {
    const Descriptor file(open((home / lock_name).c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
    if (!file) continue;
    // Shared, so that lookers do not meet; who wants it for good tries again after one.
    if (flock(file.get(), LOCK_SH | LOCK_NB) != 0) return pid_in(file);
  }
  return std::nullopt;
}

}  // namespace reeve::tools
