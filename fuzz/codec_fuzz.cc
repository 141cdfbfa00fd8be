// Links: codec
//
// Values: any bytes are answered, by an error or by a value; and a value that was read is written
// as bytes and as JSON that are read as the same value.

#include "codec/binary.h"
#include "codec/json.h"
#include "codec/snapshot.h"
#include "core/digest.h"
#include "core/input.h"
#include "core/reply.h"
#include "core/state.h"
#include "core/turn.h"
#include "fuzz/input.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

using namespace reeve;
using fuzz::require;

namespace {

template <class T>
void holds(const T& value) {
  const std::string bytes = codec::to_bytes(value);
  require(codec::from_bytes<T>(bytes) == value, "bytes are read as what was written");
  require(codec::to_bytes(*codec::from_bytes<T>(bytes)) == bytes, "there is one way to write it");
  require(codec::from_json<T>(codec::to_json(value)) == value, "JSON is read as what was written");
}

template <class T>
void read_bytes(std::string_view bytes) {
  if (const Result<T> value = codec::from_bytes<T>(bytes)) holds(*value);
}

template <class T>
void read_json(std::string_view text) {
  if (const Result<T> value = codec::from_json<T>(text)) holds(*value);
}

using Chunks = std::vector<std::string>;

Result<codec::Snapshot> read(const Chunks& chunks) {
  std::size_t next = 0;
  return codec::read_snapshot([&]() -> Result<std::optional<std::string_view>> {
    if (next == chunks.size()) return std::nullopt;
    return chunks[next++];
  });
}

// Chunks as they come, each with its length in front; and a state in chunks as it should be.
void read_snapshot(fuzz::Input& input) {
  Chunks chunks;
  while (!input.empty()) chunks.emplace_back(input.take(input.take<std::uint16_t>()));
  if (const auto snapshot = read(chunks)) holds(snapshot->state);
}

void write_snapshot(fuzz::Input& input) {
  const std::size_t chunk = 1 + input.take<std::uint16_t>();
  const Result<State> state = codec::from_bytes<State>(input.rest());
  if (!state) return;
  Chunks chunks;
  const auto written = codec::write_snapshot(
      *state,
      [&](std::string_view bytes) -> Result<void> {
        chunks.emplace_back(bytes);
        return {};
      },
      chunk);
  require(written == digest_of(*state), "the digest of a snapshot is that of its state");
  const auto again = read(chunks);
  require(again && again->state == *state, "a snapshot is read as it was written");
  require(again->digest == *written, "a snapshot has the digest that was written");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz::Input input(data, size);
  switch (input.take<std::uint8_t>() % 8) {
    case 0:
      read_bytes<Input>(input.rest());
      break;
    case 1:
      read_bytes<State>(input.rest());
      break;
    case 2:
      read_bytes<Reply>(input.rest());
      break;
    case 3:
      read_bytes<Event>(input.rest());
      break;
    case 4:
      read_json<Input>(input.rest());
      break;
    case 5:
      read_json<State>(input.rest());
      break;
    case 6:
      read_snapshot(input);
      break;
    default:
      write_snapshot(input);
  }
  return 0;
}
