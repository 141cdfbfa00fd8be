#pragma once

#include "api/limits.h"
#include "api/rpc.h"

#include <algorithm>
#include <string>
#include <string_view>

// Lists come a page at a time: `prefix`, `after` and `limit` of the request, `next` of the answer.
namespace reeve::api {

// Reads them into what is kept of the request: name the prefix, second where to begin, number how
// many.
inline void keep_page(Asking& ask, std::size_t limit = limits::list_entries) {
  ask.kept.name = ask.params.text("prefix").value_or("");
  ask.kept.second = ask.params.text("after").value_or("");
  ask.kept.number = ask.params.integer("limit", 1, limits::list_entries)
                        .value_or(static_cast<std::int64_t>(limit));
}

// A name as it was written in the request.
template <class Name>
Name name_written(std::string_view text, ProjectNo project) {
  if (text.starts_with("//")) return {shared_project, std::string(text.substr(2))};
  return {project, std::string(text)};
}
template <class Name>
Name name_of(const Tell& tell) {
  return name_written<Name>(tell.kept().name, tell.project());
}

// The entries of the request's project, then the shared ones, that begin with the prefix; each is
// shown as an object. The names shown are in order, so the last one says where the next page
// begins.
template <class Map, class Show>
void page_of_names(Tell& tell, const Map& map, std::string_view field, Show show) {
  using Name = std::remove_cvref_t<decltype(map.begin()->first)>;
  const std::string& prefix = tell.kept().name;
  const std::string& after = tell.kept().second;
  const std::size_t limit = static_cast<std::size_t>(tell.kept().number);
  std::size_t count = 0;
  std::string last;
  bool more = false;
  tell.json.key(field).begin_array();
  const auto walk = [&](ProjectNo project, std::string_view beginning, std::string_view from) {
    const Name first{project, std::string(std::max(beginning, from))};
    for (auto at = map.lower_bound(first); at != map.end() && !more; ++at) {
      const auto& [name, value] = *at;
      if (name.project != project || !std::string_view(name.name).starts_with(beginning)) break;
      if (name.name == from) continue;
      if (count == limit || tell.size() > limits::list_bytes) {
        more = true;
        break;
      }
      ++count;
      last = tell.name(name);
      tell.json.begin_object();
      show(name, value);
      tell.json.end_object();
    }
  };
  const std::string_view shared = "//";
  const bool after_shared = after.starts_with(shared);
  if (!after_shared && !prefix.starts_with(shared)) walk(tell.project(), prefix, after);
  const bool wants_shared = prefix.empty() || prefix.starts_with(shared);
  if (wants_shared && tell.project() != shared_project) {
    walk(shared_project,
         prefix.empty() ? std::string_view() : std::string_view(prefix).substr(2),
         after_shared ? std::string_view(after).substr(2) : std::string_view());
  }
  tell.json.end_array();
  if (more) tell.json.field("next", last);
}

}  // namespace reeve::api
