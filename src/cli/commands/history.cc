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
  std::string note = {};  // what else could have been meant
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

// Who stood in line for it, on the board: that is told of the runner, and `line` is what for.
constexpr std::string_view waits_on_board =
    "subject IN (SELECT holder FROM lock_waits WHERE name = ?1 AND kind IN ('section', 'task')) "
    "AND kind IN ('board:waiting', 'board:stopped_waiting') "
    "AND json_extract(data, '$.line') IN (?1, '//' || ?1)";

std::string events_of_task() {
  return fmt::format(
      "SELECT {0} FROM events WHERE subject = ?1 UNION SELECT {0} FROM events WHERE {1}",
      columns,
      waits_on_board);
}

// A name may be a lock's, a queue's, a section's, a runner's: all that is said of it. What a runner
// does is told of tasks and sections, and who waits for a lock is told of the waiter; the index of
// events is by subject, so those are looked for first.
std::string events_of_name() {
  const auto those = [](std::string_view which) {
    return fmt::format("SELECT {} FROM events WHERE {} AND project IN (?2, '//')", columns, which);
  };
  const std::string by_runner =
      "kind LIKE 'board:%' AND ?1 IN (json_extract(data, '$.runner'), "
      "json_extract(data, '$.from'), json_extract(data, '$.by'))";
  return fmt::format(
      "{} UNION {} UNION {} UNION {} UNION {}",
      those("subject = ?1"),
      those("subject >= 'task-' AND subject < 'task.' AND " + by_runner),
      those("subject IN (SELECT name FROM sections WHERE project IN (?2, '//')) AND " + by_runner),
      those(waits_on_board),
      those("subject IN (SELECT holder FROM lock_waits WHERE name = ?1) AND kind IN "
            "('wait:began', 'wait:ended') AND json_extract(data, '$.waiter') IN (SELECT waiter "
            "FROM lock_waits WHERE name = ?1 AND project IN (?2, '//'))"));
}

Story story_of_task(std::string id) { return {"task", id, events_of_task(), {id}}; }

// A word that is no id: a name, else the title of a task. Of several tasks the newest is meant.
std::expected<Story, Failure> story_of_word(Context& context,
                                            const std::string& path,
                                            const std::string& project,
                                            const std::string& word) {
  const bool is_shared = word.starts_with("//");
  const std::string name = is_shared ? word.substr(2) : word;
  Story of_name{"name", name, events_of_name(), {name, is_shared ? std::string("//") : project}};
  const auto tasks = ask_history(context,
                                 path,
                                 "SELECT id, count(*) OVER () AS many FROM tasks WHERE title = ?1 "
                                 "AND (project = ?2 OR section LIKE '//%') ORDER BY project = ?2 "
                                 "DESC, added_ms DESC, id DESC LIMIT 2",
                                 {word, project});
  if (!tasks) return std::unexpected(tasks.error());
  if (tasks->empty()) return of_name;
  const auto named = ask_history(context, path, of_name.sql + " LIMIT 1", of_name.parameters);
  if (!named) return std::unexpected(named.error());
  const std::string& newest = tasks->front()["id"].text();
  if (!named->empty()) {
    of_name.note = fmt::format("a task is called so, too: `reeve history {}`", newest);
    return of_name;
  }
  Story of_task = story_of_task(newest);
  if (tasks->size() > 1) {
    of_task.note = fmt::format("{} tasks are called so; this is {}, the newest; before it {}",
                               tasks->front()["many"].number(),
                               newest,
                               tasks->back()["id"].text());
  }
  return of_task;
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
    if (kind.kind == "task") return story_of_task(**id);
    return Story{std::string(kind.kind),
                 **id,
                 fmt::format("SELECT {} FROM events WHERE subject = ?1", columns),
                 {**id}};
  }
  return story_of_word(context, path, project, word);
}

// What stands in the line already, or above all of them, is not said again.
std::string rest_of(const Json& event, const std::string& known) {
  Json rest = Json::object();
  for (const auto& [name, value] : event["data"].members()) {
    const std::string& text = value.text();
    const bool is_said =
        value.is_string() && (text.empty() || text == known || text == event["subject"].text());
    if (!is_said) rest.set(name, value);
  }
  return data_line(rest);
}

// `title`: of the task that it is about, if that is not what the story is about.
void tell_moment(Context& context,
                 const Json& event,
                 const Story& story,
                 const std::string& title) {
  Output& output = context.output;
  const bool with_subject = story.kind == "project" || story.kind == "name";
  const std::string at = event["at"].text();
  const auto moment = parse_moment(at);
  const std::string time = output.look.iso || !moment ? at : relative(*moment, wall_now());
  const std::string stamp = fmt::format("{:>10}", time);
  std::string words = fmt::format("{:<24} ", printable(event["name"].text()));
  if (with_subject) words += fmt::format("{:<16} ", printable(event["subject"].text()));
  if (with_subject && !title.empty()) words += fmt::format("\"{}\" ", printable(title));
  words += rest_of(event, story.id);
  const std::size_t width = Output::out_width();
  if (width > stamp.size() + 1) words = fitted(words, width - stamp.size() - 1);
  output.line(fmt::format("{} {}", output.styled(Style::Dim, stamp), words));
}

// Its events were forgotten, it was not: it has not ended, or not long ago.
int tell_what_is_left(Context& context, const Story& story, const Json& left) {
  Output& output = context.output;
  if (context.json()) {
    return output.succeed(json_of({{"kind", story.kind},
                                   {"id", story.id},
                                   {"events", Json::array()},
                                   {"gaps", Json::array()},
                                   {"left", left}}));
  }
  if (context.quiet()) return output.done();
  for (const auto& [name, value] : left.members()) {
    if (name == "kind" || name == "from" || name == "phases" || value.is_null()) continue;
    output.line(fmt::format(
        "{:<11} {}", name, name.ends_with("_at") ? output.moment(value) : printable(value.text())));
  }
  output.note("its events are no longer kept; this is what is left of it");
  return output.done();
}

bool is_blank(std::string_view word) {
  if (word.starts_with("//")) word.remove_prefix(2);
  return word.find_first_not_of(" \t\n") == std::string_view::npos;
}

int tell_story(Context& context, const Parsed& parsed) {
  const bool of_one = !parsed.words.empty();
  if (of_one && is_blank(parsed.words[0])) {
    return context.misuse("of what? a name, an id or a title; without one, all of the project");
  }
  const auto path = synced_history(context);
  if (!path) return context.fail(path.error());
  const auto project = project_name(context);
  if (!project) return context.fail(project.error());
  const std::int64_t most = parsed.number("lines").value_or(lines_by_default);
  if (most < 1) return context.misuse("-n is 1 or more");
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
      "SELECT *, (SELECT title FROM tasks WHERE id = subject) AS title FROM (SELECT * FROM ({}) "
      "WHERE at_ms >= {} ORDER BY seq DESC, idx DESC LIMIT {}) "
      "ORDER BY seq, idx",
      story.sql,
      since,
      most);
  const auto rows = ask_history(context, *path, sql, story.parameters);
  if (!rows) return context.fail(rows.error());
  if (rows->empty() && of_one && since == 0) {
    if (const auto left = show_from_history(context, story.id)) {
      return tell_what_is_left(context, story, *left);
    }
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
      tell_moment(context, event, story, row["title"].text());
    }
  }
  const auto gaps = gaps_of_history(context, *path, since);
  if (!gaps) return context.fail(gaps.error());
  if (context.json()) {
    return context.output.succeed(
        json_of({{"kind", story.kind}, {"id", story.id}, {"events", events}, {"gaps", *gaps}}));
  }
  if (!context.output.flush()) return context.output.done();
  if (rows->empty() && !context.quiet()) context.output.note("nothing happened");
  if (!story.note.empty() && !context.quiet()) context.output.note(story.note);
  note_gaps(context, *gaps);
  return context.output.done();
}

// The first sequence that the journal can give back: it is decided once more from its very
// beginning, if that is there, else from the oldest checkpoint. 0: that cannot be told.
std::int64_t begin_of_journal(Context& context) {
  const auto home = context.home();
  if (!home) return 0;
  std::vector<std::int64_t> segments;
  std::vector<std::int64_t> checkpoints;
  const tools::JournalAsk ask{.verb = tools::JournalVerb::Info,
                              .directory = home->path + "/journal",
                              .shape = tools::Shape::Json};
  const auto look = [&](std::string_view line) {
    const std::optional<Json> file = parse_json(line);
    if (!file) return;
    if (file->has("first_sequence")) segments.push_back((*file)["first_sequence"].number());
    if (file->has("sequence")) checkpoints.push_back((*file)["sequence"].number());
  };
  const Result<bool> looked = context.parts->journal(ask, look, [](std::string_view) {});
  if (!looked) return 0;
  if (std::ranges::find(segments, 1) != segments.end()) return 1;
  return checkpoints.empty() ? 0 : *std::ranges::min_element(checkpoints) + 1;
}

// What there is now that the journal cannot give back. A file that cannot be read has nothing to
// lose.
std::optional<Failure> loss_of_rebuild(Context& context) {
  const auto path = synced_history(context);
  if (!path) return std::nullopt;
  const std::int64_t begin = begin_of_journal(context);
  const auto rows = ask_history(context,
                                *path,
                                "SELECT count(*) AS events, min(seq) AS first, min(at) AS since "
                                "FROM events WHERE seq < ?1",
                                {begin});
  if (!rows || rows->empty() || rows->front()["events"].number() == 0) return std::nullopt;
  const Json& lost = rows->front();
  return Failure{
      "NOT_ALLOWED",
      fmt::format("the journal begins at sequence {}, so {} since {} would be lost; `reeve history "
                  "rebuild --force` makes it anew all the same",
                  begin,
                  counted(lost["events"].number(), "event"),
                  lost["since"].text()),
      json_of({{"events", lost["events"]},
               {"from_seq", lost["first"]},
               {"to_seq", begin - 1},
               {"since", lost["since"]}})};
}

int rebuild(Context& context, const Parsed& parsed) {
  if (!parsed.has("force")) {
    if (const auto loss = loss_of_rebuild(context)) return context.fail(*loss);
  }
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
  if (parsed.has("force") && !rebuilds) return context.misuse("--force is for `history rebuild`");
  return rebuilds ? rebuild(context, parsed) : tell_story(context, parsed);
}

}  // namespace reeve::cli
