#include "cli/commands/groups.h"
#include "cli/context.h"
#include "cli/signals.h"
#include "cli/start.h"
#include "cli/text.h"

#include <fmt/format.h>

#include <array>
#include <csignal>
#include <fcntl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

namespace reeve::cli {

namespace {

constexpr std::int64_t stop_patience = 60'000;

void sleep_for(std::int64_t milliseconds) {
  const timespec time{.tv_sec = milliseconds / 1000, .tv_nsec = milliseconds % 1000 * 1'000'000};
  ::nanosleep(&time, nullptr);
}

// Asked over a connection of its own, about no project.
Client plain_client(const Home& home, bool may_start) {
  return Client(
      Where{.home = home, .project_name = {}, .project_root = {}, .may_start = may_start});
}

int tell_status(Context& context, const Home& home) {
  Client client = plain_client(home, false);
  const Answer answer = client.ask("daemon.status");
  if (!answer) return context.fail(answer.error());
  if (context.json()) return context.output.succeed(*answer);
  Output& output = context.output;
  const Json& status = *answer;
  if (context.quiet()) {
    output.line(status["pid"].text());
    return output.done();
  }
  output.line(fmt::format("daemon       {}, process {}, {} for {}",
                          status["version"].text(),
                          status["pid"].text(),
                          status["ready"].truth() || !status.has("ready") ? "serving" : "starting",
                          rough_duration(status["uptime_ms"].number())));
  output.line(fmt::format("home         {}", printable(status["home"].text())));
  output.line(fmt::format("socket       {}", printable(status["socket"].text())));
  output.line(fmt::format("sequence     {}", with_commas(status["seq"].number())));
  if (status.has("connections")) {
    output.line(fmt::format("connections  {}", with_commas(status["connections"].number())));
  }
  if (status.has("state_bytes")) {
    output.line(fmt::format("state        {}", byte_size(status["state_bytes"].natural())));
  }
  const Json& journal = status["journal"];
  if (journal.is_object()) {
    output.line(fmt::format("journal      {} in {}, checkpoint at {}",
                            byte_size(journal["bytes"].natural()),
                            counted(journal["segments"].number(), "segment"),
                            with_commas(journal["checkpoint_seq"].number())));
  }
  return output.done();
}

int start(Context& context, const Parsed&) {
  const auto home = context.home();
  if (!home) return context.fail(home.error());
  Client before = plain_client(*home, false);
  const bool ran = before.connect(false).has_value();
  Client client = plain_client(*home, true);
  const Answer answer = client.ask("daemon.status");
  if (!answer) return context.fail(answer.error());
  if (context.json()) return context.output.succeed(*answer);
  const std::string pid = (*answer)["pid"].text();
  if (context.quiet()) {
    context.output.line(pid);
  } else {
    context.output.line(
        fmt::format("{} as process {}", ran ? "the daemon is running" : "the daemon started", pid));
  }
  return context.output.done();
}

// Back when the process has ended, so that its home is free. The failure, if there is one.
std::optional<Failure> stop_and_wait(const Home& home, bool kill, bool& ran) {
  Client client = plain_client(home, false);
  const Answer status = client.ask("daemon.status");
  if (!status) {
    ran = false;
    if (Link::connect(home.socket).has_value()) return status.error();
    if (const DaemonMark mark = daemon_of(home.path); mark.pid != 0) {
      return Failure{"UNAVAILABLE",
                     fmt::format("the daemon (process {}) does not answer on {}",
                                 mark.pid,
                                 mark.socket.empty() ? home.socket : mark.socket)};
    }
    return std::nullopt;
  }
  ran = true;
  const auto pid = static_cast<pid_t>((*status)["pid"].number());
  const Answer answer =
      client.ask("daemon.stop", kill ? json_of({{"kill", true}}) : Json::object());
  // It may be gone before its answer is read.
  if (!answer && answer.error().code != "UNAVAILABLE") return answer.error();
  const std::int64_t until = steady_now() + stop_patience;
  for (std::int64_t pause = 1; ::kill(pid, 0) == 0; pause = std::min<std::int64_t>(50, pause * 2)) {
    if (steady_now() > until) {
      return Failure{"FAILED", fmt::format("the daemon (process {}) has not ended after 60s", pid)};
    }
    sleep_for(pause);
  }
  return std::nullopt;
}

int stop(Context& context, const Parsed& parsed) {
  const auto home = context.home();
  if (!home) return context.fail(home.error());
  bool ran = false;
  if (const auto failure = stop_and_wait(*home, parsed.has("kill"), ran)) {
    return context.fail(*failure);
  }
  if (context.json()) return context.output.succeed(json_of({{"stopped", ran}}));
  if (!context.quiet()) {
    context.output.line(ran ? "the daemon stopped" : "no daemon was running");
  }
  return context.output.done();
}

int restart(Context& context, const Parsed& parsed) {
  const auto home = context.home();
  if (!home) return context.fail(home.error());
  bool ran = false;
  if (const auto failure = stop_and_wait(*home, false, ran)) return context.fail(*failure);
  return start(context, parsed);
}

int status(Context& context, const Parsed&) {
  const auto home = context.home();
  if (!home) return context.fail(home.error());
  return tell_status(context, *home);
}

// The end of the log, and with -f what is added, also to the next file when it is turned over.
int logs(Context& context, const Parsed& parsed) {
  const auto home = context.home();
  if (!home) return context.fail(home.error());
  const std::string path = home->path + "/daemon.log";
  int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) {
    return context.fail(Failure{"NOT_FOUND", fmt::format("there is no log at {}", path)});
  }
  std::string text;
  std::array<char, 65536> buffer{};
  const auto read_on = [&] {
    for (ssize_t got = 0; (got = ::read(file, buffer.data(), buffer.size())) > 0;) {
      text.append(buffer.data(), static_cast<std::size_t>(got));
    }
  };
  read_on();
  const std::int64_t most = parsed.number("lines").value_or(50);
  std::size_t from = text.size();
  for (std::int64_t lines = 0; from > 0 && lines <= most; --from) {
    if (text[from - 1] == '\n' && ++lines > most) break;
  }
  context.output.out(std::string_view(text).substr(from));
  if (!parsed.has("follow")) {
    ::close(file);
    return context.output.done();
  }
  const Signals signals{SIGINT, SIGTERM};
  for (;;) {
    if (!context.output.flush()) return static_cast<int>(Exit::Failed);
    pollfd ready = signals.readable();
    ::poll(&ready, 1, 200);
    if (const auto signal = signals.next()) {
      ::close(file);
      return static_cast<int>(*signal == SIGINT ? Exit::Interrupted : Exit::Ok);
    }
    text.clear();
    read_on();
    context.output.out(text);
    struct stat ours{};
    struct stat named{};
    if (::fstat(file, &ours) == 0 && ::stat(path.c_str(), &named) == 0 &&
        ours.st_ino != named.st_ino) {
      const int next = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
      if (next >= 0) ::close(std::exchange(file, next));
    }
  }
}

constexpr std::array<Option, 1> stop_options{
    {{.name = "kill", .help = "end running steps and sessions too"}}};
constexpr std::array<Option, 2> logs_options{
    {{.name = "follow", .letter = 'f', .help = "go on with what is added"},
     {.name = "lines",
      .letter = 'n',
      .takes = Takes::Number,
      .value = "N",
      .help = "the last so many; default: 50"}}};

constexpr std::array<Example, 1> start_examples{
    {{"reeve daemon start", "any command would start it, too"}}};
constexpr std::array<Example, 1> stop_examples{
    {{"reeve daemon stop", "everything stays, on disk; steps and sessions run on"}}};
constexpr std::array<Example, 1> restart_examples{
    {{"reeve daemon restart", "after an upgrade; those who wait keep their place"}}};
constexpr std::array<Example, 1> status_examples{{{"reeve daemon status --json", "for a script"}}};
constexpr std::array<Example, 1> run_examples{
    {{"reeve daemon run --foreground-log", "in the foreground, with its log on stderr"}}};
constexpr std::array<Example, 1> logs_examples{{{"reeve daemon logs -f", "watch it"}}};

constexpr std::array<Option, 3> run_options{
    {{.name = "foreground-log", .help = "the log on stderr, too"},
     {.name = "beanstalk",
      .takes = Takes::Text,
      .value = "ADDR",
      .help = "speak beanstalkd's protocol there: unix:PATH or HOST:PORT"},
     {.name = "ready-fd",
      .takes = Takes::Number,
      .value = "N",
      .help = "a descriptor to say `ready` on"}}};

constexpr std::array<Command, 6> commands{{
    {.name = "daemon start",
     .summary = "start the daemon, if none is running",
     .examples = start_examples,
     .run = start},
    {.name = "daemon stop",
     .summary = "stop it; back when it has ended",
     .options = stop_options,
     .examples = stop_examples,
     .run = stop},
    {.name = "daemon restart",
     .summary = "stop and start it",
     .examples = restart_examples,
     .run = restart},
    {.name = "daemon status",
     .summary = "what it is doing; exit 7 if none is running",
     .examples = status_examples,
     .run = status},
    {.name = "daemon run",
     .summary = "be the daemon, in the foreground",
     .options = run_options,
     .examples = run_examples,
     .run = nullptr},
    {.name = "daemon logs",
     .summary = "show its log",
     .options = logs_options,
     .examples = logs_examples,
     .run = logs},
}};

constexpr std::array<Argument, 1> directory{
    {{.name = "DIR", .count = Count::Maybe, .completes = Completes::File}}};
constexpr std::array<Option, 1> cat_options{
    {{.name = "from", .takes = Takes::Number, .value = "SEQ", .help = "from this record on"}}};
constexpr std::array<Option, 1> salvage_options{{{.name = "to",
                                                  .takes = Takes::Text,
                                                  .value = "NEW",
                                                  .help = "a new directory",
                                                  .completes = Completes::File}}};
constexpr std::array<Example, 1> journal_examples{
    {{"reeve journal verify", "while no daemon is using it"}}};

constexpr std::array<Command, 5> journal_commands{{
    {.name = "journal info",
     .summary = "the files and what is in them",
     .arguments = directory,
     .examples = journal_examples},
    {.name = "journal verify",
     .summary = "look at every byte; change nothing",
     .arguments = directory,
     .examples = journal_examples},
    {.name = "journal cat",
     .summary = "print the records",
     .arguments = directory,
     .options = cat_options,
     .examples = journal_examples},
    {.name = "journal salvage",
     .summary = "copy what can be trusted of a damaged one",
     .arguments = directory,
     .options = salvage_options,
     .examples = journal_examples},
    {.name = "journal accept",
     .summary = "take this version's decisions for the truth",
     .arguments = directory,
     .options = cat_options,
     .examples = journal_examples},
}};

}  // namespace

const Group daemon_group{.word = "daemon",
                         .summary = "the process that remembers; started when needed",
                         .commands = commands};
const Group journal_group{
    .word = "journal", .summary = "look into what is on disk", .commands = journal_commands};

}  // namespace reeve::cli
