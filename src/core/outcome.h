#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace reeve {

// How an effect ended. `Unknown`: it was started, and nothing tells what became of it (power
// loss, a killed hold). Every effect gets exactly one outcome.
enum class Ended : std::uint8_t { Done, Failed, Unknown };

struct Outcome {
  Ended ended = Ended::Done;
  std::optional<int> exit_code = {};  // none: it never ran, or died by a signal
  std::optional<int> signal = {};
  bool timed_out = false;   // its own limit was reached and its tree was ended
  std::string output = {};  // the last of what it said, at most 64 KiB
  std::string error = {};   // why it could not be started, or what the adapter says
  std::vector<std::pair<std::string, std::string>> values = {};  // what it published: key, value

  bool operator==(const Outcome&) const = default;
};

}  // namespace reeve
