"""A damaged store, as a person meets it: what is said, what goes on, what is saved."""
import sqlite3
import subprocess

from program import PROGRAM, main, story
from test_session import SessionTest


def flip(path, at, bits=1):
    data = bytearray(path.read_bytes())
    data[at] ^= bits
    path.write_bytes(data)


class Damage(SessionTest):
    def files(self, part):
        return sorted((self.home / part).iterdir(), key=lambda path: path.stat().st_mtime)

    def test_a_store_without_its_database(self):
        self.remember(self.file("a.txt", story(300, 1)))
        before = [path.name for part in ("states", "segments") for path in self.files(part)]
        for empty in (False, True):
            (self.home / "sessions.db").unlink(missing_ok=True)
            if empty:
                (self.home / "sessions.db").touch()
            for command in (("session", "verify"), ("ask", "Where?", *self.model), ("session", "list"),
                            ("remember", self.folder / "a.txt", *self.model)):
                message = self.error(*command)
                self.assertIn("empty" if empty else "missing", message)
                self.assertIn("default", message)
            self.assertEqual([path.name for part in ("states", "segments") for path in self.files(part)], before)
        self.assertIn("aside-", self.session("set-aside").stdout.decode())
        self.remember(self.folder / "a.txt")
        self.session("verify")
        aside, = self.home.glob("aside-*")
        self.assertEqual(len(list(aside.rglob("*.safetensors"))), len(before))

    def test_one_bit_of_one_text(self):
        for name in "abc":
            self.remember(self.file(f"{name}.txt", story(200, ord(name))))
        with sqlite3.connect(self.home / "sessions.db") as database:
            text, = database.execute("SELECT text FROM sources WHERE name LIKE '%b.txt'").fetchone()
        database.close()
        data = (self.home / "sessions.db").read_bytes()
        flip(self.home / "sessions.db", data.index(text[:60]) + 30)
        done = self.session("verify", expect=1)
        self.assertIn(b"b.txt", done.stdout)
        self.assertIn(b"b.txt", self.run_program("ask", "Where is the lamp?", *self.model).stderr)
        self.session("export", "default", "saved.safetensors", "--salvage", *self.model)
        self.assertIn(b"b.txt", self.remember(self.file("d.txt", story(50, 4))).stderr)
        self.session("undo", "default", *self.model)
        self.assertIn(b"b.txt", self.session("rebuild", "default", *self.model).stderr)
        self.assertIn("its text is lost", self.session("show", "default").stdout.decode())
        self.session("forget", "default", self.folder / "b.txt", *self.model)
        self.session("verify")
        self.session("import", "saved", "saved.safetensors", *self.model)
        names = [source["name"] for source in self.shown("saved")["sources"]]
        self.assertEqual([name[-5:] for name in names], ["a.txt", "c.txt"])

    def test_a_page_overwritten(self):
        for name in "ab":
            self.remember(self.file(f"{name}.txt", story(200, ord(name))))
        whole = (self.home / "sessions.db").read_bytes()
        for page in range(0, len(whole), len(whole) // 4096 // 6 * 4096):  # the first one leads to all others
            (self.home / "sessions.db").write_bytes(whole[:page] + b"\x5a" * 4096 + whole[page + 4096:])
            verified = self.session("verify", "default", expect=1)
            self.assertNotIn(b"session verify`", verified.stderr, "who asks is not sent back to ask again")
            if page == 0:
                self.assertIn(b"session default: 2 texts left", verified.stdout)
                self.assertIn("session verify", self.error("session", "export", "other", "x.safetensors", "--salvage", *self.model))
            if b"--salvage" in verified.stdout + verified.stderr:
                saved = self.session("export", "default", f"{page}.safetensors", "--salvage", *self.model, expect=None)
                self.assertNotIn(b"session verify", saved.stderr.splitlines()[-1] if saved.returncode else b"")
                self.assertEqual(saved.returncode, 0, saved.stderr)

    def test_a_killed_process_and_its_log_lost(self):
        self.remember(self.file("a.txt", story(300, 1)))
        process = subprocess.Popen([PROGRAM, "chat", "--json", "-n", "4", *map(str, self.model)], stdin=subprocess.PIPE,
                                   stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, cwd=self.folder, env=self.environment)
        process.stdin.write(b"Hello.\n")
        process.stdin.flush()
        process.stdout.readline()  # acknowledged
        process.kill()
        process.communicate()
        (self.home / "sessions.db-wal").unlink()
        self.assertIn(b"acknowledged", self.session("verify", expect=1).stdout)
        self.assertIn(b"acknowledged", self.run_program("ask", "Where?", *self.model).stderr)

    def test_show_passes_over_a_damaged_state_as_ask_does(self):
        self.remember(self.file("a.txt", story(300, 1)))
        self.remember(self.file("b.txt", story(300, 2)))
        newest = self.files("states")[-1]
        flip(newest, 40)
        shown = self.session("show", "default").stdout.decode()
        self.assertIn(newest.name, shown)
        self.assertIn("b.txt", shown)
        self.assertIn("nothing is lost", self.session("verify", expect=1).stdout.decode())


if __name__ == "__main__":
    main()
