#include "runbook/section.h"

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

definition::Map environment_in(Section& section, std::vector<Asked>& asked) {
  definition::Map env;
  for (const auto& [member, text] : section.map({"env"})) {
    if (!is_variable_name(member->key)) {
      section.mistake(
          section.where_of(member->place),
          fmt::format("`env` in {}: `{}` cannot be the name of an environment variable: "
                      "letters, digits and _, and no digit first",
                      section.label(),
                      member->key));
    }
    if (member->value.kind == Value::Kind::Text) section.ask(member->value, asked);
    env.emplace_back(member->key, text);
  }
  return env;
}

}  // namespace reeve::runbook
