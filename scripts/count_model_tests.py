#!/usr/bin/env python3
"""Prints how many tests with a given label really ran (skipped ones do not count).

usage: count_model_tests.py BUILD_FOLDER JUNIT_FILE [LABEL]

CTest's JUnit report has no labels and its list of labels has no results, so the two are joined here by name.
"""
import json
import subprocess
import sys
import xml.etree.ElementTree as xml


def labelled(build_folder, label):
    listing = subprocess.run(
        ["ctest", "--test-dir", build_folder, "-L", f"^{label}$", "--show-only=json-v1"],
        check=True, capture_output=True, text=True).stdout
    return {test["name"] for test in json.loads(listing)["tests"]}


def ran(junit_file):
    cases = xml.parse(junit_file).getroot().iter("testcase")
    return {case.get("name") for case in cases if case.get("status") in ("run", "fail")}


def main():
    if len(sys.argv) not in (3, 4):
        sys.exit(__doc__)
    label = sys.argv[3] if len(sys.argv) == 4 else "model"
    print(len(labelled(sys.argv[1], label) & ran(sys.argv[2])))


if __name__ == "__main__":
    main()
