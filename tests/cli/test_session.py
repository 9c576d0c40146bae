"""Sessions of the store, as a person uses them: they last, can be looked at, forked, undone, carried and made to forget."""
import contextlib
import ctypes
import ctypes.util
import json
import re
import shutil
import signal
import sqlite3
import struct
import subprocess
import time
import unittest

import tiny_model
from program import ORDINARY_USER, PROGRAM, ROOT, TinyModelTest, main, read_safetensors, story, with_metadata


class SessionTest(TinyModelTest):
    @property
    def home(self):
        return self.folder / "home"

    def session(self, *arguments, **options):
        return self.run_program("session", *arguments, **options)

    def shown(self, name="default"):
        return self.report("session", "show", name)

    def exported(self, name="default", file="exported.safetensors"):
        """Everything a session is, as tensors."""
        self.session("export", name, file, "--no-journal", *self.model)
        tensors, metadata = read_safetensors(self.folder / file)
        (self.folder / file).unlink()
        for own in ("session", "checksum.metadata"):
            metadata.pop(own)
        return tensors, metadata

    def chat(self, lines, *options, expect=0):
        return self.run_program("chat", *options, "-n", "6", *self.model, stdin="".join(f"{line}\n" for line in lines),
                                expect=expect)

    def answers(self, lines, *options):
        return [json.loads(line) for line in self.chat(lines, "--json", *options).stdout.splitlines()]


class Lasting(SessionTest):
    def test_what_was_read_is_there_for_the_next_process(self):
        self.remember(self.file("a.txt", story(400, 1)))
        self.remember(self.file("b.txt", story(1, 2)))  # waits in the window
        shown = self.shown()
        self.assertEqual(shown["documents"], 2)
        self.assertEqual([s["updates"] > 0 for s in shown["sources"]], [True, False])
        self.assertEqual(shown["events_behind_state"], 1)  # text that waits is no reason to write a state
        self.assertIn("a.txt", self.session("show", "default").stdout.decode())
        self.assertIn("default", self.session("list").stdout.decode())
        in_a_file = self.memory(story(400, 1), story(1, 2), name="m.safetensors")
        ours, _ = self.exported()
        theirs, _ = read_safetensors(in_a_file)
        for name in theirs:
            if not name.startswith("source"):
                self.assertEqual(ours[name], theirs[name], name)
        question = ("ask", "Where is the lamp?", *self.model)
        self.assertEqual(self.report(*question)["tokens"], self.report(*question, "--memory", in_a_file)["tokens"])

    def test_a_conversation_goes_on_in_another_process(self):
        messages = ["Hello.", "Where is the lamp?", story(30, 3), "And the boat?"]
        together = self.answers(messages, "--session", "one")
        apart = [self.answers([message], "--session", "two")[0] for message in messages]
        self.assertEqual([a["tokens"] for a in together], [a["tokens"] for a in apart])
        self.assertEqual(self.exported("one"), self.exported("two"))

    def test_a_conversation_killed_is_replayed_to_the_same_window(self):
        messages = ["Hello.", "Where is the lamp?", story(30, 3), "And the boat?"]
        whole = self.answers(messages, "--session", "whole")
        process = subprocess.Popen([PROGRAM, "chat", "--session", "killed", "--json", "-n", "6", *map(str, self.model)],
                                   stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                                   cwd=self.folder, env=self.environment)
        for message in messages[:3]:
            process.stdin.write(f"{message.strip()}\n".encode())
            process.stdin.flush()
            self.assertTrue(process.stdout.readline())
        process.kill()
        process.wait()
        process.stdin.close()
        process.stdout.close()
        self.assertEqual(self.shown("killed")["turns"], 3)
        last = self.answers(messages[3:], "--session", "killed")[0]
        self.assertEqual(last["tokens"], whole[3]["tokens"])
        self.assertEqual(self.exported("whole"), self.exported("killed"))

    def test_a_folder_is_read_once_and_changes_are_noticed(self):
        self.file("notes/a.md", story(100, 1))
        self.file("notes/deep/b.txt", story(120, 2))
        first = self.report("remember", self.folder / "notes", *self.model)
        self.assertEqual(len(first["documents"]), 2)
        again = self.report("remember", self.folder / "notes", *self.model)
        self.assertEqual((len(again["documents"]), len(again["unchanged"]), again["updates"]), (0, 2, 0))
        self.file("notes/a.md", story(130, 3))
        done = self.remember(self.folder / "notes")
        self.assertIn(b"has changed", done.stderr)
        self.assertEqual(self.shown()["documents"], 3)
        self.assertEqual(len(self.report("remember", self.folder / "notes", "--again", *self.model)["documents"]), 2)

    def test_interrupted_it_goes_on_where_it_stopped(self):
        text = self.file("long.txt", story(30000, 3))
        begun = time.monotonic()
        self.remember(text, "--session", "whole")
        pause = max(0.15, (time.monotonic() - begun) / 10)  # sanitizers are slow: some stops are enough
        for _ in range(200):
            process = self.start("remember", text, *self.model)
            process.stderr.readline()
            time.sleep(pause)
            process.send_signal(signal.SIGINT)
            process.communicate(timeout=120)
            if process.returncode == 0:
                break
            # Killed: the signal came when all was written and the program no longer listened, on its way out.
            self.assertIn(process.returncode, (1, -signal.SIGINT))
        self.assertEqual(process.returncode, 0, "it never came to its end")
        self.assertEqual(self.exported("whole"), self.exported("default"))
        self.assertEqual(self.shown()["events"], 1)

    def test_options_of_a_session_are_fixed(self):
        self.remember(self.file("a.txt", story(100, 1)), "--memory-dtype", "f32", "--ltm-capacity", "99")
        message = self.error("remember", self.file("b.txt", story(50)), "--memory-dtype", "bf16", *self.model)
        self.assertIn("--memory-dtype can only begin a new session", message)
        self.assertEqual((self.shown()["dtype"], self.shown()["capacity"]), ("F32", 99))
        self.remember(self.folder / "b.txt")

    def long_term_rows(self, segments):
        """How many layers have long-term rows in these, and what a row takes, its birth included."""
        layers, rows, size = set(), 0, 0
        for segment in segments:
            for name, (_, shape, data) in read_safetensors(segment)[0].items():
                layer, column = name.split(".")
                if column == "birth" or shape[0] == 0:
                    continue
                layers.add(layer)
                rows += shape[0] if column == "k" else 0
                size += len(data)
        return len(layers), size / rows + 8

    def test_small_rows(self):
        """Long-term rows in few bits: begun so, made so by a rebuild, or in a converted file."""
        text = self.file("a.txt", story(900, 1))
        sizes = {}
        for name in ("bf16", "int8", "int4"):
            before = set(self.home.glob("segments/*"))
            said = self.remember(text, "--session", name, "--memory-dtype", name).stderr.decode()
            shown = self.report("session", "show", name)
            layers, row_bytes = self.long_term_rows(set(self.home.glob("segments/*")) - before)
            rows = shown["updates"] * tiny_model.K * layers
            number, unit = re.search(r"about ([0-9.]+) (\w+) of memory", said).groups()
            told = float(number) * {"bytes": 1, "kB": 1e3, "MB": 1e6}[unit]
            self.assertAlmostEqual(told / rows, row_bytes, delta=1, msg="what it said beforehand")
            self.assertEqual(shown["dtype"], "BF16" if name == "bf16" else f"BF16/{name}")
            sizes[name] = shown["disk_bytes"]
            self.report("ask", "Where?", "--session", name, *self.model)
            self.assertIn("bit for bit", self.report("session", "verify", name, "--replay", *self.model)["replay"])
        self.remember(text)
        self.assertEqual(self.shown()["dtype"], "BF16/int8", "what a new session is begun with")
        for name in sizes:  # and one that is there keeps what it was begun with
            self.remember(self.file("b.txt", story(300, 2)), "--session", name)
            self.assertEqual(self.report("session", "show", name)["dtype"], "BF16" if name == "bf16" else f"BF16/{name}")
        self.assertLess(sizes["int8"], sizes["bf16"])
        self.assertLess(sizes["int4"], sizes["int8"])
        self.assertIn("--memory-dtype", self.error("remember", text, "--session", "int8", "--memory-dtype", "bf16", *self.model))
        self.session("rebuild", "bf16", "--memory-dtype", "int4", *self.model)
        answers = {name: self.report("ask", "Where?", "--session", name, *self.model)["text"] for name in ("bf16", "int4")}
        self.assertEqual(answers["bf16"], answers["int4"], "rebuilt, it is the memory that was begun so")

    def test_batch_writes_the_same(self):
        self.remember(self.file("a.txt", story(900, 1)), "--session", "plain")
        self.remember(self.file("a.txt", story(900, 1)), "--session", "batch", "--batch")
        self.assertEqual(self.exported("plain"), self.exported("batch"))


class Changing(SessionTest):
    def test_undo_and_fork(self):
        self.remember(self.file("a.txt", story(300, 1)))
        before = self.exported()
        self.session("fork", "default", "copy")
        self.remember(self.file("b.txt", story(200, 2)))
        self.answers(["Hello."])
        self.session("undo", "default", "-n", "2", *self.model)
        self.assertEqual(self.exported(), before)
        self.assertEqual(self.exported("copy"), before)
        self.assertIn("only 1", self.error("session", "undo", "default", "-n", "2", *self.model))
        self.session("rename", "copy", "other name")
        self.session("delete", "default")
        self.assertEqual(self.exported("other name"), before)
        self.assertEqual([s["name"] for s in self.report("session", "list")["sessions"]], ["other name"])

    def test_chat_commands(self):
        path = self.file("notes.md", story(200, 4))
        done = self.chat([f"/remember {path}", "/sources", "Where?", "/fork kept", "/undo", "/forget notes.md --exact", "/sources",
                          "/undo 9", "/forget nobody", "/fork kept"], expect=1)
        out, errors = done.stdout.decode(), done.stderr.decode()
        for text in ("notes.md", "session kept is as this one is now", "1 event taken back", "the memory without it",
                     "Nothing yet."):
            self.assertIn(text, out)
        for text in ("there are only 0", "no source", "already"):
            self.assertIn(text, errors)
        self.assertEqual(self.shown("kept")["turns"], 1)
        self.assertEqual(self.shown()["turns"], 0)

    def test_exact_forgetting_equals_never_having_read(self):
        for name, texts in (("never", (1, 3)), ("once", (1, 2, 3))):
            for seed in texts:
                self.remember(self.file(f"{seed}.txt", story(300, seed)), "--session", name)
            self.answers(["Where is the lamp?", "And the boat?"], "--session", name)
        report = self.report("session", "forget", "once", self.folder / "2.txt", "--exact", *self.model)["forgotten"][0]
        self.assertTrue(report["exact"])
        ours, theirs = self.exported("once")[0], self.exported("never")[0]
        answers = {"window.tokens", "window.k", "window.v", "source.texts", "sources"}  # given under another memory
        for name in theirs:
            if name not in answers:
                self.assertEqual(ours[name], theirs[name], name)
        self.assertIn("equal, bit for bit", self.session("verify", "once", "--replay", *self.model).stdout.decode())

    def test_turns_that_read_chunks_in_turn_replay_bit_for_bit(self):
        document = self.file("a.txt", story(900, 1))
        lines = ["Where is the lamp?", "And the boat?", "And then?"]
        no_answer, answers = "never said", {}
        for name in ("answered", "waiting", "passed"):
            delta = self.folder / f"{name}.safetensors"
            with_metadata(self.delta, delta, recall_over="everything", read_over="in-turn", no_answer=no_answer)
            self.model = ("-m", self.base, "--delta", delta, "-t", "2")
            self.remember(document, "--session", name)
            if name == "waiting":
                self.remember("--ids", "5,6,7,8", "--session", name)
            answers[name] = self.answers(lines, "--session", name)
            if name == "waiting":
                no_answer = answers["answered"][0]["text"].strip()[:4]
            self.assertIn("equal, bit for bit", self.session("verify", name, "--replay", *self.model).stdout.decode())
        self.assertEqual([a["passed"] for a in answers["answered"]], [[], [], []])
        self.assertTrue(answers["passed"][0]["passed"])
        self.assertTrue(answers["waiting"][0]["waiting"])

    def test_later_answers_that_recalled_the_source_are_listed(self):
        self.remember(self.file("a.txt", story(900, 1)))
        self.answers(["Where is the lamp?"])
        report = self.report("session", "forget", "default", self.folder / "a.txt", *self.model)["forgotten"][0]
        self.assertEqual(report["answers"], ["Where is the lamp?"])
        self.assertGreater(report["rows"], 0)

    def test_recalls_are_counted(self):
        self.remember(self.file("a.txt", story(900, 1)))
        for _ in range(3):
            self.report("ask", "Where is the lamp?", *self.model)
        self.assertEqual(self.shown()["sources"][0]["recalled_by_answers"], 3)

    def test_flush_writes_what_waits(self):
        self.remember(self.file("a.txt", story(18, 1)))
        self.session("flush", "default", *self.model)
        self.assertEqual(self.shown()["window_tokens"], 0)


class Carrying(SessionTest):
    def test_export_and_import(self):
        self.remember(self.file("a.txt", story(300, 1)))
        self.answers(["Where is the lamp?"])
        self.session("export", "default", "carried.safetensors", *self.model)
        self.session("import", "copy", "carried.safetensors", *self.model)
        self.assertEqual(self.exported("copy"), self.exported())
        self.session("undo", "copy", *self.model)
        self.session("undo", "default", *self.model)
        self.assertEqual(self.exported("copy"), self.exported())
        self.report("inspect", "carried.safetensors", "--verify")
        memory = self.memory(story(300, 2), name="m.safetensors")
        self.session("import", "plain", memory, *self.model)
        self.assertIn("imported without a journal", self.error("session", "undo", "plain", *self.model))

    def other_model(self):
        other = self.folder / "other.safetensors"
        data = bytearray(self.delta.read_bytes())
        data[-3] ^= 0x10
        other.write_bytes(data)
        return "-m", self.base, "--delta", other, "-t", "2"

    def test_another_model_is_refused_and_rebuilt_for(self):
        self.remember(self.file("a.txt", story(300, 1)))
        self.answers(["Where is the lamp?"])
        model = self.other_model()
        message = self.error("ask", "Where?", "--session", "default", *model)
        self.assertIn("session rebuild", message)
        self.session("export", "default", "carried.safetensors", *self.model)
        self.assertIn("another model", self.error("session", "import", "x", "carried.safetensors", *model))
        self.session("rebuild", "default", *model)
        self.run_program("ask", "Where?", "--session", "default", *model)
        self.run_program("session", "verify", "default", "--replay", *model)
        self.assertIn("session rebuild", self.error("ask", "Where?", "--session", "default", *self.model))

    def test_a_rebuild_that_was_stopped_goes_on(self):
        self.remember(self.file("long.txt", story(30000, 3)))
        self.answers(["Where is the lamp?"])
        self.session("fork", "default", "whole")
        before = self.exported()
        model = self.other_model()
        begun = time.monotonic()
        self.session("rebuild", "whole", *model)
        pause = max(0.3, (time.monotonic() - begun) / 5)

        def stopped():
            process = self.start("session", "rebuild", "default", *model)
            said = process.stderr.readline()
            time.sleep(pause)
            process.send_signal(signal.SIGINT)
            said += process.communicate(timeout=120)[1]
            return process.returncode, said.decode()

        code, said = stopped()
        self.assertEqual(code, 1, said)
        self.assertIn("it stays as it was", said)
        self.assertEqual(self.exported(), before)
        left = self.shown()["rebuild"]
        self.assertEqual(left["delta"], "other.safetensors")
        self.assertGreater(left["updates"], 0)
        self.assertIn(f"stopped after {left['updates']} writes, of which {left['updates']} are kept", said)
        listed = self.session("list").stdout.decode()
        self.assertIn("a rebuild with base and other.safetensors was stopped after", listed)
        self.assertEqual([s["name"] for s in self.report("session", "list")["sessions"]], ["default", "whole"])
        self.session("verify")
        self.assertIn("`mplus session rebuild 'default' --drop`", self.error("session", "rebuild", "default", *self.model))
        for _ in range(200):
            code, said = stopped()
            self.assertIn("it goes on there", said)
            if code == 0:
                break
        self.assertEqual(code, 0, "it never came to its end")
        self.assertIsNone(self.shown()["rebuild"])
        self.assertEqual(self.exported_with(model, "default"), self.exported_with(model, "whole"))
        self.run_program("session", "verify", "default", "--replay", *model)

    def exported_with(self, model, name):
        self.model, own = model, self.model
        try:
            return self.exported(name)
        finally:
            self.model = own

    def test_what_a_stopped_rebuild_left_can_be_dropped(self):
        self.remember(self.file("long.txt", story(30000, 3)))
        size = self.disk()
        process = self.start("session", "rebuild", "default", *self.other_model())
        process.stderr.readline()
        while self.disk() == size and process.poll() is None:  # until something is kept
            time.sleep(0.01)
        process.send_signal(signal.SIGINT)
        self.assertEqual(process.wait(120), 1)
        process.communicate()
        self.assertGreater(self.disk(), size)
        self.assertIn("of a rebuild that was stopped are gone", self.session("rebuild", "default", "--drop").stdout.decode())
        self.assertEqual(self.disk(), size)
        self.assertIn("no rebuild of it was stopped", self.session("rebuild", "default", "--drop").stdout.decode())
        self.session("verify", "default", "--replay", *self.model)

    def disk(self):
        sizes = 0
        for path in (p for part in ("states", "segments") for p in (self.home / part).iterdir()):
            with contextlib.suppress(FileNotFoundError):  # a file on its way may be renamed meanwhile
                sizes += path.stat().st_size
        return sizes


class LastingInOneLayer(Lasting):
    """The same with a delta that keeps a memory in the second of its two layers only."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        tiny_model.write_delta(cls.delta, memory_layers=[1])

    def test_only_that_layer_holds_anything(self):
        self.assertEqual(self.report("inspect", self.delta)["memory_layers"], "1")
        memory = self.memory(story(900, 1))
        tensors, metadata = read_safetensors(memory)
        for kind in ("short_term", "long_term"):
            self.assertEqual([tensors[f"{kind}.{layer}.birth"][1][0] > 0 for layer in (0, 1)], [False, True])
        self.assertEqual(tensors["tail"][1], (1, 8, 32))
        self.assertTrue(metadata["shape_id"].find("-m1-") > 0, metadata["shape_id"])
        info = self.report("inspect", memory)
        self.assertEqual(info["short_term_rows"], 32)
        self.assertEqual(info["long_term_rows"], tensors["long_term.1.birth"][1][0])
        why = self.report("ask", "Where is the lamp?", "--memory", memory, "--why", *self.model)["why"]
        self.assertEqual({len(chunk["layer_votes"]) for chunk in why}, {1})
        self.assertAlmostEqual(sum(chunk["weight"] for chunk in why), 1)

    def test_a_memory_in_all_layers_is_another_shape(self):
        everywhere = self.folder / "everywhere.safetensors"
        tiny_model.write_delta(everywhere)
        model = ("-m", self.base, "--delta", everywhere, "-t", "2")
        memory = self.memory(story(300, 1))
        self.assertIn("shape", self.error("ask", "Where?", "--memory", memory, *model))
        self.run_program("remember", self.file("b.txt", story(300, 1)), "--memory", "all.safetensors", *model)
        self.assertIn("shape", self.error("ask", "Where?", "--memory", "all.safetensors", *self.model))
        size = [(self.folder / name).stat().st_size for name in (memory.name, "all.safetensors")]
        self.assertLess(size[0], 0.7 * size[1])

    def test_rows_where_none_belong_are_refused(self):
        """As a file may say that is damaged, or made on purpose."""
        memory = self.memory(story(300, 1))
        tensors, metadata = read_safetensors(memory)
        for column in ("k", "v", "key", "birth"):
            tensors[f"short_term.0.{column}"] = tensors[f"short_term.1.{column}"]
            metadata[f"checksum.short_term.0.{column}"] = metadata[f"checksum.short_term.1.{column}"]
        metadata.pop("checksum.metadata")  # as older programs wrote it
        tiny_model.write_safetensors(memory, tensors, metadata)
        self.assertIn("at most 0 expected", self.error("ask", "Where?", "--memory", memory, *self.model))

    def test_other_layouts_say_that_they_have_no_place_for_it(self):
        message = self.error("convert", self.base, "pub", "--to", "published", "--delta", self.delta)
        self.assertIn("layers 1 only", message)
        three = self.folder / "three.safetensors"
        with_metadata(self.delta, three, memory_layers="1,5")
        message = self.error("ask", "Where?", "-m", self.base, "--delta", three)
        self.assertIn("layers 1,5; the model has 2 layers", message)


class Zstd:
    """Decompression by the library the program uses itself."""

    def __init__(self):
        self.library = ctypes.CDLL(ctypes.util.find_library("zstd") or "libzstd.so.1")
        self.library.ZSTD_decompress.restype = ctypes.c_size_t
        self.library.ZSTD_getFrameContentSize.restype = ctypes.c_ulonglong

    def decompress(self, data):
        size = self.library.ZSTD_getFrameContentSize(data, ctypes.c_size_t(len(data)))
        if size >= 1 << 40:
            return b""
        out = ctypes.create_string_buffer(size or 1)
        got = self.library.ZSTD_decompress(out, ctypes.c_size_t(size), data, ctypes.c_size_t(len(data)))
        return out.raw[:size] if got == size else b""


class Searching(SessionTest):
    """Looks for a secret in all that is on disk."""
    SECRET = "Zanzibar marmalade is kept behind the seventh lantern. "

    def everything(self):
        """All bytes of the store, and all blobs of the database unpacked."""
        found = [p.read_bytes() for p in self.home.rglob("*") if p.is_file() and "cache" not in p.parts]
        zstd = Zstd()
        with sqlite3.connect(f"file:{self.home}/sessions.db?mode=ro", uri=True) as database:
            for (table,) in database.execute("SELECT name FROM sqlite_schema WHERE type = 'table'").fetchall():
                for row in database.execute(f'SELECT * FROM "{table}"'):
                    for value in row:
                        if isinstance(value, bytes):
                            found += [value, zstd.decompress(value)]
                        else:
                            found.append(str(value).encode())
        database.close()
        return found

    def found(self, needles):
        haystack = self.everything()
        return {name for name, needle in needles.items() if any(needle in hay for hay in haystack)}


def births_of(tensor):
    """As integers, or (small rows) as differences of seven bits a byte."""
    kind, _, data = tensor
    if kind != "U8":
        return struct.unpack(f"<{len(data) // 8}q", data)
    births, value, shift, birth = [], 0, 0, 0
    for byte in data:
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            birth += -((value + 1) // 2) if value % 2 else value // 2
            births.append(birth)
            value, shift = 0, 0
    return births


class Forgetting(Searching):
    vocabulary = tiny_model.VOCAB

    def rows_of_source(self, source):
        """Keys and values of the chunks a source was written in, as they lie in the files."""
        state = max((self.home / "states").iterdir(), key=lambda p: p.stat().st_mtime)
        tensors, _ = read_safetensors(state)
        integers = lambda t: struct.unpack(f"<{len(t[2]) // 8}q", t[2])
        ids, spans, ends = (integers(tensors[n]) for n in ("source_ids", "update.spans", "update.ends"))
        chunks, begin = set(), 0
        for update, end in enumerate(ends):
            if any(ids[spans[5 * i]] == source for i in range(begin, end)):
                chunks.add(update)
            begin = end
        rows = set()
        files = [(state, "short_term.")] + [(p, "") for p in (self.home / "segments").iterdir()]
        for path, prefix in files:
            tensors, _ = read_safetensors(path)
            for layer in range(2):
                births = births_of(tensors[f"{prefix}{layer}.birth"])
                for column in ("k", "v"):
                    data = tensors[f"{prefix}{layer}.{column}"][2]
                    width = len(data) // max(1, len(births))
                    rows |= {data[i * width:(i + 1) * width] for i, b in enumerate(births) if b // 8 in chunks}
        return rows

    def forget_and_search(self, exact):
        secret = self.file("secret plans.txt", self.SECRET * 12)
        ids = [4000 + 7 * i for i in range(90)]
        self.remember(self.file("a.txt", story(300, 1)))
        self.remember(secret)
        self.run_program("remember", "--ids", ",".join(map(str, ids)), *self.model)
        self.remember(self.file("b.txt", story(400, 2)))
        shown = self.shown()
        by_name = {s["name"]: s["id"] for s in shown["sources"]}
        rows = self.rows_of_source(by_name[str(secret)]) | self.rows_of_source(by_name["token ids"])
        self.assertGreater(len(rows), 20)
        with sqlite3.connect(f"file:{self.home}/sessions.db?mode=ro", uri=True) as database:
            hashes = dict(database.execute("SELECT id, sha256 FROM sources").fetchall())
        database.close()
        needles = {"text": self.SECRET.encode(), "name": b"secret plans", "hash": hashes[by_name[str(secret)]].encode(),
                   "ids": struct.pack("<8i", *ids[20:28]), "hash of ids": hashes[by_name["token ids"]].encode()}
        needles |= {f"row {i}": row for i, row in enumerate(sorted(rows))}
        self.assertEqual(self.found(needles), set(needles), "the search must find them before")
        flags = ["--exact"] if exact else []
        self.session("forget", "default", secret, *flags, *self.model)
        self.session("forget", "default", "token ids", *flags, *self.model)
        left = self.found(needles)
        self.assertEqual(left, set())
        self.session("verify", "default")
        self.remember(self.file("c.txt", story(100, 3)))

    def test_at_once(self):
        self.forget_and_search(False)

    def test_exactly(self):
        self.forget_and_search(True)

    def test_in_a_chunk_with_others(self):
        self.remember(self.file("a.txt", story(300, 1)))
        notes = [self.file(f"{i}.txt", story(3, i)) for i in range(4)] + [self.file("secret plans.txt", "Zanzibar marmalade")]
        self.remember(*notes, "--flush")
        self.remember(self.file("b.txt", story(400, 2)))
        by_name = {s["name"]: s for s in self.shown()["sources"]}
        self.assertEqual({by_name[str(note)]["first_birth"] for note in notes}, {by_name[str(notes[0])]["first_birth"]})
        rows = self.rows_of_source(by_name[str(notes[-1])]["id"])
        needles = {"text": b"Zanzibar marmalade", "name": b"secret plans"} | {f"row {i}": r for i, r in enumerate(sorted(rows))}
        self.assertGreater(len(rows), 5)
        self.assertEqual(self.found(needles), set(needles), "the search must find them before")
        self.session("forget", "default", notes[-1], *self.model)
        self.assertEqual(self.found(needles), set())
        self.assertEqual(len(self.rows_of_source(by_name[str(notes[0])]["id"])), len(rows), "as many are in their place")

    def test_everywhere(self):
        secret = self.file("secret plans.txt", self.SECRET * 12)
        self.remember(secret)
        self.session("fork", "default", "copy")
        done = self.session("forget", "default", secret, *self.model)
        self.assertIn(b"still held by   session copy", done.stdout)
        self.assertEqual(self.found({"text": self.SECRET.encode()}), {"text"})
        self.session("forget", "copy", secret, "--everywhere", *self.model)
        self.assertEqual(self.found({"text": self.SECRET.encode(), "name": b"secret plans"}), set())


class Mistakes(SessionTest):
    def test_unknown_and_odd_names(self):
        self.remember(self.file("a.txt", story(100, 1)))
        for arguments in (("show", "x"), ("fork", "x", "y"), ("delete", "x"), ("rename", "x", "y"), ("verify", "x"),
                          ("undo", "x", *self.model), ("forget", "x", "y", *self.model), ("export", "x", "y", *self.model)):
            self.assertIn('there is none of that name', self.error("session", *arguments), arguments)
        self.assertIn("default", self.error("session", "show", "x"))
        for name in ("", "a\nb", "x" * 300):
            self.assertIn("session name", self.error("session", "fork", "default", name))
        for name in ("../../etc", "ünï 🙂", "a b'\"; --"):
            self.session("fork", "default", name)
            self.session("verify", name)
            self.session("delete", name)
        self.assertFalse((self.folder / "etc").exists())

    def test_no_session_is_called_none(self):
        """`--session none` means no session at all, so none of that name could be asked."""
        self.remember(self.file("a.txt", story(100, 1)))
        self.session("export", "default", "carried.safetensors", *self.model)
        for arguments in (("fork", "default", "none"), ("rename", "default", "none"),
                          ("import", "none", "carried.safetensors", *self.model)):
            self.assertIn("--session none", self.error("session", *arguments), arguments)
        self.assertIn("--session none", self.chat(["/fork none"], expect=1).stderr.decode())
        self.assertEqual([s["name"] for s in self.report("session", "list")["sessions"]], ["default"])
        # One that an earlier version made can be given another name.
        shutil.rmtree(self.home)
        shutil.copytree(ROOT / "tests/data/store_v1", self.home)
        database = sqlite3.connect(self.home / "sessions.db")
        database.execute("UPDATE sessions SET name = 'none'")
        database.commit()
        database.close()
        self.session("rename", "none", "found again")
        self.assertEqual([s["name"] for s in self.report("session", "list")["sessions"]], ["found again"])

    def test_one_writer(self):
        process = self.start("remember", self.file("long.txt", story(600000, 3)), *self.model)
        process.stderr.readline()
        self.addCleanup(process.communicate)
        self.addCleanup(process.kill)
        message = self.error("remember", self.file("b.txt", story(50)), *self.model)
        self.assertIn(f"being written by process {process.pid} (mplus remember)", message)
        self.assertIn("being written by", self.session("list").stdout.decode())
        self.report("ask", "Where?", *self.model)  # reading never waits
        self.assertIn("being written", self.error("session", "delete", "default"))
        process.kill()
        process.wait()
        self.remember(self.folder / "b.txt")  # the lock died with its holder

    def test_renamed_while_it_is_written(self):
        process = self.start("remember", self.file("long.txt", story(30000, 3)), *self.model)
        process.stderr.readline()
        self.session("rename", "default", "other")
        self.assertIsNone(process.poll(), "it wrote all the time")
        said = process.communicate()[1]
        self.assertEqual(process.returncode, 0, said)
        self.assertEqual(len(self.shown("other")["sources"]), 1)
        self.session("verify", "other")

    @unittest.skipIf(ORDINARY_USER is None, "runs as root, and setpriv cannot take root's power over files away")
    def test_read_only_folder(self):
        self.remember(self.file("a.txt", story(100, 1)))
        before = self.exported()
        self.home.chmod(0o500)
        try:
            message = self.error("remember", self.file("b.txt", story(50)), *self.model, through=ORDINARY_USER)
        finally:
            self.home.chmod(0o700)
        self.assertIn(str(self.home), message)
        self.assertIn("writ", message)
        self.assertEqual(self.exported(), before)
        self.session("verify", "default")

    def test_a_store_that_is_no_folder(self):
        self.file("home", b"not a folder")
        self.assertIn("cannot make the folder", self.error("remember", self.file("a.txt", story(50)), *self.model))

    def test_newer_and_foreign_databases(self):
        self.remember(self.file("a.txt", story(100, 1)))
        database = sqlite3.connect(self.home / "sessions.db")
        database.execute("PRAGMA user_version = 7")
        database.commit()
        database.close()
        self.assertIn("version 7", self.error("session", "list"))
        shutil.rmtree(self.home)
        self.home.mkdir()
        database = sqlite3.connect(self.home / "sessions.db")
        database.execute("CREATE TABLE mine (x)")
        database.commit()
        database.close()
        self.assertIn("not of a session store", self.error("session", "list"))

    def test_damage_is_found_and_named(self):
        self.remember(self.file("a.txt", story(900, 1)))
        segment = next((self.home / "segments").iterdir())
        data = bytearray(segment.read_bytes())
        data[-7] ^= 1
        segment.write_bytes(data)
        done = self.session("verify", expect=1)
        self.assertIn(segment.name.encode(), done.stdout)
        self.assertIn(b"nothing is lost", done.stdout)
        self.session("rebuild", "default", *self.model)
        self.session("verify")


if __name__ == "__main__":
    main()
