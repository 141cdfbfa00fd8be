#include "api/beanstalk/testing.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace reeve::api::beanstalk::testing {
namespace {

class Beanstalk : public ::testing::Test {
 protected:
  std::string say(std::string_view bytes) { return door.say(c, bytes); }
  std::string say(Connection& who, std::string_view bytes) { return door.say(who, bytes); }

  // Its number, as text.
  std::string put(const std::string& body, const std::string& how = "1 0 60") {
    const std::string reply =
        say("put " + how + " " + std::to_string(body.size()) + "\r\n" + body + "\r\n");
    EXPECT_TRUE(reply.starts_with("INSERTED ")) << reply;
    return reply.substr(9, reply.size() - 11);
  }
  static std::string reserved(const std::string& id, const std::string& body) {
    return "RESERVED " + id + " " + std::to_string(body.size()) + "\r\n" + body + "\r\n";
  }
  const queue::Queue& queue(const std::string& name) {
    return *door.ledger.find(door.engine->state(), name);
  }
  const queue::Item& item(const std::string& id) {
    return *door.engine->state().queues.items.find(ItemId{std::stoull(id)});
  }

  engine::testing::MemoryDisk disk;
  Door door{disk};
  Connection& c = door.connect();
};

TEST_F(Beanstalk, AJobIsPutReservedAndDeleted) {
  const std::string id = put("hello");
  EXPECT_EQ(say("reserve\r\n"), reserved(id, "hello"));
  EXPECT_EQ(say("delete " + id + "\r\n"), "DELETED\r\n");
  EXPECT_EQ(say("delete " + id + "\r\n"), "NOT_FOUND\r\n");
  EXPECT_EQ(say("peek " + id + "\r\n"), "NOT_FOUND\r\n");
  EXPECT_EQ(queue("default").counts.completed, 1u);
}

TEST_F(Beanstalk, NothingIsAnsweredBeforeItIsDurable) {
  c.receive("put 1 0 60 1\r\nx\r\nlist-tube-used\r\n", door.stamp);
  door.engine->deliver();
  EXPECT_EQ(c.output(), "");
  door.settle();
  EXPECT_TRUE(Door::hear(c).ends_with("USING default\r\n"));
}

// ── The mapping ──

TEST_F(Beanstalk, ATubeIsAQueueWithoutAttemptsOrBackoff) {
  say("use mail\r\n");
  put("x");
  EXPECT_EQ(queue("mail").config.max_attempts, 0u);
  EXPECT_EQ(queue("mail").config.backoff_first, 0ms);
}

TEST_F(Beanstalk, WaitingForATubeMakesSuchAQueueToo) {
  say("watch mail\r\nreserve-with-timeout 0\r\n");
  EXPECT_EQ(queue("mail").config.max_attempts, 0u);
}

TEST_F(Beanstalk, AQueueThatIsThereKeepsItsConfiguration) {
  queue::Config config;
  config.max_attempts = 7;
  door.ask(queue::Create{{default_project, "mail"}, config});
  say("use mail\r\n");
  put("x");
  EXPECT_EQ(queue("mail").config, config);
}

TEST_F(Beanstalk, PrioritiesKeepTheirOrderOverTheWholeRange) {
  const std::string last = put("z", "4294967295 0 60");
  const std::string half = put("h", "2147483648 0 60");
  const std::string first = put("a", "0 0 60");
  EXPECT_EQ(item(first).priority, 2147483647);
  EXPECT_EQ(item(half).priority, -1);
  EXPECT_EQ(item(last).priority, -2147483648);
  EXPECT_EQ(say("reserve\r\nreserve\r\nreserve\r\n"),
            reserved(first, "a") + reserved(half, "h") + reserved(last, "z"));
}

TEST_F(Beanstalk, ABodyIsBytesAndAJsonItemIsDeliveredAsItsText) {
  const std::string bytes("\x00\xff\r\n", 4);
  const std::string id = put(bytes);
  EXPECT_FALSE(item(id).json);
  EXPECT_EQ(say("reserve\r\n"), reserved(id, bytes));
  queue::NewItem json;
  json.data = Bytes(R"({"n":1})");
  door.ask(queue::Push{{default_project, "default"}, {json}});
  EXPECT_TRUE(say("reserve\r\n").ends_with(" 7\r\n{\"n\":1}\r\n"));
}

TEST_F(Beanstalk, ABuriedJobIsDeadAndSaysSo) {
  const std::string id = put("x");
  say("reserve\r\n");
  EXPECT_EQ(say("bury " + id + " 5\r\n"), "BURIED\r\n");
  EXPECT_EQ(item(id).state, queue::ItemState::Dead);
  EXPECT_EQ(item(id).rest->reason, "buried");
  EXPECT_EQ(say("kick 1\r\n"), "KICKED 1\r\n");
  EXPECT_EQ(item(id).state, queue::ItemState::Pending);
}

TEST_F(Beanstalk, AnotherProjectsJobsAreNotSeen) {
  const Reply opened = door.ask(project::Open{"/home/ana/shop", "shop"});
  const ProjectNo shop = std::get<project::Opened>(std::get<project::Reply>(opened.value)).project;
  queue::NewItem secret;
  secret.data = Bytes("1");
  const Reply pushed = door.ask(queue::Push{{shop, "default"}, {secret}});
  const ItemId id = std::get<queue::Pushed>(std::get<queue::Reply>(pushed.value)).ids.front();
  for (const std::string verb : {"peek ", "delete ", "stats-job ", "kick-job ", "reserve-job "}) {
    EXPECT_EQ(say(verb + std::to_string(id.value) + "\r\n"), "NOT_FOUND\r\n") << verb;
  }
  EXPECT_EQ(say("reserve-with-timeout 0\r\n"), "TIMED_OUT\r\n");
}

// ── Waiting ──

TEST_F(Beanstalk, AReserveWaitsAndWhatCameBehindItWaitsToo) {
  EXPECT_EQ(say("reserve\r\nlist-tube-used\r\nput 1 0 60 1\r\ny\r\n"), "");
  Connection& other = door.connect();
  const std::string reply = say(other, "put 1 0 60 1\r\nx\r\n");
  const std::string id = reply.substr(9, reply.size() - 11);
  const std::string heard = Door::hear(c);
  EXPECT_TRUE(heard.starts_with(reserved(id, "x") + "USING default\r\nINSERTED ")) << heard;
}

TEST_F(Beanstalk, AWaitEndsAtItsTimeout) {
  EXPECT_EQ(say("reserve-with-timeout 2\r\n"), "");
  door.pass(1999ms);
  EXPECT_EQ(Door::hear(c), "");
  door.pass(1ms);
  EXPECT_EQ(Door::hear(c), "TIMED_OUT\r\n");
}

TEST_F(Beanstalk, AWaitEndsASecondBeforeTimeToRunDoes) {
  const std::string id = put("x", "1 0 10");
  say("reserve\r\n");
  EXPECT_EQ(say("reserve\r\n"), "");
  door.pass(8999ms);
  EXPECT_EQ(Door::hear(c), "");
  door.pass(1ms);
  EXPECT_EQ(Door::hear(c), "DEADLINE_SOON\r\n");
  EXPECT_EQ(say("reserve-with-timeout 5\r\n"), "DEADLINE_SOON\r\n");
  EXPECT_EQ(say("touch " + id + "\r\n"), "TOUCHED\r\n");
  EXPECT_EQ(say("reserve-with-timeout 0\r\n"), "TIMED_OUT\r\n");
}

TEST_F(Beanstalk, AReadyJobIsGivenHoweverSoonADeadlineIs) {
  const std::string first = put("x", "1 0 1");
  const std::string second = put("y");
  EXPECT_EQ(say("reserve\r\nreserve\r\nreserve\r\n"),
            reserved(first, "x") + reserved(second, "y") + "DEADLINE_SOON\r\n");
}

TEST_F(Beanstalk, TimeToRunEndsOnAnIdleConnection) {
  const std::string id = put("x", "1 0 1");
  say("reserve\r\n");
  Connection& other = door.connect();
  EXPECT_EQ(say(other, "reserve\r\n"), "");
  door.pass(1000ms);
  EXPECT_EQ(Door::hear(other), "");
  door.pass(1ms);
  EXPECT_EQ(Door::hear(other), reserved(id, "x"));
  EXPECT_EQ(say("delete " + id + "\r\n"), "NOT_FOUND\r\n");
  EXPECT_NE(say("stats\r\n").find("\njob-timeouts: 1\n"), std::string::npos);
  EXPECT_NE(say("stats-job " + id + "\r\n").find("\nreserves: 2\ntimeouts: 1\n"),
            std::string::npos);
}

TEST_F(Beanstalk, AJobWhoseTimeRanOutCanBeDeletedByAnybody) {
  const std::string id = put("x", "1 0 1");
  say("reserve\r\n");
  door.pass(2s);
  EXPECT_EQ(say("release " + id + " 1 0\r\n"), "NOT_FOUND\r\n");
  EXPECT_EQ(say("delete " + id + "\r\n"), "DELETED\r\n");
}

// ── The end of a connection ──

TEST_F(Beanstalk, WhatAConnectionHeldIsFreeWhenItClosesAndNoTimeoutIsCounted) {
  const std::string id = put("x");
  Connection& other = door.connect();
  say(other, "reserve\r\n");
  EXPECT_EQ(say("reserve\r\n"), "");
  door.close(other);
  EXPECT_EQ(Door::hear(c), reserved(id, "x"));
  const std::string stats = say("stats-job " + id + "\r\n");
  EXPECT_NE(stats.find("\nreserves: 2\ntimeouts: 0\nreleases: 0\n"), std::string::npos) << stats;
}

TEST_F(Beanstalk, WhoeverSendsNothingMoreIsStillAnswered) {
  c.receive("put 1 0 60 1\r\nx\r\nreserve\r\nreserve\r\nlist-tube-used\r\n", door.stamp);
  c.end_of_input(door.stamp);
  door.settle();
  const std::string heard = Door::hear(c);
  EXPECT_TRUE(heard.ends_with("\r\nx\r\nTIMED_OUT\r\nUSING default\r\n")) << heard;
  EXPECT_TRUE(c.is_over());
}

TEST_F(Beanstalk, QuitEndsTheConnectionAndNothingBehindItIsRead) {
  EXPECT_EQ(say("list-tube-used\r\nquit\r\nlist-tube-used\r\n"), "USING default\r\n");
  EXPECT_TRUE(c.is_over());
}

TEST_F(Beanstalk, WhatABrowserSendsIsNotAnswered) {
  EXPECT_EQ(say("POST / HTTP/1.1\r\nput 1 0 60 1\r\nx\r\n"), "");
  EXPECT_TRUE(c.is_over());
  EXPECT_EQ(say(door.connect(), "peek-ready\r\n"), "NOT_FOUND\r\n");
}

TEST_F(Beanstalk, AfterARestartEverythingIsThereAndWhatWasReservedIsReady) {
  const std::string first = put("x");
  const std::string second = put("y");
  say("reserve\r\n");
  door.start();
  Connection& again = door.connect();
  EXPECT_EQ(say(again, "reserve\r\nreserve\r\n"), reserved(first, "x") + reserved(second, "y"));
}

// ── What is too much ──

TEST_F(Beanstalk, ABodyThatIsTooBigIsReadAndThrownAway) {
  const std::string body(70'000, 'z');
  EXPECT_EQ(say("put 1 0 60 70000\r\n" + body), "");
  EXPECT_EQ(say("\r\nlist-tube-used\r\n"), "JOB_TOO_BIG\r\nUSING default\r\n");
}

TEST_F(Beanstalk, ALineIsNoLongerThan224Bytes) {
  const std::string longest(222, 'y');
  EXPECT_EQ(say(longest + "\r\n"), "UNKNOWN_COMMAND\r\n");
  EXPECT_EQ(say(longest + "y\r\n"), "BAD_FORMAT\r\n");
  EXPECT_EQ(say(longest + longest), "");
  EXPECT_EQ(say(longest + "\r\nlist-tube-used\r\n"), "BAD_FORMAT\r\nUSING default\r\n");
}

TEST_F(Beanstalk, ABodyWithoutItsEndIsExpectedToHaveOne) {
  EXPECT_EQ(say("put 1 0 60 1\r\nxyzlist-tube-used\r\n"), "EXPECTED_CRLF\r\nUSING default\r\n");
}

TEST_F(Beanstalk, OneConnectionWatchesAtMost256Tubes) {
  for (int i = 2; i <= 256; ++i) {
    EXPECT_EQ(say("watch t" + std::to_string(i) + "\r\n"),
              "WATCHING " + std::to_string(i) + "\r\n");
  }
  EXPECT_EQ(say("watch t257\r\n"), "OUT_OF_MEMORY\r\n");
  EXPECT_EQ(say("reserve-with-timeout 0\r\n"), "TIMED_OUT\r\n");
}

TEST_F(Beanstalk, AFullDiskRefusesJobsAndLetsThemBeFinished) {
  const std::string id = put("x");
  disk.room = journal::Room::FinishingOnly;
  door.settle();
  EXPECT_EQ(say("put 1 0 60 1\r\ny\r\n"), "OUT_OF_MEMORY\r\n");
  EXPECT_EQ(say("reserve\r\n"), reserved(id, "x"));
  EXPECT_EQ(say("delete " + id + "\r\n"), "DELETED\r\n");
}

TEST_F(Beanstalk, AJournalThatFailsIsAnInternalErrorAndTheEnd) {
  disk.fails = Error{Error::Code::Io, "gone"};
  EXPECT_EQ(say("put 1 0 60 1\r\ny\r\n"), "INTERNAL_ERROR\r\n");
  EXPECT_TRUE(c.is_over());
}

TEST_F(Beanstalk, ADrainingDoorTakesNoMoreJobs) {
  door.ledger.draining = true;
  EXPECT_EQ(say("put 1 0 60 1\r\ny\r\n"), "DRAINING\r\n");
}

TEST_F(Beanstalk, AKickOfManyIsAnsweredWhenAllAreKicked) {
  std::string puts;
  for (int i = 0; i < 600; ++i) puts += "put 1 1000 60 1\r\nx\r\n";
  say(puts);
  EXPECT_EQ(say("kick 1000\r\nlist-tube-used\r\n"), "");
  door.pass(1ms);
  EXPECT_EQ(Door::hear(c), "KICKED 600\r\nUSING default\r\n");
  EXPECT_EQ(queue("default").counts.delayed, 0u);
}

TEST_F(Beanstalk, AHundredReservesAtOnceAreAnsweredInOrder) {
  std::string expected;
  for (int i = 0; i < 100; ++i) expected += reserved(put(std::to_string(i)), std::to_string(i));
  std::string reserves;
  for (int i = 0; i < 100; ++i) reserves += "reserve\r\n";
  EXPECT_EQ(say(reserves), expected);
}

TEST_F(Beanstalk, NoMoreThanSixtyFourWholeJobsAreOwedAtATime) {
  const std::string id = put("x");
  std::string peeks;
  for (int i = 0; i < 100; ++i) peeks += "peek " + id + "\r\n";
  c.receive(peeks, door.stamp);
  EXPECT_EQ(c.buffered(), 36 * ("peek " + id + "\r\n").size());
  door.settle();
  EXPECT_EQ(c.buffered(), 0u);
}

TEST_F(Beanstalk, WhatCameInPiecesIsTheSame) {
  const std::string all = "put 1 0 60 5\r\nhello\r\nreserve\r\nuse \r\nput 1 0 60 70000\r\n" +
                          std::string(70'002, 'z') + "list-tube-used\r\n" + std::string(300, 'a') +
                          "\r\nwatch x\r\n";
  const std::string whole = say(all);
  for (const std::size_t size : {1U, 2U, 3U, 7U, 1000U}) {
    engine::testing::MemoryDisk other_disk;
    Door other(other_disk);
    Connection& piecewise = other.connect();
    std::string heard;
    for (std::size_t at = 0; at < all.size(); at += size) {
      heard += other.say(piecewise, std::string_view(all).substr(at, size));
    }
    EXPECT_EQ(heard, whole) << size;
  }
}

}  // namespace
}  // namespace reeve::api::beanstalk::testing
