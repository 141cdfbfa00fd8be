#include "adapters/log_keeper.h"

#include <algorithm>
#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace reeve::adapters {
namespace {

template <class Each>
void each_in(const std::string& path, Each each) {
  DIR* const folder = opendir(path.c_str());
  if (!folder) return;
  // The stream is this call's own.
  while (const dirent* entry = readdir(folder)) {  // NOLINT(concurrency-mt-unsafe)
    const std::string_view name = entry->d_name;
    if (name != "." && name != "..") each(dirfd(folder), entry->d_name);
  }
  closedir(folder);
}

}  // namespace

void LogKeeper::begin() {
  if (is_busy()) return;
  bytes_ = 0;
  each_in(folder_, [&](int, const char* name) { names_.emplace_back(name); });
}

void LogKeeper::step() {
  if (!names_.empty()) {
    weigh(names_.back());
    names_.pop_back();
    if (names_.empty()) std::ranges::sort(found_, std::greater{}, &Found::written);
  } else if (!found_.empty()) {
    remove_oldest();
  }
}

// Files beside the folders are few, and each is written over: they are not counted.
void LogKeeper::weigh(const std::string& name) {
  Found found{name};
  each_in(folder_ + "/" + name, [&](int folder, const char* file) {
    struct stat about{};
    if (fstatat(folder, file, &about, AT_SYMLINK_NOFOLLOW) != 0) return;
    found.bytes += static_cast<std::uint64_t>(about.st_blocks) * 512;
    found.written = std::max(found.written, about.st_mtim.tv_sec);
  });
  bytes_ += found.bytes;
  if (found.bytes > 0) found_.push_back(std::move(found));
}

void LogKeeper::remove_oldest() {
  if (bytes_ <= limit_) return found_.clear();
  const Found oldest = std::move(found_.back());
  found_.pop_back();
  if (is_open_(oldest.name)) return;
  const std::string path = folder_ + "/" + oldest.name;
  each_in(path, [](int folder, const char* file) { unlinkat(folder, file, 0); });
  rmdir(path.c_str());
  bytes_ -= oldest.bytes;
}

}  // namespace reeve::adapters
