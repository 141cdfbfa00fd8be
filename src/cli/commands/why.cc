#include "cli/commands/groups.h"
#include "cli/context.h"
#include "cli/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace reeve::cli {

namespace {

std::string since(const Output& output, const Json& moment) {
  const std::string text = output.moment(moment);
  return text == "now" ? "since just now" : fmt::format("since {}", text);
}

void tell(Context& context, const Json& why) {
  Output& output = context.output;
  const auto& chain = why["waiting_on"].items();
  const std::string name = printable(why["id"].text());
  const std::string kind = why["kind"].text();
  output.line(fmt::format("{} {}{}",
                          kind,
                          output.styled(Style::Bold, name),
                          chain.empty() ? ": nothing is in the way" : ""));
  std::string indent = "  ";
  for (std::size_t i = 0; i < chain.size(); ++i) {
    const Json& link = chain[i];
    std::string line = fmt::format("{} {}", link["kind"].text(), printable(link["name"].text()));
    if (link.has("holder")) line += fmt::format(" held by {}", printable(link["holder"].text()));
    if (link.has("since")) line += " " + since(output, link["since"]);
    if (link.has("pid")) line += fmt::format(", process {}", link["pid"].text());
    output.sentence(indent + line, indent.size() + 4);
    if (link.has("detail")) {
      output.line(fmt::format(
          "{}  {}", indent, output.styled(Style::Dim, printable(link["detail"].text()))));
    }
    // What a queue waits for is side by side, and so are those who have one thing together; else
    // each waits for the next.
    const bool together = i + 1 < chain.size() && chain[i + 1]["kind"].text() == "sem" &&
                          chain[i + 1]["name"].text() == link["name"].text();
    if (kind != "queue" && !together) indent += "  ";
  }
  const auto& line = why["line"].items();
  if (!line.empty()) output.line("in line");
  for (std::size_t i = 0; i < line.size(); ++i) {
    output.line(fmt::format("  {:>3}. {}  {}",
                            i + 1,
                            printable(line[i]["holder"].text()),
                            since(output, line[i]["since"])));
  }
  const Json& next = why["next"];
  if (next.is_object()) {
    output.sentence(
        fmt::format("next: {}{}",
                    printable(next["what"].text()),
                    next.has("at") ? fmt::format(", {}", output.moment(next["at"])) : ""),
        6);
  }
}

// Says how to say which one.
Failure clearer(Failure failure, const std::string& name) {
  if (failure.code != "AMBIGUOUS") return failure;
  std::string kinds;
  for (const Json& kind : failure.details["kinds"].items()) {
    kinds += fmt::format("{}--kind {}", kinds.empty() ? "" : " or ", kind.text());
  }
  if (!kinds.empty()) {
    failure.message = fmt::format("more than one thing is called {}; say {}", name, kinds);
  }
  return failure;
}

}  // namespace

int why_command(Context& context, const Parsed& parsed) {
  const std::string& name = parsed.words[0];
  const Answer answer =
      context.client().ask("why.get", json_of({{"id", name}, {"kind", text_of(parsed, "kind")}}));
  if (!answer) return context.fail(clearer(answer.error(), name));
  if (context.json()) return context.output.succeed(*answer);
  tell(context, *answer);
  return context.output.done();
}

int show_command(Context& context, const Parsed& parsed) {
  const Answer answer = context.client().ask(
      "state.show", json_of({{"id", parsed.words[0]}, {"kind", text_of(parsed, "kind")}}));
  if (!answer) return context.fail(clearer(answer.error(), parsed.words[0]));
  if (context.json()) return context.output.succeed(*answer);
  std::size_t widest = 0;
  for (const auto& [name, value] : answer->members()) widest = std::max(widest, name.size());
  for (const auto& [name, value] : answer->members()) {
    if (name == "seq" || value.is_null()) continue;
    const bool moment = value.is_string() && parse_moment(value.text()).has_value();
    const bool tree = value.is_array() || value.is_object();
    if (value.is_array() && value.items().empty()) continue;
    context.output.line(fmt::format("{:<{}}{}",
                                    name,
                                    widest + 2,
                                    moment                         ? context.output.moment(value)
                                    : tree || value.text().empty() ? printable(value.write())
                                                                   : printable(value.text())));
  }
  return context.output.done();
}

}  // namespace reeve::cli
