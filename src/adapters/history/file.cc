#include "adapters/history/file.h"

#include "adapters/history/schema.h"
#include "adapters/run_directory.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <fcntl.h>
#include <sys/stat.h>
#include <tuple>
#include <unistd.h>
#include <utility>

namespace reeve::history {
namespace {

// Pages of 4 KiB: 2 MiB of memory, so that a daemon is as large after a hundred thousand runs as it
// is after a thousand, and a WAL of 16 MiB before it is folded into the file.
constexpr const char* tuning =
    "PRAGMA synchronous = FULL; PRAGMA cache_size = -2048; PRAGMA wal_autocheckpoint = 4096; "
    "PRAGMA journal_size_limit = 67108864; PRAGMA temp_store = MEMORY; PRAGMA foreign_keys = OFF";

// SQLite would make it with what the umask leaves.
Result<void> make_file(const std::string& path) {
  const int descriptor = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (descriptor < 0) {
    const bool full = errno == ENOSPC || errno == EDQUOT;
    return fail(full ? Error::Code::Full : Error::Code::Io,
                fmt::format("{}: {}", path, adapters::error_text(errno)));
  }
  struct stat status{};
  const bool good =
      ::fstat(descriptor, &status) == 0 && S_ISREG(status.st_mode) && status.st_uid == ::geteuid();
  ::close(descriptor);
  if (!good) return fail(Error::Code::Corrupt, fmt::format("{}: is no file of ours", path));
  return {};
}

}  // namespace

File::~File() { roll_back(); }

Result<std::unique_ptr<File>> File::open(const std::string& path) {
  if (auto made = make_file(path); !made) return fail(made.error());
  Result<Database> database = Database::open(path, Database::For::Write);
  if (!database) return fail(database.error());
  if (auto ready = ensure_schema(*database); !ready) return fail(ready.error());
  if (auto tuned = database->run(tuning); !tuned) return fail(tuned.error());
  auto file = std::unique_ptr<File>(new File(*std::move(database)));
  if (auto read = file->read_place(); !read) return fail(read.error());
  return file;
}

Result<void> File::read_place() {
  Result<Statement> read =
      Statement::prepare(database_, "SELECT key, value FROM meta WHERE key LIKE 'place_%'");
  if (!read) return fail(read.error());
  while (true) {
    const Result<bool> row = read->next();
    if (!row) return fail(row.error());
    if (!*row) break;
    const auto value = static_cast<std::uint64_t>(read->number(1));
    if (read->text(0) == "place_reached") place_.reached = value;
    if (read->text(0) == "place_seq") place_.sequence = value;
    if (read->text(0) == "place_idx") place_.index = static_cast<std::uint32_t>(value);
    if (read->text(0) == "place_events") place_.events = value;
  }
  Result<Statement> set = Statement::prepare(
      database_,
      "INSERT OR REPLACE INTO meta (key, value) VALUES ('place_reached', ?), ('place_seq', ?), "
      "('place_idx', ?), ('place_events', ?)");
  if (!set) return fail(set.error());
  set_place_ = *std::move(set);
  next_ = place_;
  return {};
}

Result<void> File::begin() {
  if (in_transaction_) return {};
  rows_.clear();
  if (auto began = database_.run("BEGIN IMMEDIATE"); !began) return began;
  in_transaction_ = true;
  next_ = place_;
  return {};
}

void File::name(const ProjectNamed& named) { projects_[named.project.value] = named.name; }

Result<void> File::add(const Put& put) {
  const Event& event = put.event;
  const bool has_it = event.sequence <= next_.reached || std::tie(event.sequence, event.index) <=
                                                             std::tie(next_.sequence, next_.index);
  if (has_it) return {};
  if (auto began = begin(); !began) return began;
  if (auto added = rows_.add(event, put.stamp, projects_[event.project.value]); !added) {
    return added;
  }
  next_.sequence = event.sequence;
  next_.index = event.index;
  ++next_.events;
  return {};
}

Result<void> File::commit(Sequence reached) {
  if (!in_transaction_ && reached <= place_.reached) return {};
  if (auto began = begin(); !began) return began;
  next_.reached = std::max(next_.reached, reached);
  return write_place();
}

Result<void> File::write_place() {
  set_place_.bind(next_.reached).bind(next_.sequence).bind(next_.index).bind(next_.events);
  if (auto set = set_place_.run(); !set) return set;
  if (auto committed = database_.run("COMMIT"); !committed) return committed;
  in_transaction_ = false;
  place_ = next_;
  return {};
}

void File::roll_back() {
  if (!std::exchange(in_transaction_, false)) return;
  // What fails here failed before: the transaction is gone with the connection at the latest.
  [[maybe_unused]] const Result<void> rolled = database_.run("ROLLBACK");
  next_ = place_;
}

Result<void> File::add_gap(Sequence from, Sequence to, Wall at) {
  if (auto began = begin(); !began) return began;
  return database_.run(
      fmt::format("INSERT OR REPLACE INTO gaps (from_seq, to_seq, at_ms) VALUES ({}, {}, {})",
                  from,
                  to,
                  at.time_since_epoch().count()));
}

Result<void> File::fold() {
  Result<std::int64_t> busy = database_.number("PRAGMA wal_checkpoint(TRUNCATE)");
  if (!busy) return fail(busy.error());
  return {};
}

Result<void> remove_database(const std::string& path) {
  for (const std::string_view end : {"", "-wal", "-shm", "-journal"}) {
    const std::string name = path + std::string(end);
    if (::unlink(name.c_str()) == 0 || errno == ENOENT) continue;
    return fail(Error::Code::Io, fmt::format("{}: {}", name, adapters::error_text(errno)));
  }
  return {};
}

// The old one goes first, with what is beside it: a log of another file must not meet the new one.
Result<void> put_in_place(const std::string& made, const std::string& path) {
  if (auto removed = remove_database(path); !removed) return removed;
  if (::rename(made.c_str(), path.c_str()) != 0) {
    return fail(Error::Code::Io, fmt::format("{}: {}", path, adapters::error_text(errno)));
  }
  const std::string directory = path.substr(0, std::max<std::size_t>(1, path.rfind('/')));
  const int descriptor = ::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  const bool synced = descriptor >= 0 && ::fsync(descriptor) == 0;
  if (descriptor >= 0) ::close(descriptor);
  if (!synced)
    return fail(Error::Code::Io, fmt::format("{}: {}", directory, adapters::error_text(errno)));
  return {};
}

}  // namespace reeve::history
