"""What is left when the daemon, or somebody else, is killed."""

import contextlib
import json
import os
import signal
import socket
import tempfile
import threading
import time

from daemon_client import Client, eventually, running, test


@test
def a_session_comes_back_after_the_daemon_was_killed():
    with running() as daemon:
        ana, bo = daemon.client(), daemon.client()
        session = bo.get("session.hello")["session"]
        bo.get("lock.acquire", names=["mine"], holder="bo", bind=True)
        ana.get("lock.acquire", names=["main"], holder="ana")
        bo.send("lock.acquire", names=["main"], holder="bo", bind=True, wait_ms=-1, key="k")
        assert bo.is_silent()
        daemon.restart()
        ana, bo = daemon.client(), daemon.client()
        assert ana.get("lock.show", name="mine")["holder"] == "bo"
        bo.get("session.resume", session=session)
        assert ana.refused("session.resume", session=session) == "NOT_FOUND"
        bo.send("lock.acquire", names=["main"], holder="bo", bind=True, wait_ms=-1, key="k")
        ana.get("lock.release", name="main", holder="ana")
        assert bo.read()["result"]["holder"] == "bo"
        bo.close()
        eventually(lambda: ana.get("lock.show", name="mine")["state"] == "free")


@test
def what_is_resumed_and_asked_again_in_one_breath_can_be_cancelled():
    with running() as daemon:
        ana = daemon.client()
        session = ana.get("session.hello")["session"]
        ana.send("queue.take", queues=["q"], holder="ana", wait_ms=-1, key="k")
        assert ana.is_silent()
        daemon.restart()
        ana = daemon.client()
        take = {"queues": ["q"], "holder": "ana", "wait_ms": -1, "key": "k"}
        ana.raw(b"".join(json.dumps(line).encode() + b"\n" for line in (
            {"id": 1, "method": "session.resume", "params": {"session": session}},
            {"id": 2, "method": "queue.take", "params": take},
            {"id": 3, "method": "request.cancel", "params": {"id": 2}})))
        assert sorted(ana.read()["id"] for _ in range(3)) == [1, 2, 3]
        assert ana.get("queue.stats", queue="q")["queues"][0]["takers"] == 0


@test
def waiters_are_granted_in_order_whoever_is_killed():
    with running() as daemon:
        names = ["w0", "w1", "w2", "w3", "w4"]

        def wait(client, name):
            client.send("lock.acquire", names=["main"], holder=name, bind=True, wait_ms=-1, key=name)

        holder = daemon.client()
        holder.get("lock.acquire", names=["main"], holder="first", bind=True)
        waiters, sessions = {}, {}
        for name in names:
            waiters[name] = daemon.client()
            sessions[name] = waiters[name].get("session.hello")["session"]
            wait(waiters[name], name)
            eventually(lambda: len(daemon.client().get("lock.show", name="main")["waiters"]) == len(waiters))
        waiters["w1"].close()  # a waiter dies
        daemon.restart()       # the daemon does
        for name in ("w4", "w2", "w3", "w0"):  # they come back in another order
            waiters[name] = daemon.client()
            waiters[name].get("session.resume", session=sessions[name])
            wait(waiters[name], name)
        # The first holder does not come back, nor does w1: after 10 s the line moves on.
        granted = []
        for name in ("w0", "w2", "w3", "w4"):
            waiters[name].socket.settimeout(60)
            granted.append(waiters[name].read()["result"]["holder"])
            for other in names:
                if other not in granted and other != "w1":
                    assert waiters[other].is_silent(0.02), other
            waiters[name].close()  # a holder dies
        assert granted == ["w0", "w2", "w3", "w4"]


@test
def a_key_is_applied_once_also_across_a_crash():
    with running() as daemon:
        ana = daemon.client()
        first = ana.get("queue.push", queue="q", data=1, key="k")
        assert ana.get("queue.push", queue="q", data=1, key="k")["ids"] == first["ids"]
        daemon.restart()
        ana = daemon.client()
        assert ana.get("queue.push", queue="q", data=1, key="k")["ids"] == first["ids"]
        assert ana.refused("queue.push", queue="q", data=2, key="k") == "KEY_REUSED"
        assert ana.get("queue.stats", queue="q")["queues"][0]["pending"] == 1


@test
def killed_under_load_everything_acknowledged_is_there_once():
    with running() as daemon:
        acknowledged = set()
        guard = threading.Lock()

        def push(worker, until):
            number = 0
            with contextlib.suppress(OSError, EOFError, ValueError):
                client = Client(daemon.path)
                with contextlib.closing(client):
                    while time.monotonic() < until:
                        numbers = range(number, number + 20)
                        for i in numbers:
                            client.send("queue.push", queue="q", data=f"{worker}-{i}")
                        for i in numbers:
                            answer = client.read()
                            with guard:
                                acknowledged.add(f"{worker}-{number + (answer['id'] - 1) % 20}")
                        number += 20

        for life in range(4):
            until = time.monotonic() + 0.7
            threads = [threading.Thread(target=push, args=(f"{life}.{n}", until + 1)) for n in range(6)]
            for thread in threads:
                thread.start()
            time.sleep(max(0, until - time.monotonic()))
            daemon.kill()
            for thread in threads:
                thread.join()
            daemon.start()
        found = []
        ana = daemon.client()
        while True:
            items = ana.get("queue.take", queues=["q"], holder="ana", max=1000)["items"]
            if not items:
                break
            found += [item["data"] for item in items]
        assert len(acknowledged) > 200, len(acknowledged)
        assert len(found) == len(set(found)), "something is there twice"
        assert acknowledged <= set(found), sorted(acknowledged - set(found))[:10]


@test
def a_clean_stop_leaves_nothing_to_read_again():
    with running() as daemon:
        ana, bo = daemon.client(), daemon.client()
        ana.get("lock.acquire", names=["main"], holder="ana")
        bo.send("lock.acquire", names=["main"], holder="bo", wait_ms=-1)
        assert ana.get("daemon.stop") is not None
        assert daemon.process.wait(timeout=60) == 0
        assert not os.path.exists(daemon.path)
        daemon.start()
        assert " 0 records read again" in daemon.log().splitlines()[-1], daemon.log()
        assert daemon.client().get("lock.show", name="main")["holder"] == "ana"


@test
def a_second_signal_ends_it_at_once():
    with running() as daemon:
        ana = daemon.client()
        # So much that a checkpoint takes a while, and somebody who holds up the last words.
        blob = "x" * 1_000_000
        for _ in range(40):
            ana.get("queue.push", queue="q", data=blob)
        bo = daemon.client()
        for _ in range(8):
            bo.send("queue.peek", queue="q")
        time.sleep(0.3)
        daemon.process.terminate()
        eventually(lambda: ": stopping" in daemon.log())
        began = time.monotonic()
        time.sleep(0.7)
        daemon.process.terminate()
        # It waits two seconds for those who do not read: a signal that comes later finds it gone.
        in_time = time.monotonic() - began < 1.5
        code = daemon.process.wait(timeout=60)
        assert code == 1 or not in_time, code
        assert ("a second signal" in daemon.log()) == (code == 1), daemon.log()
        daemon.start()
        assert daemon.client().get("queue.stats", queue="q")["queues"][0]["pending"] == 40


@test
def two_signals_in_a_moment_are_one():
    with running() as daemon:
        daemon.client().get("queue.push", queue="q", data="x" * 1_000_000)
        for wanted in (signal.SIGTERM, signal.SIGTERM, signal.SIGINT):
            daemon.process.send_signal(wanted)
            time.sleep(0.002)
        assert daemon.process.wait(timeout=60) == 0
        assert "second signal" not in daemon.log(), daemon.log()
        daemon.start()
        assert " 0 records read again" in daemon.log().splitlines()[-1], daemon.log()


@test
def a_checkpoint_holds_what_was_answered_before_it_was_asked_for():
    with running() as daemon:
        ana, bo = daemon.client(), daemon.client()
        blob = os.urandom(400_000).hex()  # takes its time
        for _ in range(40):
            ana.get("queue.push", queue="q", data=blob)
        for _ in range(5):
            bo.send("daemon.checkpoint")
            pushed = ana.ask("queue.push", queue="q", data=1)["result"]["seq"]
            written = ana.ask("daemon.checkpoint")["result"]["seq"]
            assert written >= pushed, (written, pushed)


@test
def the_last_checkpoint_waits_for_one_that_is_under_way():
    with running() as daemon:
        ana, bo = daemon.client(), daemon.client()
        blob = os.urandom(400_000).hex()
        for _ in range(40):
            ana.get("queue.push", queue="q", data=blob)
        bo.send("daemon.checkpoint")
        ana.get("queue.push", queue="q", data=1)
        assert daemon.stop() == 0
        daemon.start()
        assert " 0 records read again" in daemon.log().splitlines()[-1], daemon.log()


@test
def status_tells_of_one_moment_and_of_what_is_on_disk():
    with running() as daemon:
        ana, bo = daemon.client(), daemon.client()
        for _ in range(100):
            for n in range(20):
                bo.send("queue.push", queue="q", data=n)
            status = ana.get("daemon.status")
            assert status["durable_seq"] <= status["seq"], status
        journal = os.path.join(daemon.home, "journal")
        eventually(lambda: "spare" in os.listdir(journal))
        use = ana.get("daemon.status")["journal"]
        sizes = {name: os.path.getsize(os.path.join(journal, name)) for name in os.listdir(journal)}
        assert use["bytes"] == sum(sizes.values()) - sizes["spare"], (use, sizes)
        assert use["segments"] == 1, use


@test
def no_socket_is_left_behind_by_a_clean_stop():
    folder = tempfile.mkdtemp(prefix="reeve_daemon_")
    path = os.path.join(folder, "beanstalk.sock")
    with running(words=["--beanstalk", f"unix:{path}"]) as daemon:
        assert os.path.exists(path)
        assert daemon.stop() == 0
        assert not os.path.exists(path)
        assert not os.path.exists(daemon.path)
    os.rmdir(folder)
