"""API keys: each has its own memories, and cannot see, name or infer another's."""
import argparse
import json
import random
import subprocess
import sys
import unittest

from server import PROGRAM, ServerTest, plain_environment

REQUESTS = 400  # --requests for more

PATHS = ["/v1/memories", "/v1/models", "/v1/memories/{m}", "/v1/memories/{m}/documents", "/v1/memories/{m}/turns",
         "/v1/memories/{m}/events", "/v1/memories/{m}/timeline", "/v1/memories/{m}/documents/{n}", "/v1/models/mplus:{m}",
         "/v1/conversations/{m}/items", "/v1/responses/resp_{h}_{n}"]
POSTS = [("/v1/memories/{m}/search", {"query": "secret word"}), ("/v1/memories/{m}/fork", {"name": "copy{n}"}),
         ("/v1/memories/{m}/verify", {}), ("/v1/memories", {"name": "{m}"}), ("/v1/memories/{m}/ask", {"question": "word?", "max_tokens": 2}),
         ("/v1/chat/completions", {"model": "mplus:{m}", "memory": {"name": "{m}", "mode": "read"}, "max_tokens": 2,
                                   "messages": [{"role": "user", "content": "What is the secret word?"}]}),
         ("/v1/responses", {"previous_response_id": "resp_{h}_{n}", "input": "word?", "max_output_tokens": 2})]


class NameSpaces(ServerTest):
    people = ["ann", "bob", "cyd", "dan"]

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.server.kill()  # it has no keys yet
        cls.home = cls.folder / "shared"
        cls.home.mkdir()
        cls.secret = {p: cls.keys("add", "--space", p, "--right", "admin") for p in cls.people}
        cls.reader = cls.keys("add", "--space", "ann", "--right", "read")
        cls.server = cls.start(cls.home)
        for person in cls.people:
            cls.server.request("POST", f"/v1/memories/{person}-notes/documents", {"name": f"file-{person}", "text": f"The secret word is PLANTED{person.upper()}. " * 30},
                               headers=cls.headers(person))

    @classmethod
    def keys(cls, *arguments):
        run = subprocess.run([PROGRAM, "serve", "keys", *arguments, "--json"], env=plain_environment(MPLUS_HOME=cls.home),
                             capture_output=True, text=True, check=True)
        return json.loads(run.stdout)["key"]

    @classmethod
    def headers(cls, person):
        return {"Authorization": f"Bearer {cls.secret[person]}"}

    def ask(self, person, method, path, body=None):
        return self.server.request(method, path, body, headers=self.headers(person))

    def test_without_a_key_nobody_gets_in(self):
        for headers in ({}, {"Authorization": "Bearer mplus-0"}, {"Authorization": "Basic x"}):
            self.assertEqual(self.server.request("GET", "/v1/memories", headers=headers).status, 401)
        self.assertEqual(self.server.request("GET", "/health").status, 200)
        self.assertEqual(self.server.request("GET", "/").status, 200)

    def test_everybody_sees_their_own(self):
        for person in self.people:
            names = [m["name"] for m in self.ask(person, "GET", "/v1/memories").json["data"]]
            self.assertIn(f"{person}-notes", names)
            self.assertTrue(all(not name.startswith(other) for name in names for other in self.people if other != person), names)

    def test_who_may_only_read_changes_nothing(self):
        headers = {"Authorization": f"Bearer {self.reader}"}
        for method, path, body in (("POST", "/v1/memories", {"name": "new"}), ("DELETE", "/v1/memories/ann-notes", None),
                                   ("POST", "/v1/memories/ann-notes/undo", {}),
                                   ("POST", "/v1/chat/completions", {"memory": "ann-notes", "messages": [{"role": "user", "content": "x"}]})):
            self.assertEqual(self.server.request(method, path, body, headers=headers).status, 403, path)
        self.assertEqual(self.server.request("GET", "/v1/memories/ann-notes", headers=headers).status, 200)

    def test_what_is_of_the_whole_server_is_for_nobody_in_a_name_space(self):
        for path in ("/metrics", "/v1/backup"):
            self.assertEqual(self.ask("ann", "GET", path).status, 403, path)

    def test_a_key_for_requests_is_anothers_too(self):
        body = {"memory": "same", "max_tokens": 2, "messages": [{"role": "user", "content": "Hello."}]}
        replies = [self.server.request("POST", "/v1/chat/completions", body, headers=self.headers(person) | {"Idempotency-Key": "1"})
                   for person in ("ann", "bob", "ann")]
        self.assertEqual([reply.headers.get("Idempotent-Replayed") for reply in replies], [None, None, "true"])

    def test_anothers_name_is_as_a_missing_one(self):
        for path in PATHS[2:6]:
            mine = self.ask("ann", "GET", path.format(m="bob-notes", n=1, h=""))
            nobody = self.ask("ann", "GET", path.format(m="bob-notez", n=1, h=""))
            self.assertEqual((mine.status, mine.body.replace(b"bob-notes", b"X")), (nobody.status, nobody.body.replace(b"bob-notez", b"X")))

    def test_no_word_of_anothers_gets_out(self):
        choose = random.Random(7)
        for i in range(REQUESTS):
            person = choose.choice(self.people)
            other = choose.choice([p for p in self.people if p != person])
            name = choose.choice([f"{other}-notes", f"{other}%2F{other}-notes", f"..%2F{other}%2F{other}-notes", f"{person}-notes",
                                  f"%2F{other}%2F{other}-notes", f"{person}%2F..%2F{other}%2F{other}-notes"])
            values = {"m": name, "n": choose.randrange(0, 40), "h": name.replace("%2F", "/").encode().hex()}

            def fill(what):
                for key, value in values.items():
                    what = what.replace("{" + key + "}", str(value))
                return what
            if choose.random() < 0.6:
                reply = self.ask(person, "GET", fill(choose.choice(PATHS)))
            else:
                path, body = choose.choice(POSTS)
                reply = self.ask(person, "POST", fill(path), json.loads(fill(json.dumps(body)).replace("%2F", "/")))
            for stranger in self.people:
                if stranger != person:
                    self.assertNotIn(f"PLANTED{stranger.upper()}".encode(), reply.body)
                    self.assertNotIn(f"file-{stranger}".encode(), reply.body)
            self.assertLess(reply.status, 500, (reply.status, reply.body[:300]))


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--requests", type=int, default=REQUESTS)
    options, rest = parser.parse_known_args()
    REQUESTS = options.requests
    unittest.main(argv=[sys.argv[0], *rest])
