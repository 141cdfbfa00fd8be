#pragma once

#include "adapters/history/buffer.h"
#include "adapters/history/rows.h"
#include "adapters/history/settings.h"
#include "adapters/history/sqlite.h"
#include "base/result.h"

#include <compare>
#include <cstdint>
#include <map>
#include <memory>
#include <string>

// history.db: events and what follows from them, with the place it has come to, changed together in
// one transaction. So whatever is shown to it again after a crash is known, and skipped; and what
// it says it has is on stable storage (WAL, synchronous = FULL: one sync a transaction, and there
// are few of them).
namespace reeve::history {

// How far it is. All of the sequences up to `reached` is there; of the later ones, what is not
// after (sequence, index).
struct Place {
  Sequence reached = 0;
  Sequence sequence = 0;
  std::uint32_t index = 0;
  std::uint64_t events = 0;  // in the table

  bool operator==(const Place&) const = default;
};

class File {
 public:
  // Made with mode 0600 if it is not there. Corrupt: damaged, or no history; Conflict: of another
  // version.
  static Result<std::unique_ptr<File>> open(const std::string& path);
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  ~File();

  const Place& place() const { return place_; }  // committed

  // In a transaction, which the first add() begins. After a failure: roll_back(), and all since the
  // last commit once more. What it has already is skipped.
  Result<void> add(const Put& put);
  void name(const ProjectNamed& named);
  Result<void> commit(Sequence reached);
  void roll_back();
  bool is_open() const { return in_transaction_; }

  // Forgets a little of what is beyond the limits; true: there is more to forget.
  Result<bool> trim(const Settings& settings, Wall now);

  // What a rebuild could not have: before what is left of the journal.
  Result<void> add_gap(Sequence from, Sequence to, Wall at);

  // All of it in the one file, and none beside it.
  Result<void> fold();

 private:
  explicit File(Database database) : database_(std::move(database)), rows_(database_) {}
  Result<void> read_place();
  Result<void> write_place();
  Result<void> begin();
  Result<std::uint64_t> forget_events(const Settings& settings, std::int64_t oldest);
  Result<bool> forget_before(Wall cutoff);

  Database database_;
  Rows rows_;
  Statement set_place_;
  std::map<std::uint32_t, std::string> projects_;
  Place place_;
  Place next_;  // of the transaction
  bool in_transaction_ = false;
  Wall cutoff_{};  // what ended before it is forgotten
};

// The file and those beside it. None there is fine.
Result<void> remove_database(const std::string& path);

// `made`, which has none beside it, in the place of `path`, for good.
Result<void> put_in_place(const std::string& made, const std::string& path);

}  // namespace reeve::history
