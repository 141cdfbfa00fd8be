"""Runbooks that change take effect without a command, and `reeve runbook load` hands them over now."""

import os
import shutil
import signal
import subprocess
import unittest

from daemon_client import Client
from reeve_testing import REEVE, is_alive
from run_testing import Project

HOOK = """
    [events]
    "mine:ring" = "echo {word} >> said"
"""

MISTAKE = "[lock.x]\nphaze = 1\n"


def hook(word):
    return HOOK.replace("{word}", word)


def queue(name):
    return f"[queue.{name}]\nmax_attempts = 3\n"


class Watched(Project):
    """A project whose runbooks the daemon has."""

    def setUp(self):
        super().setUp()
        self.write(hook("old"))
        self.reeve("runbook", "load")

    def log(self):
        with open(os.path.join(self.home, "daemon.log"), encoding="utf-8") as file:
            return file.read()

    def looks(self):
        return self.log().count("the runbooks of work changed")

    def hears(self, word):
        """Rings until the hook says this: it is the one in force."""

        def look():
            self.reeve("emit", "mine:ring")
            return self.said()[-1:] == [word]

        self.until(look, f"the hook never said {word}: {self.said()[-3:]}\n{self.log()}")

    def said(self):
        try:
            with open(os.path.join(self.work, "said"), encoding="utf-8") as file:
                return file.read().split()
        except FileNotFoundError:
            return []

    def in_force(self):
        """The set of definitions that the daemon has."""
        client = Client(os.path.join(self.home, "reeve.sock"))
        try:
            return client.get("runbook.get", project="work")
        finally:
            client.close()

    def knows(self, name):
        return name in self.in_force()["queues"]

    def dead_children(self):
        """Those of the daemon that nobody has waited for."""
        pid, found = self.daemon_pid(), []
        for entry in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open(f"/proc/{entry}/stat", encoding="utf-8") as file:
                    state, parent = file.read().rpartition(")")[2].split()[:2]
            except OSError:
                continue
            if int(parent) == pid and state == "Z":
                found.append(entry)
        return found


FEW = "echo 2 > /proc/sys/user/max_inotify_watches && exec "


class Unheard(Watched):
    @unittest.skipUnless(
        subprocess.run(["unshare", "-Ur", "sh", "-c", FEW + "true"], check=False, capture_output=True).returncode == 0,
        "this machine gives no user namespaces")
    def test_where_the_kernel_has_no_watches_left_it_is_said_and_a_load_does_it(self):
        self.stop_daemon()
        subprocess.run(["unshare", "-Ur", "sh", "-c", FEW + f"{REEVE} daemon start"],
                       env=self.env, cwd=self.work, check=True, stdin=subprocess.DEVNULL)
        self.until(lambda: "no more inotify watches" in self.log())
        self.write(queue("fresh"), "fresh.toml")
        self.reeve("runbook", "load")
        self.assertTrue(self.knows("fresh"))
        self.assertEqual(self.looks(), 0)


class Changes(Watched):
    def test_an_edited_hook_takes_effect_without_a_command(self):
        self.hears("old")
        self.write(hook("new"))
        self.hears("new")
        self.assertIn("the runbooks of work changed: ", self.log())

    def test_a_file_that_is_renamed_over_the_old_one_takes_effect(self):
        beside = self.write(hook("new"), "test.toml.tmp")
        os.rename(beside, beside.removesuffix(".tmp"))
        self.hears("new")

    def test_a_new_runbook_and_one_that_was_deleted_are_noticed(self):
        path = self.write(queue("fresh"), "fresh.toml")
        self.until(lambda: self.knows("fresh"))
        self.hears("old")
        os.remove(path)
        self.until(lambda: not self.knows("fresh"))
        self.hears("old")

    def test_a_folder_that_went_and_comes_back_is_noticed(self):
        self.write(queue("fresh"), "fresh.toml")
        self.until(lambda: self.knows("fresh"))
        shutil.rmtree(os.path.join(self.work, ".reeve"))
        self.until(lambda: not self.knows("fresh"))
        os.makedirs(os.path.join(self.work, ".reeve/runbooks"))
        self.write(hook("new"))
        self.hears("new")

    def test_a_mistake_leaves_the_old_one_in_force_until_it_is_mended(self):
        self.write(MISTAKE, "wrong.toml")
        self.write(hook("new"))
        self.until(lambda: "what was loaded before stays in force" in self.log())
        self.assertIn("runbook mistake: .reeve/runbooks/wrong.toml:2:", self.out("status"))
        self.assertIn("wrong.toml:2:", self.log())
        self.hears("old")
        self.write(queue("mended"), "wrong.toml")
        self.hears("new")
        self.assertTrue(self.knows("mended"))
        self.assertNotIn("runbook", self.out("status"))

    def test_a_hundred_quick_writes_cause_few_looks(self):
        for n in range(100):
            self.write(hook(f"word{n}"))
        self.hears("word99")
        # Once a second at most, and writing takes less than that.
        self.assertLessEqual(self.looks(), 5, self.log())
        self.until(lambda: not self.dead_children(), "a look was not waited for")

    def test_what_runs_keeps_its_text(self):
        text = """
            [command.held]
            run = { pipeline = "held" }
            [pipeline.held]
            on_fail = "fail"
            [[pipeline.held.phase]]
            name = "work"
            run  = "while [ -e hold ]; do sleep 0.05; done"
            [[pipeline.held.phase]]
            name = "say"
            run  = "echo OLD"
        """
        self.put("hold", "")
        self.write(text, "held.toml")
        id = self.run_id("held")
        self.write(text.replace("OLD", "NEW") + queue("later"), "held.toml")
        self.until(lambda: self.knows("later"))
        os.remove(os.path.join(self.work, "hold"))
        self.reeve("wait", id)
        self.assertEqual(self.out("logs", id), "OLD")
        self.assertEqual(self.out("logs", self.data("run", "held", "--wait")["pipeline"]), "NEW")


class Daemons(Watched):
    def kill(self):
        pid = self.daemon_pid()
        os.kill(pid, signal.SIGKILL)
        self.until(lambda: not is_alive(pid))

    def test_one_that_was_killed_watches_again(self):
        self.kill()
        self.reeve("daemon", "start")
        self.write(hook("new"))
        self.hears("new")

    def test_what_changed_while_there_was_none_takes_effect_when_there_is_one(self):
        self.reeve("daemon", "stop")
        self.write(hook("new"))
        self.reeve("daemon", "start")
        self.hears("new")

    def test_a_root_that_is_moved_hurts_nobody(self):
        away = self.work + ".away"
        os.rename(self.work, away)
        with open(os.path.join(away, ".reeve/runbooks/test.toml"), "w", encoding="utf-8") as file:
            file.write(hook("lost"))
        self.reeve("daemon", "status", cwd=self.base)
        os.rename(away, self.work)
        self.reeve("runbook", "load")
        self.hears("lost")

    def test_a_stop_neither_waits_for_a_look_nor_leaves_one_behind(self):
        # A bash that takes its time to read a program: whoever looks waits for it.
        programs = os.path.join(self.base, "programs")
        os.mkdir(programs)
        with open(os.path.join(programs, "bash"), "w", encoding="utf-8") as file:
            file.write(f"#!/bin/sh\necho $$ >> {self.base}/readers\nexec sleep 600\n")
        os.chmod(os.path.join(programs, "bash"), 0o755)
        self.reeve("daemon", "stop")
        self.reeve("daemon", "start", env={"PATH": f"{programs}:{os.environ['PATH']}"})
        self.write(hook("new"))
        self.until(lambda: os.path.exists(f"{self.base}/readers"))
        pid = self.daemon_pid()
        self.reeve("daemon", "stop", timeout=30)
        self.assertFalse(is_alive(pid))
        with open(f"{self.base}/readers", encoding="utf-8") as file:
            readers = file.read().split()
        self.until(lambda: not any(is_alive(each) for each in readers), "a look was left behind")
        self.reeve("daemon", "status", code=7)


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
