#include "core/event_name.h"

#include "base/die_testing.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <string>

namespace reeve {
namespace {

using reeve::testing::die;

const EventName complete{"pipeline", "pipe-4f7kq2", "complete"};
const EventName merging{"pipeline", "pipe-4f7kq2", "phase", "merge"};
const EventName escalation{"escalate", "pipe-4f7kq2", ""};

bool heard(const char* pattern, const EventName& name) {
  return matches(parse_pattern(pattern), name);
}

TEST(EventName, ANounAndAVerbSpeakOfEverySubject) {
  EXPECT_TRUE(heard("pipeline:complete", complete));
  EXPECT_FALSE(heard("pipeline:failed", complete));
  EXPECT_FALSE(heard("queue:complete", complete));
}

TEST(EventName, ASubjectInTheMiddleSpeaksOfThatOneOnly) {
  EXPECT_TRUE(heard("pipeline:pipe-4f7kq2:complete", complete));
  EXPECT_FALSE(heard("pipeline:pipe-000000:complete", complete));
}

TEST(EventName, AStarStandsForOneSegment) {
  EXPECT_TRUE(heard("pipeline:*:complete", complete));
  EXPECT_TRUE(heard("*:complete", complete));
  EXPECT_TRUE(heard("*:*", complete));
  EXPECT_FALSE(heard("*", complete));
}

TEST(EventName, TwoStarsStandForAllTheRest) {
  EXPECT_TRUE(heard("**", complete));
  EXPECT_TRUE(heard("**", escalation));
  EXPECT_TRUE(heard("pipeline:**", complete));
  EXPECT_TRUE(heard("pipeline:pipe-4f7kq2:**", complete));
  EXPECT_FALSE(heard("pipeline:pipe-000000:**", complete));
  EXPECT_FALSE(heard("queue:**", complete));
}

TEST(EventName, AVerbMayAskForADetailInBrackets) {
  EXPECT_TRUE(heard("pipeline:phase", merging));
  EXPECT_TRUE(heard("pipeline:phase(merge)", merging));
  EXPECT_TRUE(heard("pipeline:pipe-4f7kq2:phase(merge)", merging));
  EXPECT_FALSE(heard("pipeline:phase(test)", merging));
  EXPECT_FALSE(heard("pipeline:complete(merge)", merging));
}

TEST(EventName, ANounWithoutAVerbStandsAlone) {
  EXPECT_TRUE(heard("escalate", escalation));
  EXPECT_FALSE(heard("pipeline", complete));
}

TEST(EventName, ASubjectMayHaveColonsOfItsOwn) {
  const EventName acquired{"lock", "a:b", "acquired"};
  EXPECT_TRUE(is_pattern("lock:a:b:acquired"));
  EXPECT_TRUE(heard("lock:a:b:acquired", acquired));
  EXPECT_TRUE(heard("lock:a:b:*", acquired));
  EXPECT_TRUE(heard("lock:a:b:**", acquired));
  EXPECT_TRUE(heard("lock:*:acquired", acquired));
  EXPECT_TRUE(heard("lock:acquired", acquired));
  EXPECT_FALSE(heard("lock:a:acquired", acquired));
  EXPECT_FALSE(heard("lock:a:**", acquired));
  EXPECT_FALSE(heard("lock:a:b:c:acquired", acquired));
  EXPECT_FALSE(heard("lock:a:b:acquired", {"lock", "a", "acquired"}));

  EXPECT_TRUE(is_pattern("lock::a::acquired"));
  EXPECT_TRUE(heard("lock::a::acquired", {"lock", ":a:", "acquired"}));
}

TEST(EventName, AStarBetweenTheColonsOfASubjectStandsForAPartOfIt) {
  const EventName acquired{"lock", "a:b:c", "acquired"};
  EXPECT_TRUE(is_pattern("lock:a:*:c:acquired"));
  EXPECT_TRUE(heard("lock:a:*:c:acquired", acquired));
  EXPECT_TRUE(heard("lock:*:b:*:acquired", acquired));
  EXPECT_TRUE(heard("lock:*:*:*:**", acquired));
  EXPECT_FALSE(heard("lock:a:*:d:acquired", acquired));
  EXPECT_FALSE(heard("lock:a:*:acquired", acquired));
  EXPECT_FALSE(heard("lock:*:*:*:*:acquired", acquired));
}

TEST(EventName, APatternHasANounAVerbAndPerhapsASubjectAndNoneIsEmpty) {
  EXPECT_TRUE(is_pattern("pipeline:complete"));
  EXPECT_TRUE(is_pattern("ci:fix/12:green"));
  EXPECT_TRUE(is_pattern("**"));
  EXPECT_FALSE(is_pattern(""));
  EXPECT_FALSE(is_pattern("pipeline:"));
  EXPECT_FALSE(is_pattern(":complete"));
  EXPECT_FALSE(is_pattern("a::d"));
  EXPECT_FALSE(is_pattern("a:b:c:"));
  EXPECT_FALSE(is_pattern(":b:c:d"));
  EXPECT_FALSE(is_pattern("**:complete"));
  EXPECT_FALSE(is_pattern("lock:**:acquired"));
  EXPECT_FALSE(is_pattern("lock:a:**:acquired"));
}

TEST(EventName, AStarStandsForAWholeSegmentAndNotForAPartOfOne) {
  EXPECT_TRUE(is_pattern("ci:*"));
  EXPECT_TRUE(is_pattern("*:main:*"));
  EXPECT_TRUE(is_pattern("ci:**"));
  EXPECT_FALSE(is_pattern("ci:gr*"));
  EXPECT_FALSE(is_pattern("c*:main:green"));
  EXPECT_FALSE(is_pattern("ci:***"));
  EXPECT_FALSE(is_pattern("ci:a:b*:green"));
}

TEST(EventName, APatternThatNoEventCanMatchIsNone) {
  EXPECT_TRUE(is_pattern("escalate"));
  EXPECT_TRUE(is_pattern("*"));
  EXPECT_TRUE(is_pattern("board:fix the build:started"));
  EXPECT_TRUE(is_pattern("pipeline:phase(fix it)"));
  EXPECT_FALSE(is_pattern("pipeline"));
  EXPECT_FALSE(is_pattern("pipe line:complete"));
  EXPECT_FALSE(is_pattern("pipeline: complete"));
  EXPECT_FALSE(is_pattern("pipeline:x:com\tplete"));
  EXPECT_FALSE(is_pattern(" "));
}

TEST(EventName, AUsersEventIsNotOneOfTheCoresOwn) {
  EXPECT_TRUE(is_custom_name("ci:green"));
  EXPECT_TRUE(is_custom_name("ci:main:green"));
  EXPECT_FALSE(is_custom_name("pipeline:complete"));
  EXPECT_FALSE(is_custom_name("green"));
  EXPECT_FALSE(is_custom_name("ci:*"));
  EXPECT_FALSE(is_custom_name("ci::green"));
  EXPECT_FALSE(is_custom_name("a:b:c:"));
  EXPECT_FALSE(is_custom_name("a:b:*:d"));
  EXPECT_FALSE(is_custom_name("lock:b:c:d"));
}

TEST(EventName, AUsersEventIsOneThatAPatternCanName) {
  for (const std::string_view name : {"c i:green", "ci:gre en", "ci:main:gre\nen", " lock:x:go"}) {
    EXPECT_FALSE(is_pattern(name)) << name;
    EXPECT_FALSE(is_custom_name(name)) << name;
  }
  EXPECT_TRUE(is_custom_name("ci:the main branch:green"));
}

TEST(EventName, ACustomNameHasItsSubjectInTheMiddle) {
  EXPECT_TRUE(is_custom_name("ci:feature:x:green"));
  EXPECT_EQ(custom_name("ci:feature:x:green"), (EventName{"ci", "feature:x", "green"}));
  EXPECT_EQ(custom_name("ci:main:green"), (EventName{"ci", "main", "green"}));
  EXPECT_EQ(custom_name("ci:green"), (EventName{"ci", "", "green"}));
}

RC_GTEST_PROP(EventName, NoTextMakesAPatternThrow, (const std::string& text)) {
  const Pattern pattern = parse_pattern(text);
  matches(pattern, complete);
  is_pattern(text);
  is_custom_name(text);
}

RC_GTEST_PROP(EventName, EveryCustomEventIsHeardByItsOwnName, ()) {
  const auto word = *rc::gen::container<std::string>(rc::gen::element('a', 'b', ':'));
  RC_PRE(!word.empty());
  const std::string text = "ci:" + word + ":green";
  RC_ASSERT(is_custom_name(text));
  RC_ASSERT(matches(parse_pattern(text), custom_name(text)));
  RC_ASSERT(matches(parse_pattern("ci:green"), custom_name(text)));
}

}  // namespace
}  // namespace reeve
