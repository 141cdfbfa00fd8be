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
  const auto files = context.settings_files();
  if (!files) return std::unexpected(files.error());
  const auto settings = context.settings();
  if (!settings) return std::unexpected(settings.error());
  const bool has_own_file = !files->project.empty();
  Json params = Json::object();
  for (const auto& [key, field] : fields) {
    const bool is_set =
        (*settings)->user().find(key) != nullptr || (*settings)->project().find(key) != nullptr;
    if (is_set || has_own_file) params.set(field, in_ms(**settings, key));
  }
  if (params.members().empty()) return {};
  const Answer answer = context.client().change("board.configure", params);
  if (!answer) return std::unexpected(answer.error());
  return {};
}

void send_locking_setting(Context& context, const config::Key& key) {
  for (const auto& [name, field] : fields) {
    if (name != key.name) continue;
    const auto settings = context.settings();
    if (!settings) return;
    // Nobody runs, or no board is there: the next command of the board says what is set.
    Client client(context.client().where());
    client.only_look();
    if (!client.connect(false)) return;
    (void)client.change("board.configure", json_of({{field, in_ms(**settings, name)}}));
  }
}

}  // namespace reeve::cli
