"""What a build compiles, read from its compile_commands.json. Where it compiles several files as one (CMAKE_UNITY_BUILD),
an entry names a file that only includes them."""
import json
import pathlib
import re
import shlex


def sources(entry):
    """The files of the tree that an entry compiles."""
    file = pathlib.Path(entry["file"])
    if file.parent.name != "Unity":
        return [file]
    return [pathlib.Path(name) for name in re.findall(r'^#include "(.+)"$', file.read_text(), re.MULTILINE)]


def entries_below(build, folders):
    """Entries of a build whose files all lie below one of the folders."""
    folders = [pathlib.Path(folder).resolve() for folder in folders]
    entries = json.loads((pathlib.Path(build) / "compile_commands.json").read_text())

    def below(file):
        return any(folder in file.parents for folder in folders)

    return [entry for entry in entries if all(below(file) for file in sources(entry))]


def arguments(entry):
    """The compiler's arguments: no launcher, no outputs, no source."""
    words = shlex.split(entry["command"])
    words = words[next(i for i, word in enumerate(words) if re.search(r"(^|/)(clang\+\+|g\+\+|c\+\+)[-\d]*$", word)) + 1:]
    kept = []
    skip = False
    for word in words:
        if skip:
            skip = False
        elif word in ("-o", "-MF", "-MT"):
            skip = True
        elif word not in ("-c", "-MD", entry["file"]):
            kept.append(word)
    return kept
