"""Runbooks and what runs of them, as people and scripts meet it."""

import json
import os
import re
import shlex
import signal
import textwrap
import time
import unittest

from reeve_testing import Home, Terminal


class Project(Home):
    """A project with runbooks in it."""

    def setUp(self):
        super().setUp()
        os.makedirs(os.path.join(self.work, ".reeve/runbooks"))

    def write(self, text, name="test.toml"):
        path = os.path.join(self.work, ".reeve/runbooks", name)
        with open(path, "w", encoding="utf-8") as file:
            file.write(textwrap.dedent(text))
        return path

    def put(self, name, text):
        with open(os.path.join(self.work, name), "w", encoding="utf-8") as file:
            file.write(text)

    def blocked(self, id, kind):
        def look():
            shown = self.data("pipeline", "show", id)
            return shown if shown.get("blocked_on", {}).get("kind") == kind else None

        return self.until(look, f"{id} is not blocked on {kind}: {self.out('why', id)}")

    def run_id(self, *words):
        return self.data("run", *words)["pipeline"]


BROKEN = """
    [command.ship]
    args = "<version> [-n/--note <text>]"
    defaults = { note = "" }
    run  = { pipeline = "ship" }

    [pipeline.ship]
    inputs = ["version", "note"]

    [[pipeline.ship.phase]]
    name = "build"
    run  = "echo building {version}; exit 3"

    [[pipeline.ship.phase]]
    name = "publish"
    run  = "exit 3"
"""


class Runbooks(Project):
    def test_init_writes_a_runbook_that_is_right_and_never_overwrites(self):
        path = os.path.join(self.work, ".reeve/runbooks/hello.toml")
        self.assertIn(f"wrote {path}", self.out("init"))
        self.assertIn("no mistakes", self.out("runbook", "check"))
        with open(path, "a", encoding="utf-8") as file:
            file.write("# mine\n")
        self.assertEqual(self.error("init", code=1)["code"], "EXISTS")
        with open(path, encoding="utf-8") as file:
            self.assertTrue(file.read().endswith("# mine\n"))
        self.assertIn("command    hello <who>", self.out("runbook", "list"))
        self.assertIn("phase remember", self.out("run", "hello", "world", "--dry-run"))
        # None of it needed a daemon.
        self.assertFalse(os.path.exists(self.home))

    def test_init_makes_a_folder_without_a_project_one(self):
        folder = os.path.join(self.base, "new")
        os.mkdir(folder)
        self.assertIn("`reeve init`", self.err("run", "x", code=3, cwd=folder))
        self.out("init", cwd=folder)
        self.assertIn("no mistakes", self.out("runbook", "check", cwd=folder))

    def test_every_mistake_is_told_at_once_and_nothing_is_run(self):
        self.write(BROKEN.replace('run  = "exit 3"', 'rnu = "exit 3"').replace("{version};", "{vresion};"))
        found = self.reeve("runbook", "check", code=1)
        self.assertIn(".reeve/runbooks/test.toml:12:", found.stdout)
        self.assertIn("did you mean `run`?", found.stdout)
        self.assertIn("vresion", found.stdout)
        error = self.error("run", "ship", "1.2", code=1)
        self.assertEqual(error["code"], "RUNBOOK_WRONG")
        self.assertGreaterEqual(len(error["details"]["mistakes"]), 2)
        self.assertIn("nothing was run", self.err("run", "ship", "1.2", code=1))

    def test_show_example_and_usage(self):
        self.write(BROKEN)
        self.assertIn("[command.ship]", self.out("runbook", "show", "command.ship"))
        self.assertIn("did you mean", self.err("runbook", "show", "pipeline.shpi", code=3))
        self.assertEqual(self.out("run", "ship", "--help"),
                         "usage: reeve run ship <version> [-n/--note <text>]")
        names = [line.split()[0] for line in self.out("runbook", "example").split("\n")]
        for name in names:
            path = self.write(self.out("runbook", "example", name), f"{name}.toml")
            self.reeve("runbook", "check", path)

    def test_words_of_a_command_are_its_own(self):
        self.write(BROKEN)
        self.assertIn("usage: reeve run ship", self.err("run", "ship", code=2))
        self.assertIn("--wrong", self.err("run", "ship", "1.2", "--wrong", code=2))
        self.assertIn("did you mean", self.err("run", "shipp", "1.2", code=3))
        dry = self.data("run", "ship", "-n", "two words", "1.2", "--dry-run")
        self.assertEqual(dry["values"], {"version": "1.2", "note": "two words"})
        dry = self.data("run", "ship", "--dry-run", "--", "--wait")
        self.assertEqual(dry["values"]["version"], "--wait")

    def test_a_command_that_runs_here_needs_no_daemon(self):
        self.write("""
            [command.say]
            args = "<what> [more...]"
            run  = "printf '%s|' {what} {project}; pwd; exit 7"
        """)
        hostile = "a'b\"c $(id) `id`"
        done = self.reeve("run", "say", hostile, code=7)
        self.assertEqual(done.stdout, f"{hostile}|work|{self.work}\n")
        self.assertFalse(os.path.exists(self.home))

    def test_a_kind_of_agent_that_cannot_be_run_is_said_plainly(self):
        self.write("""
            [command.fix]
            run = { pipeline = "fix" }
            [pipeline.fix]
            [[pipeline.fix.phase]]
            name  = "work"
            agent = "fixer"
            [agent.fixer]
            kind    = "claude"
            command = "claude"
            prompt  = "go"
        """)
        error = self.error("run", "fix", code=1)
        self.assertEqual(error["code"], "NOT_SUPPORTED")
        self.assertIn('agent "fixer" is of kind "claude", which this version cannot run', error["message"])
        self.reeve("runbook", "check")

    def test_scenarios_are_played_without_running_anything(self):
        self.write("""
            [command.release]
            args = "<version>"
            run  = { pipeline = "release" }
            [pipeline.release]
            inputs = ["version"]
            [[pipeline.release.phase]]
            name  = "build"
            run   = "touch ran"
            retry = { max = 1, delay = "30s" }
            [[pipeline.release.phase]]
            name = "publish"
            pre  = ["clean"]
            run  = "touch ran"
            [guard.clean]
            condition = "touch ran"
            retry     = { max = 5, interval = "1m" }
        """)
        path = os.path.join(self.work, "release_test.toml")
        with open(path, "w", encoding="utf-8") as file:
            file.write(textwrap.dedent("""
                [[scenario]]
                name = "the guard passes at the third look"
                run  = ["release", "1.2"]
                path = ["build", "publish"]
                [[scenario.step]]
                step = "guard clean"
                exit = 1
                times = 2
                [[scenario.step]]
                step = "guard clean"

                [[scenario]]
                name = "it fails twice and somebody says so"
                run  = ["release", "1.2"]
                path = ["build"]
                ends = "failed"
                answers = ["fail"]
                error = "no route"
                [[scenario.step]]
                step = "build"
                exit = 1
                output = "no route"
            """))
        played = self.data("runbook", "test", path)["scenarios"]
        self.assertEqual([each["ok"] for each in played], [True, True], played)
        self.assertGreater(played[0]["took_ms"], 120_000)
        self.assertFalse(os.path.exists(os.path.join(self.work, "ran")))
        with open(path, "a", encoding="utf-8") as file:
            file.write('[[scenario]]\nrun = ["release", "1"]\npath = ["publish"]\nends = "blocked"\n')
        wrong = self.reeve("runbook", "test", path, code=1).stdout
        self.assertIn("it went through build, publish, and was to go through publish", wrong)
        self.assertIn("it ended done, and was to end blocked", wrong)
        with open(path, "a", encoding="utf-8") as file:
            file.write("ansers = []\n")
        self.assertIn("did you mean `answers`?", self.reeve("runbook", "test", path, code=1).stdout)


class Runs(Project):
    def test_a_run_that_fails_asks_and_the_answer_decides(self):
        self.write(BROKEN)
        started = self.data("run", "ship", "1.2", "--note", "x")
        self.assertEqual(set(started) - {"seq"}, {"pipeline", "name", "state"})
        id = started["pipeline"]
        self.assertRegex(id, "^pipe-")
        on = self.blocked(id, "decision")["blocked_on"]
        decision = on["name"]
        self.assertIn(decision, self.out("decision", "list"))
        self.assertIn("1. retry", self.out("decision", "show", decision))
        self.assertIn(decision, self.out("status"))
        why = self.out("why", id)
        self.assertIn("decision " + decision, why)
        self.assertIn("--choice: retry, skip, fail, cancel", self.err("decision", "resolve", decision, code=2))
        self.assertIn("must be one of", self.err("decision", "resolve", decision, "--choice", "x", code=2))
        self.assertIn("answered: skip", self.out("decision", "resolve", decision, "--choice", "skip"))
        self.assertEqual(self.error("decision", "resolve", decision, "-c", "1", code=5)["code"], "ANSWERED")
        second = self.until(lambda: self.data("decision", "list")["decisions"])[0]
        self.assertEqual(self.data("pipeline", "show", id)["phase"], "publish")
        self.out("decision", "resolve", second["id"], "-c", "3", "-m", "not worth it")
        self.assertEqual(self.reeve("wait", id, code=1).returncode, 1)
        self.assertEqual(self.data("wait", id, "--for", "done")["state"], "failed")
        self.assertIn("failed in publish", self.out("pipeline", "show", id) + self.out("wait", id, code=1))

    def test_waits_time_out_and_only_stop_looking(self):
        self.write(BROKEN)
        id = self.run_id("ship", "1.2")
        self.blocked(id, "decision")
        began = time.monotonic()
        self.assertEqual(self.reeve("wait", id, "--timeout", "300ms", code=124).returncode, 124)
        self.assertGreater(time.monotonic() - began, 0.29)
        self.reeve("run", "ship", "1.3", "--wait", "--timeout", "300ms", code=124)
        self.reeve("run", "ship", "1.3", "--timeout", "300ms", code=2)
        waiting = self.start("wait", id)
        time.sleep(0.3)
        waiting.send_signal(signal.SIGINT)
        self.assertEqual(waiting.wait(10), 130)
        self.assertEqual(self.data("pipeline", "show", id)["state"], "blocked")
        self.reeve("wait", "pipe-zzzzzz", code=3)

    def test_cancel_ends_a_run_and_a_wait_sees_it(self):
        self.write(BROKEN)
        id = self.run_id("ship", "1.2")
        self.blocked(id, "decision")
        waiting = self.start("wait", id)
        time.sleep(0.2)
        self.assertIn("cancelled", self.out("cancel", id))
        self.assertEqual(waiting.wait(10), 4)
        self.assertEqual(self.error("wait", id, code=4)["details"]["state"], "cancelled")
        self.assertIn("cancelled", self.out("cancel", id))
        self.assertEqual(self.data("decision", "list")["decisions"], [])
        self.assertEqual(self.out("pipeline", "list", "--active", "-q"), "")
        self.assertEqual(self.out("pipeline", "list", "-q"), id)

    def test_ids_are_given_by_their_beginning_and_completed(self):
        self.write(BROKEN)
        id = self.run_id("ship", "1.2")
        self.blocked(id, "decision")
        self.assertEqual(self.data("show", id[:8])["id"], id)
        self.assertEqual(self.data("pipeline", "show", id[5:9])["id"], id)

        def offered(*words):
            return [line.split("\t")[0] for line in self.out("__complete", "--", *words).split("\n")]

        self.assertEqual(offered("run", "sh"), ["ship"])
        self.assertEqual(offered("wait", "pipe-"), [id])
        self.assertEqual(offered("pipeline", "start", ""), ["ship"])
        self.assertEqual(len(offered("decision", "resolve", "ask-")), 1)

    def test_a_run_keeps_the_text_it_began_with(self):
        self.write(BROKEN)
        id = self.run_id("ship", "1.2")
        first = self.blocked(id, "decision")
        self.write(BROKEN.replace('name = "publish"', 'name = "announce"'))
        other = self.run_id("ship", "1.2")
        self.assertEqual([p["name"] for p in self.data("show", id)["phases"]], ["build", "publish"])
        self.assertEqual([p["name"] for p in self.data("show", other)["phases"]], ["build", "announce"])
        self.assertNotEqual(first["runbook"], self.data("show", other)["runbook"])

    def test_a_pipeline_is_started_by_its_own_name(self):
        self.write(BROKEN)
        id = self.data("pipeline", "start", "ship", "version=2", "note=n")["pipeline"]
        self.assertEqual(self.data("pipeline", "show", id)["inputs"], {"version": "2", "note": "n"})
        self.assertIn('has no input "vresion"', self.err("pipeline", "start", "ship", "vresion=2", code=2))
        self.assertIn("lacks", self.err("pipeline", "start", "ship", "version=2", code=2))

    def test_phases_are_suggested_and_those_that_failed_are_not_called_done(self):
        self.write("""
            [command.go]
            run = { pipeline = "go" }
            [pipeline.go]
            [[pipeline.go.phase]]
            name    = "build"
            run     = "exit 3"
            on_fail = "mend"
            next    = "ship"
            [[pipeline.go.phase]]
            name = "ship"
            run  = "true"
            [[pipeline.go.phase]]
            name = "mend"
            run  = "exit 3"
            next = "build"
        """)
        id = self.run_id("go")
        self.blocked(id, "decision")
        states = {each["name"]: each["state"] for each in self.data("show", id)["phases"]}
        self.assertEqual(states, {"build": "failed", "ship": "to come", "mend": "blocked"})
        self.assertIn('did you mean "ship"?', self.err("pipeline", "transition", id, "shpi", code=3))
        self.assertIn('did you mean "build"?', self.err("resume", id, "--from", "biuld", code=3))

    def test_the_word_of_an_attempt_that_is_over_is_dropped(self):
        self.write(BROKEN)
        id = self.run_id("ship", "1.2")
        self.blocked(id, "decision")
        env = {"REEVE_PIPELINE": id, "REEVE_PHASE": "publish", "REEVE_ATTEMPT": "1"}
        self.assertIn("no longer counts", self.err("done", env=env, code=6))
        self.assertEqual(self.data("show", id)["phase"], "build")

    def test_commands_that_are_suggested_can_be_copied(self):
        self.write("""
            [command.go]
            run = { pipeline = "go" }
            [pipeline.go]
            [[pipeline.go.phase]]
            name = "build"
            pre  = ["broken"]
            run  = "true"
            [guard.broken]
            condition = "exit 2"
            timeout   = "100ms"
        """)
        id = self.run_id("go")
        decision = self.blocked(id, "decision")["blocked_on"]["name"]
        self.assertIn(
            f"`reeve decision resolve {decision} --choice 'check again'`, or pass, fail, cancel",
            self.out("why", decision))
        asking = self.start("ask", "Go?", "--option", "it's on")
        self.until(lambda: len(self.data("decision", "list")["decisions"]) == 2)
        other = self.data("decision", "list")["decisions"][-1]["id"]
        suggested = self.out("decision", "show", other).split("answer: reeve ")[1]
        self.out(*shlex.split(suggested))
        self.assertEqual(asking.communicate(timeout=20)[0], "it's on\n")

    def test_every_answer_in_json_is_one(self):
        self.write(WORKER + """
            [worker.second]
            queue   = "bugs"
            handler = "pipeline.fix"
        """)
        started = self.data("worker", "start", "bugfix", "second")["workers"]
        self.assertEqual([each["name"] for each in started], ["bugfix", "second"])
        self.assertEqual(self.out("worker", "start", "bugfix", "second", "-q"), "bugfix\nsecond")
        self.write(BROKEN, "broken.toml")
        id = self.run_id("ship", "1.2")
        self.assertEqual(self.out("cancel", id, "--no-wait", "-q"), id)

    def test_decisions_of_other_projects_are_not_offered(self):
        asking = self.start("ask", "Go?")
        self.until(lambda: self.data("decision", "list")["decisions"])
        other = os.path.join(self.base, "other")
        os.makedirs(os.path.join(other, ".reeve"))
        self.assertTrue(self.out("__complete", "--", "decision", "show", "ask-"))
        self.assertEqual(self.out("__complete", "--", "decision", "show", "ask-", cwd=other), "")
        asking.kill()

    def test_steps_speak_from_inside_only(self):
        for words in (["done"], ["checkpoint", "x"], ["heartbeat"]):
            self.assertIn("is for the steps of a pipeline", self.err(*words, code=2))


class Questions(Project):
    def test_ask_waits_and_prints_the_answer(self):
        asking = self.start("ask", "Publish?", "--option", "yes", "--option", "no")
        question = self.until(lambda: self.data("decision", "list")["decisions"])[0]
        self.assertEqual((question["question"], question["choices"]), ("Publish?", ["yes", "no"]))
        self.out("decision", "resolve", question["id"], "--choice", "no")
        self.assertEqual(asking.communicate(timeout=10)[0], "no\n")
        self.assertEqual(asking.returncode, 0)
        self.assertEqual(self.reeve("ask", "Publish?", "--timeout", "200ms", code=124).stdout, "")
        self.assertEqual(
            self.out("ask", "Go?", "--option", "a", "--option", "b", "--timeout", "100ms", "--default", "b"),
            "b")
        free = self.start("ask", "Which?")
        question = self.until(lambda: self.data("decision", "list")["decisions"])[0]
        self.assertIn("-m TEXT", self.err("decision", "resolve", question["id"], code=2))
        self.out("decision", "resolve", question["id"], "-m", "the blue one")
        self.assertEqual(free.communicate(timeout=10)[0], "the blue one\n")

    def test_a_choice_that_is_called_a_number_is_meant_by_it(self):
        def answer(choice, *options):
            asking = self.start("ask", "How many?", *(word for each in options for word in ("--option", each)))
            question = self.until(lambda: self.data("decision", "list")["decisions"])[0]
            self.reeve("decision", "resolve", question["id"], "--choice", "9", code=2)
            self.out("decision", "resolve", question["id"], "--choice" if options else "-m", choice)
            return asking.communicate(timeout=20)[0]

        self.assertEqual(answer("1", "2", "1"), "1\n")
        self.assertEqual(answer("2", "2", "it's 3"), "2\n")
        self.assertEqual(answer("2", "4", "it's 3"), "it's 3\n")
        self.assertEqual(answer("9"), "9\n")

    def test_a_question_without_a_wait_stays_when_the_asker_has_gone(self):
        id = self.out("ask", "The mirror is down", "--option", "seen", "--no-wait")
        self.assertRegex(id, "^ask-")
        self.stop_daemon(signal.SIGKILL)
        self.assertEqual([each["id"] for each in self.data("decision", "list")["decisions"]], [id])
        self.out("decision", "resolve", id, "-c", "1")
        self.assertEqual(self.data("decision", "list")["decisions"], [])
        self.reeve("ask", "x", "--no-wait", "--timeout", "1s", code=2)

    def test_an_interrupted_question_is_withdrawn(self):
        asking = self.start("ask", "Publish?")
        self.until(lambda: self.data("decision", "list")["decisions"])
        asking.send_signal(signal.SIGINT)
        self.assertEqual(asking.wait(10), 130)
        self.assertEqual(self.data("decision", "list")["decisions"], [])


WORKER = """
    [command.report]
    args = "<bug> [-p/--priority <n>]"
    defaults = { priority = "0" }
    run  = { queue = "bugs" }

    [queue.bugs]
    max_attempts = 2
    backoff      = { first = "10ms", max = "10ms" }
    dead_letter  = "bugs_dead"
    [queue.bugs_dead]

    [worker.bugfix]
    queue       = "bugs"
    handler     = "pipeline.fix"
    concurrency = 2

    [pipeline.fix]
    inputs  = ["bug"]
    on_fail = "fail"
    [[pipeline.fix.phase]]
    name = "work"
    run  = "echo {bug}; exit 3"

    [cron.nightly]
    schedule = "0 3 * * *"
    timezone = "Europe/Berlin"
    run      = { pipeline = "clean" }
    [pipeline.clean]
    on_fail = "fail"
    [[pipeline.clean.phase]]
    name = "prune"
    run  = "exit 3"
"""


class Workers(Project):
    def test_a_worker_works_off_its_queue_and_the_failed_are_dead_letters(self):
        self.write(WORKER)
        self.assertIn("defined", self.out("worker", "list"))
        for bug in ("1", "2", "3"):
            self.assertRegex(self.out("run", "report", bug, "-q"), "^item-")
        stats = self.data("queue", "stats", "bugs")["queues"][0]
        self.assertEqual((stats["pending"], stats["max_attempts"]), (3, 2))
        self.assertIn("bugfix started", self.out("worker", "start", "bugfix"))
        self.until(lambda: self.data("queue", "stats", "bugs_dead")["queues"][0]["pending"] == 3)
        self.assertEqual(len(self.data("pipeline", "list", "--state", "failed")["pipelines"]), 6)
        self.assertEqual(self.data("worker", "resize", "bugfix", "5")["concurrency"], 5)
        self.reeve("worker", "resize", "bugfix", "none", code=2)
        self.assertEqual(self.data("worker", "stop", "bugfix")["state"], "stopped")
        self.assertIn("did you mean", self.err("worker", "start", "bugfx", code=3))
        self.assertEqual(self.error("worker", "show", "bugfx", code=3)["code"], "NOT_FOUND")
        self.assertIn("whole number", self.err("run", "report", "1", "-p", "x", code=2))
        for words in (["--wait"], ["--follow"], ["--wait", "--timeout", "1s"]):
            before = self.data("queue", "stats", "bugs")["queues"][0]
            self.assertIn("puts an item into a queue", self.err("run", "report", "1", *words, code=2))
            self.assertEqual(self.data("queue", "stats", "bugs")["queues"][0]["pending"], before["pending"])

    def test_a_cron_says_when_runs_now_and_stays_enabled(self):
        self.write(WORKER)
        fires = self.data("cron", "next", "nightly", "-n", "2")["next"]
        self.assertEqual(len(fires), 2)
        self.assertRegex(fires[0]["at"], r"T0[12]:00:00\.000Z$")
        self.assertEqual(self.data("cron", "enable", "nightly")["next"], fires[0]["at"])
        fired = self.data("cron", "run", "nightly")
        self.assertEqual(fired["outcome"], "fired")
        self.reeve("wait", fired["run"], code=1)
        self.stop_daemon()
        crons = self.data("cron", "list")["crons"]
        self.assertEqual([(c["name"], c["state"]) for c in crons], [("nightly", "enabled")])
        self.assertIn("nightly", self.out("status"))
        self.assertEqual(self.data("cron", "disable", "nightly")["state"], "disabled")
        self.assertIn("did you mean", self.err("cron", "enable", "nigthly", code=3))


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
        self.assertEqual(self.out("logs", id), "[http://tracker] [14] [] []")
        self.stop_daemon()
        journal = os.path.join(self.home, "journal")
        for folder, _, files in os.walk(journal if os.path.isdir(journal) else self.home):
            for name in files:
                if "/secrets" in folder:
                    self.assertEqual(os.stat(os.path.join(folder, name)).st_mode & 0o777, 0o600)
                    continue
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


if __name__ == "__main__":
    unittest.main()
