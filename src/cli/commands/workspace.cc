#include "cli/commands/groups.h"
#include "cli/context.h"
#include "cli/text.h"

#include <fmt/format.h>

#include <array>

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

// What became of it, when it has been tried.
Answer removed(Client& client, const std::string& id, bool force) {
  Json params = json_of({{"id", id}});
  if (force) params.set("force", true);
  const Answer told = client.change("pipeline.remove_workspace", std::move(params));
  if (!told) return told;
  for (;;) {
    Answer now = client.ask("pipeline.show", json_of({{"id", id}}));
    if (!now || !now->has("workspace") || !now->has("run")) return now;
    client.pump(look_every);
  }
}

// Those of runs that are over; one with something in it that is nowhere else stays.
int prune(Context& context, const Parsed& parsed) {
  const auto runs = with_workspace(context);
  if (!runs) return context.fail(runs.error());
  Json gone = Json::array();
  Json kept = Json::array();
  for (const Json& run : *runs) {
    if (!is_over(run)) continue;
    const std::string& id = run["id"].text();
    const Answer answer = removed(context.client(), id, parsed.has("force"));
    if (!answer && answer.error().code != "NOT_FOUND") return context.fail(answer.error());
    const bool stays = answer && answer->has("workspace");
    (stays ? kept : gone).push(described(run));
    if (context.json()) continue;
    const std::string path = printable(run["workspace"].text());
    if (stays) {
      context.output.note(
          fmt::format("{} stays: there is something in it that is nowhere else; `reeve workspace "
                      "prune --force` "
                      "removes it all the same",
                      path));
    } else {
      context.output.line(context.quiet() ? path : fmt::format("{} removed", path));
    }
  }
  if (context.json()) {
    return context.output.succeed(json_of({{"removed", gone}, {"kept", kept}}));
  }
  if (gone.items().empty() && kept.items().empty()) context.output.note("nothing to remove");
  return context.output.done();
}

constexpr std::array<Argument, 1> one_id{{{.name = "ID", .completes = Completes::Pipeline}}};
constexpr std::array<Option, 1> prune_options{
    {{.name = "force", .help = "also those with changes or commits that are nowhere else"}}};
constexpr std::array<Example, 1> list_examples{{{"reeve workspace list", "whose, and where"}}};
constexpr std::array<Example, 1> show_examples{
    {{"cd \"$(reeve workspace show pipe-4f7kq2)\"", "look at what it did"}}};
constexpr std::array<Example, 1> prune_examples{
    {{"reeve workspace prune", "those that nobody needs any more"}}};

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
     .summary = "remove those of runs that are over",
     .options = prune_options,
     .details = "A run that is done has its workspace removed by itself; one that failed or was "
                "cancelled keeps it, for whoever wants to see.",
     .examples = prune_examples,
     .run = prune},
}};

}  // namespace

const Group workspace_group{
    .word = "workspace", .summary = "folders and worktrees of runs", .commands = commands};

}  // namespace reeve::cli
