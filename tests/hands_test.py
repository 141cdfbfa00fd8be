"""What a step has around it, and what becomes of it, with the program as it is."""

import os
import textwrap
import unittest

from reeve_testing import Home


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


if __name__ == "__main__":
    unittest.main()
