#include "tools/runbook_examples.h"

#include <array>

namespace reeve::tools {
namespace {

constexpr std::string_view pipeline = R"toml(# Two phases, a guard and a lock: reeve run release 1.2
[command.release]
args = "<version>"
run  = { pipeline = "release" }

[pipeline.release]
inputs = ["version"]

[[pipeline.release.phase]]
name = "build"
run  = "echo building {version}"
post = ["is_clean"]

[[pipeline.release.phase]]
name = "publish"
lock = "registry"
run  = "echo publishing {version}"

[guard.is_clean]
condition = "git diff --quiet"
retry     = { max = 3, interval = "5s" }

[lock.registry]
max_hold = "10m"
)toml";

constexpr std::string_view queue =
    R"toml(# A queue and a worker: reeve queue push bugs '{"id": 42}'; reeve worker start bugfix
[queue.bugs]
visibility_timeout = "30m"
max_attempts       = 3
dead_letter        = "bugs_dead"

[queue.bugs_dead]

[worker.bugfix]
queue       = "bugs"
handler     = "pipeline.fix"
concurrency = 2

[pipeline.fix]
inputs = ["bug"]

[[pipeline.fix.phase]]
name    = "work"
run     = "echo fixing {bug}"
timeout = "10m"
retry   = { max = 2, delay = "30s" }
)toml";

constexpr std::string_view merge =
    R"toml(# Merge branches one after the other: reeve run merge feature
[command.merge]
args = "<branch>"
run  = { pipeline = "merge" }

[pipeline.merge]
inputs = ["branch"]

[[pipeline.merge.phase]]
name     = "merge"
lock     = "main_branch"
strategy = "merge"

[strategy.merge]
checkpoint = "git rev-parse HEAD"
on_exhaust = "escalate"

[[strategy.merge.attempt]]
name        = "fast-forward"
merge       = "ff"
into        = "main"
fallback_on = ["not possible to fast-forward"]

[[strategy.merge.attempt]]
name     = "rebase"
run      = "git rebase main {branch}"
rollback = "git rebase --abort; git reset --hard {checkpoint}"

[lock.main_branch]
max_hold = "30m"
)toml";

constexpr std::string_view cron = R"toml(# Every night at three: reeve cron enable nightly
[cron.nightly]
schedule = "0 3 * * *"
timezone = "Europe/Berlin"
catch_up = "latest"
window   = "24h"
run      = { pipeline = "cleanup" }

[pipeline.cleanup]
[[pipeline.cleanup.phase]]
name = "prune"
run  = "git worktree prune"
)toml";

constexpr std::string_view parallel = R"toml(# Side by side, and over a list: reeve run build a b c
[command.build]
args = "[targets...]"
run  = { pipeline = "build" }

[pipeline.build]
inputs = ["targets"]

[[pipeline.build.phase]]
name     = "checks"
parallel = ["lint", "docs"]
join     = "all"

[[pipeline.build.phase]]
name     = "compile"
for_each = "{targets}"
pipeline = "compile"
max      = 8

[pipeline.lint]
[[pipeline.lint.phase]]
name = "lint"
run  = "echo linting"

[pipeline.docs]
[[pipeline.docs.phase]]
name = "docs"
run  = "echo writing"

[pipeline.compile]
inputs = ["target"]
[[pipeline.compile.phase]]
name      = "compile"
semaphore = { name = "cpu", weight = 2 }
run       = "echo compiling {target}"

[semaphore.cpu]
capacity = 4
)toml";

constexpr std::string_view agent = R"toml(# An agent in its own worktree: reeve run fix 42
[command.fix]
args = "<bug>"
run  = { pipeline = "fix" }

[pipeline.fix]
inputs    = ["bug"]
workspace = { git = true, branch = "fix/{bug}", base = "main" }

[[pipeline.fix.phase]]
name  = "work"
agent = "fixer"
post  = ["tests_pass"]

[agent.fixer]
kind         = "generic"
mode         = "print"
command      = "./agent.sh"
prompt       = "Fix bug {bug}."
cwd          = "{workspace}"
idle_timeout = "3m"
on_idle      = ["nudge:2", "restart:1", "escalate"]

[guard.tests_pass]
condition  = "make -C {workspace} test"
timeout    = "30m"
on_timeout = "escalate"
)toml";

constexpr std::string_view watchdog =
    R"toml(# Look after agents that stand still: reeve cron enable watchdog
[cron.watchdog]
interval = "1m"
run      = { monitors = ["idle_agents"] }

[monitor.idle_agents]
source    = "reeve agent list --state idle --json"
condition = "reeve agent idle-time {id} --over 5m"
response  = ["nudge", "restart:2", "escalate"]

[action.nudge]
run          = "reeve agent nudge {id}"
cooldown     = "30s"
max_attempts = 3

[notify]
on      = ["escalate"]
desktop = true
)toml";

constexpr std::array<RunbookExample, 7> examples = {{
    {"pipeline", "two phases, a guard and a lock", pipeline},
    {"queue", "a queue, a worker, retries and dead letters", queue},
    {"merge", "a merge queue with a strategy", merge},
    {"cron", "a nightly job with catch-up", cron},
    {"parallel", "parallel phases, fan-out and a semaphore", parallel},
    {"agent", "an agent in a git worktree", agent},
    {"watchdog", "a monitor that nudges and restarts", watchdog},
}};

}  // namespace

std::span<const RunbookExample> runbook_examples() { return examples; }

std::string_view first_runbook() {
  return R"toml(# Two phases, a guard and a lock. Try:
#
#     reeve run hello world --dry-run    what would happen
#     reeve run hello world --follow     watch it happen
#     reeve runbook check                after you have changed this file
#
# docs/runbooks.md tells the rest; `reeve runbook example` has more to begin with.

[command.hello]                     # reeve run hello world
args = "<who>"
run  = { pipeline = "hello" }

[pipeline.hello]
inputs = ["who"]

[[pipeline.hello.phase]]            # first this ...
name = "greet"
run  = """
echo "hello {who}"
echo "greeting=hello {who}" >> "$REEVE_OUTPUT"
"""

[[pipeline.hello.phase]]            # ... then this, when the guard passes,
name = "remember"
pre  = ["disk_has_room"]
lock = "memory"                     # by one run at a time
run  = "echo {greet.greeting} >> .reeve/greetings.txt"

[guard.disk_has_room]               # passes when it exits with 0; else it is checked again
condition = "test \"$(df -Pk . | awk 'NR == 2 { print $4 }')\" -gt 1024"
retry     = { max = 10, interval = "5s" }

[lock.memory]
max_hold = "5m"
)toml";
}

}  // namespace reeve::tools
