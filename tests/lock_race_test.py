"""Two clients race for one lock, 10,000 times in all, and write to a shared file under its token.

Each speaks the protocol on a connection of its own. Whoever holds the lock reads a counter from the
file, writes it back increased by one together with the token, and the file refuses an older token:
were the lock ever held twice, an increase would be lost or a token refused. Then a few rounds are run
by `lock run` itself, which is slower by a process each.
"""

import json
import os
import socket
import subprocess
import threading
import time
import unittest

from reeve_testing import REEVE, Home

ROUNDS = 5000


class Client:
    def __init__(self, path):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.connect(path)
        self.lines = self.socket.makefile("r", encoding="utf-8")
        self.last = 0

    def call(self, method, **params):
        self.last += 1
        request = {"jsonrpc": "2.0", "id": self.last, "method": method, "params": params}
        self.socket.sendall((json.dumps(request) + "\n").encode())
        answer = json.loads(self.lines.readline())
        if answer.get("id") != self.last or "error" in answer:
            raise AssertionError(answer)
        return answer["result"]

    def close(self):
        self.lines.close()
        self.socket.close()


class Race(Home):
    # In memory where that is possible: 20,000 synced writes say nothing about who holds the lock.
    where = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None

    def test_two_clients_10_000_times(self):
        self.reeve("lock", "acquire", "warm-up")
        path = os.path.join(self.base, "shared")
        with open(path, "w", encoding="utf-8") as file:
            file.write("0 0")
        problems = []

        def increase(token):
            with open(path, "r+", encoding="utf-8") as file:
                count, last = map(int, file.read().split())
                if token <= last:
                    raise AssertionError(f"token {token} after {last}")
                file.seek(0)
                file.write(f"{count + 1} {token}")
                file.truncate()

        def race(holder):
            try:
                client = Client(os.path.join(self.home, "reeve.sock"))
                for _ in range(ROUNDS):
                    taken = client.call("lock.acquire", names=["race"], holder=holder, wait_ms=-1)
                    token = taken["locks"][0]["token"]
                    increase(token)
                    client.call("lock.release", name="race", holder=holder, token=token)
                client.close()
            except Exception as problem:  # told by the main thread
                problems.append(problem)

        began = time.monotonic()
        racers = [threading.Thread(target=race, args=(name,)) for name in ("ana", "bo")]
        for racer in racers:
            racer.start()
        for racer in racers:
            racer.join()
        print(f"{2 * ROUNDS} rounds in {time.monotonic() - began:.1f} s")
        self.assertEqual(problems, [])
        with open(path, encoding="utf-8") as file:
            self.assertEqual(int(file.read().split()[0]), 2 * ROUNDS)

    def test_lock_run_races_too(self):
        path = os.path.join(self.base, "shared")
        with open(path, "w", encoding="utf-8") as file:
            file.write("0")
        script = f'n=$(cat {path}); echo $((n + 1)) > {path}'
        loop = f'for i in $(seq 50); do "{REEVE}" lock run race --wait -- sh -c \'{script}\' || exit 1; done'
        racers = [
            subprocess.Popen(["bash", "-c", loop], env=self.env, cwd=self.work, stderr=subprocess.DEVNULL)
            for _ in range(4)
        ]
        for racer in racers:
            self.assertEqual(racer.wait(timeout=120), 0)
        with open(path, encoding="utf-8") as file:
            self.assertEqual(int(file.read()), 200)


if __name__ == "__main__":
    unittest.main()
