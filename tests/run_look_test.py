"""What one sees of runs: who waits for whom, what those within a run do, how an end is observed."""

import os
import re
import shutil
import subprocess
import time
import unittest

from reeve_testing import REEVE, Terminal, is_alive
from run_testing import FAMILY, Project


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
