"""Standard output or standard error closed, full, or a pipe nobody reads any more, in every command: nothing aborts, the
work is done all the same, and what could not be said shows in the exit code."""
import json
import os
import re
import shutil
import socket
import sqlite3
import subprocess
import time
import urllib.request

from program import PROGRAM, ROOT, TIMEOUT, main, story
from test_eval import questions
from test_session import SessionTest

STREAMS = ("stdout", "stderr")
TROUBLES = ("closed", "full", "broken")


def trouble_for(stream, trouble):
    """What to run the program through, and what subprocess gets for the stream."""
    if trouble == "closed":
        return ("sh", "-c", f'exec "$@" {dict(stdout=1, stderr=2)[stream]}>&-', "sh"), None
    if trouble == "full":
        return (), os.open("/dev/full", os.O_WRONLY)
    reading, writing = os.pipe()
    os.close(reading)
    return (), writing


class Output(SessionTest):
    def prepare(self):
        for number in range(2):
            self.remember(self.file(f"{number}.txt", story(60, number)), "--session", "s", "--memory-dtype", "bf16")
        self.answers(["Where is the lamp?"], "--session", "s")
        self.session("export", "s", "carried.safetensors", *self.model)
        self.file("new.txt", story(70, 5))
        self.file("questions.jsonl", questions(4))
        self.file("books.jsonl", json.dumps({"title": "b", "text": story(600, 1)}) + "\n")
        self.prepared = self.folder.with_name(self.folder.name + "-prepared")
        self.addCleanup(shutil.rmtree, self.prepared)
        shutil.copytree(self.folder, self.prepared)

    def restore(self):
        for entry in self.folder.iterdir():
            shutil.rmtree(entry) if entry.is_dir() else entry.unlink()
        shutil.copytree(self.prepared, self.folder, dirs_exist_ok=True)

    # Arguments, standard input, and whether all goes well.
    def commands(self):
        model, in_s = self.model, ("--session", "s", *self.model)
        yield ("--help",), "", 0
        yield ("--version",), "", 0
        yield ("session", "--help"), "", 0
        yield ("remember", "new.txt", *in_s), "", 0
        yield ("remember", "new.txt", "--flush", "--json", *in_s), "", 0
        yield ("remember", "new.txt", "--memory", "m.safetensors", *model), "", 0
        yield ("ask", "Where is the lamp?", "-n", "4", "--why", *in_s), "", 0
        yield ("ask", "Where?", "When?", "-n", "4", "--json", *in_s), "", 0
        yield ("chat", "-n", "4", *in_s), "Hello.\n", 0
        yield ("chat", "-n", "4", "--json", *in_s), "Hello.\n", 0
        yield ("chat", *in_s), "/remember new.txt\n/nonsense\n", 0
        yield ("chat", "--memory", "m.safetensors", *model), "/remember new.txt\n", 0
        yield ("chat", *in_s), "/flush\n", 0
        yield ("chat", *in_s), "/undo\n", 0
        yield ("generate", "The lamp", "-n", "4", *model), "", 0
        yield ("score", "new.txt", "-m", self.base), "", 0
        yield ("inspect", "carried.safetensors", "--sources"), "", 0
        yield ("convert", "carried.safetensors", "f32.safetensors", "--to", "memory", "--dtype", "f32"), "", 0
        yield ("model", "list"), "", 0
        yield ("bench", "--prompt-tokens", "4", "--decode-tokens", "2", "--chunks", "2", "--recall-rows", "64",
               "--store-blocks", "0", "--question-tokens", "4", "--repetitions", "2", *model), "", 0
        yield ("eval", "retention", "--data", "questions.jsonl", "--distractors", "books.jsonl", "--samples", "2", "--distances",
               "4", "--columns", "closed-book", "--report", "report", *model), "", 0
        yield ("session", "list"), "", 0
        yield ("session", "show", "s"), "", 0
        yield ("session", "fork", "s", "t"), "", 0
        yield ("session", "rename", "s", "t"), "", 0
        yield ("session", "forget", "s", "#1", *model), "", 0
        yield ("session", "undo", "s", *model), "", 0
        yield ("session", "flush", "s", *model), "", 0
        yield ("session", "export", "s", "again.safetensors", *model), "", 0
        yield ("session", "import", "t", "carried.safetensors", *model), "", 0
        yield ("session", "rebuild", "s", *model), "", 0
        yield ("session", "rebuild", "s", "--drop"), "", 0
        yield ("session", "undo", "s", "--purge", *model), "", 0
        yield ("session", "purge", "s"), "", 0
        yield ("session", "backup", "copy"), "", 0
        yield ("session", "set-aside"), "", 0
        yield ("session", "verify", "s", "--replay", *model), "", 0
        yield ("session", "delete", "s"), "", 0
        yield ("session", "show", "nobody"), "", 1  # what goes wrong is an exit code, heard or not
        yield ("remember", "new.txt", "missing.txt", *in_s), "", 1
        yield ("ask", "--nonsense"), "", 2

    def state(self):
        """What the store and the folder hold, but for sizes and times."""
        database = sqlite3.connect(self.home / "sessions.db")
        events = database.execute(
            "SELECT name, kind, complete, count(events.number) FROM sessions LEFT JOIN events ON session = sessions.id AND undone_by IS "
            "NULL AND forgotten = 0 WHERE ready = 1 GROUP BY name, kind, complete ORDER BY name, kind, complete").fetchall()
        database.close()
        return events, sorted(p.name for p in self.folder.iterdir())

    def troubled(self, stream, trouble, arguments, stdin):
        through, target = trouble_for(stream, trouble)
        streams = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE} | ({} if target is None else {stream: target})
        try:
            return subprocess.run([*through, PROGRAM, *map(str, arguments)], input=stdin.encode(), timeout=TIMEOUT,
                                  cwd=self.folder, env=self.environment, **streams)
        finally:
            if target is not None:
                os.close(target)

    def test_every_command_with_every_trouble(self):
        self.prepare()
        for arguments, stdin, code in self.commands():
            self.restore()
            self.run_program(*arguments, stdin=stdin, expect=code)
            good = self.state()
            for stream in STREAMS:
                for trouble in TROUBLES:
                    with self.subTest(" ".join(map(str, arguments))[:60], stream=stream, trouble=trouble):
                        self.restore()
                        done = self.troubled(stream, trouble, arguments, stdin)
                        said = (done.stdout or b"") + (done.stderr or b"")
                        self.assertNotIn(b"terminate called", said)
                        self.assertEqual(self.state(), good, said)
                        lost = stream == "stdout" and code == 0
                        self.assertEqual(done.returncode, 1 if lost else code, said)
                        if lost and trouble == "broken":
                            self.assertNotIn(b"mplus: ", done.stderr, "a reader that has read enough is no failure to speak of")
                        elif lost:
                            self.assertIn(b"mplus: standard output: cannot write", done.stderr)

    def started(self, stream, trouble, *arguments):
        through, target = trouble_for(stream, trouble)
        streams = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE} | ({} if target is None else {stream: target})
        try:
            process = subprocess.Popen([*through, PROGRAM, *map(str, arguments)], stdin=subprocess.PIPE, cwd=self.folder,
                                       env=self.environment, **streams)
        finally:
            if target is not None:
                os.close(target)
        self.addCleanup(process.kill)
        return process

    def test_a_server_goes_on(self):
        for stream in STREAMS:
            for trouble in TROUBLES:
                with self.subTest(stream=stream, trouble=trouble), socket.socket() as free:
                    free.bind(("127.0.0.1", 0))
                    port = free.getsockname()[1]
                    free.close()
                    process = self.started(stream, trouble, "serve", "--port", port, *self.model)
                    until = time.monotonic() + TIMEOUT
                    answered = None
                    while answered is None and process.poll() is None and time.monotonic() < until:
                        try:
                            with urllib.request.urlopen(f"http://127.0.0.1:{port}/v1/models", timeout=TIMEOUT) as reply:
                                answered = reply.status
                        except OSError:  # it does not listen yet
                            time.sleep(0.05)
                    process.terminate()
                    said = b"".join(part or b"" for part in process.communicate(timeout=TIMEOUT))
                    self.assertEqual((answered, process.returncode), (200, 1 if stream == "stdout" else 0), said)

    def test_an_assistant_that_has_gone(self):
        request = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "ping"}) + "\n"
        for stream in STREAMS:
            for trouble in TROUBLES:
                with self.subTest(stream=stream, trouble=trouble):
                    process = self.started(stream, trouble, "mcp", *self.model)
                    said = b"".join(part or b"" for part in process.communicate(request.encode(), timeout=TIMEOUT))
                    self.assertEqual(process.returncode, 1 if stream == "stdout" else 0, said)
                    self.assertNotIn(b"terminate called", said)

    def test_a_closed_stream_is_not_lent_to_a_file(self):
        """The next file that is opened would get the number of the closed stream, and then what is printed."""
        self.prepare()
        for closed in (">&-", "2>&-", ">&- 2>&-", "<&- >&- 2>&-"):
            with self.subTest(closed):
                self.restore()
                subprocess.run(["sh", "-c", f'exec "$@" {closed}', "sh", PROGRAM, "remember", "0.txt", "--again", "--session",
                                "s", *map(str, self.model)], cwd=self.folder, env=self.environment, timeout=TIMEOUT)
                self.session("verify", "s", "--replay", *self.model)
                self.assertEqual(self.shown("s")["documents"], 3)

    def test_one_place_prints(self):
        """Whatever else printed could throw, or write into a stream that is closed."""
        prints = re.compile(r"fmt::print|std::cout|std::cerr|\bf?printf\(|\bf?puts\(|\bfwrite\(|STD(OUT|ERR)_FILENO")
        allowed = {"cli/output/terminal.cpp", "cli/child_process.cpp", "core/files/standard_streams.cpp", "core/error.cpp",
                   "core/gnuplot.cpp", "documents/limited_child.cpp", "kernels/bench/cuda_bench.cpp"}
        for source in sorted((ROOT / "mplus").rglob("*.[ch]*")):
            place = source.relative_to(ROOT / "mplus")
            if str(place) in allowed or place.parts[0] == "train" or place.parts[:2] == ("cli", "golden"):
                continue
            for number, line in enumerate(source.read_text().splitlines(), 1):
                self.assertIsNone(prints.search(line.split("//")[0]), f"{place}:{number}: {line}")


if __name__ == "__main__":
    main()
