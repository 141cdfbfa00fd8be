"""Runbooks as people and scripts meet them: written, checked, shown, played."""

import os
import textwrap
import unittest

from run_testing import BROKEN, Project


class Runbooks(Project):
    def test_init_writes_a_runbook_that_is_right_and_never_overwrites(self):
        path = os.path.join(self.work, ".reeve/runbooks/hello.toml")
        self.assertIn(f"wrote {path}", self.out("init"))
        self.assertIn("no mistakes", self.out("runbook", "check"))
        with open(path, "a", encoding="utf-8") as file:
            file.write("# mine\n")
        self.assertEqual(self.error("init", code=1)["code"], "EXISTS")
        with open(path, encoding="utf-8") as file:
            self.assertTrue(file.read().endswith("# mine\n"))
        self.assertIn("command    hello <who>", self.out("runbook", "list"))
        self.assertIn("phase remember", self.out("run", "hello", "world", "--dry-run"))
        # None of it needed a daemon.
        self.assertFalse(os.path.exists(self.home))

    def test_init_makes_a_folder_without_a_project_one(self):
        folder = os.path.join(self.base, "new")
        os.mkdir(folder)
        self.assertIn("`reeve init`", self.err("run", "x", code=3, cwd=folder))
        self.out("init", cwd=folder)
        self.assertIn("no mistakes", self.out("runbook", "check", cwd=folder))

    def test_what_init_does_not_write_is_shown_by_an_example(self):
        self.out("init")
        for words, example in (
            (["cron", "next", "nope"], "cron"),
            (["worker", "start", "nope"], "queue"),
            (["monitor", "run", "nope"], "watchdog"),
        ):
            told = " ".join(self.err(*words, code=3).split())
            self.assertIn(f"`reeve runbook example {example}`", told)
            self.assertNotIn("reeve init", told)

    def test_every_mistake_is_told_at_once_and_nothing_is_run(self):
        self.write(BROKEN.replace('run  = "exit 3"', 'rnu = "exit 3"').replace("{version};", "{vresion};"))
        found = self.reeve("runbook", "check", code=1)
        self.assertIn(".reeve/runbooks/test.toml:12:", found.stdout)
        self.assertIn("did you mean `run`?", found.stdout)
        self.assertIn("vresion", found.stdout)
        error = self.error("run", "ship", "1.2", code=1)
        self.assertEqual(error["code"], "RUNBOOK_WRONG")
        self.assertGreaterEqual(len(error["details"]["mistakes"]), 2)
        self.assertIn("nothing was run", self.err("run", "ship", "1.2", code=1))

    def test_show_example_and_usage(self):
        self.write(BROKEN)
        self.assertIn("[command.ship]", self.out("runbook", "show", "command.ship"))
        self.assertIn("did you mean", self.err("runbook", "show", "pipeline.shpi", code=3))
        self.assertEqual(self.out("run", "ship", "--help"),
                         "usage: reeve run ship <version> [-n/--note <text>]")
        names = [line.split()[0] for line in self.out("runbook", "example").split("\n")]
        for name in names:
            path = self.write(self.out("runbook", "example", name), f"{name}.toml")
            self.reeve("runbook", "check", path)

    def test_words_of_a_command_are_its_own(self):
        self.write(BROKEN)
        self.assertIn("usage: reeve run ship", self.err("run", "ship", code=2))
        self.assertIn("--wrong", self.err("run", "ship", "1.2", "--wrong", code=2))
        self.assertIn("did you mean", self.err("run", "shipp", "1.2", code=3))
        dry = self.data("run", "ship", "-n", "two words", "1.2", "--dry-run")
        self.assertEqual(dry["values"], {"version": "1.2", "note": "two words"})
        dry = self.data("run", "ship", "--dry-run", "--", "--wait")
        self.assertEqual(dry["values"]["version"], "--wait")

    def test_a_command_that_runs_here_needs_no_daemon(self):
        self.write("""
            [command.say]
            args = "<what> [more...]"
            run  = "printf '%s|' {what} {project}; pwd; exit 7"
        """)
        hostile = "a'b\"c $(id) `id`"
        done = self.reeve("run", "say", hostile, code=7)
        self.assertEqual(done.stdout, f"{hostile}|work|{self.work}\n")
        self.assertFalse(os.path.exists(self.home))

    def test_a_value_in_env_is_calculated_with_only_if_it_is_an_integer(self):
        text = """
            [command.count]
            args = "<n>"
            run  = { pipeline = "count" }
            [pipeline.count]
            inputs  = ["n"]
            on_fail = "fail"
            [[pipeline.count.phase]]
            name = "count"
            run  = "(( N > 3 )) && touch counted"
            env  = { N = "{n}" }
        """
        self.write(text)
        self.assertIn("no mistakes", self.out("runbook", "check"))
        self.reeve("run", "count", "5", "--wait")
        self.assertTrue(os.path.exists(os.path.join(self.work, "counted")))
        self.reeve("run", "count", "a[$(touch pwned)]", "--wait", code=1)
        self.assertFalse(os.path.exists(os.path.join(self.work, "pwned")))
        self.write(text.replace("(( N > 3 ))", "eval $N"))
        self.assertIn("N has a placeholder in it", self.reeve("runbook", "check", code=1).stdout)

    def test_a_kind_of_agent_that_cannot_be_run_is_said_plainly(self):
        self.write("""
            [command.fix]
            run = { pipeline = "fix" }
            [pipeline.fix]
            [[pipeline.fix.phase]]
            name  = "work"
            agent = "fixer"
            [agent.fixer]
            kind    = "claude"
            command = "claude"
            prompt  = "go"
        """)
        error = self.error("run", "fix", code=1)
        self.assertEqual(error["code"], "NOT_SUPPORTED")
        self.assertIn('agent "fixer" is of kind "claude", which this version cannot run', error["message"])
        self.reeve("runbook", "check")

    def test_scenarios_are_played_without_running_anything(self):
        self.write("""
            [command.release]
            args = "<version>"
            run  = { pipeline = "release" }
            [pipeline.release]
            inputs = ["version"]
            [[pipeline.release.phase]]
            name  = "build"
            run   = "touch ran"
            retry = { max = 1, delay = "30s" }
            [[pipeline.release.phase]]
            name = "publish"
            pre  = ["clean"]
            run  = "touch ran"
            [guard.clean]
            condition = "touch ran"
            retry     = { max = 5, interval = "1m" }
        """)
        path = os.path.join(self.work, "release_test.toml")
        with open(path, "w", encoding="utf-8") as file:
            file.write(textwrap.dedent("""
                [[scenario]]
                name = "the guard passes at the third look"
                run  = ["release", "1.2"]
                path = ["build", "publish"]
                [[scenario.step]]
                step = "guard clean"
                exit = 1
                times = 2
                [[scenario.step]]
                step = "guard clean"

                [[scenario]]
                name = "it fails twice and somebody says so"
                run  = ["release", "1.2"]
                path = ["build"]
                ends = "failed"
                answers = ["fail"]
                error = "no route"
                [[scenario.step]]
                step = "build"
                exit = 1
                output = "no route"
            """))
        played = self.data("runbook", "test", path)["scenarios"]
        self.assertEqual([each["ok"] for each in played], [True, True], played)
        self.assertGreater(played[0]["took_ms"], 120_000)
        self.assertFalse(os.path.exists(os.path.join(self.work, "ran")))
        with open(path, "a", encoding="utf-8") as file:
            file.write('[[scenario]]\nrun = ["release", "1"]\npath = ["publish"]\nends = "blocked"\n')
        wrong = self.reeve("runbook", "test", path, code=1).stdout
        self.assertIn("it went through build, publish, and was to go through publish", wrong)
        self.assertIn("it ended done, and was to end blocked", wrong)
        with open(path, "a", encoding="utf-8") as file:
            file.write("ansers = []\n")
        self.assertIn("did you mean `answers`?", self.reeve("runbook", "test", path, code=1).stdout)


if __name__ == "__main__":
    unittest.main()
