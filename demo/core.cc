#include "core/apply.h"
#include "core/digest.h"
#include "demo/story.h"

#include <chrono>
#include <cstdint>
#include <fmt/format.h>
#include <string>
#include <utility>
#include <vector>

// The core at work: a story in five acts, played with the real `apply` and a clock that the story
// itself moves. Nothing here waits, and nothing is written by hand: every line after the arrow is
// an answer or an event of the core.
namespace reeve::demo {
namespace {

using namespace std::chrono_literals;

const LockName main_branch{default_project, "main"};
const QueueName bugs{default_project, "bugs"};
const QueueName hopeless{default_project, "hopeless"};

Holder agent(const char* name) { return {default_project, name}; }

lock::Acquire acquire(const char* who, std::optional<Duration> wait = {}) {
  return {{main_branch}, agent(who), {}, {}, {}, wait};
}

void three_agents_and_one_branch(Stage& stage) {
  stage.act("Three agents want to push to main");
  stage.says("ana", "lock acquire main", acquire("ana"));
  stage.says("bo", "lock acquire main --wait 5m", acquire("bo", 5min));
  stage.says("cy", "lock acquire main --wait 5m", acquire("cy", 5min));
  stage.passes(30s);
  stage.says("ana", "lock heartbeat main --token 1",
             lock::Heartbeat{main_branch, agent("ana"), Token{1}});
  stage.tells("ana's machine is unplugged. Nobody polls; a deadline is part of the state.");
  stage.passes(60s);
  stage.passes(1ms);
  stage.tells("ana comes back and believes it still holds main. Its token says otherwise.");
  stage.says("git hook", "lock check main --token 1", lock::Check{main_branch, Token{1}});
  stage.says("bo", "lock release main", lock::Release{main_branch, agent("bo"), {}});
}

queue::Take take(const char* who) { return {{bugs}, agent(who), {}, 1, {}}; }

queue::NewItem item(const char* data, std::int32_t priority) {
  return {Bytes(data), true, priority, Duration{0}, "", {}};
}

queue::ItemClaim claim_of(const Reply& reply) {
  const queue::Taken& taken = std::get<queue::Taken>(std::get<queue::Reply>(reply.value));
  return {taken.items.at(0).id, taken.items.at(0).claim};
}

void work_that_is_not_lost(Stage& stage) {
  stage.act("Work that is neither lost nor done twice");
  queue::Config config;
  config.max_attempts = 2;
  config.dead_letter = hopeless;
  config.visibility_timeout = 30s;
  stage.says("you", "queue create bugs --max-attempts 2 --dead-letter hopeless",
             queue::Create{bugs, config});
  stage.says("you", "queue push bugs (two items)",
             queue::Push{bugs, {item("\"typo\"", 0), item("\"crash\"", 9)}});
  const queue::ItemClaim lost = claim_of(stage.says("dora", "queue take bugs", take("dora")));
  stage.tells("dora dies with the urgent one in its hands.");
  stage.passes(30s + 1ms);
  stage.passes(2s);
  const queue::ItemClaim again = claim_of(stage.says("emil", "queue take bugs", take("emil")));
  stage.says("dora", "queue complete bugs (late)", queue::Complete{bugs, {lost}});
  stage.says("emil", "queue fail bugs --error 'cannot reproduce'",
             queue::Fail{bugs, again, "cannot reproduce", {}});
  stage.says("you", "queue redrive hopeless --all", queue::Redrive{hopeless, {}, true, {}});
}

// Everything that was said so far, said again to a state that knows nothing.
void the_same_again(Stage& stage) {
  stage.act("The same inputs, the same state");
  State state = initial_state(Time{});
  for (const Line& line : stage.script()) {
    state = apply(std::move(state), line.input, line.stamp).state;
  }
  fmt::print("           {} inputs played again\n", stage.script().size());
  fmt::print("           digest then  {:016x}\n", digest_of(stage.state()));
  fmt::print("           digest now   {:016x}   {}\n", digest_of(state),
             state == stage.state() ? "bit for bit" : "DIFFERENT");
}

double seconds_of(const auto& work) {
  const auto begin = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

void a_million_items(Stage& stage) {
  stage.act("A million items in the queue");
  constexpr int kItems = 1'000'000;
  const std::string data(200, 'x');
  State state = initial_state(Time{});
  const Stamp stamp{Time{}, Wall{}};
  const auto say = [&](Command command) {
    Applied applied = apply(std::move(state), Request{.command = std::move(command)}, stamp);
    state = std::move(applied.state);
    return std::move(applied.reply);
  };
  const double push = seconds_of([&] {
    for (int i = 0; i < kItems; ++i) say(queue::Push{bugs, {item(data.c_str(), i % 10)}});
  });
  const double cycle = seconds_of([&] {
    for (int i = 0; i < 100'000; ++i) say(queue::Complete{bugs, {claim_of(say(take("fay")))}});
  });
  std::vector<State> snapshots(1000);
  const double snapshot = seconds_of([&] {
    for (State& copy : snapshots) copy = state;
  });
  fmt::print("           push               {:6.2f} us each\n", push * 1e6 / kItems);
  fmt::print("           take and complete  {:6.2f} us each pair\n", cycle * 1e6 / 100'000);
  fmt::print("           a snapshot         {:6.0f} ns, whatever the size\n",
             snapshot * 1e9 / 1000);
}

}  // namespace
}  // namespace reeve::demo

int main() {
  using namespace reeve::demo;
  Stage stage;
  three_agents_and_one_branch(stage);
  work_that_is_not_lost(stage);
  the_same_again(stage);
  a_million_items(stage);
  return 0;
}
