#include "adapters/runner_testing.h"

#include <filesystem>
#include <fstream>

// Worktrees and merges, with the real git.
namespace reeve::adapters::testing {
namespace {

struct GitTest : RunnerTest {
  GitTest() {
    git("init -q -b main .");
    git("config user.name ana");
    git("config user.email ana@example.org");
    commit("README", "hello\n", "first");
  }

  std::string git(const std::string& words, const std::string& where = "") {
    return output_of("git -C '" + (where.empty() ? root : where) + "' " + words);
  }
  void commit(const std::string& file,
              const std::string& text,
              const std::string& message,
              const std::string& where = "") {
    const std::string place = where.empty() ? root : where;
    std::ofstream(place + "/" + file) << text;
    git("add '" + file + "'", place);
    git("commit -q -m '" + message + "'", place);
  }
  std::string head(const std::string& branch) { return git("rev-parse " + branch); }

  std::string workspace() {
    const Outcome outcome = play(WorktreeAdd{pipeline, "fix/4", "main", ""});
    EXPECT_EQ(outcome.exit_code, 0) << outcome.output;
    EXPECT_EQ(outcome.values.size(), 1U);
    return outcome.values.empty() ? std::string() : outcome.values.front().second;
  }
  Outcome merge(MergeStrategy strategy, const std::string& branch = "fix/4") {
    return play(Merge{pipeline, branch, "main", strategy, {}});
  }
  // Of main, as people see it: subjects, the newest first.
  std::string history(const std::string& branch = "main") {
    return git("log --format=%s " + branch + " | paste -sd ' '");
  }
};

// ── Worktrees ──

TEST_F(GitTest, AWorktreeIsMadeFromItsBase) {
  const std::string path = workspace();
  EXPECT_EQ(path, home.at("home/workspaces/" + reeve::to_text(pipeline)));
  EXPECT_EQ(git("symbolic-ref HEAD", path), "refs/heads/fix/4");
  EXPECT_EQ(git("rev-parse HEAD", path), head("main"));
}

TEST_F(GitTest, ARightOneIsUsedAgainWithAllThatIsInIt) {
  const std::string path = workspace();
  commit("new", "work\n", "work", path);
  std::ofstream(path + "/unsaved") << "x";
  EXPECT_EQ(workspace(), path);
  EXPECT_TRUE(std::filesystem::exists(path + "/unsaved"));
  EXPECT_EQ(history("fix/4"), "work first");
}

TEST_F(GitTest, OneThatWasBeingMadeWhenAllDiedIsMadeAnew) {
  const std::string path = workspace();
  const std::string git_dir = git("rev-parse --path-format=absolute --git-dir", path);
  std::ofstream(git_dir + "/locked") << "initializing";
  std::filesystem::remove(path + "/README");
  EXPECT_EQ(workspace(), path);
  EXPECT_TRUE(std::filesystem::exists(path + "/README"));
}

TEST_F(GitTest, ABranchThatIsThereIsTakenAsItIs) {
  git("branch fix/4");
  commit("later", "x", "later");
  const std::string path = workspace();
  EXPECT_EQ(history("fix/4"), "first");
  EXPECT_EQ(git("symbolic-ref --short HEAD", path), "fix/4");
}

TEST_F(GitTest, SomethingElseInItsPlaceIsLeftAlone) {
  home.write("home/workspaces/" + reeve::to_text(pipeline) + "/file", "precious");
  const Outcome outcome = play(WorktreeAdd{pipeline, "fix/4", "main", ""});
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_NE(outcome.output.find("there is something else in"), std::string::npos);
  git("branch other");
  std::filesystem::remove_all(home.at("home/workspaces"));
  const std::string path = workspace();
  git("checkout -q other", path);
  EXPECT_NE(play(WorktreeAdd{pipeline, "fix/4", "main", ""}).output.find("has refs/heads/other"),
            std::string::npos);
}

TEST_F(GitTest, WhatCannotBeSaysWhy) {
  EXPECT_EQ(play(WorktreeAdd{pipeline, "x", "nowhere", ""}).output,
            "there is no nowhere to begin x from\n");
  EXPECT_EQ(play(WorktreeAdd{pipeline, "-x", "main", ""}).output, "-x cannot be a branch\n");
  EXPECT_EQ(play(WorktreeAdd{pipeline, "a..b", "main", ""}).exit_code, 1);
  std::filesystem::remove_all(root + "/.git");
  EXPECT_EQ(play(WorktreeAdd{pipeline, "x", "main", ""}).output, root + " is no git repository\n");
}

TEST_F(GitTest, WithoutABranchItIsAPlainFolder) {
  const Outcome own = play(WorktreeAdd{pipeline, "", "", ""});
  EXPECT_EQ(own.values.front().second, home.at("home/workspaces/" + reeve::to_text(pipeline)));
  const Outcome named = play(WorktreeAdd{pipeline, "", "", "build/here"});
  EXPECT_EQ(named.values.front().second, root + "/build/here");
  EXPECT_TRUE(std::filesystem::is_directory(root + "/build/here"));
}

TEST_F(GitTest, OneWhoseFolderIsGoneIsMadeAnew) {
  const std::string path = workspace();
  commit("new", "work\n", "work", path);
  std::filesystem::remove_all(path);
  EXPECT_EQ(workspace(), path);
  EXPECT_EQ(git("log --format=%s -1", path), "work");
  std::filesystem::remove_all(path);
  std::filesystem::create_directories(path);
  EXPECT_EQ(workspace(), path);
  EXPECT_EQ(git("worktree list | wc -l"), "2");
}

// On a disk that is not there for a while, say.
TEST_F(GitTest, TheWorktreesOfOthersAreTheirsAlsoWhileTheyAreAway) {
  const std::string theirs = home.at("theirs");
  git("worktree add -q --detach '" + theirs + "'");
  commit("precious", "x", "precious", theirs);
  std::filesystem::rename(theirs, home.at("away"));
  const std::string path = workspace();
  commit("new", "x\n", "work", path);
  commit("other", "y\n", "meanwhile");
  EXPECT_EQ(merge(MergeStrategy::Rebase).exit_code, 0);
  EXPECT_EQ(play(WorktreeRemove{pipeline, home.at("nothing"), false}).exit_code, 0);
  EXPECT_EQ(play(WorktreeRemove{pipeline, path, true}).exit_code, 0);
  std::filesystem::remove_all(path);
  EXPECT_EQ(play(WorktreeRemove{pipeline, path, false}).exit_code, 0);
  EXPECT_EQ(play(WorktreeRemove{pipeline, theirs, false}).exit_code, 0);
  std::filesystem::rename(home.at("away"), theirs);
  EXPECT_EQ(git("log -1 --format=%s", theirs), "precious");
}

// ── Removal ──

TEST_F(GitTest, AnUnusedWorktreeGoes) {
  const std::string path = workspace();
  EXPECT_EQ(play(WorktreeRemove{pipeline, path, false}).exit_code, 0);
  EXPECT_FALSE(std::filesystem::exists(path));
  EXPECT_EQ(git("worktree list | wc -l"), "1");
  EXPECT_EQ(play(WorktreeRemove{pipeline, path, false}).exit_code, 0);  // nothing is there
}

TEST_F(GitTest, ADirtyOneStaysUnlessForced) {
  const std::string path = workspace();
  std::ofstream(path + "/unsaved") << "x";
  const Outcome outcome = play(WorktreeRemove{pipeline, path, false});
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_EQ(outcome.output, path + " has a changed file that is not committed: ?? unsaved\n");
  EXPECT_EQ(play(WorktreeRemove{pipeline, path, true}).exit_code, 0);
  EXPECT_FALSE(std::filesystem::exists(path));
}

TEST_F(GitTest, ADirtyOneStaysAlsoForWhoDoesNotWantToSeeWhatIsNew) {
  const std::string path = workspace();
  git("config status.showUntrackedFiles no");
  std::ofstream(path + "/unsaved") << "x";
  const Outcome outcome = play(WorktreeRemove{pipeline, path, false});
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_EQ(outcome.output, path + " has a changed file that is not committed: ?? unsaved\n");
  EXPECT_TRUE(std::filesystem::exists(path + "/unsaved"));
}

TEST_F(GitTest, OneOfWhichGitCannotTellStays) {
  const std::string path = workspace();
  const std::string git_dir = git("rev-parse --path-format=absolute --git-dir", path);
  std::ofstream(git_dir + "/index") << "nonsense";
  EXPECT_EQ(play(WorktreeRemove{pipeline, path, false}).exit_code, 1);
  EXPECT_TRUE(std::filesystem::exists(path + "/README"));
}

TEST_F(GitTest, OneWithCommitsThatAreNowhereElseStays) {
  const std::string path = workspace();
  commit("new", "x", "work", path);
  EXPECT_EQ(play(WorktreeRemove{pipeline, path, false}).output,
            path + " has a commit that is in no other branch and not pushed\n");
  output_of("git init -q --bare '" + home.at("remote") + "'");
  git("remote add origin '" + home.at("remote") + "'");
  git("push -q origin fix/4");
  EXPECT_EQ(play(WorktreeRemove{pipeline, path, false}).exit_code, 0);
}

TEST_F(GitTest, OneWhoseWorkWasMergedGoes) {
  const std::string path = workspace();
  commit("new", "x", "work", path);
  ASSERT_EQ(merge(MergeStrategy::FastForward).exit_code, 0);
  EXPECT_EQ(play(WorktreeRemove{pipeline, path, false}).exit_code, 0);
}

TEST_F(GitTest, OneThatAProcessWorksInStays) {
  const std::string path = workspace();
  std::filesystem::create_directories(path + "/deep");
  Shell shell_here = std::get<Shell>(shell("exec sleep 300").effect.what);
  shell_here.directory = path + "/deep";
  shell_here.pipeline = {};
  const EffectId sleeper = begin(shell_here);
  ASSERT_TRUE(becomes_true([&] {
    return !marked_with("REEVE_RUN=" + home.at("home/runs/" + to_text(sleeper)))->empty();
  }));
  const Outcome outcome = play(WorktreeRemove{pipeline, path, false});
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_NE(outcome.output.find("(sleep) works in " + path), std::string::npos) << outcome.output;
  EXPECT_EQ(play(WorktreeRemove{pipeline, path, true}).output, outcome.output) << "nor by force";
  play(Kill{sleeper, Duration{100}});
  EXPECT_EQ(play(WorktreeRemove{pipeline, path, false}).exit_code, 0);
}

TEST_F(GitTest, AFolderGoesIfItIsEmptyAndOurs) {
  const std::string path = play(WorktreeAdd{pipeline, "", "", ""}).values.front().second;
  std::ofstream(path + "/file") << "x";
  EXPECT_EQ(play(WorktreeRemove{pipeline, path, false}).output, path + " is not empty\n");
  EXPECT_EQ(play(WorktreeRemove{pipeline, path, true}).exit_code, 0);
  std::filesystem::create_directories(home.at("theirs"));
  EXPECT_EQ(play(WorktreeRemove{pipeline, home.at("theirs"), true}).exit_code, 1);
  EXPECT_TRUE(std::filesystem::exists(home.at("theirs")));
}

// ── Merges ──

TEST_F(GitTest, AFastForwardMovesTheBranchAndItsCheckedOutFiles) {
  const std::string path = workspace();
  commit("new", "x\n", "work", path);
  const Outcome outcome = merge(MergeStrategy::FastForward);
  EXPECT_EQ(outcome.exit_code, 0) << outcome.output;
  EXPECT_EQ(outcome.values, (Variables{{"commit", head("fix/4")}}));
  EXPECT_EQ(head("main"), head("fix/4"));
  EXPECT_TRUE(std::filesystem::exists(root + "/new"));
  EXPECT_EQ(git("status --porcelain"), "");
}

TEST_F(GitTest, ABranchThatNobodyHasCheckedOutMovesAlone) {
  const std::string path = workspace();
  commit("new", "x\n", "work", path);
  git("checkout -q -b elsewhere");
  EXPECT_EQ(merge(MergeStrategy::FastForward).exit_code, 0);
  EXPECT_EQ(head("main"), head("fix/4"));
  EXPECT_FALSE(std::filesystem::exists(root + "/new"));
}

TEST_F(GitTest, WithoutAFastForwardItSaysSoAndChangesNothing) {
  const std::string path = workspace();
  commit("new", "x\n", "work", path);
  commit("other", "y\n", "meanwhile");
  const std::string before = head("main");
  const Outcome outcome = merge(MergeStrategy::FastForward);
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_EQ(outcome.output, "not possible to fast-forward: main has what fix/4 has not\n");
  EXPECT_EQ(head("main"), before);
}

TEST_F(GitTest, ARebasePutsTheWorkOnTop) {
  const std::string path = workspace();
  commit("new", "x\n", "work", path);
  commit("other", "y\n", "meanwhile");
  EXPECT_EQ(merge(MergeStrategy::Rebase).exit_code, 0);
  EXPECT_EQ(history(), "work meanwhile first");
  EXPECT_EQ(history("fix/4"), "work first");
  EXPECT_TRUE(std::filesystem::exists(root + "/new"));
  EXPECT_EQ(git("worktree list | wc -l"), "2");
}

TEST_F(GitTest, ARebaseMovesNoOtherBranchWhateverTheSettingsSay) {
  git("config rebase.updateRefs true");
  const std::string path = workspace();
  commit("new", "x\n", "work", path);
  git("branch stacked fix/4");
  commit("more", "x\n", "more", path);
  commit("other", "y\n", "meanwhile");
  EXPECT_EQ(merge(MergeStrategy::Rebase).exit_code, 0);
  EXPECT_EQ(history("stacked"), "work first");
  EXPECT_EQ(history(), "more work meanwhile first");
}

TEST_F(GitTest, ASquashIsOneCommitAndAMergeIsAMerge) {
  const std::string path = workspace();
  commit("a", "x\n", "one", path);
  commit("b", "x\n", "two", path);
  commit("other", "y\n", "meanwhile");
  EXPECT_EQ(merge(MergeStrategy::Squash).exit_code, 0);
  EXPECT_EQ(history(), "two meanwhile first");
  EXPECT_TRUE(std::filesystem::exists(root + "/a"));
  commit("c", "x\n", "three", path);
  EXPECT_EQ(merge(MergeStrategy::Merge).exit_code, 0);
  EXPECT_EQ(git("log -1 --format=%s"), "Merge branch 'fix/4' into main");
  EXPECT_EQ(git("rev-list --count --merges main"), "1");
}

TEST_F(GitTest, AConflictNamesItsFilesAndLeavesNothingBehind) {
  const std::string path = workspace();
  commit("README", "ours\n", "work", path);
  commit("README", "theirs\n", "meanwhile");
  const std::string before = head("main");
  for (const MergeStrategy strategy :
       {MergeStrategy::Rebase, MergeStrategy::Squash, MergeStrategy::Merge}) {
    const Outcome outcome = merge(strategy);
    EXPECT_EQ(outcome.exit_code, 1);
    EXPECT_TRUE(outcome.output.ends_with("conflict in README\n")) << outcome.output;
    EXPECT_EQ(head("main"), before);
    EXPECT_EQ(git("status --porcelain"), "");
    EXPECT_EQ(git("worktree list | wc -l"), "2");
    EXPECT_FALSE(std::filesystem::exists(home.at("home/merges/" + reeve::to_text(pipeline))));
  }
}

TEST_F(GitTest, WhatIsMergedAlreadyIsDone) {
  const std::string path = workspace();
  commit("new", "x\n", "work", path);
  merge(MergeStrategy::FastForward);
  const Outcome outcome = merge(MergeStrategy::Merge);
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_EQ(history(), "work first");
}

TEST_F(GitTest, ACheckedOutBranchWithChangesInTheWayIsNotMoved) {
  const std::string path = workspace();
  commit("README", "ours\n", "work", path);
  std::ofstream(root + "/README") << "being edited\n";
  const std::string before = head("main");
  const Outcome outcome = merge(MergeStrategy::FastForward);
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_NE(outcome.output.find("is checked out in " + root), std::string::npos) << outcome.output;
  EXPECT_EQ(head("main"), before);
  EXPECT_EQ(home.read("project/README"), "being edited\n");
}

// Both sides changed README, so that git asks a driver of ours, which moves main as somebody else
// might in that moment.
TEST_F(GitTest, ABranchThatHasMovedMeanwhileIsLeftWhereItIs) {
  const std::string path = workspace();
  commit("README", "ours\n", "work", path);
  commit("README", "theirs\n", "meanwhile");
  const std::string before = head("main");
  git("checkout -q -b elsewhere");
  commit("other", "y\n", "by another");
  const std::string moved = head("elsewhere");
  git("checkout -q main");
  std::filesystem::create_directories(root + "/.git/info");
  std::ofstream(root + "/.git/info/attributes") << "README merge=mover\n";
  git("config merge.mover.driver \"git --git-dir='" + root + "/.git' update-ref refs/heads/main " +
      moved + "\"");

  for (const bool checked_out : {true, false}) {
    for (const MergeStrategy strategy :
         {MergeStrategy::Rebase, MergeStrategy::Squash, MergeStrategy::Merge}) {
      git("update-ref refs/heads/main " + before);
      if (!checked_out) git("checkout -q --detach");
      const Outcome outcome = merge(strategy);
      EXPECT_EQ(outcome.exit_code, 1);
      EXPECT_TRUE(outcome.output.ends_with("main has moved meanwhile: nothing was changed\n"))
          << outcome.output;
      EXPECT_EQ(head("main"), moved);
      EXPECT_FALSE(std::filesystem::exists(home.at("home/merges/" + reeve::to_text(pipeline))));
    }
  }
}

TEST_F(GitTest, BranchesThatAreNotThereAreNamed) {
  EXPECT_EQ(merge(MergeStrategy::FastForward, "nothing").output, "there is no branch nothing\n");
  EXPECT_EQ(play(Merge{pipeline, "main", "nothing", MergeStrategy::FastForward, {}}).output,
            "there is no branch nothing\n");
}

TEST_F(GitTest, ALeftoverOfAnInterruptedMergeIsNoObstacle) {
  const std::string path = workspace();
  commit("new", "x\n", "work", path);
  commit("other", "y\n", "meanwhile");
  const std::string tree = home.at("home/merges/" + reeve::to_text(pipeline));
  std::filesystem::create_directories(home.at("home/merges"));
  git("worktree add -q --detach '" + tree + "' main");
  EXPECT_EQ(merge(MergeStrategy::Rebase).exit_code, 0);
  EXPECT_FALSE(std::filesystem::exists(tree));
}

}  // namespace
}  // namespace reeve::adapters::testing
