"""Who looks on, who names a process, and where the daemon is found."""

import json
import os
import signal
import subprocess
import time
import unittest

from reeve_testing import REEVE, Home, Terminal, is_alive


class Followers(Home):
    def follow(self, *words):
        self.heard = os.path.join(self.base, "heard")
        with open(self.heard, "w", encoding="utf-8") as out:
            follower = self.start("events", "-f", *words, "--json", "-n", "0", stdout=out)

        def begun():
            self.reeve("emit", "mine:ready")
            return "mine:ready" in self.seen()

        self.until(begun)
        return follower

    def seen(self):
        with open(self.heard, encoding="utf-8") as file:
            return file.read()

    def until_seen(self, text):
        self.until(lambda: text in self.seen(), f"{text} did not come")

    def is_served(self):
        done = subprocess.run([REEVE, "daemon", "status"], env=self.env, capture_output=True, check=False)
        return done.returncode == 0

    def test_a_restart_is_no_gap_for_who_follows(self):
        for words in ([], ["--match", "mine:*"]):
            follower = self.follow(*words)
            self.reeve("emit", "mine:first")
            self.until_seen("mine:first")
            # What a filter leaves out is not missed.
            self.reeve("lock", "acquire", "a", "--holder", "ana")
            self.reeve("lock", "release", "a", "--holder", "ana")
            for n in range(3):
                self.reeve("daemon", "restart")
                self.reeve("emit", f"mine:again{n}")
                self.until_seen(f"mine:again{n}")
            follower.send_signal(signal.SIGTERM)
            _, err = follower.communicate(timeout=60)
            self.assertEqual(follower.returncode, 0, err)
            self.assertNotIn("lagged", self.seen())
            self.assertEqual(self.seen().count("mine:first"), 1)

    def test_who_follows_does_not_start_what_was_stopped(self):
        follower = self.follow()
        self.reeve("emit", "mine:first")
        self.until_seen("mine:first")
        self.reeve("daemon", "stop")
        time.sleep(1)
        self.assertFalse(self.is_served())
        self.assertIsNone(follower.poll())
        self.reeve("emit", "mine:second")
        self.until_seen("mine:second")
        follower.send_signal(signal.SIGINT)
        self.assertEqual(follower.wait(timeout=60), 130)

    def test_it_can_be_interrupted_while_there_is_no_daemon(self):
        follower = self.follow()
        self.reeve("emit", "mine:first")
        self.until_seen("mine:first")
        self.reeve("daemon", "stop")
        time.sleep(0.5)
        follower.send_signal(signal.SIGINT)
        self.assertEqual(follower.wait(timeout=60), 130)
        self.assertFalse(self.is_served())

    def test_who_follows_goes_on_after_a_crash(self):
        follower = self.follow()
        self.reeve("emit", "mine:first")
        self.until_seen("mine:first")
        self.stop_daemon(signal.SIGKILL)
        self.reeve("emit", "mine:second")
        self.until_seen("mine:second")
        self.assertEqual(self.seen().count("mine:first"), 1)

    def test_status_and_top_start_nothing_either(self):
        self.reeve("lock", "acquire", "a", "--holder", "ana")
        for words in (["status", "-w"], ["top"]):
            terminal = Terminal(self, *words)
            self.assertTrue(terminal.until(lambda seen: "ana" in seen))
            self.reeve("daemon", "stop")
            time.sleep(2.5)
            self.assertFalse(self.is_served(), words)
            self.reeve("daemon", "start")
            self.reeve("lock", "acquire", "of-" + words[0], "--holder", "bo" + words[0])
            self.assertTrue(terminal.until(lambda seen: "bo" + words[0] in seen), words)
            terminal.type("\x03")
            terminal.end()

    def test_top_says_when_what_it_shows_is_old(self):
        self.reeve("lock", "acquire", "main", "--holder", "ana")
        terminal = Terminal(self, "top")
        self.assertTrue(terminal.until(lambda seen: "ana" in seen))
        self.assertNotIn("no daemon runs", terminal.seen)
        self.reeve("daemon", "stop")
        self.assertTrue(terminal.until(lambda seen: "no daemon runs" in seen))
        self.reeve("lock", "acquire", "other", "--holder", "bo")
        self.assertTrue(terminal.until(lambda seen: "bo" in seen.rsplit("reeve top", 1)[-1]))
        self.assertNotIn("no daemon runs", terminal.seen.rsplit("reeve top", 1)[-1])
        terminal.type("q")
        self.assertEqual(terminal.end(), 0)

    def test_events_since_a_time_are_all_that_came_since(self):
        self.reeve("queue", "push", "q", "-", "--lines", text="".join(f"{n}\n" for n in range(2500)))
        self.reeve("emit", "ci:green")
        told = self.out("events", "--since", "1h", "--json", "--match", "queue:push").split("\n")
        self.assertEqual(len(told), 2500)
        self.assertEqual(len({json.loads(line)["data"]["item"] for line in told}), 2500)
        self.assertEqual(self.out("events", "--since", "1h", "-q").split("\n")[-1], "ci:green")
        self.assertEqual(len(self.out("events", "--since", "1h", "-n", "7").split("\n")), 7)

    def test_events_reach_back_beyond_memory(self):
        self.reeve("emit", "mine:first")
        self.reeve("daemon", "restart")
        told = self.reeve("events", "--since", "1h")
        self.assertEqual(told.stdout.count("mine:first"), 1)
        self.assertEqual(told.stderr, "")

    def test_events_say_when_nothing_reaches_back(self):
        self.env["REEVE_HISTORY"] = "off"
        self.reeve("emit", "mine:first")
        self.assertEqual(self.err("events", "--since", "1h"), "")
        self.reeve("daemon", "restart")
        self.assertIn("no longer in memory", self.err("events", "--since", "1h"))
        self.assertEqual(self.err("events", "-n", "1"), "")


class Sockets(Home):
    there = None

    def tearDown(self):
        if self.there:
            self.reeve("daemon", "stop", env=self.there)
        super().tearDown()

    def test_a_daemon_with_another_socket_is_found(self):
        socket = {"REEVE_SOCKET": os.path.join(self.base, "other.sock")}
        self.reeve("lock", "acquire", "a", "--holder", "ana", env=socket)
        self.assertEqual(self.data("lock", "show", "a")["holder"], "ana")
        self.assertEqual(self.data("daemon", "status")["pid"], self.daemon_pid())
        self.assertIn(f"process {self.daemon_pid()}", self.out("doctor"))
        pid = self.daemon_pid()
        self.assertEqual(self.out("daemon", "stop"), "the daemon stopped")
        self.assertFalse(is_alive(pid))
        self.assertEqual(self.out("daemon", "stop"), "no daemon was running")

    def two_homes(self):
        """The socket of another home, with its daemon, and that home."""
        socket, other = os.path.join(self.base, "other.sock"), os.path.join(self.base, "other")
        there = {"REEVE_SOCKET": socket, "REEVE_HOME": other}
        self.reeve("queue", "push", "q", "theirs", env=there)
        self.there = there
        return {"REEVE_SOCKET": socket}, other

    def test_a_home_that_is_named_counts_for_more_than_the_socket(self):
        self.reeve("queue", "push", "q", "first")
        socket, other = self.two_homes()
        theirs = self.data("daemon", "status", env={"REEVE_HOME": other})["pid"]
        self.reeve("queue", "push", "q", "second", env=socket)
        self.assertEqual(self.data("daemon", "status", env=socket)["pid"], self.daemon_pid())
        for options in ([], ["--home", self.home]):
            file = os.path.join(self.base, "file")
            self.reeve(*options, "backup", file, env={**socket, "REEVE_HOME": other if options else self.home})
            new = os.path.join(self.base, f"new{len(options)}")
            self.reeve("--home", new, "restore", file)
            listed = self.data("queue", "list", "q", env={"REEVE_HOME": new})["items"]
            self.reeve("--home", new, "daemon", "stop")
            self.assertEqual([item["data"] for item in listed], ["first", "second"])
        pid = self.daemon_pid()
        self.reeve("daemon", "stop", "--kill", env=socket)
        self.assertFalse(is_alive(pid))
        self.assertTrue(is_alive(theirs))

    def test_the_daemon_of_another_home_is_left_alone(self):
        socket, other = self.two_homes()
        theirs = self.data("daemon", "status", env={"REEVE_HOME": other})["pid"]
        for words in (["queue", "push", "q", "x"], ["backup", "file"], ["daemon", "stop", "--kill"], ["daemon", "restart"]):
            told = self.err(*words, code=7, env=socket)
            for part in (socket["REEVE_SOCKET"], other, self.home):
                self.assertIn(part, told)
        self.assertTrue(is_alive(theirs))
        self.assertEqual(len(self.data("queue", "list", "q", env={"REEVE_HOME": other})["items"]), 1)

    def test_a_home_has_many_names(self):
        socket, other = self.two_homes()
        os.symlink(other, os.path.join(self.base, "link"))
        listed = self.data("queue", "list", "q", env={**socket, "REEVE_HOME": os.path.join(self.base, "link")})
        self.assertEqual(len(listed["items"]), 1)

    def test_where_no_home_is_named_the_socket_says_which(self):
        socket, other = self.two_homes()
        nowhere = {**socket, "REEVE_HOME": ""}
        file = os.path.join(self.base, "file")
        self.assertEqual(self.data("daemon", "status", env=nowhere)["home"], other)
        self.reeve("backup", file, env=nowhere)
        self.reeve("--home", self.home, "restore", file)
        self.assertEqual(len(self.data("queue", "list", "q")["items"]), 1)

    def test_a_daemon_that_does_not_answer_is_not_called_stopped(self):
        self.reeve("lock", "acquire", "a", "--holder", "ana")
        os.unlink(os.path.join(self.home, "reeve.sock"))
        self.assertIn(f"process {self.daemon_pid()}", self.err("daemon", "stop", code=7))
        self.assertIn("does not answer", self.out("doctor", code=1))


class Processes(Home):
    def test_the_daemons_own_life_is_nobodys_lease(self):
        self.reeve("daemon", "start")
        daemon = self.daemon_pid()
        for pid in (daemon, 1):
            error = self.error("lock", "acquire", "a", "--pid", str(pid), "--timeout", "100ms", code=2)
            self.assertIn("pid", error["message"])
            self.error("sem", "acquire", "s", "--pid", str(pid), code=2)
        time.sleep(0.5)
        self.assertEqual(self.daemon_pid(), daemon)
        self.assertTrue(is_alive(daemon))

    def test_what_the_daemon_descends_from_is_not_either(self):
        script = (f'{REEVE} daemon run & for i in $(seq 200); do {REEVE} daemon status -q && break; sleep 0.1; done; '
                  f'{REEVE} lock acquire a --pid $$; echo code $?; {REEVE} daemon stop; wait')
        done = subprocess.run(["bash", "-c", script], env=self.env, cwd=self.work, capture_output=True, text=True,
                              timeout=120, check=False)
        self.assertIn("code 2", done.stdout, done.stderr)

    def test_a_script_keeps_a_lock_for_as_long_as_it_lives(self):
        self.reeve("sem", "create", "s", "--capacity", "1")
        script = f'{REEVE} lock acquire a b --pid $$ && {REEVE} sem acquire s --pid $$; read line; echo over'
        process = subprocess.Popen(["bash", "-c", script], env=self.env, cwd=self.work, text=True,
                                   stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.started.append(process)
        self.until(lambda: self.data("sem", "show", "s")["in_use"] == 1)
        shown = self.data("lock", "show", "a")
        self.assertEqual(shown["pid"], process.pid)
        # Time has no part in it: more than ten years are left.
        self.assertGreater(int(shown["expires_at"][:4]), time.gmtime().tm_year + 10)
        self.assertIn("never", self.out("lock", "show", "a"))
        self.reeve("lock", "acquire", "b", code=6)
        out, _ = process.communicate("\n", timeout=60)
        self.assertIn("over", out)
        self.assertEqual(process.returncode, 0)
        self.reeve("lock", "acquire", "a", "b", "--holder", "bo", "--wait", "20s")

    def test_with_a_timeout_its_heartbeats_count(self):
        process = subprocess.Popen(["sleep", "60"])
        self.started.append(process)
        self.reeve("lock", "acquire", "a", "--pid", str(process.pid), "--timeout", "200ms")
        self.assertEqual(process.wait(timeout=60), -signal.SIGTERM)


if __name__ == "__main__":
    unittest.main()
