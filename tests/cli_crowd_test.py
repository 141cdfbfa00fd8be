"""Five thousand processes of the command line and one daemon: nobody is lost, nothing leaks."""

import os
import subprocess
import time
import unittest

from daemon_client import is_built_with
from reeve_testing import REEVE, Home

# A program with a sanitizer in it takes twenty times as long to start, and keeps freed memory.
SANITIZED = is_built_with(b"__asan_init")
PROCESSES = 500 if SANITIZED else 5000
AT_ONCE = 100


class Crowd(Home):
    def number(self, file, field):
        with open(f"/proc/{self.daemon_pid()}/{file}", encoding="ascii") as status:
            for line in status:
                if line.startswith(field):
                    return int(line.split()[1])
        return 0

    def descriptors(self):
        return len(os.listdir(f"/proc/{self.daemon_pid()}/fd"))

    def test_five_thousand_processes_are_served_by_one_daemon(self):
        self.reeve("daemon", "start")
        self.reeve("history")  # its file is made, and open, from here on
        pid = self.daemon_pid()
        descriptors = self.descriptors()
        memory = self.number("status", "VmRSS")
        ids = []
        slowest = 0
        began = time.monotonic()
        for batch in range(PROCESSES // AT_ONCE):
            crowd = [
                subprocess.Popen([REEVE, "queue", "push", "q", str(batch * AT_ONCE + n), "-q"],
                                 stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                 stderr=subprocess.PIPE, text=True, env=self.env, cwd=self.work)
                for n in range(AT_ONCE)
            ]
            # Somebody else is served meanwhile.
            asked = time.monotonic()
            self.reeve("lock", "acquire", f"bystander{batch}")
            slowest = max(slowest, time.monotonic() - asked)
            for process in crowd:
                out, err = process.communicate(timeout=60)
                self.assertEqual((process.returncode, err), (0, ""))
                ids += out.split()
        took = time.monotonic() - began
        print(f"{PROCESSES} processes in {took:.1f} s, slowest bystander {slowest * 1000:.0f} ms")
        self.assertEqual(len(set(ids)), PROCESSES)
        self.assertEqual(self.data("queue", "stats", "q")["queues"][0]["pending"], PROCESSES)
        self.assertEqual(self.daemon_pid(), pid)
        # Generous, for a machine that does other things.
        self.assertLess(slowest, 30)
        self.until(lambda: self.descriptors() <= descriptors + 2, "descriptors were left open")
        if not SANITIZED:
            self.assertLess(self.number("status", "VmRSS") - memory, 100_000, "kB")
        numbers = set()
        while items := self.data("queue", "take", "q", "--max", "1000")["items"]:
            numbers |= {item["data"] for item in items}
        self.assertEqual(numbers, set(range(PROCESSES)))


if __name__ == "__main__":
    unittest.main()
