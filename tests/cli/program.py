"""Runs the real program; what every test of this folder needs.

MPLUS_PROGRAM names the program. A test works in a folder of its own, with MPLUS_HOME and every other MPLUS_… variable
out of the way.
"""
import atexit
import json
import os
import pty
import select
import shutil
import struct
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

import tiny_model

ROOT = Path(__file__).resolve().parents[2]
DATA = ROOT / "tests" / "data"
PROGRAM = os.environ.get("MPLUS_PROGRAM", str(ROOT / "build/release/cli/mplus"))
TIMEOUT = 240  # generous: sanitizer builds on a busy machine


def plain_environment(**more):
    environment = {k: v for k, v in os.environ.items() if not k.startswith("MPLUS_") and k != "NO_COLOR"}
    return environment | {"LC_ALL": "C.UTF-8"} | {k: str(v) for k, v in more.items()}


def ordinary_user():
    """What to run a program through so that permissions of files bind it; None: root, and nothing takes its power away."""
    if os.geteuid() != 0:
        return ()
    drop = ("setpriv", "--bounding-set=-dac_override,-dac_read_search")
    allowed = shutil.which(drop[0]) and subprocess.run([*drop, "true"], capture_output=True).returncode == 0
    return drop if allowed else None


ORDINARY_USER = ordinary_user()


def faults_library():
    """The library of faults.cpp that MPLUS_FAULTS names, by a path without blanks, at which LD_PRELOAD would cut it."""
    named = os.environ.get("MPLUS_FAULTS", "")
    if " " not in named:
        return named
    folder = tempfile.mkdtemp(prefix="mplus-faults-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    link = os.path.join(folder, "faults.so")
    os.symlink(named, link)
    return link


class ProgramTest(unittest.TestCase):
    def setUp(self):
        self.folder = Path(tempfile.mkdtemp(prefix="mplus-cli-"))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        self.environment = plain_environment(MPLUS_HOME=self.folder / "home")

    def run_program(self, *arguments, expect=0, stdin=b"", **options):
        """Runs to the end. A signal's death, a wrong exit code or an escape byte in a pipe is a failure."""
        if isinstance(stdin, str):
            stdin = stdin.encode()
        done = subprocess.run([*options.pop("through", ()), PROGRAM, *map(str, arguments)], input=stdin,
                              capture_output=True, timeout=TIMEOUT, cwd=self.folder,
                              env=options.pop("env", self.environment), **options)
        said = f"mplus {' '.join(map(str, arguments))[:300]}\n{done.stdout[-2000:]}\n{done.stderr[-2000:]}"
        self.assertGreaterEqual(done.returncode, 0, said)
        if expect is not None:
            self.assertEqual(done.returncode, expect, said)
        if done.returncode not in (0, None):
            self.assertIn(b"mplus: ", done.stderr, said)
            self.assertNotIn(b"terminate called", done.stderr, said)
        self.assertNotIn(b"\x1b", done.stdout + done.stderr, said)
        return done

    def report(self, *arguments, **options):
        """The one JSON object a command reports."""
        done = self.run_program(*arguments, "--json", **options)
        return json.loads(done.stdout)

    def error(self, *arguments, expect=1, **options):
        return self.run_program(*arguments, expect=expect, **options).stderr.decode()

    def start(self, *arguments, **options):
        return subprocess.Popen([PROGRAM, *map(str, arguments)], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, cwd=self.folder, env=self.environment, **options)

    def file(self, name, content):
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path


class TinyModelTest(ProgramTest):
    """With a model of a few thousand weights that has SmolLM2's commonest words: fast, and it remembers."""
    vocabulary = tiny_model.FEW

    @classmethod
    def setUpClass(cls):
        cls.shared = Path(tempfile.mkdtemp(prefix="mplus-tiny-"))
        cls.addClassCleanup(shutil.rmtree, cls.shared, ignore_errors=True)
        tiny_model.write(cls.shared, DATA / "tokenizers", cls.vocabulary)
        cls.base = cls.shared / "base"
        cls.delta = cls.shared / "delta.safetensors"
        cls.model = ("-m", cls.base, "--delta", cls.delta, "-t", "2")

    def remember(self, *arguments, **options):
        return self.run_program("remember", *arguments, *self.model, **options)

    def memory(self, *texts, name="memory.safetensors", dtype=None):
        """A memory file that has read these texts."""
        begun = ("--memory-dtype", dtype) if dtype else ()
        for number, text in enumerate(texts):
            self.remember(self.file(f"text{number}.txt", text), "--memory", name, *begun)
        return self.folder / name


def story(words, seed=0):
    """Text of so many words, different for every seed."""
    names = ["lamp", "harbour", "Ingrid", "winter", "stone", "seven", "letter", "boat", "night", "key", "north", "bread"]
    state, out = seed * 7919 + 1, []
    for _ in range(words):
        state = (state * 1103515245 + 12345) % (1 << 31)
        out.append(names[(state >> 16) % len(names)])
    return " ".join(out) + ".\n"


def read_safetensors(path):
    """name → (dtype, shape, bytes), and the metadata."""
    data = Path(path).read_bytes()
    (size,) = struct.unpack("<Q", data[:8])
    header = json.loads(data[8:8 + size])
    metadata = header.pop("__metadata__", {})
    body = data[8 + size:]
    return {name: (t["dtype"], tuple(t["shape"]), body[slice(*t["data_offsets"])]) for name, t in header.items()}, metadata


def with_metadata(source, target, **fields):
    """A copy of a safetensors file whose metadata has these fields as well."""
    data = Path(source).read_bytes()
    (size,) = struct.unpack("<Q", data[:8])
    header = json.loads(data[8:8 + size])
    header["__metadata__"] |= fields
    header["__metadata__"].pop("checksum.metadata", None)  # as older programs write it
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    Path(target).write_bytes(struct.pack("<Q", len(text)) + text + data[8 + size:])


def run_on_terminal(arguments, environment, folder, stop_when=None):
    """Runs with standard output and standard error on a pseudo-terminal; what appeared there, and the exit code."""
    controller, terminal = pty.openpty()
    process = subprocess.Popen([PROGRAM, *map(str, arguments)], stdin=subprocess.DEVNULL, stdout=terminal, stderr=terminal,
                               cwd=folder, env=environment, start_new_session=True)
    os.close(terminal)
    shown, deadline = b"", time.monotonic() + TIMEOUT
    try:
        while time.monotonic() < deadline:
            if not select.select([controller], [], [], 1)[0]:
                continue
            try:
                piece = os.read(controller, 65536)
            except OSError:  # the terminal's last user is gone
                break
            if not piece:
                break
            shown += piece
            if stop_when and stop_when in shown:
                process.terminate()
                stop_when = None
        return shown, process.wait(timeout=TIMEOUT)
    finally:
        os.close(controller)
        if process.poll() is None:
            process.kill()
            process.wait()


def default_model():
    """The default base model, or None. With CI=true it must be there."""
    home = os.environ.get("MPLUS_HOME") or os.path.join(
        os.environ.get("XDG_DATA_HOME") or os.path.expanduser("~/.local/share"), "mplus")
    path = Path(os.environ.get("MPLUS_MODEL") or Path(home) / "models" / "SmolLM2-135M-Instruct.Q4_1.gguf")
    if path.exists():
        return path
    if os.environ.get("CI") == "true":
        sys.exit(f"no model at {path}; run scripts/fetch_model.sh")
    return None


def main(needs_model=False):
    if needs_model and default_model() is None:
        print("SKIPPED: no default model; run scripts/fetch_model.sh")
        sys.exit(77)
    unittest.main(verbosity=2)
