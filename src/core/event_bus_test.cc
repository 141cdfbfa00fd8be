#include "core/event_bus.h"

#include "core/event.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <string>
#include <vector>

namespace reeve::event_bus {
namespace {

const WorkerName merger{default_project, "merger"};
constexpr ProjectNo other_project{7};

Event green(ProjectNo project = default_project) {
  return {1, 0, {}, project, Custom{{"ci", "main", "green"}, {{"branch", "main"}}}};
}

Table with(Subscriber who, const char* pattern, ProjectNo project = default_project) {
  Table table;
  subscribe(table, {std::move(who), project, parse_pattern(pattern)});
  return table;
}

TEST(EventBus, AWorkerThatWaitsForAnEventIsWoken) {
  EXPECT_EQ(route(with(Worker{merger}, "ci:green"), green()),
            (Effects{{Inner{WakeWorker{merger}}}}));
}

TEST(EventBus, AGuardIsWokenForTheEntryThatSubscribed) {
  EXPECT_EQ(route(with(Guard{PipelineId{4}, 2, "ready"}, "ci:main:green"), green()),
            (Effects{{Inner{WakeGuard{PipelineId{4}, 2, "ready"}}}}));
}

TEST(EventBus, AnEventThatNobodyWantsCausesNothing) {
  EXPECT_TRUE(route(with(Worker{merger}, "ci:red"), green()).empty());
  EXPECT_TRUE(route(Table{}, green()).empty());
}

TEST(EventBus, WildcardsFindTheirEventsToo) {
  EXPECT_EQ(route(with(Worker{merger}, "*:green"), green()).size(), 1u);
  EXPECT_EQ(route(with(Worker{merger}, "**"), green()).size(), 1u);
}

TEST(EventBus, AProjectHearsItsOwnEventsAndThoseThatAreEverybodys) {
  const Table table = with(Worker{merger}, "ci:green");
  EXPECT_TRUE(route(table, green(other_project)).empty());
  EXPECT_EQ(route(table, green(shared_project)).size(), 1u);
  EXPECT_EQ(route(with(Worker{merger}, "ci:green", shared_project), green(other_project)).size(),
            1u);
}

TEST(EventBus, AHookRunsWithTheFieldsOfItsEvent) {
  const Effects effects = route(with(Hook{"echo \"${id}\"", "/project"}, "ci:**"), green());

  ASSERT_EQ(effects.size(), 1u);
  const Outgoing& outgoing = std::get<Outgoing>(effects[0].value);
  const Shell& shell = std::get<Shell>(outgoing.what);
  EXPECT_EQ(shell.text, "echo \"${id}\"");
  EXPECT_EQ(shell.directory, "/project");
  EXPECT_EQ(shell.variables,
            (Variables{{"id", "main"}, {"noun", "ci"}, {"verb", "green"}, {"branch", "main"}}));
  EXPECT_EQ(outgoing.to, Address{ToNobody{}});
}

// An error may be long, and stands in the outbox only for those who ask for it.
TEST(EventBus, OfAnEventOfTheCoreAHookGetsTheFieldsThatItAsksFor) {
  pipeline::HasFailed failed;
  failed.pipeline = PipelineId{5};
  failed.name = "fix";
  failed.phase = "build";
  failed.error = "exit code 1";
  const Event event{
      .sequence = 1, .index = 0, .at = {}, .project = default_project, .body = failed};
  const auto asked = [&](const char* text) {
    const Effects effects = route(with(Hook{text, "/project"}, "pipeline:failed"), event);
    return std::get<Shell>(std::get<Outgoing>(effects.at(0).value).what).variables;
  };
  const Variables known = asked("true");
  EXPECT_EQ(known.front(), (std::pair<std::string, std::string>{"id", to_text(failed.pipeline)}));
  Variables with_both = known;
  with_both.emplace_back("name", "fix");
  with_both.emplace_back("error", "exit code 1");
  EXPECT_EQ(asked("echo \"${REEVE_V_error}\" \"${REEVE_V_name}\""), with_both);
}

TEST(EventBus, ANotificationCarriesItsEvent) {
  const Effects effects = route(with(Notification{"notify-send"}, "ci:green"), green());

  ASSERT_EQ(effects.size(), 1u);
  const Notify& notify = std::get<Notify>(std::get<Outgoing>(effects[0].value).what);
  EXPECT_EQ(notify.title, "ci:green");
  EXPECT_EQ(notify.message, "main");
  EXPECT_EQ(notify.command, "notify-send");
  EXPECT_EQ(notify.about, std::vector<Event>{green()});
}

TEST(EventBus, WhoSubscribesTwiceToTheSameIsWokenOnce) {
  Table table = with(Worker{merger}, "ci:green");
  subscribe(table, {Worker{merger}, default_project, parse_pattern("ci:green")});

  EXPECT_EQ(route(table, green()).size(), 1u);
}

TEST(EventBus, WhoUnsubscribesHearsNothingMoreAndTheOthersStill) {
  Table table = with(Worker{merger}, "ci:green");
  subscribe(table, {Worker{merger}, default_project, parse_pattern("ci:red")});
  subscribe(table, {Worker{{default_project, "other"}}, default_project, parse_pattern("ci:**")});

  unsubscribe_all(table, Worker{merger});

  EXPECT_EQ(route(table, green()), (Effects{{Inner{WakeWorker{{default_project, "other"}}}}}));
  EXPECT_EQ(table.by_noun.size(), 1u);
}

// Else ten thousand guards that wait for pipelines of their own look at whatever any pipeline does.
TEST(EventBus, AnEventMeetsOnlyThoseWhoNameItsSubjectOrElseItsVerb) {
  const auto place = [](const char* pattern) {
    return with(Worker{merger}, pattern).by_noun.first()->noun;
  };
  EXPECT_EQ(place("pipeline:pipe-4f7kq2:complete"), "pipeline:pipe-4f7kq2");
  EXPECT_EQ(place("lock:shop:main:**"), "lock:shop:main");
  EXPECT_EQ(place("ci:*:green"), "ci green");
  EXPECT_EQ(place("lock:shop:*:acquired"), "lock acquired");
  EXPECT_EQ(place("pipeline:phase(merge)"), "pipeline phase");
  EXPECT_EQ(place("*:green"), "* green");
  EXPECT_EQ(place("ci:**"), "ci");
  EXPECT_EQ(place("escalate"), "escalate");
}

TEST(EventBus, WhoSubscribedWhenOnlyNounsCountedIsWokenOnceAndMayUnsubscribe) {
  const Subscription since_then{Worker{merger}, default_project, parse_pattern("ci:main:green")};
  Table table;
  table.by_noun.insert({"ci", since_then});
  table.by_subscriber.insert(since_then);
  subscribe(table, since_then);
  EXPECT_EQ(route(table, green()), (Effects{{Inner{WakeWorker{merger}}}}));
  unsubscribe_all(table, Worker{merger});
  EXPECT_EQ(table, Table{});
}

// As if everybody were asked, in their order: those who name the noun first.
Effects asked_one_by_one(const Table& table, const Event& event) {
  Effects effects;
  const EventName name = name_of(event.body);
  for (const std::string& noun : {name.noun, std::string("*"), std::string("**")}) {
    for (const Subscription& each : table.by_subscriber) {
      if (each.pattern.segments.front() != noun || !matches(each.pattern, name)) continue;
      if (each.project != shared_project && each.project != event.project) continue;
      effects.push_back({Inner{WakeWorker{std::get<Worker>(each.who).worker}}});
    }
  }
  return effects;
}

RC_GTEST_PROP(EventBusLaw, AnEventReachesThoseWhoWantItInTheirOrder, ()) {
  const auto one_of = [](std::vector<std::string> all) {
    return *rc::gen::elementOf(std::move(all));
  };
  Table table;
  std::vector<Subscription> all;
  for (int i = *rc::gen::inRange(0, 30); i > 0; --i) {
    std::string pattern = one_of({"ci", "ci", "*"});
    pattern += one_of({"", ":a", ":a:b", ":*", ":a:*"});
    pattern += one_of({":green", ":red", ":*", ":**", ":green(x)"});
    const WorkerName worker{default_project, one_of({"w1", "w2", "w3"})};
    const ProjectNo project = *rc::gen::element(default_project, other_project, shared_project);
    all.push_back({Worker{worker}, project, parse_pattern(pattern)});
    subscribe(table, all.back());
    if (*rc::gen::inRange(0, 4) == 0) unsubscribe(table, *rc::gen::elementOf(all));
  }
  RC_ASSERT(table.by_noun.size() == table.by_subscriber.size());
  for (int i = 0; i < 20; ++i) {
    const EventName name{"ci",
                         one_of({"", "a", "a:b", "b"}),
                         one_of({"green", "red", "green(x)"}),
                         one_of({"", "x"})};
    const Event event{1, 0, {}, default_project, Custom{name, {}}};
    RC_ASSERT(route(table, event) == asked_one_by_one(table, event));
  }
}

// ── What they are called: runbooks and scripts are written against these names ──

void expect_heard(std::string_view text, const EventBody& body) {
  EXPECT_TRUE(is_pattern(text)) << text;
  EXPECT_TRUE(matches(parse_pattern(text), name_of(body))) << text;
}

TEST(EventNames, EveryEventThatTheSeedsNameIsHeardByThatName) {
  expect_heard("pipeline:started", pipeline::WasStarted{});
  expect_heard("pipeline:phase", pipeline::EnteredPhase{});
  expect_heard("pipeline:blocked", pipeline::WasBlocked{});
  expect_heard("pipeline:retry", pipeline::WasRetried{});
  expect_heard("pipeline:complete", pipeline::WasCompleted{});
  expect_heard("pipeline:failed", pipeline::HasFailed{});
  expect_heard("task:started", task::WasStarted{});
  expect_heard("task:stuck", task::WasStuck{});
  expect_heard("task:recovered", task::WasRecovered{});
  expect_heard("task:restarting", task::WasRestarting{});
  expect_heard("task:complete", task::WasCompleted{});
  expect_heard("task:failed", task::WasFailed{});
  expect_heard("task:heartbeat", task::HasBeaten{});
  expect_heard("queue:push", queue::WasPushed{});
  expect_heard("queue:take", queue::WasTaken{});
  expect_heard("queue:complete", queue::WasCompleted{});
  expect_heard("queue:dead", queue::HasDied{});
  expect_heard("strategy:fallback", strategy::Event{{}, "", "", strategy::FellBack{}});
  expect_heard("strategy:exhausted", strategy::Event{{}, "", "", strategy::WasExhausted{}});
  expect_heard("escalate", Escalate{});
}

TEST(EventNames, APhaseIsHeardByItsName) {
  pipeline::EnteredPhase entered;
  entered.phase = "merge";
  const EventName name = name_of(EventBody(entered));
  EXPECT_TRUE(matches(parse_pattern("pipeline:phase(merge)"), name));
  EXPECT_FALSE(matches(parse_pattern("pipeline:phase(build)"), name));
}

}  // namespace
}  // namespace reeve::event_bus
