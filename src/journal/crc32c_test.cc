#include "journal/crc32c.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <string>

namespace reeve::journal {
namespace {

// RFC 3720, appendix B.4.
TEST(Crc32c, IsCastagnolis) {
  EXPECT_EQ(crc32c("123456789"), 0xe3069283U);
  EXPECT_EQ(crc32c(std::string(32, '\0')), 0x8a9136aaU);
  EXPECT_EQ(crc32c(std::string(32, '\xff')), 0x62a8ab43U);
  EXPECT_EQ(crc32c(""), 0U);
}

RC_GTEST_PROP(Crc32c, IsTheSameByTheInstructionAndByTheTable, (std::string bytes)) {
  RC_ASSERT(crc32c(bytes, 77) == crc32c_portable(bytes, 77));
}

RC_GTEST_PROP(Crc32c, OfTwoPiecesIsThatOfTheWhole, (std::string first, std::string second)) {
  RC_ASSERT(crc32c(second, crc32c(first)) == crc32c(first + second));
  RC_ASSERT(crc32c_portable(second, crc32c_portable(first)) == crc32c_portable(first + second));
}

}  // namespace
}  // namespace reeve::journal
