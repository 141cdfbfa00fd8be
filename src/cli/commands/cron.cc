#include "cli/commands/groups.h"
#include "cli/commands/runs.h"
#include "cli/commands/said.h"
#include "cli/commands/status_parts.h"
#include "cli/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace reeve::cli {

namespace {

std::string line_of(const Output& output, const Json& cron) {
  std::string line = fmt::format("{} {}", printable(cron["name"].text()), cron["state"].text());
  const std::string outcome = cron["outcome"].text();
  if (outcome == "fired") {
    const std::string& run = cron["run"].text();
    line += fmt::format(", started {}", run.starts_with("pipe-") ? run : "its program");
  }
  if (outcome == "skipped") line += ", skipped: the run before has not ended";
  if (outcome == "buffered") line += ", waits for the end of the run before";
  if (cron.has("where")) line += fmt::format(" in {}", printable(cron["where"].text()));
  if (cron.has("next")) line += fmt::format(", next {}", output.moment(cron["next"]));
  if (cron.has("ended")) line += fmt::format(", last {}", last_of_cron(output, cron).text);
  return line;
}

int told(Context& context, const Answer& answer) {
  if (!answer) return context.fail(answer.error());
  if (context.json()) return context.output.succeed(*answer);
  const Json& cron = *answer;
  context.output.line(context.quiet() ? (cron.has("run") ? cron["run"] : cron["name"]).text()
                                      : line_of(context.output, cron));
  return context.output.done();
}

int list(Context& context, const Parsed&) {
  const Answer answer = list_all(context.client(), "cron.list", "crons", Json::object());
  if (!answer) return context.fail(answer.error());
  if (context.json()) return context.output.succeed(*answer);
  std::vector<std::string> names;
  for (const Json& cron : (*answer)["crons"].items()) names.push_back(cron["name"].text());
  const auto defined = defined_besides(context, "cron", names);
  std::vector<Table::Column> columns{{"CRON", Table::Align::Left, true},
                                     {"STATE"},
                                     {"SCHEDULE"},
                                     {"NEXT"},
                                     {"LAST"},
                                     {"RUNS", Table::Align::Left, true}};
  if (!defined.empty()) columns.push_back({"WHERE", Table::Align::Left, true});
  Table table(std::move(columns));
  for (const Json& cron : (*answer)["crons"].items()) {
    const std::string state = cron["state"].text();
    table.add({printable(cron["name"].text()),
               {state, state == "enabled" ? Style::Good : Style::Dim},
               cron["schedule"].text(),
               context.output.moment(cron["next"]),
               last_of_cron(context.output, cron),
               runs_of_cron(cron)});
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
    context.output.note("no crons; `reeve runbook example cron` shows one");
    return context.output.done();
  }
  context.output.out(table.write(Output::out_width(), context.output));
  return context.output.done();
}

int show(Context& context, const Parsed& parsed) {
  const std::string& name = parsed.words[0];
  Answer answer = or_defined(
      context, "cron", name, context.client().ask("cron.show", json_of({{"name", name}})));
  const bool has_words = answer && add_last_words(context, *answer);
  if (!has_words || context.json() || context.quiet()) return told(context, answer);
  context.output.line(line_of(context.output, *answer));
  tell_last_words(context.output, *answer);
  return context.output.done();
}

int from_runbook(Context& context, const Parsed& parsed, std::string_view method) {
  const auto place = context.place(parsed.has("here"));
  if (!place) return context.fail(place.error());
  const auto definitions = context.runbooks->plan_start("cron", parsed.words[0], *place);
  if (!definitions) return context.cannot_run(definitions.error());
  return told(
      context,
      change_with_runbook(context, method, json_of({{"name", parsed.words[0]}}), *definitions));
}

int enable(Context& context, const Parsed& parsed) {
  return from_runbook(context, parsed, "cron.enable");
}

int run(Context& context, const Parsed& parsed) {
  return from_runbook(context, parsed, "cron.run");
}

int disable(Context& context, const Parsed& parsed) {
  return told(context,
              context.client().change("cron.disable", json_of({{"name", parsed.words[0]}})));
}

// Of one that is enabled, as it was enabled; else as the runbooks are now, and for that nobody need
// be asked.
Answer fires_of(Context& context, const std::string& name, std::int64_t count) {
  Client& client = context.client_without_start();
  const Answer shown = client.ask("cron.show", json_of({{"name", name}}));
  if (shown && (*shown)["state"].text() == "enabled") {
    return client.ask("cron.next", json_of({{"name", name}, {"count", count}}));
  }
  if (!shown && shown.error().code != "NOT_FOUND" && shown.error().code != "UNAVAILABLE") {
    return shown;
  }
  return Json();
}

int next(Context& context, const Parsed& parsed) {
  const std::string& name = parsed.words[0];
  const std::int64_t count = parsed.number("lines").value_or(5);
  if (count < 1 || count > 1000) return context.misuse("-n is a number from 1 to 1000");
  Answer answer = fires_of(context, name, count);
  if (!answer) return context.fail(answer.error());
  if (answer->is_null()) {
    const auto place = context.place(false);
    if (!place) return context.fail(place.error());
    const auto fires =
        context.runbooks->next_fires(name, *place, wall_now(), static_cast<std::size_t>(count));
    if (!fires) return context.cannot_run(fires.error());
    Json list = Json::array();
    for (const std::int64_t at : *fires) list.push(json_of({{"at", format_moment(at)}}));
    answer = json_of({{"name", name}, {"next", list}});
  }
  if (context.json()) return context.output.succeed(*answer);
  for (const Json& fire : (*answer)["next"].items()) {
    context.output.line(
        context.quiet() || context.output.iso()
            ? fire["at"].text()
            : fmt::format("{}  {}", fire["at"].text(), context.output.moment(fire["at"])));
  }
  return context.output.done();
}

constexpr std::array<Argument, 1> one_cron{{{.name = "NAME", .completes = Completes::Cron}}};
constexpr std::array<Option, 1> here{
    {{.name = "here", .help = "as the runbooks of this git worktree have it"}}};
constexpr std::array<Option, 1> next_options{{{.name = "lines",
                                               .letter = 'n',
                                               .takes = Takes::Number,
                                               .value = "N",
                                               .help = "so many; default: 5"}}};
constexpr std::array<Example, 1> list_examples{
    {{"reeve cron list", "which there are, and when each fires next"}}};
constexpr std::array<Example, 1> show_examples{{{"reeve cron show nightly", "one of them"}}};
constexpr std::array<Example, 1> enable_examples{
    {{"reeve cron enable nightly", "from now on, also after a restart"}}};
constexpr std::array<Example, 1> disable_examples{
    {{"reeve cron disable nightly", "what runs goes on"}}};
constexpr std::array<Example, 1> run_examples{
    {{"reeve cron run nightly", "once more, now, whatever the schedule says"}}};
constexpr std::array<Example, 1> next_examples{
    {{"reeve cron next nightly -n 3", "when it will fire, in UTC"}}};

constexpr std::array<Command, 6> commands{{
    {.name = "cron list",
     .summary = "the crons of the project",
     .examples = list_examples,
     .run = list},
    {.name = "cron show",
     .summary = "one cron",
     .arguments = one_cron,
     .examples = show_examples,
     .run = show},
    {.name = "cron enable",
     .summary = "fire by its schedule from now on",
     .arguments = one_cron,
     .options = here,
     .details = "As the runbooks define it now.",
     .examples = enable_examples,
     .run = enable},
    {.name = "cron disable",
     .summary = "fire no more",
     .arguments = one_cron,
     .examples = disable_examples,
     .run = disable},
    {.name = "cron run",
     .summary = "run it now",
     .arguments = one_cron,
     .options = here,
     .details = "Its `overlap` is obeyed: if the last run has not ended, it may be skipped.",
     .examples = run_examples,
     .run = run},
    {.name = "cron next",
     .summary = "when it will fire",
     .arguments = one_cron,
     .options = next_options,
     .examples = next_examples,
     .run = next},
}};

}  // namespace

const Group cron_group{.word = "cron",
                       .summary = "again and again, by the calendar or at an interval",
                       .commands = commands};

}  // namespace reeve::cli
