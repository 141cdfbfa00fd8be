#include "api/errors.h"
#include "api/fields.h"
#include "api/methods.h"
#include "api/rpc.h"
#include "codec/json.h"
#include "core/shapes.h"

#include <fmt/format.h>

// What a project's runbooks define. Whoever has read them hands over the definitions, which are
// values of the core as docs/value_format.md writes them.
namespace reeve::api {
namespace {

// The loader does not know the project's number: what it calls by name gets it here.
void settle_names(definition::Set& set, ProjectNo project) {
  const auto queues = set.queues;
  for (const auto& [name, config] : queues) {
    if (!config.dead_letter) continue;
    queue::Config here = config;
    const std::string& dead = config.dead_letter->name;
    here.dead_letter = dead.starts_with("//") ? QueueName{shared_project, dead.substr(2)}
                                              : QueueName{project, dead};
    set.queues.set(name, here);
  }
}

void load(Asking& ask) {
  const Raw* raw = ask.params.raw("set");
  definition::Load command{ask.project(), {}};
  if (!raw) {
    ask.params.missing("set");
  } else {
    const Result<Command> read = codec::from_json<Command>(raw->text);
    const auto* of_definition = read ? std::get_if<definition::Command>(&*read) : nullptr;
    const auto* given = of_definition ? std::get_if<definition::Load>(of_definition) : nullptr;
    if (!read) {
      ask.params.refuse("set", fmt::format("cannot be read: {}", read.error().message));
    } else if (!given || !given->set) {
      ask.params.refuse("set", "must be a set of definitions");
    } else {
      definition::Set set = *given->set;
      settle_names(set, ask.project());
      ask.kept.name = set.hash;
      command.set = Boxed<definition::Set>(std::move(set));
    }
  }
  ask.submit("runbook", std::move(command), [](Tell& tell, const Reply&) {
    tell.result().field("hash", tell.kept().name);
  });
}

void show_current(Tell& tell, const State& state) {
  const definition::Set* set = definition::current(state.definitions, tell.project());
  JsonWriter& json = tell.result();
  if (!set) return;
  json.field("hash", set->hash).field("root", set->root);
  const auto names = [&](std::string_view field, const auto& map) {
    json.key(field).begin_array();
    for (const auto& entry : map) json.text(entry.first);
    json.end_array();
  };
  names("pipelines", set->pipelines);
  names("workers", set->workers);
  names("crons", set->crons);
  names("queues", set->queues);
  names("locks", set->locks);
  names("semaphores", set->semaphores);
}

void get(Asking& ask) { ask.look(show_current); }

constexpr Named methods[] = {
    {"runbook.load", load},
    {"runbook.get", get},
};

}  // namespace

std::span<const Named> runbook_methods() { return methods; }

}  // namespace reeve::api
