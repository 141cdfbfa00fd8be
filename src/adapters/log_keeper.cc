#include "adapters/log_keeper.h"

#include <algorithm>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace reeve::adapters {
namespace {

constexpr std::uint64_t block = 4096;

bool is_itself(std::string_view name) { return name == "." || name == ".."; }

}  // namespace

void LogKeeper::begin() {
  if (is_busy()) return;
  bytes_ = 0;
  folders_ = 0;
  reading_.reset(opendir(folder_.c_str()));
}

void LogKeeper::step() {
  if (!reading_) return remove_oldest();
  // The stream is this keeper's own.
  if (const dirent* entry = readdir(reading_.get())) {  // NOLINT(concurrency-mt-unsafe)
    if (!is_itself(entry->d_name)) weigh(entry->d_name);
    return;
  }
  reading_.reset();
  std::ranges::sort(found_, std::greater{}, &Found::written);
}

// Files beside the folders are few, and each is written over: they are not counted.
void LogKeeper::weigh(const std::string& name) {
  const std::unique_ptr<DIR, Close> folder(opendir((folder_ + "/" + name).c_str()));
  if (!folder) return;
  Found found{name};
  struct stat about{};
  if (fstat(dirfd(folder.get()), &about) == 0) found.written = about.st_mtim.tv_sec;
  found.bytes = block;
  bool is_first = true;
  // The stream is this call's own.
  while (const dirent* entry = readdir(folder.get())) {  // NOLINT(concurrency-mt-unsafe)
    if (is_itself(entry->d_name)) continue;
    if (fstatat(dirfd(folder.get()), entry->d_name, &about, AT_SYMLINK_NOFOLLOW) != 0) continue;
    found.bytes += std::max(static_cast<std::uint64_t>(about.st_blocks) * 512, block);
    // What was said counts, not what was made or removed.
    found.written = is_first ? about.st_mtim.tv_sec : std::max(found.written, about.st_mtim.tv_sec);
    is_first = false;
  }
  bytes_ += found.bytes;
  ++folders_;
  found_.push_back(std::move(found));
}

void LogKeeper::remove_oldest() {
  if (found_.empty()) return;
  if (bytes_ <= limits_.bytes && folders_ <= limits_.folders) return found_.clear();
  const Found oldest = std::move(found_.back());
  found_.pop_back();
  if (is_open_(oldest.name)) return;
  remove_(folder_ + "/" + oldest.name);
  bytes_ -= oldest.bytes;
  --folders_;
}

}  // namespace reeve::adapters
