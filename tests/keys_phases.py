"""For keys_test.py: commands, and the phases of a pipeline."""

import os
import signal

from keys_testing import Project, uses
from reeve_testing import seconds_of


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
          "semaphore.capacity")
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

    @uses("phase.lock", "lock.max_hold")
    def test_a_phase_that_holds_its_lock_for_too_long_is_ended_before_the_lock_is_given_on(self):
        self.write("""
            [command.long]
            run = { pipeline = "long" }
            [pipeline.long]
            on_fail = "fail"
            [[pipeline.long.phase]]
            name = "work"
            lock = "main"
            run  = '''
            trap 'sleep 0.5; echo ended >> out; exit 1' TERM
            echo began >> out
            while :; do sleep 0.05; done
            '''
            [command.next]
            run = { pipeline = "next" }
            [pipeline.next]
            [[pipeline.next.phase]]
            name = "work"
            lock = "main"
            run  = "echo next >> out"
            [lock.main]
            max_hold = "1s"
        """)
        id = self.begin("long")
        self.until(lambda: self.lines("out") == ["began"])
        next = self.begin("next")
        shown = self.ends(id, "failed")
        self.assertIn("max_hold exceeded", shown["error"])
        self.ends(next)
        self.assertEqual(self.lines("out"), ["began", "ended", "next"])
        began, failed = (seconds_of(self.events(f"pipeline:{name}")[0]["at"]) for name in ("started", "failed"))
        self.assertGreaterEqual(failed - began, 1)

    @uses("guard.retry.max", "guard.retry.interval")
    def test_a_guard_is_looked_at_as_often_as_it_says(self):
        self.write("""
            [command.pre]
            run = { pipeline = "pre" }
            [pipeline.pre]
            on_fail = "fail"
            [[pipeline.pre.phase]]
            name = "work"
            pre  = ["never"]
            run  = "echo work >> out"
            [command.post]
            run = { pipeline = "post" }
            [pipeline.post]
            [[pipeline.post.phase]]
            name = "work"
            run  = "echo work >> out"
            post = ["never"]
            [guard.never]
            condition = "echo look >> looks; false"
            retry     = { max = 2, interval = "20ms" }
        """)
        shown = self.failed("pre")
        self.assertIn("guard never", shown["error"])
        self.assertEqual(self.lines("looks"), ["look"] * 3)
        self.assertEqual(self.lines("out"), [])
        id = self.begin("post")
        self.assertIn("guard never", self.answer("fail"))
        self.ends(id, "failed")
        self.assertEqual(self.lines("looks"), ["look"] * 6)
        self.assertEqual(self.lines("out"), ["work"])

    @uses("phase.pre", "phase.post", "guard.condition", "guard.retry", "guard.retry.interval",
          "guard.wake_on", "guard.timeout", "guard.on_timeout")
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
            condition = "echo ready {branch} >> looks; test -e ready"
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
        id, other = self.begin("go", "main"), self.begin("go", "other")
        for each in (id, other):
            self.blocked(each, "guard")
        self.until(lambda: sorted(self.lines("looks")) == ["ready main", "ready other"])
        # Of two that wait, the one looks again whose event it is.
        self.reeve("emit", "ci:other:green")
        self.until(lambda: self.lines("looks").count("ready other") == 2)
        self.assertEqual(len(self.events("ci:other:green")), 1)
        self.assertEqual(self.lines("looks").count("ready main"), 1)
        self.reeve("cancel", other)
        self.ends(other, "cancelled")
        self.assertEqual(self.lines("looks").count("ready main"), 1)
        self.file("ready")
        self.file("looks")
        self.reeve("emit", "ci:main:green")
        shown = self.ends(id, "failed")
        self.assertEqual(self.lines("out"), ["first"])
        self.assertIn("late", shown["error"])
        self.assertEqual(self.lines("looks")[:4], ["ready main", "good", "good", "good"])
