"""What the tests of the program share: a fresh home, and the program in it."""

import datetime
import json
import os
import pty
import select
import shutil
import signal
import subprocess
import tempfile
import time
import unittest

REEVE = os.path.abspath(os.environ.get("REEVE", "build/release/reeve"))


class Home(unittest.TestCase):
    """A home of its own for every test, and no daemon left behind."""

    where = None  # the folder its files are in; None: the usual one

    def setUp(self):
        self.base = os.path.realpath(tempfile.mkdtemp(prefix="reeve-", dir=self.where))
        self.home = os.path.join(self.base, "home")
        self.work = os.path.join(self.base, "work")
        os.mkdir(self.work)
        self.env = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith("REEVE_") and name not in ("NO_COLOR", "XDG_STATE_HOME")
        }
        # Nobody's settings but the test's own, and no shell's history or settings but in its folder.
        self.env["HOME"] = self.base
        self.env["XDG_CONFIG_HOME"] = os.path.join(self.base, "config")
        self.env.update(REEVE_HOME=self.home, TERM="xterm", LC_ALL="C.UTF-8")
        self.started = []

    def tearDown(self):
        for process in self.started:
            if process.poll() is None:
                process.kill()
            process.wait()
            for stream in (process.stdin, process.stdout, process.stderr):
                if stream:
                    stream.close()
        self.stop_daemon()
        shutil.rmtree(self.base, ignore_errors=True)

    def daemon_pid(self):
        try:
            with open(os.path.join(self.home, "daemon.lock"), encoding="utf-8") as file:
                return json.load(file)["pid"]
        except (OSError, ValueError, KeyError):
            return None

    def stop_daemon(self, how=signal.SIGTERM):
        pid = self.daemon_pid()
        if pid is None:
            return
        try:
            with open(f"/proc/{pid}/cmdline", "rb") as file:
                if self.home.encode() not in file.read():
                    return
            os.kill(pid, how)
        except OSError:
            return
        self.until(lambda: not is_alive(pid), "the daemon did not end")

    def reeve(self, *words, code=0, text=None, env=None, cwd=None, timeout=60):
        """Runs it to its end, and holds it to its exit code."""
        done = subprocess.run(
            [REEVE, *words],
            input=text,
            stdin=subprocess.DEVNULL if text is None else None,
            capture_output=True,
            text=True,
            env={**self.env, **(env or {})},
            cwd=cwd or self.work,
            timeout=timeout,
            check=False,
        )
        self.assertEqual(
            done.returncode, code, f"reeve {' '.join(words)}\n{done.stdout}\n{done.stderr}"
        )
        return done

    def out(self, *words, **options):
        return self.reeve(*words, **options).stdout.rstrip("\n")

    def err(self, *words, **options):
        return self.reeve(*words, **options).stderr.rstrip("\n")

    def data(self, *words, **options):
        answer = json.loads(self.reeve("--json", *words, **options).stdout)
        self.assertTrue(answer["success"])
        self.assertTrue(" ".join(words).startswith(answer["command"]), answer)
        return answer["data"]

    def error(self, *words, code):
        answer = json.loads(self.reeve("--json", *words, code=code).stdout)
        self.assertFalse(answer["success"])
        self.assertEqual(set(answer["error"]), {"code", "message", "details"})
        return answer["error"]

    def start(self, *words, env=None, **options):
        """Starts it and goes on."""
        process = subprocess.Popen(
            [REEVE, *words],
            stdin=options.pop("stdin", subprocess.DEVNULL),
            stdout=options.pop("stdout", subprocess.PIPE),
            stderr=options.pop("stderr", subprocess.PIPE),
            text=True,
            env={**self.env, **(env or {})},
            cwd=options.pop("cwd", self.work),
            **options,
        )
        self.started.append(process)
        return process

    def until(self, true, complaint="it did not happen", seconds=60):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            value = true()
            if value:
                return value
            time.sleep(0.01)
        self.fail(complaint() if callable(complaint) else complaint)

    def pid_at(self, path):
        """The process whose number a script writes there: a file is there before what is in it."""
        def look():
            try:
                with open(path, encoding="utf-8") as file:
                    text = file.read()
            except OSError:
                return None
            return int(text) if text.endswith("\n") else None

        return self.until(look, f"no process wrote its number into {path}")

    def waiting_for(self, name):
        return self.data("lock", "show", name)["waiting"]


def seconds_of(moment):
    return datetime.datetime.fromisoformat(moment.replace("Z", "+00:00")).timestamp()


def is_alive(pid):
    """One that was killed keeps its files, and so its locks, until the last of its threads is gone."""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
            is_over = file.read().rpartition(")")[2].split()[0] == "Z"
        return not is_over or len(os.listdir(f"/proc/{pid}/task")) > 1
    except OSError:
        return False


class Terminal:
    """The program on a terminal of 80 by 24."""

    def __init__(self, test, *words, rows=24, columns=80, env=None, program=None):
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            self.fd = 0
            self.resize(rows, columns)  # before anybody looks
            os.chdir(test.work)
            program = program or [REEVE, *words]
            os.execvpe(program[0], program, {**test.env, **(env or {})})
        self.resize(rows, columns)
        self.seen = ""

    def resize(self, rows, columns):
        import fcntl
        import struct
        import termios

        fcntl.ioctl(self.fd, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def read(self, seconds=0.05):
        while select.select([self.fd], [], [], seconds)[0]:
            try:
                some = os.read(self.fd, 65536)
            except OSError:
                break
            if not some:
                break
            self.seen += some.decode("utf-8", "replace")
        return self.seen

    def type(self, keys):
        os.write(self.fd, keys.encode())

    def until(self, true, seconds=60):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if true(self.read()):
                return True
        return False

    def end(self, seconds=60):
        """Its exit code, as a shell says it."""
        limit = time.monotonic() + seconds
        while time.monotonic() < limit:
            self.read(0.01)
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                self.read(0.01)
                os.close(self.fd)
                code = os.waitstatus_to_exitcode(status)
                return code if code >= 0 else 128 - code
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)
        os.close(self.fd)
        raise AssertionError(f"it did not end; it had shown {self.seen!r}")
