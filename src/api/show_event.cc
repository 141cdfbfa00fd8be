#include "api/show.h"
#include "codec/event_json.h"

namespace reeve::api {

void show_event(Tell& tell, const State& state, const Event& event) {
  JsonWriter& json = tell.json;
  const EventName name = name_of(event.body);
  json.field("seq", event.sequence).field("index", event.index);
  tell.moment("at", event.at);
  const project::Project* project = state.projects.projects.find(event.project);
  json.field("project", project ? project->name : "");
  json.field("name", codec::event_kind(name));
  if (!name.subject.empty()) json.field("subject", name.subject);
  std::string data;
  codec::append_event_data(data, event, tell.project(), tell.now());
  json.key("data").raw(data);
}

}  // namespace reeve::api
