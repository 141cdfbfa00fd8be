#include "cli/commands/groups.h"
#include "cli/context.h"
#include "cli/text.h"

#include <fmt/format.h>

#include <array>

namespace reeve::cli {

namespace {

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
  if (!table.empty()) context.output.out(table.write(Output::out_width(), context.output));
  return context.output.done();
}

int show(Context& context, const Parsed& parsed) {
  const Answer answer = context.client().ask("agent.show", json_of({{"id", parsed.words[0]}}));
  if (!answer) return context.fail(answer.error());
  if (context.json()) return context.output.succeed(*answer);
  for (const auto& [name, value] : answer->members()) {
    if (name == "seq" || value.is_null()) continue;
    const bool moment = value.is_string() && parse_moment(value.text()).has_value();
    context.output.line(fmt::format(
        "{:<12}{}", name, moment ? context.output.moment(value) : printable(value.text())));
  }
  return context.output.done();
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

int restart(Context& context, const Parsed& parsed) {
  return told(context, "agent.restart", json_of({{"id", parsed.words[0]}}), "is started anew");
}

int kill(Context& context, const Parsed& parsed) {
  return told(context, "agent.kill", json_of({{"id", parsed.words[0]}}), "is being ended");
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
constexpr std::array<Option, 1> list_options{{{.name = "state",
                                               .takes = Takes::Text,
                                               .value = "S",
                                               .help = "only those, as `list` calls it"}}};
constexpr std::array<Option, 1> nudge_options{{{.name = "message",
                                                .letter = 'm',
                                                .takes = Takes::Text,
                                                .value = "TEXT",
                                                .help = "what to say; default: to go on"}}};
constexpr std::array<Option, 1> idle_options{
    {{.name = "over",
      .takes = Takes::Duration,
      .value = "D",
      .help = "say nothing; exit 0 if it is idle for longer, 1 if not"}}};
constexpr std::array<Example, 1> list_examples{
    {{"reeve agent list --state idle --json", "for a monitor"}}};
constexpr std::array<Example, 1> show_examples{{{"reeve agent show work-4f7kq2", "one of them"}}};
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

constexpr std::array<Command, 7> commands{{
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
     .examples = restart_examples,
     .run = restart},
    {.name = "agent kill",
     .summary = "end it",
     .arguments = one_id,
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

const Group agent_group{.word = "agent",
                        .summary = "programs that work by themselves, and are watched",
                        .commands = commands};

}  // namespace reeve::cli
