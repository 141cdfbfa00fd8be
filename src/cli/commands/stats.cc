#include "cli/cli.h"
#include "cli/commands/groups.h"
#include "cli/commands/stats_data.h"
#include "cli/commands/stats_plot.h"
#include "cli/text.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <fstream>

// `reeve stats`: how much was done, how long it took, what failed.
namespace reeve::cli {

namespace {

using stats::Stats;
using stats::Times;

constexpr std::int64_t a_day = 86'400'000;

std::string shown(const Times& times, std::int64_t value) {
  return times.count == 0 ? "-" : rough_duration(value);
}

Json json_of_times(const Times& times) {
  if (times.count == 0) return {};
  return json_of({{"count", times.count},
                  {"p50_ms", times.p50},
                  {"p99_ms", times.p99},
                  {"max_ms", times.most}});
}

void heading(Output& output, bool& first, std::string_view text) {
  if (!first) output.line("");
  first = false;
  output.line(output.styled(Style::Bold, text));
}

void tell_queues(Output& output, bool& first, const Stats& stats) {
  if (stats.queues.empty()) return;
  heading(output, first, "queues");
  Table table({{"NAME", Table::Align::Left, true},
               {"PUSHED", Table::Align::Right},
               {"DONE", Table::Align::Right},
               {"A MIN", Table::Align::Right},
               {"FAILED", Table::Align::Right},
               {"WAIT P50", Table::Align::Right},
               {"P99", Table::Align::Right},
               {"WORK P50", Table::Align::Right},
               {"P99", Table::Align::Right}});
  for (const stats::QueueLine& line : stats.queues) {
    table.add({printable(line.name),
               with_commas(line.pushed),
               with_commas(line.completed),
               fmt::format("{:.1f}", static_cast<double>(line.completed) / stats.minutes()),
               Table::Cell(with_commas(line.failed), line.failed > 0 ? Style::Warn : Style::Plain),
               shown(line.wait, line.wait.p50),
               shown(line.wait, line.wait.p99),
               shown(line.work, line.work.p50),
               shown(line.work, line.work.p99)});
  }
  output.out(table.write(Output::out_width(), output));
}

void tell_locks(Output& output, bool& first, const Stats& stats) {
  if (stats.locks.empty()) return;
  heading(output, first, "locks, semaphores, sections and tasks");
  Table table({{"KIND", Table::Align::Left},
               {"NAME", Table::Align::Left, true},
               {"HOLDS", Table::Align::Right},
               {"HELD P50", Table::Align::Right},
               {"P99", Table::Align::Right},
               {"WAITS", Table::Align::Right},
               {"WAIT P50", Table::Align::Right},
               {"P99", Table::Align::Right}});
  for (const stats::LockLine& line : stats.locks) {
    table.add({line.kind,
               printable(line.name),
               with_commas(line.hold.count),
               shown(line.hold, line.hold.p50),
               shown(line.hold, line.hold.p99),
               with_commas(line.wait.count),
               shown(line.wait, line.wait.p50),
               shown(line.wait, line.wait.p99)});
  }
  output.out(table.write(Output::out_width(), output));
}

void tell_pipelines(Output& output, bool& first, const Stats& stats) {
  if (stats.pipelines.empty()) return;
  heading(output, first, "pipelines");
  Table table({{"NAME", Table::Align::Left, true},
               {"RUNS", Table::Align::Right},
               {"DONE", Table::Align::Right},
               {"FAILED", Table::Align::Right},
               {"CANCELLED", Table::Align::Right},
               {"TIME P50", Table::Align::Right},
               {"P99", Table::Align::Right}});
  for (const stats::PipelineLine& line : stats.pipelines) {
    table.add({printable(line.name),
               with_commas(line.runs),
               with_commas(line.done),
               Table::Cell(with_commas(line.failed), line.failed > 0 ? Style::Warn : Style::Plain),
               with_commas(line.cancelled),
               shown(line.time, line.time.p50),
               shown(line.time, line.time.p99)});
  }
  output.out(table.write(Output::out_width(), output));
}

// A rate of a few a week is not nothing.
std::string rate(double value) { return fmt::format("{:.{}f}", value, value < 10 ? 2 : 1); }

void tell_board(Output& output, bool& first, const Stats& stats) {
  if (stats.board.empty()) return;
  heading(output, first, "tasks of the board that were finished");
  Table table({{"STATUS", Table::Align::Left},
               {"TASKS", Table::Align::Right},
               {"AN HOUR", Table::Align::Right},
               {"A DAY", Table::Align::Right},
               {"TIME P50", Table::Align::Right},
               {"P99", Table::Align::Right}});
  for (const stats::BoardLine& line : stats.board) {
    const auto tasks = static_cast<double>(line.tasks);
    table.add({Table::Cell(line.status, line.status == "failed" ? Style::Warn : Style::Plain),
               with_commas(line.tasks),
               rate(tasks / stats.hours()),
               rate(tasks / stats.days()),
               shown(line.time, line.time.p50),
               shown(line.time, line.time.p99)});
  }
  output.out(table.write(Output::out_width(), output));
}

void tell_rest(Output& output, bool& first, const Stats& stats) {
  if (!stats.failures.empty()) {
    heading(output, first, "failures by cause");
    Table table({{"COUNT", Table::Align::Right},
                 {"WHAT", Table::Align::Left, true},
                 {"CAUSE", Table::Align::Left, true}});
    for (const stats::FailureLine& line : stats.failures) {
      table.add({with_commas(line.count), printable(line.what), printable(line.cause)});
    }
    output.out(table.write(Output::out_width(), output));
  }
  if (stats.waits.empty()) return;
  heading(output, first, "longest waits");
  Table table({{"WAITED", Table::Align::Right},
               {"FOR", Table::Align::Left},
               {"NAME", Table::Align::Left, true},
               {"WHO", Table::Align::Left, true},
               {"SINCE", Table::Align::Left}});
  for (const stats::WaitLine& line : stats.waits) {
    table.add({rough_duration(line.waited),
               line.kind,
               printable(line.name),
               printable(line.who),
               output.moment(line.since)});
  }
  output.out(table.write(Output::out_width(), output));
}

Json json_of_stats(const Stats& stats) {
  Json queues = Json::array();
  for (const stats::QueueLine& line : stats.queues) {
    queues.push(json_of(
        {{"name", line.name},
         {"pushed", line.pushed},
         {"completed", line.completed},
         {"per_minute",
          Json::raw(fmt::format("{:.3f}", static_cast<double>(line.completed) / stats.minutes()))},
         {"failed", line.failed},
         {"dead", line.dead},
         {"wait", json_of_times(line.wait)},
         {"work", json_of_times(line.work)}}));
  }
  Json locks = Json::array();
  for (const stats::LockLine& line : stats.locks) {
    locks.push(json_of({{"kind", line.kind},
                        {"name", line.name},
                        {"hold", json_of_times(line.hold)},
                        {"wait", json_of_times(line.wait)}}));
  }
  Json pipelines = Json::array();
  for (const stats::PipelineLine& line : stats.pipelines) {
    pipelines.push(json_of({{"name", line.name},
                            {"runs", line.runs},
                            {"done", line.done},
                            {"failed", line.failed},
                            {"cancelled", line.cancelled},
                            {"time", json_of_times(line.time)}}));
  }
  Json board = Json::array();
  for (const stats::BoardLine& line : stats.board) {
    const auto tasks = static_cast<double>(line.tasks);
    board.push(json_of({{"status", line.status},
                        {"tasks", line.tasks},
                        {"per_hour", Json::raw(fmt::format("{:.3f}", tasks / stats.hours()))},
                        {"per_day", Json::raw(fmt::format("{:.3f}", tasks / stats.days()))},
                        {"time", json_of_times(line.time)}}));
  }
  Json failures = Json::array();
  for (const stats::FailureLine& line : stats.failures) {
    failures.push(json_of({{"count", line.count}, {"what", line.what}, {"cause", line.cause}}));
  }
  Json waits = Json::array();
  for (const stats::WaitLine& line : stats.waits) {
    waits.push(json_of({{"waited_ms", line.waited},
                        {"kind", line.kind},
                        {"name", line.name},
                        {"who", line.who},
                        {"since", line.since}}));
  }
  return json_of({{"project", stats.project},
                  {"from", format_moment(stats.from)},
                  {"until", format_moment(stats.until)},
                  {"queues", queues},
                  {"locks", locks},
                  {"pipelines", pipelines},
                  {"board", board},
                  {"failures", failures},
                  {"longest_waits", waits},
                  {"gaps", stats.gaps}});
}

std::optional<Failure> write_plot(const Stats& stats, const std::string& file) {
  std::ofstream out(file, std::ios::binary | std::ios::trunc);
  out << stats::plot(stats);
  out.flush();
  if (out) return std::nullopt;
  // One thread. NOLINTNEXTLINE(concurrency-mt-unsafe)
  return Failure{"IO", fmt::format("{} cannot be written: {}", file, std::strerror(errno))};
}

}  // namespace

int stats_command(Context& context, const Parsed& parsed) {
  const auto path = synced_history(context);
  if (!path) return context.fail(path.error());
  const auto project = project_name(context);
  if (!project) return context.fail(project.error());
  const auto since = parsed.duration("since");
  if (since && since->count() <= 0) return context.misuse("--since is longer than nothing");
  const std::int64_t now = wall_now();
  const auto stats =
      stats::gather(context, *path, *project, now - (since ? since->count() : a_day), now);
  if (!stats) return context.fail(stats.error());
  if (const auto file = parsed.text("plot")) {
    if (auto failure = write_plot(*stats, std::string(*file))) return context.fail(*failure);
  }
  if (context.json()) return context.output.succeed(json_of_stats(*stats));
  Output& output = context.output;
  bool first = true;
  tell_queues(output, first, *stats);
  tell_locks(output, first, *stats);
  tell_pipelines(output, first, *stats);
  tell_board(output, first, *stats);
  tell_rest(output, first, *stats);
  if (first) {
    output.note(fmt::format("nothing was done in the last {}; --since looks further back",
                            rough_duration(stats->until - stats->from)));
  }
  if (!output.flush()) return output.done();
  note_gaps(context, stats->gaps);
  if (const auto file = parsed.text("plot")) output.note(fmt::format("the plot is in {}", *file));
  return output.done();
}

}  // namespace reeve::cli
