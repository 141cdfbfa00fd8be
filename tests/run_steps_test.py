"""Runs whose steps are programs that really run."""

import json
import os
import re
import signal
import time
import unittest

from reeve_testing import Terminal
from run_testing import Project

STEPS = """
    [command.go]
    args = "<how>"
    run  = { pipeline = "go" }

    [pipeline.go]
    inputs = ["how"]
    [[pipeline.go.phase]]
    name = "first"
    run  = "echo first of {how}; echo value=$REEVE_PHASE-{how} >> $REEVE_OUTPUT; reeve checkpoint 'begun {how}'"
    [[pipeline.go.phase]]
    name = "second"
    pre  = ["ready"]
    lock = "main"
    run  = "echo second {first.value} $REEVE_FENCE; while [ -e hold ]; do sleep 0.05; done"
    [guard.ready]
    condition = "echo looking for ready; test -e ready"
    retry     = { max = 1000, interval = "100ms" }
    [lock.main]

    [command.fail]
    run = { pipeline = "fail" }
    [pipeline.fail]
    on_fail = "fail"
    [[pipeline.fail.phase]]
    name  = "work"
    run   = "echo nope >&2; exit 3"
    retry = { max = 1, delay = "1h" }

    [command.word]
    args = "<word>"
    run  = { pipeline = "word" }
    [pipeline.word]
    inputs  = ["word"]
    on_fail = "fail"
    [[pipeline.word.phase]]
    name = "say"
    run  = "if [ {word} = good ]; then reeve done; exit 9; else reeve done --error {word}; fi"

    [command.ask]
    run = { pipeline = "ask" }
    [pipeline.ask]
    on_fail = "fail"
    [[pipeline.ask.phase]]
    name = "ask"
    run  = "reeve ask 'Publish?' --option yes --option no > answer.txt"
    [[pipeline.ask.phase]]
    name = "use"
    run  = "echo {ask.answer} > used.txt"

    [command.slots]
    run = { pipeline = "slots" }
    [pipeline.slots]
    [[pipeline.slots.phase]]
    name      = "work"
    semaphore = { name = "room", weight = 2 }
    run       = "true"
    [semaphore.room]
    capacity = 2

    [command.chain]
    args = "<after>"
    run  = { pipeline = "chain" }
    [pipeline.chain]
    inputs = ["after"]
    after  = ["{after}"]
    [[pipeline.chain.phase]]
    name = "only"
    run  = "true"
"""


class Steps(Project):
    """With programs that really run."""

    def setUp(self):
        super().setUp()
        self.write(STEPS)

    def touch(self, name):
        with open(os.path.join(self.work, name), "w", encoding="utf-8"):
            pass

    def read(self, name):
        with open(os.path.join(self.work, name), encoding="utf-8") as file:
            return file.read()

    def test_a_guard_a_lock_outputs_checkpoints_and_logs(self):
        id = self.run_id("go", "x")
        self.until(lambda: "looking for ready" in self.out("why", id))
        why = self.out("why", id)
        self.assertIn("guard ready since", why)
        self.assertIn("| looking for ready", why)
        self.assertIn("next: guard ready is ", why)
        self.reeve("lock", "acquire", "main", "--holder", "ben", "--label", "by hand")
        self.touch("ready")
        self.blocked(id, "lock")
        why = self.out("why", id)
        self.assertIn("lock main held by ben", why)
        self.touch("hold")
        self.reeve("lock", "release", "main", "--holder", "ben")
        self.until(lambda: self.data("show", id)["state"] == "running")
        following = self.start("logs", id, "-f", "--phase", "second")
        second = self.run_id("go", "y")
        self.blocked(second, "lock")
        why = self.out("why", second)
        self.assertIn(f"lock main held by {id}", why)
        self.assertRegex(why, rf"phase second of {id} \(go\) since .*, process [0-9]+\n")
        link = self.data("why", second)["waiting_on"][-1]
        with open(f"/proc/{link['pid']}/cmdline", "rb") as file:
            self.assertRegex(file.read(), b"(?s)^bash\0.*second")
        self.assertIn(id, self.out("status"))
        waits = {run["id"]: run.get("blocked_on", {}).get("name") for run in self.data("status")["runs"]}
        self.assertEqual(waits, {id: None, second: "main"})
        os.remove(os.path.join(self.work, "hold"))
        self.assertEqual(self.data("wait", id, second)["pipelines"][1]["state"], "done")
        shown = self.data("show", id)
        self.assertEqual(shown["outputs"], {"first": {"value": "first-x"}})
        self.assertEqual(shown["checkpoints"][0]["message"], "begun x")
        logs = self.reeve("logs", id)
        self.assertRegex(logs.stdout, r"^first of x\nsecond first-x \d+\n$")
        self.assertRegex(logs.stderr, "first#1:\nsecond#1:\n$")
        self.assertRegex(following.communicate(timeout=10)[0], r"^second first-x \d+\n$")
        self.assertIn("looking for ready", self.out("logs", id, "--guards"))
        for words, told in ((["--attempt", "2"], "has no attempt 2; there is 1"),
                            (["--phase", "secnod"], 'no phase "secnod"; did you mean "second"?'),
                            (["--phase", "zzz"], 'no phase "zzz"; it has first, second'),
                            (["--phase", "second", "--attempt", "9"], "no attempt 9 of second; there is 1")):
            self.assertIn(told, self.err("logs", id, *words, code=3))

    def test_a_backoff_is_shown_and_cut_short(self):
        id = self.run_id("fail")
        self.blocked(id, "backoff")
        why = self.out("why", id)
        self.assertIn("it failed: exit code 3", why)
        self.assertRegex(why, "next: phase work is tried again, in (1h|59m)")
        self.assertIn("running", self.out("resume", id))
        self.until(lambda: self.out("logs", id) == "nope\nnope")
        self.assertEqual(self.out("logs", id, "--attempt", "2"), "nope")
        self.blocked(id, "backoff")

    def test_a_paused_run_goes_on_from_another_phase(self):
        self.write("""
            [command.twice]
            run = { pipeline = "twice" }
            [pipeline.twice]
            [[pipeline.twice.phase]]
            name = "a"
            run  = "echo a >> out; until [ -e free ]; do sleep 0.02; done"
            [[pipeline.twice.phase]]
            name = "b"
            run  = "echo b >> out"
            max_visits = 1
        """, "twice.toml")
        id = self.run_id("twice")
        self.until(lambda: os.path.exists(os.path.join(self.work, "out")))
        self.reeve("pause", id)
        self.touch("free")
        self.blocked(id, "paused")
        self.assertIn("running", self.out("resume", id, "--from", "a"))
        self.reeve("wait", id, "--timeout", "30s")
        with open(os.path.join(self.work, "out"), encoding="utf-8") as file:
            self.assertEqual(file.read(), "a\na\nb\n")
        self.assertEqual(self.data("show", id)["phases"][1]["visits"], 1)
        self.assertNotIn("(entered", self.out("show", id))

    def test_a_running_one_that_is_sent_elsewhere_says_what_it_waits_for(self):
        self.write("""
            [command.deaf]
            run = { pipeline = "deaf" }
            [pipeline.deaf]
            [[pipeline.deaf.phase]]
            name = "one"
            run  = "trap '' TERM; touch began; until [ -e free ]; do sleep 0.02; done"
            [[pipeline.deaf.phase]]
            name = "two"
            run  = "echo two >> out"
        """, "deaf.toml")
        id = self.run_id("deaf")
        self.until(lambda: os.path.exists(os.path.join(self.work, "began")))
        self.assertIn("running in one; two comes when that has ended", self.out("resume", id, "--from", "two"))
        self.touch("free")
        self.reeve("wait", id, "--timeout", "30s")
        with open(os.path.join(self.work, "out"), encoding="utf-8") as file:
            self.assertEqual(file.read(), "two\n")

    def test_a_semaphore_and_a_dependency_are_shown(self):
        self.touch("ready")
        self.run_id("slots")
        self.until(lambda: not self.data("pipeline", "list", "--active")["pipelines"])
        self.reeve("sem", "acquire", "room", "--holder", "ben")
        id = self.run_id("slots")
        self.blocked(id, "semaphore")
        self.assertIn("sem room held by ben", self.out("why", id))
        chained = self.run_id("chain", id)
        self.blocked(chained, "dependency")
        why = self.out("why", chained)
        self.assertIn(f"dependency {id}", why)
        self.assertIn("sem room held by ben", why)
        self.reeve("sem", "release", "room", "--holder", "ben")
        self.out("wait", chained)
        self.assertIn("NOT_FOUND", self.error("run", "chain", "pipe-zzzzzz", code=3)["code"])

    def test_a_steps_own_word_counts(self):
        self.assertEqual(self.data("run", "word", "good", "--wait")["state"], "done")
        failed = self.error("run", "word", "bad luck", "--wait", code=1)
        self.assertEqual(failed["code"], "FAILED")
        self.assertIn("failed in say: bad luck", failed["message"])
        self.assertIn("bad luck", failed["details"]["error"])

    def test_a_step_asks_and_the_answer_is_its_output(self):
        id = self.run_id("ask")
        on = self.blocked(id, "decision")["blocked_on"]
        self.out("decision", "resolve", on["name"], "--choice", "no")
        self.out("wait", id)
        self.assertEqual((self.read("answer.txt"), self.read("used.txt")), ("no\n", "no\n"))

    def test_a_run_is_cancelled_paused_resumed_and_followed(self):
        self.touch("ready")
        self.touch("hold")
        id = self.run_id("go", "x")
        self.until(lambda: self.data("show", id).get("phase") == "second")
        self.until(lambda: self.data("show", id)["state"] == "running")
        self.assertIn("cancelled", self.out("cancel", id))
        self.assertEqual(self.data("lock", "show", "main")["state"], "free")
        os.remove(os.path.join(self.work, "hold"))
        followed = self.out("run", "go", "z", "--follow")
        for part in ("pipeline:started", "phase=first", "phase=second", "pipeline:complete", "go done"):
            self.assertIn(part, followed)
        os.remove(os.path.join(self.work, "ready"))
        id = self.run_id("go", "w")
        self.blocked(id, "guard")
        self.out("pause", id)
        self.blocked(id, "paused")
        self.touch("ready")
        self.out("resume", id)
        self.out("wait", id)
        self.assertEqual(self.error("resume", id, code=5)["code"], "NOT_ALLOWED")

    def test_one_that_is_paused_says_so_while_it_finishes_its_phase(self):
        self.touch("ready")
        self.touch("hold")
        id = self.run_id("go", "x")
        self.until(lambda: self.data("show", id).get("holds"))
        self.out("pause", id)
        later = "when this phase has ended"
        self.assertRegex(self.out("show", id), rf"paused +{later}; `reeve resume {id}` takes that back")
        self.assertIn(f"next: it is paused {later}", " ".join(self.out("why", id).split()))
        self.assertIn(f"paused {later}", self.out("status"))
        self.out("resume", id)
        self.assertNotIn(later, self.out("show", id) + self.out("why", id))
        self.out("cancel", id)

    def test_a_run_that_is_paused_is_told_without_a_blank_too_many(self):
        id = self.run_id("go", "x")
        self.blocked(id, "guard")
        self.out("pause", id)
        self.blocked(id, "paused")
        self.assertIn("paused: somebody paused it", self.out("status"))
        self.out("cancel", id)

    def test_who_waits_for_a_run_is_told_which_it_was(self):
        self.touch("ready")
        told = self.data("run", "go", "x", "--wait")
        self.assertRegex(told["pipeline"], "^pipe-")
        self.assertEqual((told["name"], told["state"]), ("go", "done"))

    def test_a_step_asks_how_its_run_is(self):
        self.write("""
            [command.beat]
            run = { pipeline = "beat" }
            [pipeline.beat]
            [[pipeline.beat.phase]]
            name = "only"
            run  = '''
            trap '' TERM
            for each in first second third; do
              while [ ! -e $each ]; do sleep 0.05; done
              reeve heartbeat --json > $each.json 2> $each.err; echo $? > $each.code
              reeve heartbeat > $each.out 2>&1; touch $each.done
            done
            '''
        """, "beat.toml")

        def beat(name):
            self.touch(name)
            self.until(lambda: os.path.exists(os.path.join(self.work, name + ".done")))
            return json.loads(self.read(name + ".json"))["data"], self.read(name + ".code").strip(), self.read(name + ".out")

        id = self.run_id("beat")
        self.assertEqual(beat("first"), ({"id": id, "over": False, "paused": False}, "0", ""))
        self.out("pause", id)
        told, code, said = beat("second")
        self.assertEqual((told["paused"], code), (True, "0"))
        self.assertIn(f"{id} is paused", said)
        self.reeve("cancel", id, "--no-wait")
        told, code, said = beat("third")
        self.assertEqual((told["over"], code), (True, "4"))
        self.assertIn(f"{id} is over", said)
        self.reeve("wait", id, "--for", "done")
        self.assertIn("$REEVE_PIPELINE", self.err("heartbeat", code=2))

    SAYING = """
        [command.say]
        run = { pipeline = "say" }
        [pipeline.say]
        [[pipeline.say.phase]]
        name = "one"
        run  = "printf 'no newline'"
        [[pipeline.say.phase]]
        name = "two"
        run  = "echo first; until [ -e go-on ]; do sleep 0.05; done; echo last"
    """

    def test_who_follows_sees_what_is_said_between_what_happens(self):
        self.write(self.SAYING, "say.toml")
        with open(os.path.join(self.base, "seen"), "w", encoding="utf-8") as out:
            following = self.start("run", "say", "--follow", stdout=out)
        seen = lambda: self.read(os.path.join(self.base, "seen")).splitlines()
        try:
            # What is said is there while the program goes on.
            self.until(lambda: "first" in seen(), "what is said is not seen")
        finally:
            self.touch("go-on")
            err = following.communicate(timeout=60)[1]
        self.assertEqual(following.returncode, 0)
        seen = seen()
        for parts in (("no newline", "phase=two", "pipeline:complete"),
                      ("phase=one", "phase=two", "last", "pipeline:complete", "say done"),
                      ("no newline", "first", "last")):
            at = [next(n for n, line in enumerate(seen) if part in line) for part in parts]
            self.assertEqual(sorted(at), at, seen)
        self.assertIn("no newline", seen)
        for head in ("one#1:", "two#1:"):
            self.assertIn(head, err.splitlines())
        id = seen[-1].split()[0]
        self.assertIn(f"`reeve logs {id}`", err)
        # For programs both are objects, and the one that has a text was said.
        lines = [json.loads(line) for line in self.out("run", "say", "--follow", "--json").splitlines()]
        said = [(line["label"], line["text"]) for line in lines if "text" in line]
        self.assertEqual(said[0], ("one#1", "no newline"))
        self.assertEqual("".join(text for label, text in said if label == "two#1"), "first\nlast\n")
        self.assertIn("pipeline:complete", [line.get("name") for line in lines])

    def test_on_eighty_columns_no_word_and_no_command_is_broken(self):
        self.write("""
            [command.long]
            run = { pipeline = "long" }
            [pipeline.long]
            [[pipeline.long.phase]]
            name = "work"
            run  = "echo What the program has to say is rather long, so it takes more than one line of a terminal; exit 3"
        """, "long.toml")
        id = self.run_id("long")
        ask = self.blocked(id, "decision")["blocked_on"]["name"]
        self.assertEqual(self.out("events", "--match", "escalate", "-q"), "escalate")
        for words in (["why", id], ["decision", "show", ask], ["show", id]):
            terminal = Terminal(self, *words)
            self.assertEqual(terminal.end(), 0)
            seen = re.sub("\x1b\\[[0-9;]*m", "", terminal.seen).rstrip().split("\r\n")
            for line in seen:
                self.assertLessEqual(len(line), 80, seen)
            # Everything that a pipe gets is there, word by word.
            text = " ".join(" ".join(seen).replace(" | ", " ").split())
            piped = " ".join(self.out(*words).replace(" | ", " ").split())
            self.assertEqual(re.sub(r"\d+s ago|just now|now", "T", text), re.sub(r"\d+s ago|just now|now", "T", piped))
            if words[0] != "show":
                command = f"reeve decision resolve {ask}"
                self.assertTrue(any(command in line for line in seen), seen)

    def test_what_ended_within_a_line_is_ended_before_the_next_heading(self):
        self.write(self.SAYING, "say.toml")
        self.touch("go-on")
        id = self.data("run", "say", "--wait")["id"]
        self.assertEqual(self.out("logs", id), "no newline\nfirst\nlast")

    def test_what_runbooks_define_and_nobody_started_has_its_place_in_the_lists(self):
        self.write("""
            [queue.q]
            [worker.w]
            queue   = "q"
            handler = "pipeline.p"
            [pipeline.p]
            inputs = ["x"]
            [[pipeline.p.phase]]
            name = "a"
            run  = "true"
            [cron.c]
            interval = "1h"
            run = "until [ -e go-on ]; do sleep 0.05; done"
        """, "lists.toml")
        self.assertRegex(self.out("worker", "list"), r"PENDING +WHERE\nw +defined +- +- +- +- +\S*lists.toml$")
        self.assertRegex(self.out("cron", "list"), r"RUNS +WHERE\nc +defined +- +- +- +- +\S*lists.toml$")
        self.out("worker", "start", "w")
        self.assertNotIn("WHERE", self.out("worker", "list"))
        self.out("cron", "enable", "c")
        started = self.out("cron", "run", "c")
        fired = json.loads(self.out("events", "--match", "cron:fired", "-n", "1", "--json"))
        shown = self.out("cron", "list")
        self.touch("go-on")
        self.until(lambda: not self.data("cron", "list")["crons"][0]["running"])
        self.assertIn("started its program", started)
        self.assertRegex(fired["data"]["run"], r"^\d+-\d+$")
        self.assertRegex(shown, r"c +enabled .* a program$")

    def test_how_the_last_run_of_a_cron_ended_is_kept_with_it(self):
        self.write(
            """
            [cron.nightly]
            interval = "12h"
            run = "exit 3"
            """
        )
        self.data("cron", "enable", "nightly")
        self.assertNotIn("ended", self.data("cron", "show", "nightly"))
        self.data("cron", "run", "nightly")
        self.until(lambda: "ended" in self.data("cron", "show", "nightly"))
        ended = self.data("cron", "show", "nightly")["ended"]
        self.assertEqual((ended["ending"], ended["exit_code"]), ("failed", 3))
        for words in [("cron", "list"), ("cron", "show", "nightly"), ("status",)]:
            self.assertIn("failed (exit 3)", self.out(*words))

    def test_when_a_cron_fired_last_is_known_after_it_was_disabled(self):
        self.write("""
            [cron.c]
            interval = "1s"
            run = "true"
        """, "last.toml")
        self.out("cron", "enable", "c")
        self.until(lambda: "last" in self.data("cron", "list")["crons"][0])
        self.out("cron", "disable", "c")
        self.assertIn("last", self.data("cron", "list")["crons"][0])

    def test_a_run_that_there_is_none_of_is_looked_for_among_runs(self):
        for words in (["cancel", "nope"], ["wait", "nope"], ["show", "pipe-zzzzzz"]):
            self.assertNotIn("runbook list", self.err(*words, code=3))
        self.assertIn("`reeve pipeline list`", self.err("cancel", "nope", code=3))
        id = self.run_id("fail")
        self.assertIn("nothing was cancelled", self.err("cancel", id, "nope", code=3))
        self.assertNotEqual(self.data("show", id)["state"], "cancelled")

    def test_what_a_runbook_lets_through_reaches_a_step_and_never_the_journal(self):
        self.write("""
            [command.env]
            run = { pipeline = "env" }
            [pipeline.env]
            on_fail  = "fail"
            pass_env = ["TRACKER_URL"]
            secret   = ["TRACKER_TOKEN"]
            [[pipeline.env.phase]]
            name = "show"
            run  = "echo [$TRACKER_URL] [${#TRACKER_TOKEN}] [$OTHER] [$REEVE_SECRETS]"
        """, "env.toml")
        env = {"TRACKER_URL": "http://tracker", "TRACKER_TOKEN": "hunter2hunter2", "OTHER": "no"}
        id = json.loads(self.reeve("--json", "run", "env", "--wait", env=env).stdout)["data"]["id"]
        self.assertEqual(self.out("logs", id), "[***] [14] [] []")
        self.stop_daemon()
        journal = os.path.join(self.home, "journal")
        for folder, _, files in os.walk(journal if os.path.isdir(journal) else self.home):
            for name in files:
                if "/secrets" in folder:
                    self.assertEqual(os.stat(os.path.join(folder, name)).st_mode & 0o777, 0o600)
                    continue
                with open(os.path.join(folder, name), "rb") as file:
                    text = file.read()
                self.assertNotIn(b"hunter2", text, name)
                self.assertNotIn(b"http://tracker", text, name)

    def test_of_what_is_let_through_a_run_sees_what_its_own_definition_names(self):
        self.write("""
            [command.all]
            run = { pipeline = "all" }
            [pipeline.all]
            on_fail = "fail"
            [[pipeline.all.phase]]
            name = "first"
            run  = "echo parent ${#TOKEN} ${#URL}"
            [[pipeline.all.phase]]
            name     = "both"
            parallel = ["kid", "sibling"]
            [pipeline.kid]
            secret   = ["TOKEN"]
            [[pipeline.kid.phase]]
            name = "x"
            pre  = ["knows"]
            run  = "echo kid ${#TOKEN} ${#URL}"
            [pipeline.sibling]
            pass_env = ["URL"]
            [[pipeline.sibling.phase]]
            name = "x"
            run  = "echo sibling ${#TOKEN} ${#URL}"
            [guard.knows]
            condition = "[ ${#TOKEN} = 14 ]"
        """, "all.toml")
        env = {"TOKEN": "hunter2hunter2", "URL": "http://x"}
        id = json.loads(self.reeve("--json", "run", "all", "--wait", env=env).stdout)["data"]["id"]
        said = sorted(self.out("logs", id).splitlines())
        self.assertEqual(said, ["kid 14 0", "parent 0 0", "sibling 0 8"])

    def test_what_a_step_says_itself_has_none_of_its_secrets(self):
        self.write("""
            [command.say]
            run = { pipeline = "say" }
            [pipeline.say]
            on_fail = "fail"
            secret  = ["TRACKER_TOKEN"]
            [[pipeline.say.phase]]
            name = "say"
            run  = '''
            reeve checkpoint "at $TRACKER_TOKEN"
            reeve emit my:event "token=$TRACKER_TOKEN"
            reeve task add "with $TRACKER_TOKEN" --note "and $TRACKER_TOKEN" >/dev/null
            reeve ask --no-wait "is $TRACKER_TOKEN right?" --option "$TRACKER_TOKEN" --option no >/dev/null
            reeve done --error "cannot reach https://me:$TRACKER_TOKEN@host"
            '''
        """, "say.toml")
        env = {"TRACKER_TOKEN": "hunter2hunter2"}
        self.reeve("run", "say", "--wait", env=env, code=1)
        id = self.data("pipeline", "list", "--state", "failed")["pipelines"][0]["id"]
        shown = self.out("show", id)
        self.assertIn("cannot reach https://me:***@host", shown)
        self.assertIn("at ***", json.dumps(self.data("show", id)))
        self.assertIn("is *** right?", self.out("decision", "list"))
        self.assertIn("token=***", self.out("events", "--match", "my:**"))
        self.assertIn("with ***", self.out("task", "list"))
        self.stop_daemon()
        for folder, _, files in os.walk(self.home):
            for name in files if not folder.endswith("/secrets") else []:
                with open(os.path.join(folder, name), "rb") as file:
                    self.assertNotIn(b"hunter2", file.read(), name)

    def test_a_run_goes_on_when_the_daemon_is_killed(self):
        self.touch("ready")
        self.touch("hold")
        id = self.run_id("go", "x")
        self.until(lambda: self.data("show", id).get("phase") == "second")
        waiting = self.start("wait", id)
        time.sleep(0.2)
        self.stop_daemon(signal.SIGKILL)
        self.assertEqual(self.data("show", id)["phase"], "second")
        os.remove(os.path.join(self.work, "hold"))
        self.assertEqual(waiting.wait(20), 0)
        self.assertEqual(self.out("logs", id).count("first of x"), 1)


class ForPrograms(Project):
    """What is said about a run with --json."""

    def setUp(self):
        super().setUp()
        self.write("""
            [command.notes]
            run = { pipeline = "notes" }
            [pipeline.notes]
            on_fail = "fail"
            [[pipeline.notes.phase]]
            name = "note"
            run  = "reeve checkpoint 'half of it' --json > checkpoint"
            [[pipeline.notes.phase]]
            name = "say"
            run  = "reeve done --error 'not today' --json > done"

            [command.held]
            run = { pipeline = "held" }
            [pipeline.held]
            on_fail = "fail"
            [[pipeline.held.phase]]
            name = "work"
            run  = "echo one; echo two; until [ -e free ]; do sleep 0.02; done; exit 3"

            [command.later]
            args = "<first>"
            run  = { pipeline = "later" }
            [pipeline.later]
            inputs = ["first"]
            after  = ["{first}"]
            [[pipeline.later.phase]]
            name = "work"
            run  = "true"
        """)

    def envelope(self, text, command, success=True):
        """What is in the one that the text is."""
        lines = text.splitlines()
        self.assertEqual(len(lines), 1, text)
        answer = json.loads(lines[0])
        inner = "data" if success else "error"
        self.assertEqual(set(answer), {"success", "command", inner})
        self.assertEqual((answer["success"], answer["command"]), (success, command))
        return answer[inner]

    def told(self, command, *words, code=0):
        """What is in the envelope of a command."""
        text = self.reeve(*command.split(), *words, "--json", code=code).stdout
        return self.envelope(text, command, success=code == 0)

    def test_each_says_one_envelope_with_its_own_name(self):
        held = self.run_id("held")
        self.until(lambda: self.out("logs", held) == "one\ntwo")
        self.assertEqual([run["id"] for run in self.told("status")["runs"]], [held])
        for command in ("show", "why", "pipeline show"):
            self.assertEqual(self.told(command, held)["id"], held, command)
        self.assertEqual(self.told("pipeline checkpoint", held, "half of it")["id"], held)
        self.assertEqual([each["message"] for each in self.told("show", held)["checkpoints"]], ["half of it"])
        # What is a stream is lines of JSON, without an envelope.
        lines = [json.loads(line) for line in self.out("logs", held, "--json").splitlines()]
        self.assertEqual({line["label"] for line in lines}, {"work#1"})
        self.assertEqual("".join(line["text"] for line in lines), "one\ntwo\n")

        later = self.run_id("later", held)
        self.blocked(later, "dependency")
        self.assertEqual(self.told("pipeline unblock", later)["id"], later)
        over = self.told("wait", later)
        self.assertEqual((over["id"], over["state"]), (later, "done"))

        self.put("free", "")
        failed = self.told("wait", held, code=1)
        self.assertEqual((failed["code"], failed["details"]["id"]), ("FAILED", held))
        again = self.told("pipeline retry", held)
        self.assertEqual((again["id"], again["attempt"]), (held, 2))
        self.told("wait", held, code=1)
        os.remove(os.path.join(self.work, "free"))
        again = self.told("resume", held)
        self.assertEqual((again["id"], again["attempt"]), (held, 3))
        ended = self.told("cancel", held)
        self.assertEqual((ended["id"], ended["state"]), (held, "cancelled"))

    def test_also_within_a_step(self):
        id = self.run_id("notes")
        self.assertIn("not today", self.told("wait", id, code=1)["message"])
        for command, phase in (("checkpoint", "note"), ("done", "say")):
            with open(os.path.join(self.work, command), encoding="utf-8") as file:
                said = self.envelope(file.read(), command)
            self.assertEqual((said["id"], said["phase"]), (id, phase))


if __name__ == "__main__":
    unittest.main()
