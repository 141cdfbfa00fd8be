#include "daemon/settings.h"

#include <charconv>
#include <cstdlib>
#include <string_view>

namespace reeve::daemon {

Settings settings_of_environment(Settings settings) {
  const auto variable = [](const char* name) -> std::string_view {
    const char* text = std::getenv(name);  // NOLINT(concurrency-mt-unsafe): one thread yet
    return text ? text : "";
  };
  if (variable("REEVE_HISTORY") == "off") settings.history.enabled = false;
  if (const std::string_view text = variable("REEVE_HISTORY_EVENTS"); !text.empty()) {
    std::from_chars(text.data(), text.data() + text.size(), settings.history.most_events);
  }
  if (const auto keep = parse_duration(variable("REEVE_JOURNAL_KEEP"))) {
    settings.journal_keep = *keep;
  }
  return settings;
}

}  // namespace reeve::daemon
