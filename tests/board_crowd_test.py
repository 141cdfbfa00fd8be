"""Ten runners work through 1,000 tasks in 20 sections, and are killed -9 at random.

Each runner is a process that speaks the protocol: it asks for the next task, works for a moment, and says
that it is done, under the token it was given. One that was killed is started again, sometimes under its
own name and sometimes as somebody else; what it had is claimed by others when its time is over. Everything
that must be true is then read from the events alone, and once more from history: every task was finished
once, no task and no section had two runners at once, a lock was claimed only when it was over, and many
sections were under way at once.
"""

import os
import random
import subprocess
import sys
import threading
import time
import unittest

from daemon_client import Client
from reeve_testing import Home

TASKS = 1000
SECTIONS = 20
RUNNERS = 10
KILLS = 25
TASK_TIMEOUT = 500
SECTION_TIMEOUT = 700


def work(path, name):
    """One runner, until nothing is open any more."""
    client = Client(path)
    chance = random.Random(f"{name}{os.getpid()}")
    while True:
        answer = client.ask("task.next", runner=name, start=True, wait_ms=10_000)
        if "error" in answer:
            raise AssertionError(answer)
        task = answer["result"]
        if task["id"] is None:
            if not task["open"]:
                return
            continue
        time.sleep(chance.uniform(0.1, 0.3) if chance.random() < 0.06 else chance.uniform(0.0, 0.02))
        done = client.ask("task.update", id=task["id"], status="completed", runner=name, token=task["token"])
        # Who was too slow has lost it, and goes on with another.
        if "error" in done and done["error"]["data"]["code"] not in ("LOST", "TASK_LOCKED", "TASK_FINISHED"):
            raise AssertionError(done)


class Ledger:
    """Who had what, from the events; and what must not be."""

    def __init__(self):
        self.section_of = {}
        self.task_holder = {}  # task: runner
        self.section_holder = {}  # section: runner
        self.over = set()  # what has expired and is nobody else's yet
        self.finished = {}
        self.claimed = 0
        self.most_sections = 0
        self.wrong = []

    def must(self, true, event):
        if not true:
            self.wrong.append(event)

    def heard(self, event):
        data = event["data"]
        verb = event["name"].partition(":")[2]
        task = data.get("task")
        section = data.get("section")
        if verb == "added":
            self.section_of[task] = section
        elif verb == "started":
            self.must(task not in self.task_holder and task not in self.finished, event)
            self.begun(task, data, event)
        elif verb == "claimed":
            self.must(task in self.over and self.task_holder.get(task) == data["from"], event)
            self.claimed += 1
            self.begun(task, data, event)
        elif verb == "finished":
            self.must(data["status"] == "completed" and task not in self.finished, event)
            self.must(self.task_holder.pop(task, None) == data["by"], event)
            self.over.discard(task)
            self.finished[task] = data["by"]
        elif verb == "released":
            self.must(task in self.task_holder, event)
            self.task_holder.pop(task, None)
            self.over.discard(task)
        elif verb == "expired":
            self.must(self.task_holder.get(task) == data["runner"], event)
            self.over.add(task)
        elif verb == "section_locked":
            self.must(section not in self.section_holder or section in self.over, event)
            self.over.discard(section)
            self.section_holder[section] = data["runner"]
            self.most_sections = max(self.most_sections, len(self.section_holder) - len(self.over_sections()))
        elif verb == "section_released":
            self.must(self.section_holder.pop(section, None) == data["runner"], event)
            self.over.discard(section)
        elif verb == "section_expired":
            self.must(self.section_holder.get(section) == data["runner"], event)
            self.over.add(section)

    def begun(self, task, data, event):
        self.over.discard(task)
        self.task_holder[task] = data["runner"]
        section = self.section_of[task]
        self.must(section not in self.over and self.section_holder.get(section) == data["runner"], event)

    def over_sections(self):
        return [thing for thing in self.over if thing in self.section_holder]


# Holds of one thing that began before the one before it had ended.
OVERLAPS = """
SELECT count(*) AS n FROM (
  SELECT acquired_ms, lag(coalesce(released_ms, 1e15)) OVER (PARTITION BY {thing} ORDER BY rowid) AS before
  FROM {table})
WHERE before > acquired_ms"""

MOST_SECTIONS = """
SELECT max(n) AS n FROM (
  SELECT (SELECT count(*) FROM section_locks_history AS other
          WHERE other.acquired_ms <= one.acquired_ms AND coalesce(other.released_ms, 1e15) > one.acquired_ms) AS n
  FROM section_locks_history AS one)"""


class Crowd(Home):
    # In memory where that is possible: synced writes say nothing about who has a task.
    where = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None

    def run_one(self, name):
        process = subprocess.Popen(
            [sys.executable, os.path.abspath(__file__), "--runner", self.path, name],
            stderr=subprocess.PIPE,
            text=True,
        )
        self.started.append(process)
        return process

    def follow(self, ledger):
        client = Client(self.path)
        self.addCleanup(client.close)
        client.get("events.follow", match="board:**", since_seq=0)
        # With the last task the last section is free, in the same step.
        while len(ledger.finished) < TASKS or ledger.section_holder:
            message = client.read()
            if message["method"] == "lagged":
                ledger.wrong.append(message)
                return
            ledger.heard(message["params"])

    def look_at_history(self, ledger):
        def number(query):
            return self.data("sql", query)["rows"][0]["n"]

        self.assertEqual(number("SELECT count(*) AS n FROM gaps"), 0)
        self.assertEqual(number("SELECT count(*) AS n FROM tasks WHERE status = 'completed'"), TASKS)
        for thing, table in (("task_id", "task_locks_history"), ("section_id", "section_locks_history")):
            self.assertGreaterEqual(number(f"SELECT count(*) AS n FROM {table}"), SECTIONS)
            self.assertEqual(number(OVERLAPS.format(thing=thing, table=table)), 0, table)
        ends = "SELECT count(*) AS n FROM events WHERE kind = 'board:finished'"
        self.assertEqual(number(ends), TASKS, "each once")
        claims = "SELECT count(*) AS n FROM task_locks_history WHERE how = 'claimed'"
        self.assertEqual(number(claims), ledger.claimed)
        self.assertGreaterEqual(number(MOST_SECTIONS), 5)
        self.assertEqual(number("SELECT count(*) AS n FROM task_locks"), 0)
        self.assertEqual(number("SELECT count(*) AS n FROM section_locks"), 0)

    def test_every_task_is_done_once(self):
        began = time.monotonic()
        self.reeve("section", "list")
        self.path = os.path.join(self.home, "reeve.sock")
        client = Client(self.path)
        self.addCleanup(client.close)
        client.get("board.configure", task_timeout_ms=TASK_TIMEOUT, section_timeout_ms=SECTION_TIMEOUT)
        for number in range(TASKS):
            client.send("task.add", title=f"task {number}", section=f"section {number % SECTIONS}")
        ids = {client.read()["result"]["id"] for _ in range(TASKS)}
        self.assertEqual(len(ids), TASKS)

        ledger = Ledger()
        follower = threading.Thread(target=self.follow, args=(ledger,), daemon=True)
        follower.start()
        chance = random.Random(20)
        names = [f"runner {number}" for number in range(RUNNERS)]
        runners = {name: self.run_one(name) for name in names}
        kills = 0
        while any(process.poll() is None for process in runners.values()):
            self.assertLess(time.monotonic() - began, 100, "it takes too long")
            time.sleep(chance.uniform(0.05, 0.15))
            alive = [name for name, process in runners.items() if process.poll() is None]
            if kills == KILLS or not alive:
                continue
            # One that has a task, if there is one: most of its life a runner that has just been started has none.
            at_work = set(list(ledger.task_holder.values()))
            victim = chance.choice([name for name in alive if name in at_work] or alive)
            runners.pop(victim).kill()
            kills += 1
            name = victim if chance.random() < 0.5 else f"successor {kills}"
            runners[name] = self.run_one(name)
        for name, process in runners.items():
            self.assertEqual(process.wait(), 0, f"{name}: {process.stderr.read()}")
        follower.join(20)

        self.assertEqual(ledger.wrong, [])
        self.assertEqual(set(ledger.finished), ids, "every task, and each once")
        self.assertEqual(ledger.task_holder, {})
        self.assertEqual(ledger.section_holder, {}, "no open task is left in any of them")
        self.assertGreaterEqual(ledger.most_sections, 5)
        self.assertGreater(kills, 10)
        self.assertGreater(ledger.claimed, 0, "those that were killed had something")
        self.assertEqual(self.out("locks", "list", "-q"), "")
        self.look_at_history(ledger)
        self.assertEqual(len(self.out("task", "list", "--status", "completed", "-q").split()), TASKS)
        print(
            f"{kills} killed, {ledger.claimed} tasks claimed from them, {ledger.most_sections} sections at once, "
            f"{time.monotonic() - began:.1f} s"
        )


if __name__ == "__main__":
    if sys.argv[1:2] == ["--runner"]:
        work(sys.argv[2], sys.argv[3])
    else:
        unittest.main()
