#pragma once

#include "adapters/descriptor.h"

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <sys/types.h>

// Starts holds, and clears folders away, in a small process of its own. To start a process is to
// wait until it has become another program, and on a busy machine that takes as long as it takes to
// get a processor: 20 ms were seen with ten others at work. To remove a folder waits for the disk.
// The daemon's loop waits for neither: it writes down what is wanted, and hears of it.
//
// The nursery ends when its owner does; what it has started goes on. Without one (it was killed, or
// could not be started) its owner does the same by itself.
namespace reeve::adapters {

class Nursery {
 public:
  Nursery();
  ~Nursery();
  Nursery(const Nursery&) = delete;
  Nursery& operator=(const Nursery&) = delete;

  // Readable when there is news; -1: there is no nursery.
  int fd() const { return socket_.get(); }
  explicit operator bool() const { return static_cast<bool>(socket_); }

  // A hold for this prepared folder.
  void start(std::uint64_t number, const std::string& folder);
  void remove(const std::string& folder);
  // What found no room before; true: there is still something.
  bool flush();

  struct Born {
    std::uint64_t number = 0;
    pid_t pid = -1;
    std::uint64_t start_time = 0;  // 0: it had ended before anybody looked
    Descriptor pidfd = {};
    std::string error = {};  // it could not be started
  };
  // Without waiting. When there is none and the nursery is gone, bool() is false from then on.
  std::optional<Born> next();

 private:
  void send(std::string message);

  Descriptor socket_;
  pid_t pid_ = -1;
  std::deque<std::string> unsent_;
};

// The nursery's own side: serves on this descriptor until it is closed.
int serve_nursery(int socket);

}  // namespace reeve::adapters
