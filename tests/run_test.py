"""What runs of runbooks, as people and scripts meet it: runs, questions, workers and crons."""

import os
import shlex
import signal
import time
import unittest

from run_testing import BROKEN, WORKER, Project


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

    def test_the_steps_that_follow_are_those_of_the_text_it_began_with(self):
        text = """
            [command.go]
            run = {{ pipeline = "go" }}
            [pipeline.go]
            [[pipeline.go.phase]]
            name = "first"
            pre  = ["fits"]
            run  = "echo first {text} >> out; until [ -e free ]; do sleep 0.02; done"
            {between}
            [[pipeline.go.phase]]
            name     = "second"
            strategy = "ways"
            post     = ["fits"]
            [[pipeline.go.phase]]
            name     = "third"
            pipeline = "inner"
            [pipeline.inner]
            [[pipeline.inner.phase]]
            name = "inside"
            run  = "echo inside {text} >> out"
            [strategy.ways]
            [[strategy.ways.attempt]]
            name = "way"
            run  = "echo second {text} >> out"
            [guard.fits]
            condition = "echo guard {text} >> out"
        """
        self.write(text.format(text="old", between=""))
        old = self.run_id("go")
        self.until(lambda: self.said() == ["guard old", "first old"])
        self.write(text.format(text="new", between='[[pipeline.go.phase]]\nname = "more"\nrun = "echo more >> out"'))
        new = self.run_id("go")
        self.until(lambda: self.said()[2:] == ["guard new", "first new"])
        self.stop_daemon(signal.SIGKILL)  # what it was pinned to is on the disk
        self.put("free", "")
        self.reeve("wait", old, new)
        followed = [line for line in self.said() if line.endswith("old")]
        self.assertEqual(followed, ["guard old", "first old", "second old", "guard old", "inside old"])
        self.assertEqual([line for line in self.said() if not line.endswith("old")],
                         ["guard new", "first new", "more", "second new", "guard new", "inside new"])

    def said(self):
        path = os.path.join(self.work, "out")
        if not os.path.exists(path):
            return []
        with open(path, encoding="utf-8") as file:
            return file.read().splitlines()

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


if __name__ == "__main__":
    unittest.main()
