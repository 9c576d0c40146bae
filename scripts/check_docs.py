#!/usr/bin/env python3
"""Fails when a document of the project names something that is not there.

usage: check_docs.py [--program PATH] [--self-test]

Checked in every Markdown file of the tree (fixtures aside):
  * a link or a path names an existing file or folder; an anchor names an existing heading
  * `mplus SUBCOMMAND --option` is known to the program's own --help (needs --program)
  * `scripts/NAME.sh --option` is known to that script's --help
  * `cmake --preset NAME` stands in CMakePresets.json
  * a comment in the sources that refers to docs/NAME.md, "Title" finds that page and that title
  * README.md has fewer than 150 lines, a page in docs/ fewer than 200, and nothing was left to be filled in
Of docs/log, which tells what was run on its day, only the links are checked.
--self-test feeds the checks false statements and fails if one gets through.
"""
import argparse
import json
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
NOT_OURS = ("build", ".git", ".venv", "tests/data")
SOURCE_ENDINGS = (".md", ".txt", ".sh", ".py", ".h", ".cpp", ".cmake", ".json", ".clang-format", ".clang-tidy")
# Files a reader meets in other projects' folders; naming one of them says nothing about this tree.
FOREIGN_NAMES = {"results.json", "report.md", "config.json", "tokenizer.json", "tokenizer_config.json", "generation_config.json",
                 "model.safetensors.index.json", "case.json"}
README_LINES, PAGE_LINES = 150, 199
LOG = ROOT / "docs/log"


def documents():
    for path in sorted(ROOT.rglob("*.md")):
        name = path.relative_to(ROOT).as_posix()
        if not name.startswith(tuple(folder + "/" for folder in NOT_OURS)):
            yield path


def code_pieces(text):
    """Yields (line number, code) for each line of a fenced block and each `inline` span."""
    fenced = False
    for number, line in enumerate(text.splitlines(), 1):
        if line.lstrip().startswith("```"):
            fenced = not fenced
        elif fenced:
            yield number, line
        else:
            for span in re.findall(r"`([^`]+)`", line):
                yield number, span


def prose(text):
    """The text with code blanked out, so that code is not taken for links; lines keep their numbers."""
    lines, fenced = [], False
    for line in text.splitlines():
        fence = line.lstrip().startswith("```")
        lines.append("" if fenced or fence else re.sub(r"`[^`]*`", "", line))
        fenced ^= fence
    return lines


def anchors(text):
    headings = re.findall(r"^#+ +(.+?)\s*$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def check_links(path, text):
    for number, line in enumerate(prose(text), 1):
        for target in re.findall(r"\]\(([^)\s]+)\)", line):
            if re.match(r"[a-z]+:", target):
                continue
            file_part, _, anchor = target.partition("#")
            linked = (path.parent / file_part).resolve() if file_part else path
            if not linked.exists():
                yield number, f"link to {target}: there is no such file"
            elif anchor and linked.suffix == ".md" and anchor not in anchors(linked.read_text()):
                yield number, f"link to {target}: there is no such heading"


def path_words(code):
    for word in re.split(r"[\s,;()\[\]{}\"'=<>|]+", code):
        word = word.rstrip(".:…")
        if word and not re.search(r"[$*…~]|^/|^[a-z]+://", word):
            yield word


def names_a_path(word, top_level):
    first = word.removeprefix("./").split("/")[0]
    if first in ("build", "mplus-golden"):
        return False  # made by a command, not part of the tree
    if "/" in word:
        return first in top_level or word.startswith(("./", "../")) or word.endswith("/") \
            or word.endswith(SOURCE_ENDINGS)
    return word.endswith(SOURCE_ENDINGS) and word not in FOREIGN_NAMES and not word.startswith(".")


def path_exists(word, document, base_names):
    word = word.removeprefix("./")
    if "/" not in word:
        return word in base_names
    return any((folder / word).exists() for folder in (ROOT, ROOT / "mplus", document.parent))  # a room may be named alone


def check_paths(path, text, top_level, base_names):
    for number, code in code_pieces(text):
        for word in path_words(code):
            if names_a_path(word, top_level) and not path_exists(word, path, base_names):
                yield number, f"{word}: there is no such file or folder"


def sources():
    for ending in ("*.h", "*.cpp", "*.cmake", "CMakeLists.txt"):
        for path in sorted(ROOT.rglob(ending)):
            if not path.relative_to(ROOT).as_posix().startswith(tuple(folder + "/" for folder in NOT_OURS)):
                yield path


def check_source(text):
    """A comment's `docs/NAME.md, "Title"`: the title is a heading of that page or opens a paragraph in bold."""
    joined = re.sub(r"\n\s*(//|#)\s*", " ", text)  # a reference may run over the end of a line
    for page, title in re.findall(r'(docs/[\w./-]+\.md)(?:, "([^"\n]+)")?', joined):
        number = next((n for n, line in enumerate(text.splitlines(), 1) if page in line), 1)
        if not (ROOT / page).exists():
            yield number, f"{page}: there is no such page"
            continue
        titles = re.findall(r"^(?:#+ +|\*\*)(.+?)\.?(?:\*\*|\s*$)", (ROOT / page).read_text(), re.MULTILINE)
        if title and title not in titles:
            yield number, f'{page}, "{title}": that page has no such title'


class Help:
    """What a program says of itself with --help, asked once for each subcommand."""

    def __init__(self, command):
        self.command = command
        self.texts = {}

    def text(self, *subcommand):
        if subcommand not in self.texts:
            done = subprocess.run([*self.command, *subcommand, "--help"], capture_output=True, text=True,
                                  stdin=subprocess.DEVNULL, timeout=60, cwd=ROOT)
            self.texts[subcommand] = done.stdout if done.returncode == 0 else None
        return self.texts[subcommand]

    def knows(self, word, *subcommand):
        text = self.text(*subcommand)
        return text is not None and re.search(rf"(?<![\w-]){re.escape(word)}(?![\w-])", text) is not None


def options(words):
    return [word.split("=")[0] for word in words if re.match(r"--?[a-z]", word)]


def check_program_line(words, program):
    """`words` follow the program's name. The first that is no option is the subcommand, if it is a plain word."""
    subcommand = []
    if words and re.fullmatch(r"[a-z][a-z-]*", words[0]):
        if not program.knows(words[0]) or program.text(words[0]) is None:
            yield f"mplus {words[0]}: --help knows no such command"
            return
        subcommand = [words[0]]
        if len(words) > 1 and re.fullmatch(r"[a-z]+(\|[a-z]+)*", words[1]):
            for second in words[1].split("|"):
                if not program.knows(second, words[0]):
                    yield f"mplus {words[0]} {second}: mplus {words[0]} --help does not know it"
    part = []  # `serve keys add`: commands inside one
    for word in words[1:] if subcommand else []:
        if not re.fullmatch(r"[a-z][a-z-]*", word) or not program.knows(word, *subcommand, *part):
            break
        part.append(word)
    for option in options(words):
        if not any(program.knows(option, *which) for which in ((*subcommand, *part), subcommand, ())):
            yield f"mplus {' '.join(subcommand)} {option}: --help knows no such option"


def check_script_line(script, words):
    if (ROOT / script).exists():
        script_help = Help([str(ROOT / script)])
        for option in options(words):
            if not script_help.knows(option):
                yield f"{script} {option}: its --help knows no such option"


def check_commands(text, program, presets):
    for number, code in code_pieces(text):
        command = code.strip().removeprefix("$ ")
        command = re.split(r"\s#\s|\s{3,}|&&|;|\s\|\s", command)[0]
        words = re.sub(r'"[^"]*"', "TEXT", command).split()
        if not words:
            continue
        name = words[0].removeprefix("./")
        if name == "mplus" or re.fullmatch(r"build/\w+/cli/mplus", name):
            if program:
                yield from ((number, message) for message in check_program_line(words[1:], program))
        elif name.startswith("scripts/"):
            yield from ((number, message) for message in check_script_line(name, words[1:]))
        for preset in re.findall(r"--preset[= ](\w+)", code):
            if preset not in presets:
                yield number, f"preset {preset}: not in CMakePresets.json"


def check_finish(path, text):
    if path == ROOT / "README.md" and len(text.splitlines()) >= README_LINES:
        yield 1, f"{len(text.splitlines())} lines, expected fewer than {README_LINES}"
    if path.parent == ROOT / "docs" and len(text.splitlines()) > PAGE_LINES:
        yield 1, f"{len(text.splitlines())} lines, expected at most {PAGE_LINES}: measurements go to docs/log"
    for number, line in enumerate(text.splitlines(), 1):
        found = re.search(r"\b(TODO|FIXME|TBD|XXX)\b", line)
        if found:
            yield number, f"{found.group()}: left to be filled in"


class Checker:
    def __init__(self, program):
        self.program = Help([str(program)]) if program else None
        self.top_level = {entry.name for folder in (ROOT, ROOT / "mplus") for entry in folder.iterdir()}
        self.base_names = {entry.name for entry in ROOT.rglob("*") if "build" not in entry.relative_to(ROOT).parts}
        presets = json.loads((ROOT / "CMakePresets.json").read_text())
        self.presets = {preset["name"] for preset in presets["configurePresets"] if not preset.get("hidden")}

    def check(self, path, text):
        yield from check_links(path, text)
        if path.is_relative_to(LOG):
            return
        yield from check_paths(path, text, self.top_level, self.base_names)
        yield from check_commands(text, self.program, self.presets)
        yield from check_finish(path, text)


def self_test(checker):
    """Each line is a statement the checks must not let pass; the second list must pass."""
    false = ["[a](no_such_file.md)", "[a](README.md#no-such-heading)", "`docs/no_such_page.md`", "`no_such_source.cpp`",
             "`mplus/core/no_such_header.h`", "`nosuchroom/`", "```\n./scripts/no_such_script.sh\n```",
             "`scripts/test.sh --no-such-option`", "`cmake --preset nosuchpreset`", "TODO: write this"]
    true = ["`core/error.h`", "`mplus/core/error.h`", "`cmake --preset release`", "`scripts/test.sh --quick`",
            "`build/release/cli/mplus`", "a/b in prose", "`$MPLUS_HOME/models`", "[a](CMakeLists.txt)"]
    if checker.program:
        false += ["`mplus nosuchcommand`", "`mplus ask --no-such-option`",
                  "```\nmplus remember F --no-such-option\n```"]
        true += ["`mplus ask \"why?\" --memory FILE --why`", "`mplus --help`"]
    path = ROOT / "SELF_TEST.md"  # stands for a document in the root; never written
    passed = [text for text in false if not list(checker.check(path, text))]
    blamed = [text for text in true if list(checker.check(path, text))]
    passed += [text for text in ('// (docs/architecture.md, "No such title")', "// docs/no_such_page.md")
               if not list(check_source(text))]
    if not list(checker.check(ROOT / "docs/self_test.md", "a\n" * (PAGE_LINES + 1))):
        passed.append("a page that is too long")
    blamed += [text for text in ('// (docs/algorithm.md,\n// "Recall")', "// see docs/architecture.md")
               if list(check_source(text))]
    for text in passed:
        print(f"self-test: a false statement got through: {text!r}")
    for text in blamed:
        print(f"self-test: a true statement was blamed: {text!r}")
    return not passed and not blamed


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", type=Path, help="the built mplus, to ask for its --help")
    parser.add_argument("--self-test", action="store_true", help="check the checks first")
    arguments = parser.parse_args()
    if arguments.program and not arguments.program.exists():
        sys.exit(f"check_docs: {arguments.program}: there is no such program; build it first")
    program = arguments.program.resolve() if arguments.program else None
    checker = Checker(program)
    good = self_test(checker) if arguments.self_test else True
    count = 0
    for path in documents():
        count += 1
        for number, message in checker.check(path, path.read_text()):
            print(f"{path.relative_to(ROOT)}:{number}: {message}")
            good = False
    for path in sources():
        for number, message in check_source(path.read_text(errors="replace")):
            print(f"{path.relative_to(ROOT)}:{number}: {message}")
            good = False
    print(f"{count} documents checked" + ("" if program else ", commands of mplus not (no --program)"))
    sys.exit(0 if good else 1)


if __name__ == "__main__":
    main()
