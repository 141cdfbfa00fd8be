#pragma once

#include <cstdint>
#include <ctime>
#include <dirent.h>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

// Keeps what runs said, but not for ever: when all logs of a home together take more room than the
// limit, or there are too many folders of them, those that were not written to for the longest time
// go, until neither is so. What belongs to something that is not over stays, whatever its size. A
// file takes a block at least, and so does a folder, also if nobody said anything.
//
// A look at everything is made of many small steps, so that nobody waits for it.
namespace reeve::adapters {

class LogKeeper {
 public:
  struct Limits {
    std::uint64_t bytes = 0;
    std::size_t folders = 10'000;
  };

  // `is_open`: whether the pipeline or agent with this id is not over. `remove`: a folder that has
  // to go, with what is in it; it may take its time.
  LogKeeper(std::string folder,
            Limits limits,
            std::function<bool(std::string_view)> is_open,
            std::function<void(const std::string&)> remove)
      : folder_(std::move(folder)),
        limits_(limits),
        is_open_(std::move(is_open)),
        remove_(std::move(remove)) {}

  void begin();  // a look at everything; nothing happens if one is under way
  void allow(std::uint64_t bytes) { limits_.bytes = bytes; }
  bool is_busy() const { return reading_ || !found_.empty(); }
  void step();  // one folder

 private:
  struct Found {
    std::string name;
    std::uint64_t bytes = 0;
    std::time_t written = 0;
  };
  struct Close {
    void operator()(DIR* folder) const { closedir(folder); }
  };

  void weigh(const std::string& name);
  void remove_oldest();

  std::string folder_;
  Limits limits_;
  std::function<bool(std::string_view)> is_open_;
  std::function<void(const std::string&)> remove_;
  std::unique_ptr<DIR, Close> reading_;  // not all were looked at yet
  std::vector<Found> found_;             // the oldest last, once all were looked at
  std::size_t folders_ = 0;
  std::uint64_t bytes_ = 0;
};

}  // namespace reeve::adapters
