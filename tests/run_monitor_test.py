"""Monitors: what they look after, what they remember, and whom they ask."""

import json
import os
import shutil
import signal
import textwrap
import unittest

from reeve_testing import REEVE
from run_testing import Project

WATCH = """
    [cron.watch]
    interval = "{every}"
    run      = {{ monitors = ["things"] }}

    [monitor.things]
    source    = "cat things.json"
    condition = "{condition}"
    response  = ["mend:2", "escalate"]

    [action.mend]
    run = "echo {{id}} >> mended.txt; while [ -e stop ]; do sleep 0.05; done; yes | head -1 > yes.txt"
"""


class Monitors(Project):
    def setUp(self):
        super().setUp()
        self.condition = "! grep -q {id} well.txt"
        self.write(WATCH.format(every="1h", condition=self.condition))
        self.put("things.json", json.dumps([{"id": "a"}, {"id": "b"}]))
        self.put("well.txt", "b\n")

    def read(self, name):
        try:
            with open(os.path.join(self.work, name), encoding="utf-8") as file:
                return file.read()
        except FileNotFoundError:
            return ""

    def look(self, *words, **options):
        return self.data("monitor", "run", *words, "things", **options)["done"]

    def test_responses_are_used_up_and_then_somebody_is_asked(self):
        self.write("""
            [notify]
            on      = ["escalate"]
            command = "echo told >> told.txt"
        """, "notify.toml")
        self.data("cron", "enable", "watch")
        for action in ("mend", "mend", "escalate"):
            self.assertEqual(self.look(), [{"id": "a", "action": action, "ok": True}])
        decision = self.data("decision", "list")["decisions"][0]
        self.assertIn("monitor things: a needs somebody", decision["question"])
        self.until(lambda: self.read("told.txt"), "nobody was told")
        self.assertIn(decision["id"], self.out("status"))
        # It is there whoever looks, and is asked once.
        self.assertEqual(self.look(), [])
        self.assertEqual(len(self.data("decision", "list")["decisions"]), 1)
        self.stop_daemon()
        self.assertEqual(len(self.data("decision", "list")["decisions"]), 1)
        # What is well again needs nobody.
        self.put("well.txt", "a\nb\n")
        self.assertEqual(self.look(), [])
        self.assertEqual(self.data("decision", "list")["decisions"], [])
        self.put("well.txt", "")
        self.assertEqual({each["id"] for each in self.look()}, {"a", "b"})

    def test_a_look_that_is_killed_does_nothing_twice(self):
        self.put("stop", "")
        look = self.start("monitor", "run", "things", start_new_session=True)
        self.until(lambda: self.read("mended.txt") == "a\n")
        os.killpg(look.pid, signal.SIGKILL)
        look.wait()
        os.remove(os.path.join(self.work, "stop"))
        self.assertEqual(self.look(), [{"id": "a", "action": "mend", "ok": True}])
        self.assertEqual(self.look(), [{"id": "a", "action": "escalate", "ok": True}])
        self.assertEqual(self.read("mended.txt"), "a\na\n")

    def test_many_things_are_remembered(self):
        things = [{"id": f"thing-{n}-{'x' * 200}"} for n in range(3000)]
        self.write(WATCH.format(every="1h", condition="true").replace('"mend:2", ', ""))
        self.put("things.json", json.dumps(things[:3]))
        self.assertEqual(len(self.look()), 3)
        folder = os.path.join(self.home, "monitors")
        name = next(each for each in os.listdir(folder) if each.endswith(".json"))
        known = {each["id"]: {"escalate": {"count": 1, "at": 1}} for each in things}
        with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
            json.dump(known, file)
        self.put("things.json", json.dumps(things[-2:]))
        self.assertEqual(self.look(), [])

    def test_a_cron_keeps_the_monitors_it_was_enabled_with(self):
        self.write(WATCH.format(every="1s", condition=self.condition))
        self.data("cron", "enable", "watch")
        self.until(lambda: self.read("mended.txt").count("a") == 2)
        self.write("[monitor.things]\nsuorce = 1\n")
        self.until(lambda: self.data("decision", "list")["decisions"], "its look failed")


class Watchdog(Project):
    @unittest.skipUnless(shutil.which("tmux"), "there is no tmux")
    def test_agents_that_are_silent_are_idle_and_looked_after(self):
        self.env["PATH"] = f"{os.path.dirname(REEVE)}:{self.env.get('PATH', os.environ['PATH'])}"
        self.write(self.out("runbook", "example", "watchdog").replace("5m", "5s"), "watchdog.toml")
        self.write("""
            [command.go]
            run = { agent = "it" }
            [agent.it]
            command = "while read -r line; do echo got $line; done"
        """)
        id = self.data("run", "go")["id"]
        self.until(lambda: self.data("agent", "show", id)["state"] != "pending")
        idle = ("agent", "list", "--state", "idle")
        self.assertEqual(self.data(*idle)["agents"], [])
        self.until(lambda: self.data(*idle)["agents"], "it is never idle", seconds=30)
        self.assertEqual(self.data("agent", "show", id)["state"], "idle")
        self.assertEqual(self.data("monitor", "run", "idle_agents")["done"],
                         [{"id": id, "action": "nudge", "ok": True}])
        self.until(lambda: self.data("agent", "show", id)["state"] != "idle", "it was not nudged")
        self.data("agent", "kill", id)


class Crons(Project):
    def test_what_its_program_said_last_is_shown_of_it_and_of_no_other_project(self):
        cron = """
            [cron.a]
            interval = "1h"
            run      = "echo {}; exit 3"
            [cron.b]
            interval = "1h"
            run      = {{ pipeline = "p" }}
            [pipeline.p]
            [[pipeline.p.phase]]
            name = "x"
            run  = "true"
        """
        other = os.path.join(self.base, "other")
        os.makedirs(os.path.join(other, ".reeve/runbooks"))
        with open(os.path.join(other, ".reeve/runbooks/x.toml"), "w", encoding="utf-8") as file:
            file.write(textwrap.dedent(cron.format("the others fail")))
        self.write(cron.format("so it goes"))
        self.data("cron", "enable", "a")
        self.assertIn("a has said nothing", self.err("logs", "a"))
        self.data("cron", "run", "a")
        self.data("cron", "run", "a", cwd=other)
        self.until(lambda: self.out("logs", "a") == "so it goes")
        self.until(lambda: self.out("logs", "a", cwd=other) == "the others fail")
        self.assertTrue(self.out("cron", "show", "a").endswith("said last\n  | so it goes"))
        self.assertTrue(self.out("why", "a").endswith("said last\n  | so it goes"))
        self.assertEqual(self.data("cron", "show", "a")["output"], "so it goes")
        self.assertEqual(self.data("why", "a")["output"], "so it goes")
        self.data("cron", "enable", "b")
        self.assertIn("reeve pipeline list --name p", self.err("logs", "b", code=3))

    def test_asking_when_changes_nothing_and_starts_nothing(self):
        text = textwrap.dedent("""
            [cron.nightly]
            schedule = "{} * * *"
            run      = "true"
        """)
        self.write(text.format("30 3"))
        self.assertRegex(self.data("cron", "next", "nightly")["next"][0]["at"], "T03:30:00")
        self.assertFalse(os.path.exists(self.home))
        self.data("cron", "enable", "nightly")
        self.assertEqual(self.data("cron", "list")["crons"][0]["schedule"], "30 3 * * *")
        before = self.data("cron", "show", "nightly")
        self.write(text.format("*/15 9-17"))
        self.assertRegex(self.data("cron", "next", "nightly")["next"][0]["at"], "T03:30:00")
        self.assertEqual(self.data("cron", "show", "nightly")["schedule"], before["schedule"])
        self.data("cron", "disable", "nightly")
        self.assertRegex(self.data("cron", "next", "nightly")["next"][0]["at"], "T(09|1[0-7]):..:00")
        self.data("cron", "enable", "nightly")
        self.assertEqual(self.data("cron", "show", "nightly")["schedule"], "*/15 9-17 * * *")
        self.assertIn("did you mean", self.err("cron", "next", "nigthly", code=3))


if __name__ == "__main__":
    unittest.main()
