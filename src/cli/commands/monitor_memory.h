#pragma once

#include "cli/json.h"

#include <string>

// What a monitor has done about each item, how often and when, from one look to the next. A change
// is on the disk, whole, before anything is done about it: a look that is killed does nothing
// twice, and forgets nothing.
namespace reeve::cli {

class MonitorMemory {
 public:
  // `path` is the file; beside it `path.lock` is held while the memory is open.
  explicit MonitorMemory(std::string path);
  MonitorMemory(const MonitorMemory&) = delete;
  MonitorMemory& operator=(const MonitorMemory&) = delete;
  ~MonitorMemory();

  // False: another look of the same monitor has it.
  bool is_locked() const { return locked_; }
  // By item; null: nothing is known of it.
  const Json& of(std::string_view item) const { return known_[item]; }
  const Json& known() const { return known_; }

  // False: it could not be written, and nothing has changed.
  bool remember(std::string_view item, Json record);
  // Exactly these from now on.
  bool remember_only(Json all);

 private:
  bool write(const Json& all) const;

  std::string path_;
  int lock_ = -1;
  bool locked_ = false;
  Json known_;
};

}  // namespace reeve::cli
