#pragma once

#include "journal/file_journal.h"
#include "journal/journal.h"
#include "journal/real_files.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

// What the tests of the journal share: a directory of their own, and a few words.
namespace reeve::journal {

class Scratch {
 public:
  Scratch() {
    std::string pattern = (std::filesystem::temp_directory_path() / "reeve-XXXXXX").string();
    path_ = ::mkdtemp(pattern.data());
    files_ = std::move(*RealFiles::open_directory(path_.string(), SyncMethod::DataSync));
  }
  ~Scratch() { std::filesystem::remove_all(path_); }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;

  Files& files() { return *files_; }
  std::string path() const { return path_.string(); }
  std::string path(const std::string& name) const { return (path_ / name).string(); }

  std::string bytes(const std::string& name) const {
    std::ifstream in(path_ / name, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  void put(const std::string& name, const std::string& bytes) const {
    std::ofstream(path_ / name, std::ios::binary) << bytes;
  }
  void flip(const std::string& name, std::size_t offset) const {
    std::string all = bytes(name);
    all.at(offset) = static_cast<char>(all.at(offset) ^ 1);
    put(name, all);
  }
  std::vector<std::string> names() const { return *files_->list(); }

 private:
  std::filesystem::path path_;
  std::unique_ptr<RealFiles> files_;
};

inline Options small_options() {
  Options options;
  for (std::size_t i = 0; i < options.fresh_id.bytes.size(); ++i) {
    options.fresh_id.bytes[i] = static_cast<std::uint8_t>(i + 1);
  }
  options.claims = false;  // tests leave a journal lying and open it again, as after a kill
  options.first_segment = 8192;
  options.largest_segment = 16384;
  options.largest_group = 4096;
  options.chunk_size = 64;
  options.keep_free = 0;
  return options;
}

inline Entry entry(std::string_view payload) {
  return {.type = RecordType::Input,
          .stamp = {.now = Time{Duration{7}}, .wall = Wall{Duration{1'700'000'000'000}}},
          .payload = payload,
          .digest = 0xd1};
}

// What a recovery tells, and the journal it becomes.
struct Opened {
  std::optional<SnapshotInfo> snapshot;
  std::string content;                // of the snapshot
  std::vector<std::string> payloads;  // after it
  Findings findings;
  std::unique_ptr<Journal> journal;
};

inline Result<Opened> open(Files& files, const Options& options = small_options()) {
  const Result<std::unique_ptr<Recovery>> recovery = open_file_journal(files, options);
  if (!recovery) return fail(recovery.error());
  Opened opened;
  opened.snapshot = (*recovery)->snapshot();
  for (;;) {
    const Result<std::string_view> chunk = (*recovery)->next_chunk();
    if (!chunk) return fail(chunk.error());
    if (chunk->empty()) break;
    opened.content += *chunk;
  }
  const Result<void> told = (*recovery)->replay([&](std::span<const Record> group) {
    for (const Record& record : group) opened.payloads.emplace_back(record.entry.payload);
    return Result<void>{};
  });
  if (!told) return fail(told.error());
  opened.findings = (*recovery)->findings();
  Result<std::unique_ptr<Journal>> journal = (*recovery)->begin();
  if (!journal) return fail(journal.error());
  opened.journal = std::move(*journal);
  return opened;
}

inline Sequence commit(Journal& journal, const std::vector<std::string>& payloads) {
  std::vector<Entry> entries;
  for (const std::string& payload : payloads) entries.push_back(entry(payload));
  const Result<Sequence> last = journal.commit(entries);
  EXPECT_TRUE(last.has_value()) << (last ? "" : last.error().message);
  return last.value_or(0);
}

inline void snapshot(Journal& journal, Sequence sequence, std::string_view content) {
  auto writer = journal.begin_snapshot({.sequence = sequence, .stamp = entry("").stamp});
  ASSERT_TRUE(writer.has_value());
  ASSERT_TRUE((*writer)->append(content).has_value());
  ASSERT_TRUE((*writer)->finish(0xabc).has_value());
}

}  // namespace reeve::journal
