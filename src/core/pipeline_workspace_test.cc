#include "core/heard_testing.h"
#include "core/pipeline_testing.h"

#include <gtest/gtest.h>

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
  EXPECT_EQ(as<Refused>(play.ask(RemoveWorkspace{play.id})).why, Why::NotFound);
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
  EXPECT_EQ(as<Refused>(play.ask(RemoveWorkspace{id})).why, Why::NotAllowed);
  play.finish(play.under_way().front(), with_values({{"path", "/w"}}));
  EXPECT_EQ(as<Refused>(play.ask(RemoveWorkspace{id})).why, Why::NotAllowed);
  EXPECT_EQ(as<Refused>(play.ask(RemoveWorkspace{PipelineId{99}})).why, Why::NotFound);
}

TEST(PipelineWorkspace, WhoIsRetriedWithoutOneGetsANewOne) {
  Ended play(1);
  play.ask(RemoveWorkspace{play.id});
  EXPECT_EQ(as<Refused>(play.ask(Retry{play.id})).why, Why::NotAllowed) << "not while it goes";
  play.finish(play.removal(), exit_code(0));

  EXPECT_TRUE(is<Ok>(play.ask(Retry{play.id})));
  EXPECT_EQ(play.under_way_as<WorktreeAdd>(play.under_way().front()).branch, "b");
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

}  // namespace
}  // namespace reeve::pipeline
