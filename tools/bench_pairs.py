#!/usr/bin/env python3
"""Holds the speed of one mplus against another's: `mplus bench` of both by turns, and of every row that both have the median
of the pairs' ratios with its interval (95 % or a little more, by ranks). Above 1 the new one is faster.

usage: bench_pairs.py OLD NEW [--pairs N] [--runs FILE] [--new-only OPTION]... [-- OPTION...]
  OLD, NEW     programs
  --pairs N    run now (default 15)
  --runs FILE  JSON lines: what was measured before, to be gone on with
  OPTION       of `mplus bench`, for both; --new-only: that the old one does not know, as --new-only=--sessions=2
"""
import argparse
import json
import math
import statistics
import subprocess
import sys
from pathlib import Path


def bench(program, options):
    done = subprocess.run([program, "bench", *options, "--json"], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{program} bench: {done.stderr}")
    return {row["work"]: (row["median"], row["unit"]) for row in json.loads(done.stdout)["results"]}


def interval(values):
    """From one of the values to another, so that the median lies between them in 95 % of cases; all of them where they are few."""
    n, left_out, below = len(values), 0, 0.0
    for k in range(n // 2):
        below += math.comb(n, k) / 2**n
        if 2 * below > 0.05:
            break
        left_out = k + 1
    ordered = sorted(values)
    return ordered[max(0, left_out - 1)], ordered[n - max(1, left_out)]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("old")
    parser.add_argument("new")
    parser.add_argument("--pairs", type=int, default=15)
    parser.add_argument("--runs", type=Path)
    parser.add_argument("--new-only", action="append", default=[])
    at = sys.argv.index("--") if "--" in sys.argv else len(sys.argv)
    options = parser.parse_args(sys.argv[1:at])
    pairs = [json.loads(line) for line in options.runs.read_text().splitlines()] if options.runs and options.runs.exists() else []
    for number in range(options.pairs):
        pair = {}
        for which in ("old", "new") if len(pairs) % 2 == 0 else ("new", "old"):
            pair[which] = bench(getattr(options, which), sys.argv[at + 1:] + (options.new_only if which == "new" else []))
        pairs.append(pair)
        if options.runs:
            with options.runs.open("a") as file:
                file.write(json.dumps(pair) + "\n")
    print(f"{len(pairs)} pairs\n\n| | unit | old | new | new by old |\n|---|---|---|---|---|")
    for work, (_, unit) in pairs[0]["old"].items():
        if work not in pairs[0]["new"]:
            continue
        old, new = ([pair[which][work][0] for pair in pairs] for which in ("old", "new"))
        ratios = [b / a if "/s" in unit else a / b for a, b in zip(old, new)]
        low, high = interval(ratios)
        print(f"| {work} | {unit} | {statistics.median(old):.4g} | {statistics.median(new):.4g} | "
              f"{statistics.median(ratios):.2f} ({low:.2f}–{high:.2f}) |")


if __name__ == "__main__":
    main()
