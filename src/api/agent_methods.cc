#include "api/errors.h"
#include "api/fields.h"
#include "api/ids.h"
#include "api/methods.h"
#include "api/rpc.h"
#include "api/show_run.h"
#include "base/match.h"
#include "core/task_step.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

// Agents: what they say themselves, and what is said to them.
namespace reeve::api {
namespace {

const auto& tasks(const State& state) { return state.tasks.tasks; }

void tell_agent(Tell& tell, const Reply& reply) {
  const task::Reply* of_task = std::get_if<task::Reply>(&reply.value);
  if (!of_task) {
    tell.result().field("id", tell.kept().name);
    return;
  }
  match(
      *of_task,
      [&](const task::Begun& begun) {
        tell.result().key("id").plain(to_text(begun.work)).field("agent", tell.kept().name);
      },
      [&](const task::Beat& beat) {
        JsonWriter& json = tell.result().field("id", tell.kept().name);
        json.field("over", beat.over).field("paused", beat.paused);
        tell.moment("expires_at", beat.expires_at);
      },
      [&](const task::Superseded& superseded) {
        JsonWriter& json =
            tell.error(code::superseded,
                       fmt::format("{} was started anew, and this attempt no longer counts",
                                   tell.kept().name));
        json.field("name", tell.kept().name);
        if (superseded.current) json.field("current", to_text(superseded.current));
      },
      [&](const task::AlreadyDone&) {
        tell.result().field("id", tell.kept().name).field("outcome", "already_done");
      });
}

// An attempt, or the task that it is of.
template <class Make>
void change(Asking& ask, Make make) {
  const std::string text(ask.params.need_text("id"));
  if (!ask.params.finish()) return ask.answer([](Tell&) {});
  const auto id = id_asked<WorkId>(ask, ask.state().tasks.attempts, text, "agent");
  if (id) ask.submit("agent", make(*id), tell_agent);
}

void start(Asking& ask) {
  task::Run command;
  command.agent = ask.params.need_text("agent");
  command.prompt = ask.params.text("prompt").value_or("");
  command.variables = read_map(ask.params, "variables");
  command.environment = read_map(ask.params, "environment");
  const std::string_view hash = ask.params.text("runbook").value_or("");
  ask.kept.name = command.agent;
  if (ask.params.is_good() && !has_runbook(ask, hash)) return;
  ask.submit("agent", std::move(command), tell_agent);
}

void heartbeat(Asking& ask) {
  change(ask, [](WorkId id) { return task::Heartbeat{id}; });
}

void report(Asking& ask) {
  task::Report command;
  if (const auto error = ask.params.text("error")) command.error = std::string(*error);
  command.output = ask.params.text("output").value_or("");
  change(ask, [&](WorkId id) {
    command.work = id;
    return command;
  });
}

void nudge(Asking& ask) {
  const std::string text(ask.params.text("text").value_or(""));
  if (!text.empty() && !task::can_be_typed(text)) {
    ask.params.refuse("text", "has nothing that can be typed");
  }
  change(ask, [&](WorkId id) { return task::Nudge{id, text}; });
}

void send(Asking& ask) {
  const std::string text(ask.params.need_text("text"));
  const std::string message(ask.params.text("message").value_or(""));
  if (!task::can_be_typed(text)) ask.params.refuse("text", "has nothing that can be typed");
  change(ask, [&](WorkId id) { return task::SendText{id, message, text}; });
}

void restart(Asking& ask) {
  change(ask, [](WorkId id) { return task::Restart{id}; });
}

void kill(Asking& ask) {
  change(ask, [](WorkId id) { return task::Kill{id}; });
}

// What `state` may say: as they are shown, and `active`, all that are not over.
constexpr std::string_view states[] = {"active",
                                       "pending",
                                       "running",
                                       "working",
                                       "idle",
                                       "waiting_permission",
                                       "waiting_answer",
                                       "rate_limited",
                                       "errored",
                                       "exited",
                                       "stuck",
                                       "ending",
                                       "done",
                                       "failed",
                                       "cancelled"};

// kept: name the state that is wanted, second where to begin, number how many.
void show_list(Tell& tell, const State& state) {
  const std::string& wanted = tell.kept().name;
  std::size_t count = 0;
  WorkId last;
  bool more = false;
  tell.result().key("agents").begin_array();
  const auto after = parse_id<WorkId>(tell.kept().second);
  const WorkId first{after ? after->value + 1 : 0};
  for (auto at = tasks(state).lower_bound(first); at != tasks(state).end(); ++at) {
    const task::Task& task = at->second;
    if (task.begun->project != tell.project()) continue;
    if (!wanted.empty() && !is_among(state, task, wanted, tell.now().now)) continue;
    if (count == static_cast<std::size_t>(tell.kept().number) || tell.size() > limits::list_bytes) {
      more = true;
      break;
    }
    ++count;
    last = at->first;
    tell.json.begin_object();
    show_agent(tell, state, task);
    tell.json.end_object();
  }
  tell.json.end_array();
  if (more) tell.json.key("next").plain(to_text(last));
}

void list(Asking& ask) {
  ask.kept.name = ask.params.text("state").value_or("");
  if (!ask.kept.name.empty() && std::ranges::find(states, ask.kept.name) == std::end(states)) {
    ask.params.refuse("state", fmt::format("must be one of {}", fmt::join(states, ", ")));
  }
  ask.kept.second = ask.params.text("after").value_or("");
  ask.kept.number = ask.params.integer("limit", 1, limits::list_entries)
                        .value_or(static_cast<std::int64_t>(limits::list_entries));
  ask.look(show_list);
}

// By the task, or by any of its attempts.
void show_one(Tell& tell, const State& state) {
  const auto id = id_or_tell<WorkId>(tell, state.tasks.attempts, tell.kept().name, "agent");
  if (!id) return;
  const task::Attempt* attempt = state.tasks.attempts.find(*id);
  const task::Task* task = attempt ? tasks(state).find(attempt->work) : nullptr;
  if (!task) return tell_not_found(tell, "agent", tell.kept().name);
  tell.result();
  show_agent(tell, state, *task);
}

void show(Asking& ask) {
  ask.kept.name = ask.params.need_text("id");
  ask.look(show_one);
}

constexpr Named methods[] = {
    {"agent.start", start},
    {"agent.heartbeat", heartbeat},
    {"agent.report", report},
    {"agent.nudge", nudge},
    {"agent.send", send},
    {"agent.restart", restart},
    {"agent.kill", kill},
    {"agent.list", list},
    {"agent.show", show},
};

}  // namespace

std::span<const Named> agent_methods() { return methods; }

}  // namespace reeve::api
