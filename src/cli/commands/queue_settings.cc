#include "cli/commands/queue_settings.h"

#include "cli/text.h"

#include <fmt/format.h>

#include <string_view>

namespace reeve::cli {

std::string settings_of(const Json& queue) {
  const auto lapse = [&](std::string_view name) { return rough_duration(queue[name].number()); };
  const std::int64_t attempts = queue["max_attempts"].number();
  std::string text =
      fmt::format("visibility {}, {}",
                  lapse("visibility_ms"),
                  attempts == 0 ? "any number of attempts" : counted(attempts, "attempt"));
  if (queue.has("backoff_first_ms")) {
    text += fmt::format(", backoff {}..{}", lapse("backoff_first_ms"), lapse("backoff_max_ms"));
    text += fmt::format(", keeps {} completed for {} and dead ones {}",
                        with_commas(queue["keep_completed"].number()),
                        lapse("keep_completed_ms"),
                        queue.has("keep_dead_ms") ? "for " + lapse("keep_dead_ms") : "for good");
  }
  if (queue.has("dead_letter")) {
    text += fmt::format(", dead letters to {}", printable(queue["dead_letter"].text()));
  }
  return text;
}

}  // namespace reeve::cli
