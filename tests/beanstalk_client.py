"""A client of beanstalkd's protocol that keeps every byte, and two servers to compare."""

import os
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import time


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Client:
    """One connection: whole replies, read one at a time."""

    def __init__(self, port):
        self.socket = socket.create_connection(("127.0.0.1", port))
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.buffer = b""

    def send(self, data):
        self.socket.sendall(data)

    def _fill(self, deadline):
        self.socket.settimeout(max(0.001, deadline - time.monotonic()))
        data = self.socket.recv(65536)
        if not data:
            raise EOFError
        self.buffer += data

    def receive(self, timeout=60.0):
        """The next reply, with its body if it has one; None if there is none in time, b"" at the end."""
        deadline = time.monotonic() + timeout
        try:
            while b"\r\n" not in self.buffer:
                self._fill(deadline)
            line, rest = self.buffer.split(b"\r\n", 1)
            size = len(line) + 2
            words = line.split()
            if words and words[0] in (b"RESERVED", b"FOUND", b"OK"):
                size += int(words[-1]) + 2
            while len(self.buffer) < size:
                self._fill(deadline)
        except TimeoutError:
            return None
        except (EOFError, ConnectionResetError):
            return b""
        reply, self.buffer = self.buffer[:size], self.buffer[size:]
        return reply

    def ask(self, command, timeout=60.0):
        self.send(command + b"\r\n")
        return self.receive(timeout)

    def put(self, body, priority=0, delay=0, ttr=60):
        reply = self.ask(b"put %d %d %d %d\r\n%s" % (priority, delay, ttr, len(body), body))
        return int(reply.split()[1])

    def reserve(self, timeout=60.0):
        """The id and the body of the next job."""
        reply = self.ask(b"reserve", timeout)
        head, body = reply.split(b"\r\n", 1)
        return int(head.split()[1]), body[:-2]

    def close(self):
        self.socket.close()


class Server:
    """A server that is started on a port of its own and ended by its process id."""

    def __init__(self, words):
        self.words = words
        self.home = tempfile.mkdtemp(prefix="reeve-beanstalk-")
        self.port = free_port()
        self.process = None
        self.start()

    def start(self):
        command = [word.format(port=self.port, home=self.home) for word in self.words]
        environment = dict(os.environ, REEVE_HOME=self.home)
        quiet = subprocess.DEVNULL
        self.process = subprocess.Popen(command, env=environment, stdout=quiet, stderr=quiet)
        deadline = time.monotonic() + 20
        while True:
            try:
                Client(self.port).close()
                return
            except ConnectionRefusedError:
                if self.process.poll() is not None:
                    raise RuntimeError(f"{command} ended with {self.process.returncode}") from None
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.01)

    def connect(self):
        return Client(self.port)

    def kill(self):
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    def stop(self):
        self.process.terminate()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.kill()
        shutil.rmtree(self.home, ignore_errors=True)


# What differs between two servers, or from one run to the next.
VOLATILE = re.compile(
    rb"^(age|time-left|pause-time-left|pid|rusage-utime|rusage-stime|uptime|id|os|hostname|"
    rb"binlog-[a-z-]*|total-connections): .*$",
    re.MULTILINE,
)


class Talk:
    """The same conversation with one server: clients by letter, jobs by the order of their puts."""

    def __init__(self, server):
        self.server = server
        self.clients = {}
        self.onlooker = None
        self.ids = []

    def say(self, who, what, timeout=60.0):
        """`what` may name jobs as <1>, <2>; so does what comes back."""
        if who not in self.clients:
            self.clients[who] = self.server.connect()
        ids = self.ids

        def number(match):
            index = int(match[1])
            return b"%d" % (ids[index - 1] if index <= len(ids) else 987654321)

        data = re.sub(rb"<(\d+)>", number, what)
        return self.known(self.clients[who].ask(data, timeout))

    def hear(self, who, timeout=60.0):
        return self.known(self.clients[who].receive(timeout))

    def close(self, who):
        """Returns when the server has seen it, too."""
        self.clients.pop(who).close()
        if not self.onlooker:
            self.onlooker = self.server.connect()
        deadline = time.monotonic() + 10
        expected = b"\ncurrent-connections: %d\n" % (len(self.clients) + 1)
        while expected not in self.onlooker.ask(b"stats"):
            if time.monotonic() > deadline:
                raise TimeoutError(f"{who} is still connected")
            time.sleep(0.001)

    def known(self, reply):
        if not reply:
            return reply
        match = re.match(rb"(INSERTED|RESERVED|FOUND) (\d+)", reply)
        if match:
            number = int(match[2])
            if match[1] == b"INSERTED":
                self.ids.append(number)
            place = self.ids.index(number) + 1 if number in self.ids else 0
            reply = reply[: match.start(2)] + b"<%d>" % place + reply[match.end(2) :]
        if reply.startswith(b"OK "):
            reply = VOLATILE.sub(rb"\1: -", reply)
            reply = re.sub(rb"^OK \d+", b"OK", reply)
            head, yaml = reply.split(b"\r\n", 1)
            lines = yaml.split(b"\n")
            if all(line.startswith((b"- ", b"---")) or line == b"\r" or not line for line in lines):
                reply = head + b"\r\n" + b"\n".join(sorted(lines))
        return reply

    def end(self):
        for client in [*self.clients.values(), *filter(None, [self.onlooker])]:
            client.close()
