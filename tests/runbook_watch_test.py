"""`reeve runbook load` hands the runbooks of a project to the daemon now."""

import unittest

from run_testing import Project

MISTAKE = "[lock.x]\nphaze = 1\n"


def queue(name):
    return f"[queue.{name}]\nmax_attempts = 3\n"


class Load(Project):
    def test_it_hands_over_what_is_written_now(self):
        self.write(queue("one"))
        self.assertEqual(self.out("runbook", "load"), "1 definition loaded")
        self.assertEqual(self.out("runbook", "load"), "nothing new: 1 definition, loaded before")
        told = self.data("runbook", "load")
        self.assertEqual((told["definitions"], told["loaded"]), (1, False))
        self.assertEqual(self.out("runbook", "load", "-q"), told["hash"])
        self.assertIn("reeve runbook load --here", self.out("runbook", "load", "--help"))

    def test_with_a_mistake_nothing_is_loaded(self):
        self.write(MISTAKE, "wrong.toml")
        told = self.err("runbook", "load", code=1)
        self.assertIn(".reeve/runbooks/wrong.toml:2:", told)
        self.assertIn("there is a mistake in the runbooks; nothing was loaded", told)
        failure = self.error("runbook", "load", code=1)
        self.assertEqual(failure["code"], "RUNBOOK_WRONG")
        self.assertEqual(len(failure["details"]["mistakes"]), 1)

    def test_it_starts_no_daemon_if_that_is_not_wanted(self):
        self.write(queue("one"))
        self.assertEqual(self.error("runbook", "load", "--no-start", code=7)["code"], "UNAVAILABLE")
        self.assertIsNone(self.daemon_pid())

    def test_outside_of_a_project_there_is_nothing_to_load(self):
        self.assertEqual(self.reeve("runbook", "load", cwd="/", code=3).stdout, "")


if __name__ == "__main__":
    unittest.main(verbosity=2)
