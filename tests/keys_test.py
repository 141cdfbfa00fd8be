"""Every key of a runbook once, with the real daemon, git, tmux and shell, and what it does.

`python3 tests/keys_test.py --table` prints which test is about which key. A key that the loader
knows and no test is about is a failure.
"""

import sys
import unittest

# pylint: disable=unused-import
from keys_around import Crons, Holds, Queues, Watching
from keys_phases import Commands, Phases
from keys_pipelines import Agents, Pipelines, Strategies
from keys_testing import PROVEN, Project, keys_of_the_loader
from keys_words import Words

# Keys whose effect cannot be seen here, and why.
ELSEWHERE = {
    "cron.window": "less than a minute counts as one; core/cron_test.cc moves the clock",
    "agent.on_permission": "nothing of kind generic asks for permission; core/task_response_test.cc",
}


class Everything(Project):
    def test_every_key_of_the_loader_has_a_test(self):
        known = keys_of_the_loader(self.work)
        self.assertGreater(len(known), 110)
        self.assertEqual(sorted(known - set(PROVEN) - set(ELSEWHERE)), [], "keys without a test")
        self.assertEqual(sorted((set(PROVEN) | set(ELSEWHERE)) - known), [], "keys that are none")


if __name__ == "__main__":
    if "--table" in sys.argv:
        for proven in sorted({**PROVEN, **ELSEWHERE}):
            print(f"{proven:28} {', '.join(PROVEN.get(proven, [ELSEWHERE.get(proven, '')]))}")
        sys.exit()
    unittest.main()
