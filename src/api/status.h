#pragma once

#include "api/tell.h"
#include "core/state.h"

// Everything at once, for one screen: status.get.
namespace reeve::api {

// The things of a project, then the shared ones, until `each` has had enough.
template <class Map, class Each>
void each_of(const Map& map, ProjectNo project, Each each) {
  using Name = std::remove_cvref_t<decltype(map.begin()->first)>;
  for (const ProjectNo of : {project, shared_project}) {
    for (auto at = map.lower_bound(Name{of, ""}); at != map.end() && at->first.project == of;
         ++at) {
      if (!each(at->first, at->second)) return;
    }
    if (project == shared_project) return;
  }
}

void show_status(Tell& tell, const State& state);

}  // namespace reeve::api
