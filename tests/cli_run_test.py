"""`lock run`, `sem run` and `queue work`: commands that run while something is held."""

import json
import os
import signal
import subprocess
import time
import unittest

from reeve_testing import REEVE, Home, Terminal, is_alive


class LockRun(Home):
    def file(self, name):
        return os.path.join(self.base, name)

    def pid_in(self, name):
        return self.pid_at(self.file(name))

    def test_the_code_of_the_command_is_passed_on(self):
        self.reeve("lock", "run", "a", "--", "true")
        self.reeve("lock", "run", "a", "--", "sh", "-c", "exit 42", code=42)
        self.reeve("lock", "run", "a", "--", "sh", "-c", "kill -9 $$", code=137)
        self.assertIn("not found", self.err("lock", "run", "a", "--", "no-such-command", code=127))
        self.assertIn("not executable", self.err("lock", "run", "a", "--", "/etc/passwd", code=126))
        self.assertEqual(self.data("lock", "show", "a")["state"], "free")

    def test_the_command_knows_its_token_and_its_holder(self):
        script = f'echo "$REEVE_FENCE $REEVE_HOLDER"; {REEVE} lock show a --json; {REEVE} lock check a --token $REEVE_FENCE >&2'
        lines = self.out("lock", "run", "a", "--label", "why not", "--", "sh", "-c", script).split("\n")
        token, holder = lines[0].split()
        shown = json.loads(lines[1])["data"]
        self.assertEqual((shown["holder"], str(shown["token"])), (holder, token))
        self.assertEqual(shown["label"], "why not")
        tokens = self.out("lock", "run", "b", "a", "--", "sh", "-c", "echo $REEVE_FENCE").split()
        self.assertEqual(len(tokens), 2)

    def test_a_name_that_is_said_twice_is_held_once(self):
        script = "echo $REEVE_FENCE; exit 42"
        tokens = self.out("lock", "run", "b", "a", "b", "--", "sh", "-c", script, code=42).split()
        self.assertEqual(len(tokens), 2)
        self.assertEqual(self.data("lock", "show", "b")["state"], "free")

    def test_stdin_and_stdout_are_the_commands(self):
        self.assertEqual(self.out("lock", "run", "a", "--", "cat", text="hello"), "hello")

    def test_what_is_held_is_not_obtained(self):
        self.reeve("lock", "acquire", "a", "--holder", "ana")
        self.reeve("lock", "run", "a", "--", "touch", self.file("ran"), code=6)
        self.reeve("lock", "run", "a", "--wait", "200ms", "--", "touch", self.file("ran"), code=6)
        self.assertFalse(os.path.exists(self.file("ran")))
        runner = self.start("lock", "run", "a", "--wait", "--", "touch", self.file("ran"))
        self.until(lambda: self.waiting_for("a") == 1)
        self.reeve("lock", "release", "a", "--holder", "ana")
        self.assertEqual(runner.wait(timeout=60), 0)
        self.assertTrue(os.path.exists(self.file("ran")))

    def test_waiting_for_what_one_runs_inside_is_refused(self):
        inner = [REEVE, "lock", "run", "a", "--wait", "--", "true"]
        self.assertIn("never", self.err("lock", "run", "a", "--", *inner, code=6))
        self.reeve("sem", "create", "s", "--capacity", "1")
        inner = [REEVE, "sem", "run", "s", "--wait", "--", "true"]
        self.assertIn("never", self.err("sem", "run", "s", "--", *inner, code=6))

    def test_waiting_for_what_is_held_further_out_is_refused_too(self):
        inner = [REEVE, "lock", "run", "a", "--wait", "--", "true"]
        between = [REEVE, "lock", "run", "b", "--"]
        self.assertIn("never", self.err("lock", "run", "a", "--", *between, *inner, code=6))
        # Another holder between them, as of a step, is not of that run.
        script = 'REEVE_HOLDER=step; export REEVE_HOLDER; exec "$@"'
        inner = [REEVE, "lock", "run", "a", "--wait", "200ms", "--", "true"]
        self.assertIn("the wait ended", self.err("lock", "run", "a", "--", "sh", "-c", script, "-", *inner, code=6))

    def test_what_runs_inside_does_not_give_back_the_locks_of_its_run_by_accident(self):
        inner = f"{REEVE} lock release a; echo $?; {REEVE} lock heartbeat a --token $REEVE_FENCE; echo $?; {REEVE} lock show a -q"
        out = self.out("lock", "run", "a", "--", "sh", "-c", inner + "; echo $REEVE_HOLDER")
        first, second, holder, own = out.split("\n")
        self.assertEqual((first, second), ("2", "2"))
        self.assertEqual(holder, own)

    def test_signals_reach_the_command(self):
        script = f'trap "exit 7" TERM; trap "exit 8" INT; echo $$ > {self.file("pid")}; while :; do sleep 0.05; done'
        for sent, code in ((signal.SIGTERM, 7), (signal.SIGINT, 8)):
            runner = self.start("lock", "run", "a", "--", "sh", "-c", script)
            self.pid_in("pid")
            runner.send_signal(sent)
            self.assertEqual(runner.wait(timeout=60), code)
            os.unlink(self.file("pid"))
        self.assertEqual(self.data("lock", "show", "a")["state"], "free")

    def test_ctrl_c_on_a_terminal_reaches_the_command(self):
        terminal = Terminal(self, "lock", "run", "a", "--", "sh", "-c",
                            'trap "exit 8" INT; echo ready; read line; echo got $line; while :; do sleep 0.05; done')
        self.assertTrue(terminal.until(lambda seen: "ready" in seen))
        terminal.type("words\n")
        self.assertTrue(terminal.until(lambda seen: "got words" in seen))
        terminal.type("\x03")
        self.assertEqual(terminal.end(), 8)

    def test_it_lives_by_heartbeats(self):
        self.reeve("lock", "run", "a", "--timeout", "1s", "--", "sleep", "2.5")

    def test_a_lost_lock_ends_the_whole_tree_first(self):
        script = (
            f"setsid sh -c 'trap \"\" TERM; echo $$ > {self.file('far')}; while :; do sleep 0.05; done' & "
            f"echo $$ > {self.file('near')}; wait"
        )
        runner = self.start("lock", "run", "a", "--timeout", "900ms", "--", "sh", "-c", script)
        far, near = self.pid_in("far"), self.pid_in("near")
        self.reeve("lock", "force-release", "a", "--reason", "test", "--now")
        _, err = runner.communicate(timeout=30)
        self.assertEqual(runner.returncode, 125, err)
        self.assertIn("was lost", err)
        self.assertFalse(is_alive(near))
        self.assertFalse(is_alive(far))

    def test_the_lock_is_given_on_only_when_the_command_is_dead(self):
        script = f'trap "" TERM; echo $$ > {self.file("pid")}; while :; do sleep 0.05; done'
        runner = self.start("lock", "run", "a", "--", "sh", "-c", script)
        pid = self.pid_in("pid")
        runner.kill()  # nobody heartbeats or ends it any more
        runner.wait()
        self.reeve("lock", "acquire", "a", "--holder", "bo", code=6)
        self.assertTrue(is_alive(pid))
        self.reeve("lock", "acquire", "a", "--holder", "bo", "--wait", "20s")
        self.assertFalse(is_alive(pid))

    def keeper_of(self, runner):
        with open(f"/proc/{runner.pid}/task/{runner.pid}/children", encoding="utf-8") as file:
            return int(file.read().split()[0])

    # Writes its pid, and then the time, until it is killed; TERM does not impress it.
    def stubborn(self, name):
        return (f'trap "" TERM; echo $$ > {self.file(name)}; '
                f'while :; do date +%s%N > {self.file(name)}.at; sleep 0.02; done')

    def test_a_killed_keeper_does_not_free_the_lock_while_the_command_lives(self):
        self.reeve("sem", "create", "s", "--capacity", "1")
        for words in (["lock", "run", "a"], ["sem", "run", "s"]):
            script = f"setsid sh -c '{self.stubborn('far')}' & {self.stubborn('near')}"
            # Its heartbeats go on meanwhile: its timeout is shorter than the grace.
            runner = self.start(*words, "--timeout", "900ms", "--", "sh", "-c", script)
            far, near = self.pid_in("far"), self.pid_in("near")
            os.kill(self.keeper_of(runner), signal.SIGKILL)
            self.reeve(words[0], "acquire", words[2], "--holder", "bo", "--wait", "30s")
            granted = time.time_ns()
            self.assertFalse(is_alive(near))
            self.assertFalse(is_alive(far))
            _, err = runner.communicate(timeout=60)
            self.assertEqual(runner.returncode, 125, err)
            self.assertIn("kept the command was killed", err)
            for name in ("near", "far"):
                with open(self.file(name) + ".at", encoding="utf-8") as file:
                    self.assertLess(int(file.read() or 0), granted)
                os.unlink(self.file(name))

    def test_what_left_the_group_is_ended_when_reeve_is_killed(self):
        script = f"setsid sh -c '{self.stubborn('far')}' & {self.stubborn('near')}"
        runner = self.start("lock", "run", "a", "--", "sh", "-c", script)
        far, near = self.pid_in("far"), self.pid_in("near")
        runner.kill()
        runner.wait()
        self.reeve("lock", "acquire", "a", "--holder", "bo", "--wait", "30s")
        self.assertFalse(is_alive(near))
        self.assertFalse(is_alive(far))

    def test_a_daemon_that_was_started_by_the_command_is_not_ended_with_it(self):
        script = f"{REEVE} daemon restart > {self.file('out')}; echo $$ > {self.file('pid')}; sleep 600"
        runner = self.start("lock", "run", "a", "--", "sh", "-c", script)
        self.pid_in("pid")
        daemon = self.daemon_pid()
        self.reeve("lock", "force-release", "a", "--reason", "test")
        self.assertEqual(runner.wait(timeout=60), 125)
        self.assertEqual(self.daemon_pid(), daemon)
        self.assertTrue(is_alive(daemon))
        os.unlink(self.file("pid"))
        runner = self.start("lock", "run", "a", "--", "sh", "-c", script)
        self.pid_in("pid")
        self.assertNotEqual(self.daemon_pid(), daemon)
        daemon = self.daemon_pid()
        runner.kill()
        self.reeve("lock", "acquire", "a", "--holder", "bo", "--wait", "30s")
        self.assertEqual(self.daemon_pid(), daemon)

    def test_who_slept_too_long_is_told_so_and_who_has_it_now(self):
        runner = self.start("lock", "run", "a", "--timeout", "1s", "--", "sleep", "60")
        self.until(lambda: self.data("lock", "show", "a")["state"] == "held")
        runner.send_signal(signal.SIGSTOP)
        self.reeve("lock", "acquire", "a", "--holder", "deployer", "--wait", "30s")
        runner.send_signal(signal.SIGCONT)
        _, err = runner.communicate(timeout=60)
        self.assertEqual(runner.returncode, 125, err)
        self.assertEqual(
            " ".join(err.split()),
            'reeve: lock "a" was lost: it was not heard of for 1s, so its command was ended; '
            "deployer has it now; try `reeve why a`",
        )
        told = self.err("lock", "release", "a", "--holder", "bo", code=5)
        self.assertIn("`reeve why a`", told)
        self.assertNotIn("force-release", told)

    def test_a_lost_lock_is_told_and_free_when_it_returns(self):
        self.reeve("sem", "create", "s", "--capacity", "1")
        runner = self.start("lock", "run", "a", "--", "sleep", "60")
        self.until(lambda: self.data("lock", "show", "a")["state"] == "held")
        self.reeve("lock", "force-release", "a", "--reason", "test")
        _, err = runner.communicate(timeout=60)
        self.assertEqual(runner.returncode, 125, err)
        self.assertIn('lock "a" was lost: it was taken back while the command ran; try `reeve why a`', err)
        self.reeve("lock", "run", "a", "--", "true")
        self.assertIn('lock "a" was lost',
                      self.err("lock", "run", "a", "--max-hold", "300ms", "--", "sleep", "60", code=125))
        self.reeve("lock", "run", "a", "--", "true")
        # Whatever the command makes of it.
        script = 'trap "exit 3" TERM; while :; do sleep 0.05; done'
        self.err("lock", "run", "a", "--max-hold", "300ms", "--", "sh", "-c", script, code=125)
        self.reeve("lock", "run", "a", "--", "true")

    def test_it_goes_on_without_a_daemon_and_with_the_next(self):
        runner = self.start("lock", "run", "a", "--timeout", "600ms", "--", "sh", "-c", "sleep 1.5; exit 5")
        self.until(lambda: self.data("lock", "show", "a")["state"] == "held")
        self.stop_daemon(signal.SIGKILL)
        _, err = runner.communicate(timeout=30)
        self.assertEqual(runner.returncode, 5, err)
        self.assertEqual(self.data("lock", "show", "a")["state"], "free")


class QueueWork(Home):
    def test_items_are_worked_off(self):
        self.reeve("queue", "push", "q", "-", "--lines", text='plain\n{"a": 1}\n')
        out = self.out("queue", "work", "q", "--drain", "--exec",
                       'echo "$REEVE_QUEUE $REEVE_ATTEMPT $(cat)"')
        self.assertEqual(out.split("\n"), ["q 1 plain", 'q 1 {"a":1}'])
        self.assertEqual(self.data("queue", "stats", "q")["queues"][0]["completed"], 2)

    def test_what_it_runs_inside_is_told_with_every_take(self):
        self.reeve("queue", "push", "q", "x")
        self.reeve("queue", "work", "q", "--once", "--exec", "true", env={"REEVE_HOLDER": "outer"})
        inputs = [line[line.index("{"):] for line in self.out("journal", "cat").split("\n") if '"take"' in line]
        (take,) = [json.loads(text)["request"]["command"]["queue"]["take"] for text in inputs]
        self.assertEqual([outer["name"] for outer in take["meta"]["within"]], ["outer"])
        self.assertRegex(take["holder"]["name"], "^work-")

    def test_a_failure_keeps_the_end_of_stderr(self):
        self.reeve("queue", "create", "q", "--max-attempts", "1")
        self.reeve("queue", "push", "q", "x")
        err = self.err("queue", "work", "q", "--drain", "--exec", "echo no route >&2; exit 3", code=1)
        self.assertIn("no route", err)
        dead = self.data("queue", "list", "q", "--state", "dead")["items"][0]
        self.assertEqual(dead["last_error"], "exit 3: no route")
        self.reeve("queue", "push", "q", "y")
        self.reeve("queue", "work", "q", "--once", "--exec", "exit 1", code=1)
        self.reeve("queue", "work", "q", "--exec", "true", "--concurrency", "0", code=2)
        self.reeve("queue", "work", "q", code=2)

    def test_an_item_is_kept_while_its_command_runs(self):
        self.reeve("queue", "create", "q", "--visibility", "300ms")
        self.reeve("queue", "push", "q", "x")
        self.reeve("queue", "work", "q", "--once", "--exec", "sleep 1.2")
        item = self.data("queue", "list", "q")["items"][0]
        self.assertEqual((item["state"], item["attempts"]), ("completed", 1))

    def test_several_run_at_once(self):
        self.reeve("queue", "push", "q", "-", "--lines", text="1\n2\n3\n4\n")
        began = time.monotonic()
        self.reeve("queue", "work", "q", "--drain", "--concurrency", "4", "--exec", "sleep 4")
        self.assertLess(time.monotonic() - began, 16)

    def test_a_signal_lets_it_finish_and_a_second_gives_back(self):
        began = os.path.join(self.base, "began")
        self.reeve("queue", "push", "q", "x")
        worker = self.start("queue", "work", "q", "--exec", f"touch {began}; sleep 1")
        self.until(lambda: os.path.exists(began))
        worker.send_signal(signal.SIGTERM)
        _, err = worker.communicate(timeout=60)
        self.assertEqual(worker.returncode, 0, err)
        self.assertEqual(self.data("queue", "stats", "q")["queues"][0]["completed"], 1)

        self.reeve("queue", "push", "q", "y")
        os.unlink(began)
        worker = self.start("queue", "work", "q", "--exec", f"touch {began}; sleep 60")
        self.until(lambda: os.path.exists(began))
        worker.send_signal(signal.SIGINT)
        self.assertIn("finishing 1 item; once more", worker.stderr.readline())
        worker.send_signal(signal.SIGINT)
        _, err = worker.communicate(timeout=60)
        self.assertEqual(worker.returncode, 130, err)
        item = self.data("queue", "list", "q", "--state", "pending")["items"][0]
        self.assertEqual(item["attempts"], 0)

    def test_a_command_that_ignores_the_second_signal_is_killed_and_its_item_given_back(self):
        pid = os.path.join(self.base, "pid")
        self.reeve("queue", "push", "q", "x")
        worker = self.start("queue", "work", "q", "--exec",
                            f'trap "" TERM; echo $$ > {pid}; while :; do sleep 0.05; done')
        command = self.pid_at(pid)
        worker.send_signal(signal.SIGTERM)
        self.assertIn("finishing 1 item; once more", worker.stderr.readline())
        worker.send_signal(signal.SIGTERM)
        _, err = worker.communicate(timeout=30)
        self.assertEqual((worker.returncode, is_alive(command)), (0, False), err)
        self.assertIn("given back", err)
        item = self.data("queue", "list", "q", "--state", "pending")["items"][0]
        self.assertEqual(item["attempts"], 0)

    def test_the_item_of_a_killed_keeper_is_settled_when_its_command_is_dead(self):
        self.reeve("queue", "create", "q", "--max-attempts", "1", "--dead-letter", "dead")
        self.reeve("queue", "push", "q", "x")
        pid = os.path.join(self.base, "pid")
        worker = self.start("queue", "work", "q", "--once", "--exec",
                            f'trap "" TERM; echo $$ > {pid}; while :; do sleep 0.05; done')
        command = self.pid_at(pid)
        with open(f"/proc/{worker.pid}/task/{worker.pid}/children", encoding="utf-8") as file:
            os.kill(int(file.read().split()[0]), signal.SIGKILL)
        self.data("queue", "take", "dead", "--wait", "20s")
        self.assertFalse(is_alive(command))
        self.assertEqual(worker.wait(timeout=60), 1)

    def test_an_idle_worker_stops_at_once(self):
        worker = self.start("queue", "work", "q", "--exec", "true")
        time.sleep(0.4)
        worker.send_signal(signal.SIGTERM)
        self.assertEqual(worker.wait(timeout=60), 0)

    def test_it_works_on_through_a_killed_daemon(self):
        worker = self.start("queue", "work", "q", "--exec", "cat >> " + os.path.join(self.base, "done"),
                            stderr=subprocess.DEVNULL)
        time.sleep(0.3)
        for n in range(3):
            self.reeve("queue", "push", "q", str(n))
            self.stop_daemon(signal.SIGKILL)
        self.until(lambda: self.data("queue", "stats", "q")["queues"][0]["completed"] == 3)
        worker.send_signal(signal.SIGTERM)
        self.assertEqual(worker.wait(timeout=60), 0)
        with open(os.path.join(self.base, "done"), encoding="utf-8") as file:
            self.assertEqual(sorted(file.read()), ["0", "1", "2"])

    def test_the_item_of_a_killed_worker_is_free_when_its_command_is_dead(self):
        self.reeve("queue", "create", "q", "--visibility", "1h")
        self.reeve("queue", "push", "q", "x")
        worker = self.start("queue", "work", "q", "--exec", "sleep 600")
        self.until(lambda: self.data("queue", "stats", "q")["queues"][0]["processing"] == 1)
        worker.kill()
        worker.wait()
        taken = self.data("queue", "take", "q", "--wait", "20s")
        self.assertEqual(len(taken["items"]), 1)


if __name__ == "__main__":
    unittest.main()
