"""The example that has every part of a runbook, run as it is: only its agent is another program."""

import os
import subprocess
import unittest

from reeve_testing import REEVE
from run_testing import Project

FULL = os.path.join(os.path.dirname(os.path.abspath(__file__)), "runbooks/right/full.toml")

AGENT = """\
#!/bin/bash
read -r prompt
echo "$prompt as $ROLE" > "fixed-$REEVE_PIPELINE"
git add . && git commit -qm "$prompt"
reeve done
exec sleep 60
"""


class TheWholeExample(Project):
    def git(self, *words):
        done = subprocess.run(["git", *words], cwd=self.work, check=True, capture_output=True, text=True)
        return done.stdout.strip()

    def setUp(self):
        super().setUp()
        with open(FULL, encoding="utf-8") as file:
            text = file.read()
        for old, new in (
            ('kind         = "claude"', 'kind = "generic"'),
            ('"claude --dangerously-skip-permissions"', '"./agent.sh"'),
            ('"notify-send"', '"cat >> notified"'),
        ):
            self.assertEqual(text.count(old), 1, old)
            text = text.replace(old, new)
        self.write(text)
        self.put("agent.sh", AGENT)
        self.put("Makefile", "test:\n\ttrue\n")
        os.chmod(os.path.join(self.work, "agent.sh"), 0o755)
        path = f"{os.path.dirname(os.path.abspath(REEVE))}:{os.environ['PATH']}"
        self.env.update(TRACKER_URL="http://tracker", TRACKER_TOKEN="tok-12345", PATH=path)
        self.git("init", "-q", "-b", "main")
        self.git("config", "user.name", "ana")
        self.git("config", "user.email", "ana@example.org")
        self.git("add", ".")
        self.git("commit", "-qm", "first")
        self.git("checkout", "-q", "--detach")  # main is moved by Reeve

    def fixed(self, *words):
        run = self.run_id("fix", *words)
        self.reeve("wait", run, "--timeout", "60s")
        shown = self.data("pipeline", "show", run)
        self.assertEqual((shown["state"], shown["phases"][-1]["name"]), ("done", "cleanup"))
        return run

    # Its first guard asks whether the branch is free that its worktree will make.
    def test_a_bug_is_fixed_on_a_branch_of_its_own_and_merged(self):
        run = self.fixed("42")
        self.assertEqual(self.git("show", f"main:fixed-{run}"), "Fix bug 42. as fixer")
        self.assertEqual(self.git("log", "-1", "--format=%s", "main"), "Fix bug 42.")

        self.git("checkout", "-q", "main")
        self.git("commit", "-q", "--allow-empty", "-m", "meanwhile")
        self.git("checkout", "-q", "--detach")
        self.fixed("43", "--after", run)
        self.assertEqual(
            self.git("log", "-3", "--format=%s", "main").split("\n"), ["Fix bug 43.", "meanwhile", "Fix bug 42."]
        )

    def test_a_branch_that_is_there_is_waited_for(self):
        self.git("branch", "fix/42", "main")
        run = self.run_id("fix", "42")
        self.assertEqual(self.blocked(run, "guard")["blocked_on"]["name"], "branch_free")
        self.reeve("cancel", run)


if __name__ == "__main__":
    unittest.main()
