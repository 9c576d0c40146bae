#!/usr/bin/env python3
"""Fails where a function of the program or of a tool has more than 60 lines or more than 6 parameters.

usage: check_functions.py [--self-test]

C++ is read by its braces, Python by its own parser. --self-test feeds the check such functions and fails if one gets through.
"""
import ast
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
MOST_LINES, MOST_PARAMETERS = 60, 6
CPP = (".h", ".cpp", ".cu", ".cuh")

NO_CODE = re.compile(r'//[^\n]*|/\*.*?\*/|R"(\w*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])\'|^[ \t]*#(?:[^\n]*\\\n)*[^\n]*', re.DOTALL | re.MULTILINE)
# What may stand between the parameters and the body.
SIGNATURE = re.compile(r"\)\s*(const|noexcept|override|final|mutable|&|\s|->[^{;]*|requires[^{;]*|:[^{;]*)*$")


def parameters(text, at):
    """Of the list whose bracket opens at text[at]."""
    depth, commas, angles = 0, 0, 0
    for i in range(at, len(text)):
        c = text[i]
        depth += (c in "({[") - (c in ")}]")
        if depth == 0:
            return commas + 1 if text[at + 1 : i].strip() else 0
        angles += (c == "<") - (c == ">" and text[i - 1] != "-")
        commas += c == "," and depth == 1 and angles == 0
    return 0


def cpp_functions(text):
    """(name, lines, parameters) of every function with a body; what is inside one belongs to it."""
    text = NO_CODE.sub(lambda found: re.sub(r"[^\n]", "_" if found.group(0)[0] in "\"'R" else " ", found.group(0)), text)
    start, brackets, open_braces = 0, 0, []
    for i, c in enumerate(text):
        brackets += (c == "(") - (c == ")")
        if c == "{":
            head = text[start:i].strip()
            bracket = head.find("(")
            inside = any(name for name, _ in open_braces)
            named = bracket > 0 and not re.match(r"(namespace|class|struct|enum|union)\b", head)
            name = head[:bracket].split()[-1] if not inside and named and SIGNATURE.search(head) and not head.endswith("=") else ""
            open_braces.append((name, i - len(text[start:i].lstrip())))
            start = i + 1
        elif c == "}" and open_braces:
            name, begin = open_braces.pop()
            if name:
                yield name, text.count("\n", begin, i) + 1, parameters(text, text.find("(", begin))
            start = i + 1
        elif c == ";" and brackets == 0:
            start = i + 1


def python_functions(text):
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef):
            yield node.name, node.end_lineno - node.lineno + 1, len(node.args.posonlyargs + node.args.args + node.args.kwonlyargs)


def over(path, text):
    functions = python_functions(text) if path.endswith(".py") else cpp_functions(text)
    return {
        f"{path}: {name}": f"{lines} lines, {count} parameters"
        for name, lines, count in functions
        if lines > MOST_LINES or count > MOST_PARAMETERS
    }


def self_test():
    body = "  x();\n" * MOST_LINES
    assert over("a.cpp", f"namespace a {{\nvoid f(int a, int b) {{\n{body}}}\n}}")
    assert over("a.cpp", "struct A {\n  A(int a, int b, int c,\n    int d, int e, int f, int g) : a_{a} {}\n};")
    assert over("a.h", "template <class T>\nauto g(T, T, T, T, T, T, std::map<int, int> m) -> int { return 0; }")
    assert not over("a.cpp", f"const char* const kText = R\"(void f() {{\n{body}}})\";\nint f(std::map<int, int> a, int b) {{ return h(1, 2, 3, 4, 5, 6, 7); }}")
    assert over("a.py", "def f(a, b, c, d, e, f, g):\n    pass\n")


def main():
    if "--self-test" in sys.argv[1:]:
        self_test()
    listed = subprocess.run(["git", "ls-files", "-z", "mplus", "tools", "scripts"], cwd=ROOT, capture_output=True, check=True)
    paths = [path for path in listed.stdout.decode().split("\0") if path.endswith(CPP + (".py",)) and (ROOT / path).is_file()]
    found = {}
    for path in paths:
        found.update(over(path, (ROOT / path).read_text()))
    for what in sorted(found):
        print(f"{what}: {found[what]}; at most {MOST_LINES} and {MOST_PARAMETERS}", file=sys.stderr)
    print(f"functions of {len(paths)} files checked")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
