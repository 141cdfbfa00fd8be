#!/usr/bin/env python3
"""Kills the journal at every system call that touches the disk, and fails each of them once.

    tests/journal_crash.py DRIVER [--full]

A scripted run with two checkpoints is traced once to count its calls. Then, for the n-th call of each
kind, a run is killed there, or the call returns EIO or ENOSPC; afterwards everything that was
acknowledged must be there, once. The run begins with the recovery of a shorter one, which was stopped
cleanly or (every other time, with --full both each time) was not. At the end the driver is killed with
kill -9 at random moments under load.
"""

import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

CALLS = ["pwrite64", "fdatasync", "fsync", "renameat", "unlinkat", "fallocate", "openat"]
COUNT = 90

driver = Path(sys.argv[1]).resolve()
full = "--full" in sys.argv[2:]
# In memory where there is such a place: a killed process leaves the page cache alone, so the kind
# of disk below makes no difference, and this is many times faster.
scratch_root = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
failures = []


def acknowledged(output):
    numbers = re.findall(r"^ack (\d+)$", output, re.MULTILINE)
    return int(numbers[-1]) if numbers else 0


def check(directory, acked, what):
    """Twice: what a recovery has made must be as good as what it found."""
    for _ in range(2):
        done = subprocess.run([driver, "check", directory, str(acked), "datasync"],
                              capture_output=True, text=True, check=False)
        if done.returncode != 0:
            failures.append(f"{what}: {done.stderr.strip()}")
            return


def traced(options, directory, method, count=COUNT):
    return subprocess.run(["strace", "-f", "-qq", *options, driver, "run", directory, str(count),
                           method], capture_output=True, text=True, check=False)


def scratch(method):
    return tempfile.TemporaryDirectory(dir=scratch_root if method == "datasync" else None)


def count_calls(method):
    with scratch(method) as directory:
        # The second run recovers, so that recovery's calls are among those counted and struck.
        first = traced(["-o", "/dev/null"], directory, method, COUNT // 2)
        if method == "direct" and "Invalid argument" in first.stderr:
            return {}  # this file system knows no O_DIRECT
        if first.returncode != 0:
            sys.exit(f"the run fails by itself: {first.stderr}")
        log = Path(directory) / "trace"
        done = traced(["-o", log, "-e", "trace=" + ",".join(CALLS)], directory, method)
        if done.returncode != 0:
            sys.exit(f"the run fails by itself: {done.stderr}")
        text = log.read_text()
        return {call: len(re.findall(rf"\b{call}\(", text)) for call in CALLS}


def strike(method, call, n, fault, crashed_before):
    what = f"{method}: {fault} at {call} {n}, after a {'crash' if crashed_before else 'clean stop'}"
    with scratch(method) as directory:
        before = subprocess.run([driver, "run", directory, str(COUNT // 2), method],
                                capture_output=True, text=True, check=True)
        output = before.stdout
        if crashed_before:
            (Path(directory) / "clean").unlink()
        inject = "signal=KILL" if fault == "KILL" else f"error={fault}"
        done = traced(["-o", "/dev/null", "-e", f"trace={call}",
                       "-e", f"inject={call}:{inject}:when={n}"], directory, method)
        acked = max(acknowledged(output), acknowledged(done.stdout))
        if fault == "KILL":
            expected = {-signal.SIGKILL, 128 + signal.SIGKILL, 0}
        else:
            expected = {3, 0}
        if done.returncode not in expected:
            failures.append(f"{what}: exit status {done.returncode}: {done.stderr.strip()}")
            return False
        check(directory, acked, what)
        return done.returncode != 0


def kill_under_load(rounds):
    """kill -9 at random moments, the same directory again and again, with both sync methods."""
    kills = 0
    dice = random.Random(1)
    for method in ("direct", "datasync"):
        with tempfile.TemporaryDirectory() as directory:
            acked = 0
            for _ in range(rounds):
                with tempfile.TemporaryFile("w+") as out:
                    process = subprocess.Popen(
                        [driver, "run", directory, str(acked + 100000), method, "threads"],
                        stdout=out, stderr=subprocess.PIPE, text=True)
                    time.sleep(dice.uniform(0.005, 0.12))
                    process.kill()
                    stderr = process.communicate()[1]
                    if process.returncode != -signal.SIGKILL:
                        if method == "direct" and "Invalid argument" in stderr:
                            break  # this file system knows no O_DIRECT
                        failures.append(f"load, {method}: {process.returncode}: {stderr.strip()}")
                        return kills
                    out.seek(0)
                    acked = max(acked, acknowledged(out.read()))
                kills += 1
                check(directory, acked, f"kill -9 under load, {method}")
    return kills


def main():
    if shutil.which("strace") is None:
        sys.exit("strace is missing: ./dev test installs it")
    begin = time.monotonic()
    calls = {method: count_calls(method) for method in ("datasync", "direct")}
    jobs = [
        (method, call, n, fault, crashed_before)
        for method in calls
        for call, total in calls[method].items()
        # The methods differ in how a commit is written and in nothing else.
        if full or method == "datasync" or call == "pwrite64"
        for n in range(1, total + 1)
        for fault in ("KILL", "EIO", "ENOSPC")
        for crashed_before in ((False, True) if full else (n % 2 == 0,))
    ]
    with ThreadPoolExecutor(max_workers=2) as pool:
        struck = sum(pool.map(lambda job: strike(*job), jobs))
    kills = kill_under_load(60 if full else 12)
    print(f"calls of the run: {calls}")
    print(f"{len(jobs)} runs, {struck} of them ended by the fault, {kills} kills under load, "
          f"{len(failures)} failures, {time.monotonic() - begin:.0f} s")
    for failure in failures:
        print(failure)
    if struck * 10 < len(jobs) * 7:
        sys.exit("too few faults struck: the matrix does not test what it says")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
