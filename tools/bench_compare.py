#!/usr/bin/env python3
"""Speed of mplus beside llama.cpp on this machine: both by turns, the table of docs/performance.md, what is met and what is short.

usage: bench_compare.py --peer FOLDER --same FILE.gguf [--best FILE.gguf]... [--program build/release/cli/mplus] [--rounds N]
                        [--threads N] [--recall-rounds N] [--chunks N] [--large FILE.gguf --large-delta FILE
                        --large-rounds N] [--json FILE]
       bench_compare.py --again FILE        the table of what an earlier run wrote

FOLDER holds llama-bench. --same is the file both read; --best are others made from it (`llama-quantize --allow-requantize`), the
fastest of them all counts as the peer's best. A round runs every file through llama-bench, then `mplus bench`, then the start of
`mplus ask`. Values are medians of the rounds; a ratio is taken within each round. In the first --recall-rounds rounds a question
searches 150,000 long-term rows a layer. Run it with nothing else on the machine.
"""
import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

PROMPT, GENERATED, DEPTH = 512, 64, 1280
LARGE_PROMPT, LARGE_GENERATED = 256, 32
RECALL_ROWS, FEW_ROWS, QUESTION = 150_000, 2_000, 32
SESSIONS = 8


def peer_rates(text):
    """Output of `llama-bench -o json`: {"prompt 512 behind 0": tokens a second, …}."""
    rates = {}
    for test in json.loads(text):
        what = "prompt" if test["n_prompt"] else "generation"
        rates[f"{what} {test['n_prompt'] or test['n_gen']} behind {test['n_depth']}"] = test["avg_ts"]
    return rates


def own_rates(text):
    """Output of `mplus bench --json`: {work: median}, and "… of limit" where a limit is known."""
    report, rates = json.loads(text), {}
    for row in report["results"]:
        rates[row["work"]] = row["median"]
        if row["share_of_limit"] is not None:
            rates[row["work"] + " of limit"] = row["share_of_limit"]
    rates["read GB/s"] = report["read_bandwidth_bytes_per_second"] / 1e9
    rates["matrix GFLOP/s"] = report["gemm_gflops"]
    rates["weights MB"] = report["weights_bytes"] / 1e6
    return rates


def output_of(command, environment=None):
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, env=environment)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))}: exit status {done.returncode}\n{done.stderr[-2000:]}")
    return done.stdout


def run_peer(options, file, prompt, generated, depths):
    return peer_rates(output_of([options.peer / "llama-bench", "-m", file, "-t", options.threads, "-fa", 1, "-p", prompt, "-n",
                                 generated, "-d", depths, "-r", 1, "-o", "json"]))


def run_own(options, *arguments):
    return own_rates(output_of([options.program, "bench", "--json", "-t", options.threads, "--device", "cpu", "--store-blocks", 0,
                                "--question-tokens", QUESTION, *arguments]))


def start_seconds(options):
    """From the start of `mplus ask` without a memory to the first byte of its answer, files in the page cache."""
    with tempfile.TemporaryDirectory() as home:
        environment = os.environ | {"MPLUS_HOME": home}
        command = [options.program, "ask", "Who are you?", "-m", options.same, "-t", options.threads, "--device", "cpu", "-n", 2]
        began = time.monotonic()
        with subprocess.Popen([str(part) for part in command], stdout=subprocess.PIPE, env=environment) as process:
            first = process.stdout.read(1)
            seconds = time.monotonic() - began
            process.stdout.read()
        if not first or process.returncode != 0:
            sys.exit("mplus ask gave no answer")
    return seconds


def run_round(options, number):
    """Everything once: {"same": {…}, "best": {file: {…}}, "own": {…}, …}."""
    result = {"same": run_peer(options, options.same, PROMPT, GENERATED, f"0,{DEPTH}")}
    result["best"] = {Path(file).name: run_peer(options, file, PROMPT, GENERATED, f"0,{DEPTH}") for file in options.best}
    searched = number < options.recall_rounds
    result["own"] = run_own(options, "-m", options.same, "--prompt-tokens", PROMPT, "--decode-tokens", GENERATED, "--chunks",
                            options.chunks, "--recall-rows", RECALL_ROWS if searched else FEW_ROWS, "--sessions", SESSIONS,
                            "--repetitions", 3)
    result["searched"] = searched
    result["start seconds"] = statistics.median(start_seconds(options) for _ in range(5))
    if options.large and number < options.large_rounds:
        result["large peer"] = run_peer(options, options.large, LARGE_PROMPT, LARGE_GENERATED, 0)
        result["large own"] = run_own(options, "-m", options.large, "--delta", options.large_delta, "--prompt-tokens", LARGE_PROMPT,
                                      "--decode-tokens", LARGE_GENERATED, "--chunks", 2, "--recall-rows", FEW_ROWS, "--sessions", 2,
                                      "--repetitions", 2)
    return result


# A row of the table: values of a round, and bars as (name, value of a round, {kind of machine: bar}); "at most" where less is better.
MACHINES = ("x86", "arm", "avx2")  # x86: with AMX, which other processors with AVX-512 are held to; avx2: x86 without AVX-512


def bars_by_machine(*bars):
    return dict(zip(MACHINES, bars))


def kind_of(facts):
    if facts["machine"] in ("aarch64", "arm64"):
        return "arm"
    return "avx2" if "-avx2-" in facts["numerics"] else "x86"


def peer_at(round_, key):
    return round_["same"].get(key), max((rates[key] for rates in [round_["same"], *round_["best"].values()] if key in rates), default=None)


def ratio(a, b):
    return a / b if a and b else None


def against_peer(key, own, bars):
    def values(round_):
        same, best = peer_at(round_, key)
        return {"llama.cpp, same file": same, "llama.cpp, best": best, "mplus": round_["own"].get(own)}

    def of(which):
        return lambda round_: ratio(round_["own"].get(own), peer_at(round_, key)[which == "best"])
    return values, [(f"× {which}", of(which), bars_by_machine(*each)) for which, *each in bars]


def own_only(name, value, x86, arm, at_most=False):
    return lambda round_: {"mplus": value(round_)}, [(name, value, bars_by_machine(x86, arm), at_most)]


def own(key):
    return lambda round_: round_["own"].get(key)


def searched(value):
    return lambda round_: value(round_) if round_["searched"] else None


def longer_than_empty(round_):
    """Milliseconds that a question waits longer with a full memory and 150,000 rows than with an empty one."""
    rates = round_["own"]
    with_rows = sum(rates[key] for key in ("scout pass of a question", "scoring and voting", "its own prefill"))
    return with_rows - rates["prefill of a question"]


def large(own_key, peer_key, bars):
    def value(round_):
        return ratio(round_["large own"][own_key], round_["large peer"][peer_key]) if "large own" in round_ else None

    def values(round_):
        known = "large own" in round_
        return {"llama.cpp, same file": round_["large peer"][peer_key] if known else None,
                "mplus": round_["large own"][own_key] if known else None}
    return values, [("× same", value, bars_by_machine(*bars))]


def eight(key):
    return own_only("× one", own(f"{key}, {SESSIONS} sessions of limit"), *((4, 3) if key == "decode" else (3, 2.5)))


ROWS = {
    "prompt of 512, tok/s": against_peer(f"prompt {PROMPT} behind 0", "prefill", [("same", 10, 4), ("best", 4, 1.6, 1.2)]),
    "prompt of 512 behind 1,280 tokens or a full memory, tok/s":
        against_peer(f"prompt {PROMPT} behind {DEPTH}", "prefill with memory", [("best", 4, 3)]),
    "generation, empty, tok/s": against_peer(f"generation {GENERATED} behind 0", "decode", [("best", 1.25, 1.1, 1.0)]),
    "generation behind 1,280 tokens or a full memory, tok/s":
        against_peer(f"generation {GENERATED} behind {DEPTH}", "decode with memory", [("best", 1.6, 2)]),
    "generation, share of the measured bandwidth": own_only("share", own("decode of limit"), .8, None),
    "the same, full memory": own_only("share", own("decode with memory of limit"), .8, None),
    "remember by our own prompt rate": own_only("share", lambda r: ratio(own("remember")(r), own("prefill")(r)), .75, .75),
    "remember, last quarter by first":
        own_only("share", lambda r: ratio(own("remember, last quarter")(r), own("remember, first quarter")(r)), .95, .95),
    "8 sessions generating by one, empty": eight("decode"),
    "8 sessions generating by one, full memories": eight("decode with memory"),
    "150,000 rows: scoring, share of the measured bandwidth": own_only("share", searched(own("recall of limit")), .8, .8),
    "150,000 rows: first token later than with an empty memory, ms": own_only("ms", searched(longer_than_empty), 45, 45, True),
    "start of `mplus ask` to the first token, ms": own_only("ms", lambda r: 1e3 * r["start seconds"], 80, 100, True),
    "1.5B: prompt of 256, tok/s": large("prefill", f"prompt {LARGE_PROMPT} behind 0", (8, 3)),
    "1.5B: generation, tok/s": large("decode", f"generation {LARGE_GENERATED} behind 0", (1.25, 1.2)),
}


def spread(values):
    """Median, least and most of what was measured; None if nothing was."""
    known = [value for value in values if value is not None]
    return (statistics.median(known), min(known), max(known)) if known else None


def shown(value):
    digits = lambda x: f"{x:,.0f}" if abs(x) >= 100 else f"{x:.1f}" if abs(x) >= 10 else f"{x:.2f}"
    return "–" if value is None else f"{digits(value[0])} ({digits(value[1])}–{digits(value[2])})"


def verdict(value, bar, at_most):
    if bar is None:
        return "no bar"
    if value is None:
        return "not measured"
    return "met" if (value[0] <= bar if at_most else value[0] >= bar) else "short"


def summary(rounds, machine):
    """The table as data."""
    rows = []
    for name, (values, bars) in ROWS.items():
        each = [values(round_) for round_ in rounds]
        row = {"row": name, "values": {column: spread(r[column] for r in each) for column in each[0]}, "bars": []}
        for label, value, by_machine, *less in bars:
            bar, got = by_machine.get(machine), spread(value(round_) for round_ in rounds)
            row["bars"].append({"is": label, "value": got, "bar": bar, "verdict": verdict(got, bar, bool(less and less[0]))})
        rows.append(row)
    return rows


def table(rows):
    columns = ["llama.cpp, same file", "llama.cpp, best", "mplus"]
    lines = ["| | " + " | ".join(columns) + " | bar | |", "|---|" + "---|" * (len(columns) + 2)]
    for row in rows:
        cells = [shown(row["values"].get(column)) for column in columns]
        bars = [f"{bar['is']} {bar['bar']}" for bar in row["bars"] if bar["bar"] is not None]
        results = [bar["verdict"] + (f" {shown(bar['value'])}" if bar["value"] else "") for bar in row["bars"]]
        lines.append(f"| {row['row']} | " + " | ".join(cells) + f" | {', '.join(bars) or '–'} | {', '.join(results)} |")
    return "\n".join(lines)


def machine_facts(options):
    """What a reader needs to judge the numbers."""
    version = output_of([options.program, "--version"]).split("\n")
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True).stdout.strip()
    return {"date": time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime()), "machine": platform.machine(), "commit": commit,
            "numerics": version[2] if len(version) > 2 else "", "threads": options.threads, "load": os.getloadavg()[0]}


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--peer", type=Path)
    parser.add_argument("--same", type=Path)
    parser.add_argument("--best", type=Path, action="append", default=[])
    parser.add_argument("--program", type=Path, default=Path("build/release/cli/mplus"))
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--recall-rounds", type=int, default=2)
    parser.add_argument("--chunks", type=int, default=24)
    parser.add_argument("--large", type=Path)
    parser.add_argument("--large-delta", default="none")
    parser.add_argument("--large-rounds", type=int, default=2)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--again", type=Path)
    options = parser.parse_args()
    if not options.again and not (options.peer and options.same):
        parser.error("--peer and --same, or --again")
    return options


def main():
    options = arguments()
    if options.again:
        written = json.loads(options.again.read_text())
        facts, rounds = written["facts"], written["rounds"]
    else:
        facts, rounds = machine_facts(options), []
        start_seconds(options)  # files into the page cache
        for number in range(options.rounds):
            rounds.append(run_round(options, number))
            print(f"round {number + 1} of {options.rounds}", file=sys.stderr, flush=True)
            if options.json:
                rows = summary(rounds, kind_of(facts))
                options.json.write_text(json.dumps({"facts": facts, "table": rows, "rounds": rounds}, indent=1) + "\n")
    rows = summary(rounds, kind_of(facts))
    print(f"{facts['date']}, commit {facts['commit']}, {facts['machine']}, {facts['threads']} threads, {len(rounds)} rounds; "
          f"{facts['numerics']}\n")
    print(table(rows))


if __name__ == "__main__":
    main()
