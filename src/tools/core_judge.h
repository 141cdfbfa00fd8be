#pragma once

#include "core/state.h"
#include "tools/journal_tool.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

// What this version of the core makes of a journal. It decides every record again and goes on with
// its own decision, whatever was decided then.
namespace reeve::tools {

class CoreJudge final : public Judge {
 public:
  CoreJudge();

  Result<void> load(std::string_view chunk) override;
  Result<void> loaded(const journal::SnapshotInfo& snapshot) override;

  // `request` {...}: the answer is now {...}, with so many events and effects. What it was then is
  // known by its digest alone.
  Result<std::optional<std::string>> replay(const journal::Record& record) override;

  Result<void> save(journal::SnapshotWriter& writer) override;
  std::uint64_t digest() const override { return digest_; }

  const State& state() const { return state_; }

 private:
  State state_;
  std::string snapshot_;  // its pieces, until all are there
  std::uint64_t digest_ = 0;
};

// An input of the core as JSON; bytes that are none, as a JSON string.
std::string show_input(const journal::Record& record);

}  // namespace reeve::tools
