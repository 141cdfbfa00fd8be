#pragma once

#include <cstdint>
#include <ctime>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

// Keeps what runs said, but not for ever: when all logs of a home together are larger than the
// limit, the folders that were not written to for the longest time go, until they are not. What
// belongs to something that is not over stays, whatever its size.
//
// A look at everything is made of many small steps, so that nobody waits for it.
namespace reeve::adapters {

class LogKeeper {
 public:
  // `is_open`: whether the pipeline or agent with this id is not over.
  LogKeeper(std::string folder, std::uint64_t limit, std::function<bool(std::string_view)> is_open)
      : folder_(std::move(folder)), limit_(limit), is_open_(std::move(is_open)) {}

  void begin();  // a look at everything; nothing happens if one is under way
  bool is_busy() const { return !names_.empty() || !found_.empty(); }
  void step();  // one folder

 private:
  struct Found {
    std::string name;
    std::uint64_t bytes = 0;
    std::time_t written = 0;
  };

  void weigh(const std::string& name);
  void remove_oldest();

  std::string folder_;
  std::uint64_t limit_;
  std::function<bool(std::string_view)> is_open_;
  std::vector<std::string> names_;  // yet to be looked at
  std::vector<Found> found_;        // the oldest last, once all were looked at
  std::uint64_t bytes_ = 0;
};

}  // namespace reeve::adapters
