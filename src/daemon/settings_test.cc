#include "daemon/settings.h"

#include <gtest/gtest.h>

namespace reeve::daemon {
namespace {

Settings of(std::string_view toml) {
  return settings_of(
      config::Settings(config::read_layer(config::Origin::User, "f", toml).value(), {}));
}

TEST(DaemonSettings, ByDefaultAreWhatTheHouseHasByItself) { EXPECT_EQ(of(""), Settings{}); }

TEST(DaemonSettings, AreWhatTheFileSays) {
  const Settings settings =
      of("[limits]\nrunning_effects = 3\nrun_output = \"1MiB\"\nruns_bytes = \"5MiB\"\n");
  EXPECT_EQ(settings.running_effects, 3U);
  EXPECT_EQ(settings.keeping, (adapters::Keeping{1U << 20U, 5U << 20U}));
  EXPECT_EQ(settings.notifications, Settings::notify_nobody());
}

TEST(DaemonSettings, OfHistoryAndJournalAreWhatTheFileSays) {
  const Settings settings =
      of("[history]\nenabled = false\ndays = 3\ncount = 500\nbytes = \"1MiB\"\n"
         "[journal]\nkeep = \"7d\"\n");
  EXPECT_FALSE(settings.history.enabled);
  EXPECT_EQ(settings.history.keep, std::chrono::days{3});
  EXPECT_EQ(settings.history.most_events, 500U);
  EXPECT_EQ(settings.history.most_bytes, 1U << 20U);
  EXPECT_EQ(settings.journal_keep, std::chrono::days{7});
}

TEST(DaemonSettings, NotificationsGoToTheCommandTheDesktopOrBoth) {
  const auto told = [](std::string_view more) {
    return of("[notify]\non = [\"ci:red\"]\n" + std::string(more)).notifications;
  };
  const std::vector<std::string> red{"ci:red"};
  EXPECT_EQ(told("").notifications, (definition::Notifications{red, ""})) << "the desktop";
  EXPECT_EQ(told("command = \"cat\"\ndesktop = false\n").notifications,
            (definition::Notifications{red, "cat"}));
  EXPECT_EQ(told("command = \"cat\"\n").notifications,
            (definition::Notifications{red, adapters::on_desktop_and("cat")}));
  EXPECT_EQ(told("desktop = false\n"), Settings::notify_nobody());
}

TEST(DaemonSettings, TheHashOfTheNotificationsIsAnotherForOthers) {
  const auto hash = [](std::string_view notify) {
    return of("[notify]\n" + std::string(notify)).notifications.hash;
  };
  EXPECT_EQ(hash("on = [\"a:b\"]\n"), hash("on = [ 'a:b' ] # the same\n"));
  EXPECT_NE(hash("on = [\"a:b\"]\n"), hash("on = [\"a:c\"]\n"));
  EXPECT_NE(hash("on = [\"a:b\"]\n"), hash("on = [\"a:b\"]\ncommand = \"cat\"\n"));
}

}  // namespace
}  // namespace reeve::daemon
