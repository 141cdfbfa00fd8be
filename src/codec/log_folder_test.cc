#include "codec/log_folder.h"

#include <gtest/gtest.h>

namespace reeve::codec {
namespace {

TEST(LogFolder, OfACronIsCalledAfterItAndItsProject) {
  EXPECT_EQ(cron_log_folder("nightly", "shop"), "cron nightly@shop");
  EXPECT_EQ(cron_log_folder("a/b\n", "/"), "cron a_b_@_");
  EXPECT_LE(cron_log_folder(std::string(200, 'x'), std::string(200, 'y')).size(), 255U);
}

}  // namespace
}  // namespace reeve::codec
