"""Who waits for a run, who follows it, and what a daemon that goes away means to them."""

import json
import os
import shutil
import signal
import subprocess
import time
import unittest

from reeve_testing import REEVE, Terminal, is_alive
from run_testing import Project

HELD = """
    [command.held]
    run = { pipeline = "held" }
    [pipeline.held]
    on_fail = "fail"
    [[pipeline.held.phase]]
    name = "work"
    run  = "echo begun; while [ -e hold ]; do sleep 0.05; done; echo over; exit $(cat code)"
"""


class Held(Project):
    """A run that goes on until the file `hold` is gone, and then ends with what `code` says."""

    def setUp(self):
        super().setUp()
        self.write(HELD)
        self.put("hold", "")
        self.put("code", "0")

    def release(self):
        os.remove(os.path.join(self.work, "hold"))

    def held(self):
        id = self.run_id("held")
        self.until(lambda: self.out("logs", id) == "begun")
        return id

    def is_served(self):
        done = subprocess.run([REEVE, "daemon", "status"], env=self.env, capture_output=True, check=False)
        return done.returncode == 0

    def until_connected(self, process):
        """It has a connection: whoever waits has begun to."""

        def look():
            folder = f"/proc/{process.pid}/fd"
            try:
                links = [os.readlink(os.path.join(folder, each)) for each in os.listdir(folder)]
            except FileNotFoundError:
                return False  # one was closed meanwhile
            return any(link.startswith("socket:") for link in links)

        self.until(look)
        time.sleep(0.2)


class Waits(Held):
    def test_a_wait_outlives_a_daemon_that_was_stopped(self):
        for words in (["wait"], ["wait", "--for", "done"]):
            self.put("hold", "")
            id = self.held()
            waiting = self.start(*words, id)
            self.until_connected(waiting)
            pid = self.daemon_pid()
            self.reeve("daemon", "stop")
            self.assertFalse(is_alive(pid))
            self.release()
            self.assertEqual(waiting.wait(30), 0, waiting.communicate())

    def test_what_ended_while_there_was_no_daemon_is_told(self):
        id = self.held()
        waiting = self.start("wait", id)
        self.until_connected(waiting)
        waiting.send_signal(signal.SIGSTOP)
        self.reeve("daemon", "stop")
        self.put("code", "3")
        self.release()
        waiting.send_signal(signal.SIGCONT)
        self.assertEqual(waiting.wait(30), 1)

    def test_who_is_interrupted_is_told_of_what_goes_on(self):
        id = self.held()
        for words in (["wait", id, "--json"], ["run", "held", "--wait", "--json"]):
            waiting = self.start(*words)
            self.until_connected(waiting)
            if words[0] == "run":
                self.until(lambda: len(self.data("pipeline", "list")["pipelines"]) == 2)
                time.sleep(0.2)
            waiting.send_signal(signal.SIGINT)
            told, _ = waiting.communicate(timeout=30)
            self.assertEqual(waiting.returncode, 130)
            error = json.loads(told)["error"]
            self.assertEqual(error["code"], "INTERRUPTED")
            self.assertEqual(error["message"], "it goes on; only the watching ended")
            self.assertEqual([run["state"] for run in error["details"]["pipelines"]], ["running"])
        self.assertNotEqual(error["details"]["pipelines"][0]["pipeline"], id)
        waiting = self.start("wait", id, "-q")
        self.until_connected(waiting)
        waiting.send_signal(signal.SIGINT)
        self.assertIn(f"only the watching ended: {id}\n", waiting.communicate(timeout=30)[1])
        # A stream has no envelope.
        following = self.start("run", "held", "--follow", "--json")
        self.until_connected(following)
        following.send_signal(signal.SIGINT)
        for line in following.communicate(timeout=30)[0].splitlines():
            self.assertNotIn("success", json.loads(line))
        self.release()

    def test_what_is_proposed_when_the_wait_is_over_can_be_typed(self):
        first, second = self.held(), self.held()
        told = self.err("wait", first, second, "--timeout", "1ms", code=124)
        self.assertIn(f"the wait is over: {first} {second}; try `reeve why {first}`", told)
        self.release()


class Logs(Held):
    def test_who_reads_along_starts_no_daemon_and_reads_on_without_one(self):
        id = self.held()
        reading = self.start("logs", id, "-f")
        self.assertEqual(reading.stdout.readline(), "begun\n")
        self.until_connected(reading)
        self.reeve("daemon", "stop")
        time.sleep(1)
        self.assertFalse(self.is_served())
        self.assertIsNone(reading.poll())
        self.release()
        self.assertEqual(reading.stdout.readline(), "over\n")
        self.assertFalse(self.is_served())
        self.reeve("wait", id)
        self.assertEqual(reading.wait(30), 0)


AGENT = """
    [command.mind]
    run = { agent = "minder" }
    [agent.minder]
    kind    = "generic"
    command = "{command}"
    prompt  = "hello there"
"""


class Texts(Project):
    def test_json_cuts_no_character_and_a_file_that_was_replaced_is_told_anew(self):
        self.write("""
            [command.go]
            run = { pipeline = "go" }
            [pipeline.go]
            [[pipeline.go.phase]]
            name = "say"
            run  = "printf x; for i in {{1..70000}}; do printf ä; done"
            [[pipeline.go.phase]]
            name = "held"
            pre  = ["free"]
            run  = "true"
            [guard.free]
            condition = "cat said; test -e free"
            retry     = { max = 10000, interval = "100ms" }
        """)
        self.put("said", "a long sentence\n")
        id = self.run_id("go")
        self.until(lambda: "long sentence" in self.out("logs", id, "--guards"))
        pieces = [json.loads(line) for line in self.out("logs", id, "--json").split("\n")]
        self.assertEqual("".join(each["text"] for each in pieces), "x" + 70000 * "ä")
        self.assertGreater(len(pieces), 1)
        with open(os.path.join(self.base, "heard"), "w", encoding="utf-8") as out:
            reading = self.start("logs", id, "-f", "--guards", stdout=out)

        def heard():
            # What was written up to now may end within a character.
            with open(os.path.join(self.base, "heard"), encoding="utf-8", errors="replace") as file:
                return file.read()

        self.until(lambda: "long sentence" in heard())
        self.put("said", "short\n")
        self.until(lambda: "short" in heard())
        self.put("free", "")
        self.reeve("wait", id)
        self.assertEqual(reading.wait(30), 0)


class Agents(Project):
    def begin(self, command):
        self.write(AGENT.replace("{command}", command))
        id = self.data("run", "mind")["id"]
        self.until(lambda: "started_at" in self.data("agent", "show", id))
        return id

    @unittest.skipUnless(shutil.which("tmux"), "there is no tmux")
    def test_a_session_is_peeked_at_joined_begun_anew_and_ended(self):
        id = self.begin("while read -r line; do echo heard $line; done")
        self.until(lambda: "heard hello there" in self.out("agent", "peek", id))
        self.assertEqual(len(self.data("agent", "peek", id, "-n", "1")["lines"]), 1)
        self.assertIn("needs a terminal", self.err("agent", "attach", id, code=2))
        terminal = Terminal(self, "agent", "attach", id)
        self.assertTrue(terminal.until(lambda seen: "heard hello there" in seen))
        terminal.type("\x02d")
        self.assertEqual(terminal.end(), 0)
        before = self.data("agent", "show", id)["attempt"]
        self.assertIn("was started anew", self.out("agent", "restart", id))
        now = self.data("agent", "show", id)
        self.assertNotEqual(now["attempt"], before)
        self.assertIn("started_at", now)
        self.assertIn("ended", self.out("agent", "kill", id))
        self.assertEqual(self.data("agent", "show", id)["state"], "cancelled")
        self.assertEqual(self.error("agent", "peek", id, code=5)["code"], "NOT_ALLOWED")

    def test_one_by_itself_is_waited_for_followed_and_cancelled_like_a_run(self):
        self.write("""
            [command.mind]
            args = "<code>"
            run  = { agent = "minder" }
            [agent.minder]
            mode     = "print"
            command  = "echo begun; while [ -e hold ]; do sleep 0.05; done; echo over; exit {code}"
            on_error = "fail"
        """)
        self.assertIn("over", self.out("run", "mind", "0", "--follow"))
        shown = self.data("run", "mind", "0", "--wait")
        self.assertEqual((shown["agent"], shown["state"]), ("minder", "done"))
        self.assertRegex(self.err("run", "mind", "0", "--wait"), r"^reeve: work-\w+ started$")
        failure = self.error("run", "mind", "3", "--wait", code=1)
        id = failure["details"]["id"]
        self.assertEqual((failure["code"], failure["message"]), ("FAILED", f"{id} failed: exit code 3"))
        self.assertEqual(self.out("wait", id, code=1), f"{id} minder failed: exit code 3")
        self.assertEqual(self.out("wait", id, "--for", "done", "-q"), id)

        self.put("hold", "")
        self.assertIn("the wait is over", self.err("run", "mind", "0", "--wait", "--timeout", "100ms", code=124))
        id = self.data("run", "mind", "0")["id"]
        self.reeve("wait", id, "--for", "running")
        self.assertRegex(self.out("status"), rf"ID +AGENT +STATE(.|\n)+{id} +minder +(running|working)")
        self.assertIn(id, [agent["id"] for agent in self.data("status")["agents"]])
        waiting = self.start("wait", id)
        many = self.start("wait", shown["id"], id[5:], "--any")
        self.assertEqual(many.wait(60), 0)
        self.assertEqual(self.out("cancel", id), f"{id} minder cancelled")
        self.assertEqual(waiting.wait(60), 4)
        self.assertNotIn(id, self.out("status"))
        self.reeve("cancel", id)  # one that is over stays as it is
        self.assertEqual(self.error("wait", "work-zzzzzz", code=3)["code"], "NOT_FOUND")

    @unittest.skipUnless(shutil.which("tmux"), "there is no tmux")
    def test_who_waits_hears_what_one_asks_and_the_question_shows_its_screen(self):
        self.write("""
            [command.mind]
            run = { agent = "minder" }
            [agent.minder]
            command      = "seq 20; echo shall I go on?; read -r word; echo heard $word; exit 0"
            idle_timeout = "1s"
            on_idle      = ["escalate"]
        """)
        waiting = self.start("run", "mind", "--wait")
        asked = self.until(lambda: self.data("decision", "list")["decisions"])[0]
        id = asked["subject"]
        self.assertEqual(self.data("agent", "show", id)["blocked_on"]["name"], asked["id"])
        late = self.start("wait", id)
        told = self.out("decision", "show", asked["id"])
        self.assertIn("the last 8 of its 21 lines:\n  | 14\n", told)
        self.assertIn("\n  | shall I go on?\n", told)
        self.assertEqual(self.data("decision", "show", asked["id"])["screen"][-1], "shall I go on?")
        self.reeve("decision", "resolve", asked["id"], "--choice", "nudge", "-m", "yes")
        for each in (waiting, late):
            self.assertEqual(each.wait(60), 0)
            self.assertIn(f"{id} asks: agent minder ({id}) is stuck: what now?", each.stderr.read())
        self.assertNotIn("screen", self.data("decision", "show", asked["id"]))


class Status(Held):
    def test_runs_are_in_top(self):
        id = self.held()
        terminal = Terminal(self, "top")
        self.assertTrue(terminal.until(lambda seen: id in seen))
        terminal.type("q")
        self.assertEqual(terminal.end(), 0)

    def test_a_mistake_in_the_runbooks_is_told_until_it_is_mended(self):
        id = self.held()
        self.assertNotIn("runbook", self.out("status"))
        path = self.write("[lock.x]\nphaze = 1\n", "wrong.toml")
        told = self.out("status")
        self.assertIn("runbook mistake: .reeve/runbooks/wrong.toml:2:", told)
        self.assertIn("`reeve runbook check`", told)
        self.assertEqual(self.data("status")["attention"][-1]["kind"], "runbook")
        os.remove(path)
        self.assertNotIn("runbook", self.out("status"))
        self.release()
        self.reeve("wait", id)


class Workspaces(Project):
    def test_those_of_runs_that_are_over_are_removed_unless_something_is_in_them(self):
        self.write("""
            [command.go]
            args = "<how>"
            run  = { pipeline = "go" }
            [pipeline.go]
            inputs    = ["how"]
            on_fail   = "fail"
            workspace = { git = true, branch = "go-{id}" }
            [[pipeline.go.phase]]
            name = "work"
            run  = "{how}; exit 3"
        """.replace('"{how}; exit 3"', '"if [ {how} = dirty ]; then echo x > new; fi; exit 3"'))
        for words in (["init", "-q", "-b", "main"], ["add", "."], ["commit", "-qm", "first"]):
            subprocess.run(["git", "-c", "user.name=a", "-c", "user.email=a@b", *words],
                           cwd=self.work, check=True, capture_output=True)
        ids = [self.run_id("go", how) for how in ("clean", "dirty")]
        for id in ids:
            self.reeve("wait", id, code=1)
        paths = {each["pipeline"]: each["path"] for each in self.data("workspace", "list")["workspaces"]}
        self.assertEqual(set(paths), set(ids))
        self.assertEqual(self.out("workspace", "show", ids[0]), paths[ids[0]])
        pruned = self.data("workspace", "prune")
        self.assertEqual([each["pipeline"] for each in pruned["removed"]], [ids[0]])
        self.assertEqual([each["pipeline"] for each in pruned["kept"]], [ids[1]])
        self.assertEqual(pruned["kept"][0]["reason"], "it has a changed file that is not committed: ?? new")
        self.assertFalse(os.path.exists(paths[ids[0]]))
        self.assertTrue(os.path.exists(os.path.join(paths[ids[1]], "new")))
        self.assertIn("stays: it has a changed file", self.err("workspace", "prune", code=0))
        self.assertIn("stays: it has a changed file", self.err("workspace", "prune", ids[1], code=5))
        failure = self.error("workspace", "prune", ids[1], code=5)
        self.assertEqual(failure["details"]["kept"][0]["pipeline"], ids[1])
        with subprocess.Popen(["sleep", "60"], cwd=paths[ids[1]]) as sleeper:
            said = self.err("workspace", "prune", ids[1], "--force", code=5)
            self.assertIn(f"stays: process {sleeper.pid} (sleep) works in it", said)
            sleeper.kill()
        self.assertTrue(os.path.exists(os.path.join(paths[ids[1]], "new")))
        self.assertIn("removed", self.out("workspace", "prune", "--force"))
        self.assertFalse(os.path.exists(paths[ids[1]]))
        self.assertEqual(self.data("workspace", "list")["workspaces"], [])
        self.reeve("workspace", "show", ids[0], code=3)


if __name__ == "__main__":
    unittest.main()
