#include "cli/commands/queue_settings.h"

#include "cli/text.h"

#include <fmt/format.h>

namespace reeve::cli {

Result<Backoff> read_backoff(std::string_view text) {
  const std::size_t dots = text.find("..");
  const Result<Duration> first = parse_duration(text.substr(0, dots));
  const Result<Duration> longest =
      dots == std::string_view::npos ? first : parse_duration(text.substr(dots + 2));
  if (!first || !longest) {
    return reeve::fail(
        Error::Code::BadRequest,
        fmt::format("--backoff wants two durations such as 1s..5m, not \"{}\"", text));
  }
  if (*longest < *first) {
    return reeve::fail(
        Error::Code::BadRequest,
        fmt::format("--backoff {}: the first pause is longer than the longest, which comes second",
                    text));
  }
  return Backoff{*first, *longest};
}

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
