#!/usr/bin/env python3
"""Compares our dequantisation with PyPI's `gguf`, bit for bit, on blocks of random bytes.

    dequantise_reference.py --program PROGRAM --work FOLDER
    dequantise_reference.py --fixture FILE.gguf --values FILE.bin

PROGRAM is the test program dequantise_reference; FOLDER takes the files and, where the wanted version of `gguf` cannot
be imported, a virtual environment with it. The second form writes what tests/io reads: a GGUF with a small tensor of
each quantised type, and the values of all of them, one tensor after the other by name, as 32-bit floats. Exit status:
0 equal, 1 a difference, 77 could not compare (1 instead when CI=true).
"""
import argparse
import os
import pathlib
import subprocess
import sys
import venv

PACKAGE = "gguf==0.19.0"
# Where a type's blocks keep numbers of 16 bits, which are made finite.
HALVES = {"Q8_0": [0], "Q4_0": [0], "Q4_1": [0, 2], "Q5_0": [0], "Q5_1": [0, 2], "Q4_K": [0, 2], "Q5_K": [0, 2],
          "Q6_K": [208]}


def find_gguf(work: pathlib.Path) -> str:
    """An interpreter that has the wanted version of `gguf`."""
    name, version = PACKAGE.split("==")
    wanted = ["-c", f"import gguf; from importlib.metadata import version; assert version('{name}') == '{version}'"]

    def has_it(python: str) -> bool:
        return subprocess.run([python, *wanted], stderr=subprocess.DEVNULL).returncode == 0

    if has_it(sys.executable):
        return sys.executable
    python = str(work / "venv" / "bin" / "python")
    if not os.path.exists(python):
        venv.create(work / "venv", with_pip=True)
    if not has_it(python):
        subprocess.run([python, "-m", "pip", "install", "-q", "--disable-pip-version-check", PACKAGE], check=True)
    return python


def write_blocks(path: pathlib.Path, rows: int, superblocks: int, seed: int) -> bytes:
    """A GGUF of random blocks at `path`; returns their values, by name of the tensor."""
    import gguf  # only here: main() made sure that it is there
    import numpy

    random = numpy.random.default_rng(seed)
    writer = gguf.GGUFWriter(path, "llama")
    values = b""
    for name in sorted(HALVES):
        kind = gguf.GGMLQuantizationType[name]
        elements, size = gguf.GGML_QUANT_SIZES[kind]
        blocks = random.integers(0, 256, (rows, superblocks * 256 // elements, size), dtype=numpy.uint8)
        for at in HALVES[name]:
            blocks[:, :, at + 1] &= 0xBB  # an exponent that is not all ones
        data = blocks.reshape(rows, -1)
        writer.add_tensor(name, data, raw_dtype=kind)
        values += gguf.quants.dequantize(data, kind).astype("<f4").tobytes()
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return values


def compare(program: str, work: pathlib.Path) -> int:
    file, ours = work / "blocks.gguf", work / "values.bin"
    theirs = write_blocks(file, rows=64, superblocks=16, seed=1)
    subprocess.run([program, file, ours], check=True)
    equal = ours.read_bytes() == theirs
    print(f"{len(HALVES)} types, {len(theirs) // 4} values, {PACKAGE}: {'equal' if equal else 'DIFFERENT'}")
    return 0 if equal else 1


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--program")
    parser.add_argument("--work", type=pathlib.Path, default=pathlib.Path("."))
    parser.add_argument("--fixture", type=pathlib.Path)
    parser.add_argument("--values", type=pathlib.Path)
    arguments = parser.parse_args()
    arguments.work.mkdir(parents=True, exist_ok=True)
    try:
        python = find_gguf(arguments.work)
    except (OSError, subprocess.CalledProcessError) as error:
        print(f"SKIPPED: cannot get {PACKAGE} to compare with: {error}")
        return 1 if os.environ.get("CI") == "true" else 77
    if python != sys.executable:
        return subprocess.run([python, *sys.argv]).returncode
    if arguments.fixture:
        arguments.values.write_bytes(write_blocks(arguments.fixture, rows=2, superblocks=2, seed=0))
        return 0
    return compare(arguments.program, arguments.work)


if __name__ == "__main__":
    sys.exit(main())
