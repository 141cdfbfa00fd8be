"""Starts the peers, each in a directory of its own, each set to sync before it answers."""

import glob
import os
import pwd
import shutil
import signal
import socket
import subprocess
import time


class Missing(Exception):
    """The peer is not installed."""


def find(program, *patterns):
    for pattern in (*patterns, shutil.which(program) or ""):
        for path in sorted(glob.glob(pattern), reverse=True):
            return path
    raise Missing(program)


def wait_for(path, process, seconds=20):
    """Until somebody listens at the unix socket."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if process is not None and process.poll() is not None:
            raise RuntimeError(f"{process.args[0]} ended with {process.returncode}")
        with socket.socket(socket.AF_UNIX) as probe:
            try:
                probe.connect(path)
                return
            except OSError:
                time.sleep(0.01)
    raise RuntimeError(f"nobody listens at {path}")


def tree(pid):
    """The process and everything below it."""
    found = [pid]
    for one in found:
        try:
            for task in os.listdir(f"/proc/{one}/task"):
                with open(f"/proc/{one}/task/{task}/children", encoding="ascii") as children:
                    found += [int(child) for child in children.read().split()]
        except OSError:
            pass
    return found


def cpu_seconds(pids):
    ticks = 0
    for pid in pids:
        try:
            with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as stat:
                fields = stat.read().rsplit(")", 1)[1].split()
            ticks += int(fields[11]) + int(fields[12])
        except OSError:
            pass
    return ticks / os.sysconf("SC_CLK_TCK")


def resident_bytes(pids):
    total = 0
    for pid in pids:
        try:
            with open(f"/proc/{pid}/smaps_rollup", encoding="ascii") as rollup:
                for line in rollup:
                    if line.startswith("Pss:"):
                        total += int(line.split()[1]) * 1024
        except OSError:
            pass
    return total


def disk_bytes(directory):
    total = 0
    for root, _, files in os.walk(directory):
        for name in files:
            try:
                total += os.stat(os.path.join(root, name)).st_blocks * 512
            except OSError:
                pass
    return total


class Server:
    """One peer. `load` is what the load generator is told."""

    name = ""
    locks = True

    def __init__(self, directory):
        self.directory = os.path.join(directory, self.name)
        os.makedirs(self.directory)
        self.process = None
        try:
            self.start()
        except Exception:
            self.stop()
            raise

    def start(self):
        raise NotImplementedError

    def load(self):
        raise NotImplementedError

    def run(self, *command, **options):
        self.process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL, **options)

    def pids(self):
        return tree(self.process.pid) if self.process else []

    def stop(self):
        if self.process and self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            try:
                self.process.wait(30)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()

    def settle(self):
        """Writes down what it would have written down some time later anyway."""


class Reeve(Server):
    name = "reeve"

    def __init__(self, directory, program):
        self.program = program
        super().__init__(directory)

    def environment(self):
        return {**os.environ, "REEVE_HOME": self.directory}

    def start(self):
        self.socket = os.path.join(self.directory, "reeve.sock")
        os.chmod(self.directory, 0o700)
        self.run(self.program, "daemon", "run", env=self.environment())
        wait_for(self.socket, self.process)

    def load(self):
        return ["--peer", "reeve", "--socket", self.socket]

    def settle(self):
        self.stop()  # a clean stop writes a checkpoint
        self.start()


class Redis(Server):
    name = "redis"
    peer = "redis"

    def start(self):
        self.socket = os.path.join(self.directory, "redis.sock")
        self.run(find("redis-server"), "--port", "0", "--unixsocket", self.socket, "--dir",
                 self.directory, "--appendonly", "yes", "--appendfsync", "always", "--save", "",
                 "--auto-aof-rewrite-percentage", "0")
        wait_for(self.socket, self.process)

    def load(self):
        return ["--peer", self.peer, "--socket", self.socket]


class RedisEqual(Redis):
    name = "redis-equal"
    peer = "redis-equal"


class Beanstalkd(Server):
    name = "beanstalkd"
    locks = False

    def start(self):
        self.socket = os.path.join(self.directory, "bs.sock")
        self.run(find("beanstalkd"), "-l", f"unix:{self.socket}", "-b", self.directory, "-f0")
        wait_for(self.socket, self.process)

    def load(self):
        return ["--peer", "beanstalkd", "--socket", self.socket]


class Postgres(Server):
    name = "postgres"

    def start(self):
        self.bin = os.path.dirname(find("postgres", "/usr/lib/postgresql/*/bin/postgres"))
        self.who = {}
        if os.geteuid() == 0:  # it refuses to run as root
            owner = pwd.getpwnam("postgres")
            self.who = {"user": owner.pw_uid, "group": owner.pw_gid, "extra_groups": []}
            os.chown(self.directory, owner.pw_uid, owner.pw_gid)
            os.chmod(os.path.dirname(self.directory), 0o755)
        data = os.path.join(self.directory, "data")
        subprocess.run([f"{self.bin}/initdb", "-D", data, "-U", "bench", "-A", "trust", "-E", "UTF8",
                        "--no-sync"], check=True, stdout=subprocess.DEVNULL, cwd=self.directory,
                       **self.who)
        self.run(f"{self.bin}/postgres", "-D", data, "-k", self.directory, "-c",
                 "listen_addresses=", "-c", "max_connections=200", "-c", "synchronous_commit=on",
                 "-c", "fsync=on", cwd=self.directory, **self.who)
        self.socket = os.path.join(self.directory, ".s.PGSQL.5432")
        wait_for(self.socket, self.process)
        end = time.monotonic() + 20
        while self.sql("postgres", "CREATE DATABASE bench") != 0 and time.monotonic() < end:
            time.sleep(0.1)
        self.sql("bench",
                 "CREATE TABLE items(id bigserial PRIMARY KEY, priority int, state int DEFAULT 0, "
                 "visible_at timestamptz, attempts int DEFAULT 0, data text)",
                 "CREATE INDEX ready ON items(priority DESC, id) WHERE state = 0",
                 "CREATE TABLE locks(name text PRIMARY KEY, until timestamptz)")

    def sql(self, database, *statements):
        words = [word for one in statements for word in ("-c", one)]
        return subprocess.run([f"{self.bin}/psql", "-h", self.directory, "-U", "bench", "-d",
                               database, "-q", *words], stderr=subprocess.DEVNULL,
                              cwd=self.directory, **self.who).returncode

    def load(self):
        return ["--peer", "postgres", "--socket", self.socket]


class Sqlite(Server):
    name = "sqlite"

    def start(self):
        find("sqlite3")

    def load(self):
        return ["--peer", "sqlite", "--file", os.path.join(self.directory, "bench.db")]
