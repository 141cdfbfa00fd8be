#include "cli/commands/lock_verbs.h"

#include "cli/held_run.h"
#include "cli/signals.h"
#include "cli/text.h"
#include "cli/waiting.h"
#include "codec/shell_word.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace reeve::cli::lock_verbs {

namespace {

constexpr std::int64_t look_every = 100;
constexpr int looks_a_question = 10;

std::string label_of(const Json& lock) {
  return lock.has("label") ? printable(lock["label"].text()) : "";
}

Style style_of(std::string_view state) {
  if (state == "stale") return Style::Bad;
  if (state == "ending") return Style::Warn;
  return state == "held" ? Style::Good : Style::Dim;
}

// The answer to an acquire, for people.
void tell_acquired(Context& context, const Json& answer) {
  Output& output = context.output;
  const std::string holder = answer["holder"].text();
  if (context.quiet()) return output.line(holder);
  // Of several, one or more were another's: which is not told.
  const bool is_one = answer["locks"].items().size() == 1;
  const std::string& outcome = answer["outcome"].text();
  for (const Json& lock : answer["locks"].items()) {
    output.line(fmt::format("{} {}  token {}  holder {}{}",
                            printable(lock["name"].text()),
                            !is_one && outcome == "reclaimed" ? "acquired" : outcome,
                            lock["token"].text(),
                            printable(holder),
                            answer.has("expires_at")
                                ? fmt::format("  expires {}", output.moment(answer["expires_at"]))
                                : ""));
  }
  const Json& previous = answer["previous"];
  if (previous.is_string()) {
    output.note(fmt::format("taken over from {}, which was silent", printable(previous.text())));
  }
}

Failure not_obtained(Failure failure, const std::vector<std::string>& names) {
  if (failure.code == "TIMED_OUT") {
    failure.code = "LOCKED";
    failure.details.set("name", names[0]).set("waited", true);
  }
  if (failure.code == "LOCKED" && failure.message.find("`reeve") == std::string::npos) {
    const std::string& name = failure.details["name"].text();
    failure.message += fmt::format("; `reeve why {}` tells more",
                                   codec::shell_word(name.empty() ? names[0] : name));
  }
  return failure;
}

// Undoes what a signal came too late for.
void give_back(Client& client, const Json& granted) {
  for (const Json& lock : granted["locks"].items()) {
    // Nobody is left to be told.
    static_cast<void>(client.change(
        "lock.release",
        json_of(
            {{"name", lock["name"]}, {"holder", granted["holder"]}, {"token", lock["token"]}})));
  }
}

Json names_of(const Parsed& parsed) {
  Json names = Json::array();
  for (const std::string& name : parsed.words) names.push(name);
  return names;
}

Json acquire_params(const Parsed& parsed, const std::string& holder) {
  return json_of({{"names", names_of(parsed)},
                  {"holder", holder},
                  {"timeout_ms", lease_timeout_of(parsed)},
                  {"max_hold_ms", milliseconds_of(parsed, "max-hold")},
                  {"wait_ms", wait_of(parsed)}});
}

// Asks, and waits in sight if it was asked to.
std::expected<Json, Failure> obtain(Context& context, const Parsed& parsed, const Json& params) {
  Client& client = context.client();
  const auto ticket = client.begin("lock.acquire", params, Client::Kind::Change);
  if (!parsed.has("wait")) {
    Answer answer = client.wait(ticket);
    if (!answer) return std::unexpected(not_obtained(answer.error(), parsed.words));
    return answer;
  }
  const WaitFor what{"lock", parsed.words, params["holder"].text(), params["wait_ms"].number()};
  Waited waited = wait_in_sight(context, client, ticket, what);
  if (waited.interrupted) {
    if (waited.answer) give_back(client, *waited.answer);
    return std::unexpected(Failure{"INTERRUPTED", "interrupted; left the line"});
  }
  if (!waited.answer) return std::unexpected(not_obtained(waited.answer.error(), parsed.words));
  return waited.answer;
}

}  // namespace

int acquire(Context& context, const Parsed& parsed) {
  Json params = acquire_params(parsed, holder_or_fresh(parsed));
  Json meta = json_of({{"label", text_of(parsed, "label")}, {"pid", number_of(parsed, "pid")}});
  if (!meta.members().empty()) params.set("meta", meta);
  const auto answer = obtain(context, parsed, params);
  if (!answer) return context.fail(answer.error());
  if (context.json()) return context.output.succeed(*answer);
  tell_acquired(context, *answer);
  return context.output.done();
}

// Without a name the token says whose it is: whoever has the lock is looked up and named beside it,
// so what another was given meanwhile is not touched. $REEVE_HOLDER does not count here: what runs
// inside `lock run` has that run's name, and would give back what keeps it safe.
int release(Context& context, const Parsed& parsed) {
  Json holder = text_of(parsed, "holder");
  if (holder.is_null() && !parsed.has("token")) {
    return context.misuse("lock release wants --holder H or --token N, as acquire said");
  }
  if (holder.is_null()) {
    const Answer shown = context.client().ask("lock.show", json_of({{"name", parsed.words[0]}}));
    if (!shown) return context.fail(shown.error());
    holder = shown->has("holder") ? (*shown)["holder"] : Json(fresh_holder("h"));
  }
  const Answer answer = context.client().change(
      "lock.release",
      json_of(
          {{"name", parsed.words[0]}, {"holder", holder}, {"token", number_of(parsed, "token")}}));
  if (!answer) return context.fail(answer.error());
  if (context.json()) return context.output.succeed(*answer);
  const bool was_free = (*answer)["outcome"].text() == "already_free";
  if (!context.quiet()) {
    context.output.line(fmt::format(
        "{} {}", printable(parsed.words[0]), was_free ? "was free already" : "released"));
  }
  return context.output.done();
}

int heartbeat(Context& context, const Parsed& parsed) {
  const Answer answer = context.client().change("lock.heartbeat",
                                                json_of({{"name", parsed.words[0]},
                                                         {"holder", text_of(parsed, "holder")},
                                                         {"token", number_of(parsed, "token")}}));
  if (!answer) return context.fail(answer.error());
  if (context.json()) return context.output.succeed(*answer);
  if (!context.quiet()) {
    context.output.line(fmt::format("{} expires {}",
                                    printable(parsed.words[0]),
                                    context.output.moment((*answer)["expires_at"])));
  }
  return context.output.done();
}

int check(Context& context, const Parsed& parsed) {
  const Answer answer = context.client().ask(
      "lock.check", json_of({{"name", parsed.words[0]}, {"token", number_of(parsed, "token")}}));
  if (!answer) return context.fail(answer.error());
  if (context.json()) return context.output.succeed(*answer);
  if (!context.quiet()) {
    context.output.line(fmt::format(
        "token {} of {} is valid", parsed.text("token").value_or(""), printable(parsed.words[0])));
  }
  return context.output.done();
}

int list(Context& context, const Parsed& parsed) {
  const Answer answer =
      list_all(context.client(),
               "lock.list",
               "locks",
               json_of({{"prefix", parsed.words.empty() ? Json() : Json(parsed.words[0])}}));
  if (!answer) return context.fail(answer.error());
  if (context.json()) return context.output.succeed(*answer);
  Output& output = context.output;
  Table table({{"NAME", Table::Align::Left, true},
               {"STATE"},
               {"HOLDER", Table::Align::Left, true},
               {"SINCE"},
               {"EXPIRES"},
               {"WAITING", Table::Align::Right},
               {"LABEL", Table::Align::Left, true}});
  for (const Json& lock : (*answer)["locks"].items()) {
    if (context.quiet()) {
      output.line(lock["name"].text());
      continue;
    }
    const std::string state = lock["state"].text();
    table.add({printable(lock["name"].text()),
               {state, style_of(state)},
               lock.has("holder") ? printable(lock["holder"].text()) : "-",
               output.moment(lock["acquired_at"]),
               output.moment(lock["expires_at"]),
               lock["waiting"].text(),
               label_of(lock)});
  }
  if (context.quiet()) return output.done();
  if (table.empty()) {
    output.note(parsed.words.empty()
                    ? "no locks; take one with `reeve lock acquire NAME`"
                    : fmt::format("no lock's name begins with {}", printable(parsed.words[0])));
    return output.done();
  }
  output.out(table.write(Output::out_width(), output));
  return output.done();
}

int show(Context& context, const Parsed& parsed) {
  const Answer answer = context.client().ask("lock.show", json_of({{"name", parsed.words[0]}}));
  if (!answer) return context.fail(answer.error());
  if (context.json()) return context.output.succeed(*answer);
  const Json& lock = *answer;
  Output& output = context.output;
  if (context.quiet()) {
    if (lock.has("holder")) output.line(lock["holder"].text());
    return output.done();
  }
  const std::string state = lock["state"].text();
  output.line(fmt::format("lock      {}", printable(lock["name"].text())));
  output.line(fmt::format("state     {}", output.styled(style_of(state), state)));
  if (lock.has("holder")) {
    output.line(fmt::format("holder    {}", printable(lock["holder"].text())));
    std::string from;
    if (lock.has("user")) from = printable(lock["user"].text());
    if (lock.has("host")) from += "@" + printable(lock["host"].text());
    if (lock.has("pid")) from += fmt::format("  process {}", lock["pid"].text());
    if (!from.empty()) output.line(fmt::format("of        {}", from));
    if (lock.has("label")) output.line(fmt::format("label     {}", label_of(lock)));
    output.line(fmt::format("token     {}", lock["token"].text()));
    output.line(fmt::format("since     {}", output.moment(lock["acquired_at"])));
    if (lock.has("last_heartbeat")) {
      output.line(fmt::format("heartbeat {}", output.moment(lock["last_heartbeat"])));
    }
    output.line(fmt::format("expires   {}", output.moment(lock["expires_at"])));
  }
  const auto& waiters = lock["waiters"].items();
  if (!waiters.empty()) output.line(fmt::format("waiting   {}", lock["waiting"].text()));
  for (std::size_t i = 0; i < waiters.size(); ++i) {
    output.line(fmt::format("  {:>3}. {}  since {}{}",
                            i + 1,
                            printable(waiters[i]["holder"].text()),
                            output.moment(waiters[i]["since"]),
                            waiters[i].has("label") ? "  " + label_of(waiters[i]) : ""));
  }
  return output.done();
}

namespace {

// Somebody is asked whether to give on what this process holds: it cannot be seen to have ended.
bool is_asked_about(Client& client, const Json& lock) {
  const Answer open = list_all(client, "decision.list", "decisions", Json::object());
  if (!open || !lock.has("pid")) return false;
  const std::string process = fmt::format("process {}", lock["pid"].text());
  return std::ranges::any_of((*open)["decisions"].items(), [&](const Json& decision) {
    return decision["cause"].text() == "process" && decision["subject"].text() == process;
  });
}

// Looks again and again until what the lock was taken from has ended. Ctrl-C only stops looking.
// None: it has.
std::optional<int> wait_for_end(Context& context, const std::string& name) {
  Client& client = context.client();
  const Signals signals{SIGINT, SIGTERM};
  const Json which = json_of({{"name", name}});
  std::optional<std::uint64_t> token;
  for (int looks = 0;; ++looks) {
    const Answer lock = client.ask("lock.show", which);
    if (!lock) return context.fail(lock.error());
    // With another token it is somebody else who has it, and perhaps is to lose it as well.
    if ((*lock)["state"].text() != "ending") return std::nullopt;
    if (token && *token != (*lock)["token"].natural()) return std::nullopt;
    token = (*lock)["token"].natural();
    if (looks % looks_a_question == 0 && is_asked_about(client, *lock)) {
      return context.fail(
          Failure{"FAILED",
                  fmt::format("process {} cannot be seen to have ended, and somebody is asked; see "
                              "`reeve decision list`",
                              (*lock)["pid"].text()),
                  json_of({{"name", name}, {"state", "ending"}})});
    }
    std::array<pollfd, 1> others{signals.readable()};
    client.pump(look_every, others);
    if (signals.next()) {
      context.output.note("it goes on; only the watching ended");
      return context.output.done(Exit::Interrupted);
    }
  }
}

}  // namespace

int force_release(Context& context, const Parsed& parsed) {
  const std::string& name = parsed.words[0];
  Answer answer = context.client().change(
      "lock.force_release",
      json_of({{"name", name},
               {"reason", text_of(parsed, "reason")},
               {"by", environment("USER") ? Json(*environment("USER")) : Json()},
               {"now", parsed.has("now") ? Json(true) : Json()}}));
  if (!answer) return context.fail(answer.error());
  if ((*answer)["outcome"].text() == "ending" && !parsed.has("no-wait")) {
    if (const auto code = wait_for_end(context, name)) return *code;
    answer->set("outcome", "released");
  }
  if (context.json()) return context.output.succeed(*answer);
  const std::string outcome = (*answer)["outcome"].text();
  if (!context.quiet()) {
    context.output.line(fmt::format("{} {}",
                                    printable(name),
                                    outcome == "ending"
                                        ? "is being taken back: its process is ended first"
                                    : outcome == "already_free" ? "was free already"
                                                                : "released"));
  }
  return context.output.done();
}

// 0 stale, 6 not: made for `if`.
int is_stale(Context& context, const Parsed& parsed) {
  const Answer answer = context.client().ask("lock.show", json_of({{"name", parsed.words[0]}}));
  if (!answer) return context.fail(answer.error());
  const std::string state = (*answer)["state"].text();
  const bool stale = state == "stale" || state == "ending";
  if (context.json()) {
    const int code = context.output.succeed(
        json_of({{"name", (*answer)["name"]}, {"stale", stale}, {"state", state}}));
    return stale ? code : static_cast<int>(Exit::NotObtained);
  }
  if (!context.quiet()) {
    context.output.line(fmt::format("{} is {}", printable(parsed.words[0]), state));
  }
  return context.output.done(stale ? Exit::Ok : Exit::NotObtained);
}

int run(Context& context, const Parsed& parsed) {
  Result<Child> child =
      Child::prepare({.words = parsed.tail, .home = context.client().where().home.path});
  if (!child) return context.fail(Failure{"LEASE_LOST", child.error().message});
  Held held{.kind = "lock", .things = {}, .holder = fresh_holder("run")};
  if (const auto timeout = parsed.duration("timeout")) held.timeout = timeout->count();
  Json params = acquire_params(parsed, held.holder);
  params.set("meta", meta_of_run(*child, parsed.tail, parsed.text("label")));
  const auto answer = obtain(context, parsed, params);
  if (!answer) return context.fail(not_held(answer.error(), "lock"));
  // In the order of the names; one that was said twice is held, and given back, once.
  for (const std::string& name : parsed.words) {
    if (std::ranges::find(held.things, name, &HeldThing::name) != held.things.end()) continue;
    for (const Json& lock : (*answer)["locks"].items()) {
      if (lock["name"].text() == name) held.things.push_back({name, lock["token"].natural()});
    }
  }
  return run_while_held(context, context.client(), std::move(*child), held);
}

}  // namespace reeve::cli::lock_verbs
