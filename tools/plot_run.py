#!/usr/bin/env python3
"""Draws a training run: plot_run.py LOG.jsonl OUT.svg

Left, the loss of each task by step, smoothed, with what the same answers cost without a memory as a thin line; right, the
share of unseen questions whose chunk the retriever finds first among chunks of their kind. Needs gnuplot."""

import json
import pathlib
import subprocess
import sys


def smooth(points, weight=0.25):
    value = None
    for x, y in points:
        value = y if value is None else value + weight * (y - value)
        yield x, value


def series(lines, field):
    """{task: [(step, value)]} of the lines that have the field."""
    found = {}
    for step, line in lines:
        for task, value in (line.get(field) or {}).items():
            found.setdefault(task, []).append((step, value))
    return found


def block(name, points):
    return f"${name} << END\n" + "".join(f"{x} {y}\n" for x, y in points) + "END\n"


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    lines = [json.loads(line) for line in pathlib.Path(sys.argv[1]).read_text().splitlines() if line.strip()]
    lessons = [(line["step"], line) for line in lines if "nll" in line]
    rounds = list(enumerate((line for line in lines if line.get("found_first")), start=1))
    losses, without, found = series(lessons, "nll"), series(lessons, "nll_without_memory"), series(rounds, "found_first")
    tasks = [t for t in losses if t in without]  # those that have a memory to look into
    script = ["set terminal svg size 1000,380 font 'sans-serif,12'", f"set output '{sys.argv[2]}'",
              "set multiplot layout 1,2", "set grid", "set key top right"]
    for i, task in enumerate(tasks):
        script.append(block(f"with{i}", smooth(losses[task])))
        script.append(block(f"without{i}", smooth(without[task])))
    for i, kind in enumerate(found):
        script.append(block(f"found{i}", found[kind]))
    script += ["set xlabel 'step'", "set ylabel 'nats a token (thin: without memory)'", "set yrange [0:*]"]
    parts = [f"$with{i} with lines lw 2.5 lc {i + 1} dt {i + 1} title '{task}'" for i, task in enumerate(tasks)]
    parts += [f"$without{i} with lines lw 0.7 lc {i + 1} dt {i + 1} notitle" for i in range(len(tasks))]
    script.append("plot " + ", ".join(parts))
    if found:
        script += ["set xlabel 'round of the retriever'", "set ylabel 'right chunk first among its kind, unseen'",
                   "set yrange [0:1]", "set key bottom right"]
        script.append("plot " + ", ".join(f"$found{i} with linespoints lw 2 lc {i + 1} dt {i + 1} pt {i + 4} title '{kind}'"
                                          for i, kind in enumerate(found)))
    subprocess.run(["gnuplot"], input="\n".join(script) + "\n", text=True, check=True)


if __name__ == "__main__":
    main()
