"""For keys_test.py: queues, workers, crons, locks, semaphores, monitors, hooks and notifications."""

import json
import os
import time

from keys_testing import Project, uses
from reeve_testing import seconds_of


class Queues(Project):
    def worker(self, queue, more=""):
        self.write(f"""
            [queue.jobs]
            {queue}
            [worker.it]
            queue   = "jobs"
            handler = "pipeline.job"
            [pipeline.job]
            inputs  = ["number"]
            on_fail = "fail"
            [[pipeline.job.phase]]
            name = "job"
            run  = "date +%s%N >> tried; false"
            {more}
        """)
        self.reeve("worker", "start", "it")

    @uses("queue.max_attempts", "queue.backoff", "queue.backoff.first", "queue.backoff.max", "queue.dead_letter",
          "worker.queue", "worker.handler")
    def test_attempts_backoff_and_dead_letters(self):
        self.worker('max_attempts = 4\nbackoff = { first = "200ms", max = "300ms" }\ndead_letter = "dead"'
                    .replace("\n", "\n            "), "[queue.dead]")
        self.reeve("queue", "push", "jobs", "1")
        self.until(lambda: self.stats("dead")["pending"] == 1)
        times = [int(line) for line in self.lines("tried")]
        self.assertEqual(len(times), 4)
        # What was promised, and not how long it took: each less up to a fifth, so these do not meet.
        told = [(seconds_of(each["at"]), seconds_of(each["data"]["retry_at"])) for each in self.events("queue:fail")]
        waits = [round((then - at) * 1000) for at, then in told]
        for wait, (least, most) in zip(waits, ((160, 200), (240, 300), (240, 300)), strict=True):
            self.assertGreaterEqual(wait, least - 5, waits)
            self.assertLessEqual(wait, most + 5, waits)
        for (at, then), tried in zip(told, times[1:]):
            self.assertGreaterEqual(tried / 1e9 + 0.02, then, "tried again before its time")

    @uses("queue.max_retries", "queue.on_exhaust")
    def test_pause_at_the_end(self):
        self.worker('max_retries = 1\n            on_exhaust = "pause"\n            backoff = { first = "10ms" }')
        self.reeve("queue", "push", "jobs", "1")
        self.until(lambda: self.data("decision", "list")["decisions"])
        self.assertEqual(len(self.lines("tried")), 2)
        self.assertTrue(self.stats("jobs")["paused"])

    @uses("queue.visibility_timeout", "queue.retention", "queue.retention.completed", "queue.retention.dead")
    def test_what_is_kept_and_for_how_long(self):
        self.write("""
            [command.load]
            run = { queue = "jobs" }
            [queue.jobs]
            visibility_timeout = "500ms"
            max_attempts       = 1
            retention          = { completed = 2, dead = "1s" }
        """)
        self.reeve("run", "load")
        self.reeve("queue", "purge", "jobs", "--state", "pending", "--yes")
        for number in range(4):
            self.reeve("queue", "push", "jobs", str(number))
            taken = self.data("queue", "take", "jobs")["items"][0]
            self.reeve("queue", "complete", "jobs", taken["id"], "--claim", str(taken["claim"]))
        self.until(lambda: self.stats("jobs")["completed"] == 2, "more than two are kept")
        self.reeve("queue", "push", "jobs", '"slow"')
        self.reeve("queue", "take", "jobs")
        self.until(lambda: self.stats("jobs")["dead"] == 1, "it is still taken")
        self.until(lambda: self.stats("jobs")["dead"] == 0, "it is still kept")

    @uses("queue.source", "queue.poll", "worker.concurrency")
    def test_items_from_outside(self):
        self.write("""
            [queue.tracker]
            source = "echo >> polls; cat items.json"
            poll   = "1s"
            [worker.it]
            queue       = "tracker"
            handler     = "pipeline.job"
            concurrency = 2
            [pipeline.job]
            inputs = ["id"]
            [[pipeline.job.phase]]
            name = "job"
            run  = "echo {id} >> out; until [ -e free ]; do sleep 0.02; done"
        """)
        self.file("items.json", '[{"id": "a"}, {"id": "b"}, {"id": "c"}]')
        self.reeve("worker", "start", "it")
        self.until(lambda: len(self.lines("out")) == 2)
        self.until(lambda: self.stats("tracker")["pending"] == 1)
        self.assertEqual(len(self.active()), 2)
        self.file("free")
        self.until(lambda: sorted(self.lines("out")) == ["a", "b", "c"])
        # What is done is not done again because the source still has it.
        self.until(lambda: self.stats("tracker")["completed"] == 3)
        polls = len(self.lines("polls"))
        self.until(lambda: len(self.lines("polls")) >= polls + 3)
        self.assertEqual(self.stats("tracker")["completed"], 3)
        self.assertEqual(len(self.lines("out")), 3)

    @uses("queue.source", "queue.poll", "worker.wake_on")
    def test_an_event_makes_a_worker_ask_its_source_at_once(self):
        self.write("""
            [queue.tracker]
            source = "echo >> polls; cat items.json"
            poll   = "1h"
            [worker.it]
            queue   = "tracker"
            handler = "pipeline.job"
            wake_on = ["bug:*:created"]
            [pipeline.job]
            inputs = ["bug"]
            [[pipeline.job.phase]]
            name = "job"
            run  = "echo {bug.id} {bug.by.name} >> out"
        """)
        self.file("items.json", "[]")
        self.reeve("worker", "start", "it")
        self.until(lambda: "poll_at" in self.data("worker", "show", "it"), "its poll does not end")
        self.reeve("emit", "bug:7:closed")
        self.assertIn("poll_at", self.data("worker", "show", "it"), "it asks, by an event that is not its own")
        self.assertEqual(self.lines("polls"), [""])
        self.file("items.json", '[{"id": "a", "bug": {"id": 7, "by": {"name": "ana b"}}}]')
        self.reeve("emit", "bug:7:created")
        self.until(lambda: self.lines("out") == ["7 ana b"])
        self.assertEqual(self.lines("polls"), ["", ""])

    @uses("queue.source", "queue.poll")
    def test_a_source_that_fails_is_told(self):
        self.write("""
            [queue.tracker]
            source = "cat items.json"
            poll   = "1s"
            [worker.it]
            queue   = "tracker"
            handler = "pipeline.job"
            [pipeline.job]
            inputs = ["id"]
            [[pipeline.job.phase]]
            name = "job"
            run  = "echo {id} >> out"
        """)

        def fails(words):
            self.until(lambda: words in self.data("worker", "show", "it").get("poll_error", ""), words)

        self.reeve("worker", "start", "it")
        fails("No such file")
        self.assertIn("exit code 1: ", self.data("worker", "show", "it")["poll_error"])
        for words in (("why", "it"), ("why", "tracker"), ("status",), ("worker", "show", "it")):
            self.assertIn("No such file", " ".join(self.out(*words).split()), words)
        self.assertIn("source fails", self.out("worker", "list"))
        attention = self.data("status")["attention"]
        self.assertEqual([(each["kind"], each["name"]) for each in attention], [("worker", "it")])
        self.assertIn("No such file", json.dumps(self.events("worker:poll_failed")[0]))

        self.file("items.json", '[{"id": "a"}]')
        self.until(lambda: "poll_error" not in self.data("worker", "show", "it"))
        self.assertEqual(self.data("status")["attention"], [])
        self.until(lambda: self.stats("tracker")["completed"] == 1)
        # Nothing at all is no list: what was done is not forgotten by it.
        self.file("items.json", "")
        fails("says nothing")
        self.file("items.json", '[{"id": "a"}]')
        self.until(lambda: "poll_error" not in self.data("worker", "show", "it"))
        self.assertEqual(self.lines("out"), ["a"])
        self.file("items.json", '[{"id": "a"}, {"id": "' + "k" * 201 + '"}]')

        def refused():
            return [each["data"]["error"] for each in self.events("queue:refuse")]

        self.until(refused)
        self.assertEqual(refused(), ["its id is longer than 200 bytes"])
        self.file("items.json", "x" * (9 << 20))
        fails("more than 8 MiB")


class Crons(Project):
    @uses("cron.schedule", "cron.timezone", "cron.interval", "cron.run", "cron.run.pipeline", "cron.run.inputs")
    def test_when_and_what(self):
        self.write("""
            [cron.nightly]
            schedule = "0 3 1 7 *"
            timezone = "Europe/Berlin"
            run      = "echo {name} >> out"
            [cron.often]
            interval = "1s"
            run      = { pipeline = "go", inputs = { what = "{name}" } }
            [pipeline.go]
            inputs = ["what"]
            [[pipeline.go.phase]]
            name = "go"
            run  = "echo {what} >> out"
        """)
        self.assertRegex(self.data("cron", "next", "nightly", "-n", "1")["next"][0]["at"], r"-07-01T01:00:00\.000Z$")
        self.reeve("cron", "run", "nightly")
        self.until(lambda: self.lines("out") == ["nightly"])
        self.reeve("cron", "enable", "often")
        self.until(lambda: self.lines("out").count("often") >= 2)

    @uses("cron.overlap")
    def test_what_becomes_of_instants_while_a_run_goes_on(self):
        kinds = ("skip", "buffer_one", "buffer_all", "cancel_other", "allow")
        self.write("".join(f"""
            [cron.{kind}]
            interval = "1h"
            overlap  = "{kind}"
            run      = {{ pipeline = "{kind}" }}
            [pipeline.{kind}]
            [[pipeline.{kind}.phase]]
            name = "go"
            run  = "echo {kind} >> out; until [ -e free ]; do sleep 0.05; done"
        """ for kind in kinds))
        outcomes = {}
        for kind in kinds:
            self.reeve("cron", "enable", kind)
            outcomes[kind] = [self.data("cron", "run", kind)["outcome"]]
            self.until(lambda kind=kind: kind in self.lines("out"))
            # One that is held, and three instants more, each when the one before has had its effect.
            for number in range(2, 5):
                outcomes[kind].append(self.data("cron", "run", kind)["outcome"])
                if kind in ("cancel_other", "allow"):
                    self.until(lambda kind=kind, number=number: self.lines("out").count(kind) == number)
        self.assertEqual(outcomes, {
            "skip": ["fired"] + ["skipped"] * 3,
            "buffer_one": ["fired", "buffered", "skipped", "skipped"],
            "buffer_all": ["fired"] + ["buffered"] * 3,
            "cancel_other": ["fired"] + ["buffered"] * 3,
            "allow": ["fired"] * 4,
        })
        self.assertEqual(self.began(kinds),
                         {"skip": 1, "buffer_one": 1, "buffer_all": 1, "cancel_other": 4, "allow": 4})
        self.assertEqual({kind: len(self.active("--name", kind)) for kind in kinds},
                         {"skip": 1, "buffer_one": 1, "buffer_all": 1, "cancel_other": 1, "allow": 4})
        states = [run["state"] for run in self.data("pipeline", "list", "--name", "cancel_other")["pipelines"]]
        self.assertEqual(sorted(states), ["cancelled"] * 3 + ["running"])
        self.file("free")
        after = {"skip": 1, "buffer_one": 2, "buffer_all": 4, "cancel_other": 4, "allow": 4}
        self.until(lambda: self.began(kinds) == after and not self.active(), lambda: str(self.began(kinds)))
        self.assertEqual(self.began(kinds), after)
        for name, counts in (("cron:fired", after), ("cron:skipped", {"skip": 3, "buffer_one": 2}),
                             ("cron:buffered", {"buffer_one": 1, "buffer_all": 3, "cancel_other": 3})):
            told = [each["subject"] for each in self.events(name)]
            self.assertEqual({kind: told.count(kind) for kind in kinds if kind in told}, counts, name)

    def began(self, kinds):
        return {kind: self.lines("out").count(kind) for kind in kinds}

    @uses("cron.catch_up")
    def test_what_was_missed(self):
        names = ("all", "latest", "none")
        self.write("".join(f"""
            [cron.{name}]
            interval = "1s"
            overlap  = "allow"
            catch_up = "{name}"
            window   = "1h"
            run      = "echo {name} >> out"
        """ for name in names))
        for name in names:
            self.reeve("cron", "enable", name)
        self.until(lambda: set(self.lines("out")) == set(names))
        self.stop_daemon()
        stopped = time.time()
        time.sleep(4)
        missed = time.time()
        self.reeve("daemon", "start")

        def caught_up():
            fired = [each["data"] for each in self.events("cron:fired")]
            return {name: sum(each["cron"] == name and stopped < seconds_of(each["instant"]) < missed
                              for each in fired) for name in names}

        self.until(lambda: caught_up()["latest"] == 1 and caught_up()["all"] >= 3)
        self.until(lambda: self.lines("out").count("none") >= 3)
        self.assertEqual(caught_up()["latest"], 1)
        self.assertLessEqual(caught_up()["none"], 1, "what is less than a minute late is on time")


class Holds(Project):
    def setUp(self):
        super().setUp()
        self.write("""
            [command.load]
            run = { pipeline = "load" }
            [pipeline.load]
            [[pipeline.load.phase]]
            name = "load"
            lock = ["beat", "thrice", "long", "longer"]
            semaphore = ["room", "space"]
            run  = "true"
            [lock.beat]
            heartbeat_timeout = "600ms"
            on_stale          = ["release"]
            [lock.thrice]
            heartbeat = "200ms"
            on_stale  = ["escalate"]
            [lock.long]
            max_hold = "700ms"
            [lock.longer]
            timeout = "700ms"
            [semaphore.room]
            capacity          = 1
            heartbeat_timeout = "600ms"
            [semaphore.space]
            max       = 1
            heartbeat = "200ms"
        """)
        self.done("load")

    @uses("lock.heartbeat_timeout", "lock.heartbeat", "lock.max_hold", "lock.timeout", "lock.on_stale")
    def test_locks_that_nobody_keeps(self):
        for name in ("beat", "thrice", "long", "longer"):
            self.reeve("lock", "acquire", name, "--holder", "ben")
            self.assertEqual(self.data("lock", "acquire", name, "--holder", "ana", "--wait", "20s")["holder"], "ana")
        questions = self.data("decision", "list")["decisions"]
        self.assertEqual(["thrice" in each["question"] for each in questions], [True], questions)

    @uses("semaphore.heartbeat_timeout", "semaphore.heartbeat", "semaphore.max", "semaphore.capacity")
    def test_slots_that_nobody_keeps(self):
        for name in ("room", "space"):
            self.assertEqual(self.data("sem", "show", name)["capacity"], 1)
            self.reeve("sem", "acquire", name, "--holder", "ben")
            self.reeve("sem", "acquire", name, "--holder", "ana", code=6)
            self.reeve("sem", "acquire", name, "--holder", "ana", "--wait", "20s")


class Watching(Project):
    @uses("monitor.source", "monitor.condition", "monitor.response", "action.run", "action.cooldown",
          "action.max_attempts", "cron.run.monitors", "watcher.source", "watcher.condition", "watcher.run",
          "watcher.response", "scanner.source", "scanner.condition", "scanner.run", "scanner.response")
    def test_monitors_and_actions(self):
        self.write("""
            [cron.look]
            interval = "1s"
            run      = { monitors = ["one", "two", "three", "four", "five"] }
            [monitor.one]
            source    = "cat items"
            condition = "test {state} = down"
            response  = ["poke", "kick:2", "give_up"]
            [watcher.two]
            source    = "cat items"
            condition = "test {id} = b"
            run       = "echo two {id} >> watched"
            [scanner.three]
            source = "cat items"
            run    = "echo three {id} >> scanned"
            [watcher.four]
            source   = "cat items"
            response = ["note_four"]
            [scanner.five]
            source    = "cat items"
            condition = "test {state} = up"
            response  = ["note_five"]
            [action.note_four]
            run          = "echo four {id} >> noted"
            max_attempts = 1
            [action.note_five]
            run          = "echo five {id} >> noted"
            max_attempts = 1
            [action.poke]
            run      = "echo poke {id} >> done"
            cooldown = "1s"
            [action.kick]
            run          = "echo kick {id} >> done"
            max_attempts = 2
            cooldown     = "1s"
            [action.give_up]
            run = "echo give_up {id} >> done"
            max_attempts = 1
        """)
        self.file("items", '{"id": "a", "state": "down"}\n{"id": "b", "state": "up"}\n')
        self.reeve("cron", "enable", "look")
        self.until(lambda: "give_up a" in self.lines("done"))
        looks = len(self.lines("scanned"))
        self.until(lambda: len(self.lines("scanned")) > looks + 2)
        self.assertEqual(self.lines("done"), ["poke a", "kick a", "kick a", "give_up a"])
        self.assertEqual(set(self.lines("watched")), {"two b"})
        self.assertEqual(set(self.lines("scanned")), {"three a", "three b"})
        self.assertEqual(sorted(self.lines("noted")), ["five b", "four a", "four b"])

    @uses("action.max_attempts", "action.cooldown")
    def test_a_bare_name_is_tried_as_often_as_its_action_says_and_each_time_has_its_cooldown(self):
        self.write("""
            [cron.look]
            interval = "1s"
            run      = { monitors = ["one"] }
            [monitor.one]
            source   = "echo '[{\\"id\\": \\"s\\"}]'"
            response = ["kick", "boot:2", "end:5"]
            [action.kick]
            run          = "echo kick $(date +%s%3N) >> done"
            max_attempts = 3
            cooldown     = "2s"
            [action.boot]
            run      = "echo boot $(date +%s%3N) >> done"
            cooldown = "3s"
            [action.end]
            run          = "echo end $(date +%s%3N) >> done"
            max_attempts = 1
        """)
        self.reeve("cron", "enable", "look")
        self.until(lambda: any(each.startswith("end") for each in self.lines("done")), seconds=60)
        done = [each.split() for each in self.lines("done")]
        self.assertEqual([each[0] for each in done], ["kick"] * 3 + ["boot"] * 2 + ["end"])
        waits = {"kick": 2000, "boot": 3000}
        for (what, at), (_, then) in zip(done, done[1:]):
            self.assertGreaterEqual(int(then) - int(at) + 50, waits[what], done)

    @uses("monitor.source", "monitor.condition", "monitor.response", "monitor.run")
    def test_a_look_by_hand(self):
        self.write("""
            [monitor.one]
            source    = "echo '[{\\"id\\": 1}, {\\"id\\": 2}]'"
            condition = "test {id} = 2"
            run       = "echo {id} >> out"
            [monitor.two]
            source    = "echo '{\\"id\\": 1}'"
            response  = ["escalate"]
        """)
        self.reeve("monitor", "run", "one", "two")
        self.assertEqual(self.lines("out"), ["2"])
        self.until(lambda: "monitor=two id=1" in self.out("events", "--match", "monitor:**"))

    @uses("notify.on", "notify.command")
    def test_hooks_and_a_command_that_is_told(self):
        self.write("""
            [command.go]
            run = { pipeline = "go" }
            [pipeline.go]
            on_fail = "fail"
            [[pipeline.go.phase]]
            name = "go"
            run  = "reeve emit step:made what='a b'; false"
            [events]
            "pipeline:failed" = "echo {noun} {verb} {id} {name} {phase}: {error} >> hooks"
            "step:made"       = "echo {what} >> hooks"
            [notify]
            on      = ["pipeline:failed"]
            command = "cat >> told"
        """)
        id = self.failed("go")["id"]
        self.until(lambda: len(self.lines("hooks")) == 2 and self.lines("told"))
        self.assertEqual(sorted(self.lines("hooks")), ["a b", f"pipeline failed {id} go go: exit code 1: step:made emitted"])
        told = json.loads(self.lines("told")[0])
        self.assertEqual((told["name"], told["subject"]), ("pipeline:failed", id))

    @uses("notify.on", "notify.desktop")
    def test_the_desktop_is_told(self):
        os.mkdir(os.path.join(self.work, "bin"))
        self.file("bin/notify-send", f'#!/bin/sh\necho "$@" >> {self.work}/told\n', 0o755)
        self.env["PATH"] = f"{self.work}/bin:{self.env['PATH']}"
        self.write("""
            [command.go]
            run = { pipeline = "go" }
            [pipeline.go]
            [[pipeline.go.phase]]
            name = "go"
            run  = "true"
            [notify]
            on      = ["pipeline:complete"]
            desktop = true
        """)
        id = self.done("go")["id"]
        self.until(lambda: self.lines("told"))
        self.assertIn(id, self.lines("told")[0])
