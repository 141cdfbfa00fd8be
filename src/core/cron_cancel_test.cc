#include "core/heard_testing.h"
#include "core/pipeline_testing.h"

#include <gtest/gtest.h>

// Runs of a cron that end others, and those that end at once.
namespace reeve::pipeline {
namespace {

using namespace reeve::pipeline::testing;

lock::Acquire held_by_ana(const std::string& name) {
  lock::Acquire acquire;
  acquire.names = {{default_project, name}};
  acquire.holder = {default_project, "ana", {}};
  acquire.timeout = 24h;
  return acquire;
}

struct Crons : Play {
  cron::Plan plan(cron::Overlap overlap, const char* pipeline) const {
    return {{default_project, set.hash},
            Boxed<cron::Definition>(cron::Definition{cron::Interval{1h},
                                                     {},
                                                     overlap,
                                                     cron::CatchUp::Latest,
                                                     24h,
                                                     cron::RunPipeline{pipeline, {}}}),
            {}};
  }
};
TEST(CronCancels, ARunThatEndsAtOnceIsAnnouncedToHaveEnded) {
  Crons play;
  play.set.pipelines.set("none",
                         in_phases({phase("all", definition::RunForEach{"[]", "none", 1})}));
  play.load();
  play.ask(cron::RunNow{{default_project, "c"}, play.plan(cron::Overlap::Skip, "none")});
  EXPECT_EQ(play.count("cron:fired"), 1u);
  EXPECT_EQ(play.count("cron:ended"), 1u);
}

TEST(CronCancels, CancelOtherTouchesNoMoreThanAStepMay) {
  Crons play;
  play.set.pipelines.set("long", in_phases({shell("long")}));
  play.load();
  const CronName name{default_project, "c"};
  play.ask(cron::Enable{name, play.plan(cron::Overlap::Allow, "long")});
  for (int i = 0; i < 600; ++i) play.ask(cron::RunNow{name, std::nullopt});
  ASSERT_EQ(play.under_way().size(), 600u);
  play.ask(cron::Enable{name, play.plan(cron::Overlap::CancelOther, "long")});
  play.forget();
  play.ask(cron::RunNow{name, std::nullopt});
  EXPECT_LE(play.last.effects.size(), limits::touched_a_step);

  play.pass(0s);  // the rest comes with the next ticks
  EXPECT_EQ(play.count("cron:cancelled_other"), 600u);
  EXPECT_EQ(play.all_under_way<Kill>().size(), 600u);
}

TEST(CronCancels, ARunThatBeganIsNotToldToWait) {
  Crons play;
  definition::Phase build = shell("build");
  build.locks = {"main"};
  play.set.pipelines.set("build", in_phases({build}));
  play.load();
  play.ask(held_by_ana("main"));
  const CronName name{default_project, "c"};
  play.ask(cron::Enable{name, play.plan(cron::Overlap::CancelOther, "build")});
  play.ask(cron::RunNow{name, std::nullopt});
  const reeve::Reply reply = play.ask(cron::RunNow{name, std::nullopt});
  EXPECT_EQ(play.state.crons.crons.find(name)->buffered, 0u);
  EXPECT_EQ(play.count("cron:fired"), 2u);
  EXPECT_TRUE(is<cron::Fired>(reply)) << "the second has begun";
}

TEST(CronCancels, ARunThatBeganBesideOneThatIsToldToEndGoesOn) {
  Crons play;
  play.set.pipelines.set("long", in_phases({shell("long")}));
  play.load();
  const CronName name{default_project, "c"};
  play.ask(cron::Enable{name, play.plan(cron::Overlap::CancelOther, "long")});
  play.ask(cron::RunNow{name, std::nullopt});
  EXPECT_TRUE(is<cron::Buffered>(play.ask(cron::RunNow{name, std::nullopt})));
  play.ask(cron::Enable{name, play.plan(cron::Overlap::Allow, "long")});
  play.forget();
  EXPECT_TRUE(is<cron::Fired>(play.ask(cron::RunNow{name, std::nullopt})));
  play.pass(0s);
  EXPECT_EQ(play.count("cron:cancelled_other"), 0u) << "nobody wants this one ended";
  EXPECT_EQ(play.all_under_way<Kill>().size(), 1u);
}

TEST(CronCancels, AProgramThatWasToldToEndWasCancelledWhateverBeganBesideIt) {
  Crons play;
  play.load();
  const CronName name{default_project, "c"};
  const auto plan = [&](cron::Overlap overlap) {
    cron::Plan result = play.plan(overlap, "");
    result.definition.edit().run = cron::RunShell{"prune", {}};
    return result;
  };
  play.ask(cron::Enable{name, plan(cron::Overlap::CancelOther)});
  const auto first = as<cron::Fired>(play.ask(cron::RunNow{name, std::nullopt})).run;
  play.ask(cron::RunNow{name, std::nullopt});  // the first is told to end
  play.ask(cron::Enable{name, plan(cron::Overlap::Allow)});
  const auto other = as<cron::Fired>(play.ask(cron::RunNow{name, std::nullopt})).run;
  const auto ending_of = [&](const cron::Run& run) {
    play.finish(std::get<EffectId>(run), exit_code(143));
    return play.state.crons.crons.find(name)->ended->ending;
  };
  EXPECT_EQ(ending_of(other), Ending::Failed) << "nobody told this one";
  EXPECT_EQ(ending_of(first), Ending::Cancelled);
}

TEST(CronCancels, WhatWasBufferedBeginsBesideTheOthersWhenThePlanAllowsIt) {
  Crons play;
  play.set.pipelines.set("long", in_phases({shell("long")}));
  play.load();
  const CronName name{default_project, "c"};
  play.ask(cron::Enable{name, play.plan(cron::Overlap::BufferOne, "long")});
  play.ask(cron::RunNow{name, std::nullopt});
  EXPECT_TRUE(is<cron::Buffered>(play.ask(cron::RunNow{name, std::nullopt})));
  play.ask(cron::Enable{name, play.plan(cron::Overlap::Allow, "long")});
  play.pass(0s);
  EXPECT_EQ(play.state.crons.crons.find(name)->buffered, 0u);
  EXPECT_EQ(play.under_way().size(), 2u);
}

}  // namespace
}  // namespace reeve::pipeline
