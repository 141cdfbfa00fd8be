#!/usr/bin/env python3
"""What a phase costs: 1,000 runs of five trivial phases, against the same commands in a plain loop.

    ./dev bench runs [--runs 1000] [--phases 5] [--at-once 8] [--command true]

A worker takes the runs off a queue, so many at once. The plain loop starts the same commands, each
in a bash of its own as a phase is, as many at once, one after the other within a run. What is left
after the loop's time is subtracted is Reeve's own: deciding, the journal, the custody of processes.
Both are shown beside a loop that also has each command's outcome on disk before it goes on, which is
what a phase promises.
"""

import argparse
import json
import os
import re
import shutil
import signal
import subprocess
import tempfile
import threading
import time

REEVE = os.path.abspath(os.environ.get("REEVE", "build/release/reeve"))


class Bench:
    def __init__(self, options):
        self.options = options
        self.base = os.path.realpath(tempfile.mkdtemp(prefix="reeve-bench-", dir=options.folder))
        self.work = os.path.join(self.base, "work")
        self.env = {name: value for name, value in os.environ.items() if not name.startswith("REEVE_")}
        self.env["REEVE_HOME"] = os.path.join(self.base, "home")
        os.makedirs(os.path.join(self.work, ".reeve/runbooks"))
        phases = "".join(f'[[pipeline.job.phase]]\nname = "p{number}"\nrun  = "{options.command}"\n'
                         for number in range(options.phases))
        with open(os.path.join(self.work, ".reeve/runbooks/job.toml"), "w", encoding="utf-8") as file:
            file.write('[command.load]\nrun = { queue = "jobs" }\n[queue.jobs]\n'
                       '[worker.it]\nqueue = "jobs"\nhandler = "pipeline.job"\n'
                       f"concurrency = {options.at_once}\n"
                       f'[pipeline.job]\ninputs = ["number"]\non_fail = "fail"\n{phases}')

    def reeve(self, *words, text=None):
        return subprocess.run([REEVE, *words], cwd=self.work, env=self.env, input=text, check=True, text=True,
                              capture_output=True).stdout

    def data(self, *words):
        return json.loads(self.reeve("--json", *words))["data"]

    def close(self):
        subprocess.run([REEVE, "daemon", "stop"], cwd=self.work, env=self.env, check=False, capture_output=True)
        shutil.rmtree(self.base, ignore_errors=True)

    def runs(self):
        """Seconds of wall time, of the daemon's processor time, and its memory on the way."""
        options = self.options
        self.reeve("worker", "start", "it")
        self.reeve("worker", "stop", "it")
        numbers = "".join(f"{number}\n" for number in range(options.runs))
        self.reeve("queue", "push", "jobs", "-", "--lines", text=numbers)
        pid = self.data("daemon", "status")["pid"]
        memory = {}
        before, begin = cpu_of(pid), time.monotonic()
        self.reeve("worker", "start", "it")
        while True:
            jobs = self.data("queue", "stats", "jobs")["queues"][0]
            done = options.runs - jobs["pending"] - jobs["processing"]
            for mark in options.marks:
                if done >= mark and mark not in memory:
                    memory[mark] = memory_of(pid)
            if done >= options.runs:
                break
            time.sleep(0.25)
        return time.monotonic() - begin, cpu_of(pid) - before, memory

    def plain(self, is_synced):
        """The same commands, without Reeve."""
        left = iter(range(self.options.runs))
        lock = threading.Lock()
        log = os.open(os.path.join(self.base, "plain.log"), os.O_WRONLY | os.O_CREAT | os.O_APPEND)

        def work():
            while True:
                with lock:
                    if next(left, None) is None:
                        return
                for _ in range(self.options.phases):
                    subprocess.run(["/bin/bash", "-c", self.options.command], env=self.env, check=True)
                    if is_synced:
                        os.write(log, b"done\n")
                        os.fdatasync(log)

        threads = [threading.Thread(target=work) for _ in range(self.options.at_once)]
        begin = time.monotonic()
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        os.close(log)
        return time.monotonic() - begin


def cpu_of(pid):
    with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
        fields = file.read().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def memory_of(pid):
    with open(f"/proc/{pid}/status", encoding="utf-8") as file:
        return int(re.search(r"VmRSS:\s*(\d+)", file.read())[1]) / 1024


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("--phases", type=int, default=5)
    parser.add_argument("--at-once", type=int, default=8)
    parser.add_argument("--command", default="true")
    parser.add_argument("--folder", help="where the home is; default: the usual place for what is temporary")
    options = parser.parse_args()
    options.marks = [mark for mark in (100, 500, 1000, 2000, 3000, 10_000) if mark <= options.runs] or [options.runs]
    signal.signal(signal.SIGTERM, lambda *_: exit(1))
    bench = Bench(options)
    try:
        plain = bench.plain(False)
        synced = bench.plain(True)
        wall, cpu, memory = bench.runs()
    finally:
        bench.close()
    steps = options.runs * options.phases
    each = 1000 / steps
    print(f"{options.runs} runs of {options.phases} phases, {options.at_once} at once, `{options.command}`")
    print(f"  plain loop            {plain * each:7.2f} ms a phase")
    print(f"  plain loop, synced    {synced * each:7.2f} ms a phase")
    print(f"  reeve                 {wall * each:7.2f} ms a phase, {wall / plain:.1f} times the plain loop")
    print(f"  overhead              {(wall - plain) * each:7.2f} ms a phase")
    print(f"  of it in the daemon   {cpu * each:7.2f} ms of processor time a phase")
    for mark, size in memory.items():
        print(f"  memory after {mark:6} runs   {size:7.1f} MiB")


if __name__ == "__main__":
    main()
