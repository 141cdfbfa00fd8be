#include "base/value_bytes.h"
#include "codec/binary.h"
#include "codec/json.h"
#include "codec/snapshot.h"
#include "core/apply.h"
#include "core/digest.h"
#include "core/shapes.h"

#include <benchmark/benchmark.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

// What it costs to write values down and to read them back: of single inputs, and of a state with
// a million items of 200 bytes, beside the copying of as many bytes.
namespace reeve {
namespace {

constexpr std::size_t payload_bytes = 200;
constexpr Time start = Time{} + std::chrono::hours{24};

std::string payload(std::uint64_t number) {
  std::string text = R"({"number":)" + std::to_string(number) + R"(,"text":")";
  while (text.size() < payload_bytes - 2) {
    number = number * 6364136223846793005u + 1442695040888963407u;
    text += static_cast<char>('a' + (number >> 60));
  }
  return text + "\"}";
}

Input push(std::uint64_t first, std::size_t count) {
  queue::Push push{{default_project, "jobs"}, {}};
  for (std::size_t i = 0; i < count; ++i) {
    queue::NewItem item;
    item.data = Bytes(payload(first + i));
    push.items.push_back(std::move(item));
  }
  return Request{.command = queue::Command(std::move(push))};
}

State with_items(std::uint64_t count) {
  State state = initial_state(start);
  const auto step = [&](const Input& input, std::uint64_t number) {
    state = apply(std::move(state), input, Stamp{start + Duration(number), Wall{}}).state;
  };
  step(Request{.command = queue::Command(queue::Create{{default_project, "jobs"}, {}})}, 0);
  for (std::uint64_t i = 0; i < count; i += 100) step(push(i, 100), i);
  return state;
}

const State& million() {
  static const State state = with_items(1'000'000);
  return state;
}

std::vector<std::string> snapshot_of(const State& state) {
  std::vector<std::string> chunks;
  static_cast<void>(codec::write_snapshot(state, [&](std::string_view chunk) -> Result<void> {
    chunks.emplace_back(chunk);
    return {};
  }));
  return chunks;
}

std::size_t bytes_of(const std::vector<std::string>& chunks) {
  std::size_t bytes = 0;
  for (const std::string& chunk : chunks) bytes += chunk.size();
  return bytes;
}

void encode_input(benchmark::State& run) {
  const Input input = push(7, 1);
  std::size_t bytes = 0;
  for (auto _ : run) bytes += codec::to_bytes(input).size();
  run.SetBytesProcessed(static_cast<std::int64_t>(bytes));
}
BENCHMARK(encode_input);

void decode_input(benchmark::State& run) {
  const std::string bytes = codec::to_bytes(push(7, 1));
  for (auto _ : run) benchmark::DoNotOptimize(codec::from_bytes<Input>(bytes));
  run.SetBytesProcessed(static_cast<std::int64_t>(bytes.size()) * run.iterations());
}
BENCHMARK(decode_input);

void copy_input_bytes(benchmark::State& run) {
  const std::string bytes = codec::to_bytes(push(7, 1));
  for (auto _ : run) benchmark::DoNotOptimize(std::string(bytes));
  run.SetBytesProcessed(static_cast<std::int64_t>(bytes.size()) * run.iterations());
}
BENCHMARK(copy_input_bytes);

void digest_step(benchmark::State& run) {
  State state = with_items(100);
  const Applied applied = apply(std::move(state), push(200, 1), Stamp{start, Wall{}});
  for (auto _ : run) benchmark::DoNotOptimize(digest_of(applied));
}
BENCHMARK(digest_step);

void input_to_json(benchmark::State& run) {
  const Input input = push(7, 1);
  std::size_t bytes = 0;
  for (auto _ : run) bytes += codec::to_json(input).size();
  run.SetBytesProcessed(static_cast<std::int64_t>(bytes));
}
BENCHMARK(input_to_json);

void input_from_json(benchmark::State& run) {
  const std::string text = codec::to_json(push(7, 1));
  for (auto _ : run) benchmark::DoNotOptimize(codec::from_json<Input>(text));
  run.SetBytesProcessed(static_cast<std::int64_t>(text.size()) * run.iterations());
}
BENCHMARK(input_from_json);

void digest_million_items(benchmark::State& run) {
  const State& state = million();
  for (auto _ : run) benchmark::DoNotOptimize(digest_of(state));
}
BENCHMARK(digest_million_items)->Unit(benchmark::kMillisecond);

// Into nothing: the writing alone.
void write_million_items(benchmark::State& run) {
  const State& state = million();
  std::size_t bytes = 0;
  for (auto _ : run) {
    static_cast<void>(codec::write_snapshot(state, [&](std::string_view chunk) -> Result<void> {
      bytes += chunk.size();
      return {};
    }));
  }
  run.SetBytesProcessed(static_cast<std::int64_t>(bytes));
  run.counters["bytes_per_item"] =
      static_cast<double>(bytes) / 1e6 / static_cast<double>(run.iterations());
}
BENCHMARK(write_million_items)->Unit(benchmark::kMillisecond);

void read_million_items(benchmark::State& run) {
  const std::vector<std::string> chunks = snapshot_of(million());
  for (auto _ : run) {
    std::size_t next = 0;
    auto read = codec::read_snapshot([&]() -> Result<std::optional<std::string_view>> {
      if (next == chunks.size()) return std::nullopt;
      return chunks[next++];
    });
    run.PauseTiming();
    if (!read || read->state.queues.items.size() != 1'000'000) run.SkipWithError("not read");
    read = fail(Error::Code::Io, "");  // the state is thrown away while nobody looks
    run.ResumeTiming();
  }
  run.SetBytesProcessed(static_cast<std::int64_t>(bytes_of(chunks)) * run.iterations());
}
BENCHMARK(read_million_items)->Unit(benchmark::kMillisecond);

void copy_million_items(benchmark::State& run) {
  const std::vector<std::string> chunks = snapshot_of(million());
  std::vector<char> to(bytes_of(chunks));
  for (auto _ : run) {
    std::size_t at = 0;
    for (const std::string& chunk : chunks) {
      std::memcpy(to.data() + at, chunk.data(), chunk.size());
      at += chunk.size();
    }
    benchmark::ClobberMemory();
  }
  run.SetBytesProcessed(static_cast<std::int64_t>(to.size()) * run.iterations());
}
BENCHMARK(copy_million_items)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace reeve
