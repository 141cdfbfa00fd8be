#include "cli/commands/groups.h"
#include "cli/commands/pipeline_verbs.h"
#include "cli/context.h"
#include "cli/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <fcntl.h>
#include <unistd.h>
#include <vector>

namespace reeve::cli {

namespace {

constexpr std::size_t lines_shown = 12;

std::string since(const Output& output, const Json& moment) {
  const std::string text = output.moment(moment);
  return text == "now" ? "since just now" : fmt::format("since {}", text);
}

// One line of it, under its mark also where it takes several.
void tell_line(Output& output, const std::string& text, const std::string& indent) {
  const std::string mark = indent + "  | ";
  const std::size_t before = std::min(text.find_first_not_of(' '), text.size());
  const std::size_t width = Output::out_width();
  std::string words = text.substr(before);
  if (width > 2 * (mark.size() + before)) words = wrapped(words, width - mark.size() - before, 0);
  const std::string margin = mark + std::string(before, ' ');
  for (std::size_t at = 0; (at = words.find('\n', at)) != std::string::npos;) {
    words.insert(at + 1, margin);
    at += margin.size() + 1;
  }
  output.line(margin + words);
}

// The last lines of what a program said.
void tell_output(Output& output, std::string_view text, const std::string& indent) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const std::size_t newline = std::min(text.find('\n'), text.size());
    lines.push_back(text.substr(0, newline));
    text.remove_prefix(std::min(text.size(), newline + 1));
  }
  const std::size_t first = lines.size() > lines_shown ? lines.size() - lines_shown : 0;
  for (std::size_t i = first; i < lines.size(); ++i) {
    tell_line(output, printable(lines[i]), indent);
  }
}

void tell(Context& context, const Json& why) {
  Output& output = context.output;
  const auto& chain = why["waiting_on"].items();
  const std::string name = printable(why["id"].text());
  const std::string kind = why["kind"].text();
  std::string how;
  if (why.has("state")) {
    how = fmt::format(": {}", why["state"].text());
    if (why.has("phase")) {
      how +=
          fmt::format(" in {}, attempt {}", printable(why["phase"].text()), why["attempt"].text());
    }
    if (why.has("error")) how += fmt::format(": {}", printable(why["error"].text()));
  } else if (chain.empty()) {
    how = ": nothing is in the way";
  }
  output.sentence(fmt::format("{} {}{}", kind, output.styled(Style::Bold, name), how));
  std::string indent = "  ";
  for (std::size_t i = 0; i < chain.size(); ++i) {
    const Json& link = chain[i];
    std::string line = fmt::format("{} {}", link["kind"].text(), printable(link["name"].text()));
    if (link.has("pipeline") && link["pipeline"].text() != why["id"].text()) {
      line += fmt::format(" of {}", link["pipeline"].text());
    }
    if (link.has("holder")) line += fmt::format(" held by {}", printable(link["holder"].text()));
    if (link.has("since")) line += " " + since(output, link["since"]);
    if (link.has("pid")) line += fmt::format(", process {}", link["pid"].text());
    output.sentence(indent + line, indent.size() + 4);
    if (link.has("detail")) {
      output.sentence(
          indent + "  " + printable(link["detail"].text()), indent.size() + 2, Style::Dim);
    }
    tell_output(output, link["output"].text(), indent);
    // What a queue waits for is side by side, and so are those who have one thing together; else
    // each waits for the next.
    const bool together = i + 1 < chain.size() && chain[i + 1]["kind"].text() == "sem" &&
                          chain[i + 1]["name"].text() == link["name"].text();
    if (kind != "queue" && !together) indent += "  ";
  }
  const auto& line = why["line"].items();
  if (!line.empty()) {
    std::string head = "in line";
    if (why.has("line_of")) head += fmt::format(" for {}", printable(why["line_of"].text()));
    if (why.has("place")) head += fmt::format(", at place {}", why["place"].text());
    output.line(head);
  }
  for (std::size_t i = 0; i < line.size(); ++i) {
    output.sentence(fmt::format("  {:>3}. {}  {}",
                                i + 1,
                                printable(line[i]["holder"].text()),
                                since(output, line[i]["since"])),
                    7);
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

// Who has the custody of a run, as its folder in the home says; 0: it has not begun, or is over.
std::int64_t process_of(const std::string& home, const std::string& run) {
  const std::string path = fmt::format("{}/runs/{}/started", home, run);
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return 0;
  std::array<char, 32> text{};
  const ssize_t got = ::read(file, text.data(), text.size());
  ::close(file);
  std::int64_t pid = 0;
  if (got > 0) std::from_chars(text.data(), text.data() + got, pid);
  return pid;
}

// Behind a phase that runs there is a process: the chain ends with it.
Json with_processes(Context& context, const Json& why) {
  const auto home = context.home();
  if (!home) return why;
  Json chain = Json::array();
  for (Json link : why["waiting_on"].items()) {
    const std::int64_t pid = link.has("run") ? process_of(home->path, link["run"].text()) : 0;
    if (pid != 0) link.set("pid", pid);
    chain.push(std::move(link));
  }
  Json whole = why;
  whole.set("waiting_on", std::move(chain));
  return whole;
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
  const Json why = with_processes(context, *answer);
  if (context.json()) return context.output.succeed(why);
  tell(context, why);
  return context.output.done();
}

int show_command(Context& context, const Parsed& parsed) {
  const Answer answer = context.client().ask(
      "state.show", json_of({{"id", parsed.words[0]}, {"kind", text_of(parsed, "kind")}}));
  if (!answer) return context.fail(clearer(answer.error(), parsed.words[0]));
  if (context.json()) return context.output.succeed(*answer);
  if ((*answer)["kind"].text() == "pipeline") {
    pipeline_verbs::tell(context, *answer);
    return context.output.done();
  }
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
