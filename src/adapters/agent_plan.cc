#include "adapters/agent_plan.h"

#include "runbook/shell_text.h"

#include <chrono>

namespace reeve::adapters {
namespace {

using namespace std::chrono_literals;

constexpr Duration tmux_limit = 5s;
constexpr Duration start_limit = 15s;
constexpr std::size_t prompt_limit = std::size_t{1} << 20U;
// A socket's address has room for 107 bytes; what is longer is reached from its folder.
constexpr std::size_t socket_limit = 100;

constexpr std::string_view tmux_begin = R"bash(
set -u
die() { echo "$*"; exit 1; }
command -v tmux >/dev/null || die "there is no tmux on this machine"
exec 7<&0 </dev/null
cd "$T_HOME" || die "the home is not there"
t() { REEVE_TMUX_SERVER=1 tmux -S "$T_SOCKET" -f /dev/null "$@"; }
type_in() {  # what came on stdin, and a return
  t load-buffer -b "$T_BUFFER" - <&7 && t paste-buffer -d -p -b "$T_BUFFER" -t "=$T_SESSION:" &&
    sleep 0.1 && t send-keys -t "=$T_SESSION:" Enter
}
)bash";

// What tmux reads in a pipe's command has two layers of its own: formats and the calendar.
constexpr std::string_view start_text = R"bash(
# For any shell: tmux has its own, and that is not always bash.
quoted() { printf "'%s'" "${1//\'/\'\\\'\'}"; }
pipe="exec $(quoted "$T_PROGRAM") hold --log $(quoted "$T_LOG") $(quoted "$T_PANE")"
pipe=${pipe//\#/##}; pipe=${pipe//%/%%}
for _ in 1 2 3; do
  t start-server \; set-option -g history-limit 20000 \; set-option -g escape-time 0 \; \
    new-session -d -s "$T_SESSION" -x 200 -y 50 -- "$T_PROGRAM" hold "$T_PANE" \; \
    pipe-pane -t "=$T_SESSION:" "$pipe" && break
  t has-session -t "=$T_SESSION" 2>/dev/null && break
  sleep 0.2
done
for ((i = 0; i < 100; ++i)); do
  [[ -e $T_PANE/started ]] && break
  sleep 0.05
done
[[ -e $T_PANE/started ]] || { t kill-session -t "=$T_SESSION"; die "its session did not begin"; }
[[ -s /dev/fd/7 ]] || exit 0
# Who has just begun may throw away what was typed before it listened: until it shows something,
# or a second has passed.
for ((i = 0; i < 20; ++i)); do
  [[ -n $(t capture-pane -p -t "=$T_SESSION:" 2>/dev/null | tr -d '[:space:]') ]] && break
  [[ -e $T_PANE/exit ]] && exit 0
  sleep 0.05
done
type_in || [[ -e $T_PANE/exit ]] || die "the prompt could not be typed"
exit 0
)bash";

constexpr std::string_view send_text = R"bash(
t has-session -t "=$T_SESSION" 2>/dev/null || die "its session is not there any more"
type_in || die "it could not be typed"
)bash";

bool can_run(const std::string& kind) { return kind.empty() || kind == "generic"; }

Variables tmux_variables(WorkId work, const Surroundings& around) {
  const std::string socket = around.home + "/tmux.sock";
  return {{"T_HOME", around.home},
          {"T_SOCKET", socket.size() <= socket_limit ? socket : "tmux.sock"},
          {"T_SESSION", to_text(work)}};
}

// What is typed is only text: whatever else a terminal understands (the end of a paste, ^C, ^D)
// would be obeyed there. Newlines and tabs stay.
std::string typed(std::string_view text) {
  std::string result;
  const std::string clean = clean_text(text);
  for (std::size_t at = 0; at < clean.size(); ++at) {
    const auto byte = static_cast<unsigned char>(clean[at]);
    const bool is_c1 =
        byte == 0xC2 && at + 1 < clean.size() && static_cast<unsigned char>(clean[at + 1]) < 0xA0;
    if (is_c1) {
      ++at;
    } else if (byte == '\n' || byte == '\t' || (byte >= 0x20 && byte != 0x7F)) {
      result += clean[at];
    }
  }
  return result;
}

Result<std::string> prompt_of(const Spawn& spawn) {
  if (spawn.prompt_file.empty()) return spawn.prompt;
  const bool absolute = spawn.prompt_file.starts_with('/');
  const std::string path = absolute ? spawn.prompt_file : spawn.workspace + "/" + spawn.prompt_file;
  std::optional<std::string> text = read_whole(path, prompt_limit);
  if (!text) return fail(Error::Code::NotFound, "the prompt cannot be read from " + path);
  return *std::move(text);
}

Plan plan_typing(EffectId id, WorkId work, const std::string& text, const Surroundings& around) {
  Plan plan;
  plan.spec.text = std::string(tmux_begin) + std::string(send_text);
  Variables values = tmux_variables(work, around);
  values.emplace_back("T_BUFFER", "reeve-" + to_text(id));
  set_environment(plan.spec, around, id, values, {});
  plan.spec.timeout = tmux_limit;
  plan.spec.has_stdin = true;
  plan.spec.log = log_path(around, to_text(work), "messages", id);
  plan.stdin_text = typed(text);
  return plan;
}

}  // namespace

std::string start_path(const Surroundings& around, EffectId id) {
  return run_path(around, id) + ".start";
}

Result<Plan> plan_for(EffectId id, const Spawn& spawn, const Surroundings& around) {
  if (!can_run(spawn.kind)) {
    return fail(Error::Code::BadRequest, "this version cannot run agents of kind " + spawn.kind);
  }
  if (std::string why = refusal_of(spawn.variables); !why.empty()) {
    return fail(Error::Code::BadRequest, std::move(why));
  }
  Result<std::string> prompt = prompt_of(spawn);
  if (!prompt) return fail(prompt.error());
  Plan plan;
  RunSpec& spec = plan.spec;
  spec.text = spawn.command;
  spec.directory = spawn.workspace;
  Variables environment = spawn.environment;
  environment.emplace_back("REEVE_AGENT", to_text(spawn.work));
  if (runbook::refusal_of(*prompt).empty()) environment.emplace_back("REEVE_PROMPT", *prompt);
  set_environment(spec, around, id, environment, spawn.variables);
  spec.timeout = spawn.timeout;
  spec.has_stdin = true;
  spec.log = log_path(around, to_text(spawn.work), "agent", id);
  plan.stdin_text = *std::move(prompt);
  return plan;
}

Result<SessionPlan> session_plan(EffectId id, const Spawn& spawn, const Surroundings& around) {
  Result<Plan> pane = plan_for(id, spawn, around);
  if (!pane) return fail(pane.error());
  SessionPlan plan{*std::move(pane), {}};
  plan.start.stdin_text = typed(std::exchange(plan.pane.stdin_text, {}));
  plan.pane.spec.has_stdin = false;
  plan.pane.spec.in_pane = true;
  plan.pane.spec.timeout.reset();  // the core keeps its time

  RunSpec& spec = plan.start.spec;
  spec.text = std::string(tmux_begin) + std::string(start_text);
  Variables values = tmux_variables(spawn.work, around);
  values.emplace_back("T_BUFFER", "reeve-" + to_text(id));
  values.emplace_back("T_PROGRAM", around.program);
  values.emplace_back("T_PANE", run_path(around, id));
  values.emplace_back("T_LOG", plan.pane.spec.log);
  // The server inherits this, and with it every later session; each has its own from its hold.
  set_environment(spec, around, id, values, {});
  std::erase_if(spec.environment, [](const auto& entry) { return entry.first == "REEVE_RUN"; });
  spec.timeout = start_limit;
  spec.has_stdin = true;
  spec.leaves_others = true;
  spec.log = log_path(around, to_text(spawn.work), "session", id);
  return plan;
}

Result<Plan> plan_for(EffectId id, const Send& send, const Surroundings& around) {
  return plan_typing(id, send.work, send.text, around);
}

Result<Plan> plan_for(EffectId id, const Nudge& nudge, const Surroundings& around) {
  return plan_typing(id, nudge.work, nudge.text.empty() ? "continue" : nudge.text, around);
}

}  // namespace reeve::adapters
