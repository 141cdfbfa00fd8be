#include "runbook/load.h"

#include "runbook/bash_testing.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>

namespace reeve::runbook {
namespace {

const std::filesystem::path runbooks = REEVE_RUNBOOKS;

std::string contents_of(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::expected<Runbook, Mistakes> loaded(const std::vector<File>& files) {
  return load(files, "/project", {check_with_bash, {}});
}

std::string mistakes_in(const std::vector<File>& files) {
  const auto result = loaded(files);
  std::string text;
  if (result) return text;
  for (const Mistake& mistake : result.error()) text += to_text(mistake) + "\n";
  return text;
}

// A wrong runbook is a file, or a folder of files, and beside it what is to be said about it.
TEST(Load, EveryWrongRunbookIsToldWhatIsWrongAndWhere) {
  int count = 0;
  for (const auto& entry : std::filesystem::directory_iterator(runbooks / "wrong")) {
    if (entry.path().extension() == ".txt") continue;
    std::vector<File> files;
    if (entry.is_directory()) {
      for (const auto& each : std::filesystem::directory_iterator(entry.path())) {
        files.push_back({each.path().filename().string(), contents_of(each.path())});
      }
    } else {
      files.push_back({entry.path().filename().string(), contents_of(entry.path())});
    }
    std::filesystem::path expected = entry.path();
    expected.replace_extension(".txt");
    const std::string text = contents_of(expected);
    EXPECT_NE(text, "") << expected;
    EXPECT_EQ(mistakes_in(files), text) << entry.path();
    ++count;
  }
  EXPECT_GE(count, 40);
}

TEST(Load, EveryRightRunbookLoads) {
  for (const auto& entry : std::filesystem::directory_iterator(runbooks / "right")) {
    EXPECT_EQ(mistakes_in({{entry.path().filename().string(), contents_of(entry.path())}}), "");
  }
}

}  // namespace
}  // namespace reeve::runbook
