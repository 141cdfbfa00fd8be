#include "cli/commands/groups.h"
#include "cli/commands/snapshot.h"
#include "cli/context.h"
#include "cli/signals.h"
#include "cli/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace reeve::cli {

namespace {

constexpr std::int64_t page = 1000;

void tell(Context& context, const Json& event) {
  Output& output = context.output;
  if (context.json()) {
    // The same whether it is remembered or happens.
    Json told = Json::object();
    for (const auto& [name, value] : event.members()) {
      if (name != "follow") told.set(name, value);
    }
    return output.line(told.write());
  }
  if (context.quiet()) return output.line(event["name"].text());
  if (event.has("lagged")) {
    output.note("some events are missing here: they came too fast, or the daemon ended meanwhile");
    return;
  }
  const std::string at = event["at"].text();
  const auto moment = parse_moment(at);
  const std::string time = output.iso() || !moment ? at : relative(*moment, wall_now());
  // On a terminal an event is a line; what does not fit is cut.
  const std::string stamp = fmt::format("{:>10}", time);
  std::string words =
      fmt::format("{:<28} {}", printable(event["name"].text()), data_line(event["data"]));
  const std::size_t width = Output::out_width();
  if (width > stamp.size() + 1) words = fitted(words, width - stamp.size() - 1);
  output.line(fmt::format("{} {}", output.styled(Style::Dim, stamp), words));
}

bool is_old(const Json& event, std::optional<std::int64_t> oldest) {
  if (!oldest) return false;
  const auto moment = parse_moment(event["at"].text());
  return moment && *moment < *oldest;
}

int follow(Context& context, Json params, std::uint64_t since) {
  Client& client = context.client();
  const Signals signals{SIGINT, SIGTERM};
  params.set("since_seq", since);
  const auto ticket = client.begin("events.follow", params, Client::Kind::Follow);
  for (;;) {
    if (const auto answer = client.take(ticket); answer && !*answer) {
      return context.fail(answer->error());
    }
    while (const auto event = client.next_event()) tell(context, *event);
    if (!context.output.flush()) return static_cast<int>(Exit::Failed);
    std::array<pollfd, 2> others{signals.readable(), pollfd{.fd = 1, .events = 0, .revents = 0}};
    client.pump(-1, others);
    if (const auto signal = signals.next()) {
      return context.output.done(*signal == SIGINT ? Exit::Interrupted : Exit::Ok);
    }
    // Whoever read us has gone; no event will tell.
    if ((others[1].revents & (POLLERR | POLLHUP)) != 0) return context.output.done();
  }
}

}  // namespace

std::string data_line(const Json& data) {
  std::string line;
  for (const auto& [name, value] : data.members()) {
    const std::string text = value.is_string() ? value.text() : value.write();
    if (text == "false" || text == "null") continue;
    if (!line.empty()) line += ' ';
    line += text == "true" ? name : fmt::format("{}={}", name, text);
  }
  return printable(line);
}

int events_command(Context& context, const Parsed& parsed) {
  Json params = Json::object();
  if (const auto match = parsed.text("match")) params.set("match", *match);
  std::optional<std::int64_t> oldest;
  if (const auto since = parsed.duration("since")) oldest = wall_now() - since->count();
  const std::int64_t most = parsed.number("lines").value_or(oldest                 ? page
                                                            : parsed.has("follow") ? 10
                                                                                   : 20);
  if (most < 0 || most > page) return context.misuse("-n is between 0 and 1000");
  Json asked = params;
  asked.set("limit", std::max<std::int64_t>(1, most));
  const Answer answer = context.client().ask("events.list", asked);
  if (!answer) return context.fail(answer.error());
  std::int64_t shown = 0;
  bool reaches_back = !oldest || (*answer)["oldest_seq"].natural() <= 1;
  for (const Json& event : (*answer)["events"].items()) {
    reaches_back = reaches_back || is_old(event, oldest);
    if (shown++ >= most || is_old(event, oldest)) continue;
    tell(context, event);
  }
  if (!reaches_back && shown < most) {
    context.output.note("events from before the daemon's last start are no longer in memory");
  }
  if (!parsed.has("follow")) {
    if (shown == 0 && !context.json() && !context.quiet()) context.output.note("no events");
    return context.output.done();
  }
  return follow(context, params, (*answer)["seq"].natural());
}

int emit_command(Context& context, const Parsed& parsed) {
  Json data = Json::object();
  for (std::size_t i = 1; i < parsed.words.size(); ++i) {
    const std::string& word = parsed.words[i];
    const std::size_t equals = word.find('=');
    if (equals == std::string::npos || equals == 0) {
      return context.misuse(fmt::format("emit wants key=value, not \"{}\"", word));
    }
    data.set(word.substr(0, equals), word.substr(equals + 1));
  }
  Json params = json_of({{"name", parsed.words[0]}});
  if (!data.members().empty()) params.set("data", data);
  const Answer answer = context.client().change("events.emit", params);
  if (!answer) return context.fail(answer.error());
  if (context.json()) return context.output.succeed(*answer);
  if (!context.quiet()) {
    context.output.line(fmt::format("{} emitted", printable(parsed.words[0])));
  }
  return context.output.done();
}

}  // namespace reeve::cli
