"""What one sees of runs: who waits for whom, what those within a run do, how an end is observed."""

import os
import re
import shutil
import signal
import subprocess
import time
import unicodedata
import unittest

from reeve_testing import REEVE, Terminal, is_alive
from run_testing import Project

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


class Listening(Project):
    def heard(self, which, *words):
        """Starts it; and what it has said so far."""
        path = os.path.join(self.base, "heard-" + "-".join(words))
        with open(path, "w", encoding="utf-8") as file:
            process = self.start(*words, **{which: file})

        def read():
            with open(path, encoding="utf-8") as file:
                return file.read()

        return process, read


class Family(Listening):
    """Runs within runs."""

    def setUp(self):
        super().setUp()
        self.write(FAMILY)

    def test_a_parent_is_shown_and_read_and_followed_with_those_within_it(self):
        following = self.start("run", "fan", "--follow")
        told, heads = following.communicate(timeout=60)
        self.assertEqual(following.returncode, 0, told + heads)
        for line in ("one speaks", "two speaks", "the parent"):
            self.assertEqual(told.split("\n").count(line), 1, told)
        self.assertRegex(told, r"pipeline:phase +c1: .*phase=s\n")
        self.assertRegex(told, r"pipeline:complete +c2: ")
        for head in ("c1/s#1:", "c2/s#1:", "after#1:"):
            self.assertIn(head, heads.split("\n"))
        id = re.search(r"`reeve logs (\S+)`", heads).group(1)
        logs = self.reeve("logs", id)
        self.assertEqual(sorted(logs.stdout.split()), sorted("one speaks two speaks the parent".split()))
        self.assertIn("c1/s#1:\n", logs.stderr)
        self.assertEqual(self.out("logs", id, "--phase", "c2/s"), "two speaks")
        self.assertIn("it has all, after, c", self.err("logs", id, "--phase", "zzz", code=3))
        children = self.data("show", id)["children"]
        self.assertEqual([(each["name"], each["state"]) for each in children], [("c1", "done"), ("c2", "done")])
        shown = self.out("show", id)
        self.assertRegex(shown, rf"Children\n +c1 +{children[0]['id']} done\n +c2 +{children[1]['id']} done")

    def test_reading_along_hears_those_within(self):
        self.put("hold", "")
        id = self.run_id("fan")
        reading, heard = self.heard("stdout", "logs", id, "-f")
        self.until(lambda: sorted(heard().splitlines()) == ["one speaks", "two speaks"], "it is not heard")
        os.remove(os.path.join(self.work, "hold"))
        self.assertEqual(reading.wait(30), 0)
        self.assertTrue(heard().endswith("speaks\nthe parent\n"), heard())

    def test_several_of_one_name_are_numbered(self):
        id = self.data("run", "each", "--wait")["id"]
        logs = self.reeve("logs", id)
        self.assertEqual(logs.stdout, "number 1\nnumber 2\n")
        self.assertEqual(logs.stderr, "one/s#1:\none (2)/s#1:\n")

    def test_the_visits_of_a_loop_are_told_apart(self):
        id = self.data("run", "loop", "--wait")["id"]
        logs = self.reeve("logs", id)
        self.assertEqual(logs.stdout.split(), ["a", "a", "mended", "a"])
        self.assertEqual(logs.stderr, "a#1:\na#2:\nmend#1:\na#1, visit 2:\n")
        self.assertEqual(self.out("logs", id, "--phase", "a", "--attempt", "2"), "a")

    @unittest.skipUnless(shutil.which("tmux"), "there is no tmux")
    def test_what_a_strategy_runs_is_called_by_its_names_and_of_one_visit(self):
        self.write("""
            [command.tries]
            run = { pipeline = "tries" }
            [pipeline.tries]
            [[pipeline.tries.phase]]
            name     = "a"
            strategy = "st"
            [strategy.st]
            [[strategy.st.attempt]]
            name     = "one"
            run      = "echo in one; exit 1"
            rollback = "echo back from one"
            [[strategy.st.attempt]]
            name     = "two"
            run      = "echo in two; exit 1"
            rollback = "echo back from two"
            [[strategy.st.attempt]]
            name = "three"
            run  = "echo in three"
        """, "tries.toml")
        id = self.data("run", "tries", "--wait")["id"]
        logs = self.reeve("logs", id)
        self.assertEqual(logs.stdout, "in one\nback from one\nin two\nback from two\nin three\n")
        self.assertEqual(logs.stderr, "a#1 one:\na#1 rollback of one:\na#1 two:\n"
                                      "a#1 rollback of two:\na#1 three:\n")

    def test_the_merges_of_a_strategy_are_called_by_its_names(self):
        self.write("""
            [command.land]
            args = "<branch>"
            run  = { pipeline = "land" }
            [pipeline.land]
            inputs  = ["branch"]
            on_fail = "fail"
            [[pipeline.land.phase]]
            name     = "merge"
            strategy = "m"
            [strategy.m]
            on_exhaust = "fail"
            [[strategy.m.attempt]]
            name  = "fast"
            merge = "ff"
            into  = "main"
            [[strategy.m.attempt]]
            name  = "rb"
            merge = "rebase"
            into  = "main"
        """, "land.toml")
        id = self.run_id("land", "nowhere")
        self.reeve("wait", id, code=1)
        logs = self.reeve("logs", id)
        self.assertEqual(logs.stderr, "merge#1 fast:\nmerge#1 rb:\n")

    def test_an_agent_that_is_tried_twice_is_of_one_visit(self):
        self.write("""
            [command.twice]
            run = { pipeline = "twice" }
            [pipeline.twice]
            [[pipeline.twice.phase]]
            name     = "a"
            strategy = "st"
            [agent.it]
            mode    = "print"
            command = "echo from it; test -e mended"
            [strategy.st]
            checkpoint = "echo here"
            [[strategy.st.attempt]]
            name     = "one"
            agent    = "it"
            rollback = "touch mended"
            [[strategy.st.attempt]]
            name  = "two"
            agent = "it"
        """, "twice.toml")
        id = self.data("run", "twice", "--wait")["id"]
        self.assertNotIn("visit", self.reeve("logs", id).stderr)

    def test_what_an_agent_is_sent_is_of_its_own_visit(self):
        self.write("""
            [command.talk]
            run = { pipeline = "talk" }
            [pipeline.talk]
            [[pipeline.talk.phase]]
            name  = "chat"
            agent = "it"
            next  = "again"
            [[pipeline.talk.phase]]
            name    = "again"
            run     = "test -e second || { touch second; exit 1; }"
            on_fail = "chat"
            [agent.it]
            kind    = "generic"
            command = "while read -r line; do echo got $line; if [ $line = over ]; then exit 0; fi; done"
        """, "talk.toml")
        id = self.run_id("talk")
        for visit in (1, 2):
            agents = self.until(lambda: [all for all in [self.data("show", id).get("agents", [])]
                                         if len(all) == visit])[0]
            self.until(lambda: "started_at" in self.data("agent", "show", agents[-1]["id"]))
            self.reeve("agent", "send", agents[-1]["id"], "over")
            self.until(lambda: self.data("agent", "show", agents[-1]["id"])["state"] == "done")
        self.reeve("wait", id)
        labels = set(re.findall(r"(?m)^(chat.*):$", self.reeve("logs", id).stderr))
        self.assertEqual(labels, {"chat#1 it", "chat#1 it, visit 2"})

    def test_why_has_siblings_side_by_side_and_says_which_waits_for_what(self):
        self.put("hold", "")
        id = self.run_id("fan")
        names = {each["name"]: each["id"] for each in self.until(
            lambda: [each for each in [self.data("show", id).get("children", [])] if len(each) == 2])[0]}
        self.until(lambda: self.out("why", id).count(", process ") == 2)
        lines = self.out("why", id).split("\n")
        steps = [line for line in lines if "phase s of" in line]
        self.assertEqual([line.index("phase") for line in steps], [4, 4], lines)
        for name, child in names.items():
            self.assertTrue(any(f"phase s of {child} ({name})" in line for line in steps), lines)
        other = self.run_id("fan")
        waits = {each["name"]: each["id"] for each in self.until(
            lambda: [each for each in [self.data("show", other).get("children", [])] if len(each) == 2])[0]}
        for child in waits.values():
            self.blocked(child, "lock")
        lines = self.out("why", other).split("\n")
        for name, lock in (("c1", "left"), ("c2", "right")):
            line = [each for each in lines if f"lock {lock}" in each][0]
            told = f"    {waits[name]} ({name}) waits for lock {lock} held by {names[name]}"
            self.assertTrue(line.startswith(told), lines)
        os.remove(os.path.join(self.work, "hold"))
        self.reeve("wait", id, other)


class Follow(Listening):
    def test_who_follows_is_told_of_the_question_and_how_to_answer_it(self):
        self.write("""
            [command.break]
            args = "<note>"
            run  = { pipeline = "break" }
            [pipeline.break]
            inputs = ["note"]
            [[pipeline.break.phase]]
            name = "work"
            run  = "exit 3"
        """)
        following, heard = self.heard("stderr", "run", "break", "x", "--follow")
        self.until(lambda: " asks: " in heard(), "who follows is told of no question")
        ask = re.search(r"`reeve decision resolve (ask-\S+) --choice retry`, or skip, fail, cancel", heard())
        self.assertTrue(ask, heard())
        said = self.out("decision", "resolve", ask.group(1), "--choice", "fail", "-m", "no use")
        self.assertEqual(said, f"{ask.group(1)} answered: fail (no use)")
        self.assertEqual(following.wait(30), 1)
        # Who comes later is told as well.
        id = self.run_id("break", "one two three four five six seven eight nine ten eleven twelve thirteen fourteen")
        ask = self.blocked(id, "decision")["blocked_on"]["name"]
        waiting, heard = self.heard("stderr", "wait", id)
        self.until(lambda: f"{id} asks: " in heard(), "who waits is told of no question")
        # 80 columns are used, and a command to copy is whole.
        terminal = Terminal(self, "show", id)
        self.assertEqual(terminal.end(), 0)
        line = [each for each in terminal.seen.split("\r\n") if "note = " in each][0]
        self.assertTrue(66 < len(line) <= 80, line)
        terminal = Terminal(self, "status")
        self.assertEqual(terminal.end(), 0)
        self.assertIn(f"`reeve decision show {ask}`", terminal.seen)
        self.reeve("decision", "resolve", ask, "--choice", "cancel")
        self.assertEqual(waiting.wait(30), 4)

    def test_who_waits_is_told_of_the_question_of_a_run_within(self):
        self.write("""
            [command.outer]
            run = { pipeline = "outer" }
            [pipeline.outer]
            on_fail = "fail"
            [[pipeline.outer.phase]]
            name     = "all"
            parallel = ["inner"]
            [pipeline.inner]
            [[pipeline.inner.phase]]
            name = "work"
            run  = "while [ ! -e go ]; do sleep 0.05; done; exit 3"
        """)
        id = self.run_id("outer")
        early, heard_early = self.heard("stderr", "wait", id)
        self.until(lambda: self.data("pipeline", "show", id)["children"])
        self.put("go", "")
        self.until(lambda: "(inner) asks: " in heard_early(), "who waited before is told of no question")
        late, heard_late = self.heard("stderr", "wait", id, "--for", "done")
        self.until(lambda: "(inner) asks: " in heard_late(), "who came later is told of no question")
        self.assertEqual(heard_early().count(" asks: "), 1)
        ask = re.search(r"reeve decision resolve (ask-\S+)", heard_late()).group(1)
        self.reeve("decision", "resolve", ask, "--choice", "fail")
        self.assertEqual((early.wait(30), late.wait(30)), (1, 0))

    def test_who_waits_for_a_large_family_goes_in_time(self):
        self.write("""
            [command.many]
            args = "<items>"
            run  = { pipeline = "many" }
            [pipeline.many]
            inputs = ["items"]
            [[pipeline.many.phase]]
            name     = "all"
            for_each = "{items}"
            max      = 500
            pipeline = "one"
            [pipeline.one]
            inputs = ["n"]
            [[pipeline.one.phase]]
            name = "ask"
            run  = "exit 3"
        """)
        began = time.monotonic()
        told = self.reeve("run", "many", str(list(range(300))), "--wait", "--timeout", "2s", code=124).stderr
        self.assertLess(time.monotonic() - began, 20)
        id = re.search(r"the wait is over: (pipe-\S+);", told).group(1)
        asked = self.data("decision", "list")["decisions"]
        told = self.err("wait", id, "--timeout", "0s", code=124)
        for each in asked:
            self.assertIn(each["id"], told)

    def test_who_stops_following_gets_a_line_of_its_own(self):
        self.write(FAMILY)
        self.put("hold", "")
        terminal = Terminal(self, "run", "fan", "--follow")
        self.assertTrue(terminal.until(lambda seen: "one speaks" in seen and "two speaks" in seen))
        terminal.type("\x03")
        self.assertEqual(terminal.end(), 130)
        self.assertRegex(terminal.seen, r"\^C\r\nreeve: it goes on")
        os.remove(os.path.join(self.work, "hold"))


class Why(Project):
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


class Screens(Project):
    def test_what_a_program_said_in_one_long_line_fits_a_screen(self):
        self.write("""
            [command.loud]
            run = { pipeline = "loud" }
            [pipeline.loud]
            [[pipeline.loud.phase]]
            name = "work"
            run  = "seq 100 200; printf 'x%.0s' $(seq 1 100000); exit 1"
            """)
        id = self.run_id("loud")
        self.blocked(id, "decision")
        ask = self.data("decision", "list")["decisions"][0]["id"]
        for words in (
            ["status"],
            [],
            ["status", "--all"],
            ["why", id],
            ["why", ask],
            ["show", id],
            ["show", ask],
            ["pipeline", "list"],
            ["decision", "list"],
            ["decision", "show", ask],
            ["wait", id, "--timeout", "1ms"],
        ):
            terminal = Terminal(self, *words, env={"NO_COLOR": "1"})
            terminal.end()
            lines = terminal.seen.replace("\r", "").split("\n")
            self.assertLessEqual(max(map(len, lines)), 80, terminal.seen)
            self.assertLessEqual(len(lines), 24, terminal.seen)
            self.assertIn("…", terminal.seen)
            if ask not in words and "list" not in words:
                self.assertIn(f"reeve decision ", terminal.seen)
        shown = Terminal(self, "decision", "show", ask)
        shown.end()
        self.assertIn("answer: reeve decision resolve", shown.seen)
        self.assertIn("--json` has all of it", shown.seen)
        # Into a pipe nothing is cut; but what is told in passing is told in brief.
        self.assertIn("x" * 60000, self.out("decision", "show", ask))
        for words in (["status"], ["why", id], ["decision", "list"], ["show", id]):
            self.assertLess(max(map(len, self.out(*words).split("\n"))), 600)
        self.assertLess(len(self.err("wait", id, "--timeout", "1ms", code=124)), 600)
        self.reeve("decision", "resolve", ask, "--choice", "fail")
        ended = self.reeve("wait", id, code=1)
        self.assertLess(len(ended.stdout), 600)
        self.assertIn("x" * 60000, self.data("show", id)["error"])


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


class Logs(Project):
    def test_a_phase_may_be_called_anything_and_its_words_are_found(self):
        long = "x" + "ß" * 99
        names = ["guard x", "a/b", "50%2F", "a#b", ".dot", long]
        text = """
            [command.names]
            run = { pipeline = "names" }
            [guard.x]
            condition = "echo the guard"
            [pipeline.names]
            """
        for number, name in enumerate(names):
            text += f"""
            [[pipeline.names.phase]]
            name = "{name}"
            pre  = ["x"]
            run  = "echo number {number}"
            """
        self.write(text)
        id = self.data("run", "names", "--wait")["id"]
        logs = self.reeve("logs", id)
        self.assertEqual(logs.stdout, "".join(f"number {number}\n" for number in range(len(names))))
        self.assertEqual(logs.stderr, "".join(f"{name}#1:\n" for name in names))
        for number, name in enumerate(names):
            self.assertEqual(self.out("logs", id, "--phase", name, "--attempt", "1"), f"number {number}")
        guards = self.reeve("logs", id, "--guards")
        self.assertIn("the guard\n", guards.stdout)
        self.assertIn("guard x:\n", guards.stderr)
        # As it was called before.
        folder = os.path.join(self.home, "logs", id)
        with open(os.path.join(folder, "a_b#1.9999-0.log"), "w", encoding="utf-8") as file:
            file.write("old\n")
        self.assertEqual(self.out("logs", id, "--phase", "a_b"), "old")

    def test_what_is_not_utf8_is_refused_and_nothing_begins(self):
        self.write("""
            [command.say]
            args = "<what>"
            run  = { pipeline = "say" }
            [pipeline.say]
            inputs = ["what"]
            [[pipeline.say.phase]]
            name = "work"
            run  = "echo {what}"
            """)
        for words in (["run", "say", b"\xff"], ["run", "say", "--", b"\xff"], ["pipeline", "start", "say", b"what=\xff"]):
            done = subprocess.run([REEVE, *words], env=self.env, cwd=self.work, capture_output=True, check=False)
            self.assertEqual(done.returncode, 2, done)
            self.assertRegex(done.stderr, rb"argument [23] is not UTF-8: nothing was done")
        self.assertEqual(self.data("pipeline", "list")["pipelines"], [])

    def test_an_end_that_found_no_room_is_shown_behind_the_beginning(self):
        self.write("""
            [command.go]
            run = { pipeline = "go" }
            [pipeline.go]
            [[pipeline.go.phase]]
            name = "work"
            run  = "echo first; while [ -e hold ]; do sleep 0.05; done"
            """)
        self.put("hold", "")
        id = self.run_id("go")
        self.until(lambda: self.out("logs", id) == "first")
        folder = os.path.join(self.home, "logs", id)
        (log,) = [each for each in os.listdir(folder) if each.startswith("work#1")]
        for ending, text in ((".tail.1", "sec"), (".tail", "ond\nlast\n")):
            with open(os.path.join(folder, log + ending), "w", encoding="utf-8") as file:
                file.write(text)
        # It goes on, and the end may change.
        self.assertEqual(self.out("logs", id), "first")
        for ending in (".tail.1", ".tail"):
            os.remove(os.path.join(folder, log + ending))
        os.remove(os.path.join(self.work, "hold"))
        self.reeve("wait", id)
        for ending, text in ((".tail.1", "sec"), (".tail", "ond\nlast\n")):
            with open(os.path.join(folder, log + ending), "w", encoding="utf-8") as file:
                file.write(text)
        self.assertRegex(self.out("logs", id), r"^first\n\n\[reeve\] \.\.\. .*\nsecond\nlast$")
        with open(os.path.join(folder, log), "a", encoding="utf-8") as file:
            file.write("\n[reeve] ... 7 bytes left out ...\n")
        self.assertEqual(self.out("logs", id), "first\n\n[reeve] ... 7 bytes left out ...\nsecond\nlast")


class Agents(Project):
    def test_the_last_words_of_one_that_failed_and_all_its_attempts_are_shown(self):
        self.write("""
            [command.mind]
            run = { agent = "minder" }
            [agent.minder]
            kind     = "generic"
            mode     = "print"
            command  = "echo so it goes; exit 3"
            on_error = "fail"
        """)
        id = self.data("run", "mind")["id"]
        self.until(lambda: self.data("agent", "show", id)["state"] == "failed")
        told = self.out("agent", "show", id)
        self.assertRegex(told, rf"(?m)^attempts +{id}")
        self.assertTrue(told.endswith("said last\n  | so it goes"), told)
        self.assertEqual(self.data("agent", "show", id)["output"], "so it goes")

    @unittest.skipUnless(shutil.which("tmux"), "there is no tmux")
    def test_it_is_ending_until_nothing_of_it_is_left_and_kill_waits_for_that(self):
        self.write("""
            [command.go]
            run = { pipeline = "go" }
            [pipeline.go]
            on_fail = "fail"
            [[pipeline.go.phase]]
            name  = "work"
            agent = "deaf"
            [agent.deaf]
            kind    = "generic"
            command = "trap '' TERM HUP INT; echo $$ > pid; while :; do sleep 0.2; done"
        """)

        def begin():
            run = self.run_id("go")
            id = self.until(lambda: self.data("show", run).get("agent"))
            self.until(lambda: self.data("agent", "show", id).get("started_at"))
            path = os.path.join(self.work, "pid")
            pid = self.pid_at(path)
            os.remove(path)
            return run, id, pid

        run, id, pid = begin()
        self.assertIn("ended", self.out("agent", "kill", id))
        self.assertFalse(is_alive(pid))
        shown = self.data("agent", "show", id)
        self.assertEqual(shown["state"], "cancelled")
        self.assertIn("ended_at", shown)

        run, id, pid = begin()
        self.assertIn("is being ended", self.out("agent", "kill", id, "--no-wait"))
        shown = self.data("agent", "show", id)
        of_run, of_agent = self.out("why", run), self.out("why", id)
        if is_alive(pid):  # five seconds, on a machine that is not stopped meanwhile
            self.assertEqual(shown["state"], "ending")
            self.assertNotIn("ended_at", shown)
            self.assertIn(f"agent {id} is being ended", of_run)
            self.assertIn("it is being ended", of_agent)
        self.until(lambda: self.data("agent", "show", id)["state"] == "cancelled")
        self.assertFalse(is_alive(pid))

    def test_without_tmux_the_failure_says_so(self):
        self.write("""
            [command.go]
            run = { pipeline = "go" }
            [pipeline.go]
            on_fail = "fail"
            [[pipeline.go.phase]]
            name  = "work"
            agent = "a"
            [agent.a]
            kind     = "generic"
            command  = "true"
            on_error = "fail"
        """)
        programs = os.path.join(self.base, "programs")
        os.mkdir(programs)
        for folder in ("/usr/bin", "/bin"):
            for name in os.listdir(folder):
                if name != "tmux" and not os.path.lexists(os.path.join(programs, name)):
                    os.symlink(os.path.join(folder, name), os.path.join(programs, name))
        self.env["PATH"] = programs
        error = self.error("run", "go", "--wait", code=1)
        self.assertIn("its session could not be started: there is no tmux", error["message"])


class Questions(Project):
    def test_an_item_that_somebody_is_asked_about_stands_once(self):
        self.write("""
            [queue.q]
            max_attempts = 1
            on_exhaust   = "escalate"
            [worker.w]
            queue   = "q"
            handler = "pipeline.p"
            [pipeline.p]
            inputs  = ["x"]
            on_fail = "fail"
            [[pipeline.p.phase]]
            name = "a"
            run  = "exit 3"
        """)
        self.reeve("worker", "start", "w")
        self.reeve("queue", "push", "q", '{"x": 1}')
        self.until(lambda: self.data("decision", "list")["decisions"])
        needs = self.data("status")["attention"]
        self.assertEqual([each["kind"] for each in needs], ["decision"])
        self.reeve("decision", "resolve", needs[0]["name"], "--choice", "dead")
        self.assertEqual([each["kind"] for each in self.data("status")["attention"]], ["queue"])

    def test_options_are_looked_at_before_anybody_is_asked(self):
        for wrong, why in ((["a", ""], "one line, and not empty"), (["a\nb"], "one line"),
                           (["a", "a"], "a is there twice")):
            told = self.err("ask", "Which?", *(word for each in wrong for word in ("--option", each)), code=2)
            self.assertIn(why, told)
            self.assertNotIn("waiting", told)
        self.assertEqual(self.data("decision", "list")["decisions"], [])

    def test_text_is_not_a_choice_where_none_is_offered(self):
        asking = self.start("ask", "Which?")
        question = self.until(lambda: self.data("decision", "list")["decisions"])[0]["id"]
        self.assertIn("-m TEXT", self.err("decision", "resolve", question, "--choice", "yes", code=2))
        self.assertIn("answered: blue", self.out("decision", "resolve", question, "-m", "blue"))
        self.assertEqual(asking.communicate(timeout=20)[0], "blue\n")


if __name__ == "__main__":
    unittest.main()
