#include "cli/commands/groups.h"
#include "cli/commands/snapshot.h"
#include "cli/context.h"
#include "cli/events_past.h"
#include "cli/signals.h"
#include "cli/text.h"
#include "core/event_name.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

namespace reeve::cli {

namespace {

constexpr std::int64_t page = 1000;

// Of Reeve's own events the data says what they are about; of others only their name does.
std::string full_name(const Json& event) {
  const std::string& name = event["name"].text();
  const std::string& subject = event["subject"].text();
  const std::size_t colon = name.find(':');
  if (subject.empty() || colon == std::string::npos || !is_custom_name(name)) return name;
  return fmt::format("{}:{}{}", name.substr(0, colon), subject, name.substr(colon));
}

void tell_event(Context& context, const Json& event) {
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
  const std::string data = data_line(event["data"]);
  std::string words = printable(full_name(event));
  if (!data.empty()) words = fmt::format("{:<28} {}", words, data);
  const std::size_t width = Output::out_width();
  if (width > stamp.size() + 1) words = fitted(words, width - stamp.size() - 1);
  output.line(fmt::format("{} {}", output.styled(Style::Dim, stamp), words));
}

bool is_old(const Json& event, std::optional<std::int64_t> oldest) {
  if (!oldest) return false;
  const auto moment = parse_moment(event["at"].text());
  return moment && *moment < *oldest;
}

// What is told, once each and in order, whether it comes from the daemon or from history.
class Teller {
 public:
  Teller(Context& context, std::optional<std::string> pattern)
      : context_(context), past_(context, std::move(pattern)) {}

  PastEvents& past() { return past_; }

  void tell(const Json& event) {
    if (event.has("lagged")) return tell_missed(event);
    const std::uint64_t seq = event["seq"].natural();
    const std::uint64_t next = event["index"].natural() + 1;
    if (seq < seq_ || (seq == seq_ && next <= next_)) return;
    seq_ = seq;
    next_ = next;
    tell_event(context_, event);
  }

 private:
  // They came too fast, or the daemon was away: history has them.
  void tell_missed(const Json& event) {
    const Json& gap = event["lagged"];
    const auto part = past_.between(gap["from"].natural(), gap["to"].natural());
    if (!part || part->reached < gap["to"].natural()) return tell_event(context_, event);
    for (const Json& missed : part->events) tell(missed);
  }

  Context& context_;
  PastEvents past_;
  std::uint64_t seq_ = 0;   // of the last that was told,
  std::uint64_t next_ = 0;  // and the place behind it
};

int follow(Context& context, Teller& teller, Json params, std::uint64_t since) {
  Client& client = context.client();
  const Signals signals{SIGINT, SIGTERM};
  params.set("since_seq", since);
  auto ticket = client.begin("events.follow", params, Client::Kind::Follow);
  for (;;) {
    if (const auto answer = client.take(ticket); answer && !*answer) {
      if (answer->error().code != "GONE") return context.fail(answer->error());
      // More happened meanwhile than the daemon keeps in memory.
      const auto part = teller.past().between(since + 1, std::nullopt);
      if (!part) return context.fail(part.error());
      for (const Json& event : part->events) teller.tell(event);
      since = part->reached;
      params.set("since_seq", since);
      ticket = client.begin("events.follow", params, Client::Kind::Follow);
    }
    while (const auto event = client.next_event()) teller.tell(*event);
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
  std::optional<std::string> pattern;
  if (const auto match = parsed.text("match")) {
    params.set("match", *match);
    pattern = *match;
  }
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
  std::vector<Json> events;
  const auto& remembered = (*answer)["events"].items();
  bool reaches_back = (*answer)["oldest_seq"].natural() <= 1;
  for (const Json& event : remembered) {
    reaches_back = reaches_back || is_old(event, oldest);
    if (!is_old(event, oldest)) events.push_back(event);
  }
  const auto wanted = static_cast<std::size_t>(most);
  // As many as were asked for are enough, unless all of a time were.
  const bool all_of_a_time = oldest && !parsed.has("lines");
  reaches_back = reaches_back && !(all_of_a_time && remembered.size() >= wanted);
  if (!all_of_a_time) reaches_back = reaches_back || events.size() >= wanted;
  std::uint64_t seen = (*answer)["seq"].natural();
  Teller teller(context, pattern);
  if (!reaches_back) {
    auto part = teller.past().latest(oldest.value_or(0),
                                     all_of_a_time ? std::nullopt : std::optional(most));
    if (part) {
      events = std::move(part->events);
      seen = part->reached;
    } else {
      context.output.note(
          fmt::format("events from before the daemon's last start are no longer in memory, and {}",
                      part.error().message));
    }
  }
  const std::size_t first = all_of_a_time || events.size() <= wanted ? 0 : events.size() - wanted;
  for (std::size_t i = first; i < events.size(); ++i) teller.tell(events[i]);
  if (!parsed.has("follow")) {
    if (events.empty() && !context.json() && !context.quiet()) context.output.note("no events");
    return context.output.done();
  }
  return follow(context, teller, params, seen);
}

int emit_command(Context& context, const Parsed& parsed) {
  Json data = Json::object();
  for (std::size_t i = 1; i < parsed.words.size(); ++i) {
    const std::string& word = parsed.words[i];
    const std::size_t equals = word.find('=');
    if (equals == std::string::npos || equals == 0) {
      return context.misuse(fmt::format("emit wants key=value, not \"{}\"", word));
    }
    const std::string key = word.substr(0, equals);
    if (data.has(key)) return context.misuse(fmt::format("emit has {} twice", printable(key)));
    data.set(key, word.substr(equals + 1));
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
