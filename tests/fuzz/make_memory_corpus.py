#!/usr/bin/env python3
"""Writes the tiny model under tests/fuzz/model and, with it, the seeds of the targets for files of a memory: real memory
files, states, segments and journals, made by the program itself.

    MPLUS_PROGRAM=build/release/cli/mplus python3 tests/fuzz/make_memory_corpus.py

Run it again after a format changes. Names of states and segments are random, so the bytes are others each time."""
import json
import os
import pathlib
import shutil
import sqlite3
import struct
import subprocess
import sys
import tempfile

here = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(here), str(here.parent / "cli")]
import make_corpus  # noqa: E402
import tiny_model  # noqa: E402

# As small as can be with everything there is: a layer without a memory, a store that overflows, a window that spills.
tiny_model.LAYERS, tiny_model.HIDDEN, tiny_model.HEADS, tiny_model.KV_HEADS, tiny_model.HEAD, tiny_model.FFN = 3, 8, 2, 1, 4, 8
tiny_model.K, tiny_model.N, tiny_model.K0, tiny_model.M, tiny_model.C, tiny_model.W = 2, 4, 2, 8, 8, 48
tiny_model.RETRIEVER, tiny_model.RANK = 2, 1
SPECIALS = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
tiny_model.VOCAB, tiny_model.SPECIAL_TOKENS = 256 + len(SPECIALS), 0

program = os.environ.get("MPLUS_PROGRAM", str(here.parents[1] / "build/release/cli/mplus"))


def write_model(folder):
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    tokenizer = {"pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": False, "use_regex": True},
                 "added_tokens": [{"id": 256 + i, "content": s, "special": True, "normalized": False}
                                  for i, s in enumerate(SPECIALS)],
                 "model": {"type": "BPE", "vocab": {c: i for i, c in enumerate(make_corpus.byte_alphabet())}, "merges": []}}
    with tempfile.TemporaryDirectory() as words:
        (pathlib.Path(words) / "tokenizer.json").write_text(json.dumps(tokenizer))
        tiny_model.write_base(folder / "base", pathlib.Path(words))
    tiny_model.write_delta(folder / "delta.safetensors", memory_layers=[1, 2])


def tensors(path):
    data = path.read_bytes()
    length, = struct.unpack("<Q", data[:8])
    header = json.loads(data[8:8 + length])
    for name, entry in header.items():
        if name != "__metadata__":
            begin, end = entry["data_offsets"]
            yield name, data[8 + length + begin:8 + length + end]


class Sessions:
    def __init__(self, folder, model):
        self.home = pathlib.Path(folder) / "home"
        self.folder = pathlib.Path(folder)
        self.model = ["-m", model / "base", "--delta", model / "delta.safetensors"]

    def run(self, *arguments, text=""):
        subprocess.run([program, *map(str, arguments)], input=text.encode(), check=True, cwd=self.folder,
                       env={**os.environ, "MPLUS_HOME": str(self.home)}, stdout=subprocess.DEVNULL)

    def remember(self, session, name, text):
        (self.folder / name).write_text(text)
        self.run("remember", name, "--session", session, *self.model)

    def chat(self, session, *lines):
        self.run("chat", "-n", "4", "--session", session, *self.model, text="".join(line + "\n" for line in lines))

    def export(self, session, file, *options):
        self.run("session", "export", session, file, *options, *self.model)

    def files(self, part):
        return sorted((self.home / part).iterdir(), key=lambda file: file.stat().st_mtime)


def write_seeds(model):
    def put(target, name, data):
        make_corpus.write(target, name, data)

    with tempfile.TemporaryDirectory() as folder:
        sessions = Sessions(folder, model)
        sessions.remember("plain", "a.txt", "Ann is 3. Bo is 4. Cy")
        sessions.export("plain", "plain.safetensors")
        sessions.remember("talk", "b.txt", "The lamp is lit. Dee lives in Oslo. Eve does not live there. ")
        sessions.chat("talk", "Hi", "Who is it?")
        sessions.remember("talk", "c.txt", "Short.")
        sessions.export("talk", "talk.safetensors")
        sessions.export("talk", "bare.safetensors", "--no-journal")
        put("memory", "plain", (sessions.folder / "plain.safetensors").read_bytes())
        put("memory", "exported", (sessions.folder / "bare.safetensors").read_bytes())
        for name in ("plain", "talk"):
            parts = dict(tensors(sessions.folder / f"{name}.safetensors"))
            ids = struct.unpack(f"<{len(parts['source_ids']) // 8}q", parts["source_ids"])
            put("journal", name, parts["journal"] + b"\xff" + bytes(i + 1 for i in ids) + b"\xff" + parts["journal.texts"])
        put("state", "state", sessions.files("states")[-1].read_bytes())
        put("segment", "segment", sessions.files("segments")[-1].read_bytes())
        database = sqlite3.connect(sessions.home / "sessions.db")
        for number, (text,) in enumerate(database.execute("SELECT text FROM sources LIMIT 2")):
            put("blob", f"text_{number}", text)
        ids, births = database.execute("SELECT ids, recalled FROM events WHERE kind = 2 ORDER BY number DESC").fetchone()
        put("blob", "ids", ids)
        put("blob", "births", births)


if __name__ == "__main__":
    write_model(here / "model")
    write_seeds(here / "model")
