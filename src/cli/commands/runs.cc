#include "cli/commands/runs.h"

#include "cli/commands/snapshot.h"
#include "cli/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace reeve::cli {

namespace {

constexpr std::array<std::string_view, 8> passed_on{
    "PATH", "HOME", "USER", "SHELL", "LANG", "TZ", "TERM", "SSH_AUTH_SOCK"};

bool is_passed_on(std::string_view name) {
  return name.starts_with("LC_") || std::ranges::find(passed_on, name) != passed_on.end();
}

Json step_environment() {
  Json all = Json::object();
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text(*entry);
    const std::size_t equals = text.find('=');
    if (equals == std::string_view::npos || !is_passed_on(text.substr(0, equals))) continue;
    all.set(text.substr(0, equals), text.substr(equals + 1));
  }
  return all;
}

// What `pass_env` and `secret` name may be worth hiding, and the journal is kept for long: the
// values go into a file of the home that only its owner reads, and the steps are told its name. An
// entry is `p` or (secret) `s`, then NAME=VALUE and a NUL. Nothing to pass on: no file.
std::expected<std::string, Failure> keep_secrets(const Home& home,
                                                 const tools::Definitions& definitions) {
  std::string text;
  const auto add = [&](char kind, const std::vector<std::string>& names) {
    for (const std::string& name : names) {
      const auto value = environment(name.c_str());
      if (value) text += fmt::format("{}{}={}", kind, name, *value) + '\0';
    }
  };
  add('p', definitions.pass_env);
  add('s', definitions.secret);
  if (text.empty()) return std::string();
  const std::string folder = home.path + "/secrets";
  ::mkdir(home.path.c_str(), 0700);
  ::mkdir(folder.c_str(), 0700);
  std::string path = fmt::format("{}/{}", folder, random_word(16));
  const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  const bool written =
      file >= 0 && ::write(file, text.data(), text.size()) == static_cast<ssize_t>(text.size()) &&
      ::fsync(file) == 0;
  if (file >= 0) ::close(file);
  if (!written) return std::unexpected(Failure{"IO", fmt::format("cannot write {}", path)});
  return path;
}

// Somebody else may hand over other definitions in between, so it is tried more than once. Both go
// in one breath, which leaves little between.
Answer change_with_set(Client& client,
                       std::string_view method,
                       const Json& params,
                       const tools::Definitions& definitions) {
  constexpr int most_tries = 20;
  Answer answer = client.change(method, params);
  Json load = Json::object();
  for (int tries = 0; tries < most_tries; ++tries) {
    if (answer || answer.error().code != "RUNBOOK_UNKNOWN") break;
    if (tries == 0) load.set("set", Json::raw(definitions.set()));
    const auto loading = client.begin("runbook.load", load, Client::Kind::Change);
    const auto changing = client.begin(method, params, Client::Kind::Change);
    const Answer loaded = client.wait(loading);
    answer = client.wait(changing);
    if (!loaded) return loaded;
  }
  return answer;
}

}  // namespace

Answer change_with_runbook(Context& context,
                           std::string_view method,
                           Json params,
                           const tools::Definitions& definitions) {
  params.set("runbook", definitions.hash);
  Json variables = step_environment();
  const auto secrets = keep_secrets(context.client().where().home, definitions);
  if (!secrets) return std::unexpected(secrets.error());
  if (!secrets->empty()) variables.set("REEVE_SECRETS", *secrets);
  params.set("environment", std::move(variables));
  Answer answer = change_with_set(context.client(), method, params, definitions);
  // Nothing was started, so nobody will read it. Without a word from the daemon that is not known.
  const bool refused = !answer && answer.error().code != "UNAVAILABLE";
  if (refused && !secrets->empty()) ::unlink(secrets->c_str());
  return answer;
}

std::expected<bool, Failure> load_runbooks(Client& client, const tools::Definitions& definitions) {
  const Answer current = client.ask("runbook.get");
  if (!current) return std::unexpected(current.error());
  if ((*current)["hash"].text() == definitions.hash) return false;
  Json load = Json::object();
  load.set("set", Json::raw(definitions.set()));
  const Answer loaded = client.change("runbook.load", std::move(load));
  if (!loaded) return std::unexpected(loaded.error());
  return true;
}

bool is_agent(std::string_view id) { return id.starts_with("work-"); }

Answer show_run(Client& client, const std::string& word) {
  const Json params = json_of({{"id", word}});
  if (is_agent(word)) return client.ask("agent.show", params);
  Answer pipeline = client.ask("pipeline.show", params);
  const bool is_none = !pipeline && pipeline.error().code == "NOT_FOUND";
  if (!is_none || word.starts_with("pipe-")) return pipeline;
  const Answer agent = client.ask("agent.show", params);
  return agent ? agent : pipeline;
}

Exit exit_of_run(const Json& run) {
  const std::string& state = run["state"].text();
  if (state == "failed") return Exit::Failed;
  if (state == "cancelled") return Exit::Cancelled;
  return Exit::Ok;
}

namespace {

// Of one that failed. An agent has no phases.
std::string where_and_why(const Json& run) {
  const std::string phase =
      run.has("phase") ? fmt::format(" in {}", printable(run["phase"].text())) : "";
  return fmt::format("{}: {}", phase, Output::brief(printable(run["error"].text()), 0));
}

}  // namespace

std::string run_line(const Output& output, const Json& run) {
  const std::string& state = run["state"].text();
  const bool is_bad = state == "failed" || state == "blocked" || state == "stuck";
  const Style style = state == "done" ? Style::Good : is_bad ? Style::Bad : Style::Plain;
  std::string line = fmt::format("{} {} {}",
                                 run["id"].text(),
                                 printable(run[run.has("name") ? "name" : "agent"].text()),
                                 output.styled(style, state));
  if (state == "failed") {
    line += where_and_why(run);
  } else if (run.has("blocked_on")) {
    const Json& on = run["blocked_on"];
    line += fmt::format(" on {} {}", on["kind"].text(), printable(on["name"].text()));
  } else if (run.has("phase") && state == "running") {
    line += fmt::format(" in {}", printable(run["phase"].text()));
  }
  return line;
}

namespace {

// Of those that did not end well, for who reads JSON: the envelope says it too.
Failure failure_of(const Json::Array& runs, Exit exit, Json details) {
  const auto bad =
      std::ranges::find_if(runs, [&](const Json& each) { return exit_of_run(each) == exit; });
  const std::string& id = (*bad)["id"].text();
  if (exit == Exit::Cancelled) {
    return {"CANCELLED", fmt::format("{} was cancelled", id), std::move(details)};
  }
  return {"FAILED", fmt::format("{} failed{}", id, where_and_why(*bad)), std::move(details)};
}

}  // namespace

int tell_watched(Context& context, const WatchPlan& plan, const Watched& watched, bool always_ok) {
  if (watched.failure) return context.fail(*watched.failure);
  Output& output = context.output;
  Exit exit = Exit::Ok;
  bool one_is_good = false;
  for (const Json& run : watched.runs) {
    const Exit of = exit_of_run(run);
    if (of == Exit::Ok && is_reached(run, plan.until)) one_is_good = true;
    if (exit == Exit::Ok || of == Exit::Failed) exit = of == Exit::Ok ? exit : of;
  }
  if (always_ok || (plan.any && one_is_good)) exit = Exit::Ok;
  std::vector<std::string> going_on;
  for (const Json& run : watched.runs) {
    if (!is_reached(run, plan.until)) going_on.push_back(run["id"].text());
  }
  if (watched.timed_out) {
    return context.fail(
        Failure{"WAIT_TIMED_OUT",
                fmt::format("it goes on, but the wait is over: {}; try `reeve why {}`",
                            fmt::join(going_on, " "),
                            going_on.front()),
                json_of({{"pipelines", Json(watched.runs)}})});
  }
  if (watched.interrupted && context.json() && !plan.tells_changes) {
    return context.fail(Failure{"INTERRUPTED",
                                "it goes on; only the watching ended",
                                json_of({{"pipelines", Json(watched.runs)}})});
  }
  if (watched.interrupted) {
    output.flush();
    if (Output::err_is_terminal()) output.err("\n");  // behind the ^C that the terminal shows
    output.note(
        plan.tells_changes
            ? fmt::format("it goes on, only the watching ended; `reeve logs {} -f` takes it "
                          "up again",
                          plan.ids.front())
            : fmt::format("it goes on; only the watching ended: {}", fmt::join(going_on, " ")));
    return output.done(Exit::Interrupted);
  }
  if (context.json() && !plan.tells_changes) {
    Json data = watched.runs.size() == 1 ? watched.runs.front()
                                         : json_of({{"pipelines", Json(watched.runs)}});
    if (exit == Exit::Ok) return output.succeed(data);
    return output.fail(failure_of(watched.runs, exit, std::move(data)));
  }
  for (const Json& run : watched.runs) {
    if (context.json()) break;
    if (context.quiet()) {
      output.line(run["id"].text());
    } else {
      output.line(run_line(output, run));
    }
  }
  if (plan.tells_changes && !context.json() && !context.quiet()) {
    output.flush();
    output.note(fmt::format("`reeve logs {}` shows again what it said", plan.ids.front()));
  }
  return output.done(exit);
}

std::vector<std::pair<std::string, std::string>> defined_besides(
    Context& context, std::string_view kind, const std::vector<std::string>& known) {
  std::vector<std::pair<std::string, std::string>> others;
  const auto place = context.place();
  if (!place) return others;
  for (auto& entry : context.runbooks->names(kind, *place)) {
    if (std::ranges::find(known, entry.first) == known.end()) others.push_back(std::move(entry));
  }
  return others;
}

Answer or_defined(Context& context, std::string_view kind, const std::string& name, Answer answer) {
  if (answer || answer.error().code != "NOT_FOUND") return answer;
  for (const auto& [known, where] : defined_besides(context, kind, {})) {
    if (known != name) continue;
    return json_of({{"name", name}, {"state", "defined"}, {"where", where}});
  }
  return answer;
}

std::optional<std::string> own_id(Context& context, const char* variable, std::string_view verb) {
  const std::optional<std::string> id = environment(variable);
  if (!id) {
    context.misuse(fmt::format(
        "`reeve {}` is for the steps of a pipeline: there is no ${} here", verb, variable));
  }
  return id;
}

}  // namespace reeve::cli
