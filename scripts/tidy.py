#!/usr/bin/env python3
"""clang-tidy over every file of the rooms that a build compiles. A file that passed is not looked at again until its text,
a header of the tree that it includes, its options or the checks change.

usage: scripts/tidy.py BUILD... [--only TEXT]      TEXT: a part of the paths to look at
"""
import argparse
import hashlib
import os
import pathlib
import re
import subprocess
import sys
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


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("builds", nargs="+", metavar="BUILD")
    parser.add_argument("--only", default="", metavar="TEXT")
    options = parser.parse_args()
    version = subprocess.run([TIDY, "--version"], capture_output=True, check=True).stdout
    checks = version + (ROOT / ".clang-tidy").read_bytes()
    PASSED.mkdir(parents=True, exist_ok=True)
    files = {}
    for build in options.builds:
        for entry in compile_commands.entries_below(build, [ROOT / "mplus", ROOT / "tools"]):
            for file in compile_commands.sources(entry):
                if options.only in str(file):
                    files.setdefault(file, (clang_arguments(compile_commands.arguments(entry)), entry["directory"]))
    if not files:
        sys.exit("tidy: no such file in " + ", ".join(options.builds))

    def look(file):
        arguments, folder = files[file]
        mark = PASSED / key(file, arguments, checks)
        if mark.exists():
            return "known"
        done = subprocess.run([TIDY, "--quiet", f"--config-file={ROOT / '.clang-tidy'}", str(file), "--", *arguments],
                              cwd=folder, capture_output=True, text=True)
        if done.returncode != 0:
            print(done.stdout, done.stderr, sep="\n", file=sys.stderr)
            return "found"
        mark.touch()
        return "passed"

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        results = list(pool.map(look, sorted(files)))
    print(f"tidy: {len(results)} files, {results.count('known')} of them known to pass, {results.count('found')} with findings")
    return 0 if "found" not in results else 1


if __name__ == "__main__":
    sys.exit(main())
