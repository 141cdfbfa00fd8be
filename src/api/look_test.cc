#include "api/limits.h"
#include "api/testing.h"
#include "codec/json_text.h"
#include "core/limits.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>

// What those see who look: bodies of bytes, everything at once, what comes next. Texts are compared
// in parts: those that programs and people rely on.
namespace reeve::api {
namespace {

using namespace testing;

struct LookTest : ::testing::Test {
  engine::testing::MemoryDisk disk;
  Counter counter{disk};
  std::size_t ana = counter.connect();

  std::string ask(std::string_view method, std::string_view params = "{}") {
    return counter.ask(ana, method, params);
  }
  void push_bytes(std::string_view bytes) {
    ask("queue.push", fmt::format(R"({{"queue":"q","base64":"{}"}})", codec::to_base64(bytes)));
  }
  std::string take() { return ask("queue.take", R"({"queues":["q"],"holder":"h"})"); }
  std::string list() { return ask("queue.list", R"({"queue":"q"})"); }
};

struct Bodies : LookTest {};
struct Status : LookTest {};
struct Why : LookTest {};
struct Refusals : LookTest {};

// ── Bytes ──

TEST_F(Bodies, OfBytesThatAreJsonAreShownAsJsonAndGivenAsBytes) {
  push_bytes(R"({"a": 1})");
  EXPECT_TRUE(has(list(), {R"("data":{"a": 1},"bytes":"json","priority")"}));
  const std::string given = R"("data":{"a": 1},"bytes":"json","base64":"eyJhIjogMX0=","priority")";
  EXPECT_TRUE(has(ask("queue.peek", R"({"queue":"q"})"), {given}));
  EXPECT_TRUE(has(take(), {given}));
}

TEST_F(Bodies, OfBytesThatAreTextAreStrings) {
  push_bytes("hello \"world\"");
  const std::string shown = R"("data":"hello \"world\"","bytes":"text","priority")";
  EXPECT_TRUE(has(list(), {shown}));
  EXPECT_TRUE(has(take(), {shown}));
  push_bytes("");
  EXPECT_TRUE(has(take(), {R"("data":"","bytes":"text")"}));
}

TEST_F(Bodies, OfOtherBytesAreBase64) {
  push_bytes("\xff\xfe");
  const std::string shown = R"("data":{"base64":"//4="},"bytes":"base64","priority")";
  EXPECT_TRUE(has(list(), {shown}));
  EXPECT_TRUE(has(take(), {shown}));
}

TEST_F(Bodies, OfSeveralLinesStandOnOne) {
  push_bytes("{\r\n  \"a\": [\n1]\n}\n");
  EXPECT_TRUE(has(take(),
                  {R"("data":{    "a": [ 1] } ,"bytes":"json",)",
                   codec::to_base64("{\r\n  \"a\": [\n1]\n}\n")}));
}

TEST_F(Bodies, ThatWouldMakeTheAnswerTooDeepAreStrings) {
  const auto nested = [](std::size_t depth) {
    return std::string(depth, '[') + std::string(depth, ']');
  };
  const std::size_t most = limits::json_depth - limits::answer_depth;
  push_bytes(nested(most));
  EXPECT_TRUE(has(take(), {R"("bytes":"json")"}));
  push_bytes(nested(most + 1));
  EXPECT_TRUE(has(take(), {R"("bytes":"text")"}));
}

TEST_F(Bodies, ThatWerePushedAsJsonHaveNoMark) {
  ask("queue.push", R"({"queue":"q","data":{"base64":"//4="}})");
  EXPECT_TRUE(has(take(), {R"("data":{"base64":"//4="},"priority")"}));
}

// ── Everything at once ──

TEST_F(Status, LooksAtAllQueuesAndSaysHowManyItDoesNotShow) {
  const std::size_t more = 5;
  for (std::size_t i = 0; i < limits::list_entries + more; ++i) {
    ask("queue.create", fmt::format(R"({{"queue":"q{:04}"}})", i));
  }
  const std::string before = ask("status.get");
  EXPECT_TRUE(has(before, {R"("queues_more":5)", R"({"name":"q0999")", R"("attention":[])"}));
  EXPECT_EQ(before.find(R"({"name":"q1000")"), std::string::npos);
  EXPECT_EQ(before.find("attention_more"), std::string::npos);
  ask("queue.pause", R"({"queue":"q1004"})");
  EXPECT_TRUE(has(ask("status.get"), {R"({"kind":"queue","name":"q1004","detail":"paused)"}));
}

TEST_F(Status, SaysHowManyMoreNeedSomebody) {
  for (std::size_t i = 0; i < limits::waiters_shown + 3; ++i) {
    const std::string queue = fmt::format(R"({{"queue":"q{:04}"}})", i);
    ask("queue.create", queue);
    ask("queue.pause", queue);
  }
  EXPECT_TRUE(has(ask("status.get"), {R"("attention_more":3)"}));
}

TEST_F(Status, OfAFullDiskIsThatItIsFull) {
  EXPECT_TRUE(has(ask("status.get"), {R"("attention":[])"}));
  counter.engine().room(journal::Room::FinishingOnly);
  EXPECT_TRUE(has(ask("status.get"), {R"("attention":[{"kind":"disk",)", "`reeve doctor`"}));
  counter.engine().room(journal::Room::Plenty);
  EXPECT_TRUE(has(ask("status.get"), {R"("attention":[])"}));
}

// ── What comes next ──

// A timeout of a hundred years: `--pid` without `--timeout`.
constexpr std::string_view for_good = R"("timeout_ms":3153600000000,"meta":{"pid":77})";

TEST_F(Why, OfALockKeptByAProcessIsWhenThatEnds) {
  ask("lock.acquire", fmt::format(R"({{"names":["dep"],"holder":"ana",{}}})", for_good));
  EXPECT_TRUE(has(ask("why.get", R"({"id":"dep"})"),
                  {R"("next":{"what":"when process 77 ends it is free"})"}));
  counter.ask(counter.connect(), "lock.acquire", R"({"names":["dep"],"holder":"bo","wait_ms":-1})");
  EXPECT_TRUE(has(ask("why.get", R"({"id":"dep"})"),
                  {R"("next":{"what":"when process 77 ends it goes to bo"})"}));
}

TEST_F(Why, OfALockKeptByAProcessForSoLongHasThatEnd) {
  ask("lock.acquire",
      fmt::format(R"({{"names":["dep"],"holder":"ana","max_hold_ms":5000,{}}})", for_good));
  EXPECT_TRUE(has(ask("why.get", R"({"id":"dep"})"),
                  {"if process 77 still holds it, its time is over (max_hold)",
                   R"("at":"2019-12-20T00:00:05.001Z")"}));
}

TEST_F(Why, OfAProcessThatHasToSendHeartbeatsIsWithoutOne) {
  ask("lock.acquire", R"({"names":["dep"],"holder":"ana","meta":{"pid":77}})");
  EXPECT_TRUE(has(ask("why.get", R"({"id":"dep"})"), {"without a heartbeat of ana it is stale"}));
}

TEST_F(Why, OfASlotKeptByAProcessIsWhenThatEnds) {
  ask("sem.create", R"({"name":"gpu","capacity":1})");
  ask("sem.acquire", fmt::format(R"({{"name":"gpu","holder":"ana",{}}})", for_good));
  EXPECT_TRUE(has(ask("why.get", R"({"id":"gpu"})"),
                  {R"("next":{"what":"when process 77 ends what ana has is free"})"}));
}

TEST_F(Why, OfAnItemInAPausedQueueIsWhenThatGoesOn) {
  const std::string pushed = ask("queue.push", R"({"queue":"q","data":1})");
  const std::string id = pushed.substr(pushed.find("item-"), 11);
  const std::string about = fmt::format(R"({{"id":"{}"}})", id);
  EXPECT_TRUE(has(ask("why.get", about), {"nobody asks for it; try `reeve queue take q`"}));
  ask("queue.push", R"({"queue":"q","data":2,"delay_ms":1000})");
  ask("queue.pause", R"({"queue":"q","for_ms":60000})");
  counter.pass(5s);
  // Neither what else happens in the queue, nor that the pause began now.
  EXPECT_TRUE(has(ask("why.get", about),
                  {R"("since":"2019-12-20T00:00:00.000Z","detail":"paused, for another 55s; try)",
                   R"("next":{"what":"the queue goes on","at":"2019-12-20T00:01:00.000Z"})"}));
}

TEST_F(Why, OfAPausedQueueNamesNoItemThatIsReadyMeanwhile) {
  ask("queue.push", R"({"queue":"q","data":1})");
  ask("queue.push", R"({"queue":"q","data":2,"delay_ms":1000})");
  ask("queue.pause", R"({"queue":"q","for_ms":60000})");
  const std::string about = R"({"id":"q"})";
  EXPECT_TRUE(has(ask("why.get", about),
                  {R"("next":{"what":"the queue goes on","at":"2019-12-20T00:01:00.000Z"})"}));
  ask("queue.pause", R"({"queue":"q"})");
  const std::string why = ask("why.get", about);
  EXPECT_EQ(why.find(R"("next":)"), std::string::npos) << why;
}

TEST_F(Why, OfAQueueThatAnItemPausedNamesTheQuestion) {
  ask("queue.create", R"({"queue":"q","max_attempts":1,"on_exhaust":"pause"})");
  const std::string pushed = ask("queue.push", R"({"queue":"q","data":1})");
  const std::string item = pushed.substr(pushed.find("item-"), 11);
  const std::string taken = take();
  const std::size_t claim = taken.find(R"("claim":)") + 8;
  ask("queue.fail",
      fmt::format(R"({{"queue":"q","id":"{}","claim":{},"error":"no"}})",
                  item,
                  taken.substr(claim, taken.find_first_of(",}", claim) - claim)));
  const std::string listed = ask("decision.list");
  const std::string question = listed.substr(listed.find("ask-"), 10);
  const std::string next = ask("queue.push", R"({"queue":"q","data":2})");
  for (const std::string& name : {std::string("q"), next.substr(next.find("item-"), 11)}) {
    EXPECT_TRUE(has(ask("why.get", fmt::format(R"({{"id":"{}"}})", name)),
                    {"failed too often; try `reeve queue resume q`",
                     fmt::format(R"({{"kind":"decision","name":"{}")", question),
                     fmt::format("`reeve decision resolve {} --choice", question)}));
  }
}

TEST_F(Why, OfAPausedQueueWithNothingInItDoesNotMakeUpSinceWhen) {
  ask("queue.create", R"({"queue":"q"})");
  ask("queue.pause", R"({"queue":"q"})");
  EXPECT_TRUE(has(ask("why.get", R"({"id":"q"})"),
                  {R"({"kind":"queue","name":"q","depth":0,"detail":"paused; try)"}));
}

TEST_F(Why, NamesNobodyWhoseWaitIsOverBeforeIt) {
  ask("lock.acquire", R"({"names":["dep"],"holder":"ana","timeout_ms":60000})");
  const auto wait = [&](std::string_view holder, int milliseconds) {
    counter.ask(
        counter.connect(),
        "lock.acquire",
        fmt::format(R"({{"names":["dep"],"holder":"{}","wait_ms":{}}})", holder, milliseconds));
  };
  wait("bo", 3000);
  EXPECT_TRUE(has(ask("why.get", R"({"id":"dep"})"), {"without a heartbeat of ana it is stale"}));
  wait("cy", 90000);
  EXPECT_TRUE(has(ask("why.get", R"({"id":"dep"})"), {"without a heartbeat of ana it goes to cy"}));
}

TEST_F(Why, OfALockKeptByAProcessNamesNobodyWhoMayBeGone) {
  ask("lock.acquire", fmt::format(R"({{"names":["dep"],"holder":"ana",{}}})", for_good));
  counter.ask(
      counter.connect(), "lock.acquire", R"({"names":["dep"],"holder":"bo","wait_ms":3000})");
  EXPECT_TRUE(has(ask("why.get", R"({"id":"dep"})"),
                  {"when process 77 ends it goes to the first in line"}));
}

TEST_F(Why, OfWhatIsHeldForLongerThanAnybodyWaitsIsNothing) {
  ask("lock.acquire", R"({"names":["dep"],"holder":"ana","timeout_ms":3153600000000})");
  ask("sem.create", R"({"name":"gpu","capacity":1})");
  ask("sem.acquire", R"({"name":"gpu","holder":"ana","timeout_ms":3153600000000})");
  ask("queue.create", R"({"queue":"q","visibility_ms":3153600000000})");
  const std::string pushed = ask("queue.push", R"({"queue":"q","data":1})");
  const std::string item = pushed.substr(pushed.find("item-"), 11);
  take();
  for (const std::string& name : {std::string("dep"), std::string("gpu"), std::string("q"), item}) {
    const std::string why = ask("why.get", fmt::format(R"({{"id":"{}"}})", name));
    EXPECT_TRUE(has(why, {"waiting_on"}));
    EXPECT_EQ(why.find("next"), std::string::npos) << why;
  }
}

TEST_F(Why, OfAnItemThatIsReadyTellsOfNoOther) {
  const std::string pushed = ask("queue.push", R"({"queue":"q","data":1})");
  const std::string item = pushed.substr(pushed.find("item-"), 11);
  ask("queue.push", R"({"queue":"q","data":2,"delay_ms":1000})");
  const std::string why = ask("why.get", fmt::format(R"({{"id":"{}"}})", item));
  EXPECT_TRUE(has(why, {"the next to be taken, and nobody asks for it"}));
  EXPECT_EQ(why.find(R"("next":)"), std::string::npos) << why;
}

TEST_F(Why, AfterARestartIsWhenThoseWhoAreAwayLoseWhatTheyHave) {
  ask("lock.acquire", R"({"names":["dep"],"holder":"lh","bind":true})");
  ask("sem.create", R"({"name":"gpu","capacity":2})");
  ask("sem.acquire", R"({"name":"gpu","holder":"near","timeout_ms":60000})");
  ask("sem.acquire", R"({"name":"gpu","holder":"sh","timeout_ms":600000,"bind":true})");
  const std::string pushed = ask("queue.push", R"({"queue":"q","data":1})");
  const std::string item = pushed.substr(pushed.find("item-"), 11);
  ask("queue.take", R"({"queues":["q"],"holder":"qh","bind":true})");
  counter.settle();
  Counter again(disk, SessionId{2000});
  const std::size_t bo = again.connect();
  const auto why = [&](std::string_view name) {
    return again.ask(bo, "why.get", fmt::format(R"({{"id":"{}"}})", name));
  };
  const std::string at = R"(unless it comes back","at":"2019-12-20T00:00:10.000Z")";
  EXPECT_TRUE(has(why("dep"), {"lh is away and loses it " + at}));
  EXPECT_TRUE(has(why("gpu"), {"sh is away and loses what it has " + at}));
  EXPECT_TRUE(has(why(item), {"qh is away and loses it " + at}));
  EXPECT_TRUE(has(why("q"), {fmt::format("qh is away and loses {} {}", item, at)}));
}

// ── What is refused ──

TEST_F(Refusals, OfNothingWithoutAKindNameNone) {
  const std::string refused = ask("why.get", R"({"id":"nix"})");
  EXPECT_TRUE(has(refused, {R"(there is no thing called \"nix\")", R"("details":{"name":"nix"})"}));
  EXPECT_TRUE(has(ask("why.get", R"({"id":"nix","kind":"lock"})"),
                  {R"(there is no lock \"nix\")", R"("details":{"kind":"lock","name":"nix"})"}));
}

TEST_F(Refusals, NameTheFieldAndNotWhatStandsInIt) {
  const std::tuple<std::string_view, std::string_view, std::string> bad[] = {
      {"lock.acquire", R"({"names":["ok","-x"],"holder":"a"})", "names"},
      {"lock.acquire", R"({"names":["ok"],"holder":"-a"})", "holder"},
      {"sem.create", R"({"name":"-s","capacity":1})", "name"},
      {"queue.push", R"({"queue":"-q","data":1})", "queue"},
      {"queue.push", R"({"queue":"//-q","data":1})", "queue"},
      {"queue.create", R"({"queue":"q","dead_letter":""})", "dead_letter"},
      {"events.emit", R"({"name":"ab"})", "name"},
      {"lock.acquire", R"({"names":["a"],"holder":"a","meta":[]})", "meta"},
      {"queue.push", R"({"queue":"q","items":[{"data":1},5]})", "items[1]"},
      {"queue.push", R"({"queue":"q","data":1,"base64":"AA=="})", "base64"},
  };
  for (const auto& [method, params, field] : bad) {
    EXPECT_TRUE(has(ask(method, params), {fmt::format(R"("field":"{}")", field)})) << params;
  }
  EXPECT_TRUE(has(ask("queue.push", R"({"queue":"q","data":1,"base64":"AA=="})"),
                  {"base64 stands beside data: an item has one of them"}));
}

TEST_F(Refusals, OfWhatThereIsNoneOfNameIt) {
  EXPECT_TRUE(has(ask("session.resume", R"({"session":"abc"})"),
                  {"NOT_FOUND", R"("details":{"kind":"session","name":"abc"})"}));
  ask("queue.push", R"({"queue":"q","data":1})");
  for (const std::string_view item : {"item-zzzzzz", "item-zz"}) {
    EXPECT_TRUE(
        has(ask("queue.complete", fmt::format(R"({{"queue":"q","id":"{}","claim":1}})", item)),
            {"NOT_FOUND", fmt::format(R"("details":{{"kind":"item","name":"{}"}})", item)}));
  }
}

// A string counts as it is kept: with its quotes.
TEST_F(Refusals, OfTooMuchDataNameTheLimit) {
  const auto push = [&](std::size_t letters) {
    return ask("queue.push",
               fmt::format(R"({{"queue":"q","data":"{}"}})", std::string(letters, 'x')));
  };
  EXPECT_TRUE(has(push(reeve::limits::item_bytes - 2), {R"("ids":["item-)"}));
  EXPECT_TRUE(has(push(reeve::limits::item_bytes - 1),
                  {"OVER_LIMIT",
                   R"(queue \"q\": the data of an item has at most 1 MiB (1048576 bytes))",
                   R"("field":"data")"}));
}

}  // namespace
}  // namespace reeve::api
