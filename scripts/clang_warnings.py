#!/usr/bin/env python3
"""Reads source files with a build's own compiler and options and makes nothing of them: only for its warnings.

usage: scripts/clang_warnings.py BUILD FOLDER...      every file of BUILD/compile_commands.json below one of FOLDER
"""
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import compile_commands


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    build, folders = sys.argv[1], sys.argv[2:]
    entries = compile_commands.entries_below(build, folders)
    if not entries:
        sys.exit(f"clang_warnings: {build} compiles nothing below {', '.join(folders)}")

    def read(entry):
        command = ["clang++-14", *compile_commands.arguments(entry), "-fsyntax-only", entry["file"]]
        done = subprocess.run(command, cwd=entry["directory"], capture_output=True, text=True)
        if done.returncode != 0:
            print(entry["file"], done.stderr, sep="\n", file=sys.stderr)
        return done.returncode == 0

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        good = list(pool.map(read, entries))
    files = sum(len(compile_commands.sources(entry)) for entry in entries)
    print(f"clang_warnings: {files} files in {len(good)} goes, {good.count(False)} with warnings")
    return 0 if all(good) else 1


if __name__ == "__main__":
    sys.exit(main())
