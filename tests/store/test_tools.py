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


if __name__ == "__main__":
    if not install():
        sys.exit(1 if os.environ.get("CI") == "true" else 77)
    unittest.main(verbosity=2)
