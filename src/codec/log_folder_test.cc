#include "codec/log_folder.h"

#include <gtest/gtest.h>

namespace reeve::codec {
namespace {

TEST(LogFolder, OfACronIsCalledAfterItAndItsProject) {
  EXPECT_EQ(cron_log_folder("nightly", "shop"), "cron nightly@shop");
  EXPECT_EQ(cron_log_folder("a/b\n", "/"), "cron a_b_@_");
  EXPECT_LE(cron_log_folder(std::string(200, 'x'), std::string(200, 'y')).size(), 255U);
}

TEST(LogFolder, ALabelIsReadBackFromTheNameOfItsFile) {
  for (const char* label : {"merge#2",
                            "merge#2 rollback of rebase",
                            "guard tests_pass",
                            "a/b#1",
                            ".#1",
                            "50%2F#1",
                            "a#b#3",
                            "work#1 a/b",
                            "\x01#1",
                            "größe#12"}) {
    const std::string name = log_name(label);
    EXPECT_EQ(name.find('/'), std::string::npos) << label;
    EXPECT_FALSE(name.starts_with('.')) << label;
    EXPECT_EQ(label_of_log_name(name), label);
  }
  EXPECT_EQ(log_name("merge#2 rebase"), "merge#2 rebase");
}

TEST(LogFolder, ALongNameKeepsItsNumberAndWholeLetters) {
  std::string phase = "x";
  for (int i = 0; i < 99; ++i) phase += "ß";
  const std::string name = log_name(phase + "#12 " + phase);
  EXPECT_LE(name.size(), 210U);
  const AttemptMark mark = attempt_mark(name);
  EXPECT_EQ(name.substr(mark.begin, mark.end - mark.begin), "#12");
  EXPECT_EQ(name.substr(0, mark.begin), log_part(phase));
  EXPECT_TRUE(log_part(phase).starts_with("xßß"));
  EXPECT_EQ((log_part(phase).find('~') - 1) % 2, 0U);
  EXPECT_NE(log_part(phase), log_part(phase + "y"));
}

}  // namespace
}  // namespace reeve::codec
