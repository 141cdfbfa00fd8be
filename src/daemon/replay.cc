#include "daemon/replay.h"

#include "engine/recovery.h"
#include "journal/file_journal.h"
#include "journal/names.h"
#include "journal/real_files.h"

#include <vector>

namespace reeve::daemon {
namespace {

using history::History;

Result<history::Sequence> replay_from(journal::Files& files,
                                      engine::Sequence base,
                                      const History::Sink& sink) {
  journal::Options options;
  options.base_limit = base;
  options.claims = false;  // the daemon writes it meanwhile
  auto recovery = journal::open_file_journal(files, options);
  if (!recovery) return fail(recovery.error());
  const Result<engine::Remembered> remembered = engine::remember(**recovery, sink);
  if (!remembered) return fail(remembered.error());
  // Whoever listens knows how much of it is durable.
  for (const engine::Unshown& last : remembered->unshown) {
    sink(last.event, last.now, remembered->state);
  }
  return remembered->snapshot + 1;
}

Result<history::Sequence> replay(const std::string& directory,
                                 const History::Sink& sink,
                                 const std::function<void()>& anew) {
  auto files = journal::RealFiles::open_directory(directory, journal::SyncMethod::DataSync);
  if (!files) return fail(files.error());
  const Result<std::vector<std::string>> names = (*files)->list();
  if (!names) return fail(names.error());
  std::vector<engine::Sequence> bases = journal::listing_of(*names).snapshots;
  bases.insert(bases.begin(), 0);
  Result<history::Sequence> from = fail(Error::Code::NotFound, "the journal is empty");
  for (const engine::Sequence base : bases) {
    anew();
    from = replay_from(**files, base, sink);
    if (from) break;
  }
  return from;
}

}  // namespace

History::Replay replay_of(std::string journal_directory) {
  return [directory = std::move(journal_directory)](const History::Sink& sink,
                                                    const std::function<void()>& anew) {
    return replay(directory, sink, anew);
  };
}

}  // namespace reeve::daemon
