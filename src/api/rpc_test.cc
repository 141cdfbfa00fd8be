#include "api/testing.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

namespace reeve::api {
namespace {

using namespace testing;

struct RpcTest : ::testing::Test {
  engine::testing::MemoryDisk disk;
  Counter counter{disk};
  std::size_t ana = counter.connect();
};

// ── Lines ──

TEST_F(RpcTest, AnAnswerCarriesTheIdAsItWas) {
  counter.send(ana, R"({"jsonrpc":"2.0","id":"a\"1","method":"session.hello"})");
  counter.send(ana, R"({"method":"session.hello","params":{},"id":1.50})");
  const auto lines = counter.read(ana);
  ASSERT_EQ(lines.size(), 2U);
  EXPECT_TRUE(has(lines[0], {R"({"jsonrpc":"2.0","id":"a\"1","result":{"seq":1,)"}));
  EXPECT_TRUE(has(lines[1], {R"("id":1.50,)"}));
}

TEST_F(RpcTest, ANotificationIsCarriedOutAndNotAnswered) {
  counter.send(ana, R"({"method":"queue.push","params":{"queue":"q","data":1}})");
  counter.send(ana, R"({"method":"queue.push","params":{"queue":"q"}})");
  counter.settle();
  EXPECT_TRUE(counter.read(ana).empty());
  EXPECT_EQ(counter.engine().state().queues.items.size(), 1U);
}

TEST_F(RpcTest, ANotificationOfNoMethodIsNotAnsweredEither) {
  counter.send(ana, R"({"method":"nope"})");
  counter.send(ana, R"({"method":"nope","params":{"x":1}})");
  EXPECT_TRUE(counter.read(ana).empty());
}

TEST_F(RpcTest, WhatIsWrongWithAMessageIsSaid) {
  const auto said = [&](std::string_view line) {
    counter.send(ana, line);
    return counter.read(ana).at(0);
  };
  EXPECT_TRUE(has(said(R"({"id":1,"method":5})"), {"method must be a string"}));
  EXPECT_TRUE(has(said(R"({"id":1})"), {"method is missing"}));
  for (const std::string_view line :
       {R"({"id":1,"id":2,"method":"session.hello"})",
        R"({"id":1,"method":"session.hello","method":"x"})",
        R"({"id":1,"method":"session.hello","params":{},"params":{}})"}) {
    EXPECT_TRUE(has(said(line), {"-32600", "is there twice"}));
  }
}

TEST_F(RpcTest, BytesMayComeInAnyPieces) {
  const std::string text = R"({"id":7,"method":"session.hello"})"
                           "\n";
  for (const char c : text) counter.connection(ana).receive({&c, 1}, counter.stamp);
  EXPECT_TRUE(has(counter.read(ana).at(0), {R"("id":7)"}));
  EXPECT_EQ(counter.connection(ana).buffered(), 0U);
}

TEST_F(RpcTest, BehindAHelloThatWasRefusedNothingIsDoneInAnotherProject) {
  counter.send(ana,
               R"({"id":1,"method":"session.hello","params":{"project":"nope"}})"
               "\n"
               R"({"id":2,"method":"lock.acquire","params":{"names":["leak"],"holder":"ana"}})");
  const std::vector<std::string> refused = counter.read(ana);
  ASSERT_EQ(refused.size(), 2U);
  EXPECT_TRUE(has(refused[0], {R"("id":1)", "NOT_FOUND"}));
  EXPECT_TRUE(has(refused[1], {R"("id":2)", "NOT_FOUND", "nope"}));
  counter.send(ana,
               R"({"id":3,"method":"session.hello"})"
               "\n"
               R"({"id":4,"method":"lock.acquire","params":{"names":["leak"],"holder":"ana"}})");
  counter.settle();
  EXPECT_TRUE(has(counter.read(ana).back(), {R"("id":4)", "acquired"}));
}

TEST_F(RpcTest, EmptyLinesAreNothing) {
  counter.connection(ana).receive("\n\r\n  \n", counter.stamp);
  EXPECT_TRUE(counter.read(ana).empty());
}

TEST_F(RpcTest, BadLinesGetAClearErrorAndHarmNobody) {
  const std::pair<std::string, std::string> bad[] = {
      {"{", "-32700"},
      {"hello", "-32700"},
      {"{\"id\":1,\"method\":\"x\xff\"}", "-32700"},
      {R"({"id":1,"method":"session.hello"} x)", "-32700"},
      {R"([{"id":1,"method":"session.hello"}])", "-32600"},
      {"42", "-32600"},
      {R"({"id":1})", "-32600"},
      {R"({"id":1,"method":7})", "-32600"},
      {R"({"id":{},"method":"session.hello"})", "-32600"},
      {R"({"id":1,"method":"session.hello","extra":1})", "-32600"},
      {R"({"id":1,"jsonrpc":"1.0","method":"session.hello"})", "-32600"},
      {R"({"id":1,"method":"session.helo"})", "-32601"},
      {R"({"id":1,"method":"session.hello","params":[]})", "-32602"},
      {R"({"id":1,"method":"session.hello","params":{"porject":"x"}})", "-32602"},
      {R"({"id":1,"method":"lock.release","params":{"name":"a","name":"b"}})", "-32602"},
      {R"({"id":1,"method":"queue.push","params":{"queue":"q","data":)" + std::string(70, '[') +
           std::string(70, ']') + "}}",
       "-32700"},
  };
  for (const auto& [line, code] : bad) {
    counter.send(ana, line);
    const auto lines = counter.read(ana);
    ASSERT_EQ(lines.size(), 1U) << line;
    EXPECT_TRUE(has(lines[0], {"\"error\":{\"code\":" + code})) << line;
  }
  EXPECT_TRUE(has(counter.ask(ana, "session.hello"), {"result"}));
}

TEST_F(RpcTest, AMisspeltWordIsToldWithTheNearestOne) {
  EXPECT_TRUE(has(counter.ask(ana, "queue.psuh"), {R"(did you mean \"queue.push\"?)"}));
  EXPECT_TRUE(has(counter.ask(ana, "queue.push", R"({"queue":"q","data":1,"priorty":3})"),
                  {R"(did you mean \"priority\"?)", R"("field":"priorty")"}));
  EXPECT_TRUE(has(counter.ask(ana, "lock.list", R"({"project":"defualt"})"),
                  {"NOT_FOUND", R"("nearest":"default")"}));
}

TEST_F(RpcTest, ALineThatIsTooLongEndsTheConnection) {
  const std::string piece(1 << 20, 'x');
  for (int i = 0; i < 4; ++i) counter.connection(ana).receive(piece, counter.stamp);
  EXPECT_FALSE(counter.connection(ana).is_over());
  counter.connection(ana).receive("x", counter.stamp);
  EXPECT_TRUE(counter.connection(ana).is_over());
  EXPECT_EQ(counter.connection(ana).buffered(), 0U);
  EXPECT_TRUE(has(counter.read(ana).at(0), {"-32600", "4 MiB"}));
}

// ── Waiting ──

TEST_F(RpcTest, ARequestThatWaitsDoesNotHoldUpTheOthers) {
  const std::size_t bo = counter.connect();
  counter.ask(ana, "lock.acquire", R"({"names":["main"],"holder":"ana"})");
  counter.send(
      bo,
      R"({"id":1,"method":"lock.acquire","params":{"names":["main"],"holder":"bo","wait_ms":-1}})");
  counter.send(bo, R"({"id":2,"method":"session.hello"})");
  counter.settle();
  auto lines = counter.read(bo);
  ASSERT_EQ(lines.size(), 1U);
  EXPECT_TRUE(has(lines[0], {R"("id":2)"}));
  counter.ask(ana, "lock.release", R"({"name":"main","holder":"ana"})");
  lines = counter.read(bo);
  ASSERT_EQ(lines.size(), 1U);
  EXPECT_TRUE(has(lines[0], {R"("id":1)", R"("outcome":"acquired")", R"("token":2)"}));
}

TEST_F(RpcTest, AWaitEndsAtItsLimitAndSaysSo) {
  const std::size_t bo = counter.connect();
  counter.ask(ana, "lock.acquire", R"({"names":["main"],"holder":"ana"})");
  EXPECT_EQ(counter.ask(bo, "lock.acquire", R"({"names":["main"],"holder":"bo","wait_ms":2000})"),
            "");
  counter.pass(1999ms);
  EXPECT_TRUE(counter.read(bo).empty());
  counter.pass(1ms);
  EXPECT_TRUE(has(counter.read(bo).at(0), {"LOCKED", R"("waited":true)"}));
}

TEST_F(RpcTest, ACancelledRequestIsAnsweredForItself) {
  const std::size_t bo = counter.connect();
  counter.ask(ana, "lock.acquire", R"({"names":["main"],"holder":"ana"})");
  // In one breath: the request is not yet known to wait when it is cancelled.
  counter.send(
      bo,
      R"({"id":"w","method":"lock.acquire","params":{"names":["main"],"holder":"bo","wait_ms":-1}})");
  counter.send(bo, R"({"id":2,"method":"request.cancel","params":{"id":"w"}})");
  counter.send(bo, R"({"id":3,"method":"request.cancel","params":{"id":"no"}})");
  counter.settle();
  std::string all;
  for (const std::string& line : counter.read(bo)) all += line;
  EXPECT_TRUE(has(all,
                  {R"("id":2,"result":{"seq":2,"found":true})",
                   R"("found":false)",
                   R"("id":"w","error")",
                   "CANCELLED"}));
  EXPECT_TRUE(counter.engine().state().grants.waiters.empty());
}

TEST_F(RpcTest, WhoSendsNothingMoreIsAnsweredAndNoLongerWaits) {
  const std::size_t bo = counter.connect();
  counter.ask(ana, "lock.acquire", R"({"names":["main"],"holder":"ana"})");
  counter.send(
      bo,
      R"({"id":1,"method":"lock.acquire","params":{"names":["main"],"holder":"bo","wait_ms":-1}})");
  counter.connection(bo).receive(
      R"({"id":2,"method":"queue.push","params":{"queue":"q","data":1}})", counter.stamp);
  counter.connection(bo).end_of_input(counter.stamp);  // ends the last line, too
  EXPECT_FALSE(counter.connection(bo).is_over());
  counter.settle();
  std::string all;
  for (const std::string& line : counter.read(bo)) all += line;
  EXPECT_TRUE(has(all, {"item-", "CANCELLED"}));
  EXPECT_TRUE(counter.connection(bo).is_over());
}

TEST_F(RpcTest, OnlySoManyRequestsOfAConnectionMayWait) {
  counter.ask(ana, "lock.acquire", R"({"names":["main"],"holder":"ana"})");
  const std::size_t bo = counter.connect();
  const std::string wait = R"({"names":["main"],"holder":"bo","wait_ms":-1})";
  for (std::size_t i = 0; i < limits::waiting_requests; ++i) {
    counter.send(bo, R"({"id":1,"method":"lock.acquire","params":)" + wait + "}");
  }
  counter.settle();
  counter.read(bo);
  EXPECT_TRUE(has(counter.ask(bo, "lock.acquire", wait), {"TOO_MUCH", R"("limit":1000)"}));
}

TEST_F(RpcTest, WhoDoesNotReadIsReadNoFurther) {
  const std::string big(1 << 20, 'x');
  counter.ask(ana, "queue.push", R"({"queue":"q","data":")" + big.substr(0, 1'000'000) + "\"}");
  for (int i = 0; i < 5; ++i) {
    EXPECT_TRUE(counter.connection(ana).wants_input());
    counter.send(ana, R"({"id":1,"method":"queue.peek","params":{"queue":"q"}})");
    counter.settle();
  }
  EXPECT_FALSE(counter.connection(ana).wants_input());
  // What was read already is answered, but its text is made only when there is room for it.
  for (int i = 0; i < 20; ++i) {
    counter.send(ana, R"({"id":1,"method":"queue.peek","params":{"queue":"q"}})");
  }
  counter.settle();
  EXPECT_LT(counter.connection(ana).output().size(), limits::undelivered_bytes + 1'100'000);
  EXPECT_EQ(counter.read(ana).size(), 25U);
  EXPECT_TRUE(counter.connection(ana).wants_input());
}

TEST_F(RpcTest, AnAnswerThatDidNotReachTheSocketIsTakenBack) {
  const std::size_t bo = counter.connect();
  const std::size_t cy = counter.connect();
  counter.ask(ana, "lock.acquire", R"({"names":["main"],"holder":"ana"})");
  counter.ask(bo, "lock.acquire", R"({"names":["main"],"holder":"bo","wait_ms":-1})");
  counter.ask(cy, "lock.acquire", R"({"names":["main"],"holder":"cy","wait_ms":-1})");
  counter.ask(ana, "lock.release", R"({"name":"main","holder":"ana"})");
  const std::string_view output = counter.connection(bo).output();
  ASSERT_FALSE(output.empty());
  counter.connection(bo).written(output.size() - 1);  // all but the last byte
  counter.disconnect(bo);
  counter.settle();
  EXPECT_TRUE(has(counter.read(cy).at(0), {R"("holder":"cy")"}));
}

TEST_F(RpcTest, AnAnswerThatReachedTheSocketStands) {
  const std::size_t bo = counter.connect();
  counter.ask(ana, "lock.acquire", R"({"names":["main"],"holder":"ana"})");
  counter.ask(bo, "lock.acquire", R"({"names":["main"],"holder":"bo","wait_ms":-1})");
  counter.ask(ana, "lock.release", R"({"name":"main","holder":"ana"})");
  EXPECT_EQ(counter.read(bo).size(), 1U);
  counter.disconnect(bo);
  EXPECT_TRUE(has(counter.ask(ana, "lock.show", R"({"name":"main"})"), {R"("holder":"bo")"}));
}

TEST_F(RpcTest, AnAnswerToSomebodyWhoLeftMeanwhileIsTakenBack) {
  const std::size_t bo = counter.connect();
  counter.ask(bo, "queue.take", R"({"queues":["q"],"holder":"bo","wait_ms":-1})");
  counter.send(ana, R"({"id":1,"method":"queue.push","params":{"queue":"q","data":1}})");
  counter.disconnect(bo);  // decided, and not yet durable
  counter.settle();
  EXPECT_TRUE(has(counter.ask(ana, "queue.stats", R"({"queue":"q"})"), {R"("pending":1)"}));
}

// ── Sessions ──

TEST_F(RpcTest, WhatIsBoundIsFreeWhenTheConnectionEnds) {
  const std::size_t bo = counter.connect();
  EXPECT_TRUE(has(counter.ask(bo, "lock.acquire", R"({"names":["main"],"bind":true})"),
                  {R"("holder":"session-3e9")"}));
  EXPECT_TRUE(
      has(counter.ask(ana, "lock.acquire", R"({"names":["main"],"holder":"a"})"), {"LOCKED"}));
  counter.disconnect(bo);
  EXPECT_TRUE(
      has(counter.ask(ana, "lock.acquire", R"({"names":["main"],"holder":"a"})"), {"acquired"}));
}

TEST_F(RpcTest, ASessionComesBackAfterARestartAndHasItsPlaceAgain) {
  const std::size_t bo = counter.connect();
  counter.ask(ana, "lock.acquire", R"({"names":["main"],"holder":"a","timeout_ms":600000})");
  counter.ask(
      bo, "lock.acquire", R"({"names":["main"],"holder":"bo","bind":true,"wait_ms":-1,"key":"k"})");

  Counter again(disk, SessionId{5000});
  const std::size_t cy = again.connect();
  const std::size_t bo2 = again.connect();
  again.ask(cy, "lock.acquire", R"({"names":["main"],"holder":"cy","wait_ms":-1})");
  EXPECT_TRUE(has(again.ask(bo2, "session.resume", R"({"session":"77"})"), {"NOT_FOUND"}));
  EXPECT_TRUE(has(again.ask(bo2, "session.resume", R"({"session":"3e9"})"), {"result"}));
  EXPECT_TRUE(has(again.ask(cy, "session.resume", R"({"session":"3e9"})"), {"NOT_FOUND"}))
      << "it has its connection";
  EXPECT_EQ(again.ask(bo2,
                      "lock.acquire",
                      R"({"names":["main"],"holder":"bo","bind":true,"wait_ms":-1,"key":"k"})"),
            "");
  again.ask(cy, "lock.release", R"({"name":"main","holder":"a"})");
  EXPECT_TRUE(has(again.read(bo2).at(0), {"acquired", R"("holder":"bo")"}));
  EXPECT_TRUE(again.read(cy).empty());
  again.disconnect(bo2);
  again.settle();
  EXPECT_TRUE(has(again.read(cy).at(0), {R"("holder":"cy")"}));
}

TEST_F(RpcTest, WhoDoesNotComeBackInTenSecondsHasLostItsPlace) {
  const std::size_t bo = counter.connect();
  counter.ask(bo, "lock.acquire", R"({"names":["main"],"bind":true,"timeout_ms":600000})");
  Counter again(disk, SessionId{5000});
  const std::size_t cy = again.connect();
  again.pass(9999ms);
  EXPECT_TRUE(
      has(again.ask(cy, "lock.acquire", R"({"names":["main"],"holder":"cy"})"), {"LOCKED"}));
  again.pass(1ms);
  EXPECT_TRUE(
      has(again.ask(cy, "lock.acquire", R"({"names":["main"],"holder":"cy"})"), {"acquired"}));
  EXPECT_TRUE(has(again.ask(cy, "session.resume", R"({"session":"3e9"})"), {"NOT_FOUND"}));
}

TEST_F(RpcTest, AProjectIsTheConnectionsOrTheRequests) {
  counter.send(
      ana, R"({"id":1,"method":"session.hello","params":{"path":"/home/ana/shop","name":"shop"}})");
  counter.send(
      ana, R"({"id":2,"method":"lock.acquire","params":{"names":["main","//all"],"holder":"a"}})");
  counter.settle();
  EXPECT_TRUE(has(counter.read(ana).at(0), {R"("project":"shop")", R"("version":"9.9")"}));
  EXPECT_TRUE(counter.engine().state().locks.locks.contains({ProjectNo{2}, "main"}));
  EXPECT_TRUE(counter.engine().state().locks.locks.contains({shared_project, "all"}));
  const std::size_t bo = counter.connect();
  EXPECT_TRUE(has(counter.ask(bo, "lock.show", R"({"name":"main"})"), {R"("state":"free")"}));
  EXPECT_TRUE(has(counter.ask(bo, "lock.show", R"({"name":"main","project":"shop"})"),
                  {R"("holder":"a")"}));
  EXPECT_TRUE(
      has(counter.ask(bo, "session.hello", R"({"project":"shop"})"), {R"("project":"shop")"}));
  EXPECT_TRUE(has(counter.ask(bo, "lock.show", R"({"name":"main"})"), {R"("holder":"a")"}));
}

TEST_F(RpcTest, AKeyIsAppliedOnce) {
  const std::string push = R"({"queue":"q","data":1,"key":"k"})";
  const std::string first = counter.ask(ana, "queue.push", push);
  EXPECT_EQ(counter.ask(ana, "queue.push", push), first);
  EXPECT_TRUE(
      has(counter.ask(ana, "queue.push", R"({"queue":"q","data":2,"key":"k"})"), {"KEY_REUSED"}));
  EXPECT_EQ(counter.engine().state().queues.items.size(), 1U);
}

TEST_F(RpcTest, AnErrorTellsItsPlaceInTheOrderAsAResultDoes) {
  const auto seq = [&] { return R"("seq":)" + std::to_string(counter.engine().durable()) + "}}}"; };
  counter.ask(ana, "lock.acquire", R"({"names":["main"],"holder":"ana"})");
  const std::string busy = counter.ask(ana, "lock.acquire", R"({"names":["main"],"holder":"bo"})");
  EXPECT_TRUE(has(busy, {R"("code":"LOCKED","details":{)", seq()}));
  EXPECT_TRUE(has(counter.ask(ana, "lock.release", R"({"name":"main","holder":"bo"})"), {seq()}));
  counter.ask(ana, "queue.push", R"({"queue":"q","data":1})");
  EXPECT_TRUE(has(counter.ask(ana, "task.show", R"({"id":"task-none"})"), {"error", seq()}));

  const std::string misspelt = counter.ask(ana, "lock.acquire", R"({"nams":["main"]})");
  EXPECT_TRUE(has(misspelt, {"BAD_PARAMS"}));
  EXPECT_EQ(misspelt.find(R"("seq":)"), std::string::npos) << "nobody judged it";
}

TEST_F(RpcTest, TheSameRequestOverAnotherConnectionTakesItsPlace) {
  counter.ask(ana, "lock.acquire", R"({"names":["main"],"holder":"ana"})");
  const std::size_t one = counter.connect();
  const std::size_t two = counter.connect();
  const std::string wait = R"({"names":["main"],"holder":"bo","wait_ms":-1,"key":"k"})";
  EXPECT_EQ(counter.ask(one, "lock.acquire", wait), "");
  EXPECT_EQ(counter.ask(two, "lock.acquire", wait), "");
  EXPECT_TRUE(has(counter.read(one).at(0), {"CANCELLED", "another connection"}));
  counter.ask(ana, "lock.release", R"({"name":"main","holder":"ana"})");
  EXPECT_TRUE(has(counter.read(two).at(0), {"acquired"}));
}

// ── The end ──

TEST_F(RpcTest, WhenTheJournalFailsEverybodyIsTold) {
  const std::size_t bo = counter.connect();
  counter.ask(ana, "lock.acquire", R"({"names":["main"],"holder":"ana"})");
  counter.ask(bo, "lock.acquire", R"({"names":["main"],"holder":"bo","wait_ms":-1})");
  disk.fails = Error{Error::Code::Io, "the disk said no"};
  const std::string told = counter.ask(ana, "sem.create", R"({"name":"s","capacity":1})");
  EXPECT_TRUE(has(told, {"UNAVAILABLE", "the disk said no"}));
  counter.desk().give_up(*counter.engine().wants_stop());
  EXPECT_TRUE(has(counter.read(bo).at(0), {"UNAVAILABLE"}));
  EXPECT_TRUE(has(counter.ask(ana, "queue.push", R"({"queue":"q","data":1})"), {"UNAVAILABLE"}));
}

// What is told with a look at the state too, whatever was asked behind it; each once.
TEST_F(RpcTest, WhenTheJournalFailsWhoAskedBeforeOthersIsToldToo) {
  disk.fails = Error{Error::Code::Io, "the disk said no"};
  counter.send(ana, R"({"id":1,"method":"sem.create","params":{"name":"s","capacity":1}})");
  counter.send(ana, R"({"id":2,"method":"queue.push","params":{"queue":"q","data":1}})");
  counter.send(ana, R"({"id":3,"method":"sem.create","params":{"name":"t","capacity":1}})");
  counter.settle();
  std::vector<std::string> told = counter.read(ana);
  std::ranges::sort(told);
  ASSERT_EQ(told.size(), 3U);
  for (std::size_t i = 0; i < told.size(); ++i) {
    EXPECT_TRUE(has(told[i], {R"("id":)" + std::to_string(i + 1), "UNAVAILABLE"}));
  }
}

TEST_F(RpcTest, NothingIsToldBeforeItIsDurable) {
  counter.send(ana, R"({"id":1,"method":"queue.push","params":{"queue":"q","data":1}})");
  counter.send(ana, R"({"id":2,"method":"queue.stats","params":{}})");
  counter.engine().deliver();
  EXPECT_TRUE(counter.read(ana).empty());
  counter.commit();
  counter.engine().deliver();
  EXPECT_EQ(counter.read(ana).size(), 2U);
}

TEST_F(RpcTest, TheDaemonTellsOfItselfAndStops) {
  EXPECT_TRUE(
      has(counter.ask(ana, "daemon.status"),
          {R"("pid":4242)", R"("home":"/home/ana")", R"("ready":true)", R"("checkpoint_seq")"}));
  EXPECT_TRUE(has(counter.ask(ana, "daemon.checkpoint"), {R"("result":{"seq":1})"}));
  EXPECT_TRUE(has(counter.ask(ana, "daemon.stop", R"({"kil":true})"), {"-32602"}));
  EXPECT_EQ(counter.stopped, 0);
  EXPECT_TRUE(has(counter.ask(ana, "daemon.stop"), {"result"}));
  EXPECT_EQ(counter.stopped, 1);
}

}  // namespace
}  // namespace reeve::api
