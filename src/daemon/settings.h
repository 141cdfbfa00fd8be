#pragma once

#include "adapters/history/settings.h"
#include "adapters/plan.h"
#include "base/result.h"
#include "config/settings.h"
#include "core/definition.h"
#include "engine/limits.h"

#include <cstddef>

// What the user decides about their daemon (config/key.h). Only what changes nothing that the core
// has decided, or will: a replay has other settings, and must come to the same.
namespace reeve::daemon {

struct Settings {
  std::size_t running_effects = engine::limits::running_effects;
  adapters::Keeping keeping = {};
  // Whom to tell of the events of all projects: the definitions of the shared one.
  definition::Set notifications = notify_nobody();

  history::Settings history = {};
  // How much longer than needed the journal keeps what a checkpoint covers.
  Duration journal_keep{0};

  static definition::Set notify_nobody();

  bool operator==(const Settings&) const = default;
};

Settings settings_of(const config::Settings& settings);

// As the environment says, for tests and measurements: $REEVE_HISTORY (off),
// $REEVE_HISTORY_EVENTS, $REEVE_HISTORY_BUFFER (bytes), $REEVE_JOURNAL_KEEP (7d). What cannot be
// read is as if it were not there.
Settings settings_of_environment(Settings settings);

// By the user's file and the environment. The error has its first mistake, with file and line.
Result<Settings> read_user_settings();

}  // namespace reeve::daemon
