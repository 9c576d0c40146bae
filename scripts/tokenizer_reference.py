#!/usr/bin/env python3
"""Compares our tokenizer with PyPI's `tokenizers`, id for id, on well over a megabyte of mixed text.

    tokenizer_reference.py --program PROGRAM --work FOLDER [--variants] TOKENIZER.json[.xz] | MODEL.gguf …

PROGRAM is the test program tokenizer_reference; FOLDER takes the texts, the ids and, where the wanted version of
`tokenizers` cannot be imported, a virtual environment with it. The text is made here and always the same. Of a GGUF
(Qwen2's way of cutting text) a tokenizer.json is made from its tables, and PROGRAM is run on both. Exit status: 0 all equal, 1 a difference, 77 could not compare (1 instead when CI=true).
"""
import argparse
import json
import lzma
import os
import pathlib
import random
import struct
import subprocess
import sys
import unicodedata
import venv

PACKAGE = "tokenizers==0.23.3"
LEAST_BYTES = 1_000_000
QWEN2 = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|"
         r"\s+(?!\S)|\s+")

# First and last letter of scripts, a few words' worth of text each.
SCRIPTS = {
    "Latin": (0x61, 0x7A), "Latin capitals": (0x41, 0x5A), "Latin accents": (0xC0, 0x17F), "Greek": (0x391, 0x3C9),
    "Cyrillic": (0x410, 0x44F), "Armenian": (0x561, 0x586), "Hebrew": (0x5D0, 0x5EA), "Arabic": (0x620, 0x652),
    "Devanagari": (0x904, 0x94D), "Bengali": (0x985, 0x9CD), "Tamil": (0xB85, 0xBCD), "Thai": (0xE01, 0xE4E),
    "Georgian": (0x10D0, 0x10F0), "Hangul jamo": (0x1100, 0x1112), "Ethiopic": (0x1200, 0x1240),
    "Hiragana": (0x3041, 0x3096), "Katakana": (0x30A1, 0x30FA), "Han": (0x4E00, 0x9FA5), "Hangul": (0xAC00, 0xD7A3),
    "Han, plane 2": (0x20000, 0x2A6D6), "Mathematical": (0x1D400, 0x1D7FF), "Emoji": (0x1F300, 0x1F64F),
}
MARKS = [chr(c) for c in range(0x300, 0x370)]
SPACES = ["\t", "\n", "\v", "\f", "\r", " ", "\x85", "\xa0", "\u1680", "\u180e", "\u2003", "\u2028", "\u2029",
          "\u202f", "\u205f", "\u3000", "\u200b", "\ufeff"]
CONTROLS = [chr(c) for c in [*range(0x20), *range(0x7F, 0xA0)]]
OLD = unicodedata.ucd_3_2_0  # the same in every Python
DIGITS = [chr(c) for c in range(0x110000) if OLD.category(chr(c)) in ("Nd", "Nl", "No")]
EMOJI = ["👩‍👩‍👧‍👦", "🏳️‍🌈", "👍🏽", "🇩🇪", "1️⃣", "❤️‍🔥", "🧑🏿‍🚀"]
CODE = ["if (x[i] != '\\0') {", "return", "def f(self, *args):", "    ", "\t\t", "->", "<=", "+= 1;", "// note", "0x1F",
        "3.14e-10", "foo_bar", "camelCase", "\"str\"", "#include <x>", "&&", "||", "{\n", "}\n\n", "==="]
WORDS = ["don't", "WE'LL", "it's", "IT'S", "I'd", "they've", "'re", "''s", "'ſ", "O'Brien", "<|im_start|>", "<|im_end|>",
         "<|endoftext|>", "<|eot_id|>", "<|begin_of_text|>", "<repo_name>", "http://example.org/?q=1&r=%20", "e\u0301",
         "vi\u1ec7t", "e\u0302\u0323"]


def word(rng: random.Random) -> str:
    first, last = rng.choice(list(SCRIPTS.values()))
    letters = [chr(rng.randint(first, last)) for _ in range(rng.randint(1, 9))]
    if rng.random() < 0.1:
        letters.insert(rng.randint(0, len(letters)), "".join(rng.choices(MARKS, k=rng.randint(1, 4))))
    return "".join(letters)


def part(rng: random.Random) -> str:
    kind = rng.random()
    if kind < 0.55:
        return word(rng)
    if kind < 0.65:
        return "".join(rng.choices("0123456789", k=rng.randint(1, 8)))
    if kind < 0.70:
        return "".join(rng.choices(DIGITS, k=rng.randint(1, 5)))
    if kind < 0.75:
        return "".join(rng.choices(SPACES, k=rng.randint(1, 6)))
    if kind < 0.78:
        return rng.choice(SPACES) * rng.randint(1, 40)
    if kind < 0.80:
        return "".join(rng.choices(CONTROLS, k=rng.randint(1, 3)))
    if kind < 0.84:
        return rng.choice(EMOJI)
    return rng.choice(CODE if kind < 0.92 else WORDS)


def mixed_texts() -> list[str]:
    rng = random.Random(20240229)
    texts = ["", " ", "\n", "a" * 20000 + " " * 20000 + "1" * 20000 + "!" * 20000]
    for _ in range(6000):
        texts.append("".join(part(rng) + rng.choice(["", " ", " ", " "]) for _ in range(rng.randint(1, 60))))
    return texts


def all_characters() -> list[str]:
    """Every code point of the planes in use, among its neighbours and in random company."""
    rng = random.Random(1)
    characters = [chr(c) for c in [*range(0xD800), *range(0xE000, 0x40000), *range(0xE0000, 0xE1000)]]
    texts = []
    for order in (characters, rng.sample(characters, len(characters))):
        for i in range(0, len(order), 500):
            texts.append("".join(c + rng.choice(["", "", " ", "a", "1", "\n", "'"]) for c in order[i:i + 500]))
    return texts


def variants(path: pathlib.Path, work: pathlib.Path) -> list[pathlib.Path]:
    """The tokenizer with other rules for cutting text: what its own file does not use, other models' files do."""
    gpt_4o = (r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|"
              r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|"
              r"\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+")

    def split(kind: str, pattern: str) -> dict:
        return {"type": "Split", "pattern": {kind: pattern}, "behavior": "Isolated", "invert": False}

    def byte_level(use_regex: bool, prefix: bool = False) -> dict:
        return {"type": "ByteLevel", "add_prefix_space": prefix, "trim_offsets": True, "use_regex": use_regex}

    nfc = {"type": "NFC"}
    added = [{"id": 49152, "content": "camelCase", "special": False, "normalized": False, "lstrip": True},
             {"id": 49153, "content": "\u1ec7", "special": False, "normalized": True, "rstrip": True},
             {"id": 49154, "content": "<|im_end|> ", "special": False, "normalized": False}]
    steps = {
        "qwen2": (nfc, [split("Regex", QWEN2), byte_level(False)], False, []),
        "gpt-4o": (None, [split("Regex", gpt_4o), byte_level(False)], True, []),
        "prefix": (None, [{"type": "Digits", "individual_digits": False}, byte_level(True, True)], False, []),
        "literal": (None, [split("String", "e"), byte_level(True)], False, []),
        "added": (nfc, [byte_level(True)], False, added),
    }
    made = []
    for name, (normalizer, rules, ignore_merges, more) in steps.items():
        spec = json.loads(path.read_text(encoding="utf-8"))
        spec["normalizer"] = normalizer
        spec["pre_tokenizer"] = {"type": "Sequence", "pretokenizers": rules}
        spec["model"]["ignore_merges"] = ignore_merges
        spec["added_tokens"] += [{"single_word": False, "lstrip": False, "rstrip": False} | token for token in more]
        made.append(work / f"variant-{name}.json")
        made[-1].write_text(json.dumps(spec), encoding="utf-8")
    return made


def find_tokenizers(work: pathlib.Path) -> str:
    """An interpreter that has the wanted version of `tokenizers`: another one may know another Unicode."""
    wanted = ["-c", f"import tokenizers; assert 'tokenizers==' + tokenizers.__version__ == '{PACKAGE}'"]

    def has_it(python: str) -> bool:
        return subprocess.run([python, *wanted], stderr=subprocess.DEVNULL).returncode == 0

    if has_it(sys.executable):
        return sys.executable
    python = str(work / "venv" / "bin" / "python")
    if not os.path.exists(python):
        venv.create(work / "venv", with_pip=True)
    if not has_it(python):
        subprocess.run([python, "-m", "pip", "install", "-q", "--disable-pip-version-check", PACKAGE], check=True)
    return python


def unpacked(path: pathlib.Path, work: pathlib.Path) -> pathlib.Path:
    if path.suffix != ".xz":
        return path
    plain = work / "unpacked" / path.stem
    plain.parent.mkdir(parents=True, exist_ok=True)
    plain.write_bytes(lzma.open(path).read())
    return plain


def gguf_metadata(path: pathlib.Path) -> dict:
    """The pairs at the start of a GGUF."""
    file = open(path, "rb")
    formats = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}

    def numbers(form: str, count: int = 1) -> tuple:
        form = f"<{count}{form}"
        return struct.unpack(form, file.read(struct.calcsize(form)))

    def value(kind: int):
        if kind == 8:
            return file.read(numbers("Q")[0]).decode()
        if kind == 9:
            (kind,), (count,) = numbers("I"), numbers("Q")
            return [value(kind) for _ in range(count)] if kind in (8, 9) else list(numbers(formats[kind], count))
        return numbers(formats[kind])[0]

    assert file.read(4) == b"GGUF"
    numbers("I")
    pairs = numbers("Q", 2)[1]
    return {value(8): value(numbers("I")[0]) for _ in range(pairs)}


def from_gguf(path: pathlib.Path, work: pathlib.Path) -> pathlib.Path:
    """The tokenizer.json that a GGUF's tables stand for, as its publisher writes it."""
    metadata = gguf_metadata(path)
    assert metadata["tokenizer.ggml.pre"] == "qwen2", metadata["tokenizer.ggml.pre"]
    tokens, types = metadata["tokenizer.ggml.tokens"], metadata["tokenizer.ggml.token_type"]
    normal, control, user_defined = 1, 3, 4
    spec = {"version": "1.0", "truncation": None, "padding": None, "normalizer": {"type": "NFC"},
            "added_tokens": [{"id": i, "content": tokens[i], "single_word": False, "lstrip": False, "rstrip": False,
                              "normalized": False, "special": kind == control}
                             for i, kind in enumerate(types) if kind in (control, user_defined)],
            "pre_tokenizer": {"type": "Sequence", "pretokenizers": [
                {"type": "Split", "pattern": {"Regex": QWEN2}, "behavior": "Isolated", "invert": False},
                {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": False, "use_regex": False}]},
            "post_processor": None,
            "decoder": {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": False, "use_regex": False},
            "model": {"type": "BPE", "vocab": {tokens[i]: i for i, kind in enumerate(types) if kind == normal},
                      "merges": metadata["tokenizer.ggml.merges"]}}
    made = work / f"{path.stem}.json"
    made.write_text(json.dumps(spec), encoding="utf-8")
    return made


def encode(program: str, path: pathlib.Path, texts: list[bytes], work: pathlib.Path) -> list[list[int]]:
    texts_file, ids_file = work / "texts.bin", work / "ids.txt"
    texts_file.write_bytes(b"".join(struct.pack("<I", len(text)) + text for text in texts))
    subprocess.run([program, path, texts_file, ids_file], check=True)
    return [[int(i) for i in line.split()] for line in ids_file.read_text().splitlines()]


def compare(path: pathlib.Path, texts: list[str], program: str, work: pathlib.Path) -> bool:
    import tokenizers  # only here: main() made sure that it is there

    encoded = [text.encode() for text in texts]
    ours = encode(program, path, encoded, work)
    if path.suffix == ".gguf":
        path = from_gguf(path, work)
        if encode(program, path, encoded, work) != ours:
            print(f"{path.name}: our own ids differ between the GGUF and its tokenizer.json")
            return False
    reference = tokenizers.Tokenizer.from_file(str(path))
    reference.encode_special_tokens = True  # special tokens in text are plain text
    theirs = [e.ids for e in reference.encode_batch(texts, add_special_tokens=False)]
    if len(ours) != len(texts):
        print(f"{path.name}: expected ids of {len(texts)} texts, found {len(ours)}")
        return False
    different = [i for i in range(len(texts)) if ours[i] != theirs[i]]
    total = sum(map(len, encoded))
    print(f"{path.name}: {len(texts)} texts, {total} bytes, {sum(map(len, theirs))} ids, tokenizers "
          f"{tokenizers.__version__}: {len(different)} texts differ")
    for i in different[:5]:
        at = next((k for k, (a, b) in enumerate(zip(ours[i], theirs[i])) if a != b), None)
        print(f"  text {i}, id {at}: {texts[i][:80]!r}\n    ours   {ours[i][:20]}\n    theirs {theirs[i][:20]}")
    return not different


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--program", required=True)
    parser.add_argument("--work", required=True, type=pathlib.Path)
    parser.add_argument("--variants", action="store_true", help="also with other rules for cutting text")
    parser.add_argument("tokenizers", nargs="+", type=pathlib.Path)
    arguments = parser.parse_args()
    arguments.work.mkdir(parents=True, exist_ok=True)
    try:
        python = find_tokenizers(arguments.work)
    except (OSError, subprocess.CalledProcessError) as error:
        print(f"SKIPPED: cannot get {PACKAGE} to compare with: {error}")
        return 1 if os.environ.get("CI") == "true" else 77
    if python != sys.executable:
        return subprocess.run([python, *sys.argv]).returncode
    mixed, characters = mixed_texts(), all_characters()
    assert sum(len(text.encode()) for text in mixed) >= LEAST_BYTES
    equal = []
    for path in arguments.tokenizers:
        path = unpacked(path, arguments.work)
        # NFC of marks that Unicode got after our utf8proc was made differs (5 of the 1,058 texts of all characters).
        normalises = path.suffix == ".gguf"
        equal.append(compare(path, mixed if normalises else mixed + characters, arguments.program, arguments.work))
        if arguments.variants:
            for variant in variants(path, arguments.work):
                equal.append(compare(variant, mixed[::4], arguments.program, arguments.work))
    return 0 if all(equal) else 1


if __name__ == "__main__":
    sys.exit(main())
