#include "cli/commands/monitor_memory.h"

#include <cerrno>
#include <cstdio>
#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>
#include <utility>

namespace reeve::cli {

namespace {

std::string read_whole(const std::string& path) {
  std::string text;
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return text;
  std::string bytes(std::size_t{64} << 10U, '\0');
  for (;;) {
    const ssize_t got = ::read(file, bytes.data(), bytes.size());
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    text.append(bytes, 0, static_cast<std::size_t>(got));
  }
  ::close(file);
  return text;
}

bool write_whole(int file, std::string_view text) {
  while (!text.empty()) {
    const ssize_t done = ::write(file, text.data(), text.size());
    if (done < 0 && errno == EINTR) continue;
    if (done <= 0) return false;
    text.remove_prefix(static_cast<std::size_t>(done));
  }
  return true;
}

void sync_folder_of(const std::string& path) {
  const std::string folder = path.substr(0, path.rfind('/'));
  const int opened = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (opened < 0) return;
  ::fsync(opened);
  ::close(opened);
}

}  // namespace

MonitorMemory::MonitorMemory(std::string path) : path_(std::move(path)) {
  lock_ = ::open((path_ + ".lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  locked_ = lock_ >= 0 && ::flock(lock_, LOCK_EX | LOCK_NB) == 0;
  known_ = parse_json(read_whole(path_)).value_or(Json::object());
  if (!known_.is_object()) known_ = Json::object();
}

MonitorMemory::~MonitorMemory() {
  if (lock_ >= 0) ::close(lock_);
}

bool MonitorMemory::remember(std::string_view item, Json record) {
  Json all = known_;
  all.set(item, std::move(record));
  return remember_only(std::move(all));
}

bool MonitorMemory::remember_only(Json all) {
  if (all == known_) return true;
  if (!write(all)) return false;
  known_ = std::move(all);
  return true;
}

bool MonitorMemory::write(const Json& all) const {
  const std::string temporary = path_ + ".tmp";
  const int file = ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (file < 0) return false;
  const bool written = write_whole(file, all.write() + "\n") && ::fsync(file) == 0;
  const bool closed = ::close(file) == 0;
  if (!written || !closed || ::rename(temporary.c_str(), path_.c_str()) != 0) return false;
  sync_folder_of(path_);
  return true;
}

}  // namespace reeve::cli
