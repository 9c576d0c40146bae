#!/usr/bin/env python3
"""Fails where a room includes a header of a room it may not know, or asks the preprocessor where it runs.

usage: check_rooms.py [--self-test]

What a room may include is the ROOMS list of its CMakeLists.txt; itself is always allowed. Programs and tests stand above
all rooms, but no room may include them. What differs between processors and systems stands in kernels/ and in
core/platform.h: nothing else has an #if. The table "Rooms" of docs/architecture.md must say the same as the build files.
--self-test feeds the checks false statements and fails if one gets through.
"""
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
ASKING = ("mplus/kernels/", "mplus/core/platform.h")  # may have an #if
SOURCES = (".h", ".cpp", ".cu", ".cuh", ".in")


def rooms_of_build_files():
    """{room: rooms it may include}, from mplus_room(NAME … ROOMS …) and, for programs, mplus_program_rooms(NAME …)."""
    allowed = {}
    for path in sorted((ROOT / "mplus").glob("*/CMakeLists.txt")):
        text = re.sub(r"#[^\n]*", "", path.read_text())
        found = re.search(r"mplus_room\((\w+)(.*?)\)", text, re.DOTALL) or re.search(r"mplus_program_rooms\((\w+)(.*?)\)", text, re.DOTALL)
        if not found:
            sys.exit(f"{path.relative_to(ROOT)}: names no rooms it may include (mplus_room or mplus_program_rooms)")
        listed = re.search(r"\bROOMS\b(.*?)(?:\b[A-Z_]{4,}\b|$)", found.group(2), re.DOTALL)
        allowed[found.group(1)] = set(listed.group(1).split()) if listed else set()
    return allowed


def wrong_includes(room, text, allowed):
    for number, line in enumerate(text.splitlines(), 1):
        found = re.match(r'\s*#\s*include\s*["<]((?:mplus|tests|tools)/[^">]+)[">]', line)
        if not found:
            continue
        parts = found.group(1).split("/")
        if parts[0] != "mplus":
            yield number, f"a room may not include {found.group(1)}"
        elif parts[1] != room and parts[1] not in allowed[room]:
            yield number, f"{room} may not include {parts[1]} (allowed: {' '.join(sorted(allowed[room])) or 'nothing'})"


def rooms_of_document(text):
    """{room: rooms}, from the table in docs/architecture.md; "nothing" is the empty set, "X and what is below" all of X."""
    table = re.search(r"## Rooms.*?```\n(.*?)```", text, re.DOTALL).group(1)
    stated = {}
    for line in table.splitlines():
        name, column = line.split()[0], re.split(r"\s{2,}", line.strip())[-1]
        stated[name] = set() if column == "nothing" else set(column.replace(" and torch", "").split())
    return stated


def wrong_conditions(path, text):
    if path.startswith(ASKING):
        return
    for number, line in enumerate(text.splitlines(), 1):
        if re.match(r"\s*#\s*(if|elif)", line):
            yield number, f"only {' and '.join(ASKING)} may have an #if"


def wrong_table(text, allowed):
    stated = rooms_of_document(text)
    for room in sorted(allowed.keys() | stated.keys()):
        if allowed.get(room) != stated.get(room):
            yield (f"docs/architecture.md, Rooms: {room}: the table says {sorted(stated.get(room, ['missing']))}, "
                   f"the build files {sorted(allowed.get(room, ['missing']))}")


def self_test(allowed):
    false = [("core", '#include "mplus/io/text/json.h"'), ("store", '#include "mplus/model/weights.h"'),
             ("memory", "#include <mplus/engine/session.h>"), ("engine", '#include "tests/io/expect_error.h"')]
    true = [("io", '#include "mplus/core/error.h"'), ("io", '#include "mplus/io/text/json.h"'), ("core", "#include <vector>")]
    good = True
    for room, text in false:
        if not list(wrong_includes(room, text, allowed)):
            print(f"self-test: {room} may include {text}")
            good = False
    for room, text in true:
        if list(wrong_includes(room, text, allowed)):
            print(f"self-test: {room} may not include {text}")
            good = False
    for path, wrong in (("mplus/core/files/file.cpp", True), ("mplus/core/platform.h", False), ("mplus/kernels/isa.cpp", False)):
        if bool(list(wrong_conditions(path, "  #ifdef __x86_64__"))) != wrong:
            print(f"self-test: an #ifdef in {path}")
            good = False
    return good


def main():
    allowed = rooms_of_build_files()
    good = "--self-test" not in sys.argv or self_test(allowed)
    count = 0
    for room in allowed:
        for path in sorted((ROOT / "mplus" / room).rglob("*")):
            if path.suffix not in SOURCES:
                continue
            count += 1
            for number, message in wrong_includes(room, path.read_text(errors="replace"), allowed):
                print(f"{path.relative_to(ROOT)}:{number}: {message}")
                good = False
            for number, message in wrong_conditions(str(path.relative_to(ROOT)), path.read_text(errors="replace")):
                print(f"{path.relative_to(ROOT)}:{number}: {message}")
                good = False
    for message in wrong_table((ROOT / "docs/architecture.md").read_text(), allowed):
        print(message)
        good = False
    print(f"{count} files of {len(allowed)} rooms checked")
    sys.exit(0 if good else 1)


if __name__ == "__main__":
    main()
