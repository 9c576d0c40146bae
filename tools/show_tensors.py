#!/usr/bin/env python3
"""Prints what is in memory, state, segment and delta files: metadata, and name, type and shape of every tensor.

    pip install safetensors numpy
    tools/show_tensors.py ~/.local/share/mplus/states/*.safetensors ~/.local/share/mplus/segments/*.safetensors
"""
import argparse

from safetensors import safe_open


def show(path, checksums):
    with safe_open(path, framework="np") as file:
        metadata = file.metadata() or {}
        print(f"{path}: {metadata.get('format', 'no format named')}, version {metadata.get('version', '?')}")
        for key in sorted(metadata):
            if checksums or not key.startswith("checksum."):
                print(f"  {key} = {metadata[key]}")
        for name in sorted(file.keys()):
            tensor = file.get_slice(name)
            print(f"  {name}: {tensor.get_dtype()} {tensor.get_shape()}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="+", metavar="FILE")
    parser.add_argument("--checksums", action="store_true", help="also the checksums of the tensors")
    arguments = parser.parse_args()
    for path in arguments.files:
        show(path, arguments.checksums)


if __name__ == "__main__":
    main()
