#include "codec/snapshot.h"

#include "base/value_bytes.h"
#include "codec/arbitrary_testing.h"
#include "core/apply.h"
#include "core/digest.h"
#include "core/input.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace reeve::codec {
namespace {

using Chunks = std::vector<std::string>;

Chunks chunks_of(const State& state, std::size_t size = chunk_bytes) {
  Chunks chunks;
  const auto written = write_snapshot(
      state,
      [&](std::string_view chunk) -> Result<void> {
        chunks.emplace_back(chunk);
        return {};
      },
      size);
  EXPECT_TRUE(written);
  EXPECT_EQ(*written, digest_of(state));
  return chunks;
}

Result<Snapshot> read(const Chunks& chunks) {
  std::size_t next = 0;
  return read_snapshot([&]() -> Result<std::optional<std::string_view>> {
    if (next == chunks.size()) return std::nullopt;
    return chunks[next++];
  });
}

std::string problem_of(const Chunks& chunks) {
  const Result<Snapshot> snapshot = read(chunks);
  return snapshot ? "none" : snapshot.error().message;
}

// Many items, so that the queues span chunks.
State busy_state() {
  State state = initial_state(Time{} + std::chrono::hours{1});
  const auto step = [&](Command command) {
    Request request;
    request.command = std::move(command);
    state = apply(std::move(state), request, Stamp{state.now, Wall{}}).state;
  };
  step(queue::Create{{default_project, "jobs"}, {}});
  for (int i = 0; i < 30; ++i) {
    queue::Push push{{default_project, "jobs"}, {}};
    for (int j = 0; j < 10; ++j) {
      queue::NewItem item;
      item.data = Bytes(std::string(static_cast<std::size_t>(10 * i), 'x'));
      push.items.push_back(item);
    }
    step(push);
  }
  return state;
}

TEST(Snapshot, ComesBackFromChunksOfAnySize) {
  const State state = busy_state();
  for (const std::size_t size :
       {std::size_t{1}, std::size_t{100}, std::size_t{5000}, chunk_bytes}) {
    const Chunks chunks = chunks_of(state, size);
    const Result<Snapshot> snapshot = read(chunks);
    ASSERT_TRUE(snapshot) << snapshot.error().message;
    EXPECT_EQ(snapshot->state, state);
    EXPECT_EQ(snapshot->digest, digest_of(state));
  }
}

TEST(Snapshot, AChunkIsAboutAsLargeAsAskedFor) {
  const Chunks chunks = chunks_of(busy_state(), 5000);
  EXPECT_GT(chunks.size(), 10u);
  for (const std::string& chunk : chunks) EXPECT_LT(chunk.size(), 5000u + 400u);
}

RC_GTEST_PROP(SnapshotProperty, AnyStateComesBack, (std::uint64_t seed)) {
  testing::Dice dice(seed);
  const State state = testing::arbitrary<State>(dice);
  const Result<Snapshot> snapshot = read(chunks_of(state, 1 + dice.below(300)));
  if (!snapshot) RC_FAIL(snapshot.error().message);
  RC_ASSERT(snapshot->state == state);
  RC_ASSERT(snapshot->digest == digest_of(state));
}

TEST(Snapshot, OneThatIsNotWholeIsRefused) {
  const Chunks whole = chunks_of(busy_state(), 5000);
  for (std::size_t count = 0; count < whole.size(); ++count) {
    EXPECT_FALSE(read(Chunks(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(count))));
  }
  for (std::size_t without = 0; without < whole.size(); ++without) {
    Chunks chunks = whole;
    chunks.erase(chunks.begin() + static_cast<std::ptrdiff_t>(without));
    EXPECT_FALSE(read(chunks)) << "without chunk " << without;
  }
  for (std::size_t first = 0; first + 1 < whole.size(); ++first) {
    Chunks chunks = whole;
    std::swap(chunks[first], chunks[first + 1]);
    EXPECT_FALSE(read(chunks)) << "chunk " << first << " and the next in each other's place";
  }
}

TEST(Snapshot, ADamagedOneIsRefused) {
  const Chunks whole = chunks_of(initial_state(Time{}));
  for (std::size_t chunk = 0; chunk < whole.size(); ++chunk) {
    for (std::size_t byte = 0; byte < whole[chunk].size(); ++byte) {
      Chunks chunks = whole;
      chunks[chunk][byte] = static_cast<char>(chunks[chunk][byte] ^ 1);
      const Result<Snapshot> snapshot = read(chunks);
      // The number of a part is not among the bytes of the state; it can only name another part.
      EXPECT_TRUE(!snapshot || byte == 1);
    }
  }
}

TEST(Snapshot, ErrorsNameTheField) {
  Chunks chunks = chunks_of(busy_state());
  const auto queues = std::find_if(chunks.begin(), chunks.end(), [](const std::string& chunk) {
    return chunk[0] == 1 && chunk[1] == 10;
  });
  ASSERT_NE(queues, chunks.end());
  queues->resize(queues->size() / 2);
  EXPECT_TRUE(problem_of(chunks).starts_with("queues.items[")) << problem_of(chunks);
}

// With the end that these parts ask for.
void end_anew(Chunks& chunks) {
  StateDigest digest;
  for (const std::string& chunk : chunks) {
    if (chunk[0] == 1) digest.add(std::string_view(chunk).substr(2));
  }
  ByteBuffer end;
  end.byte(2);
  end.varint(digest.value());
  chunks.back() = end.view();
}

TEST(Snapshot, APartOfALaterVersionIsPassedOverAndToldOf) {
  const State state = busy_state();
  Chunks chunks = chunks_of(state);
  EXPECT_FALSE(read(chunks)->passed_over);
  chunks.insert(chunks.end() - 1, std::string("\x01\x7f", 2) + "who knows");
  end_anew(chunks);
  const Result<Snapshot> snapshot = read(chunks);
  ASSERT_TRUE(snapshot) << snapshot.error().message;
  EXPECT_EQ(snapshot->state, state);
  EXPECT_TRUE(snapshot->passed_over);
}

TEST(Snapshot, AFieldOfALaterVersionIsPassedOverAndToldOf) {
  const State state = busy_state();
  const auto queues = [](const std::string& chunk) {
    return chunk.size() > 2 && chunk.find(std::string(200, 'x')) != std::string::npos;
  };
  Chunks chunks = chunks_of(state);
  const auto part = std::ranges::find_if(chunks, queues);
  ASSERT_NE(part, chunks.end());
  part->push_back('\x07');
  end_anew(chunks);
  const Result<Snapshot> snapshot = read(chunks);
  ASSERT_TRUE(snapshot) << snapshot.error().message;
  EXPECT_EQ(snapshot->state, state);
  EXPECT_TRUE(snapshot->passed_over);
}

TEST(Snapshot, OfAnotherFormatIsRefused) {
  Chunks chunks = chunks_of(State());
  chunks[0][1] = 9;
  EXPECT_EQ(problem_of(chunks), "a snapshot in format 9; this program reads format 1");
}

TEST(Snapshot, AFullDiskEndsTheWriting) {
  int taken = 0;
  const auto written = write_snapshot(
      busy_state(),
      [&](std::string_view) -> Result<void> {
        if (++taken == 5) return fail(Error::Code::Full, "no space");
        return {};
      },
      100);
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error(), (Error{Error::Code::Full, "no space"}));
  EXPECT_EQ(taken, 5);
}

TEST(Snapshot, ASourceThatFailsIsNotTakenForTheEnd) {
  const Chunks chunks = chunks_of(busy_state(), 1000);
  std::size_t next = 0;
  const auto snapshot = read_snapshot([&]() -> Result<std::optional<std::string_view>> {
    if (next == chunks.size() / 2) return fail(Error::Code::Io, "bad sector");
    return chunks[next++];
  });
  ASSERT_FALSE(snapshot);
  EXPECT_EQ(snapshot.error(), (Error{Error::Code::Io, "bad sector"}));
}

}  // namespace
}  // namespace reeve::codec
