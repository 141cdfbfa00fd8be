"""The daemon under test and clients of it, for tests/daemon_*.py."""

import contextlib
import json
import mmap
import os
import resource
import select
import shutil
import socket
import subprocess
import tempfile
import time

REEVE = os.environ.get("REEVE", "build/release/reeve")


def is_built_with(symbol):
    """Whether a sanitizer is in the program: those cost memory."""
    with open(REEVE, "rb") as program, mmap.mmap(program.fileno(), 0, access=mmap.ACCESS_READ) as text:
        return text.find(symbol) >= 0


class Client:
    """A connection that speaks JSON-RPC lines."""

    def __init__(self, path, timeout=60):
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.socket.settimeout(timeout)
        self.socket.connect(path)
        self.buffer = b""
        self.last = 0

    def raw(self, data):
        self.socket.sendall(data)

    def send(self, method, **params):
        self.last += 1
        self.raw(json.dumps({"id": self.last, "method": method, "params": params}).encode() + b"\n")
        return self.last

    def read(self):
        while b"\n" not in self.buffer:
            more = self.socket.recv(1 << 16)
            if not more:
                raise EOFError("the daemon closed the connection")
            self.buffer += more
        line, self.buffer = self.buffer.split(b"\n", 1)
        return json.loads(line)

    def ask(self, method, **params):
        number = self.send(method, **params)
        answer = self.read()
        assert answer.get("id") == number, answer
        return answer

    def get(self, method, **params):
        answer = self.ask(method, **params)
        assert "result" in answer, answer
        return answer["result"]

    def refused(self, method, **params):
        answer = self.ask(method, **params)
        assert "error" in answer, answer
        return answer["error"]["data"]["code"]

    def is_silent(self, seconds=0.2):
        return not self.buffer and not select.select([self.socket], [], [], seconds)[0]

    def close(self):
        self.socket.close()


class Daemon:
    """The program under test, with a home of its own."""

    def __init__(self, home=None, words=(), limits=None, environment=None):
        self.home = home or os.path.join(tempfile.mkdtemp(prefix="reeve_daemon_"), "home")
        self.words = list(words)
        self.limits = limits
        self.environment = environment or {}
        self.clients = []
        self.process = None
        self.start()

    @property
    def path(self):
        return os.path.join(self.home, "reeve.sock")

    def start(self):
        began = time.monotonic()
        reader, writer = os.pipe()
        environment = dict(os.environ, **self.environment)
        environment.pop("REEVE_HOME", None)
        environment.pop("REEVE_SOCKET", None)
        environment.update(self.environment)

        def lower():
            if self.limits:
                resource.setrlimit(resource.RLIMIT_NOFILE, (self.limits, self.limits))

        self.process = subprocess.Popen(
            [REEVE, "daemon", "run", "--home", self.home, "--ready-fd", str(writer), *self.words],
            pass_fds=[writer], env=environment, preexec_fn=lower, stderr=subprocess.PIPE)
        os.close(writer)
        with os.fdopen(reader) as lines:
            said = lines.readline().strip()
        assert said == "ready", said or self.process.communicate()[1]
        self.started_in = time.monotonic() - began

    def client(self, **options):
        client = Client(self.path, **options)
        self.clients.append(client)
        return client

    def kill(self):
        self.process.kill()
        self.process.wait()

    def restart(self):
        self.kill()
        self.start()

    def stop(self):
        if self.process.poll() is None:
            self.process.terminate()
        return self.process.wait(timeout=60)

    def memory(self):
        with open(f"/proc/{self.process.pid}/status", encoding="ascii") as status:
            for line in status:
                if line.startswith("VmRSS"):
                    return int(line.split()[1]) * 1024
        return 0

    def cpu(self):
        with open(f"/proc/{self.process.pid}/stat", encoding="ascii") as status:
            fields = status.read().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def is_at_rest(self, seconds=0.5, at_most=0.2):
        """It uses that little of the processor for so long. What spins never does."""
        before = self.cpu()
        time.sleep(seconds)
        return self.cpu() - before < at_most

    def log(self):
        with open(os.path.join(self.home, "daemon.log"), encoding="utf-8") as log:
            return log.read()


TESTS = []


def test(function):
    TESTS.append(function)
    return function


@contextlib.contextmanager
def running(**options):
    daemon = Daemon(**options)
    try:
        yield daemon
        # Whatever a test did to it, it still serves and stops cleanly.
        if daemon.process.poll() is None:
            assert Client(daemon.path).get("daemon.status")["ready"]
            assert daemon.stop() == 0
    finally:
        if daemon.process.poll() is None:
            daemon.kill()
        daemon.process.stderr.close()
        for client in daemon.clients:
            client.close()
        shutil.rmtree(os.path.dirname(daemon.home), ignore_errors=True)


def eventually(condition, seconds=60, what="it did not happen"):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if condition():
            return
        time.sleep(0.02)
    raise AssertionError(what)


def run_daemon(home, *words, environment=None):
    merged = dict(os.environ, **(environment or {}))
    merged.pop("REEVE_HOME", None)
    return subprocess.run([REEVE, "daemon", "run", "--home", home, *words], capture_output=True,
                          text=True, timeout=60, env=merged, check=False)
