"""Why a run does not move, and that the answer fits a screen."""

import os
import re
import signal
import unicodedata
import unittest

from reeve_testing import Terminal
from run_testing import FAMILY, Project


class Why(Project):
    def test_what_is_only_defined_is_shown_and_said_not_to_be_started(self):
        self.write("""
            [queue.q]
            [worker.w]
            queue = "q"
            handler = "pipeline.p"
            [cron.c]
            interval = "1h"
            run = { pipeline = "p" }
            [pipeline.p]
            [[pipeline.p.phase]]
            name = "a"
            run = "true"
        """)
        where = ".reeve/runbooks/test.toml"
        for _ in range(2):
            self.assertEqual(self.data("worker", "show", "w"), {"name": "w", "state": "defined", "where": where})
            self.assertIn("it is not started; `reeve worker start w` starts it", self.out("why", "w"))
            self.reeve("worker", "start", "w")
            self.assertEqual(self.data("worker", "show", "w")["state"], "started")
            self.reeve("worker", "stop", "w")
        self.assertIn("c defined in .reeve/runbooks/test.toml", self.out("cron", "show", "c"))
        self.assertIn("it is not enabled; `reeve cron enable c` enables it", self.out("why", "c"))
        self.reeve("why", "c", "--kind", "worker", code=3)
        self.reeve("worker", "show", "x", code=3)
        self.reeve("why", "x", code=3)

    def test_a_weighted_semaphore_is_told_by_what_is_wanted_and_what_is_free(self):
        self.write("""
            [command.go]
            run = { pipeline = "go" }
            [pipeline.go]
            [[pipeline.go.phase]]
            name      = "work"
            semaphore = "room"
            run       = "true"
            [semaphore.room]
            capacity = 4
        """)
        self.reeve("run", "go", "--wait")
        self.reeve("sem", "acquire", "room", "-w", "3", "--holder", "ana")
        self.start("sem", "acquire", "room", "-w", "3", "--holder", "heavy", "--wait")
        self.until(lambda: self.data("sem", "show", "room")["waiting"] == 1)
        id = self.run_id("go")
        self.blocked(id, "semaphore")
        why = self.out("why", id)
        self.assertIn("in line for room, at place 2: wants 1, 1 of 4 free, behind heavy who wants 3", why)
        self.assertRegex(why, r"1\. heavy  wants 3, since")
        self.assertIn("in line: 1 of 4 free", self.out("why", "room"))
        self.reeve("sem", "release", "room", "--holder", "ana")
        self.reeve("wait", id)

    def test_a_long_line_fits_a_screen_and_has_the_askers_place(self):
        self.write("""
            [command.go]
            run = { pipeline = "go" }
            [pipeline.go]
            [[pipeline.go.phase]]
            name = "work"
            lock = ["main", "docs"]
            run  = "true"
            [lock.main]
            [lock.docs]
        """)
        self.reeve("lock", "acquire", "main", "--holder", "ana")
        runs = [self.run_id("go") for _ in range(25)]
        self.until(lambda: self.waiting_for("main") == 25)
        told = self.out("why", runs[-1])
        self.assertLessEqual(len(told.split("\n")), 24, told)
        self.assertIn("in line for main, at place 25 of 25\n", told)
        self.assertRegex(told, rf"    …\n   25\. {runs[-1]} \(go work\)  since")
        self.assertEqual(told.count("  since"), 4, told)
        of_lock = self.out("why", "main")
        self.assertRegex(of_lock, rf"in line, 25\n    1\. {runs[0]} \(go work\)  since.*\n.*\n    3\. {runs[2]} \(go work\)  since.*\n    …")
        # The first in line waits for one of the two, and not for itself.
        first = self.out("why", runs[0])
        self.assertIn("lock main held by ana", first)
        self.assertNotIn("kept for", first)
        self.reeve("lock", "release", "main", "--holder", "ana")
        self.reeve("wait", *runs)

    def test_loud_guards_fit_a_screen(self):
        self.write("""
            [command.go]
            args     = "[after]"
            defaults = { after = "" }
            run      = { pipeline = "go" }
            [pipeline.go]
            inputs = ["after"]
            after  = ["{after}"]
            [[pipeline.go.phase]]
            name = "work"
            pre  = ["loud", "loud2", "loud3"]
            run  = "true"
        """ + "".join(f"""
            [guard.{name}]
            condition = "for i in $(seq 60); do printf '%0150d\\\\n' $i; done; echo end of {name}; exit 1"
        """ for name in ("loud", "loud2", "loud3")))
        ids = [self.run_id("go")]
        self.until(lambda: self.out("why", ids[0]).count("end of loud") >= 1)
        ids.append(self.run_id("go", ids[0]))
        for id in ids:
            told = self.out("why", id)
            rows = sum(max(1, (len(line) + 79) // 80) for line in told.split("\n"))
            self.assertLessEqual(rows, 24, told)
            self.assertIn("…", told)
            self.assertIn("end of loud", told)
        self.reeve("cancel", *reversed(ids))

    def test_only_the_semaphore_that_has_no_room_is_in_the_way(self):
        self.write("""
            [command.go]
            run = { pipeline = "go" }
            [pipeline.go]
            [[pipeline.go.phase]]
            name      = "work"
            lock      = ["l1", "l2"]
            semaphore = [{ name = "s", weight = 2 }, "s2"]
            run       = "true"
            [lock.l1]
            [lock.l2]
            [semaphore.s]
            capacity = 2
            [semaphore.s2]
            capacity = 5
        """)
        self.reeve("sem", "create", "s", "--capacity", "2")
        self.reeve("sem", "create", "s2", "--capacity", "5")
        self.reeve("sem", "acquire", "s", "--holder", "ana", "--timeout", "1h")
        self.reeve("sem", "acquire", "s2", "--holder", "bo", "--timeout", "1h")
        id = self.run_id("go")
        self.until(lambda: self.data("show", id)["state"] == "blocked")
        links = [(link["kind"], link["name"]) for link in self.data("why", id)["waiting_on"]]
        self.assertEqual(links, [("sem", "s")])
        self.assertNotIn("s2", self.out("why", id))
        self.reeve("cancel", id)

    def test_an_unknown_run_to_come_after_is_named(self):
        self.write("""
            [command.aft]
            args = "<id> [v]"
            defaults = { v = "" }
            run  = { pipeline = "aft" }
            [pipeline.aft]
            inputs = ["id", "v"]
            after  = ["{id}"]
            [[pipeline.aft.phase]]
            name = "x"
            run  = "true"
        """)
        self.assertIn('there is no run "zzzz"', self.err("run", "aft", "zzzz", code=3))
        self.assertIn("pipe-zzzzzz", self.err("run", "aft", "pipe-zzzzzz", code=3))
        self.assertIn("at most 100 KiB", self.err("run", "aft", "", "x" * 110000, code=2))

    def test_many_holders_and_many_children_fit_a_screen(self):
        self.write("""
            [command.all]
            args = "[items...]"
            run  = { pipeline = "all" }
            [pipeline.all]
            inputs = ["items"]
            [[pipeline.all.phase]]
            name     = "each"
            for_each = "{items}"
            pipeline = "one"
            max      = 40
            [pipeline.one]
            inputs = ["item"]
            [[pipeline.one.phase]]
            name      = "work"
            semaphore = "room"
            run       = "true"
            [semaphore.room]
            capacity = 20
        """)
        self.reeve("runbook", "check")
        self.reeve("sem", "create", "room", "--capacity", "20")
        for number in range(20):
            self.reeve("sem", "acquire", "room", "--holder", f"h{number:02}", "--timeout", "1h")
        told = self.out("why", "room")
        self.assertEqual(told.count("held by"), 3, told)
        self.assertRegex(told, r"held by h02 [^\n]*\n[^\n]*\n  … and 17 more")
        self.assertEqual(len(self.data("why", "room")["waiting_on"]), 20)
        id = self.run_id("all", *[str(number) for number in range(30)])
        self.until(lambda: self.data("sem", "show", "room")["waiting"] == 30)
        told = self.out("why", id)
        self.assertLessEqual(len(told.split("\n")), 24, told)
        self.assertIn("\n    … and 25 more", told)
        self.assertEqual(told.count("held by"), 3, told)
        self.reeve("cancel", id)

    def test_the_process_is_the_programs_and_gone_when_that_is(self):
        self.write(FAMILY)
        self.put("hold", "")
        id = self.run_id("fan")
        self.until(lambda: self.out("why", id).count(", process ") == 2)
        held = self.data("lock", "show", "left")
        self.assertNotIn("last_heartbeat", held)
        self.assertNotIn("heartbeat", self.out("lock", "show", "left"))
        for link in self.data("why", id)["waiting_on"]:
            if "run" not in link:
                continue
            with open(f"/proc/{link['pid']}/cmdline", "rb") as file:
                self.assertRegex(file.read(), rb"(?s)^bash\0.*speaks")
            with open(f"/proc/{link['pid']}/stat", encoding="utf-8") as file:
                keeper = int(file.read().rpartition(")")[2].split()[1])
            os.kill(keeper, signal.SIGKILL)
        self.until(lambda: ", process " not in self.out("why", id))
        os.remove(os.path.join(self.work, "hold"))
        self.reeve("cancel", id)


def rows_of(text, columns):
    """Rows of a terminal: it breaks what is wider, and no wide character stands in its last cell."""
    rows = 0
    for line in text.split("\n"):
        rows += 1
        used = 0
        for character in line:
            cells = 2 if unicodedata.east_asian_width(character) in "WF" else 1
            if used + cells > columns:
                rows += 1
                used = 0
            used += cells
    return rows


class WhyOnOneScreen(Project):
    """Whatever comes together: what is waited for, what a program said of it, the line, what is next."""

    LOUD = "for i in $(seq 60); do echo line $i of what it said; done; exit 1"

    def why(self, name, rows=24, columns=80):
        terminal = Terminal(self, "why", name, rows=rows, columns=columns, env={"NO_COLOR": "1"})
        self.assertEqual(terminal.end(), 0)
        told = terminal.seen.replace("\r", "").rstrip("\n")
        self.assertLessEqual(rows_of(told, columns), rows - 1, told)
        return told

    def see(self, name, *essential):
        """On screens of several sizes; gives what is told on the usual one."""
        usual = self.why(name)
        for told in (usual, self.why(name, rows=20, columns=60), self.why(name, rows=16)):
            for words in essential:
                self.assertRegex(told, words)
        return usual

    def test_a_holder_in_a_loud_guard_with_many_in_line(self):
        self.write(f"""
            [command.go]
            run = {{ pipeline = "go" }}
            [pipeline.go]
            [[pipeline.go.phase]]
            name = "work"
            lock = "main"
            run  = "true"
            post = ["loud"]
            [guard.loud]
            condition = "{self.LOUD}"
            [lock.main]
        """)
        first = self.run_id("go")
        self.until(lambda: "line 60" in self.out("why", first))
        runs = [self.run_id("go") for _ in range(8)]
        self.until(lambda: self.waiting_for("main") == 8)
        essential = [
            rf"lock main held by {first} \(go work\) since ",
            rf"guard loud of {first} \(go\) since ",
            r"\| …\n(.*\n)*.*\| line 59 of what it said\n.*\| line 60 of what it said\n",
        ]
        told = self.see("main", *essential, r"in line, 8\n +1\. ")
        self.assertIn(f"    3. {runs[2]} (go work)  since ", told)
        self.assertTrue(told.endswith("\n    …"), told)
        # All of the screen is made use of.
        self.assertEqual(rows_of(told, 80), 23, told)
        told = self.see(
            runs[-1],
            *essential,
            r"in line for main, at place 8 of 8\n +1\. ",
            rf"…\n    8\. {runs[-1]} \(go work\)  since .*$",
        )
        self.assertIn(f"    3. {runs[2]} (go work)  since ", told)
        self.assertEqual(rows_of(told, 80), 23, told)
        # One that is high has room for more of what was said, and a pipe as much as ever.
        self.assertIn("line 1 of what it said", self.why("main", rows=100))
        self.assertIn("line 50 of what it said", self.out("why", "main"))
        self.reeve("cancel", *runs, first)

    def test_a_semaphore_with_loud_holders_and_many_in_line(self):
        self.write(f"""
            [command.go]
            run = {{ pipeline = "go" }}
            [pipeline.go]
            [[pipeline.go.phase]]
            name      = "work"
            semaphore = "room"
            run       = "true"
            post      = ["loud"]
            [guard.loud]
            condition = "{self.LOUD}"
            [semaphore.room]
            capacity = 2
        """)
        first = [self.run_id("go"), self.run_id("go")]
        for id in first:
            self.until(lambda: "line 60" in self.out("why", id))
        runs = [self.run_id("go") for _ in range(8)]
        self.until(lambda: self.data("sem", "show", "room")["waiting"] == 8)
        essential = [
            r"sem room held by pipe-\w+ \(go work\) since .*\n    has 1 of 2",
            r"guard loud of pipe-\w+ \(go\) since ",
            r"\| …\n(.*\n)*.*\| line 60 of what it said\n",
        ]
        told = self.see("room", *essential, r"in line, 8: 0 of 2 free\n +1\. ")
        for id in first:
            self.assertIn(f"sem room held by {id} ", told)
        told = self.see(
            runs[-1],
            *essential,
            r"in line for room, at place 8 of 8: wants 1, 0 of 2 free,\s+behind",
        )
        for id in first:
            self.assertIn(f"sem room held by {id} ", told)
        self.assertRegex(told, rf"\n    8\. {runs[-1]} \(go work\)  wants 1, since .*$")
        self.reeve("cancel", *runs, *first)

    def test_a_loud_step_before_it_is_tried_again(self):
        self.write(f"""
            [command.go]
            run = {{ pipeline = "go" }}
            [pipeline.go]
            [[pipeline.go.phase]]
            name  = "work"
            run   = "{self.LOUD}"
            retry = {{ max = 3, delay = "1h" }}
        """)
        id = self.run_id("go")
        self.blocked(id, "backoff")
        told = self.see(
            id,
            r"backoff work since ",
            r"it failed: exit code 1: line 60 of what it said\n",
            r"\| …\n(.*\n)*.*\| line 59 of what it said\n.*\| line 60 of what it said\n",
            r"\nnext: phase work is tried again, in (59m|1h).*$",
        )
        self.assertEqual(rows_of(told, 80), 23, told)
        self.reeve("cancel", id)

    def test_many_locks_with_many_in_line(self):
        names = [f"l{number:02}" for number in range(12)]
        self.write(f"""
            [command.go]
            run = {{ pipeline = "go" }}
            [pipeline.go]
            [[pipeline.go.phase]]
            name = "work"
            lock = {names}
            run  = "true"
        """ + "".join(f"""
            [lock.{name}]
        """ for name in names))
        self.reeve("runbook", "check")
        for name in names:
            self.reeve("lock", "acquire", name, "--holder", f"ana of {name}", "--timeout", "1h")
        runs = [self.run_id("go") for _ in range(20)]
        self.until(lambda: self.waiting_for("l00") == 20)
        told = self.see(
            runs[-1],
            r"lock l00 held by ana of l00 since ",
            r"  … and \d+ more; `--json` has them\n",
            r"\nin line for l00, at place 20 of 20\n +1\. ",
            rf"\n   20\. {runs[-1]} \(go work\)  since ",
            rf"\nnext: without a heartbeat of ana of l00 it goes\s+to\s+{runs[0]},",
        )
        left = int(re.search(r"and (\d+) more", told).group(1))
        self.assertEqual(told.count(" held by "), 12 - left, told)
        self.assertGreaterEqual(rows_of(told, 80), 22, told)
        self.reeve("cancel", *runs)

    def test_a_loud_program_of_a_cron(self):
        self.write(f"""
            [cron.nightly]
            schedule = "0 3 * * *"
            run      = "{self.LOUD}"
        """)
        self.reeve("cron", "enable", "nightly")
        self.reeve("cron", "run", "nightly")
        self.until(lambda: "line 60" in self.out("why", "nightly"))
        told = self.see(
            "nightly",
            r"cron nightly: nothing is in the way\nnext: it fires, in ",
            r"said last\n  \| …\n(.*\n)*  \| line 59 of what it said\n  \| line 60 of what it said$",
        )
        self.assertEqual(rows_of(told, 80), 23, told)
        self.assertIn("line 1 of what it said", self.out("why", "nightly"))

    def test_names_and_words_of_any_length_and_width(self):
        name = "鎖" * 60
        label = "ラベル✅ " * 60
        said = "for i in $(seq 60); do printf '✅ 全て %0150d\\\\n' $i; done; echo 終わり; exit 1"
        self.write(f"""
            [command.go]
            run = {{ pipeline = "go" }}
            [pipeline.go]
            [[pipeline.go.phase]]
            name = "work"
            lock = ["{name}", "main"]
            run  = "true"
            [lock."{name}"]
            [lock.main]
            [command.loud]
            run = {{ pipeline = "loud" }}
            [pipeline.loud]
            [[pipeline.loud.phase]]
            name = "work"
            lock = "main"
            run  = "true"
            post = ["loud"]
            [guard.loud]
            condition = "{said}"
        """)
        loud = self.run_id("loud")
        self.until(lambda: "終わり" in self.out("why", loud))
        self.reeve("lock", "acquire", name, "--holder", "持" * 66, "--label", label, "--timeout", "1h")
        for number in range(3):
            self.start("lock", "acquire", name, "--holder", f"{number}" + "待" * 60, "--label", label, "--wait")
        self.until(lambda: self.waiting_for(name) == 3)
        runs = [self.run_id("go") for _ in range(8)]
        self.until(lambda: self.waiting_for(name) == 11)
        for rows, columns in ((24, 80), (20, 60), (16, 60), (16, 61), (24, 41)):
            self.assertIn("in line, 11", self.why(name, rows, columns))
            told = self.why(runs[-1], rows, columns)
            self.assertRegex(told, r"\) since [^\n]*(\n.*)* held for")
            self.assertRegex(told, r"at\s+place\s+11\s+of\s+11")
            self.assertIn("next: ", told)
            told = self.why("main", rows, columns)
            self.assertIn(f"lock main held by {loud}", told)
            self.assertIn("終わり", told)
        self.reeve("cancel", *runs, loud)


if __name__ == "__main__":
    unittest.main()
