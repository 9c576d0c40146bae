"""What is told to a memory is its owner's: nobody else can read it, nothing is overwritten by mistake, what is deleted is
gone, and reading needs no right to write.

MPLUS_FAULTS names the library that is preloaded (faults.cpp)."""
import os
import shutil
import sqlite3
import stat
import subprocess
import unittest
from pathlib import Path

from program import ORDINARY_USER, PROGRAM, ROOT, TIMEOUT, faults_library, main, story
from test_session import Searching, SessionTest

FAULTS = faults_library()


def mode(path):
    return stat.S_IMODE(path.lstat().st_mode)


def tree(folder):
    """Everything below a folder: name → content, None for folders."""
    return {str(p.relative_to(folder)): p.read_bytes() if p.is_file() else None for p in folder.rglob("*")}


class Private(SessionTest):
    def assert_private(self, *paths):
        for path in paths:
            for p in [path, *(path.rglob("*") if path.is_dir() else ())]:
                self.assertEqual(oct(mode(p)), oct(0o700 if p.is_dir() else 0o600), p)


class Modes(Private):
    def test_nobody_else_can_read_whatever_the_umask(self):
        for umask in (0o000, 0o022, 0o777):
            with self.subTest(umask=oct(umask)):
                shutil.rmtree(self.home, ignore_errors=True)
                loose = {"preexec_fn": lambda: os.umask(umask)}
                self.remember(self.file("a.txt", story(300, 1)), **loose)
                self.session("export", "default", "out.safetensors", "--force", *self.model, **loose)
                self.remember(self.folder / "a.txt", "--memory", "m.safetensors", **loose)
                self.assert_private(self.home, self.folder / "out.safetensors", self.folder / "m.safetensors")
                (self.folder / "m.safetensors").unlink()

    def test_files_of_a_process_that_runs(self):
        process = subprocess.Popen([PROGRAM, "chat", "--json", "-n", "4", *map(str, self.model)], stdin=subprocess.PIPE,
                                   stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, cwd=self.folder, env=self.environment,
                                   preexec_fn=lambda: os.umask(0))
        process.stdin.write(b"Hello.\n")
        process.stdin.flush()
        process.stdout.readline()
        names = {p.name for p in self.home.rglob("*")}
        try:
            self.assertLessEqual({"sessions.db-wal", "sessions.db-shm", "1.lock"}, names)
            self.assert_private(self.home)
        finally:
            process.communicate()

    def test_a_store_that_others_can_read_is_closed_to_them(self):
        self.remember(self.file("a.txt", story(300, 1)))
        for path in [self.home, *self.home.rglob("*")]:
            path.chmod(0o755 if path.is_dir() else 0o644)
        self.remember(self.file("b.txt", story(20, 2)))
        for path in self.home.rglob("*"):
            if "cache" not in path.parts:  # of models, and behind a closed door
                self.assert_private(path)
        self.assertEqual(mode(self.home), 0o700)

    def test_the_copy_of_an_older_version(self):
        shutil.copytree(ROOT / "tests/data/store_v1", self.home)
        self.session("list", preexec_fn=lambda: os.umask(0))
        self.assertEqual(mode(self.home / "sessions.db.v1"), 0o600)


class Overwriting(SessionTest):
    def setUp(self):
        super().setUp()
        self.remember(self.file("a.txt", story(60, 1)), "--memory-dtype", "bf16")  # what can be converted

    def writers(self):
        """Commands that make a file, without its name."""
        memory = self.folder / "made.safetensors"
        self.session("export", "default", memory, *self.model)
        yield lambda file: ("session", "export", "default", file, *self.model)
        yield lambda file: ("session", "export", "default", file, "--salvage", *self.model)
        yield lambda file: ("convert", memory, file, "--to", "memory", "--dtype", "f32")

    def test_nothing_is_overwritten_by_mistake(self):
        kept = self.file("kept", b"mine")
        pipe, link, loose = (self.folder / name for name in ("pipe", "link", "loose"))
        for command in self.writers():
            for path in (pipe, link, loose):
                path.unlink(missing_ok=True)
            os.mkfifo(pipe)
            link.symlink_to(kept)
            loose.symlink_to(self.folder / "nothing")
            self.assertIn("--force", self.error(*command(kept)))
            for path in (link, loose, pipe):
                for force in ((), ("--force",)):
                    self.assertIn("never replaced", self.error(*command(path), *force))
            self.assertEqual(kept.read_bytes(), b"mine")
            self.assertTrue(link.is_symlink() and loose.is_symlink() and pipe.is_fifo())
            self.assertFalse((self.folder / "nothing").exists())
            self.run_program(*command(kept), "--force")
            self.report("inspect", kept, "--verify")
            self.assertEqual(mode(kept), 0o600)
            kept.write_bytes(b"mine")
        self.assertEqual([p.name for p in self.folder.glob("*.tmp-*")], [])

    def test_files_of_a_store(self):
        before = tree(self.home)
        state = next((self.home / "states").iterdir(), self.home / "states" / "new")
        self.file("home/sub/x", b"")
        for file in (self.home / "sessions.db", self.home / "sessions.db-wal", state, self.home / "marks" / "new",
                     self.home / "sub" / ".." / "sessions.db"):
            for force in ((), ("--force",)):
                message = self.error("session", "export", "default", file, *force, *self.model)
                self.assertIn("belongs to the session store", message)
        self.assertIn("belongs to", self.error("remember", self.folder / "a.txt", "--memory", self.home / "states" / "m",
                                               *self.model))
        self.assertEqual({n: c for n, c in tree(self.home).items() if n in before}, before)

    def test_a_chat_saves_to_a_new_file(self):
        kept = self.file("kept", b"mine")
        self.assertIn("--force", self.chat([f"/save {kept}"], expect=1).stderr.decode())
        self.assertEqual(kept.read_bytes(), b"mine")
        self.chat([f"/save {kept} --force"])
        self.report("inspect", kept, "--verify")


@unittest.skipIf(ORDINARY_USER is None, "runs as root, and setpriv cannot take root's power over files away")
class Reading(SessionTest):
    def forbid_writing(self, folder):
        def restore():
            for path in [folder, *folder.rglob("*")]:
                path.chmod(0o700 if path.is_dir() else 0o600)
        for path in [*folder.rglob("*"), folder]:
            path.chmod(0o500 if path.is_dir() else 0o400)
        self.addCleanup(restore)
        return restore

    def test_readers_need_no_right_to_write(self):
        self.remember(self.file("a.txt", story(900, 1)))
        question = ("ask", "Where is the lamp?", *self.model)
        commands = [("session", "list", "--json"), ("session", "show", "default", "--json"), question,
                    ("session", "verify", "default", "--replay", "--json", *self.model), ("session", "verify")]
        before = [self.run_program(*command).stdout for command in commands]
        exported = self.exported()
        self.forbid_writing(self.home)
        files = tree(self.home)
        for command, expected in zip(commands, before):
            done = self.run_program(*command, through=ORDINARY_USER)
            if command[1] != "show":  # counts the answer that was given before
                self.assertEqual(done.stdout, expected, command)
            self.assertEqual(b"nothing of this is stored" in done.stderr, command == question)
        self.session("export", "default", "out.safetensors", "--no-journal", *self.model, through=ORDINARY_USER)
        self.session("backup", "copy", through=ORDINARY_USER)
        self.assertEqual(tree(self.home), files)
        self.environment["MPLUS_HOME"] = str(self.folder / "copy")
        self.assertEqual(self.exported(), exported)

    def test_the_log_of_a_process_that_was_killed(self):
        self.remember(self.file("a.txt", story(60, 1)))
        process = subprocess.Popen([PROGRAM, "chat", "--json", "-n", "4", *map(str, self.model)], stdin=subprocess.PIPE,
                                   stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, cwd=self.folder, env=self.environment)
        process.stdin.write(b"Hello.\n")
        process.stdin.flush()
        process.stdout.readline()
        live = self.report("session", "show", "default")
        self.assertEqual(live["turns"], 1)
        process.kill()
        process.communicate()
        copy = self.folder / "copy"
        shutil.copytree(self.home, copy)
        self.environment["MPLUS_HOME"] = str(copy)
        self.forbid_writing(copy)
        self.assertEqual(self.report("session", "show", "default", through=ORDINARY_USER)["turns"], 1)
        self.environment["MPLUS_HOME"] = str(self.home)
        (self.home / "sessions.db-shm").unlink()
        restore = self.forbid_writing(self.home)
        message = self.error("session", "list", through=ORDINARY_USER)
        self.assertIn("sessions.db-wal", message)
        self.assertIn("copy the folder", message)
        restore()
        self.assertEqual(self.shown()["turns"], 1)

    def test_an_older_version_is_not_brought_up_to_date(self):
        shutil.copytree(ROOT / "tests/data/store_v1", self.home)
        self.forbid_writing(self.home)
        message = self.error("session", "list", through=ORDINARY_USER)
        self.assertIn("version 1", message)
        self.assertIn("copy the folder", message)

    def test_writers_say_what_hinders_them(self):
        self.remember(self.file("a.txt", story(60, 1)))
        self.forbid_writing(self.home)
        for command in (("session", "delete", "default"), ("remember", self.folder / "a.txt", "--session", "b", *self.model),
                        ("session", "purge", "default")):
            self.assertIn("writable", self.error(*command, through=ORDINARY_USER))

    def test_a_chat_goes_on_without_storing(self):
        self.remember(self.file("a.txt", story(900, 1)))
        told = "Hello.\nWhere is the lamp?\n/stats\n"
        command = ("chat", "-n", "8", *self.model)
        copy = self.folder / "copy"
        shutil.copytree(self.home, copy)
        self.forbid_writing(copy)
        files = tree(copy)
        stored = self.run_program(*command, stdin=told)
        self.environment["MPLUS_HOME"] = str(copy)
        done = self.run_program(*command, stdin=told, through=ORDINARY_USER)
        self.assertEqual(done.stdout, stored.stdout)
        self.assertIn(b"cannot be written: nothing of this is stored", done.stderr)
        self.assertEqual(tree(copy), files)
        self.assertIn("only a session of the store", self.error(*command, stdin="Hello.\n/undo\n", through=ORDINARY_USER))
        self.assertIn("'other'", self.error(*command, "--session", "other", stdin="Hello.\n", through=ORDINARY_USER))


class Gone(Searching):
    def secret(self):
        return {"text": self.SECRET.encode(), "name": b"secret plans"}

    def tell(self):
        self.remember(self.file("a.txt", story(100, 1)))
        self.remember(self.file("secret plans.txt", self.SECRET * 8))

    def test_undone_text_stays_until_it_is_purged(self):
        self.tell()
        done = self.session("undo", "default", *self.model)
        self.assertIn(b"stays on disk until `mplus session purge default`", done.stdout)
        self.assertEqual(self.found(self.secret()), set(self.secret()))
        before = self.exported()
        self.assertIn(b"1 event", self.session("purge", "default").stdout)
        self.assertEqual(self.found(self.secret()), set())
        self.assertEqual(self.exported(), before)
        self.session("verify", "default", "--replay", *self.model)
        self.assertIn(b"nothing was undone", self.session("purge", "default").stdout)

    def test_undo_and_purge_in_one(self):
        self.tell()
        self.answers(["Where is the marmalade?"])
        self.session("fork", "default", "copy")
        report = self.report("session", "undo", "default", "-n", "2", "--purge", *self.model)["purged"]
        self.assertEqual((report["events"], report["holders"], report["text_is_gone"]), (2, ["copy"], False))
        self.assertEqual(self.found(self.secret()), set(self.secret()))
        self.session("undo", "copy", "-n", "2", "--purge", *self.model)
        self.assertEqual(self.found(self.secret()), set())
        self.session("verify")

    def test_deleted_beside_a_reader(self):
        self.tell()
        for command in (("delete", "default"), ("forget", "copy", self.folder / "secret plans.txt", *self.model)):
            if command[0] == "delete":
                self.session("fork", "default", "copy")
                self.session("forget", "copy", self.folder / "secret plans.txt", *self.model)
            else:
                self.remember(self.folder / "secret plans.txt", "--session", "copy")
            reader = sqlite3.connect(f"file:{self.home}/sessions.db?mode=ro", uri=True, isolation_level=None)
            reader.execute("BEGIN")
            reader.execute("SELECT count(*) FROM sessions").fetchone()
            said = self.session(*command).stdout.decode()
            self.assertIn("is still on disk, and goes when that has ended", said)
            if Path("/proc/locks").exists() and Path("/proc/locks").read_text():
                self.assertIn(f"process {os.getpid()} (", said)
            self.assertEqual(self.found(self.secret()), set(self.secret()), command)
            reader.close()
            self.session("list")
            self.assertEqual(self.found(self.secret()), set(), command)

    def carry_away(self):
        """The text is in a file beside the store, and nowhere in it."""
        self.tell()
        self.session("export", "default", "carried.safetensors", *self.model)
        self.session("delete", "default")
        self.remember(self.file("b.txt", story(100, 2)), "--session", "other")

    def import_with(self, fault):
        environment = self.environment | {
            "LD_PRELOAD": FAULTS, "MPLUS_FAULT_FOLDER": str(self.home), "MPLUS_FAULT": fault,
            "MPLUS_FAULT_COUNT": str(self.folder / "count"),
            "ASAN_OPTIONS": "verify_asan_link_order=0:" + os.environ.get("ASAN_OPTIONS", "")}
        command = [PROGRAM, "session", "import", "new", "carried.safetensors", *map(str, self.model)]
        return subprocess.run(command, cwd=self.folder, env=environment, timeout=TIMEOUT, capture_output=True).returncode

    def operations(self):
        """How many operations on files an import takes."""
        self.assertEqual(self.import_with("once:0"), 0)
        self.session("delete", "new")
        return int((self.folder / "count").read_text())

    @unittest.skipUnless(FAULTS, "MPLUS_FAULTS is not set")
    def test_a_killed_import_leaves_nothing_to_the_next_who_looks(self):
        self.carry_away()
        operations, left = self.operations(), 0
        for moment in range(2, operations, max(1, operations // 8)):
            with self.subTest(operation=moment, of=operations):
                self.assertEqual(self.import_with(f"kill:{moment}"), -9)
                left += bool(self.found(self.secret()))
                names = [s["name"] for s in self.report("session", "list")["sessions"]]
                if "new" in names:  # it was complete
                    self.session("delete", "new")
                self.assertEqual(self.found(self.secret()), set())
        self.assertGreater(left, 0, "some kills came while text was on disk")

    @unittest.skipUnless(FAULTS, "MPLUS_FAULTS is not set")
    def test_an_import_that_fails_leaves_nothing(self):
        self.carry_away()
        files = lambda: {p for part in ("states", "segments", "marks") for p in (self.home / part).iterdir()}
        before = files()
        operations, failed = self.operations(), 0
        for moment in range(2, operations, max(1, operations // 8)):
            with self.subTest(operation=moment, of=operations):
                if self.import_with(f"once:{moment}") == 0:
                    self.session("delete", "new")
                    continue
                failed += 1
                self.assertEqual(files(), before)
                self.assertEqual(self.found(self.secret()), set())
        self.assertGreater(failed, 2)


class FullDisk(SessionTest):
    def test_a_small_session_can_be_deleted(self):
        self.home.mkdir()
        if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=8m", "tmpfs", str(self.home)], capture_output=True).returncode:
            self.skipTest("mounting is not allowed here")
        self.addCleanup(subprocess.run, ["umount", str(self.home)], check=True)
        self.remember(self.file("kept.txt", story(20)), "--session", "kept")
        self.remember(self.file("a.txt", story(30, 2)), "--session", "small")
        filler = self.home / "filler"
        with filler.open("wb", buffering=0) as out:
            try:
                while out.write(b"x" * 512):
                    pass
            except OSError:
                pass
        self.assertEqual(shutil.disk_usage(self.home).free, 0)
        self.session("delete", "small")
        self.assertEqual([s["name"] for s in self.report("session", "list")["sessions"]], ["kept"])
        self.session("verify")
        filler.unlink()
        self.session("list")
        self.assertGreater((self.home / "reserve").stat().st_blocks, 0, "the reserve is there for the next time")


class Backup(Private):
    def setUp(self):
        super().setUp()
        self.remember(self.file("a.txt", story(500, 1)))
        self.answers(["Where is the lamp?"], "--session", "talk")

    def in_copy(self, folder):
        return {"env": self.environment | {"MPLUS_HOME": str(folder)}}

    def test_a_backup_is_a_store(self):
        before = {name: self.exported(name) for name in ("default", "talk")}
        self.session("backup", "copies/today", preexec_fn=lambda: os.umask(0))
        copy = self.folder / "copies/today"
        self.assert_private(self.folder / "copies")
        self.session("verify", "--replay", *self.model, **self.in_copy(copy))
        shutil.rmtree(self.home)
        self.environment["MPLUS_HOME"] = str(copy)
        self.assertEqual({name: self.exported(name) for name in before}, before)
        self.remember(self.file("b.txt", story(200, 2)))
        self.session("verify", "--replay", *self.model)

    def test_only_a_new_or_an_empty_folder(self):
        (self.folder / "empty").mkdir()
        self.session("backup", "empty")
        self.session("verify", **self.in_copy(self.folder / "empty"))
        full = self.file("full/mine", b"mine").parent
        (self.folder / "link").symlink_to(self.folder / "nothing")
        for target in ("full", "empty", "full/mine", "link"):
            self.assertIn("is there already", self.error("session", "backup", target))
        self.assertEqual(tree(full), {"mine": b"mine"})
        self.assertEqual(list(self.folder.glob("*.incomplete*")), [])

    def test_while_others_write(self):
        process = self.start("remember", self.file("long.txt", story(200000, 3)), "--session", "busy", *self.model)
        self.addCleanup(process.communicate)
        self.addCleanup(process.kill)
        process.stderr.readline()
        tokens = []
        for number in range(4):
            self.session("backup", f"copy{number}")
            copy = self.in_copy(self.folder / f"copy{number}")
            self.session("verify", **copy)
            names = [s["name"] for s in self.report("session", "list", **copy)["sessions"]]
            tokens += [s["tokens"] for s in self.report("session", "show", "busy", **copy)["sources"]] if "busy" in names else [0]
        self.assertIsNone(process.poll(), "it wrote all the time")
        self.assertEqual(tokens, sorted(tokens))
        self.assertGreater(tokens[-1], tokens[0])
        process.kill()
        process.wait()
        self.session("verify", "busy", "--replay", *self.model, **self.in_copy(self.folder / "copy1"))

    def test_a_damaged_store_is_not_copied_as_if_it_were_sound(self):
        segment = next((self.home / "segments").iterdir())
        data = bytearray(segment.read_bytes())
        data[-7] ^= 1
        segment.write_bytes(data)
        self.assertIn(segment.name, self.error("session", "backup", "copy"))
        segment.unlink()
        self.assertIn(segment.name, self.error("session", "backup", "copy"))
        self.assertEqual(list(self.folder.glob("copy*")), [])

    @unittest.skipUnless(FAULTS, "MPLUS_FAULTS is not set")
    def test_killed_at_any_moment(self):
        target, count = self.folder / "killed", self.folder / "count"
        def run(fault):
            environment = self.environment | {
                "LD_PRELOAD": FAULTS, "MPLUS_FAULT_FOLDER": str(target), "MPLUS_FAULT": fault, "MPLUS_FAULT_COUNT": str(count),
                "ASAN_OPTIONS": "verify_asan_link_order=0:" + os.environ.get("ASAN_OPTIONS", "")}
            return subprocess.run([PROGRAM, "session", "backup", str(target)], cwd=self.folder, env=environment, timeout=TIMEOUT,
                                  capture_output=True).returncode
        self.assertEqual(run(""), 0)
        operations = int(count.read_text())
        self.assertGreater(operations, 20)
        for moment in [1, *range(5, operations, operations // 6), operations - 1, operations]:
            with self.subTest(operation=moment, of=operations):
                for left in self.folder.glob("killed*"):
                    shutil.rmtree(left)
                self.assertEqual(run(f"kill:{moment}"), -9)
                if target.exists():
                    self.session("verify", **self.in_copy(target))
                else:
                    self.assertEqual(len(list(self.folder.glob("killed.incomplete-*"))), 1)


if __name__ == "__main__":
    main()
