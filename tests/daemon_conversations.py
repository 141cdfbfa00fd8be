"""What clients say and hear when nothing goes wrong."""

import contextlib
import signal
import subprocess
import time

from daemon_client import eventually, running, test


@test
def requests_may_be_pipelined():
    with running() as daemon:
        ana = daemon.client()
        numbers = [ana.send("queue.push", queue="q", data=i) for i in range(500)]
        answers = {}
        for _ in numbers:
            answer = ana.read()
            answers[answer["id"]] = answer["result"]
        assert sorted(answers) == numbers
        assert len({answer["ids"][0] for answer in answers.values()}) == 500
        taken = ana.get("queue.take", queues=["q"], holder="ana", max=500)["items"]
        assert [item["data"] for item in taken] == list(range(500))


@test
def a_wait_is_answered_when_its_turn_comes():
    with running() as daemon:
        ana, bo = daemon.client(), daemon.client()
        ana.get("lock.acquire", names=["main"], holder="ana")
        bo.send("lock.acquire", names=["main"], holder="bo", wait_ms=-1)
        assert bo.is_silent()
        ana.get("lock.release", name="main", holder="ana")
        assert bo.read()["result"]["outcome"] == "acquired"
        # Exactly at its limit, give or take, and never before.
        began = time.monotonic()
        answer = ana.ask("lock.acquire", names=["main"], holder="ana", wait_ms=300)
        waited = time.monotonic() - began
        assert answer["error"]["data"]["details"]["waited"]
        assert 0.299 <= waited < 30, waited


@test
def a_waiting_request_can_be_cancelled():
    with running() as daemon:
        ana, bo = daemon.client(), daemon.client()
        ana.get("lock.acquire", names=["main"], holder="ana")
        wait = bo.send("lock.acquire", names=["main"], holder="bo", wait_ms=-1)
        cancel = bo.send("request.cancel", id=wait)
        answers = {answer["id"]: answer for answer in (bo.read(), bo.read())}
        assert answers[cancel]["result"]["found"]
        assert answers[wait]["error"]["data"]["code"] == "CANCELLED"
        assert ana.get("lock.show", name="main")["waiting"] == 0


@test
def what_is_bound_is_free_when_its_connection_ends():
    with running() as daemon:
        ana, bo = daemon.client(), daemon.client()
        ana.get("queue.push", queue="q", data="work")
        ana.get("sem.create", name="s", capacity=1)
        bo.get("lock.acquire", names=["main"], bind=True)
        bo.get("sem.acquire", name="s", bind=True)
        bo.get("queue.take", queues=["q"], bind=True)
        for request in (("lock.acquire", {"names": ["main"]}), ("sem.acquire", {"name": "s"}),
                        ("queue.take", {"queues": ["q"]})):
            ana.send(request[0], holder="ana", wait_ms=-1, **request[1])
        assert ana.is_silent()
        bo.close()
        answers = [ana.read()["result"] for _ in range(3)]
        taken = [answer for answer in answers if "items" in answer][0]
        assert taken["items"][0]["attempts"] == 1, "the attempt of the one who left was counted"


@test
def deadlines_fire_on_time():
    with running() as daemon:
        ana = daemon.client()
        for delay in (30, 70, 200):
            all_of_them = []
            while not all_of_them or min(all_of_them) > 20:  # the machine may be busy with others
                began = time.monotonic()
                ana.get("queue.push", queue="q", data=1, delay_ms=delay)
                ana.get("queue.take", queues=["q"], holder="ana", wait_ms=-1)
                all_of_them.append((time.monotonic() - began) * 1000 - delay)
                # Engine time is whole milliseconds: the one in which it was pushed had begun.
                assert min(all_of_them) > -1 and len(all_of_them) < 30, all_of_them
        eventually(lambda: daemon.is_at_rest(1, at_most=0.05), what="an idle daemon is busy")


@test
def followers_hear_of_everything_in_order():
    with running() as daemon:
        ana, bo = daemon.client(), daemon.client()
        follow = ana.send("events.follow", match=["lock:*", "ci:*"])
        assert "seq" in ana.read()["result"]
        bo.get("lock.acquire", names=["main"], holder="bo", timeout_ms=60000)
        bo.get("queue.push", queue="q", data=1)
        bo.get("events.emit", name="ci:green", data={"branch": "main"})
        bo.get("lock.release", name="main", holder="bo")
        heard = [ana.read()["params"] for _ in range(3)]
        assert [event["name"] for event in heard] == ["lock:acquired", "ci:green", "lock:released"]
        assert heard[0]["data"]["name"] == "main" and heard[0]["data"]["holder"] == "bo"
        assert heard[1]["data"] == {"branch": "main"} and heard[0]["follow"] == follow
        assert ana.get("request.cancel", id=follow)["found"]
        bo.get("events.emit", name="ci:green")
        assert ana.is_silent()


@test
def why_follows_the_chain_down_to_the_process():
    with running() as daemon:
        ana, bo, cy = daemon.client(), daemon.client(), daemon.client()
        sleeper = subprocess.Popen(["sleep", "60"])
        try:
            ana.get("lock.acquire", names=["docs"], holder="ana", meta={"pid": sleeper.pid, "label": "build"})
            bo.get("lock.acquire", names=["main"], holder="bo")
            bo.send("lock.acquire", names=["docs"], holder="bo", wait_ms=-1)
            cy.send("lock.acquire", names=["main"], holder="cy", wait_ms=-1)
            eventually(lambda: ana.get("lock.show", name="main")["waiting"] == 1)
            why = ana.get("why.get", id="main")
            assert [step["holder"] for step in why["waiting_on"]] == ["bo", "ana"], why
            assert why["waiting_on"][1]["pid"] == sleeper.pid, why
            assert why["line"][0]["holder"] == "cy"
            assert "cy" in why["next"]["what"] and why["next"]["at"] > why["waiting_on"][0]["since"]
        finally:
            sleeper.kill()
            sleeper.wait()
        # The end of the process is the end of its lease.
        assert bo.read()["result"]["holder"] == "bo"


@test
def a_silent_holder_that_names_a_process_is_ended_before_its_lock_is_given_on():
    with running() as daemon:
        ana, bo = daemon.client(), daemon.client()
        deaf = subprocess.Popen(["bash", "-c", "trap '' TERM; sleep 0.3 & while :; do sleep 0.1; done"],
                                start_new_session=True)
        polite = subprocess.Popen(["sleep", "60"])
        try:
            began = time.monotonic()
            ana.get("lock.acquire", names=["p"], holder="ana", timeout_ms=100, meta={"pid": polite.pid})
            bo.get("lock.acquire", names=["p"], holder="bo", wait_ms=-1)
            assert polite.wait(timeout=1) == -signal.SIGTERM, "it was to be dead before bo had its lock"
            assert 0.1 <= time.monotonic() - began < 30
            ana.get("lock.acquire", names=["d"], holder="ana", timeout_ms=100,
                    meta={"pid": deaf.pid, "group": True})
            bo.send("lock.acquire", names=["d"], holder="bo", wait_ms=-1)
            eventually(lambda: ana.get("lock.show", name="d")["state"] == "ending")
            assert bo.read()["result"]["outcome"] in ("acquired", "reclaimed")
            assert deaf.wait(timeout=1) == -signal.SIGKILL
        finally:
            for process in (deaf, polite):
                with contextlib.suppress(ProcessLookupError):
                    process.kill()
                process.wait()
