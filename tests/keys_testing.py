"""For keys_test.py: which keys there are, and which test is about which."""

import functools
import glob
import json
import os
import re
import subprocess
import textwrap
import tomllib

from reeve_testing import REEVE, Home

READERS = os.path.join(os.path.dirname(os.path.dirname(os.path.realpath(__file__))), "src/runbook/read_*.cc")

# How each section begins, and which of its keys are tables with keys of their own.
SECTIONS = {
    "command": ("[command.x]", ["run"]),
    "queue": ("[queue.x]", ["backoff", "retention"]),
    "worker": ("[worker.x]", []),
    "cron": ("[cron.x]", ["run"]),
    "pipeline": ("[pipeline.x]", ["workspace"]),
    "phase": ("[[pipeline.x.phase]]", ["semaphore", "retry"]),
    "guard": ("[guard.x]", ["retry"]),
    "strategy": ("[strategy.x]", []),
    "attempt": ("[[strategy.x.attempt]]", []),
    "agent": ("[agent.x]", ["checkpoint"]),
    "lock": ("[lock.x]", []),
    "semaphore": ("[semaphore.x]", []),
    "monitor": ("[monitor.x]", []),
    "watcher": ("[watcher.y]", []),
    "scanner": ("[scanner.z]", []),
    "action": ("[action.x]", []),
    "notify": ("[notify]", []),
}

PROVEN = {}  # key -> the tests that are about it


def uses(*keys):
    """The test is about these keys: it writes a runbook with them, and sees what they do."""

    def mark(test):
        for key in keys:
            PROVEN.setdefault(key, []).append(test.__name__)

        @functools.wraps(test)
        def checked(self):
            test(self)
            self.assertEqual(sorted(set(keys) - self.written), [], "keys that its runbooks do not have")

        return checked

    return mark


def keys_of_the_loader(folder):
    """What the loader itself knows: of every word in its readers, put into every section, those that
    it does not call unknown."""
    words = set()
    for path in glob.glob(READERS):
        with open(path, encoding="utf-8") as file:
            words |= set(re.findall(r'"([a-z][a-z_]*)"', file.read()))
    words -= {"phase", "attempt"}  # sections of their own
    inner = "{ " + ", ".join(f"{word} = 1" for word in sorted(words)) + " }"
    lines, places, keys = [], {}, set()
    for section, (head, tables) in SECTIONS.items():
        lines.append(head)
        for word in sorted(words):
            lines.append(f"{word} = {inner if word in tables else 1}")
            places[len(lines)] = (section, word)
            keys.add(f"{section}.{word}")
            if word in tables:
                keys |= {f"{section}.{word}.{each}" for each in words}
    os.makedirs(os.path.join(folder, ".reeve/runbooks"), exist_ok=True)
    with open(os.path.join(folder, ".reeve/runbooks/all.toml"), "w", encoding="utf-8") as file:
        file.write("\n".join(lines) + "\n")
    told = subprocess.run([REEVE, "runbook", "check"], cwd=folder, capture_output=True, text=True, check=False)
    for line, column, word in re.findall(r"all\.toml:(\d+):(\d+): unknown key `(\w+)`", told.stdout):
        section, key = places[int(line)]
        keys.discard(f"{section}.{word}" if column == "1" else f"{section}.{key}.{word}")
    return keys


def keys_in(text):
    """The keys of a runbook, called as in SECTIONS."""
    found = set()

    def note(prefix, table):
        for key, value in table.items():
            found.add(f"{prefix}.{key}")
            for each in value if isinstance(value, list) else [value]:
                if isinstance(each, dict):
                    found.update(f"{prefix}.{key}.{inner}" for inner in each)

    for kind, entries in tomllib.loads(text).items():
        if kind in ("notify", "events"):
            note(kind, entries)
            continue
        for entry in entries.values():
            phases, attempts = entry.pop("phase", []), entry.pop("attempt", [])
            note(kind, entry)
            for phase in phases:
                note("phase", phase)
            for attempt in attempts:
                note("attempt", attempt)
    return found


class Project(Home):
    """A project whose runbooks are written piece by piece."""

    def setUp(self):
        super().setUp()
        os.makedirs(os.path.join(self.work, ".reeve/runbooks"))
        self.written = set()

    def write(self, text, name="test.toml"):
        text = textwrap.dedent(text)
        self.written |= keys_in(text)
        self.file(f".reeve/runbooks/{name}", text)
        self.reeve("runbook", "check")

    def file(self, name, text="", mode=0o644):
        path = os.path.join(self.work, name)
        with open(path, "w", encoding="utf-8") as file:
            file.write(textwrap.dedent(text))
        os.chmod(path, mode)

    def read(self, name):
        try:
            with open(os.path.join(self.work, name), encoding="utf-8") as file:
                return file.read()
        except FileNotFoundError:
            return ""

    def lines(self, name):
        return self.read(name).splitlines()

    def has(self, name):
        return os.path.exists(os.path.join(self.work, name))

    def git(self, *words):
        return subprocess.run(["git", *words], cwd=self.work, env=self.env, check=True, text=True,
                              capture_output=True).stdout.strip()

    def repository(self):
        self.git("init", "-q", "--initial-branch=main")
        self.git("config", "user.name", "Ana")
        self.git("config", "user.email", "ana@example.org")
        self.file("a.txt", "one\n")
        self.git("add", "a.txt")
        self.git("commit", "-q", "-m", "first")

    def begin(self, *words, **options):
        """Starts a run; its id."""
        return json.loads(self.reeve("--json", "run", *words, **options).stdout)["data"]["pipeline"]

    def ends(self, id, state="done"):
        code = {"done": 0, "failed": 1, "cancelled": 4}[state]
        self.reeve("wait", id, "--timeout", "40s", code=code)
        return self.data("show", id)

    def done(self, *words):
        return self.ends(self.begin(*words))

    def failed(self, *words):
        return self.ends(self.begin(*words), "failed")

    def blocked(self, id, kind):
        def look():
            shown = self.data("show", id)
            return shown["blocked_on"] if shown.get("blocked_on", {}).get("kind") == kind else None

        return self.until(look, f"{id} is not blocked on {kind}")

    def answer(self, choice):
        """To the one question there is; what it was."""
        question = self.until(lambda: self.data("decision", "list")["decisions"])[0]
        self.reeve("decision", "resolve", question["id"], "--choice", choice)
        return question["question"]

    def active(self, *words):
        return self.data("pipeline", "list", "--active", *words)["pipelines"]

    def stats(self, queue):
        return self.data("queue", "stats", queue)["queues"][0]

    def events(self, pattern):
        told = self.out("events", "--json", "-n", "1000", "--match", pattern).splitlines()
        return [json.loads(line) for line in told]
