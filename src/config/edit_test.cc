#include "config/edit.h"

#include "config/settings.h"
#include "config/testing.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <string>

namespace reeve::config {
namespace {

std::string set(std::string_view text, std::string_view key, std::string_view value) {
  return with_key("config.toml", text, *find_key(key), value).value();
}

std::string unset(std::string_view text, std::string_view key) {
  return without_key("config.toml", text, *find_key(key)).value();
}

TEST(ConfigEdit, ANewKeyMakesItsTable) {
  EXPECT_EQ(set("", "locking.task_timeout", "\"5m\""), "[locking]\ntask_timeout = \"5m\"\n");
  EXPECT_EQ(set("# mine\n[ui]\ntime = \"iso\"", "locking.task_timeout", "\"5m\""),
            "# mine\n[ui]\ntime = \"iso\"\n\n[locking]\ntask_timeout = \"5m\"\n");
}

TEST(ConfigEdit, AKeyKeepsItsPlaceAndEverythingAroundItStays) {
  EXPECT_EQ(set("# all mine\n\n[locking]   # how long\n"
                "  task_timeout   =   \"60m\"   # an hour\n"
                "\n# and this\nwait_timeout = '1m'\n",
                "locking.task_timeout",
                "\"5m\""),
            "# all mine\n\n[locking]   # how long\n"
            "  task_timeout   =   \"5m\"   # an hour\n"
            "\n# and this\nwait_timeout = '1m'\n");
}

TEST(ConfigEdit, ANewKeyComesBehindTheOthersOfItsTable) {
  EXPECT_EQ(set("[locking]\n  task_timeout = \"5m\" # five\n\n# the look\n[ui]\ntime = \"iso\"\n",
                "locking.wait_timeout",
                "\"1m\""),
            "[locking]\n  task_timeout = \"5m\" # five\n  wait_timeout = \"1m\"\n\n# the look\n"
            "[ui]\ntime = \"iso\"\n");
  EXPECT_EQ(set("[locking] # empty\n# nothing yet\n", "locking.wait_timeout", "\"1m\""),
            "[locking] # empty\nwait_timeout = \"1m\"\n# nothing yet\n");
}

TEST(ConfigEdit, DottedKeysAndInlineTablesAreGoneOnWith) {
  EXPECT_EQ(
      set("locking.task_timeout = \"5m\"\nui.time = \"iso\"\n", "locking.wait_timeout", "\"1m\""),
      "locking.task_timeout = \"5m\"\nlocking.wait_timeout = \"1m\"\nui.time = \"iso\"\n");
  EXPECT_EQ(set("locking = { task_timeout = \"5m\" } # here\n", "locking.wait_timeout", "\"1m\""),
            "locking = { task_timeout = \"5m\", wait_timeout = \"1m\" } # here\n");
  EXPECT_EQ(set("locking = {} # none\n", "locking.wait_timeout", "\"1m\""),
            "locking = { wait_timeout = \"1m\" } # none\n");
  EXPECT_EQ(set("locking = { task_timeout = \"5m\" }\n", "locking.task_timeout", "\"1m\""),
            "locking = { task_timeout = \"1m\" }\n");
}

TEST(ConfigEdit, AListOfSeveralLinesIsOneValue) {
  const std::string text =
      "[notify]\non = [  # these\n  \"a:b\", # not ]\n  'c]:d',\n]  # so far\ndesktop = false\n";
  EXPECT_EQ(set(text, "notify.on", "[\"x:y\"]"),
            "[notify]\non = [\"x:y\"]  # so far\ndesktop = false\n");
  EXPECT_EQ(unset(text, "notify.on"), "[notify]\ndesktop = false\n");
  EXPECT_EQ(set(text, "notify.command", "\"cat\""),
            text.substr(0, text.size()) + "command = \"cat\"\n");
}

TEST(ConfigEdit, AHeaderWithinALongTextIsNone) {
  const std::string text = "[notify]\ncommand = '''\n[locking]\ncat'''\n";
  EXPECT_EQ(set(text, "locking.task_timeout", "\"5m\""),
            text + "\n[locking]\ntask_timeout = \"5m\"\n");
}

TEST(ConfigEdit, LettersOfSeveralBytesAreCountedAsOne) {
  EXPECT_EQ(set("notify = { command = 'écho ü', desktop = true }\n", "notify.desktop", "false"),
            "notify = { command = 'écho ü', desktop = false }\n");
}

TEST(ConfigEdit, LinesOfWindowsStayLinesOfWindows) {
  EXPECT_EQ(set("[ui]\r\ntime = \"iso\"\r\n", "ui.color", "\"never\""),
            "[ui]\r\ntime = \"iso\"\r\ncolor = \"never\"\r\n");
}

TEST(ConfigEdit, WhatIsUnsetGoesWithItsLine) {
  EXPECT_EQ(unset("[locking]\n# why\ntask_timeout = \"5m\" # five\nwait_timeout = \"1m\"\n",
                  "locking.task_timeout"),
            "[locking]\n# why\nwait_timeout = \"1m\"\n");
  EXPECT_EQ(unset("notify = { on = [], desktop = true, command = 'x' }\n", "notify.desktop"),
            "notify = { on = [], command = 'x' }\n");
  EXPECT_EQ(unset("notify = { on = [], desktop = true }\n", "notify.desktop"),
            "notify = { on = [] }\n");
  EXPECT_EQ(without_key("f", "[ui]\n", *find_key("ui.time")).error(),
            (Error{Error::Code::NotFound, "f does not set ui.time"}));
}

TEST(ConfigEdit, WhatIsNoTomlIsNotTouched) {
  const auto result = with_key("f", "[ui\n", *find_key("ui.time"), "\"iso\"");
  ASSERT_FALSE(result);
  EXPECT_TRUE(result.error().message.starts_with("f:1:")) << result.error().message;
}

TEST(ConfigEdit, WhatCannotBeChangedWithoutChangingSomethingElseIsRefused) {
  EXPECT_EQ(
      with_key("f", "ui.time = \"rel\"\n", *find_key("ui.time"), "\"iso\"\ncolor = 1").error().code,
      Error::Code::Conflict);
}

// Whatever is set and unset in whatever order, the file says what was said last, and the lines that
// are nobody's stay.
RC_GTEST_PROP(ConfigEditLaws, TheFileSaysWhatWasSaidLast, ()) {
  const std::vector<std::pair<std::string, std::vector<std::string>>> some{
      {"locking.task_timeout", {"5m", "1h"}},
      {"locking.wait_timeout", {"10s", "20s"}},
      {"notify.on", {"a:b", "c:d"}},
      {"ui.time", {"iso", "rel"}},
      {"limits.running_effects", {"3", "4"}}};
  std::string text = *rc::gen::elementOf(std::vector<std::string>{
      "# one\n",
      "# one\n[locking] # two\n\n# three\n[ui]\n",
      "# one\nlocking.task_timeout = '1m' # two\nlimits = { running_effects = 9 }\n",
      "# one\n[notify]\non = [\n 'x:y' ]\n[ui]\ncolor = 'never'"});
  std::map<std::string, std::string> said;
  for (int i = *rc::gen::inRange(1, 12); i > 0; --i) {
    const auto& [name, values] = *rc::gen::elementOf(some);
    const Key& key = *find_key(name);
    const auto layer = read_layer(Origin::User, "f", text);
    RC_ASSERT(layer.has_value());
    if (layer->find(name) && *rc::gen::arbitrary<bool>()) {
      text = unset(text, name);
      said[name] = "";
    } else {
      const std::string word = *rc::gen::elementOf(values);
      text = set(text, name, toml_of_words(key, std::span(&word, 1)));
      said[name] = word;
    }
  }
  const auto layer = read_layer(Origin::User, "f", text);
  RC_ASSERT(layer.has_value());
  for (const auto& [name, word] : said) {
    const Setting* setting = layer->find(name);
    RC_ASSERT((setting ? setting->text : std::string()) == word);
  }
  RC_ASSERT(text.starts_with("# one\n"));
}

}  // namespace
}  // namespace reeve::config
