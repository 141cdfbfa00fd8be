"""Which runbooks are read, where their programs run, and what they are told."""

import os
import subprocess
import textwrap
import unittest

from reeve_testing import REEVE
from run_testing import Project

WHERE = """
    [command.where]
    run = { pipeline = "where" }
    [pipeline.where]
    on_fail = "fail"
    [[pipeline.where.phase]]
    name = "say"
    run  = "pwd; echo of the main text"
    [command.local]
    run  = "pwd; echo {project}"
"""


class Worktrees(Project):
    def git(self, *words):
        subprocess.run(
            ["git", "-c", "user.name=a", "-c", "user.email=a@b", *words],
            cwd=self.work, check=True, capture_output=True)

    def setUp(self):
        super().setUp()
        self.write(WHERE)
        self.git("init", "-q", "-b", "main")
        self.git("add", ".")
        self.git("commit", "-qm", "first")
        self.tree = os.path.join(self.base, "tree")
        self.git("worktree", "add", "-q", "-b", "side", self.tree)

    def said(self, *words, cwd):
        done = self.reeve("run", "where", "--wait", "-q", *words, cwd=cwd)
        return self.out("logs", done.stdout.strip())

    def test_here_reads_the_worktree_and_runs_in_the_project(self):
        main = f"{self.work}\nof the main text"
        self.assertEqual(self.said(cwd=self.work), main)
        # The same text, and then another: where it runs does not hang on that.
        self.assertEqual(self.said("--here", cwd=self.tree), main)
        path = os.path.join(self.tree, ".reeve/runbooks/test.toml")
        with open(path, "w", encoding="utf-8") as file:
            file.write(textwrap.dedent(WHERE).replace("main", "other"))
        self.assertEqual(self.said(cwd=self.tree), main)
        self.assertEqual(self.said("--here", cwd=self.tree), f"{self.work}\nof the other text")
        self.assertEqual(self.said(cwd=self.tree), main)
        self.assertEqual(self.out("run", "local", "--here", cwd=self.tree), f"{self.work}\nwork")

    def test_init_writes_into_the_project_or_with_here_into_the_worktree(self):
        self.assertIn(os.path.join(self.work, ".reeve/runbooks/hello.toml"), self.out("init", cwd=self.tree))
        self.assertIn(os.path.join(self.tree, ".reeve/runbooks/hello.toml"),
                      self.out("init", "--here", cwd=self.tree))

    def test_two_texts_at_once_do_not_refuse_each_other(self):
        path = os.path.join(self.tree, ".reeve/runbooks/test.toml")
        with open(path, "w", encoding="utf-8") as file:
            file.write(textwrap.dedent(WHERE).replace("main", "other"))
        self.reeve("daemon", "start")
        for _ in range(3):
            runs = []
            for n in range(16):
                words = ["--here"] if n % 2 else []
                runs.append(self.start("run", "where", "-q", *words, cwd=self.tree if n % 2 else self.work))
            ends = [(run.communicate(timeout=60), run.returncode) for run in runs]
            for n, ((out, err), code) in enumerate(ends):
                self.assertEqual(code, 0, err)
                self.reeve("wait", out.strip())
                text = "other" if n % 2 else "main"
                self.assertIn(f"of the {text} text", self.out("logs", out.strip()))

    def test_a_program_of_ours_finds_its_own_project_and_its_signals(self):
        twin = os.path.join(self.base, "twin/work")
        os.makedirs(os.path.join(twin, ".reeve/runbooks"))
        with open(os.path.join(twin, ".reeve/runbooks/test.toml"), "w", encoding="utf-8") as file:
            file.write(textwrap.dedent("""
                [command.take]
                run = "reeve lock acquire main --holder twin; (yes; echo $? > code) | head -1"
            """))
        path = os.path.dirname(os.path.abspath(REEVE)) + ":" + self.env["PATH"]
        self.reeve("lock", "acquire", "main", "--holder", "first")
        done = self.reeve("run", "take", cwd=twin, env={"PATH": path})
        self.assertEqual(self.data("lock", "show", "main")["holder"], "first")
        self.assertEqual(self.data("lock", "show", "main", cwd=twin)["holder"], "twin")
        self.assertNotIn("Broken pipe", done.stderr)
        with open(os.path.join(twin, "code"), encoding="utf-8") as file:
            self.assertEqual(file.read(), "141\n")


class Secrets(Project):
    def kept(self):
        folder = os.path.join(self.home, "secrets")
        return os.listdir(folder) if os.path.isdir(folder) else []

    def test_a_start_that_is_refused_leaves_no_secret_behind(self):
        self.write("""
            [command.env]
            args = "<after>"
            run  = { pipeline = "env" }
            [pipeline.env]
            inputs = ["after"]
            after  = ["{after}"]
            secret = ["TRACKER_TOKEN"]
            [[pipeline.env.phase]]
            name = "show"
            run  = "true"
        """)
        env = {"TRACKER_TOKEN": "hunter2hunter2"}
        self.reeve("run", "env", "pipe-zzzzzz", env=env, code=3)
        self.assertEqual(self.kept(), [])


if __name__ == "__main__":
    unittest.main()
