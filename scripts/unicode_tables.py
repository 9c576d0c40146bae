#!/usr/bin/env python3
"""Writes io/pretokenizer/unicode_ranges.cpp: the letters and numbers of Unicode 16.

That is the version of the regular expressions inside Hugging Face's tokenizers. The tables are ours, and not the
system library's, so that a text gives the same tokens on every machine, whatever library it has.

    pip install unicodedata2==16.0.0 && python3 scripts/unicode_tables.py io/pretokenizer/unicode_ranges.cpp
"""
import sys

import unicodedata2

HEAD = """// Made by scripts/unicode_tables.py from Unicode {version}. Do not edit.
#include "mplus/io/pretokenizer/unicode_ranges.h"

namespace mplus::io {{
namespace {{
// clang-format off
"""
TAIL = """// clang-format on
}}  // namespace

std::span<const CodePointRange> letter_ranges() {{ return kLetters; }}
std::span<const CodePointRange> number_ranges() {{ return kNumbers; }}

}}  // namespace mplus::io
"""


def ranges(category: str) -> list[tuple[int, int]]:
    found: list[tuple[int, int]] = []
    for code_point in range(0x110000):
        if unicodedata2.category(chr(code_point))[0] != category:
            continue
        if found and found[-1][1] == code_point - 1:
            found[-1] = (found[-1][0], code_point)
        else:
            found.append((code_point, code_point))
    return found


def table(name: str, category: str) -> str:
    cells = [f"{{0x{first:x},0x{last:x}}}" for first, last in ranges(category)]
    rows = [", ".join(cells[i:i + 6]) for i in range(0, len(cells), 6)]
    return f"constexpr CodePointRange {name}[] = {{\n  " + ",\n  ".join(rows) + "};\n"


def main() -> None:
    version = unicodedata2.unidata_version
    if not version.startswith("16."):
        sys.exit(f"expected Unicode 16, found {version}: pip install unicodedata2==16.0.0")
    text = HEAD.format(version=version) + table("kLetters", "L") + table("kNumbers", "N") + TAIL.format()
    with open(sys.argv[1], "w", encoding="utf-8") as out:
        out.write(text)


if __name__ == "__main__":
    main()
