#include "api/errors.h"
#include "api/methods.h"
#include "api/rpc.h"

#include <fmt/format.h>

#include <algorithm>

// What can be asked of the daemon itself.
namespace reeve::api {
namespace {

void show_status(Tell& tell, const State& state) {
  Steward& steward = tell.desk().steward();
  const About& about = steward.about();
  const engine::Engine& engine = tell.desk().engine();
  const Steward::JournalUse use = steward.journal_use();
  JsonWriter& json = tell.result();
  json.field("pid", about.pid).field("version", about.version);
  json.field("uptime_ms", (tell.now().now - about.started).count());
  json.field("socket", about.socket).field("home", about.home);
  // More may be durable by now, but this is the answer at `seq`.
  json.field("durable_seq", std::min(engine.durable(), state.sequence));
  json.field("connections", steward.connections());
  json.field("sessions", state.sessions.sessions.size());
  json.field("state_bytes", engine.state_bytes());
  json.key("journal").begin_object().field("bytes", use.bytes).field("segments", use.segments);
  json.field("checkpoint_seq", use.checkpoint).end_object();
  const Steward::HistoryUse history = steward.history();
  json.key("history").begin_object().field("state", history.state);
  json.field("seq", history.passed).field("events", history.events);
  json.field("waiting_bytes", history.waiting_bytes).field("path", history.path);
  if (!history.problem.empty()) json.field("problem", history.problem);
  json.end_object();
  json.field("ready", true);
}

void status(Asking& ask) { ask.look(show_status); }

void stop(Asking& ask) {
  const bool kill = ask.params.flag("kill");
  if (!ask.params.finish()) return ask.answer([](Tell&) {});
  ask.desk().steward().stop(kill);
  ask.answer([](Tell& tell) { tell.result(); });
}

void checkpoint(Asking& ask) { ask.checkpoint(); }

void reload(Asking& ask) {
  if (!ask.params.finish()) return ask.answer([](Tell&) {});
  const Result<void> read = ask.desk().steward().reload();
  ask.answer([read](Tell& tell) {
    if (read) {
      tell.result();
    } else {
      tell.error(code::config_wrong, read.error().message);
    }
  });
}

constexpr Named methods[] = {
    {"daemon.status", status},
    {"daemon.stop", stop},
    {"daemon.checkpoint", checkpoint},
    {"daemon.reload", reload},
};

}  // namespace

std::span<const Named> daemon_methods() { return methods; }

// The answer comes when it is written; whoever asked may be gone by then.
void Asking::checkpoint() {
  if (!is_good()) return;
  const auto show = [](Tell& tell, const Reply&) { tell.result(); };
  const Call call = rpc_.open(opened("checkpoint", show, nullptr));
  const SessionId asker = session();
  Desk& at = desk();
  at.steward().checkpoint([asker, call, &at](const Result<Sequence>& written) {
    Connection* connection = at.find(asker);
    if (!connection) return;
    if (written) {
      connection->replied(call, *written, Reply{Ok{}}, at.now());
    } else {
      connection->unavailable(call, written.error());
    }
  });
}

}  // namespace reeve::api
