#!/usr/bin/env python3
"""Fails if the files git knows outside models/ take more than 30 MiB: a clone is for reading, and history forgets nothing.
Fails too if a folder of the program has so many files that nobody finds one: they go into folders by theme.

usage: check_tree.py [--self-test]

New files that are not ignored count. --self-test feeds the check trees that are too large and fails if one gets through.
"""
import subprocess
import sys
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
MOST_BYTES = 30 * 2**20
MOST_SOURCES = 21  # in a folder of mplus/
SOURCES = (".h", ".cpp", ".cu", ".cuh")


def complaint(sizes):
    """What is wrong with a tree of {path: bytes}; None if nothing."""
    counted = {path: size for path, size in sizes.items() if not path.startswith("models/")}
    total = sum(counted.values())
    if total <= MOST_BYTES:
        return None
    largest = sorted(counted, key=counted.get, reverse=True)[:5]
    return "\n".join(
        [f"{total / 2**20:.1f} MiB outside models/, at most {MOST_BYTES / 2**20:.0f}: keep data small, or fetch it. The largest files:"]
        + [f"  {counted[path] / 2**20:6.1f} MiB  {path}" for path in largest]
    )


def crowded(paths):
    """The folders with too many source files: {folder: how many}."""
    folders = Counter(path.rpartition("/")[0] for path in paths if path.startswith("mplus/") and path.endswith(SOURCES))
    return {folder: count for folder, count in sorted(folders.items()) if count > MOST_SOURCES}


def self_test():
    assert crowded([f"mplus/a/{i}.h" for i in range(22)]) == {"mplus/a": 22}
    assert not crowded([f"mplus/a/{i}.h" for i in range(21)] + ["mplus/a/b/c.h"] + [f"tests/{i}.cpp" for i in range(30)])
    assert complaint({"models/a": 2 * MOST_BYTES, "b": MOST_BYTES}) is None
    assert "tests/data/b" in complaint({"models/a": 1, "tests/data/b": MOST_BYTES, "c": 1})
    assert complaint({f"many/{i}": 2**20 for i in range(31)})


def main():
    if "--self-test" in sys.argv[1:]:
        self_test()
    listed = subprocess.run(["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"], cwd=ROOT, capture_output=True)
    if listed.returncode != 0:
        print("Not a git checkout: the size of the tracked tree is not checked.")
        return
    paths = [path for path in listed.stdout.decode().split("\0") if path and (ROOT / path).is_file()]
    sizes = {path: (ROOT / path).stat().st_size for path in paths}
    wrong = complaint(sizes)
    if wrong:
        sys.exit(wrong)
    full = crowded(paths)
    if full:
        sys.exit("\n".join(f"{folder}: {count} source files, at most {MOST_SOURCES}: sort them into folders by theme" for folder, count in full.items()))
    total = sum(size for path, size in sizes.items() if not path.startswith("models/"))
    print(f"{len(paths)} files, {total / 2**20:.1f} MiB of them outside models/")


if __name__ == "__main__":
    main()
