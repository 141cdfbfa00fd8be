#include "core/apply.h"
#include "core/arbitrary.h"
#include "core/digest.h"
#include "core/invariants.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <optional>
#include <set>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

// The laws of the root, whatever comes in: inputs are drawn from all there are, with sensible
// and senseless values alike.
namespace reeve {
namespace {

using testing::Dice;

struct Moment {
  Input input;
  Stamp stamp;
};

// Where a history begins: mostly in our time, sometimes so close to an end of it that what is asked
// for would fall behind it.
Stamp beginning(Dice& dice) {
  constexpr Duration close = std::chrono::minutes{2};
  Stamp stamp{Time{} + std::chrono::hours{1}, Wall{std::chrono::hours{24 * 365 * 50}}};
  if (dice.one_in(8)) stamp.now = dice.one_in(2) ? Time::max() - close : Time::min();
  if (dice.one_in(8)) stamp.wall = dice.one_in(2) ? Wall::max() - close : Wall::min() + close;
  return stamp;
}

// A clock that stops at the ends of its time.
template <class Point>
Point moved(Point from, Duration by) {
  return Point{saturating_add(Time{from.time_since_epoch()}, by).time_since_epoch()};
}

// Something of everything a runbook can say, under the names that are drawn.
definition::Set runbook() {
  const auto phase = [](std::string name, definition::Action action) {
    definition::Phase made;
    made.name = std::move(name);
    made.action = std::move(action);
    return made;
  };
  definition::Set set;
  set.hash = "a";
  set.root = "/home/ana/shop";
  set.guards.set("a",
                 {.condition = "true", .timeout = std::chrono::minutes{5}, .wake_on = {"*:*"}});
  set.strategies.set("a",
                     {.checkpoint = "git rev-parse HEAD",
                      .approaches = {{"one", definition::RunShell{"x"}, {}, "undo", {}},
                                     {"two", definition::RunMerge{{}, "b", "main"}, {}, {}, {}}},
                      .on_exhaust = {}});
  set.strategies.set("b",
                     {.checkpoint = {},
                      .approaches = {{"one", definition::RunAgent{"a"}, {}, {}, {}},
                                     {"two", definition::RunShell{"x"}, {}, {}, {}}},
                      .on_exhaust = {}});
  definition::Agent agent;
  agent.command = "fixer";
  agent.on_idle = {definition::DoNudge{1}, definition::DoRestart{1}, definition::DoEscalate{}};
  agent.checkpoint_every = std::chrono::minutes{1};
  agent.checkpoint_run = "git commit";
  set.agents.set("a", agent);

  definition::Phase work = phase("a", definition::RunShell{"make"});
  work.pre = {"a"};
  work.locks = {"a"};
  work.slots = {{"a", 1}};
  work.retry = {1, std::chrono::seconds{1}};
  definition::Pipeline steps;
  steps.inputs = {"bug"};
  steps.defaults = {{"bug", "1"}};
  steps.workspace =
      definition::Workspace{.git = true, .branch = "fix", .base = "main", .folder = {}};
  steps.phases = {work, phase("b", definition::RunStrategy{"a"})};
  steps.on_cancel = "b";
  set.pipelines.set("a", steps);
  definition::Pipeline agents;
  agents.phases = {phase("a", definition::RunStrategy{"b"}), phase("b", definition::RunAgent{"a"})};
  set.pipelines.set("b", agents);
  definition::Pipeline children;
  children.phases = {phase("a", definition::RunParallel{{"a", "b"}, definition::Join::Any})};
  set.pipelines.set("c", children);

  set.workers.set("a", {"a", "b", 2, {"task:*"}});
  semaphore::Config semaphore;
  semaphore.capacity = 3;
  set.semaphores.set("a", semaphore);
  queue::Config queue;
  queue.dead_letter = QueueName{default_project, "b"};
  queue.max_attempts = 1;
  set.queues.set("a", queue);
  queue.max_attempts = 2;
  set.queues.set("c", queue);
  set.sources.set("c", {"tracker", std::chrono::seconds{30}, "take"});
  set.hooks = {{"pipeline:*", "echo"}};
  return set;
}

template <class Table>
auto some_of(const Table& table) {
  using Id = std::remove_cvref_t<decltype((*table.begin()).first)>;
  std::vector<Id> ids;
  for (const auto& [id, value] : table) {
    if (ids.size() == 4) break;
    ids.push_back(id);
  }
  return ids;
}

testing::Known known_in(const State& state) {
  std::vector<WaiterId> waiters = some_of(state.grants.waiters);
  for (const WaiterId id : some_of(state.queues.takers)) waiters.push_back(id);
  for (const WaiterId id : some_of(state.board.waiters)) waiters.push_back(id);
  std::vector<Token> tokens;
  for (std::uint64_t back = 0; back < 4 && back < state.last_token; ++back) {
    tokens.push_back(Token{state.last_token - back});
  }
  return {some_of(state.queues.items),
          some_of(state.pipelines.pipelines),
          some_of(state.tasks.attempts),
          some_of(state.board.tasks),
          some_of(state.decisions.decisions),
          some_of(state.dispatches.dispatches),
          {SessionId{}, SessionId{}, SessionId{1}},
          waiters,
          tokens,
          some_of(state.outbox)};
}

// Mostly what a client asks for, and outcomes of what was asked of the outside.
Input some_input(Dice& dice) {
  if (dice.one_in(5)) return Tick{};
  if (dice.one_in(40)) {
    const definition::Load load{default_project, Boxed(runbook())};
    return Request{.command = definition::Command{load}};
  }
  Input input;
  if (dice.one_in(3)) {
    testing::fill(dice, input.emplace<EffectEnded>());
  } else if (dice.one_in(6)) {
    testing::fill(dice, input);
  } else {
    testing::fill(dice, input.emplace<Request>());
  }
  if (Request* request = std::get_if<Request>(&input); request && !dice.one_in(4)) {
    request->key.clear();
  }
  return input;
}

// An item and its claim, which are hardly ever drawn together, if some item is being worked at.
std::optional<Input> some_end_of_a_claim(Dice& dice, const State& state) {
  for (const ItemId id : some_of(state.queues.items)) {
    const queue::Item& item = *state.queues.items.find(id);
    if (item.state != queue::ItemState::Processing) continue;
    const QueueName& queue = state.queues.queues.find(item.queue)->name;
    const queue::ItemClaim claim{id, item.rest->claim->token};
    queue::Command ends = queue::Complete{queue, {claim}};
    if (dice.one_in(2)) ends = queue::Fail{queue, claim, "red", {}};
    return Request{.command = std::move(ends)};
  }
  return std::nullopt;
}

// A way through time: mostly small steps, sometimes none, an hour or a day; now and then the
// wall clock is set, also to an end of its time. What comes in is drawn by what there is then.
std::vector<Moment> history(std::uint64_t seed, int length) {
  Dice dice(seed);
  Stamp stamp = beginning(dice);
  State state = initial_state(stamp.now);
  std::vector<Moment> moments;
  for (int i = 0; i < length; ++i) {
    constexpr std::array<std::int64_t, 8> steps{0, 0, 1, 7, 1000, 31'000, 3'600'000, 90'000'000};
    const Duration ahead{steps[dice.below(dice.one_in(4) ? 8 : 5)]};
    stamp = {moved(stamp.now, ahead), moved(stamp.wall, ahead)};
    if (dice.one_in(50)) stamp.wall = moved(stamp.wall, -std::chrono::hours{dice.below(48)});
    if (dice.one_in(200)) stamp.wall = dice.one_in(2) ? Wall::max() : Wall::min();
    dice.known = known_in(state);
    std::optional<Input> input;
    if (i == 0) {
      const definition::Load load{default_project, Boxed(runbook())};
      input = Request{.command = definition::Command{load}};
    } else if (dice.one_in(20)) {
      input = some_end_of_a_claim(dice, state);
    }
    moments.push_back({input ? std::move(*input) : some_input(dice), stamp});
    state = apply(std::move(state), moments.back().input, stamp).state;
  }
  return moments;
}

constexpr int kLength = 150;

// A law of games in which nothing happens would hold, too.
TEST(Apply, InTheGamesOfTheLawsEverythingHappens) {
  std::set<std::string> heard;
  for (std::uint64_t seed = 0; seed < 400; ++seed) {
    const std::vector<Moment> moments = history(seed, kLength);
    State state = initial_state(moments.front().stamp.now);
    for (const Moment& moment : moments) {
      Applied applied = apply(std::move(state), moment.input, moment.stamp);
      for (const Event& event : applied.events) {
        const EventName name = name_of(event.body);
        heard.insert(name.noun + ":" + name.verb);
      }
      state = std::move(applied.state);
    }
  }
  for (const char* name :
       {"lock:acquired",      "lock:stale",       "semaphore:acquired", "wait:began",
        "queue:push",         "queue:take",       "pipeline:phase",     "pipeline:retry",
        "pipeline:cancelled", "guard:passed",     "task:started",       "task:stuck",
        "cron:fired",         "worker:took",      "dispatch:released",  "decision:resolved",
        "decision:retired",   "board:started",    "mail:acked",         "process:unobserved",
        "queue:timeout",      "queue:complete",   "queue:dead",         "queue:drop",
        "lock:reclaimed",     "strategy:attempt", "semaphore:stale"}) {
    EXPECT_TRUE(heard.contains(name)) << name;
  }
}

RC_GTEST_PROP(Apply, WhateverComesInTheInvariantsHold, (std::uint64_t seed)) {
  const std::vector<Moment> moments = history(seed, kLength);
  State state = initial_state(moments.front().stamp.now);
  for (const Moment& moment : moments) {
    const State before = state;
    const Applied applied = apply(state, moment.input, moment.stamp);
    RC_ASSERT(check_step(before, applied) == Violations{});
    RC_ASSERT(check_state(applied.state) == Violations{});
    state = applied.state;
  }
}

RC_GTEST_PROP(Apply, TheSameInputsGiveTheSameDigests, (std::uint64_t seed)) {
  const std::vector<Moment> moments = history(seed, kLength);
  State first = initial_state(moments.front().stamp.now);
  State second = first;
  for (const Moment& moment : moments) {
    // Once in place and once on a copy: who else holds the state must not matter.
    Applied in_place = apply(std::move(first), moment.input, moment.stamp);
    const Applied on_copy = apply(second, moment.input, moment.stamp);
    RC_ASSERT(digest_of(in_place) == digest_of(on_copy));
    first = std::move(in_place.state);
    second = on_copy.state;
  }
  RC_ASSERT(digest_of(first) == digest_of(second));
  RC_ASSERT(first == second);
}

RC_GTEST_PROP(Apply, ASnapshotStaysAsItWas, (std::uint64_t seed)) {
  const std::vector<Moment> moments = history(seed, kLength);
  State state = initial_state(moments.front().stamp.now);
  std::vector<std::pair<State, std::uint64_t>> snapshots;
  for (std::size_t i = 0; i < moments.size(); ++i) {
    if (i % 15 == 0) snapshots.emplace_back(state, digest_of(state));
    state = apply(std::move(state), moments[i].input, moments[i].stamp).state;
  }
  for (const auto& [snapshot, digest] : snapshots) RC_ASSERT(digest_of(snapshot) == digest);
}

}  // namespace
}  // namespace reeve
