#include "cli/commands/groups.h"
#include "cli/commands/parts.h"
#include "cli/commands/runs.h"
#include "cli/commands/said.h"
#include "cli/commands/said_in_step.h"
#include "cli/commands/screen.h"
#include "cli/context.h"
#include "cli/text.h"
#include "codec/shell_word.h"

#include <fmt/format.h>

#include <algorithm>
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
               Output::brief(printable(decision["question"].text()), 0)});
  }
  if (!table.empty()) context.output.out(table.write(Output::out_width(), context.output));
  return context.output.done();
}

std::size_t rows_of(std::string_view text, std::size_t margin) {
  const std::size_t width = Output::out_width();
  return width > 2 * margin ? 1 + lines_of(wrapped(text, width - margin, 0)) : 1;
}

// Lines of what a program said, as they stand but for what could drive the terminal: the last that
// have room in so many rows. Whether that is all of it.
bool tell_context(Output& output, std::string_view text, std::size_t room) {
  constexpr std::size_t margin = 2;
  bool is_whole = true;
  std::vector<std::string> lines;
  for (const std::string_view line : split_lines(text)) {
    const std::string safe = printable(line);
    lines.push_back(Output::on_screen(safe, margin));
    is_whole = is_whole && lines.back() == safe;
  }
  std::size_t first = lines.size();
  for (std::size_t used = 1; first > 0; --first) {
    used += rows_of(lines[first - 1], margin);
    if (used > room) break;
  }
  if (first > 0) output.line(output.styled(Style::Dim, "  …"));
  is_whole = is_whole && first == 0;
  for (; first < lines.size(); ++first) {
    output.sentence("  " + lines[first], margin, Style::Dim);
  }
  return is_whole;
}

// As a shell takes it.
std::string word_of(const Json& choice) { return codec::shell_word(printable(choice.text())); }

// Of an agent that is still there: what its screen shows now, or what it has said. Of one that is
// gone the question has its last words.
void add_screen(Context& context, Json& decision) {
  const std::string& subject = decision["subject"].text();
  const auto home = context.home();
  if (!home || decision["state"].text() != "open" || !is_agent(subject)) return;
  const Answer agent = context.client().ask("agent.show", json_of({{"id", subject}}));
  if (!agent || agent->has("ended_at") || !agent->has("attempt")) return;
  const std::string& attempt = (*agent)["attempt"].text();
  Json lines = Json::array();
  if ((*agent)["mode"].text() == "session") {
    const auto screen = read_screen(home->path, attempt);
    if (!screen) return;
    for (const std::string& line : *screen) lines.push(line);
  } else {
    constexpr std::size_t most = 2000;
    const std::string said = end_of_logs(fmt::format("{}/logs/{}", home->path, attempt), most);
    for (const std::string_view line : split_lines(said)) lines.push(printable(line));
  }
  if (!lines.items().empty()) decision.set("screen", std::move(lines));
}

// Which one is meant: the inputs of the run that waits.
void add_inputs(Context& context, Json& decision) {
  if (!decision.has("pipeline")) return;
  const Json which = json_of({{"id", decision["pipeline"].text()}});
  const Answer run = context.client().ask("pipeline.show", which);
  if (run && !(*run)["inputs"].members().empty()) decision.set("inputs", (*run)["inputs"]);
}

std::string inputs_in_words(const Json& decision) {
  std::string words;
  for (const auto& [name, value] : decision["inputs"].members()) {
    words += fmt::format("{}{}={}", words.empty() ? "" : " ", name, printable(value.text()));
  }
  return words;
}

// The end of it: the choices below are to be on the same screen.
constexpr std::size_t most_of_screen = 8;

void tell_screen(Output& output, const Json& decision) {
  const auto& lines = decision["screen"].items();
  constexpr std::size_t most = most_of_screen;
  if (lines.empty()) return;
  output.line(lines.size() > most ? fmt::format("the last {} of its {} lines:", most, lines.size())
                                  : "what it shows:");
  for (std::size_t i = lines.size() - std::min(most, lines.size()); i < lines.size(); ++i) {
    output.line(output.styled(Style::Dim, "  | " + lines[i].text()));
  }
}

// Rows of a terminal for what led to it: those that the question, the choices and how to answer
// leave. What is not read on a terminal has all of it.
std::size_t room_for_context(const Json& decision, std::string_view question) {
  const std::size_t height = Output::out_height();
  if (height == 0) return std::string_view::npos;
  constexpr std::size_t least = 6;
  const std::size_t screen = decision["screen"].items().size();
  constexpr std::size_t besides =
      7;  // whose it is, with what, until when, how to answer, the prompt
  const std::size_t used = besides + rows_of(question, 0) + decision["choices"].items().size() +
                           (screen > 0 ? 1 + std::min(screen, most_of_screen) : 0);
  return std::max(least, height - std::min(height, used));
}

int show(Context& context, const Parsed& parsed) {
  const Answer answer = context.client().ask("decision.show", json_of({{"id", parsed.words[0]}}));
  if (!answer) return context.fail(answer.error());
  Json decision = *answer;
  add_screen(context, decision);
  add_inputs(context, decision);
  if (context.json()) return context.output.succeed(decision);
  Output& output = context.output;
  const std::string id = decision["id"].text();
  if (context.quiet()) {
    output.line(id);
    return output.done();
  }
  output.sentence(fmt::format(
      "{} {}{} since {}",
      output.styled(Style::Bold, id),
      decision["state"].text(),
      decision.has("subject") ? fmt::format(", of {}", printable(decision["subject"].text())) : "",
      output.moment(decision["opened_at"])));
  if (const std::string inputs = inputs_in_words(decision); !inputs.empty()) {
    output.sentence("with " + Output::brief(inputs, 5), 5);
  }
  const std::string whole = printable(decision["question"].text());
  const std::string question = Output::on_screen(whole, 0);
  output.sentence(question, 0);
  const bool has_all =
      tell_context(output, decision["context"].text(), room_for_context(decision, question));
  tell_screen(output, decision);
  if (!has_all || question != whole) {
    output.sentence(
        fmt::format("`reeve decision show {} --json` has all of it", id), 2, Style::Dim);
  }
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
