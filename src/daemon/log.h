#pragma once

#include "adapters/descriptor.h"

#include <fmt/core.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

// What the daemon tells of itself: lines with the time, in daemon.log of the home. When the file
// has grown over its bound it becomes daemon.log.1, in the place of the one before. One thread.
namespace reeve::daemon {

class Log {
 public:
  // Nowhere yet: lines are kept, and written when it is opened.
  Log() = default;

  void open(const std::string& folder, bool foreground);

  template <class... Parts>
  void say(fmt::format_string<Parts...> format, Parts&&... parts) {
    line(fmt::format(format, std::forward<Parts>(parts)...));
  }
  void line(std::string_view text);

  static constexpr std::uint64_t most_bytes = std::uint64_t{1} << 20U;

 private:
  void open_file();

  std::string path_;
  adapters::Descriptor file_;
  std::uint64_t size_ = 0;
  bool foreground_ = false;  // standard error hears it, too
  std::string early_;
};

}  // namespace reeve::daemon
