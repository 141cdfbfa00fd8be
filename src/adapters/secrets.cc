#include "adapters/secrets.h"

#include "adapters/run_directory.h"

#include <algorithm>
#include <string>
#include <string_view>

namespace reeve::adapters {

void add_secrets(Variables& environment) {
  const auto is_it = [](const auto& entry) { return entry.first == "REEVE_SECRETS"; };
  const auto found = std::ranges::find_if(environment, is_it);
  if (found == environment.end()) return;
  const std::string path = found->second;
  std::erase_if(environment, is_it);
  const std::optional<std::string> text = read_whole(path);
  if (!text) return;
  for (std::string_view rest = *text; !rest.empty();) {
    const std::size_t end = std::min(rest.find('\0'), rest.size());
    const std::string_view entry = rest.substr(0, end);
    rest.remove_prefix(std::min(rest.size(), end + 1));
    const std::size_t equals = entry.find('=');
    if (equals == std::string_view::npos || equals < 2) continue;
    const std::string name(entry.substr(1, equals - 1));
    std::erase_if(environment, [&](const auto& other) { return other.first == name; });
    environment.emplace_back(name, entry.substr(equals + 1));
  }
}

}  // namespace reeve::adapters
