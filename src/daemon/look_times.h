#pragma once

#include <chrono>
#include <optional>

// When to look at something that changes: once it has been quiet for a moment, so that an editor
// that writes a file in several steps, or a checkout that writes many, is looked at once. What does
// not come to rest is looked at all the same. There is one look at a time, and not many in a row.
//
//     changed  changed      quiet      due
//     ───┴────────┴────────────────────▶│ began ... ended
namespace reeve::daemon {

class LookTimes {
 public:
  using Moment = std::chrono::steady_clock::time_point;

  // An editor that writes beside the file and renames needs some milliseconds.
  static constexpr std::chrono::milliseconds quiet{300};
  // Changes that go on without a pause are not waited for any longer.
  static constexpr std::chrono::seconds longest_unrest{3};
  // From the beginning of one look to that of the next: a look is a process or two.
  static constexpr std::chrono::seconds least_between{1};

  void changed(Moment now);
  // When to look; none: there is nothing to see, or somebody is looking.
  std::optional<Moment> due() const;
  // What changes from here on is for the next look.
  void began(Moment now);
  void ended() { looking_ = false; }

 private:
  std::optional<Moment> first_;  // of the changes that nobody has looked at
  Moment last_;
  std::optional<Moment> not_before_;
  bool looking_ = false;
};

}  // namespace reeve::daemon
