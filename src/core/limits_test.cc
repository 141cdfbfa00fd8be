#include "core/limits.h"

#include "core/dispatch_testing.h"
#include "core/grant_testing.h"

#include <gtest/gtest.h>

#include <string>

// Over a limit: a clear refusal that names it, and nothing changed. The counts are made up, so the
// world collects what the invariants say of them.
namespace reeve {
namespace {

using namespace reeve::testing;

World full() {
  World world;
  world.collects = true;
  return world;
}

Refused refusal_of(World& world, Command command, SessionId session = {}) {
  const Refused refusal = as<Refused>(world.ask(std::move(command), session));
  EXPECT_FALSE(world.last.changed);
  return refusal;
}

TEST(Limits, OfSessions) {
  World world = full();
  const BoardTaskId task = as<board::Added>(world.ask(board::Add{"it", std::nullopt, 0, ""})).task;
  world.ask(board::Start{task, {default_project, "ana"}, {}});
  for (std::uint64_t i = 1; i <= limits::sessions; ++i) {
    world.state.sessions.sessions.set(SessionId{100 + i}, {});
  }
  const Refused no{Why::OverLimit, "sessions"};
  const SessionId late{7};
  const Holder bound_ana{default_project, "ana", late};
  const LockName main_lock{default_project, "main"};
  const QueueName jobs{default_project, "jobs"};
  EXPECT_EQ(refusal_of(world, lock::Acquire{{main_lock}, bound_ana, {}, {}, {}, {}}, late), no);
  EXPECT_EQ(refusal_of(world, queue::Take{{jobs}, bound_ana, {}, 1, {}}, late), no);
  EXPECT_EQ(refusal_of(world, queue::Take{{jobs}, testing::ana, {}, 1, 1min}, late), no)
      << "to wait is to be bound, too";
  const board::Start wait{task, {default_project, "bo"}, board::Wait{}};
  EXPECT_EQ(refusal_of(world, wait, late), no);
  EXPECT_EQ(refusal_of(world, decision::Ask{"which?"}, late), no);
}

TEST(Limits, OfQueues) {
  World world = full();
  world.state.queues.queues_of.set(default_project, limits::names_a_project);
  EXPECT_EQ(refusal_of(world, queue::Create{{default_project, "one more"}, {}}),
            (Refused{Why::OverLimit, "queues"}));
}

TEST(Limits, OfOpenPipelines) {
  World world = full();
  definition::Phase phase;
  phase.name = "work";
  phase.action = definition::RunShell{"make"};
  definition::Pipeline fix;
  fix.phases = {phase};
  fix.on_fail = definition::Fail{};
  definition::Set set;
  set.hash = "one";
  set.root = "/shop";
  set.pipelines.set("fix", fix);
  world.ask(definition::Load{default_project, Boxed<definition::Set>(set)});
  const Refused no{Why::OverLimit, "open pipelines"};
  world.state.pipelines.open = limits::open_pipelines;
  EXPECT_EQ(refusal_of(world, pipeline::Start{"fix", {}, {}}), no);

  world.state.pipelines.open = 0;
  const PipelineId failed =
      as<pipeline::Started>(world.ask(pipeline::Start{"fix", {}, {}})).pipeline;
  Outcome outcome;
  outcome.ended = Ended::Failed;
  world.finish(world.last.effects.front().id, outcome);
  world.state.pipelines.open = limits::open_pipelines;
  EXPECT_EQ(refusal_of(world, pipeline::Retry{failed, false}), no) << "it would be open again";
}

TEST(Limits, OfRunners) {
  World world = full();
  world.ask(board::Add{"it", std::nullopt, 0, ""});
  world.state.board.projects.edit(default_project)->runners = 10'000;
  EXPECT_EQ(refusal_of(world, board::RunnerHeartbeat{{default_project, "late"}}),
            (Refused{Why::OverLimit, "runners"}));
}

TEST(Limits, OfOpenTasksOfTheBoard) {
  World world = full();
  world.ask(board::Add{"it", std::nullopt, 0, ""});
  world.state.board.projects.edit(default_project)->open = limits::names_a_project;
  EXPECT_EQ(refusal_of(world, board::Add{"one more", std::nullopt, 0, ""}),
            (Refused{Why::OverLimit, "tasks"}));
}

TEST(Limits, OfATitle) {
  World world;
  EXPECT_TRUE(is<board::Added>(
      world.ask(board::Add{std::string(limits::title_bytes, 'x'), std::nullopt, 0, ""})));
  EXPECT_EQ(
      refusal_of(world, board::Add{std::string(limits::title_bytes + 1, 'x'), std::nullopt, 0, ""}),
      (Refused{Why::BadValue, "title"}));
}

TEST(Limits, OfSections) {
  World world = full();
  for (std::size_t i = 0; i < limits::names_a_project; ++i) {
    world.state.board.sections.set({shared_project, std::to_string(i)}, {});
  }
  const SectionName more{default_project, "one more"};
  EXPECT_TRUE(is<Ok>(world.ask(board::AddSection{{default_project, "0"}})))
      << "a project is not full because another one is";
  for (std::size_t i = 1; i < limits::names_a_project; ++i) {
    world.state.board.sections.set({default_project, std::to_string(i)}, {});
  }
  const Refused no{Why::OverLimit, "sections"};
  EXPECT_EQ(refusal_of(world, board::AddSection{more}), no);
  EXPECT_EQ(refusal_of(world, board::Add{"it", more, 0, ""}), no);
}

TEST(Limits, OfThoseWhoWaitOnTheBoard) {
  World world = full();
  const BoardTaskId task = as<board::Added>(world.ask(board::Add{"it", std::nullopt, 0, ""})).task;
  world.ask(board::Start{task, {default_project, "ana"}, {}});
  for (std::uint64_t i = 1; i <= limits::waiters_a_line; ++i) {
    world.state.board.waiters.set(WaiterId{1000 + i}, {});
  }
  EXPECT_EQ(refusal_of(world, board::Start{task, {default_project, "bo"}, board::Wait{}}),
            (Refused{Why::OverLimit, "waiters"}));
}

TEST(Limits, OfCrons) {
  World world = full();
  definition::Set set;
  set.hash = "one";
  set.root = "/shop";
  world.ask(definition::Load{default_project, Boxed<definition::Set>(set)});
  const cron::Definition hourly{cron::Interval{1h}, {}, {}, {}, 1h, cron::RunShell{"true", {}}};
  const cron::Plan plan{{default_project, "one"}, Boxed(hourly), {}};
  for (std::size_t i = 0; i < limits::names_a_project; ++i) {
    world.state.crons.crons.set({ProjectNo{7}, std::to_string(i)}, {});
  }
  EXPECT_TRUE(is<cron::Enabled>(world.ask(cron::Enable{{default_project, "0"}, plan})))
      << "a project is not full because another one is";
  for (std::size_t i = 1; i < limits::names_a_project; ++i) {
    world.state.crons.crons.set({default_project, std::to_string(i)}, {});
  }
  const CronName more{default_project, "one more"};
  EXPECT_EQ(refusal_of(world, cron::Enable{more, plan}), (Refused{Why::OverLimit, "crons"}));
  EXPECT_EQ(refusal_of(world, cron::RunNow{more, plan}), (Refused{Why::OverLimit, "crons"}));
}

TEST(Limits, OfOpenQuestions) {
  World world = full();
  for (std::uint64_t i = 1; i <= limits::open_decisions; ++i) {
    world.state.decisions.open_of.set(decision::AskOwner{WaiterId{i}}, DecisionId{i});
  }
  EXPECT_EQ(refusal_of(world, decision::Ask{"which?"}), (Refused{Why::OverLimit, "decisions"}));
}

TEST(Limits, OfWhatIsSaidOfAProcess) {
  World world;
  HolderMeta meta;
  meta.process = Process{1, 1, std::string(limits::name_bytes + 1, 'b')};
  const lock::Acquire acquire{
      {{default_project, "main"}}, testing::ana, Boxed<HolderMeta>(meta), {}, {}, {}};
  EXPECT_EQ(refusal_of(world, acquire), (Refused{Why::BadValue, "process"}));

  const DispatchId id = dispatch::begin(world, dispatch::resume());
  Process child = dispatch::child;
  EXPECT_EQ(
      refusal_of(world, dispatch::SawStarted{id, child, std::string(limits::text_bytes + 1, 's')}),
      (Refused{Why::BadValue, "socket"}));
  child.boot_id = std::string(limits::name_bytes + 1, 'b');
  EXPECT_EQ(refusal_of(world, dispatch::SawStarted{id, child, ""}),
            (Refused{Why::BadValue, "boot_id"}));
}

TEST(Limits, OfAWorkersDefinition) {
  World world;
  definition::Set set;
  set.hash = "one";
  set.root = "/shop";
  set.workers.set("unnamed", {"", "fix", 1, {}});
  set.workers.set("deaf", {"bugs", "fix", 1, {"a::d"}});
  world.ask(definition::Load{default_project, Boxed<definition::Set>(set)});
  const definition::SetKey key{default_project, "one"};
  EXPECT_EQ(refusal_of(world, worker::Start{{default_project, "unnamed"}, key, {}}),
            (Refused{Why::BadName, ""}));
  EXPECT_EQ(refusal_of(world, worker::Start{{default_project, "deaf"}, key, {}}),
            (Refused{Why::BadValue, "a::d"}));
}

}  // namespace
}  // namespace reeve
