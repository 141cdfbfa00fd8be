#include "core/event_fields.h"

#include <gtest/gtest.h>

namespace reeve {
namespace {

using Names = std::vector<std::string>;

Event of(EventBody body) {
  return {.sequence = 7, .index = 0, .at = {}, .project = default_project, .body = std::move(body)};
}

TEST(EventFields, IdsNamesNumbersAndWordsAreAsPeopleWriteThem) {
  EXPECT_EQ(fields_of(of(Escalate{"pipe-x", "look"})),
            (Variables{{"subject", "pipe-x"}, {"message", "look"}}));
  EXPECT_EQ(fields_of(of(System{System::What::ClockStepped})),
            (Variables{{"what", "clock_stepped"}}));
}

TEST(EventFields, OfAUsersOwnEventAreWhatItWasEmittedWith) {
  const Custom custom{custom_name("ci:green"), {{"branch", "main"}, {"a.b", "1"}}};
  EXPECT_EQ(fields_of(of(custom)), (Variables{{"branch", "main"}, {"a.b", "1"}}));
}

TEST(EventFields, OfAnEventOfTheCoreAreThoseThatAreOneWordEach) {
  lock::WasAcquired acquired;
  acquired.name = {shared_project, "main"};
  acquired.holder = {default_project, "ana"};
  acquired.token = Token{7};
  const Variables fields = fields_of(of(lock::Event{acquired}));
  EXPECT_EQ(fields, (Variables{{"name", "//main"}, {"holder", "ana"}, {"token", "7"}}));
}

TEST(EventFields, TheNamesAreThoseOfTheEventsThatAPatternMatches) {
  const auto names = [](const char* text) { return field_names(parse_pattern(text)); };
  EXPECT_EQ(names("pipeline:failed"), (Names{"error", "name", "phase", "pipeline"}));
  EXPECT_EQ(names("pipeline:*:complete"), (Names{"name", "pipeline"}));
  EXPECT_EQ(names("pipeline:phase(merge)"), (Names{"name", "phase", "pipeline"}));
  EXPECT_EQ(names("escalate"), (Names{"message", "subject"}));
  EXPECT_EQ(names("guard:*"), (Names{"guard", "phase", "pipeline"}));
  EXPECT_EQ(names("pipeline:nothing_like_it"), Names{});
}

TEST(EventFields, AVerbThatDependsOnWhatHappenedHasItsFieldsToo) {
  const auto names = [](const char* text) { return field_names(parse_pattern(text)); };
  const Names of_a_guard{"guard", "phase", "pipeline"};
  for (const char* text : {"guard:waiting", "guard:passed", "guard:failed", "guard:*:timeout"}) {
    EXPECT_EQ(names(text), of_a_guard) << text;
  }
  const Names of_a_strategy{"phase", "pipeline", "strategy"};
  EXPECT_EQ(names("strategy:exhausted"), of_a_strategy);
  EXPECT_EQ(names("strategy:*:fallback"), of_a_strategy);
  for (const char* text : {"system:ready", "system:suspended", "system:late"}) {
    EXPECT_EQ(names(text), Names{"what"}) << text;
  }
}

TEST(EventFields, TheRunOfACronIsAsPeopleWriteIt) {
  const CronName nightly{default_project, "nightly"};
  const auto run_of = [&](const cron::Run& run) {
    for (const auto& [name, value] : fields_of(of(cron::Event{cron::HasFired{nightly, {}, run}}))) {
      if (name == "run") return value;
    }
    return std::string("none");
  };
  EXPECT_EQ(run_of(PipelineId{9}), to_text(PipelineId{9}));
  EXPECT_EQ(run_of(EffectId{12, 0}), "12-0");
}

}  // namespace
}  // namespace reeve
