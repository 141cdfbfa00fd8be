#include "cli/commands/groups.h"
#include "cli/commands/said_in_step.h"
#include "cli/context.h"
#include "cli/text.h"
#include "codec/shell_word.h"

#include <fmt/format.h>

#include <array>

namespace reeve::cli {

namespace {

int list(Context& context, const Parsed& parsed) {
  Json params = Json::object();
  if (parsed.has("all")) params.set("all", true);
  const Answer answer = list_all(context.client(), "decision.list", "decisions", params);
  if (!answer) return context.fail(answer.error());
  if (context.json()) return context.output.succeed(*answer);
  const auto& decisions = (*answer)["decisions"].items();
  if (context.quiet()) {
    for (const Json& decision : decisions) context.output.line(decision["id"].text());
    return context.output.done();
  }
  if (decisions.empty()) context.output.note("nothing waits for an answer");
  Table table({{"DECISION"},
               {"OF", Table::Align::Left, true},
               {"STATE"},
               {"SINCE"},
               {"QUESTION", Table::Align::Left, true}});
  for (const Json& decision : decisions) {
    const std::string state = decision["state"].text();
    table.add({decision["id"].text(),
               printable(decision["subject"].text()),
               {state, state == "open" ? Style::Bad : Style::Plain},
               context.output.moment(decision["opened_at"]),
               printable(decision["question"].text())});
  }
  if (!table.empty()) context.output.out(table.write(Output::out_width(), context.output));
  return context.output.done();
}

// Lines of what a program said, as they stand but for what could drive the terminal.
void tell_context(Output& output, std::string_view text) {
  while (!text.empty()) {
    const std::size_t newline = std::min(text.find('\n'), text.size());
    output.sentence("  " + printable(text.substr(0, newline)), 2, Style::Dim);
    text.remove_prefix(std::min(text.size(), newline + 1));
  }
}

// As a shell takes it.
std::string word_of(const Json& choice) { return codec::shell_word(printable(choice.text())); }

int show(Context& context, const Parsed& parsed) {
  const Answer answer = context.client().ask("decision.show", json_of({{"id", parsed.words[0]}}));
  if (!answer) return context.fail(answer.error());
  if (context.json()) return context.output.succeed(*answer);
  Output& output = context.output;
  const Json& decision = *answer;
  const std::string id = decision["id"].text();
  output.sentence(fmt::format(
      "{} {}{} since {}",
      output.styled(Style::Bold, id),
      decision["state"].text(),
      decision.has("subject") ? fmt::format(", of {}", printable(decision["subject"].text())) : "",
      output.moment(decision["opened_at"])));
  output.sentence(printable(decision["question"].text()), 0);
  tell_context(output, decision["context"].text());
  if (decision.has("deadline")) {
    output.sentence(fmt::format("{} {} is the answer",
                                output.moment(decision["deadline"]),
                                printable(decision["default"].text())));
  }
  if (decision["state"].text() == "open") {
    output.line("");
    std::size_t number = 0;
    for (const Json& choice : decision["choices"].items()) {
      output.sentence(fmt::format("  {}. {}", ++number, printable(choice.text())), 5);
    }
    output.line(number == 0 ? fmt::format("answer: reeve decision resolve {} -m TEXT", id)
                            : fmt::format("answer: reeve decision resolve {} --choice {}",
                                          id,
                                          word_of(decision["choices"].items().front())));
  } else if (decision.has("answer")) {
    const Json& said = decision["answer"];
    const Json& words = said.has("note") ? said["note"] : said["text"];
    output.sentence(fmt::format("answered {}{}: {}{}",
                                output.moment(said["at"]),
                                said.has("by") ? " by " + printable(said["by"].text()) : "",
                                printable(said["choice"].text()),
                                words.text().empty() || words == said["choice"]
                                    ? ""
                                    : fmt::format(" ({})", printable(words.text()))));
  }
  return output.done();
}

// A choice by name, or by its number as `show` counts them: the daemon knows the names.
int resolve(Context& context, const Parsed& parsed) {
  Json params = json_of({{"id", parsed.words[0]}, {"text", text_of(parsed, "message")}});
  if (const auto choice = parsed.text("choice")) {
    params.set("choice", *choice);
  } else if (!parsed.has("message")) {
    const Answer shown = context.client().ask("decision.show", json_of({{"id", parsed.words[0]}}));
    if (!shown) return context.fail(shown.error());
    std::string names;
    for (const Json& offered : (*shown)["choices"].items()) {
      names += fmt::format("{}{}", names.empty() ? "" : ", ", word_of(offered));
    }
    return context.misuse(names.empty() ? "say the answer with -m TEXT"
                                        : fmt::format("say which with --choice: {}", names));
  }
  const Answer answer = context.client().change("decision.resolve", std::move(params));
  if (!answer) return context.fail(answer.error());
  if (context.json()) return context.output.succeed(*answer);
  const Json& said = *answer;
  if (context.quiet()) {
    context.output.line(said["id"].text());
    return context.output.done();
  }
  // What was chosen, and what was said with it; of an own question the option or text is the
  // answer.
  const std::string choice = said["choice"].text();
  const bool own = choice == "option" || choice == "text";
  const std::string words = said[own ? "note" : "text"].text();
  context.output.line(fmt::format("{} answered: {}{}",
                                  said["id"].text(),
                                  printable(own ? said["text"].text() : choice),
                                  words.empty() ? "" : fmt::format(" ({})", printable(words))));
  return context.output.done();
}

constexpr std::array<Argument, 1> one_id{{{.name = "ID", .completes = Completes::Decision}}};
constexpr std::array<Option, 1> list_options{
    {{.name = "all", .help = "also those that were answered"}}};
constexpr std::array<Option, 2> resolve_options{
    {{.name = "choice",
      .letter = 'c',
      .takes = Takes::Text,
      .value = "N|NAME",
      .help = "what is to happen, by name or number"},
     {.name = "message",
      .letter = 'm',
      .takes = Takes::Text,
      .value = "TEXT",
      .help = "handed on with it; the answer itself where any text will do"}}};
constexpr std::array<Example, 1> list_examples{
    {{"reeve decision list", "what waits for you, the oldest first"}}};
constexpr std::array<Example, 1> show_examples{
    {{"reeve decision show ask-4f7kq2", "the question, what led to it, the choices"}}};
constexpr std::array<Example, 2> resolve_examples{
    {{"reeve decision resolve ask-4f7kq2 --choice retry", "the work goes on with it"},
     {"reeve decision resolve ask-4f7kq2 -c 2 -m 'not worth it'", "the second choice, and why"}}};

constexpr std::array<Command, 3> commands{{
    {.name = "decision list",
     .summary = "what waits for an answer",
     .options = list_options,
     .examples = list_examples,
     .run = list},
    {.name = "decision show",
     .summary = "one question, what led to it, and the choices",
     .arguments = one_id,
     .examples = show_examples,
     .run = show},
    {.name = "decision resolve",
     .summary = "answer, and let the work go on",
     .arguments = one_id,
     .options = resolve_options,
     .details = "Answering twice is refused (exit 5) with the first answer.",
     .examples = resolve_examples,
     .run = said_in_step<resolve>},
}};

}  // namespace

const Group decision_group{
    .word = "decision", .summary = "questions that wait for a person", .commands = commands};

}  // namespace reeve::cli
