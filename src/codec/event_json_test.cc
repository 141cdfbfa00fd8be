#include "codec/event_json.h"

#include <gtest/gtest.h>

#include <chrono>

namespace reeve::codec {
namespace {

using namespace std::chrono_literals;

std::string data_of(EventBody body, ProjectNo viewer = default_project) {
  const Event event{7, 0, Wall{1h}, default_project, std::move(body)};
  std::string text;
  append_event_data(text, event, viewer, {Time{60s}, Wall{1h}});
  return text;
}

const Holder ana{default_project, "ana", SessionId{3}};

TEST(EventJson, HasTheFieldsByTheirNamesAndHoldersByTheirs) {
  EXPECT_EQ(data_of(lock::WasAcquired{{default_project, "ma\"in"}, ana, Token{9}}),
            R"({"name":"ma\"in","holder":"ana","token":9})");
}

TEST(EventJson, WritesASharedNameAsItsViewerWould) {
  const lock::WasAcquired acquired{{shared_project, "main"}, ana, Token{9}};
  EXPECT_EQ(data_of(acquired), R"({"name":"//main","holder":"ana","token":9})");
  EXPECT_EQ(data_of(acquired, shared_project), R"({"name":"main","holder":"ana","token":9})");
}

TEST(EventJson, TellsEngineTimesByTheWallOfTheirMoment) {
  EXPECT_EQ(data_of(queue::HasFailed{{default_project, "q"}, ItemId{1}, "e", Time{61s}}),
            R"({"queue":"q","item":")" + to_text(ItemId{1}) +
                R"(","error":"e","retry_at":"1970-01-01T01:00:01.000Z"})");
}

TEST(EventJson, LeavesOutWhatIsNotThereAndWhatNoCalendarHas) {
  EXPECT_EQ(data_of(queue::WasRedriven{{default_project, "q"}, ItemId{1}, std::nullopt}),
            R"({"queue":"q","item":")" + to_text(ItemId{1}) + R"("})");
  EXPECT_EQ(data_of(queue::HasFailed{{default_project, "q"}, ItemId{1}, "e", Time::max()}),
            R"({"queue":"q","item":")" + to_text(ItemId{1}) + R"(","error":"e"})");
}

TEST(EventJson, HasListsAndAUsersOwnWords) {
  EXPECT_EQ(data_of(grant::BeganWaiting{WaiterId{4}, ana, {"a", "b"}}),
            R"({"waiter":4,"holder":"ana","names":["a","b"]})");
  EXPECT_EQ(data_of(Custom{{"ci", "", "green"}, {{"a\n", "1"}, {"b", "2"}}}),
            R"({"a\n":"1","b":"2"})");
  EXPECT_EQ(event_kind({"ci", "", "green"}), "ci:green");
  EXPECT_EQ(event_kind({"escalate", "ask-1", ""}), "escalate");
}

}  // namespace
}  // namespace reeve::codec
