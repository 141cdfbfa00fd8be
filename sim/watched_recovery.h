#pragma once

#include "journal/journal.h"
#include "sim/oracle.h"

#include <vector>

namespace reeve::sim {

// A recovery that is passed on as it is, while the oracle looks at everything it says.
class WatchedRecovery : public journal::Recovery {
 public:
  WatchedRecovery(journal::Recovery& inner, Oracle& oracle) : inner_(inner), oracle_(oracle) {
    if (inner_.snapshot()) oracle_.begins_from(*inner_.snapshot());
  }

  const std::optional<journal::SnapshotInfo>& snapshot() const override {
    return inner_.snapshot();
  }
  Result<std::string_view> next_chunk() override { return inner_.next_chunk(); }
  Result<void> replay(const journal::GroupVisitor& visitor) override {
    return inner_.replay([&](std::span<const journal::Record> group) -> Result<void> {
      for (const journal::Record& record : group) oracle_.replays(record);
      return visitor(group);
    });
  }
  const journal::Findings& findings() const override { return inner_.findings(); }
  Result<std::unique_ptr<journal::Journal>> begin() override { return inner_.begin(); }

 private:
  journal::Recovery& inner_;
  Oracle& oracle_;
};

// One record says that another answer was given than this version would give.
class OtherVersion final : public journal::Recovery {
 public:
  OtherVersion(journal::Recovery& inner, std::uint64_t which) : inner_(inner), left_(which) {}

  bool has_lied() const { return lied_; }

  const std::optional<journal::SnapshotInfo>& snapshot() const override {
    return inner_.snapshot();
  }
  Result<std::string_view> next_chunk() override { return inner_.next_chunk(); }
  Result<void> replay(const journal::GroupVisitor& visitor) override {
    return inner_.replay([&](std::span<const journal::Record> group) -> Result<void> {
      std::vector<journal::Record> told(group.begin(), group.end());
      for (journal::Record& record : told) {
        if (lied_ || left_-- != 0) continue;
        record.entry.digest ^= 1;
        lied_ = true;
      }
      return visitor(told);
    });
  }
  const journal::Findings& findings() const override { return inner_.findings(); }
  Result<std::unique_ptr<journal::Journal>> begin() override { return inner_.begin(); }

 private:
  journal::Recovery& inner_;
  std::uint64_t left_;
  bool lied_ = false;
};

}  // namespace reeve::sim
