"""A project with runbooks, and some that fail."""

import os
import textwrap

from reeve_testing import Home


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
