"""history.db: whole and exact after any crash, open to anybody who reads, made anew from the journal."""

import csv
import datetime
import io
import json
import os
import random
import signal
import sqlite3
import subprocess
import threading
import time
import unittest

from daemon_client import Client
from reeve_testing import REEVE, Home

EVENTS = "SELECT seq, idx, at, project, kind, subject, data FROM events ORDER BY seq, idx"
TABLES = (
    "pipelines",
    "phases",
    "queue_items",
    "item_attempts",
    "lock_holds",
    "lock_waits",
    "sections",
    "tasks",
    "task_locks",
    "section_locks",
    "task_locks_history",
    "section_locks_history",
    "decisions",
)


FORGOTTEN = """
    [command.go]
    args = "<code>"
    run  = { pipeline = "go" }
    [pipeline.go]
    inputs  = ["code"]
    on_fail = "fail"
    [[pipeline.go.phase]]
    name = "do"
    run  = "exit {code}"

    [lock.line]
    [pipeline.idle]
    [[pipeline.idle.phase]]
    name = "never"
    lock = "line"
    run  = "true"
"""


def seconds_of(moment):
    return datetime.datetime.fromisoformat(moment.replace("Z", "+00:00")).timestamp()


class HistoryHome(Home):
    def setUp(self):
        super().setUp()
        self.file = os.path.join(self.home, "history.db")

    def rows(self, sql):
        """As any SQLite tool reads it, while the daemon runs."""
        with sqlite3.connect(f"file:{self.file}?mode=ro", uri=True, timeout=20) as database:
            return database.execute(sql).fetchall()

    def sql(self, query, **options):
        return self.data("sql", query, **options)["rows"]

    def everything(self):
        self.sql("SELECT 1")
        tables = {table: sorted(map(repr, self.rows(f"SELECT * FROM {table}"))) for table in TABLES}
        return self.rows(EVENTS), tables

    def write_runbook(self, text):
        os.makedirs(os.path.join(self.work, ".reeve/runbooks"))
        with open(os.path.join(self.work, ".reeve/runbooks/go.toml"), "w", encoding="utf-8") as file:
            file.write(text)

    def some_work(self):
        self.reeve("lock", "acquire", "deploy", "--holder", "ana")
        self.reeve("lock", "release", "deploy", "--holder", "ana")
        self.reeve("sem", "create", "gpu", "--capacity", "4")
        self.reeve("sem", "acquire", "gpu", "-w", "3", "--holder", "bo")
        self.item = self.data("queue", "push", "mail", '{"to":"x"}')["ids"][0]
        taken = self.data("queue", "take", "mail", "--holder", "w1")["items"][0]
        claim = str(taken["claim"])
        self.reeve("queue", "fail", "mail", self.item, "--claim", claim, "--error", "no route",
                   "--retry-after", "0s")
        taken = self.data("queue", "take", "mail", "--holder", "w2", "--wait", "10s")["items"][0]
        self.reeve("queue", "complete", "mail", self.item, "--claim", str(taken["claim"]))
        self.reeve("emit", "ci:green", "branch=main, \"quoted\"")


class Asked(HistoryHome):
    def test_it_knows_what_was_done_a_moment_ago(self):
        self.some_work()
        self.assertEqual(
            self.sql("SELECT name, holder, how FROM lock_holds WHERE kind = 'lock'"),
            [{"name": "deploy", "holder": "ana", "how": "released"}],
        )
        self.assertEqual(
            self.sql("SELECT attempt, holder, outcome, error FROM item_attempts ORDER BY claim"),
            [
                {"attempt": 1, "holder": "w1", "outcome": "failed", "error": "no route"},
                {"attempt": 2, "holder": "w2", "outcome": "completed", "error": None},
            ],
        )
        self.assertEqual(
            self.sql("SELECT weight, released_at FROM lock_holds WHERE kind = 'semaphore'"),
            [{"weight": 3, "released_at": None}],
        )

    def test_it_only_reads(self):
        self.reeve("lock", "acquire", "main", "--holder", "a")
        before = self.sql("SELECT count(*) AS n FROM events")
        for query in (
            "DELETE FROM events",
            "INSERT INTO meta VALUES ('a', 1)",
            "UPDATE events SET kind = 'x'",
            "DROP TABLE events",
            "CREATE TABLE mine (a)",
            f"ATTACH '{self.base}/other.db' AS other",
            "PRAGMA journal_mode = DELETE",
            "PRAGMA user_version = 7",
            "VACUUM",
            f"VACUUM INTO '{self.base}/copy.db'",
            "BEGIN",
            "SELECT 1; DELETE FROM events",
            "WITH x AS (SELECT 1) DELETE FROM events",
            "SELECT load_extension('x')",
        ):
            message = self.err("sql", query, code=2)
            self.assertIn("history can only be read", message, query)
        self.assertEqual(os.listdir(self.base).count("other.db"), 0)
        self.assertEqual(self.sql("SELECT count(*) AS n FROM events"), before)
        self.assertIn("no such table: planets", self.err("sql", "SELECT * FROM planets", code=2))
        self.assertEqual(self.error("sql", "SELEC 1", code=2)["code"], "USAGE")

    def test_tables_csv_and_bare_values(self):
        self.some_work()
        query = "SELECT kind, data FROM events WHERE kind = 'ci:green'"
        table = self.out("sql", query).split("\n")
        self.assertEqual(table[0].split(), ["kind", "data"])
        self.assertTrue(table[1].startswith("ci:green"))
        told = list(csv.reader(io.StringIO(self.out("sql", "--csv", query))))
        self.assertEqual(told[0], ["kind", "data"])
        self.assertEqual(json.loads(told[1][1]), {"branch": 'main, "quoted"'})
        self.assertEqual(self.out("-q", "sql", "SELECT 1, NULL, 'x'"), "1\t\tx")
        self.assertEqual(self.sql("SELECT 1 AS a, 2 AS a, 3 AS a"), [{"a": 1, "a:1": 2, "a:2": 3}])
        self.assertEqual(self.sql("SELECT 1.5 AS a, x'00ff' AS b, NULL AS c"),
                         [{"a": 1.5, "b": "00ff", "c": None}])
        self.assertEqual(self.out("sql", "-", text="SELECT 41 + 1 AS n").split(), ["n", "42"])
        schema = {table["name"] for table in self.data("sql", "--schema")["tables"]}
        self.assertTrue(set(TABLES) < schema, schema)

    def test_anybody_may_read_while_the_daemon_writes(self):
        self.some_work()
        self.assertEqual(self.sql("SELECT count(*) AS n FROM gaps"), [{"n": 0}])
        self.assertEqual(self.rows("SELECT holder FROM lock_holds WHERE kind = 'lock'"), [("ana",)])
        self.assertEqual(os.stat(self.file).st_mode & 0o777, 0o600)
        self.assertEqual(self.rows("PRAGMA integrity_check"), [("ok",)])

    def test_a_question_can_be_interrupted(self):
        self.reeve("lock", "acquire", "main", "--holder", "a")
        endless = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT max(x) FROM n"
        asking = self.start("sql", endless)

        # Before that it is ended as any program is.
        def hears_signals():
            with open(f"/proc/{asking.pid}/status", encoding="utf-8") as file:
                masks = [line.split()[1] for line in file if line.startswith(("SigBlk", "SigCgt"))]
            return any(int(mask, 16) & 1 << (signal.SIGINT - 1) for mask in masks)

        self.until(hears_signals)
        deadline = time.monotonic() + 20
        while asking.poll() is None and time.monotonic() < deadline:
            time.sleep(0.1)
            asking.send_signal(signal.SIGINT)
        self.assertEqual(asking.returncode, 130)

    def test_the_story_of_one_thing(self):
        self.some_work()
        names = [event["name"] for event in self.data("history", self.item)["events"]]
        self.assertEqual(names, ["queue:push", "queue:take", "queue:fail", "queue:take", "queue:complete"])
        names = [event["name"] for event in self.data("history", "deploy")["events"]]
        self.assertEqual(names, ["lock:acquired", "lock:released"])
        self.assertIn("no route", self.out("history", self.item[:9]))
        self.assertIn("ci:green", self.out("history"))
        self.assertIn("knows nothing of", self.err("history", "never-was", code=3))

    def update(self, task, status, runner, *words, **options):
        return self.reeve("task", "update", task, "--status", status, "--runner", runner, *words, **options)

    def test_the_story_of_a_runner_is_what_was_announced_of_it(self):
        one = self.out("task", "add", "Fix bug", "--section", "backend", "-q")
        two = self.out("task", "add", "Paint", "-q")
        # Somebody of the same name in another project is somebody else.
        other = os.path.join(self.base, "other")
        os.makedirs(os.path.join(other, ".reeve"))
        self.reeve("task", "add", "Elsewhere", cwd=other)
        self.update("Elsewhere", "in_progress", "ana", cwd=other)
        self.update(one, "in_progress", "ana")
        waiting = self.start("task", "update", one, "--status", "in_progress", "--runner", "bo")
        self.until(lambda: self.data("task", "show", one)["waiting"] == 1, "it does not wait")
        self.reeve("runner", "heartbeat", "ana")
        self.reeve("task", "note", two, "blue?", "--runner", "ana")
        self.update(one, "completed", "ana")
        waiting.communicate(timeout=30)
        self.assertEqual(waiting.returncode, 6)
        self.update(two, "in_progress", "ana")
        self.reeve("locks", "release", two, "--force")
        self.update(two, "in_progress", "bo")
        self.update(two, "pending", "bo")

        def announced(who):
            lines = self.out("--json", "events", "--since", "1h", "--match", "board:**").split("\n")
            return [event for event in map(json.loads, lines)
                    if who in [event["data"].get(key) for key in ("runner", "from", "by")]]

        def without_ends(events):
            # Of a moment to come it is told how far away it is, which may differ by a millisecond.
            for event in events:
                event["data"].pop("expires_at", None)
            return events

        for who in ("ana", "bo"):
            self.assertEqual(without_ends(self.data("history", who)["events"]), without_ends(announced(who)))
        of_bo = [(event["name"], event["subject"]) for event in self.data("history", "bo")["events"]]
        self.assertEqual(of_bo, [("board:waiting", "bo"), ("board:stopped_waiting", "bo"),
                                 ("board:started", two), ("board:released", two)])
        of_ana = [event["name"] for event in self.data("history", "ana")["events"]]
        for name in ("section_locked", "started", "extended", "section_extended", "noted", "finished", "forced"):
            self.assertIn("board:" + name, of_ana)
        text = self.out("history", "ana")
        self.assertRegex(text, rf'board:started +{one} +"Fix bug" token=')
        self.assertNotIn("Elsewhere", text)
        # That another has done it is no failure of who waited for it.
        self.assertEqual([it["cause"] for it in self.data("stats")["failures"]], ["forced"])
        # And that of a section has who waited for it.
        of_section = [event["name"] for event in self.data("history", "backend")["events"]]
        self.assertIn("board:waiting", of_section)
        self.assertIn("board:stopped_waiting", of_section)

    def test_the_story_of_a_lock_has_who_waited_for_it(self):
        self.reeve("lock", "acquire", "deploy", "--holder", "ana")
        waiting = self.start("lock", "acquire", "deploy", "--holder", "bo", "--wait")
        self.until(lambda: self.waiting_for("deploy") == 1)
        self.reeve("lock", "acquire", "deploy", "--holder", "eve", "--wait", "1ms", code=6)
        self.reeve("lock", "release", "deploy", "--holder", "ana")
        waiting.communicate(timeout=30)
        events = self.data("history", "deploy")["events"]
        self.assertEqual(
            [(event["name"], event["data"]["holder"]) for event in events],
            [("lock:acquired", "ana"), ("wait:began", "bo"), ("wait:began", "eve"), ("wait:ended", "eve"),
             ("lock:released", "ana"), ("lock:acquired", "bo")],
        )
        self.assertEqual([event["seq"] > 0 for event in events], [True] * 6)

    def test_the_story_of_a_task_by_its_title(self):
        first = self.out("task", "add", "Fix bug", "-q")
        self.update("Fix bug", "in_progress", "ana")
        self.update("Fix bug", "completed", "ana")
        story = self.data("history", "Fix bug")
        self.assertEqual((story["kind"], story["id"]), ("task", first))
        self.assertEqual([event["name"] for event in story["events"]],
                         ["board:added", "board:started", "board:finished"])
        self.assertEqual(self.err("history", "Fix bug"), "")
        # Another of that title: the newest is told, and that there are more.
        second = self.out("task", "add", "Fix bug", "-q")
        self.assertEqual(self.data("history", "Fix bug")["id"], second)
        self.assertIn(f"2 tasks are called so; this is {second}, the newest", self.err("history", "Fix bug"))
        self.assertIn(first, self.err("history", "Fix bug"))
        # The title of another project's task is not known here; a name counts more than a title.
        other = os.path.join(self.base, "other")
        os.makedirs(os.path.join(other, ".reeve"))
        self.reeve("history", "Fix bug", cwd=other, code=3)
        third = self.out("task", "add", "ana", "-q")
        self.assertEqual(self.data("history", "ana")["kind"], "name")
        self.assertIn(f"a task is called so, too: `reeve history {third}`", self.err("history", "ana"))

    def test_of_an_open_task_whose_events_were_forgotten_is_told_what_is_left(self):
        self.env["REEVE_HISTORY_EVENTS"] = "100"
        task = self.out("task", "add", "Fix bug", "--section", "backend", "-q")
        self.reeve("queue", "push", "q", "-", "--lines", text="x\n" * 900)
        self.sql("SELECT 1")
        self.until(lambda: self.rows(f"SELECT count(*) FROM events WHERE subject = '{task}'")[0][0] == 0)
        told = self.reeve("history", "Fix bug")
        for part in (task, "Fix bug", "backend", "pending"):
            self.assertIn(part, told.stdout)
        self.assertIn("its events are no longer kept", told.stderr)
        data = self.data("history", task)
        self.assertEqual((data["kind"], data["id"], data["events"]), ("task", task, []))
        self.assertEqual((data["left"]["title"], data["left"]["status"]), ("Fix bug", "pending"))
        self.reeve("history", "nothing", code=3)

    def test_waits_for_any_task_are_waits_for_the_next_one(self):
        self.reeve("task", "add", "Fix bug", "--section", "backend")
        self.reeve("task", "update", "Fix bug", "--status", "in_progress", "--runner", "ana")
        self.reeve("task", "next", "--start", "--wait", "50ms", "--runner", "bo")
        waits = self.data("stats")["longest_waits"]
        self.assertEqual([(it["kind"], it["name"], it["who"]) for it in waits], [("task", "(next)", "bo")])
        self.assertEqual(self.sql("SELECT kind, name FROM lock_waits"), [{"kind": "task", "name": "(next)"}])

    def test_the_story_of_nothing_is_misuse(self):
        for word in ("", " ", "//"):
            self.assertEqual(self.error("history", word, code=2)["code"], "USAGE")

    def test_stats(self):
        self.some_work()
        stats = self.data("stats", "--since", "1h")
        mail = next(queue for queue in stats["queues"] if queue["name"] == "mail")
        self.assertEqual((mail["pushed"], mail["completed"], mail["failed"]), (1, 1, 1))
        self.assertEqual(mail["wait"]["count"], 1)
        self.assertIn({"count": 1, "what": "queue mail", "cause": "no route"}, stats["failures"])
        deploy = next(lock for lock in stats["locks"] if lock["name"] == "deploy")
        self.assertEqual(deploy["hold"]["count"], 1)
        self.reeve("task", "add", "Fix bug", "--section", "backend")
        for status in ("in_progress", "failed"):
            self.reeve("task", "update", "Fix bug", "--status", status, "--runner", "ana")
        stats = self.data("stats", "--since", "1h")
        held = {(lock["kind"], lock["name"]): lock["hold"]["count"] for lock in stats["locks"]}
        self.assertEqual((held["task", "(all)"], held["section", "backend"]), (1, 1))
        self.assertIn({"count": 1, "what": "task Fix bug", "cause": "failed"}, stats["failures"])
        for title, status in (("Paint", "completed"), ("Sweep", "completed"), ("Dig", "skipped"), ("Ask", "review")):
            self.reeve("task", "add", title)
            self.reeve("task", "update", title, "--status", "in_progress", "--runner", "ana")
            self.reeve("task", "update", title, "--status", status, "--runner", "ana")
        self.reeve("task", "add", "Open")
        board = {line["status"]: line for line in self.data("stats", "--since", "30m")["board"]}
        self.assertEqual({status: line["tasks"] for status, line in board.items()},
                         {"completed": 2, "failed": 1, "review": 1, "skipped": 1})
        self.assertEqual((board["completed"]["per_hour"], board["completed"]["per_day"]), (4, 96))
        self.assertEqual(board["completed"]["time"]["count"], 2)
        lines = [line.split() for line in self.out("stats", "--since", "30m").split("\n")]
        self.assertIn(["STATUS", "TASKS", "AN", "HOUR", "A", "DAY", "TIME", "P50", "P99"], lines)
        self.assertIn(["completed", "2", "4.00", "96.0"], [line[:4] for line in lines])
        plot = os.path.join(self.base, "plot.svg")
        text = self.out("stats", "--plot", plot)
        self.assertIn("failures by cause", text)
        self.assertLessEqual(max(len(line) for line in text.split("\n")), 100)
        with open(plot, encoding="utf-8") as file:
            picture = file.read()
        self.assertTrue(picture.startswith("<svg") and "no route" in picture)
        for words in ("Tasks of the board finished, an hour", "completed", "review", "failed", "skipped"):
            self.assertIn(words, picture)
        import xml.dom.minidom

        xml.dom.minidom.parseString(picture)

    def test_what_left_the_state_is_found(self):
        self.reeve("queue", "create", "mail")
        self.some_work()
        self.reeve("queue", "purge", "mail", "--state", "completed", "--yes")
        shown = self.data("show", self.item)
        self.assertEqual((shown["kind"], shown["from"]), ("item", "history"))
        self.assertEqual(self.data("why", self.item)["waiting_on"], [])
        self.assertEqual(self.error("show", "item-zzzzzz", code=3)["code"], "NOT_FOUND")

    def test_a_run_that_was_forgotten_is_as_it_ended(self):
        self.write_runbook(FORGOTTEN)
        good = self.data("run", "go", "0", "--wait")["id"]
        bad = self.data("run", "go", "1")["pipeline"]
        self.reeve("wait", bad, code=1)
        item = self.data("queue", "push", "mail", "1")["ids"][0]
        self.reeve("lock", "acquire", "line", "--holder", "ana")
        client = Client(os.path.join(self.home, "reeve.sock"))
        self.addCleanup(client.close)
        client.get("session.hello", project=os.path.basename(self.work))

        def each(method, every):
            for params in every:
                client.send(method, **params)
            return [client.read()["result"] for _ in every]

        # A thousand that have ended are kept.
        runs = [run["pipeline"] for run in each("pipeline.start", [{"name": "idle"}] * 1001)]
        each("pipeline.cancel", [{"id": id} for id in runs[1:]])
        self.until(lambda: client.ask("pipeline.show", id=bad).get("error"), "it is kept")

        self.assertEqual(self.out("wait", good), f"{good} go done")
        self.assertRegex(self.out("wait", bad[:11], code=1), f"^{bad} go failed in do: ")
        self.reeve("wait", bad, "--for", "done")
        error = self.error("wait", good, bad, code=1)
        self.assertEqual(error["code"], "FAILED")
        self.assertEqual([run["id"] for run in error["details"]["pipelines"]], [good, bad])
        # Beside one that goes on.
        self.reeve("wait", "--any", good, runs[0])
        self.assertIn(runs[0], self.err("wait", good, runs[0], "--timeout", "10ms", code=124))
        self.reeve("cancel", runs[0])
        self.reeve("wait", good, runs[0], code=4)
        self.assertEqual(self.out("-q", "wait", "--for", "done", runs[0], good).split(), [runs[0], good])
        # What is no run cannot be waited for.
        self.assertEqual(self.error("wait", item, code=3)["code"], "NOT_FOUND")
        self.assertEqual(self.error("wait", "pipe-zzzzzz", code=3)["code"], "NOT_FOUND")

    def test_events_beyond_memory_come_from_history(self):
        self.reeve("emit", "ci:first")
        items = "x\n" * 1000
        for _ in range(11):
            self.reeve("queue", "push", "q", "-", "--lines", text=items)
        first = self.out("--json", "events", "--since", "1h", "--match", "ci:*").split("\n")
        self.assertEqual([json.loads(line)["name"] for line in first], ["ci:first"])
        self.assertEqual(len(self.out("--json", "events", "--since", "1h").split("\n")) > 11000, True)
        following = self.start("--json", "events", "-f", "--since", "1h", "--match", "ci:*")
        self.assertEqual(json.loads(following.stdout.readline())["name"], "ci:first")
        self.reeve("emit", "ci:second")
        self.assertEqual(json.loads(following.stdout.readline())["name"], "ci:second")


class OffHand(HistoryHome):
    """A file that is not ours to write."""

    def test_the_daemon_serves_without_and_says_so(self):
        self.reeve("queue", "push", "q", "1")
        self.reeve("daemon", "stop")
        with open(self.file, "wb") as file:
            file.write(b"x" * 10000)
        self.reeve("queue", "push", "q", "2")
        self.assertEqual(self.data("daemon", "status")["history"]["state"], "off")
        attention = self.data("status")["attention"]
        self.assertEqual([it["kind"] for it in attention], ["history"])
        self.assertIn("reeve history rebuild", attention[0]["detail"])
        self.assertIn("history", self.reeve("doctor", code=1).stdout)
        failure = self.error("sql", "SELECT 1", code=1)
        self.assertEqual(failure["code"], "HISTORY_OFF")
        self.assertIn("reeve history rebuild", failure["message"])
        with open(self.file, "rb") as file:
            self.assertEqual(file.read(), b"x" * 10000)

        rebuilt = self.data("history", "rebuild")
        self.assertGreaterEqual(rebuilt["events"], 2)
        pushed = "SELECT count(*) AS n FROM events WHERE kind = 'queue:push'"
        self.assertEqual(self.sql(pushed), [{"n": 2 if rebuilt["from_seq"] == 1 else 1}])
        self.reeve("queue", "push", "q", "3")
        self.assertEqual(self.sql("SELECT max(first_seq) > 0 AS n FROM queue_items"), [{"n": 1}])
        self.assertEqual(self.data("status")["attention"], [])

    def test_it_can_be_turned_off(self):
        self.env["REEVE_HISTORY"] = "off"
        self.reeve("queue", "push", "q", "1")
        self.assertFalse(os.path.exists(self.file))
        self.assertEqual(self.error("sql", "SELECT 1", code=1)["code"], "HISTORY_OFF")
        self.assertEqual(self.data("status")["attention"], [])

    def test_it_is_bounded(self):
        self.env["REEVE_HISTORY_EVENTS"] = "500"
        self.reeve("queue", "push", "q", "-", "--lines", text="x\n" * 900)
        self.sql("SELECT 1")
        self.until(lambda: self.rows("SELECT count(*) FROM events")[0][0] <= 500, "it stays as it is")


class MadeAnew(HistoryHome):
    def test_a_rebuild_has_what_was_there_before(self):
        self.env["REEVE_JOURNAL_KEEP"] = "7d"
        self.some_work()
        self.reeve("daemon", "restart")
        self.some_work()
        self.reeve("daemon", "restart")
        events, tables = self.everything()
        rebuilt = self.data("history", "rebuild")
        self.assertEqual(rebuilt["from_seq"], 1)
        self.assertEqual(rebuilt["events"], len(events))
        events_again, tables_again = self.everything()
        self.assertEqual(events_again, events)
        self.assertEqual(tables_again, tables)
        self.assertEqual(self.rows("SELECT * FROM gaps"), [])

    def test_locks_of_the_board_end_as_they_do_after_a_restart(self):
        self.env["REEVE_JOURNAL_KEEP"] = "7d"
        self.reeve("task", "add", "Fix bug", "--section", "backend")
        self.reeve("task", "update", "Fix bug", "--status", "in_progress", "--runner", "ana")
        for _ in range(2):
            time.sleep(1.1)
            self.reeve("daemon", "restart")
            ends = {lock["type"]: lock["expires_at"] for lock in self.data("locks", "list")["locks"]}
            for kind in ("task", "section"):
                kept = self.sql(f"SELECT expires_at FROM {kind}_locks")[0]["expires_at"]
                self.assertAlmostEqual(seconds_of(kept), seconds_of(ends[kind]), delta=0.2)
                self.assertEqual(self.sql(f"SELECT expires_at FROM {kind}_locks_history")[0]["expires_at"], kept)
        before = self.everything()
        self.reeve("history", "rebuild")
        self.assertEqual(self.everything(), before)

    def test_without_keep_it_reaches_as_far_as_the_journal_and_says_so(self):
        self.some_work()
        for _ in range(4):
            self.reeve("emit", "ci:before")
            self.reeve("daemon", "restart")
        self.reeve("emit", "ci:after")
        before = self.everything()
        refused = self.error("history", "rebuild", code=5)
        self.assertEqual(refused["code"], "NOT_ALLOWED")
        least = refused["details"]["to_seq"]
        lost = [row for row in before[0] if row[0] <= least]
        self.assertEqual(refused["details"]["events"], len(lost))
        self.assertIn(f"{len(lost)} events since ", refused["message"])
        self.assertIn("--force", refused["message"])
        self.assertEqual(self.everything(), before, "nothing was done")
        self.reeve("history", "--force", code=2)
        done = self.reeve("history", "rebuild", "--force")
        self.assertIn("no longer in the journal", done.stderr)
        data = self.data("history", "rebuild", "--force")
        self.assertGreater(data["from_seq"], least, "the journal may have been tidied up meanwhile")
        self.assertGreater(data["from_seq"], 1)
        gap = {"from_seq": 1, "to_seq": data["from_seq"] - 1}
        self.assertEqual(self.sql("SELECT from_seq, to_seq FROM gaps"), [gap])
        self.assertEqual(self.sql("SELECT count(*) AS n FROM events WHERE kind = 'ci:after'"), [{"n": 1}])
        self.assert_told(gap)

    def assert_told(self, gap):
        sentence = "history does not have the sequences {from_seq} to {to_seq}".format(**gap)
        for command in ("history", "stats"):
            self.assertIn(sentence, self.err(command))
            told = [{key: it[key] for key in gap} for it in self.data(command)["gaps"]]
            self.assertEqual(told, [gap])
            self.assertNotIn("does not have", self.err("-q", command))
        # Not of a time that lies behind it.
        time.sleep(0.05)
        for command in ("history", "stats"):
            self.assertNotIn("does not have", self.err(command, "--since", "20ms"))

    def test_what_did_not_fit_into_memory_is_a_gap_and_is_told(self):
        self.env["REEVE_HISTORY_BUFFER"] = "20000"
        self.reeve("emit", "ci:before")
        self.sql("SELECT 1")
        # Somebody writes there, against the rule, and history cannot.
        other = sqlite3.connect(self.file, isolation_level=None, timeout=20)
        self.addCleanup(other.close)
        other.execute("BEGIN IMMEDIATE")
        for _ in range(3):
            self.reeve("queue", "push", "q", "-", "--lines", text="x\n" * 900)
        other.execute("ROLLBACK")
        gap = self.until(lambda: self.rows("SELECT from_seq, to_seq FROM gaps"), "there is no gap", 60)[0]
        self.assertLessEqual(gap[0], gap[1])
        self.reeve("emit", "ci:after")
        kept = self.sql("SELECT kind, subject FROM events WHERE kind LIKE 'ci:%' OR kind = 'history:gap' ORDER BY seq, idx")
        self.assertEqual([row["kind"] for row in kept], ["ci:before", "history:gap", "ci:after"])
        # Of the first there may be a part: as much as fitted.
        missing = f"SELECT count(*) AS n FROM events WHERE seq > {gap[0]} AND seq <= {gap[1]}"
        self.assertEqual(self.sql(missing), [{"n": 0}])
        self.assertLess(self.sql("SELECT count(*) AS n FROM queue_items")[0]["n"], 2700)
        self.assertEqual(self.data("queue", "stats", "q")["queues"][0]["pending"], 2700)
        self.assert_told({"from_seq": gap[0], "to_seq": gap[1]})


RUNBOOK = """
    [command.go]
    args = "<how>"
    run  = { pipeline = "go" }

    [lock.line]
    [pipeline.go]
    inputs = ["how"]

    [[pipeline.go.phase]]
    name = "wait"
    lock = "line"
    run  = "sleep 0.0{how}"

    [[pipeline.go.phase]]
    name  = "try"
    run   = "test {how} != 3"
    retry = { max = 1, delay = "10ms" }
"""


class Crashed(HistoryHome):
    """kill -9 at random moments under load: history is the stream of events, once each."""

    def follow(self, told, stop):
        """All events of all projects, as somebody hears them who comes back after every crash."""
        last = (0, -1)
        while not stop.is_set():
            client = None
            try:
                client = Client(os.path.join(self.home, "reeve.sock"), timeout=0.5)
                client.send("events.follow", all_projects=True, since_seq=max(0, last[0] - 1))
                while True:
                    message = client.read()
                    if "error" in message:
                        raise EOFError(message)
                    if message.get("method") == "event":
                        event = message["params"]
                        place = (event["seq"], event["index"])
                        if place > last:
                            last = place
                            told[place] = event
            except (OSError, EOFError, TimeoutError):
                time.sleep(0.01)
            finally:
                if client:
                    client.socket.close()

    def at_work(self, stop, turn):
        """Until the end, also of the daemon: who loses it comes back."""
        while not stop.is_set():
            client = None
            try:
                client = Client(os.path.join(self.home, "reeve.sock"), timeout=5)
                while not stop.is_set():
                    turn(client)
            except (OSError, EOFError, AssertionError, TimeoutError):
                time.sleep(0.01)
            finally:
                if client:
                    client.close()

    @staticmethod
    def pushing(number):
        count = iter(range(10**9))

        def turn(client):
            i = next(count)
            client.get("queue.push", queue=f"q{number}", items=[{"data": i}] * 5)
            taken = client.get("queue.take", queues=[f"q{number}"], holder="h", max=3)
            client.get("queue.complete", queue=f"q{number}",
                       items=[{"id": it["id"], "claim": it["claim"]} for it in taken["items"]])
            client.get("lock.acquire", names=["main"], holder=f"h{number}", wait_ms=0) \
                if i % 3 == 0 else client.ask("lock.release", name="main", holder=f"h{number}")

        return turn

    @staticmethod
    def on_board(number, dice):
        """A runner: adds, starts, waits, forgets what it has, and takes away what others have."""
        def turn(client):
            runner = f"runner {number}"
            place = {"section": f"s{dice.randrange(3)}"} if dice.random() < 0.7 else {}
            one = client.get("task.add", title=f"t{dice.randrange(20)}", **place)["id"]
            client.ask("task.next", runner=runner, start=True, wait_ms=dice.choice((0, 30)))
            busy = client.get("task.list", status="in_progress")["tasks"]
            if busy:
                task = dice.choice(busy)
                client.ask("task.update", id=task["id"], status="in_progress", runner=runner,
                           wait_ms=dice.choice((1, 100)))
                client.ask("task.note", id=task["id"], text="again", by=runner)
            if dice.random() < 0.3:
                client.ask("runner.heartbeat", name=runner)
            for task in client.get("task.list", status="in_progress")["tasks"]:
                if task.get("runner") == runner and dice.random() < 0.7:
                    status = dice.choice(("completed", "completed", "failed", "review", "skipped", "pending"))
                    client.ask("task.update", id=task["id"], status=status, runner=runner)
                elif dice.random() < 0.05:
                    client.ask("locks.release", id=task["id"], force=True, by=runner, reason="why not")
            if dice.random() < 0.2:
                client.ask("task.remove", id=one)
            if dice.random() < 0.2:
                client.ask("section.release", name=f"s{dice.randrange(3)}", runner=runner)
            if dice.random() < 0.1:
                client.ask("section.remove", name=f"s{dice.randrange(3)}")

        return turn

    def running(self, dice):
        """Runs that wait for each other, fail, are asked about, answered and cancelled."""
        def turn(client):
            project = os.path.basename(self.work)
            if len(client.get("pipeline.list", project=project, states=["active"])["pipelines"]) < 4:
                client.get("pipeline.start", project=project, name="go", inputs={"how": str(dice.randrange(5))})
            for ask in client.get("decision.list", project=project)["decisions"]:
                client.ask("decision.resolve", project=project, id=ask["id"], number=dice.randrange(3))
            for run in client.get("pipeline.list", project=project, states=["active"])["pipelines"]:
                if dice.random() < 0.02:
                    client.ask("pipeline.cancel", project=project, id=run["id"])
            time.sleep(0.02)

        return turn

    def has_settled(self):
        """Nothing goes on any more, and nothing is due soon."""
        time.sleep(0.1)
        client = Client(os.path.join(self.home, "reeve.sock"), timeout=5)
        try:
            project = os.path.basename(self.work)
            for ask in client.get("decision.list", project=project)["decisions"]:
                client.ask("decision.resolve", project=project, id=ask["id"], choice="abort")
            runs = client.get("pipeline.list", project=project, states=["active"])["pipelines"]
            for run in runs:
                client.ask("pipeline.cancel", project=project, id=run["id"])
            if runs:
                return False
        finally:
            client.close()
        last = "SELECT max(seq) AS n FROM events"
        before = self.sql(last)
        time.sleep(1)
        return self.sql(last) == before

    def serve(self):
        process = self.start("daemon", "run", "--home", self.home, stdout=subprocess.DEVNULL,
                             stderr=subprocess.DEVNULL)
        self.until(lambda: self.is_up(), "it does not start", 60)
        return process

    def is_up(self):
        try:
            Client(os.path.join(self.home, "reeve.sock")).socket.close()
            return True
        except OSError:
            return False

    def test_history_is_the_stream_of_events(self):
        self.env["REEVE_JOURNAL_KEEP"] = "7d"
        seed = int(os.environ.get("REEVE_SEED", random.randrange(10**6)))
        dice = random.Random(seed)
        told, stop = {}, threading.Event()
        self.write_runbook(RUNBOOK)
        daemon = self.serve()
        self.reeve("run", "go", "1")
        client = Client(os.path.join(self.home, "reeve.sock"))
        client.get("board.configure", task_timeout_ms=30, section_timeout_ms=40)
        client.close()
        turns = [self.pushing(0), self.pushing(1), self.running(random.Random(seed))]
        turns += [self.on_board(i, random.Random(seed + i)) for i in range(3)]
        threads = [threading.Thread(target=self.follow, args=(told, stop))]
        threads += [threading.Thread(target=self.at_work, args=(stop, turn)) for turn in turns]
        for thread in threads:
            thread.start()
        for _ in range(5):
            time.sleep(dice.uniform(0.1, 1.2))
            daemon.send_signal(signal.SIGKILL)
            daemon.wait()
            daemon = self.serve()
        time.sleep(0.5)
        stop.set()
        for thread in threads:
            thread.join(30)
        self.until(self.has_settled, "it does not end", 60)
        events, tables = self.everything()
        there = {(row[0], row[1]): row for row in events}
        gaps = self.rows("SELECT from_seq, to_seq FROM gaps")
        self.assertEqual(gaps, [], f"seed {seed}")
        # What somebody heard is there, word for word.
        self.assertGreater(len(told), 500)
        for place, event in told.items():
            row = there.get(place)
            self.assertIsNotNone(row, f"seed {seed}: {event} is missing")
            kept, heard = json.loads(row[6]), event["data"]
            # Of a moment to come it is told how far away it is, which may differ by a millisecond.
            expires = [data.pop("expires_at") for data in (kept, heard) if "expires_at" in data]
            self.assertLess(abs(seconds_of(expires[0]) - seconds_of(expires[-1])) if expires else 0, 0.01)
            self.assertEqual((row[2], row[4], row[5], kept),
                             (event["at"], event["name"], event.get("subject", ""), heard),
                             f"seed {seed}")
        # There was something of everything.
        for table, rows in tables.items():
            self.assertTrue(rows or table in ("task_locks", "section_locks"), f"seed {seed}: no {table}")
        kinds = {row[4] for row in events}
        for kind in ("started", "claimed", "finished", "released", "expired", "forced", "waiting", "stopped_waiting"):
            self.assertIn("board:" + kind, kinds, f"seed {seed}")
        # And it is what the journal says, no more and no less, when it is decided once more.
        self.assertEqual(self.data("history", "rebuild", timeout=120)["from_seq"], 1)
        events_again, tables_again = self.everything()
        self.assertEqual(len(events_again), len(events), f"seed {seed}")
        self.assertEqual(events_again, events, f"seed {seed}")
        for table in TABLES:
            self.assertEqual(tables_again[table], tables[table], f"seed {seed}: {table}")


if __name__ == "__main__":
    assert os.access(REEVE, os.X_OK), REEVE
    unittest.main()
