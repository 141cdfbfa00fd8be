#include "cli/commands/why_links.h"

#include <gtest/gtest.h>

namespace reeve::cli {
namespace {

Json lock(const std::string& name, int depth = 0) {
  return json_of({{"kind", "lock"},
                  {"name", name},
                  {"holder", "ana"},
                  {"since", "once"},
                  {"pid", 7},
                  {"depth", depth},
                  {"detail", "held"}});
}

Json guard(int depth, int lines) {
  std::string output;
  for (int i = 1; i <= lines; ++i) output += std::to_string(i) + "\n";
  return json_of({{"kind", "guard"},
                  {"name", "loud"},
                  {"depth", depth},
                  {"detail", "no"},
                  {"output", output}});
}

std::string told(const Json::Array& chain, std::size_t room) {
  std::string text;
  for (const Words& words : links_in_words(Output(), chain, "main", room))
    text += words.text + "\n";
  return text;
}

TEST(WhyLinks, WhatAProgramSaidHasWhatIsLeft) {
  const Json::Array chain{lock("main"), guard(1, 9)};
  const std::string who =
      "  lock main held by ana since once, process 7\n    held\n    guard loud\n      no\n";
  EXPECT_EQ(told(chain, 8), who + "      | …\n      | 7\n      | 8\n      | 9\n");
  EXPECT_EQ(told(chain, 5), who + "      | … 9\n");
  EXPECT_EQ(told(chain, 4), who);
}

TEST(WhyLinks, ThoseThatHaveNoRoomAreCountedAndWhatTheFirstSaidIsSeen) {
  Json::Array chain{lock("a"), guard(1, 9), lock("b"), lock("c"), lock("d")};
  const std::string first =
      "  lock a held by ana since once, process 7\n    held\n    guard loud\n"
      "      no\n      | …\n";
  const std::string second = "  lock b held by ana since once, process 7\n    held\n";
  EXPECT_EQ(told(chain, 10),
            first + "      | 8\n      | 9\n" + second + "  … and 2 more; `--json` has them\n");
  EXPECT_EQ(told(chain, 9),
            first + "      | 7\n      | 8\n      | 9\n  … and 3 more; `--json` has them\n");
}

TEST(WhyLinks, HoldersThatWereNotToldAreCountedWithThoseThatHaveNoRoom) {
  Json::Array chain;
  for (const char* const holder : {"h1", "h2", "h3", "h4"}) {
    chain.push_back(json_of({{"kind", "sem"},
                             {"name", "room"},
                             {"holder", holder},
                             {"holders", 20},
                             {"depth", 0},
                             {"detail", "has 1 of 20"}}));
  }
  EXPECT_TRUE(told(chain, 7).ends_with("by h3\n    has 1 of 20\n  … and 17 more\n"));
  EXPECT_TRUE(
      told(chain, 6).ends_with("by h2\n    has 1 of 20\n"
                               "  … and 18 more; `--json` has them\n"));
}

TEST(WhyLinks, HaveTheirRoomWhateverTheNamesAre) {
  for (const char* const letter : {"x", "日", "x ", "x日 "}) {
    std::string name;
    for (int i = 0; i < 150; ++i) name += letter;
    Json link = lock(name);
    link.set("waiter", "pipe-1").set("waiter_name", name).set("label", name).set("holder", name);
    link.set("detail", name + "; `reeve why main`");
    Json with_output = link;
    with_output.set("output", name + "\n" + name).set("depth", 1);
    for (std::size_t room = 3; room < 24; room += 1 + room / 8) {
      for (const Json::Array& chain : {Json::Array{link},
                                       Json::Array{link, link, link},
                                       Json::Array{with_output, link},
                                       Json::Array{link, with_output, with_output}}) {
        EXPECT_LE(rows_of(links_in_words(Output(), chain, "main", room)), room) << letter << room;
        if (room < 8) continue;
        const std::string text = told(chain, room);
        EXPECT_NE(text.find("since once, process 7\n"), std::string::npos) << text;
        EXPECT_NE(text.find("`reeve why main`"), std::string::npos) << text;
      }
    }
  }
}

}  // namespace
}  // namespace reeve::cli
