#pragma once

#include "adapters/history/settings.h"
#include "base/time.h"

// What can be said about a daemon by whoever starts it, beside where its home is.
namespace reeve::daemon {

struct Settings {
  history::Settings history;
  // How much longer than needed the journal keeps what a checkpoint covers.
  Duration journal_keep{0};
};

// As the environment says, for tests and measurements: $REEVE_HISTORY (off),
// $REEVE_HISTORY_EVENTS, $REEVE_JOURNAL_KEEP (7d). What cannot be read is as if it were not there.
Settings settings_of_environment(Settings settings);

}  // namespace reeve::daemon
