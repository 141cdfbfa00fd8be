// How large should the nodes of a PersistentMap be? Every workload runs for every kind of entry
// and every layout, and beside them for std::map; at the end the same figures stand in one table
// a kind, workloads down and layouts across: processor time, the best of all repetitions.
// docs/decisions/0001-persistent-map-layout.md has a run and the choice. The usual flags of Google
// Benchmark work: --benchmark_repetitions=5 helps on a busy machine, --benchmark_filter=512 or
// =queue makes it short.

#include "base/persistent_map.h"

#include "base/boxed.h"

#include <benchmark/benchmark.h>
#include <malloc.h>

#include <array>
#include <cstdint>
#include <cstdio>
#include <map>
#include <memory>
#include <numeric>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace reeve::bench {
namespace {

constexpr std::size_t entry_count = 1'000'000;

// The kinds of entries.

struct Place {
  std::uint32_t queue;
  std::uint32_t priority;
  std::uint64_t number;

  auto operator<=>(const Place&) const = default;
};
struct Nothing {};
struct PlaceSet {
  static constexpr const char* kind_name = "set of 16 B";
  using Key = Place;
  using Value = Nothing;
  static Key key(std::size_t i) { return {3, 7, i}; }
};

struct Item {
  std::array<std::uint64_t, 4> numbers = {};
  Boxed<std::string> rare;
};
struct ItemMap {
  static constexpr const char* kind_name = "u64 to 40 B";
  using Key = std::uint64_t;
  using Value = Item;
  static Key key(std::size_t i) { return i; }
};

struct Record {
  std::array<char, 100> bytes = {};
};
struct NamedMap {
  static constexpr const char* kind_name = "string to 100 B";
  using Key = std::string;
  using Value = Record;
  static Key key(std::size_t i) {
    std::string digits = std::to_string(i);
    return "project/item-" + std::string(8 - digits.size(), '0') + digits;
  }
};

// The maps under test, all with the verbs of PersistentMap.

template <class Kind, std::size_t bytes>
struct Nodes : PersistentMap<typename Kind::Key,
                             typename Kind::Value,
                             persistent::Layout{.leaf_bytes = bytes,
                                                .inner_bytes = bytes,
                                                .fewest_in_leaf = 4,
                                                .fewest_in_inner = 8}> {
  static std::string name() { return std::to_string(bytes); }
};

template <class Kind>
struct Default : PersistentMap<typename Kind::Key, typename Kind::Value> {
  static std::string name() { return "default"; }
};

template <class Kind>
struct StdMap {
  using Key = typename Kind::Key;
  using Value = typename Kind::Value;

  static std::string name() { return "std::map"; }
  void set(const Key& key, Value value) { map.insert_or_assign(key, std::move(value)); }
  Value* edit(const Key& key) {
    const auto at = map.find(key);
    return at == map.end() ? nullptr : &at->second;
  }
  const Value* find(const Key& key) { return edit(key); }
  void erase(const Key& key) { map.erase(key); }
  auto begin() const { return map.begin(); }
  auto end() const { return map.end(); }

  std::map<Key, Value> map;
};

// What is measured. Keys are made beforehand.

template <class Kind>
const std::vector<typename Kind::Key>& keys(bool in_order) {
  const auto make = [](bool sorted) {
    std::vector<std::size_t> numbers(entry_count);
    std::iota(numbers.begin(), numbers.end(), std::size_t{0});
    if (!sorted) std::shuffle(numbers.begin(), numbers.end(), std::mt19937_64(1));
    std::vector<typename Kind::Key> result;
    result.reserve(entry_count);
    for (const std::size_t number : numbers) result.push_back(Kind::key(number));
    return result;
  };
  static const std::vector<typename Kind::Key> ascending = make(true);
  static const std::vector<typename Kind::Key> random = make(false);
  return in_order ? ascending : random;
}

template <class Kind, class Map>
Map filled(bool in_order) {
  Map map;
  for (const auto& key : keys<Kind>(in_order)) map.set(key, {});
  return map;
}

template <class Kind, class Map>
void insert(benchmark::State& state, bool in_order) {
  keys<Kind>(in_order);
  while (state.KeepRunningBatch(entry_count)) {
    const std::size_t before = mallinfo2().uordblks;
    auto map = std::make_unique<Map>(filled<Kind, Map>(in_order));
    state.PauseTiming();
    const std::size_t bytes = mallinfo2().uordblks - before;
    state.counters["bytes"] = static_cast<double>(bytes) / static_cast<double>(entry_count);
    map.reset();
    state.ResumeTiming();
  }
}
template <class Kind, class Map>
void insert_ascending(benchmark::State& state) {
  insert<Kind, Map>(state, true);
}
template <class Kind, class Map>
void insert_random(benchmark::State& state) {
  insert<Kind, Map>(state, false);
}

// The same by an Appender, as a snapshot is read.
template <class Kind, class Map>
void append(benchmark::State& state) {
  const auto& ascending = keys<Kind>(true);
  while (state.KeepRunningBatch(entry_count)) {
    typename Map::Appender appender;
    for (const auto& key : ascending) appender.append(key, {});
    const auto map =
        std::make_unique<decltype(std::move(appender).take())>(std::move(appender).take());
    benchmark::DoNotOptimize(map.get());
    state.PauseTiming();
    *map = {};
    state.ResumeTiming();
  }
}

// A map that is kept for all workloads that leave its nodes where they are.
template <class Kind, class Map>
Map& ready() {
  static Map map = filled<Kind, Map>(true);
  return map;
}

// Runs `act(map, key)` over the keys in random order, again and again.
template <class Kind, class Map, class Act>
void for_random_keys(benchmark::State& state, Map& map, Act act) {
  const auto& random = keys<Kind>(false);
  std::size_t i = 0;
  for (auto _ : state) {
    act(map, random[i]);
    if (++i == entry_count) i = 0;
  }
}

template <class Kind, class Map>
void find(benchmark::State& state) {
  for_random_keys<Kind>(state, ready<Kind, Map>(), [](Map& map, const auto& key) {
    benchmark::DoNotOptimize(map.find(key));
  });
}
template <class Kind, class Map>
void edit(benchmark::State& state) {
  for_random_keys<Kind>(state, ready<Kind, Map>(), [](Map& map, const auto& key) {
    benchmark::DoNotOptimize(*map.edit(key) = {});
  });
}
template <class Kind, class Map>
void copy(benchmark::State& state) {
  for_random_keys<Kind>(state, ready<Kind, Map>(), [](const Map& map, const auto&) {
    Map copied = map;
    benchmark::DoNotOptimize(copied);
  });
}
template <class Kind, class Map>
void edit_after_copy(benchmark::State& state) {
  Map own = filled<Kind, Map>(true);
  for_random_keys<Kind>(state, own, [](Map& map, const auto& key) {
    const Map copied = map;
    benchmark::DoNotOptimize(*map.edit(key) = {});
  });
}

template <class Kind, class Map>
void queue(benchmark::State& state) {
  Map map = filled<Kind, Map>(true);
  std::size_t i = 0;
  for (auto _ : state) {
    map.erase(Kind::key(i));
    map.set(Kind::key(i + entry_count), {});
    ++i;
  }
}

template <class Kind, class Map>
void iterate(benchmark::State& state) {
  const Map& map = ready<Kind, Map>();
  while (state.KeepRunningBatch(entry_count)) {
    for (const auto& entry : map) benchmark::DoNotOptimize(&entry.first);
  }
}

template <class Kind, class Map>
void add() {
  const auto named = [](const char* workload) {
    return std::string(Kind::kind_name) + "/" + workload + "/" + Map::name();
  };
  benchmark::RegisterBenchmark(named("find").c_str(), find<Kind, Map>);
  benchmark::RegisterBenchmark(named("insert, ascending").c_str(), insert_ascending<Kind, Map>);
  if constexpr (requires { typename Map::Appender; }) {
    benchmark::RegisterBenchmark(named("append").c_str(), append<Kind, Map>);
  }
  benchmark::RegisterBenchmark(named("insert, random").c_str(), insert_random<Kind, Map>);
  benchmark::RegisterBenchmark(named("queue: erase first, append").c_str(), queue<Kind, Map>);
  benchmark::RegisterBenchmark(named("edit in place").c_str(), edit<Kind, Map>);
  benchmark::RegisterBenchmark(named("edit after a copy").c_str(), edit_after_copy<Kind, Map>);
  benchmark::RegisterBenchmark(named("copy").c_str(), copy<Kind, Map>);
  benchmark::RegisterBenchmark(named("iterate, an entry").c_str(), iterate<Kind, Map>);
}

template <class Kind>
void add_kind() {
  add<Kind, Nodes<Kind, 256>>();
  add<Kind, Nodes<Kind, 512>>();
  add<Kind, Nodes<Kind, 1024>>();
  add<Kind, Nodes<Kind, 2048>>();
  add<Kind, Default<Kind>>();
  add<Kind, StdMap<Kind>>();
}

// Prints the usual lines as they come, and the tables when all is done.
class Tables : public benchmark::ConsoleReporter {
 public:
  void ReportRuns(const std::vector<Run>& runs) override {
    for (const Run& run : runs) {
      if (run.error_occurred || run.run_type != Run::RT_Iteration) continue;
      const std::string name = run.run_name.function_name;
      const std::size_t a = name.find('/');
      const std::size_t b = name.rfind('/');
      Table& table = at(tables_, name.substr(0, a));
      const std::string workload = name.substr(a + 1, b - a - 1);
      const std::string map = name.substr(b + 1);
      double& figure = at(at(table, workload + " (ns)"), map);
      if (figure == 0 || run.GetAdjustedCPUTime() < figure) figure = run.GetAdjustedCPUTime();
      const auto bytes = run.counters.find("bytes");
      if (bytes == run.counters.end()) continue;
      at(at(table, "bytes an entry," + workload.substr(workload.find(' '))), map) = bytes->second;
    }
    ConsoleReporter::ReportRuns(runs);
  }

  void Finalize() override {
    for (const auto& [kind, table] : tables_) {
      Row columns;
      for (const auto& row : table) {
        for (const auto& [map, figure] : row.second) at(columns, map);
      }
      std::printf("\n%-34s", kind.c_str());
      for (const auto& column : columns) std::printf("%10s", column.first.c_str());
      for (const auto& [workload, row] : table) {
        std::printf("\n%-34s", workload.c_str());
        for (const auto& column : columns) {
          const auto cell = std::find_if(
              row.begin(), row.end(), [&](const auto& c) { return c.first == column.first; });
          if (cell == row.end()) {
            std::printf("%10s", "-");
          } else {
            std::printf("%10.*f", cell->second < 100 ? 1 : 0, cell->second);
          }
        }
      }
      std::printf("\n");
    }
  }

 private:
  template <class T>
  using Named = std::vector<std::pair<std::string, T>>;  // in order of appearance
  using Row = Named<double>;
  using Table = Named<Row>;

  template <class T>
  static T& at(Named<T>& list, const std::string& name) {
    for (auto& [known, value] : list) {
      if (known == name) return value;
    }
    return list.emplace_back(name, T{}).second;
  }

  Named<Table> tables_;
};

}  // namespace
}  // namespace reeve::bench

int main(int argc, char** argv) {
  reeve::bench::add_kind<reeve::bench::PlaceSet>();
  reeve::bench::add_kind<reeve::bench::ItemMap>();
  reeve::bench::add_kind<reeve::bench::NamedMap>();
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  reeve::bench::Tables tables;
  benchmark::RunSpecifiedBenchmarks(&tables);
  return 0;
}
