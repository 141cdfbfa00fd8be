"""A project with runbooks, and some that fail."""

import os
import textwrap

from reeve_testing import Home


# A parent, two children side by side, and what they hold and wait for.
FAMILY = """
    [command.fan]
    run = { pipeline = "fan" }
    [pipeline.fan]
    on_fail = "fail"
    [[pipeline.fan.phase]]
    name     = "all"
    parallel = ["c1", "c2"]
    [[pipeline.fan.phase]]
    name = "after"
    run  = "echo the parent"

    [pipeline.c1]
    [[pipeline.c1.phase]]
    name = "s"
    lock = "left"
    run  = "echo one speaks; while [ -e hold ]; do sleep 0.05; done"
    [pipeline.c2]
    [[pipeline.c2.phase]]
    name = "s"
    lock = "right"
    run  = "echo two speaks; while [ -e hold ]; do sleep 0.05; done"

    [lock.left]
    [lock.right]

    [command.each]
    run = { pipeline = "each" }
    [pipeline.each]
    [[pipeline.each.phase]]
    name     = "all"
    for_each = "[1, 2]"
    max      = 1
    pipeline = "one"
    [pipeline.one]
    inputs = ["number"]
    [[pipeline.one.phase]]
    name = "s"
    run  = "echo number {number}"

    [command.loop]
    run = { pipeline = "loop" }
    [pipeline.loop]
    [[pipeline.loop.phase]]
    name = "a"
    run  = "echo a; test -e second"
    retry = { max = 1, delay = "10ms" }
    on_fail = "mend"
    next    = "end"
    [[pipeline.loop.phase]]
    name = "mend"
    run  = "echo mended; touch second"
    next = "a"
"""


class Project(Home):
    """A project with runbooks in it."""

    def setUp(self):
        super().setUp()
        os.makedirs(os.path.join(self.work, ".reeve/runbooks"))

    def write(self, text, name="test.toml"):
        path = os.path.join(self.work, ".reeve/runbooks", name)
        with open(path, "w", encoding="utf-8") as file:
            file.write(textwrap.dedent(text))
        return path

    def put(self, name, text):
        with open(os.path.join(self.work, name), "w", encoding="utf-8") as file:
            file.write(text)

    def blocked(self, id, kind):
        def look():
            shown = self.data("pipeline", "show", id)
            return shown if shown.get("blocked_on", {}).get("kind") == kind else None

        return self.until(look, f"{id} is not blocked on {kind}: {self.out('why', id)}")

    def run_id(self, *words):
        return self.data("run", *words)["pipeline"]


BROKEN = """
    [command.ship]
    args = "<version> [-n/--note <text>]"
    defaults = { note = "" }
    run  = { pipeline = "ship" }

    [pipeline.ship]
    inputs = ["version", "note"]

    [[pipeline.ship.phase]]
    name = "build"
    run  = "echo building {version}; exit 3"

    [[pipeline.ship.phase]]
    name = "publish"
    run  = "exit 3"
"""


WORKER = """
    [command.report]
    args = "<bug> [-p/--priority <n>]"
    defaults = { priority = "0" }
    run  = { queue = "bugs" }

    [queue.bugs]
    max_attempts = 2
    backoff      = { first = "10ms", max = "10ms" }
    dead_letter  = "bugs_dead"
    [queue.bugs_dead]

    [worker.bugfix]
    queue       = "bugs"
    handler     = "pipeline.fix"
    concurrency = 2

    [pipeline.fix]
    inputs  = ["bug"]
    on_fail = "fail"
    [[pipeline.fix.phase]]
    name = "work"
    run  = "echo {bug}; exit 3"

    [cron.nightly]
    schedule = "0 3 * * *"
    timezone = "Europe/Berlin"
    run      = { pipeline = "clean" }
    [pipeline.clean]
    on_fail = "fail"
    [[pipeline.clean.phase]]
    name = "prune"
    run  = "exit 3"
"""
