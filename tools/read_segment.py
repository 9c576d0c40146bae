#!/usr/bin/env python3
"""Reads the rows of a layer from a segment file of a session store, whether they are plain or small.

    pip install safetensors numpy
    tools/read_segment.py ~/.local/share/mplus/segments/1-0123456789abcdef.safetensors --layer 3

docs/store_format.md, "Small rows", says the same in words.
"""
import argparse
import json
import struct

import numpy as np

GROUP = 64


def bf16(raw):
    return (np.ascontiguousarray(raw).view("<u2").astype(np.uint32) << 16).view(np.float32)


def hadamard(x):  # over the largest power of two, then over the rest
    size = 1 << (x.shape[-1].bit_length() - 1)
    head, rest, half = x[..., :size], x[..., size:], 1
    while half < size:
        pairs = head.reshape(*head.shape[:-1], size // (2 * half), 2, half)
        head = np.stack([pairs[..., 0, :] + pairs[..., 1, :], pairs[..., 0, :] - pairs[..., 1, :]], -2).reshape(head.shape)
        half *= 2
    return np.concatenate([head / size, hadamard(rest)], -1) if rest.shape[-1] else head / size


def expand(raw, n, bits):  # small keys or values of n elements, a row each
    codes = raw[:, : n * bits // 8 + n * bits % 8 // 4]
    scales = bf16(raw[:, codes.shape[1]:])
    codes = np.stack([codes & 15, codes >> 4], -1).reshape(len(raw), -1)[:, :n] - 8.0 if bits == 4 else codes.view(np.int8)
    groups = [hadamard(codes[:, at:at + GROUP].astype(np.float32)) * scales[:, at // GROUP, None] for at in range(0, n, GROUP)]
    return np.concatenate(groups, 1)


def births(raw):
    out, code, shift, birth = [], 0, 0, 0
    for byte in raw.tobytes():
        code, shift = code | (byte & 127) << shift, shift + 7
        if byte < 128:
            birth += (code >> 1) ^ -(code & 1)
            out.append(birth)
            code = shift = 0
    return np.array(out, np.int64)


def read_layer(path, layer, width):
    """birth [n], k and v [n, width], retriever keys [n, d_r]; width is the model's G·e."""
    with open(path, "rb") as file:
        header = json.loads(file.read(struct.unpack("<Q", file.read(8))[0]))
        start = file.tell()

        def tensor(column):
            entry = header[f"{layer}.{column}"]
            file.seek(start + entry["data_offsets"][0])
            raw = np.frombuffer(file.read(entry["data_offsets"][1] - entry["data_offsets"][0]), np.uint8)
            return raw.reshape(entry["shape"][0], -1) if len(entry["shape"]) > 1 else raw

        rows = header["__metadata__"].get("rows", "plain")
        if rows == "plain":
            wide = header[f"{layer}.k"]["dtype"] == "F32"
            k, v, key = ((tensor(c).view("<f4") if wide else bf16(tensor(c))) for c in ("k", "v", "key"))
            return tensor("birth").view("<i8"), k, v, key
        key = tensor("key")
        return (births(tensor("birth")), *(expand(tensor(c), width, int(rows[3:])) for c in ("k", "v")),
                key[:, :-2].view(np.int8) * bf16(key[:, -2:]))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", metavar="FILE")
    parser.add_argument("--layer", type=int, default=0)
    parser.add_argument("--width", type=int, default=192, help="values of a key: the model's heads for keys times their size")
    arguments = parser.parse_args()
    birth, k, v, key = read_layer(arguments.file, arguments.layer, arguments.width)
    for row in range(len(birth)):
        print(birth[row], k[row], v[row], key[row], sep="\n  ")


if __name__ == "__main__":
    main()
