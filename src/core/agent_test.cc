#include "core/agent.h"

#include "core/limits.h"
#include "core/testing.h"

#include <gtest/gtest.h>

namespace reeve::agent {
namespace {

using namespace reeve::testing;

AgentState seen(Doing doing, Time when) { return {doing, Source::Log, when}; }

TEST(Agent, EveryWordIsASignOfSomething) {
  EXPECT_EQ(sign_of(Doing::Working), Sign::Life);
  EXPECT_EQ(sign_of(Doing::Idle), Sign::Quiet);
  EXPECT_EQ(sign_of(Doing::WaitingPermission), Sign::Question);
  EXPECT_EQ(sign_of(Doing::WaitingAnswer), Sign::Quiet);
  EXPECT_EQ(sign_of(Doing::RateLimited), Sign::Cooling);
  EXPECT_EQ(sign_of(Doing::Errored), Sign::Trouble);
  EXPECT_EQ(sign_of(Doing::Exited), Sign::Gone);
  EXPECT_EQ(sign_of(Doing::Unknown), Sign::Nothing);
}

TEST(Agent, AnOlderLookNeverReplacesANewerOne) {
  const AgentState known = seen(Doing::Working, at(10s));

  EXPECT_FALSE(replaces(seen(Doing::Exited, at(10s) - 1ms), known));
  EXPECT_TRUE(replaces(seen(Doing::Exited, at(10s)), known));
  EXPECT_TRUE(replaces(seen(Doing::Idle, at(10s) + 1ms), known));
  EXPECT_TRUE(replaces(seen(Doing::Idle, Time::min()), AgentState{}));
}

TEST(Agent, NotToKnowNeverReplacesToKnow) {
  EXPECT_FALSE(replaces(seen(Doing::Unknown, at(11s)), seen(Doing::Idle, at(10s))));
  EXPECT_TRUE(replaces(seen(Doing::Unknown, at(11s)), seen(Doing::Unknown, at(10s))));
}

TEST(Agent, NobodyHasSeenTheFuture) {
  EXPECT_EQ(judged(seen(Doing::Working, at(1h)), at(5s)).observed_at, at(5s));
  EXPECT_EQ(judged(seen(Doing::Working, at(4s)), at(5s)).observed_at, at(4s));
}

TEST(Agent, WhatItSaysIsKeptToABound) {
  AgentState state = seen(Doing::Errored, at(0s));
  state.detail = std::string(limits::text_bytes + 1, 'x');

  EXPECT_EQ(judged(state, at(0s)).detail.size(), limits::text_bytes);
}

TEST(Agent, TheWordsAreTheOnesPeopleType) {
  EXPECT_EQ(text_of(Doing::Working), "working");
  EXPECT_EQ(text_of(Doing::Idle), "idle");
  EXPECT_EQ(text_of(Doing::WaitingPermission), "waiting_permission");
  EXPECT_EQ(text_of(Doing::WaitingAnswer), "waiting_answer");
  EXPECT_EQ(text_of(Doing::RateLimited), "rate_limited");
  EXPECT_EQ(text_of(Doing::Errored), "errored");
  EXPECT_EQ(text_of(Doing::Exited), "exited");
  EXPECT_EQ(text_of(Doing::Unknown), "unknown");
}

}  // namespace
}  // namespace reeve::agent
