#include "core/mailbox.h"

#include "base/die_testing.h"
#include "core/much_due_testing.h"
#include "core/testing.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <map>
#include <set>
#include <string>
#include <vector>

namespace reeve::mailbox {
namespace {

using namespace reeve::testing;

Send mail(std::string id, std::string text = "hello", std::string to = "ana") {
  return {std::move(to), std::move(id), "bo", std::move(text)};
}

std::vector<std::string> ids(World& world, const Read& read) {
  std::vector<std::string> result;
  for (const Message& message : as<Mail>(world.ask(Command{read})).messages) {
    result.push_back(message.id);
  }
  return result;
}

std::vector<std::string> ids(World& world, std::string box = "ana") {
  return ids(world, {std::move(box), "", 100});
}

// Without looking at the invariants each time: for the tests of the large.
void quickly(World& world, Command command) {
  const Request request{default_project, {}, true, {}, std::move(command)};
  world.state = apply(std::move(world.state), request, world.stamp).state;
}

TEST(Mailbox, WhatIsSentIsReadInTheOrderOfSendingAndAnnounced) {
  World world;

  EXPECT_EQ(as<Sent>(world.ask(Command{mail("m2")})), (Sent{"m2", false}));
  EXPECT_EQ(as<Sent>(world.ask(Command{mail("m1", "again")})), (Sent{"m1", false}));

  const Mail read = as<Mail>(world.ask(Command{Read{"ana", "", 100}}));
  const BoxName box{default_project, "ana"};
  EXPECT_EQ(read,
            (Mail{{{box, "m2", "bo", "hello", start, {}}, {box, "m1", "bo", "again", start, {}}},
                  false}));
  EXPECT_FALSE(world.last.changed);
  EXPECT_EQ(world.heard,
            (std::vector<EventBody>{Event{WasSent{"ana", "m2", "bo"}},
                                    Event{WasSent{"ana", "m1", "bo"}}}));
  EXPECT_EQ(world.names(), (std::vector<std::string>{"mail:sent", "mail:sent"}));
}

TEST(Mailbox, ReadingLeavesAMessageInPlaceUntilItIsAcknowledged) {
  World world;
  world.ask(Command{mail("m1")});
  world.ask(Command{mail("m2")});

  EXPECT_EQ(ids(world), (std::vector<std::string>{"m1", "m2"}));
  EXPECT_EQ(ids(world), (std::vector<std::string>{"m1", "m2"}));
  world.forget();
  EXPECT_EQ(as<Acked>(world.ask(Command{Ack{"ana", "m1"}})), Acked{false});
  EXPECT_EQ(world.heard, (std::vector<EventBody>{Event{WasAcked{"ana", "m1"}}}));
  EXPECT_EQ(world.names(), (std::vector<std::string>{"mail:acked"}));
  EXPECT_EQ(ids(world), (std::vector<std::string>{"m2"}));
}

TEST(Mailbox, AcknowledgingTwiceIsTheSameAsOnce) {
  World world;
  world.ask(Command{mail("m1")});
  world.ask(Command{Ack{"ana", "m1"}});

  EXPECT_EQ(as<Acked>(world.ask(Command{Ack{"ana", "m1"}})), Acked{true});
  EXPECT_FALSE(world.last.changed);
}

TEST(Mailbox, TheSameIdSentTwiceIsDeliveredOnceAlsoAfterItWasAcknowledged) {
  World world;
  world.ask(Command{mail("m1")});

  EXPECT_EQ(as<Sent>(world.ask(Command{mail("m1", "other words")})), (Sent{"m1", true}));
  EXPECT_FALSE(world.last.changed);
  world.ask(Command{Ack{"ana", "m1"}});
  EXPECT_EQ(as<Sent>(world.ask(Command{mail("m1")})), (Sent{"m1", true}));
  EXPECT_TRUE(ids(world).empty());
}

TEST(Mailbox, TheSameIdInAnotherBoxOrProjectIsAnotherMessage) {
  World world;
  world.ask(Command{mail("m1")});

  EXPECT_EQ(as<Sent>(world.ask(Command{mail("m1", "x", "cleo")})), (Sent{"m1", false}));
  EXPECT_EQ(as<Sent>(world.ask(Command{mail("m1")}, {}, {}, shared_project)), (Sent{"m1", false}));
  EXPECT_EQ(ids(world, "cleo"), (std::vector<std::string>{"m1"}));
}

TEST(Mailbox, AMessageWithoutAnIdIsGivenOneOfItsOwn) {
  World world;
  const std::string made = "mail-" + encode_id(2);
  world.ask(Command{mail(made)});  // somebody chose the id that would be made next

  const std::string id = as<Sent>(world.ask(Command{mail("")})).id;
  EXPECT_NE(id, made);
  EXPECT_EQ(ids(world), (std::vector<std::string>{made, id}));
}

TEST(Mailbox, AReaderGoesOnBehindTheLastMessageItKnows) {
  World world;
  for (const char* id : {"m1", "m2", "m3"}) world.ask(Command{mail(id)});

  const Mail first = as<Mail>(world.ask(Command{Read{"ana", "", 2}}));
  EXPECT_EQ(first.messages.size(), 2u);
  EXPECT_TRUE(first.more);
  EXPECT_EQ(ids(world, {"ana", "m2", 2}), (std::vector<std::string>{"m3"}));
  world.ask(Command{Ack{"ana", "m2"}});
  EXPECT_EQ(ids(world, {"ana", "m2", 2}), (std::vector<std::string>{"m3"}));
  EXPECT_FALSE(as<Mail>(world.ask(Command{Read{"ana", "m3", 2}})).more);
}

TEST(Mailbox, AReadIsNoLargerThanABatch) {
  World world;
  const std::string large(limits::text_bytes, 'x');
  for (int i = 0; i < 70; ++i) world.ask(Command{mail("", large)});

  const Mail read = as<Mail>(world.ask(Command{Read{"ana", "", 4'000'000'000}}));
  EXPECT_EQ(read.messages.size(), limits::batch_bytes / limits::text_bytes);
  EXPECT_TRUE(read.more);
}

TEST(Mailbox, AnAcknowledgedMessageIsRememberedFor24HoursAndThenForgotten) {
  World world;
  world.ask(Command{mail("m1")});
  world.ask(Command{Ack{"ana", "m1"}});

  world.pass(24h - 1ms);
  EXPECT_EQ(as<Sent>(world.ask(Command{mail("m1")})), (Sent{"m1", true}));
  world.pass(1ms);
  EXPECT_TRUE(world.state.mail.messages.empty());
  EXPECT_EQ(as<Sent>(world.ask(Command{mail("m1")})), (Sent{"m1", false}));
}

TEST(Mailbox, WhetherATickCameFirstMakesNoDifferenceToWhatIsRemembered) {
  World world;
  world.ask(Command{mail("m1")});
  world.ask(Command{Ack{"ana", "m1"}});
  much_falls_due_in(world, 23h);
  world.stamp.now += 24h;

  EXPECT_EQ(as<Refused>(world.ask(Command{Ack{"ana", "m1"}})), (Refused{Why::NotFound, "m1"}));
  EXPECT_EQ(as<Sent>(world.ask(Command{mail("m1")})), (Sent{"m1", false}));
  EXPECT_EQ(ids(world), (std::vector<std::string>{"m1"}));
}

TEST(Mailbox, OfReadMailAThousandAreKept) {
  World world;
  for (std::size_t i = 0; i <= limits::finished_kept; ++i) {
    const std::string id = "m" + std::to_string(i);
    quickly(world, mail(id));
    quickly(world, Ack{"ana", id});
  }
  world.input(Tick{});

  EXPECT_EQ(world.state.mail.messages.size(), limits::finished_kept);
  EXPECT_EQ(as<Sent>(world.ask(Command{mail("m0")})), (Sent{"m0", false}));
  EXPECT_EQ(as<Sent>(world.ask(Command{mail("m1")})), (Sent{"m1", true}));
}

TEST(Mailbox, WhatWasJustReadIsKnownInWhateverOrderManyAreReadAtOnce) {
  World world;
  for (std::size_t i = 0; i <= limits::finished_kept; ++i) {
    quickly(world, mail("m" + std::to_string(i)));
  }
  for (std::size_t i = limits::finished_kept; i > 0; --i) {
    quickly(world, Ack{"ana", "m" + std::to_string(i)});
  }

  EXPECT_EQ(as<Acked>(world.ask(Command{Ack{"ana", "m0"}})), Acked{false});
  EXPECT_EQ(as<Acked>(world.ask(Command{Ack{"ana", "m0"}})), Acked{true});
  EXPECT_EQ(as<Sent>(world.ask(Command{mail("m0")})), (Sent{"m0", true}));
  EXPECT_EQ(world.state.mail.messages.size(), limits::finished_kept);
}

// No day is left for which it could be kept.
TEST(Mailbox, WhatWasJustReadIsKnownAlsoAtTheEndOfTime) {
  World world;
  world.stamp.now = Time::max();
  world.ask(Command{mail("m0")});

  EXPECT_EQ(as<Acked>(world.ask(Command{Ack{"ana", "m0"}})), Acked{false});
  EXPECT_EQ(world.state.mail.messages.size(), 1u);
}

TEST(Mailbox, ABoxHoldsTenThousandAndSaysSo) {
  World world;
  quickly(world, mail("m1"));
  for (std::size_t i = 1; i < limits::mail_a_box; ++i) {
    quickly(world, mail(""));
  }

  EXPECT_EQ(as<Refused>(world.ask(Command{mail("one more")})), (Refused{Why::OverLimit, "mail"}));
  EXPECT_FALSE(world.last.changed);
  EXPECT_EQ(as<Sent>(world.ask(Command{mail("m1")})), (Sent{"m1", true})) << "it is there already";
}

TEST(Mailbox, WhatMakesNoSenseIsRefusedAndChangesNothing) {
  World world;
  const std::string long_name(limits::name_bytes + 1, 'x');
  const std::string long_text(limits::text_bytes + 1, 'x');

  EXPECT_EQ(as<Refused>(world.ask(Command{mail("m1", "x", "")})), (Refused{Why::BadName, ""}));
  EXPECT_EQ(as<Refused>(world.ask(Command{mail("-x")})), (Refused{Why::BadName, "-x"}));
  EXPECT_EQ(as<Refused>(world.ask(Command{mail("m1", long_text)})),
            (Refused{Why::OverLimit, "text"}));
  EXPECT_EQ(as<Refused>(world.ask(Command{Send{"ana", "m1", long_name, "x"}})),
            (Refused{Why::BadValue, "from"}));
  EXPECT_EQ(as<Refused>(world.ask(Command{Read{"", "", 1}})), (Refused{Why::BadName, ""}));
  EXPECT_EQ(as<Refused>(world.ask(Command{Read{"ana", "m1", 1}})), (Refused{Why::NotFound, "m1"}));
  EXPECT_EQ(as<Refused>(world.ask(Command{Ack{"..", "m1"}})), (Refused{Why::BadName, ".."}));
  EXPECT_EQ(as<Refused>(world.ask(Command{Ack{"ana", ""}})), (Refused{Why::BadName, ""}));
  EXPECT_EQ(as<Refused>(world.ask(Command{Ack{"ana", "m1"}})), (Refused{Why::NotFound, "m1"}));
  EXPECT_TRUE(as<Mail>(world.ask(Command{Read{"ana", "", 1}})).messages.empty());
  EXPECT_EQ(world.state, initial_state(start));
}

// Against the simplest thing that could be right: a list a box, and the set of all ids seen.
RC_GTEST_PROP(Mailbox, WhatWaitsIsWhatWasSentOnceAndNotAcknowledged, ()) {
  World world;
  std::map<std::string, std::vector<std::string>> waiting;
  std::set<std::pair<std::string, std::string>> known;
  const auto steps = *rc::gen::container<std::vector<int>>(die(24));

  for (const int step : steps) {
    const std::string box = step % 2 ? "ana" : "bo";
    const std::string id = "m" + std::to_string(step / 2 % 4);
    std::vector<std::string>& box_waiting = waiting[box];
    if (step < 16) {
      const bool fresh = known.insert({box, id}).second;
      RC_ASSERT(as<Sent>(world.ask(Command{mail(id, "x", box)})).again == !fresh);
      if (fresh) box_waiting.push_back(id);
    } else {
      world.ask(Command{Ack{box, id}});
      std::erase(box_waiting, id);
    }
    RC_ASSERT(ids(world, box) == box_waiting);
    RC_ASSERT(check_state(world.state).empty());
  }
}

}  // namespace
}  // namespace reeve::mailbox
