"""What is asked for in odd ways: messages speak of what was typed, and advice can be followed."""

import json
import os
import re
import signal
import socket
import subprocess
import threading
import unittest

from beanstalk_client import Client, free_port
from reeve_testing import REEVE, Home, Terminal


class Advice(Home):
    def test_every_kind_that_is_advised_is_accepted(self):
        for words in (["lock", "acquire"], ["queue", "push"], ["task", "add"], ["section", "add"]):
            self.reeve(*words, "main", *(["x"] if words[0] == "queue" else []))
        self.reeve("sem", "create", "main", "--capacity", "1")
        item = self.out("queue", "push", "q", "x", "-q")
        self.reeve("lock", "acquire", item)
        for name, least in (("main", {"lock", "sem", "queue", "task", "section"}), (item, {"lock", "item"})):
            for command in ("why", "show"):
                kinds = re.findall(r"--kind (\w+)", self.err(command, name, code=2))
                self.assertEqual(set(kinds), least)
                for kind in kinds:
                    self.assertEqual(self.data(command, name, "--kind", kind)["kind"], kind)

    def test_the_socket_is_blamed_and_not_the_home(self):
        open_to_all = os.path.join(self.base, "open")
        os.makedirs(os.path.join(open_to_all, "something"))
        os.chmod(open_to_all, 0o777)
        told = self.err("lock", "acquire", "a", code=7, env={"REEVE_SOCKET": open_to_all + "/x.sock"})
        self.assertIn("$REEVE_SOCKET", told)
        self.assertNotIn("--home", told)

    def test_what_is_refused_is_called_as_it_was_typed(self):
        for words, said in (
            (["queue", "create", "q", "--backoff", "5s..1s"], "--backoff 5s..1s: "),
            (["queue", "create", "q", "--visibility", "0"], "--visibility must be at least 1ms"),
            (["lock", "acquire", "a", "--timeout", "0"], "--timeout must be at least 1ms"),
            (["queue", "create", "q", "--max-attempts", "-1"], "--max-attempts must be at least 0"),
            (["queue", "take", "q", "--max", "0"], "--max must be at least 1"),
            (["queue", "work", "q", "--exec", ""], "--exec wants a command"),
            (["queue", "work", "q", "--exec", "  "], "--exec wants a command"),
        ):
            told = self.err(*words, code=2)
            self.assertIn(said, told)
            self.assertNotRegex(told, r"_ms|max_attempts|backoff_")
        self.reeve("queue", "stats", "q", code=3)

    def test_json_may_be_nested_so_deep_and_is_never_a_string_instead(self):
        for inner, outer in (("", 64), ("1", 64), ('"]"', 64)):
            deep = "[" * outer + inner + "]" * outer
            item = self.out("queue", "push", "q", deep, "-q")
            self.assertEqual(json.dumps(self.data("show", item)["data"]), deep)
            self.out("queue", "push", "q", "--lines", "-", text=f"{deep}\n{deep}\n")
            self.out("queue", "push", "q", "-", text=deep.replace("[", "[\n", 1))
        count = len(self.data("queue", "list", "q")["items"])
        for depth in (65, 70, 2000):
            deep = '[{"a":' * (depth // 2) + "[" * (depth % 2) + "1" + "]" * (depth % 2) + "}]" * (depth // 2)
            for words, text in ((["q", deep], None), (["q", "-"], deep), (["q", "--lines", "-"], deep + "\n")):
                told = self.err("queue", "push", *words, text=text, code=2)
                self.assertIn("data for q is nested more than 64 deep", " ".join(told.split()))
        self.assertEqual(len(self.data("queue", "list", "q")["items"]), count)
        for text in ("[" * 70, '"' + "[" * 70, "{" + "[" * 70 + "]" * 70):
            item = self.out("queue", "push", "q", text, "-q")
            self.assertEqual(self.data("show", item)["data"], text)

    def test_an_item_that_never_was_is_not_found_and_a_forgotten_one_is_a_stale_claim(self):
        self.reeve("queue", "push", "q", "x")
        item, claim = self.out("queue", "take", "q", "-q").split()
        self.reeve("queue", "release", "q", item, "--claim", claim)
        self.reeve("queue", "drop", "q", item)
        self.assertEqual(self.error("queue", "complete", "q", item, "--claim", claim, code=6)["code"], "STALE_CLAIM")
        for verb in (["complete"], ["fail", "--error", "no"], ["extend"], ["release"]):
            error = self.error("queue", verb[0], "q", "item-zzzzzz", "--claim", "1", *verb[1:], code=3)
            self.assertEqual((error["code"], error["details"]["kind"]), ("NOT_FOUND", "item"))

    def test_a_list_without_a_match_says_so(self):
        self.reeve("lock", "acquire", "a")
        self.reeve("sem", "create", "s", "--capacity", "3")
        self.assertIn("begins with zz", self.err("lock", "list", "zz"))
        self.assertIn("begins with zz", self.err("sem", "list", "zz"))
        self.assertEqual(self.error("sem", "create", "s", "--capacity", "4", code=1)["code"], "EXISTS")

    def test_nobody_is_asked_about_a_queue_that_is_not_there(self):
        self.assertEqual(self.error("queue", "purge", "nosuch", "--state", "dead", code=3)["code"], "NOT_FOUND")
        terminal = Terminal(self, "queue", "purge", "nosuch", "--state", "dead")
        self.assertEqual(terminal.end(), 3)
        self.assertNotIn("[y/N]", terminal.seen)
        self.reeve("queue", "push", "q", "x")
        self.error("queue", "purge", "q", "--state", "dead", code=5)

    def test_one_waits_and_two_wait_and_why_has_their_labels(self):
        self.reeve("lock", "acquire", "a", "--holder", "ana")
        for count, said in ((1, "and 1 waits for it"), (2, "and 2 wait for it")):
            self.start("lock", "acquire", "a", "--holder", f"w{count}", "--label", f"label {count}", "--wait")
            self.until(lambda: self.waiting_for("a") == count)
            self.assertIn(said, self.err("lock", "acquire", "a", "--holder", "eve", code=6))
        self.assertEqual([each["label"] for each in self.data("why", "a")["line"]], ["label 1", "label 2"])
        self.assertIn("w1 (label 1)", self.out("why", "a"))

    def test_all_help_fits_a_terminal(self):
        commands = [each["name"].split() for each in self.data("help")["commands"]]
        groups = sorted({words[0] for words in commands if len(words) > 1})
        for words in ([], *([group] for group in groups), *commands):
            for line in self.out(*words, "--help").split("\n"):
                self.assertLessEqual(len(line), 80, f"reeve {' '.join(words)} --help")


class Foreground(Home):
    def test_on_a_terminal_it_says_that_it_is_ready_and_where(self):
        door = os.path.join(self.base, "jobs.sock")
        terminal = Terminal(self, "daemon", "run", "--home", self.home, "--beanstalk", "unix:" + door)
        self.assertTrue(terminal.until(lambda seen: "ready, listening on" in seen), terminal.seen)
        flat = terminal.seen.replace("\r", "").replace("\n", "")
        self.assertIn(os.path.join(self.home, "reeve.sock"), flat)
        self.assertIn(door, flat)
        terminal.type("\x03")
        self.assertEqual(terminal.end(), 0)

    def test_elsewhere_it_is_silent(self):
        daemon = self.start("daemon", "run", "--home", self.home)
        self.until(lambda: os.path.exists(os.path.join(self.home, "reeve.sock")))
        self.until(lambda: self.data("daemon", "status")["ready"])
        daemon.send_signal(signal.SIGTERM)
        self.assertEqual(daemon.communicate(timeout=60), ("", ""))


class Depths(Home):
    def test_an_item_as_deep_as_may_be_is_shown_and_worked_on(self):
        for depth in (56, 57, 60, 61, 62, 63, 64):
            deep = "[" * depth + "]" * depth
            item = self.out("queue", "push", "q", "-", "-q", text=deep)
            self.assertIn(deep, self.out("queue", "list", "q", timeout=20))
            self.assertIn(item, self.out("queue", "peek", "q", timeout=20))
            self.assertIn(deep, self.out("queue", "show", "q", item, timeout=20).replace("\n", "").replace(" ", ""))
            self.assertIn(deep, self.out("show", item, timeout=20))
            self.assertEqual(self.out("queue", "work", "q", "--exec", "cat", "--once", timeout=20).split("\n")[0], deep)
        self.reeve("queue", "push", "q", "-", text="[" * 65 + "]" * 65, code=2, timeout=20)

    def test_many_lines_as_deep_as_may_be_are_pushed_at_once(self):
        deep = "[" * 60 + "]" * 60
        self.reeve("queue", "push", "q", "-", "--lines", text=f"{deep}\n{deep}\n", timeout=20)
        self.assertEqual(self.out("queue", "list", "q", timeout=20).count(deep), 2)

    def test_an_answer_that_cannot_be_read_is_a_failure_and_no_wait(self):
        os.mkdir(self.home, 0o700)
        path = os.path.join(self.home, "reeve.sock")
        with socket.socket(socket.AF_UNIX) as other:
            other.bind(path)
            other.listen()

            def mumble():
                while True:
                    try:
                        connection = other.accept()[0]
                    except OSError:
                        return
                    with connection:
                        connection.recv(65536)
                        connection.sendall(b'{"id":1,\n')
                        connection.recv(65536)

            threading.Thread(target=mumble, daemon=True).start()
            for words in (["queue", "list", "q"], ["queue", "work", "q", "--exec", "cat"], ["events", "-f"],
                          ["lock", "acquire", "a", "--wait"]):
                told = self.err(*words, code=1, timeout=20)
                self.assertIn("what the daemon answered cannot be read", told)


class Words(Home):
    def test_an_event_of_ones_own_is_shown_with_its_subject(self):
        self.reeve("emit", "ci:main:green", "k=1")
        self.reeve("emit", "ci:a:b:red")
        self.reeve("emit", "ci:done")
        self.reeve("lock", "acquire", "a")
        told = self.out("events")
        self.assertRegex(told, r"(?m) ci:main:green +k=1$")
        self.assertRegex(told, r"(?m) ci:a:b:red$")
        self.assertRegex(told, r"(?m) ci:done$")
        self.assertRegex(told, r"(?m) lock:acquired +name=a ")
        self.assertNotRegex(told, r"(?m) $")

    def test_a_key_that_is_given_twice_is_refused(self):
        self.assertIn("emit has k twice", self.err("emit", "a:b", "k=v", "k=w", code=2))

    def test_a_command_that_there_is_is_not_proposed_in_its_own_place(self):
        for words in (["--", "lock", "list"], ["lock", "--", "list"]):
            told = self.err(*words, code=2)
            self.assertNotIn("there is no command", told)
            self.assertIn("write -- behind the command", told)
        self.assertIn("did you mean `reeve lock`?", self.err("lokc", "list", code=2))


class UnixClient(Client):
    def __init__(self, path):
        self.socket = socket.socket(socket.AF_UNIX)
        self.buffer = b""
        try:
            self.socket.connect(path)
        except OSError:
            self.socket.close()
            raise


class Beanstalkd(Home):
    def setUp(self):
        super().setUp()
        self.shop = os.path.join(self.work, "shop")
        os.makedirs(os.path.join(self.shop, ".reeve"))
        self.reeve("lock", "acquire", "known", cwd=self.shop)
        self.reeve("daemon", "stop")

    def served(self, connect, *words, env=None):
        """Puts a job there; says in which project it is afterwards."""
        daemon = self.start(*words, env=env)

        def opened():
            self.assertIsNone(daemon.poll(), "it ended")
            try:
                return connect()
            except (ConnectionRefusedError, FileNotFoundError):
                return None

        client = self.until(opened)
        self.assertEqual(client.ask(b"use t"), b"USING t\r\n")
        client.put(b"hello")
        self.assertEqual(client.ask(b"watch t"), b"WATCHING 2\r\n")
        job, body = client.reserve()
        self.assertEqual(body, b"hello")
        self.assertEqual(client.ask(b"release %d 0 0" % job), b"RELEASED\r\n")
        found = [name for name in ("shop", "default")
                 if any(each["name"] == "t" for each in self.data("--project", name, "queue", "stats")["queues"])]
        self.assertEqual(client.ask(b"reserve-job %d" % job).split()[0], b"RESERVED")
        self.assertEqual(client.ask(b"delete %d" % job), b"DELETED\r\n")
        client.close()
        for name in found:
            self.reeve("--project", name, "queue", "purge", "t", "--state", "completed", "--yes")
            self.reeve("--project", name, "queue", "remove", "t")
        daemon.send_signal(signal.SIGTERM)
        daemon.communicate(timeout=60)
        self.assertEqual(daemon.returncode, 0)
        return found

    def data(self, *words, **options):
        answer = json.loads(self.reeve("--json", *words, **options).stdout)
        return answer["data"]

    def test_the_project_is_the_one_that_was_said(self):
        port = free_port()
        tcp = lambda: Client(port)
        own = ["-p", str(port)]
        for words, env, project in (
            (["beanstalkd", *own], None, "default"),
            (["beanstalkd", "--project", "shop", *own], None, "shop"),
            (["beanstalkd", *own, "--project=shop"], None, "shop"),
            (["--project", "shop", "beanstalkd", *own], None, "shop"),
            (["beanstalkd", *own, "--project", self.shop], None, "shop"),
            (["beanstalkd", *own], {"REEVE_PROJECT": "shop"}, "shop"),
            (["beanstalkd", *own, "--project", "default"], {"REEVE_PROJECT": "shop"}, "default"),
        ):
            self.assertEqual(self.served(tcp, *words, env=env), [project], words)

    def test_a_conversation_over_a_unix_door(self):
        door = os.path.join(self.base, "jobs.sock")
        words = ["beanstalkd", "-l", "unix:" + door, "-b", self.home, "--project", "shop"]
        self.assertEqual(self.served(lambda: UnixClient(door), *words), ["shop"])

    def test_a_start_that_fails_leaves_the_mark_of_a_clean_stop(self):
        with socket.socket() as other:
            other.bind(("127.0.0.1", 0))
            other.listen()
            self.reeve("beanstalkd", "-p", str(other.getsockname()[1]), code=1)
        self.reeve("beanstalkd", "--project", "nosuch", "-p", str(free_port()), code=3)
        self.reeve("daemon", "start")
        self.assertNotIn("not a clean one", self.out("daemon", "logs", "-n", "100"))

    def test_what_is_wrong_is_named(self):
        self.assertIn("--prject", self.err("beanstalkd", "--prject", "shop", code=2))
        self.assertIn("-x", self.err("beanstalkd", "-x", code=2))
        self.assertIn("no such project", self.err("beanstalkd", "--project", "nosuch", "-p", str(free_port()), code=3))
        self.assertIn("no such project",
                      self.err("beanstalkd", "-p", str(free_port()), code=3, env={"REEVE_PROJECT": "nosuch"}))
        for words, code, name in ((["--prject"], 2, "USAGE"), (["-x"], 2, "USAGE"), (["-p", "0"], 2, "USAGE"),
                                  (["--project", "nosuch"], 3, "NOT_FOUND")):
            answer = json.loads(self.reeve("beanstalkd", "--json", *words, code=code).stdout)
            self.assertEqual((answer["success"], answer["command"], answer["error"]["code"]),
                             (False, "beanstalkd", name))

    def test_by_its_own_name_it_has_the_flags_of_the_original(self):
        link = os.path.join(self.base, "beanstalkd")
        os.symlink(REEVE, link)
        done = subprocess.run([link, "--project", "shop"], env=self.env, capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 2)
        done = subprocess.run([link, "-h"], env=self.env, capture_output=True, text=True, check=True)
        self.assertNotIn("--project", done.stdout)
        self.assertIn("$REEVE_PROJECT", done.stdout)

    def test_its_help_and_completions_have_its_flags(self):
        for words in (["--help"], ["-h"], ["-p", "1", "-h"]):
            page = self.out("beanstalkd", *words)
            for flag in ("-b DIR", "-l ADDR", "-p PORT", "-z BYTES", "--project P", "Examples"):
                self.assertIn(flag, page)
        offered = [line.split("\t")[0] for line in self.out("__complete", "--", "beanstalkd", "-").split("\n")]
        for flag in ("-b", "-l", "-p", "-z", "--project", "--json"):
            self.assertEqual(offered.count(flag), 1, offered)
        self.assertNotIn("--", offered)


if __name__ == "__main__":
    unittest.main()
