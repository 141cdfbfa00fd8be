#include "cli/commands/groups.h"
#include "cli/commands/parts.h"
#include "cli/commands/snapshot.h"
#include "cli/commands/status_parts.h"
#include "cli/context.h"
#include "cli/signals.h"
#include "cli/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace reeve::cli {

namespace {

// Of more than that a screen says nothing anyway; `reeve pipeline list` has them all.
constexpr std::int64_t most_runs = 200;
constexpr std::int64_t most_agents = 200;

std::string described(const Json& attention) {
  const std::string whole = printable(fmt::format(
      "{} {}: {}", attention["kind"].text(), attention["name"].text(), attention["detail"].text()));
  return Output::brief(whole, 2);
}

// What is wrong or waits for a person: told first.
std::vector<std::string> needs_you(const Snapshot& seen) {
  std::vector<std::string> lines;
  for (const Json& attention : seen.status["attention"].items())
    lines.push_back(described(attention));
  return lines;
}

void heading(std::string& text, const Output& output, std::string_view words) {
  if (!text.empty()) text += '\n';
  text += output.styled(Style::Bold, words);
  text += '\n';
}

// Of what needs somebody so many lines; 0: all of it.
std::string needs_text(const Context& context,
                       const Snapshot& seen,
                       std::size_t width,
                       std::size_t room) {
  const Output& output = context.output;
  std::string text;
  std::int64_t more = seen.status["attention_more"].number();
  const std::vector<std::string> needs = needs_you(seen);
  if (!needs.empty()) heading(text, output, "Needs you");
  bool full = false;
  for (const std::string& need : needs) {
    // With its end, for what to do about it stands there.
    const std::string line = context.here(need);
    const std::string told = fmt::format(
        "{} {}\n", output.styled(Style::Bad, "!"), width > 4 ? wrapped(line, width - 2, 2) : line);
    // With a line for how many there are besides.
    full = full || (room > 0 && lines_of(text) + lines_of(told) + 1 > room);
    if (full) {
      ++more;
    } else {
      text += told;
    }
  }
  if (more > 0) {
    text += output.styled(
        Style::Dim,
        fmt::format("… and {} more; `reeve status --all` shows all", with_commas(more)));
    text += '\n';
  }
  return text;
}

// In so many lines, what needs somebody first; 0: as many as it takes.
std::string screen(const Context& context,
                   const Snapshot& seen,
                   std::size_t width,
                   std::size_t room) {
  const Output& output = context.output;
  const auto joined = [](std::string needs, const std::string& parts) {
    if (!needs.empty() && !parts.empty()) needs += '\n';
    return needs + parts;
  };
  const std::vector<Part> parts = status_parts(output, seen, width);
  std::string text = joined(needs_text(context, seen, width, 0), write_parts(parts, 0, output));
  if (room > 0 && lines_of(text) > room) {
    // Half of it at most, but what the others leave.
    const std::size_t others = lines_of(write_parts(parts, 1, output)) + 1;
    const std::string needs =
        needs_text(context, seen, width, std::max(room / 2, room - std::min(room, others)));
    const std::size_t used = lines_of(needs);
    text = joined(
        needs, write_parts(parts, std::max<std::size_t>(1, room - std::min(room, used)), output));
  }
  if (text.empty()) {
    text = fmt::format("nothing is going on in {}\n", printable(seen.project));
  }
  return text;
}

// Lines for a screen above the prompt; 0: no terminal, as many as it takes.
std::size_t room_on_terminal() {
  const std::size_t height = Output::out_height();
  return height < 3 ? 0 : height - 1;
}

// Of a screen that is higher than the terminal all the same, what is on top.
std::string first_lines(const std::string& text, std::size_t rows) {
  if (rows < 3 || lines_of(text) < rows) return text;
  std::size_t end = 0;
  for (std::size_t row = 0; row + 2 < rows; ++row) end = text.find('\n', end) + 1;
  return text.substr(0, end) + "… `reeve status --all` shows all\n";
}

// With the mistakes in the project's runbooks: until they are mended nothing new is started, and
// what was loaded before stays in force.
Json with_mistakes(Context& context, const Json& status) {
  // By name it may be any project, and its folder is not ours to look into every second.
  if (!context.client().where().project_root) return status;
  const auto place = context.place();
  const std::vector<std::string> mistakes =
      place ? context.runbooks->mistakes(*place) : std::vector<std::string>{};
  if (mistakes.empty()) return status;
  Json attention = status["attention"];
  const std::string more =
      mistakes.size() == 1 ? "" : fmt::format(" (and {} more)", mistakes.size() - 1);
  attention.push(json_of({{"kind", "runbook"},
                          {"name", "mistake"},
                          {"detail",
                           fmt::format("{}{}; what was loaded before stays in force; try `reeve "
                                       "runbook check`",
                                       mistakes.front(),
                                       more)}}));
  Json whole = status;
  whole.set("attention", std::move(attention));
  return whole;
}

int watch(Context& context) {
  const Signals signals{SIGINT, SIGTERM, SIGWINCH};
  for (bool began = false;; began = true) {
    auto seen = take_snapshot(context.client());
    if (seen) seen->status = with_mistakes(context, seen->status);
    // Who watches does not start again what somebody stopped.
    const bool is_stopped = began && !seen && seen.error().code == "UNAVAILABLE";
    if (!seen && !is_stopped) return context.fail(seen.error());
    context.client().only_look();
    if (is_stopped) {
      if (Output::out_is_terminal()) context.output.out("\x1b[H\x1b[2J");
      if (!context.json()) context.output.line("no daemon is running");
    } else if (context.json()) {
      context.output.line(seen->status.write());
    } else if (Output::out_is_terminal()) {
      const std::string text = screen(context, *seen, Output::out_width(), room_on_terminal());
      context.output.out("\x1b[H\x1b[2J" + first_lines(text, Output::out_height()));
    } else {
      context.output.out(screen(context, *seen, 0, 0) + "\n");
    }
    if (!context.output.flush()) return static_cast<int>(Exit::Failed);
    const std::int64_t until = steady_now() + 1000;
    while (steady_now() < until) {
      std::array<pollfd, 1> others{signals.readable()};
      context.client().pump(until - steady_now(), others);
      if (const auto signal = signals.next()) {
        if (*signal == SIGWINCH) break;
        return static_cast<int>(*signal == SIGINT ? Exit::Interrupted : Exit::Ok);
      }
    }
  }
}

}  // namespace

std::string usage_bar(double part, std::size_t width) {
  const auto full = static_cast<std::size_t>(
      std::lround(std::min(1.0, std::max(0.0, part)) * static_cast<double>(width)));
  std::string cells;
  for (std::size_t i = 0; i < width; ++i) cells += i < full ? "█" : "░";
  return cells;
}

std::expected<Snapshot, Failure> take_snapshot(Client& client, bool whole) {
  using Kind = Client::Kind;
  Json active = Json::object();
  active.set("states", Json(Json::Array{Json("active")}));
  Json agents = json_of({{"state", "active"}});
  Snapshot seen;
  seen.is_whole = whole;
  std::array<Answer, 6> answers;
  if (whole) {
    answers = {client.ask("status.get"),
               list_all(client, "lock.list", "locks", Json::object()),
               list_all(client, "sem.list", "semaphores", Json::object()),
               list_all(client, "queue.stats", "queues", Json::object()),
               list_all(client, "pipeline.list", "pipelines", std::move(active)),
               list_all(client, "agent.list", "agents", std::move(agents))};
  } else {
    active.set("limit", most_runs);
    agents.set("limit", most_agents);
    const std::array<Client::Ticket, 6> asked{
        client.begin("status.get", Json::object(), Kind::Question),
        client.begin("lock.list", Json::object(), Kind::Question),
        client.begin("sem.list", Json::object(), Kind::Question),
        client.begin("queue.stats", Json::object(), Kind::Question),
        client.begin("pipeline.list", std::move(active), Kind::Question),
        client.begin("agent.list", std::move(agents), Kind::Question)};
    for (std::size_t i = 0; i < asked.size(); ++i) answers.at(i) = client.wait(asked.at(i));
  }
  for (const Answer& answer : answers) {
    if (!answer) return std::unexpected(answer.error());
  }
  seen.status = *answers[0];
  seen.project = seen.status.has("project") ? seen.status["project"].text() : "default";
  seen.locks = (*answers[1])["locks"].items();
  seen.semaphores = (*answers[2])["semaphores"].items();
  seen.has_more_locks = answers[1]->has("next");
  seen.has_more_semaphores = answers[2]->has("next");
  seen.queues = (*answers[3])["queues"].items();
  seen.pipelines = (*answers[4])["pipelines"].items();
  seen.agents = (*answers[5])["agents"].items();
  // For programs: which of the runs that are counted there wait, and on what.
  seen.status.set("runs", (*answers[4])["pipelines"]);
  seen.status.set("agents", (*answers[5])["agents"]);
  return seen;
}

int status_command(Context& context, const Parsed& parsed) {
  if (parsed.has("watch")) return watch(context);
  auto seen = take_snapshot(context.client(), true);
  if (!seen) return context.fail(seen.error());
  seen->status = with_mistakes(context, seen->status);
  if (context.json()) return context.output.succeed(seen->status);
  const std::size_t room = parsed.has("all") ? 0 : room_on_terminal();
  const std::string text = screen(context, *seen, Output::out_width(), room);
  context.output.out(room == 0 ? text : first_lines(text, room + 1));
  return context.output.done();
}

int overview(Context& context) {
  constexpr std::array<Example, 8> often{{
      {"reeve init; reeve run hello world --follow", "describe work once, and run it"},
      {"reeve why pipe-4f7kq2", "why a run does not move"},
      {"reeve lock run deploy --wait -- make deploy", "one at a time"},
      {"reeve sem run builds --wait -- make", "so many at a time"},
      {"reeve queue push mail '{\"to\":\"ana\"}'", "work for later"},
      {"reeve queue work mail --exec ./send", "do it"},
      {"reeve why deploy", "who holds it, who waits"},
      {"reeve top", "watch it live"},
  }};
  constexpr std::size_t few_examples = 3;
  constexpr std::size_t lines_besides = 6;
  std::span<const Example> examples = often;
  Output& output = context.output;
  // Looking should not start anything.
  auto seen = take_snapshot(context.client_without_start(), true);
  if (context.json()) return seen ? output.succeed(seen->status) : context.fail(seen.error());
  if (seen) {
    seen->status = with_mistakes(context, seen->status);
    output.line(fmt::format("{} {}",
                            output.styled(Style::Bold, "reeve"),
                            output.styled(Style::Dim, "in " + printable(seen->project))));
    const std::size_t room = room_on_terminal();
    std::string text = screen(context, *seen, Output::out_width(), 0);
    // The title, and below what is used often.
    if (room > 0 && lines_of(text) + often.size() + lines_besides > room) {
      examples = examples.first(few_examples);
      const std::size_t rest = room - std::min(room - 1, few_examples + lines_besides);
      text = first_lines(screen(context, *seen, Output::out_width(), rest), rest + 1);
    }
    output.out("\n" + text);
  } else if (seen.error().code == "UNAVAILABLE") {
    output.line(fmt::format("{} {}, a durable local coordinator",
                            output.styled(Style::Bold, "reeve"),
                            context.version()));
    output.line("No daemon is running; the first command starts one.");
  } else {
    return context.fail(seen.error());
  }
  output.line("");
  output.line(output.styled(Style::Bold, "Often used"));
  for (const Example& example : examples) {
    output.line(fmt::format("  {:<45}{}", example.line, output.styled(Style::Dim, example.says)));
  }
  output.line(output.styled(Style::Dim, "\nreeve --help lists everything"));
  return output.done();
}

}  // namespace reeve::cli
