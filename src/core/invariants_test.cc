#include "core/invariants.h"

#include "core/testing.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

// The laws of a step are only as good as what they find: each is shown a step that breaks it.
namespace reeve {
namespace {

using namespace reeve::testing;

// What `check_step` says of a step that did this to a state, and announced that.
template <class Change>
Violations said_of(const State& before, Change change, std::vector<EventBody> announced = {}) {
  Applied after;
  after.state = before;
  after.state.sequence = before.sequence + 1;
  after.changed = true;
  change(after.state);
  for (EventBody& body : announced) {
    const auto index = static_cast<std::uint32_t>(after.events.size());
    after.events.push_back({after.state.sequence, index, Wall{}, default_project, std::move(body)});
  }
  return check_step(before, after);
}

TEST(Invariants, AStepThatKeepsTheLawsIsFound) {
  EXPECT_EQ(said_of(initial_state(start), [](State&) {}), Violations{});
}

TEST(Invariants, APipelineThatHasEndedStaysSo) {
  for (const pipeline::Status& end :
       {pipeline::Status{pipeline::Done{}}, pipeline::Status{pipeline::Cancelled{}}}) {
    State state = initial_state(start);
    pipeline::Pipeline one;
    one.state = end;
    state.pipelines.pipelines.set({7}, one);
    EXPECT_EQ(said_of(state,
                      [](State& it) {
                        it.pipelines.pipelines.edit({7})->state = pipeline::Running{"x", 1};
                      }),
              Violations{to_text(PipelineId{7}) + " moved after its end"});
    EXPECT_EQ(said_of(state, [](State& it) { it.pipelines.pipelines.erase({7}); }), Violations{});
  }
}

TEST(Invariants, AFailedPipelineIsMovedByARetryOrAJumpAndByNothingElse) {
  constexpr PipelineId id{7};
  State state = initial_state(start);
  pipeline::Pipeline one;
  one.state = pipeline::Failed{};
  state.pipelines.pipelines.set(id, one);
  const auto run = [&](State& it) {
    it.pipelines.pipelines.edit(id)->state = pipeline::Running{"x", 2};
  };
  const Violations violation{to_text(id) + " moved after it had failed"};
  EXPECT_EQ(said_of(state, run), violation);
  EXPECT_EQ(said_of(state, run, {pipeline::WasRetried{id, "x", 2}}), Violations{});
  EXPECT_EQ(said_of(state, run, {pipeline::EnteredPhase{id, "", "x"}}), Violations{});
  EXPECT_EQ(said_of(state, run, {pipeline::WasRetried{{8}, "x", 2}}), violation);
  EXPECT_EQ(said_of(state, run, {pipeline::WasCompleted{id, ""}}), violation);
  EXPECT_EQ(said_of(state, [&](State& it) { it.pipelines.pipelines.erase(id); }), Violations{});
}

TEST(Invariants, AnItemIsThereUntilItsEndWasSaid) {
  constexpr ItemId id{7};
  const QueueName bugs{default_project, "bugs"};
  const QueueName lost{default_project, "lost"};
  const auto said_when_gone = [&](queue::ItemState was, std::vector<EventBody> announced) {
    State state = initial_state(start);
    queue::Item item;
    item.state = was;
    state.queues.items.set(id, item);
    return said_of(state, [&](State& it) { it.queues.items.erase(id); }, std::move(announced));
  };
  const Violations violation{to_text(id) + " is lost"};
  for (const queue::ItemState open : {queue::ItemState::Pending, queue::ItemState::Processing}) {
    EXPECT_EQ(said_when_gone(open, {}), violation);
    EXPECT_EQ(said_when_gone(open, {queue::WasDropped{bugs, {8}}}), violation);
    EXPECT_EQ(said_when_gone(open, {queue::WasDropped{bugs, id}}), Violations{});
    EXPECT_EQ(said_when_gone(open, {queue::WasCompleted{bugs, id, {}}}), Violations{});
    EXPECT_EQ(said_when_gone(open, {queue::HasDied{bugs, id, "", {}}}), Violations{});
    EXPECT_EQ(said_when_gone(open, {queue::HasDied{bugs, id, "", lost}}), violation)
        << "there it is pending";
  }
  EXPECT_EQ(said_when_gone(queue::ItemState::Completed, {}), Violations{}) << "forgotten";
  EXPECT_EQ(said_when_gone(queue::ItemState::Dead, {}), Violations{}) << "forgotten";
}

TEST(Invariants, AnItemThatIsThereWasPushed) {
  constexpr ItemId id{7};
  const State state = initial_state(start);
  const auto appear = [&](State& it) { it.queues.items.set(id, {}); };
  const QueueName bugs{default_project, "bugs"};
  EXPECT_EQ(said_of(state, appear), Violations{to_text(id) + " was never pushed"});
  EXPECT_EQ(said_of(state, appear, {queue::WasPushed{bugs, id, 0}}), Violations{});
}

TEST(Invariants, ATaskADispatchAndADecisionThatHaveEndedStaySo) {
  State state = initial_state(start);
  task::Task work;
  work.state = task::Done{task::Cancelled{}, start};
  state.tasks.tasks.set({7}, work);
  dispatch::Dispatch message;
  message.state = dispatch::Ended{start};
  state.dispatches.dispatches.set({7}, message);
  decision::Decision question;
  question.state = decision::Retired{start};
  state.decisions.decisions.set({7}, question);

  EXPECT_EQ(said_of(state,
                    [](State& it) {
                      it.tasks.tasks.edit({7})->state = task::Done{task::Success{}, start};
                      it.dispatches.dispatches.edit({7})->state = dispatch::Seen{start};
                      it.decisions.decisions.edit({7})->state = decision::Open{};
                    }),
            (Violations{to_text(WorkId{7}) + " moved after its end",
                        to_text(DispatchId{7}) + " moved after its end",
                        to_text(DecisionId{7}) + " moved after its end"}));
}

TEST(Invariants, ATaskOfTheBoardEndsInOneWayUntilItIsReopened) {
  State state = initial_state(start);
  board::BoardTask task;
  task.status = board::Status::Completed;
  state.board.tasks.set({7}, task);
  const auto becomes = [&](board::Status status) {
    return said_of(state, [&](State& it) { it.board.tasks.edit({7})->status = status; });
  };
  EXPECT_EQ(becomes(board::Status::Failed).size(), 1u);
  EXPECT_EQ(becomes(board::Status::Review).size(), 1u);
  EXPECT_EQ(becomes(board::Status::Pending), Violations{});
  state.board.tasks.edit({7})->status = board::Status::Review;
  EXPECT_EQ(becomes(board::Status::Completed), Violations{}) << "a review has an outcome";
}

TEST(Invariants, ACompletedItemStaysSoAndADeadOneMayComeBack) {
  for (const queue::ItemState was : {queue::ItemState::Completed, queue::ItemState::Dead}) {
    State state = initial_state(start);
    queue::Item item;
    item.state = was;
    state.queues.items.set({7}, item);
    const Violations said = said_of(
        state, [](State& it) { it.queues.items.edit({7})->state = queue::ItemState::Pending; });
    EXPECT_EQ(said.size(), was == queue::ItemState::Completed ? 1u : 0u);
  }
}

TEST(Invariants, ASemaphoreMayBeOverItsCapacityButLetsNobodyIn) {
  State state = initial_state(start);
  const SemaphoreName agents{default_project, "agents"};
  state.semaphores.semaphores.set(agents, {{2, {}}, 3, 0});
  const auto holds = [&](std::uint32_t in_use) {
    return said_of(state,
                   [&](State& it) { it.semaphores.semaphores.edit(agents)->in_use = in_use; });
  };
  EXPECT_EQ(holds(3), Violations{});
  EXPECT_EQ(holds(4), Violations{"semaphore agents let in more than it holds"});
  state.semaphores.semaphores.edit(agents)->in_use = 2;
  EXPECT_EQ(holds(3).size(), 1u);
  const auto lowered_to_one_with = [&](std::uint32_t in_use) {
    return said_of(state,
                   [&](State& it) { it.semaphores.semaphores.set(agents, {{1, {}}, in_use, 0}); });
  };
  state.semaphores.semaphores.edit(agents)->in_use = 1;
  EXPECT_EQ(lowered_to_one_with(2).size(), 0u) << "there was room when it was let in";
  EXPECT_EQ(lowered_to_one_with(3).size(), 1u);
}

}  // namespace
}  // namespace reeve
