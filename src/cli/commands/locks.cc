#include "cli/commands/board.h"
#include "cli/commands/groups.h"
#include "cli/text.h"

#include <fmt/format.h>

#include <array>

namespace reeve::cli {

namespace {

// As a person names it: a task by its title, which an id does not tell.
std::string described(const Json& lock) {
  const std::string id = printable(lock["id"].text());
  if (!lock.has("title")) return fmt::format("{} {}", lock["type"].text(), id);
  return fmt::format("{} {} \"{}\"", lock["type"].text(), id, printable(lock["title"].text()));
}

int list(Context& context, const Parsed& parsed) {
  const Answer answer = list_all(
      context.client(), "locks.list", "locks", json_of({{"type", text_of(parsed, "type")}}));
  if (!answer) return context.fail(answer.error());
  if (context.json()) return context.output.succeed(*answer);
  Output& output = context.output;
  if (context.quiet()) {
    for (const Json& lock : (*answer)["locks"].items()) output.line(lock["id"].text());
    return output.done();
  }
  const Table table = board::locks_table(output, (*answer)["locks"].items());
  if (table.empty()) {
    output.note("nothing on the board is locked");
    return output.done();
  }
  output.out(table.write(Output::out_width(), output));
  return output.done();
}

int show(Context& context, const Parsed& parsed) {
  const Answer answer = context.client().ask(
      "locks.show", json_of({{"id", parsed.words[0]}, {"type", text_of(parsed, "type")}}));
  if (!answer) return context.fail(answer.error());
  if (context.json()) return context.output.succeed(*answer);
  Output& output = context.output;
  const Json& lock = *answer;
  if (context.quiet()) {
    if (lock.has("runner")) output.line(lock["runner"].text());
    return output.done();
  }
  output.line(described(lock));
  output.line(fmt::format("state     {}", lock["state"].text()));
  if (lock.has("runner")) {
    output.line(fmt::format("runner    {}", board::runner_in_words(lock)));
    output.line(fmt::format("token     {}", lock["token"].text()));
    output.line(fmt::format("since     {}", output.moment(lock["acquired_at"])));
    output.line(fmt::format("heartbeat {}", output.moment(lock["heartbeat_at"])));
    output.line(fmt::format("expires   {}", output.moment(lock["expires_at"])));
  }
  for (const Json& waiter : lock["waiters"].items()) {
    output.line(fmt::format(
        "waiting   {}  since {}", board::runner_in_words(waiter), output.moment(waiter["since"])));
  }
  return output.done();
}

int release(Context& context, const Parsed& parsed) {
  const Answer answer = context.client().change(
      "locks.release",
      json_of({{"id", parsed.words[0]},
               {"type", text_of(parsed, "type")},
               {"reason", text_of(parsed, "reason")},
               {"by", environment("USER") ? Json(*environment("USER")) : Json()},
               {"force", parsed.has("force") ? Json(true) : Json()}}));
  if (!answer) return context.fail(answer.error());
  if (context.json()) return context.output.succeed(*answer);
  if (!context.quiet()) {
    const bool was_free = (*answer)["outcome"].text() == "already_free";
    context.output.line(
        fmt::format("{} {}", described(*answer), was_free ? "was free already" : "released"));
  }
  return context.output.done();
}

// All of them, though one request frees only so many.
int cleanup(Context& context, const Parsed& parsed) {
  const bool dry_run = parsed.has("dry-run");
  Json::Array locks;
  for (bool more = true; more;) {
    const Answer answer = context.client().change(
        "locks.cleanup", json_of({{"dry_run", dry_run ? Json(true) : Json()}}));
    if (!answer) return context.fail(answer.error());
    const Json::Array& cleaned = (*answer)["locks"].items();
    locks.insert(locks.end(), cleaned.begin(), cleaned.end());
    more = (*answer)["more"].truth() && !dry_run;
    if (dry_run && (*answer)["more"].truth()) context.output.note("there are more");
  }
  if (context.json()) {
    return context.output.succeed(json_of({{"locks", Json(locks)}, {"dry_run", dry_run}}));
  }
  for (const Json& lock : locks) {
    context.output.line(
        context.quiet()
            ? lock["id"].text()
            : fmt::format("{} {}", described(lock), dry_run ? "has expired" : "released"));
  }
  if (locks.empty() && !context.quiet()) context.output.note("no lock has expired");
  return context.output.done();
}

constexpr std::array<Argument, 1> one_lock{{{.name = "ID", .completes = Completes::Task}}};
constexpr Option one_type{.name = "type",
                          .takes = Takes::Text,
                          .value = "T",
                          .help = "which, if a task and a section are called so",
                          .choices = "task|section"};
constexpr std::array<Option, 1> list_options{{{.name = "type",
                                               .takes = Takes::Text,
                                               .value = "T",
                                               .help = "of tasks, of sections, or all",
                                               .choices = "task|section|all"}}};
constexpr std::array<Option, 1> show_options{{one_type}};
constexpr std::array<Option, 3> release_options{
    {{.name = "force", .help = "take it away from its runner; exit 5 without"},
     {.name = "reason", .takes = Takes::Text, .value = "TEXT", .help = "why; it is announced"},
     one_type}};
constexpr std::array<Option, 1> cleanup_options{{{.name = "dry-run", .help = "only say which"}}};

constexpr std::array<Example, 1> list_examples{
    {{"reeve locks list --type section", "who works where, and until when"}}};
constexpr std::array<Example, 1> show_examples{
    {{"reeve locks show task-4f7kq2", "its runner, and who waits"}}};
constexpr std::array<Example, 1> release_examples{
    {{"reeve locks release task-4f7kq2 --force", "it is pending again"}}};
constexpr std::array<Example, 1> cleanup_examples{
    {{"reeve locks cleanup --dry-run", "what runners that fell silent left behind"}}};

constexpr std::array<Command, 4> commands{{
    {.name = "locks list",
     .summary = "list what runners have locked",
     .options = list_options,
     .examples = list_examples,
     .run = list},
    {.name = "locks show",
     .summary = "show the lock of a task or a section",
     .arguments = one_lock,
     .options = show_options,
     .details = "ID is a task's id or title, or a section's name.",
     .examples = show_examples,
     .run = show},
    {.name = "locks release",
     .summary = "take a lock away from its runner",
     .arguments = one_lock,
     .options = release_options,
     .details = "A section's with all the tasks its runner has there. The runner is told that it "
                "lost them when it next asks.",
     .examples = release_examples,
     .run = release},
    {.name = "locks cleanup",
     .summary = "free every lock that has expired",
     .options = cleanup_options,
     .details = "Nobody needs it to go on: whoever asks for an expired lock gets it.",
     .examples = cleanup_examples,
     .run = cleanup},
}};

}  // namespace

const Group locks_group{.word = "locks",
                        .summary = "the board: the locks of its tasks and sections",
                        .commands = commands};

}  // namespace reeve::cli
