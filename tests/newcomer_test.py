"""The five minutes of docs/runbooks.md: what is written there is what is typed here."""

import os
import re
import subprocess
import unittest

from reeve_testing import Home

DOCS = os.path.join(os.path.dirname(os.path.dirname(os.path.realpath(__file__))), "docs/runbooks.md")


class Newcomer(Home):
    def setUp(self):
        super().setUp()
        with open(DOCS, encoding="utf-8") as file:
            whole = file.read()
        self.docs = whole.partition("## Five minutes")[2].partition("\n## ")[0]
        self.scenarios = whole.partition("## Scenarios")[2].partition("\n## ")[0]
        self.runbook = re.search(r"```toml\n(.*?)```", self.docs, re.DOTALL)[1]
        for words in (["init", "-q"], ["config", "user.name", "Ana"], ["config", "user.email", "ana@example.org"]):
            self.git(*words)
        self.write("shop.txt", "open\n")
        self.git("add", "shop.txt")
        self.git("commit", "-q", "-m", "first")

    def git(self, *words):
        subprocess.run(["git", *words], cwd=self.work, env=self.env, check=True)

    def write(self, name, text):
        with open(os.path.join(self.work, name), "w", encoding="utf-8") as file:
            file.write(text)

    def test_the_five_minutes(self):
        # 1. Begin: what `init` writes runs as it is.
        self.assertIn("wrote ", self.out("init"))
        followed = self.out("run", "hello", "world", "--follow", "--timeout", "40s")
        self.assertIn("hello world", followed.splitlines())
        self.assertIn("hello done", followed)
        # 2. and 3. Their own; a mistake is told as the page says.
        path = ".reeve/runbooks/release.toml"
        self.write(path, self.runbook.replace('post = ["is_clean"]', 'post = ["is_claen"]'))
        told = re.search(r"\.reeve/runbooks/release\.toml:[^\n]*", self.docs)[0]
        self.assertIn(told, self.out("runbook", "check", code=1).splitlines())
        self.write(path, self.runbook)
        self.assertIn("no mistakes", self.out("runbook", "check"))
        # 4. Look: every placeholder is filled in, and nothing is touched.
        dry = self.out("run", "release", "1.2", "--dry-run")
        for part in ("building 1.2", "publishing 1.2", "is_clean", "registry"):
            self.assertIn(part, dry)
        # 5. Run: it waits for its guard, says so, and goes on when that passes.
        self.write("shop.txt", "closed\n")
        id = self.data("run", "release", "1.2")["pipeline"]
        self.until(lambda: "guard is_clean" in self.out("why", id))
        self.assertLessEqual(len(self.out("why", id).splitlines()), 24)
        self.assertIn("building 1.2", self.out("logs", id))
        self.git("checkout", "-q", "shop.txt")
        self.reeve("wait", id, "--timeout", "40s")
        self.assertIn("publishing 1.2", self.out("logs", id))
        # The lock: a second one waits while somebody has it.
        self.reeve("lock", "acquire", "registry", "--holder", "ben")
        second = self.data("run", "release", "1.3")["pipeline"]
        self.until(lambda: "lock registry held by ben" in self.out("why", second))
        self.reeve("lock", "release", "registry", "--holder", "ben")
        self.reeve("wait", second, "--timeout", "40s")

    def test_the_scenario_goes_as_it_says(self):
        self.out("init")
        self.write(".reeve/runbooks/release.toml", self.runbook)
        self.write("release_test.toml", re.search(r"```toml\n(.*?)```", self.scenarios, re.DOTALL)[1])
        played = self.data("runbook", "test", "release_test.toml")["scenarios"]
        self.assertEqual([(each["ok"], each["ended"]) for each in played], [(True, "done")], played)
        self.assertGreater(played[0]["took_ms"], 40_000)


if __name__ == "__main__":
    unittest.main()
