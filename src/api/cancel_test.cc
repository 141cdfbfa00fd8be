#include "api/testing.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

// Whatever a request waits for: who calls it back hears that, and not that there was nothing.
namespace reeve::api {
namespace {

using namespace testing;

struct Cancelling : ::testing::Test {
  engine::testing::MemoryDisk disk;
  Counter counter{disk};
  std::size_t ana = counter.connect();
  std::size_t bo = counter.connect();

  void SetUp() override {
    counter.ask(ana, "lock.acquire", R"({"names":["main"],"holder":"ana"})");
    counter.ask(ana, "sem.create", R"({"name":"s","capacity":1})");
    counter.ask(ana, "sem.acquire", R"({"name":"s","holder":"ana"})");
    counter.ask(ana, "task.add", R"({"title":"Fix bug"})");
    counter.ask(ana, "task.update", R"({"id":"Fix bug","status":"in_progress","runner":"ana"})");
  }

  std::string all_of(std::size_t client) {
    std::string all;
    for (const std::string& line : counter.read(client)) all += line;
    return all;
  }
};

// A method and what it wants, but for the braces and the wait.
struct Wait {
  std::string_view method;
  std::string_view params;
};

const std::vector<Wait> waits{
    {"lock.acquire", R"("names":["main"],"holder":"bo")"},
    {"sem.acquire", R"("name":"s","holder":"bo")"},
    {"queue.take", R"("queues":["q","p"],"holder":"bo")"},
    {"task.update", R"("id":"Fix bug","status":"in_progress","runner":"bo")"},
    {"task.next", R"("runner":"bo","start":true)"},
    {"decision.ask", R"("question":"Publish?")"},
};

std::string line_of(const Wait& wait, std::string_view milliseconds) {
  return R"({"id":"w","method":")" + std::string(wait.method) + R"(","params":{)" +
         std::string(wait.params) + R"(,"wait_ms":)" + std::string(milliseconds) + "}}";
}

TEST_F(Cancelling, EveryWaitIsAnsweredCancelled) {
  for (const Wait& wait : waits) {
    counter.send(bo, line_of(wait, "-1"));
    counter.settle();
    ASSERT_EQ(all_of(bo), "") << wait.method << " waits";
    const std::string told = counter.ask(bo, "request.cancel", R"({"id":"w"})");
    EXPECT_TRUE(has(told, {R"("id":"w","error")", "CANCELLED", R"("found":true)"})) << wait.method;
  }
}

TEST_F(Cancelling, SoIsOneThatIsCalledBackBeforeItIsKnownToWait) {
  for (const Wait& wait : waits) {
    counter.send(bo, line_of(wait, "-1"));
    counter.send(bo, R"({"id":2,"method":"request.cancel","params":{"id":"w"}})");
    counter.settle();
    EXPECT_TRUE(has(all_of(bo), {R"("id":"w","error")", "CANCELLED"})) << wait.method;
  }
}

TEST_F(Cancelling, SoIsOneWhoseConnectionSendsNothingMore) {
  for (const Wait& wait : waits) {
    const std::size_t cy = counter.connect();
    counter.send(cy, line_of(wait, "-1"));
    counter.settle();
    counter.connection(cy).end_of_input(counter.stamp);
    counter.settle();
    EXPECT_TRUE(has(all_of(cy), {R"("id":"w","error")", "CANCELLED"})) << wait.method;
    EXPECT_TRUE(counter.connection(cy).is_over()) << wait.method;
  }
}

TEST_F(Cancelling, ATakeWhoseTimeIsOverFoundNothing) {
  counter.send(bo, line_of(waits[2], "1000"));
  counter.settle();
  counter.pass(1000ms);
  EXPECT_TRUE(has(all_of(bo), {R"("id":"w","result")", R"("items":[])"}));
}

TEST_F(Cancelling, WhatWasTakenBeforeIsHandedOver) {
  counter.send(bo, line_of(waits[2], "-1"));
  counter.settle();
  counter.send(ana, R"({"id":1,"method":"queue.push","params":{"queue":"q","data":7}})");
  counter.send(bo, R"({"id":2,"method":"request.cancel","params":{"id":"w"}})");
  counter.settle();
  EXPECT_TRUE(has(all_of(bo), {R"("id":"w","result")", R"("data":7)"}));
}

}  // namespace
}  // namespace reeve::api
