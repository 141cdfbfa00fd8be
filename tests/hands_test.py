"""What a step has around it, and what becomes of it, with the program as it is."""

import json
import os
import signal
import textwrap
import unittest

from reeve_testing import Home, is_alive


class Hands(Home):
    """A project with one pipeline in it."""

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


if __name__ == "__main__":
    unittest.main()
