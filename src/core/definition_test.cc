#include "core/definition.h"

#include "base/die_testing.h"
#include "core/event_bus.h"
#include "core/testing.h"
#include "core/turn.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <map>
#include <string>
#include <utility>
#include <vector>

namespace reeve::definition {
namespace {

using namespace reeve::testing;

constexpr ProjectNo other_project{2};

Set set_of(std::string hash) {
  Set set;
  set.hash = std::move(hash);
  set.root = "/home/ana/shop";
  // Whoever is to be pinned to it.
  for (int i = 0; i < 40; ++i) set.workers.set("w" + std::to_string(i), {"bugs", "fix", 1, {}});
  return set;
}

World two_projects() {
  World world;
  world.ask(project::Command{project::Open{"/home/ana/other", "other"}});
  world.forget();
  return world;
}

reeve::Reply load(World& world, Set set, ProjectNo project = default_project) {
  return world.ask(definition::Command{Load{project, Boxed<Set>(std::move(set))}});
}

queue::Config dead_to(std::string name) {
  queue::Config config;
  config.dead_letter = QueueName{default_project, std::move(name)};
  return config;
}

// Somebody more, a worker, goes by this set; one of them no longer does.
void pinned(World& world, const SetKey& key) {
  int number = 0;
  const auto name = [&] { return WorkerName{key.project, "w" + std::to_string(number)}; };
  while (world.state.workers.workers.contains(name())) ++number;
  world.ask(worker::Start{name(), key, {}});
}

void unpinned(World& world, const SetKey& key) {
  for (const auto& [name, worker] : world.state.workers.workers) {
    if (worker.set != key) continue;
    world.ask(worker::Stop{WorkerName(name)});
    return;
  }
}

std::vector<std::string> kept(const World& world) {
  std::vector<std::string> hashes;
  for (const auto& [key, set] : world.state.definitions.sets) hashes.push_back(key.hash);
  return hashes;
}

using Hashes = std::vector<std::string>;

TEST(Definition, WhatIsLoadedIsInForce) {
  World world;
  EXPECT_EQ(current(world.state.definitions, default_project), nullptr);
  Set set = set_of("one");
  set.pipelines.set("fix", {});

  EXPECT_TRUE(is<Ok>(load(world, set)));
  ASSERT_TRUE(current(world.state.definitions, default_project));
  EXPECT_EQ(*current(world.state.definitions, default_project), set);
  EXPECT_EQ(*find(world.state.definitions, {default_project, "one"}), set);
  EXPECT_EQ(find(world.state.definitions, {default_project, "two"}), nullptr);
  EXPECT_EQ(current(world.state.definitions, other_project), nullptr);
}

TEST(Definition, TheSameHashAgainChangesNothing) {
  World world;
  load(world, set_of("one"));
  const State before = world.state;

  EXPECT_TRUE(is<Ok>(load(world, set_of("one"))));
  EXPECT_FALSE(world.last.changed);
  EXPECT_EQ(world.state, before);
}

TEST(Definition, WhatIsNoSetOrOfNobodyIsRefused) {
  World world;
  const auto refusal = [&](Load command) {
    const Refused refused = as<Refused>(world.ask(definition::Command{std::move(command)}));
    EXPECT_FALSE(world.last.changed);
    return refused;
  };
  const Boxed<Set> good(set_of("one"));

  EXPECT_EQ(refusal({other_project, good}), (Refused{Why::NotFound, "project"}));
  EXPECT_EQ(refusal({shared_project, good}), (Refused{Why::BadValue, "set"}));
  EXPECT_EQ(refusal({default_project, {}}), (Refused{Why::BadValue, "set"}));
  EXPECT_EQ(refusal({default_project, Boxed<Set>(set_of(""))}), (Refused{Why::BadValue, "hash"}));
  EXPECT_EQ(refusal({default_project, Boxed<Set>(set_of(std::string(201, 'x')))}),
            (Refused{Why::BadValue, "hash"}));
}

TEST(Definition, WhatTheLoaderMustNotLetThroughIsRefused) {
  World world;
  load(world, set_of("good"));
  const auto refusal = [&](auto change) {
    Set set = set_of("bad");
    change(set);
    const Refused refused = as<Refused>(load(world, set));
    EXPECT_FALSE(world.last.changed);
    EXPECT_EQ(current(world.state.definitions, default_project)->hash, "good");
    return refused;
  };

  EXPECT_EQ(refusal([](Set& set) { set.locks.set("-a", {}); }), (Refused{Why::BadName, "-a"}));
  EXPECT_EQ(refusal([](Set& set) { set.semaphores.set("", {1, {}}); }),
            (Refused{Why::BadName, ""}));
  EXPECT_EQ(refusal([](Set& set) { set.semaphores.set("agents", {0, {}}); }),
            (Refused{Why::BadValue, "agents"}));
  EXPECT_EQ(refusal([](Set& set) { set.queues.set("..", {}); }), (Refused{Why::BadName, ".."}));
  EXPECT_EQ(refusal([&](Set& set) { set.queues.set("a", dead_to("-")); }),
            (Refused{Why::BadName, "-"}));
  EXPECT_EQ(refusal([&](Set& set) { set.queues.set("b", dead_to("b")); }),
            (Refused{Why::Loop, "b"}));
  EXPECT_EQ(refusal([&](Set& set) {
              set.queues.set("a", dead_to("b"));
              set.queues.set("b", dead_to("c"));
              set.queues.set("c", dead_to("b"));
            }),
            (Refused{Why::Loop, "a"}));
  EXPECT_EQ(refusal([&](Set& set) {
              for (std::size_t i = 0; i < limits::queues_a_chain; ++i) {
                set.queues.set("q" + std::to_string(i), dead_to("q" + std::to_string(i + 1)));
              }
            }),
            (Refused{Why::OverLimit, "dead_letter"}));
  EXPECT_EQ(refusal([](Set& set) { set.hooks.push_back({"a::b", "true"}); }),
            (Refused{Why::BadValue, "a::b"}));
  EXPECT_EQ(refusal([](Set& set) {
              Strategy strategy;
              strategy.approaches.resize(2);
              strategy.approaches[1].name = "theirs";
              strategy.approaches[1].fallback_on = {"/a{499}/", "/b{499}/", "/c/"};
              set.strategies.set("merge", strategy);
            }),
            (Refused{Why::BadValue, "fallback_on of theirs of strategy merge"}));
  EXPECT_EQ(refusal([](Set& set) { set.notifications.on = {"escalate", ""}; }),
            (Refused{Why::BadValue, ""}));
}

// ── Locks ──

TEST(Definition, LocksTakeTheirDefinitionsAndLoseThem) {
  World world = two_projects();
  const lock::Config slow{.heartbeat_timeout = 90s, .max_hold = {}};
  const lock::Config slower{.heartbeat_timeout = 120s, .max_hold = {}};
  Set first = set_of("one");
  first.locks.set("main", slow);
  first.locks.set("docs", slow);
  load(world, first);
  load(world, first, other_project);

  Set second = set_of("two");
  second.locks.set("main", slower);
  load(world, second);

  PersistentMap<LockName, lock::Config> expected;
  expected.set({default_project, "main"}, slower);
  expected.set({other_project, "docs"}, slow);
  expected.set({other_project, "main"}, slow);
  EXPECT_EQ(world.state.locks.defined, expected);
}

// ── Semaphores and queues ──

const semaphore::Semaphore* agents_of(const World& world) {
  return world.state.semaphores.semaphores.find({default_project, "agents"});
}

TEST(Definition, SemaphoresAreMadeResizedAndLeftAlone) {
  World world;
  Set set = set_of("one");
  set.semaphores.set("agents", {4, {}});
  load(world, set);
  ASSERT_TRUE(agents_of(world));
  EXPECT_EQ(agents_of(world)->config.capacity, 4u);

  set.hash = "two";
  set.semaphores.set("agents", {2, {}});
  load(world, set);
  EXPECT_EQ(agents_of(world)->config.capacity, 2u);

  load(world, set_of("three"));
  ASSERT_TRUE(agents_of(world)) << "somebody may hold it";
  EXPECT_EQ(agents_of(world)->config.capacity, 2u);
}

const queue::Config* queue_of(const World& world, const std::string& name) {
  const queue::QueueNo* number = world.state.queues.names.find({default_project, name});
  return number ? &world.state.queues.queues.find(*number)->config : nullptr;
}

TEST(Definition, QueuesAreMadeChangedAndLeftAlone) {
  World world;
  Set set = set_of("one");
  set.queues.set("bugs", dead_to("bugs_dead"));
  set.queues.set("bugs_dead", {});
  load(world, set);
  ASSERT_TRUE(queue_of(world, "bugs") && queue_of(world, "bugs_dead"));
  EXPECT_EQ(*queue_of(world, "bugs"), dead_to("bugs_dead"));

  load(world, set_of("two"));
  EXPECT_TRUE(queue_of(world, "bugs")) << "there may be items in it";
}

TEST(Definition, AChainOfDeadLettersCanBeTurnedRound) {
  World world;
  Set set = set_of("one");
  set.queues.set("a", dead_to("b"));
  set.queues.set("b", {});
  load(world, set);

  set.hash = "two";
  set.queues.set("a", {});
  set.queues.set("b", dead_to("a"));
  EXPECT_TRUE(is<Ok>(load(world, set)));
  EXPECT_EQ(*queue_of(world, "a"), queue::Config{});
  EXPECT_EQ(*queue_of(world, "b"), dead_to("a"));
}

// More is due than a tick settles, and then the death of an item makes the last queue that there is
// room for: whoever comes second is refused, and nothing of it is done.
TEST(Definition, AQueueThatTimeMakesMeanwhileTakesTheRoom) {
  World world;
  world.collects = true;  // the number of queues is made up
  const auto taken = [&](const char* name, queue::Config config, std::size_t items) {
    const QueueName queue{default_project, name};
    config.max_attempts = 1;
    world.ask(queue::Create{queue, config});
    world.ask(queue::Push{queue, std::vector<queue::NewItem>(items)});
    world.ask(queue::Take{{queue}, {default_project, "ana"}, {}, 1000, {}});
  };
  taken("many", {}, limits::touched_a_step + 1);
  world.stamp.now += 1s;
  taken("bugs", dead_to("lost"), 1);
  world.state.queues.queues_of.set(default_project, limits::names_a_project - 1);
  world.stamp.now += 1h;

  Set set = set_of("one");
  set.queues.set("new", {});
  set.semaphores.set("slots", {1, {}});
  EXPECT_EQ(load(world, set), refused(Why::OverLimit, "queues"));
  EXPECT_TRUE(world.state.queues.names.contains({default_project, "lost"}));
  EXPECT_FALSE(world.state.queues.names.contains({default_project, "new"}));
  EXPECT_EQ(world.state.semaphores, semaphore::Table{});
  EXPECT_EQ(current(world.state.definitions, default_project), nullptr);
}

TEST(Definition, ACircleThroughAQueueOfBeforeIsRefused) {
  World world;
  Set set = set_of("one");
  set.queues.set("a", dead_to("b"));
  load(world, set);
  Set next = set_of("two");
  next.queues.set("b", dead_to("a"));

  EXPECT_EQ(as<Refused>(load(world, next)), (Refused{Why::Loop, "b"}));
}

// ── Hooks and notifications ──

Set with_hooks(std::string hash, std::vector<std::string> patterns) {
  Set set = set_of(std::move(hash));
  for (const std::string& pattern : patterns) set.hooks.push_back({pattern, "echo " + pattern});
  set.notifications = {{"ci:red"}, "notify-send"};
  return set;
}

std::vector<std::string> programs_started(const World& world) {
  std::vector<std::string> texts;
  for (const Start& start : world.last.effects) {
    if (const Shell* shell = std::get_if<Shell>(&start.effect.what)) texts.push_back(shell->text);
    if (const Notify* notify = std::get_if<Notify>(&start.effect.what)) {
      texts.push_back(notify->command);
    }
  }
  return texts;
}

TEST(Definition, HooksRunInTheProjectsFolder) {
  World world;
  load(world, with_hooks("one", {"ci:green"}));

  world.ask(EmitCustom{"ci:green", {}});
  ASSERT_EQ(programs_started(world), (std::vector<std::string>{"echo ci:green"}));
  const Shell& shell = std::get<Shell>(world.last.effects[0].effect.what);
  EXPECT_EQ(shell.directory, "/home/ana/shop");
}

TEST(Definition, NotificationsAreSent) {
  World world;
  load(world, with_hooks("one", {}));

  world.ask(EmitCustom{"ci:red", {}});
  EXPECT_EQ(programs_started(world), (std::vector<std::string>{"notify-send"}));
}

// Once is what was promised: whoever cannot know whether it was does not do it again.
TEST(Definition, ANotificationOrHookWhoseEndNobodyKnowsIsNotSentAgain) {
  World world;
  load(world, with_hooks("one", {"ci:red"}));
  world.forget();
  world.ask(EmitCustom{"ci:red", {}});
  const std::vector<Start> sent = world.started;
  ASSERT_EQ(sent.size(), 2u);

  for (const Start& start : sent) {
    Outcome unknown;
    unknown.ended = Ended::Unknown;
    world.finish(start.id, unknown);
    EXPECT_EQ(world.last.effects, std::vector<Start>{});
  }
  EXPECT_TRUE(world.state.outbox.empty());
  world.pass(24h);
  EXPECT_EQ(world.started, sent);
}

TEST(Definition, WhomTheSharedProjectNotifiesIsToldOfWhatHappensInAny) {
  World world = two_projects();
  Set all;
  all.hash = "all";
  all.notifications = {{"ci:red"}, "tell"};
  as<Ok>(load(world, all, shared_project));

  world.ask(EmitCustom{"ci:red", {}});
  EXPECT_EQ(programs_started(world), (std::vector<std::string>{"tell"}));
  world.ask(EmitCustom{"ci:red", {}}, {}, {}, other_project);
  EXPECT_EQ(programs_started(world), (std::vector<std::string>{"tell"}));
  world.ask(EmitCustom{"ci:green", {}}, {}, {}, other_project);
  EXPECT_EQ(programs_started(world), std::vector<std::string>{});

  Set nobody;
  nobody.hash = "nobody";
  as<Ok>(load(world, nobody, shared_project));
  EXPECT_EQ(world.state.subscriptions, event_bus::Table{});
}

TEST(Definition, TheSharedProjectHasNoHooksForTheyWouldHaveNoFolder) {
  World world;
  Set set;
  set.hash = "all";
  set.hooks = {{"ci:red", "echo"}};
  EXPECT_EQ(as<Refused>(load(world, set, shared_project)), (Refused{Why::BadValue, "set"}));
}

TEST(Definition, ANewSetsHooksReplaceTheOldOnes) {
  World world;
  load(world, with_hooks("one", {"ci:green", "ci:*"}));
  load(world, with_hooks("two", {"ci:green"}));

  world.ask(EmitCustom{"ci:green", {}});
  EXPECT_EQ(programs_started(world), (std::vector<std::string>{"echo ci:green"}));
  Set last = set_of("three");
  load(world, last);
  EXPECT_EQ(world.state.subscriptions, event_bus::Table{});
}

TEST(Definition, AnotherProjectsHooksStayEvenIfTheyReadTheSame) {
  World world = two_projects();
  load(world, with_hooks("one", {"ci:green"}));
  load(world, with_hooks("one", {"ci:green"}), other_project);
  load(world, set_of("two"));

  world.ask(EmitCustom{"ci:red", {}});
  EXPECT_EQ(programs_started(world), std::vector<std::string>{});
  world.ask(EmitCustom{"ci:red", {}}, {}, {}, other_project);
  EXPECT_EQ(programs_started(world), (std::vector<std::string>{"notify-send"}));
  world.ask(EmitCustom{"ci:green", {}}, {}, {}, other_project);
  EXPECT_EQ(programs_started(world), (std::vector<std::string>{"echo ci:green"}));
}

// ── What is kept ──

TEST(Definition, TheSetBeforeGoesUnlessSomebodyIsPinnedToIt) {
  World world;
  load(world, set_of("one"));
  load(world, set_of("two"));
  EXPECT_EQ(kept(world), (Hashes{"two"}));

  pinned(world, {default_project, "two"});
  load(world, set_of("three"));
  EXPECT_EQ(kept(world), (Hashes{"three", "two"}));
}

TEST(Definition, APinnedSetGoesWithTheLastWhoLetsItGo) {
  World world;
  const SetKey one{default_project, "one"};
  load(world, set_of("one"));
  pinned(world, one);
  pinned(world, one);
  load(world, set_of("two"));

  unpinned(world, one);
  EXPECT_EQ(kept(world), (Hashes{"one", "two"}));
  unpinned(world, one);
  EXPECT_EQ(kept(world), (Hashes{"two"}));
}

TEST(Definition, TheSetInForceStaysWhenNobodyIsPinnedToItAnyMore) {
  World world;
  const SetKey one{default_project, "one"};
  load(world, set_of("one"));
  pinned(world, one);
  unpinned(world, one);
  unpinned(world, one);

  EXPECT_EQ(kept(world), (Hashes{"one"}));
  EXPECT_EQ(world.state.definitions.sets.find(one)->pins, 0u);
}

TEST(Definition, ASetThatIsNotThereCannotBePinned) {
  World world;
  pinned(world, {default_project, "one"});
  unpinned(world, {default_project, "one"});

  EXPECT_EQ(world.state.definitions, Table{});
}

TEST(Definition, APinnedSetThatComesBackKeepsItsPins) {
  World world;
  const SetKey one{default_project, "one"};
  load(world, set_of("one"));
  pinned(world, one);
  load(world, set_of("two"));
  load(world, set_of("one"));

  EXPECT_EQ(kept(world), (Hashes{"one"}));
  EXPECT_EQ(world.state.definitions.sets.find(one)->pins, 1u);
  EXPECT_EQ(current(world.state.definitions, default_project)->hash, "one");
}

// Loaded, pinned and let go in any order: exactly the sets that are in force or pinned are there,
// and exactly the hooks of those in force are subscribed. (A model beside it says which.)
RC_GTEST_PROP(Definition, KeepsExactlyWhatIsInForceOrPinned, ()) {
  World world = two_projects();
  std::map<ProjectNo, std::string> in_force;
  std::map<SetKey, std::uint64_t> pins;
  const int inputs = *rc::gen::inRange(0, 40);
  for (int i = 0; i < inputs; ++i) {
    const ProjectNo project = *rc::gen::element(default_project, other_project);
    const std::string hash = *rc::gen::element<std::string>("a", "b", "c");
    const SetKey key{project, hash};
    const bool is_there = in_force[project] == hash || pins[key] > 0;
    switch (*die(3)) {
      case 0:
        load(world, with_hooks(hash, {"ci:" + hash}), project);
        in_force[project] = hash;
        break;
      case 1:
        pinned(world, key);
        if (is_there) ++pins[key];
        break;
      default:
        unpinned(world, key);
        if (pins[key] > 0) --pins[key];
        break;
    }
    event_bus::Table subscriptions;
    for (const ProjectNo each : {default_project, other_project}) {
      for (const std::string name : {"a", "b", "c"}) {
        const Set* found = find(world.state.definitions, {each, name});
        RC_ASSERT((found != nullptr) == (in_force[each] == name || pins[{each, name}] > 0));
        if (in_force[each] != name) continue;
        RC_ASSERT(current(world.state.definitions, each) == found);
        for (const auto& one : subscriptions_of(each, *found)) {
          event_bus::subscribe(subscriptions, one);
        }
      }
    }
    RC_ASSERT(world.state.subscriptions == subscriptions);
  }
}

}  // namespace
}  // namespace reeve::definition
