#!/usr/bin/env python3
"""Reads source files with a build's own compiler and options and makes nothing of them: only for its warnings.

usage: scripts/clang_warnings.py BUILD FOLDER...      every file of BUILD/compile_commands.json below one of FOLDER
"""
import json
import os
import pathlib
import shlex
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor


def syntax_only(command):
    """The command without its launcher and its outputs."""
    words = shlex.split(command)
    words = words[next(i for i, word in enumerate(words) if "clang++" in word):]
    kept = []
    skip = False
    for word in words:
        if skip:
            skip = False
        elif word == "-o":
            skip = True
        elif word != "-c":
            kept.append(word)
    return kept + ["-fsyntax-only"]


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    build, folders = pathlib.Path(sys.argv[1]), [pathlib.Path(folder).resolve() for folder in sys.argv[2:]]
    entries = [entry for entry in json.loads((build / "compile_commands.json").read_text())
               if any(folder in pathlib.Path(entry["file"]).parents for folder in folders)]
    if not entries:
        sys.exit(f"clang_warnings: {build} compiles nothing below {', '.join(sys.argv[2:])}")

    def read(entry):
        done = subprocess.run(syntax_only(entry["command"]), cwd=entry["directory"], capture_output=True, text=True)
        if done.returncode != 0:
            print(entry["file"], done.stderr, sep="\n", file=sys.stderr)
        return done.returncode == 0

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        good = list(pool.map(read, entries))
    print(f"clang_warnings: {len(good)} files, {good.count(False)} with warnings")
    return 0 if all(good) else 1


if __name__ == "__main__":
    sys.exit(main())
