#include "cli/history.h"

#include "cli/cli.h"
#include "cli/commands/groups.h"
#include "cli/commands/snapshot.h"
#include "cli/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

// `reeve history`: the story of one thing, and the file made anew.
namespace reeve::cli {

namespace {

constexpr std::int64_t lines_by_default = 100;

// What the moments of one thing are, whatever kind it is: the columns of `events`.
constexpr std::string_view columns = "at_ms, at, seq, idx, project, kind, subject, data";

struct Story {
  std::string kind;
  std::string id;
  std::string sql;  // its moments, in any order
  std::vector<SqlValue> parameters;
};

// Things with ids tell of themselves under their id.
std::expected<std::optional<std::string>, Failure> whole_id(Context& context,
                                                            const std::string& path,
                                                            std::string_view table,
                                                            const std::string& word) {
  const auto rows = ask_history(
      context,
      path,
      fmt::format("SELECT id FROM {} WHERE id >= ?1 AND id < ?1 || 'zzzzzzzzzzzz' LIMIT 2", table),
      {word});
  if (!rows) return std::unexpected(rows.error());
  if (rows->empty()) return std::optional<std::string>();
  if (rows->size() > 1 && rows->front()["id"].text() != word) {
    return std::unexpected(Failure{"AMBIGUOUS",
                                   fmt::format("more than one thing is called {}: {} and {}",
                                               word,
                                               rows->front()["id"].text(),
                                               rows->back()["id"].text())});
  }
  return rows->front()["id"].text();
}

struct Kind {
  std::string_view prefix;
  std::string_view kind;
  std::string_view table;
};
constexpr Kind kinds[] = {{"item-", "item", "queue_items"},
                          {"pipe-", "pipeline", "pipelines"},
                          {"task-", "task", "tasks"},
                          {"ask-", "decision", "decisions"}};

// An item's events are its queue's; between its first and its last they are few.
std::string events_of_item() {
  return fmt::format(
      "SELECT {} FROM events, (SELECT first_seq, last_seq FROM queue_items WHERE id = ?1) "
      "WHERE seq BETWEEN first_seq AND last_seq AND subject IN (SELECT queue FROM queue_items "
      "WHERE id = ?1 UNION SELECT queue FROM item_attempts WHERE item = ?1) "
      "AND json_extract(data, '$.item') = ?1",
      columns);
}

// A name may be a lock's, a queue's, a section's, a runner's: all that is said of it. Waits and the
// times of a runner with tasks stand in tables of their own.
std::string events_of_name() {
  const auto moments = [](std::string_view when,
                          std::string_view kind,
                          std::string_view subject,
                          std::string_view data,
                          std::string_view from) {
    return fmt::format(
        " UNION ALL SELECT {0}_ms, {0}_at, 0, 0, '', {1}, {2}, {3} FROM {4} AND {0}_ms IS NOT NULL",
        when,
        kind,
        subject,
        data,
        from);
  };
  const std::string waits = "lock_waits WHERE name = ?1 AND project IN (?2, '//')";
  const std::string tasks = "task_locks_history WHERE runner_id = ?1";
  const std::string sections = "section_locks_history WHERE runner_id = ?1";
  return fmt::format("SELECT {} FROM events WHERE subject = ?1 AND project IN (?2, '//')",
                     columns) +
         moments("began", "'wait:began'", "name", "json_object('holder', holder)", waits) +
         moments("ended", "'wait:' || outcome", "name", "json_object('holder', holder)", waits) +
         moments("acquired", "'board:started'", "task_id", "json_object('task', task_id)", tasks) +
         moments("released", "'board:' || how", "task_id", "json_object('task', task_id)", tasks) +
         moments("acquired",
                 "'board:section_locked'",
                 "section_id",
                 "json_object('section', section_id)",
                 sections) +
         moments("released",
                 "'board:section_' || how",
                 "section_id",
                 "json_object('section', section_id)",
                 sections);
}

std::expected<Story, Failure> story_of(Context& context,
                                       const std::string& path,
                                       const std::string& project,
                                       const std::string& word) {
  for (const Kind& kind : kinds) {
    if (!word.starts_with(kind.prefix)) continue;
    const auto id = whole_id(context, path, kind.table, word);
    if (!id) return std::unexpected(id.error());
    if (!*id) continue;
    if (kind.kind == "item") return Story{"item", **id, events_of_item(), {**id}};
    return Story{std::string(kind.kind),
                 **id,
                 fmt::format("SELECT {} FROM events WHERE subject = ?1", columns),
                 {**id}};
  }
  const bool is_shared = word.starts_with("//");
  const std::string name = is_shared ? word.substr(2) : word;
  return Story{"name", name, events_of_name(), {name, is_shared ? std::string("//") : project}};
}

void tell_moment(Context& context, const Json& event, bool with_subject) {
  Output& output = context.output;
  const std::string at = event["at"].text();
  const auto moment = parse_moment(at);
  const std::string time = output.look.iso || !moment ? at : relative(*moment, wall_now());
  const std::string stamp = fmt::format("{:>10}", time);
  std::string words = fmt::format("{:<24} ", printable(event["name"].text()));
  if (with_subject) words += fmt::format("{:<16} ", printable(event["subject"].text()));
  words += data_line(event["data"]);
  const std::size_t width = Output::out_width();
  if (width > stamp.size() + 1) words = fitted(words, width - stamp.size() - 1);
  output.line(fmt::format("{} {}", output.styled(Style::Dim, stamp), words));
}

// What is missing is said: a story with holes is not the whole story.
void note_gaps(Context& context, const std::string& path) {
  const auto gaps =
      ask_history(context, path, "SELECT from_seq, to_seq FROM gaps ORDER BY from_seq");
  if (!gaps || gaps->empty() || context.json() || context.quiet()) return;
  std::string told;
  for (const Json& gap : *gaps) {
    told += fmt::format(
        "{}{} to {}", told.empty() ? "" : ", ", gap["from_seq"].text(), gap["to_seq"].text());
  }
  context.output.note(fmt::format("history does not have the sequences {}", told));
}

int tell_story(Context& context, const Parsed& parsed) {
  const auto path = synced_history(context);
  if (!path) return context.fail(path.error());
  const auto project = project_name(context);
  if (!project) return context.fail(project.error());
  const std::int64_t most = parsed.number("lines").value_or(lines_by_default);
  if (most < 1) return context.misuse("-n is 1 or more");
  const bool of_one = !parsed.words.empty();
  Story story{"project",
              *project,
              fmt::format("SELECT {} FROM events WHERE project IN (?1, '//')", columns),
              {*project}};
  if (of_one) {
    auto found = story_of(context, *path, *project, parsed.words[0]);
    if (!found) return context.fail(found.error());
    story = *std::move(found);
  }
  const std::int64_t since =
      parsed.duration("since") ? wall_now() - parsed.duration("since")->count() : 0;
  // The last so many, in the order in which they happened.
  const std::string sql = fmt::format(
      "SELECT * FROM (SELECT * FROM ({}) WHERE at_ms >= {} ORDER BY {} LIMIT {}) "
      "ORDER BY at_ms, seq, idx",
      story.sql,
      since,
      of_one ? "at_ms DESC, seq DESC, idx DESC" : "seq DESC, idx DESC",
      most);
  const auto rows = ask_history(context, *path, sql, story.parameters);
  if (!rows) return context.fail(rows.error());
  if (rows->empty() && of_one && since == 0) {
    return context.fail(
        {"NOT_FOUND",
         fmt::format("history knows nothing of {}; `reeve history` shows the latest",
                     parsed.words[0])});
  }
  Json events = Json::array();
  for (const Json& row : *rows) {
    const Json event = event_of_row(row);
    if (context.json()) {
      events.push(event);
    } else if (context.quiet()) {
      context.output.line(event["name"].text());
    } else {
      tell_moment(context, event, !of_one || story.kind == "name");
    }
  }
  if (context.json()) {
    return context.output.succeed(
        json_of({{"kind", story.kind}, {"id", story.id}, {"events", events}}));
  }
  if (rows->empty() && !context.quiet()) context.output.note("nothing happened");
  note_gaps(context, *path);
  return context.output.done();
}

int rebuild(Context& context) {
  const Answer answer = context.client().ask("history.rebuild");
  if (!answer) return context.fail(answer.error());
  if (context.json()) return context.output.succeed(*answer);
  const std::int64_t from = (*answer)["from_seq"].number();
  if (!context.quiet()) {
    context.output.sentence(fmt::format("history was made anew: {} of the sequences {} to {}",
                                        counted((*answer)["events"].number(), "event"),
                                        from,
                                        (*answer)["to_seq"].text()));
  }
  if (from > 1 && !context.quiet()) {
    context.output.note(fmt::format(
        "what came before {} is no longer in the journal; journal.keep keeps more of it", from));
  }
  return context.output.done();
}

}  // namespace

int history_command(Context& context, const Parsed& parsed) {
  const bool rebuilds = !parsed.words.empty() && parsed.words[0] == "rebuild";
  return rebuilds ? rebuild(context) : tell_story(context, parsed);
}

}  // namespace reeve::cli
