#!/usr/bin/env python3
"""Compares our tokenizer with PyPI's `tokenizers`, id for id, on well over a megabyte of mixed text.

    tokenizer_reference.py --program PROGRAM --work FOLDER TOKENIZER.json[.xz] …

PROGRAM is the test program tokenizer_reference; FOLDER takes the texts, the ids and, where `tokenizers` cannot be
imported, a virtual environment with it. The text is made here and always the same. Exit status: 0 all equal, 1 a
difference, 77 could not compare (1 instead when CI=true).
"""
import argparse
import importlib.util
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
DIGITS = [chr(c) for c in range(0x110000) if unicodedata.category(chr(c)) in ("Nd", "Nl", "No")]
EMOJI = ["👩‍👩‍👧‍👦", "🏳️‍🌈", "👍🏽", "🇩🇪", "1️⃣", "❤️‍🔥", "🧑🏿‍🚀"]
CODE = ["if (x[i] != '\\0') {", "return", "def f(self, *args):", "    ", "\t\t", "->", "<=", "+= 1;", "// note", "0x1F",
        "3.14e-10", "foo_bar", "camelCase", "\"str\"", "#include <x>", "&&", "||", "{\n", "}\n\n", "==="]
WORDS = ["don't", "WE'LL", "it's", "IT'S", "I'd", "they've", "'re", "''s", "'ſ", "O'Brien", "<|im_start|>", "<|im_end|>",
         "<|endoftext|>", "<|eot_id|>", "<|begin_of_text|>", "<repo_name>", "http://example.org/?q=1&r=%20", "e\u0301"]


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


def make_texts() -> list[str]:
    rng = random.Random(20240229)
    texts = ["", " ", "\n"]
    texts += ["".join(part(rng) + rng.choice(["", " ", " ", " "]) for _ in range(rng.randint(1, 60))) for _ in range(6000)]
    # Every assigned character, alone between others of its neighbourhood and in random company.
    assigned = [chr(c) for c in range(0x110000) if unicodedata.category(chr(c)) not in ("Cn", "Cs", "Co")]
    for order in (assigned, rng.sample(assigned, len(assigned))):
        for i in range(0, len(order), 200):
            texts.append("".join(c + rng.choice(["", "", "", " ", "a", "1", "\n"]) for c in order[i:i + 200]))
    texts.append("a" * 20000 + " " * 20000 + "1" * 20000 + "!" * 20000)
    return texts


def find_tokenizers(work: pathlib.Path) -> str:
    """An interpreter that can import `tokenizers`."""
    if importlib.util.find_spec("tokenizers"):
        return sys.executable
    python = work / "venv" / "bin" / "python"
    if not python.exists():
        venv.create(work / "venv", with_pip=True)
    if subprocess.run([python, "-c", "import tokenizers"], stderr=subprocess.DEVNULL).returncode != 0:
        subprocess.run([python, "-m", "pip", "install", "-q", "--disable-pip-version-check", PACKAGE], check=True)
    return str(python)


def unpacked(path: pathlib.Path, work: pathlib.Path) -> pathlib.Path:
    if path.suffix != ".xz":
        return path
    plain = work / "unpacked" / path.stem
    plain.parent.mkdir(parents=True, exist_ok=True)
    plain.write_bytes(lzma.open(path).read())
    return plain


def compare(path: pathlib.Path, program: str, work: pathlib.Path) -> bool:
    import tokenizers  # only here: main() made sure that it is there

    texts = make_texts()
    encoded = [text.encode() for text in texts]
    assert sum(map(len, encoded)) >= LEAST_BYTES
    texts_file, ids_file = work / "texts.bin", work / "ids.txt"
    texts_file.write_bytes(b"".join(struct.pack("<I", len(text)) + text for text in encoded))
    subprocess.run([program, path, texts_file, ids_file], check=True)
    ours = [[int(i) for i in line.split()] for line in ids_file.read_text().splitlines()]
    reference = tokenizers.Tokenizer.from_file(str(path))
    reference.encode_special_tokens = True  # special tokens in text are plain text
    theirs = [e.ids for e in reference.encode_batch(texts, add_special_tokens=False)]
    different = [i for i in range(len(texts)) if i >= len(ours) or ours[i] != theirs[i]]
    total = sum(map(len, encoded))
    print(f"{path.name}: {len(texts)} texts, {total} bytes, {sum(map(len, theirs))} ids, tokenizers "
          f"{tokenizers.__version__}: {len(different)} texts differ")
    for i in different[:5]:
        at = next((k for k, (a, b) in enumerate(zip(ours[i], theirs[i])) if a != b), None)
        print(f"  text {i}, id {at}: {texts[i][:80]!r}\n    ours   {ours[i][:20]}\n    theirs {theirs[i][:20]}")
    return len(ours) == len(texts) and not different


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--program", required=True)
    parser.add_argument("--work", required=True, type=pathlib.Path)
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
    equal = [compare(unpacked(path, arguments.work), arguments.program, arguments.work) for path in arguments.tokenizers]
    return 0 if all(equal) else 1


if __name__ == "__main__":
    sys.exit(main())
