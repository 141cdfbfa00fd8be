"""The board as its users meet it: every verb, in text and as JSON, and every exit code; the two scenarios of
the task locking system that it comes from, played by processes and compared line by line; what was wrong
with that one's SQL; and the runner of docs/board.md, exactly as it stands there."""

import json
import os
import re
import signal
import stat
import subprocess
import threading
import time
import unittest

from daemon_client import Client
from reeve_testing import REEVE, Home, Terminal, seconds_of

ROOT = os.path.dirname(os.path.dirname(os.path.realpath(__file__)))


class Board(Home):
    # A moment is as far away as it truly is when it is told, so twice told it may differ by a millisecond.
    def assert_near(self, one, other, seconds=0.01):
        self.assertLessEqual(abs(seconds_of(one) - seconds_of(other)), seconds, (one, other))

    def client(self):
        client = Client(os.path.join(self.home, "reeve.sock"))
        self.addCleanup(client.close)
        return client

    def configure(self, **timeouts):
        """In the user's settings, which the commands go by, and at once."""
        for name, milliseconds in timeouts.items():
            self.reeve("config", "set", "--user", "locking." + name.removesuffix("_ms"), f"{milliseconds}ms")
        self.reeve("section", "list")
        return self.client().get("board.configure", **timeouts)

    def add(self, title, *words):
        return self.out("task", "add", title, *words, "-q")

    def begin(self, task, runner, *words, **options):
        return self.reeve("task", "update", task, "--status", "in_progress", "--runner", runner, *words, **options)

    def end(self, task, runner, status="completed", **options):
        return self.reeve("task", "update", task, "--status", status, "--runner", runner, **options)

    def waiting(self, task):
        return self.data("task", "show", task)["waiting"]

    def wait_to_begin(self, task, runner, *words):
        """A process that waits, once it does."""
        process = self.start("task", "update", task, "--status", "in_progress", "--runner", runner, *words)
        self.until(lambda: self.waiting(task) == 1, "it does not wait")
        return process

    def told(self, process, code=0):
        out, err = process.communicate(timeout=30)
        self.assertEqual(process.returncode, code, out + err)
        return out.splitlines(), err.splitlines()


class Verbs(Board):
    def test_tasks(self):
        added = self.data("task", "add", "Fix bug", "--section", "backend", "--priority", "5", "--note", "see log")
        self.assertEqual(
            {key: added[key] for key in ("title", "section", "status", "priority")},
            {"title": "Fix bug", "section": "backend", "status": "pending", "priority": 5},
        )
        one = added["id"]
        self.assertRegex(self.out("task", "add", "tidy"), r"^task-\w+  tidy$")
        self.assertRegex(self.out("task", "add", "paint", "--section", "ui"), r"^task-\w+  paint  in ui$")
        lines = self.out("task", "list").splitlines()
        self.assertEqual(lines[0].split(), ["ID", "STATUS", "SECTION", "PRIORITY", "RUNNER", "EXPIRES", "TITLE"])
        self.assertEqual(lines[1].split(), [one, "pending", "backend", "5", "-", "-", "Fix", "bug"])
        self.assertEqual(len(lines), 4)
        self.assertEqual(self.out("task", "list", "--section", "backend", "-q"), one)
        self.assertEqual([task["id"] for task in self.data("task", "list", "--section", "backend")["tasks"]], [one])

        self.assertEqual(self.begin(one[:8], "ana").stdout, 'Task "Fix bug" status updated to in_progress.\n')
        self.assertEqual(self.out("task", "note", "Fix bug", "half done", "--runner", "ana"), f"{one} noted")
        shown = self.out("task", "show", "Fix bug")
        for line in (f"task      {one}", "status    in_progress", "section   backend", "runner    ana", "expires   in "):
            self.assertIn(line, shown)
        self.assertIn("by ana: half done", shown)
        self.assertIn("see log", shown)
        self.assertEqual(self.out("task", "show", "Fix bug", "-q"), one)
        self.assertEqual(
            [note["text"] for note in self.data("task", "show", one)["notes"]], ["see log", "half done"]
        )
        self.assertRegex(self.out("task", "heartbeat", "Fix bug", "--runner", "ana"), rf"^{one} expires in ")
        self.assertEqual(self.data("task", "heartbeat", one, "--runner", "ana")["id"], one)
        self.assertEqual(self.end(one, "ana", "review", code=0).stdout, 'Task "Fix bug" status updated to review.\n')
        self.reeve("task", "update", one, "--status", "failed", "--note", "not good")
        self.assertEqual(self.data("task", "show", one)["notes"][-1]["text"], "not good")
        self.assertEqual(self.out("task", "list", "--status", "failed", "-q"), one)
        self.assertEqual(len(self.out("task", "list", "--all", "-q").split()), 3)
        self.reeve("task", "update", one, "--status", "pending", "--note", "again")
        self.assertEqual(self.data("task", "show", one)["status"], "pending")
        self.assertEqual(self.out("task", "remove", "tidy", "paint", "-q").split()[0][:5], "task-")
        self.assertEqual(self.data("task", "remove", one), {"ids": [one]})
        self.assertEqual(self.err("task", "list"), "reeve: no open tasks; add one with `reeve task add TITLE`")

    def test_next(self):
        one = self.add("one", "--section", "backend")
        two = self.add("two", "--section", "frontend")
        self.assertEqual(self.out("task", "next", "--runner", "ana"), f"{one}  one  in backend")
        self.assertEqual(self.out("task", "next", "--runner", "ana", "--section", "frontend", "-q"), two)
        self.assertRegex(
            self.out("task", "next", "--runner", "ana", "--start"), rf"^{one}  one  in backend  token \d+  expires in "
        )
        self.assertEqual(self.out("task", "next", "--runner", "bo", "--start", "-q"), two)
        nothing = self.reeve("task", "next", "--runner", "cy", "--start")
        self.assertEqual((nothing.stdout, nothing.stderr), ("", "reeve: nothing to start: others have what is open\n"))
        self.assertIsNone(self.data("task", "next", "--runner", "cy")["id"])
        self.reeve("task", "next", "--runner", "cy", "--section", "backend", code=6)
        self.reeve("task", "next", "--runner", "cy", "--in-order", "--no-wait", code=6)
        self.reeve("task", "next", "--runner", "cy", "--in-order", "--wait", "50ms", code=6)
        self.assertEqual(self.out("task", "next", "--runner", "cy", "--wait", "50ms", "-q"), "")
        self.end(one, "ana")
        self.end(two, "bo")
        self.assertEqual(self.err("task", "next", "--runner", "cy"), "reeve: nothing to start: no task is open")

    def test_next_waits_for_whatever_is_free_first(self):
        self.begin(self.add("one", "--section", "backend"), "ana")
        bo = self.start("task", "next", "--start", "--wait", "-q", "--runner", "bo")
        self.until(lambda: self.data("runner", "list")["runners"][-1]["waiting"] == 1)
        two = self.add("two", "--section", "frontend")
        self.assertEqual(self.told(bo)[0], [two])
        cy = self.start("task", "next", "--start", "--wait", "-q", "--runner", "cy")
        self.until(lambda: self.knows("cy") and self.data("runner", "show", "cy")["waiting"] == 1)
        self.end("one", "ana")
        self.end("two", "bo")
        self.assertEqual(self.told(cy)[0], [], "nothing is open any more")

    def knows(self, runner):
        return runner in self.out("runner", "list", "-q").split()

    def test_sections(self):
        self.assertEqual(self.out("section", "add", "zoo"), "zoo added")
        self.assertEqual(self.out("section", "add", "ape", "bee", "-q").split(), ["ape", "bee"])
        self.assertEqual(self.out("section", "list", "-q").split(), ["zoo", "ape", "bee"])
        one = self.add("one", "--section", "ape")
        self.add("two", "--section", "ape")
        self.begin(one, "ana")
        lines = self.out("section", "list").splitlines()
        self.assertEqual(lines[0].split(), ["SECTION", "OPEN", "RUNNER", "SINCE", "EXPIRES", "WAITING"])
        self.assertEqual(lines[2].split()[:3], ["ape", "2", "ana"])
        shown = self.out("section", "show", "ape")
        for part in ("section   ape", "open      2", "runner    ana", one, "two"):
            self.assertIn(part, shown)
        self.assertEqual(self.out("section", "show", "ape", "-q"), "ana")
        self.assertEqual(self.data("section", "show", "ape")["open"], 2)
        self.assertEqual(self.error("section", "release", "ape", "--runner", "bo", code=6)["code"], "LOST")
        self.reeve("section", "release", "ape", "--runner", "ana", code=5)
        self.end(one, "ana")
        self.reeve("section", "remove", "ape", code=6)
        self.assertEqual(self.out("section", "release", "ape", "--runner", "ana"), "ape released")
        self.assertEqual(self.out("section", "release", "ape", "--runner", "ana"), "ape was free already")
        self.assertEqual(self.data("section", "release", "ape", "--runner", "ana")["outcome"], "already_free")
        self.assertIn('did you mean "ape"?', self.err("task", "list", "--section", "appe", code=3))
        self.assertIn("has open tasks", self.err("section", "remove", "ape", code=5))
        self.assertEqual(self.out("section", "remove", "bee"), "bee removed")
        self.reeve("section", "remove", "bee", code=3)

    def test_runners(self):
        self.assertIn("no runners", self.err("runner", "list"))
        one = self.add("one", "--section", "backend")
        self.begin(one, "ana")
        lines = self.out("runner", "list").splitlines()
        self.assertEqual(lines[0].split(), ["RUNNER", "SEEN", "TASKS", "SECTIONS", "WAITING"])
        self.assertEqual([lines[1].split()[0], *lines[1].split()[-3:]], ["ana", "1", "1", "0"])
        self.assertEqual(self.out("runner", "show", "ana", "-q").split(), [one, "backend"])
        self.assertIn("section", self.out("runner", "show", "ana"))
        self.assertEqual(self.out("runner", "heartbeat", "ana"), "ana keeps 1 task and 1 section")
        beat = self.data("runner", "heartbeat", env={"REEVE_RUNNER": "ana"})
        self.assertEqual((beat["name"], beat["tasks"], beat["sections"], beat["lost"]), ("ana", 1, 1, 0))
        self.reeve("runner", "forget", "ana", code=5)
        self.end(one, "ana")
        self.assertEqual(self.out("runner", "forget", "ana"), "ana forgotten")
        self.reeve("runner", "show", "ana", code=3)

    def test_locks(self):
        self.assertEqual(self.err("locks", "list"), "reeve: nothing on the board is locked")
        one = self.add("one", "--section", "backend")
        self.begin(one, "ana")
        lines = self.out("locks", "list").splitlines()
        self.assertEqual(lines[0].split(), ["TYPE", "ID", "TITLE", "RUNNER", "STATE", "SINCE", "EXPIRES"])
        self.assertEqual(lines[1].split()[:5], ["task", one, "one", "ana", "held"])
        self.assertEqual(lines[2].split()[:5], ["section", "backend", "-", "ana", "held"])
        self.assertEqual(self.out("locks", "list", "--type", "task", "-q"), one)
        self.assertEqual(self.out("locks", "list", "--type", "section", "-q"), "backend")
        self.assertEqual(len(self.data("locks", "list", "--type", "all")["locks"]), 2)
        shown = self.out("locks", "show", one)
        self.assertIn(f'task {one} "one"', shown)
        self.assertIn("runner    ana", shown)
        self.assertEqual(self.data("locks", "show", "backend")["type"], "section")
        self.assertEqual(
            self.err("locks", "release", one, code=5),
            f'reeve: "{one}" is locked by runner ana; --force takes it away all the same',
        )
        self.assertEqual(self.out("locks", "release", one, "--force"), f"task {one} released")
        self.assertEqual(self.out("locks", "release", one, "--force"), f"task {one} was free already")
        self.assertEqual(self.data("locks", "release", "backend", "--force")["outcome"], "released")
        self.assertEqual(self.err("locks", "cleanup"), "reeve: no lock has expired")
        self.configure(task_timeout_ms=50, section_timeout_ms=50)
        self.begin(one, "bo")
        self.until(lambda: self.data("locks", "show", one)["state"] == "expired")
        self.until(lambda: self.data("locks", "show", "backend")["state"] == "expired")
        wanted = [f'task {one} "one" has expired', "section backend has expired"]
        self.assertEqual(self.out("locks", "cleanup", "--dry-run").splitlines(), wanted)
        self.assertEqual(len(self.data("locks", "cleanup", "--dry-run")["locks"]), 2)
        self.assertEqual(self.out("locks", "cleanup", "-q").split(), [one, "backend"])
        self.assertEqual(self.out("locks", "list", "-q"), "")

    def test_exit_codes_of_what_is_wrong(self):
        self.add("one")
        self.reeve("task", "update", "one", code=2)
        self.reeve("task", "update", "one", "--status", "open", code=2)
        self.reeve("task", "update", "one", "--status", "completed", "--wait", "1s", code=2)
        self.reeve("task", "update", "one", "--status", "in_progress", "--wait", "--no-wait", code=2)
        self.reeve("task", "update", "one", "--status", "in_progress", "--runner", "-x", code=2)
        self.reeve("task", "add", "", code=2)
        self.reeve("section", "add", "..", code=2)
        self.reeve("section", "add", "s")
        self.reeve("section", "add", "s", code=1)
        self.reeve("task", "heartbeat", "one", code=2)
        self.assertIn('did you mean "one"?', self.err("task", "show", "onee", code=3))
        self.reeve("locks", "show", "nothing", code=3)
        self.reeve("task", "next", "--runner", "ana", "--section", "nowhere", code=3)
        self.add("one")
        way_out = 'more than one task is called "one"; say its id, see `reeve task list --all`'
        for words in (["show", "one"], ["update", "one", "--status", "completed"], ["note", "one", "x"]):
            error = self.error("task", *words, code=2)
            self.assertEqual((error["code"], error["message"]), ("AMBIGUOUS", way_out))

    def test_a_runner_may_be_said_by_the_environment_or_be_a_fresh_one(self):
        self.add("one")
        self.add("two")
        self.reeve("task", "update", "one", "--status", "in_progress", env={"REEVE_RUNNER": "ana"})
        self.assertEqual(self.data("task", "show", "one")["runner"], "ana")
        begun = self.reeve("task", "update", "two", "--status", "in_progress")
        self.assertEqual(begun.stdout, 'Task "two" status updated to in_progress.\n')
        name = re.search(r"you are (runner-\w+);", begun.stderr).group(1)
        self.assertEqual(self.data("task", "show", "two")["runner"], name)
        self.end("two", name)

    def test_status_why_and_show_know_it(self):
        one = self.add("one", "--section", "backend")
        self.add("two", "--section", "backend")
        self.begin(one, "ana")
        status = self.out("status")
        self.assertRegex(status, r"BOARD +OPEN +IN PROGRESS")
        self.assertRegex(status, r"tasks +2 +1 +1")
        why = self.out("why", "two")
        self.assertIn("task ", why)
        self.assertIn("section backend held by ana", why)
        self.assertIn("next: anybody can claim it unless ana sends a heartbeat", why)
        self.assertIn("section backend", self.out("why", "backend"))
        self.assertIn("in_progress", self.out("show", one))
        self.assertIn(one, self.out("__complete", "--", "task", "show", "task-"))
        self.assertIn("backend", self.out("__complete", "--", "section", "show", ""))
        self.assertIn("ana", self.out("__complete", "--", "task", "next", "--runner", ""))

    def test_tables_fit_80_columns(self):
        for number in range(3):
            self.add(f"a title that is long enough to need more than its part of the line {number}", "--section", "s" * 40)
        self.begin(self.out("task", "list", "-q").split()[0], "a runner with a long name, longer than others")
        for words in (("task", "list"), ("section", "list"), ("runner", "list"), ("locks", "list")):
            terminal = Terminal(self, *words)
            self.assertEqual(terminal.end(), 0)
            for line in terminal.seen.replace("\r", "").splitlines():
                self.assertLessEqual(len(re.sub(r"\x1b\[[0-9;]*m", "", line)), 80, line)


class Locked(Board):
    def test_the_words_of_a_lock_that_another_has(self):
        one = self.add("Fix bug")
        self.begin(one, "f47ac10b-58cc-4372-a567-0e02b2c3d479")
        lock = self.data("locks", "show", one)
        locked = self.begin("Fix bug", "bo", "--no-wait", code=6)
        self.assertEqual(locked.stdout, "")
        expires = locked.stderr.rpartition(": ")[2].strip()
        self.assertEqual(
            locked.stderr,
            'Error: Task "Fix bug" is locked by runner f47ac10b-58cc-4372-a567-0e02b2c3d479\n'
            f"Lock expires at: {expires}\n",
        )
        self.assertRegex(expires, r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$")
        self.assert_near(expires, lock["expires_at"], 1.01)
        answer = json.loads(self.begin("Fix bug", "bo", "--no-wait", "--json", code=6).stdout)
        expires_at = answer["error"]["details"]["expiresAt"]
        self.assert_near(expires_at, lock["expires_at"])
        self.assertEqual(
            answer,
            {
                "success": False,
                "command": "task update",
                "error": {
                    "code": "TASK_LOCKED",
                    "message": "Task is locked by another runner",
                    "details": {
                        "taskId": one,
                        "lockedBy": "f47ac10b-58cc-4372-a567-0e02b2c3d479",
                        "expiresAt": expires_at,
                    },
                },
            },
        )
        self.assertEqual(self.end(one, "bo", code=6).stderr.splitlines()[0], locked.stderr.splitlines()[0])
        self.reeve("task", "remove", one, code=6)

    def test_the_words_of_a_section_that_another_has(self):
        self.begin(self.add("one", "--section", "backend"), "ana")
        self.add("two", "--section", "backend")
        lines = self.begin("two", "bo", "--no-wait", code=6).stderr.splitlines()
        self.assertEqual(lines[0], 'Error: Section "backend" is locked by runner ana')
        self.assertRegex(lines[1], r"^Lock expires at: .*Z$")
        error = json.loads(self.begin("two", "bo", "--no-wait", "--json", code=6).stdout)["error"]
        self.assertEqual((error["code"], error["message"]), ("SECTION_LOCKED", "Section is locked by another runner"))
        self.assertEqual(set(error["details"]), {"sectionId", "lockedBy", "expiresAt"})

    def test_waiting_in_sight(self):
        self.begin(self.add("Fix bug"), "ana")
        terminal = Terminal(self, "task", "update", "Fix bug", "--status", "in_progress", "--runner", "bo")
        self.assertTrue(terminal.until(lambda seen: "2s elapsed" in seen), terminal.seen)
        self.reeve("task", "update", "Fix bug", "--status", "pending", "--runner", "ana")
        self.assertEqual(terminal.end(), 0)
        lines = [line.strip("\r").rpartition("\r\x1b[K")[2] for line in terminal.seen.split("\n") if line]
        self.assertEqual(lines[:2], ['Task "Fix bug" is locked by another runner.', "Waiting for lock... (Ctrl+C to cancel)"])
        self.assertRegex(lines[2], r"^\[>                         \] \ds elapsed  held by ana, expires in \S+$")
        self.assertEqual(lines[3:], ["Lock released!", 'Task "Fix bug" status updated to in_progress.'])

    def test_waiting_in_sight_follows_who_has_it_and_fits_80_columns(self):
        one = self.add("Fix bug")
        self.begin(one, "f47ac10b-58cc-4372-a567-0e02b2c3d479")
        cy = self.wait_to_begin(one, "cy")
        terminal = Terminal(self, "task", "update", "Fix bug", "--status", "in_progress", "--runner", "bo")
        self.assertTrue(terminal.until(lambda seen: "s elapsed  held by f47ac10b-5" in seen), terminal.seen)
        self.reeve("locks", "release", one, "--force")
        self.told(cy)
        self.assertTrue(terminal.until(lambda seen: "s elapsed  held by cy, expires in " in seen), terminal.seen)
        terminal.type("\x03")
        self.assertEqual(terminal.end(), 130)
        for line in terminal.seen.replace("\x1b[K", "").replace("\r", "\n").split("\n"):
            self.assertLess(len(line), 80)

    def test_waiting_without_a_terminal_has_no_bar(self):
        self.begin(self.add("Fix bug"), "ana")
        process = self.wait_to_begin("Fix bug", "bo")
        self.reeve("task", "update", "Fix bug", "--status", "pending", "--runner", "ana")
        out, err = self.told(process)
        self.assertEqual(out, ['Task "Fix bug" status updated to in_progress.'])
        self.assertEqual(
            err,
            [
                'Task "Fix bug" is locked by another runner.',
                "Waiting for lock... (Ctrl+C to cancel)",
                "Lock released!",
            ],
        )

    def test_a_wait_that_is_over_is_6_and_interrupted_130(self):
        self.begin(self.add("Fix bug"), "ana")
        self.assertIn("is locked by runner ana", self.begin("Fix bug", "bo", "--wait", "100ms", code=6).stderr)
        process = self.wait_to_begin("Fix bug", "bo")
        process.send_signal(signal.SIGINT)
        self.told(process, 130)
        self.assertEqual(self.waiting("Fix bug"), 0, "it left the line")
        self.configure(wait_timeout_ms=100)
        self.begin("Fix bug", "bo", code=6)


class Shared(Board):
    """A section of all projects, and a runner called p in two of them."""

    def setUp(self):
        super().setUp()
        self.places = {}
        for name in ("p9", "p10"):
            self.places[name] = os.path.join(self.base, name)
            os.makedirs(os.path.join(self.places[name], ".reeve"))
        self.shared = self.out("task", "add", "Fix bug", "--section", "//shared", "-q", cwd=self.places["p9"])
        self.given = self.out("task", "next", "--start", "--runner", "p", "-q", cwd=self.places["p10"])

    def test_whoever_was_given_a_task_sees_it_and_ends_it_by_its_title(self):
        self.assertEqual(self.given, self.shared)
        here = {"cwd": self.places["p10"]}
        self.assertEqual(self.out("task", "list", "-q", **here), self.shared)
        shown = self.out("task", "show", "Fix bug", **here)
        self.assertIn("project   p9", shown)
        self.assertIn("runner    p\n", shown + "\n")
        self.assertEqual(self.out("locks", "list", "-q", **here).split(), [self.shared, "//shared"])
        self.assertEqual(self.end("Fix bug", "p", **here).stdout, 'Task "Fix bug" status updated to completed.\n')
        self.assertIn("board:finished", self.out("history", "Fix bug", **here))

    def test_who_holds_it_is_not_taken_for_ones_own(self):
        here = {"cwd": self.places["p9"]}
        self.assertEqual(self.out("locks", "list", "-q", **here).split(), [self.shared, "//shared"])
        for line in self.out("locks", "list", **here).splitlines()[1:]:
            self.assertIn("p of p10", line)
        locks = self.data("locks", "list", **here)["locks"]
        self.assertEqual([(lock["runner"], lock["runner_project"]) for lock in locks], [("p", "p10")] * 2)
        told = self.begin("Fix bug", "p", "--no-wait", code=6, **here).stderr
        self.assertEqual(told.splitlines()[0], 'Error: Task "Fix bug" is locked by runner p of p10')
        self.assertIn("p of p10", self.out("task", "list", **here))
        self.assertIn("p of p10", self.out("section", "show", "//shared", **here))

    def test_history_has_the_section_as_it_is_written(self):
        rows = json.loads(
            self.out(
                "sql",
                "--json",
                "SELECT t.section, s.name FROM tasks t JOIN sections s ON s.id = "
                "iif(t.section LIKE '//%', '/' || t.section, t.project || '/' || t.section)",
            )
        )["data"]["rows"]
        self.assertEqual(rows, [{"section": "//shared", "name": "shared"}])


class Scenarios(Board):
    """Of the seed, the narrator's lines as comments."""

    def test_two_runners_in_one_section(self):
        self.add("Task 1", "--section", "Backend")
        self.add("Task 2", "--section", "Backend")
        # [A] Starting "Task 1" in Backend section. Acquired lock on Task 1
        self.assertEqual(self.begin("Task 1", "A").stdout, 'Task "Task 1" status updated to in_progress.\n')
        # [B] Task 2 has no lock, but section Backend is locked by Runner A. Waiting for section lock...
        runner_b = self.wait_to_begin("Task 2", "B")
        self.assertEqual(self.data("section", "show", "Backend")["waiters"][0]["runner"], "B")
        # [A] Completed Task 1, released task lock. Checking for next task in Backend. Found Task 2, acquiring lock
        self.assertEqual(self.end("Task 1", "A").stdout, 'Task "Task 1" status updated to completed.\n')
        self.assertEqual(self.data("section", "show", "Backend")["runner"], "A")
        self.assertRegex(self.out("task", "next", "--section", "Backend", "--start", "--runner", "A"), "Task 2")
        # [B] Section still locked. Waiting...
        self.assertEqual(self.waiting("Task 2"), 1)
        self.assertIsNone(runner_b.poll())
        # [A] Completed Task 2. No more tasks in Backend, releasing section lock
        self.end("Task 2", "A")
        self.assertEqual(self.out("locks", "list", "-q"), "")
        # [B] Section lock released! Looking for tasks... none pending. Going idle
        out, err = self.told(runner_b, 6)
        self.assertEqual(out, [])
        self.assertEqual(
            err[:2],
            ['Section "Backend" is locked by another runner.', "Waiting for lock... (Ctrl+C to cancel)"],
        )
        self.assertRegex(err[2], r'^reeve: task "Task 2" is completed already, so nothing was changed')
        self.assertEqual(len(err), 3)
        self.assertEqual(self.err("task", "next", "--runner", "B"), "reeve: nothing to start: no task is open")

    def test_an_expired_lock(self):
        self.configure(task_timeout_ms=700)
        one = self.add("Task 1")
        # [A] Started Task 1 at 10:00. Crashed at 10:15
        self.begin(one, "A")
        # [B] Checking Task 1. Lock exists but expired. Claiming expired lock. Resuming/restarting Task 1
        runner_b = self.start("task", "update", "Task 1", "--status", "in_progress", "--runner", "B")
        out, err = self.told(runner_b)
        self.assertEqual(out, ['Task "Task 1" status updated to in_progress.'])
        if err:  # it came before the lock was over
            self.assertEqual(
                err,
                [
                    'Task "Task 1" is locked by another runner.',
                    "Waiting for lock... (Ctrl+C to cancel)",
                    "Lock expired: claimed from runner A.",
                ],
            )
        names = [json.loads(line)["name"] for line in self.out("events", "--json", "-n", "50").splitlines()]
        board = [name for name in names if name in ("board:started", "board:expired", "board:claimed")]
        self.assertEqual(board[:3], ["board:started", "board:expired", "board:claimed"])

    def test_who_comes_when_it_is_over_does_not_wait(self):
        self.configure(task_timeout_ms=50)
        one = self.add("Task 1")
        self.begin(one, "A")
        self.until(lambda: self.data("locks", "show", one)["state"] == "expired")
        claimed = self.begin(one, "B", "--json")
        data = json.loads(claimed.stdout)["data"]
        self.assertEqual((data["outcome"], data["claimed_from"]), ("claimed", "A"))

    def test_a_claim_without_a_wait_is_told(self):
        self.configure(task_timeout_ms=50)
        one = self.add("Task 1")
        self.begin(one, "A")
        holder = "A"
        for runner, words in (
            ("B", ("task", "update", one, "--status", "in_progress")),
            ("C", ("task", "update", one, "--status", "in_progress", "--no-wait")),
            ("D", ("task", "next", "--start")),
        ):
            self.until(lambda: self.data("locks", "show", one)["state"] == "expired")
            told = self.reeve(*words, "--runner", runner)
            self.assertEqual(told.stderr, f"Lock expired: claimed from runner {holder}.\n")
            self.assertIn("Task 1", told.stdout)
            holder = runner


class Defects(Board):
    """What was wrong with the SQL that the board comes from."""

    def test_of_two_challengers_of_an_expired_lock_one_wins(self):
        self.configure(task_timeout_ms=20)
        self.add("Task 1")
        challengers = [self.client(), self.client()]
        holder = self.client()
        for turn in range(60):
            holder.get("task.update", id="Task 1", status="in_progress", runner=f"holder {turn}", wait_ms=5000)
            time.sleep(0.03)
            gate = threading.Barrier(2)
            answers = [None, None]

            def challenge(which, gate=gate, answers=answers, turn=turn):
                gate.wait()
                answers[which] = challengers[which].ask(
                    "task.update", id="Task 1", status="in_progress", runner=f"{which} of {turn}"
                )

            threads = [threading.Thread(target=challenge, args=(which,)) for which in (0, 1)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            won = [answer["result"] for answer in answers if "result" in answer]
            # Unless the winner's own time was over before the other asked.
            claims = [answer for answer in won if answer["claimed_from"] == f"holder {turn}"]
            self.assertEqual(len(claims), 1, answers)
            for answer in won:
                holder.ask("task.update", id="Task 1", status="pending", runner=answer["runner"])

    def test_of_processes_too(self):
        self.configure(task_timeout_ms=50)
        one = self.add("Task 1")
        self.begin(one, "A")
        self.until(lambda: self.data("locks", "show", one)["state"] == "expired")
        self.configure(task_timeout_ms=60_000)
        both = [
            self.start("task", "update", one, "--status", "in_progress", "--runner", name, "--no-wait")
            for name in ("B", "C")
        ]
        self.assertEqual(sorted(process.wait(30) for process in both), [0, 6])

    def test_a_living_holder_that_sends_heartbeats_is_never_stolen_from(self):
        timeout = 1.0
        self.configure(task_timeout_ms=int(timeout * 1000), section_timeout_ms=int(timeout * 1000))
        one = self.add("Task 1", "--section", "backend")
        client = self.client()
        token = client.get("task.update", id=one, status="in_progress", runner="A")["token"]
        thief = self.client()
        thief.send("task.update", id=one, status="in_progress", runner="B", wait_ms=30_000)
        end = time.monotonic() + 5 * timeout
        while time.monotonic() < end:
            self.assertEqual(client.get("task.heartbeat", id=one, runner="A", token=token)["id"], one)
            self.assertEqual(client.refused("task.update", id=one, status="in_progress", runner="C"), "TASK_LOCKED")
            time.sleep(timeout / 20)
        self.assertTrue(thief.is_silent())
        client.get("task.update", id=one, status="completed", runner="A", token=token)
        self.assertEqual(thief.read()["error"]["data"]["code"], "TASK_FINISHED")

    def test_who_lost_its_lock_is_told(self):
        self.configure(task_timeout_ms=50)
        one = self.add("Task 1")
        token = str(json.loads(self.begin(one, "A", "--json").stdout)["data"]["token"])
        self.until(lambda: self.data("locks", "show", one)["state"] == "expired")
        self.configure(task_timeout_ms=60_000)
        self.begin(one, "B")
        lost = self.reeve("task", "heartbeat", one, "--runner", "A", code=6).stderr
        self.assertEqual(
            lost, f'reeve: the lock of task "Task 1" is lost: runner B has it; see `reeve locks show {one}`\n'
        )
        self.assertEqual(self.error("task", "heartbeat", one, "--runner", "A", code=6)["code"], "LOST")
        self.assertIn("is locked by runner B", self.end(one, "A", code=6).stderr)
        error = self.error(
            "task", "update", one, "--status", "completed", "--runner", "A", "--token", token, code=6
        )
        self.assertEqual((error["code"], error["details"]["lockedBy"]), ("LOST", "B"))
        self.assertEqual(self.data("task", "show", one)["status"], "in_progress")

    def test_zones_and_midnight_change_nothing(self):
        zones = ["Pacific/Apia", "America/New_York", "Asia/Kathmandu", "CET-1CEST,M3.5.0,M10.5.0/3"]
        self.env["TZ"] = zones[0]  # the daemon's
        for zone in zones:
            one = self.add(f"in {zone}")
            before = time.time()
            self.reeve("task", "update", one, "--status", "in_progress", "--runner", "A", env={"TZ": zone})
            after = time.time()
            shown = self.data("locks", "show", one, env={"TZ": zone})["expires_at"]
            self.assertRegex(shown, r"Z$")
            self.assertLessEqual(before + 3600 - 0.02, seconds_of(shown))
            self.assertLessEqual(seconds_of(shown), after + 3600 + 0.02)
            locked = self.reeve(
                "task", "update", one, "--status", "in_progress", "--runner", "B", "--no-wait", code=6, env={"TZ": zone}
            )
            self.assert_near(locked.stderr.rpartition("Lock expires at: ")[2].strip(), shown, 1.01)


class Manual(Board):
    def test_a_runner_of_eight_lines(self):
        with open(os.path.join(ROOT, "docs", "board.md"), encoding="utf-8") as file:
            page = file.read()
        self.assertLess(page.count("\n"), 60, "it fits one page")
        script = re.search(r"^```sh\n(.*?)^```", page, re.DOTALL | re.MULTILINE).group(1)
        self.assertEqual(script.count("\n"), 8)
        folder = os.path.join(self.base, "bin")
        os.mkdir(folder)
        os.symlink(REEVE, os.path.join(folder, "reeve"))
        work = '#!/bin/sh\necho "$REEVE_RUNNER $1" >> done.txt\n! reeve task show "$1" | grep -q "title     bad"\n'
        for name, text in (("runner", script), ("work", work)):
            path = os.path.join(folder, name)
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
            os.chmod(path, os.stat(path).st_mode | stat.S_IXUSR)
        self.env["PATH"] = folder + os.pathsep + self.env["PATH"]
        ids = [self.add(f"good {number}", "--section", f"s{number % 3}") for number in range(6)]
        bad = self.add("bad one", "--section", "s0")
        runners = []
        for name in ("ana", "bo"):
            process = subprocess.Popen(
                [os.path.join(folder, "runner"), name, "work"],
                cwd=self.work,
                env=self.env,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                start_new_session=True,
            )
            # What sleeps between two heartbeats outlives it for a while.
            self.addCleanup(lambda group=process.pid: os.killpg(group, signal.SIGKILL))
            self.started.append(process)
            runners.append(process)
        self.assertEqual([process.wait(40) for process in runners], [0, 0])
        with open(os.path.join(self.work, "done.txt"), encoding="utf-8") as file:
            done = [line.split()[1] for line in file]
        self.assertEqual(sorted(done), sorted([*ids, bad]), "each once")
        self.assertEqual(self.out("task", "list", "--status", "failed", "-q"), bad)
        self.assertEqual(len(self.out("task", "list", "--status", "completed", "-q").split()), 6)


if __name__ == "__main__":
    unittest.main()
