"""The examples, while the daemon is killed -9 at random moments.

Every step of a copy of the example notes who it is in a file (O_APPEND) before it does its work, so
that what happens twice is seen. Every round is held to what the example does when nobody disturbs
it. An example is played again until the daemon was killed REEVE_KILLS times in it (5); the moments
follow from REEVE_SEED, which a failure names.
"""

import collections
import json
import os
import random
import re
import shutil
import signal
import subprocess
import threading
import time
import unittest

from reeve_testing import REEVE, Home, is_alive

EXAMPLES = os.path.join(os.path.dirname(os.path.dirname(os.path.realpath(__file__))), "examples")
KILLS = int(os.environ.get("REEVE_KILLS", "5"))
SEED = int(os.environ.get("REEVE_SEED", "0")) or int(time.time())
NOTE = 'echo \\"$REEVE_PIPELINE $REEVE_PHASE $REEVE_ATTEMPT\\" >> {root}/effects.log; '


class Killer(threading.Thread):
    """Kills the daemon of a home, and starts it again, until it is told to stop."""

    def __init__(self, test, seed):
        super().__init__(daemon=True)
        self.test, self.random = test, random.Random(seed)
        self.kills, self.over, self.trouble = 0, threading.Event(), None

    def run(self):
        try:
            while not self.over.is_set():
                # Sometimes while it is still reading what the last one left, sometimes late.
                if self.over.wait(self.random.choice([0.02, 0.1, 0.4, 0.8]) * self.random.random()):
                    return
                pid = self.test.daemon_pid()
                if not pid or not self.test.is_daemon(pid):
                    continue
                os.kill(pid, signal.SIGKILL)
                self.kills += 1
                while is_alive(pid):
                    time.sleep(0.001)
                self.test.reeve("daemon", "start")
        except (Exception, AssertionError) as trouble:  # pylint: disable=broad-except
            self.trouble = trouble


class Killed(Home):
    """An example, disturbed."""

    def is_daemon(self, pid):
        try:
            with open(f"/proc/{pid}/cmdline", "rb") as file:
                return self.home.encode() in file.read()
        except OSError:
            return False

    def copy(self, example, round):
        """The example in a folder of its own, every phase of which notes itself first."""
        self.work = os.path.join(self.base, f"{example}-{round}")
        shutil.copytree(os.path.join(EXAMPLES, example), self.work)
        folder = os.path.join(self.work, ".reeve/runbooks")
        for name in os.listdir(folder):
            with open(os.path.join(folder, name), encoding="utf-8") as file:
                text = file.read()
            note = NOTE.format(root=self.work).replace("\\", "\\\\")
            parts = re.split(r"(?m)^(?=\[)", text)
            for at, part in enumerate(parts):
                if part.startswith("[[") and "pipeline" in part:
                    parts[at] = re.sub(r'(?m)^(run\s*= ")', r"\1" + note, part)
            with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
                file.write("".join(parts))
        self.reeve("runbook", "check")

    def lines(self, name):
        try:
            with open(os.path.join(self.work, name), encoding="utf-8") as file:
                return file.read().splitlines()
        except FileNotFoundError:
            return []

    def phases(self):
        """How often each phase ran, over all runs; in no run one attempt twice."""
        noted = collections.Counter(self.lines("effects.log"))
        twice = {line: count for line, count in noted.items() if count > 1}
        self.assertEqual(twice, {}, "steps that happened twice")
        self.assertEqual({line.split()[2] for line in noted}, {"1"}, "an attempt that nobody asked for")
        return collections.Counter(line.split()[1] for line in noted)

    def most_at_once(self, name):
        use = most = 0
        for line in sorted(self.lines(name), key=lambda line: int(line.split()[0])):
            use += int(line.split()[1])
            most = max(most, use)
        self.assertEqual(use, 0)
        return most

    def play(self, example, once):
        seed = SEED
        rounds = kills = 0
        while kills < KILLS:
            self.copy(example, rounds)
            self.reeve("daemon", "start")
            killer = Killer(self, f"{example} {seed} {rounds}")
            killer.start()
            try:
                once()
            except BaseException:
                print(f"\n{example}: REEVE_SEED={seed}, round {rounds}, after {killer.kills} kills", flush=True)
                print(subprocess.run([REEVE, "status"], env=self.env, cwd=self.work, check=False,
                                     capture_output=True, text=True).stdout, flush=True)
                raise
            finally:
                killer.over.set()
                killer.join()
            if killer.trouble:
                raise killer.trouble
            kills += killer.kills
            rounds += 1
            self.assertEqual(self.data("pipeline", "list", "--active")["pipelines"], [])
            self.assertEqual(self.data("decision", "list")["decisions"], [])
            self.assertEqual([name for name in os.listdir(os.path.join(self.home, "runs"))
                              if not self.is_going(name)], [])
        print(f"{example}: {kills} kills in {rounds} rounds", flush=True)

    def is_going(self, run):
        """A cron's next look may be under way; anything else should be over and cleared away."""
        folder = os.path.join(self.home, "runs", run)
        end = time.monotonic() + 20
        while time.monotonic() < end:
            if not os.path.exists(folder):
                return True
            time.sleep(0.02)
        return False

    def git(self, *words):
        return subprocess.run(["git", *words], cwd=self.work, env=self.env, check=True, text=True,
                              capture_output=True).stdout.strip()

    # ── merge_queue ──

    def branch(self, name, file, text):
        self.git("checkout", "-q", "-b", name, "main")
        with open(os.path.join(self.work, file), "a", encoding="utf-8") as out:
            out.write(text + "\n")
        self.git("add", file)
        self.git("commit", "-q", "-m", name)
        self.git("checkout", "-q", "desk")

    def test_a_merge_queue(self):
        def once():
            self.git("init", "-q", "--initial-branch=main")
            self.git("config", "user.name", "Ana")
            self.git("config", "user.email", "ana@example.org")
            for name, text in (("notes.txt", "one"), ("main.c", "int main() {}")):
                with open(os.path.join(self.work, name), "w", encoding="utf-8") as out:
                    out.write(text + "\n")
            self.git("add", "notes.txt", "main.c")
            self.git("commit", "-q", "-m", "first")
            self.git("checkout", "-q", "-b", "desk")
            names = ["one", "two", "three", "notes-1", "notes-2"]
            for name in names:
                self.branch(name, "notes.txt" if "notes" in name else f"{name}.txt", name)
            self.reeve("worker", "start", "merger")
            for name in names:
                self.reeve("run", "merge", name, "-q")
            self.until(lambda: len(self.lines(".reeve/merged.txt")) >= len(names), seconds=60)
            self.until(lambda: self.stats("merges")["completed"] == len(names))
            self.reeve("worker", "stop", "merger")
            self.assertEqual(sorted(self.lines(".reeve/merged.txt")), sorted(names))
            # Each commit is in main once, whichever way it came; main's files are those of all.
            subjects = collections.Counter(self.git("log", "--no-merges", "--format=%s", "main").split())
            self.assertEqual(subjects, collections.Counter(["first", *names]))
            files = self.git("ls-tree", "--name-only", "main").split()
            self.assertEqual(set(files), {"main.c", "notes.txt", "one.txt", "two.txt", "three.txt"})
            self.assertEqual(sorted(self.git("show", "main:notes.txt").split()), ["notes-1", "notes-2", "one"])
            self.assertEqual(self.phases(), {"announce": len(names)})
            self.assertEqual(self.data("lock", "show", "main_branch")["state"], "free")
            self.assertEqual(self.git("worktree", "list").count("\n"), 0, "worktrees left behind")

        self.play("merge_queue", once)

    def stats(self, queue):
        return self.data("queue", "stats", queue)["queues"][0]

    # ── bug_fix ──

    def test_a_worker(self):
        def once():
            self.reeve("worker", "start", "bugfix")
            bugs = {str(bug): f"small {bug}" for bug in range(8)}
            bugs.update({"8": "flaky thing", "9": "hard thing"})
            for bug, title in bugs.items():
                self.reeve("run", "report", bug, title, "-q")
            self.until(lambda: self.stats("bugs")["completed"] == 9 and
                       self.stats("bugs_dead")["pending"] == 1, seconds=60)
            self.reeve("worker", "stop", "bugfix")
            self.assertEqual(sorted(self.lines(".reeve/fixed.txt")), [str(bug) for bug in range(9)])
            tried = collections.Counter(self.lines(".reeve/tried.txt"))
            self.assertEqual(tried, {**{str(bug): 1 for bug in range(8)}, "8": 2, "9": 3})
            self.assertEqual(self.phases(), {"reproduce": 13, "publish": 9})

        self.play("bug_fix", once)

    # ── build ──

    def test_parallel_parts(self):
        def once():
            self.reeve("run", "build", "--wait", "--timeout", "60s")
            self.assertEqual(self.lines("out/package"), ["compile", "docs", "lint", "assets"])
            self.assertLessEqual(self.most_at_once("out/use"), 4)
            names = ["prepare", "package", "compile", "docs", "lint", "assets"]
            self.assertEqual(self.phases(), {name: 1 for name in names})

        self.play("build", once)

    # ── nightly ──

    def test_a_cron(self):
        def once():
            run = self.out("cron", "run", "nightly", "-q")
            self.reeve("wait", run, "--timeout", "60s")
            self.reeve("cron", "enable", "often")
            self.until(lambda: len(self.lines("runs.txt")) >= 5, seconds=60)
            self.reeve("cron", "disable", "often")
            self.until(lambda: not self.data("pipeline", "list", "--active")["pipelines"])
            phases = self.phases()
            self.assertEqual(phases["backup"], len(self.lines("runs.txt")))
            self.assertEqual(phases["prune"], phases["backup"])
            self.assertEqual(len(os.listdir(os.path.join(self.work, "backups"))), 2)
            events = self.out("events", "--match", "cron:**", "-n", "1000", "--json").splitlines()
            fired = [event for event in map(json.loads, events)
                     if (event["name"], event["subject"]) == ("cron:fired", "often")]
            instants = collections.Counter(event["data"]["instant"] for event in fired)
            self.assertEqual([at for at, count in instants.items() if count > 1], [], "fired twice")
            runs = [run["state"] for run in self.data("pipeline", "list")["pipelines"]]
            self.assertEqual(runs, ["done"] * phases["backup"])

        self.play("nightly", once)

    # ── watchdog ──

    def test_a_watchdog(self):
        def once():
            subprocess.run(["./services.sh", "make"], cwd=self.work, env=self.env, check=True)
            self.reeve("cron", "enable", "watchdog")
            self.until(lambda: self.lines("told.txt"), seconds=60)
            self.until(lambda: self.lines("state/broken") == ["up"], seconds=60)
            self.reeve("cron", "disable", "watchdog")
            done = collections.Counter(self.lines("actions.txt"))
            self.assertEqual(done, {"nudge broken": 1, "nudge dead": 1, "nudge sleepy": 1,
                                    "restart broken": 1, "restart dead": 2})
            self.assertEqual(self.lines("told.txt"), ["dead is down"])

        self.play("watchdog", once)

    # ── fan_out ──

    def test_a_fan_out(self):
        def once():
            os.mkdir(os.path.join(self.work, "pictures"))
            names = [f"pictures/{number}.png" for number in range(200)]
            for name in names:
                with open(os.path.join(self.work, name), "w", encoding="utf-8") as out:
                    out.write("picture\n")
            self.reeve("run", "resize", *names, "--wait", "--timeout", "120s", timeout=130)
            self.assertEqual(len(self.lines("index.txt")), 200)
            self.assertLessEqual(self.most_at_once("use.txt"), 8)
            self.assertEqual(self.phases(), {"resize": 200, "index": 1})

        self.play("fan_out", once)


if __name__ == "__main__":
    unittest.main()
