#include "cli/locking.h"

#include <array>
#include <string_view>
#include <utility>

namespace reeve::cli {

namespace {

constexpr std::array<std::pair<std::string_view, std::string_view>, 3> fields{
    {{"locking.task_timeout", "task_timeout_ms"},
     {"locking.section_timeout", "section_timeout_ms"},
     {"locking.wait_timeout", "wait_timeout_ms"}}};

Json in_ms(const config::Settings& settings, std::string_view key) {
  return static_cast<std::int64_t>(settings.duration(key).count());
}

}  // namespace

std::expected<void, Failure> send_locking_settings(Context& context) {
  const auto settings = context.settings();
  if (!settings) return std::unexpected(settings.error());
  Json params = Json::object();
  for (const auto& [key, field] : fields) params.set(field, in_ms(**settings, key));
  const Answer answer = context.client().change("board.configure", params);
  if (!answer) return std::unexpected(answer.error());
  return {};
}

}  // namespace reeve::cli
