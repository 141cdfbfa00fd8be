#include "cli/commands/agents.h"
#include "cli/commands/groups.h"
#include "cli/commands/said.h"
#include "cli/commands/screen.h"
#include "cli/context.h"
#include "cli/signals.h"
#include "cli/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdlib>
#include <unistd.h>

namespace reeve::cli {

namespace {

constexpr std::int64_t look_every = 100;

int list(Context& context, const Parsed& parsed) {
  const Answer answer = list_all(
      context.client(), "agent.list", "agents", json_of({{"state", text_of(parsed, "state")}}));
  if (!answer) return context.fail(answer.error());
  const auto& agents = (*answer)["agents"].items();
  if (context.json()) return context.output.succeed(*answer);
  if (context.quiet()) {
    for (const Json& agent : agents) context.output.line(agent["id"].text());
    return context.output.done();
  }
  if (agents.empty()) context.output.note("no agents");
  context.output.out(agents_table(context.output, agents, Output::out_width()));
  return context.output.done();
}

int show(Context& context, const Parsed& parsed) {
  const Answer answer = context.client().ask("agent.show", json_of({{"id", parsed.words[0]}}));
  if (!answer) return context.fail(answer.error());
  Json agent = *answer;
  // What it said last is why it failed, and lies in its log.
  const auto home = context.home();
  if (home && agent["state"].text() == "failed" && agent.has("attempt")) {
    constexpr std::size_t most = 2000;
    const std::string said =
        end_of_logs(fmt::format("{}/logs/{}", home->path, agent["attempt"].text()), most);
    if (!said.empty()) agent.set("output", said);
  }
  if (context.json()) return context.output.succeed(agent);
  Output& output = context.output;
  if (context.quiet()) {
    output.line(agent["id"].text());
    return output.done();
  }
  for (const auto& [name, value] : agent.members()) {
    if (name == "seq" || name == "output" || value.is_null()) continue;
    std::string text = value.text();
    const bool is_idle = name == "idle_ms";
    if (is_idle) {
      text = rough_duration(value.number());
    } else if (value.is_array()) {
      for (const Json& each : value.items()) text += (text.empty() ? "" : ", ") + each.text();
    } else if (value.is_string() && parse_moment(text)) {
      text = output.moment(value);
    }
    output.sentence(
        fmt::format("{:<12}{}", is_idle ? "idle" : name, Output::on_screen(printable(text), 12)),
        12);
  }
  if (!agent.has("output")) return output.done();
  tell_last_words(output, agent);
  return output.done();
}

int told(Context& context, std::string_view method, Json params, std::string_view words) {
  const Answer answer = context.client().change(method, std::move(params));
  if (!answer) return context.fail(answer.error());
  if (context.json()) return context.output.succeed(*answer);
  context.output.line(context.quiet() ? (*answer)["id"].text()
                                      : fmt::format("{} {}", (*answer)["id"].text(), words));
  return context.output.done();
}

int nudge(Context& context, const Parsed& parsed) {
  return told(context,
              "agent.nudge",
              json_of({{"id", parsed.words[0]}, {"text", text_of(parsed, "message")}}),
              "nudged");
}

int send(Context& context, const Parsed& parsed) {
  return told(context,
              "agent.send",
              json_of({{"id", parsed.words[0]}, {"text", parsed.words[1]}}),
              "was sent it");
}

bool is_over(const Json& agent) { return agent.has("ended_at"); }

// A change, and then a look again and again until `happened`; Ctrl-C only stops looking.
template <class Happened>
int told_when(Context& context,
              std::string_view method,
              const Parsed& parsed,
              std::string_view words,
              Happened happened) {
  Client& client = context.client();
  const Answer before = client.ask("agent.show", json_of({{"id", parsed.words[0]}}));
  if (!before) return context.fail(before.error());
  const std::string id = (*before)["id"].text();
  const Answer changed = client.change(method, json_of({{"id", id}}));
  if (!changed) return context.fail(changed.error());
  const Signals signals{SIGINT, SIGTERM};
  Answer now = client.ask("agent.show", json_of({{"id", id}}));
  while (!parsed.has("no-wait") && now && !happened(*before, *now)) {
    if ((*now)["unseen"].truth()) {
      return context.fail(Failure{
          "FAILED",
          fmt::format("{} cannot be seen to have ended, and somebody is asked; see `reeve why {}`",
                      id,
                      id)});
    }
    std::array<pollfd, 1> others{signals.readable()};
    client.pump(look_every, others);
    if (signals.next()) {
      constexpr const char* words_of_end = "it goes on; only the watching ended";
      return context.fail(Failure{"INTERRUPTED", words_of_end, *now});
    }
    now = client.ask("agent.show", json_of({{"id", id}}));
  }
  if (!now) return context.fail(now.error());
  if (context.json()) return context.output.succeed(*now);
  context.output.line(context.quiet() ? id : fmt::format("{} {}", id, words));
  return context.output.done();
}

// Over at once it may be as well: then there is no other attempt to wait for.
int restart(Context& context, const Parsed& parsed) {
  const bool waits = !parsed.has("no-wait");
  return told_when(context,
                   "agent.restart",
                   parsed,
                   waits ? "was started anew" : "is started anew",
                   [](const Json& before, const Json& now) {
                     const bool anew = now["attempt"] != before["attempt"];
                     return is_over(now) || (anew && now.has("started_at"));
                   });
}

int kill(Context& context, const Parsed& parsed) {
  const bool waits = !parsed.has("no-wait");
  return told_when(context,
                   "agent.kill",
                   parsed,
                   waits ? "ended" : "is being ended",
                   [](const Json&, const Json& now) { return is_over(now); });
}

// The session of one that is in one; else why not, and where to look instead.
std::expected<std::string, Failure> session_of(Context& context, const Parsed& parsed) {
  const Answer answer = context.client().ask("agent.show", json_of({{"id", parsed.words[0]}}));
  if (!answer) return std::unexpected(answer.error());
  const Json& agent = *answer;
  const std::string& id = agent["id"].text();
  if (agent["mode"].text() != "session" || is_over(agent) || !agent.has("attempt")) {
    const std::string_view why =
        agent["mode"].text() != "session" ? "runs without a session" : "has no session now";
    return std::unexpected(
        Failure{"NOT_ALLOWED", fmt::format("{} {}; try `reeve logs {}`", id, why, id)});
  }
  return agent["attempt"].text();
}

// What its screen shows, without the empty lines at the end of it.
int peek(Context& context, const Parsed& parsed) {
  const auto session = session_of(context, parsed);
  if (!session) return context.fail(session.error());
  const auto home = context.home();
  if (!home) return context.fail(home.error());
  auto lines = read_screen(home->path, *session);
  if (!lines) {
    return context.fail(
        Failure{"FAILED", fmt::format("tmux could not show the session {}", *session)});
  }
  if (const auto most = parsed.number("lines"); most && *most >= 0) {
    const auto keep = static_cast<std::ptrdiff_t>(*most);
    if (std::ssize(*lines) > keep) lines->erase(lines->begin(), lines->end() - keep);
  }
  if (context.json()) {
    Json all = Json::array();
    for (const std::string& line : *lines) all.push(line);
    return context.output.succeed(json_of({{"id", parsed.words[0]}, {"lines", all}}));
  }
  for (const std::string& line : *lines) context.output.line(line);
  return context.output.done();
}

// In this terminal, instead of us; `Ctrl-b d` leaves it.
int attach(Context& context, const Parsed& parsed) {
  if (::isatty(STDIN_FILENO) == 0 || !Output::out_is_terminal()) {
    return context.misuse("attach needs a terminal; `reeve agent peek` does not");
  }
  const auto session = session_of(context, parsed);
  if (!session) return context.fail(session.error());
  const auto home = context.home();
  if (!home) return context.fail(home.error());
  // The address of a socket is short, and the path of a home may not be.
  if (::chdir(home->path.c_str()) != 0) {
    return context.fail(Failure{"IO", fmt::format("cannot go to {}", home->path)});
  }
  ::unsetenv("TMUX");  // NOLINT(concurrency-mt-unsafe)
  ::signal(SIGPIPE, SIG_DFL);
  const std::string target = "=" + *session;
  ::execlp("tmux", "tmux", "-S", "tmux.sock", "attach-session", "-t", target.c_str(), nullptr);
  return context.fail(Failure{"IO", "cannot run tmux"});
}

// Prints the time; with --over only exits 0 if it is longer, 1 if not.
int idle_time(Context& context, const Parsed& parsed) {
  const Answer answer = context.client().ask("agent.show", json_of({{"id", parsed.words[0]}}));
  if (!answer) return context.fail(answer.error());
  const std::int64_t idle = (*answer)["idle_ms"].number();
  const auto limit = parsed.duration("over");
  if (context.json()) {
    context.output.succeed(json_of({{"id", (*answer)["id"]}, {"idle_ms", idle}}));
  } else if (!limit) {
    context.output.line(rough_duration(idle));
  }
  return context.output.done(limit && idle <= limit->count() ? Exit::Failed : Exit::Ok);
}

constexpr std::array<Argument, 1> one_id{{{.name = "ID", .completes = Completes::Agent}}};
constexpr std::array<Argument, 2> id_and_text{
    {{.name = "ID", .completes = Completes::Agent}, {.name = "TEXT"}}};
constexpr std::array<Option, 1> list_options{
    {{.name = "state",
      .takes = Takes::Text,
      .value = "S",
      .help = "only those, as `list` calls it; active: that are not over"}}};
constexpr std::array<Option, 1> nudge_options{{{.name = "message",
                                                .letter = 'm',
                                                .takes = Takes::Text,
                                                .value = "TEXT",
                                                .help = "what to say; default: to go on"}}};
constexpr std::array<Option, 1> no_wait{
    {{.name = "no-wait", .help = "return when it is told to, not when it has happened"}}};
constexpr std::array<Option, 1> peek_options{{{.name = "lines",
                                               .letter = 'n',
                                               .takes = Takes::Number,
                                               .value = "N",
                                               .help = "the last so many; default: the screen"}}};
constexpr std::array<Option, 1> idle_options{
    {{.name = "over",
      .takes = Takes::Duration,
      .value = "D",
      .help = "say nothing; exit 0 if it is idle for longer, 1 if not"}}};
constexpr std::array<Example, 1> list_examples{
    {{"reeve agent list --state idle --json", "for a monitor"}}};
constexpr std::array<Example, 1> show_examples{{{"reeve agent show work-4f7kq2", "one of them"}}};
constexpr std::array<Example, 1> peek_examples{
    {{"reeve agent peek work-4f7kq2 -n 5", "the end of its screen"}}};
constexpr std::array<Example, 1> attach_examples{
    {{"reeve agent attach work-4f7kq2", "sit down at it; Ctrl-b d leaves"}}};
constexpr std::array<Example, 1> nudge_examples{
    {{"reeve agent nudge work-4f7kq2", "it is told to go on"}}};
constexpr std::array<Example, 1> send_examples{
    {{"reeve agent send work-4f7kq2 'use the other one'", "typed into its session"}}};
constexpr std::array<Example, 1> restart_examples{
    {{"reeve agent restart work-4f7kq2", "ended, observed, and begun anew"}}};
constexpr std::array<Example, 1> kill_examples{
    {{"reeve agent kill work-4f7kq2", "ended, as cancelled"}}};
constexpr std::array<Example, 1> idle_examples{
    {{"reeve agent idle-time work-4f7kq2 --over 5m && echo stuck", "in a condition"}}};

constexpr std::array<Command, 9> commands{{
    {.name = "agent list",
     .summary = "the agents of the project",
     .options = list_options,
     .examples = list_examples,
     .run = list},
    {.name = "agent show",
     .summary = "one agent, and what is seen of it",
     .arguments = one_id,
     .examples = show_examples,
     .run = show},
    {.name = "agent peek",
     .summary = "what its screen shows",
     .arguments = one_id,
     .options = peek_options,
     .examples = peek_examples,
     .run = peek},
    {.name = "agent attach",
     .summary = "join its session, in this terminal",
     .arguments = one_id,
     .examples = attach_examples,
     .run = attach},
    {.name = "agent nudge",
     .summary = "tell it to go on",
     .arguments = one_id,
     .options = nudge_options,
     .examples = nudge_examples,
     .run = nudge},
    {.name = "agent send",
     .summary = "type something into its session",
     .arguments = id_and_text,
     .examples = send_examples,
     .run = send},
    {.name = "agent restart",
     .summary = "end it and begin anew",
     .arguments = one_id,
     .options = no_wait,
     .examples = restart_examples,
     .run = restart},
    {.name = "agent kill",
     .summary = "end it",
     .arguments = one_id,
     .options = no_wait,
     .examples = kill_examples,
     .run = kill},
    {.name = "agent idle-time",
     .summary = "how long there was no sign of life",
     .arguments = one_id,
     .options = idle_options,
     .examples = idle_examples,
     .run = idle_time},
}};

}  // namespace

std::string agents_table(const Output& output, const Json::Array& agents, std::size_t width) {
  Table table({{"ID"},
               {"AGENT", Table::Align::Left, true},
               {"STATE"},
               {"IDLE", Table::Align::Right},
               {"OF"}});
  for (const Json& agent : agents) {
    const std::string state = agent["state"].text();
    table.add({agent["id"].text(),
               printable(agent["agent"].text()),
               {state, state == "stuck" || state == "failed" ? Style::Bad : Style::Plain},
               agent.has("idle_ms") ? rough_duration(agent["idle_ms"].number()) : "-",
               agent["pipeline"].text()});
  }
  return table.empty() ? "" : table.write(width, output);
}

const Group agent_group{.word = "agent",
                        .summary = "programs that work by themselves, and are watched",
                        .commands = commands};

}  // namespace reeve::cli
