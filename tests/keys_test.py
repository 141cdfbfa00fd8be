"""Every key of a runbook once, with the real daemon, git, tmux and shell, and what it does.

`python3 tests/keys_test.py --table` prints which test is about which key. A key that the loader
knows and no test is about is a failure.
"""

import json
import os
import signal
import sys
import time
import unittest

from keys_testing import PROVEN, Project, keys_of_the_loader, uses

# Keys whose effect cannot be seen here, and why.
ELSEWHERE = {
    "cron.window": "less than a minute counts as one; core/cron_test.cc moves the clock",
    "agent.on_error": "nothing of kind generic says that it failed but by its exit code; core/task_response_test.cc",
    "agent.on_permission": "nothing of kind generic asks for permission; core/task_response_test.cc",
}


class Commands(Project):
    @uses("command.args", "command.defaults", "command.run")
    def test_a_command_here(self):
        self.write("""
            [command.say]
            args     = "<what> [-n/--note <text>] [-v/--verbose] [more...]"
            defaults = { note = "none" }
            run      = "printf '%s|' {what} {note} {verbose} {more}"
        """)
        self.assertEqual(self.out("run", "say", "a b", "-v", "c", "d"), 'a b|none|true|["c","d"]|')
        self.assertEqual(self.out("run", "say", "x", "--note", "y"), "x|y|false|[]|")

    @uses("command.run.pipeline", "command.run.inputs", "pipeline.inputs", "pipeline.defaults", "phase.run",
          "phase.name")
    def test_a_command_that_starts_a_pipeline(self):
        self.write("""
            [command.go]
            args = "<bug>"
            run  = { pipeline = "go", inputs = { more = "of {bug}" } }
            [pipeline.go]
            inputs   = ["bug", "more", "branch"]
            defaults = { branch = "fix/{bug}" }
            [[pipeline.go.phase]]
            name = "only"
            run  = "echo {bug} {more} {branch} {phase} $REEVE_PHASE >> out"
        """)
        self.done("go", "7")
        self.assertEqual(self.read("out"), "7 of 7 fix/7 only only\n")

    @uses("command.run.queue", "command.run.agent")
    def test_a_command_that_pushes_or_starts_an_agent(self):
        self.write("""
            [command.report]
            args = "<bug>"
            run  = { queue = "bugs" }
            [queue.bugs]
            [command.work]
            args = "<what>"
            run  = { agent = "worker" }
            [agent.worker]
            mode    = "print"
            command = "echo {what} >> out"
        """)
        self.reeve("run", "report", "7")
        self.assertEqual(self.data("queue", "list", "bugs")["items"][0]["data"], {"bug": "7"})
        self.reeve("run", "work", "hard")
        self.until(lambda: self.lines("out") == ["hard"])


class Phases(Project):
    @uses("phase.next", "phase.on_fail", "pipeline.on_fail", "phase.max_visits")
    def test_the_way_through(self):
        self.write("""
            [command.go]
            run = { pipeline = "go" }
            [pipeline.go]
            on_fail = "mend"
            [[pipeline.go.phase]]
            name       = "one"
            run        = "echo one >> way; test -e good"
            next       = "three"
            max_visits = 2
            [[pipeline.go.phase]]
            name = "mend"
            run  = "echo mend >> way"
            next = "one"
            [[pipeline.go.phase]]
            name    = "three"
            run     = "echo three >> way; false"
            on_fail = "clean"
            next    = "end"
            [[pipeline.go.phase]]
            name = "clean"
            run  = "echo clean >> way"
        """)
        shown = self.failed("go")
        self.assertEqual(self.lines("way"), ["one", "mend", "one", "mend"])
        self.assertIn("circuit open", shown["error"])
        self.file("good")
        self.file("way")
        self.failed("go")
        self.assertEqual(self.lines("way"), ["one", "three", "clean"])

    @uses("phase.cwd", "phase.env", "phase.strict", "phase.timeout", "phase.retry", "phase.retry.max",
          "phase.retry.delay")
    def test_how_a_step_runs(self):
        self.write("""
            [command.go]
            run = { pipeline = "go" }
            [pipeline.go]
            on_fail = "fail"
            [[pipeline.go.phase]]
            name = "where"
            cwd  = "/usr"
            env  = { CI = "yes {name}" }
            run  = "echo \\"where=$PWD $CI\\" >> $REEVE_OUTPUT"
            [[pipeline.go.phase]]
            name = "loose"
            run  = "false; true"
            [[pipeline.go.phase]]
            name   = "strict"
            strict = true
            run    = "false; echo no >> out"
            on_fail = "slow"
            [[pipeline.go.phase]]
            name    = "slow"
            timeout = "200ms"
            retry   = { max = 2, delay = "100ms" }
            run     = "echo $REEVE_ATTEMPT {where.where} >> out; sleep 1000"
            next    = "end"
        """)
        shown = self.failed("go")
        self.assertEqual(self.lines("out"), [f"{attempt} /usr yes go" for attempt in (1, 2, 3)])
        self.assertEqual(shown["phases"][-1]["state"], "failed")

    @uses("phase.on_unknown")
    def test_what_nobody_knows_is_tried_again(self):
        self.write("""
            [command.go]
            run = { pipeline = "go" }
            [pipeline.go]
            [[pipeline.go.phase]]
            name       = "work"
            on_unknown = "retry"
            run        = "echo $REEVE_ATTEMPT >> out; [ $REEVE_ATTEMPT -gt 1 ] || sleep 1000"
        """)
        id = self.begin("go")
        self.until(lambda: self.lines("out") == ["1"])
        self.stop_daemon(signal.SIGKILL)
        self.kill("/runs/")  # its hold, which would tell how the rest ended
        self.kill()
        self.ends(id)
        self.assertEqual(len(self.lines("out")), 2)

    def kill(self, text=""):
        for name in os.listdir("/proc"):
            try:
                with open(f"/proc/{name}/environ", "rb") as file:
                    environ = file.read()
                with open(f"/proc/{name}/cmdline", "rb") as file:
                    cmdline = file.read()
                ours = self.home.encode() in environ + cmdline and text.encode() in cmdline
                if ours and name != str(os.getpid()):
                    os.kill(int(name), signal.SIGKILL)
            except (OSError, ValueError):
                continue

    @uses("phase.pipeline", "phase.inputs", "phase.parallel", "phase.join", "phase.for_each", "phase.max")
    def test_children(self):
        self.write("""
            [command.go]
            args = "<items...>"
            run  = { pipeline = "go" }
            [pipeline.go]
            inputs  = ["items"]
            on_fail = "fail"
            [[pipeline.go.phase]]
            name     = "one"
            pipeline = "leaf"
            inputs   = { name_of = "single" }
            [[pipeline.go.phase]]
            name     = "each"
            for_each = "{items}"
            pipeline = "leaf"
            max      = 1
            [[pipeline.go.phase]]
            name     = "first"
            parallel = ["quick", "slow"]
            join     = "any"
            [pipeline.leaf]
            inputs = ["name_of"]
            [[pipeline.leaf.phase]]
            name = "leaf"
            run  = "mkdir busy && echo {name_of} >> out; sleep 0.05; rmdir busy"
            [pipeline.quick]
            [[pipeline.quick.phase]]
            name = "quick"
            run  = "echo quick >> out"
            [pipeline.slow]
            [[pipeline.slow.phase]]
            name = "slow"
            run  = "sleep 1000"
        """)
        self.done("go", "a", "b", "c")
        self.assertEqual(self.lines("out"), ["single", "a", "b", "c", "quick"])
        states = [run["state"] for run in self.data("pipeline", "list", "--name", "slow")["pipelines"]]
        self.assertEqual(states, ["cancelled"])

    @uses("phase.lock", "phase.semaphore", "phase.semaphore.name", "phase.semaphore.weight",
          "semaphore.capacity", "lock.max_hold")
    def test_room(self):
        self.write("""
            [command.heavy]
            run = { pipeline = "heavy" }
            [pipeline.heavy]
            [[pipeline.heavy.phase]]
            name      = "work"
            semaphore = { name = "cores", weight = 2 }
            run       = "until [ -e free ]; do sleep 0.02; done"
            [command.light]
            run = { pipeline = "light" }
            [pipeline.light]
            [[pipeline.light.phase]]
            name      = "work"
            semaphore = "cores"
            lock      = ["one", "two"]
            run       = "echo $REEVE_FENCE >> fence; until [ -e free ]; do sleep 0.02; done"
            [semaphore.cores]
            capacity = 3
            [lock.one]
            [lock.two]
            max_hold = "1h"
        """)
        heavy, light = self.begin("heavy"), self.begin("light")
        self.until(lambda: self.lines("fence"))
        self.assertEqual(self.data("sem", "show", "cores")["in_use"], 3)
        third = self.begin("heavy")
        self.blocked(third, "semaphore")
        fourth = self.begin("light")
        self.blocked(fourth, "lock")
        self.assertEqual(self.data("lock", "show", "two")["holder"], light)
        self.file("free")
        for id in (heavy, light, third, fourth):
            self.ends(id)
        self.assertEqual(self.data("sem", "show", "cores")["in_use"], 0)
        first, second = (int(line) for line in self.lines("fence"))
        self.assertLess(first, second)

    @uses("phase.pre", "phase.post", "guard.condition", "guard.retry", "guard.retry.max",
          "guard.retry.interval", "guard.wake_on", "guard.timeout", "guard.on_timeout")
    def test_guards(self):
        self.write("""
            [command.go]
            args = "<branch>"
            run  = { pipeline = "go" }
            [pipeline.go]
            inputs  = ["branch"]
            on_fail = "fail"
            [[pipeline.go.phase]]
            name = "first"
            pre  = ["ready"]
            run  = "echo first >> out"
            post = ["good"]
            [[pipeline.go.phase]]
            name = "second"
            pre  = ["late"]
            run  = "echo second >> out"
            [guard.ready]
            condition = "echo ready >> looks; test -e ready"
            retry     = { max = 100, interval = "1h" }
            wake_on   = ["ci:{branch}:green"]
            [guard.good]
            condition = "echo good >> looks; test $(grep -c good looks) -ge 3"
            retry     = { max = 100, interval = "50ms" }
            [guard.late]
            condition  = "echo late >> looks; false"
            retry      = { max = 100, interval = "50ms" }
            timeout    = "300ms"
            on_timeout = "fail"
        """)
        id = self.begin("go", "main")
        self.blocked(id, "guard")
        self.until(lambda: self.lines("looks") == ["ready"])
        self.file("ready")
        self.reeve("emit", "ci:other:green")
        self.reeve("emit", "ci:main:green")
        shown = self.ends(id, "failed")
        self.assertEqual(self.lines("out"), ["first"])
        self.assertIn("late", shown["error"])
        self.assertEqual(self.lines("looks")[:5], ["ready", "ready", "good", "good", "good"])


class Pipelines(Project):
    @uses("pipeline.workspace", "pipeline.workspace.git", "pipeline.workspace.branch", "pipeline.workspace.base")
    def test_a_worktree(self):
        self.repository()
        self.write("""
            [command.go]
            args = "<branch>"
            run  = { pipeline = "go" }
            [pipeline.go]
            inputs    = ["branch"]
            workspace = { git = true, branch = "fix/{branch}", base = "main" }
            [[pipeline.go.phase]]
            name = "work"
            run  = "echo two > b.txt; git add b.txt; git commit -qm second; echo where=$PWD >> $REEVE_OUTPUT"
        """)
        shown = self.done("go", "7")
        self.assertEqual(self.git("log", "--format=%s", "fix/7").split(), ["second", "first"])
        self.assertEqual(self.git("log", "--format=%s", "main").split(), ["first"])
        self.assertNotEqual(shown["outputs"]["work"]["where"], self.work)
        self.assertFalse(self.has("b.txt"))

    @uses("pipeline.workspace", "pipeline.workspace.folder")
    def test_a_folder(self):
        self.write("""
            [command.own]
            run = { pipeline = "own" }
            [pipeline.own]
            workspace = "folder"
            [[pipeline.own.phase]]
            name = "work"
            run  = "ls -A | wc -l > {project}.txt; echo where=$PWD >> $REEVE_OUTPUT"
            [command.named]
            run = { pipeline = "named" }
            [pipeline.named]
            workspace = { folder = "parts/{id}" }
            [[pipeline.named.phase]]
            name = "work"
            run  = "echo where=$PWD >> $REEVE_OUTPUT"
        """)
        first = self.done("own")["outputs"]["work"]["where"]
        second = self.done("own")["outputs"]["work"]["where"]
        self.assertNotEqual(first, second)
        self.assertNotEqual(first, self.work)
        os.mkdir(os.path.join(self.work, "parts"))
        id = self.begin("named")
        self.assertEqual(self.ends(id)["outputs"]["work"]["where"], os.path.join(self.work, "parts", id))

    @uses("pipeline.on_cancel", "pipeline.after", "pipeline.pass_env", "pipeline.secret")
    def test_around_the_phases(self):
        self.write("""
            [command.go]
            args     = "[after]"
            defaults = { after = "" }
            run      = { pipeline = "go" }
            [pipeline.go]
            inputs    = ["after"]
            after     = ["{after}"]
            on_cancel = "clean"
            pass_env  = ["TRACKER_URL"]
            secret    = ["TRACKER_TOKEN"]
            [[pipeline.go.phase]]
            name = "work"
            run  = "echo $TRACKER_URL ${#TRACKER_TOKEN} $OTHER; echo {id} >> out; until [ -e free ]; do sleep 0.02; done"
            next = "end"
            [[pipeline.go.phase]]
            name = "clean"
            run  = "echo clean >> out"
        """)
        env = {"TRACKER_URL": "http://x", "TRACKER_TOKEN": "hunter2hunter2", "OTHER": "no"}
        first = self.begin("go", env=env)
        second = self.begin("go", first)
        self.blocked(second, "dependency")
        self.until(lambda: self.lines("out") == [first])
        third = self.begin("go")
        self.until(lambda: third in self.lines("out"))
        self.reeve("cancel", third)
        self.ends(third, "cancelled")
        self.assertEqual(self.lines("out"), [first, third, "clean"])
        self.file("free")
        self.ends(first)
        self.ends(second)
        self.assertEqual(self.lines("out")[3:], [second])
        self.assertEqual(self.out("logs", first), "http://x 14")


class Strategies(Project):
    @uses("phase.strategy", "strategy.checkpoint", "strategy.on_exhaust", "attempt.name", "attempt.run",
          "attempt.timeout", "attempt.rollback", "attempt.fallback_on", "attempt.agent")
    def test_several_ways_to_one_end(self):
        self.write("""
            [command.go]
            run = { pipeline = "go" }
            [pipeline.go]
            on_fail = "fail"
            [[pipeline.go.phase]]
            name     = "try"
            strategy = "ways"
            next     = "end"
            [[pipeline.go.phase]]
            name = "exhausted"
            run  = "echo exhausted >> out"
            [strategy.ways]
            checkpoint = "echo noise >&2; echo before"
            on_exhaust = "exhausted"
            [[strategy.ways.attempt]]
            name        = "slow"
            run         = "echo slow {checkpoint} >> out; sleep 1000"
            timeout     = "200ms"
            rollback    = "echo back to {checkpoint} >> out"
            fallback_on = ["timeout"]
            [[strategy.ways.attempt]]
            name        = "loud"
            run         = "echo loud >> out; echo No SUCH branch; exit 1"
            fallback_on = ["no such branch", "/never[0-9]/"]
            [[strategy.ways.attempt]]
            name  = "someone"
            agent = "someone"
            [agent.someone]
            mode     = "print"
            command  = "echo someone >> out; test -e good"
        """)
        self.failed("go")
        tried = ["slow before", "back to before", "loud", "someone"]
        self.assertEqual(self.lines("out"), [*tried, "exhausted"])
        self.file("good")
        self.file("out")
        self.done("go")
        self.assertEqual(self.lines("out"), tried)

    @uses("attempt.merge", "attempt.branch", "attempt.into")
    def test_merges(self):
        self.repository()
        self.write("""
            [command.land]
            args = "<topic>"
            run  = { pipeline = "land" }
            [pipeline.land]
            inputs  = ["topic"]
            on_fail = "fail"
            [[pipeline.land.phase]]
            name     = "land"
            strategy = "land"
            [strategy.land]
            [[strategy.land.attempt]]
            name   = "fast-forward"
            merge  = "ff"
            branch = "topic/{topic}"
            into   = "main"
            [[strategy.land.attempt]]
            name   = "squash"
            merge  = "squash"
            branch = "topic/{topic}"
            into   = "main"
        """)
        self.git("checkout", "-q", "-b", "desk")
        for topic in ("x", "y"):
            self.git("checkout", "-q", "-b", f"topic/{topic}", "desk")
            self.file(f"{topic}.txt", topic)
            self.git("add", f"{topic}.txt")
            self.git("commit", "-q", "-m", topic)
        self.git("checkout", "-q", "desk")
        self.done("land", "x")
        self.assertEqual(self.git("rev-parse", "main"), self.git("rev-parse", "topic/x"))
        self.done("land", "y")
        self.assertEqual(self.git("ls-tree", "--name-only", "main").split(), ["a.txt", "x.txt", "y.txt"])


AGENT = """
    [command.go]
    args = "[who]"
    defaults = { who = "world" }
    run  = { pipeline = "go" }
    [pipeline.go]
    inputs  = ["who"]
    on_fail = "fail"
    [[pipeline.go.phase]]
    name  = "work"
    agent = "it"
    [agent.it]
"""


class Agents(Project):
    @uses("phase.agent", "agent.kind", "agent.command", "agent.mode", "agent.prompt", "agent.cwd", "agent.env",
          "agent.timeout")
    def test_one_that_is_run_to_its_end(self):
        self.write(AGENT + """
            kind    = "generic"
            mode    = "print"
            command = "read -r line; echo \\"$line $PWD $ROLE\\"; [ {who} != slow ] || sleep 1000"
            prompt  = "hello {who}"
            cwd     = "/usr"
            env     = { ROLE = "of {who}" }
            timeout = "2s"
        """.replace("            ", "    "))
        self.done("go")
        agent = self.data("agent", "list")["agents"][0]["id"]
        self.assertEqual(self.out("logs", agent), "hello world /usr of world")
        self.failed("go", "slow")

    @uses("phase.task", "agent.prompt_file", "agent.on_exit")
    def test_how_one_ends(self):
        self.write("""
            [command.go]
            run  = { pipeline = "go" }
            [pipeline.go]
            on_fail = "fail"
            [[pipeline.go.phase]]
            name = "work"
            task = "it"
            [[pipeline.go.phase]]
            name  = "session"
            agent = "session"
            [agent.it]
            mode        = "print"
            command     = "cat >> out"
            prompt_file = "prompt.txt"
            [agent.session]
            mode    = "session"
            command = "echo session >> out; sleep 0.2"
            on_exit = "fail"
        """)
        self.file("prompt.txt", "do it\n")
        shown = self.failed("go")
        self.assertEqual(self.lines("out"), ["do it", "session"])
        self.assertEqual([phase["state"] for phase in shown["phases"]], ["done", "failed"])

    @uses("agent.mode", "agent.idle_timeout", "agent.on_idle", "agent.prompt")
    def test_a_session_that_is_idle_is_nudged_restarted_and_then_somebody_is_asked(self):
        self.write(AGENT + """
            mode         = "session"
            command      = "echo began >> out; while read -r line; do echo \\"got $line\\" >> out; done"
            prompt       = "hello {who}"
            idle_timeout = "1s"
            on_idle      = ["nudge:1", "restart:1", "escalate"]
        """.replace("            ", "    "))
        id = self.begin("go")
        self.until(lambda: "got hello world" in self.lines("out"), self.read("out"))
        self.blocked_by_agent(id)
        self.assertEqual(self.lines("out").count("began"), 2, self.read("out"))
        nudges = [line for line in self.lines("out") if line.startswith("got") and "hello" not in line]
        self.assertGreaterEqual(len(nudges), 1, self.read("out"))
        self.answer("done")
        self.ends(id)

    def blocked_by_agent(self, id):
        return self.until(lambda: self.data("show", id).get("blocked_on", {}).get("kind") == "decision",
                          f"nobody was asked: {self.out('why', id)}", seconds=40)

    @uses("agent.progress_timeout", "agent.checkpoint", "agent.checkpoint.every", "agent.checkpoint.run")
    def test_one_that_is_alive_and_gets_nowhere(self):
        self.write(AGENT + """
            mode             = "print"
            command          = "while sleep 0.1; do echo alive; done"
            idle_timeout     = "1h"
            progress_timeout = "2500ms"
            on_idle          = ["fail"]
            checkpoint       = { every = "1s", run = "echo kept {who} >> kept" }
        """.replace("            ", "    "))
        self.failed("go")
        self.assertIn("kept world", self.lines("kept"))


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
        self.worker('max_attempts = 3\nbackoff = { first = "400ms", max = "500ms" }\ndead_letter = "dead"'
                    .replace("\n", "\n            "), "[queue.dead]")
        self.reeve("queue", "push", "jobs", "1")
        self.until(lambda: self.stats("dead")["pending"] == 1)
        times = [int(line) for line in self.lines("tried")]
        self.assertEqual(len(times), 3)
        self.assertGreater(times[1] - times[0], 150_000_000)

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
        self.assertEqual(len(self.data("queue", "list", "jobs", "--state", "completed")["items"]), 2)
        self.reeve("queue", "push", "jobs", '"slow"')
        self.reeve("queue", "take", "jobs")
        self.until(lambda: self.stats("jobs")["dead"] == 1, "it is still taken")
        self.until(lambda: self.stats("jobs")["dead"] == 0, "it is still kept")

    @uses("queue.source", "queue.poll", "worker.concurrency", "worker.wake_on")
    def test_items_from_outside(self):
        self.write("""
            [queue.tracker]
            source = "cat items.json"
            poll   = "1s"
            [worker.it]
            queue       = "tracker"
            handler     = "pipeline.job"
            concurrency = 2
            wake_on     = ["bug:created"]
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
        self.reeve("emit", "bug:created")
        self.file("items.json", '[{"id": "d"}]')
        self.until(lambda: "d" in self.lines("out"))
        self.assertEqual(len(self.lines("out")), 4)


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
            run      = { pipeline = "go", inputs = { what = "often" } }
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
    def test_two_at_once_and_after_a_pause(self):
        kinds = ("skip", "buffer_one", "buffer_all", "cancel_other", "allow")
        self.write("".join(f"""
            [cron.{kind}]
            interval = "1s"
            overlap  = "{kind}"
            catch_up = "none"
            run      = {{ pipeline = "{kind}" }}
            [pipeline.{kind}]
            [[pipeline.{kind}.phase]]
            name = "go"
            run  = "echo {kind} >> out; until [ -e free ]; do sleep 0.05; done"
        """ for kind in kinds))
        for kind in kinds:
            self.reeve("cron", "enable", kind)
        self.until(lambda: self.lines("out").count("allow") >= 4)
        for kind in kinds:
            self.reeve("cron", "disable", kind)
        began = {kind: self.lines("out").count(kind) for kind in kinds}
        self.assertEqual([began[kind] for kind in kinds[:3]], [1, 1, 1])
        self.assertGreaterEqual(began["cancel_other"], 2)
        self.assertEqual(len(self.active("--name", "cancel_other")), 1)
        self.assertGreaterEqual(len(self.active("--name", "allow")), 4)
        self.file("free")
        self.until(lambda: not self.active())

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
        time.sleep(4)
        self.file("out")
        self.reeve("daemon", "start")
        self.until(lambda: set(self.lines("out")) == set(names) and self.lines("out").count("all") >= 4)
        for name in names:
            self.reeve("cron", "disable", name)
        found = {name: self.lines("out").count(name) for name in names}
        self.assertGreaterEqual(found["all"], found["latest"] + 2, found)
        self.assertLessEqual(found["none"], found["latest"], found)


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
          "action.max_attempts", "cron.run.monitors", "watcher.source", "watcher.run", "scanner.source",
          "scanner.run", "watcher.condition")
    def test_monitors_and_actions(self):
        self.write("""
            [cron.look]
            interval = "1s"
            run      = { monitors = ["one", "two", "three"] }
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
        self.until(lambda: "give_up a" in self.lines("done"), seconds=40)
        looks = len(self.lines("scanned"))
        self.until(lambda: len(self.lines("scanned")) > looks + 2)
        self.assertEqual(self.lines("done"), ["poke a", "kick a", "kick a", "give_up a"])
        self.assertEqual(set(self.lines("watched")), {"two b"})
        self.assertEqual(set(self.lines("scanned")), {"three a", "three b"})

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
            "pipeline:failed" = "echo {noun} {verb} {id} >> hooks"
            "step:made"       = "echo {what} >> hooks"
            [notify]
            on      = ["pipeline:failed"]
            command = "cat >> told"
        """)
        id = self.failed("go")["id"]
        self.until(lambda: len(self.lines("hooks")) == 2 and self.lines("told"))
        self.assertEqual(sorted(self.lines("hooks")), ["a b", f"pipeline failed {id}"])
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


class Everything(Project):
    def test_every_key_of_the_loader_has_a_test(self):
        known = keys_of_the_loader(self.work)
        self.assertGreater(len(known), 110)
        of_aliases = {f"{alias}.{key}" for alias in ("watcher", "scanner")
                      for key in ("source", "condition", "response", "run")}
        self.assertEqual(sorted(known - set(PROVEN) - set(ELSEWHERE) - of_aliases), [], "keys without a test")
        self.assertEqual(sorted((set(PROVEN) | set(ELSEWHERE)) - known), [], "keys that are none")


if __name__ == "__main__":
    if "--table" in sys.argv:
        for proven in sorted({**PROVEN, **ELSEWHERE}):
            print(f"{proven:28} {', '.join(PROVEN.get(proven, [ELSEWHERE.get(proven, '')]))}")
        sys.exit()
    unittest.main()
