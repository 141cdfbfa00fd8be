"""The program as people and scripts meet it: words, texts, JSON, exit codes."""

import fcntl
import json
import os
import re
import shutil
import signal
import subprocess
import time
import unittest

from reeve_testing import REEVE, Home, Terminal


class Words(Home):
    def test_version_and_help_need_no_daemon(self):
        self.assertRegex(self.out("--version"), r"^reeve \d+\.\d+\.\d+$")
        self.assertIn("durable local coordinator", self.out("--help"))
        self.assertIn("durable local coordinator", self.out("-h"))
        self.assertFalse(os.path.exists(self.home))

    def commands(self):
        pages = [self.out("--help")]
        groups = re.findall(
            r"^  (runbook|pipeline|worker|cron|decision|agent|monitor|lock|sem|queue|project|daemon|journal)\b",
            pages[0].split("Groups")[1],
            re.M,
        )
        self.assertEqual(len(groups), 13)
        words = re.findall(r"^  ([a-z]+)\b", pages[0].split("Groups")[0], re.M)
        commands = [[word] for word in words]
        for group in groups:
            pages.append(self.out(group, "--help"))
            self.assertIn("Examples\n  reeve " + group, pages[-1])
            verbs = re.findall(rf"^  {group} ([a-z-]+)", pages[-1], re.M)
            commands += [[group, verb] for verb in verbs]
        return pages, commands

    def test_every_command_has_help_with_examples_that_fits_80_columns(self):
        pages, commands = self.commands()
        self.assertGreater(len(commands), 90)
        for command in commands:
            page = self.out(*command, "--help")
            self.assertIn("Examples\n  ", page, command)
            self.assertIn("usage: reeve " + " ".join(command), page)
            self.assertEqual(self.out("help", *command), page)
            pages.append(page)
        for line in "\n".join(pages).split("\n"):
            if not line.startswith("  reeve ") and not line.startswith("  read "):
                self.assertLessEqual(len(line), 80, line)

    def test_every_group_stands_apart_from_what_it_is(self):
        groups = self.out("--help").split("Groups")[1].split("Everywhere")[0]
        words = re.findall(r"^  (\S+)", groups, re.M)
        self.assertGreater(len(words), 12)
        for word in words:
            self.assertRegex(groups, rf"(?m)^  {word} +[a-z]")
            self.assertIn(f"{word} ", self.out(word, "--help"))

    def test_what_is_no_command_is_told_as_it_was_typed(self):
        for words, command in [(("lokc", "x"), "lokc"), (("lock", "aquire", "x"), "lock aquire"), (("lock",), "lock")]:
            told = json.loads(self.reeve("--json", *words, code=2).stdout)
            self.assertEqual((told["success"], told["command"]), (False, command))

    def test_a_mistake_is_told_in_one_sentence_with_the_way_out(self):
        self.assertEqual(
            self.err("lokc", code=2), "reeve: there is no command lokc; did you mean `reeve lock`?"
        )
        self.assertEqual(
            self.err("lock", "aquire", "x", code=2),
            "reeve: there is no command lock aquire; did you mean `reeve lock acquire`?",
        )
        self.assertEqual(
            self.err("help", "lok", code=2), "reeve: there is no command lok; did you mean `reeve lock`?"
        )
        self.assertIn("did you mean `reeve --version`", self.err("version", code=2))
        self.assertIn("did you mean `reeve journal info`", self.err("help", "journal", "infoo", code=2))
        self.assertIn("did you mean `reeve journal info`", self.err("journal", "infoo", code=2))
        self.assertIn("unknown option --tiemout; did you mean --timeout?",
                      self.err("lock", "acquire", "x", "--tiemout", "1s", code=2))
        self.assertIn("wants NAME", self.err("lock", "acquire", code=2))
        self.assertIn("wants a duration", self.err("lock", "acquire", "x", "--timeout", "9", code=2))
        self.assertIn("lock acquire", self.err("lock", code=2))
        self.assertIn("put -- before", self.err("sem", "run", "x", "make", code=2))
        self.assertEqual(self.error("lock", "acquire", code=2)["code"], "USAGE")
        self.assertFalse(os.path.exists(self.home))

    def test_bare_reeve_shows_what_to_do_and_starts_nothing(self):
        self.assertIn("reeve lock run", self.out())
        self.assertFalse(os.path.exists(self.home))

    def test_the_man_page_has_every_command(self):
        page = self.out("__man")
        self.assertTrue(page.startswith(".TH REEVE 1"))
        for command in self.commands()[1]:
            self.assertIn("reeve " + " ".join(command).replace("-", "\\-"), page)

    def test_the_man_page_shows_quotes_as_they_are_typed(self):
        page = self.out("__man")
        lines = page.split("\n")
        for line in lines[1:]:
            self.assertNotIn('"', line)
        said = [line for command in json.loads(self.out("help", "--json"))["data"]["commands"]
                for line in (each["line"] for each in command.get("examples", [])) if '"' in line]
        self.assertTrue(said)
        for line in said:
            self.assertIn(".B " + line.replace("\\", "\\e").replace("-", "\\-").replace('"', "\\(dq"), lines)

    def test_completions_know_commands_options_and_live_names(self):
        def offered(*words):
            return [line.split("\t")[0] for line in self.out("__complete", "--", *words).split("\n")]

        self.assertIn("lock", offered("lo"))
        self.assertEqual(offered("lock", "rel"), ["release"])
        self.assertIn("--max-hold", offered("lock", "acquire", "--m"))
        self.assertEqual(offered("queue", "purge", "q", "--state", "d"), ["dead"])
        self.assertEqual(offered("completion", "b"), ["bash"])
        self.assertEqual(offered("lock", "show", "de"), [""])
        self.reeve("lock", "acquire", "deploy")
        self.assertEqual(offered("lock", "show", "de"), ["deploy"])
        self.assertEqual(offered("why", "de"), ["deploy"])
        self.assertEqual(offered("lock", "run", "deploy", "--", "ma"), [""])
        for shell in filter(shutil.which, ("bash", "zsh", "fish")):
            subprocess.run([shell, "-n"], input=self.out("completion", shell), env=self.env, text=True, check=True)
        self.reeve("completion", "tcsh", code=2)
        script = (
            'PATH=$(dirname "$REEVE"):$PATH; source <(reeve completion bash);'
            'COMP_LINE="reeve lock show de" COMP_POINT=18; _reeve; echo "${COMPREPLY[@]}"'
        )
        shown = subprocess.run(
            ["bash", "-c", script], env={**self.env, "REEVE": REEVE}, cwd=self.work,
            capture_output=True, text=True, check=True,
        )
        self.assertEqual(shown.stdout.strip(), "deploy")

    @unittest.skipUnless(shutil.which("fish"), "fish is not installed")
    def test_fish_completes_names_and_where_there_are_none_files(self):
        self.reeve("lock", "acquire", "deploy")
        open(os.path.join(self.work, "a-file"), "w").close()
        for line, offered in (("reeve lock show de", "deploy"), ("reeve backup a-f", "a-file"), ("reeve lock rel", "release")):
            script = f'set -x PATH (dirname $REEVE) $PATH; reeve completion fish | source; complete -C "{line}"'
            shown = subprocess.run(
                ["fish", "--no-config", "-c", script], env={**self.env, "REEVE": REEVE}, cwd=self.work,
                capture_output=True, text=True, check=True,
            )
            self.assertIn(offered, shown.stdout.split(), shown.stderr)


class Locks(Home):
    def test_a_lock_is_taken_kept_and_given_back(self):
        taken = self.data("lock", "acquire", "main", "--holder", "ana")
        self.assertEqual(taken["outcome"], "acquired")
        self.assertEqual(taken["holder"], "ana")
        token = taken["locks"][0]["token"]
        self.assertEqual(self.data("lock", "acquire", "main", "--holder", "ana")["outcome"], "extended")
        self.data("lock", "heartbeat", "main", "--holder", "ana", "--token", str(token))
        self.data("lock", "check", "main", "--token", str(token))
        shown = self.data("lock", "show", "main")
        self.assertEqual((shown["state"], shown["holder"], shown["token"]), ("held", "ana", token))
        self.assertEqual(self.data("lock", "release", "main", "--holder", "ana")["outcome"], "released")
        self.assertEqual(
            self.data("lock", "release", "main", "--holder", "ana")["outcome"], "already_free"
        )
        again = self.data("lock", "acquire", "main", "--holder", "bo")
        self.assertGreater(again["locks"][0]["token"], token)
        self.assertEqual(
            self.error("lock", "check", "main", "--token", str(token), code=6)["code"], "SUPERSEDED"
        )
        self.assertEqual(
            self.error("lock", "heartbeat", "main", "--holder", "ana", "--token", str(token), code=6)[
                "code"], "LOST")

    def test_what_another_holds_is_not_obtained_and_not_released(self):
        self.reeve("lock", "acquire", "main", "--holder", "ana")
        error = self.error("lock", "acquire", "main", "--holder", "bo", code=6)
        self.assertEqual(error["code"], "LOCKED")
        self.assertEqual(error["details"]["holder"], "ana")
        self.assertEqual(self.err("lock", "acquire", "main", "--holder", "bo", code=6).count("\n"), 0)
        self.assertEqual(self.error("lock", "release", "main", "--holder", "bo", code=5)["code"],
                         "NOT_OWNER")
        began = time.monotonic()
        waited = self.error("lock", "acquire", "main", "--holder", "bo", "--wait", "300ms", code=6)
        self.assertGreater(time.monotonic() - began, 0.29)
        self.assertEqual(waited["code"], "LOCKED")
        self.reeve("lock", "acquire", "free", "main", "--holder", "bo", code=6)
        self.assertEqual(self.data("lock", "show", "free")["state"], "free")

    def test_texts_are_for_people_and_q_for_scripts(self):
        self.assertRegex(self.out("lock", "acquire", "main", "--holder", "ana", "--label", "a release"),
                         r"^main acquired  token \d+  holder ana  expires in 1m$")
        self.assertRegex(self.out("lock", "acquire", "other", "-q"), r"^h-[0-9a-z]{8}$")
        listed = self.out("lock", "list")
        self.assertRegex(listed, r"NAME +STATE +HOLDER")
        self.assertRegex(listed, r"main +held +ana .* a release")
        self.assertEqual(self.out("lock", "list", "-q").split("\n"), ["main", "other"])
        self.assertIn("a release", self.out("lock", "show", "main"))
        self.assertRegex(self.out("lock", "list", "--time", "iso"), r"20\d\d-\d\d-\d\dT")
        self.assertEqual(self.out("lock", "release", "main", "--holder", "ana"), "main released")
        self.assertEqual(self.out("lock", "release", "main", "--holder", "ana"), "main was free already")

    def test_the_holder_comes_from_the_environment_for_acquire_alone(self):
        env = {"REEVE_HOLDER": "step-1"}
        self.assertIn("holder step-1", self.out("lock", "acquire", "main", env=env))
        self.assertIn("wants --holder H or --token N", self.err("lock", "release", "main", env=env, code=2))
        self.assertIn("wants --holder", self.err("lock", "heartbeat", "main", "--token", "1", env=env, code=2))
        self.reeve("lock", "release", "main", "--holder", "step-1")

    def test_a_token_alone_gives_a_lock_back_and_an_old_one_does_not(self):
        old = str(self.data("lock", "acquire", "main")["locks"][0]["token"])
        self.assertEqual(self.out("lock", "release", "main", "--token", old), "main released")
        self.assertEqual(self.data("lock", "release", "main", "--token", old)["outcome"], "already_free")
        self.reeve("lock", "acquire", "main", "--holder", "bo")
        self.assertEqual(self.error("lock", "release", "main", "--token", old, code=5)["code"], "NOT_OWNER")
        self.assertEqual(self.data("lock", "show", "main")["holder"], "bo")

    def test_a_lock_can_be_taken_away(self):
        self.reeve("lock", "acquire", "main", "--holder", "ana")
        self.reeve("lock", "force-release", "main", code=2)
        self.assertEqual(self.out("lock", "force-release", "main", "--reason", "gone"), "main released")
        self.assertEqual(self.data("lock", "show", "main")["state"], "free")

    def test_it_is_taken_away_when_the_command_returns(self):
        stubborn = subprocess.Popen(["sh", "-c", "trap '' TERM; echo ready; exec sleep 60"], stdout=subprocess.PIPE)
        self.addCleanup(stubborn.communicate)
        self.addCleanup(stubborn.kill)
        stubborn.stdout.readline()
        self.reeve("lock", "acquire", "main", "--holder", "ana", "--pid", str(stubborn.pid))
        self.assertIn("is being taken back", self.out("lock", "force-release", "main", "--reason", "t", "--no-wait"))
        self.reeve("lock", "acquire", "main", "--holder", "bo", code=6)
        forcer = self.start("lock", "force-release", "main", "--reason", "t")
        self.stop_daemon(signal.SIGKILL)
        out, err = forcer.communicate(timeout=60)
        self.assertEqual((forcer.returncode, out), (0, "main released\n"), err)
        self.assertEqual(self.data("lock", "acquire", "main", "--holder", "bo")["outcome"], "acquired")

    def test_is_stale_answers_by_its_exit_code(self):
        self.reeve("lock", "acquire", "fresh")
        self.reeve("lock", "is-stale", "fresh", code=6)
        self.reeve("lock", "acquire", "main", "--timeout", "200ms")
        time.sleep(0.3)
        self.assertEqual(self.out("lock", "is-stale", "main"), "main is stale")
        self.assertTrue(self.data("lock", "is-stale", "main")["stale"])

    def test_names_that_are_no_names_are_refused(self):
        for name in ("a/../b", "x" * 201, "a\nb", ""):
            self.assertIn(self.error("lock", "acquire", "--", name, code=2)["code"],
                          ("BAD_NAME", "BAD_PARAMS"))


class Waiting(Home):
    def test_a_wait_is_told_on_stderr_and_ends_with_the_lock(self):
        self.reeve("lock", "acquire", "main", "--holder", "ana")
        waiter = self.start("lock", "acquire", "main", "--holder", "bo", "--wait")
        self.until(lambda: self.waiting_for("main") == 1)
        time.sleep(0.5)
        self.reeve("lock", "release", "main", "--holder", "ana")
        out, err = waiter.communicate(timeout=60)
        self.assertEqual(waiter.returncode, 0, err)
        self.assertRegex(out, r"^main acquired  token 2  holder bo")
        self.assertRegex(err, r"^reeve: waiting: main is held by ana( for \S+)?; you are next\n$")

    def test_ctrl_c_leaves_the_line(self):
        self.reeve("lock", "acquire", "main", "--holder", "ana")
        self.reeve("sem", "create", "s", "--capacity", "1")
        self.reeve("sem", "acquire", "s", "--holder", "ana")
        for words in (("lock", "acquire", "main"), ("sem", "acquire", "s"), ("queue", "take", "q")):
            waiter = self.start(*words, "--wait")
            time.sleep(0.4)
            waiter.send_signal(signal.SIGINT)
            _, err = waiter.communicate(timeout=60)
            self.assertEqual(waiter.returncode, 130, err)
            self.assertIn("interrupted", err)
        self.assertEqual(self.waiting_for("main"), 0)
        self.assertEqual(self.data("sem", "show", "s")["waiting"], 0)

    def test_a_wait_goes_on_through_a_killed_daemon(self):
        self.reeve("lock", "acquire", "main", "--holder", "ana", "--timeout", "1h")
        waiters = []
        for name in ("bo", "cleo"):
            waiters.append(self.start("lock", "acquire", "main", "--holder", name, "--wait"))
            self.until(lambda: self.waiting_for("main") == len(waiters))
        self.stop_daemon(signal.SIGKILL)
        self.until(lambda: self.waiting_for("main") == 2)
        self.assertIsNone(waiters[0].poll())
        self.reeve("lock", "release", "main", "--holder", "ana")
        out, err = waiters[0].communicate(timeout=60)
        self.assertEqual(waiters[0].returncode, 0, err)
        self.assertIn("holder bo", out)
        self.assertIsNone(waiters[1].poll())

    def test_on_a_terminal_one_line_moves(self):
        self.reeve("lock", "acquire", "main", "--holder", "ana", "--label", "x" * 100)
        terminal = Terminal(self, "lock", "acquire", "main", "--wait", "30s")
        self.assertTrue(terminal.until(lambda seen: seen.count("main is held by ana") > 3))
        for line in terminal.seen.split("\r"):
            self.assertLessEqual(len(line.replace("\x1b[K", "").strip("\n")), 80)
        self.assertRegex(terminal.seen, r"\[[#.]{12}\] \d+m?s of 30s")
        terminal.type("\x03")
        self.assertEqual(terminal.end(), 130)
        self.assertEqual(self.waiting_for("main"), 0)

    def test_a_deadlock_is_refused(self):
        self.reeve("lock", "acquire", "a", "--holder", "ana")
        self.reeve("lock", "acquire", "b", "--holder", "bo")
        self.start("lock", "acquire", "b", "--holder", "ana", "--wait")
        self.until(lambda: self.waiting_for("b") == 1)
        self.assertEqual(self.error("lock", "acquire", "a", "--holder", "bo", "--wait", code=6)["code"],
                         "WOULD_DEADLOCK")


class Semaphores(Home):
    def test_places_are_taken_by_weight_and_given_back(self):
        self.assertEqual(self.error("sem", "acquire", "s", code=3)["code"], "NOT_FOUND")
        self.assertEqual(self.out("sem", "create", "s", "--capacity", "3"), "s created with capacity 3")
        self.assertEqual(self.out("sem", "create", "s", "--capacity", "3"), "s exists with capacity 3")
        taken = self.data("sem", "acquire", "s", "-w", "2", "--holder", "ana")
        self.assertEqual((taken["outcome"], taken["available"]), ("acquired", 1))
        self.assertEqual(self.data("sem", "acquire", "s", "-w", "1", "--holder", "ana")["outcome"],
                         "already_held")
        full = self.error("sem", "acquire", "s", "-w", "2", "--holder", "bo", code=6)
        self.assertEqual((full["code"], full["details"]["available"]), ("FULL", 1))
        self.error("sem", "acquire", "s", "-w", "4", code=2)
        self.error("sem", "acquire", "s", "-w", "0", code=2)
        self.reeve("sem", "heartbeat", "s", "--holder", "ana", "--token", str(taken["token"]))
        self.assertIn("ana", self.out("sem", "show", "s"))
        self.assertRegex(self.out("sem", "list"), r"s +2 +3 +1 +0")
        self.assertEqual(self.out("sem", "list", "-q"), "s")
        self.assertEqual(self.error("sem", "release", "s", "--holder", "bo", code=5)["code"],
                         "NOT_HOLDER")
        self.assertEqual(self.out("sem", "release", "s", "--holder", "ana"), "s released, 3 available")
        self.assertIn("capacity 5", self.out("sem", "resize", "s", "5"))
        self.reeve("sem", "resize", "s", "many", code=2)
        self.reeve("sem", "remove", "s")
        self.error("sem", "show", "s", code=3)

    def test_run_holds_places_while_the_command_runs(self):
        self.reeve("sem", "create", "s", "--capacity", "2")
        held = self.out("sem", "run", "s", "-w", "2", "--", REEVE, "sem", "show", "s", "--json")
        shown = json.loads(held)["data"]
        self.assertEqual(shown["in_use"], 2)
        self.assertTrue(shown["holders"][0]["holder"].startswith("run-"))
        self.assertEqual(self.data("sem", "show", "s")["in_use"], 0)
        self.reeve("sem", "run", "s", "--", "sh", "-c", "exit 9", code=9)


class Queues(Home):
    def test_an_item_goes_its_way(self):
        pushed = self.data("queue", "push", "q", '{"n": 1}')
        item = self.data("queue", "take", "q", "--holder", "ana")["items"][0]
        self.assertEqual(item["id"], pushed["ids"][0])
        self.assertEqual((item["data"], item["attempts"]), ({"n": 1}, 1))
        claim = str(item["claim"])
        self.data("queue", "extend", "q", item["id"], "--claim", claim, "--by", "1m")
        self.assertRegex(self.out("queue", "extend", "q", item["id"], "--claim", claim, "--by", "5m"),
                         r"^item-\w+ is yours for (5m|4m\S*|4m \d+s)$")
        self.assertRegex(self.out("queue", "extend", "q", item["id"], "--claim", claim, "--time", "iso"),
                         r"^item-\w+ is yours until 20\d\d-\S+Z$")
        self.assertEqual(self.error("queue", "complete", "q", item["id"], "--claim", "999", code=6)[
            "code"], "STALE_CLAIM")
        self.data("queue", "release", "q", item["id"], "--claim", claim)
        item = self.data("queue", "take", "q")["items"][0]
        self.assertEqual(item["attempts"], 1)
        failed = self.data("queue", "fail", "q", item["id"], "--claim", str(item["claim"]),
                           "--error", "no route", "--retry-after", "0s")
        self.assertEqual(failed["state"], "pending")
        item = self.data("queue", "take", "q", "--wait", "5s")["items"][0]
        self.assertEqual(self.data("queue", "show", "q", item["id"])["last_error"], "no route")
        self.data("queue", "complete", "q", item["id"], "--claim", str(item["claim"]))
        self.assertEqual(self.data("queue", "take", "q")["items"], [])
        stats = self.data("queue", "stats", "q")["queues"][0]
        self.assertEqual((stats["pending"], stats["completed"]), (0, 1))

    def test_an_item_may_be_completed_twice_also_where_none_is_kept(self):
        self.reeve("queue", "create", "q", "--keep-completed", "0")
        self.reeve("queue", "push", "q", "1")
        item = self.data("queue", "take", "q")["items"][0]
        for _ in range(2):
            self.reeve("queue", "complete", "q", item["id"], "--claim", str(item["claim"]))
        self.until(lambda: self.data("queue", "stats", "q")["queues"][0]["completed"] == 0)

    def test_what_is_no_json_is_a_string_and_bytes_are_bytes(self):
        for text, data in (("hello", "hello"), ("12", 12), ('{"a":[1]}', {"a": [1]}), ("-5", -5),
                           ("[1", "[1"), ("1 2", "1 2")):
            self.reeve("queue", "push", "q", text)
            self.assertEqual(self.data("queue", "take", "q")["items"][0]["data"], data, text)
        self.reeve("queue", "push", "q", "-", text='{\n "a": 1\n}\n')
        self.assertEqual(self.data("queue", "take", "q")["items"][0]["data"], {"a": 1})
        subprocess.run([REEVE, "queue", "push", "q", "-"], input=b"\xff\x00", env=self.env,
                       cwd=self.work, check=True, capture_output=True)
        self.assertEqual(self.data("queue", "take", "q")["items"][0]["data"], {"base64": "/wA="})
        self.reeve("queue", "push", "q", code=2)

    def test_what_is_too_much_is_told_so_and_asked_once(self):
        for size in (1 << 20, 4_194_000, (4 << 20) + 1000, 6_000_000, 20_000_000):
            self.assertIn("an item has at most 1 MiB", self.err("queue", "push", "q", "-", text="x" * size, code=2), size)
        pid = self.daemon_pid()
        told = self.reeve("--json", "queue", "push", "q", "-", "--lines", text='"a"\n' + "x" * 6_000_000, code=2)
        self.assertEqual(json.loads(told.stdout)["error"]["code"], "TOO_LONG")
        self.assertEqual(self.daemon_pid(), pid)
        self.reeve("queue", "push", "q", "-", text="x" * ((1 << 20) - 2))
        self.assertEqual(len(self.data("queue", "take", "q")["items"][0]["data"]), (1 << 20) - 2)

    def test_lines_are_pushed_in_batches_in_their_order(self):
        lines = "\n".join(str(n) for n in range(2500))
        self.assertEqual(self.out("queue", "push", "q", "-", "--lines", text=lines),
                         "pushed 2,500 items to q")
        taken = []
        while items := self.data("queue", "take", "q", "--max", "1000")["items"]:
            taken += [item["data"] for item in items]
        self.assertEqual(taken, list(range(2500)))
        self.reeve("queue", "push", "q", "data", "--lines", code=2)
        ids = self.out("queue", "push", "q", "-", "--lines", "-q", text="a\n\nb\n").split("\n")
        self.assertEqual(len(ids), 2)

    def test_no_limit_of_attempts_is_told_as_such(self):
        self.assertIn(", any number of attempts,", self.out("queue", "create", "q", "--max-attempts", "0"))
        self.assertIn(", any number of attempts,", self.out("queue", "stats", "q"))
        self.assertIn(", 1 attempt,", self.out("queue", "create", "r", "--max-attempts", "1"))
        self.assertIn("0: no limit", self.out("queue", "create", "--help"))

    def test_priority_delay_and_dedupe(self):
        self.reeve("queue", "push", "q", "low", "--priority", "-1")
        self.reeve("queue", "push", "q", "high", "--priority", "5")
        self.reeve("queue", "push", "q", "later", "--delay", "1h")
        first = self.data("queue", "push", "q", "one", "--dedupe", "k")
        again = self.data("queue", "push", "q", "two", "--dedupe", "k")
        self.assertIn("lose the others",
                      self.err("queue", "push", "q", "-", "--lines", "--dedupe", "l", text="a\nb\n", code=2))
        self.assertEqual(again["duplicate_of"], first["ids"][0])
        self.assertEqual([i["data"] for i in self.data("queue", "take", "q", "--max", "9")["items"]],
                         ["high", "one", "low"])
        stats = self.data("queue", "stats")["queues"][0]
        self.assertEqual((stats["delayed"], stats["processing"]), (1, 3))

    def test_what_went_to_the_dead_letters_is_said_to_be_there(self):
        self.reeve("queue", "create", "q", "--max-attempts", "1", "--dead-letter", "dlq")
        self.reeve("queue", "push", "q", "one")
        item = self.data("queue", "take", "q")["items"][0]
        self.assertEqual(self.out("queue", "fail", "q", item["id"], "--claim", str(item["claim"]), "--error", "no"),
                         f"{item['id']} failed for good: it is in dlq now")

    def test_a_refusal_speaks_of_what_was_typed(self):
        self.assertEqual(self.err("lock", "acquire", "x", "--timeout", "0", code=2),
                         "reeve: --timeout must be at least 1ms")
        self.reeve("queue", "push", "q", "one")
        self.assertIn('reeve: "item-foo" is the beginning', self.err("queue", "redrive", "q", "item-foo", code=3))

    def test_dead_items_are_seen_redriven_and_purged(self):
        self.reeve("queue", "create", "q", "--max-attempts", "1", "--backoff", "10ms..1s")
        self.reeve("queue", "create", "q", "--backoff", "soon", code=2)
        for n in range(2):
            self.reeve("queue", "push", "q", str(n))
            item = self.data("queue", "take", "q")["items"][0]
            self.assertIn("for good", self.out("queue", "fail", "q", item["id"], "--claim",
                                               str(item["claim"]), "--error", "broken\x1b[31m"))
        listed = self.out("queue", "list", "q", "--state", "dead")
        self.assertEqual(listed.count("broken\\x1b[31m"), 2)
        self.reeve("queue", "redrive", "q", code=2)
        self.assertEqual(self.out("queue", "redrive", "q", item["id"]), "1 item of q sent back to work")
        self.assertIn("say --yes", self.err("queue", "purge", "q", "--state", "dead", code=5))
        self.assertEqual(self.out("queue", "purge", "q", "--state", "dead", "--yes"), "1 item of q deleted")
        terminal = Terminal(self, "queue", "purge", "q", "--state", "pending")
        self.assertTrue(terminal.until(lambda seen: "[y/N]" in seen))
        terminal.type("n\n")
        self.assertEqual(terminal.end(), 4)
        self.assertEqual(self.data("queue", "stats", "q")["queues"][0]["pending"], 1)
        self.reeve("queue", "drop", "q", item["id"])
        self.assertIsNone(self.data("queue", "peek", "q")["item"])

    def test_a_paused_queue_hands_out_nothing(self):
        self.reeve("queue", "push", "q", "x")
        self.assertIn("x", self.out("queue", "peek", "q"))
        self.reeve("queue", "pause", "q")
        self.assertIn("q is paused", self.err("queue", "take", "q"))
        said = "reeve: waiting: q is paused\nreeve: q is paused"
        self.assertEqual(self.err("queue", "take", "q", "--wait", "2s"), said)
        said = "reeve: waiting: nothing in q, r\nreeve: nothing to take from q, r"
        self.assertEqual(self.err("queue", "take", "q", "r", "--wait", "2s"), said)
        self.assertIn("paused", self.out("queue", "stats", "q"))
        self.reeve("queue", "resume", "q")
        self.assertRegex(self.out("queue", "take", "q", "-q"), r"^item-\w+ \d+$")
        self.error("queue", "show", "q", "item-zzzzzz", code=3)


class Ends(Home):
    def test_a_full_disk_behind_stdout_is_no_success(self):
        for words in (["--version"], ["--help"], ["lock", "list", "--json"], ["queue", "stats", "--json"]):
            with open("/dev/full", "w", encoding="utf-8") as full:
                process = self.start(*words, stdout=full)
                _, err = process.communicate(timeout=60)
            self.assertEqual(process.returncode, 1, words)
            self.assertIn("cannot write the output", err)

    def test_a_reader_that_leaves_ends_us_quietly(self):
        self.reeve("queue", "push", "q", "-", "--lines", text="x" * 200 + "\n" + "y\n" * 5000)
        script = f"{REEVE} queue list q -n 6000 | head -1; echo ${{PIPESTATUS[0]}}"
        done = subprocess.run(["bash", "-c", script], env=self.env, cwd=self.work, text=True,
                              capture_output=True, check=True)
        self.assertIn(done.stdout.split("\n")[1], ("141", "0"))
        self.assertEqual(done.stderr, "")
        follower = self.start("events", "-f")
        self.assertTrue(follower.stdout.readline())
        follower.stdout.close()
        self.until(lambda: follower.poll() is not None, "a follower without a reader stays")
        self.assertEqual(follower.stderr.read(), "")

    def test_colour_follows_the_rules(self):
        self.reeve("lock", "acquire", "main")
        self.assertNotIn("\x1b", self.out("lock", "list"))
        self.assertIn("\x1b", self.out("lock", "list", "--color", "always"))

        def shown(*words, **env):
            terminal = Terminal(self, *words, env=env)
            terminal.end()
            return terminal.seen

        self.assertIn("\x1b[32mheld\x1b[0m", shown("lock", "list"))
        self.assertNotIn("\x1b", shown("lock", "list", NO_COLOR="1"))
        self.assertNotIn("\x1b", shown("lock", "list", TERM="dumb"))
        self.assertNotIn("\x1b", shown("lock", "list", "--color", "never"))

    def test_tables_fit_the_terminal_and_are_whole_in_a_pipe(self):
        self.reeve("lock", "acquire", "l" * 60, "--holder", "h" * 60, "--label", "t" * 60)
        terminal = Terminal(self, "lock", "list", env={"NO_COLOR": "1"})
        terminal.end()
        for line in terminal.seen.rstrip().split("\r\n"):
            self.assertLessEqual(len(line), 80)
        self.assertIn("…", terminal.seen)
        for part in ("l" * 60, "h" * 60, "t" * 60):
            self.assertIn(part, self.out("lock", "list"))


class Everyday(Home):
    def test_what_the_program_says_of_itself_is_there_as_data(self):
        version = json.loads(self.out("--version", "--json"))
        self.assertEqual(self.out("--version"), f"reeve {version['data']['version']}")
        for words in (["help"], ["--help"]):
            all = json.loads(self.out(*words, "--json"))["data"]
            self.assertIn("lock acquire", [command["name"] for command in all["commands"]])
        acquire = json.loads(self.out("lock", "acquire", "--help", "--json"))["data"]
        self.assertEqual(acquire["name"], "lock acquire")
        self.assertIn("wait", [option["name"] for option in acquire["options"]])
        self.assertEqual(acquire, self.data("help", "lock", "acquire"))
        self.assertEqual(json.loads(self.out("lock", "--help", "--json"))["data"]["group"], "lock")
        for shell in ("bash", "zsh", "fish"):
            script = self.data("completion", shell)
            self.assertEqual((script["shell"], script["script"].rstrip("\n")), (shell, self.out("completion", shell)))
        self.assertEqual(self.error("lock", code=2)["code"], "USAGE")
        self.assertIn("124 --timeout", self.out("--help"))

    def test_what_cannot_be_meant_is_refused_with_a_reason(self):
        for words, told in ((["lock", "acquire", " "], "not all blanks"),
                            (["sem", "create", "\t", "--capacity", "2"], "without control characters"),
                            (["queue", "push", "  ", "{}"], "not all blanks"),
                            (["lock", "acquire", "x", "--holder", " "], "holder is not a name"),
                            (["lock", "acquire", "x", "--holder", ""], "--holder wants a name"),
                            (["lock", "acquire", "x", "--holder", "a..b"], "holder is not a name"),
                            (["lock", "acquire", "x", "--wait", "-5s"], '--wait wants a duration such as 30s or 1h30m, not "-5s"'),
                            (["daemon", "run", "--ready-fd", "99"], "--ready-fd 99: no such descriptor"),
                            (["daemon", "run", "--ready-fd", "1x"], "--ready-fd wants a whole number"),
                            (["daemon", "run", "--beanstlak", "x"], "did you mean --beanstalk?"),
                            (["daemon", "run", "now"], 'unexpected argument "now"'),
                            (["daemon", "run", "--home", ""], "--home wants a folder"),
                            (["daemon", "run", "--beanstalk-job-bytes", "1048577"], "from 0 to ")):
            self.assertIn(told, self.err(*words, code=2), words)

    def test_events_are_listed_followed_and_emitted(self):
        self.reeve("lock", "acquire", "main", "--holder", "ana")
        self.assertIn("lock:acquired", self.out("events"))
        follower = self.start("events", "-f", "--json", "--match", "ci:*", "-n", "0")
        time.sleep(0.5)
        self.reeve("emit", "ci:green", "branch=main", "n=1")
        event = json.loads(follower.stdout.readline())
        self.assertEqual((event["name"], event["data"]), ("ci:green", {"branch": "main", "n": "1"}))
        self.stop_daemon(signal.SIGKILL)
        self.reeve("emit", "ci:red")
        self.assertEqual(json.loads(follower.stdout.readline())["name"], "ci:red")
        follower.send_signal(signal.SIGINT)
        self.assertEqual(follower.wait(timeout=60), 130)
        self.reeve("emit", "ci:green", "branch", code=2)
        self.reeve("emit", "lock:acquired", code=2)
        for name in ("a b:c", "a:b c", "a:b\nc", " : "):
            self.assertIn("space", self.err("emit", name, code=2))
        self.reeve("emit", "cd:a branch:green")
        self.reeve("lock", "acquire", "a:b", "--holder", "ana")
        for pattern in ("lock:a:b:acquired", "lock:a:*:acquired"):
            self.assertEqual(self.out("events", "-n", "1", "--match", pattern, "-q"), "lock:acquired")
        self.assertEqual(self.out("events", "-n", "1", "--match", "lock:a:c:acquired", "-q"), "")
        self.reeve("emit", "cd:a:branch:green")
        for pattern in ("***:[", "ci:gr*", "l*:acquired", "lock:**:acquired"):
            self.assertIn("no pattern", self.err("events", "--match", pattern, code=2))
        self.assertEqual(self.out("events", "-n", "1", "--match", "ci:**", "-q"), "ci:red")

    def test_status_shows_what_is_held_and_who_waits(self):
        self.assertIn("nothing is going on", self.out("status"))
        self.reeve("lock", "acquire", "main", "--holder", "ana")
        self.start("lock", "acquire", "main", "--holder", "bo", "--wait")
        self.until(lambda: self.waiting_for("main") == 1)
        self.reeve("sem", "create", "s", "--capacity", "4")
        self.reeve("queue", "push", "q", "x")
        for shown in (self.out("status"), self.out()):
            self.assertRegex(shown, r"main +held +ana .*1: bo")
            self.assertRegex(shown, r"s +░{20} +0 of 4")
            self.assertRegex(shown, r"q +1 +0 +0 +0")
        self.assertEqual(self.data("status")["locks"]["held"], 1)
        terminal = Terminal(self, "status", "-w")
        self.assertTrue(terminal.until(lambda seen: seen.count("LOCK") >= 2))
        terminal.type("\x03")
        self.assertEqual(terminal.end(), 130)

    def test_why_tells_the_chain_and_the_line(self):
        self.reeve("lock", "acquire", "main", "--holder", "ana", "--pid", str(os.getpid()), "--label", "a release")
        self.start("lock", "acquire", "main", "--holder", "bo", "--wait")
        self.until(lambda: self.waiting_for("main") == 1)
        why = self.data("why", "main")
        self.assertEqual(why["waiting_on"][0]["holder"], "ana")
        self.assertEqual(why["line"][0]["holder"], "bo")
        text = self.out("why", "main")
        self.assertIn("held by ana (a release)", text)
        self.assertIn(f"process {os.getpid()}", text)
        self.assertIn("1. bo", text)
        self.error("why", "nothing", code=3)
        self.reeve("queue", "push", "main", "x")
        self.assertIn("--kind", self.err("why", "main", code=2))
        self.reeve("why", "main", "--kind", "queue")
        item = self.data("queue", "push", "jobs", "x")["ids"][0]
        self.assertEqual(self.data("show", item)["kind"], "item")
        self.assertIn("jobs", self.out("show", item))

    def test_projects_have_names_of_their_own(self):
        shop = os.path.join(self.base, "shop")
        os.makedirs(os.path.join(shop, ".git", "worktrees", "fix"))
        with open(os.path.join(shop, ".git", "worktrees", "fix", "commondir"), "w") as file:
            file.write("../..\n")
        tree = os.path.join(self.base, "fix")
        os.makedirs(os.path.join(tree, "src"))
        with open(os.path.join(tree, ".git"), "w") as file:
            file.write(f"gitdir: {shop}/.git/worktrees/fix\n")
        self.reeve("lock", "acquire", "main", "--holder", "ana", cwd=shop)
        self.reeve("lock", "acquire", "main", "--holder", "bo")
        self.reeve("lock", "acquire", "main", "--holder", "bo", cwd=os.path.join(tree, "src"), code=6)
        self.reeve("lock", "acquire", "main", "--holder", "bo", "--project", "shop", code=6)
        self.reeve("lock", "acquire", "main", "--holder", "bo", "--project", shop, code=6)
        self.reeve("lock", "acquire", "main", env={"REEVE_PROJECT": "shop"}, code=6)
        self.assertEqual(self.error("lock", "acquire", "x", "--project", "nowhere", code=3)["code"],
                         "NOT_FOUND")
        self.reeve("lock", "acquire", "//all", "--holder", "ana", cwd=shop)
        self.reeve("lock", "acquire", "//all", "--holder", "bo", code=6)
        self.assertIn(shop, self.out("project", "list"))
        self.assertIn("shop", self.out("project", "list", "-q").split("\n"))

    def test_doctor_finds_what_is_wrong(self):
        self.assertTrue(self.data("doctor")["healthy"])
        os.mkdir(self.home, 0o755)
        found = self.out("doctor", code=1)
        self.assertIn(f"chmod 700 {self.home}", found)

    def spoil(self, name, at):
        path = os.path.join(self.home, "journal", name)
        with open(path, "r+b") as file:
            file.seek(at(file.read()))
            byte = file.read(1)
            file.seek(-1, os.SEEK_CUR)
            file.write(bytes([byte[0] ^ 1]))
        return path

    def test_doctor_looks_at_the_journal(self):
        self.assertRegex(self.out("doctor"), r"ok +journal +none yet")
        for n in range(40):
            self.reeve("queue", "push", "q", f"item {n}")
        self.assertRegex(self.out("doctor"), r"ok +journal +\d+ files?, in use")
        self.stop_daemon(signal.SIGKILL)
        self.assertRegex(self.out("doctor"), r"ok +journal +\d+ files?, whole")
        self.spoil("segment-000000000001", lambda text: text.find(b"item 20"))
        self.reeve("queue", "stats", code=7)
        found = self.out("doctor", code=1)
        self.assertRegex(found, r"bad +journal +.*segment-000000000001.* offset \d+")
        self.assertIn("fix: `reeve journal salvage --to NEW`", found)
        self.assertRegex(found, r"bad +daemon +not running; with this journal it does not start")
        checks = json.loads(self.reeve("--json", "doctor", code=1).stdout)["data"]
        self.assertFalse(checks["healthy"])
        self.assertEqual({check["name"] for check in checks["checks"] if check["state"] == "bad"},
                         {"journal", "daemon"})

    def test_doctor_looks_at_snapshots_whether_a_daemon_runs_or_not(self):
        for text in "ab":
            self.reeve("queue", "push", "q", text)
            self.reeve("daemon", "stop")
        snapshots = sorted(name for name in os.listdir(os.path.join(self.home, "journal")) if name.startswith("snapshot-"))
        self.assertGreater(len(snapshots), 1)
        self.spoil(snapshots[-1], lambda text: len(text) // 2)
        self.assertRegex(self.out("doctor", code=1), rf"bad +journal +.*{snapshots[-1]}")
        self.reeve("queue", "push", "q", "c")
        found = self.out("doctor", code=1)
        self.assertRegex(found, rf"bad +journal +.*{snapshots[-1]}")
        self.assertIn("reeve backup", found)
        self.assertRegex(found, r"ok +daemon +version")

    def test_doctor_looks_where_the_socket_will_be(self):
        os.makedirs(os.path.join(self.home, "reeve.sock"), 0o700)
        os.chmod(self.home, 0o700)
        self.reeve("queue", "stats", code=7)
        self.assertRegex(self.out("doctor", code=1), r"bad +socket +.*reeve.sock is there and is no socket\n +fix: move it")
        open_to_all = os.path.join(self.base, "open")
        os.mkdir(open_to_all)
        os.chmod(open_to_all, 0o777)
        for folder in (open_to_all, os.path.join(self.base, "nothing")):
            env = {"REEVE_SOCKET": os.path.join(folder, "s")}
            self.reeve("queue", "stats", env=env, code=7)
            self.assertRegex(self.out("doctor", env=env, code=1), rf"bad +socket +.*{folder}")

    def test_top_needs_a_terminal_and_gives_it_back(self):
        self.assertIn("needs a terminal", self.err("top", code=2))
        self.reeve("lock", "acquire", "main", "--holder", "ana")
        self.reeve("sem", "create", "s", "--capacity", "2")
        self.reeve("queue", "push", "q", "x")
        for key, code in (("q", 0), ("\x03", 0)):
            terminal = Terminal(self, "top")
            self.assertTrue(terminal.until(lambda seen: "main" in seen and "EVENTS" in seen))
            terminal.resize(10, 40)
            self.assertTrue(terminal.until(lambda seen: seen.count("reeve top") >= 3))
            terminal.type(key)
            self.assertEqual(terminal.end(), code)
            self.assertTrue(terminal.seen.startswith("\x1b[?1049h"))
            self.assertIn("\x1b[?25h\x1b[?1049l", terminal.seen)


class Daemon(Home):
    def test_it_is_started_when_needed_and_stopped_when_told(self):
        self.reeve("daemon", "status", code=7)
        self.assertEqual(self.out("daemon", "stop"), "no daemon was running")
        began = time.monotonic()
        self.reeve("lock", "acquire", "x", "--holder", "ana", "--timeout", "1h")
        took = time.monotonic() - began
        print(f"first command, with the daemon's start: {took * 1000:.0f} ms")
        self.assertLess(took, 30)
        status = self.data("daemon", "status")
        self.assertEqual((status["home"], status["pid"]), (self.home, self.daemon_pid()))
        self.assertIn("serving", self.out("daemon", "status"))
        self.assertIn("the daemon is running", self.out("daemon", "start"))
        self.assertIn("started", self.out("daemon", "restart"))
        self.assertNotEqual(self.daemon_pid(), status["pid"])
        self.assertEqual(self.data("lock", "show", "x")["holder"], "ana")
        self.assertIn("ready", self.out("daemon", "logs"))
        self.assertEqual(self.out("daemon", "stop"), "the daemon stopped")
        self.reeve("daemon", "status", code=7)

    def test_where_the_home_is(self):
        def home(**env):
            told = self.err("daemon", "status", env={"REEVE_HOME": "", "HOME": self.base, **env}, code=7)
            return re.search(r"no daemon is running in (\S+);", told)[1]

        self.assertEqual(home(), f"{self.base}/.local/state/reeve")
        self.assertEqual(home(XDG_STATE_HOME=f"{self.base}/state"), f"{self.base}/state/reeve")
        self.assertEqual(home(XDG_STATE_HOME="state"), f"{self.base}/.local/state/reeve")
        self.assertEqual(home(XDG_STATE_HOME="state", REEVE_HOME=self.home), self.home)
        # The daemon itself finds the same.
        env = {**self.env, "HOME": self.base, "XDG_STATE_HOME": "state"}
        del env["REEVE_HOME"]
        daemon = subprocess.Popen([REEVE, "daemon", "run"], env=env, cwd=self.work,
                                  stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.addCleanup(daemon.wait)
        self.addCleanup(daemon.terminate)
        self.until(lambda: os.path.exists(f"{self.base}/.local/state/reeve/reeve.sock"))
        self.assertEqual(os.listdir(self.work), [])

    def test_run_knows_the_options_of_every_command(self):
        self.assertEqual(self.error("daemon", "run", "--beanstalk", "0.0.0.0:1", code=2)["code"], "USAGE")
        self.reeve("daemon", "start")
        refused = self.error("daemon", "run", "-q", "--color", "never", "--time", "iso", code=1)
        self.assertEqual(refused["code"], "FAILED")
        self.assertIn("a daemon already runs", refused["message"])
        self.assertRegex(self.out("daemon", "run", "--version"), r"^reeve \d")

    def test_stop_waits_for_a_daemon_that_does_not_listen_yet_or_no_longer(self):
        os.mkdir(self.home, 0o700)
        with open(os.path.join(self.home, "daemon.lock"), "w", encoding="utf-8") as file:
            json.dump({"pid": os.getpid()}, file)
            file.flush()
            fcntl.flock(file, fcntl.LOCK_EX)
            stop = self.start("daemon", "stop")
            time.sleep(0.5)
            self.assertIsNone(stop.poll())
        self.assertEqual(stop.communicate(timeout=20), ("no daemon was running\n", ""))
        os.unlink(os.path.join(self.home, "daemon.lock"))

    def test_stop_does_not_wait_for_whoever_buries_the_dead(self):
        daemon = self.start("daemon", "run", "--home", self.home)
        self.until(lambda: os.path.exists(os.path.join(self.home, "reeve.sock")))
        began = time.monotonic()
        self.assertEqual(self.out("daemon", "stop"), "the daemon stopped")
        self.assertLess(time.monotonic() - began, 30)
        self.assertEqual(daemon.wait(timeout=10), 0)

    def test_two_that_start_at_once_are_served_by_one(self):
        starters = [self.start("queue", "push", "q", str(n)) for n in range(12)]
        for starter in starters:
            _, err = starter.communicate(timeout=60)
            self.assertEqual(starter.returncode, 0, err)
        self.assertEqual(self.data("queue", "stats", "q")["queues"][0]["pending"], 12)
        logged = self.out("daemon", "logs", "-n", "1000")
        self.assertEqual(len(re.findall(r"ready after", logged)), 1)

    def test_what_to_try_next_is_about_the_home_that_was_named(self):
        self.home = other = os.path.join(self.base, "an other")
        told = f"`reeve --home '{other}' "
        self.assertIn(told + "daemon start`", self.err("--home", other, "daemon", "status", code=7))
        for n in range(10):
            self.reeve("--home", other, "queue", "push", "q", f"item {n}")
        self.reeve("--home", other, "lock", "acquire", "main")
        self.assertIn(told + "lock acquire main --wait`", self.err("--home", other, "lock", "acquire", "main", code=6))
        os.kill(self.data("daemon", "status", "--home", other)["pid"], signal.SIGKILL)
        path = os.path.join(other, "journal", "segment-000000000001")
        with open(path, "rb") as file:
            whole = file.read()
        with open(path, "wb") as file:
            file.write(whole.replace(b"item 5", b"item 6", 1))
        refused = self.err("--home", other, "queue", "stats", code=7)
        self.assertIn(told + "journal verify`", refused)
        self.assertIn(told + "journal salvage --to NEW`", refused)
        self.assertIn(told + "journal salvage --to NEW`", self.out("--home", other, "journal", "verify", code=1))
        self.assertIn(told + "journal salvage --to NEW`", self.out("--home", other, "doctor", code=1))
        # Where the environment names it, it will name it for the next command too.
        self.assertIn("`reeve journal verify`", self.err("queue", "stats", env={"REEVE_HOME": other}, code=7))

    def test_its_own_error_is_shown_if_it_cannot_start(self):
        os.mkdir(self.home, 0o755)
        error = self.error("lock", "list", code=7)
        self.assertEqual(error["code"], "UNAVAILABLE")
        self.assertRegex(error["message"], r"the daemon did not start: .*home")
        os.rmdir(self.home)
        with open(self.home, "w", encoding="utf-8"):
            pass
        self.reeve("lock", "list", code=7)
        os.unlink(self.home)

    def test_a_socket_path_may_be_long(self):
        self.home = os.path.join(self.base, "d" * 100, "e" * 100)
        os.makedirs(os.path.dirname(self.home), 0o700)
        self.env["REEVE_HOME"] = self.home
        self.reeve("lock", "acquire", "x")
        self.assertEqual(self.out("lock", "list", "-q"), "x")

    @unittest.skipUnless(os.geteuid() == 0, "needs two users")
    def test_a_daemon_of_somebody_else_is_told_nothing(self):
        theirs = os.path.join(self.base, "theirs")
        os.mkdir(theirs, 0o700)
        os.chown(theirs, 65534, 65534)
        os.chmod(self.base, 0o755)
        # Where we were built may be closed to others.
        reeve = shutil.copy(REEVE, os.path.join(self.base, "reeve"))
        subprocess.run([reeve, "--home", theirs, "daemon", "start"], user=65534, group=65534,
                       env=self.env, cwd="/", check=True, capture_output=True)
        try:
            message = self.err("--home", theirs, "lock", "list", code=7)
            self.assertIn("belongs to user 65534", message)
        finally:
            subprocess.run([reeve, "--home", theirs, "daemon", "stop"], user=65534, group=65534,
                           env=self.env, cwd="/", check=True, capture_output=True)

    def test_a_request_is_carried_out_once_though_the_daemon_dies(self):
        """Killed again and again while items are pushed: every acknowledged one is there, once."""
        pushers = [
            self.start("queue", "push", "q", "-", "--lines", "-q", stdin=subprocess.PIPE)
            for _ in range(2)
        ]
        for _ in range(3):
            for pusher in pushers:
                pusher.stdin.write("\n".join("x" * 20 for _ in range(3000)) + "\n")
                pusher.stdin.flush()
            time.sleep(0.1)
            self.stop_daemon(signal.SIGKILL)
        ids = []
        for pusher in pushers:
            out, err = pusher.communicate(timeout=60)
            self.assertEqual(pusher.returncode, 0, err)
            ids += out.split()
        self.assertEqual(len(ids), 18000)
        self.assertEqual(len(set(ids)), 18000)
        self.assertEqual(self.data("queue", "stats", "q")["queues"][0]["pending"], 18000)


if __name__ == "__main__":
    unittest.main()
