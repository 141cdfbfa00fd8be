#include "adapters/plan.h"

#include "adapters/secrets.h"
#include "base/match.h"
#include "codec/log_folder.h"
#include "codec/shell_word.h"
#include "core/cron.h"
#include "core/definition.h"
#include "core/pipeline.h"
#include "runbook/shell_text.h"

#include <algorithm>
#include <array>
#include <chrono>

namespace reeve::adapters {
namespace {

using namespace std::chrono_literals;

// Each kind has its limit, and a step its own.
constexpr Duration notify_limit = 10s;
constexpr Duration hook_limit = 60s;
constexpr Duration poll_limit = 60s;

constexpr std::array allowed{
    "PATH", "HOME", "USER", "SHELL", "LANG", "TZ", "TERM", "SSH_AUTH_SOCK"};
constexpr std::array for_desktop{
    "DISPLAY", "WAYLAND_DISPLAY", "XAUTHORITY", "XDG_RUNTIME_DIR", "DBUS_SESSION_BUS_ADDRESS"};

constexpr std::string_view desktop_text = R"bash(
command -v notify-send >/dev/null || { echo "there is no notify-send on this machine"; exit 1; }
exec notify-send --app-name=reeve ${REEVE_SOUND:+"--hint=string:sound-name:message"} -- \
  "$REEVE_TITLE" "$REEVE_MESSAGE"
)bash";

void set(Variables& variables, const std::string& name, const std::string& value) {
  std::erase_if(variables, [&](const auto& entry) { return entry.first == name; });
  variables.emplace_back(name, value);
}

std::string value_of(const Variables& variables, std::string_view name) {
  for (const auto& [key, value] : variables) {
    if (key == name) return value;
  }
  return {};
}

// `merge#2 checkpoint`. (An approach called `x checkpoint` is `merge#2 x checkpoint`.)
bool is_checkpoint(std::string_view label) {
  constexpr std::string_view end = " checkpoint";
  if (!label.ends_with(end)) return false;
  label.remove_suffix(end.size());
  const std::size_t mark = label.rfind('#');
  return mark != std::string_view::npos && mark + 1 < label.size() &&
         label.find_first_not_of("0123456789", mark + 1) == std::string_view::npos;
}

// A cron's monitors are looked at by the program that runs here, whatever PATH has first.
std::string by_own_program(const Start& start, const std::string& text, const std::string& own) {
  constexpr std::string_view before = "exec reeve monitor run ";
  constexpr std::string_view called = "exec reeve";
  if (!std::holds_alternative<cron::Address>(start.effect.to) || own.empty()) return text;
  if (!text.starts_with(before)) return text;
  return "exec " + codec::shell_word(own) + text.substr(called.size());
}

Result<Plan> plan_shell(const Start& start, const Shell& shell, const Surroundings& around) {
  if (std::string why = refusal_of(shell.variables); !why.empty()) {
    return fail(Error::Code::BadRequest, std::move(why));
  }
  Plan plan;
  RunSpec& spec = plan.spec;
  spec.text = by_own_program(start, shell.text, around.program);
  spec.strict = shell.strict;
  spec.directory = shell.directory;
  spec.timeout = shell.timeout;
  const bool is_hook = std::holds_alternative<ToNobody>(start.effect.to);
  if (is_hook && !spec.timeout) spec.timeout = hook_limit;
  set_environment(spec, around, start.id, shell.environment, shell.variables);
  std::string label = shell.label.empty() ? "shell" : shell.label;
  std::string folder = shell.pipeline ? to_text(shell.pipeline) : std::string();
  if (const auto* to = std::get_if<cron::Address>(&start.effect.to)) {
    const auto* project = around.state().projects.projects.find(to->cron.project);
    folder = codec::cron_log_folder(to->cron.name, project ? project->name : "");
    label = "program";
  }
  spec.log = log_path(around, folder, label, start.id);
  // {checkpoint} of a strategy is what its command said on stdout.
  spec.only_stdout = is_checkpoint(label);
  // A guard is asked again. A phase may be called anything, but has the number of its attempt.
  const bool is_guard = label.starts_with("guard ") && label.find('#') == std::string::npos;
  spec.synced = !is_guard;
  return plan;
}

Result<Plan> plan_notify(EffectId id, const Notify& notify, const Surroundings& around) {
  Plan plan;
  RunSpec& spec = plan.spec;
  const State& state = around.state();
  Variables environment;
  if (!notify.about.empty()) {
    const Event& event = notify.about.front();
    spec.directory = root_of(state, event.project);
    if (const auto* project = state.projects.projects.find(event.project)) {
      environment.emplace_back("REEVE_PROJECT", project->name);
    }
    if (around.event_json) plan.stdin_text = around.event_json(event) + "\n";
  }
  environment.emplace_back("REEVE_TITLE", notify.title);
  environment.emplace_back("REEVE_MESSAGE", notify.message);
  if (notify.sound) environment.emplace_back("REEVE_SOUND", "1");
  for (const char* name : for_desktop) {
    const std::string value = value_of(around.environment, name);
    if (!value.empty()) environment.emplace_back(name, value);
  }
  spec.text = notify.command.empty() ? std::string(desktop_text) : notify.command;
  set_environment(spec, around, id, environment, {});
  spec.has_stdin = true;
  spec.timeout = notify_limit;
  spec.log = log_path(around, "", "notify", id);
  return plan;
}

Result<Plan> plan_queue(EffectId id,
                        const QueueName& queue,
                        const std::string& text,
                        const Variables& variables,
                        const Surroundings& around) {
  Plan plan;
  RunSpec& spec = plan.spec;
  const State& state = around.state();
  spec.text = text;
  spec.directory = root_of(state, queue.project);
  Variables environment;
  if (const auto* project = state.projects.projects.find(queue.project)) {
    environment.emplace_back("REEVE_PROJECT", project->name);
  }
  environment.emplace_back("REEVE_QUEUE", queue.name);
  set_environment(spec, around, id, environment, variables);
  spec.timeout = poll_limit;
  spec.only_stdout = true;
  spec.log = log_path(around, "", "queue " + queue.name, id);
  return plan;
}

}  // namespace

// A desktop that is not there keeps nobody from hearing.
std::string on_desktop_and(const std::string& command) {
  if (command.empty()) return {};
  return "(" + std::string(desktop_text) + ") </dev/null\n" + command;
}

std::string refusal_of(const Variables& variables) {
  std::string why;
  for (const auto& [name, value] : variables) {
    const std::string refusal = runbook::refusal_of(value);
    if (refusal.empty()) continue;
    why.append("the value of {").append(name).append("} ").append(refusal);
    break;
  }
  return why;
}

bool is_allowed(std::string_view name) {
  return name.starts_with("LC_") || std::ranges::find(allowed, name) != allowed.end();
}

std::string root_of(const State& state, ProjectNo project) {
  if (const definition::Set* set = definition::current(state.definitions, project)) {
    if (!set->root.empty()) return set->root;
  }
  const project::Project* known = state.projects.projects.find(project);
  return known ? known->path : std::string();
}

std::string root_of(const State& state, PipelineId pipeline) {
  const pipeline::Pipeline* found = state.pipelines.pipelines.find(pipeline);
  if (!found) return {};
  const definition::Set* set = definition::find(state.definitions, found->origin->set);
  return set && !set->root.empty() ? set->root : root_of(state, found->project);
}

std::string run_path(const Surroundings& around, EffectId id) {
  return around.home + "/runs/" + to_text(id);
}

std::string log_path(const Surroundings& around,
                     std::string_view folder,
                     std::string_view label,
                     EffectId id) {
  std::string path = around.home + "/logs/";
  if (!folder.empty()) path += std::string(folder) + "/";
  path += codec::log_name(label);
  const bool is_attempt = label.find('#') != std::string_view::npos || label == "agent";
  if (is_attempt) path += "." + to_text(id);
  return path + ".log";
}

void set_environment(RunSpec& spec,
                     const Surroundings& around,
                     EffectId id,
                     const Variables& environment,
                     const Variables& variables) {
  Variables& result = spec.environment;
  if (value_of(environment, "PATH").empty()) {
    for (const auto& [name, value] : around.environment) {
      if (is_allowed(name)) set(result, name, value);
    }
  }
  const std::string names = " " + value_of(environment, passed_variable) + " ";
  for (const auto& [name, value] : environment) {
    if (name == passed_variable) continue;
    if (name != secrets_variable) {
      set(result, name, value);
      continue;
    }
    Passed passed = read_secrets(value);
    for (const auto& [key, text] : passed.variables) {
      if (names.find(" " + key + " ") != std::string::npos) set(result, key, text);
    }
    spec.secrets = std::move(passed.secrets);  // also those of others, should it come to know one
  }
  // Steps say `reeve done`: they find the one that runs them if they know no other.
  std::string path = value_of(result, "PATH");
  if (path.empty()) path = "/usr/local/bin:/usr/bin:/bin";
  const std::string own = around.program.substr(0, around.program.rfind('/'));
  if ((":" + path + ":").find(":" + own + ":") == std::string::npos) path += ":" + own;
  set(result, "PATH", path);
  const std::string run = run_path(around, id);
  set(result, "REEVE_HOME", around.home);
  set(result, "REEVE_SOCKET", around.socket);
  set(result, "REEVE_RUN", run);
  set(result, "REEVE_OUTPUT", run + "/output");
  // Of two with one name the first counts, as everywhere: an input hides what is built in.
  for (auto at = variables.rbegin(); at != variables.rend(); ++at) {
    set(result, runbook::variable_name(at->first), at->second);
  }
}

Result<Plan> plan_for(const Start& start, const Surroundings& around) {
  const EffectId id = start.id;
  return match(
      start.effect.what,
      [&](const Shell& it) {
        if (!std::holds_alternative<ToNobody>(start.effect.to))
          return plan_shell(start, it, around);
        // The fields of a hook's event come after what is built in, and hide it: of
        // `reeve emit service:down id=web` {id} is web.
        Shell hook = it;
        std::ranges::reverse(hook.variables);
        return plan_shell(start, hook, around);
      },
      [&](const Spawn& it) { return plan_for(id, it, around); },
      [&](const Send& it) { return plan_for(id, it, around); },
      [&](const Kill&) -> Result<Plan> {
        return fail(Error::Code::BadRequest, "an end is not run");
      },
      [&](const Nudge& it) { return plan_for(id, it, around); },
      [&](const WorktreeAdd& it) { return plan_for(id, it, around); },
      [&](const WorktreeRemove& it) { return plan_for(id, it, around); },
      [&](const Merge& it) { return plan_for(id, it, around); },
      [&](const Notify& it) { return plan_notify(id, it, around); },
      [&](const PollQueue& it) {
        Result<Plan> plan = plan_queue(id, it.queue, it.command, {}, around);
        if (plan) plan->spec.synced = false;
        return plan;
      },
      [&](const TakeQueueItem& it) {
        return plan_queue(id, it.queue, it.command, {{"id", it.outside_id}}, around);
      });
}

Outcome outcome_for(const Outer& effect,
                    const RunDirectory& folder,
                    Outcome held,
                    const State& state) {
  const PollQueue* poll = std::get_if<PollQueue>(&effect);
  if (!poll) return held;
  held.values.clear();
  if (held.ended != Ended::Done || held.exit_code != 0) return held;
  held.output.clear();
  const std::string said = read_whole(folder.file("stdout")).value_or("");
  Result<Variables> items = parse_items(said);
  if (items) {
    held.values = *std::move(items);
    const queue::QueueNo* no = state.queues.names.find(poll->queue);
    for (auto& [id, data] : held.values) {
      if (no && state.queues.listed.contains({*no, id})) data.clear();
    }
  } else {
    held.ended = Ended::Failed;
    // No JSON has a line of ours (BoundedLog).
    const bool was_cut = said.find("\n[reeve] ... ") != std::string::npos;
    held.error = was_cut ? "the source says more than 8 MiB, or there is no room for what it says"
                         : items.error().message;
  }
  return held;
}

}  // namespace reeve::adapters
