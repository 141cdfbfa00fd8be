"""`reeve journal` on the home of a daemon that serves."""

import json
import os
import signal
import unittest

from reeve_testing import Home


class InUse(Home):
    def setUp(self):
        super().setUp()
        self.reeve("queue", "push", "q", "-", "--lines", text="x\n" * 10)

    def segments(self):
        names = os.listdir(os.path.join(self.home, "journal"))
        return sorted(name for name in names if "segment" in name)

    def test_accept_leaves_a_daemon_its_journal(self):
        pid = self.daemon_pid()
        journal = os.path.join(self.home, "journal")
        before = self.segments()
        for words in (["--home", self.home], [journal], [journal + "/"]):
            message = self.err("journal", "accept", *words, "--from", "1", code=1)
            self.assertIn(f"in use by process {pid}", message)
        self.assertEqual(self.segments(), before)
        self.reeve("queue", "push", "q", "-", "--lines", text="x\n" * 90)
        self.stop_daemon(signal.SIGKILL)
        self.assertEqual(self.data("queue", "stats", "q")["queues"][0]["pending"], 100)

    def test_accept_finds_the_daemon_behind_a_link(self):
        link = os.path.join(self.base, "link")
        os.symlink(os.path.join(self.home, "journal"), link)
        self.assertIn("in use by process", self.err("journal", "accept", link, "--from", "1", code=1))

    def test_looking_works_and_says_who_uses_it(self):
        note = f"in use by process {self.daemon_pid()}"
        for verb in ("info", "verify", "cat"):
            self.assertIn(note, self.err("journal", verb))
        self.stop_daemon()
        for verb in ("info", "verify", "cat"):
            self.assertEqual(self.err("journal", verb), "")

    def test_accept_works_when_the_daemon_has_stopped(self):
        self.reeve("daemon", "stop")
        self.assertIn("accepted", self.out("journal", "accept", "--from", "1"))
        self.assertEqual(self.data("queue", "stats", "q")["queues"][0]["pending"], 10)

    def test_a_daemon_does_not_start_into_what_somebody_changes(self):
        import fcntl

        self.reeve("daemon", "stop")
        with open(os.path.join(self.home, "daemon.lock"), "r+", encoding="utf-8") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            file.truncate()
            file.write(json.dumps({"pid": 4242, "version": "journal accept"}))
            file.flush()
            started = self.start("daemon", "run", "--home", self.home)
            self.assertEqual(started.wait(timeout=60), 1)
            self.assertIn("4242", started.stderr.read())
        self.reeve("queue", "stats", "q")

    def test_a_daemon_starts_though_others_look(self):
        import fcntl
        import threading

        self.reeve("daemon", "stop")
        ended = threading.Event()

        def look():
            while not ended.is_set():
                with open(os.path.join(self.home, "daemon.lock"), encoding="utf-8") as file:
                    try:
                        fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
                    except OSError:
                        return

        looker = threading.Thread(target=look)
        looker.start()
        try:
            self.reeve("queue", "stats", "q")
        finally:
            ended.set()
            looker.join()


if __name__ == "__main__":
    unittest.main()
