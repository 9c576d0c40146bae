#!/usr/bin/env python3
"""Fails if the files git knows outside models/ take more than 30 MiB: a clone is for reading, and history forgets nothing.

usage: check_tree.py [--self-test]

New files that are not ignored count. --self-test feeds the check trees that are too large and fails if one gets through.
"""
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
MOST_BYTES = 30 * 2**20


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


def self_test():
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
    total = sum(size for path, size in sizes.items() if not path.startswith("models/"))
    print(f"{len(paths)} files, {total / 2**20:.1f} MiB of them outside models/")


if __name__ == "__main__":
    main()
