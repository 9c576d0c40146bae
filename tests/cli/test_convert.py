"""Conversions: there and back again, without loss where the types allow it."""
import json
import struct

from program import DATA, ROOT, ProgramTest, TinyModelTest, main, read_safetensors, story

MODEL = DATA / "golden/mplus_read/model"


class Published(ProgramTest):
    def test_there_and_back_is_exact(self):
        for case in ("mplus_read", "mplus_sequence", "memoryllm_read", "mplus_inject"):
            with self.subTest(case):
                model = DATA / "golden" / case / "model"
                parts = self.report("convert", model, f"{case}.parts", "--to", "base-and-delta")
                self.report("convert", parts["base"], f"{case}.again", "--to", "published", "--delta", parts["delta"],
                            "--memory", parts["memory"])
                before, after = read_safetensors(model / "model.safetensors")[0], read_safetensors(
                    self.folder / f"{case}.again/model.safetensors")[0]
                # How often a row was recalled is the released code's business; ours has no such number.
                for tensors in (before, after):
                    for name in [name for name in tensors if "recall_frequencies" in name]:
                        del tensors[name]
                self.assertEqual(before.keys(), after.keys())
                self.assertEqual([name for name in before if before[name] != after[name]], [])

    def test_the_parts_answer_as_the_whole(self):
        parts = self.report("convert", MODEL, "parts", "--to", "base-and-delta")
        whole = self.report("generate", "--ids", "5,6,7", "-n", "8", "-m", MODEL, "--recall", "per-layer")
        split = self.report("generate", "--ids", "5,6,7", "-n", "8", "-m", parts["base"], "--delta", parts["delta"],
                            "--memory", parts["memory"], "--recall", "per-layer")
        self.assertEqual(whole["tokens"], split["tokens"])

    def test_other_types_round_and_say_so(self):
        done = self.run_program("convert", MODEL, "parts", "--to", "base-and-delta", "--dtype", "bf16")
        self.assertIn(b"left out", done.stderr)
        self.assertEqual({t[0] for t in read_safetensors(self.folder / "parts/base/model.safetensors")[0].values()}, {"BF16"})
        self.report("convert", MODEL, "pub", "--to", "published", "--dtype", "bf16")
        self.assertIn("BF16", [row["type"] for row in self.report("inspect", "pub")["types"]])
        self.report("generate", "--ids", "5,6,7", "-n", "2", "-m", "pub")

    def test_targets_are_never_overwritten(self):
        self.file("there/x", "x")
        self.file("file", "x")
        for to, target in (("published", "there"), ("base", "there"), ("base-and-delta", "there"), ("delta", "file")):
            self.assertIn("already", self.error("convert", MODEL, target, "--to", to))
        self.error("convert", self.folder / "nothing", "new", "--to", "base")
        self.error("convert", MODEL, "new", "--to", "published", "--dtype", "int8", expect=2)
        self.assertEqual(sorted(p.name for p in self.folder.iterdir()), ["file", "there"])


class OtherArchitectures(ProgramTest):
    """Qwen2 and Qwen3: biases and norms of heads go along."""

    def test_a_folder_is_copied_exactly(self):
        for name in ("qwen2", "qwen3"):
            self.report("convert", DATA / "golden/qwen" / name, name, "--to", "base")
            before, after = (read_safetensors(folder / "model.safetensors")[0]
                             for folder in (DATA / "golden/qwen" / name, self.folder / name))
            self.assertEqual(before, after)
            self.assertEqual(json.loads((self.folder / name / "config.json").read_text())["model_type"], name)

    def test_a_copy_says_the_same(self):
        for name in ("qwen2", "qwen3"):
            self.report("convert", DATA / "golden/qwen" / name, name, "--to", "base")
            score = ("score", "--ids", "5,6,70,8,90,10,11", "-m")
            self.assertEqual(self.report(*score, DATA / "golden/qwen" / name), self.report(*score, self.folder / name))

    def test_inspect_names_what_is_special(self):
        two, three = (self.report("inspect", DATA / f"golden/qwen/{name}.gguf") for name in ("qwen2", "qwen3"))
        self.assertEqual((two["architecture"], two["attention_bias"], two["head_norms"]), ("qwen2", True, False))
        self.assertEqual((three["architecture"], three["attention_bias"], three["head_norms"]), ("qwen3", False, True))
        self.assertEqual({row["type"] for row in two["types"]}, {"F32", "Q4_K", "Q5_K", "Q6_K"})
        self.assertEqual({row["type"] for row in three["types"]}, {"F32", "Q4_K", "Q5_0", "Q5_K", "Q6_K"})


class Deltas(ProgramTest):
    SHIPPED = ROOT / "models/smollm2-135m-mplus.safetensors"

    def test_int8_survives_bf16(self):
        """bf16 keeps 8 bits: values move by less than half a step of 127, so the integers come back; scales move by at
        most 2^-8, and a second trip changes nothing at all."""
        self.report("convert", self.SHIPPED, "wide", "--to", "delta", "--dtype", "bf16")
        self.report("convert", "wide", "small", "--to", "delta", "--dtype", "int8")
        before, metadata = read_safetensors(self.SHIPPED)
        after, metadata_after = read_safetensors(self.folder / "small")
        self.assertEqual(before.keys(), after.keys())
        self.assertEqual({k: v for k, v in metadata.items() if k != "quantisation"}, metadata_after)
        for name, (dtype, shape, data) in before.items():
            if not name.endswith("_scale"):
                self.assertEqual((dtype, shape), after[name][:2], name)
                self.assertEqual(data, after[name][2], name)
            else:
                for old, new in zip(struct.iter_unpack("<f", data), struct.iter_unpack("<f", after[name][2])):
                    self.assertLessEqual(abs(old[0] - new[0]), old[0] * 2**-8)
        self.report("convert", "small", "wide2", "--to", "delta", "--dtype", "bf16")
        self.report("convert", "wide2", "small2", "--to", "delta", "--dtype", "int8")
        self.assertEqual((self.folder / "small").read_bytes(), (self.folder / "small2").read_bytes())

    def test_a_write_leaves_fewer_rows(self):
        convert = ("convert", self.SHIPPED, "few", "--to", "delta", "--dtype", "int8", "--rows")
        self.report(*convert, "64")
        before, metadata = read_safetensors(self.SHIPPED)
        after, few = read_safetensors(self.folder / "few")
        self.assertEqual(few, metadata | {"K": "64"})
        self.assertEqual({n: t for n, t in after.items() if not n.endswith("_scale")},
                         {n: t for n, t in before.items() if not n.endswith("_scale")})
        for rows in ("0", "129"):
            self.assertIn("128 rows", self.error(*convert[:2], "x", *convert[3:], rows))
        self.assertIn("--to delta", self.error("convert", MODEL, "x", "--to", "base", "--rows", "1", expect=2))

    def test_some_layers_keep_their_memory(self):
        convert = ("convert", self.SHIPPED, "some", "--to", "delta", "--dtype", "int8", "--layers")
        self.report(*convert, "4,20-29")
        before, metadata = read_safetensors(self.SHIPPED)
        after, some = read_safetensors(self.folder / "some")
        kept = [4, *range(20, 30)]
        self.assertEqual(some, metadata | {"memory_layers": "4,20-29"})
        gone = {name for name in before if "query_proj" in name or "key_proj" in name} - {
            name for name in before if any(f".layers.{layer}." in name for layer in kept)}
        self.assertEqual(before.keys() - after.keys(), gone)
        self.assertGreater(len(gone), 0)
        weights = before.pop("vote_weights")[2]
        self.assertEqual(after["vote_weights"], ("F32", (11,), b"".join(weights[4 * l:4 * l + 4] for l in kept)))
        for name, tensor in before.items():
            if name in after and not name.endswith("_scale"):
                self.assertEqual(tensor, after[name], name)
        self.assertEqual(self.report("inspect", "some")["memory_layers"], "4,20-29")
        # Less of it again; what is gone does not come back.
        self.report("convert", "some", "less", "--to", "delta", "--dtype", "int8", "--layers", "22,29")
        self.assertEqual(read_safetensors(self.folder / "less")[0]["vote_weights"][2], weights[88:92] + weights[116:120])
        self.assertIn("4,20-29", self.error("convert", "some", "more", "--to", "delta", "--dtype", "int8", "--layers", "3-29"))
        self.assertIn("0-29", self.error(*convert[:2], "x", *convert[3:], "28-30"))
        self.assertIn("expected layers", self.error(*convert[:2], "x", *convert[3:], "9-3", expect=2))
        self.assertIn("--to delta", self.error("convert", MODEL, "x", "--to", "base", "--layers", "1", expect=2))
        self.report("convert", "some", "wide", "--to", "delta", "--dtype", "bf16")
        self.assertEqual(self.report("inspect", "wide")["memory_layers"], "4,20-29")

    def test_what_is_no_delta_is_refused(self):
        self.assertIn("delta", self.error("convert", MODEL / "model.safetensors", "x", "--to", "delta", "--dtype", "bf16"))


class Memories(TinyModelTest):
    def test_f32_holds_all_of_bf16(self):
        memory = self.memory(story(400), dtype="bf16")
        self.report("convert", memory, "wide.safetensors", "--to", "memory", "--dtype", "f32")
        self.report("convert", "wide.safetensors", "back.safetensors", "--to", "memory", "--dtype", "bf16")
        self.assertEqual(memory.read_bytes(), (self.folder / "back.safetensors").read_bytes())
        self.report("inspect", "wide.safetensors", "--verify")
        ask = ("ask", "Where is the lamp?", "-n", "4", *self.model, "--memory")
        self.assertEqual(self.report(*ask, memory)["tokens"], self.report(*ask, "wide.safetensors")["tokens"])

    def test_long_term_rows_become_small_once(self):
        memory = self.memory(story(900), dtype="bf16")
        for dtype in ("int8", "int4"):
            self.report("convert", memory, f"{dtype}.safetensors", "--to", "memory", "--dtype", dtype)
            self.assertEqual(self.report("inspect", f"{dtype}.safetensors", "--verify")["element_type"], f"BF16/{dtype}")
            self.report("ask", "Where?", "--memory", f"{dtype}.safetensors", *self.model)
            self.assertIn("not rounded twice",
                          self.error("convert", f"{dtype}.safetensors", "again", "--to", "memory", "--dtype", "bf16"))
        self.assertLess((self.folder / "int4.safetensors").stat().st_size, (self.folder / "int8.safetensors").stat().st_size)

    def test_a_memory_goes_into_the_published_layout_if_hidden_states_were_kept(self):
        text = self.file("a.txt", story(600))
        self.remember(text, "--memory", "kept.safetensors", "--keep-hidden")
        self.remember(text, "--memory", "plain.safetensors")
        convert = ("convert", self.base, "pub", "--to", "published", "--delta", self.delta, "--memory")
        self.assertIn("hidden states", self.error(*convert, "plain.safetensors"))
        self.report(*convert, "kept.safetensors")
        info = self.report("inspect", "kept.safetensors")
        tensors = read_safetensors(self.folder / "pub/model.safetensors")[0]
        self.assertEqual(tensors["memory"][1], (2, 32, 32))
        self.assertEqual(tensors["ltm.0"][1], (info["long_term_rows"], 32))
        ages = [age for (age,) in struct.iter_unpack("<f", tensors["ltm_ages.0"][2])]
        self.assertTrue(all(0 <= age < info["updates"] * 8 for age in ages))
        # Read back, the memory is the same one: the same tokens are recalled and generated.
        self.assertTrue((self.folder / "pub/tokenizer.json").exists())
        self.report("generate", "The lamp", "-n", "2", "-m", "pub")


if __name__ == "__main__":
    main()
