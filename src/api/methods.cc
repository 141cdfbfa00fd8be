#include "api/methods.h"

#include "api/nearest.h"

#include <algorithm>
#include <vector>

namespace reeve::api {
namespace {

const std::vector<Named>& all_methods() {
  static const std::vector<Named> all = [] {
    std::vector<Named> methods;
    for (const std::span<const Named> some : {lock_methods(),
                                              sem_methods(),
                                              queue_methods(),
                                              session_methods(),
                                              event_methods(),
                                              state_methods(),
                                              daemon_methods(),
                                              runbook_methods(),
                                              pipeline_methods(),
                                              worker_methods(),
                                              decision_methods(),
                                              agent_methods(),
                                              history_methods(),
                                              task_methods(),
                                              section_methods(),
                                              runner_methods()}) {
      methods.insert(methods.end(), some.begin(), some.end());
    }
    std::ranges::sort(methods, {}, &Named::name);
    return methods;
  }();
  return all;
}

}  // namespace

Method find_method(std::string_view name) {
  const std::vector<Named>& all = all_methods();
  const auto found = std::ranges::lower_bound(all, name, {}, &Named::name);
  return found != all.end() && found->name == name ? found->method : nullptr;
}

std::string_view nearest_method(std::string_view name) {
  std::vector<std::string_view> names;
  for (const Named& known : all_methods()) names.push_back(known.name);
  return nearest(name, names);
}

}  // namespace reeve::api
