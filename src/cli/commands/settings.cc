#include "cli/commands/settings.h"

#include "base/match.h"
#include "cli/text.h"

#include <fmt/format.h>

namespace reeve::cli {

Failure no_such_key(std::string_view typed) {
  const std::string_view meant = config::nearest_key(typed);
  return {"NOT_FOUND",
          meant.empty()
              ? fmt::format("there is no key {}; `reeve config list` has all", printable(typed))
              : fmt::format("there is no key {}; did you mean {}?", printable(typed), meant)};
}

Json json_of_value(const config::InForce& in_force) {
  return match(
      in_force.value,
      [&](const Duration&) { return Json(in_force.text); },
      [&](const config::Size&) { return Json(in_force.text); },
      [](const std::int64_t& it) { return Json(it); },
      [](const bool& it) { return Json(it); },
      [](const std::string& it) { return Json(it); },
      [](const std::vector<std::string>& it) {
        Json all = Json::array();
        for (const std::string& each : it) all.push(each);
        return all;
      });
}

std::string short_path(const std::string& path) {
  const std::string home = environment("HOME").value_or("");
  if (home.size() < 2 || !path.starts_with(home + "/")) return path;
  return "~" + path.substr(home.size());
}

std::string where_of(const config::InForce& in_force) {
  switch (in_force.origin) {
    case config::Origin::Default:
      return "default";
    case config::Origin::User:
      return fmt::format("{}:{}", printable(short_path(in_force.file)), in_force.place.line);
    case config::Origin::Project:
      return fmt::format(".reeve/config.toml:{}", in_force.place.line);
  }
  return "";
}

}  // namespace reeve::cli
