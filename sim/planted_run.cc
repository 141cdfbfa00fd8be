#include "sim/planted_run.h"

#include "base/planted.h"
#include "sim/run.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>
#include <string>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

namespace reeve::sim {

bool plant([[maybe_unused]] std::string_view name) {
#ifdef REEVE_PLANTED
  for (const BugName& known : bug_names) {
    if (known.name != name) continue;
    planted_bug = known.bug;
    return true;
  }
#endif
  return false;
}

#ifdef REEVE_PLANTED
namespace {

// What a process that may be stopped by a CHECK has found, in memory that it shares with us.
struct Found {
  bool found = false;
  std::uint64_t seed = 0;
  std::uint64_t step = 0;
  std::uint64_t steps = 0;  // of all seeds before
  std::array<char, 160> what{};
};

double seconds_of(const timeval& time) {
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
}

void look_for(const BugName& bug, const Limits& limits, Found& found) {
  plant(bug.name);
  const Finding finding = run_seeds(limits, [&](std::uint64_t seed, const Counts& so_far) {
    found.seed = seed;
    found.steps = so_far.steps;
  });
  found.steps = finding.counts.steps;
  if (!finding.failure) return;
  found.found = true;
  found.step = finding.failure->step;
  const std::size_t length = std::min(finding.failure->what.size(), found.what.size() - 1);
  std::memcpy(found.what.data(), finding.failure->what.data(), length);
}

}  // namespace
#endif

int find_planted(std::string_view name,
                 std::uint64_t first_seed,
                 std::optional<std::chrono::milliseconds> time) {
#ifndef REEVE_PLANTED
  (void)name, (void)first_seed, (void)time;
  fmt::print(
      stderr,
      "reeve_sim: this program has no planted bugs: ./dev sim --planted runs the one that has\n");
  return 2;
#else
  Limits limits;
  limits.first_seed = first_seed;
  limits.processor_time = time.value_or(std::chrono::seconds{60});
  int missed = 0;
  int tried = 0;
  fmt::print("| bug | where | seed | step | seconds | found by |\n|---|---|---|---|---|---|\n");
  for (const BugName& bug : bug_names) {
    if (!name.empty() && bug.name != name) continue;
    ++tried;
    void* const memory =
        mmap(nullptr, sizeof(Found), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) std::abort();
    auto* const found = new (memory) Found;
    std::fflush(stdout);
    const pid_t child = fork();
    if (child == 0) {
      const rlimit none{0, 0};
      setrlimit(RLIMIT_CORE, &none);
      std::freopen("/dev/null", "w", stderr);
      look_for(bug, limits, *found);
      _exit(0);
    }
    int status = 0;
    rusage used{};
    wait4(child, &status, 0, &used);
    const double took = seconds_of(used.ru_utime) + seconds_of(used.ru_stime);
    const bool stopped = WIFSIGNALED(status);
    const std::string how = stopped ? "a CHECK or a crash" : std::string(found->what.data());
    if (found->found || stopped) {
      fmt::print("| {} | {} | {} | {} | {:.2f} | {} |\n",
                 bug.name,
                 bug.where,
                 found->seed,
                 stopped ? std::string("-") : std::to_string(found->step),
                 took,
                 how);
    } else {
      ++missed;
      fmt::print("| {} | {} | - | - | {:.2f} | NOT FOUND in {} steps |\n",
                 bug.name,
                 bug.where,
                 took,
                 found->steps);
    }
    munmap(memory, sizeof(Found));
  }
  if (tried == 0) {
    fmt::print(stderr, "reeve_sim: no planted bug is called {}\n", name);
    return 2;
  }
  fmt::print("\n{} of {} planted bugs found\n", tried - missed, tried);
  return missed == 0 ? 0 : 1;
#endif
}

}  // namespace reeve::sim
