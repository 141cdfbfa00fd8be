#include "core/apply.h"
#include "core/digest.h"
#include "demo/story.h"

#include <fmt/format.h>

#include <chrono>
#include <cstdint>
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
  stage.says(
      "ana", "lock heartbeat main --token 1", lock::Heartbeat{main_branch, agent("ana"), Token{1}});
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
  stage.says("you",
             "queue create bugs --max-attempts 2 --dead-letter hopeless",
             queue::Create{bugs, config});
  stage.says("you",
             "queue push bugs (two items)",
             queue::Push{bugs, {item("\"typo\"", 0), item("\"crash\"", 9)}});
  const queue::ItemClaim lost = claim_of(stage.says("dora", "queue take bugs", take("dora")));
  stage.tells("dora dies with the urgent one in its hands.");
  stage.passes(30s + 1ms);
  stage.passes(2s);
  const queue::ItemClaim again = claim_of(stage.says("emil", "queue take bugs", take("emil")));
  stage.says("dora", "queue complete bugs (late)", queue::Complete{bugs, {lost}});
  stage.says("emil",
             "queue fail bugs --error 'cannot reproduce'",
             queue::Fail{bugs, again, "cannot reproduce", {}});
  stage.says("you", "queue redrive hopeless --all", queue::Redrive{hopeless, {}, true, {}});
}

definition::Set runbook() {
  definition::Strategy merge;
  merge.checkpoint = "git rev-parse HEAD";
  merge.approaches = {
      {"fast-forward",
       definition::RunMerge{definition::MergeKind::FastForward, "", "main"},
       {},
       "",
       {"not possible to fast-forward"}},
      {"rebase", definition::RunShell{"git rebase main"}, {}, "git rebase --abort", {"conflict"}}};

  definition::Phase test;
  test.name = "test";
  test.action = definition::RunShell{"make test"};
  definition::Phase land;
  land.name = "merge";
  land.action = definition::RunStrategy{"merge"};
  land.locks = {"main"};
  definition::Pipeline fix;
  fix.inputs = {"branch"};
  fix.phases = {test, land};

  definition::Set set;
  set.hash = "demo";
  set.strategies.set("merge", merge);
  set.pipelines.set("fix", fix);
  return set;
}

// The oldest effect that waits for an outcome ends like this.
void ends(Stage& stage, const char* what, Ended ended, std::string output) {
  const std::vector<Start> effects = stage.asked_for();
  if (effects.empty()) return;
  Outcome outcome;
  outcome.ended = ended;
  outcome.exit_code = ended == Ended::Done ? 0 : 1;
  outcome.output = std::move(output);
  stage.happens(what, effects.front().id, std::move(outcome));
}

void a_merge_that_asks(Stage& stage) {
  stage.act("A merge that falls back, and asks when it cannot go on");
  stage.says("you",
             "the runbook is read",
             definition::Load{default_project, Boxed<definition::Set>(runbook())});
  stage.says("you", "run fix branch=typo", pipeline::Start{"fix", {{"branch", "typo"}}, {}});
  ends(stage, "make test: exit 0", Ended::Done, "ok");
  stage.tells("cy has had main since the first act: the merge waits in line, and is told.");
  stage.says("cy", "lock release main", lock::Release{main_branch, agent("cy"), {}});
  ends(stage, "git rev-parse HEAD: 4f7a2c1", Ended::Done, "4f7a2c1\n");
  ends(stage,
       "merge: not possible to fast-forward",
       Ended::Failed,
       "fatal: Not possible to fast-forward, aborting.");
  ends(stage, "git rebase main: conflict", Ended::Failed, "CONFLICT (content): main.cc");
  for (const auto& [id, decision] : stage.state().decisions.decisions) {
    stage.tells("Nothing is guessed: " + decision.question);
    stage.says("you",
               "decision resolve --choice retry   (the conflict is resolved)",
               decision::Resolve{id, decision::Choice::Retry, "resolved by hand", "you"});
    break;
  }
  ends(stage, "git rev-parse HEAD: 4f7a2c1", Ended::Done, "4f7a2c1\n");
  ends(stage, "merge: fast-forwarded", Ended::Done, "");
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
  fmt::print("           digest now   {:016x}   {}\n",
             digest_of(state),
             state == stage.state() ? "bit for bit" : "DIFFERENT");
}

double seconds_of(const auto& work) {
  const auto begin = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

void a_million_items(Stage& stage) {
  stage.act("A million items in the queue");
  constexpr int items = 1'000'000;
  const std::string data(200, 'x');
  State state = initial_state(Time{});
  const Stamp stamp{Time{}, Wall{}};
  const auto say = [&](Command command) {
    Applied applied = apply(std::move(state), Request{.command = std::move(command)}, stamp);
    state = std::move(applied.state);
    return std::move(applied.reply);
  };
  const double push = seconds_of([&] {
    for (int i = 0; i < items; ++i) say(queue::Push{bugs, {item(data.c_str(), i % 10)}});
  });
  const double cycle = seconds_of([&] {
    for (int i = 0; i < 100'000; ++i) say(queue::Complete{bugs, {claim_of(say(take("fay")))}});
  });
  std::vector<State> snapshots(1000);
  const double snapshot = seconds_of([&] {
    for (State& copy : snapshots) copy = state;
  });
  fmt::print("           push               {:6.2f} us each\n", push * 1e6 / items);
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
  a_merge_that_asks(stage);
  the_same_again(stage);
  a_million_items(stage);
  return 0;
}
