"""Steps, guards, programs and machines that misbehave, with the real daemon and the real shell."""

import json
import os
import shutil
import signal
import subprocess
import textwrap
import time
import unittest

from reeve_testing import REEVE, Home, is_alive

RUNBOOK = """
    [command.go]
    args = "<what>"
    run  = { pipeline = "go" }

    [pipeline.go]
    inputs    = ["what"]
    on_cancel = "cleaned"
    [[pipeline.go.phase]]
    name = "before"
    run  = "echo before {what} >> effects.log"
    [[pipeline.go.phase]]
    name = "work"
    lock = "main"
    run  = "echo work {what} >> effects.log; ./step.sh"
    next = "after"
    [[pipeline.go.phase]]
    name = "after"
    run  = "echo after {what} >> effects.log"
    next = "end"
    [[pipeline.go.phase]]
    name = "cleaned"
    run  = "echo cleaned {what} >> effects.log"
    [lock.main]

    [command.again]
    args = "<what>"
    run  = { pipeline = "again" }
    [pipeline.again]
    inputs = ["what"]
    [[pipeline.again.phase]]
    name       = "work"
    run        = "echo again {what} >> effects.log; ./step.sh"
    on_unknown = "retry"

    [command.lost]
    run = { pipeline = "lost" }
    [pipeline.lost]
    on_fail = "fail"
    [[pipeline.lost.phase]]
    name       = "work"
    run        = "./step.sh"
    on_unknown = "fail"

    [command.guarded]
    args = "<guard>"
    run  = { pipeline = "guarded" }
    [pipeline.guarded]
    inputs  = ["guard"]
    on_fail = "fail"
    [[pipeline.guarded.phase]]
    name = "choose"
    run  = "[ {guard} = hangs ]"
    next = "hanging"
    on_fail = "not_that"
    [[pipeline.guarded.phase]]
    name = "not_that"
    run  = "[ {guard} = mistyped ]"
    next = "breaking"
    on_fail = "asking"
    [[pipeline.guarded.phase]]
    name = "hanging"
    pre  = ["hangs"]
    run  = "echo no >> effects.log"
    next = "end"
    [[pipeline.guarded.phase]]
    name = "breaking"
    pre  = ["mistyped"]
    run  = "echo no >> effects.log"
    next = "end"
    [[pipeline.guarded.phase]]
    name = "asking"
    pre  = ["never"]
    run  = "echo passed >> effects.log"
    next = "end"

    [guard.hangs]
    condition  = "echo hanging; sleep 1000.25"
    timeout    = "1s"
    on_timeout = "fail"

    [command.asks]
    run = { pipeline = "asks" }
    [pipeline.asks]
    [[pipeline.asks.phase]]
    name = "work"
    pre  = ["asks"]
    run  = "echo asked >> effects.log"
    [guard.asks]
    condition = "echo I am hanging; [ -e there ] || sleep 1000.75"
    timeout   = "1s"

    [guard.mistyped]
    condition = "echo looked >> looks.log; no-such-program-anywhere"
    [guard.never]
    condition = "echo not yet; false"
    retry     = { max = 1000, interval = "20ms" }
    timeout   = "2s"
"""


class Rough(Home):
    def setUp(self):
        super().setUp()
        os.makedirs(os.path.join(self.work, ".reeve/runbooks"))
        with open(os.path.join(self.work, ".reeve/runbooks/go.toml"), "w", encoding="utf-8") as file:
            file.write(textwrap.dedent(RUNBOOK))

    def tearDown(self):
        for pid in self.processes():
            try:
                os.kill(pid, signal.SIGKILL)
            except OSError:
                pass
        super().tearDown()

    def step(self, text):
        path = os.path.join(self.work, "step.sh")
        with open(path + ".new", "w", encoding="utf-8") as file:
            file.write("#!/usr/bin/env bash\n" + textwrap.dedent(text))
        os.chmod(path + ".new", 0o755)
        os.replace(path + ".new", path)

    def go(self, *words):
        return self.data("run", *words)["pipeline"]

    def lines(self, name):
        try:
            with open(os.path.join(self.work, name), encoding="utf-8") as file:
                return file.read().splitlines()
        except FileNotFoundError:
            return []

    def effects(self):
        return self.lines("effects.log")

    def has(self, name):
        return os.path.exists(os.path.join(self.work, name))

    def pid_in(self, name):
        return self.pid_at(os.path.join(self.work, name))

    def processes(self, text=None):
        """All that runs for this home: the daemon, its helpers, steps and what they started."""
        found = []
        for name in os.listdir("/proc"):
            if not name.isdigit() or int(name) == os.getpid():
                continue
            try:
                with open(f"/proc/{name}/environ", "rb") as file:
                    environ = file.read()
                with open(f"/proc/{name}/cmdline", "rb") as file:
                    cmdline = file.read()
            except OSError:
                continue
            ours = self.home.encode() in environ or self.home.encode() in cmdline
            if ours and (text is None or text.encode() in cmdline) and is_alive(int(name)):
                found.append(int(name))
        return found

    def state(self, id):
        return self.data("show", id)["state"]

    def blocked(self, id, kind):
        def look():
            shown = self.data("show", id)
            return shown["blocked_on"] if shown.get("blocked_on", {}).get("kind") == kind else None

        return self.until(look, f"{id} is not blocked on {kind}")

    # ── Custody ──

    def kill_hold(self, *words):
        self.step('echo $$ > pid; while [ ! -e free ]; do sleep 0.05; done\n')
        id = self.go(*words)
        self.pid_in("pid")
        holds = self.processes("/runs/")
        self.assertEqual(len(holds), 1)
        os.kill(holds[0], signal.SIGKILL)
        return id

    def test_what_became_of_a_step_is_unknown_when_its_hold_is_killed_and_a_person_decides(self):
        id = self.kill_hold("go", "x")
        # What it had runs on. Nobody can say any more how it will end, but that it still may do
        # something is certain: its lock stays, and nothing follows before it is gone.
        waiting = self.go("go", "y")
        self.blocked(waiting, "lock")
        self.assertTrue(is_alive(self.pid_in("pid")))
        self.reeve("cancel", waiting)
        os.kill(self.pid_in("pid"), signal.SIGKILL)
        decision = self.blocked(id, "decision")["name"]
        shown = self.data("decision", "show", decision)
        self.assertEqual(shown["choices"], ["retry", "skip", "fail", "cancel"])
        self.assertIn("work", shown["question"])
        self.assertIn(decision, self.out("why", id))
        with open(os.path.join(self.work, "free"), "w", encoding="utf-8"):
            pass
        self.out("decision", "resolve", decision, "--choice", "retry")
        self.reeve("wait", id, "--timeout", "30s")
        self.assertEqual([line for line in self.effects() if line.endswith("x")],
                         ["before x", "work x", "work x", "after x"])

    def test_unknown_is_tried_again_or_fails_where_the_runbook_says_so(self):
        id = self.kill_hold("again", "y")
        with open(os.path.join(self.work, "free"), "w", encoding="utf-8"):
            pass
        self.reeve("wait", id, "--timeout", "30s")
        self.assertEqual(self.effects(), ["again y", "again y"])
        os.remove(os.path.join(self.work, "free"))
        os.remove(os.path.join(self.work, "pid"))
        id = self.kill_hold("lost")
        os.kill(self.pid_in("pid"), signal.SIGKILL)
        self.reeve("wait", id, "--timeout", "30s", code=1)

    def reboot(self, unshared):
        """Everything of this home is gone at once, and the machine has another boot id."""
        # A machine that dies does not leave one of them time to tell of another's end.
        self.stop_daemon(signal.SIGKILL)
        for text in ("/runs/", None, None):
            for pid in self.processes(text):
                try:
                    os.kill(pid, signal.SIGKILL)
                except OSError:
                    pass
        self.until(lambda: not self.processes())
        if not unshared:
            return
        fake = os.path.join(self.base, "boot_id")
        with open(fake, "w", encoding="utf-8") as file:
            file.write("01234567-89ab-cdef-0123-456789abcdef\n")
        # All that is started from now on lives in another boot: it is inherited.
        subprocess.run([*unshared, "bash", "-c",
                        'mount --bind "$1" /proc/sys/kernel/random/boot_id && exec "$2" daemon start', "-",
                        fake, REEVE], env=self.env, cwd=self.work, check=True, stdin=subprocess.DEVNULL,
                       stdout=subprocess.DEVNULL)
        with open(f"/proc/{self.daemon_pid()}/root/proc/sys/kernel/random/boot_id", encoding="utf-8") as file:
            self.assertEqual(file.read(), "01234567-89ab-cdef-0123-456789abcdef\n")

    def test_after_a_reboot_what_was_done_stays_done_and_the_rest_is_asked_about(self):
        unshared = None
        for words in (["unshare", "-m"], ["unshare", "-rm"]):
            tried = subprocess.run([*words, "mount", "--bind", "/dev/null", "/proc/sys/kernel/random/boot_id"],
                                   check=False, capture_output=True)
            if tried.returncode == 0:
                unshared = words
                break
        self.step('echo $$ > pid; while [ ! -e free ]; do sleep 0.05; done\n')
        asked, again = self.go("go", "x"), None
        self.pid_in("pid")
        os.remove(os.path.join(self.work, "pid"))
        again = self.go("again", "y")
        self.pid_in("pid")
        waiting = self.go("go", "z")
        self.blocked(waiting, "lock")
        self.reboot(unshared)
        with open(os.path.join(self.work, "free"), "w", encoding="utf-8"):
            pass
        decision = self.blocked(asked, "decision")["name"]
        self.reeve("wait", again, waiting, "--timeout", "30s")
        self.out("decision", "resolve", decision, "--choice", "skip")
        self.reeve("wait", asked, "--timeout", "30s")
        self.assertEqual(sorted(self.effects()),
                         ["after x", "after z", "again y", "again y", "before x", "before z", "work x", "work z"])
        if not unshared:
            self.skipTest("only with the same boot id, since there are no mount namespaces: "
                          + tried.stderr.decode(errors="replace").strip())

    # ── Steps ──

    def test_a_step_that_ignores_term_is_killed_with_all_it_started_before_the_lock_is_free(self):
        self.step("""\
            trap '' TERM
            (trap '' TERM; setsid bash -c 'trap "" TERM; echo $$ > deep; while :; do sleep 0.1; done') &
            echo $$ > pid
            while :; do sleep 0.1; done
        """)
        id = self.go("go", "x")
        near, far = self.pid_in("pid"), self.pid_in("deep")
        self.step("true\n")
        next = self.go("go", "y")
        self.blocked(next, "lock")
        cancel = self.start("cancel", id)
        self.until(lambda: "work y" in self.effects())
        self.assertFalse(is_alive(near))
        self.assertFalse(is_alive(far))
        self.assertEqual(cancel.wait(20), 0)
        self.until(lambda: "cleaned x" in self.effects())
        self.assertNotIn("after x", self.effects())
        self.reeve("wait", next, "--timeout", "30s")

    def memory(self, what):
        with open(f"/proc/{self.daemon_pid()}/status", encoding="utf-8") as file:
            return next(int(line.split()[1]) for line in file if line.startswith(what))

    def test_a_flood_of_output_neither_fills_the_disk_nor_stops_the_step(self):
        self.step("head -c 300000000 /dev/zero | tr '\\0' 'x' | fold -w 100; echo the end\n")
        self.reeve("daemon", "start")
        before = self.memory("VmRSS")
        id = self.go("go", "x")
        self.reeve("wait", id, "--timeout", "120s", timeout=130)
        size = sum(os.path.getsize(os.path.join(folder, name))
                   for folder, _, names in os.walk(os.path.join(self.home, "logs")) for name in names)
        self.assertLess(size, 33 << 20)
        self.assertTrue(self.out("logs", id, "--phase", "work").endswith("the end"))
        self.assertLess(self.memory("VmHWM") - before, 64 << 10, "kB more than before the flood")
        self.assertEqual(self.effects(), ["before x", "work x", "after x"])

    def test_a_step_that_leaves_a_daemon_behind_is_done_and_what_it_left_is_ended(self):
        self.step("""\
            setsid bash -c 'echo $$ > left; exec sleep 1000.5' > /dev/null 2>&1 < /dev/null &
            until [ -s left ]; do sleep 0.02; done
            exit 0
        """)
        id = self.go("go", "x")
        self.reeve("wait", id, "--timeout", "60s", timeout=70)
        self.assertFalse(is_alive(self.pid_in("left")))
        self.assertEqual(self.effects(), ["before x", "work x", "after x"])

    # ── Guards ──

    def test_a_guard_that_hangs_is_ended_at_its_timeout(self):
        id = self.go("guarded", "hangs")
        self.until(lambda: self.processes("1000.25"))
        self.reeve("wait", id, "--timeout", "60s", code=1, timeout=70)
        self.until(lambda: not self.processes("1000.25"), "the check still runs")
        self.assertIn("guard hangs", self.data("show", id)["error"])
        self.assertEqual(self.effects(), [])

    def test_a_guard_that_hangs_asks_with_what_its_check_said_when_that_was_ended(self):
        id = self.go("asks")
        self.until(lambda: self.processes("1000.75"))
        self.assertIn("guard asks is being checked", self.out("why", id))
        decision = self.blocked(id, "decision")["name"]
        self.assertEqual(self.processes("1000.75"), [], "the check still runs")
        why = self.out("why", id)
        self.assertIn("timed out in the middle of a check", why)
        self.assertIn("I am hanging", why)
        self.assertIn("guard asks is checked again", why)
        self.assertEqual(self.data("decision", "show", decision)["context"], "I am hanging\n")
        self.assertEqual([each["context"] for each in self.data("decision", "list")["decisions"]],
                         ["I am hanging\n"])
        with open(os.path.join(self.work, "there"), "w", encoding="utf-8"):
            pass
        self.out("decision", "resolve", decision, "--choice", "check again")
        self.reeve("wait", id, "--timeout", "30s")
        self.assertEqual(self.effects(), ["asked"])

    def test_a_broken_guard_fails_after_three_checks_and_says_what_is_wrong(self):
        # Nothing but that it is broken ends it: it has no `retry` that could be used up, and no timeout.
        id = self.go("guarded", "mistyped")
        self.reeve("wait", id, "--timeout", "60s", code=1, timeout=70)
        error = self.data("show", id)["error"]
        self.assertIn("guard mistyped is broken: three checks in a row could not be made", error)
        self.assertEqual(self.lines("looks.log"), ["looked"] * 3)
        told = self.out("events", "--json", "-n", "1000", "--match", "guard:*").splitlines()
        told = [json.loads(line) for line in told]
        self.assertEqual([(each["name"], each["subject"]) for each in told],
                         [(f"guard:{name}", "mistyped") for name in ("broken", "waiting", "failed")])
        self.assertIn("exit code 127", json.dumps(told[0]["data"]))
        self.assertIn("no-such-program-anywhere", self.out("logs", id, "--guards"))
        self.assertEqual(self.effects(), [])

    def test_a_guard_that_never_passes_asks_and_a_person_may_pass_it(self):
        id = self.go("guarded", "never")
        decision = self.blocked(id, "decision")["name"]
        self.assertIn("pass", self.data("decision", "show", decision)["choices"])
        why = self.out("why", id)
        self.assertIn("not yet", why)
        self.out("decision", "resolve", decision, "--choice", "pass")
        self.reeve("wait", id, "--timeout", "30s")
        self.assertEqual(self.effects(), ["passed"])


class FullDisk(Rough):
    """A home on a disk of its own, which a step fills."""

    def setUp(self):
        super().setUp()
        self.disk = os.path.join(self.base, "disk")
        os.mkdir(self.disk)
        mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=96m", "none", self.disk],
                                 check=False, capture_output=True)
        self.mounted = mounted.returncode == 0
        if self.mounted:
            self.home = os.path.join(self.disk, "home")
            self.env["REEVE_HOME"] = self.home

    def tearDown(self):
        super().tearDown()
        if self.mounted:
            self.until(lambda: subprocess.run(["umount", self.disk], check=False,
                                              capture_output=True).returncode == 0)

    def test_a_step_fills_the_disk(self):
        if not self.mounted:
            self.skipTest("a disk to fill can only be mounted by root")
        self.step(f"""\
            cat /dev/zero > {self.disk}/filling 2> /dev/null
            echo full > full
            while [ ! -e free ]; do sleep 0.05; done
        """)
        id = self.go("go", "x")
        self.until(lambda: self.has("full"))
        refused = 0
        for number in range(2000):
            done = subprocess.run([REEVE, "queue", "push", "jobs", "x" * 50000], env=self.env, cwd=self.work,
                                  check=False, capture_output=True, text=True, timeout=60)
            if done.returncode:
                refused = number + 1
                self.assertEqual(done.returncode, 1, done.stderr)
                self.assertIn("full", done.stderr.lower())
                break
        self.assertTrue(refused, "the disk was never full")
        self.assertEqual(self.state(id), "running")
        os.remove(os.path.join(self.disk, "filling"))
        with open(os.path.join(self.work, "free"), "w", encoding="utf-8"):
            pass
        self.reeve("wait", id, "--timeout", "60s", timeout=70)
        self.assertEqual(self.effects(), ["before x", "work x", "after x"])
        self.until(lambda: subprocess.run([REEVE, "queue", "push", "jobs", "y"], env=self.env, cwd=self.work,
                                          check=False, capture_output=True).returncode == 0,
                   "there is room again, and work is still refused")
        self.assertEqual(self.data("queue", "stats", "jobs")["queues"][0]["pending"], refused)
        self.stop_daemon(signal.SIGKILL)
        self.assertEqual(self.data("queue", "stats", "jobs")["queues"][0]["pending"], refused)


def load_tests(loader, _tests, _pattern):
    """What FullDisk inherits is played once, not twice."""
    suite = unittest.TestSuite(loader.loadTestsFromTestCase(Rough))
    suite.addTest(FullDisk("test_a_step_fills_the_disk"))
    return suite


if __name__ == "__main__":
    unittest.main()
