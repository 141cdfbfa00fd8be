"""What people look at: the full screen, the line they wait on, the tables."""

import json
import os
import re
import socket
import time
import unittest

from reeve_testing import Home, Terminal

ESCAPES = re.compile("\x1b\\[[0-9;?]*[A-Za-z]")


def drawn(frame, rows, columns):
    """What a terminal shows that does not wrap, and was full of something else before."""
    cells = [["#"] * columns for _ in range(rows)]
    row = column = 0
    for text, escape in re.findall("([^\x1b]+)|\x1b\\[([0-9;?]*[A-Za-z])", frame):
        for letter in text:
            if letter == "\r":
                column = 0
            elif letter == "\n":
                row = min(row + 1, rows - 1)
            else:
                cells[row][column] = letter
                column = min(column + 1, columns - 1)
        if escape in ("K", "J"):
            cells[row][column:] = " " * (columns - column)
        if escape == "J":
            cells[row + 1 :] = [[" "] * columns for _ in cells[row + 1 :]]
    return ["".join(line).rstrip() for line in cells]


def last_frame(seen, rows, columns):
    """The lines of the newest whole screen of `top`: another one follows it."""
    whole = seen.split("\x1b[H")[1:-1]
    return drawn(whole[-1], rows, columns) if whole else []


class Top(Home):
    def setUp(self):
        super().setUp()
        for n in range(12):
            self.reeve("lock", "acquire", f"aa{n:02}", "--holder", "old", "--timeout", "100ms")
        for n in range(5):
            self.reeve("queue", "push", f"a{n}", "x")
        self.reeve("lock", "acquire", "zz-deploy", "--holder", "ana", "--timeout", "1h")
        self.reeve("lock", "acquire", "zy-held", "--holder", "cleo", "--timeout", "1h")
        self.start("lock", "acquire", "zz-deploy", "--holder", "bo", "--wait")
        self.until(lambda: self.waiting_for("zz-deploy") == 1)
        self.reeve("sem", "create", "s", "--capacity", "2")
        self.reeve("queue", "push", "zmail", "x")
        self.data("queue", "take", "zmail", "--holder", "worker")

    def screen(self, rows, columns, until=lambda lines: True):
        terminal = Terminal(self, "top", rows=rows, columns=columns)
        good = terminal.until(lambda seen: bool(lines := last_frame(seen, rows, columns)) and until(lines))
        lines = last_frame(terminal.read(), rows, columns)
        terminal.type("q")
        self.assertEqual(terminal.end(), 0)
        self.assertTrue(good, lines)
        self.assertNotIn("#", "".join(lines))
        # What is wider yet is cut: wrapping is off while it draws, and on again at the end.
        self.assertIn("\x1b[?7l", terminal.seen)
        self.assertIn("\x1b[?7h", terminal.seen)
        return lines

    def test_what_is_waited_for_is_stale_or_moves_comes_first(self):
        self.until(lambda: self.data("lock", "show", "aa11")["state"] == "stale")
        lines = self.screen(24, 80)
        table = [line.split()[0] for line in lines if line.strip()]
        first_lock = table.index("LOCK") + 1
        self.assertEqual(table[first_lock], "zz-deploy", lines)
        self.assertIn("zy-held", table, lines)
        self.assertTrue(any(name.startswith("aa") for name in table), lines)
        self.assertTrue(any(re.match(r"… and \d+ more", line) for line in lines), lines)
        self.assertEqual(table[table.index("QUEUE") + 1], "zmail", lines)
        self.assertIn("EVENTS", table)

    def test_nothing_is_lost_at_the_right_edge(self):
        for noun, *more in (["sem", "create", "--capacity", "2"], ["queue", "create"]):
            self.reeve(noun, more[0], "long-" * 30, *more[1:])
        lines = self.screen(30, 80)
        titles = [line.split() for line in lines if line.split()[:1] in (["LOCK"], ["SEMAPHORE"], ["QUEUE"])]
        self.assertEqual([words[-1] for words in titles], ["WAITING", "WAITING", "OUT"], lines)
        self.assertEqual(max(map(len, lines)), 80)

    def test_a_small_screen_is_neither_wrapped_nor_scrolled(self):
        for rows, columns in ((12, 60), (10, 40), (6, 30), (3, 20), (1, 10)):
            lines = self.screen(rows, columns)
            self.assertTrue(lines[0].startswith(" reeve"[:columns]), lines)
        lines = self.screen(12, 60)
        self.assertIn("zz-deploy", "\n".join(lines))
        self.assertIn("zmail", "\n".join(lines))


class Waiting(Home):
    def test_a_semaphore_is_waited_for_in_sight_of_who_holds_it(self):
        self.reeve("sem", "create", "builds", "--capacity", "2")
        self.reeve("sem", "acquire", "builds", "--holder", "ana", "--timeout", "1h")
        time.sleep(1.1)
        self.reeve("sem", "acquire", "builds", "--holder", "bo", "--timeout", "1h")
        terminal = Terminal(self, "sem", "acquire", "builds", "--holder", "cleo", "--wait", "3s")
        self.assertTrue(terminal.until(lambda seen: re.search(r"held by ana for \d+s \(\+1\); you are next", seen)), terminal.seen)
        self.assertEqual(terminal.end(), 6)
        # What is said at the end fits the terminal, and breaks between words.
        said = ESCAPES.sub("", terminal.seen.rsplit("\x1b[K", 1)[1])
        for line in said.split("\r\n"):
            self.assertLessEqual(len(line), 80, said)
        self.assertIn("reeve why builds", said.replace("\r\n       ", " "))


    def test_a_long_name_gives_way_to_how_long_and_which_place(self):
        holder = "someone-with-a-rather-long-name-of-forty-letters"
        self.reeve("lock", "acquire", "deploy", "--holder", holder, "--timeout", "1h")
        self.start("lock", "acquire", "deploy", "--holder", "bo", "--wait")
        self.until(lambda: self.waiting_for("deploy") == 1)
        time.sleep(1.1)
        terminal = Terminal(self, "lock", "acquire", "deploy", "--holder", "cleo", "--wait", "5m")
        seen = r"deploy is held by someone-\S*… for \d+s; 1 before you \["
        self.assertTrue(terminal.until(lambda text: re.search(seen, text)), terminal.seen)
        for line in re.split("\r", ESCAPES.sub("", terminal.seen)):
            self.assertLessEqual(len(line), 80)
        terminal.type("\x03")
        terminal.end()


class Fits(Home):
    """What is looked at every day fits the terminal, and breaks between words."""

    def lines(self, *words, columns=80, rows=24):
        terminal = Terminal(self, *words, columns=columns, rows=rows)
        terminal.end()
        return ESCAPES.sub("", terminal.seen).replace("\r", "").rstrip("\n").split("\n")

    def test_every_table_and_sentence_fits(self):
        self.assertLessEqual(max(map(len, self.lines())), 80)
        holder = "a-holder-whose-name-is-rather-long"
        for name in ("deploy", "a-lock-with-a-very-long-name-that-nobody-would-type-twice"):
            self.reeve("lock", "acquire", name, "--holder", holder, "--timeout", "1h")
        self.reeve("sem", "create", "builds", "--capacity", "4")
        self.reeve("sem", "acquire", "builds", "--holder", holder, "--timeout", "1h")
        self.reeve("sem", "acquire", "builds", "--holder", "other-" + holder, "--timeout", "1h")
        self.start("lock", "acquire", "deploy", "--holder", "bo", "--wait")
        self.until(lambda: self.waiting_for("deploy") == 1)
        self.reeve("queue", "push", "mail", "x")
        self.reeve("queue", "push", "mail-of-the-week", "x")
        self.reeve("queue", "pause", "mail-of-the-week", "--for", "1h")
        tables = (["lock", "list"], ["sem", "list"], ["queue", "stats"], ["status"])
        for words in (
            *tables, ["lock", "list", "--time", "iso"], ["lock", "show", "deploy"],
            ["sem", "show", "builds"], ["queue", "stats", "mail"], ["queue", "list", "mail"],
            ["queue", "create", "more"], ["why", "deploy"], ["why", "builds"], ["events"], [],
        ):
            for columns in (80, 40) if words in tables else (80,):
                for line in self.lines(*words, columns=columns):
                    self.assertLessEqual(len(line), columns, (words, line))

    def test_why_of_a_semaphore_has_its_holders_side_by_side(self):
        self.reeve("sem", "create", "builds", "--capacity", "2")
        for holder in ("ana", "bo"):
            self.reeve("sem", "acquire", "builds", "--holder", holder)
        indents = {len(line) - len(line.lstrip()) for line in self.out("why", "builds").split("\n") if "held by" in line}
        self.assertEqual(indents, {2})

    def test_why_of_a_free_lock_tells_for_whom_it_is_kept(self):
        self.reeve("lock", "acquire", "a", "--holder", "x")
        self.start("lock", "acquire", "a", "c", "--holder", "multi", "--wait")
        self.until(lambda: self.waiting_for("c") == 1)
        told = self.out("why", "c")
        self.assertIn("kept for multi", told)
        self.assertIn("lock a held by x", told)
        self.assertNotIn("nothing is in the way", told)

    def test_show_keeps_names_and_values_apart(self):
        self.reeve("queue", "push", "mail", "x")
        self.assertRegex(self.out("show", "mail"), r"oldest_pending_age_ms +\d")

    def test_status_that_is_watched_is_no_higher_than_the_screen(self):
        for n in range(30):
            self.reeve("lock", "acquire", f"l{n}", "--holder", "x", "--timeout", "50ms")
        self.until(lambda: self.data("lock", "show", "l29")["state"] == "stale")
        terminal = Terminal(self, "status", "-w", rows=24, columns=80)
        self.assertTrue(terminal.until(lambda seen: "shows all" in seen), terminal.seen)
        screen = terminal.seen.split("\x1b[2J")[1]
        self.assertLess(screen.split("shows all")[0].count("\n"), 24)
        terminal.type("\x03")
        terminal.end()


class Fitting(Home):
    """More than a screen holds."""

    def setUp(self):
        super().setUp()
        for n in range(30):
            self.reeve("lock", "acquire", f"l{n:02}", "--holder", "x", "--timeout", "1h")
            self.reeve("sem", "create", f"s{n:02}", "--capacity", "1")
            self.reeve("queue", "push", f"q{n:02}", "x")
        self.reeve("queue", "pause", "q25")
        self.reeve("sem", "acquire", "s26", "--holder", "x", "--timeout", "1h")
        self.start("lock", "acquire", "l27", "--holder", "bo", "--wait")
        self.until(lambda: self.waiting_for("l27") == 1)

    def shown(self, *words, rows=24):
        terminal = Terminal(self, *words, rows=rows)
        self.assertEqual(terminal.end(), 0)
        return ESCAPES.sub("", terminal.seen).replace("\r", "").rstrip("\n").split("\n")

    def test_what_matters_is_on_the_screen_and_the_rest_is_counted(self):
        for words in ([], ["status"]):
            lines = self.shown(*words)
            self.assertLess(len(lines), 24, lines)
            text = "\n".join(lines)
            self.assertIn("Needs you\n! queue q25: ", text)
            for row in (r"q25 .*paused", r"s26 .*1 of 1", r"l27 +held .*1: bo"):
                self.assertRegex(text, row)
            hidden = 0
            for command in ("lock list", "sem list", "queue stats"):
                more = re.search(rf"… and (\d+) more; `reeve {command}`", text)
                self.assertTrue(more, text)
                hidden += int(more[1])
            rows = re.findall(r"(?m)^[lsq]\d\d ", text)
            self.assertEqual(len(rows) + hidden, 90, text)
        self.assertIn("Often used", "\n".join(self.shown()))

    def test_on_a_high_screen_with_all_and_in_a_pipe_there_is_everything(self):
        for lines in (self.shown("status", rows=200), self.shown("status", "--all"), self.shown(rows=200),
                      self.out("status").split("\n"), self.out().split("\n")):
            self.assertEqual(len([line for line in lines if re.match(r"[lsq]\d\d ", line)]), 90, lines)
            self.assertNotIn("more;", "\n".join(lines))

    def test_watched_it_shows_some_of_each(self):
        terminal = Terminal(self, "status", "-w")
        self.assertTrue(terminal.until(lambda seen: seen.count("\x1b[2J") > 1))
        screen = ESCAPES.sub("", terminal.seen.split("\x1b[2J")[1])
        terminal.type("\x03")
        terminal.end()
        self.assertLess(screen.count("\n"), 25)
        for name in ("l27 ", "s26 ", "q25 "):
            self.assertIn(name, screen)

    def test_watched_it_counts_also_what_it_did_not_ask_for(self):
        with socket.socket(socket.AF_UNIX) as daemon:
            daemon.connect(os.path.join(self.home, "reeve.sock"))
            answers = daemon.makefile()
            for n in range(1200):
                for method, params in (("sem.create", {"name": f"t{n}", "capacity": 1}),
                                       ("lock.acquire", {"names": [f"m{n}"], "holder": "x", "timeout_ms": 3_600_000})):
                    daemon.sendall((json.dumps({"id": n, "method": method, "params": params}) + "\n").encode())
                for _ in range(2):
                    self.assertIn("result", json.loads(answers.readline()))
        terminal = Terminal(self, "status", "-w")
        self.assertTrue(terminal.until(lambda seen: seen.count("\x1b[2J") > 1))
        screen = ESCAPES.sub("", terminal.seen.split("\x1b[2J")[1])
        terminal.type("\x03")
        terminal.end()
        for name, command in (("[lm]", "lock list"), ("[st]", "sem list")):
            more = int(re.search(rf"… and ([\d,]+) more; `reeve {command}`", screen)[1].replace(",", ""))
            self.assertEqual(len(re.findall(rf"(?m)^{name}\d+ ", screen)) + more, 1230, screen)

    def test_a_very_small_screen_is_no_matter(self):
        for rows in (1, 2, 3, 5, 8, 12):
            for words in ([], ["status"]):
                lines = self.shown(*words, rows=rows)
                if rows > 4 and words:
                    self.assertLess(len(lines), rows, lines)


class Said(Home):
    def test_who_wants_to_run_something_is_told_how(self):
        self.reeve("lock", "acquire", "main", "--holder", "ana")
        self.assertIn("`reeve lock run main --wait -- COMMAND`", self.reeve("lock", "run", "main", "--", "true", code=6).stderr)
        self.reeve("sem", "create", "s", "--capacity", "1")
        self.reeve("sem", "acquire", "s", "--holder", "ana")
        self.assertIn("`reeve sem run s --wait -- COMMAND`", self.reeve("sem", "run", "s", "--", "true", code=6).stderr)

    def test_what_would_be_over_at_once_is_refused(self):
        for words in (
            ["lock", "acquire", "x", "--timeout", "0"], ["lock", "acquire", "x", "--max-hold", "0"],
            ["queue", "create", "q", "--visibility", "0s"], ["queue", "create", "q", "--backoff", "5s..1s"],
        ):
            self.reeve(*words, code=2)

    def test_a_failed_item_is_not_told_as_tried_after_the_time_it_took(self):
        self.reeve("queue", "push", "b", "1")
        told = self.reeve("queue", "work", "b", "--exec", "exit 3", "--once", code=1).stderr
        self.assertRegex(told, r"failed after \S+ \(exit 3\); it is tried again")

    def test_events_are_the_same_whether_remembered_or_new(self):
        self.reeve("emit", "ci:red")
        follower = self.start("events", "-f", "--json", "--match", "ci:*")
        first = json.loads(follower.stdout.readline())
        self.reeve("emit", "ci:green")
        second = json.loads(follower.stdout.readline())
        self.assertEqual((first["name"], second["name"]), ("ci:red", "ci:green"))
        self.assertEqual(set(first), set(second))

    def test_a_queue_tells_its_settings_and_until_when_it_is_paused(self):
        said = self.out("queue", "create", "mail", "--max-attempts", "5", "--visibility", "30s")
        self.assertIn("visibility 30s, 5 attempts", said)
        said = self.out("queue", "create", "mail", "--max-attempts", "4", "--backoff", "2s..1m")
        self.assertIn("visibility 30s, 4 attempts, backoff 2s..1m", said)
        shown = self.data("queue", "stats", "mail")["queues"][0]
        self.assertEqual((shown["backoff_first_ms"], shown["backoff_max_ms"]), (2000, 60000))
        self.assertIn("visibility 30s, 4 attempts", self.out("queue", "stats", "mail"))
        self.reeve("queue", "pause", "mail", "--for", "1h")
        self.assertRegex(self.out("queue", "stats", "mail"), r"resumes in (59m|1h)")
        self.reeve("queue", "pause", "mail")
        self.assertIn("paused", self.out("queue", "stats", "mail"))

    def test_a_queue_is_removed_when_it_is_empty(self):
        item = self.data("queue", "push", "mail", "x")["ids"][0]
        self.assertEqual(self.error("queue", "remove", "mail", code=5)["code"], "NOT_ALLOWED")
        self.reeve("queue", "drop", "mail", item)
        self.assertEqual(self.data("queue", "remove", "mail")["queue"], "mail")
        self.reeve("queue", "stats", "mail", code=3)
        self.reeve("daemon", "restart")
        self.reeve("queue", "stats", "mail", code=3)
        self.reeve("queue", "remove", "mail", code=3)
        self.assertEqual(len(self.data("queue", "push", "mail", "y")["ids"]), 1)

    def test_errors_speak_of_what_was_typed(self):
        message = self.err("lock", "acquire", "x", "--pid", "4194304", code=2)
        self.assertIn("--pid", message)
        self.assertNotIn("meta.", message)

    def test_beanstalkd_is_a_command_like_any_other(self):
        self.assertIn("beanstalkd", self.out("--help"))
        self.assertIn("Examples", self.out("beanstalkd", "--help"))
        for page in (self.out("beanstalkd", "-h"), self.out("--help"), self.out("daemon", "run", "--help")):
            for line in page.split("\n"):
                self.assertLessEqual(len(line), 80, line)
        for option in ("--project", "--beanstalk-job-bytes", "--beanstalk-public"):
            self.assertIn(option, self.out("daemon", "run", "--help"))
        # Two columns, and nothing in the second that breaks them.
        for line in self.out("--help").split("Groups")[0].split("Everyday\n")[1].split("\n"):
            if line:
                self.assertRegex(line, r"^  .{28}  \S")

    def test_logs_are_objects_with_json(self):
        self.reeve("daemon", "start")
        lines = self.out("daemon", "logs", "--json").split("\n")
        self.assertIn("ready after", json.loads(lines[-1])["line"])


if __name__ == "__main__":
    unittest.main()
