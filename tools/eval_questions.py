#!/usr/bin/env python3
"""Collects the questions of evaluation sets into one file, one a line, for the test that training text shares none of them.

    tools/eval_questions.py SET.jsonl.xz... --out tests/data/train/eval_questions.txt
"""
import argparse
import json
import lzma


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sets", nargs="+", metavar="SET", help="JSON lines with a field `question`, xz-compressed")
    parser.add_argument("--out", required=True)
    arguments = parser.parse_args()
    questions = set()
    for path in arguments.sets:
        with lzma.open(path, "rt", encoding="utf-8") as lines:
            questions.update(json.loads(line)["question"] for line in lines)
    with open(arguments.out, "w", encoding="utf-8") as out:
        for question in sorted(questions):
            out.write(question + "\n")
    print(f"{len(questions)} questions")


if __name__ == "__main__":
    main()
