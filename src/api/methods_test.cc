#include "api/testing.h"

#include <gtest/gtest.h>

#include <string>

// What each method says. Texts are compared in parts: those that programs and people rely on.
namespace reeve::api {
namespace {

using namespace testing;

struct MethodsTest : ::testing::Test {
  engine::testing::MemoryDisk disk;
  Counter counter{disk};
  std::size_t ana = counter.connect();

  std::string ask(std::string_view method, std::string_view params = "{}") {
    return counter.ask(ana, method, params);
  }
  // The text between `"field":"` and the next quote.
  static std::string field(const std::string& text, const std::string& name) {
    const std::size_t at = text.find('"' + name + "\":\"");
    if (at == std::string::npos) return {};
    const std::size_t begin = at + name.size() + 4;
    return text.substr(begin, text.find('"', begin) - begin);
  }
  std::string push(std::string_view params) {
    const std::string pushed = ask("queue.push", params);
    const std::size_t at = pushed.find("item-");
    return at == std::string::npos ? pushed : pushed.substr(at, pushed.find('"', at) - at);
  }
};

struct LockMethods : MethodsTest {};
struct SemMethods : MethodsTest {};
struct QueueMethods : MethodsTest {};
struct EventMethods : MethodsTest {};
struct WhyMethod : MethodsTest {};

// ── Locks ──

TEST_F(LockMethods, AGrantTellsTokenAndLimit) {
  EXPECT_EQ(ask("lock.acquire", R"({"names":["main","//all"],"holder":"a","timeout_ms":1500})"),
            R"({"jsonrpc":"2.0","id":1,"result":{"seq":2,"locks":[{"name":"main","token":1},)"
            R"({"name":"//all","token":2}],"outcome":"acquired","holder":"a",)"
            R"("expires_at":"2019-12-20T00:00:01.500Z"}})");
  EXPECT_TRUE(has(ask("lock.acquire", R"({"names":["main"],"holder":"a"})"),
                  {R"("outcome":"extended")", R"("token":1)"}));
}

TEST_F(LockMethods, AMomentIsTrulyThatFarAwayThoughSomebodySetTheClock) {
  ask("lock.acquire", R"({"names":["main"],"holder":"a","timeout_ms":60000})");
  counter.stamp.wall += 3h;
  EXPECT_TRUE(
      has(ask("lock.show", R"({"name":"main"})"), {R"("expires_at":"2019-12-20T03:01:00.000Z")"}));
}

TEST_F(LockMethods, WhoIsInTheWayIsNamed) {
  ask("lock.acquire", R"({"names":["main"],"holder":"a"})");
  EXPECT_TRUE(has(
      ask("lock.acquire", R"({"names":["main"],"holder":"b"})"),
      {R"("code":-32000,"message":"lock \"main\" is held by a; try `reeve lock acquire main --wait`")",
       R"("code":"LOCKED","details":{"name":"main","holder":"a","since":")",
       R"("waiters":0)"}));
}

TEST_F(LockMethods, TheStaleAreReclaimedFrom) {
  ask("lock.acquire", R"({"names":["main"],"holder":"a","timeout_ms":1000})");
  counter.pass(1001ms);
  EXPECT_TRUE(has(ask("lock.show", R"({"name":"main"})"), {R"("state":"stale")"}));
  EXPECT_TRUE(has(ask("lock.acquire", R"({"names":["main"],"holder":"b"})"),
                  {R"("outcome":"reclaimed")", R"("previous":"a")"}));
  EXPECT_TRUE(has(ask("lock.heartbeat", R"({"name":"main","holder":"a","token":1})"),
                  {"LOST", R"("holder":"b")"}));
  EXPECT_TRUE(
      has(ask("lock.check", R"({"name":"main","token":1})"), {"SUPERSEDED", R"("token":2)"}));
  EXPECT_TRUE(has(ask("lock.check", R"({"name":"main","token":2})"), {R"("valid":true)"}));
}

TEST_F(LockMethods, ReleaseIsForTheOwner) {
  ask("lock.acquire", R"({"names":["main"],"holder":"a"})");
  EXPECT_TRUE(has(ask("lock.release", R"({"name":"main","holder":"b"})"),
                  {"NOT_OWNER", R"("holder":"a")"}));
  EXPECT_TRUE(has(ask("lock.release", R"({"name":"main","holder":"a","token":9})"), {"NOT_OWNER"}));
  EXPECT_TRUE(
      has(ask("lock.release", R"({"name":"main","holder":"a","token":1})"), {R"("released")"}));
  EXPECT_TRUE(has(ask("lock.release", R"({"name":"main","holder":"a"})"), {R"("already_free")"}));
}

TEST_F(LockMethods, ForceEndsTheProcessFirstUnlessTold) {
  ask("lock.acquire", R"({"names":["p"],"holder":"a","meta":{"pid":77,"label":"build"}})");
  EXPECT_TRUE(has(ask("lock.show", R"({"name":"p"})"),
                  {R"("label":"build","user":"ana","host":"shed","pid":77)"}));
  EXPECT_TRUE(has(ask("lock.force_release", R"({"name":"p","reason":"r"})"), {R"("ending")"}));
  EXPECT_TRUE(has(ask("lock.show", R"({"name":"p"})"), {R"("state":"ending")"}));
  EXPECT_TRUE(
      has(ask("lock.force_release", R"({"name":"p","reason":"r","now":true})"), {R"("released")"}));
  EXPECT_TRUE(has(ask("lock.acquire", R"({"names":["p"],"holder":"a","meta":{"pid":78}})"),
                  {"-32602", R"("field":"meta.pid")"}));
}

TEST_F(LockMethods, ListsComeInPages) {
  for (const char* name : {"a1", "a2", "a3", "b", "//s1", "//s2"}) {
    ask("lock.acquire", std::string(R"({"names":[")") + name + R"("],"holder":"h"})");
  }
  const std::string first = ask("lock.list", R"({"limit":4})");
  EXPECT_TRUE(has(first, {R"("name":"a1")", R"("name":"b")", R"("next":"b")"}));
  const std::string second = ask("lock.list", R"({"limit":1,"after":"b"})");
  EXPECT_TRUE(has(second, {R"("name":"//s1")", R"("next":"//s1")"}));
  const std::string last = ask("lock.list", R"({"after":"//s1"})");
  EXPECT_TRUE(has(last, {R"("name":"//s2")"}));
  EXPECT_EQ(last.find("next"), std::string::npos);
  const std::string some = ask("lock.list", R"({"prefix":"a"})");
  EXPECT_TRUE(has(some, {R"("name":"a3")"}));
  EXPECT_EQ(some.find(R"("name":"b")"), std::string::npos);
}

TEST_F(LockMethods, CleanupFreesTheStale) {
  ask("lock.acquire", R"({"names":["old"],"holder":"a","timeout_ms":10})");
  counter.pass(11ms);
  EXPECT_TRUE(has(ask("lock.cleanup"), {R"("names":["old"])"}));
}

TEST_F(LockMethods, WaitingForOnesOwnIsRefused) {
  ask("lock.acquire", R"({"names":["a"],"holder":"x"})");
  ask("lock.acquire", R"({"names":["b"],"holder":"y"})");
  const std::size_t bo = counter.connect();
  counter.ask(bo, "lock.acquire", R"({"names":["a"],"holder":"y","wait_ms":-1})");
  EXPECT_TRUE(has(ask("lock.acquire", R"({"names":["b"],"holder":"x","wait_ms":-1})"),
                  {"WOULD_DEADLOCK", R"("cycle":[{"holder":"x"},{"holder":"y"}])"}));
}

// ── Semaphores ──

TEST_F(SemMethods, WeightsAndWhatIsLeft) {
  EXPECT_TRUE(has(ask("sem.acquire", R"({"name":"s","holder":"a"})"),
                  {"NOT_FOUND", "try `reeve sem create s --capacity N`"}));
  EXPECT_TRUE(has(ask("sem.create", R"({"name":"s","capacity":3})"),
                  {R"("outcome":"created")", R"("available":3)"}));
  EXPECT_TRUE(has(ask("sem.create", R"({"name":"s","capacity":3})"), {R"("outcome":"exists")"}));
  EXPECT_TRUE(
      has(ask("sem.create", R"({"name":"s","capacity":4})"), {"EXISTS", "reeve sem resize s 4"}));
  EXPECT_TRUE(has(ask("sem.acquire", R"({"name":"s","holder":"a","weight":2})"),
                  {R"("outcome":"acquired")", R"("weight":2)", R"("available":1)"}));
  EXPECT_TRUE(has(ask("sem.acquire", R"({"name":"s","holder":"a"})"), {R"("already_held")"}));
  EXPECT_TRUE(has(ask("sem.acquire", R"({"name":"s","holder":"b","weight":2})"),
                  {"FULL", R"("available":1,"capacity":3)"}));
  EXPECT_TRUE(
      has(ask("sem.acquire", R"({"name":"s","holder":"b","weight":4})"), {"BAD_VALUE", "weight"}));
  EXPECT_TRUE(has(ask("sem.show", R"({"name":"s"})"),
                  {R"("in_use":2)", R"("holders":[{"holder":"a","weight":2)"}));
  EXPECT_TRUE(has(ask("sem.release", R"({"name":"s","holder":"a"})"), {R"("available":3)"}));
  EXPECT_TRUE(has(ask("sem.release", R"({"name":"s","holder":"a"})"), {"NOT_HOLDER"}));
  EXPECT_TRUE(has(ask("sem.remove", R"({"name":"s"})"), {R"("name":"s")"}));
}

TEST_F(SemMethods, AGrantAfterAWaitTellsWhatIsLeftToo) {
  ask("sem.create", R"({"name":"s","capacity":2})");
  ask("sem.acquire", R"({"name":"s","holder":"a","weight":2})");
  const std::size_t bo = counter.connect();
  EXPECT_EQ(counter.ask(bo, "sem.acquire", R"({"name":"s","holder":"b","wait_ms":-1})"), "");
  EXPECT_TRUE(has(ask("sem.resize", R"({"name":"s","capacity":5})"), {R"("capacity":5)"}));
  EXPECT_TRUE(has(counter.read(bo).at(0), {R"("outcome":"acquired")", R"("available":2)"}));
}

// ── Queues ──

TEST_F(QueueMethods, DataComesBackAsItsText) {
  push(R"({"queue":"q","data":{"a" : [1,2.50,"\u00e9"]}})");
  push(R"({"queue":"q","base64":"AP8="})");
  const std::string taken = ask("queue.take", R"({"queues":["q"],"holder":"h","max":5})");
  EXPECT_TRUE(has(taken,
                  {R"("data":{"a" : [1,2.50,"\u00e9"]},"priority":0,"attempts":1,"claim":1)",
                   R"("data":{"base64":"AP8="},"bytes":"base64")",
                   R"("holder":"h")"}));
  EXPECT_TRUE(has(ask("queue.take", R"({"queues":["q"],"holder":"h"})"), {R"("items":[])"}));
  EXPECT_TRUE(has(ask("queue.push", R"({"queue":"q","base64":"AP8"})"), {"-32602", "base64"}));
}

TEST_F(QueueMethods, NullIsDataUnlessThereAreBytes) {
  push(R"({"queue":"q","data":null})");
  push(R"({"queue":"q","data":null,"base64":"AP8="})");
  EXPECT_TRUE(has(ask("queue.take", R"({"queues":["q"],"holder":"h","max":5})"),
                  {R"("data":null,)", R"("base64":"AP8=")"}));
  EXPECT_TRUE(has(ask("queue.push", R"({"queue":"q"})"), {"-32602", "data is missing"}));
  EXPECT_TRUE(has(ask("events.emit", R"({"name":"a:b","data":null})"), {R"("name":"a:b")"}));
}

TEST_F(QueueMethods, DuplicatesAreTold) {
  const std::string first = push(R"({"queue":"q","data":1,"dedupe":"k"})");
  EXPECT_TRUE(has(ask("queue.push", R"({"queue":"q","data":1,"dedupe":"k"})"),
                  {R"("duplicate_of":")" + first + '"'}));
  EXPECT_TRUE(
      has(ask("queue.push", R"({"queue":"q","items":[{"data":2},{"data":1,"dedupe":"k"}]})"),
          {R"("duplicate_of":[null,")" + first + R"("])"}));
}

TEST_F(QueueMethods, AClaimIsNeededAndAnOldOneRefused) {
  const std::string id = push(R"({"queue":"q","data":1})");
  ask("queue.take", R"({"queues":["q"],"holder":"h"})");
  const std::string mine = R"({"queue":"q","id":")" + id + R"(","claim":1})";
  const std::string other = R"({"queue":"q","id":")" + id + R"(","claim":2})";
  EXPECT_TRUE(
      has(ask("queue.complete", other), {"STALE_CLAIM", R"("holder":"h")", id + " is with h now"}));
  EXPECT_TRUE(has(ask("queue.extend", mine), {R"("visible_at")"}));
  EXPECT_TRUE(has(ask("queue.complete", mine), {R"("id":")" + id + '"'}));
  EXPECT_TRUE(has(ask("queue.complete", mine), {"result"})) << "the same claim twice is fine";
  EXPECT_TRUE(
      has(ask("queue.show", R"({"queue":"q","id":")" + id + "\"}"), {R"("state":"completed")"}));
}

TEST_F(QueueMethods, CompletingManySaysWhichWereStale) {
  const std::string one = push(R"({"queue":"q","data":1})");
  const std::string two = push(R"({"queue":"q","data":2})");
  ask("queue.take", R"({"queues":["q"],"holder":"h","max":2})");
  EXPECT_TRUE(has(ask("queue.complete",
                      R"({"queue":"q","items":[{"id":")" + one + R"(","claim":1},{"id":")" + two +
                          R"(","claim":1}]})"),
                  {R"({"id":")" + one + R"(","ok":true})",
                   R"({"id":")" + two + R"(","ok":false,"holder":"h"})"}));
}

TEST_F(QueueMethods, FailingTellsWhatBecomesOfIt) {
  ask("queue.create", R"({"queue":"q","max_attempts":2,"backoff_first_ms":0})");
  const std::string id = push(R"({"queue":"q","data":1})");
  ask("queue.take", R"({"queues":["q"],"holder":"h"})");
  EXPECT_TRUE(has(ask("queue.fail", R"({"queue":"q","id":")" + id + R"(","claim":1,"error":"no"})"),
                  {R"("state":"pending")"}));
  ask("queue.take", R"({"queues":["q"],"holder":"h"})");
  EXPECT_TRUE(has(ask("queue.fail", R"({"queue":"q","id":")" + id + R"(","claim":2,"error":"no"})"),
                  {R"("state":"dead")"}));
  EXPECT_TRUE(
      has(ask("queue.list", R"({"queue":"q","state":"dead"})"), {id, R"("last_error":"no")"}));
  EXPECT_TRUE(has(ask("queue.redrive", R"({"queue":"q","all":true})"), {R"("count":1)"}));
  EXPECT_TRUE(has(ask("queue.purge", R"({"queue":"q","state":"pending"})"), {R"("count":1)"}));
}

TEST_F(QueueMethods, AnIdMayBeCutShort) {
  const std::string id = push(R"({"queue":"q","data":1})");
  EXPECT_TRUE(has(ask("queue.show", R"({"queue":"q","id":")" + id.substr(0, 8) + "\"}"), {id}));
  EXPECT_TRUE(has(ask("queue.show", R"({"queue":"q","id":"item-"})"), {"-32602"}));
  EXPECT_TRUE(has(ask("queue.show", R"({"queue":"q","id":"item-000000"})"), {"NOT_FOUND"}));
  EXPECT_TRUE(has(ask("queue.show", R"({"queue":"q","id":"item-000"})"), {"NOT_FOUND"}));
}

TEST_F(QueueMethods, AListShowsAllPartsPageByPage) {
  for (int i = 0; i < 5; ++i) push(R"({"queue":"q","data":)" + std::to_string(i) + "}");
  push(R"({"queue":"q","data":"later","delay_ms":1000})");
  ask("queue.take", R"({"queues":["q"],"holder":"h","max":2})");
  std::string seen;
  std::string after;
  for (int page = 0; page < 10; ++page) {
    const std::string list =
        ask("queue.list", R"({"queue":"q","limit":2,"after":")" + after + "\"}");
    for (std::size_t at = list.find("\"data\":"); at != std::string::npos;
         at = list.find("\"data\":", at + 1)) {
      seen += list.substr(at + 7, list.find(',', at) - at - 7) + " ";
    }
    after = field(list, "next");
    if (after.empty()) break;
  }
  EXPECT_EQ(seen, "2 3 4 \"later\" 0 1 ");
  EXPECT_TRUE(has(ask("queue.list", R"({"queue":"q","after":"x"})"), {"-32602"}));
  EXPECT_TRUE(has(ask("queue.list", R"({"queue":"no"})"), {"NOT_FOUND"}));
}

TEST_F(QueueMethods, StatsAndPause) {
  push(R"({"queue":"q","data":1})");
  counter.pass(250ms);
  EXPECT_TRUE(has(
      ask("queue.stats"),
      {R"("name":"q","pending":1,"delayed":0,"processing":0)", R"("oldest_pending_age_ms":250)"}));
  ask("queue.pause", R"({"queue":"q"})");
  EXPECT_TRUE(has(ask("queue.take", R"({"queues":["q"],"holder":"h"})"), {R"("paused":true)"}));
  ask("queue.resume", R"({"queue":"q"})");
  EXPECT_TRUE(has(ask("queue.peek", R"({"queue":"q"})"), {R"("item":{"id":"item-)"}));
}

TEST_F(QueueMethods, TheOldestPendingItemIsToldOfAllPrioritiesAndNullWithoutOne) {
  ask("queue.create", R"({"queue":"q"})");
  EXPECT_TRUE(has(ask("queue.stats"), {R"("oldest_pending_age_ms":null)"}));
  push(R"({"queue":"q","data":1,"priority":-2147483648})");
  counter.pass(250ms);
  push(R"({"queue":"q","data":2,"priority":2147483647})");
  push(R"({"queue":"q","data":3})");
  EXPECT_TRUE(has(ask("queue.stats"), {R"("oldest_pending_age_ms":250)"}));
}

TEST_F(QueueMethods, LargeDataIsLeftOutOfLists) {
  push(R"({"queue":"q","data":")" + std::string(70'000, 'x') + "\"}");
  EXPECT_TRUE(has(ask("queue.list", R"({"queue":"q"})"), {R"("data_bytes":70002)"}));
}

// ── Events ──

TEST_F(EventMethods, FollowersHearInOrderAndInPlainWords) {
  counter.send(ana, R"({"id":"f","method":"events.follow","params":{"match":["lock:*","ci:**"]}})");
  const std::size_t bo = counter.connect();
  counter.ask(bo, "lock.acquire", R"({"names":["//main"],"holder":"bo"})");
  counter.ask(bo, "sem.create", R"({"name":"s","capacity":1})");
  counter.ask(bo, "events.emit", R"({"name":"ci:green","data":{"a\"b":"c"}})");
  const auto lines = counter.read(ana);
  ASSERT_EQ(lines.size(), 3U);
  EXPECT_TRUE(has(lines[1],
                  {R"({"jsonrpc":"2.0","method":"event","params":{"follow":"f","seq":2,"index":0,)",
                   R"("name":"lock:acquired","subject":"main",)",
                   R"("data":{"name":"//main","holder":"bo","token":1}}})"}));
  EXPECT_TRUE(has(lines[2], {R"("data":{"a\"b":"c"})"}));
  EXPECT_TRUE(has(ask("request.cancel", R"({"id":"f"})"), {R"("found":true)"}));
}

TEST_F(EventMethods, WhatIsNoPatternIsRefused) {
  EXPECT_TRUE(has(ask("events.follow", R"({"match":"a::d"})"), {"-32602", "no pattern"}));
  EXPECT_TRUE(has(ask("events.emit", R"({"name":"lock:acquired"})"), {"BAD_NAME"}));
}

TEST_F(EventMethods, TheLastOnesCanBeListed) {
  for (int i = 0; i < 5; ++i) ask("events.emit", R"({"name":"ci:n)" + std::to_string(i) + "\"}");
  const std::string list = ask("events.list", R"({"match":"ci:*","limit":2})");
  EXPECT_TRUE(has(list, {"ci:n3", "ci:n4"}));
  EXPECT_EQ(list.find("ci:n2"), std::string::npos);
  EXPECT_TRUE(has(ask("events.list", R"({"since_seq":5})"), {"ci:n4"}));
}

// ── Why ──

TEST_F(WhyMethod, FollowsTheChainOfHolders) {
  ask("lock.acquire", R"({"names":["docs"],"holder":"ana","meta":{"pid":77}})");
  ask("lock.acquire", R"({"names":["main"],"holder":"bo"})");
  const std::size_t bo = counter.connect();
  counter.ask(bo, "lock.acquire", R"({"names":["docs"],"holder":"bo","wait_ms":-1})");
  counter.ask(bo, "lock.acquire", R"({"names":["main"],"holder":"cy","wait_ms":-1})");
  EXPECT_TRUE(has(ask("why.get", R"({"id":"main"})"),
                  {R"("waiting_on":[{"kind":"lock","name":"main","holder":"bo")",
                   R"({"kind":"lock","name":"docs","holder":"ana")",
                   R"("pid":77)",
                   R"("line":[{"holder":"cy")",
                   "without a heartbeat of bo it goes to cy"}));
}

TEST_F(WhyMethod, TellsOfItemsAndQueues) {
  const std::string one = push(R"({"queue":"q","data":1})");
  const std::string two = push(R"({"queue":"q","data":2})");
  EXPECT_TRUE(has(ask("why.get", R"({"id":"q"})"), {"2 ready, and nobody takes them"}));
  EXPECT_TRUE(has(ask("why.get", R"({"id":")" + two + "\"}"), {R"("place":2)", "1 are before it"}));
  ask("queue.take", R"({"queues":["q"],"holder":"h"})");
  EXPECT_TRUE(has(ask("why.get", R"({"id":")" + one + "\"}"),
                  {R"("holder":"h")", "it is taken back from h unless that extends its claim"}));
}

TEST_F(WhyMethod, AsksWhichIfMoreThanOneThingHasTheName) {
  ask("lock.acquire", R"({"names":["x"],"holder":"a"})");
  ask("queue.push", R"({"queue":"x","data":1})");
  EXPECT_TRUE(has(ask("why.get", R"({"id":"x"})"), {"AMBIGUOUS", R"("kinds":["lock","queue"])"}));
  EXPECT_TRUE(has(ask("why.get", R"({"id":"x","kind":"lock"})"), {R"("kind":"lock")"}));
  EXPECT_TRUE(has(ask("why.get", R"({"id":"y"})"), {"NOT_FOUND"}));
  EXPECT_TRUE(has(ask("state.show", R"({"id":"x","kind":"queue"})"), {R"("pending":1)"}));
}

TEST_F(MethodsTest, StatusTellsWhatNeedsSomebody) {
  ask("lock.acquire", R"({"names":["old"],"holder":"a","timeout_ms":10})");
  ask("lock.acquire", R"({"names":["main"],"holder":"a"})");
  ask("queue.push", R"({"queue":"q","data":1})");
  ask("queue.pause", R"({"queue":"q"})");
  counter.pass(11ms);
  EXPECT_TRUE(has(ask("status.get"),
                  {R"("project":"default","locks":{"held":1,"stale":1,"waiting":0})",
                   R"("queues":[{"name":"q")",
                   "try `reeve why old`",
                   "try `reeve queue resume q`"}));
  EXPECT_TRUE(has(ask("names.list", R"({"kind":"lock","prefix":"ma"})"), {R"("names":["main"])"}));
  EXPECT_TRUE(has(ask("project.list"), {R"("projects":[{"name":"default"}])"}));
}

TEST_F(MethodsTest, WithAFullDiskFinishingGoesOn) {
  ask("lock.acquire", R"({"names":["main"],"holder":"a"})");
  counter.engine().room(journal::Room::FinishingOnly);
  EXPECT_TRUE(has(ask("queue.push", R"({"queue":"q","data":1})"), {"DISK_FULL"}));
  EXPECT_TRUE(has(ask("lock.release", R"({"name":"main","holder":"a"})"), {"released"}));
}

}  // namespace
}  // namespace reeve::api
