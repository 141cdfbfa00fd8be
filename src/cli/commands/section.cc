#include "cli/commands/board.h"
#include "cli/commands/groups.h"
#include "cli/text.h"

#include <fmt/format.h>

#include <array>

namespace reeve::cli {

namespace {

int told(Context& context, const Answer& answer, std::string_view what) {
  if (!answer) return board::fail(context, answer.error());
  if (context.json()) return context.output.succeed(*answer);
  const std::string name = (*answer)["name"].text();
  context.output.line(context.quiet() ? name : fmt::format("{} {}", printable(name), what));
  return context.output.done();
}

int add(Context& context, const Parsed& parsed) {
  Json added = Json::array();
  for (const std::string& name : parsed.words) {
    const Answer answer = context.client().change("section.add", json_of({{"name", name}}));
    if (!answer || parsed.words.size() == 1) return told(context, answer, "added");
    added.push(*answer);
    if (!context.json()) {
      context.output.line(context.quiet() ? name : fmt::format("{} added", printable(name)));
    }
  }
  if (context.json()) return context.output.succeed(json_of({{"sections", added}}));
  return context.output.done();
}

int list(Context& context, const Parsed&) {
  const Answer answer = list_all(context.client(), "section.list", "sections", Json::object());
  if (!answer) return context.fail(answer.error());
  if (context.json()) return context.output.succeed(*answer);
  Output& output = context.output;
  Table table({{"SECTION", Table::Align::Left, true},
               {"OPEN", Table::Align::Right},
               {"RUNNER", Table::Align::Left, true},
               {"SINCE"},
               {"EXPIRES"},
               {"WAITING", Table::Align::Right}});
  for (const Json& section : (*answer)["sections"].items()) {
    if (context.quiet()) {
      output.line(section["name"].text());
      continue;
    }
    const bool over = section["expired"].truth();
    table.add({printable(section["name"].text()),
               with_commas(section["open"].number()),
               section.has("runner") ? board::runner_in_words(section) : "-",
               output.moment(section["acquired_at"]),
               {over ? "expired" : output.moment(section["expires_at"]),
                over ? Style::Bad : Style::Plain},
               section["waiting"].text()});
  }
  if (context.quiet()) return output.done();
  if (table.empty()) {
    output.note("no sections; add one with `reeve section add NAME`");
    return output.done();
  }
  output.out(table.write(Output::out_width(), output));
  return output.done();
}

int show(Context& context, const Parsed& parsed) {
  const Answer answer = context.client().ask("section.show", json_of({{"name", parsed.words[0]}}));
  if (!answer) return context.fail(answer.error());
  if (context.json()) return context.output.succeed(*answer);
  const Json& section = *answer;
  Output& output = context.output;
  if (context.quiet()) {
    if (section.has("runner")) output.line(section["runner"].text());
    return output.done();
  }
  output.line(fmt::format("section   {}", printable(section["name"].text())));
  output.line(fmt::format("open      {}", section["open"].text()));
  if (section.has("runner")) {
    output.line(fmt::format("runner    {}", board::runner_in_words(section)));
    output.line(fmt::format("since     {}", output.moment(section["acquired_at"])));
    output.line(fmt::format("expires   {}{}",
                            output.moment(section["expires_at"]),
                            section["expired"].truth() ? "  (over: whoever asks gets it)" : ""));
  }
  for (const Json& waiter : section["waiters"].items()) {
    output.line(fmt::format(
        "waiting   {}  since {}", board::runner_in_words(waiter), output.moment(waiter["since"])));
  }
  if (section["tasks"].items().empty()) return output.done();
  output.line("");
  Table table({{"ID"},
               {"STATUS"},
               {"PRIORITY", Table::Align::Right},
               {"RUNNER", Table::Align::Left, true},
               {"TITLE", Table::Align::Left, true}});
  for (const Json& task : section["tasks"].items()) {
    table.add({task["id"].text(),
               task["status"].text(),
               task["priority"].text(),
               task.has("runner") ? board::runner_in_words(task) : "-",
               printable(task["title"].text())});
  }
  output.out(table.write(Output::out_width(), output));
  return output.done();
}

int remove(Context& context, const Parsed& parsed) {
  return told(context,
              context.client().change("section.remove", json_of({{"name", parsed.words[0]}})),
              "removed");
}

int release(Context& context, const Parsed& parsed) {
  const auto runner = board::runner_of(parsed);
  if (!runner) return context.misuse("who lets go? say --runner R, or set REEVE_RUNNER");
  const Answer answer = context.client().change(
      "section.release", json_of({{"name", parsed.words[0]}, {"runner", *runner}}));
  const bool was_free = answer && (*answer)["outcome"].text() == "already_free";
  return told(context, answer, was_free ? "was free already" : "released");
}

constexpr std::array<Argument, 1> one_section{{{.name = "NAME", .completes = Completes::Section}}};
constexpr std::array<Argument, 1> new_sections{{{.name = "NAME", .count = Count::Some}}};
constexpr std::array<Option, 1> release_options{{board::runner_option}};

constexpr std::array<Example, 1> add_examples{
    {{"reeve section add backend frontend", "in this order they are worked through"}}};
constexpr std::array<Example, 1> list_examples{
    {{"reeve section list", "what is open in each, and who works there"}}};
constexpr std::array<Example, 1> show_examples{
    {{"reeve section show backend", "its runner, the line and its open tasks"}}};
constexpr std::array<Example, 1> remove_examples{
    {{"reeve section remove backend", "only one without open tasks"}}};
constexpr std::array<Example, 1> release_examples{
    {{"reeve section release backend --runner ana", "others may work there"}}};

constexpr std::array<Command, 5> commands{{
    {.name = "section add",
     .summary = "make sections",
     .arguments = new_sections,
     .details = "`reeve task add --section` makes one that is missing.",
     .examples = add_examples,
     .run = add},
    {.name = "section list",
     .summary = "list the sections, in their order",
     .examples = list_examples,
     .run = list},
    {.name = "section show",
     .summary = "show a section, its runner and its open tasks",
     .arguments = one_section,
     .examples = show_examples,
     .run = show},
    {.name = "section remove",
     .summary = "remove a section",
     .arguments = one_section,
     .details = "Exit 6 if a runner has it, 5 if it has open tasks.",
     .examples = remove_examples,
     .run = remove},
    {.name = "section release",
     .summary = "let go of a section, though it has open tasks",
     .arguments = one_section,
     .options = release_options,
     .details = "Exit 6 if another runner has it by now, 5 while its runner has a task there.",
     .examples = release_examples,
     .run = release},
}};

}  // namespace

const Group section_group{.word = "section",
                          .summary = "the board: where one runner works at a time",
                          .commands = commands};

}  // namespace reeve::cli
