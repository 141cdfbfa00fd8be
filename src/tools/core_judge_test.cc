#include "tools/core_judge.h"

#include "codec/binary.h"
#include "codec/frames.h"
#include "codec/snapshot.h"
#include "core/apply.h"
#include "core/digest.h"
#include "journal/testing.h"
#include "tools/journal_command.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

// The commands on a journal as a daemon writes it, in a directory that is really there.
namespace reeve::tools {
namespace {

using namespace journal;
using Strings = std::vector<std::string>;

Input emits(const std::string& name) {
  Request request;
  request.command = EmitCustom{name, {}};
  return request;
}

// What a daemon does with each: decides, writes, knows the answer by its digest.
struct Written : ::testing::Test {
  Scratch scratch;
  State state = initial_state(Time{});
  Strings out;

  // `lie`: the record says that another answer was given.
  static void write(Journal& journal, State& state, const Input& input, bool lie = false) {
    const Stamp stamp = entry("").stamp;
    const Said said = apply_to(state, input, stamp);
    ASSERT_TRUE(said.changed);
    const std::string payload = codec::to_bytes(input);
    Entry written = entry(payload);
    written.digest = digest_of(said) ^ (lie ? 1 : 0);
    ASSERT_TRUE(journal.commit({&written, 1}));
  }

  void write_journal(int lies_at) {
    const Result<Opened> opened = open(scratch.files());
    ASSERT_TRUE(opened);
    Journal& journal = *opened->journal;
    write(journal, state, Resumed{System::What::Ready}, lies_at == 1);
    const Moment moment{state.sequence, entry("").stamp};
    Result<std::unique_ptr<SnapshotWriter>> writer = journal.begin_snapshot(moment);
    ASSERT_TRUE(writer);
    const auto digest = codec::write_snapshot(
        state, [&](std::string_view chunk) { return (*writer)->append(codec::frame(chunk)); });
    ASSERT_TRUE((*writer)->finish(*digest));
    for (int i = 2; i < 6; ++i) {
      write(journal, state, emits("ci:green" + std::to_string(i)), i == lies_at);
    }
  }

  Result<bool> run(JournalVerb verb, Sequence from, Shape shape = Shape::Text) {
    return journal_command(
        {.verb = verb, .directory = scratch.path(""), .from = from, .shape = shape},
        knowledge_of_core(),
        [this](std::string_view line) { out.emplace_back(line); },
        [](std::string_view) {});
  }
};

TEST_F(Written, CatShowsPayloadsAsJson) {
  write_journal(0);
  EXPECT_TRUE(run(JournalVerb::Cat, 3, Shape::Json));
  ASSERT_EQ(out.size(), 3U);
  EXPECT_NE(out.at(0).find(R"("payload":{"request":{)"), std::string::npos) << out.at(0);
  EXPECT_NE(out.at(0).find("ci:green3"), std::string::npos);
}

TEST_F(Written, AJournalOfThisVersionIsAcceptedAsItIs) {
  write_journal(0);
  EXPECT_TRUE(run(JournalVerb::Accept, 2));
  ASSERT_EQ(out.size(), 1U) << out.at(0);
  EXPECT_TRUE(out.at(0).starts_with("accepted: 0 records decided otherwise")) << out.at(0);
}

TEST_F(Written, WhatIsDecidedOtherwiseIsShownAndBecomesACheckpoint) {
  write_journal(4);
  EXPECT_TRUE(run(JournalVerb::Accept, 4));
  ASSERT_EQ(out.size(), 2U);
  EXPECT_TRUE(out.at(0).starts_with(R"(4 {"request":)")) << out.at(0);
  EXPECT_NE(out.at(0).find("ci:green4"), std::string::npos);
  EXPECT_TRUE(
      out.at(1).starts_with("accepted: 1 records decided otherwise, snapshot up to record 5"))
      << out.at(1);

  // A daemon finds a checkpoint of all that was decided, and nothing to decide again.
  const Result<Opened> opened = open(scratch.files());
  ASSERT_TRUE(opened) << opened.error().message;
  EXPECT_EQ(opened->payloads, Strings{});
  ASSERT_TRUE(opened->snapshot);
  EXPECT_EQ(opened->snapshot->moment.sequence, 5U);
  CoreJudge judge;
  ASSERT_TRUE(judge.load(opened->content));
  ASSERT_TRUE(judge.loaded(*opened->snapshot));
  EXPECT_EQ(judge.state(), state);
  // And the old files are still there.
  std::size_t aside = 0;
  for (const std::string& name : scratch.names()) aside += name.starts_with("aside-") ? 1U : 0U;
  EXPECT_GE(aside, 2U);
}

TEST_F(Written, ADifferenceBeforeTheOneThatWasAskedForIsRefusedAndNothingChanges) {
  write_journal(3);
  const Strings before = scratch.names();
  const Result<bool> accepted = run(JournalVerb::Accept, 4);
  ASSERT_FALSE(accepted);
  EXPECT_NE(accepted.error().message.find("--from 3"), std::string::npos)
      << accepted.error().message;
  EXPECT_EQ(scratch.names(), before);
}

TEST_F(Written, AnInputThatNowChangesNothingKeepsItsPlace) {
  CoreJudge judge;
  const std::string payload = codec::to_bytes(Input{Tick{}});
  Record record{.sequence = 1, .group = 1, .entry = entry(payload)};
  const auto difference = judge.replay(record);
  ASSERT_TRUE(difference && *difference);
  EXPECT_NE((*difference)->find("changes nothing"), std::string::npos);
  EXPECT_EQ(judge.state().sequence, 1U);
}

TEST_F(Written, WhatCannotBeReadIsShownAsBytesAndNotJudged) {
  Record record{.sequence = 1, .group = 1, .entry = entry("\x01gar\"bage")};
  EXPECT_TRUE(show_input(record).starts_with("\""));
  CoreJudge judge;
  EXPECT_FALSE(judge.replay(record));
}

}  // namespace
}  // namespace reeve::tools
