#include "cli/held_run.h"

#include "cli/signals.h"
#include "cli/text.h"
#include "codec/shell_word.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <unistd.h>

namespace reeve::cli {

namespace {

constexpr int kill_grace = 5000;
constexpr int end_every = 10;
constexpr std::int64_t retry_heartbeat = 1000;
// The daemon itself gives up after 30 s, and asks somebody.
constexpr std::int64_t settle_patience = 35'000;
// As many as a request may name.
constexpr std::size_t most_around = 32;

// What was held, and what is known of its loss: why, and who has it now.
std::string lost_words(const Held& held,
                       const std::string& name,
                       std::string_view cause,
                       const std::string& holder = {}) {
  const std::string now = holder.empty() ? "" : fmt::format("; {} has it now", holder);
  return fmt::format("{} \"{}\" was lost: {}{}; try `reeve why {}`",
                     held.kind == "sem" ? "semaphore" : held.kind,
                     name,
                     cause,
                     now,
                     codec::shell_word(name));
}

class Keeper {
 public:
  Keeper(Client& client, const Held& held)
      : client_(client), held_(held), every_(std::max<std::int64_t>(50, held.timeout / 3)) {
    due_ = steady_now() + every_;
  }

  // Why a lease is somebody else's, or nobody's.
  std::string words_for(const std::string& name, const Failure& failure) const {
    const bool is_over =
        failure.code == "LOST" || failure.code == "NOT_OWNER" || failure.code == "NOT_HOLDER";
    if (!is_over) return lost_words(held_, name, failure.message);
    const bool was_silent = steady_now() - heard_ >= held_.timeout;
    const std::string cause =
        was_silent ? fmt::format("it was not heard of for {}, so its command was ended",
                                 rough_duration(held_.timeout))
                   : "it was taken back while the command ran";
    return lost_words(held_, name, cause, failure.details["holder"].text());
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
      if (*answer) {
        heard_ = steady_now();
        continue;
      }
      const Failure& failure = answer->error();
      // Without a daemon nobody can be given the lease either: try again.
      if (failure.code == "UNAVAILABLE") {
        due_ = steady_now() + retry_heartbeat;
        continue;
      }
      return words_for(name, failure);
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
  std::int64_t heard_ = steady_now();  // when the daemon last agreed
  std::map<Client::Ticket, std::string> beats_;
};

// Whether an answer of `show` says that the thing is being taken back from us.
bool is_ending(const Held& held, const HeldThing& thing, const Json& shown) {
  const auto is_ours = [&](const Json& tenure) {
    return tenure["state"].text() == "ending" && tenure["token"].natural() == thing.token;
  };
  if (held.kind == "lock") return is_ours(shown);
  const Json::Array& holders = shown["holders"].items();
  return std::any_of(holders.begin(), holders.end(), is_ours);
}

Client::Ticket show(Client& client, const Held& held, const HeldThing& thing) {
  return client.begin(
      fmt::format("{}.show", held.kind), json_of({{"name", thing.name}}), Client::Kind::Question);
}

// Gives everything back; the reason, if something was no longer ours. What is being taken back may
// be released as well, and stays where it is until nothing of our group is left: so it is looked at
// behind the release.
std::optional<std::string> release(Client& client, const Held& held, const Keeper& keeper) {
  std::optional<std::string> lost;
  std::vector<Client::Ticket> tickets;
  std::vector<Client::Ticket> looks;
  for (const HeldThing& thing : held.things) {
    const Json params =
        json_of({{"name", thing.name}, {"holder", held.holder}, {"token", Json(thing.token)}});
    tickets.push_back(
        client.begin(fmt::format("{}.release", held.kind), params, Client::Kind::Change));
    looks.push_back(show(client, held, thing));
  }
  for (std::size_t i = 0; i < tickets.size(); ++i) {
    const Answer answer = client.wait(tickets[i]);
    const Answer shown = client.wait(looks[i]);
    if (shown && is_ending(held, held.things[i], *shown)) {
      lost = lost_words(held, held.things[i].name, "it was taken back while the command ran");
      continue;
    }
    if (answer && (*answer)["outcome"].text() != "already_free") continue;
    lost = answer ? lost_words(held, held.things[i].name, "it was freed meanwhile")
                  : keeper.words_for(held.things[i].name, answer.error());
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

// Nothing of our group is left; what we held is free as soon as the daemon has seen that, and then
// we may say so.
void wait_until_over(Client& client, const Held& held) {
  const std::int64_t until = steady_now() + settle_patience;
  for (const HeldThing& thing : held.things) {
    while (steady_now() < until) {
      const Answer shown = client.wait(show(client, held, thing));
      if (!shown || !is_ending(held, thing, *shown)) break;
      client.pump(20);
    }
  }
}

// A name a line, the first of them the run's own. A step or an agent that is started below a run
// has another holder than this, and what is told here is not of it.
std::vector<std::string> holders_around() {
  const auto holder = environment("REEVE_HOLDER");
  if (!holder) return {};
  const std::string around = environment("REEVE_WITHIN").value_or("");
  std::vector<std::string> names;
  for (std::size_t at = 0; at < around.size() && names.size() < most_around;) {
    const std::size_t end = std::min(around.find('\n', at), around.size());
    names.push_back(around.substr(at, end - at));
    at = end + 1;
  }
  if (names.empty() || names.front() != *holder) return {*holder};
  return names;
}

int lost_with(Context& context, const std::string& reason) {
  return context.fail(Failure{"LEASE_LOST", reason});
}

}  // namespace

Failure not_held(Failure failure, std::string_view kind) {
  const std::string other = fmt::format("`reeve {} acquire ", kind);
  const std::size_t at = failure.message.find(other);
  const std::size_t end = failure.message.rfind(" --wait`");
  if (at == std::string::npos || end == std::string::npos || end < at) return failure;
  failure.message.replace(end, std::string_view(" --wait`").size(), " --wait -- COMMAND`");
  failure.message.replace(at, other.size(), fmt::format("`reeve {} run ", kind));
  return failure;
}

void set_within(Json& meta) {
  Json within = Json::array();
  for (const std::string& holder : holders_around()) within.push(holder);
  if (!within.items().empty()) meta.set("within", within);
}

std::string around_with(const std::string& holder) {
  std::string names = holder;
  for (const std::string& outer : holders_around()) names += "\n" + outer;
  return names;
}

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
  set_within(meta);
  return meta;
}

int run_while_held(Context& context, Client& client, Child child, const Held& held) {
  const std::string home = client.where().home.path;
  const Gatherer gatherer;
  const Signals signals{SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGCONT, SIGWINCH};
  Foreground foreground;
  foreground.give(child.pid());
  child.go({{"REEVE_FENCE", tokens_of(held)},
            {"REEVE_HOLDER", held.holder},
            {"REEVE_WITHIN", around_with(held.holder)}});
  Keeper keeper(client, held);

  // Ends all that was started, with heartbeats meanwhile if there is something to keep.
  const auto end_tree = [&](bool keep) {
    TreeEnd end(child.ours(), home, kill_grace);
    while (!end.step()) {
      if (keep && keeper.turn()) keep = false;
      if (keep) {
        client.pump(end_every);
      } else {
        ::poll(nullptr, 0, end_every);
      }
    }
  };
  const auto end_as_lost = [&](const std::string& reason) {
    end_tree(false);
    foreground.take_back();
    child.dismiss();
    wait_until_over(client, held);
    return lost_with(context, reason);
  };

  std::optional<Child::News> end;
  while (!end) {
    if (const auto reason = keeper.turn()) return end_as_lost(*reason);
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
        end = news;
        break;
      }
      if (!foreground.is_given()) continue;
      // Ctrl-Z: we stop as well, so that the shell has its terminal back. What is held stays held
      // for its timeout.
      foreground.take_back();
      ::kill(::getpid(), SIGSTOP);
    }
  }
  if (end->orphaned) {
    child.stand_in();
    end_tree(true);
  }
  foreground.take_back();
  if (const auto reason = release(client, held, keeper)) return end_as_lost(*reason);
  if (end->orphaned) {
    return lost_with(context,
                     "the process that kept the command was killed; the command was ended");
  }
  context.output.flush();
  return end->code;
}

}  // namespace reeve::cli
