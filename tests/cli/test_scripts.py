"""The scripts that fetch: where they put things, what they take from a wheel, and that they ask pip alone."""
import base64
import hashlib
import os
import platform
import re
import subprocess
import sys
import zipfile

from program import ROOT, ProgramTest, main, plain_environment

TORCH = f"torch-2.8.0-cp311-cp311-manylinux_2_28_{platform.machine()}.whl"
# Package indexes and file servers: only pip knows where they are.
SERVERS = re.compile(r"pythonhosted|pypi\.org|download\.pytorch|huggingface\.co|\bhf\.co|conda\.anaconda|ghcr\.io|debian\.org/debian")


class Scripts(ProgramTest):
    def setUp(self):
        super().setUp()
        self.home = self.folder / "a home" / "mplus"
        for name in ("PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL", "PIP_FIND_LINKS"):
            self.environment.pop(name, None)
        self.environment |= {"MPLUS_HOME": str(self.home), "PIP_NO_INDEX": "1", "PIP_CONFIG_FILE": os.devnull}

    def script(self, *arguments, expect=0, environment=None):
        done = subprocess.run([str(ROOT / "scripts" / arguments[0]), *map(str, arguments[1:])], capture_output=True, text=True,
                              cwd=self.folder, env=environment or self.environment)
        self.assertEqual(done.returncode, expect, done.stdout + done.stderr)
        return done

    def wheel(self, name, files):
        """A wheel with a RECORD; that file's hash."""
        info = "-".join(name.split("-")[:2]) + ".dist-info"
        files = {f"{info}/METADATA": "Metadata-Version: 2.1\nName: torch\nVersion: 2.8.0\n",
                 f"{info}/WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: false\nTag: py3-none-any\n"} | files
        record = "".join(f"{path},sha256={base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).decode().rstrip('=')},"
                         f"{len(text)}\n" for path, text in files.items()) + f"{info}/RECORD,,\n"
        (self.folder / "links").mkdir(exist_ok=True)
        with zipfile.ZipFile(self.folder / "links" / name, "w") as wheel:
            for path, text in (files | {f"{info}/RECORD": record}).items():
                wheel.writestr(path, text)
        return hashlib.sha256(record.encode()).hexdigest()

    def test_places(self):
        plain = plain_environment()
        for variables, expected in (({"MPLUS_HOME": "/a b/c"}, "/a b/c"), ({"XDG_DATA_HOME": "/d e"}, "/d e/mplus"),
                                    ({"HOME": "/f"}, "/f/.local/share/mplus")):
            environment = {k: v for k, v in plain.items() if k not in ("HOME", "XDG_DATA_HOME")} | variables
            self.assertEqual(self.script("fetch_torch.sh", "--path", environment=environment).stdout, f"{expected}/torch-2.8.0/torch\n")
            self.assertRegex(self.script("fetch_model.sh", "--path", environment=environment).stdout, f"^{expected}/models/.*gguf\n$")
        nowhere = {k: v for k, v in plain.items() if k not in ("HOME", "XDG_DATA_HOME")}
        for script in ("fetch_torch.sh", "fetch_model.sh"):
            done = subprocess.run([str(ROOT / "scripts" / script), "--path"], capture_output=True, text=True, env=nowhere)
            self.assertNotEqual(done.returncode, 0)
            self.assertIn("set MPLUS_HOME", done.stderr)

    def test_libtorch_without_an_index(self):
        said = self.script("fetch_torch.sh", expect=1).stderr
        self.assertIn("pip could not download torch==2.8.0", said)
        self.assertIn("-DMPLUS_TORCH=", said)
        self.assertEqual(list(self.home.iterdir()), [], "nothing is left behind")

    def test_libtorch_from_a_folder_that_pip_was_told_of(self):
        self.wheel(TORCH, {"torch/lib/libc10.so": "not the library"})
        self.environment["PIP_FIND_LINKS"] = (self.folder / "links").as_uri()  # pip splits paths at blanks
        said = self.script("fetch_torch.sh", expect=1).stderr
        self.assertIn("not the wheel that was meant", said)
        self.assertEqual(list(self.home.iterdir()), [])

    def test_files_of_a_wheel(self):
        record = self.wheel("torch-2.8.0-py3-none-any.whl", {"torch/include/a b.h": "1", "torch/lib/x.so": "2", "torch/other": "3"})
        take = (sys.executable, str(ROOT / "scripts/wheel_files.py"), str(self.folder / "links/torch-2.8.0-py3-none-any.whl"))
        target = self.folder / "taken"
        subprocess.run([*take, record, target, "torch/include/*", "torch/lib/x.so"], check=True, capture_output=True)
        self.assertEqual(sorted(p.name for p in target.rglob("*") if p.is_file()), ["a b.h", "x.so"])
        for wrong in ((record, "torch/missing"), ("0" * 64, "torch/other")):
            done = subprocess.run([*take, wrong[0], target, wrong[1]], capture_output=True)
            self.assertNotEqual(done.returncode, 0)
        self.assertFalse((target / "torch/other").exists())

    def test_no_server_is_named(self):
        listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True)
        if listed.returncode != 0:
            self.skipTest("not a checkout")
        for name in listed.stdout.decode().split("\0"):
            path = ROOT / name
            if not name or name.startswith("tests/data/") or path == ROOT / "tests/cli/test_scripts.py" or not path.is_file():
                continue
            found = SERVERS.search(path.read_bytes().decode("utf-8", "replace"))
            self.assertIsNone(found, f"{name}: {found and found.group()}")


if __name__ == "__main__":
    main()
