#include "cli/commands/groups.h"
#include "cli/context.h"
#include "cli/text.h"

#include <fmt/format.h>

#include <array>
#include <optional>

// `reeve workspace`: the folders and git worktrees that runs were given.
namespace reeve::cli {

namespace {

constexpr std::int64_t look_every = 100;

bool is_over(const Json& run) {
  const std::string& state = run["state"].text();
  return state == "done" || state == "failed" || state == "cancelled";
}

// Of the project's runs those that have one.
std::expected<Json::Array, Failure> with_workspace(Context& context) {
  const Answer answer = list_all(context.client(), "pipeline.list", "pipelines", Json::object());
  if (!answer) return std::unexpected(answer.error());
  Json::Array runs;
  for (const Json& run : (*answer)["pipelines"].items()) {
    if (run.has("workspace")) runs.push_back(run);
  }
  return runs;
}

Json described(const Json& run) {
  return json_of({{"pipeline", run["id"]},
                  {"name", run["name"]},
                  {"state", run["state"]},
                  {"path", run["workspace"]},
                  {"branch", run["branch"]}});
}

int list(Context& context, const Parsed&) {
  const auto runs = with_workspace(context);
  if (!runs) return context.fail(runs.error());
  if (context.json()) {
    Json all = Json::array();
    for (const Json& run : *runs) all.push(described(run));
    return context.output.succeed(json_of({{"workspaces", all}}));
  }
  Table table({{"RUN"}, {"STATE"}, {"BRANCH", Table::Align::Left, true}, {"PATH"}});
  for (const Json& run : *runs) {
    if (context.quiet()) {
      context.output.line(run["workspace"].text());
      continue;
    }
    const std::string& state = run["state"].text();
    table.add({run["id"].text(),
               {state, state == "failed" || state == "blocked" ? Style::Bad : Style::Plain},
               run.has("branch") ? printable(run["branch"].text()) : "-",
               printable(run["workspace"].text())});
  }
  if (runs->empty()) context.output.note("no run has a workspace");
  if (!table.empty()) context.output.out(table.write(Output::out_width(), context.output));
  return context.output.done();
}

int show(Context& context, const Parsed& parsed) {
  const Answer answer = context.client().ask("pipeline.show", json_of({{"id", parsed.words[0]}}));
  if (!answer) return context.fail(answer.error());
  const Json& run = *answer;
  if (!run.has("workspace")) {
    return context.fail(Failure{"NOT_FOUND", fmt::format("{} has no workspace", run["id"].text())});
  }
  if (context.json()) return context.output.succeed(described(run));
  context.output.line(run["workspace"].text());
  return context.output.done();
}

// Tries to remove those of some runs, one after the other.
class Pruning {
 public:
  Pruning(Client& client, bool force) : client_(client), force_(force) {
    const Json params = json_of({{"match", "pipeline:workspace_kept"}});
    follow_ = client_.begin("events.follow", params, Client::Kind::Wait);
  }
  ~Pruning() { client_.cancel(follow_); }
  Pruning(const Pruning&) = delete;
  Pruning& operator=(const Pruning&) = delete;

  // Why it stays; empty: it is gone.
  std::expected<std::string, Failure> remove(const std::string& id) {
    Json params = json_of({{"id", id}});
    if (force_) params.set("force", true);
    const Answer told = client_.change("pipeline.remove_workspace", std::move(params));
    if (!told && told.error().code == "NOT_FOUND") return "";
    if (!told) return std::unexpected(told.error());
    // What is decided is announced with it, but perhaps not heard as soon as it can be seen.
    for (int looks_left = 20; looks_left > 0;) {
      if (const auto why = heard_of(id)) return *why;
      const Answer now = client_.ask("pipeline.show", json_of({{"id", id}}));
      if (!now && now.error().code == "NOT_FOUND") return "";
      if (!now) return std::unexpected(now.error());
      if (!now->has("workspace")) return "";
      if (!now->has("run")) --looks_left;
      client_.pump(look_every);
    }
    return "it could not be removed";
  }

 private:
  std::optional<std::string> heard_of(const std::string& id) {
    while (const auto event = client_.next_event()) {
      const Json& data = (*event)["data"];
      if (data["pipeline"].text() == id) return in_words(data["error"].text(), data["path"].text());
    }
    return std::nullopt;
  }

  // The reason names the folder, as does whoever tells it; its exit code is nobody's concern.
  static std::string in_words(std::string why, const std::string& path) {
    constexpr std::string_view code = "exit code 1: ";
    if (why.starts_with(code)) why.erase(0, code.size());
    for (std::size_t at = 0; !path.empty() && (at = why.find(path, at)) != std::string::npos;) {
      why.replace(at, path.size(), "it");
    }
    return why;
  }

  Client& client_;
  bool force_;
  Client::Ticket follow_ = 0;
};

// Those that were named; else those of all runs that are over.
std::expected<Json::Array, Failure> to_prune(Context& context,
                                             const std::vector<std::string>& words) {
  if (words.empty()) {
    auto runs = with_workspace(context);
    if (runs) std::erase_if(*runs, [](const Json& run) { return !is_over(run); });
    return runs;
  }
  Json::Array runs;
  for (const std::string& word : words) {
    const Answer run = context.client().ask("pipeline.show", json_of({{"id", word}}));
    if (!run) return std::unexpected(run.error());
    const std::string id = (*run)["id"].text();
    if (!run->has("workspace")) {
      return std::unexpected(Failure{"NOT_FOUND", fmt::format("{} has no workspace", id)});
    }
    if (!is_over(*run)) {
      return std::unexpected(
          Failure{"NOT_ALLOWED", fmt::format("{} has not ended, and works in it", id)});
    }
    runs.push_back(*run);
  }
  return runs;
}

// One with something in it that is nowhere else stays, and one that somebody is in.
int prune(Context& context, const Parsed& parsed) {
  const auto runs = to_prune(context, parsed.words);
  if (!runs) return context.fail(runs.error());
  const bool force = parsed.has("force");
  Pruning pruning(context.client(), force);
  Json gone = Json::array();
  Json kept = Json::array();
  std::string first;
  for (const Json& run : *runs) {
    const auto why = pruning.remove(run["id"].text());
    if (!why) return context.fail(why.error());
    const std::string path = printable(run["workspace"].text());
    Json described_run = described(run);
    if (why->empty()) {
      gone.push(std::move(described_run));
      if (!context.json()) {
        context.output.line(context.quiet() ? path : fmt::format("{} removed", path));
      }
      continue;
    }
    described_run.set("reason", *why);
    kept.push(std::move(described_run));
    const std::string sentence = fmt::format("{} stays: {}", path, printable(*why));
    if (first.empty()) first = sentence;
    if (!context.json()) context.output.note(sentence);
  }
  const bool is_refused = !parsed.words.empty() && !kept.items().empty();
  const Json told = json_of({{"removed", gone}, {"kept", kept}});
  if (context.json() && is_refused) return context.fail(Failure{"NOT_ALLOWED", first, told});
  if (context.json()) return context.output.succeed(told);
  if (gone.items().empty() && kept.items().empty()) context.output.note("nothing to remove");
  if (!kept.items().empty() && !force) {
    context.output.note(
        "`reeve workspace prune --force` also removes changes and commits that are nowhere else; "
        "not "
        "what a process works in");
  }
  return context.output.done(is_refused ? Exit::NotAllowed : Exit::Ok);
}

constexpr std::array<Argument, 1> one_id{{{.name = "ID", .completes = Completes::Pipeline}}};
constexpr std::array<Argument, 1> some_ids{
    {{.name = "ID", .count = Count::Any, .completes = Completes::Pipeline}}};
constexpr std::array<Option, 1> prune_options{
    {{.name = "force", .help = "also those with changes or commits that are nowhere else"}}};
constexpr std::array<Example, 1> list_examples{{{"reeve workspace list", "whose, and where"}}};
constexpr std::array<Example, 1> show_examples{
    {{"cd \"$(reeve workspace show pipe-4f7kq2)\"", "look at what it did"}}};
constexpr std::array<Example, 2> prune_examples{
    {{"reeve workspace prune", "those that nobody needs any more"},
     {"reeve workspace prune pipe-4f7kq2 --force", "this one, with all that is in it"}}};

constexpr std::array<Command, 3> commands{{
    {.name = "workspace list",
     .summary = "the workspaces of the project's runs",
     .examples = list_examples,
     .run = list},
    {.name = "workspace show",
     .summary = "where the workspace of a run is",
     .arguments = one_id,
     .examples = show_examples,
     .run = show},
    {.name = "workspace prune",
     .summary = "remove those of runs that are over, or of these",
     .arguments = some_ids,
     .options = prune_options,
     .details =
         "A workspace stays when its run has ended, however that was, until somebody removes "
         "it. One with changes that are not committed, or commits that are in no other branch "
         "and not pushed, is removed only by --force; one that a process works in not even "
         "then. What stays is told with the reason, and is exit 5 if it was named.",
     .examples = prune_examples,
     .run = prune},
}};

}  // namespace

const Group workspace_group{
    .word = "workspace", .summary = "folders and worktrees of runs", .commands = commands};

}  // namespace reeve::cli
