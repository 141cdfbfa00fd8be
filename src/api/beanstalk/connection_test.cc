#include "api/beanstalk/testing.h"

#include <gtest/gtest.h>
#include <string>

namespace reeve::api::beanstalk::testing {
namespace {

class Beanstalk : public ::testing::Test {
 protected:
  std::string say(std::string_view bytes) { return door.say(c, bytes); }

  engine::testing::MemoryDisk disk;
  Door door{disk};
  Connection& c = door.connect();
};

TEST_F(Beanstalk, AJobIsPutReservedAndDeleted) {
  const std::string inserted = say("put 1 0 60 5\r\nhello\r\n");
  ASSERT_TRUE(inserted.starts_with("INSERTED ")) << inserted;
  const std::string id = inserted.substr(9, inserted.size() - 11);
  EXPECT_EQ(say("reserve\r\n"), "RESERVED " + id + " 5\r\nhello\r\n");
  EXPECT_EQ(say("delete " + id + "\r\n"), "DELETED\r\n");
  EXPECT_EQ(say("delete " + id + "\r\n"), "NOT_FOUND\r\n");
  EXPECT_EQ(say("peek " + id + "\r\n"), "NOT_FOUND\r\n");
}

}  // namespace
}  // namespace reeve::api::beanstalk::testing
