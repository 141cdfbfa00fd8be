"""For keys_test.py: words of keys, and what is done by hand."""

from keys_testing import Project


class Words(Project):
    """What the tests above leave out of the words that a key may have, and what is done to a run by hand."""

    def test_the_first_failure_ends_the_others(self):
        self.write("""
            [command.go]
            run = { pipeline = "go" }
            [pipeline.go]
            on_fail = "fail"
            [[pipeline.go.phase]]
            name     = "both"
            parallel = ["bad", "slow"]
            join     = "first_failure"
            [pipeline.bad]
            on_fail = "fail"
            [[pipeline.bad.phase]]
            name = "bad"
            run  = "until [ -e begun ]; do sleep 0.02; done; exit 3"
            [pipeline.slow]
            [[pipeline.slow.phase]]
            name = "slow"
            run  = "touch begun; sleep 1000"
        """)
        self.failed("go")
        states = {run["name"]: run["state"] for run in self.data("pipeline", "list")["pipelines"]}
        self.assertEqual(states, {"go": "failed", "bad": "failed", "slow": "cancelled"})

    def test_a_guard_that_is_late_may_go_on_waiting(self):
        self.write("""
            [command.go]
            run = { pipeline = "go" }
            [pipeline.go]
            [[pipeline.go.phase]]
            name = "work"
            pre  = ["ready"]
            run  = "echo work >> out"
            [guard.ready]
            condition  = "echo look >> looks; test -e ready"
            retry      = { max = 1000, interval = "50ms" }
            timeout    = "200ms"
            on_timeout = "block"
        """)
        id = self.begin("go")
        self.until(lambda: len(self.lines("looks")) > 20)
        self.blocked(id, "guard")
        self.file("ready")
        self.ends(id)

    def test_an_item_that_is_used_up_is_dead_and_somebody_is_asked(self):
        self.write("""
            [queue.jobs]
            max_attempts = 1
            on_exhaust   = "escalate"
            [worker.it]
            queue       = "jobs"
            handler     = "pipeline.job"
            concurrency = 1
            [pipeline.job]
            inputs  = ["number"]
            on_fail = "fail"
            [[pipeline.job.phase]]
            name = "job"
            run  = "echo {number} >> out; test -e good"
        """)
        self.reeve("worker", "start", "it")
        self.reeve("queue", "push", "jobs", "7")
        self.until(lambda: self.stats("jobs")["dead"] == 1)
        self.file("good")
        self.answer("retry")
        self.until(lambda: self.stats("jobs")["completed"] == 1)
        self.assertEqual(self.lines("out"), ["7", "7"])

    def test_a_worker_is_resized_while_it_works(self):
        self.write("""
            [queue.jobs]
            [worker.it]
            queue       = "jobs"
            handler     = "pipeline.job"
            concurrency = 1
            [pipeline.job]
            inputs = ["number"]
            [[pipeline.job.phase]]
            name = "job"
            run  = "echo {number} >> out; until [ -e free ]; do sleep 0.02; done"
        """)
        self.reeve("worker", "start", "it")
        for number in range(4):
            self.reeve("queue", "push", "jobs", str(number))
        self.until(lambda: len(self.lines("out")) == 1)
        self.assertEqual(self.stats("jobs")["pending"], 3)
        self.reeve("worker", "resize", "it", "3")
        self.until(lambda: len(self.lines("out")) == 3)
        self.assertEqual(self.stats("jobs")["pending"], 1)
        self.file("free")
        self.until(lambda: self.stats("jobs")["completed"] == 4)

    def test_a_failed_run_goes_on_from_where_it_is_told(self):
        self.write("""
            [command.go]
            run = { pipeline = "go" }
            [pipeline.go]
            on_fail = "fail"
            [[pipeline.go.phase]]
            name = "one"
            run  = "echo one >> out; echo at=$(wc -l < out) >> $REEVE_OUTPUT"
            [[pipeline.go.phase]]
            name = "two"
            run  = "echo two {one.at} >> out; test -e good"
        """)
        id = self.begin("go")
        self.ends(id, "failed")
        self.file("good")
        self.reeve("resume", id, "--from", "one")
        self.ends(id)
        self.assertEqual(self.lines("out"), ["one", "two 1", "one", "two 3"])

    def test_a_merge_and_a_rebase_by_reeve_itself(self):
        self.repository()
        self.write("".join(f"""
            [command.{kind}]
            run = {{ pipeline = "{kind}" }}
            [pipeline.{kind}]
            on_fail = "fail"
            [[pipeline.{kind}.phase]]
            name     = "land"
            strategy = "{kind}"
            [strategy.{kind}]
            [[strategy.{kind}.attempt]]
            name   = "{kind}"
            merge  = "{kind}"
            branch = "topic-{kind}"
            into   = "main"
        """ for kind in ("merge", "rebase")))
        self.git("checkout", "-q", "-b", "desk")
        for kind in ("merge", "rebase"):
            self.git("checkout", "-q", "-b", f"topic-{kind}", "desk")
            self.file(f"{kind}.txt", kind)
            self.git("add", f"{kind}.txt")
            self.git("commit", "-q", "-m", kind)
        self.git("checkout", "-q", "main")
        self.file("c.txt", "c")
        self.git("add", "c.txt")
        self.git("commit", "-q", "-m", "meanwhile")
        self.git("checkout", "-q", "desk")
        self.done("merge")
        self.assertEqual(len(self.git("rev-list", "--merges", "main").split()), 1)
        self.done("rebase")
        self.assertEqual(len(self.git("rev-list", "--merges", "main").split()), 1)
        self.assertEqual(self.git("ls-tree", "--name-only", "main").split(),
                         ["a.txt", "c.txt", "merge.txt", "rebase.txt"])
