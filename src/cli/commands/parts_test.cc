#include "cli/commands/parts.h"

#include <gtest/gtest.h>

namespace reeve::cli {
namespace {

Part part(std::string_view noun, std::int64_t busy, std::int64_t idle) {
  Part made{.noun = noun, .command = "reeve list", .table = [](const Json::Array& rows) {
              std::string text = "HEADING\n";
              for (const Json& row : rows) text += row.text() + "\n";
              return text;
            }};
  Json::Array names;
  names.reserve(static_cast<std::size_t>(busy + idle));
  for (std::int64_t i = 0; i < idle; ++i) names.push_back(Json("idle"));
  for (std::int64_t i = 0; i < busy; ++i) names.push_back(Json("busy"));
  made.take(names, [](const Json& name) {
    return name.text() == "busy" ? Rank::NeedsSomebody : Rank::Idle;
  });
  return made;
}

TEST(Parts, ThatFitAreWhole) {
  EXPECT_EQ(write_parts({part("a", 1, 1), part("b", 0, 0), part("c", 1, 0)}, 7, Output()),
            "HEADING\nidle\nbusy\n\nHEADING\nbusy\n");
}

TEST(Parts, WhatNeedsSomebodyIsShownFirstAndTheRestCounted) {
  EXPECT_EQ(write_parts({part("lock", 2, 1000), part("queue", 0, 7)}, 7, Output()),
            "HEADING\nbusy\nbusy\n… and 1,000 more; `reeve list`\n\n… 7 queues; `reeve list`\n");
}

TEST(Parts, EachHasSomeOfTheRoom) {
  const std::string text = write_parts({part("lock", 50, 0), part("queue", 50, 0)}, 20, Output());
  EXPECT_NE(text.find("… and 43 more"), std::string::npos) << text;
  EXPECT_NE(text.find("… and 43 more"), text.rfind("… and 43 more")) << text;
  EXPECT_LE(lines_of(text), 20U);
}

TEST(Parts, WhatWasNotListedIsSaidEvenWhereThereIsRoom) {
  Part queues = part("queue", 0, 1);
  queues.unlisted = 1500;
  EXPECT_EQ(write_parts({queues}, 0, Output()), "HEADING\nidle\n… and 1,500 more; `reeve list`\n");
}

}  // namespace
}  // namespace reeve::cli
