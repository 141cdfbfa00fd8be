"""Settings: every key does what it says, mistakes are told with file and line, and a file keeps its comments."""

import datetime
import json
import os
import re
import time
import unittest

from reeve_testing import Home, is_alive

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


class Config(Home):
    """A project with a user's file and a project's file, neither of them there yet."""

    def setUp(self):
        super().setUp()
        self.config_home = os.path.join(self.base, "config")
        self.user = os.path.join(self.config_home, "reeve", "config.toml")
        self.project = os.path.join(self.work, ".reeve", "config.toml")
        os.mkdir(os.path.join(self.work, ".reeve"))

    def write(self, path, text):
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)

    def read(self, path):
        with open(path, encoding="utf-8") as file:
            return file.read()

    def runbook(self, text):
        self.write(os.path.join(self.work, ".reeve", "runbooks", "r.toml"), text)

    def value(self, key, **options):
        return self.data("config", "get", key, **options)


class Keys(Config):
    def test_every_key_is_described_and_the_page_says_the_same(self):
        keys = self.data("config", "describe")["keys"]
        names = [key["key"] for key in keys]
        self.assertEqual(names, sorted(names))
        with open(os.path.join(ROOT, "docs", "config.md"), encoding="utf-8") as file:
            page = file.read()
        rows = [line for line in page.partition("## The keys")[2].splitlines() if line.startswith("| `")]
        self.assertEqual(
            rows,
            [
                "| `{}` | {} | {} | {} | {} | {} |".format(
                    key["key"],
                    key["type"],
                    self.shown(key["default"]),
                    key["where"],
                    key["effect"],
                    key["description"],
                )
                for key in keys
            ],
        )

    @staticmethod
    def shown(default):
        if isinstance(default, bool):
            default = str(default).lower()
        return f"`{default}`" if default not in ("", []) else ""

    def test_every_key_has_a_test_here(self):
        with open(os.path.abspath(__file__), encoding="utf-8") as file:
            text = file.read()
        for key in self.out("config", "describe", "-q").split():
            self.assertTrue(f"def test_{key.replace('.', '_')}_" in text, key)

    def test_list_has_every_key_its_value_and_where_it_is_from(self):
        self.write(self.user, '\n[locking]\ntask_timeout = "5m"\nwait_timeout = "1m"\n')
        self.write(self.project, '[locking]\ntask_timeout = "7m"\n')
        told = self.data("config", "list")
        self.assertEqual((told["user_file"], told["project_file"]), (self.user, self.project))
        by_key = {setting["key"]: setting for setting in told["settings"]}
        self.assertEqual(
            by_key["locking.task_timeout"],
            {
                "key": "locking.task_timeout",
                "value": "7m",
                "value_ms": 420000,
                "from": "project",
                "file": self.project,
                "line": 2,
            },
        )
        self.assertEqual(by_key["locking.wait_timeout"]["line"], 4)
        self.assertEqual(by_key["locking.section_timeout"]["from"], "default")
        self.assertEqual(self.out("config", "list", "-q"), self.out("config", "describe", "-q"))
        every = [s for s in self.data("config", "list", "--all")["settings"] if s["key"] == "locking.task_timeout"]
        self.assertEqual([s["value"] for s in every], ["7m", "5m", "60m"])
        self.assertEqual([s.get("overridden") for s in every], [None, True, True])
        text = self.out("config", "list")
        self.assertRegex(text, r"locking\.task_timeout +7m +\.reeve/config\.toml:2")
        self.assertRegex(text, r"locking\.section_timeout +120m +default")

    def test_an_unknown_key_is_exit_3_and_a_bad_value_exit_2(self):
        self.assertEqual(
            self.error("config", "get", "locking.task_timout", code=3)["message"],
            "there is no key locking.task_timout; did you mean locking.task_timeout?",
        )
        for words in (["set", "nothing", "1"], ["unset", "nothing"], ["describe", "nothing"]):
            self.assertEqual(self.error("config", *words, code=3)["code"], "NOT_FOUND")
        self.assertEqual(
            self.error("config", "set", "limits.running_effects", "0", code=2)["message"],
            "limits.running_effects: expected a whole number from 1 to 10000, found 0",
        )
        self.assertEqual(self.error("config", "set", "--user", "project.name", "x", code=2)["code"], "BAD_VALUE")
        self.assertFalse(os.path.exists(self.config_home))
        self.assertFalse(os.path.exists(self.project))

    def test_keys_and_choices_complete(self):
        def offered(*words):
            return [line.split("\t")[0] for line in self.out("__complete", "--", *words).splitlines()]

        self.assertEqual(offered("config", "get", "ui."), ["ui.color", "ui.time"])
        self.assertEqual(offered("config", "set", "ui.color", ""), ["auto", "always", "never"])
        self.assertEqual(offered("config", "set", "notify.desktop", "f"), ["false"])
        self.assertEqual(offered("config", "set", "locking.task_timeout", ""), [])


class Files(Config):
    def test_set_keeps_comments_order_and_mode(self):
        self.write(self.user, '# mine\n\n[ui] # looks\ntime = "rel"   # as ever\n\n# the end\n')
        os.chmod(self.user, 0o640)
        self.reeve("config", "set", "ui.time", "iso")
        self.reeve("config", "set", "limits.running_effects", "8")
        self.assertEqual(
            self.read(self.user),
            '# mine\n\n[ui] # looks\ntime = "iso"   # as ever\n\n# the end\n\n[limits]\nrunning_effects = 8\n',
        )
        self.assertEqual(os.stat(self.user).st_mode & 0o777, 0o640)
        self.reeve("config", "unset", "ui.time")
        self.assertTrue(self.read(self.user).startswith("# mine\n\n[ui] # looks\n\n# the end\n"))
        self.assertEqual(os.listdir(os.path.dirname(self.user)), ["config.toml"])

    def test_set_is_for_the_project_unless_it_is_for_the_user(self):
        told = self.data("config", "set", "locking.task_timeout", "90m")
        self.assertEqual((told["from"], told["file"], told["in_force"]), ("project", self.project, True))
        self.assertEqual(self.read(self.project), '[locking]\ntask_timeout = "90m"\n')
        told = self.data("config", "set", "--user", "locking.task_timeout", "5m")
        self.assertEqual((told["from"], told["in_force"], told["value"]), ("user", False, "90m"))
        self.assertEqual(self.value("locking.task_timeout")["value"], "90m")
        self.reeve("config", "unset", "locking.task_timeout")
        self.assertEqual(self.value("locking.task_timeout")["value"], "5m")
        self.reeve("config", "unset", "locking.task_timeout")
        self.assertEqual(self.value("locking.task_timeout")["value"], "60m")
        self.assertEqual(self.error("config", "unset", "locking.task_timeout", code=3)["code"], "NOT_FOUND")

    def test_outside_of_a_project_it_is_for_the_user(self):
        os.rmdir(os.path.join(self.work, ".reeve"))
        self.assertEqual(self.data("config", "set", "locking.task_timeout", "90m")["file"], self.user)
        self.assertEqual(self.error("config", "set", "project.name", "x", code=3)["code"], "NOT_FOUND")

    def test_all_mistakes_are_told_at_once_with_file_and_line(self):
        self.write(self.user, '[locking]\ntask_timeout = 5\n[ui]\ncolour = "auto"\n')
        self.write(self.project, "[limits]\nrunning_effects = 3\n")
        error = self.error("config", "list", code=1)
        self.assertEqual(error["code"], "CONFIG_WRONG")
        self.assertEqual(
            [(m["file"], m["line"], m["column"]) for m in error["details"]["mistakes"]],
            [(self.user, 2, 16), (self.user, 4, 1), (self.project, 2, 1)],
        )
        told = self.err("config", "get", "ui.time", code=1)
        self.assertIn(f"{self.user}:2:16: locking.task_timeout: expected a duration", told)
        self.assertIn(f"{self.user}:4:1: there is no key ui.colour; did you mean ui.color?", told)
        self.assertIn(f"{self.project}:2:1: limits.running_effects may stand in the user's file only", told)

    def test_what_is_no_toml_is_told_with_its_line_and_not_touched(self):
        self.write(self.project, "[locking\n")
        self.assertIn(f"{self.project}:1:", self.err("config", "set", "locking.task_timeout", "5m", code=1))
        self.assertEqual(self.read(self.project), "[locking\n")

    def test_a_daemon_does_not_start_with_a_mistake_and_a_running_one_goes_on(self):
        self.write(self.user, "[limits]\nrunning_effects = 0\n")
        told = self.err("queue", "push", "q", "1", code=7)
        self.assertIn(f"{self.user}:2:19: limits.running_effects: expected a whole number", told)
        self.assertEqual(self.reeve("doctor", code=1).stdout.count(f"{self.user}:2:19"), 1)
        self.write(self.user, "")
        self.reeve("queue", "push", "q", "1")
        pid = self.daemon_pid()
        self.write(self.user, '[ui]\nx = 1\n')
        told = self.reeve("config", "set", "limits.running_effects", "8")
        self.assertIn("the daemon goes on with what it has", told.stderr)
        self.assertIn(f"{self.user}:2:1: there is no key ui.x", told.stderr)
        self.reeve("queue", "push", "q", "1")
        self.assertEqual(self.daemon_pid(), pid)
        self.assertTrue(is_alive(pid))

    def test_a_mistake_of_a_project_is_told_by_the_commands_that_need_it_and_no_others(self):
        self.write(self.project, "[locking]\npoll = 1\n")
        self.runbook('[command.x]\nrun = "true"\n')
        self.assertIn(f"{self.project}:2:1: ", self.err("run", "x", code=1))
        self.reeve("queue", "push", "q", "1")
        self.assertEqual(self.err("task", "add", "a"), "")
        self.assertEqual(self.err("task", "list"), "")
        self.assertIn(f"{self.project}:2:1: ", self.err("task", "next", "--start", code=1))
        self.assertIn(f"{self.project}:2:1: ", self.reeve("doctor", code=1).stdout)

    def test_a_change_of_a_file_that_has_mistakes_is_made_and_says_which(self):
        self.write(self.project, "[locking]\na = 1\nb = 2\nc = 3\nd = 4\n")
        told = self.reeve("config", "set", "locking.task_timeout", "5m")
        self.assertIn('task_timeout = "5m"', self.read(self.project))
        self.assertNotIn("nothing was done", told.stderr)
        for line, key in ((2, "a"), (3, "b"), (4, "c")):
            self.assertIn(f"{self.project}:{line}:1: there is no key locking.{key}", told.stderr)
        self.assertNotIn("locking.d", told.stderr)
        self.assertIn("it was written, but a file with a mistake counts for nothing", told.stderr)
        self.assertIn("has 1 more", told.stderr)
        data = self.data("config", "unset", "locking.task_timeout")
        self.assertEqual((data["in_force"], len(data["mistakes"])), (False, 4))

    def test_of_two_who_set_at_a_time_neither_loses(self):
        keys = [("locking.task_timeout", "{}s"), ("locking.wait_timeout", "{}m")]
        for turn in range(1, 9):
            both = [self.start("config", "set", key, form.format(turn)) for key, form in keys]
            for process in both:
                self.assertEqual(process.wait(timeout=30), 0, process.stderr.read())
            for key, form in keys:
                self.assertEqual(self.value(key)["value"], form.format(turn))


class Effects(Config):
    """One test a key, called after it."""

    def test_project_name_names_the_project(self):
        self.reeve("config", "set", "project.name", "tea")
        self.reeve("queue", "push", "q", "1")
        self.assertIn("tea", self.out("project", "list", "-q").split())
        # However TOML lets it be written.
        other = os.path.join(self.base, "other")
        self.write(os.path.join(other, ".reeve", "config.toml"), 'project = { name = "caf\\u00e9" }\n')
        self.reeve("queue", "push", "q", "1", cwd=other)
        self.assertIn("café", self.out("project", "list", "-q").split())

    def test_ui_color_is_the_default_of_color(self):
        self.reeve("lock", "acquire", "l", "--holder", "h")
        self.assertNotIn("\x1b", self.out("lock", "list"))
        self.reeve("config", "set", "ui.color", "always")
        self.assertIn("\x1b", self.out("lock", "list"))
        self.assertNotIn("\x1b", self.out("lock", "list", "--color", "never"))
        self.assertNotIn("\x1b", self.out("lock", "list", "--color", "auto"))

    def test_ui_time_is_the_default_of_time(self):
        self.reeve("lock", "acquire", "l", "--holder", "h")
        stamp = re.compile(r"\d{4}-\d\d-\d\dT")
        self.assertNotRegex(self.out("lock", "list"), stamp)
        self.reeve("config", "set", "ui.time", "iso")
        self.assertRegex(self.out("lock", "list"), stamp)
        self.assertNotRegex(self.out("lock", "list", "--time", "rel"), stamp)

    def test_locking_poll_interval_is_how_often_a_source_is_asked(self):
        log = os.path.join(self.work, "asked")
        self.runbook(
            f'[queue.q]\nsource = "echo x >> {log}; echo []"\n'
            '[pipeline.p]\n[[pipeline.p.phase]]\nname = "do"\nrun = "true"\n'
            '[worker.w]\nqueue = "q"\nhandler = "pipeline.p"\n'
        )

        def asked():
            return os.path.exists(log) and len(self.read(log).split())

        self.reeve("worker", "start", "w")
        self.until(lambda: asked() == 1)
        self.reeve("worker", "stop", "w")
        self.reeve("config", "set", "locking.poll_interval", "1s")
        self.reeve("worker", "start", "w")
        self.until(lambda: asked() >= 4, "it is not asked every second")

    def test_limits_running_effects_is_how_many_run_at_a_time(self):
        gate = os.path.join(self.work, "gate")
        self.runbook(
            '[command.x]\nrun = { pipeline = "p" }\n[pipeline.p]\n[[pipeline.p.phase]]\nname = "do"\n'
            f'run = "touch {self.work}/began-$$; while ! test -e {gate}; do sleep 0.05; done"\n'
        )
        self.reeve("config", "set", "limits.running_effects", "1")
        ids = [self.out("run", "x", "-q") for _ in range(3)]

        def began():
            return len([name for name in os.listdir(self.work) if name.startswith("began-")])

        self.until(lambda: began() == 1)
        self.reeve("queue", "push", "q", "1")
        self.assertEqual(began(), 1)
        self.assertIn("its program runs", self.out("why", ids[0]))
        self.assertIn("its program waits for one of the 1 places", self.out("why", ids[2]))
        # The one that runs goes on; the daemon is told, and one more begins.
        self.reeve("config", "set", "limits.running_effects", "2")
        self.until(lambda: began() == 2)
        self.write(gate, "")
        self.reeve("wait", *ids, "--timeout", "30s")
        self.assertEqual(began(), 3)

    def test_a_guard_and_a_hook_do_not_wait_for_the_places_of_steps(self):
        gate = os.path.join(self.work, "gate")
        self.runbook(
            '[command.long]\nrun = { pipeline = "long" }\n[command.guarded]\nrun = { pipeline = "guarded" }\n'
            '[guard.ready]\ncondition = "true"\ntimeout = "1m"\n'
            '[pipeline.long]\n[[pipeline.long.phase]]\nname = "do"\n'
            f'run = "while ! test -e {gate}; do sleep 0.05; done"\n'
            '[pipeline.guarded]\n[[pipeline.guarded.phase]]\nname = "do"\npre = ["ready"]\nrun = "true"\n'
            f'[events]\n"guard:passed" = "touch {self.work}/passed"\n'
        )
        self.reeve("config", "set", "limits.running_effects", "1")
        long = self.out("run", "long", "-q")
        self.until(lambda: "its program runs" in self.out("why", long))
        guarded = self.out("run", "guarded", "-q")
        self.until(lambda: os.path.exists(os.path.join(self.work, "passed")))
        self.until(lambda: "its program waits for one of the 1 places" in self.out("why", guarded))
        self.write(gate, "")
        self.reeve("wait", long, guarded, "--timeout", "30s")

    def test_limits_run_output_is_how_much_of_a_run_is_kept(self):
        self.runbook(
            '[command.x]\nrun = { pipeline = "p" }\n[pipeline.p]\n[[pipeline.p.phase]]\nname = "do"\n'
            'run = "echo first; head -c 1000000 /dev/zero | tr \'\\\\0\' x; echo; echo last"\n'
        )
        self.reeve("config", "set", "limits.run_output", "64KiB")
        run = self.out("run", "x", "-q", "--wait").split()[0]
        folder = os.path.join(self.home, "logs", run)
        sizes = [os.path.getsize(os.path.join(folder, name)) for name in os.listdir(folder)]
        self.assertEqual(len(sizes), 1)
        self.assertLess(sizes[0], 80 << 10)
        told = self.out("logs", run)
        self.assertIn("first", told)
        self.assertIn("last", told)
        self.assertIn("bytes left out", told)

    def test_limits_runs_bytes_is_how_much_of_all_runs_is_kept(self):
        self.runbook(
            '[command.x]\nrun = { pipeline = "p" }\n[pipeline.p]\n[[pipeline.p.phase]]\nname = "do"\n'
            'run = "head -c 900000 /dev/zero | tr \'\\\\0\' x"\n'
        )
        runs = [self.out("run", "x", "-q", "--wait").split()[0] for _ in range(3)]
        logs = os.path.join(self.home, "logs")
        self.assertTrue(set(runs) <= set(os.listdir(logs)))
        self.reeve("config", "set", "limits.runs_bytes", "1MiB")
        self.until(lambda: len([run for run in runs if run in os.listdir(logs)]) == 1, "the old logs stay")

    def test_history_enabled_says_whether_there_is_one(self):
        self.reeve("queue", "push", "q", "1")
        self.assertEqual(self.data("daemon", "status")["history"]["state"], "on")
        told = self.reeve("config", "set", "history.enabled", "false")
        self.assertIn("reeve daemon restart", told.stderr)
        self.assertEqual(self.data("daemon", "status")["history"]["state"], "on")
        self.reeve("daemon", "restart")
        self.assertEqual(self.data("daemon", "status")["history"]["state"], "off")

    def counted(self):
        return int(self.data("sql", "SELECT count(*) AS n FROM events")["rows"][0]["n"])

    def test_history_count_is_how_many_events_are_kept(self):
        self.reeve("config", "set", "history.count", "500")
        self.reeve("queue", "push", "q", "-", "--lines", text="x\n" * 900)
        self.until(lambda: self.counted() <= 500, "it stays as it is", seconds=90)

    def test_history_bytes_is_how_large_it_may_grow(self):
        self.reeve("config", "set", "history.bytes", "1MiB")
        for number in range(150):
            self.reeve("emit", "big:one", f"n={number}", "text=" + "x" * 16000)
        self.until(lambda: self.counted() < 100, "it stays as it is", seconds=90)
        told = self.data("sql", "SELECT data ->> '$.n' AS n FROM events ORDER BY seq DESC LIMIT 1")["rows"]
        self.assertEqual(told[0]["n"], "149", "the oldest go first")

    def test_history_days_is_how_long_it_is_kept(self):
        # A day cannot be waited for; what it becomes is in daemon/settings_test.cc.
        self.reeve("config", "set", "history.days", "1")
        self.reeve("queue", "push", "q", "1")
        self.assertGreaterEqual(self.counted(), 1)

    def test_journal_keep_is_how_far_back_history_can_be_made_anew(self):
        self.reeve("config", "set", "journal.keep", "7d")
        for _ in range(3):
            self.reeve("queue", "push", "q", "1")
            self.reeve("daemon", "restart")
        self.assertEqual(self.data("history", "rebuild")["from_seq"], 1)

    def expires(self, title, **options):
        """In how many seconds the lock of the task, just taken, is over."""
        self.reeve("task", "add", title, "--section", "s" + title, **options)
        began = time.time()
        self.reeve("task", "update", title, "--status", "in_progress", "--runner", "ana", "--no-wait", **options)
        ends = {}
        for lock in self.data("locks", "list", "--type", "all", **options)["locks"]:
            moment = datetime.datetime.fromisoformat(lock["expires_at"].replace("Z", "+00:00"))
            ends["section" if "task" not in lock.get("type", "") else "task"] = moment.timestamp() - began
        return ends

    def test_locking_task_timeout_is_how_long_a_task_is_kept(self):
        self.reeve("config", "set", "locking.task_timeout", "5m")
        self.assertAlmostEqual(self.expires("a")["task"], 300, delta=60)

    def test_a_locking_key_that_was_taken_out_by_hand_is_the_default_again(self):
        self.reeve("config", "set", "locking.task_timeout", "5m")
        self.assertAlmostEqual(self.expires("a")["task"], 300, delta=60)
        self.reeve("task", "update", "a", "--status", "completed", "--runner", "ana")
        os.remove(os.path.join(self.work, ".reeve/config.toml"))
        self.assertAlmostEqual(self.expires("b")["task"], 3600, delta=60)

    def test_a_users_locking_key_that_was_unset_is_the_default_again_in_every_project(self):
        other = os.path.join(self.base, "other")
        os.makedirs(os.path.join(other, ".reeve"))
        places = (self.work, other, self.base)  # the last is in no project
        self.reeve("config", "set", "--user", "locking.task_timeout", "5m")
        for place in places:
            self.assertAlmostEqual(self.expires("a", cwd=place)["task"], 300, delta=60)
            self.reeve("task", "update", "a", "--status", "completed", "--runner", "ana", cwd=place)
        # Also while nobody runs.
        self.reeve("daemon", "stop")
        self.reeve("config", "unset", "locking.task_timeout")
        for place in places:
            self.assertAlmostEqual(self.expires("b", cwd=place)["task"], 3600, delta=60)

    def test_a_mistake_in_the_settings_keeps_nobody_from_saying_that_it_lives(self):
        self.expires("a")
        self.write(os.path.join(self.work, ".reeve/config.toml"), "[locking]\nfoo = 1\n")
        for words in (("runner", "heartbeat", "ana"), ("task", "heartbeat", "a", "--runner", "ana")):
            self.assertIn("there is no key locking.foo", self.reeve(*words).stderr)
        self.reeve("task", "next", "--runner", "ana", "--start", code=1)

    def test_locking_section_timeout_is_how_long_a_section_is_kept(self):
        self.reeve("config", "set", "--user", "locking.section_timeout", "10m")
        self.reeve("config", "set", "locking.task_timeout", "5m")
        self.assertAlmostEqual(self.expires("a")["section"], 600, delta=60)

    def test_locking_wait_timeout_is_how_long_a_runner_waits(self):
        self.reeve("task", "add", "a")
        self.reeve("config", "set", "locking.wait_timeout", "100ms")
        self.reeve("task", "update", "a", "--status", "in_progress", "--runner", "ana")
        began = time.monotonic()
        self.reeve("task", "update", "a", "--status", "in_progress", "--runner", "bo", "--wait", code=6)
        self.assertLess(time.monotonic() - began, 30)

    def notified(self):
        path = os.path.join(self.work, "notified")
        return [json.loads(line) for line in self.read(path).splitlines()] if os.path.exists(path) else []

    def test_notify_on_says_what_is_told_for_every_project(self):
        other = os.path.join(self.base, "other")
        os.makedirs(os.path.join(other, ".reeve"))
        self.reeve("config", "set", "notify.desktop", "false")
        self.reeve("config", "set", "notify.command", f"cat >> {self.work}/notified")
        self.reeve("config", "set", "notify.on", "ci:green", "ci:red")
        self.reeve("emit", "ci:green", "n=1")
        self.reeve("emit", "ci:blue", "n=2")
        self.reeve("emit", "ci:red", "n=3", cwd=other)
        self.until(lambda: len(self.notified()) == 2)
        self.assertEqual(sorted(event["name"] for event in self.notified()), ["ci:green", "ci:red"])
        # It is remembered by the next daemon, and each is told once.
        self.reeve("daemon", "restart")
        self.reeve("emit", "ci:red", "n=4")
        self.until(lambda: len(self.notified()) == 3)
        self.reeve("config", "unset", "notify.on")
        self.reeve("emit", "ci:red", "n=5")
        self.reeve("config", "set", "notify.on", "ci:last")
        self.reeve("emit", "ci:last")
        self.until(lambda: len(self.notified()) == 4)
        self.assertEqual(self.notified()[-1]["name"], "ci:last")

    def test_notify_command_gets_the_event_and_a_change_made_by_hand_counts_from_the_next_start(self):
        self.write(
            self.user,
            f'[notify]\non = ["ci:*"]\ndesktop = false\n'
            f"command = '''\necho \"$REEVE_TITLE $REEVE_PROJECT\" >> {self.work}/said'''\n",
        )
        self.reeve("config", "set", "project.name", "tea")
        self.reeve("emit", "ci:green")
        said = os.path.join(self.work, "said")
        self.until(lambda: os.path.exists(said) and self.read(said) == "ci:green tea\n")

    def test_notify_desktop_is_shown_by_notify_send_beside_the_command(self):
        tools = os.path.join(self.base, "bin")
        os.mkdir(tools)
        self.write(os.path.join(tools, "notify-send"), f'#!/bin/sh\necho "$@" >> {self.work}/shown\n')
        os.chmod(os.path.join(tools, "notify-send"), 0o755)
        self.env["PATH"] = f"{tools}:{self.env['PATH']}"
        shown = os.path.join(self.work, "shown")
        self.reeve("config", "set", "notify.on", "ci:green")
        self.reeve("emit", "ci:green")
        self.until(lambda: os.path.exists(shown) and "ci:green" in self.read(shown))
        self.reeve("config", "set", "notify.command", f"cat >> {self.work}/notified")
        self.reeve("emit", "ci:green")
        self.until(lambda: len(self.notified()) == 1 and len(self.read(shown).splitlines()) == 2)
        self.reeve("config", "set", "notify.desktop", "false")
        self.reeve("emit", "ci:green")
        self.until(lambda: len(self.notified()) == 2)
        self.assertEqual(len(self.read(shown).splitlines()), 2)


if __name__ == "__main__":
    unittest.main()
