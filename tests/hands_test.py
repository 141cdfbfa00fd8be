"""What a step has around it, and what becomes of it, with the program as it is."""

import json
import os
import re
import shutil
import signal
import subprocess
import textwrap
import unittest
import unittest.mock

import reeve_testing
from reeve_testing import REEVE, Home, is_alive


class Project(Home):
    """A project with a runbook in it."""

    def setUp(self):
        super().setUp()
        os.makedirs(os.path.join(self.work, ".reeve/runbooks"))

    def write(self, text):
        path = os.path.join(self.work, ".reeve/runbooks/test.toml")
        with open(path, "w", encoding="utf-8") as file:
            file.write(textwrap.dedent(text))

    def step(self, run, more=""):
        self.write(f"""
            [command.go]
            run = {{ pipeline = "go" }}
            [pipeline.go]
            on_fail = "fail"
            {more}
            [[pipeline.go.phase]]
            name = "work"
            run  = '''{run}'''
        """)

    def read(self, name):
        with open(os.path.join(self.work, name), encoding="utf-8") as file:
            return file.read()

    def touch(self, name):
        with open(os.path.join(self.work, name), "w", encoding="utf-8"):
            pass


class Hands(Project):
    def test_a_steps_files_have_the_mask_of_whoever_started_the_daemon(self):
        self.step("umask > mask; touch made")
        before = os.umask(0o027)
        try:
            self.reeve("run", "go", "--wait")
        finally:
            os.umask(before)
        self.assertEqual(self.read("mask"), "0027\n")
        self.assertEqual(os.stat(os.path.join(self.work, "made")).st_mode & 0o777, 0o640)
        for name in ("journal", "runs", "logs"):
            path = os.path.join(self.home, name)
            self.assertEqual(os.stat(path).st_mode & 0o077, 0, name)

    def test_what_a_daemon_began_that_a_step_started_is_no_part_of_that_step(self):
        self.write("""
            [command.outer]
            run = { pipeline = "outer" }
            [pipeline.outer]
            on_fail = "fail"
            [[pipeline.outer.phase]]
            name = "work"
            run  = '''
            unset REEVE_SOCKET REEVE_PROJECT REEVE_PIPELINE REEVE_HOLDER
            REEVE_HOME=$PWD/other reeve run inner
            touch begun
            until [ -e end ]; do sleep 0.02; done
            '''
            [command.inner]
            run = { pipeline = "inner" }
            [pipeline.inner]
            on_fail = "fail"
            [[pipeline.inner.phase]]
            name = "work"
            run  = "touch inside; until [ -e go ]; do sleep 0.02; done"
        """)
        outer = self.data("run", "outer")["pipeline"]
        for name in ("begun", "inside"):
            self.until(lambda name=name: os.path.exists(os.path.join(self.work, name)), name)
        first, self.home = self.home, os.path.join(self.work, "other")
        try:
            self.stop_daemon(signal.SIGKILL)
            self.touch("end")
            self.reeve("wait", outer)
            env = {"REEVE_HOME": self.home}
            inner = json.loads(self.reeve("--json", "pipeline", "list", env=env).stdout)["data"]
            self.touch("go")
            self.reeve("wait", inner["pipelines"][0]["id"], env=env)
        finally:
            self.stop_daemon()
            self.home = first

    def test_stop_with_kill_leaves_nothing_running(self):
        self.step("trap '' TERM; echo $$ > pid; while :; do sleep 1; done")
        self.reeve("run", "go")
        pid = self.pid_at(os.path.join(self.work, "pid"))
        self.assertTrue(is_alive(pid))
        self.reeve("daemon", "stop", "--kill")
        self.assertFalse(is_alive(pid))

    def test_stop_with_kill_ends_what_a_daemon_left_running_that_is_gone(self):
        self.step("trap '' TERM; echo $$ > pid; while :; do sleep 1; done")
        self.reeve("daemon", "stop", "--kill")
        self.assertFalse(os.path.exists(self.home))
        self.reeve("run", "go")
        pid = self.pid_at(os.path.join(self.work, "pid"))
        self.reeve("daemon", "stop")
        self.assertTrue(is_alive(pid))
        self.reeve("daemon", "stop", "--kill")
        self.assertFalse(is_alive(pid))
        self.reeve("daemon", "status", code=7)

    def test_a_secret_is_in_nothing_that_is_kept_or_shown(self):
        self.step(
            "echo [$TOKEN] [$URL]; [ ${#TOKEN} = 14 ]",
            'secret = ["TOKEN"]\n            pass_env = ["URL"]',
        )
        env = {"TOKEN": "hunter2hunter2", "URL": "http://tracker"}
        run = json.loads(self.reeve("--json", "run", "go", "--wait", env=env).stdout)["data"]["id"]
        self.assertEqual(self.out("logs", run), "[***] [***]")
        self.step("echo key=x$TOKEN >> $REEVE_OUTPUT", 'secret = ["TOKEN"]')
        refused = json.loads(self.reeve("--json", "run", "go", "--wait", env=env, code=1).stdout)["error"]
        self.assertIn("output key has a secret in it", refused["message"])
        self.assertEqual(refused["details"]["outputs"], {})
        self.stop_daemon()
        seen = 0
        for folder, _, files in os.walk(self.home):
            if folder.endswith("/secrets"):
                continue
            for name in files:
                with open(os.path.join(folder, name), "rb") as file:
                    self.assertNotIn(b"hunter2", file.read(), os.path.join(folder, name))
                seen += 1
        self.assertGreater(seen, 2)


class Kept(Project):
    """What of a run is on the disk, and when."""

    def traced(self, calls):
        """A daemon under strace; what it and all that it starts call, line by line, when it has ended."""
        trace = os.path.join(self.base, "trace")
        # LeakSanitizer cannot work beside strace.
        env = {**self.env, "ASAN_OPTIONS": "detect_leaks=0"}
        strace = ["strace", "-f", "-qq", "-y", "-s", "300", "-e", "signal=none", "-e", f"trace={calls}", "-o", trace]
        try:
            tried = subprocess.run([*strace, "true"], env=env, capture_output=True, text=True, check=False)
            why = tried.stderr.strip() if tried.returncode != 0 else ""
        except OSError as error:
            why = str(error)
        if why:
            print(f"  (strace cannot trace: skipped: {why})")
            self.skipTest(why)
        # Not `daemon start`: slow as it is under strace, it may look for its daemon when that was stopped, and
        # start another.
        tracer = subprocess.Popen([*strace, REEVE, "daemon", "run", "--home", self.home], env=env, cwd=self.work,
                                  stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.started.append(tracer)
        self.until(self.daemon_pid, "the daemon did not begin")

        def finish():
            self.stop_daemon()
            self.assertEqual(tracer.wait(timeout=60), 0)
            with open(trace, encoding="utf-8", errors="replace") as file:
                return file.read().splitlines()

        return finish

    def steps_in(self, lines, run):
        """What was done for the run in this folder, in order: a program at its beginning, all else when it was over."""
        names = {run: "the folder", os.path.dirname(run): "the folder above"}
        begun, done = {}, []
        for line in lines:
            pid, _, call = line.partition(" ")
            call = call.strip()
            resumed = re.match(r"<\.\.\. \w+ resumed>(.*)", call)
            if resumed:
                call = begun.pop(pid, "") + resumed[1]
            elif call.endswith("<unfinished ...>"):
                begun[pid] = call.removesuffix("<unfinished ...>").rstrip()
                if not call.startswith("execve("):
                    continue
            if call.startswith("execve(") and '"bash", "-c"' in call and not resumed:
                done.append("run bash")
            on_file = re.match(r"(write|fsync|fdatasync)\(\d+<([^>]*)>.*= \d+$", call)
            if on_file and on_file[2] in (*names, f"{run}/started", f"{run}/exit.tmp", f"{run}/exit"):
                verb = "write" if on_file[1] == "write" else "sync"
                done.append(f"{verb} {names.get(on_file[2], os.path.basename(on_file[2]))}")
            renamed = re.match(rf'rename\w*\(.*"{re.escape(run)}/(exit\S*)",.*"{re.escape(run)}/(\w+)".*= 0$', call)
            if renamed:
                done.append(f"rename {renamed[1]} to {renamed[2]}")
        return done

    def test_that_a_step_began_is_on_the_disk_before_it_runs_and_how_it_ended_whole_or_not_at_all(self):
        self.step("echo $REEVE_RUN > run; exit 3")
        finish = self.traced("execve,write,fsync,fdatasync,rename,renameat,renameat2")
        self.reeve("run", "go", "--wait", code=1)
        lines = finish()
        self.assertEqual(self.steps_in(lines, self.read("run").strip()), [
            "write started", "sync started", "sync the folder", "sync the folder above",
            "run bash",
            "write exit.tmp", "sync exit.tmp", "rename exit.tmp to exit", "sync the folder",
        ])


SESSION = '''
    [command.{name}]
    run = {{ pipeline = "{name}" }}
    [pipeline.{name}]
    on_fail = "fail"
    [[pipeline.{name}.phase]]
    name  = "talk"
    agent = "{name}"
    [[pipeline.{name}.phase]]
    name = "after"
    run  = "echo after {name} >> effects.log"
    [agent.{name}]
    mode    = "session"
    command = """
    echo began {name} $$ >> effects.log
    while read -r line; do
      echo "got $line" >> effects.log
      [ "$line" != end ] || exit 0
    done
    """
'''


class Adopted(Project):
    """What runs on while there is no daemon, and whose end the next one sees once."""

    def effects(self):
        return self.read("effects.log").splitlines() if os.path.exists(f"{self.work}/effects.log") else []

    def events(self, pattern, subject):
        told = self.out("events", "--json", "-n", "1000", "--match", pattern).splitlines()
        return [event for event in map(json.loads, told) if event["subject"] == subject]

    def start_session(self, name):
        """The run, its agent and the process of that."""
        run = self.data("run", name)["pipeline"]
        began = self.until(lambda: [line for line in self.effects() if line.startswith(f"began {name} ")])
        agent = self.until(lambda: self.data("show", run).get("agents"))[0]["id"]
        self.until(lambda: self.data("agent", "show", agent)["state"] != "pending")
        return run, agent, int(began[0].split()[2])

    def say(self, agent, text):
        self.reeve("agent", "send", agent, text)
        self.until(lambda: f"got {text}" in self.effects(), f"{text} was not heard")

    def assert_ended_once(self, run, agent):
        self.reeve("wait", run, "--timeout", "60s", timeout=70)
        self.assertEqual(len(self.events("pipeline:complete", run)), 1)
        self.assertEqual(len(self.events("task:started", agent)), 1)
        self.assertEqual(len(self.events("task:complete", agent)), 1)
        self.assertEqual(self.data("agent", "show", agent)["restarts"], 0)

    def test_a_session_goes_on_without_a_daemon_and_the_next_one_talks_to_it_and_sees_its_end(self):
        self.write(SESSION.format(name="one") + SESSION.format(name="two"))
        one, first, process = self.start_session("one")
        two, second, other = self.start_session("two")
        for turn in ("a", "b"):
            self.stop_daemon(signal.SIGKILL)
            self.assertTrue(is_alive(process))
            self.say(first, turn)
        # The other one ends while nobody is there to see it.
        self.stop_daemon(signal.SIGKILL)
        os.kill(other, signal.SIGTERM)
        self.until(lambda: not is_alive(other))
        self.reeve("wait", two, "--timeout", "60s", code=1, timeout=70)
        self.assertEqual(len(self.events("task:failed", second)), 1)
        self.assertIn("signal", self.data("show", two)["error"])
        self.assertTrue(is_alive(process))
        self.say(first, "end")
        self.assert_ended_once(one, first)
        self.assertEqual(self.effects(), [f"began one {process}", f"began two {other}", "got a", "got b", "got end",
                                          "after one"])

    def test_a_program_that_is_replaced_adopts_what_the_old_one_began(self):
        folder = os.path.join(self.base, "bin")
        os.mkdir(folder)
        program = os.path.join(folder, "reeve")
        shutil.copy(REEVE, program)
        self.write("""
            [command.go]
            args = "<what>"
            run = { pipeline = "go" }
            [pipeline.go]
            inputs  = ["what"]
            on_fail = "fail"
            [[pipeline.go.phase]]
            name = "work"
            run  = "echo began {what} >> effects.log; until [ -e {what} ]; do sleep 0.02; done; reeve checkpoint c"
            [[pipeline.go.phase]]
            name = "after"
            run  = "echo after {what} >> effects.log"
        """ + SESSION.format(name="one").replace("\n    ", "\n            "))
        with unittest.mock.patch.object(reeve_testing, "REEVE", program):
            step = self.data("run", "go", "before")["pipeline"]
            self.until(lambda: "began before" in self.effects())
            session, agent, process = self.start_session("one")
            old = self.daemon_pid()
            self.assertEqual(os.readlink(f"/proc/{old}/exe"), program)
            # As a package does it. The daemon goes on with a program that has no name any more.
            shutil.copy(REEVE, program + ".new")
            with open(program + ".new", "ab") as file:
                file.write(b"another")
            os.rename(program + ".new", program)
            self.assertEqual(os.readlink(f"/proc/{old}/exe"), program + " (deleted)")
            between = self.data("run", "go", "between")["pipeline"]
            self.until(lambda: "began between" in self.effects())
            self.assertEqual(self.daemon_pid(), old)
            self.stop_daemon(signal.SIGKILL)
            self.say(agent, "hello")
            new = self.daemon_pid()
            self.assertNotEqual(new, old)
            self.assertTrue(os.path.samefile(f"/proc/{new}/exe", program))
            self.assertTrue(is_alive(process))
            for name in ("before", "between"):
                self.touch(name)
            for run in (step, between):
                self.reeve("wait", run, "--timeout", "60s", timeout=70)
                self.assertEqual(len(self.events("pipeline:complete", run)), 1)
                self.assertEqual(len(self.data("show", run)["checkpoints"]), 1)
            self.say(agent, "end")
            self.assert_ended_once(session, agent)
            self.stop_daemon()
        effects = sorted(self.effects())
        self.assertEqual(effects, ["after before", "after between", "after one", "began before", "began between",
                                   f"began one {process}", "got end", "got hello"])


if __name__ == "__main__":
    unittest.main()
