"""A disk that is full, fails or cannot be written, and a damaged memory, over HTTP: what is said, what goes on, what is lost.

MPLUS_FAULTS names the library that is preloaded (tests/cli/faults.cpp): it lets writes fail while a file is there."""
import contextlib
import sqlite3
import unittest

from server import ORDINARY_USER, ServerTest, faults_library, main, story

FAULTS = faults_library()


class FailingDisk(ServerTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.server.kill()

    def failing(self, kind):
        home = self.folder / kind
        self.switch = self.folder / f"{kind}.now"
        environment = {"LD_PRELOAD": FAULTS, "MPLUS_FAULT_FOLDER": home, "MPLUS_FAULT": f"{kind}:1",
                       "MPLUS_FAULT_WHILE": self.switch}
        type(self).server = self.start(home, environment=environment)
        return home

    def check(self, kind):
        home = self.failing(kind)
        self.post("/v1/memories/a/documents", {"name": "a.txt", "text": story(90, 1)}, expect=201)
        self.say("a", "Hello.")
        self.say("b", "Hello.")
        turns, documents = self.turns("a"), self.documents("a")
        message = {"memory": "a", "max_tokens": 4, "messages": [{"role": "user", "content": "Not kept."}]}
        self.switch.touch()
        for _ in range(2):
            for reply in (self.server.post("/v1/chat/completions", message),
                          self.server.post("/v1/memories/a/documents", {"name": "b.txt", "text": story(90, 2)}),
                          self.server.post("/v1/memories/a/undo"),
                          self.server.post("/v1/memories", {"name": "c"})):
                error = self.refused(reply, 503)
                self.assertEqual((error["type"], error["code"]), ("server_error", "io"))
            # What is there can be read meanwhile, here and elsewhere.
            for memory in ("a", "b"):
                self.post(f"/v1/memories/{memory}/ask", {"question": "Who?", "max_tokens": 4})
                self.assertEqual(self.turns(memory)[0][0], "Hello.")
        self.switch.unlink()
        self.assertEqual((self.turns("a"), self.documents("a")), (turns, documents))
        self.refused(self.server.get("/v1/memories/c"), 404)
        self.post("/v1/chat/completions", message)
        self.post("/v1/memories/a/documents", {"name": "b.txt", "text": story(90, 2)}, expect=201)
        self.assertEqual([turn[0] for turn in self.turns("a")], ["Hello.", "Not kept."])
        self.server.kill()
        type(self).server = self.start(home)
        self.assertEqual([turn[0] for turn in self.turns("a")], ["Hello.", "Not kept."])
        self.assertEqual([d["name"] for d in self.documents("a")], ["a.txt", "b.txt"])
        for memory in ("a", "b"):
            self.assertTrue(self.post(f"/v1/memories/{memory}/verify")["sound"])

    @unittest.skipUnless(FAULTS, "MPLUS_FAULTS is not set")
    def test_full(self):
        self.check("full")

    @unittest.skipUnless(FAULTS, "MPLUS_FAULTS is not set")
    def test_broken(self):
        self.check("error")


@unittest.skipIf(ORDINARY_USER is None, "runs as root, and setpriv cannot take root's power over files away")
class ReadOnly(ServerTest):
    def test_it_can_be_read_and_nothing_is_kept(self):
        self.say("a", "Hello.")
        before = self.turns("a")
        self.assertEqual(self.server.terminate(), 0)
        home = self.server.home
        files = [home, *home.rglob("*")]
        modes = {path: path.stat().st_mode for path in files}
        for path in files:
            path.chmod(modes[path] & ~0o222)
        try:
            type(self).server = self.start(home, through=ORDINARY_USER)
            self.assertEqual([memory["name"] for memory in self.get("/v1/memories")["data"]], ["a"])
            self.assertEqual(self.turns("a"), before)
            self.post("/v1/memories/a/ask", {"question": "Who?", "max_tokens": 4})
            self.say({"name": "a", "mode": "read"}, "Who?")
            self.say(None, "Hello.")
            for reply in (self.server.post("/v1/chat/completions", {"memory": "a", "messages": [{"role": "user", "content": "No."}]}),
                          self.server.post("/v1/chat/completions", {"memory": "b", "messages": [{"role": "user", "content": "No."}]}),
                          self.server.post("/v1/memories/a/documents", {"name": "b.txt", "text": "No."}),
                          self.server.post("/v1/memories", {"name": "c"}), self.server.delete("/v1/memories/a"),
                          self.server.post("/v1/conversations"), self.server.post("/v1/memories/a/undo")):
                self.assertEqual(self.refused(reply, 503)["code"], "read_only")
            self.assertEqual(self.turns("a"), before)
            self.assertEqual(self.server.terminate(), 0)
        finally:
            for path, mode in modes.items():
                path.chmod(mode)
        type(self).server = self.start(home)
        self.assertEqual(self.turns("a"), before)


class Damaged(ServerTest):
    def test_one_memory_is_damaged_and_the_others_go_on(self):
        for memory in ("sound", "hurt"):
            self.post(f"/v1/memories/{memory}/documents", {"name": f"{memory}.txt", "text": story(400, len(memory))}, expect=201)
        self.assertEqual(self.server.terminate(), 0)
        home = self.server.home
        with contextlib.closing(sqlite3.connect(home / "sessions.db")) as rows:
            text, = rows.execute("SELECT text FROM sources WHERE name = 'hurt.txt'").fetchone()
        database = (home / "sessions.db").read_bytes()
        place = database.index(text[:60]) + 30  # one bit of it
        (home / "sessions.db").write_bytes(database[:place] + bytes([database[place] ^ 1]) + database[place + 1:])
        type(self).server = self.start(home)
        verified = self.post("/v1/memories/hurt/verify")
        self.assertFalse(verified["sound"])
        self.assertTrue(any("hurt.txt" in problem for problem in verified["problems"]), verified)
        self.assertEqual({d["name"]: d["lost"] for d in self.documents("hurt")}, {"hurt.txt": True})
        self.assertTrue(self.post("/v1/memories/sound/verify")["sound"])
        self.post("/v1/memories/sound/ask", {"question": "Who?", "max_tokens": 4})
        self.say("sound", "Hello.")
        self.say("hurt", "Hello.")
        self.refused(self.server.get("/v1/backup"), 500)  # a copy of damage would be taken for a copy
        self.delete(f"/v1/memories/hurt/documents/{self.documents('hurt')[0]['id']}")
        self.assertTrue(self.post("/v1/memories/hurt/verify")["sound"])
        self.assertEqual(self.server.get("/v1/backup").status, 200)


if __name__ == "__main__":
    main()
