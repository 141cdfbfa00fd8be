#include "adapters/plan.h"
#include "core/pipeline.h"

#include <chrono>

// Worktrees and merges, as texts for bash: so git runs beside the daemon, and what became of it is
// known after a crash like that of any other run.
namespace reeve::adapters {
namespace {

using namespace std::chrono_literals;

constexpr Duration git_limit = 60s;
constexpr Duration prune_limit = 30s;

// What all of them begin with. The last line that is said is the reason.
constexpr std::string_view git_begin = R"bash(
set -u
export LC_ALL=C.UTF-8 GIT_TERMINAL_PROMPT=0 GIT_EDITOR=true
die() { echo "$*"; exit 1; }
publish() { printf '%s=%s\n' "$1" "$2" >> "$REEVE_OUTPUT"; }
# What git remembers of a worktree whose folder is gone is forgotten: of this one alone, for others
# may only be out of reach, and their index and their HEAD with them. A lock is respected, unless
# git was killed while it made the worktree.
forget() {  # repository, path
  local place
  place=$(realpath -m -- "$2") || return 0
  for each in "$1"/worktrees/*/; do
    [[ $(cat "${each}gitdir" 2>/dev/null) == "$place/.git" ]] || continue
    [[ $(cat "${each}locked" 2>/dev/null) == initializing ]] && rm -f -- "${each}locked"
    git --git-dir="$1" worktree remove --force "$place"
  done
}
)bash";

constexpr std::string_view folder_text = R"bash(
mkdir -p -- "$G_PATH" || die "the folder $G_PATH cannot be made"
publish path "$G_PATH"
)bash";

constexpr std::string_view add_text = R"bash(
cd "$G_ROOT" || die "the project's folder $G_ROOT is not there"
ours=$(git rev-parse --path-format=absolute --git-common-dir 2>/dev/null) ||
  die "$G_ROOT is no git repository"
git check-ref-format --branch "$G_BRANCH" >/dev/null 2>&1 || die "$G_BRANCH cannot be a branch"
# A worktree that git was making when it was killed is made anew.
git_dir=$(git -C "$G_PATH" rev-parse --path-format=absolute --git-dir 2>/dev/null) || git_dir=
if [[ $git_dir == "$ours"/worktrees/* && $(cat "$git_dir/locked" 2>/dev/null) == initializing ]]; then
  git worktree remove --force --force "$G_PATH" || die "$G_PATH is only half there, and stays so"
fi
if [[ -e $G_PATH && -n $(ls -A "$G_PATH" 2>/dev/null) ]]; then
  theirs=$(git -C "$G_PATH" rev-parse --path-format=absolute --git-common-dir 2>/dev/null) || theirs=
  head=$(git -C "$G_PATH" symbolic-ref -q HEAD 2>/dev/null) || head=
  [[ $theirs == "$ours" ]] || die "there is something else in $G_PATH"
  [[ $head == "refs/heads/$G_BRANCH" ]] || die "the worktree $G_PATH has ${head:-no branch}, not $G_BRANCH"
else
  mkdir -p -- "${G_PATH%/*}"
  [[ -d $G_PATH && ! -L $G_PATH ]] && rmdir -- "$G_PATH"
  [[ -e $G_PATH ]] || forget "$ours" "$G_PATH"
  if git show-ref --verify --quiet "refs/heads/$G_BRANCH"; then
    git worktree add --quiet "$G_PATH" "$G_BRANCH" || exit 1
  else
    base=$(git rev-parse --quiet --verify --end-of-options "${G_BASE:-HEAD}^{commit}") ||
      die "there is no ${G_BASE:-commit} to begin $G_BRANCH from"
    git worktree add --quiet --no-track -b "$G_BRANCH" "$G_PATH" "$base" || exit 1
  fi
fi
publish path "$G_PATH"
)bash";

constexpr std::string_view remove_text = R"bash(
if [[ ! -e $G_PATH ]]; then
  # A folder of ours that is gone stays gone; another may come back with its disk.
  if [[ -n $G_ROOT ]] && [[ -n $G_FORCE || $G_PATH == "$G_OURS"/* ]]; then
    repository=$(git -C "$G_ROOT" rev-parse --path-format=absolute --git-common-dir 2>/dev/null) &&
      forget "$repository" "$G_PATH" 2>/dev/null
  fi
  exit 0
fi
path=$(realpath -- "$G_PATH") || die "$G_PATH cannot be looked at"
top=$(git -C "$path" rev-parse --show-toplevel 2>/dev/null) || top=
git_dir=$(git -C "$path" rev-parse --path-format=absolute --git-dir 2>/dev/null) || git_dir=
is_worktree=
[[ $top == "$path" && $git_dir == */worktrees/* ]] && is_worktree=1
# Not even by force: it would go on in a folder that is gone.
while read -r place; do
  [[ $place == "$path" || $place == "$path"/* ]] || continue
  for process in /proc/[0-9]*; do
    [[ $(readlink "$process/cwd") == "$place" ]] &&
      die "process ${process#/proc/} ($(cat "$process/comm")) works in $G_PATH"
  done
  die "a process works in $G_PATH"
done < <(readlink /proc/[0-9]*/cwd 2>/dev/null)
if [[ -n $is_worktree ]]; then
  repository=$(git -C "$path" rev-parse --path-format=absolute --git-common-dir)
  all=(-c status.showUntrackedFiles=all)  # also for whoever does not want to see them
  if [[ -z $G_FORCE ]]; then
    changed=$(git "${all[@]}" -C "$path" status --porcelain --ignore-submodules=none) ||
      die "git cannot say whether $G_PATH has changes"
    if [[ -n $changed ]]; then
      count=$(wc -l <<< "$changed")
      changed=$(head -n 3 <<< "$changed")
      [[ $count -gt 3 ]] && changed+=", …"
      files="$count changed files that are"
      [[ $count == 1 ]] && files="a changed file that is"
      die "$G_PATH has $files not committed: ${changed//$'\n'/, }"
    fi
    branch=$(git -C "$path" symbolic-ref -q --short HEAD) || branch=
    alone=$(git -C "$path" rev-list --count HEAD --not --remotes ${branch:+--exclude="$branch"} --branches) ||
      die "git cannot say whether the commits of $G_PATH are elsewhere"
    commits="$alone commits that are"
    [[ $alone == 1 ]] && commits="a commit that is"
    [[ $alone == 0 ]] || die "$G_PATH has $commits in no other branch and not pushed"
  fi
  git "${all[@]}" --git-dir="$repository" worktree remove ${G_FORCE:+--force --force} "$path" || exit 1
  exit 0
fi
[[ $path == "$(realpath -- "$G_OURS")"/* ]] ||
  die "$G_PATH was not made by reeve: whoever made it may remove it"
if [[ -z $G_FORCE && -n $(ls -A "$path") ]]; then
  die "$G_PATH is not empty"
fi
rm -rf -- "$path"
)bash";

constexpr std::string_view merge_text = R"bash(
cd "$G_ROOT" || die "the project's folder $G_ROOT is not there"
target=$(git rev-parse --quiet --verify "refs/heads/$G_INTO^{commit}") ||
  die "there is no branch $G_INTO"
tip=$(git rev-parse --quiet --verify "refs/heads/$G_BRANCH^{commit}" ||
      git rev-parse --quiet --verify --end-of-options "$G_BRANCH^{commit}") ||
  die "there is no branch $G_BRANCH"
if git merge-base --is-ancestor "$tip" "$target"; then
  publish commit "$target"
  echo "$G_INTO has all of $G_BRANCH already"
  exit 0
fi
if ! git config user.email >/dev/null; then
  export GIT_AUTHOR_NAME=reeve GIT_AUTHOR_EMAIL=reeve@localhost
  export GIT_COMMITTER_NAME=reeve GIT_COMMITTER_EMAIL=reeve@localhost
fi
tidy() {
  git worktree remove --force --force "$G_TREE" 2>/dev/null
  rm -rf -- "$G_TREE"
  git worktree remove --force --force "$G_TREE" 2>/dev/null
}
# Nothing moves but the target, and nobody's changes are put aside, whatever the settings say.
alone=(-c rebase.updateRefs=false -c rebase.autoStash=false -c merge.autoStash=false)
in_tree() { git "${alone[@]}" -C "$G_TREE" "$@"; }
conflict() {
  files=$(in_tree diff --name-only --diff-filter=U)
  in_tree "$1" --abort 2>/dev/null
  die "conflict in ${files//$'\n'/, }"
}
begin_at() {
  mkdir -p -- "${G_TREE%/*}"
  git worktree add --quiet --detach "$G_TREE" "$1" || exit 1
}
is_conflict() { [[ -n $(in_tree ls-files --unmerged) ]]; }
if [[ $G_STRATEGY != ff ]]; then
  tidy
  trap tidy EXIT
fi
case $G_STRATEGY in
  ff)
    git merge-base --is-ancestor "$target" "$tip" ||
      die "not possible to fast-forward: $G_INTO has what $G_BRANCH has not"
    new=$tip ;;
  rebase)
    begin_at "$tip"
    in_tree rebase "$target" || { is_conflict && conflict rebase; die "the rebase failed"; }
    new=$(in_tree rev-parse HEAD) ;;
  squash)
    begin_at "$target"
    in_tree merge --squash "$tip" || { is_conflict && conflict merge; die "the merge failed"; }
    subject=$(git log -1 --format=%s "$tip")
    if in_tree diff --cached --quiet; then
      new=$target
    else
      { echo "$subject"; echo; git log --reverse --format='* %s' "$target..$tip"; } |
        in_tree commit --quiet --file=- || die "the commit failed"
      new=$(in_tree rev-parse HEAD)
    fi ;;
  merge)
    begin_at "$target"
    in_tree merge --no-ff -m "Merge branch '$G_BRANCH' into $G_INTO" "$tip" ||
      { is_conflict && conflict merge; die "the merge failed"; }
    new=$(in_tree rev-parse HEAD) ;;
esac
# A branch that is checked out moves together with its files, or not at all.
place='' here=''
while IFS= read -r line; do
  case $line in
    "worktree "*) place=${line#worktree } ;;
    "branch refs/heads/$G_INTO") here=$place ;;
  esac
done < <(git worktree list --porcelain)
if [[ -n $here ]]; then
  [[ $(git rev-parse "refs/heads/$G_INTO") == "$target" ]] ||
    die "$G_INTO has moved meanwhile: nothing was changed"
  git "${alone[@]}" -C "$here" merge --quiet --ff-only "$new" ||
    die "$G_INTO is checked out in $here, where it cannot be moved: nothing was changed"
else
  git update-ref -m "reeve: $G_STRATEGY of $G_BRANCH" "refs/heads/$G_INTO" "$new" "$target" ||
    die "$G_INTO has moved meanwhile: nothing was changed"
fi
publish commit "$new"
echo "$G_INTO is at $new"
)bash";

std::string_view name_of(MergeStrategy strategy) {
  switch (strategy) {
    case MergeStrategy::FastForward:
      return "ff";
    case MergeStrategy::Rebase:
      return "rebase";
    case MergeStrategy::Squash:
      return "squash";
    case MergeStrategy::Merge:
      return "merge";
  }
  return "ff";
}

Plan plan_of(EffectId id,
             PipelineId pipeline,
             std::string_view text,
             std::string_view label,
             Variables values,
             const Surroundings& around) {
  Plan plan;
  RunSpec& spec = plan.spec;
  spec.text = std::string(git_begin) + std::string(text);
  Variables environment;
  if (const auto* found = around.state().pipelines.pipelines.find(pipeline)) {
    environment = found->origin->environment;
  }
  environment.insert(environment.end(), values.begin(), values.end());
  set_environment(spec, around, id, environment, {});
  spec.timeout = git_limit;
  spec.log = log_path(around, to_text(pipeline), label, id);
  return plan;
}

}  // namespace

Result<Plan> plan_for(EffectId id, const WorktreeAdd& add, const Surroundings& around) {
  const std::string root = root_of(around.state(), add.pipeline);
  std::string path = add.path;
  if (path.empty()) path = around.home + "/workspaces/" + to_text(add.pipeline);
  if (!path.starts_with('/')) {
    if (root.empty()) return fail(Error::Code::BadRequest, "nobody knows where " + path + " is");
    path = root + "/" + path;
  }
  if (path.find('\n') != std::string::npos) {
    return fail(Error::Code::BadRequest, "a workspace cannot have a newline in its path");
  }
  if (!add.branch.empty() && root.empty()) {
    return fail(Error::Code::BadRequest, "the project has no folder, so there is no repository");
  }
  const Variables values{
      {"G_ROOT", root}, {"G_PATH", path}, {"G_BRANCH", add.branch}, {"G_BASE", add.base}};
  Plan plan = plan_of(
      id, add.pipeline, add.branch.empty() ? folder_text : add_text, "workspace", values, around);
  plan.spec.synced = false;  // done again, it finds what is there
  return plan;
}

Result<Plan> plan_for(EffectId id, const WorktreeRemove& remove, const Surroundings& around) {
  const Variables values{{"G_ROOT", root_of(around.state(), remove.pipeline)},
                         {"G_PATH", remove.path},
                         {"G_OURS", around.home + "/workspaces"},
                         {"G_FORCE", remove.force ? "1" : ""}};
  Plan plan = plan_of(id, remove.pipeline, remove_text, "workspace removal", values, around);
  plan.spec.timeout = prune_limit;
  plan.spec.synced = false;
  return plan;
}

namespace {

// What the approach of its strategy is called that a pipeline tries now, or nothing.
std::string approach_of(const pipeline::Pipeline& pipeline, const State& state) {
  const auto* acting = std::get_if<pipeline::Acting>(&pipeline.course);
  const auto* run = acting ? std::get_if<pipeline::StrategyRun>(&acting->what) : nullptr;
  const auto* trying = run ? std::get_if<strategy::Trying>(&run->machine.state) : nullptr;
  const definition::Set* set = definition::find(state.definitions, pipeline.origin->set);
  const definition::Strategy* strategy = trying && set ? set->strategies.find(run->name) : nullptr;
  if (!strategy || trying->approach >= strategy->approaches.size()) return {};
  return strategy->approaches[trying->approach].name;
}

// The merge of an attempt stands beside what else its strategy runs, and is called as that is.
std::string label_of(const Merge& merge, const State& state) {
  const pipeline::Pipeline* found = state.pipelines.pipelines.find(merge.pipeline);
  const std::string phase = found ? pipeline::phase_of(*found) : "";
  if (phase.empty()) return "merge#";
  std::string name = approach_of(*found, state);
  if (name.empty()) name = "merge";
  return phase + "#" + std::to_string(pipeline::attempt_of(*found)) + " " + name;
}

}  // namespace

Result<Plan> plan_for(EffectId id, const Merge& merge, const Surroundings& around) {
  const std::string root = root_of(around.state(), merge.pipeline);
  if (root.empty()) {
    return fail(Error::Code::BadRequest, "the project has no folder, so there is no repository");
  }
  const Variables values{{"G_ROOT", root},
                         {"G_BRANCH", merge.branch},
                         {"G_INTO", merge.into},
                         {"G_STRATEGY", std::string(name_of(merge.strategy))},
                         {"G_TREE", around.home + "/merges/" + to_text(merge.pipeline)}};
  Plan plan =
      plan_of(id, merge.pipeline, merge_text, label_of(merge, around.state()), values, around);
  if (merge.timeout) plan.spec.timeout = merge.timeout;
  return plan;
}

}  // namespace reeve::adapters
