"""Who waits for a run, who follows it, and what a daemon that goes away means to them."""

import os
import signal
import subprocess
import time
import unittest

from reeve_testing import REEVE, is_alive
from run_test import Project

HELD = """
    [command.held]
    run = { pipeline = "held" }
    [pipeline.held]
    on_fail = "fail"
    [[pipeline.held.phase]]
    name = "work"
    run  = "echo begun; while [ -e hold ]; do sleep 0.05; done; echo over; exit $(cat code)"
"""


class Held(Project):
    """A run that goes on until the file `hold` is gone, and then ends with what `code` says."""

    def setUp(self):
        super().setUp()
        self.write(HELD)
        self.put("hold", "")
        self.put("code", "0")

    def put(self, name, text):
        with open(os.path.join(self.work, name), "w", encoding="utf-8") as file:
            file.write(text)

    def release(self):
        os.remove(os.path.join(self.work, "hold"))

    def held(self):
        id = self.run_id("held")
        self.until(lambda: self.out("logs", id) == "begun")
        return id

    def is_served(self):
        done = subprocess.run([REEVE, "daemon", "status"], env=self.env, capture_output=True, check=False)
        return done.returncode == 0

    def until_connected(self, process):
        """It has a connection: whoever waits has begun to."""

        def look():
            folder = f"/proc/{process.pid}/fd"
            links = [os.readlink(os.path.join(folder, each)) for each in os.listdir(folder)]
            return any(link.startswith("socket:") for link in links)

        self.until(look)
        time.sleep(0.2)


class Waits(Held):
    def test_a_wait_outlives_a_daemon_that_was_stopped(self):
        for words in (["wait"], ["wait", "--for", "done"]):
            self.put("hold", "")
            id = self.held()
            waiting = self.start(*words, id)
            self.until_connected(waiting)
            pid = self.daemon_pid()
            self.reeve("daemon", "stop")
            self.assertFalse(is_alive(pid))
            self.release()
            self.assertEqual(waiting.wait(30), 0, waiting.communicate())

    def test_what_ended_while_there_was_no_daemon_is_told(self):
        id = self.held()
        waiting = self.start("wait", id)
        self.until_connected(waiting)
        waiting.send_signal(signal.SIGSTOP)
        self.reeve("daemon", "stop")
        self.put("code", "3")
        self.release()
        waiting.send_signal(signal.SIGCONT)
        self.assertEqual(waiting.wait(30), 1)


class Logs(Held):
    def test_who_reads_along_starts_no_daemon_and_reads_on_without_one(self):
        id = self.held()
        reading = self.start("logs", id, "-f")
        self.assertEqual(reading.stdout.readline(), "begun\n")
        self.until_connected(reading)
        self.reeve("daemon", "stop")
        time.sleep(1)
        self.assertFalse(self.is_served())
        self.assertIsNone(reading.poll())
        self.release()
        self.assertEqual(reading.stdout.readline(), "over\n")
        self.assertFalse(self.is_served())
        self.reeve("wait", id)
        self.assertEqual(reading.wait(30), 0)


if __name__ == "__main__":
    unittest.main()
