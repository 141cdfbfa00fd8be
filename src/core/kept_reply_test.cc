#include "core/kept_reply.h"

#include "core/arbitrary.h"
#include "core/testing.h"

#include <boost/pfr/core.hpp>
#include <gtest/gtest.h>

#include <string>
#include <type_traits>
#include <vector>

namespace reeve::key {
namespace {

using namespace reeve::testing;

// How many bytes of text there are in a value, whatever it consists of.
template <class T>
std::size_t texts_in(const T& value);
template <class T>
std::size_t texts_in(const std::optional<T>& value) {
  return value ? texts_in(*value) : 0;
}
template <class T>
std::size_t texts_in(const std::vector<T>& values) {
  std::size_t bytes = 0;
  for (const T& value : values) bytes += texts_in(value);
  return bytes;
}
template <class... Ts>
std::size_t texts_in(const std::variant<Ts...>& value) {
  return std::visit([](const auto& it) { return texts_in(it); }, value);
}
template <class T>
std::size_t texts_in(const T& value) {
  if constexpr (std::is_same_v<T, std::string> || std::is_same_v<T, Bytes>) {
    return value.size();
  } else if constexpr (std::is_aggregate_v<T>) {
    std::size_t bytes = 0;
    boost::pfr::for_each_field(value, [&](const auto& field) { bytes += texts_in(field); });
    return bytes;
  } else {
    return 0;
  }
}

std::size_t kept_of(const Reply& largest) { return texts_in(shortened(largest).value); }

const std::string longest_name(limits::name_bytes, 'n');
const std::string longest_text(limits::text_bytes, 't');
const Holder longest_holder{default_project, longest_name, SessionId{1}};

TEST(KeptReply, IsOfTakenItemsTheirNumbersAndClaims) {
  queue::TakenItem item;
  item.id = ItemId{7};
  item.queue = {default_project, longest_name};
  item.data = Bytes(std::string(limits::batch_bytes / limits::batch_items, 'x'));
  item.claim = Token{3};
  const queue::Taken largest{std::vector<queue::TakenItem>(limits::batch_items, item), false};

  const queue::Taken kept = as<queue::Taken>(shortened(largest));
  ASSERT_EQ(kept.items.size(), limits::batch_items);
  EXPECT_EQ(kept.items[999].id, ItemId{7});
  EXPECT_EQ(kept.items[999].claim, Token{3});
  EXPECT_EQ(texts_in(kept), 0u);
}

TEST(KeptReply, OfAFewItemsHasTheirQueues) {
  queue::TakenItem item;
  item.queue = {default_project, longest_name};
  item.data = Bytes(std::string(limits::item_bytes, 'x'));

  EXPECT_EQ(kept_of(queue::Taken{{item, item}, false}), 2 * limits::name_bytes);
}

TEST(KeptReply, OfWhatWasSettledHasNoHolders) {
  const queue::StaleClaim stale{ItemId{7}, longest_holder};
  const queue::Settled largest{{limits::batch_items, stale}};

  const queue::Settled kept = as<queue::Settled>(shortened(largest));
  EXPECT_EQ(kept.items.size(), limits::batch_items);
  EXPECT_EQ(texts_in(kept), 0u);
  EXPECT_LE(kept_of(queue::Settled{{20, stale}}), limits::kept_reply_bytes);
}

// They are what it is known by: a retry has to find what it holds.
TEST(KeptReply, OfAGrantHasTheNamesAndNotWhomTheyWereTakenFrom) {
  grant::Given given;
  given.name = longest_name;
  given.previous = longest_holder;
  const grant::Granted largest{
      grant::How::Reclaimed, longest_holder, {limits::names_a_request, given}};

  EXPECT_EQ(kept_of(largest), (limits::names_a_request + 1) * limits::name_bytes);
  const grant::Granted small{grant::How::Reclaimed, longest_holder, {given, given}};
  EXPECT_EQ(shortened(small), Reply{small});
}

TEST(KeptReply, OfAnAnswerHasTheBeginningOfItsTexts) {
  decision::Answer answer;
  answer.text = longest_text;
  answer.by = longest_text;
  answer.note = longest_text;
  EXPECT_EQ(kept_of(decision::Resolved{DecisionId{1}, answer}), limits::kept_reply_bytes);

  answer.text = "an option";
  const auto kept = as<decision::Resolved>(shortened(decision::Resolved{DecisionId{1}, answer}));
  EXPECT_EQ(kept.answer.text, "an option");
  EXPECT_EQ(texts_in(kept), limits::kept_reply_bytes);
}

TEST(KeptReply, OfALongListHasTheBeginning) {
  const lock::Cleaned locks{{1000, LockName{default_project, longest_name}}};
  EXPECT_LE(kept_of(locks), limits::kept_reply_bytes);
  EXPECT_GT(kept_of(locks), limits::kept_reply_bytes - limits::name_bytes);
  const board::CleanedUp board{{1000, SectionName{default_project, longest_name}}};
  EXPECT_LE(kept_of(board), limits::kept_reply_bytes);
}

// What else has texts has few of them, and none longer than a name.
TEST(KeptReply, OfAnyOtherKindIsShortAsItIs) {
  const grant::Busy busy{{default_project, longest_name}, longest_holder, {}, {}, 0};
  board::Started started;
  started.claimed_from = board::RunnerName{default_project, longest_name};
  const std::vector<Reply> largest{
      grant::NotGranted{Left::TimedOut, busy},
      queue::Pushed{std::vector<ItemId>(limits::batch_items), std::vector<bool>(1000)},
      dispatch::Planned{DispatchId{1}, longest_name},
      started,
      mailbox::Sent{longest_name},
      project::Opened{default_project, longest_name}};
  for (const Reply& reply : largest) {
    EXPECT_EQ(shortened(reply), reply);
    EXPECT_LE(kept_of(reply), limits::kept_reply_bytes);
  }
}

// An answer that is undelivered is known by what was kept of it.
TEST(KeptReply, StaysTheSameWhenItIsShortenedAgain) {
  Dice dice(1);
  for (int i = 0; i < 10'000; ++i) {
    Reply reply;
    fill(dice, reply);
    const Reply once = shortened(reply);
    ASSERT_EQ(shortened(once), once);
  }
}

}  // namespace
}  // namespace reeve::key
