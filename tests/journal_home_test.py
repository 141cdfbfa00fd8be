"""`reeve journal` on the home of a daemon that serves."""

import json
import os
import signal
import subprocess
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


class Room(Home):
    def journal_bytes(self):
        journal = os.path.join(self.home, "journal")
        return sum(os.path.getsize(os.path.join(journal, name)) for name in os.listdir(journal))

    def test_a_home_with_little_in_it_stays_small_however_often_it_is_started(self):
        for _ in range(8):
            self.reeve("daemon", "restart")
            self.reeve("queue", "push", "q", "x")
            self.until(lambda: os.path.exists(os.path.join(self.home, "journal", "spare")))
        self.assertLess(self.journal_bytes(), 16 << 20)
        for _ in range(4):
            self.stop_daemon(signal.SIGKILL)
            self.reeve("queue", "push", "q", "x")
        self.assertLess(self.journal_bytes(), 20 << 20)


class Backup(Home):
    def setUp(self):
        super().setUp()
        self.file = os.path.join(self.base, "reeve.backup")
        self.homes = []
        self.reeve("queue", "push", "q", "-", "--lines", text="x\n" * 100)
        self.reeve("lock", "acquire", "main", "--holder", "ana", "--timeout", "1h")

    def tearDown(self):
        for home in self.homes:
            self.reeve("--home", home, "daemon", "stop")
        super().tearDown()

    def into(self, name="new"):
        """Restored into a home of its own, and what is there then."""
        home = os.path.join(self.base, name)
        self.out("--home", home, "restore", self.file)
        self.homes.append(home)
        pending = self.data("--home", home, "queue", "stats", "q")["queues"][0]["pending"]
        return home, pending

    def data(self, *words, **options):
        return json.loads(self.reeve("--json", *words, **options).stdout)["data"]

    def test_everything_acknowledged_is_in_it_and_comes_back(self):
        said = self.data("backup", self.file)
        self.assertEqual(said["bytes"], os.path.getsize(self.file))
        self.assertEqual(os.stat(self.file).st_mode & 0o777, 0o600)
        home, pending = self.into()
        self.assertEqual(pending, 100)
        lock = self.data("--home", home, "lock", "show", "main")
        self.assertEqual((lock["holder"], lock["token"]),
                         ("ana", self.data("lock", "show", "main")["token"]))
        self.assertEqual(os.stat(home).st_mode & 0o777, 0o700)
        self.reeve("--home", home, "daemon", "restart")
        self.assertIn("starts; no torn tail", self.out("--home", home, "journal", "verify"))

    def test_it_is_taken_while_others_write(self):
        pusher = self.start("queue", "push", "q", "-", "--lines", "-q", stdin=subprocess.PIPE)
        for n in range(3):
            pusher.stdin.write("y\n" * 2000)
            pusher.stdin.flush()
            before = self.data("queue", "stats", "q")["queues"][0]["pending"]
            self.reeve("backup", self.file)
            after = self.data("queue", "stats", "q")["queues"][0]["pending"]
            _, pending = self.into(f"new{n}")
            self.assertLessEqual(before, pending)
            self.assertLessEqual(pending, after)
        pusher.communicate(timeout=60)
        self.assertEqual([name for name in os.listdir(self.base) if name.endswith(".tmp")], [])

    def test_a_backup_replaces_a_backup_and_nothing_else(self):
        self.reeve("backup", self.file)
        self.reeve("queue", "push", "q", "more")
        self.reeve("backup", self.file)
        self.assertEqual(self.into()[1], 101)
        with open(self.file, "w", encoding="utf-8") as file:
            file.write("my thesis\n")
        self.assertIn("is no backup", self.err("backup", self.file, code=1))
        with open(self.file, encoding="utf-8") as file:
            self.assertEqual(file.read(), "my thesis\n")
        self.reeve("backup", os.path.join(self.base, "nowhere", "x"), code=3)
        self.reeve("backup", self.base, code=1)

    def test_restore_goes_into_no_home_that_is_used(self):
        self.reeve("backup", self.file)
        self.assertIn(f"in use by process {self.daemon_pid()}", self.err("restore", self.file, code=1))
        self.reeve("daemon", "stop")
        before = sorted(os.listdir(os.path.join(self.home, "journal")))
        self.assertIn("is not empty", self.err("restore", self.file, code=1))
        self.assertEqual(sorted(os.listdir(os.path.join(self.home, "journal"))), before)
        other = os.path.join(self.base, "other")
        os.mkdir(other)
        with open(os.path.join(other, "letter"), "w", encoding="utf-8"):
            pass
        self.assertIn("no home of Reeve", self.err("--home", other, "restore", self.file, code=1))
        self.assertEqual(os.listdir(other), ["letter"])
        # As its help says.
        os.rename(os.path.join(self.home, "journal"), os.path.join(self.base, "old"))
        self.assertIn("restored into", self.out("restore", self.file))
        self.assertEqual(self.data("queue", "stats", "q")["queues"][0]["pending"], 100)

    def test_a_damaged_backup_is_refused_and_nothing_is_left(self):
        self.reeve("backup", self.file)
        with open(self.file, "rb") as file:
            whole = file.read()
        home = os.path.join(self.base, "new")
        for damaged in (whole[:-1], whole[:100] + bytes([whole[100] ^ 1]) + whole[101:], b"", whole + b"x"):
            with open(self.file, "wb") as file:
                file.write(damaged)
            self.assertIn("at offset", self.err("--home", home, "restore", self.file, code=1))
            self.assertEqual(os.listdir(os.path.join(home, "journal")), [])
        self.reeve("--home", home, "restore", os.path.join(self.base, "nowhere"), code=3)
        with open(self.file, "wb") as file:
            file.write(whole)
        self.assertEqual(self.into()[1], 100)


if __name__ == "__main__":
    unittest.main()
