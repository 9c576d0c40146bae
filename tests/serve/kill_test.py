"""Killed at any moment under load, the server has everything it acknowledged, once, and nothing half; told to end, it ends well.

usage: kill_test.py [--rounds N] [--seed S] [unittest's arguments]
"""
import argparse
import concurrent.futures
import contextlib
import http.client
import json
import random
import subprocess
import sys
import threading
import time

from server import PROGRAM, ServerTest, main, parse_events, plain_environment, story, wait_for

arguments = argparse.ArgumentParser(add_help=False)
arguments.add_argument("--rounds", type=int, default=3)
arguments.add_argument("--seed", type=int, default=random.randrange(1 << 30))
ROUNDS, SEED = 3, 0
WRITERS = 3
PATIENCE = 20  # seconds that replies under way have to end


class Load:
    """Clients that chat with memories and give them documents; what was acknowledged, and what was only begun."""

    def __init__(self, server, round_number, before=None):
        self.server, self.round = server, round_number
        self.lock = threading.Lock()
        self.acknowledged = before.acknowledged if before else {}  # memory → texts
        self.begun = before.begun if before else {}
        self.kills = before.kills + 1 if before else 1
        self.first = threading.Event()

    def note(self, where, memory, text):
        with self.lock:
            where.setdefault(memory, []).append(text)

    def one(self, memory, number):
        """A turn or a document; False: the server has gone."""
        name = f"{memory}-{self.round}-{number}"
        if number % 3 == 2:
            text, path = f"Document {name}.\n" + story(60, number), f"/v1/memories/{memory}/documents"
            body = {"name": name, "text": text}
        else:
            text, path = f"Message {name}.", "/v1/chat/completions"
            body = {"memory": memory, "max_tokens": 3, "stream": number % 2 == 0, "messages": [{"role": "user", "content": text}]}
        self.note(self.begun, memory, text)
        try:
            reply = self.server.post(path, body)
        except (OSError, http.client.HTTPException):
            return False
        if reply.status not in (200, 201):
            raise AssertionError(reply.body)
        if body.get("stream") and parse_events(reply.body)[-1][1] != "[DONE]":
            return False
        self.note(self.acknowledged, memory, text)
        self.first.set()
        return True

    def run(self, memory):
        number = 0
        while self.one(memory, number):
            number += 1


class Killed(ServerTest):
    options = ("--log", "none")

    def texts(self, memory):
        turns = [message for message, answer in self.turns(memory)]
        documents = self.documents(memory)
        self.assertEqual([d["name"] for d in documents if not d["complete"] and not d["bytes"]], [])
        found = [self.get(f"/v1/memories/{memory}/documents/{d['id']}")["text"] for d in documents]
        return turns + found

    def check(self, load):
        for memory, begun in load.begun.items():
            held = [text for text in self.texts(memory) if text in begun]
            acknowledged = load.acknowledged.get(memory, [])
            self.assertEqual(len(held), len(set(held)), f"something is there twice in {memory}")
            self.assertEqual([text for text in acknowledged if text not in held], [], f"something is lost in {memory}")
            # Beyond these at most the one request that was under way at each kill.
            self.assertLessEqual(len(held) - len(acknowledged), load.kills, memory)
            self.assertTrue(self.post(f"/v1/memories/{memory}/verify")["sound"])
            self.assertEqual(self.post(f"/v1/memories/{memory}/ask", {"question": "Who?", "max_tokens": 2})["usage"]["completion_tokens"], 2)

    def test_killed_under_load(self):
        chance = random.Random(SEED)
        print(f"seed {SEED}", file=sys.stderr)
        load = None
        for number in range(ROUNDS):
            if number % 8 == 0:
                memories, load = [f"m{number}-{n}" for n in range(WRITERS)], None
            load = Load(self.server, number, load)
            with concurrent.futures.ThreadPoolExecutor(WRITERS) as pool:
                running = [pool.submit(load.run, memory) for memory in memories]
                self.assertTrue(load.first.wait(60))
                time.sleep(chance.uniform(0, 0.6))  # the moment
                self.server.kill()
                for done in running:
                    done.result()
            type(self).server = self.start(self.server.home, *self.options)
            self.check(load)
        # The same by the command that needs no server.
        self.assertEqual(self.server.terminate(), 0)
        for memory in memories:
            done = subprocess.run([PROGRAM, "session", "verify", memory], capture_output=True, text=True, timeout=120,
                                  env=plain_environment(MPLUS_HOME=self.server.home))
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        type(self).server = self.start(self.server.home, *self.options)


class Ended(ServerTest):
    def stream(self, **more):
        body = {"memory": "ended", "stream": True, "max_tokens": 200, "messages": [{"role": "user", "content": "Go on."}]}
        connection, response = self.server.begin("POST", "/v1/chat/completions", body | more)
        while not (line := response.readline()).startswith(b"data:"):
            pass
        return connection, response, line

    def tearDown(self):
        type(self).server = self.start(self.server.home)

    def test_sigterm_lets_replies_end(self):
        """What is under way ends properly, new connections are refused, the exit status is 0."""
        connection, response, first = self.stream()
        with contextlib.closing(connection):
            idle = self.server.connect()
            idle.connect()
            self.server.process.terminate()
            wait_for(self.refuses, "new connections to be refused")
            events = parse_events(first + response.read())
            idle.close()
        self.assertEqual(events[-1][1], "[DONE]")
        self.assertEqual(events[-3][1]["choices"][0]["finish_reason"], "length")
        self.assertEqual(self.server.process.wait(timeout=60), 0)
        answer = "".join(choice["delta"].get("content") or "" for _, data in events[:-1] for choice in data["choices"])
        type(self).server = self.start(self.server.home)
        self.assertEqual([(m, a.strip()) for m, a in self.turns("ended")], [("Go on.", answer.strip())])

    def refuses(self):
        try:
            self.server.get("/health")
        except OSError:
            return True
        return False

    def test_sigterm_with_nothing_to_do(self):
        self.assertEqual(self.server.get("/health").status, 200)
        self.assertEqual(self.server.terminate(timeout=15), 0)

    def test_sigterm_with_a_long_document(self):
        """A document that would take much longer than the server's patience: it is cut, and goes on later."""
        self.server.post("/v1/memories", {"name": "long"})
        body = {"name": "book.txt", "text": story(2_000_000, 1)}
        connection, response = self.server.begin("POST", "/v1/memories/long/documents", body, {"Accept": "text/event-stream"})
        while b"progress" not in response.readline():
            pass
        began = time.monotonic()
        self.server.process.terminate()
        status = self.server.process.wait(timeout=PATIENCE + 60)
        with contextlib.suppress(OSError, http.client.HTTPException):
            response.read()
        connection.close()
        self.assertEqual(status, 0)
        self.assertLess(time.monotonic() - began, PATIENCE + 20)
        type(self).server = self.start(self.server.home)
        part, = self.documents("long")
        self.assertGreater(part["tokens"], 0)
        self.assertFalse(part["complete"])
        self.assertTrue(self.post("/v1/memories/long/verify")["sound"])


if __name__ == "__main__":
    options, rest = arguments.parse_known_args()
    ROUNDS, SEED = options.rounds, options.seed
    sys.argv[1:] = rest
    main()
