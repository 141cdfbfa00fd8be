#include "cli/commands/groups.h"
#include "cli/commands/runs.h"
#include "cli/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace reeve::cli {

namespace {

std::string line_of(const Json& worker) {
  if (!worker.has("queue")) {
    return fmt::format("{} {}", printable(worker["name"].text()), worker["state"].text());
  }
  return fmt::format("{} {}, {} of {} at work on {}",
                     printable(worker["name"].text()),
                     worker["state"].text(),
                     worker["active"].text(),
                     worker["concurrency"].text(),
                     printable(worker["queue"].text()));
}

int told(Context& context, const Answer& answer) {
  if (!answer) return context.fail(answer.error());
  if (context.json()) return context.output.succeed(*answer);
  context.output.line(context.quiet() ? (*answer)["name"].text() : line_of(*answer));
  return context.output.done();
}

// Those that run or ran, and those of the runbooks that nobody has started.
int list(Context& context, const Parsed&) {
  const Answer answer = list_all(context.client(), "worker.list", "workers", Json::object());
  if (!answer) return context.fail(answer.error());
  if (context.json()) return context.output.succeed(*answer);
  std::vector<std::string> names;
  for (const Json& worker : (*answer)["workers"].items()) names.push_back(worker["name"].text());
  const auto defined = defined_besides(context, "worker", names);
  std::vector<Table::Column> columns{{"WORKER", Table::Align::Left, true},
                                     {"STATE"},
                                     {"QUEUE", Table::Align::Left, true},
                                     {"PIPELINE", Table::Align::Left, true},
                                     {"ACTIVE", Table::Align::Right},
                                     {"PENDING", Table::Align::Right}};
  if (!defined.empty()) columns.push_back({"WHERE", Table::Align::Left, true});
  Table table(std::move(columns));
  for (const Json& worker : (*answer)["workers"].items()) {
    const bool fails = worker.has("poll_error");
    const std::string state = fails ? "source fails" : worker["state"].text();
    table.add({printable(worker["name"].text()),
               {state,
                fails                ? Style::Bad
                : state == "started" ? Style::Good
                                     : Style::Dim},
               printable(worker["queue"].text()),
               printable(worker["pipeline"].text()),
               fmt::format("{} of {}", worker["active"].text(), worker["concurrency"].text()),
               worker.has("pending") ? with_commas(worker["pending"].number()) : "-"});
  }
  for (const auto& entry : defined) {
    names.push_back(entry.first);
    table.add({printable(entry.first), {"defined", Style::Dim}, "-", "-", "-", "-", entry.second});
  }
  if (context.quiet()) {
    for (const std::string& name : names) context.output.line(name);
    return context.output.done();
  }
  if (table.empty()) {
    context.output.note("no workers; `reeve runbook example queue` shows one");
    return context.output.done();
  }
  context.output.out(table.write(Output::out_width(), context.output));
  return context.output.done();
}

int show(Context& context, const Parsed& parsed) {
  const std::string& asked = parsed.words[0];
  const Answer answer = or_defined(
      context, "worker", asked, context.client().ask("worker.show", json_of({{"name", asked}})));
  if (!answer || context.json() || context.quiet()) return told(context, answer);
  Output& output = context.output;
  output.line(line_of(*answer));
  const auto field = [&](std::string_view name, const Json& value) {
    if (!value.is_null()) output.line(fmt::format("  {:<10}{}", name, printable(value.text())));
  };
  field("where", (*answer)["where"]);
  field("pipeline", (*answer)["pipeline"]);
  field("pending", (*answer)["pending"]);
  field("delayed", (*answer)["delayed"]);
  field("dead", (*answer)["dead"]);
  if (answer->has("poll_error")) {
    output.line(
        fmt::format("  {:<10}fails: {}", "source", printable((*answer)["poll_error"].text())));
  }
  for (const Json& id : (*answer)["pipelines"].items()) field("runs", id);
  return output.done();
}

int start(Context& context, const Parsed& parsed) {
  const auto place = context.place(parsed.has("here"));
  if (!place) return context.fail(place.error());
  Json started = Json::array();
  for (const std::string& name : parsed.words) {
    const auto definitions = context.runbooks->plan_start("worker", name, *place);
    if (!definitions) return context.cannot_run(definitions.error());
    const Answer answer =
        change_with_runbook(context, "worker.start", json_of({{"name", name}}), *definitions);
    if (!answer || parsed.words.size() == 1) return told(context, answer);
    started.push(*answer);
    if (!context.json()) context.output.line(context.quiet() ? name : line_of(*answer));
  }
  if (context.json()) return context.output.succeed(json_of({{"workers", started}}));
  return context.output.done();
}

int stop(Context& context, const Parsed& parsed) {
  return told(context,
              context.client().change("worker.stop", json_of({{"name", parsed.words[0]}})));
}

int wake(Context& context, const Parsed& parsed) {
  return told(context,
              context.client().change("worker.wake", json_of({{"name", parsed.words[0]}})));
}

int resize(Context& context, const Parsed& parsed) {
  Json params = json_of({{"name", parsed.words[0]}});
  params.set("concurrency", parse_json(parsed.words[1]).value_or(Json(parsed.words[1])));
  return told(context, context.client().change("worker.resize", std::move(params)));
}

constexpr std::array<Argument, 1> one_worker{{{.name = "NAME", .completes = Completes::Worker}}};
constexpr std::array<Argument, 1> some_workers{
    {{.name = "NAME", .count = Count::Some, .completes = Completes::Worker}}};
constexpr std::array<Argument, 2> worker_and_size{
    {{.name = "NAME", .completes = Completes::Worker}, {.name = "N"}}};
constexpr std::array<Option, 1> here{
    {{.name = "here", .help = "as the runbooks of this git worktree have it"}}};
constexpr std::array<Example, 1> list_examples{
    {{"reeve worker list", "those that run, and those that could"}}};
constexpr std::array<Example, 1> show_examples{
    {{"reeve worker show bugfix", "what it works on, and what waits"}}};
constexpr std::array<Example, 1> start_examples{
    {{"reeve worker start bugfix", "until it is stopped, also after a restart"}}};
constexpr std::array<Example, 1> stop_examples{
    {{"reeve worker stop bugfix", "what runs is finished, nothing new is taken"}}};
constexpr std::array<Example, 1> wake_examples{
    {{"reeve worker wake bugfix", "look now, whatever it waits for"}}};
constexpr std::array<Example, 1> resize_examples{
    {{"reeve worker resize bugfix 8", "eight at a time, from now on"}}};

constexpr std::array<Command, 6> commands{{
    {.name = "worker list",
     .summary = "the workers of the project",
     .examples = list_examples,
     .run = list},
    {.name = "worker show",
     .summary = "one worker, what it does and what waits",
     .arguments = one_worker,
     .examples = show_examples,
     .run = show},
    {.name = "worker start",
     .summary = "take items from now on",
     .arguments = some_workers,
     .options = here,
     .details = "As the runbooks define it now; starting it twice wakes it.",
     .examples = start_examples,
     .run = start},
    {.name = "worker stop",
     .summary = "take nothing more",
     .arguments = one_worker,
     .examples = stop_examples,
     .run = stop},
    {.name = "worker wake",
     .summary = "look for items now",
     .arguments = one_worker,
     .examples = wake_examples,
     .run = wake},
    {.name = "worker resize",
     .summary = "so many at a time",
     .arguments = worker_and_size,
     .examples = resize_examples,
     .run = resize},
}};

}  // namespace

const Group worker_group{
    .word = "worker", .summary = "a pipeline for every item of a queue", .commands = commands};

}  // namespace reeve::cli
