"""Names are data: whatever somebody calls a thing, no shell runs it, and it can be asked for."""

import os
import subprocess
import time
import unittest
from datetime import datetime

from reeve_testing import REEVE, Home, Terminal

HOSTILE = ["zed$(touch pwned)", "zed`touch pwned`", "zed; touch pwned", "zed it's", 'zed "q"', "zed\\x", "zed:a b"]


class Completion(Home):
    def offered(self, line):
        """What bash puts in the place of the last word."""
        script = (
            'PATH=$(dirname "$REEVE"):$PATH; compopt() { :; }; source <(reeve completion bash);'
            'COMP_LINE=$1 COMP_POINT=${#1}; _reeve; printf "%s\\n" "${COMPREPLY[@]}"'
        )
        done = subprocess.run(
            ["bash", "-c", script, "bash", line], env={**self.env, "REEVE": REEVE}, cwd=self.work,
            capture_output=True, text=True, check=True,
        )
        return done.stdout.splitlines()

    def words_of(self, text):
        """As a shell understands it."""
        done = subprocess.run(
            ["bash", "-c", f'printf "%s\\n" {text}'], cwd=self.work, capture_output=True, text=True, check=True
        )
        return done.stdout.splitlines()

    def test_what_bash_inserts_is_one_word_that_runs_nothing(self):
        for name in HOSTILE:
            self.reeve("lock", "acquire", "--holder", "ana", "--", name)
        for before in ("", "'", '"'):
            found = self.offered("reeve lock show " + before + "ze")
            meant = []
            for word in found:
                meant += self.words_of(before + word + before)
            self.assertEqual(sorted(meant), sorted(HOSTILE), before)
        # A word that was begun with quotes goes on.
        self.assertEqual(self.offered("reeve lock show zed\\$\\(to"), ["zed\\$\\(touch\\ pwned\\)"])
        self.assertEqual(self.words_of("zed:" + self.offered("reeve lock show zed:a")[0]), ["zed:a b"])
        self.assertFalse(os.path.exists(os.path.join(self.work, "pwned")))

    def test_tab_and_enter_in_bash_run_nothing(self):
        self.reeve("lock", "acquire", HOSTILE[0], "--holder", "ana")
        terminal = Terminal(self, program=["bash", "--norc", "--noprofile", "-i"],
                            env={"PATH": os.path.dirname(REEVE) + ":" + os.environ["PATH"], "PS1": "$ "})
        terminal.type("source <(reeve completion bash); echo rea''dy\n")
        self.assertTrue(terminal.until(lambda seen: "ready" in seen))
        terminal.type("reeve lock show ze\t")
        self.assertTrue(terminal.until(lambda seen: "pwned" in seen), terminal.seen)
        terminal.type("\n")
        self.assertTrue(terminal.until(lambda seen: "ana" in seen), terminal.seen)
        terminal.type("exit\n")
        terminal.end()
        self.assertFalse(os.path.exists(os.path.join(self.work, "pwned")))


class Hints(Home):
    def test_a_command_to_copy_has_the_name_as_one_word(self):
        name = "$(touch pwned) it's"
        word = "'$(touch pwned) it'\\''s'"
        self.reeve("lock", "acquire", name, "--holder", "ana", "--timeout", "50ms")
        self.until(lambda: word in self.out("status"))
        self.reeve("lock", "acquire", name, "--holder", "ana")
        self.assertIn("`reeve lock acquire " + word, self.err("lock", "acquire", name, "--holder", "bo", code=6))
        self.assertIn("`reeve why " + word,
                      self.err("lock", "release", name, "--holder", "bo", code=5))
        self.reeve("queue", "push", name, "x")
        self.reeve("queue", "pause", name)
        self.assertIn("`reeve queue resume " + word, self.out("why", name, "--kind", "queue"))
        self.assertIn("`reeve sem create " + word, self.err("sem", "acquire", name, code=3))


class Ids(Home):
    def test_an_item_is_found_by_the_beginning_of_its_id(self):
        ids = [self.out("queue", "push", "q", str(n), "-q") for n in range(40)]
        whole = ids[7]
        length = next(n for n in range(6, len(whole) + 1) if sum(i.startswith(whole[:n]) for i in ids) == 1)
        self.assertLess(length, len(whole))
        for words in (["why", whole[:length]], ["show", whole[:length]], ["queue", "show", "q", whole[:length]]):
            self.assertIn(whole, self.out(*words))
        self.assertIn("more than one", self.err("why", "item-", code=3) + self.err("why", self.shared(ids), code=2))

    def shared(self, ids):
        return next(a[:6] for a in ids for b in ids if a != b and a[:6] == b[:6])

    def test_the_beginning_of_no_id_is_not_found(self):
        self.reeve("queue", "push", "q", "x")
        self.assertEqual(self.error("queue", "show", "q", "item-zzzz", code=3)["code"], "NOT_FOUND")
        self.error("why", "item-zzzz", code=3)

    def test_show_can_be_told_which_one(self):
        self.reeve("lock", "acquire", "a", "--holder", "ana")
        self.reeve("sem", "create", "a", "--capacity", "3")
        self.assertIn("--kind sem", self.err("show", "a", code=2))
        self.assertEqual(self.data("show", "a", "--kind", "sem")["capacity"], 3)
        self.assertEqual(self.data("show", "a", "--kind", "lock")["holder"], "ana")

    def test_null_is_data(self):
        self.reeve("queue", "push", "q", "null")
        self.reeve("queue", "push", "q", "-", "--lines", text="1\nnull\n2\n")
        items = self.data("queue", "take", "q", "--max", "9")["items"]
        self.assertEqual([item["data"] for item in items], [None, 1, None, 2])

    def test_what_a_queue_waits_for_is_side_by_side(self):
        self.reeve("queue", "push", "q", "-", "--lines", text="1\n2\n3\n")
        self.reeve("queue", "take", "q", "--max", "3", "--holder", "ana")
        indents = [len(line) - len(line.lstrip()) for line in self.out("why", "q").split("\n") if "item item-" in line]
        self.assertEqual(indents, [2, 2, 2])


class Edges(Home):
    def test_a_name_that_is_not_utf8_is_refused(self):
        for words in ([b"lock", b"acquire", b"\xff"], [b"lock", b"acquire", b"a", b"--holder", b"\xfe"]):
            done = subprocess.run([REEVE.encode(), *words], env=self.env, cwd=self.work, capture_output=True, check=False)
            self.assertEqual(done.returncode, 2)
            self.assertIn(b"not UTF-8", done.stderr)
        done = subprocess.run([REEVE.encode(), b"lock", b"acquire", b"a"], env={**self.env, "REEVE_HOLDER": b"\xfe"},
                              cwd=self.work, capture_output=True, check=False)
        self.assertEqual(done.returncode, 2)
        self.assertIn(b"$REEVE_HOLDER is not UTF-8", done.stderr)
        self.assertEqual(self.data("lock", "list")["locks"], [])
        # Data is whatever it is.
        subprocess.run([REEVE.encode(), b"queue", b"push", b"q", b"\xff"], env=self.env, cwd=self.work,
                       capture_output=True, check=True)

    def test_what_is_empty_or_comes_from_the_environment_is_named(self):
        self.assertIn("--dedupe wants a key", self.err("queue", "push", "q", "1", "--dedupe", "", code=2))
        self.assertIn("--holder wants a name", self.err("lock", "acquire", "a", "--holder", "", code=2))
        bad = {"REEVE_HOLDER": "x" * 300}
        for words in (["lock", "acquire", "a"], ["queue", "take", "q"]):
            self.assertIn("$REEVE_HOLDER is not a name", self.err(*words, code=2, env=bad))
            self.assertIn("--holder is not a name", self.err(*words, "--holder", "y" * 300, code=2, env=bad))

    def test_quiet_shows_the_id(self):
        self.reeve("lock", "acquire", "a")
        item = self.out("queue", "push", "q", "1", "-q")
        for id in ("a", "q", item):
            self.assertEqual(self.out("show", id, "-q"), id)

    def test_what_cannot_be_seen_is_shown(self):
        self.reeve("lock", "acquire", "a\u202eb\u200b")
        self.assertIn("a\\u{202e}b\\u{200b}", self.out("lock", "list"))

    def test_an_unknown_semaphore_is_not_found_by_any_verb(self):
        self.reeve("sem", "acquire", "s", code=3)
        self.reeve("sem", "release", "s", "--holder", "ana", code=3)
        self.reeve("sem", "heartbeat", "s", "--holder", "ana", "--token", "1", code=3)
        self.reeve("sem", "create", "s", "--capacity", "1")
        self.reeve("sem", "release", "s", "--holder", "ana", code=5)
        self.reeve("sem", "heartbeat", "s", "--holder", "ana", "--token", "1", code=6)

    def test_no_color_is_the_last_word(self):
        self.reeve("lock", "acquire", "a")
        self.assertNotIn("\x1b", self.out("lock", "list", "--color", "always", env={"NO_COLOR": "1"}))
        self.assertNotIn("\x1b", self.out("lock", "list", "--color", "always", env={"TERM": "dumb"}))
        self.assertIn("\x1b", self.out("lock", "list", "--color", "always"))

    def test_a_closed_stdout_is_told(self):
        self.reeve("lock", "acquire", "a")
        for words in ("lock list", "queue push q x -q", "lock acquire b"):
            done = subprocess.run(["bash", "-c", f'"{REEVE}" {words} >&-'], env=self.env, cwd=self.work,
                                  capture_output=True, text=True, check=False)
            self.assertEqual(done.returncode, 1, words)
            self.assertIn("cannot write", done.stderr)
        done = subprocess.run(["bash", "-c", f'"{REEVE}" lock list <&- 2>&-'], env=self.env, cwd=self.work,
                              capture_output=True, text=True, check=True)
        self.assertIn("NAME", done.stdout)

    def test_what_was_stale_before_a_restart_has_expired(self):
        self.reeve("lock", "acquire", "a", "--timeout", "100ms")
        self.until(lambda: self.data("lock", "show", "a")["state"] == "stale")
        before = self.data("lock", "show", "a")["expires_at"]
        time.sleep(1)
        self.reeve("daemon", "restart")
        shown = self.data("lock", "show", "a")
        self.assertEqual(shown["state"], "stale")
        late = datetime.fromisoformat(shown["expires_at"]) - datetime.fromisoformat(before)
        self.assertLess(abs(late.total_seconds()), 0.5)

    def test_a_lock_that_is_kept_for_the_first_in_line_is_not_called_held(self):
        self.reeve("lock", "acquire", "one", "--holder", "ana")
        self.start("lock", "acquire", "one", "two", "--holder", "bo", "--wait")
        self.until(lambda: self.waiting_for("two") == 1)
        self.assertIn('lock "two" is kept for bo', self.err("lock", "acquire", "two", "--holder", "cy", code=6))
        self.assertIn('lock "one" is held by ana', self.err("lock", "acquire", "one", "--holder", "cy", code=6))

    def test_a_home_must_be_named(self):
        self.assertIn("--home", self.err("--home", "", "lock", "list", code=2))
        self.assertEqual(os.listdir(self.work), [])

    def test_a_label_has_a_limit(self):
        self.reeve("lock", "acquire", "a", "--label", "x" * 1000)
        self.reeve("lock", "acquire", "b", "--label", "x" * 1001, code=2)


if __name__ == "__main__":
    unittest.main()
