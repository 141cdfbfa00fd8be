#include "tools/run_plan.h"

#include "adapters/redactor.h"
#include "adapters/run_directory.h"
#include "base/match.h"
#include "codec/json.h"
#include "core/input.h"
#include "core/interpolate.h"
#include "core/shapes.h"
#include "runbook/shell_text.h"
#include "tools/json.h"
#include "tools/monitor_plan.h"
#include "tools/open_runbooks.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <memory>
#include <set>
#include <system_error>

namespace reeve::tools {
namespace {

constexpr int exit_failed = 1;
constexpr int exit_usage = 2;
constexpr int exit_not_found = 3;

CannotRun wrong(const runbook::Mistakes& mistakes, std::string_view undone = "run") {
  CannotRun cannot{exit_failed, "RUNBOOK_WRONG", {}, {}, {}};
  cannot.message =
      mistakes.size() == 1
          ? fmt::format("there is a mistake in the runbooks; nothing was {}", undone)
          : fmt::format(
                "there are {} mistakes in the runbooks; nothing was {}", mistakes.size(), undone);
  cannot.details = fmt::format(R"({{"mistakes":{}}})", mistakes_json(mistakes));
  for (const runbook::Mistake& mistake : mistakes) cannot.lines.push_back(to_text(mistake));
  return cannot;
}

// Where there is none to choose from: `reeve init` writes a command and a pipeline, nothing else.
std::string_view where_to_begin(std::string_view kind) {
  if (kind == "cron") return "`reeve runbook example cron` shows one";
  if (kind == "worker") return "`reeve runbook example queue` shows one";
  if (kind == "monitor") return "`reeve runbook example watchdog` has one";
  return "`reeve init` writes one to begin with";
}

template <class Map>
CannotRun no_such(std::string_view kind, const std::string& name, const Map& map) {
  std::vector<std::string> names;
  names.reserve(map.size());
  for (const auto& entry : map) names.push_back(entry.first);
  const std::string near = runbook::nearest(name, names);
  std::string message = fmt::format("there is no {} \"{}\" in the runbooks", kind, name);
  if (!near.empty()) {
    message += fmt::format("; did you mean \"{}\"?", near);
  } else if (names.empty()) {
    message += fmt::format("; {}", where_to_begin(kind));
  } else {
    message += "; try `reeve runbook list`";
  }
  CannotRun cannot{exit_not_found, "NOT_FOUND", std::move(message), {}, {}};
  cannot.details = fmt::format(R"({{"kind":{},"name":{}}})", json(kind), json(name));
  return cannot;
}

// All that can come of a pipeline: the agents it would start, the environment it wants.
class Reach {
 public:
  explicit Reach(const definition::Set& set) : set_(set) {}

  void pipeline(const std::string& name) {
    if (!seen_.insert(name).second) return;
    const definition::Pipeline* found = set_.pipelines.find(name);
    if (!found) return;
    pass_env.insert(found->pass_env.begin(), found->pass_env.end());
    secret.insert(found->secret.begin(), found->secret.end());
    for (const definition::Phase& phase : found->phases) {
      match(
          phase.action,
          [](const definition::RunShell&) {},
          [&](const definition::RunAgent& run) { agent(run.agent); },
          [&](const definition::RunStrategy& run) { strategy(run.strategy); },
          [&](const definition::RunPipeline& run) { pipeline(run.pipeline); },
          [&](const definition::RunParallel& run) {
            for (const std::string& each : run.pipelines) pipeline(each);
          },
          [&](const definition::RunForEach& run) { pipeline(run.pipeline); });
    }
  }

  void agent(const std::string& name) {
    const definition::Agent* found = set_.agents.find(name);
    if (!found || found->kind == "generic" || !cannot.empty()) return;
    cannot = fmt::format(
        "agent \"{}\" is of kind \"{}\", which this version cannot run: only kind = \"generic\", "
        "any program",
        name,
        found->kind);
  }

  std::string cannot;  // a sentence; empty: all of it can be run
  std::set<std::string> pass_env;
  std::set<std::string> secret;

 private:
  void strategy(const std::string& name) {
    const definition::Strategy* found = set_.strategies.find(name);
    if (!found) return;
    for (const definition::Approach& approach : found->approaches) {
      if (const auto* run = std::get_if<definition::RunAgent>(&approach.action)) agent(run->agent);
    }
  }

  const definition::Set& set_;
  std::set<std::string> seen_;
};

std::expected<Definitions, CannotRun> definitions_of(const runbook::Runbook& runbook,
                                                     const Reach& reach) {
  if (!reach.cannot.empty()) {
    return std::unexpected(CannotRun{exit_failed, "NOT_SUPPORTED", reach.cannot, "{}", {}});
  }
  Definitions definitions;
  definitions.hash = runbook.set.hash;
  definitions.count = runbook.defined.size();
  definitions.pass_env.assign(reach.pass_env.begin(), reach.pass_env.end());
  definitions.secret.assign(reach.secret.begin(), reach.secret.end());
  // The project's number is the daemon's to fill in.
  definitions.set = [set = with_monitors(runbook)] {
    return codec::to_json(
        Command(definition::Command(definition::Load{{}, Boxed<definition::Set>(set)})));
  };
  return definitions;
}

std::expected<RunPlan, CannotRun> plan_start_pipeline(const runbook::Runbook& runbook,
                                                      const runbook::StartPipeline& start,
                                                      const runbook::Values& values,
                                                      const Variables& known) {
  RunPlan plan;
  plan.name = start.pipeline;
  plan.inputs = values;
  for (const auto& [name, text] : start.inputs) {
    const bool given = std::ranges::find(values, name, &Words::value_type::first) != values.end();
    if (given) continue;
    const auto filled = interpolate(text, known);
    const std::string* value = std::get_if<std::string>(&filled);
    if (!value) {
      return std::unexpected(CannotRun{
          exit_usage,
          "USAGE",
          fmt::format("input \"{}\" of pipeline \"{}\" needs an argument that was not given",
                      name,
                      start.pipeline),
          "{}",
          {}});
    }
    plan.inputs.emplace_back(name, *value);
  }
  Reach reach(runbook.set);
  reach.pipeline(start.pipeline);
  auto definitions = definitions_of(runbook, reach);
  if (!definitions) return std::unexpected(definitions.error());
  plan.definitions = *std::move(definitions);
  return plan;
}

std::expected<RunPlan, CannotRun> plan_item(const runbook::Runbook& runbook,
                                            const runbook::PushItem& push,
                                            const runbook::Values& values) {
  RunPlan plan;
  plan.what = RunPlan::What::Item;
  plan.name = push.queue;
  for (const auto& [name, value] : values) {
    plan.data += (plan.data.empty() ? "{" : ",") + json(name) + ":" + json(value);
    if (name != "priority") continue;
    std::int64_t number = 0;
    const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
    if (error != std::errc{} || end != value.data() + value.size()) {
      return std::unexpected(CannotRun{exit_usage,
                                       "USAGE",
                                       fmt::format("priority is a whole number, not \"{}\"", value),
                                       "{}",
                                       {}});
    }
    plan.priority = number;
  }
  plan.data = plan.data.empty() ? "{}" : plan.data + "}";
  auto definitions = definitions_of(runbook, Reach(runbook.set));
  if (!definitions) return std::unexpected(definitions.error());
  plan.definitions = *std::move(definitions);
  return plan;
}

std::expected<RunPlan, CannotRun> plan_agent(const runbook::Runbook& runbook,
                                             const runbook::StartAgent& start,
                                             const runbook::Values& values) {
  RunPlan plan;
  plan.what = RunPlan::What::Agent;
  plan.name = start.agent;
  plan.inputs = values;
  Reach reach(runbook.set);
  reach.agent(start.agent);
  auto definitions = definitions_of(runbook, reach);
  if (!definitions) return std::unexpected(definitions.error());
  plan.definitions = *std::move(definitions);
  return plan;
}

std::expected<RunPlan, CannotRun> plan_here(const runbook::RunHere& here, const Variables& known) {
  RunPlan plan;
  plan.what = RunPlan::What::Here;
  plan.program = here.text;
  for (const auto& [name, value] : known) {
    if (const std::string refusal = runbook::refusal_of(value); !refusal.empty()) {
      return std::unexpected(
          CannotRun{exit_usage, "USAGE", fmt::format("{}: {}", name, refusal), "{}", {}});
    }
    plan.variables.emplace_back(runbook::variable_name(name), value);
  }
  return plan;
}

}  // namespace

std::expected<RunPlan, CannotRun> plan_run(std::span<const std::string> words,
                                           const RunbookPlace& place) {
  const auto opened = open_runbooks(place);
  if (!opened) return std::unexpected(wrong(opened.error()));
  return plan_run(opened->runbook, words, place);
}

std::expected<RunPlan, CannotRun> plan_run(const runbook::Runbook& runbook,
                                           std::span<const std::string> words,
                                           const RunbookPlace& place) {
  const std::string& name = words.front();
  const auto command = runbook.commands.find(name);
  if (command == runbook.commands.end()) {
    return std::unexpected(no_such("command", name, runbook.commands));
  }
  const std::vector<std::string_view> rest(words.begin() + 1, words.end());
  const auto values =
      runbook::read_words(command->second.arguments, command->second.defaults, rest);
  if (!values) {
    CannotRun cannot{exit_usage, "USAGE", values.error(), "{}", {}};
    cannot.lines.push_back(
        fmt::format("usage: reeve run {} {}", name, runbook::usage_of(command->second.arguments)));
    return std::unexpected(std::move(cannot));
  }
  Variables known = *values;
  known.emplace_back("name", name);
  known.emplace_back("project", place.project);
  return match(
      command->second.run,
      [&](const runbook::StartPipeline& start) {
        return plan_start_pipeline(runbook, start, *values, known);
      },
      [&](const runbook::PushItem& push) { return plan_item(runbook, push, *values); },
      [&](const runbook::StartAgent& start) { return plan_agent(runbook, start, *values); },
      [&](const runbook::RunHere& here) { return plan_here(here, known); });
}

std::expected<RunPlan, CannotRun> plan_pipeline(const std::string& name,
                                                const Words& inputs,
                                                const RunbookPlace& place) {
  const auto opened = open_runbooks(place);
  if (!opened) return std::unexpected(wrong(opened.error()));
  const runbook::Runbook& runbook = opened->runbook;
  const definition::Pipeline* pipeline = runbook.set.pipelines.find(name);
  if (!pipeline) return std::unexpected(no_such("pipeline", name, runbook.set.pipelines));
  for (const auto& input : inputs) {
    const std::vector<std::string>& known = pipeline->inputs;
    if (std::ranges::find(known, input.first) != known.end()) continue;
    return std::unexpected(CannotRun{exit_usage,
                                     "USAGE",
                                     fmt::format("pipeline \"{}\" has no input \"{}\"{}",
                                                 name,
                                                 input.first,
                                                 runbook::hint(input.first, known)),
                                     "{}",
                                     {}});
  }
  return plan_start_pipeline(runbook, {name, {}}, inputs, {});
}

std::expected<Definitions, CannotRun> plan_start(std::string_view kind,
                                                 const std::string& name,
                                                 const RunbookPlace& place) {
  const auto opened = open_runbooks(place);
  if (!opened) return std::unexpected(wrong(opened.error()));
  const definition::Set& set = opened->runbook.set;
  Reach reach(set);
  if (kind == "worker") {
    const definition::Worker* worker = set.workers.find(name);
    if (!worker) return std::unexpected(no_such(kind, name, set.workers));
    reach.pipeline(worker->pipeline);
  } else {
    const cron::Definition* cron = set.crons.find(name);
    if (!cron) return std::unexpected(no_such(kind, name, set.crons));
    if (const auto* run = std::get_if<cron::RunPipeline>(&cron->run)) reach.pipeline(run->pipeline);
  }
  return definitions_of(opened->runbook, reach);
}

std::expected<Definitions, CannotRun> plan_load(const RunbookPlace& place) {
  const std::filesystem::path folder = std::filesystem::path(place.files()) / ".reeve" / "runbooks";
  std::error_code error;
  const std::filesystem::directory_iterator opened_folder(folder, error);
  const bool missing = error == std::errc::no_such_file_or_directory;
  if (error && !missing) {
    return std::unexpected(
        CannotRun{exit_failed,
                  "IO",
                  fmt::format("cannot look into {}: {}", folder.string(), error.message())});
  }
  std::error_code ignored;
  if (missing && !std::filesystem::is_directory(place.files(), ignored)) {
    return std::unexpected(CannotRun{
        exit_not_found, "NOT_FOUND", fmt::format("there is no folder {}", place.files())});
  }
  const auto opened = open_runbooks(place);
  if (!opened) return std::unexpected(wrong(opened.error(), "loaded"));
  return definitions_of(opened->runbook, Reach(opened->runbook.set));
}

std::expected<MonitorPlan, CannotRun> plan_monitor(const std::string& name,
                                                   const RunbookPlace& place) {
  const auto opened = open_runbooks(place);
  if (!opened) return std::unexpected(wrong(opened.error()));
  const runbook::Runbook& runbook = opened->runbook;
  const auto monitor = runbook.monitors.find(name);
  if (monitor == runbook.monitors.end()) {
    return std::unexpected(no_such("monitor", name, runbook.monitors));
  }
  return plan_of(runbook, monitor->second);
}

std::expected<std::vector<std::int64_t>, CannotRun> next_fires(const std::string& name,
                                                               const RunbookPlace& place,
                                                               std::int64_t now_ms,
                                                               std::size_t count) {
  const auto opened = open_runbooks(place);
  if (!opened) return std::unexpected(wrong(opened.error()));
  const definition::Set& set = opened->runbook.set;
  const cron::Definition* definition = set.crons.find(name);
  if (!definition) return std::unexpected(no_such("cron", name, set.crons));
  cron::Cron cron;
  cron.enabled = true;
  cron.plan.definition = Boxed<cron::Definition>(*definition);
  cron.anchor = cron.last = Stamp{Time{Duration{now_ms}}, Wall{Duration{now_ms}}};
  std::vector<std::int64_t> fires;
  for (const Wall at : cron::next_fires(cron, cron.anchor, count)) {
    fires.push_back(at.time_since_epoch().count());
  }
  return fires;
}

std::string variable_of(std::string_view name) { return runbook::variable_name(name); }

std::string without_secrets(const std::string& folder, std::string_view text) {
  const auto spec = adapters::RunDirectory(folder).read_spec();
  return spec ? adapters::Redactor(spec->secrets).whole(text) : std::string(text);
}

std::vector<std::pair<std::string, std::string>> names_in_runbooks(std::string_view kind,
                                                                   const RunbookPlace& place) {
  std::vector<std::pair<std::string, std::string>> names;
  const auto opened = open_runbooks(place, {}, Shell::Unchecked);
  if (!opened) return names;
  for (const auto& [name, where] : opened->runbook.defined) {
    if (name.kind != kind) continue;
    const auto command = opened->runbook.commands.find(name.name);
    const bool is_command = kind == "command" && command != opened->runbook.commands.end();
    names.emplace_back(name.name,
                       is_command ? runbook::usage_of(command->second.arguments) : where.file);
  }
  return names;
}

std::vector<std::string> mistakes_in(const RunbookPlace& place) {
  std::vector<std::string> lines;
  const auto opened = open_runbooks(place, {}, Shell::Unchecked);
  if (opened) return lines;
  for (const runbook::Mistake& mistake : opened.error()) lines.push_back(to_text(mistake));
  return lines;
}

std::expected<std::string, CannotRun> usage_of_command(const std::string& name,
                                                       const RunbookPlace& place) {
  const auto opened = open_runbooks(place);
  if (!opened) return std::unexpected(wrong(opened.error()));
  const auto command = opened->runbook.commands.find(name);
  if (command == opened->runbook.commands.end()) {
    return std::unexpected(no_such("command", name, opened->runbook.commands));
  }
  return fmt::format("usage: reeve run {} {}", name, runbook::usage_of(command->second.arguments));
}

}  // namespace reeve::tools
