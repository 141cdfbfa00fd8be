#pragma once

#include "base/result.h"
#include "journal/files.h"
#include "journal/journal.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

// What `reeve journal` does to a directory. Data goes to a sink, line by line. info, verify and cat
// change nothing; accept wants a directory that nobody else is using (home_lock.h).
namespace reeve::tools {

using Sink = std::function<void(std::string_view line)>;

enum class Shape { Text, Json };

// What a payload says, as JSON in one line; without it its bytes are shown. Filled by whoever knows
// them.
using ShowPayload = std::function<std::string(const journal::Record&)>;

// The files, what is in them, and whether the last stop was clean.
Result<void> journal_info(journal::Files& files, Shape shape, const Sink& out);

// What a look at every byte found.
struct Verdict {
  bool starts = false;   // a daemon would start from it
  bool damaged = false;  // something is wrong, be it needed or not
};
Result<Verdict> journal_verify(journal::Files& files, Shape shape, const Sink& out);

// The records that are kept, from `from` on. A torn tail or damage that nobody needs is told to
// `notes`; damage that matters ends it with an error.
Result<void> journal_cat(journal::Files& files,
                         journal::Sequence from,
                         Shape shape,
                         const ShowPayload& show,
                         const Sink& out,
                         const Sink& notes);

// Copies into the empty `target` what can be trusted of a damaged journal: the newest whole
// snapshot and the records after it up to the damage. What comes after a gap cannot be applied and
// is only counted. `files` stays as it is.
Result<void> journal_salvage(journal::Files& files,
                             journal::Files& target,
                             Shape shape,
                             const Sink& out);

// Decides again what the journal remembers; somebody who knows the core fills it.
class Judge {
 public:
  Judge() = default;
  Judge(const Judge&) = delete;
  Judge& operator=(const Judge&) = delete;
  virtual ~Judge() = default;

  virtual Result<void> load(std::string_view chunk) = 0;  // of the snapshot, if there is one
  virtual Result<void> loaded(const journal::SnapshotInfo& snapshot) = 0;

  // Applies the record; says in a line how the answer differs from the one that was given then.
  virtual Result<std::optional<std::string>> replay(const journal::Record& record) = 0;

  virtual Result<void> save(journal::SnapshotWriter& writer) = 0;
  virtual std::uint64_t digest() const = 0;
};

// Takes what this version decides from record `from` on for the truth. Differences are shown; one
// before `from` is refused. The result is a snapshot of everything; segments and older snapshots
// are kept under names that begin with "aside-".
Result<void> journal_accept(
    journal::Files& files, journal::Sequence from, Judge& judge, Shape shape, const Sink& out);

}  // namespace reeve::tools
