#include "base/check.h"
#include "engine/testing.h"

#include <thread>
#include <utility>

namespace reeve::engine::testing {
namespace {

class MemoryWriter final : public journal::SnapshotWriter {
 public:
  MemoryWriter(MemoryDisk& disk, const journal::Moment& moment, const Sequence& durable)
      : disk_(disk), moment_(moment), durable_(durable) {}

  Result<void> append(std::string_view bytes) override {
    bytes_.append(bytes);
    return {};
  }

  Result<journal::SnapshotInfo> finish(std::uint64_t state_digest) override {
    if (disk_.full) return fail(Error::Code::Full, "no room");
    CHECK(moment_.sequence <= durable_);
    const journal::SnapshotInfo info{.moment = moment_,
                                     .digest = state_digest,
                                     .raw_bytes = bytes_.size(),
                                     .stored_bytes = bytes_.size(),
                                     .chunks = 1};
    disk_.snapshots.insert_or_assign(moment_.sequence, MemoryDisk::KeptSnapshot{info, bytes_});
    disk_.wants_snapshot = false;
    return info;
  }

 private:
  MemoryDisk& disk_;
  journal::Moment moment_;
  const Sequence& durable_;
  std::string bytes_;
};

class MemoryJournal final : public journal::Journal {
 public:
  MemoryJournal(MemoryDisk& disk, Sequence last) : disk_(disk), durable_(last) {}

  Result<Sequence> commit(std::span<const journal::Entry> entries) override {
    CHECK(!entries.empty());
    if (disk_.fails) return fail(*disk_.fails);
    if (disk_.takes.count() > 0) std::this_thread::sleep_for(disk_.takes);
    ++disk_.groups;
    disk_.clean = false;
    for (const journal::Entry& entry : entries) {
      journal::Record record{.sequence = ++durable_, .group = disk_.groups, .entry = entry};
      record.last_of_group = &entry == &entries.back();
      record.entry.payload = {};
      disk_.records.push_back({record, std::string(entry.payload)});
    }
    return durable_;
  }

  Sequence next_sequence() const override { return durable_ + 1; }
  journal::Room room() const override { return disk_.room; }
  bool wants_prepare() const override { return disk_.wants_prepare; }
  Result<void> prepare() override { return {}; }
  bool wants_snapshot() const override { return disk_.wants_snapshot; }

  Result<std::unique_ptr<journal::SnapshotWriter>> begin_snapshot(
      const journal::Moment& moment) override {
    return std::make_unique<MemoryWriter>(disk_, moment, durable_);
  }

  Result<void> truncate(Sequence passed) override {
    const auto base = disk_.snapshots.upper_bound(passed);
    if (base == disk_.snapshots.begin()) return {};
    disk_.truncated = std::prev(base)->first;
    disk_.snapshots.erase(disk_.snapshots.begin(), std::prev(base));
    std::erase_if(disk_.records, [&](const MemoryDisk::Kept& kept) {
      return kept.record.sequence <= disk_.truncated;
    });
    return {};
  }

  Result<void> read(Sequence, const journal::GroupVisitor&) override {
    return fail(Error::Code::NotFound, "the tests do not read");
  }

  Result<void> close() override {
    disk_.clean = true;
    return {};
  }

 private:
  MemoryDisk& disk_;
  Sequence durable_;
};

class MemoryRecovery final : public journal::Recovery {
 public:
  explicit MemoryRecovery(MemoryDisk& disk) : disk_(disk) {
    if (!disk.snapshots.empty()) info_ = disk.snapshots.rbegin()->second.info;
    findings_.fresh = disk.records.empty() && !info_;
    findings_.clean_stop = disk.clean;
  }

  const std::optional<journal::SnapshotInfo>& snapshot() const override { return info_; }

  // In pieces that have nothing to do with those that were written.
  Result<std::string_view> next_chunk() override {
    const std::string_view bytes = disk_.snapshots.at(info_->moment.sequence).bytes;
    const std::string_view piece = bytes.substr(read_, 1000);
    read_ += piece.size();
    return piece;
  }

  Result<void> replay(const journal::GroupVisitor& visitor) override {
    last_ = info_ ? info_->moment.sequence : 0;
    std::vector<journal::Record> group;
    for (const MemoryDisk::Kept& kept : disk_.records) {
      if (kept.record.sequence <= last_) continue;
      CHECK(kept.record.sequence == last_ + 1);
      last_ = kept.record.sequence;
      group.push_back(kept.record);
      group.back().entry.payload = kept.payload;
      if (!kept.record.last_of_group) continue;
      if (Result<void> visited = visitor(group); !visited) return visited;
      group.clear();
    }
    return {};
  }

  const journal::Findings& findings() const override { return findings_; }

  Result<std::unique_ptr<journal::Journal>> begin() override {
    return std::make_unique<MemoryJournal>(disk_, last_);
  }

 private:
  MemoryDisk& disk_;
  std::optional<journal::SnapshotInfo> info_;
  journal::Findings findings_;
  std::size_t read_ = 0;
  Sequence last_ = 0;
};

}  // namespace

std::unique_ptr<journal::Recovery> open_memory_journal(MemoryDisk& disk) {
  return std::make_unique<MemoryRecovery>(disk);
}

}  // namespace reeve::engine::testing
