"""Starts `mplus serve` on a free port, with a store of its own, and talks to it; what every test of this folder needs.

MPLUS_PROGRAM names the program, as for the tests of tests/cli. Most tests serve its tiny model, which answers noise at once;
those that want sense serve the default model. A server dies with the test that started it, however that ends.
"""
import contextlib
import ctypes
import http.client
import json
import os
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "cli"))
import tiny_model  # noqa: E402
from program import DATA, ORDINARY_USER, PROGRAM, ROOT, TIMEOUT, default_model, faults_library, plain_environment, story  # noqa: E402,F401

DELTA = ROOT / "models" / "smollm2-135m-mplus.safetensors"
LIBC = ctypes.CDLL(None)
PR_SET_PDEATHSIG = 1


class Reply:
    def __init__(self, status, headers, body):
        self.status, self.headers, self.body = status, headers, body

    @property
    def json(self):
        return json.loads(self.body)

    @property
    def error(self):
        return self.json["error"]

    def events(self):
        return parse_events(self.body)


def parse_events(body):
    """Server-sent events as (event, data); data is JSON but for `[DONE]`."""
    events = []
    for block in body.decode().split("\n\n"):
        fields = dict(line.split(": ", 1) for line in block.splitlines() if ": " in line)
        if "data" in fields:
            data = fields["data"]
            events.append((fields.get("event", ""), data if data == "[DONE]" else json.loads(data)))
    return events


class Server:
    """A running server. `model`: arguments that choose one; `home`: its store, which outlives it. `through`: a
    program that starts it; `environment`: more of that."""

    def __init__(self, model, home, *options, through=(), environment=None):
        self.home = Path(home)
        self.home.mkdir(parents=True, exist_ok=True)
        self.log = self.home.with_suffix(".log")
        self.temporary = self.home.with_suffix(".tmp")
        self.temporary.mkdir(exist_ok=True)
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen(
                [*through, PROGRAM, "serve", "--port", "0", *map(str, model), *map(str, options)], stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE, stderr=log, cwd=self.home, env=plain_environment(MPLUS_HOME=self.home, TMPDIR=self.temporary, **(environment or {})),
                preexec_fn=lambda: LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGKILL))
        self.pid = self.process.pid
        said, deadline = b"", time.monotonic() + TIMEOUT
        while b"\n" not in said:
            readable = select.select([self.process.stdout], [], [], max(0, deadline - time.monotonic()))[0]
            piece = os.read(self.process.stdout.fileno(), 4096) if readable else b""
            if not piece:
                self.kill()
                raise AssertionError(f"the server did not start: {said!r}\n{self.log_text()}")
            said += piece
        self.url = said.decode().strip().removeprefix("listening on ")
        assert self.url.startswith(("http://127.0.0.1:", "https://127.0.0.1:")), said
        self.port = int(self.url.rsplit(":", 1)[1])

    def log_text(self):
        return self.log.read_text(errors="replace")

    def kill(self):
        self.process.kill()  # does nothing to one that has ended
        self.process.wait()
        self.process.stdout.close()

    def terminate(self, timeout=60):
        """Exit status after SIGTERM."""
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(timeout=timeout)

    # -- talking to it

    def connect(self, timeout=TIMEOUT):
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=timeout)

    def begin(self, method, path, body=None, headers=None):
        """Sends a request; the connection and the reply's head, its body still unread."""
        headers = dict(headers or {})
        if isinstance(body, (dict, list)):
            body = json.dumps(body).encode()
            headers.setdefault("Content-Type", "application/json")
        connection = self.connect()
        connection.request(method, path, body, headers)
        return connection, connection.getresponse()

    def request(self, method, path, body=None, headers=None):
        connection, response = self.begin(method, path, body, headers)
        with contextlib.closing(connection):
            return Reply(response.status, response.headers, response.read())

    def get(self, path, **options):
        return self.request("GET", path, **options)

    def post(self, path, body=None, **options):
        return self.request("POST", path, {} if body is None else body, **options)

    def delete(self, path, **options):
        return self.request("DELETE", path, **options)

    def raw(self, data, timeout=TIMEOUT):
        """Sends bytes as they are; everything the server says until it closes, or `timeout`."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=timeout) as connection:
            try:
                connection.sendall(data)
            except (BrokenPipeError, ConnectionResetError):
                pass  # it has heard enough; what it said can be read still
            return read_all(connection)

    # -- what it holds, seen from outside

    def descriptors(self):
        return len(os.listdir(f"/proc/{self.pid}/fd"))

    def status(self, field):
        for line in Path(f"/proc/{self.pid}/status").read_text().splitlines():
            if line.startswith(field + ":"):
                return int(line.split()[1])
        raise KeyError(field)


def read_all(connection):
    said = b""
    while True:
        try:
            piece = connection.recv(65536)
        except (TimeoutError, ConnectionResetError):
            return said
        if not piece:
            return said
        said += piece


def wait_for(condition, what, timeout=60):
    """For what no event tells of: asks again and again."""
    deadline = time.monotonic() + timeout
    while not condition():
        if time.monotonic() > deadline:
            raise AssertionError(f"waited {timeout} s for {what}")
        time.sleep(0.02)


class ServerTest(unittest.TestCase):
    """One server for all tests of a class; each uses memories of its own."""
    options = ()

    @classmethod
    def make_model(cls):
        folder = cls.folder / "tiny"
        folder.mkdir()
        tiny_model.write(folder, DATA / "tokenizers")
        return "-m", folder / "base", "--delta", folder / "delta.safetensors", "-t", "1"

    @classmethod
    def setUpClass(cls):
        cls.folder = Path(tempfile.mkdtemp(prefix="mplus-serve-"))
        cls.addClassCleanup(shutil.rmtree, cls.folder, ignore_errors=True)
        cls.model = cls.make_model()
        cls.server = cls.start(cls.folder / "home", *cls.options)

    @classmethod
    def start(cls, home, *options, **how):
        server = Server(cls.model, home, *options, **how)
        cls.addClassCleanup(server.kill)
        return server

    def tearDown(self):
        if self.server.process.poll() is not None:
            self.fail(f"the server ended: {self.server.process.returncode}\n{self.server.log_text()[-3000:]}")

    def get(self, path, expect=200, **options):
        return self.expected(self.server.get(path, **options), expect)

    def post(self, path, body=None, expect=200, **options):
        return self.expected(self.server.post(path, body, **options), expect)

    def delete(self, path, expect=200, **options):
        return self.expected(self.server.delete(path, **options), expect)

    def expected(self, reply, status):
        self.assertEqual(reply.status, status, reply.body[:2000])
        return reply.json

    def refused(self, reply, status, param=None):
        """A reply that is an error in the documented form."""
        self.assertEqual(reply.status, status, reply.body[:2000])
        self.assertEqual(set(reply.error), {"message", "type", "code", "param"})
        self.assertTrue(reply.error["message"])
        self.assertTrue(reply.headers["x-request-id"])
        if param:
            self.assertEqual(reply.error["param"], param)
        return reply.error

    def turns(self, memory):
        return [(turn["message"], turn["answer"]) for turn in self.get(f"/v1/memories/{memory}/turns")["data"]]

    def documents(self, memory, speaker="document"):
        return [d for d in self.get(f"/v1/memories/{memory}/documents")["data"] if d["speaker"] == speaker]

    def say(self, memory, message, **more):
        body = {"memory": memory, "max_tokens": 4, "messages": [{"role": "user", "content": message}]} | more
        return self.post("/v1/chat/completions", body)


class DefaultModelTest(ServerTest):
    @classmethod
    def make_model(cls):
        return "-m", default_model(), "--delta", DELTA


def main(needs_model=False):
    if needs_model and default_model() is None:
        print("SKIPPED: no default model; run scripts/fetch_model.sh")
        sys.exit(77)
    unittest.main(verbosity=2)
