#include "core/json_object.h"
#include "core/worker.h"

#include <algorithm>
#include <utility>

// How the data of an item become the inputs of a pipeline.
namespace reeve::worker {

definition::Map inputs_from(const std::vector<std::string>& names,
                            std::string_view data,
                            bool json) {
  if (names.empty()) return {};
  const auto members = json ? json::read_object(data) : std::nullopt;
  if (!members) {
    std::optional<std::string> said = json ? json::read_string(data) : std::nullopt;
    return {{names.front(), said ? *std::move(said) : std::string(data)}};
  }
  definition::Map inputs;
  bool has_first = false;
  for (const json::Member& member : *members) {
    if (std::ranges::find(names, member.key) == names.end()) continue;
    has_first |= member.key == names.front();
    const bool is_null = !member.is_string && member.value == "null";
    const bool is_there =
        std::ranges::find(inputs, member.key, &std::pair<std::string, std::string>::first) !=
        inputs.end();
    if (!is_null && !is_there) inputs.emplace_back(member.key, member.value);
  }
  if (!has_first) inputs.emplace_back(names.front(), std::string(data));
  return inputs;
}

}  // namespace reeve::worker
