#include "adapters/bounded_log.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace reeve::adapters {
namespace {

constexpr int write_flags = O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW | O_APPEND;

Descriptor make(const std::string& path) {
  return Descriptor(open(path.c_str(), write_flags, 0600));
}

void cut(const Descriptor& file, off_t size) {
  if (!file || size < 0) return;
  [[maybe_unused]] const int failed = ftruncate(file.get(), size);
}

}  // namespace

BoundedLog::BoundedLog(std::string path, std::uint64_t limit)
    : path_(std::move(path)), head_limit_(limit / 2), tail_limit_(limit / 4) {
  if (path_.empty()) return;
  // Of one before us that was killed.
  for (const char* end : {".tail", ".tail.1"}) unlink((path_ + end).c_str());
  head_ = make(path_);
}

void BoundedLog::write(std::string_view bytes) {
  recent_ += bytes;
  if (recent_.size() > 4 * output_kept) recent_.erase(0, recent_.size() - output_kept);
  append(bytes);
}

void BoundedLog::remark(std::string_view text) {
  std::string line;
  if (!recent_.empty() && recent_.back() != '\n') line += '\n';
  append(line + "[reeve] " + std::string(text) + "\n");
}

void BoundedLog::append(std::string_view bytes) {
  if (path_.empty()) return;
  const auto room = static_cast<std::size_t>(head_limit_ - head_bytes_);
  const std::string_view first = bytes.substr(0, std::min(room, bytes.size()));
  if (!first.empty()) {
    head_bytes_ += put(head_, first);
    bytes.remove_prefix(first.size());
  }
  while (!bytes.empty()) {
    if (!tail_ || tail_bytes_ >= tail_limit_) turn_over();
    const std::string_view part =
        bytes.substr(0, std::min<std::size_t>(tail_limit_ - tail_bytes_, bytes.size()));
    if (part.empty()) {  // a limit too small for any tail
      left_out_ += bytes.size();
      return;
    }
    tail_bytes_ += put(tail_, part);
    bytes.remove_prefix(part.size());
  }
}

// How much of it. A file that ends in the middle of what was said still says most of it.
std::size_t BoundedLog::put(Descriptor& file, std::string_view bytes) {
  std::size_t done = 0;
  while (file && done < bytes.size()) {
    const ssize_t size = ::write(file.get(), bytes.data() + done, bytes.size() - done);
    if (size < 0 && errno == EINTR) continue;
    if (size <= 0) break;
    done += static_cast<std::size_t>(size);
  }
  left_out_ += bytes.size() - done;
  return done;
}

void BoundedLog::turn_over() {
  if (tail_) {
    left_out_ += older_bytes_;
    older_bytes_ = tail_bytes_;
    rename((path_ + ".tail").c_str(), (path_ + ".tail.1").c_str());
    tail_.reset();
  }
  tail_ = make(path_ + ".tail");
  tail_bytes_ = 0;
}

void BoundedLog::finish() {
  if (left_out_ > 0 && head_) {
    const std::string line = "\n[reeve] ... " + std::to_string(left_out_) + " bytes left out ...\n";
    const off_t end = lseek(head_.get(), 0, SEEK_END);
    if (put(head_, line) != line.size()) cut(head_, end);
  }
  tail_.reset();
  for (const char* end : {".tail.1", ".tail"}) {
    const std::string path = path_ + end;
    if (path_.empty() || access(path.c_str(), F_OK) != 0) continue;
    const Descriptor from(open(path.c_str(), O_RDONLY | O_CLOEXEC));
    std::array<char, std::size_t{64} * 1024> block{};
    const off_t before = head_ ? lseek(head_.get(), 0, SEEK_END) : -1;
    bool is_whole = static_cast<bool>(from);
    for (ssize_t size = 0;
         is_whole && (size = read(from.get(), block.data(), block.size())) != 0;) {
      const auto count = static_cast<std::size_t>(std::max<ssize_t>(size, 0));
      is_whole = size > 0 && put(head_, {block.data(), count}) == count;
    }
    if (!is_whole) {  // there is no room: it stays where it is, and is nowhere twice
      cut(head_, before);
      break;
    }
    unlink(path.c_str());
  }
  head_.reset();
}

std::string tail_of_file(const std::string& path, std::size_t most) {
  const Descriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  struct stat about{};
  if (!file || fstat(file.get(), &about) != 0 || !S_ISREG(about.st_mode)) return {};
  const auto size = static_cast<std::size_t>(about.st_size);
  std::string text(std::min(size, most), '\0');
  const ssize_t got =
      pread(file.get(), text.data(), text.size(), static_cast<off_t>(size - text.size()));
  text.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
  return text;
}

}  // namespace reeve::adapters
