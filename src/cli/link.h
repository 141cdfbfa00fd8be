#pragma once

#include "cli/home.h"
#include "cli/output.h"

#include <expected>
#include <optional>
#include <string>
#include <string_view>

// The socket to the daemon, as lines. Only one whose other side is the same user's: the daemon
// checks us, and we check the daemon. Paths longer than a socket address go through /proc/self/fd.
namespace reeve::cli {

class Link {
 public:
  Link() = default;
  explicit Link(int descriptor) : descriptor_(descriptor) {}
  Link(Link&& other) noexcept;
  Link& operator=(Link&& other) noexcept;
  ~Link() { close(); }

  // NO_DAEMON: nobody listens there, so one may be started.
  static std::expected<Link, Failure> connect(const std::string& path);

  bool is_open() const { return descriptor_ >= 0; }
  int descriptor() const { return descriptor_; }
  // The process that listens; 0: it is not known here.
  int peer() const;
  void close();

  // The line with its newline. Reads meanwhile, so that neither side waits for the other; false:
  // the connection is lost.
  bool send(std::string_view line);
  // Takes what has arrived without waiting; false: the connection is over.
  bool receive();
  // A whole line that has arrived, without its newline.
  std::optional<std::string> next_line();

 private:
  int descriptor_ = -1;
  std::string received_;
  std::size_t taken_ = 0;  // of received_
};

}  // namespace reeve::cli
