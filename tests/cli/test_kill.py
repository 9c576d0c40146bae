"""Killed at any moment, out of space at any write: what was acknowledged is there, nothing half-written is, and the memory
is bit for bit the one of an undisturbed run.

MPLUS_FAULTS names the library that is preloaded (faults.cpp). MPLUS_KILLS: about how many kills in all (default 60)."""
import json
import os
import random
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

from program import PROGRAM, TIMEOUT, faults_library, main, story
from test_session import SessionTest

KILLS = int(os.environ.get("MPLUS_KILLS", "60"))
FAULTS = faults_library()


@unittest.skipUnless(FAULTS, "MPLUS_FAULTS is not set")
class Faults(SessionTest):
    def run_with(self, fault, *arguments, stdin=b"", log=False):
        """The program with a fault; (exit code, standard output, number of file operations). `log`: standard error goes
        to a file on the same disk."""
        count = self.folder / "count"
        count.unlink(missing_ok=True)
        environment = self.environment | {
            "LD_PRELOAD": FAULTS, "MPLUS_FAULT_FOLDER": str(self.home), "MPLUS_FAULT": fault, "MPLUS_FAULT_COUNT": str(count),
            "ASAN_OPTIONS": "verify_asan_link_order=0:" + os.environ.get("ASAN_OPTIONS", "")}
        with open(self.home / "log" if log else self.folder / "log", "w+b") as errors:
            done = subprocess.run([PROGRAM, *map(str, arguments)], input=stdin, stdout=subprocess.PIPE, stderr=errors,
                                  timeout=TIMEOUT, cwd=self.folder, env=environment)
            errors.seek(0)
            said = done.stdout[-800:] + errors.read()[-2000:]
        self.assertIn(done.returncode, (0, 1, -9), said)
        self.assertNotIn(b"terminate called", said)
        return done.returncode, done.stdout, int(count.read_text()) if count.exists() else 0

    def keep(self, name):
        """A copy of the store as it is now."""
        copy = self.folder / name
        shutil.rmtree(copy, ignore_errors=True)
        shutil.copytree(self.home, copy)
        return copy

    def restore(self, copy):
        shutil.rmtree(self.home)
        shutil.copytree(copy, self.home)

    def sessions(self):
        """Every session there is, whole; verified."""
        report = self.run_program("session", "verify", expect=None)
        self.assertEqual(report.returncode, 0, report.stdout + report.stderr)
        return {s["name"]: self.exported(s["name"]) for s in self.report("session", "list")["sessions"]}

    def files(self):
        return sorted(p.name for part in ("states", "segments") for p in (self.home / part).iterdir())

    def prepare(self):
        self.remember(self.file("a.txt", story(500, 1)))
        self.remember(*[self.file(f"note{i}.txt", story(4, 20 + i)) for i in range(6)], "--flush")
        self.remember(self.file("b.txt", story(300, 2)))
        self.answers(["Where is the lamp?", "And the boat?"])
        self.session("fork", "default", "copy")
        self.session("export", "default", "carried.safetensors", *self.model)

    # What is killed: the command, and whether it goes on when it is given again.
    def steps(self):
        long_text = self.file("long.txt", story(1500, 3))
        small = [self.file(f"small{i}.txt", story(40, 10 + i)) for i in range(4)]
        yield "remember", ("remember", long_text, *self.model), True
        yield "small documents", ("remember", *small, "--flush", *self.model), True
        yield "forget", ("session", "forget", "default", self.folder / "a.txt", *self.model), False
        yield "forget a note", ("session", "forget", "default", self.folder / "note2.txt", *self.model), False
        yield "forget exactly", ("session", "forget", "default", self.folder / "a.txt", "--exact", *self.model), False
        yield "undo", ("session", "undo", "default", "-n", "2", *self.model), False
        yield "fork", ("session", "fork", "default", "second"), False
        yield "import", ("session", "import", "second", "carried.safetensors", *self.model), False
        yield "delete", ("session", "delete", "default"), False
        yield "rebuild", ("session", "rebuild", "default", *self.model), False

    def test_killed_at_any_operation(self):
        self.prepare()
        before_copy = self.keep("before")
        before = self.sessions()
        steps = list(self.steps())
        chance = random.Random(11)
        kills = 0
        for name, command, continues in steps:
            self.restore(before_copy)
            code, _, operations = self.run_with("", *command)
            self.assertEqual(code, 0, name)
            self.assertGreater(operations, 0, f"{name}: the library counts nothing")
            after = self.sessions()
            wanted = 1 + KILLS // len(steps)
            moments = sorted(chance.sample(range(1, operations + 1), min(wanted, operations)))
            for moment in moments:
                with self.subTest(name, operation=moment, of=operations):
                    self.restore(before_copy)
                    code, _, _ = self.run_with(f"kill:{moment}", *command)
                    self.assertEqual(code, -9)
                    kills += 1
                    found = self.sessions()
                    if continues:
                        self.run_program(*command)
                        self.assertEqual(self.sessions(), after)
                    else:
                        self.assertIn(found, (before, after), "half of it happened")
                    # Whoever writes next clears away what was left.
                    for session in found:
                        self.remember(self.file("next.txt", story(30, 77)), "--session", session)
                    named = self.named_files()
                    self.assertEqual(self.files(), named)
        print(f"{kills} kills", flush=True)

    def test_killed_while_segments_are_merged(self):
        """A session of many short visits: its small segments are merged by a thread beside the next visit."""
        for i in range(12):
            self.remember(self.file(f"visit{i}.txt", story(8, 40 + i)), "--flush")
        before_copy = self.keep("before")
        before = self.newest_segments()
        command = ("remember", self.file("next visit.txt", story(8, 60)), "--flush", *self.model)
        code, _, operations = self.run_with("", *command)
        self.assertEqual(code, 0)
        self.assertLess(len(set(before) & set(self.newest_segments())), len(before), "nothing was merged")
        after = self.sessions()
        chance = random.Random(13)
        moments = sorted(chance.sample(range(1, operations + 1), min(operations, max(12, KILLS // 5))))
        for moment in moments:
            with self.subTest(operation=moment, of=operations):
                self.restore(before_copy)
                code, _, _ = self.run_with(f"kill:{moment}", *command)
                self.assertEqual(code, -9)
                self.sessions()  # sound for readers as it lies there
                self.run_program(*command)
                self.assertEqual(self.sessions(), after)
                self.remember(self.file("last.txt", story(30, 77)), "--flush")
                self.assertEqual(self.files(), self.named_files())
        print(f"{len(moments)} kills beside a merge", flush=True)

    def test_a_rebuild_killed_goes_on(self):
        self.prepare()
        self.remember(self.file("c.txt", story(2500, 9)))
        before_copy = self.keep("before")
        before = self.sessions()
        command = ("session", "rebuild", "default", "--memory-dtype", "int4", *self.model)
        code, _, operations = self.run_with("", *command)
        self.assertEqual(code, 0)
        after = self.sessions()
        chance = random.Random(17)
        moments = sorted(chance.sample(range(1, operations + 1), min(operations, max(10, KILLS // 5))))
        went_on = 0
        for moment in moments:
            with self.subTest(operation=moment, of=operations):
                self.restore(before_copy)
                code, _, _ = self.run_with(f"kill:{moment}", *command)
                self.assertEqual(code, -9)
                if self.sessions() != after:
                    self.assertEqual(self.sessions(), before)
                    went_on += b"it goes on there" in self.run_program(*command).stderr
                self.assertEqual(self.sessions(), after)
                self.remember(self.file("next.txt", story(30, 77)))
                self.assertEqual(self.files(), self.named_files())
        self.assertGreater(went_on, len(moments) // 3, "kills must come when something was kept")
        print(f"{len(moments)} kills of a rebuild, {went_on} went on", flush=True)

    def newest_segments(self):
        import sqlite3
        database = sqlite3.connect(f"file:{self.home}/sessions.db?mode=ro", uri=True)
        rows = database.execute("SELECT segment FROM state_segments WHERE state = (SELECT max(id) FROM states)").fetchall()
        database.close()
        return rows

    def named_files(self):
        import sqlite3
        database = sqlite3.connect(f"file:{self.home}/sessions.db?mode=ro", uri=True)
        names = {row[0] for row in database.execute("SELECT file FROM states UNION SELECT file FROM segments")}
        database.close()
        return sorted(names)

    def test_acknowledged_turns_are_there(self):
        messages = ["".join(story(5, seed).split("\n")) for seed in range(12)]
        text = "".join(f"{message}\n" for message in messages).encode()
        chat = ("chat", "--json", "-n", "4", *self.model)
        code, out, operations = self.run_with("", *chat, "--session", "whole", stdin=text)
        self.assertEqual((code, len(out.splitlines())), (0, 12))
        tokens = [json.loads(line)["tokens"] for line in out.splitlines()]
        whole = self.exported("whole")
        chance = random.Random(5)
        for attempt, moment in enumerate(sorted(chance.sample(range(1, operations), max(3, KILLS // 10)))):
            with self.subTest(operation=moment, of=operations):
                name = f"killed {attempt}"
                code, out, _ = self.run_with(f"kill:{moment}", *chat, "--session", name, stdin=text)
                self.assertIn(code, (-9, 0))  # 0: the first run also made the database, so it had more to do
                acknowledged = len(out.splitlines())
                names = [s["name"] for s in self.report("session", "list")["sessions"]]
                turns = self.shown(name)["turns"] if name in names else 0
                self.assertIn(turns, (acknowledged, acknowledged + 1))
                rest = "".join(f"{message}\n" for message in messages[turns:]).encode()
                done = self.run_program(*chat, "--session", name, stdin=rest)
                said = [json.loads(line)["tokens"] for line in out.splitlines() + done.stdout.splitlines()]
                self.assertEqual(said[:acknowledged] + said[acknowledged:], tokens[:acknowledged] + tokens[turns:])
                self.assertEqual(self.exported(name), whole)
                self.session("verify", name)

    def test_failing_writes_lose_nothing(self):
        self.prepare()
        before_copy = self.keep("before")
        before = self.sessions()
        chance = random.Random(7)
        for kind in ("full", "error"):  # of the disk with the log, too: what cannot be said must not matter
            for name, command, continues in self.steps():
                self.restore(before_copy)
                _, _, operations = self.run_with("", *command, log=True)
                after = self.sessions()
                for moment in sorted(chance.sample(range(1, operations + 1), min(2, operations))):
                    with self.subTest(name, kind=kind, operation=moment, of=operations):
                        self.restore(before_copy)
                        code, _, _ = self.run_with(f"{kind}:{moment}", *command, log=True)
                        found = self.sessions()
                        if continues:
                            self.run_program(*command)
                            self.assertEqual(self.sessions(), after)
                        else:
                            self.assertIn(found, (before, after))
                            if code == 0:
                                self.assertEqual(found, after, "it said that it had worked")


class SmallDisk(SessionTest):
    def setUp(self):
        super().setUp()
        self.home.mkdir(exist_ok=True)
        mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=700k", "tmpfs", str(self.home)], capture_output=True)
        if mounted.returncode != 0:
            self.skipTest("mounting is not allowed here")
        self.addCleanup(subprocess.run, ["umount", str(self.home)], check=True)

    def test_a_session_can_be_deleted_and_that_makes_room(self):
        subprocess.run(["mount", "-o", "remount,size=8m", str(self.home)], check=True)
        self.remember(self.file("kept.txt", story(20)), "--session", "kept")
        self.remember(self.file("a.txt", story(12000)))
        filler = self.home / "filler"
        with filler.open("wb", buffering=0) as out:
            try:
                while out.write(b"x" * 512):
                    pass
            except OSError:
                pass
        used = shutil.disk_usage(self.home)
        self.assertEqual(used.free, 0)
        self.session("delete", "default")
        self.assertGreater(shutil.disk_usage(self.home).free, 100_000)
        filler.unlink()
        self.assertEqual([s["name"] for s in self.report("session", "list")["sessions"]], ["kept"])
        self.session("verify")

    def test_a_full_disk_is_said_and_nothing_is_lost(self):
        seed, acknowledged = 1, []
        for seed in range(1, 60):
            path = self.file(f"{seed}.txt", story(600, seed))
            done = self.run_program("remember", path, *self.model, expect=None)
            if done.returncode != 0:
                break
            acknowledged.append(str(path))
        self.assertEqual(done.returncode, 1, "the disk was never full")
        self.assertRegex(done.stderr.decode(), "full|No space left")
        held = [s["name"] for s in self.shown()["sources"] if s["complete"]]
        self.assertEqual(held[:len(acknowledged)], acknowledged)
        self.session("verify")
        self.report("ask", "Where?", *self.model)
        subprocess.run(["mount", "-o", "remount,size=64m", str(self.home)], check=True)
        self.remember(self.folder / f"{seed}.txt")
        plain = self.memory(*[story(600, s) for s in range(1, seed + 1)], name="plain.safetensors")
        from program import read_safetensors
        theirs, ours = read_safetensors(plain)[0], self.exported()[0]
        for name in theirs:
            if name.startswith(("short_term", "long_term", "tail")):
                self.assertEqual(ours[name], theirs[name], name)


if __name__ == "__main__":
    main()
