#include "api/show.h"
#include "api/tell.h"
#include "daemon/loop.h"

#include <filesystem>
#include <string_view>
#include <system_error>
#include <unistd.h>

// What the hands know of the daemon they belong to, and what the watch over runbooks does.
namespace reeve::daemon {

adapters::Surroundings Loop::surroundings(const adapters::Inherited& for_runs) {
  adapters::Surroundings around;
  around.for_runs = for_runs;
  around.home = about_.home;
  around.socket = about_.socket;
  std::error_code ignored;
  around.program = std::filesystem::read_symlink("/proc/self/exe", ignored).string();
  // An upgrade has put another file in the place of ours: that one holds as well.
  constexpr std::string_view deleted = " (deleted)";
  if (around.program.ends_with(deleted)) {
    around.program.resize(around.program.size() - deleted.size());
  }
  for (char** variable = environ; *variable != nullptr; ++variable) {
    const std::string_view text = *variable;
    const std::size_t equals = text.find('=');
    if (equals == std::string_view::npos) continue;
    around.environment.emplace_back(text.substr(0, equals), text.substr(equals + 1));
  }
  around.state = [this]() -> const State& { return engine_.state(); };
  around.event_json = [this](const Event& event) { return json_of(event); };
  return around;
}

// Every turn asks whether there are other definitions in force than before; the maps share what is
// equal, so that takes no longer with many projects. `since`: what changed before that was seen.
void Loop::watch_runbooks(Wall since) {
  if (!runbook_watch_) return;
  for (const std::string& line : runbook_watch_->take_lines()) log_.line(line);
  const State& state = engine_.state();
  if (watched_ == state.definitions.current) return;
  watched_ = state.definitions.current;
  RunbookWatch::Places places;
  for (const auto& [number, hash] : watched_) {
    const definition::Set* const set = definition::current(state.definitions, number);
    const project::Project* const project = state.projects.projects.find(number);
    if (!set || !project || set->root.empty()) continue;
    places[number] = {project->name, set->root};
  }
  runbook_watch_->watch(std::move(places), since);
}

std::string Loop::json_of(const Event& event) const {
  std::string text;
  api::Tell tell(text, "", 0, now_, event.project, api::Tell::Part{});
  tell.json.begin_object();
  api::show_event(tell, engine_.state(), event);
  tell.json.end_object();
  return text;
}

}  // namespace reeve::daemon
