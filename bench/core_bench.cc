// What a step of the core costs with few and with many items queued, and what an item weighs.
//
//     ./dev bench core
//
// Each figure is an average over 200,000 requests through the root `apply_to`, as the engine does
// it, with the request and the item's data made beforehand: processor time of this thread, so that
// neighbours do not count. Push adds to the items that are there; take and complete then work
// through as many of them. The goals stand in the last column: under 5 µs a request, under 1 µs a
// snapshot, at most 300 bytes for an item of 200 that can be found by number and by priority.

#include "core/apply.h"

#include <fmt/core.h>
#include <malloc.h>

#include <chrono>
#include <cstdint>
#include <ctime>
#include <string>
#include <utility>
#include <vector>

namespace reeve::bench {
namespace {

constexpr std::size_t kRequests = 200'000;
constexpr std::size_t kItemBytes = 200;
constexpr Stamp kStamp{Time{} + std::chrono::hours{1}, Wall{std::chrono::hours{24 * 365 * 50}}};

const QueueName kQueue{default_project, "bench"};
const Holder kHolder{default_project, "worker"};

// Nanoseconds that this thread has worked.
double worked() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) * 1e9 + static_cast<double>(time.tv_nsec);
}

// What one round of `what` costs.
template <class Do>
double cost(std::size_t rounds, Do what) {
  const double before = worked();
  for (std::size_t i = 0; i < rounds; ++i) what(i);
  return (worked() - before) / static_cast<double>(rounds);
}

Request request(queue::Command command) {
  return {default_project, {}, true, {}, std::move(command)};
}

Request push_of(std::size_t number) {
  queue::NewItem item;
  item.data = Bytes(std::string(kItemBytes, static_cast<char>('a' + number % 26)));
  return request(queue::Push{kQueue, {std::move(item)}});
}

Reply step(State& state, const Input& input) {
  Said said = apply_to(state, input, kStamp);
  return std::move(said.reply);
}

std::size_t heap() { return mallinfo2().uordblks + mallinfo2().hblkhd; }

struct Figures {
  double push = 0;      // ns
  double take = 0;      // ns
  double complete = 0;  // ns
  double snapshot = 0;  // ns
  double first_edit = 0;
  double bytes = 0;
};

void fill(State& state, std::size_t items) {
  while (state.queues.items.size() < items) step(state, push_of(state.queues.items.size()));
}

// A copy of the whole state with its end, and the first push after a copy, which must leave the
// copy as it was.
void measure_snapshots(State& state, Figures& figures) {
  constexpr std::size_t rounds = 10'000;
  std::vector<Input> inputs;
  for (std::size_t i = 0; i < rounds; ++i) inputs.emplace_back(push_of(i));
  figures.snapshot = cost(rounds, [&](std::size_t) { const State snapshot = state; });
  figures.first_edit = cost(rounds, [&](std::size_t i) {
    const State snapshot = state;
    step(state, inputs[i]);
  });
  figures.first_edit -= figures.snapshot;
}

// At about `items` items throughout: what is pushed in a round is taken and completed in it.
Figures measure(std::size_t items) {
  Figures figures;
  State state = initial_state(kStamp.now);
  step(state, request(queue::Create{kQueue, {}}));
  const std::size_t before = heap();
  fill(state, items);
  figures.bytes = static_cast<double>(heap() - before) / static_cast<double>(items);

  const std::size_t rounds = items < kRequests ? kRequests / items * 5 : 1;
  const std::size_t round = kRequests / rounds;
  const Input take = request(queue::Take{{kQueue}, kHolder, {}, 1, {}});
  for (std::size_t done = 0; done < rounds; ++done) {
    std::vector<Input> pushes;
    for (std::size_t i = 0; i < round; ++i) pushes.emplace_back(push_of(i));
    figures.push += cost(round, [&](std::size_t i) { step(state, pushes[i]); });

    std::vector<Reply> taken(round);
    figures.take += cost(round, [&](std::size_t i) { taken[i] = step(state, take); });
    std::vector<Input> completes;
    for (const Reply& reply : taken) {
      const queue::Taken& got = std::get<queue::Taken>(std::get<queue::Reply>(reply.value));
      const queue::ItemClaim claim{got.items.at(0).id, got.items.at(0).claim};
      completes.emplace_back(request(queue::Complete{kQueue, {claim}}));
    }
    figures.complete += cost(round, [&](std::size_t i) { step(state, completes[i]); });
  }
  for (double* sum : {&figures.push, &figures.take, &figures.complete}) {
    *sum /= static_cast<double>(rounds);
  }
  measure_snapshots(state, figures);
  return figures;
}

void print(const char* what, double few, double many, const char* unit, const char* goal) {
  fmt::print(
      "{:<28}{:>12.2f}{:>14.2f} {:<4}{:>8.2f}x   {}\n", what, few, many, unit, many / few, goal);
}

void run() {
  const Figures few = measure(1'000);
  malloc_trim(0);
  const Figures many = measure(1'000'000);
  fmt::print(
      "{:<28}{:>12}{:>14} {:<4}{:>9}   goal\n", "items queued", "1,000", "1,000,000", "", "ratio");
  print("push", few.push / 1000, many.push / 1000, "µs", "< 5");
  print("take", few.take / 1000, many.take / 1000, "µs", "< 5");
  print("complete", few.complete / 1000, many.complete / 1000, "µs", "< 5");
  print("snapshot", few.snapshot, many.snapshot, "ns", "< 1000");
  print("first push after one", few.first_edit / 1000, many.first_edit / 1000, "µs", "");
  print("bytes an item", few.bytes, many.bytes, "B", "<= 300");
}

}  // namespace
}  // namespace reeve::bench

int main() { reeve::bench::run(); }
