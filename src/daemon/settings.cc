#include "daemon/settings.h"

#include "config/files.h"

#include <fmt/format.h>
#include <xxhash.h>

#include <charconv>
#include <chrono>
#include <cstdlib>
#include <string>
#include <string_view>

namespace reeve::daemon {
namespace {

// The same for the same notifications, whoever reads them and when.
std::string hash_of(const definition::Notifications& notifications) {
  std::string whole = fmt::format("{}:{}", notifications.command.size(), notifications.command);
  for (const std::string& pattern : notifications.on) {
    whole += fmt::format("{}:{}", pattern.size(), pattern);
  }
  const XXH128_hash_t hash = XXH3_128bits(whole.data(), whole.size());
  return fmt::format("settings-{:016x}{:016x}", hash.high64, hash.low64);
}

definition::Set set_of(definition::Notifications notifications) {
  definition::Set set;
  set.hash = hash_of(notifications);
  set.notifications = std::move(notifications);
  return set;
}

definition::Notifications notifications_of(const config::Settings& settings) {
  const std::string command = settings.text("notify.command");
  const bool on_desktop = settings.truth("notify.desktop");
  if (command.empty() && !on_desktop) return {};  // there is nobody to be told
  definition::Notifications notifications;
  notifications.on = settings.list("notify.on");
  notifications.command = on_desktop ? adapters::on_desktop_and(command) : command;
  return notifications;
}

}  // namespace

definition::Set Settings::notify_nobody() { return set_of({}); }

Settings settings_of(const config::Settings& settings) {
  Settings ours;
  ours.running_effects = static_cast<std::size_t>(settings.integer("limits.running_effects"));
  ours.keeping.run = settings.size("limits.run_output");
  ours.keeping.all = settings.size("limits.runs_bytes");
  ours.notifications = set_of(notifications_of(settings));
  ours.history.enabled = settings.truth("history.enabled");
  ours.history.keep = std::chrono::days{settings.integer("history.days")};
  ours.history.most_events = static_cast<std::uint64_t>(settings.integer("history.count"));
  ours.history.most_bytes = settings.size("history.bytes");
  ours.journal_keep = settings.duration("journal.keep");
  return ours;
}

Settings settings_of_environment(Settings settings) {
  const auto variable = [](const char* name) -> std::string_view {
    const char* text = std::getenv(name);  // NOLINT(concurrency-mt-unsafe): one thread yet
    return text ? text : "";
  };
  if (variable("REEVE_HISTORY") == "off") settings.history.enabled = false;
  const auto number = [&](const char* name, auto& to) {
    const std::string_view text = variable(name);
    std::from_chars(text.data(), text.data() + text.size(), to);
  };
  number("REEVE_HISTORY_EVENTS", settings.history.most_events);
  number("REEVE_HISTORY_BUFFER", settings.history.buffer_bytes);
  if (const auto keep = parse_duration(variable("REEVE_JOURNAL_KEEP"))) {
    settings.journal_keep = *keep;
  }
  return settings;
}

Result<Settings> read_user_settings() {
  const auto settings = config::read_settings(config::user_file(), "");
  if (settings) return settings_of_environment(settings_of(*settings));
  return fail(Error::Code::BadRequest, config::in_one_line(settings.error()));
}

}  // namespace reeve::daemon
