#include "core/project.h"

#include "core/testing.h"

#include <gtest/gtest.h>

namespace reeve::project {
namespace {

using namespace reeve::testing;

Opened open(World& world, const std::string& path, const std::string& name) {
  return as<Opened>(world.ask(Open{path, name}));
}

TEST(Project, AFolderBecomesAProjectWithItsName) {
  World world;

  EXPECT_EQ(open(world, "/home/ana/shop", "shop"), (Opened{ProjectNo{2}, "shop"}));
}

TEST(Project, TheSameFolderIsTheSameProjectAndCostsNoRecord) {
  World world;
  const Opened first = open(world, "/home/ana/shop", "shop");

  EXPECT_EQ(open(world, "/home/ana/shop", "other"), first);
  EXPECT_FALSE(world.last.changed);
}

TEST(Project, ANameThatIsTakenGetsANumber) {
  World world;
  open(world, "/a/shop", "shop");

  EXPECT_EQ(open(world, "/b/shop", "shop").name, "shop-2");
  EXPECT_EQ(open(world, "/c/shop", "shop").name, "shop-3");
  EXPECT_EQ(open(world, "/d/default", "default").name, "default-2");
}

TEST(Project, ALongNameThatIsTakenIsCutToMakeRoomForItsNumber) {
  World world;
  const std::string longest(limits::name_bytes, 'n');
  open(world, "/a", longest);
  EXPECT_EQ(open(world, "/b", longest).name, longest.substr(2) + "-2");

  const std::string umlauts = std::string(limits::name_bytes - 3, 'n') + "\u00e4n";
  open(world, "/c", umlauts);
  EXPECT_EQ(open(world, "/d", umlauts).name, std::string(limits::name_bytes - 3, 'n') + "-2")
      << "between letters";
}

TEST(Project, AFolderHasAPathThatTheSystemKnows) {
  World world;
  EXPECT_TRUE(is<Opened>(world.ask(Open{std::string(limits::path_bytes, 'p'), "p"})));
  EXPECT_EQ(world.ask(Open{std::string(limits::path_bytes + 1, 'p'), "p"}),
            refused(Why::OverLimit, "path"));
}

TEST(Project, WithoutAFolderItIsTheDefault) {
  World world;

  EXPECT_EQ(open(world, "", "whatever"), (Opened{default_project, "default"}));
}

TEST(Project, ABadNameIsRefused) {
  World world;

  EXPECT_EQ(world.ask(Open{"/a", "-rf"}), refused(Why::BadName, "-rf"));
  EXPECT_EQ(world.ask(Open{"/a", ""}), refused(Why::BadName, ""));
}

TEST(Project, ThereAreAtMostAThousand) {
  World world;
  while (world.state.projects.projects.size() < limits::projects) {
    const std::string path = "/p/" + std::to_string(world.state.projects.projects.size());
    world.state = apply(world.state, Request{.command = Open{path, "p"}}, world.stamp).state;
  }

  EXPECT_EQ(world.ask(Open{"/one/more", "p"}), refused(Why::OverLimit, "projects"));
}

TEST(Project, ARequestOfAnUnknownProjectIsRefused) {
  World world;

  EXPECT_EQ(world.ask(EmitCustom{"ci:green", {}}, {}, "", ProjectNo{99}),
            refused(Why::NotFound, "project"));
  EXPECT_FALSE(world.last.changed);
}

}  // namespace
}  // namespace reeve::project
