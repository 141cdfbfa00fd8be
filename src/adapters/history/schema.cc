#include "adapters/history/schema.h"

#include <fmt/format.h>

#include <string_view>

namespace reeve::history {
namespace {

// `{at}` is a moment: the integer at_ms that is stored, milliseconds since 1970, and at, the same
// as text, which is made when it is read (RFC 3339, UTC). `{started}` is started_ms and started_at.
//
// Tokens and claims come from one counter of the state and are never given twice, so they are keys.
constexpr std::string_view tables = R"sql(
CREATE TABLE meta (
  key TEXT PRIMARY KEY,
  value
) WITHOUT ROWID;

CREATE TABLE events (
  seq INTEGER NOT NULL,
  idx INTEGER NOT NULL,
  {at},
  project TEXT NOT NULL,
  kind TEXT NOT NULL,
  subject TEXT NOT NULL,
  data TEXT NOT NULL,
  PRIMARY KEY (seq, idx)
) WITHOUT ROWID;
CREATE INDEX events_by_subject ON events (subject);
CREATE INDEX events_by_time ON events (at_ms);

CREATE TABLE gaps (
  from_seq INTEGER PRIMARY KEY,
  to_seq INTEGER NOT NULL,
  {at}
);

CREATE TABLE pipelines (
  id TEXT PRIMARY KEY,
  project TEXT NOT NULL,
  name TEXT NOT NULL,
  state TEXT NOT NULL,
  phase TEXT,
  error TEXT,
  {started},
  {ended}
) WITHOUT ROWID;
CREATE INDEX pipelines_by_end ON pipelines (ended_ms) WHERE ended_ms IS NOT NULL;

CREATE TABLE phases (
  pipeline TEXT NOT NULL,
  number INTEGER NOT NULL,
  phase TEXT NOT NULL,
  attempt INTEGER NOT NULL,
  outcome TEXT,
  error TEXT,
  blocked_on TEXT,
  blocked_ms INTEGER NOT NULL DEFAULT 0,
  blocked_since_ms INTEGER,
  {entered},
  {ended},
  PRIMARY KEY (pipeline, number)
) WITHOUT ROWID;

CREATE TABLE queue_items (
  id TEXT PRIMARY KEY,
  project TEXT NOT NULL,
  queue TEXT NOT NULL,
  state TEXT NOT NULL,
  priority INTEGER NOT NULL,
  attempts INTEGER NOT NULL DEFAULT 0,
  claim INTEGER,
  holder TEXT,
  error TEXT,
  {pushed},
  {taken},
  {ended},
  first_seq INTEGER NOT NULL,
  last_seq INTEGER NOT NULL
) WITHOUT ROWID;
CREATE INDEX queue_items_by_end ON queue_items (ended_ms) WHERE ended_ms IS NOT NULL;

CREATE TABLE item_attempts (
  claim INTEGER PRIMARY KEY,
  item TEXT NOT NULL,
  project TEXT NOT NULL,
  queue TEXT NOT NULL,
  attempt INTEGER NOT NULL,
  holder TEXT NOT NULL,
  outcome TEXT,
  error TEXT,
  {taken},
  {ended}
);
CREATE INDEX item_attempts_by_item ON item_attempts (item);
CREATE INDEX item_attempts_by_end ON item_attempts (ended_ms) WHERE ended_ms IS NOT NULL;

CREATE TABLE lock_holds (
  token INTEGER PRIMARY KEY,
  kind TEXT NOT NULL,
  project TEXT NOT NULL,
  name TEXT NOT NULL,
  holder TEXT NOT NULL,
  weight INTEGER NOT NULL,
  how TEXT,
  forced_by TEXT,
  reason TEXT,
  {acquired},
  {stale},
  {released}
);
CREATE INDEX lock_holds_by_name ON lock_holds (name);
CREATE INDEX lock_holds_open ON lock_holds (name, holder) WHERE released_ms IS NULL;
CREATE INDEX lock_holds_by_end ON lock_holds (released_ms) WHERE released_ms IS NOT NULL;

CREATE TABLE lock_waits (
  waiter INTEGER NOT NULL,
  kind TEXT,
  project TEXT NOT NULL,
  name TEXT NOT NULL,
  holder TEXT NOT NULL,
  outcome TEXT,
  {began},
  {ended},
  PRIMARY KEY (waiter, name)
) WITHOUT ROWID;
CREATE INDEX lock_waits_open ON lock_waits (holder, name) WHERE ended_ms IS NULL;
CREATE INDEX lock_waits_by_name ON lock_waits (name);
CREATE INDEX lock_waits_by_end ON lock_waits (ended_ms) WHERE ended_ms IS NOT NULL;

CREATE TABLE sections (
  id TEXT PRIMARY KEY,
  project TEXT NOT NULL,
  name TEXT NOT NULL,
  {added},
  {removed}
) WITHOUT ROWID;

CREATE TABLE tasks (
  id TEXT PRIMARY KEY,
  project TEXT NOT NULL,
  title TEXT NOT NULL,
  section TEXT,
  status TEXT NOT NULL,
  runner TEXT,
  starts INTEGER NOT NULL DEFAULT 0,
  {added},
  {started},
  {ended}
) WITHOUT ROWID;
CREATE INDEX tasks_by_end ON tasks (ended_ms) WHERE ended_ms IS NOT NULL;

CREATE TABLE task_locks (
  task_id TEXT PRIMARY KEY REFERENCES tasks (id),
  runner_id TEXT NOT NULL,
  acquired_at TEXT NOT NULL,
  expires_at TEXT NOT NULL,
  heartbeat_at TEXT NOT NULL
) WITHOUT ROWID;

CREATE TABLE section_locks (
  section_id TEXT PRIMARY KEY REFERENCES sections (id),
  runner_id TEXT NOT NULL,
  acquired_at TEXT NOT NULL,
  expires_at TEXT NOT NULL
) WITHOUT ROWID;

CREATE TABLE task_locks_history (
  task_id TEXT NOT NULL,
  runner_id TEXT NOT NULL,
  how TEXT,
  {acquired},
  {expires},
  {heartbeat},
  {released}
);
CREATE INDEX task_locks_history_by_task ON task_locks_history (task_id);
CREATE INDEX task_locks_history_by_runner ON task_locks_history (runner_id);
CREATE INDEX task_locks_history_by_end ON task_locks_history (released_ms)
  WHERE released_ms IS NOT NULL;

CREATE TABLE section_locks_history (
  section_id TEXT NOT NULL,
  runner_id TEXT NOT NULL,
  how TEXT,
  {acquired},
  {expires},
  {released}
);
CREATE INDEX section_locks_history_by_section ON section_locks_history (section_id);
CREATE INDEX section_locks_history_by_runner ON section_locks_history (runner_id);
CREATE INDEX section_locks_history_by_end ON section_locks_history (released_ms)
  WHERE released_ms IS NOT NULL;

CREATE TABLE decisions (
  id TEXT PRIMARY KEY,
  project TEXT NOT NULL,
  cause TEXT NOT NULL,
  question TEXT NOT NULL,
  state TEXT NOT NULL,
  choice TEXT,
  answer TEXT,
  answered_by TEXT,
  {opened},
  {closed}
) WITHOUT ROWID;
CREATE INDEX decisions_by_end ON decisions (closed_ms) WHERE closed_ms IS NOT NULL;
)sql";

std::string moment(std::string_view name) {
  const std::string stored = fmt::format("{}_ms", name);
  const std::string shown = name == "at" ? "at" : fmt::format("{}_at", name);
  return fmt::format(
      "{0} INTEGER, {1} TEXT GENERATED ALWAYS AS "
      "(strftime('%Y-%m-%dT%H:%M:%fZ', {0} / 1000.0, 'unixepoch')) VIRTUAL",
      stored,
      shown);
}

std::string statements() {
  std::string sql;
  std::string_view rest = tables;
  while (true) {
    const std::size_t open = rest.find('{');
    sql += rest.substr(0, open);
    if (open == std::string_view::npos) return sql;
    const std::size_t close = rest.find('}', open);
    sql += moment(rest.substr(open + 1, close - open - 1));
    rest.remove_prefix(close + 1);
  }
}

// What the file says it is; 0 and 0: nothing yet.
struct Marks {
  std::int64_t application = 0;
  std::int64_t version = 0;
  std::int64_t tables = 0;
};

Result<Marks> read_marks(Database& database) {
  Marks marks;
  for (const auto& [sql, number] :
       {std::pair{"PRAGMA application_id", &marks.application},
        std::pair{"PRAGMA user_version", &marks.version},
        std::pair{"SELECT count(*) FROM sqlite_schema", &marks.tables}}) {
    const Result<std::int64_t> read = database.number(sql);
    if (!read) return fail(read.error());
    *number = *read;
  }
  return marks;
}

Result<void> judge(const Marks& marks, const std::string& path) {
  if (marks.application != application_id) {
    return fail(Error::Code::Corrupt,
                fmt::format("{}: is a database, but no history of Reeve", path));
  }
  if (marks.version > schema_version) {
    return fail(Error::Code::Conflict,
                fmt::format("{}: was written by a newer version of reeve (format {}, this one "
                            "knows {})",
                            path,
                            marks.version,
                            schema_version));
  }
  if (marks.version < schema_version) {
    return fail(Error::Code::Conflict,
                fmt::format("{}: has format {}, this version of reeve writes {}",
                            path,
                            marks.version,
                            schema_version));
  }
  return {};
}

}  // namespace

Result<void> check_schema(Database& database) {
  const Result<Marks> marks = read_marks(database);
  if (!marks) return fail(marks.error());
  return judge(*marks, database.path());
}

Result<void> ensure_schema(Database& database) {
  const Result<Marks> marks = read_marks(database);
  if (!marks) return fail(marks.error());
  const bool is_new = marks->application == 0 && marks->version == 0 && marks->tables == 0;
  if (!is_new) return judge(*marks, database.path());
  // Both before there is a table: the first cannot be had later.
  if (auto set = database.run("PRAGMA auto_vacuum = INCREMENTAL; PRAGMA journal_mode = WAL");
      !set) {
    return set;
  }
  return database.run(fmt::format(
      "BEGIN IMMEDIATE; PRAGMA application_id = {}; PRAGMA user_version = {}; {} COMMIT",
      application_id,
      schema_version,
      statements()));
}

}  // namespace reeve::history
