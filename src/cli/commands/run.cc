#include "cli/commands/groups.h"
#include "cli/commands/runs.h"
#include "cli/text.h"

#include <fmt/format.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <fcntl.h>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>

// `reeve run`, `reeve init` and what is said of runbooks without a daemon.
namespace reeve::cli {

namespace {

// In this terminal, instead of us: it needs no daemon, and its exit code is ours.
int run_here(Context& context, const tools::RunPlan& plan, const tools::RunbookPlace& place) {
  context.output.flush();
  if (::chdir(place.root.c_str()) != 0) {
    return context.fail(Failure{"IO", fmt::format("cannot go to {}", place.root)});
  }
  for (const auto& [name, value] : plan.variables) {
    ::setenv(name.c_str(), value.c_str(), 1);  // NOLINT(concurrency-mt-unsafe)
  }
  // By its folder: another project may have its name.
  ::setenv("REEVE_PROJECT", place.root.c_str(), 1);  // NOLINT(concurrency-mt-unsafe)
  // We do without it; programs rely on it.
  ::signal(SIGPIPE, SIG_DFL);
  ::execlp("bash", "bash", "-c", plan.program.c_str(), "reeve", nullptr);
  return context.fail(
      Failure{"IO", fmt::format("cannot run bash: {}", std::generic_category().message(errno))});
}

int push_item(Context& context, const tools::RunPlan& plan) {
  Json params = json_of({{"queue", plan.name}});
  params.set("data", Json::raw(plan.data));
  if (plan.priority) params.set("priority", *plan.priority);
  // The queue is to be as the runbook says, from its first item on.
  const auto loaded = load_runbooks(context.client(), plan.definitions);
  if (!loaded) return context.fail(loaded.error());
  const Answer answer = context.client().change("queue.push", std::move(params));
  if (!answer) return context.fail(answer.error());
  if (context.json()) return context.output.succeed(*answer);
  const std::string id =
      (*answer)["ids"].items().empty() ? std::string() : (*answer)["ids"].items().front().text();
  context.output.line(context.quiet() ? id : fmt::format("{} in {}", id, printable(plan.name)));
  return context.output.done();
}

bool waits_for_it(const Parsed& parsed) { return parsed.has("wait") || parsed.has("follow"); }

// Why --wait, --follow or --timeout means nothing here; empty: it does, or was not asked for.
std::string cannot_wait(const Parsed& parsed, const tools::RunPlan& plan) {
  const bool waits = waits_for_it(parsed);
  const std::string& name = parsed.words.front();
  switch (plan.what) {
    case tools::RunPlan::What::Pipeline:
    case tools::RunPlan::What::Agent:
      return {};
    case tools::RunPlan::What::Item:
      if (!waits) return {};
      return fmt::format("\"{}\" puts an item into a queue, and there is no run to wait for", name);
    case tools::RunPlan::What::Here:
      if (!parsed.has("timeout")) return {};
      return fmt::format("\"{}\" runs in this terminal, until it ends: it has no --timeout", name);
  }
  return {};
}

// Until it is over, as asked for. `key`: what the answer to its start calls its id.
int wait_for_started(Context& context,
                     const Parsed& parsed,
                     const std::string& id,
                     std::uint64_t since,
                     std::string_view key) {
  if (!context.json() && !context.quiet()) context.output.note(fmt::format("{} started", id));
  WatchPlan watching{.ids = {id}};
  watching.tells_changes = parsed.has("follow");
  watching.since = since;
  if (const auto limit = parsed.duration("timeout")) watching.limit = limit->count();
  Watched watched = watch(context, watching);
  // Called as in the answer of one that nobody waits for.
  for (Json& run : watched.runs) run.set(key, id);
  return tell_watched(context, watching, watched, false);
}

int start_agent(Context& context, const Parsed& parsed, const tools::RunPlan& plan) {
  Json variables = Json::object();
  for (const auto& [name, value] : plan.inputs) variables.set(name, value);
  Json params = json_of({{"agent", plan.name}});
  params.set("variables", std::move(variables));
  const Answer answer =
      change_with_runbook(context, "agent.start", std::move(params), plan.definitions);
  if (!answer) return context.fail(answer.error());
  const std::string& id = (*answer)["id"].text();
  if (waits_for_it(parsed)) {
    return wait_for_started(context, parsed, id, (*answer)["seq"].natural(), "id");
  }
  if (context.json()) return context.output.succeed(*answer);
  context.output.line(context.quiet() ? id : fmt::format("{} {}", id, printable(plan.name)));
  return context.output.done();
}

}  // namespace

int start_pipeline(Context& context, const Parsed& parsed, const tools::RunPlan& plan) {
  Json inputs = Json::object();
  for (const auto& [name, value] : plan.inputs) inputs.set(name, value);
  Json params = json_of({{"name", plan.name}});
  params.set("inputs", std::move(inputs));
  const Answer answer =
      change_with_runbook(context, "pipeline.start", std::move(params), plan.definitions);
  if (!answer) return context.fail(answer.error());
  const std::string& id = (*answer)["pipeline"].text();
  if (waits_for_it(parsed)) {
    return wait_for_started(context, parsed, id, (*answer)["seq"].natural(), "pipeline");
  }
  if (context.json()) return context.output.succeed(*answer);
  context.output.line(
      context.quiet()
          ? id
          : fmt::format(
                "{} {} {}", id, printable((*answer)["name"].text()), (*answer)["state"].text()));
  return context.output.done();
}

int run_command(Context& context, const Parsed& parsed) {
  const auto place = context.place(parsed.has("here"));
  if (!place) return context.fail(place.error());
  const std::string& name = parsed.words.front();
  if (parsed.has("help")) {
    const auto usage = context.runbooks->usage(name, *place);
    if (!usage) return context.cannot_run(usage.error());
    context.output.line(*usage);
    return context.output.done();
  }
  if (parsed.has("dry-run")) {
    std::vector<std::string_view> words(parsed.words.begin(), parsed.words.end());
    if (context.json()) words.insert(words.begin(), "--json");
    const int code = context.runbooks->dry_run(
        words,
        *place,
        [&](std::string_view line) { context.output.line(line); },
        [&](std::string_view line) { context.output.err(std::string(line) + "\n"); });
    return context.output.flush() ? code : static_cast<int>(Exit::Failed);
  }
  if (parsed.has("timeout") && !waits_for_it(parsed)) {
    return context.misuse("--timeout is how long to wait; it wants --wait or --follow");
  }
  const auto plan = context.runbooks->plan_run(parsed.words, *place);
  if (!plan) return context.cannot_run(plan.error());
  if (const std::string refusal = cannot_wait(parsed, *plan); !refusal.empty()) {
    return context.misuse(refusal);
  }
  switch (plan->what) {
    case tools::RunPlan::What::Pipeline:
      return start_pipeline(context, parsed, *plan);
    case tools::RunPlan::What::Item:
      return push_item(context, *plan);
    case tools::RunPlan::What::Agent:
      return start_agent(context, parsed, *plan);
    case tools::RunPlan::What::Here:
      return run_here(context, *plan, *place);
  }
  return static_cast<int>(Exit::Failed);
}

namespace {

std::string error_of(const std::string& path) {
  return fmt::format("cannot write {}: {}", path, std::generic_category().message(errno));
}

bool make_folder(const std::string& path) {
  return ::mkdir(path.c_str(), 0755) == 0 || errno == EEXIST;
}

// Never over something that is there.
std::optional<std::string> write_new(const std::string& path, std::string_view text) {
  const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
  if (file < 0) return error_of(path);
  const ssize_t written = ::write(file, text.data(), text.size());
  const bool closed = ::close(file) == 0;
  const bool failed = written != static_cast<ssize_t>(text.size()) || !closed;
  return failed ? std::optional(error_of(path)) : std::nullopt;
}

}  // namespace

int init_command(Context& context, const Parsed& parsed) {
  // Where the project is, if there is one; else here.
  const std::string here = working_directory();
  const auto project = parsed.has("here") ? find_checkout(here) : find_project(here);
  const std::string root = project ? project->path : here;
  const std::string folder = root + "/.reeve/runbooks";
  const std::string path = folder + "/hello.toml";
  if (!make_folder(root + "/.reeve") || !make_folder(folder)) {
    return context.fail(Failure{"IO", error_of(folder)});
  }
  if (::access(path.c_str(), F_OK) == 0) {
    return context.fail(Failure{"EXISTS",
                                fmt::format("{} is there already, and stays as it is", path),
                                json_of({{"path", path}})});
  }
  if (const auto failure = write_new(path, context.runbooks->first_runbook)) {
    return context.fail(Failure{"IO", *failure});
  }
  if (context.json()) return context.output.succeed(json_of({{"path", path}, {"root", root}}));
  if (context.quiet()) {
    context.output.line(path);
    return context.output.done();
  }
  context.output.line(fmt::format("wrote {}", path));
  context.output.line("");
  context.output.line("  reeve run hello world --dry-run   what would happen");
  context.output.line("  reeve run hello world --follow    watch it happen");
  context.output.line("  reeve runbook check               after you have changed it");
  return context.output.done();
}

int runbook_words(Context& context, const Parsed& parsed) {
  const std::string_view verb = parsed.command->name.substr(std::string_view("runbook ").size());
  // An example needs no project, and neither does a file that is named.
  auto place = context.place(parsed.has("here"));
  if (!place) {
    const bool is_wrong = place.error().code == "CONFIG_WRONG";
    if (is_wrong || (verb != "example" && parsed.words.empty())) return context.fail(place.error());
    place = tools::RunbookPlace{working_directory(), "default"};
  }
  std::vector<std::string_view> words{verb};
  words.insert(words.end(), parsed.words.begin(), parsed.words.end());
  if (context.json()) words.emplace_back("--json");
  if (context.quiet()) words.emplace_back("--quiet");
  const int code = context.runbooks->command(
      words,
      *place,
      [&](std::string_view line) { context.output.line(line); },
      [&](std::string_view line) { context.output.err(std::string(line) + "\n"); });
  return context.output.flush() ? code : static_cast<int>(Exit::Failed);
}

}  // namespace reeve::cli
