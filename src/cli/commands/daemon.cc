#include "cli/cli.h"
#include "cli/commands/groups.h"
#include "cli/context.h"
#include "cli/signals.h"
#include "cli/start.h"
#include "cli/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace reeve::cli {

namespace {

constexpr std::int64_t stop_patience = 60'000;
constexpr std::int64_t answer_patience = 10'000;
constexpr int ask_every = 20;

// Until the process has ended, whether or not its parent has looked yet. False: it has not.
bool wait_for_end(int pidfd, std::int64_t milliseconds) {
  const std::int64_t until = steady_now() + milliseconds;
  for (;;) {
    pollfd ended{.fd = pidfd, .events = POLLIN, .revents = 0};
    const std::int64_t left = std::max<std::int64_t>(until - steady_now(), 0);
    const int count = ::poll(&ended, 1, static_cast<int>(left));
    if (count > 0) return true;
    if (count == 0 || errno != EINTR) return false;
  }
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
    output.line(fmt::format("journal      {}, {}, checkpoint at {}",
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

// A daemon that reads its journal does not listen yet, and one that writes its last checkpoint no
// longer: it is asked again until it answers or is gone.
Answer status_of(Client& client, const Home& home) {
  const std::int64_t until = steady_now() + answer_patience;
  for (;;) {
    Answer status = client.ask("daemon.status");
    if (status || Link::connect(home.socket).has_value()) return status;
    if (daemon_of(home.path).pid == 0 || steady_now() > until) return status;
    ::poll(nullptr, 0, ask_every);
  }
}

// Back when the process has ended, so that its home is free. The failure, if there is one.
std::optional<Failure> stop_and_wait(const Home& home, bool kill, bool& ran) {
  Client client = plain_client(home, false);
  const Answer status = status_of(client, home);
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
  // While it still answers: so it is this process's end that we see, and no other's.
  const int pidfd = static_cast<int>(::syscall(SYS_pidfd_open, pid, 0));
  if (pidfd < 0 && errno != ESRCH) {
    return Failure{"FAILED", fmt::format("cannot watch the daemon (process {})", pid)};
  }
  const Answer answer =
      client.ask("daemon.stop", kill ? json_of({{"kill", true}}) : Json::object());
  // It may be gone before its answer is read.
  const bool refused = !answer && answer.error().code != "UNAVAILABLE";
  const bool ended = refused || pidfd < 0 || wait_for_end(pidfd, stop_patience);
  if (pidfd >= 0) ::close(pidfd);
  if (refused) return answer.error();
  if (!ended) {
    return Failure{"FAILED", fmt::format("the daemon (process {}) has not ended after 60s", pid)};
  }
  return std::nullopt;
}

int stop(Context& context, const Parsed& parsed) {
  const auto home = context.home();
  if (!home) return context.fail(home.error());
  const bool kill = parsed.has("kill");
  bool ran = false;
  std::optional<Failure> failure = stop_and_wait(*home, kill, ran);
  // Steps and sessions live on without a daemon, and only a daemon knows them.
  if (!failure && !ran && kill && ::access((home->path + "/journal").c_str(), F_OK) == 0) {
    const Answer started = plain_client(*home, true).ask("daemon.status");
    failure = started ? stop_and_wait(*home, kill, ran) : std::optional(started.error());
  }
  if (failure) return context.fail(*failure);
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

// The daemon itself, with its own options as they were given.
int run(Context& context, const Parsed& parsed) {
  if (const auto home = context.home(); !home) return context.fail(home.error());
  std::vector<std::string> words;
  for (const std::string_view option :
       {"home", "beanstalk", "project", "beanstalk-job-bytes", "ready-fd"}) {
    for (const std::string_view value : parsed.texts(option)) {
      words.push_back(fmt::format("--{}", option));
      words.emplace_back(value);
    }
  }
  for (const std::string_view option : {"foreground-log", "beanstalk-public", "json"}) {
    if (parsed.has(option)) words.push_back(fmt::format("--{}", option));
  }
  return context.parts->daemon_run(std::vector<std::string_view>(words.begin(), words.end()));
}

// The end of the log, and with -f what is added, also to the next file when it is turned over.
int logs(Context& context, const Parsed& parsed) {
  const std::int64_t most = parsed.number("lines").value_or(50);
  if (most < 0) return context.misuse("-n must not be negative");
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
  std::size_t from = text.size();
  for (std::int64_t lines = 0; from > 0 && lines <= most; --from) {
    if (text[from - 1] == '\n' && ++lines > most) break;
  }
  // With --json a line is an object; what is not whole yet waits for its end.
  std::string unfinished;
  const auto tell = [&](std::string_view some) {
    if (!context.json()) return context.output.out(some);
    unfinished += some;
    for (std::size_t end = 0; (end = unfinished.find('\n')) != std::string::npos;) {
      context.output.line(json_of({{"line", unfinished.substr(0, end)}}).write());
      unfinished.erase(0, end + 1);
    }
  };
  tell(std::string_view(text).substr(from));
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
    tell(text);
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

constexpr std::array<Option, 6> run_options{
    {{.name = "foreground-log", .help = "the log on stderr, too"},
     {.name = "beanstalk",
      .takes = Takes::Text,
      .value = "ADDR",
      .help = "speak beanstalkd's protocol there: unix:PATH or HOST:PORT"},
     {.name = "project",
      .takes = Takes::Text,
      .value = "P",
      .help = "whose queues beanstalkd's clients see; default: default",
      .completes = Completes::Project},
     {.name = "beanstalk-job-bytes",
      .takes = Takes::Number,
      .value = "N",
      .help = "the most a job of theirs may have; default: 65535"},
     {.name = "beanstalk-public",
      .help = "let that address be one that other machines reach, where nobody is asked who they "
              "are"},
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
     .run = run},
    {.name = "daemon logs",
     .summary = "show its log",
     .options = logs_options,
     .examples = logs_examples,
     .run = logs},
}};

}  // namespace

const Group daemon_group{.word = "daemon",
                         .summary = "the process that remembers; started when needed",
                         .commands = commands};

}  // namespace reeve::cli
