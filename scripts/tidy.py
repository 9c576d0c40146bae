#!/usr/bin/env python3
"""clang-tidy over every file of the rooms that a build compiles. A file that passed is not looked at again until its text,
a header of the tree that it includes, its options or the checks change.

Files that a build compiles as one are looked at as one, so that their headers are read once. They are copied into one file for
that: of files that it includes, clang's analyzer would look at nothing but the form.

usage: scripts/tidy.py BUILD... [--only TEXT]      TEXT: a part of the paths to look at
"""
import argparse
import bisect
import hashlib
import os
import pathlib
import re
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import compile_commands

ROOT = pathlib.Path(__file__).resolve().parent.parent
PASSED = ROOT / "build" / "tidy"
TIDY = "clang-tidy-14"


def clang_arguments(words):
    """Without a precompiled header, which may be another compiler's, and without what only GCC knows."""
    kept = []
    skip = False
    for word in words:
        if skip:
            skip = False
        elif word in ("-Xclang", "-include"):
            skip = True
        elif word not in ("-fpch-preprocess", "-Winvalid-pch"):
            kept.append(word)
    return kept + ["-Wno-unknown-warning-option"]


def checks_less(arguments):
    """Torch declares a Tensor that it never defines, and ours is taken for the one meant."""
    of_torch = any("torch" in word for word in arguments)
    return ["--checks=-bugprone-forward-declaration-namespace"] if of_torch else []


def text_read(file, seen):
    """The text of a file and of all headers of the tree below it."""
    if file in seen or not file.is_file():
        return
    seen[file] = file.read_bytes()
    for name in re.findall(rb'^\s*#\s*include\s+"([^"]+)"', seen[file], re.MULTILINE):
        text_read(ROOT / name.decode(), seen)


def key(file, arguments, checks):
    seen = {}
    text_read(file, seen)
    digest = hashlib.sha256(checks)
    digest.update(" ".join(arguments).replace(str(ROOT), "").encode())
    for path in sorted(seen):
        digest.update(str(path.relative_to(ROOT)).encode() + b"\0" + seen[path])
    return digest.hexdigest()


class Group:
    """Files that one entry of a build compiles together."""

    def __init__(self, entry, files):
        self.files = files
        self.arguments = clang_arguments(compile_commands.arguments(entry))
        self.folder = entry["directory"]

    def look(self, checks):
        """How many were known to pass, passed now, and have findings."""
        marks = {file: PASSED / key(file, self.arguments, checks) for file in self.files}
        left = [file for file in self.files if not marks[file].exists()]
        if not left:
            return len(self.files), 0, 0
        begins, lines = [], 0  # the line before each file's first
        for file in left:
            begins.append(lines)
            lines += file.read_text().count("\n")
        together = PASSED / f"{next(iter(marks.values())).name}.cpp"
        together.write_text("".join(file.read_text() for file in left))
        command = [TIDY, "--quiet", f"--config-file={ROOT / '.clang-tidy'}", *checks_less(self.arguments), str(together), "--", *self.arguments]
        start = time.monotonic()
        done = subprocess.run(command, cwd=self.folder, capture_output=True, text=True)
        together.unlink()
        print(f"{time.monotonic() - start:5.0f} s: {left[0].relative_to(ROOT)}" + (f" and {len(left) - 1} more" if left[1:] else ""), flush=True)
        found = []
        if done.returncode != 0:

            def place(match):
                which = bisect.bisect_left(begins, int(match[1])) - 1
                return f"{left[which]}:{int(match[1]) - begins[which]}:"

            text = re.sub(re.escape(str(together)) + r":(\d+):", place, done.stdout)
            print(text, done.stderr, sep="\n", file=sys.stderr, flush=True)
            named = set(re.findall(r"^(/[^:\n]+):\d+:\d+: (?:error|warning):", text, re.MULTILINE))
            found = [file for file in left if str(file) in named]
            if not found or named - set(map(str, left)):  # a header's, or no finding but a failure
                found = left
        for file in left:
            if file not in found:
                marks[file].touch()
        return len(self.files) - len(left), len(left) - len(found), len(found)


def groups_of(builds, only):
    taken = set()
    for build in builds:
        for entry in compile_commands.entries_below(build, [ROOT / "mplus", ROOT / "tools"]):
            files = [file for file in compile_commands.sources(entry) if only in str(file) and file not in taken]
            taken.update(files)
            if files:
                yield Group(entry, files)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("builds", nargs="+", metavar="BUILD")
    parser.add_argument("--only", default="", metavar="TEXT")
    options = parser.parse_args()
    version = subprocess.run([TIDY, "--version"], capture_output=True, check=True).stdout
    checks = version + (ROOT / ".clang-tidy").read_bytes()
    PASSED.mkdir(parents=True, exist_ok=True)
    groups = list(groups_of(options.builds, options.only))
    if not groups:
        sys.exit("tidy: no such file in " + ", ".join(options.builds))
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        known, passed, found = map(sum, zip(*pool.map(lambda group: group.look(checks), groups)))
    print(f"tidy: {known + passed + found} files, {known} of them known to pass, {found} with findings")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
