#include "tools/journal_tool.h"

#include "journal/crc32c.h"
#include "journal/little_endian.h"
#include "journal/names.h"
#include "journal/segment.h"
#include "journal/testing.h"
#include "tools/json.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

namespace reeve::tools {
namespace {

using namespace journal;
using Strings = std::vector<std::string>;

struct Lines {
  Strings lines;
  Sink sink = [this](std::string_view line) { lines.emplace_back(line); };
};

// Three segments: a in the first, b in the second, c and d in the third; a snapshot after a.
void make_journal(Scratch& scratch) {
  const Result<Opened> opened = open(scratch.files());
  commit(*opened->journal, {std::string(3500, 'a')});
  snapshot(*opened->journal, 1, "after a");
  commit(*opened->journal, {std::string(10000, 'b')});
  commit(*opened->journal, {std::string(3500, 'c')});
  commit(*opened->journal, {std::string(50, 'd')});
}

TEST(JournalTool, VerifyFindsNothingWrongWithAJournalThatIsWell) {
  Scratch scratch;
  make_journal(scratch);
  Lines out;
  const Result<Verdict> verdict = journal_verify(scratch.files(), Shape::Text, out.sink);
  ASSERT_TRUE(verdict.has_value());
  EXPECT_TRUE(verdict->starts);
  EXPECT_FALSE(verdict->damaged);
  EXPECT_EQ(out.lines.back(), "starts; no torn tail");
}

// A folder whose first segment goes as soon as it was listed, as when a daemon has made a snapshot.
class Moving : public Files {
 public:
  explicit Moving(Scratch& scratch) : scratch_(scratch), files_(scratch.files()) {}

  Result<std::vector<std::string>> list() override {
    auto names = files_.list();
    if (++lists_ == 2) std::filesystem::remove(scratch_.path(segment_name(1)));
    return names;
  }
  Result<std::unique_ptr<Claim>> claim() override { return files_.claim(); }
  Result<std::unique_ptr<File>> create(const std::string& name, Access access) override {
    return files_.create(name, access);
  }
  Result<std::unique_ptr<File>> open(const std::string& name, Access access) override {
    return files_.open(name, access);
  }
  Result<void> rename(const std::string& from, const std::string& to) override {
    return files_.rename(from, to);
  }
  Result<void> remove(const std::string& name) override { return files_.remove(name); }
  Result<void> sync_directory() override { return files_.sync_directory(); }
  Result<std::uint64_t> free_space() override { return files_.free_space(); }
  std::string path_of(const std::string& name) const override { return files_.path_of(name); }

 private:
  Scratch& scratch_;
  Files& files_;
  int lists_ = 0;
};

TEST(JournalTool, VerifyLooksAnewAtAJournalOfWhichSomethingWasDeletedMeanwhile) {
  Scratch scratch;
  make_journal(scratch);
  Moving files(scratch);
  Lines out;
  const Result<Verdict> verdict = journal_verify(files, Shape::Text, out.sink);
  ASSERT_TRUE(verdict.has_value());
  EXPECT_TRUE(verdict->starts);
  EXPECT_FALSE(verdict->damaged);
  EXPECT_EQ(out.lines.back(), "starts; no torn tail");
  EXPECT_EQ(std::ranges::count_if(out.lines,
                                  [](const std::string& line) {
                                    return line.find("cannot open") != std::string::npos;
                                  }),
            0);
}

TEST(JournalTool, VerifyAlsoFindsDamageThatNobodyNeeds) {
  Scratch scratch;
  make_journal(scratch);
  scratch.flip(segment_name(1), block_size + 100);
  Lines out;
  const Result<Verdict> verdict = journal_verify(scratch.files(), Shape::Text, out.sink);
  ASSERT_TRUE(verdict.has_value());
  EXPECT_TRUE(verdict->starts);
  EXPECT_TRUE(verdict->damaged);
}

TEST(JournalTool, VerifyChangesNothing) {
  Scratch scratch;
  make_journal(scratch);
  const Strings before = scratch.names();
  ASSERT_TRUE(journal_verify(scratch.files(), Shape::Json, Lines().sink).has_value());
  EXPECT_EQ(scratch.names(), before);
}

TEST(JournalTool, CatPrintsWhatPayloadsSayToThoseWhoKnow) {
  Scratch scratch;
  make_journal(scratch);
  Lines out;
  Lines notes;
  const ShowPayload show = [](const Record& record) {
    return "begins with " + std::string(record.entry.payload.substr(0, 1));
  };
  ASSERT_TRUE(journal_cat(scratch.files(), 3, Shape::Text, show, out.sink, notes.sink).has_value());
  EXPECT_EQ(out.lines,
            (Strings{"3 3 7 1700000000000 input 00000000000000d1 3500 begins with c",
                     "4 4 7 1700000000000 input 00000000000000d1 50 begins with d"}));
  EXPECT_EQ(notes.lines, Strings{});
}

TEST(JournalTool, CatTellsOfATornTailAndEndsThere) {
  Scratch scratch;
  make_journal(scratch);
  const std::string last = segment_name(3);
  scratch.flip(last, block_size + encoded_size(3500) + 50);
  Lines out;
  Lines notes;
  ASSERT_TRUE(journal_cat(scratch.files(), 1, Shape::Text, {}, out.sink, notes.sink).has_value());
  EXPECT_EQ(out.lines.size(), 3U);
  ASSERT_EQ(notes.lines.size(), 1U);
  EXPECT_TRUE(notes.lines[0].starts_with("torn tail in " + scratch.path(last)));
}

TEST(JournalTool, SalvageRescuesTheSnapshotAndWhatComesBeforeTheDamage) {
  Scratch scratch;
  make_journal(scratch);
  scratch.flip(segment_name(3), block_size + 100);
  ASSERT_FALSE(open(scratch.files()).has_value());

  Scratch target;
  Lines out;
  ASSERT_TRUE(journal_salvage(scratch.files(), target.files(), Shape::Text, out.sink).has_value());
  EXPECT_EQ(out.lines.back(),
            "lost: 1 records that can be read come after the damage and cannot be applied");
  const Result<Opened> rescued = open(target.files());
  ASSERT_TRUE(rescued.has_value()) << rescued.error().message;
  EXPECT_EQ(rescued->content, "after a");
  EXPECT_EQ(rescued->payloads, Strings{std::string(10000, 'b')});
  EXPECT_EQ(rescued->journal->next_sequence(), 3U);
}

TEST(JournalTool, SalvageStopsAtASegmentWithoutAHeader) {
  Scratch scratch;
  make_journal(scratch);
  scratch.flip(segment_name(2), 3);
  Scratch target;
  Lines out;
  ASSERT_TRUE(journal_salvage(scratch.files(), target.files(), Shape::Text, out.sink).has_value());
  const Result<Opened> rescued = open(target.files());
  ASSERT_TRUE(rescued.has_value()) << rescued.error().message;
  EXPECT_EQ(rescued->content, "after a");
  EXPECT_EQ(rescued->payloads, Strings{});
}

// What a snapshot says was durable when it was finished is not, in what is rescued.
TEST(JournalTool, WhatSalvageMakesStartsAlsoIfTheDamageIsNextToTheSnapshot) {
  for (const std::size_t damaged : {1U, 2U}) {
    Scratch scratch;
    {
      const Result<Opened> opened = open(scratch.files());
      for (const char* payload : {"a", "b", "c"}) commit(*opened->journal, {payload});
      snapshot(*opened->journal, 1, "one");
    }
    scratch.flip(segment_name(1), block_size + (damaged * encoded_size(1)) + 50);
    ASSERT_FALSE(open(scratch.files()).has_value());
    Scratch target;
    Lines out;
    ASSERT_TRUE(
        journal_salvage(scratch.files(), target.files(), Shape::Text, out.sink).has_value());
    for (int start = 0; start < 2; ++start) {
      const Result<Opened> rescued = open(target.files());
      ASSERT_TRUE(rescued.has_value()) << rescued.error().message;
      EXPECT_EQ(rescued->content, "one");
      EXPECT_EQ(rescued->snapshot->digest, 0xabcU);
      EXPECT_EQ(rescued->snapshot->moment.stamp, entry("").stamp);
      EXPECT_EQ(rescued->payloads, damaged == 1 ? Strings{} : Strings{"b"});
      EXPECT_EQ(rescued->journal->next_sequence(), damaged + 1);
    }
  }
}

TEST(JournalTool, SalvageOfNothingButAHeaderIsAJournalOfTheSameName) {
  Scratch scratch;
  {
    const Result<Opened> opened = open(scratch.files());
    for (const char* payload : {"a", "b"}) commit(*opened->journal, {payload});
  }
  scratch.flip(segment_name(1), block_size + 50);
  Scratch target;
  ASSERT_TRUE(
      journal_salvage(scratch.files(), target.files(), Shape::Text, Lines().sink).has_value());
  const Result<SegmentHeader> header = read_segment_header(target.files(), 1);
  ASSERT_TRUE(header.has_value());
  EXPECT_EQ(header->journal, small_options().fresh_id);
  EXPECT_EQ(open(target.files())->journal->next_sequence(), 1U);
}

TEST(JournalTool, SalvageDoesNotPassOverWhatANewerVersionWrote) {
  Scratch scratch;
  make_journal(scratch);
  std::string bytes = scratch.bytes(snapshot_name(1));
  bytes[8] = 2;
  const std::uint32_t crc =
      crc32c(std::string_view(bytes).substr(16, 48), crc32c(std::string_view(bytes).substr(0, 12)));
  store(bytes.data() + 12, crc);
  scratch.put(snapshot_name(1), bytes);
  Scratch target;
  const Result<void> salvaged =
      journal_salvage(scratch.files(), target.files(), Shape::Text, Lines().sink);
  ASSERT_FALSE(salvaged.has_value());
  EXPECT_EQ(salvaged.error().code, Error::Code::Conflict);
  EXPECT_EQ(target.names(), Strings{});
}

// A judge that thinks every payload that begins with `otherwise` was decided otherwise.
class Counting final : public Judge {
 public:
  explicit Counting(char otherwise) : otherwise_(otherwise) {}

  Result<void> load(std::string_view chunk) override {
    state += chunk;
    return {};
  }
  Result<void> loaded(const SnapshotInfo& snapshot) override {
    EXPECT_EQ(snapshot.digest, 0xabcU);
    return {};
  }
  Result<std::optional<std::string>> replay(const Record& record) override {
    state += record.entry.payload[0];
    if (record.entry.payload[0] != otherwise_) return std::nullopt;
    return "was yes, is no";
  }
  Result<void> save(SnapshotWriter& writer) override { return writer.append(state); }
  std::uint64_t digest() const override { return 77; }

  std::string state;

 private:
  char otherwise_;
};

TEST(JournalTool, AcceptWritesASnapshotAndKeepsTheOldFilesAside) {
  Scratch scratch;
  make_journal(scratch);
  Counting judge('c');
  Lines out;
  const Result<void> accepted = journal_accept(scratch.files(), 3, judge, Shape::Text, out.sink);
  ASSERT_TRUE(accepted.has_value()) << accepted.error().message;
  EXPECT_EQ(out.lines.front(), "3 was yes, is no");
  EXPECT_TRUE(std::filesystem::exists(scratch.path("aside-" + segment_name(3))));
  EXPECT_TRUE(std::filesystem::exists(scratch.path("aside-" + snapshot_name(1))));

  const Result<Opened> opened = open(scratch.files());
  ASSERT_TRUE(opened.has_value()) << opened.error().message;
  EXPECT_EQ(opened->content, "after abcd");
  EXPECT_EQ(opened->snapshot->digest, 77U);
  EXPECT_EQ(opened->payloads, Strings{});
  EXPECT_EQ(opened->journal->next_sequence(), 5U);
}

TEST(JournalTool, AcceptRefusesADifferenceBeforeWhereItWasAskedTo) {
  Scratch scratch;
  make_journal(scratch);
  const Strings before = scratch.names();
  Counting judge('b');
  const Result<void> accepted =
      journal_accept(scratch.files(), 3, judge, Shape::Text, Lines().sink);
  ASSERT_FALSE(accepted.has_value());
  EXPECT_EQ(accepted.error().message,
            "record 2 is decided otherwise too, before 3: was yes, is no; to accept that, say "
            "--from 2");
  EXPECT_EQ(scratch.names(), before);
}

TEST(Text, ForProgramsAndForPeople) {
  EXPECT_EQ(json("a\"b\\c\n"), R"("a\"b\\c\u000a")");
  EXPECT_EQ(visible(std::string("a\0\\~\x7f", 5)), R"(a\x00\x5c~\x7f)");
}

}  // namespace
}  // namespace reeve::tools
