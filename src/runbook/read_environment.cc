#include "runbook/section.h"
#include "runbook/shell_names.h"

#include <fmt/format.h>

#include <algorithm>

// The table `env` of phases and agents.
namespace reeve::runbook {

bool is_variable_name(std::string_view name) {
  constexpr std::string_view letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_";
  constexpr std::string_view digits = "0123456789";
  return !name.empty() && letters.contains(name.front()) &&
         std::ranges::all_of(
             name, [&](char each) { return letters.contains(each) || digits.contains(each); });
}

Environment environment_in(Section& section, std::vector<Asked>& asked) {
  Environment env;
  for (const auto& [member, text] : section.map({"env"})) {
    if (!is_variable_name(member->key)) {
      section.mistake(
          section.where_of(member->place),
          fmt::format("`env` in {}: `{}` cannot be the name of an environment variable: "
                      "letters, digits and _, and no digit first",
                      section.label(),
                      member->key));
    }
    const std::size_t before = asked.size();
    if (member->value.kind == Value::Kind::Text) section.ask(member->value, asked);
    env.variables.emplace_back(member->key, text);
    if (asked.size() == before) continue;
    if (shell::runs_its_value_at_start(member->key)) {
      section.mistake(asked[before].where,
                      fmt::format("`env` in {}: {{{}}} cannot stand in {}: bash would run what it "
                                  "says, or be run another way",
                                  section.label(),
                                  asked[before].name,
                                  member->key));
    } else {
      env.carriers.push_back({member->key, section.where_of(member->place)});
    }
  }
  section.carry(env.carriers);
  return env;
}

}  // namespace reeve::runbook
