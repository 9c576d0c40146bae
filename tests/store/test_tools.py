"""Python's `safetensors` opens what the store writes: tools/show_tensors.py on the files of a fixture."""
import os
import re
import subprocess
import sys
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
STORE = ROOT / "tests" / "data" / "store_v1"
PACKAGES = Path(os.environ.get("MPLUS_TEST_PACKAGES", "/tmp/mplus-test-packages"))


def install():
    """The packages, in a folder of the build. False: there is no network."""
    if not (PACKAGES / "safetensors").is_dir():
        done = subprocess.run([sys.executable, "-m", "pip", "install", "--quiet", "--target", str(PACKAGES), "safetensors==0.6.2",
                               "numpy==2.2.6"], capture_output=True, text=True)
        if done.returncode != 0:
            print(f"SKIPPED: the PyPI package safetensors cannot be installed: {done.stderr[-400:]}")
            return False
    return True


class Tools(unittest.TestCase):
    def shown(self, *paths):
        done = subprocess.run([sys.executable, ROOT / "tools" / "show_tensors.py", *paths], capture_output=True, text=True,
                              env=os.environ | {"PYTHONPATH": str(PACKAGES)})
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def test_states_and_segments(self):
        for path in (STORE / "states").iterdir():
            text = self.shown(path)
            self.assertIn("mplus-state, version 1", text)
            for line in (r"short_term\.0\.k: BF16 \[30, 32\]", r"tail: F32 \[4, \d+, 64\]", r"expiry: I64 \[4, 2\]",
                         r"window\.tokens: I64 \[\d+, 5\]", r"source_ids: I64 \[\d+\]"):
                self.assertRegex(text, line)
        rows = 0
        for path in (STORE / "segments").iterdir():
            text = self.shown(path)
            self.assertIn("mplus-segment, version 1", text)
            n = int(re.search(r"0\.birth: I64 \[(\d+)\]", text).group(1))
            self.assertRegex(text, rf"0\.k: BF16 \[{n}, 32\]")
            rows += n
        self.assertGreater(rows, 0)


    def test_small_rows(self):
        """Sessions of the same text: small rows are the plain ones, within the steps of their codes."""
        code = f"""
import json, sys
sys.path.insert(0, {str(ROOT / "tools")!r})
import numpy as np
from read_segment import read_layer
found = {{}}
for path in sys.argv[1:]:
    with open(path, "rb") as file:
        metadata = json.loads(file.read(int.from_bytes(file.read(8), "little")))["__metadata__"]
    rows = metadata.get("rows", "plain")
    for layer in range(int(metadata["layers"])):
        for birth, k, v, key in zip(*read_layer(path, layer, 32)):
            if birth >= 0:
                found.setdefault(rows, {{}})[layer, int(birth)] = (k, v, key)
plain = found.pop("plain")
for rows, most in (("int8", 127), ("int4", 4)):
    assert found[rows].keys() == plain.keys(), rows
    for place, small in found[rows].items():
        for column, step in ((0, most), (1, most), (2, 127)):
            wanted, got = plain[place][column], small[column]
            # Sums of a group of 32 are at most sqrt(32) of its norm. Half a step in each (of int4, with codes to -8,
            # a whole one) moves the row by as much; of a key, each value. Scales are up to 1/128 larger than they must be.
            largest = np.abs(wanted).max() * np.sqrt(len(wanted)) if column == 2 else np.sqrt(32 * (wanted ** 2).sum())
            bound = largest / step * (1 + 1 / 128) / 2
            assert np.sqrt(((got - wanted) ** 2).sum()) <= bound * 1.0001, (rows, place, column)
print(len(plain))
"""
        segments = sorted((ROOT / "tests/data/store_small_rows/segments").iterdir())
        done = subprocess.run([sys.executable, "-c", code, *segments], capture_output=True, text=True,
                              env=os.environ | {"PYTHONPATH": str(PACKAGES), "PYTHONDONTWRITEBYTECODE": "1"})
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertGreater(int(done.stdout), 100)


if __name__ == "__main__":
    if not install():
        sys.exit(1 if os.environ.get("CI") == "true" else 77)
    unittest.main(verbosity=2)
