#include "core/heard_testing.h"
#include "core/pipeline_testing.h"

#include <gtest/gtest.h>

#include <algorithm>

// A workspace outlives its pipeline until somebody removes it.
namespace reeve::pipeline {
namespace {

using namespace reeve::pipeline::testing;

struct Ended : Play {
  explicit Ended(int code = 0) : Play(with_workspace()) {
    id = start();
    finish(under_way().front(), with_values({{"path", "/w"}}));
    ends(exit_code(code));
    forget();
  }
  static definition::Pipeline with_workspace() {
    definition::Pipeline fix = in_phases({shell("build")});
    fix.workspace = definition::Workspace{true, "b", "main", ""};
    fix.on_fail = definition::Fail{};
    return fix;
  }
  EffectId removal() const { return all_under_way<WorktreeRemove>().at(0); }

  PipelineId id;
};

TEST(PipelineWorkspace, IsKeptWhenThePipelineEnds) {
  Ended play;

  EXPECT_EQ(play.state_of(play.id), Status{Done{}});
  EXPECT_EQ(play.of(play.id).workspace, "/w");
  EXPECT_TRUE(play.under_way().empty());
}

TEST(PipelineWorkspace, IsWhereAStepWorksAndWhatItFindsInItsEnvironment) {
  Play play(Ended::with_workspace());
  play.start();
  play.finish(play.under_way().front(), with_values({{"path", "/w"}}));

  EXPECT_EQ(play.step_shell().directory, "/w");
  EXPECT_EQ(play.step_shell().environment.back(),
            (std::pair<std::string, std::string>{"REEVE_WORKSPACE", "/w"}));
}

TEST(PipelineWorkspace, IsRemovedWhenSomebodySaysSo) {
  Ended play;

  EXPECT_TRUE(is<Ok>(play.ask(RemoveWorkspace{play.id, true})));
  EXPECT_EQ(play.under_way_as<WorktreeRemove>(play.removal()),
            (WorktreeRemove{play.id, "/w", true}));
  EXPECT_TRUE(is<Ok>(play.ask(RemoveWorkspace{play.id}))) << "it is on the way";
  EXPECT_EQ(play.under_way().size(), 1u);
  play.finish(play.removal(), exit_code(0));

  EXPECT_EQ(play.of(play.id).workspace, "");
  EXPECT_EQ(*find_in<WorkspaceRemoved>(play.heard.at(0)), (WorkspaceRemoved{play.id, "/w"}));
  EXPECT_EQ(play.names(), std::vector<std::string>{"pipeline:workspace_removed"});
  EXPECT_EQ(play.ask(RemoveWorkspace{play.id}),
            refused(Why::NotFound, "workspace of " + to_text(play.id)));
}

TEST(PipelineWorkspace, ThatCannotBeRemovedStays) {
  Ended play;
  play.ask(RemoveWorkspace{play.id});
  Outcome outcome = exit_code(1);
  outcome.error = "it contains modified files";
  play.finish(play.removal(), outcome);

  EXPECT_EQ(play.of(play.id).workspace, "/w");
  EXPECT_EQ(*find_in<WorkspaceKept>(play.heard.at(0)),
            (WorkspaceKept{play.id, "/w", "it contains modified files"}));
  EXPECT_TRUE(is<Ok>(play.ask(RemoveWorkspace{play.id, true})));
}

TEST(PipelineWorkspace, OfWhichNobodyKnowsIsRemovedAgain) {
  Ended play;
  play.ask(RemoveWorkspace{play.id, true});
  const EffectId first = play.removal();
  play.finish(first, unknown());

  EXPECT_NE(play.removal(), first);
  EXPECT_EQ(play.under_way_as<WorktreeRemove>(play.removal()),
            (WorktreeRemove{play.id, "/w", true}));
}

TEST(PipelineWorkspace, OfAnOpenPipelineIsNotRemoved) {
  Play play(Ended::with_workspace());
  const PipelineId id = play.start();
  const reeve::Reply no = refused(Why::NotAllowed, to_text(id) + " has not ended");
  EXPECT_EQ(play.ask(RemoveWorkspace{id}), no);
  play.finish(play.under_way().front(), with_values({{"path", "/w"}}));
  EXPECT_EQ(play.ask(RemoveWorkspace{id}), no);
  EXPECT_EQ(play.ask(RemoveWorkspace{PipelineId{99}}),
            refused(Why::NotFound, to_text(PipelineId{99})));
}

TEST(PipelineWorkspace, NobodyIsRetriedInOneThatIsBeingRemoved) {
  Ended play(1);
  play.ask(RemoveWorkspace{play.id});

  const reeve::Reply no =
      refused(Why::NotAllowed, "the workspace of " + to_text(play.id) + " is being removed");
  EXPECT_EQ(play.ask(Retry{play.id, true}), no);
  EXPECT_EQ(play.ask(ResumeFrom{play.id, "build", true}), no);
}

TEST(PipelineWorkspace, WhoIsRetriedWithoutOneGetsANewOne) {
  Ended play(1);
  play.ask(RemoveWorkspace{play.id});
  EXPECT_TRUE(is<Refused>(play.ask(Retry{play.id}))) << "not while it goes";
  play.finish(play.removal(), exit_code(0));

  EXPECT_TRUE(is<Ok>(play.ask(Retry{play.id})));
  EXPECT_EQ(play.under_way_as<WorktreeAdd>(play.under_way().front()).branch, "b");
}

// Somebody may have tidied up.
TEST(PipelineWorkspace, WhoIsRetriedByAPersonMakesSureOfIt) {
  for (const bool from_there : {false, true}) {
    Ended play(1);
    if (from_there) {
      EXPECT_TRUE(is<Ok>(play.ask(ResumeFrom{play.id, "build"})));
    } else {
      EXPECT_TRUE(is<Ok>(play.ask(Retry{play.id})));
    }
    EXPECT_EQ(play.under_way_as<WorktreeAdd>(play.under_way().front()).branch, "b");
    EXPECT_EQ(play.of(play.id).workspace, "/w") << "it is its own meanwhile";
    play.finish(play.under_way().front(), with_values({{"path", "/w"}}));
    EXPECT_EQ(play.step_shell().directory, "/w");
    play.succeeds();
    EXPECT_EQ(play.state_of(play.id), Status{Done{}});
  }
}

TEST(PipelineWorkspace, ThatCannotBeMadeAgainFailsThePhaseAndStaysItsOwn) {
  Ended play(1);
  play.ask(Retry{play.id});
  play.finish(play.under_way().front(), exit_code(1));
  EXPECT_TRUE(std::holds_alternative<Failed>(play.state_of(play.id)));
  EXPECT_EQ(play.of(play.id).workspace, "/w");
  play.ask(Retry{play.id});
  EXPECT_EQ(play.all_under_way<WorktreeAdd>().size(), 1u);
}

TEST(PipelineWorkspace, ThatIsBeingRemovedKeepsItsPipelineInMind) {
  Ended play;
  play.ask(RemoveWorkspace{play.id});
  play.pass(25h);
  ASSERT_NE(play.state.pipelines.pipelines.find(play.id), nullptr);
  play.finish(play.removal(), exit_code(0));
  play.pass(25h);
  EXPECT_EQ(play.state.pipelines.pipelines.find(play.id), nullptr);
}

// ── Behind the guards of its phase, or before ──

Play guarded(definition::Guard guard) {
  definition::Pipeline fix = Ended::with_workspace();
  fix.workspace->branch = "fix/{bug}";
  fix.inputs = {"bug"};
  fix.phases.front().pre = {"free"};
  fix.phases.front().locks = {"main"};
  Play play(fix);
  play.set.guards.set("free", std::move(guard));
  return play;
}

TEST(PipelineWorkspace, IsMadeBehindTheGuardsThatAskWhetherItsBranchIsFree) {
  Play play = guarded({"! git rev-parse ${REEVE_V_branch}"});
  const PipelineId id = play.start("fix", {{"bug", "7"}});
  EXPECT_TRUE(play.all_under_way<WorktreeAdd>().empty());
  EXPECT_EQ(play.step_shell().directory, "/home/ana/shop");
  const Variables known = play.step_shell().variables;
  const Variables::value_type branch{"branch", "fix/7"};
  EXPECT_EQ(std::ranges::count(known, branch), 1);
  play.ends(exit_code(0));
  const EffectId made = play.all_under_way<WorktreeAdd>().at(0);
  EXPECT_EQ(play.under_way_as<WorktreeAdd>(made).branch, "fix/7");
  EXPECT_TRUE(play.of(id).holding.granted) << "its lock first";
  play.finish(made, with_values({{"path", "/w"}}));
  EXPECT_EQ(play.step_shell().directory, "/w");
  play.ends(exit_code(0));
  EXPECT_EQ(play.state_of(id), Status{Done{}});
}

TEST(PipelineWorkspace, IsNotWhatAGuardPublishesThatIsBeingLeft) {
  Play play = guarded({"true"});
  const PipelineId id = play.start("fix", {{"bug", "7"}});
  const EffectId check = play.step();
  play.ask(Pause{id});
  play.finish(check, with_values({{"path", "/etc"}}));
  EXPECT_EQ(play.of(id).workspace, "");
  play.ask(Continue{id});
  play.ends(exit_code(0));
  EXPECT_EQ(play.all_under_way<WorktreeAdd>().size(), 1u);
}

TEST(PipelineWorkspace, ThatIsMadeWhileItsPhaseIsBeingLeftIsKept) {
  Play play = guarded({"true"});
  const PipelineId id = play.start("fix", {{"bug", "7"}});
  play.ends(exit_code(0));
  const EffectId made = play.all_under_way<WorktreeAdd>().at(0);
  play.ask(Pause{id});
  play.finish(made, with_values({{"path", "/w"}}));
  EXPECT_EQ(play.of(id).workspace, "/w");
  play.ask(Continue{id});
  play.ends(exit_code(0));
  EXPECT_TRUE(play.all_under_way<WorktreeAdd>().empty());
}

TEST(PipelineWorkspace, ThatCannotBeMadeBehindItsGuardsGivesTheLocksBack) {
  Play play = guarded({"true"});
  const PipelineId id = play.start("fix", {{"bug", "7"}});
  play.ends(exit_code(0));
  const EffectId first = play.all_under_way<WorktreeAdd>().at(0);
  play.finish(first, unknown());
  const EffectId made = play.all_under_way<WorktreeAdd>().at(0);
  EXPECT_NE(made, first) << "it is made again";
  play.finish(made, exit_code(1));
  EXPECT_TRUE(std::holds_alternative<Failed>(play.state_of(id)));
  EXPECT_FALSE(play.of(id).holding.granted);
}

// What was to be made sure of is gone, and the next is made as the first was.
TEST(PipelineWorkspace, ThatWasRemovedIsMadeBehindItsGuardsAgain) {
  Play play = guarded({"true"});
  const PipelineId id = play.start("fix", {{"bug", "7"}});
  play.ends(exit_code(0));
  play.finish(play.all_under_way<WorktreeAdd>().at(0), with_values({{"path", "/w"}}));
  play.ends(exit_code(1));
  play.ask(Retry{id});
  play.finish(play.all_under_way<WorktreeAdd>().at(0), exit_code(1));
  ASSERT_TRUE(std::holds_alternative<Failed>(play.state_of(id)));
  play.ask(RemoveWorkspace{id, true});
  play.finish(play.all_under_way<WorktreeRemove>().at(0), exit_code(0));
  play.ask(Retry{id});
  EXPECT_TRUE(play.all_under_way<WorktreeAdd>().empty());
  EXPECT_EQ(play.step_shell().text, "true");
}

TEST(PipelineWorkspace, IsMadeBeforeTheGuardsThatLookIntoIt) {
  definition::Guard waking{"true"};
  waking.wake_on = {"ci:{workspace}:green"};
  for (const definition::Guard& guard : {definition::Guard{"make -C \"${REEVE_V_workspace}\""},
                                         definition::Guard{"cd $REEVE_WORKSPACE"},
                                         waking}) {
    Play play = guarded(guard);
    play.start("fix", {{"bug", "7"}});
    const EffectId made = play.under_way().at(0);
    EXPECT_EQ(play.under_way_as<WorktreeAdd>(made).branch, "fix/7");
    play.finish(made, with_values({{"path", "/w"}}));
    EXPECT_EQ(play.step_shell().directory, "/w");
  }
}

}  // namespace
}  // namespace reeve::pipeline
