#include "cli/commands/groups.h"
#include "cli/commands/runs.h"
#include "cli/commands/said.h"
#include "cli/text.h"
#include "codec/shell_word.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <unistd.h>

// `reeve logs`: what the programs of a run said.
namespace reeve::cli {

namespace {

// While there is no daemon the programs go on, and so does what they say.
bool is_over(const Answer& answer) {
  if (!answer) return answer.error().code != "UNAVAILABLE";
  const std::string& state = (*answer)["state"].text();
  return state == "done" || state == "failed" || state == "cancelled";
}

}  // namespace

void Family::know(const Json& shown, const std::string& within) {
  said_.know(shown, within);
  for (const auto& [id, label] : runs_within(shown, within)) {
    if (over_.contains(id)) continue;
    const Answer child = client_.ask("pipeline.show", json_of({{"id", id}}));
    if (!child) continue;
    know(*child, label);
    if (is_over(child)) over_.insert(id);
  }
}

namespace {

template <class Value>
void add_once(std::vector<Value>& values, Value value) {
  if (std::ranges::find(values, value) == values.end()) values.push_back(std::move(value));
}

// A phase that the run does not have, or an attempt that there was none of, is a mistake and not
// silence. Of who goes on an attempt may be still to come, for who follows.
std::optional<Failure> refuse(const Wanted& wanted,
                              const std::string& id,
                              const Answer& shown,
                              const std::vector<Label>& labels,
                              bool follows) {
  std::vector<std::string> phases;
  std::vector<std::int64_t> attempts;
  if (shown) {
    for (const Json& phase : (*shown)["phases"].items()) add_once(phases, phase["name"].text());
    const bool in_it = !wanted.phase || (*shown)["phase"].text() == *wanted.phase;
    if (in_it && (*shown)["attempt"].number() > 0) add_once(attempts, (*shown)["attempt"].number());
  }
  for (const Label& label : labels) {
    if (label.is_guard) continue;
    add_once(phases, label.phase);
    if (wanted.phase && label.phase != *wanted.phase) continue;
    if (label.attempt) add_once(attempts, *label.attempt);
  }
  if (wanted.phase && !phases.empty() && std::ranges::find(phases, *wanted.phase) == phases.end()) {
    const std::vector<std::string_view> names(phases.begin(), phases.end());
    const std::string_view meant = nearest(*wanted.phase, names);
    return Failure{"NOT_FOUND",
                   fmt::format("{} has no phase \"{}\"; {}",
                               id,
                               *wanted.phase,
                               meant.empty() ? fmt::format("it has {}", fmt::join(phases, ", "))
                                             : fmt::format("did you mean \"{}\"?", meant))};
  }
  if (attempts.empty()) attempts.push_back(1);
  std::ranges::sort(attempts);
  const bool may_come = follows && !is_over(shown);
  if (wanted.attempt && !may_come &&
      std::ranges::find(attempts, *wanted.attempt) == attempts.end()) {
    return Failure{"NOT_FOUND",
                   fmt::format("{} has no attempt {}{}; there {} {}",
                               id,
                               *wanted.attempt,
                               wanted.phase ? fmt::format(" of {}", *wanted.phase) : "",
                               attempts.size() == 1 ? "is" : "are",
                               fmt::join(attempts, ", "))};
  }
  return std::nullopt;
}

// What the last program of a cron said; who follows is told what the next ones say.
int logs_of_cron(Context& context, const Parsed& parsed, const Home& home, const Json& cron) {
  const std::string name = printable(cron["name"].text());
  if (!cron.has("log")) {
    return context.fail(
        Failure{"NOT_FOUND",
                fmt::format("cron {} runs a pipeline; `reeve pipeline list --name {}` has its runs",
                            name,
                            codec::shell_word(cron["pipeline"].text()))});
  }
  Said said(context, home.path, cron["log"].text(), {});
  const bool any = said.read();
  if (!parsed.has("follow")) {
    if (!any && !context.json()) context.output.note(fmt::format("{} has said nothing", name));
    return context.output.done();
  }
  const Signals signals{SIGINT, SIGTERM};
  for (;;) {
    if (!context.output.flush()) return static_cast<int>(Exit::Failed);
    std::array<pollfd, 2> others{signals.readable(), pollfd{.fd = 1, .events = 0, .revents = 0}};
    ::poll(others.data(), others.size(), static_cast<int>(look_for_more));
    if (const auto signal = signals.next()) {
      return context.output.done(*signal == SIGINT ? Exit::Interrupted : Exit::Ok);
    }
    if ((others[1].revents & (POLLERR | POLLHUP)) != 0) return context.output.done();
    said.read();
  }
}

}  // namespace

int logs_command(Context& context, const Parsed& parsed) {
  const auto home = context.home();
  if (!home) return context.fail(home.error());
  const std::string& word = parsed.words[0];
  const bool agent = word.starts_with("work-");
  // A cron is meant by its whole name, and comes before the beginning of an id.
  if (!agent && !word.starts_with("pipe-")) {
    const Answer cron = context.client().ask("cron.show", json_of({{"name", word}}));
    if (cron) return logs_of_cron(context, parsed, *home, *cron);
  }
  const std::string_view method = agent ? "agent.show" : "pipeline.show";
  Client& client = context.client();
  const Answer shown = client.ask(method, json_of({{"id", word}}));
  // What the daemon has forgotten may still lie there.
  const std::string id = shown ? (*shown)["id"].text() : word;
  const std::string folder = fmt::format("{}/logs/{}", home->path, id);
  const bool bare = id.find('/') == std::string::npos && id != "." && id != "..";
  if (!shown && (!bare || ::access(folder.c_str(), F_OK) != 0)) return context.fail(shown.error());

  Wanted wanted;
  if (const auto phase = parsed.text("phase")) wanted.phase = std::string(*phase);
  wanted.attempt = parsed.number("attempt");
  wanted.guards = parsed.has("guards");
  Said said(context, home->path, id, wanted);
  Family family(client, said);
  if (shown) {
    family.know(*shown);
  } else if (shown.error().code == "NOT_FOUND") {
    said.know(json_of({{"state", "done"}}));
  }
  if (const auto failure = refuse(wanted, id, shown, said.labels(), parsed.has("follow"))) {
    return context.fail(*failure);
  }
  const bool any = said.read();
  if (!parsed.has("follow")) {
    if (!any && !context.json()) context.output.note(fmt::format("{} has said nothing", id));
    return context.output.done();
  }
  client.only_look();
  const Signals signals{SIGINT, SIGTERM};
  for (bool over = is_over(shown); !over;) {
    if (!context.output.flush()) return static_cast<int>(Exit::Failed);
    std::array<pollfd, 2> others{signals.readable(), pollfd{.fd = 1, .events = 0, .revents = 0}};
    client.pump(look_for_more, others);
    if (const auto signal = signals.next()) {
      return context.output.done(*signal == SIGINT ? Exit::Interrupted : Exit::Ok);
    }
    if ((others[1].revents & (POLLERR | POLLHUP)) != 0) return context.output.done();
    const Answer now = client.ask(method, json_of({{"id", id}}));
    over = is_over(now);
    if (now) family.know(*now);
    said.read();
  }
  return context.output.done();
}

}  // namespace reeve::cli
