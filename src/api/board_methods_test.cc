#include "api/testing.h"

#include <gtest/gtest.h>

#include <string>

// What the methods of the board say. Time stands still unless a test moves it: it is the 20th of
// December 2019, midnight.
namespace reeve::api {
namespace {

using namespace testing;

struct BoardMethods : ::testing::Test {
  engine::testing::MemoryDisk disk;
  Counter counter{disk};
  std::size_t ana = counter.connect();
  std::size_t bo = counter.connect();

  std::string ask(std::string_view method, std::string_view params = "{}") {
    return counter.ask(ana, method, params);
  }
  // The id of a new task.
  std::string add(std::string_view title, std::string_view more = "") {
    const std::string added =
        ask("task.add", R"({"title":")" + std::string(title) + R"(")" + std::string(more) + "}");
    const std::size_t at = added.find("task-");
    return at == std::string::npos ? added : added.substr(at, added.find('"', at) - at);
  }
  std::string update(std::string_view task, std::string_view status, std::string_view runner) {
    return ask("task.update",
               R"({"id":")" + std::string(task) + R"(","status":")" + std::string(status) +
                   R"(","runner":")" + std::string(runner) + R"("})");
  }
  std::string start(std::string_view task, std::string_view runner) {
    return update(task, "in_progress", runner);
  }

  // Of one lock each.
  std::size_t pages_of_locks() {
    std::string page = ask("locks.list", R"({"limit":1})");
    std::size_t pages = 1;
    for (std::size_t at = page.find(R"("next":")"); at != std::string::npos;
         at = page.find(R"("next":")")) {
      const std::size_t begin = at + 8;
      const std::string next = page.substr(begin, page.find('"', begin) - begin);
      page = ask("locks.list", R"({"limit":1,"after":")" + next + R"("})");
      ++pages;
    }
    return pages;
  }
};

// ── Tasks ──

TEST_F(BoardMethods, AddingTellsIdTitleSectionAndStatus) {
  const std::string added = ask("task.add", R"({"title":"Fix bug","section":"backend"})");
  EXPECT_TRUE(has(added,
                  {R"("id":"task-)",
                   R"("title":"Fix bug","section":"backend","status":"pending","priority":0)"}));
  EXPECT_TRUE(has(ask("task.add", R"({"title":"tidy","priority":-3})"),
                  {R"("section":null)", R"("priority":-3)"}));
  EXPECT_TRUE(has(ask("task.add", R"({"title":""})"), {"BAD_VALUE", R"("field":"title")"}));
  EXPECT_TRUE(has(ask("task.add", R"({"title":"  "})"), {"is not all blanks"}));
  EXPECT_TRUE(has(ask("task.add", R"({"title":"x","priority":4000000000})"), {"priority"}));
}

TEST_F(BoardMethods, StartingTellsTokenAndLimit) {
  const std::string id = add("Fix bug", R"(,"section":"backend")");
  EXPECT_TRUE(has(start("Fix bug", "ana"),
                  {R"("id":")" + id + '"',
                   R"("status":"in_progress")",
                   R"("runner":"ana")",
                   R"("expires_at":"2019-12-20T01:00:00.000Z")",
                   R"("outcome":"started")",
                   R"("section_token":)",
                   R"("took_section":true)"}));
  EXPECT_TRUE(has(start(id, "ana"), {R"("outcome":"extended")", R"("took_section":false)"}));
}

// The envelope is the seed's: nothing less, and nothing more.
TEST_F(BoardMethods, ALockedTaskIsToldInTheWordsOfTheSeed) {
  const std::string id = add("Fix bug");
  start(id, "ana");
  EXPECT_TRUE(has(start(id, "bo"),
                  {R"("message":"Task is locked by another runner","data":{"code":"TASK_LOCKED",)"
                   R"("details":{"taskId":")" +
                   id + R"(","lockedBy":"ana","expiresAt":"2019-12-20T01:00:00.000Z"},"seq":)"}));
}

TEST_F(BoardMethods, ALockedSectionIsToldInTheWordsOfTheSeed) {
  start(add("one", R"(,"section":"backend")"), "ana");
  EXPECT_TRUE(
      has(start(add("two", R"(,"section":"backend")"), "bo"),
          {R"("message":"Section is locked by another runner","data":{"code":"SECTION_LOCKED",)"
           R"("details":{"sectionId":"backend","lockedBy":"ana",)"
           R"("expiresAt":"2019-12-20T02:00:00.000Z"},"seq":)"}));
}

TEST_F(BoardMethods, ATaskIsFoundByIdTitleAndTheBeginningOfItsId) {
  const std::string id = add("Fix bug");
  for (const std::string& text : {id, std::string("Fix bug"), id.substr(0, 8), id.substr(5)}) {
    EXPECT_TRUE(has(ask("task.show", R"({"id":")" + text + R"("})"), {R"("id":")" + id + '"'}))
        << text;
    EXPECT_TRUE(
        has(ask("task.note", R"({"id":")" + text + R"(","text":"n"})"), {R"("id":")" + id + '"'}))
        << text;
  }
  EXPECT_TRUE(
      has(ask("task.show", R"({"id":"Fix bag"})"), {"NOT_FOUND", R"(did you mean \"Fix bug\"?)"}));
  EXPECT_TRUE(has(ask("task.remove", R"({"id":"nothing"})"), {"NOT_FOUND", R"("kind":"task")"}));
  add("Fix bug");
  EXPECT_TRUE(has(ask("task.show", R"({"id":"Fix bug"})"), {"AMBIGUOUS"}));
  EXPECT_TRUE(has(start("Fix bug", "ana"), {"AMBIGUOUS"}));
  EXPECT_TRUE(has(update(id, "completed", ""), {R"("status":"completed")"}));
  EXPECT_TRUE(has(ask("task.show", R"({"id":"Fix bug"})"), {R"("status":"pending")"}));
  EXPECT_TRUE(has(start("Fix bug", "ana"), {R"("outcome":"started")"})) << "only one is open";
}

TEST_F(BoardMethods, EveryEndReleasesAndIsSaidOnce) {
  for (const char* status : {"review", "completed", "failed", "skipped"}) {
    const std::string id = add(status);
    start(id, "ana");
    const std::string ended = update(id, status, "ana");
    EXPECT_TRUE(has(ended, {R"("status":")" + std::string(status) + '"', R"("ended_at")"}));
    EXPECT_EQ(ended.find("runner"), std::string::npos);
    EXPECT_TRUE(has(update(id, status, "ana"), {"TASK_FINISHED", R"("taskId":")" + id + '"'}));
  }
  EXPECT_TRUE(has(update("failed", "pending", ""), {R"("status":"pending")"})) << "reopened";
  EXPECT_TRUE(has(update("failed", "open", ""), {"-32602", R"("field":"status")"}));
  EXPECT_TRUE(has(ask("task.update", R"({"id":"failed","status":"in_progress"})"),
                  {"-32602", R"("field":"runner")"}));
}

TEST_F(BoardMethods, AnEndWithANoteKeepsIt) {
  const std::string id = add("Fix bug", R"(,"note":"first")");
  ask("task.update", R"({"id":"Fix bug","status":"failed","runner":"ana","note":"it rained"})");
  EXPECT_TRUE(has(ask("task.show", R"({"id":")" + id + R"("})"),
                  {R"("text":"first")", R"("by":"ana","text":"it rained")"}));
}

TEST_F(BoardMethods, WhoLostTheLockIsTold) {
  const std::string id = add("Fix bug");
  const std::string started = start(id, "ana");
  const std::size_t at = started.find(R"("token":)") + 8;
  const std::string token = started.substr(at, started.find(',', at) - at);
  counter.pass(60min + 1ms);
  EXPECT_TRUE(has(start(id, "bo"), {R"("outcome":"claimed")", R"("claimed_from":"ana")"}));
  EXPECT_TRUE(has(ask("task.heartbeat", R"({"id":")" + id + R"(","runner":"ana"})"),
                  {"LOST", R"("taskId":")" + id + '"', R"("lockedBy":"bo")"}));
  EXPECT_TRUE(has(
      ask("task.update",
          R"({"id":")" + id + R"(","status":"completed","runner":"ana","token":)" + token + "}"),
      {"LOST", R"("lockedBy":"bo")"}));
  EXPECT_TRUE(has(update(id, "completed", "ana"), {"TASK_LOCKED", R"("lockedBy":"bo")"}));
}

TEST_F(BoardMethods, ARequestThatWaitsIsAnsweredWhenItIsItsTurn) {
  const std::string id = add("Fix bug");
  start(id, "ana");
  counter.send(bo,
               R"({"id":7,"method":"task.update","params":{"id":"Fix bug",)"
               R"("status":"in_progress","runner":"bo","wait_ms":60000}})");
  counter.settle();
  EXPECT_TRUE(counter.read(bo).empty());
  EXPECT_TRUE(has(ask("task.show", R"({"id":"Fix bug"})"),
                  {R"("waiters":[{"runner":"bo","task":")" + id, R"("waiting":1)"}));
  update(id, "pending", "ana");
  const std::vector<std::string> answers = counter.read(bo);
  ASSERT_EQ(answers.size(), 1u);
  EXPECT_TRUE(has(answers[0], {R"("id":7)", R"("outcome":"started")", R"("title":"Fix bug")"}));
}

TEST_F(BoardMethods, AWaitIsEndedByItsLimitItsBoardOrItsClient) {
  start(add("Fix bug"), "ana");
  const auto wait = [&](std::string_view milliseconds) {
    counter.send(bo,
                 R"({"id":7,"method":"task.update","params":{"id":"Fix bug",)"
                 R"("status":"in_progress","runner":"bo","wait_ms":)" +
                     std::string(milliseconds) + "}}");
    counter.settle();
  };
  wait("1000");
  counter.pass(1000ms);
  EXPECT_TRUE(has(counter.read(bo).at(0), {"TASK_LOCKED"}));
  wait("-1");
  counter.pass(30min - 1ms);
  EXPECT_TRUE(counter.read(bo).empty());
  counter.pass(1ms);
  EXPECT_TRUE(has(counter.read(bo).at(0), {"TASK_LOCKED"})) << "30 minutes, unless told";
  wait("-1");
  EXPECT_TRUE(has(counter.ask(bo, "request.cancel", R"({"id":7})"), {"CANCELLED"}));
}

TEST_F(BoardMethods, NextNamesOrStartsTheFirst) {
  EXPECT_TRUE(has(ask("task.next", R"({"runner":"ana"})"), {R"("id":null,"open":false)"}));
  const std::string one = add("one", R"(,"section":"backend")");
  const std::string two = add("two", R"(,"section":"frontend","priority":9)");
  EXPECT_TRUE(has(ask("task.next", R"({"runner":"ana"})"), {one, R"("status":"pending")"}));
  EXPECT_TRUE(
      has(ask("task.next", R"({"runner":"ana","start":true})"), {one, R"("outcome":"started")"}));
  EXPECT_TRUE(has(ask("task.next", R"({"runner":"bo","section":"backend"})"), {"SECTION_LOCKED"}));
  EXPECT_TRUE(has(ask("task.next", R"({"runner":"bo","in_order":true})"), {"SECTION_LOCKED"}));
  EXPECT_TRUE(has(ask("task.next", R"({"runner":"bo","start":true})"), {two}));
  EXPECT_TRUE(has(ask("task.next", R"({"runner":"cy"})"), {R"("id":null,"open":true)"}));
  EXPECT_TRUE(has(ask("task.next", R"({"runner":"cy","section":"back"})"),
                  {"NOT_FOUND", R"("kind":"section")"}));
}

TEST_F(BoardMethods, TasksComeInPagesAndByStatusAndSection) {
  const std::string one = add("one", R"(,"section":"backend")");
  const std::string two = add("two");
  const std::string three = add("three", R"(,"section":"backend")");
  update(three, "skipped", "");
  const std::string first = ask("task.list", R"({"limit":2})");
  EXPECT_TRUE(has(first, {one, two, R"("next":")" + two + '"'}));
  const std::string last = ask("task.list", R"({"limit":2,"after":")" + two + R"("})");
  EXPECT_TRUE(has(last, {three}));
  EXPECT_EQ(last.find("next"), std::string::npos);
  EXPECT_EQ(ask("task.list", R"({"open":true})").find(three), std::string::npos);
  EXPECT_EQ(ask("task.list", R"({"status":"skipped"})").find(one), std::string::npos);
  EXPECT_EQ(ask("task.list", R"({"section":"backend"})").find(two), std::string::npos);
  EXPECT_TRUE(has(ask("task.list", R"({"section":"backnd"})"),
                  {"NOT_FOUND", R"("kind":"section")", R"("nearest":"backend")"}));
}

TEST_F(BoardMethods, WhatEndedInASectionThatWasRemovedIsListedStill) {
  const std::string one = add("one", R"(,"section":"backend")");
  update(one, "completed", "");
  ask("section.remove", R"({"name":"backend"})");
  EXPECT_TRUE(has(ask("task.list", R"({"section":"backend"})"), {one}));
}

// ── Sections and settings ──

TEST_F(BoardMethods, SectionsStandInTheOrderOfTheirMaking) {
  for (const char* name : {"zoo", "ape", "//all"}) {
    ask("section.add", R"({"name":")" + std::string(name) + R"("})");
  }
  EXPECT_TRUE(has(ask("section.add", R"({"name":"zoo"})"), {"EXISTS"}));
  const std::string all = ask("section.list");
  EXPECT_LT(all.find(R"("name":"zoo")"), all.find(R"("name":"ape")"));
  EXPECT_LT(all.find(R"("name":"ape")"), all.find(R"("name":"//all")"));
  const std::string first = ask("section.list", R"({"limit":1})");
  EXPECT_TRUE(has(first, {"zoo", R"("next":"2")"}));
  EXPECT_TRUE(has(ask("section.list", R"({"limit":1,"after":"2"})"), {"ape", R"("next":"//1")"}));
  EXPECT_TRUE(has(ask("section.list", R"({"after":"//1"})"), {"//all"}));
  EXPECT_TRUE(has(ask("section.list", R"({"after":"x"})"), {"-32602"}));
  add("one", R"(,"section":"zoo")");
  EXPECT_TRUE(has(ask("section.remove", R"({"name":"zoo"})"), {"NOT_ALLOWED", "has open tasks"}));
  EXPECT_TRUE(has(ask("section.remove", R"({"name":"ape"})"), {R"("name":"ape")"}));
  EXPECT_TRUE(has(ask("section.show", R"({"name":"ape"})"), {"NOT_FOUND"}));
}

TEST_F(BoardMethods, ARunnerLetsGoOfItsSection) {
  const std::string one = add("one", R"(,"section":"backend")");
  add("two", R"(,"section":"backend")");
  start(one, "ana");
  EXPECT_TRUE(has(ask("section.release", R"({"name":"backend","runner":"bo"})"),
                  {"LOST", R"("sectionId":"backend","lockedBy":"ana")"}));
  EXPECT_TRUE(has(ask("section.release", R"({"name":"backend","runner":"ana"})"),
                  {"NOT_ALLOWED", "it holds " + one}));
  update(one, "completed", "ana");
  EXPECT_TRUE(has(ask("section.show", R"({"name":"backend"})"),
                  {R"("open":1,"runner":"ana")", R"("title":"two")"}));
  const std::string released = ask("section.release", R"({"name":"backend","runner":"ana"})");
  EXPECT_EQ(released.find("runner"), std::string::npos);
  EXPECT_TRUE(has(released, {R"("outcome":"released")"}));
  EXPECT_TRUE(has(ask("section.release", R"({"name":"backend","runner":"ana"})"),
                  {R"("outcome":"already_free")"}));
}

TEST_F(BoardMethods, SettingsAreKeptAndWhatIsThereAlreadyIsNotWrittenDown) {
  EXPECT_TRUE(has(ask("board.configure"),
                  {R"("task_timeout_ms":3600000,"section_timeout_ms":7200000,)"
                   R"("wait_timeout_ms":1800000)"}));
  const Sequence before = counter.engine().durable();
  EXPECT_TRUE(has(ask("board.configure", R"({"task_timeout_ms":3600000})"), {"3600000"}));
  EXPECT_EQ(counter.engine().durable(), before);
  EXPECT_TRUE(has(ask("board.configure", R"({"task_timeout_ms":1000})"),
                  {R"("task_timeout_ms":1000,"section_timeout_ms":7200000)"}));
  EXPECT_GT(counter.engine().durable(), before);
  EXPECT_TRUE(has(start(add("x"), "ana"), {R"("expires_at":"2019-12-20T00:00:01.000Z")"}));
  EXPECT_TRUE(has(ask("board.configure", R"({"task_timeout_ms":0})"), {"-32602"}));
}

TEST_F(BoardMethods, ASectionIsGoodForAsLongAsATaskInIt) {
  ask("board.configure", R"({"section_timeout_ms":1000})");
  start(add("one", R"(,"section":"backend")"), "ana");
  EXPECT_TRUE(has(ask("locks.show", R"({"id":"backend"})"),
                  {R"("state":"held")", R"("expires_at":"2019-12-20T01:00:00.000Z")"}));
}

// ── Runners and locks ──

TEST_F(BoardMethods, AHeartbeatOfARunnerExtendsAllItHas) {
  start(add("one", R"(,"section":"backend")"), "ana");
  start(add("two"), "ana");
  counter.pass(10min);
  EXPECT_TRUE(has(ask("runner.heartbeat", R"({"name":"ana"})"),
                  {R"("name":"ana","tasks":2,"sections":1,"lost":0)"}));
  EXPECT_TRUE(has(ask("task.show", R"({"id":"two"})"),
                  {R"("heartbeat_at":"2019-12-20T00:10:00.000Z")",
                   R"("expires_at":"2019-12-20T01:10:00.000Z")"}));
  EXPECT_TRUE(has(ask("runner.show", R"({"name":"ana"})"),
                  {R"("tasks":2,"sections":1,"waiting":0)", R"("type":"section")"}));
  EXPECT_TRUE(has(ask("runner.list"), {R"("name":"ana")"}));
  EXPECT_TRUE(
      has(ask("runner.forget", R"({"name":"ana"})"), {"NOT_ALLOWED", "it holds something"}));
  EXPECT_TRUE(has(ask("runner.forget", R"({"name":"bo"})"), {"NOT_FOUND", R"("kind":"runner")"}));
}

TEST_F(BoardMethods, LocksAreListedByTypeInPages) {
  start(add("one", R"(,"section":"backend")"), "ana");
  start(add("two"), "bo");
  EXPECT_TRUE(has(ask("locks.list", R"({"type":"section"})"), {R"("id":"backend")"}));
  EXPECT_EQ(ask("locks.list", R"({"type":"section"})").find("task-"), std::string::npos);
  EXPECT_EQ(ask("locks.list", R"({"type":"task"})").find(R"("type":"section")"), std::string::npos);
  EXPECT_EQ(pages_of_locks(), 3u);
}

TEST_F(BoardMethods, ALockIsTakenAwayOnlyByForce) {
  const std::string id = add("backend", R"(,"section":"backend")");
  start(id, "ana");
  EXPECT_TRUE(has(ask("locks.show", R"({"id":"backend"})"), {"AMBIGUOUS", "--type"}));
  EXPECT_TRUE(has(ask("locks.show", R"({"id":"backend","type":"section"})"),
                  {R"("type":"section")", R"("state":"held")", R"("runner":"ana")"}));
  EXPECT_TRUE(has(ask("locks.release", R"({"id":")" + id + R"("})"),
                  {"NOT_ALLOWED", "locked by runner ana", "--force"}));
  EXPECT_TRUE(has(ask("locks.release", R"({"id":")" + id + R"(","force":true})"),
                  {R"("type":"task","id":")" + id + R"(","outcome":"released")"}));
  EXPECT_TRUE(
      has(ask("locks.release", R"({"id":")" + id + R"(","force":true})"), {"already_free"}));
  EXPECT_TRUE(has(ask("locks.release", R"({"id":"backend","type":"section","force":true})"),
                  {R"("type":"section","id":"backend","outcome":"released")"}));
  EXPECT_TRUE(has(ask("locks.release", R"({"id":"no","force":true})"), {"NOT_FOUND"}));
}

TEST_F(BoardMethods, CleanupFreesWhatIsOver) {
  const std::string id = add("Fix bug");
  start(id, "ana");
  start(add("other"), "bo");
  counter.pass(30min);
  ask("runner.heartbeat", R"({"name":"bo"})");
  counter.pass(30min + 1ms);
  EXPECT_TRUE(has(ask("locks.show", R"({"id":"Fix bug"})"), {R"("state":"expired")"}));
  const std::string dry = ask("locks.cleanup", R"({"dry_run":true})");
  EXPECT_TRUE(has(dry, {R"("id":")" + id + R"(","title":"Fix bug")", R"("dry_run":true)"}));
  EXPECT_EQ(dry.find("other"), std::string::npos) << "that one sent a heartbeat";
  EXPECT_TRUE(has(ask("locks.cleanup"), {id, R"("more":false,"dry_run":false)"}));
  EXPECT_TRUE(has(ask("locks.cleanup"), {R"("locks":[])"}));
  EXPECT_TRUE(has(ask("task.show", R"({"id":"Fix bug"})"), {R"("status":"pending")"}));
}

// ── What all projects share ──

struct SharedSections : BoardMethods {
  SharedSections() {
    counter.ask(bo, "session.hello", R"({"path":"/home/bo/shop","name":"shop"})");
    shared = add("Fix bug", R"(,"section":"//all")");
    own = add("tidy", R"(,"section":"backend")");
  }
  std::string bo_asks(std::string_view method, std::string_view params = "{}") {
    return counter.ask(bo, method, params);
  }
  std::string bo_updates(std::string_view task, std::string_view status) {
    return bo_asks("task.update",
                   R"({"id":")" + std::string(task) + R"(","status":")" + std::string(status) +
                       R"(","runner":"bo"})");
  }

  std::string shared;
  std::string own;
};

TEST_F(SharedSections, TheirTasksAreSeenAndNamedByTitleInEveryProject) {
  const std::string listed = bo_asks("task.list");
  EXPECT_TRUE(has(listed, {shared, R"("section":"//all","project":"default")"}));
  EXPECT_EQ(listed.find(own), std::string::npos) << "that is in a section of one project";
  EXPECT_TRUE(has(bo_asks("task.show", R"({"id":"Fix bug"})"), {shared}));
  EXPECT_TRUE(has(bo_asks("task.show", R"({"id":"tidy"})"), {"NOT_FOUND"}));
  EXPECT_TRUE(has(bo_asks("names.list", R"({"kind":"task"})"), {shared}));
  EXPECT_TRUE(has(bo_updates("Fix bug", "in_progress"), {R"("outcome":"started")", shared}));
  EXPECT_TRUE(has(bo_updates("Fix bug", "completed"), {R"("status":"completed")", shared}));
  EXPECT_EQ(ask("task.list").find(R"("project")"), std::string::npos) << "it is one's own";
}

TEST_F(SharedSections, ATitleIsFirstThatOfOnesOwnTask) {
  const std::string added = counter.ask(bo, "task.add", R"({"title":"Fix bug","section":"//all"})");
  EXPECT_TRUE(has(bo_updates("Fix bug", "completed"), {R"("status":"completed")"}));
  EXPECT_TRUE(has(ask("task.show", R"({"id":")" + shared + R"("})"), {R"("status":"pending")"}));
  const std::size_t cy = counter.connect();
  counter.ask(cy, "session.hello", R"({"path":"/home/cy/zoo","name":"zoo"})");
  EXPECT_TRUE(has(counter.ask(cy, "task.show", R"({"id":"Fix bug"})"), {shared})) << "it is open";
  counter.ask(bo, "task.add", R"({"title":"Fix bug","section":"//all"})");
  EXPECT_TRUE(has(counter.ask(cy, "task.show", R"({"id":"Fix bug"})"), {"AMBIGUOUS"}));
  EXPECT_TRUE(
      has(counter.ask(cy, "task.remove", R"({"id":"Fix bug"})"), {"AMBIGUOUS", "say its id"}));
}

TEST_F(SharedSections, TheirLocksAreListedInEveryProjectWithThatOfTheRunner) {
  bo_updates(shared, "in_progress");
  const std::string theirs = bo_asks("task.add", R"({"title":"theirs","section":"//all"})");
  EXPECT_TRUE(has(bo_updates("theirs", "in_progress"), {R"("outcome":"started")"})) << theirs;
  start(own, "bo");
  const std::string listed = ask("locks.list");
  EXPECT_TRUE(has(listed,
                  {shared,
                   R"("title":"theirs")",
                   R"("id":"//all","state":"held","runner":"bo","runner_project":"shop")",
                   R"("id":"backend","state":"held","runner":"bo","token")"}));
  const std::string others = bo_asks("locks.list");
  EXPECT_TRUE(has(others, {shared, R"("id":"//all","state":"held","runner":"bo","token")"}));
  EXPECT_EQ(others.find(own), std::string::npos);
  EXPECT_EQ(pages_of_locks(), 5u);
}

TEST_F(SharedSections, WhoIsInTheWayIsNamedWithHisProject) {
  bo_updates(shared, "in_progress");
  EXPECT_TRUE(has(start(shared, "bo"),
                  {"TASK_LOCKED", R"("lockedBy":"bo","lockedByProject":"shop","expiresAt")"}));
  EXPECT_TRUE(has(start(add("two", R"(,"section":"//all")"), "bo"),
                  {"SECTION_LOCKED", R"("lockedBy":"bo","lockedByProject":"shop")"}));
  EXPECT_TRUE(has(ask("locks.release", R"({"id":"Fix bug"})"), {"locked by runner bo of shop"}));
  EXPECT_TRUE(has(ask("why.get", R"({"id":"Fix bug"})"),
                  {R"("holder":"bo","holder_project":"shop")", "unless bo of shop sends"}));
  counter.pass(3h);
  EXPECT_TRUE(has(start(shared, "bo"), {R"("claimed_from":"bo","claimed_from_project":"shop")"}));
}

// ── Everything ──

TEST_F(BoardMethods, WhyTellsWhoHasItAndWhoWaits) {
  const std::string one = add("one", R"(,"section":"backend")");
  const std::string two = add("two", R"(,"section":"backend")");
  start(one, "ana");
  counter.send(bo,
               R"({"id":7,"method":"task.update","params":{"id":"two","status":"in_progress",)"
               R"("runner":"bo","wait_ms":-1}})");
  counter.settle();
  EXPECT_TRUE(has(ask("why.get", R"({"id":"two"})"),
                  {R"("kind":"task","title":"two","state":"pending")",
                   R"("kind":"section","name":"backend","holder":"ana")",
                   R"("line":[{"holder":"bo","place":1)",
                   "anybody can claim it unless ana sends a heartbeat"}));
  EXPECT_TRUE(has(ask("why.get", R"({"id":"backend"})"), {R"("kind":"section","open":2)"}));
  EXPECT_TRUE(has(ask("why.get", R"({"id":")" + one + R"("})"), {R"("holder":"ana")"}));
  EXPECT_TRUE(has(ask("state.show", R"({"id":"one"})"), {R"("kind":"task")", one}));
  EXPECT_TRUE(has(ask("state.show", R"({"id":"backend"})"), {R"("kind":"section")", two}));
  EXPECT_TRUE(has(ask("status.get"),
                  {R"("board":{"open":2,"in_progress":1,"finished":0,"sections_held":1,)"
                   R"("runners":2,"expired":0,"waiting":1})"}));
  EXPECT_TRUE(has(ask("events.list", R"({"match":"board:waiting"})"),
                  {R"("data":{"runner":"bo","line":"backend","waiter":)"}));
  EXPECT_TRUE(has(ask("names.list", R"({"kind":"runner"})"), {R"("ana")", R"("bo")"}));
  EXPECT_TRUE(has(ask("names.list", R"({"kind":"task","prefix":"task-"})"), {one, two}));
}

}  // namespace
}  // namespace reeve::api
