#include "cli/commands/board.h"
#include "cli/commands/groups.h"
#include "cli/text.h"

#include <fmt/format.h>

#include <array>

namespace reeve::cli {

namespace {

int list(Context& context, const Parsed&) {
  const Answer answer = list_all(context.client(), "runner.list", "runners", Json::object());
  if (!answer) return context.fail(answer.error());
  if (context.json()) return context.output.succeed(*answer);
  Output& output = context.output;
  Table table({{"RUNNER", Table::Align::Left, true},
               {"SEEN"},
               {"TASKS", Table::Align::Right},
               {"SECTIONS", Table::Align::Right},
               {"WAITING", Table::Align::Right}});
  for (const Json& runner : (*answer)["runners"].items()) {
    if (context.quiet()) {
      output.line(runner["name"].text());
      continue;
    }
    table.add({printable(runner["name"].text()),
               output.moment(runner["last_seen"]),
               runner["tasks"].text(),
               runner["sections"].text(),
               runner["waiting"].text()});
  }
  if (context.quiet()) return output.done();
  if (table.empty()) {
    output.note("no runners; `reeve task next --start --runner R` makes one of you");
    return output.done();
  }
  output.out(table.write(Output::out_width(), output));
  return output.done();
}

int show(Context& context, const Parsed& parsed) {
  const Answer answer = context.client().ask("runner.show", json_of({{"name", parsed.words[0]}}));
  if (!answer) return context.fail(answer.error());
  if (context.json()) return context.output.succeed(*answer);
  Output& output = context.output;
  const Json& runner = *answer;
  if (context.quiet()) {
    for (const Json& lock : runner["locks"].items()) output.line(lock["id"].text());
    return output.done();
  }
  output.line(fmt::format("runner    {}", printable(runner["name"].text())));
  output.line(fmt::format("seen      {}", output.moment(runner["last_seen"])));
  if (runner["waiting"].number() > 0) {
    output.line(fmt::format("waits     for {}", runner["waiting"].text()));
  }
  const Table table = board::locks_table(output, runner["locks"].items());
  if (table.empty()) {
    output.line("holds     nothing");
    return output.done();
  }
  output.line("");
  output.out(table.write(Output::out_width(), output));
  return output.done();
}

int heartbeat(Context& context, const Parsed& parsed) {
  const auto runner = parsed.words.empty() ? board::runner_of(parsed) : parsed.words[0];
  if (!runner) return context.misuse("whose heartbeat? say a runner's name, or set REEVE_RUNNER");
  board::try_send_locking(context);
  const Answer answer = context.client().change("runner.heartbeat", json_of({{"name", *runner}}));
  if (!answer) return context.fail(answer.error());
  if (context.json()) return context.output.succeed(*answer);
  if (!context.quiet()) {
    context.output.line(fmt::format("{} keeps {} and {}",
                                    printable(*runner),
                                    counted((*answer)["tasks"].number(), "task"),
                                    counted((*answer)["sections"].number(), "section")));
    if ((*answer)["lost"].number() > 0) {
      context.output.note(
          fmt::format("{} of its locks were over already", (*answer)["lost"].text()));
    }
    if ((*answer)["taken"].number() > 0) {
      context.output.note(fmt::format("{} of its locks others have claimed or freed meanwhile",
                                      (*answer)["taken"].text()));
    }
  }
  return context.output.done();
}

int forget(Context& context, const Parsed& parsed) {
  const Answer answer =
      context.client().change("runner.forget", json_of({{"name", parsed.words[0]}}));
  if (!answer) return context.fail(answer.error());
  if (context.json()) return context.output.succeed(*answer);
  if (!context.quiet()) {
    context.output.line(fmt::format("{} forgotten", printable(parsed.words[0])));
  }
  return context.output.done();
}

constexpr std::array<Argument, 1> one_runner{{{.name = "R", .completes = Completes::Runner}}};
constexpr std::array<Argument, 1> maybe_runner{
    {{.name = "R", .count = Count::Maybe, .completes = Completes::Runner}}};

constexpr std::array<Example, 1> list_examples{
    {{"reeve runner list", "who works, on how much, and when it was seen last"}}};
constexpr std::array<Example, 1> show_examples{{{"reeve runner show ana", "all that ana has"}}};
constexpr std::array<Example, 1> heartbeat_examples{
    {{"while sleep 600; do reeve runner heartbeat ana; done &", "keeps all that ana has"}}};
constexpr std::array<Example, 1> forget_examples{
    {{"reeve runner forget ana", "one that will not come back"}}};

constexpr std::array<Command, 4> commands{{
    {.name = "runner list", .summary = "list the runners", .examples = list_examples, .run = list},
    {.name = "runner show",
     .summary = "show a runner and what it has",
     .arguments = one_runner,
     .examples = show_examples,
     .run = show},
    {.name = "runner heartbeat",
     .summary = "extend all that a runner has",
     .arguments = maybe_runner,
     .details = "Whose: the name is enough; default: $REEVE_RUNNER.",
     .examples = heartbeat_examples,
     .run = heartbeat},
    {.name = "runner forget",
     .summary = "forget a runner that has nothing",
     .arguments = one_runner,
     .details = "Exit 5 if it has something. One that is silent for a day is forgotten by itself.",
     .examples = forget_examples,
     .run = forget},
}};

}  // namespace

const Group runner_group{
    .word = "runner", .summary = "the board: who works on its tasks", .commands = commands};

}  // namespace reeve::cli
