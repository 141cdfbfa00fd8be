#include "daemon/log.h"

#include "codec/text_forms.h"

#include <chrono>
#include <cstdio>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace reeve::daemon {
namespace {

std::string time_now() {
  using namespace std::chrono;
  const auto now = duration_cast<milliseconds>(system_clock::now().time_since_epoch());
  return codec::format_wall(now.count()).value_or("");
}

}  // namespace

void Log::open(const std::string& folder, bool foreground) {
  path_ = folder + "/daemon.log";
  foreground_ = foreground;
  open_file();
  const std::string early = std::exchange(early_, {});
  if (file_ && !early.empty()) {
    size_ += early.size();
    [[maybe_unused]] const ssize_t written = write(file_.get(), early.data(), early.size());
  }
}

void Log::open_file() {
  file_ = adapters::Descriptor(
      ::open(path_.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC, 0600));
  struct stat about{};
  size_ = file_ && fstat(file_.get(), &about) == 0 ? static_cast<std::uint64_t>(about.st_size) : 0;
}

// A log that cannot be written stops nobody.
void Log::line(std::string_view text) {
  const std::string line = fmt::format("{} {}\n", time_now(), text);
  if (foreground_) std::fwrite(line.data(), 1, line.size(), stderr);
  if (path_.empty()) {
    early_ += line;
    return;
  }
  if (size_ + line.size() > most_bytes) {
    std::rename(path_.c_str(), (path_ + ".1").c_str());
    open_file();
  }
  if (!file_) return;
  size_ += line.size();
  [[maybe_unused]] const ssize_t written = write(file_.get(), line.data(), line.size());
}

}  // namespace reeve::daemon
