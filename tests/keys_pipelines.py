"""For keys_test.py: what is around the phases, strategies and agents."""

import json
import os

from keys_testing import Project, uses
from reeve_testing import seconds_of


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
            workspace = { git = true, branch = "fix/{branch}", base = "release" }
            [[pipeline.go.phase]]
            name = "work"
            run  = "echo two > b.txt; git add b.txt; git commit -qm second; echo where=$PWD >> $REEVE_OUTPUT"
        """)
        self.git("checkout", "-q", "-b", "release")
        self.git("commit", "-q", "--allow-empty", "-m", "released")
        self.git("checkout", "-q", "main")
        self.git("commit", "-q", "--allow-empty", "-m", "later")
        shown = self.done("go", "7")
        self.assertEqual(self.git("log", "--format=%s", "fix/7").split(), ["second", "released", "first"])
        self.assertEqual(self.git("log", "--format=%s", "main").split(), ["later", "first"])
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
            run  = '''
            ls -A | wc -l > {project}.txt
            echo where=$PWD >> $REEVE_OUTPUT
            echo ws=$REEVE_WORKSPACE >> $REEVE_OUTPUT
            '''
            [command.named]
            run = { pipeline = "named" }
            [pipeline.named]
            workspace = { folder = "parts/{id}" }
            [[pipeline.named.phase]]
            name = "work"
            run  = "echo where=$PWD >> $REEVE_OUTPUT; echo ws=$REEVE_WORKSPACE >> $REEVE_OUTPUT"
        """)
        first = self.done("own")["outputs"]["work"]
        second = self.done("own")["outputs"]["work"]
        self.assertNotEqual(first["where"], second["where"])
        self.assertNotEqual(first["where"], self.work)
        for each in (first, second):
            self.assertEqual(each["ws"], each["where"])
        os.mkdir(os.path.join(self.work, "parts"))
        id = self.begin("named")
        place = os.path.join(self.work, "parts", id)
        self.assertEqual(self.ends(id)["outputs"]["work"], {"where": place, "ws": place})

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
        self.assertEqual(self.out("logs", first), "*** 14")


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

    @uses("attempt.fallback_on")
    def test_the_next_way_is_tried_after_what_this_one_expects_and_nothing_else(self):
        self.write("""
            [command.go]
            args = "<says>"
            run  = { pipeline = "go" }
            [pipeline.go]
            inputs  = ["says"]
            on_fail = "fail"
            [[pipeline.go.phase]]
            name     = "try"
            strategy = "ways"
            [strategy.ways]
            [[strategy.ways.attempt]]
            name        = "first"
            run         = "echo first >> out; echo {says}; exit 1"
            rollback    = "echo back >> out"
            fallback_on = ["/^never[0-9]+ ever$/", "timeout"]
            [[strategy.ways.attempt]]
            name = "second"
            run  = "echo second >> out"
        """)
        self.done("go", "Never17 ever")
        self.assertEqual(self.lines("out"), ["first", "back", "second"])
        for says in ("never ever", "never17 ever more", "timeout"):
            self.file("out")
            shown = self.failed("go", says)
            self.assertEqual(self.lines("out"), ["first"], says)
            self.assertIn(says, self.out("logs", shown["id"]))

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
            for name in (topic, f"{topic}-more"):
                self.file(f"{name}.txt", name)
                self.git("add", f"{name}.txt")
                self.git("commit", "-q", "-m", name)
        self.git("checkout", "-q", "desk")
        self.done("land", "x")
        before = self.git("rev-parse", "topic/x")
        self.assertEqual(self.git("rev-parse", "main"), before)
        self.done("land", "y")
        self.assertEqual(self.git("ls-tree", "--name-only", "main").split(),
                         ["a.txt", "x-more.txt", "x.txt", "y-more.txt", "y.txt"])
        # Of two commits one, with the one parent that main was: neither a merge nor a rebase.
        self.assertEqual(self.git("log", "--format=%P", f"{before}..main").splitlines(), [before])
        self.assertEqual(self.git("log", "-1", "--format=%B", "main").split("\n"), ["y-more", "", "* y", "* y-more"])


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
        run = self.data("agent", "show", agent)["pipeline"]
        self.assertEqual(self.out("logs", run), "hello world /usr of world")
        self.assertIn("work#1 it:", self.reeve("logs", run, "--phase", "work").stderr)
        self.failed("go", "slow")

    @uses("phase.task", "agent.prompt_file", "agent.on_exit")
    def test_how_one_ends(self):
        self.file("prompt.txt", "do it\n")
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
        shown = self.failed("go")
        self.assertEqual(self.lines("out"), ["do it", "session"])
        self.assertEqual([phase["state"] for phase in shown["phases"]], ["done", "failed"])

    @uses("agent.on_exit")
    def test_a_session_that_ends_without_a_word_is_done_or_begun_again_or_asked_about(self):
        words = ("done", "restart:1", "escalate")
        self.write("".join(f"""
            [command.{name}]
            run  = {{ pipeline = "{name}" }}
            [pipeline.{name}]
            on_fail = "fail"
            [[pipeline.{name}.phase]]
            name  = "work"
            agent = "{name}"
            [agent.{name}]
            mode    = "session"
            command = "echo {name} >> out"
            on_exit = "{word}"
        """ for word, name in ((word, word.partition(":")[0]) for word in words)))
        runs = {name: self.begin(name) for name in ("done", "restart", "escalate")}
        self.ends(runs["done"])
        self.assertIn("its restarts are used up", self.ends(runs["restart"], "failed")["error"])
        self.blocked_by_agent(runs["escalate"])
        self.assertIn("has ended", self.answer("done"))
        self.ends(runs["escalate"])
        self.assertEqual(sorted(self.lines("out")), ["done", "escalate", "restart", "restart"])

    @uses("agent.on_error", "agent.mode")
    def test_a_session_whose_program_fails_is_not_done(self):
        self.write("""
            [command.asks]
            run  = { pipeline = "asks" }
            [command.fails]
            run  = { pipeline = "fails" }
            [pipeline.asks]
            on_fail = "fail"
            [[pipeline.asks.phase]]
            name  = "work"
            agent = "asks"
            [pipeline.fails]
            on_fail = "fail"
            [[pipeline.fails.phase]]
            name  = "work"
            agent = "fails"
            [agent.asks]
            mode     = "session"
            command  = "no_such_program_at_all"
            on_error = "escalate"
            [agent.fails]
            mode     = "session"
            command  = "echo I will fail; exit 4"
            on_error = "fail"
        """)
        shown = self.failed("fails")
        self.assertIn("exit code 4", shown["error"])
        self.until(lambda: "I will fail" in self.out("logs", shown["id"]))
        agent = shown["agents"][0]["id"]
        for words in (("send", agent, "hello"), ("nudge", agent), ("restart", agent)):
            self.assertIn(f"{agent} has ended", self.err("agent", *words, code=5))
        asks = self.begin("asks")
        self.blocked_by_agent(asks)
        asked = self.data("decision", "list")["decisions"][0]
        self.assertRegex(asked["question"], r"has ended \(exit code 127: .*no_such_program_at_all.*not found")
        self.assertEqual(asked["choices"], ["restart", "done", "fail", "cancel"])
        for words in (("why", asks), ("status",)):
            self.assertIn("exit code 127", " ".join(self.out(*words).split()))
        # There is no session that could hear it.
        self.assertIn("restart", self.err("decision", "resolve", asked["id"], "--choice", "nudge", code=2))
        self.assertEqual(self.data("decision", "list")["decisions"][0]["id"], asked["id"])
        self.answer("fail")
        self.ends(asks, "failed")

    @uses("agent.mode", "phase.agent", "phase.retry", "phase.lock")
    def test_a_session_that_failed_is_tried_again_as_its_phase_says(self):
        self.write("""
            [command.go]
            run  = { pipeline = "go" }
            [pipeline.go]
            [[pipeline.go.phase]]
            name  = "work"
            agent = "it"
            lock  = "it"
            retry = { max = 2, delay = "100ms" }
            [lock.it]
            [agent.it]
            command = "echo began >> out; exit 3"
            mode    = "session"
        """)
        id = self.begin("go")
        self.until(lambda: self.data("decision", "list")["decisions"], self.read("out"))
        self.assertEqual(self.lines("out"), ["began"] * 3)
        asked = self.data("decision", "list")["decisions"][0]
        self.assertEqual(asked["choices"], ["retry", "skip", "fail", "cancel"])
        held = [lock["name"] for lock in self.data("lock", "list")["locks"] if lock["state"] == "held"]
        self.assertEqual(held, [])
        self.answer("fail")
        self.ends(id, "failed")

    @uses("agent.mode")
    def test_what_cannot_be_typed_is_not_sent(self):
        self.write(AGENT + """
            command = "echo began >> out; while read -r line; do echo \\"got $line\\" >> out; done"
            mode    = "session"
        """.replace("            ", "    "))
        id = self.begin("go")
        self.until(lambda: self.lines("out") == ["began"])
        agent = self.data("show", id)["agents"][0]["id"]
        self.until(lambda: self.data("agent", "show", agent)["state"] != "pending")
        for text in ("", "\n", "\x1b\x07"):
            self.assertIn("nothing that can be typed", self.err("agent", "send", agent, text, code=2))
        self.reeve("agent", "send", agent, "hello")
        self.until(lambda: self.lines("out") == ["began", "got hello"], self.read("out"))
        self.reeve("cancel", id)

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
        self.until(lambda: self.labels(id) == ["work#1 it", "work#1 it (2)"],
                   lambda: f"{self.labels(id)}\n{self.read('out')}\n{self.out('logs', id, '--json')}")
        agent = self.data("show", id)["agents"][0]["id"]
        self.assertEqual(self.labels(agent), ["agent#1", "agent#2"])
        self.answer("done")
        self.ends(id)

    @uses("agent.idle_timeout", "agent.on_idle")
    def test_a_session_that_says_nothing_and_beats_is_not_idle(self):
        self.write("".join(f"""
            [command.{name}]
            run  = {{ pipeline = "{name}" }}
            [pipeline.{name}]
            on_fail = "fail"
            [[pipeline.{name}.phase]]
            name  = "work"
            agent = "{name}"
            [agent.{name}]
            mode         = "session"
            command      = "until [ -e free ]; do {beat}; sleep 0.2; done; echo {name} >> out"
            idle_timeout = "2s"
            on_idle      = ["nudge:9", "fail"]
        """ for name, beat in (("beats", "reeve heartbeat > beat 2>&1"), ("silent", "true"))))
        beats = self.begin("beats")
        self.until(lambda: self.events("task:heartbeat"))
        silent = self.begin("silent")

        def nudges():
            return {each["agent"]: each["nudges"] for each in self.data("agent", "list")["agents"]}

        # It began later, and its patience is at an end; so the other's would be by now.
        self.until(lambda: nudges().get("silent"), "nobody minds that it is silent")
        self.assertEqual(nudges()["beats"], 0)
        self.file("free")
        self.ends(beats)
        self.ends(silent)
        self.assertEqual(nudges()["beats"], 0)
        self.assertEqual({each["subject"] for each in self.events("task:nudged")},
                         {each["id"] for each in self.data("agent", "list")["agents"] if each["agent"] == "silent"})

    @uses("agent.mode", "agent.idle_timeout", "agent.on_idle")
    def test_one_that_is_run_to_completion_is_watched_if_its_limit_is_written(self):
        self.write(AGENT + """
            mode         = "print"
            command      = "echo began >> out; sleep 60"
            idle_timeout = "1s"
            on_idle      = ["nudge:2", "restart:1", "fail"]
        """.replace("            ", "    "))
        self.failed("go")
        self.assertEqual(self.lines("out"), ["began"] * 2)
        self.write(AGENT + """
            mode    = "print"
            command = "sleep 3"
            on_idle = ["fail"]
        """.replace("            ", "    "))
        self.done("go")

    def labels(self, id):
        said = self.out("logs", id, "--json").splitlines()
        return list(dict.fromkeys(json.loads(line)["label"] for line in said))

    def blocked_by_agent(self, id):
        return self.until(lambda: self.data("show", id).get("blocked_on", {}).get("kind") == "decision",
                          lambda: f"nobody was asked: {self.out('why', id)}")

    @uses("agent.progress_timeout", "agent.idle_timeout")
    def test_one_that_is_alive_and_gets_nowhere(self):
        self.write(AGENT + """
            mode             = "print"
            command          = "while sleep 0.1; do echo alive; done"
            idle_timeout     = "1h"
            progress_timeout = "2500ms"
            on_idle          = ["fail"]
        """.replace("            ", "    "))
        self.failed("go")

    @uses("agent.checkpoint", "agent.checkpoint.every", "agent.checkpoint.run")
    def test_what_one_has_done_is_kept_every_so_often(self):
        self.write(AGENT + """
            mode       = "print"
            command    = "touch kept; until [ $(wc -l < kept) -ge 3 ]; do sleep 0.05; done"
            checkpoint = { every = "1s", run = "echo kept {who} >> kept" }
        """.replace("            ", "    "))
        self.done("go")
        self.assertEqual(self.lines("kept")[:3], ["kept world"] * 3)
        began, over = (seconds_of(self.events(f"task:{name}")[0]["at"]) for name in ("started", "complete"))
        self.assertGreaterEqual(over - began, 2.9, "they came sooner than they should")

    def test_one_that_publishes_values_gets_somewhere(self):
        self.write(AGENT + """
            mode             = "print"
            command          = "for i in 1 2 3 4 5; do sleep 1; echo n=$i >> $REEVE_OUTPUT; done"
            progress_timeout = "2500ms"
            on_idle          = ["fail"]
        """.replace("            ", "    "))
        self.done("go")
