// What it takes to read the busy lines of beanstalkd's protocol.

#include "api/beanstalk/line.h"

#include <benchmark/benchmark.h>

#include <string_view>

namespace reeve::api::beanstalk {
namespace {

void parse(benchmark::State& state, std::string_view line) {
  for (auto _ : state) {
    benchmark::DoNotOptimize(line);
    benchmark::DoNotOptimize(parse_line(line));
  }
}

BENCHMARK_CAPTURE(parse, put, "put 2147483648 0 60 100");
BENCHMARK_CAPTURE(parse, reserve, "reserve");
BENCHMARK_CAPTURE(parse, reserve_with_timeout, "reserve-with-timeout 5");
BENCHMARK_CAPTURE(parse, delete_, "delete 1234567");
BENCHMARK_CAPTURE(parse, stats_tube, "stats-tube default");

}  // namespace
}  // namespace reeve::api::beanstalk
