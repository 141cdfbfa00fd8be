#include "cli/commands/groups.h"
#include "cli/commands/pipeline_verbs.h"
#include "cli/commands/snapshot.h"
#include "cli/context.h"
#include "cli/signals.h"
#include "cli/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace reeve::cli {

namespace {

using enum Table::Align;

// Of more than that a screen says nothing anyway; `reeve pipeline list` has them all.
constexpr std::int64_t most_runs = 200;

std::string described(const Json& attention) {
  return printable(fmt::format(
      "{} {}: {}", attention["kind"].text(), attention["name"].text(), attention["detail"].text()));
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

std::string locks_table(const Output& output, const Snapshot& seen, std::size_t width) {
  Table table({{"LOCK", Left, true},
               {"STATE"},
               {"HOLDER", Left, true},
               {"SINCE"},
               {"WAITING", Left, true}});
  for (const Json& lock : seen.locks) {
    const std::string state = lock["state"].text();
    if (state == "free" && lock["waiting"].number() == 0) continue;
    std::string line;
    for (const Json& waiter : lock["waiters"].items()) {
      if (!line.empty()) line += ", ";
      line += printable(waiter["holder"].text());
    }
    table.add({printable(lock["name"].text()),
               {state, state == "held" ? Style::Good : Style::Bad},
               printable(lock.has("label")
                             ? fmt::format("{} ({})", lock["holder"].text(), lock["label"].text())
                             : lock["holder"].text()),
               output.moment(lock["acquired_at"]),
               line.empty() ? "-" : fmt::format("{}: {}", lock["waiting"].text(), line)});
  }
  return table.empty() ? "" : table.write(width, output);
}

std::string sems_table(const Output& output, const Snapshot& seen, std::size_t width) {
  Table table({{"SEMAPHORE", Left, true}, {"USE"}, {"", Right}, {"WAITING", Right}});
  for (const Json& sem : seen.semaphores) {
    const double capacity =
        static_cast<double>(std::max<std::int64_t>(1, sem["capacity"].number()));
    table.add({printable(sem["name"].text()),
               usage_bar(static_cast<double>(sem["in_use"].number()) / capacity, 20),
               fmt::format("{} of {}", sem["in_use"].text(), sem["capacity"].text()),
               sem["waiting"].text()});
  }
  return table.empty() ? "" : table.write(width, output);
}

std::string queues_table(const Output& output, const Snapshot& seen, std::size_t width) {
  Table table({{"QUEUE", Left, true},
               {"PENDING", Right},
               {"DELAYED", Right},
               {"RUNNING", Right},
               {"DEAD", Right},
               {"OLDEST", Right},
               {"STATE"}});
  for (const Json& queue : seen.queues) {
    const bool dead = queue["dead"].number() > 0;
    table.add({printable(queue["name"].text()),
               with_commas(queue["pending"].number()),
               with_commas(queue["delayed"].number()),
               with_commas(queue["processing"].number()),
               {with_commas(queue["dead"].number()), dead ? Style::Bad : Style::Plain},
               queue.has("oldest_pending_age_ms")
                   ? rough_duration(queue["oldest_pending_age_ms"].number())
                   : "-",
               {queue["paused"].truth() ? "paused" : "", Style::Warn}});
  }
  return table.empty() ? "" : table.write(width, output);
}

std::string workers_table(const Output& output, const Snapshot& seen, std::size_t width) {
  Table table({{"WORKER", Left, true},
               {"STATE"},
               {"ACTIVE", Right},
               {"QUEUE", Left, true},
               {"PENDING", Right},
               {"DEAD", Right}});
  for (const Json& worker : seen.status["workers"].items()) {
    const std::string state = worker["state"].text();
    if (state == "stopped") continue;
    const bool dead = worker["dead"].number() > 0;
    table.add({printable(worker["name"].text()),
               {state, state == "started" ? Style::Good : Style::Warn},
               fmt::format("{} of {}", worker["active"].text(), worker["concurrency"].text()),
               printable(worker["queue"].text()),
               with_commas(worker["pending"].number()),
               {with_commas(worker["dead"].number()), dead ? Style::Bad : Style::Plain}});
  }
  return table.empty() ? "" : table.write(width, output);
}

std::string crons_table(const Output& output, const Snapshot& seen, std::size_t width) {
  Table table({{"CRON", Left, true}, {"SCHEDULE"}, {"NEXT"}, {"LAST"}, {"RUNS"}});
  for (const Json& cron : seen.status["crons"].items()) {
    const auto& running = cron["running"].items();
    if (cron["state"].text() != "enabled" && running.empty()) continue;
    table.add({printable(cron["name"].text()),
               cron["schedule"].text(),
               output.moment(cron["next"]),
               output.moment(cron["last"]),
               running.empty() ? "-" : running.front().text()});
  }
  return table.empty() ? "" : table.write(width, output);
}

std::string screen(const Output& output, const Snapshot& seen, std::size_t width) {
  std::string text;
  const std::vector<std::string> needs = needs_you(seen);
  if (!needs.empty()) heading(text, output, "Needs you");
  for (const std::string& line : needs) {
    // Whole, for what to do about it stands at the end of it.
    text += fmt::format(
        "{} {}\n", output.styled(Style::Bad, "!"), width > 4 ? wrapped(line, width - 2, 2) : line);
  }
  for (const std::string& table : {pipeline_verbs::table(output, seen.pipelines, width),
                                   workers_table(output, seen, width),
                                   crons_table(output, seen, width),
                                   locks_table(output, seen, width),
                                   sems_table(output, seen, width),
                                   queues_table(output, seen, width)}) {
    if (table.empty()) continue;
    if (!text.empty()) text += '\n';
    text += table;
  }
  if (text.empty()) {
    text = fmt::format("nothing is going on in {}\n", printable(seen.project));
  }
  return text;
}

// Of a screen that is higher than the terminal, what is on top: the rest would push it away.
std::string first_lines(const std::string& text, std::size_t rows) {
  if (rows < 3 || static_cast<std::size_t>(std::ranges::count(text, '\n')) < rows) return text;
  std::size_t end = 0;
  for (std::size_t row = 0; row + 2 < rows; ++row) end = text.find('\n', end) + 1;
  return text.substr(0, end) + "… `reeve status` shows all\n";
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
      const std::string text = screen(context.output, *seen, Output::out_width());
      context.output.out("\x1b[H\x1b[2J" + first_lines(text, Output::out_height()));
    } else {
      context.output.out(screen(context.output, *seen, 0) + "\n");
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

std::expected<Snapshot, Failure> take_snapshot(Client& client) {
  using Kind = Client::Kind;
  const auto status = client.begin("status.get", Json::object(), Kind::Question);
  const auto locks = client.begin("lock.list", Json::object(), Kind::Question);
  const auto semaphores = client.begin("sem.list", Json::object(), Kind::Question);
  const auto queues = client.begin("queue.stats", Json::object(), Kind::Question);
  Json active = Json::object();
  active.set("states", Json(Json::Array{Json("active")})).set("limit", most_runs);
  const auto pipelines = client.begin("pipeline.list", std::move(active), Kind::Question);
  Snapshot seen;
  const Answer told = client.wait(status);
  const Answer of_locks = client.wait(locks);
  const Answer of_semaphores = client.wait(semaphores);
  const Answer of_queues = client.wait(queues);
  const Answer of_pipelines = client.wait(pipelines);
  for (const Answer* answer : {&told, &of_locks, &of_semaphores, &of_queues, &of_pipelines}) {
    if (!*answer) return std::unexpected(answer->error());
  }
  seen.status = *told;
  seen.project = seen.status.has("project") ? seen.status["project"].text() : "default";
  seen.locks = (*of_locks)["locks"].items();
  seen.semaphores = (*of_semaphores)["semaphores"].items();
  seen.queues = (*of_queues)["queues"].items();
  seen.pipelines = (*of_pipelines)["pipelines"].items();
  // For programs: which of the runs that are counted there wait, and on what.
  seen.status.set("runs", (*of_pipelines)["pipelines"]);
  return seen;
}

int status_command(Context& context, const Parsed& parsed) {
  if (parsed.has("watch")) return watch(context);
  auto seen = take_snapshot(context.client());
  if (!seen) return context.fail(seen.error());
  seen->status = with_mistakes(context, seen->status);
  if (context.json()) return context.output.succeed(seen->status);
  context.output.out(screen(context.output, *seen, Output::out_width()));
  return context.output.done();
}

int overview(Context& context) {
  Output& output = context.output;
  // Looking should not start anything.
  auto seen = take_snapshot(context.client_without_start());
  if (context.json()) return seen ? output.succeed(seen->status) : context.fail(seen.error());
  if (seen) {
    seen->status = with_mistakes(context, seen->status);
    output.line(fmt::format("{} {}",
                            output.styled(Style::Bold, "reeve"),
                            output.styled(Style::Dim, "in " + printable(seen->project))));
    output.out("\n" + screen(output, *seen, Output::out_width()));
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
  for (const Example& example : often) {
    output.line(fmt::format("  {:<45}{}", example.line, output.styled(Style::Dim, example.says)));
  }
  output.line(output.styled(Style::Dim, "\nreeve --help lists everything"));
  return output.done();
}

}  // namespace reeve::cli
