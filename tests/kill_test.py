"""The examples, while the daemon is killed -9 at random moments.

Every step, attempt of a strategy, agent and script of a copy of the example notes who it is in a file
(O_APPEND) before it does its work, so that what happens twice is seen; what has to happen twice, since
somebody asked for it, the events say. Every round is held to what the example does when nobody
disturbs it. An example is played again until the daemon was killed REEVE_KILLS times in it (5); the moments
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
NOTE = "echo {what} $REEVE_PIPELINE $REEVE_PHASE $REEVE_ATTEMPT >> {root}/effects.log"
# What notes itself in a runbook, and the key of its program. Guards may be asked again at any time.
NOTED = (("[[pipeline.", "phase", "run"), ("[[strategy.", "attempt", "run"), ("[agent.", "agent", "command"))


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
        """The example in a folder of its own, all programs of which note themselves first."""
        self.work = os.path.join(self.base, f"{example}-{round}")
        shutil.copytree(os.path.join(EXAMPLES, example), self.work)
        folder = os.path.join(self.work, ".reeve/runbooks")
        for name in os.listdir(folder):
            self.edit(os.path.join(folder, name), self.noted_runbook)
        for name in os.listdir(self.work):
            # Of the services' script most are questions; what it does is in a file of its own.
            if name.endswith(".sh") and name not in ("test.sh", "services.sh"):
                note = NOTE.format(what=f"script:{name}", root=self.work) + "\n"
                self.edit(os.path.join(self.work, name), lambda text, note=note: text.replace("\n", "\n" + note, 1))
        self.reeve("runbook", "check")

    def noted_runbook(self, text):
        parts = re.split(r"(?m)^(?=\[)", text)
        for at, part in enumerate(parts):
            for head, kind, key in NOTED:
                if part.startswith(head):
                    name = re.search(r'(?m)^name\s*= "(.*)"', part) or re.match(r"\[agent\.(.*)\]", part)
                    note = NOTE.format(what=f"{kind}:{name[1]}", root=self.work) + "; "
                    parts[at] = re.sub(rf'(?m)^({key}\s*= ")', lambda found, note=note: found[1] + note, part)
        return "".join(parts)

    def edit(self, path, change):
        with open(path, encoding="utf-8") as file:
            text = file.read()
        with open(path, "w", encoding="utf-8") as file:
            file.write(change(text))

    def lines(self, name):
        try:
            with open(os.path.join(self.work, name), encoding="utf-8") as file:
                return file.read().splitlines()
        except FileNotFoundError:
            return []

    def effects(self):
        """How often each program ran, over all runs; in no run one attempt twice, and none that nobody asked for."""
        noted = collections.Counter(self.lines("effects.log"))
        twice = {line: count for line, count in noted.items() if count > 1}
        self.assertEqual(twice, {}, "what happened twice")
        again = {f"{event['data']['pipeline']} {event['data']['phase']} {event['data']['attempt']}"
                 for event in self.events("pipeline:retry")}
        for line in noted:
            what, attempt = line.split(" ", 1)
            self.assertTrue(attempt.endswith(" 1") or attempt in again, f"{what}: nobody asked for {attempt}")
        return collections.Counter(line.split()[0] for line in noted)

    def events(self, pattern):
        told = self.out("events", "--match", pattern, "-n", "1000", "--json").splitlines()
        return [json.loads(line) for line in told]

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
            names = ["one", "two", "notes-1", "notes-2", "clash-1", "clash-2"]
            files = {"notes": "notes.txt", "clash": "main.c"}
            for name in names:
                self.branch(name, files.get(name[:5], f"{name}.txt"), f"// {name}")
            self.reeve("worker", "start", "merger")
            for name in names:
                self.reeve("run", "merge", name, "-q")
            # One of the two that clash needs a person, who is disturbed like everybody else.
            self.until(lambda: len(self.lines(".reeve/merged.txt")) >= len(names) - 1, seconds=60)
            decision, run, left = self.until(self.question)
            self.mend(left)
            self.answer(decision)
            self.until(lambda: len(self.lines(".reeve/merged.txt")) >= len(names), seconds=60)
            self.until(lambda: self.stats("merges")["completed"] == len(names))
            self.reeve("wait", run)
            self.reeve("worker", "stop", "merger")
            self.assertEqual(sorted(self.lines(".reeve/merged.txt")), sorted(names))
            self.assertIn(left, ("clash-1", "clash-2"))
            answers = [event["data"]["choice"] for event in self.events("decision:resolved")]
            self.assertEqual(answers, ["retry"], "answered once")
            retries = [(event["data"]["pipeline"], event["data"]["attempt"]) for event in self.events("pipeline:retry")]
            self.assertEqual(retries, [(run, 2)], "and done once")
            # Each commit is in main once, whichever way it came; main's files are those of all.
            subjects = collections.Counter(self.git("log", "--no-merges", "--format=%s", "main").split())
            self.assertEqual(subjects, collections.Counter(["first", *names]))
            files = self.git("ls-tree", "--name-only", "main").split()
            self.assertEqual(set(files), {"main.c", "notes.txt", "one.txt", "two.txt"})
            for file, kind in (("notes.txt", "notes"), ("main.c", "clash")):
                lines = sorted(self.git("show", f"main:{file}").splitlines())
                self.assertEqual([line for line in lines if line.startswith("//")], [f"// {kind}-1", f"// {kind}-2"])
            self.check_resolvers(run)
            self.assertEqual(self.effects(),
                             {"phase:announce": len(names), "attempt:resolve": 2, "script:resolve.sh": 2})
            self.assertEqual(self.data("lock", "show", "main_branch")["state"], "free")
            self.assertEqual(self.git("worktree", "list").count("\n"), 0, "worktrees left behind")

        self.play("merge_queue", once)

    def question(self):
        """The one question there is, its run and the branch of that."""
        asked = self.data("decision", "list")["decisions"]
        if not asked:
            return None
        run = asked[0]["pipeline"]
        return asked[0]["id"], run, self.data("show", run)["inputs"]["branch"]

    def mend(self, branch):
        self.git("checkout", "-q", "-B", branch, "main")
        with open(os.path.join(self.work, "main.c"), "a", encoding="utf-8") as out:
            out.write(f"// {branch}\n")
        self.git("commit", "-q", "-a", "-m", branch)
        self.git("checkout", "-q", "desk")

    def answer(self, decision):
        """While the daemon is killed, if it is there."""
        answering = self.start("decision", "resolve", decision, "--choice", "retry")
        time.sleep(random.Random(f"{SEED} {self.work}").random() * 0.03)
        pid = self.daemon_pid()
        if pid and self.is_daemon(pid):
            os.kill(pid, signal.SIGKILL)
        said = answering.communicate(timeout=60)
        self.assertEqual(answering.returncode, 0, said)
        self.reeve("decision", "resolve", decision, "--choice", "fail", code=5)

    def check_resolvers(self, run):
        """Of the script that resolves conflicts there were as many as its runs say, each in its own attempt."""
        tried = collections.Counter(event["data"]["pipeline"] for event in self.events("strategy:attempt")
                                    if event["data"]["what"] == {"was_tried": {"approach": "resolve"}})
        noted = collections.Counter(line.split()[1] for line in self.lines("effects.log")
                                    if line.startswith("attempt:resolve "))
        self.assertEqual(noted, tried)
        self.assertEqual(tried[run], 1)

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
            self.assertEqual(self.effects(), {"phase:reproduce": 13, "agent:fixer": 13, "script:fixer.sh": 13,
                                              "phase:publish": 9})

        self.play("bug_fix", once)

    # ── build ──

    def test_parallel_parts(self):
        def once():
            self.reeve("run", "build", "--wait", "--timeout", "60s")
            self.assertEqual(self.lines("out/package"), ["compile", "docs", "lint", "assets"])
            self.assertLessEqual(self.most_at_once("out/use"), 4)
            names = ["prepare", "package", "compile", "docs", "lint", "assets"]
            self.assertEqual(self.effects(), {**{f"phase:{name}": 1 for name in names}, "script:part.sh": 4})

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
            backups = len(self.lines("runs.txt"))
            self.assertEqual(self.effects(), {"phase:backup": backups, "phase:prune": backups})
            self.assertEqual(len(os.listdir(os.path.join(self.work, "backups"))), 2)
            fired = [event for event in self.events("cron:fired") if event["subject"] == "often"]
            instants = collections.Counter(event["data"]["instant"] for event in fired)
            self.assertEqual([at for at, count in instants.items() if count > 1], [], "fired twice")
            runs = [run["state"] for run in self.data("pipeline", "list")["pipelines"]]
            self.assertEqual(runs, ["done"] * backups)

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
            # The first does not end before a second has begun: so there is a time at which both are there.
            begun = "until [ $(grep -c ' 1$' use.txt) -gt 1 ]; do sleep 0.02; done\nmkdir -p out\n"
            self.edit(os.path.join(self.work, "resize.sh"), lambda text: text.replace("mkdir -p out\n", begun))
            run = self.out("run", "resize", *names, "-q")
            # Who waits gives up when the daemon died a hundred times; on a busy machine that may be too few.
            self.until(lambda: self.start("wait", run, "--timeout", "5s").wait(60) == 0, seconds=180)
            self.assertEqual(len(self.lines("index.txt")), 200)
            self.assertIn(self.most_at_once("use.txt"), range(2, 9))
            self.assertEqual(self.effects(), {"phase:resize": 200, "script:resize.sh": 200, "phase:index": 1})

        self.play("fan_out", once)


if __name__ == "__main__":
    unittest.main()
