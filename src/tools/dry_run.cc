#include "tools/dry_run.h"

#include "base/match.h"
#include "core/interpolate.h"
#include "runbook/shell_text.h"
#include "tools/json.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace reeve::tools {
namespace {

using definition::Phase;
using runbook::Values;

std::string text_of(const definition::OnFail& on_fail) {
  return match(
      on_fail,
      [](const definition::AskSomebody&) { return std::string("escalate"); },
      [](const definition::Fail&) { return std::string("fail"); },
      [](const definition::GoTo& to) { return "phase " + to.phase; });
}

// As they are written in a runbook, in the order of the enumerations.
constexpr std::array<std::string_view, 4> merge_kinds{"fast-forward", "rebase", "squash", "merge"};
constexpr std::array<std::string_view, 3> joins{"all", "any", "first_failure"};
constexpr std::array<std::string_view, 3> unknowns{"ask", "retry", "fail"};
constexpr std::array<std::string_view, 3> timeouts{"escalate", "block", "fail"};

template <class Enum, std::size_t size>
std::string word_of(const std::array<std::string_view, size>& words, Enum value) {
  return std::string(words.at(static_cast<std::size_t>(value)));
}

std::string times(std::uint32_t count) {
  return count == 1 ? "once" : fmt::format("{} times", count);
}

std::string text_of(const definition::Response& response) {
  return match(
      response,
      [](const definition::DoNudge& nudge) { return "nudge " + times(nudge.times); },
      [](const definition::DoRestart& restart) { return "restart " + times(restart.times); },
      [](const definition::DoEscalate&) { return std::string("escalate"); },
      [](const definition::DoDone&) { return std::string("done"); },
      [](const definition::DoFail&) { return std::string("fail"); });
}

std::string text_of(const std::vector<definition::Response>& responses) {
  std::string text;
  for (const auto& each : responses) text += (text.empty() ? "" : ", ") + text_of(each);
  return text;
}

// How often a guard is looked at, and for how long.
std::string checked(const definition::Guard& guard) {
  const definition::Poll poll = guard.retry.value_or(definition::Poll{});
  std::string text = fmt::format("again every {}", format_duration(poll.interval));
  if (guard.retry) text += fmt::format(", {}", times(poll.max));
  if (guard.timeout) {
    text += fmt::format(
        "; timeout {}: {}", format_duration(*guard.timeout), word_of(timeouts, guard.on_timeout));
  }
  return text;
}

// Tells what a runbook's texts say for given values.
class Teller {
 public:
  Teller(const runbook::Runbook& runbook, Variables known)
      : runbook_(runbook), known_(std::move(known)) {}

  std::string fill(const std::string& text) const {
    Variables all = known_;
    for (const std::string& name : placeholders_in(text)) all.emplace_back(name, "<" + name + ">");
    const auto filled = interpolate(text, all);
    const std::string* result = std::get_if<std::string>(&filled);
    return result ? *result : text;
  }

  // As it was written, the values in it as a shell would have to see them.
  std::string shell(const std::string& program) const {
    const auto written = runbook_.written.find(program);
    const std::string& text = written == runbook_.written.end() ? program : written->second;
    return runbook::shell_text_with(text,
                                    [&](const std::string& name) -> std::optional<std::string> {
                                      const std::string* value = known(name);
                                      return value ? std::optional(*value) : std::nullopt;
                                    });
  }

  const std::string* known(const std::string& name) const {
    const auto found = std::ranges::find(known_, name, &Variables::value_type::first);
    return found == known_.end() ? nullptr : &found->second;
  }

  void know(const std::string& name, std::string value) {
    const auto found = std::ranges::find(known_, name, &Variables::value_type::first);
    if (found == known_.end()) {
      known_.emplace_back(name, std::move(value));
    } else {
      found->second = std::move(value);
    }
  }

  // `of_phase`: one waits for it, and fails with it.
  void agent(std::vector<DryRun::Line>& lines, const std::string& name, bool of_phase) const {
    const definition::Agent* agent = runbook_.set.agents.find(name);
    if (!agent) return;
    lines.push_back({"agent",
                     fmt::format("{} ({}, {}): {}",
                                 name,
                                 agent->kind,
                                 agent->session ? "in a session" : "run to completion",
                                 shell(agent->command))});
    if (!agent->prompt.empty()) lines.push_back({"prompt", fill(agent->prompt)});
    if (!agent->prompt_file.empty()) lines.push_back({"prompt_file", fill(agent->prompt_file)});
    if (!agent->cwd.empty()) lines.push_back({"cwd", fill(agent->cwd)});
    for (const auto& [key, value] : agent->env) lines.push_back({"env", key + "=" + fill(value)});
    if (agent->timeout) lines.push_back({"timeout", format_duration(*agent->timeout)});
    // Of one that runs to completion it means never, unless it was written.
    if (agent->idle_timeout != Duration::max()) {
      lines.push_back({"idle_timeout", format_duration(agent->idle_timeout)});
      if (!agent->on_idle.empty()) lines.push_back({"on_idle", text_of(agent->on_idle)});
    }
    if (agent->progress_timeout) {
      lines.push_back({"progress", "within " + format_duration(*agent->progress_timeout)});
    }
    lines.push_back({"on_exit", text_of(agent->on_exit)});
    const bool fails_phase = of_phase && !agent->asks_on_error &&
                             std::holds_alternative<definition::DoEscalate>(agent->on_error);
    lines.push_back({"on_error", fails_phase ? "the phase fails" : text_of(agent->on_error)});
    if (agent->session) lines.push_back({"on_permission", text_of(agent->on_permission)});
    if (agent->checkpoint_every) {
      lines.push_back({"checkpoint",
                       fmt::format("every {}: {}",
                                   format_duration(*agent->checkpoint_every),
                                   shell(agent->checkpoint_run))});
    }
  }

  void strategy(std::vector<DryRun::Line>& lines, const std::string& name) const {
    const definition::Strategy* strategy = runbook_.set.strategies.find(name);
    if (!strategy) return;
    lines.push_back({"strategy", name});
    if (!strategy->checkpoint.empty()) {
      lines.push_back({"checkpoint", shell(strategy->checkpoint)});
    }
    for (const definition::Approach& approach : strategy->approaches) {
      match(
          approach.action,
          [&](const definition::RunShell& run) {
            lines.push_back({"attempt", approach.name + ": " + shell(run.text)});
          },
          [&](const definition::RunMerge& merge) {
            lines.push_back({"attempt",
                             fmt::format("{}: {} {} into {}",
                                         approach.name,
                                         word_of(merge_kinds, merge.kind),
                                         fill(merge.branch.empty() ? "{branch}" : merge.branch),
                                         fill(merge.into))});
          },
          [&](const definition::RunAgent& run) {
            lines.push_back({"attempt", approach.name + ": agent " + run.agent});
            agent(lines, run.agent, true);
          });
      if (approach.timeout) lines.push_back({"timeout", format_duration(*approach.timeout)});
      if (!approach.fallback_on.empty()) {
        lines.push_back({"fallback_on", fmt::format("{}", fmt::join(approach.fallback_on, ", "))});
      }
      if (!approach.rollback.empty()) lines.push_back({"rollback", shell(approach.rollback)});
    }
    lines.push_back({"on_exhaust", text_of(strategy->on_exhaust)});
  }

  // What a run of `parent` would start in its turn: its phases, and what they do. What is not given
  // comes from the inputs of the parent, then from the defaults. `unknown` is an input of which
  // nobody knows the value yet.
  void child(std::vector<DryRun::Line>& lines,
             const definition::Pipeline& parent,
             const std::string& name,
             const definition::Map& inputs = {},
             const std::string& unknown = {}) const {
    const definition::Pipeline* pipeline = runbook_.set.pipelines.find(name);
    if (!pipeline) return;
    std::vector<std::string> phases;
    phases.reserve(pipeline->phases.size());
    for (const Phase& phase : pipeline->phases) phases.push_back(phase.name);
    lines.push_back({"child", fmt::format("{}: {}", name, fmt::join(phases, ", "))});
    Teller of_child(runbook_, {{"name", name}, {"attempt", "1"}});
    if (const std::string* project = known("project")) of_child.know("project", *project);
    for (const std::string& input : pipeline->inputs) {
      const auto given = std::ranges::find(inputs, input, &definition::Map::value_type::first);
      if (given != inputs.end()) {
        of_child.know(input, fill(given->second));
      } else if (input == unknown) {
        of_child.know(input, "<" + input + ">");
      } else if (std::ranges::find(parent.inputs, input) != parent.inputs.end() && known(input)) {
        of_child.know(input, *known(input));
      }
    }
    for (const auto& [key, text] : pipeline->defaults) {
      if (!of_child.known(key)) of_child.know(key, of_child.fill(text));
    }
    for (const Phase& phase : pipeline->phases) {
      of_child.know("phase", phase.name);
      lines.push_back({"child phase", fmt::format("{}: {}", phase.name, of_child.doing(phase))});
    }
  }

  // Which gets the value that `for_each` runs it for.
  std::string first_input(const std::string& name) const {
    const definition::Pipeline* pipeline = runbook_.set.pipelines.find(name);
    return pipeline && !pipeline->inputs.empty() ? pipeline->inputs.front() : "";
  }

  // What a phase does, in a line.
  std::string doing(const Phase& phase) const {
    return match(
        phase.action,
        [&](const definition::RunShell& run) { return shell(run.text); },
        [&](const definition::RunAgent& run) { return "agent " + run.agent; },
        [&](const definition::RunStrategy& run) { return "strategy " + run.strategy; },
        [&](const definition::RunPipeline& run) { return "pipeline " + run.pipeline; },
        [&](const definition::RunParallel& run) {
          return fmt::format("parallel {}", fmt::join(run.pipelines, ", "));
        },
        [&](const definition::RunForEach& run) {
          return fmt::format("pipeline {} for each of {}", run.pipeline, fill(run.values));
        });
  }

  void guards(std::vector<DryRun::Line>& lines,
              const std::string& what,
              const std::vector<std::string>& names) const {
    for (const std::string& name : names) {
      const definition::Guard* guard = runbook_.set.guards.find(name);
      if (!guard) continue;
      lines.push_back({what, name + ": " + shell(guard->condition)});
      lines.push_back({"checked", checked(*guard)});
      for (const std::string& event : guard->wake_on) lines.push_back({"wake_on", fill(event)});
    }
  }

 private:
  const runbook::Runbook& runbook_;
  Variables known_;
};

void add_action(const Teller& tell,
                const definition::Pipeline& pipeline,
                const Phase& phase,
                std::vector<DryRun::Line>& lines) {
  match(
      phase.action,
      [&](const definition::RunShell& run) {
        lines.push_back({phase.strict ? "run strict" : "run", tell.shell(run.text)});
      },
      [&](const definition::RunAgent& run) { tell.agent(lines, run.agent, true); },
      [&](const definition::RunStrategy& run) { tell.strategy(lines, run.strategy); },
      [&](const definition::RunPipeline& run) {
        lines.push_back({"pipeline", run.pipeline});
        for (const auto& [key, value] : run.inputs) {
          lines.push_back({"input", key + "=" + tell.fill(value)});
        }
        tell.child(lines, pipeline, run.pipeline, run.inputs);
      },
      [&](const definition::RunParallel& run) {
        lines.push_back({"parallel", fmt::format("{}", fmt::join(run.pipelines, ", "))});
        for (const std::string& name : run.pipelines) tell.child(lines, pipeline, name);
        lines.push_back({"join", word_of(joins, run.join)});
      },
      [&](const definition::RunForEach& run) {
        lines.push_back(
            {"for_each",
             fmt::format(
                 "{}: pipeline {}, {} at a time", tell.fill(run.values), run.pipeline, run.max)});
        tell.child(lines, pipeline, run.pipeline, {}, tell.first_input(run.pipeline));
        lines.push_back({"join", word_of(joins, run.join)});
      });
}

std::string next_of(const definition::Pipeline& pipeline, const Phase& phase) {
  const bool last = &phase == &pipeline.phases.back();
  if (!phase.next.empty()) return phase.next;
  return phase.ends || last ? "done" : (&phase + 1)->name;
}

// Whether it is reached if all goes well.
bool is_on_the_way(const definition::Pipeline& pipeline, const Phase& wanted) {
  const Phase* phase = &pipeline.phases.front();
  for (std::size_t steps = 0; steps < pipeline.phases.size(); ++steps) {
    if (phase == &wanted) return true;
    const auto next = std::ranges::find(pipeline.phases, next_of(pipeline, *phase), &Phase::name);
    if (next == pipeline.phases.end()) return false;
    phase = &*next;
  }
  return false;
}

DryRun::Step step_of(Teller tell, const definition::Pipeline& pipeline, const Phase& phase) {
  tell.know("phase", phase.name);
  DryRun::Step step{phase.name, {}};
  std::vector<DryRun::Line>& lines = step.lines;
  if (!is_on_the_way(pipeline, phase)) {
    lines.push_back({"reached",
                     phase.name == pipeline.on_cancel ? "only if it is cancelled, or by on_fail"
                                                      : "only by on_fail or on_exhaust"});
  }
  tell.guards(lines, "pre", phase.pre);
  for (const std::string& lock : phase.locks) lines.push_back({"lock", lock});
  for (const definition::SlotUse& slot : phase.slots) {
    lines.push_back({"semaphore", fmt::format("{}, weight {}", slot.name, slot.weight)});
  }
  add_action(tell, pipeline, phase, lines);
  if (!phase.cwd.empty()) lines.push_back({"cwd", tell.fill(phase.cwd)});
  for (const auto& [key, value] : phase.env) lines.push_back({"env", key + "=" + tell.fill(value)});
  if (phase.timeout) lines.push_back({"timeout", format_duration(*phase.timeout)});
  tell.guards(lines, "post", phase.post);
  if (phase.retry.max > 0) {
    lines.push_back(
        {"retry",
         fmt::format("{}, after {}", times(phase.retry.max), format_duration(phase.retry.delay))});
  }
  lines.push_back({"on_fail", text_of(phase.on_fail.value_or(pipeline.on_fail))});
  lines.push_back({"on_unknown", word_of(unknowns, phase.on_unknown)});
  lines.push_back({"next", next_of(pipeline, phase)});
  return step;
}

Variables known_of(const Values& values, const std::string& name, const std::string& project) {
  Variables known = values;
  known.emplace_back("name", name);
  known.emplace_back("project", project);
  return known;
}

DryRun of_pipeline(const runbook::Runbook& runbook,
                   const std::string& command,
                   const runbook::StartPipeline& start,
                   const Values& values,
                   const std::string& project) {
  DryRun run;
  run.summary = fmt::format("{} would start pipeline {}", command, start.pipeline);
  const definition::Pipeline* pipeline = runbook.set.pipelines.find(start.pipeline);
  if (!pipeline) return run;
  const auto given = [](const Values& map, const std::string& name) {
    const auto found = std::ranges::find(map, name, &Values::value_type::first);
    return found == map.end() ? nullptr : &found->second;
  };
  Teller tell(runbook, known_of({}, start.pipeline, project));
  const Teller of_arguments(runbook, known_of(values, command, project));
  for (const std::string& input : pipeline->inputs) {
    if (const std::string* value = given(values, input)) {
      tell.know(input, *value);
    } else if (const std::string* text = given(start.inputs, input)) {
      tell.know(input, of_arguments.fill(*text));
    }
  }
  for (const auto& [input, text] : pipeline->defaults) {
    if (given(values, input) || given(start.inputs, input)) continue;
    tell.know(input, tell.fill(text));
  }
  for (const std::string& input : pipeline->inputs) {
    run.values.emplace_back(input, tell.fill("{" + input + "}"));
  }
  for (const std::string& after : pipeline->after) {
    if (const std::string other = tell.fill(after); !other.empty()) {
      run.lines.push_back({"after", other});
    }
  }
  if (pipeline->workspace && pipeline->workspace->git) {
    const std::string branch = tell.fill(pipeline->workspace->branch);
    run.lines.push_back({"workspace",
                         fmt::format("git worktree, branch {}{}",
                                     branch,
                                     pipeline->workspace->base.empty()
                                         ? ""
                                         : " from " + tell.fill(pipeline->workspace->base))});
    if (std::ranges::find(pipeline->inputs, "branch") == pipeline->inputs.end()) {
      tell.know("branch", branch);
    }
  } else if (pipeline->workspace) {
    const std::string folder = tell.fill(pipeline->workspace->folder);
    run.lines.push_back({"workspace", folder.empty() ? "a folder of its own" : "folder " + folder});
  }
  if (!pipeline->on_cancel.empty())
    run.lines.push_back({"on_cancel", "phase " + pipeline->on_cancel});
  tell.know("attempt", "1");
  for (const Phase& phase : pipeline->phases) run.steps.push_back(step_of(tell, *pipeline, phase));
  return run;
}

}  // namespace

DryRun dry_run(const runbook::Runbook& runbook,
               const std::string& name,
               const Values& values,
               const std::string& project) {
  const runbook::Command& command = runbook.commands.at(name);
  const Teller tell(runbook, known_of(values, name, project));
  return match(
      command.run,
      [&](const runbook::StartPipeline& start) {
        return of_pipeline(runbook, name, start, values, project);
      },
      [&](const runbook::PushItem& push) {
        DryRun run{
            fmt::format("{} would push an item to queue {}", name, push.queue), values, {}, {}};
        std::string item;
        for (const auto& [key, value] : values) {
          item += (item.empty() ? "{" : ",") + json(key) + ":" + json(value);
        }
        run.lines.push_back({"item", item.empty() ? "{}" : item + "}"});
        return run;
      },
      [&](const runbook::StartAgent& start) {
        DryRun run{fmt::format("{} would start agent {}", name, start.agent), values, {}, {}};
        tell.agent(run.lines, start.agent, false);
        return run;
      },
      [&](const runbook::RunHere& here) {
        DryRun run{fmt::format("{} would run in this terminal", name), values, {}, {}};
        run.lines.push_back({"run", tell.shell(here.text)});
        return run;
      });
}

namespace {

void add_line(std::string& text, std::size_t indent, std::string_view what, std::string_view said) {
  const std::string margin(indent, ' ');
  text += fmt::format("{}{:<11} ", margin, what);
  // What has several lines keeps its shape, below one another.
  bool first = true;
  for (std::size_t at = 0; at <= said.size();) {
    const std::size_t newline = std::min(said.find('\n', at), said.size());
    if (!first) text += fmt::format("\n{}{:<12}", margin, "");
    text += said.substr(at, newline - at);
    at = newline + 1;
    first = false;
    if (at == said.size()) break;  // a newline at the end says nothing
  }
  while (text.ends_with(' ')) text.pop_back();
  text += '\n';
}

std::string json_lines(const std::vector<DryRun::Line>& lines) {
  std::string text;
  for (const DryRun::Line& line : lines) {
    text += fmt::format(
        "{}{{\"what\":{},\"text\":{}}}", text.empty() ? "" : ",", json(line.what), json(line.text));
  }
  return "[" + text + "]";
}

}  // namespace

std::string to_text(const DryRun& run) {
  std::string text = run.summary + "\n";
  for (const auto& [name, value] : run.values) add_line(text, 2, "{" + name + "}", value);
  for (const DryRun::Line& line : run.lines) add_line(text, 2, line.what, line.text);
  for (const DryRun::Step& step : run.steps) {
    text += "phase " + step.name + "\n";
    for (const DryRun::Line& line : step.lines) add_line(text, 2, line.what, line.text);
  }
  text.pop_back();
  return text;
}

std::string to_json(const DryRun& run) {
  std::string values;
  for (const auto& [name, value] : run.values) {
    values += (values.empty() ? "" : ",") + json(name) + ":" + json(value);
  }
  std::string steps;
  for (const DryRun::Step& step : run.steps) {
    steps += fmt::format("{}{{\"name\":{},\"lines\":{}}}",
                         steps.empty() ? "" : ",",
                         json(step.name),
                         json_lines(step.lines));
  }
  return fmt::format("{{\"summary\":{},\"values\":{{{}}},\"lines\":{},\"phases\":[{}]}}",
                     json(run.summary),
                     values,
                     json_lines(run.lines),
                     steps);
}

}  // namespace reeve::tools
