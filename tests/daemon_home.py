"""The folder, the socket, and who may come in."""

import os
import shutil
import socket
import subprocess
import sys
import tempfile

from daemon_client import Client, Daemon, run_daemon, running, test


@test
def a_second_daemon_says_who_is_there_and_harms_nothing():
    with running() as daemon:
        ana = daemon.client()
        second = run_daemon(daemon.home)
        assert second.returncode == 1
        assert f"already runs in {daemon.home}: pid {daemon.process.pid}, version" in second.stderr
        assert ana.get("session.hello")["pid"] == daemon.process.pid
        assert daemon.client().get("session.hello")["pid"] == daemon.process.pid


@test
def a_second_daemon_harms_nothing_also_where_the_lock_file_was_removed():
    with running() as daemon:
        ana = daemon.client()
        ana.get("queue.push", queue="q", data=1)
        os.unlink(os.path.join(daemon.home, "daemon.lock"))
        second = run_daemon(daemon.home)
        assert second.returncode == 1 and "another process writes this journal" in second.stderr, \
            second.stderr
        ana.get("queue.push", queue="q", data=2)
        daemon.restart()
        stats = daemon.client().get("queue.stats", queue="q")["queues"][0]
        assert stats["pending"] == 2, "what was acknowledged is lost"


@test
def a_stale_socket_is_replaced_and_a_live_one_never():
    with running() as daemon:
        daemon.kill()
        assert os.path.exists(daemon.path)
        daemon.start()
        assert daemon.client().get("session.hello")
        daemon.kill()
        os.unlink(daemon.path)
        live = socket.socket(socket.AF_UNIX)
        live.bind(daemon.path)
        live.listen()
        other = run_daemon(daemon.home)
        assert other.returncode == 1 and "somebody listens" in other.stderr, other.stderr
        probe = socket.socket(socket.AF_UNIX)
        probe.connect(daemon.path)
        probe.close()
        live.close()
        os.unlink(daemon.path)
        with open(daemon.path, "w", encoding="ascii") as file:
            file.write("not a socket")
        other = run_daemon(daemon.home)
        assert other.returncode == 1 and "no socket" in other.stderr, other.stderr
        os.unlink(daemon.path)
        daemon.start()


@test
def a_home_that_is_not_ours_alone_is_refused():
    base = tempfile.mkdtemp(prefix="reeve_daemon_")
    try:
        for mode in (0o777, 0o707, 0o755):
            home = os.path.join(base, f"home{mode}")
            os.mkdir(home)
            os.chmod(home, mode)
            refused = run_daemon(home)
            assert refused.returncode == 1 and "chmod 700" in refused.stderr, refused.stderr
            assert os.listdir(home) == []
        real = os.path.join(base, "real")
        os.mkdir(real, 0o700)
        link = os.path.join(base, "link")
        os.symlink(real, link)
        refused = run_daemon(link)
        assert refused.returncode == 1 and "symbolic link" in refused.stderr, refused.stderr
        if os.geteuid() == 0:
            os.chown(real, 12345, 12345)
            refused = run_daemon(real)
            assert refused.returncode == 1 and "another user" in refused.stderr, refused.stderr
        else:
            print("  (not root: a home of another owner is not tried)")
    finally:
        shutil.rmtree(base)


@test
def other_users_are_turned_away():
    if os.geteuid() != 0:
        print("  (not root: nobody else can be played)")
        return
    with running() as daemon:
        os.chmod(os.path.dirname(daemon.home), 0o755)
        os.chmod(daemon.home, 0o755)
        os.chmod(daemon.path, 0o777)
        script = ("import os,socket,sys; os.setgid(12345); os.setuid(12345)\n"
                  "s=socket.socket(socket.AF_UNIX); s.connect(sys.argv[1])\n"
                  "s.sendall(b'{\"id\":1,\"method\":\"session.hello\"}\\n'); print(s.recv(100))")
        done = subprocess.run([sys.executable, "-c", script, daemon.path], capture_output=True,
                              text=True, timeout=10, check=False)
        assert "hello" not in done.stdout and "session" not in done.stdout, done.stdout
        os.chmod(daemon.home, 0o700)
        assert "turned away" in daemon.log()


@test
def a_long_path_is_no_matter():
    base = tempfile.mkdtemp(prefix="reeve_daemon_")
    home = os.path.join(base, *["a_rather_long_name_for_a_folder"] * 6)
    daemon = Daemon(home=home)
    try:
        folder = os.open(home, os.O_PATH)
        assert Client(f"/proc/self/fd/{folder}/reeve.sock").get("session.hello")
        os.close(folder)
        assert daemon.stop() == 0
    finally:
        daemon.kill()
        daemon.process.stderr.close()
        shutil.rmtree(base)


@test
def everything_in_the_home_is_private():
    with running() as daemon:
        daemon.client().get("queue.push", queue="q", data=1)
        for folder, _, files in os.walk(daemon.home):
            assert os.stat(folder).st_mode & 0o077 == 0, folder
            for file in files:
                path = os.path.join(folder, file)
                assert os.stat(path).st_mode & 0o077 == 0, path


@test
def readiness_is_told():
    base = tempfile.mkdtemp(prefix="reeve_daemon_")
    path = os.path.join(base, "notify")
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    listener.bind(path)
    listener.settimeout(60)
    with running(environment={"NOTIFY_SOCKET": path}) as daemon:
        assert listener.recv(100) == b"READY=1"
        # Generous, for a machine that does other things; the goal is told by the benchmarks.
        assert daemon.started_in < 30, daemon.started_in
    assert listener.recv(100) == b"STOPPING=1"
    listener.close()
    shutil.rmtree(base)
