#include "cli/held_run.h"

#include "cli/signals.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <unistd.h>

namespace reeve::cli {

namespace {

constexpr int kill_grace = 5000;
constexpr std::int64_t retry_heartbeat = 1000;

class Keeper {
 public:
  Keeper(Client& client, const Held& held)
      : client_(client), held_(held), every_(std::max<std::int64_t>(50, held.timeout / 3)) {
    due_ = steady_now() + every_;
  }

  std::int64_t next() const { return std::max<std::int64_t>(0, due_ - steady_now()); }
  void soon() { due_ = steady_now(); }

  // The reason, once the lease is lost.
  std::optional<std::string> turn() {
    for (auto beat = beats_.begin(); beat != beats_.end();) {
      const std::optional<Answer> answer = client_.take(beat->first);
      if (!answer) {
        ++beat;
        continue;
      }
      const std::string name = beat->second;
      beat = beats_.erase(beat);
      if (*answer) continue;
      const Failure& failure = answer->error();
      // Without a daemon nobody can be given the lease either: try again.
      if (failure.code == "UNAVAILABLE") {
        due_ = steady_now() + retry_heartbeat;
        continue;
      }
      return fmt::format("{} {} was lost: {}", held_.kind, name, failure.message);
    }
    if (steady_now() < due_ || !beats_.empty()) {
      if (!beats_.empty()) due_ = std::max(due_, steady_now() + every_);
      return std::nullopt;
    }
    due_ = steady_now() + every_;
    for (const HeldThing& thing : held_.things) {
      const Json params =
          json_of({{"name", thing.name}, {"holder", held_.holder}, {"token", Json(thing.token)}});
      const std::string method = fmt::format("{}.heartbeat", held_.kind);
      beats_.emplace(client_.begin(method, params, Client::Kind::Change), thing.name);
    }
    return std::nullopt;
  }

 private:
  Client& client_;
  const Held& held_;
  std::int64_t every_;
  std::int64_t due_ = 0;
  std::map<Client::Ticket, std::string> beats_;
};

// Gives everything back; the reason, if something was no longer ours.
std::optional<std::string> release(Client& client, const Held& held) {
  std::optional<std::string> lost;
  std::vector<Client::Ticket> tickets;
  for (const HeldThing& thing : held.things) {
    const Json params =
        json_of({{"name", thing.name}, {"holder", held.holder}, {"token", Json(thing.token)}});
    tickets.push_back(
        client.begin(fmt::format("{}.release", held.kind), params, Client::Kind::Change));
  }
  for (std::size_t i = 0; i < tickets.size(); ++i) {
    const Answer answer = client.wait(tickets[i]);
    if (answer && (*answer)["outcome"].text() != "already_free") continue;
    lost =
        answer
            ? fmt::format("{} {} was lost: it was freed meanwhile", held.kind, held.things[i].name)
            : fmt::format(
                  "{} {} was lost: {}", held.kind, held.things[i].name, answer.error().message);
    if (!answer && answer.error().code == "UNAVAILABLE") lost = answer.error().message;
  }
  return lost;
}

std::string tokens_of(const Held& held) {
  std::string tokens;
  for (const HeldThing& thing : held.things) {
    if (!tokens.empty()) tokens += ' ';
    tokens += std::to_string(thing.token);
  }
  return tokens;
}

int lost_with(Context& context, const std::string& reason) {
  return context.fail(Failure{"LEASE_LOST", reason});
}

}  // namespace

Json meta_of_run(const Child& child,
                 const std::vector<std::string>& words,
                 std::optional<std::string_view> label) {
  std::string command;
  for (const std::string& word : words) {
    if (!command.empty()) command += ' ';
    command += word;
  }
  Json meta = json_of({{"pid", static_cast<std::int64_t>(child.pid())}, {"group", true}});
  meta.set("label", label ? std::string(*label) : command.substr(0, 200));
  if (const auto within = environment("REEVE_HOLDER")) {
    meta.set("within", Json::array().push(*within));
  }
  return meta;
}

int run_while_held(Context& context, Client& client, Child child, const Held& held) {
  // An inner call may have started the daemon below us; it is nobody's to end.
  const auto greeting = client.greet();
  const pid_t daemon = greeting ? static_cast<pid_t>((*greeting)["pid"].number()) : 0;
  const Gatherer gatherer;
  const Signals signals{SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGCONT, SIGWINCH};
  Foreground foreground;
  foreground.give(child.pid());
  child.go({{"REEVE_FENCE", tokens_of(held)}, {"REEVE_HOLDER", held.holder}});
  Keeper keeper(client, held);

  std::optional<int> code;
  while (!code) {
    if (const auto reason = keeper.turn()) {
      end_tree(child.pid(), daemon, kill_grace);
      foreground.take_back();
      return lost_with(context, *reason);
    }
    std::array<pollfd, 2> others{signals.readable(),
                                 pollfd{.fd = child.news(), .events = POLLIN, .revents = 0}};
    client.pump(keeper.next(), others);
    reap_orphans(child.pid());
    while (const auto signal = signals.next()) {
      if (*signal == SIGCONT) {
        keeper.soon();
        foreground.give(child.pid());
        child.signal(SIGCONT);
      } else {
        child.signal(*signal);
      }
    }
    while (const auto news = child.next_news()) {
      if (!news->stopped) {
        code = news->code;
        break;
      }
      if (!foreground.is_given()) continue;
      // Ctrl-Z: we stop as well, so that the shell has its terminal back. What is held stays held
      // for its timeout.
      foreground.take_back();
      ::kill(::getpid(), SIGSTOP);
    }
  }
  foreground.take_back();
  if (const auto reason = release(client, held)) {
    end_tree(child.pid(), daemon, kill_grace);
    return lost_with(context, *reason);
  }
  context.output.flush();
  return *code;
}

}  // namespace reeve::cli
