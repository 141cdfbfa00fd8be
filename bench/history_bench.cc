// What history costs the loop, an event, and what it costs its own thread.

#include "adapters/history/buffer.h"
#include "adapters/history/file.h"

#include <benchmark/benchmark.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>

namespace {

using namespace reeve;
using namespace reeve::history;

Event taken(std::uint64_t sequence) {
  return {sequence,
          0,
          Wall{Duration{1'893'456'000'000}},
          default_project,
          queue::WasTaken{{default_project, "mail"},
                          ItemId{sequence},
                          {default_project, "worker-17"},
                          Token{sequence},
                          1}};
}

// What the loop pays.
void put_an_event(benchmark::State& bench) {
  const State state;
  Buffer buffer(std::size_t{64} << 20U);
  std::uint64_t sequence = 0;
  Event event = taken(1);
  for (auto _ : bench) {
    event.sequence = ++sequence;
    if (!buffer.put(event, Time{}, state)) {
      bench.PauseTiming();
      buffer.clear(sequence);
      bench.ResumeTiming();
    }
  }
  bench.SetItemsProcessed(bench.iterations());
}
BENCHMARK(put_an_event);

// What its own thread pays, in transactions of 10,000.
void write_an_event(benchmark::State& bench) {
  std::string folder = (std::filesystem::temp_directory_path() / "reeve-XXXXXX").string();
  if (::mkdtemp(folder.data()) == nullptr) std::abort();
  {
    auto file = File::open(folder + "/history.db");
    if (!file) std::abort();
    std::uint64_t sequence = 0;
    for (auto _ : bench) {
      const Event event = taken(++sequence);
      if (!(*file)->add({event, {Time{}, event.at}})) std::abort();
      if (sequence % 10'000 == 0 && !(*file)->commit(sequence)) std::abort();
    }
    bench.SetItemsProcessed(bench.iterations());
  }
  std::filesystem::remove_all(folder);
}
BENCHMARK(write_an_event);

}  // namespace
