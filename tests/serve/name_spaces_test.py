"""API keys: each has its own memories, and cannot see, name or infer another's."""
import argparse
import concurrent.futures
import contextlib
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
         ("/v1/memories/{m}/verify", {}), ("/v1/memories", {"name": "{m}"})]
ANSWERS = [("/v1/memories/{m}/ask", {"question": "word?", "max_tokens": 2}),
           ("/v1/chat/completions", {"model": "mplus:{m}", "memory": {"name": "{m}", "mode": "read"}, "max_tokens": 2,
                                     "messages": [{"role": "user", "content": "What is the secret word?"}]}),
           ("/v1/responses", {"previous_response_id": "resp_{h}_{n}", "input": "word?", "max_output_tokens": 2})]
DELETES = ["/v1/memories/copy{n}", "/v1/memories/{m}x"]  # so that forks stay few: what is listed is counted for each memory
SHARES = [(0.55, PATHS), (0.25, POSTS), (0.1, ANSWERS), (0.1, DELETES)]


def filled(what, values):
    for key, value in values.items():
        what = what.replace("{" + key + "}", str(value))
    return what


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
        """All of them at once, each over a connection of their own that is kept open."""
        with concurrent.futures.ThreadPoolExecutor(len(self.people)) as pool:
            for done in [pool.submit(self.look_for_others_words, person, REQUESTS // len(self.people)) for person in self.people]:
                done.result()

    def look_for_others_words(self, person, requests):
        choose = random.Random(f"{person} 7")
        others = [p for p in self.people if p != person]
        words = [word for other in others for word in (f"PLANTED{other.upper()}".encode(), f"file-{other}".encode())]
        own = 0
        with contextlib.closing(self.server.connect()) as connection:
            for _ in range(requests):
                method, path, body = self.any_request(choose, person, choose.choice(others))
                connection.request(method, path, body, self.headers(person) | {"Content-Type": "application/json"})
                response = connection.getresponse()
                said = str(response.headers).encode() + response.read()
                for word in words:
                    self.assertNotIn(word, said)
                self.assertLess(response.status, 500, (method, path, said[:600]))
                own += f"PLANTED{person.upper()}".encode() in said
        self.assertGreater(own, 0, "a search that finds nothing at all")

    @staticmethod
    def any_request(choose, person, other):
        name = choose.choice([f"{other}-notes", f"{other}%2F{other}-notes", f"..%2F{other}%2F{other}-notes", f"{person}-notes",
                              f"%2F{other}%2F{other}-notes", f"{person}%2F..%2F{other}%2F{other}-notes"])
        values = {"m": name, "n": choose.randrange(0, 12), "h": name.replace("%2F", "/").encode().hex()}
        kinds = choose.choices([kind for _, kind in SHARES], [share for share, _ in SHARES])[0]
        if kinds is PATHS or kinds is DELETES:
            return "GET" if kinds is PATHS else "DELETE", filled(choose.choice(kinds), values), None
        path, body = choose.choice(kinds)
        return "POST", filled(path, values), filled(json.dumps(body), values).replace("%2F", "/")


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--requests", type=int, default=REQUESTS)
    options, rest = parser.parse_known_args()
    REQUESTS = options.requests
    unittest.main(argv=[sys.argv[0], *rest])
