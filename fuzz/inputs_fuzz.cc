// Links: codec
//
// Any history: whatever inputs come and whenever, the invariants hold, no step is without an
// answer, and the state is read back from its bytes.
//
// A history is a list of moments: two bytes for the time that passed, two for the length of the
// input, the input's bytes.

#include "codec/binary.h"
#include "core/apply.h"
#include "core/input.h"
#include "core/invariants.h"
#include "fuzz/input.h"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>

using namespace reeve;
using fuzz::require;

namespace {

void require_none(const Violations& violations) {
  for (const std::string& violation : violations) std::fprintf(stderr, "%s\n", violation.c_str());
  require(violations.empty(), "the invariants");
}

// Mostly nothing or little, now and then hours.
Duration passed(std::uint16_t time) {
  const auto amount = static_cast<std::int64_t>(time >> 2U);
  constexpr std::int64_t units[] = {0, 1, 100, 60'000};
  return Duration(amount * units[time & 3U]);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz::Input input(data, size);
  Stamp stamp{Time{} + std::chrono::hours{1}, Wall{} + std::chrono::hours{24 * 365 * 50}};
  State state = initial_state(stamp.now);
  while (!input.empty()) {
    const Duration ahead = passed(input.take<std::uint16_t>());
    stamp = {stamp.now + ahead, stamp.wall + ahead};
    const std::string_view bytes = input.take(input.take<std::uint16_t>());
    const Result<Input> read = codec::from_bytes<Input>(bytes);
    const Input next = read ? *read : Input(Tick{});
    const State before = state;
    const Applied applied = apply(before, next, stamp);
    require_none(check_step(before, applied));
    require_none(check_state(applied.state));
    state = applied.state;
  }
  require(codec::from_bytes<State>(codec::to_bytes(state)) == state,
          "a state is read as it was written");
  return 0;
}
