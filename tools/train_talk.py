#!/usr/bin/env python3
"""Fits the probe that tells talk from questions for what may have been told (docs/talk.md), and puts it into a delta.

    pip install numpy
    tools/talk_prompts.py --data FOLDER --clinc data_full.json > prompts.jsonl
    mplus-talk-study -m MODEL states prompts.jsonl states
    tools/train_talk.py prompts.jsonl states --delta delta.safetensors --out new.safetensors

Logistic regression over the hidden state in front of one layer, by Newton's method. Both scores that divide are set on the forms that
training did not see: `sure` so that `--strays` of the questions are above it, `unsure` likewise with `--maybes`.
"""
import argparse
import json
import struct

import numpy as np


def states(stem, n):
    with open(stem + ".json") as file:
        sizes = json.load(file)
    raw = np.fromfile(stem + ".bin", dtype=np.uint16)
    shape = (-1, len(sizes["layers"]), sizes["hidden"])
    values = (raw.astype(np.uint32) << 16).view(np.float32).reshape(shape)
    if len(values) != n:
        raise SystemExit(f"{stem}.bin: {len(values)} states for {n} messages")
    return sizes["layers"], values


def fit(x, y, shrink):
    """Weights and, last, the constant: of x as it is, though fitted to x of unit variance."""
    mean, spread = x.mean(0), x.std(0) + 1e-3 * np.abs(x).std() + 1e-6
    z = np.hstack([(x - mean) / spread, np.ones((len(x), 1))])
    b, penalty = np.zeros(z.shape[1]), np.append(np.full(x.shape[1], shrink), 1e-6)
    for _ in range(60):
        p = 1 / (1 + np.exp(-z @ b))
        step = np.linalg.solve((z * (p * (1 - p))[:, None]).T @ z + np.diag(penalty), z.T @ (p - y) + penalty * b)
        b -= step
        if np.abs(step).max() < 1e-6:
            break
    weights = b[:-1] / spread
    return np.append(weights, b[-1] - mean @ weights)


def add_to_delta(source, target, tensor, metadata):
    """The same file with one tensor more; nothing else of it changes."""
    with open(source, "rb") as file:
        (size,) = struct.unpack("<Q", file.read(8))
        header = json.loads(file.read(size))
        data = file.read()
    if "talk" in header:  # fitted before: it is the last one
        data = data[: header.pop("talk")["data_offsets"][0]]
    at = max(entry["data_offsets"][1] for name, entry in header.items() if name != "__metadata__")
    assert at == len(data), "the tensor before is not the last one"
    header["talk"] = {"dtype": "F32", "shape": [len(tensor)], "data_offsets": [at, at + 4 * len(tensor)]}
    header["__metadata__"].update(metadata)
    text = json.dumps(header, separators=(",", ":"), ensure_ascii=False).encode()
    text += b" " * (-len(text) % 8)
    with open(target, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + data + tensor.astype("<f4").tobytes())


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("prompts")
    parser.add_argument("states")
    parser.add_argument("--layer", type=int, help="of those in the states; default: the best on the forms kept")
    parser.add_argument("--shrink", type=float, default=300, help="weight of the penalty")
    parser.add_argument("--strays", type=float, default=0.005)
    parser.add_argument("--maybes", type=float, default=0.03)
    parser.add_argument("--delta")
    parser.add_argument("--out")
    arguments = parser.parse_args()
    prompts = [json.loads(line) for line in open(arguments.prompts)]
    layers, x = states(arguments.states, len(prompts))
    y = np.array([p["label"] for p in prompts])
    train, held = (np.array([p["part"] == part for p in prompts]) for part in ("train", "held"))
    best = None
    for place, layer in enumerate(layers):
        if arguments.layer not in (None, layer):
            continue
        weights = fit(x[train, place].astype(np.float64), y[train], arguments.shrink)
        score = x[:, place].astype(np.float64) @ weights[:-1] + weights[-1]
        asked, talk = score[held & (y == 0)], score[held & (y == 1)]
        right = (talk[:, None] > asked[None, :]).mean()
        print(f"layer {layer}: {right:.4f} of pairs in order on forms kept")
        if best is None or right > best[0]:
            best = right, layer, weights, asked, talk
    _, layer, weights, asked, talk = best
    sure, unsure = (float(np.quantile(asked, 1 - share)) for share in (arguments.strays, arguments.maybes))
    print(f"layer {layer}, sure from {sure:.2f}: talk {(talk >= sure).mean():.3f}; unsure from {unsure:.2f}: {(talk >= unsure).mean():.3f}")
    if arguments.delta and arguments.out:
        add_to_delta(arguments.delta, arguments.out, weights, {"talk_layer": str(layer), "talk_sure": f"{sure:.4g}", "talk_unsure": f"{unsure:.4g}"})


if __name__ == "__main__":
    main()
