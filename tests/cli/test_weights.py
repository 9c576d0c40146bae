"""Weights that hold NaN or infinity: every command says so and names the file, and nothing of it is said or written."""
import json
import shutil
import struct

from program import main, story
from test_session import SessionTest

BAD = {"NaN": 0x7fc0, "infinity": 0xff80}  # bf16


def spoil(path, tensor, bits, element=0):
    """Changes one element of a bf16 tensor of a safetensors file in place."""
    with open(path, "r+b") as file:
        (size,) = struct.unpack("<Q", file.read(8))
        begin, end = json.loads(file.read(size))[tensor]["data_offsets"]
        at = begin + element * 2 if element >= 0 else end + element * 2
        file.seek(8 + size + at)
        file.write(struct.pack("<H", bits))


class Weights(SessionTest):
    def setUp(self):
        super().setUp()
        self.broken_base, self.broken_delta = self.folder / "broken-base", self.folder / "broken-delta.safetensors"

    def commands(self):
        yield "ask", ("ask", "Where is the lamp?", "-n", "4"), ""
        yield "generate", ("generate", "The lamp", "-n", "4"), ""
        yield "score", ("score", self.file("b.txt", story(20, 2))), ""
        yield "remember", ("remember", self.file("c.txt", story(40, 3)), "--memory", "m.safetensors"), ""
        yield "chat", ("chat", "-n", "4", "--memory", "m.safetensors"), "Hello.\n"

    def spoilt(self, file, tensor, bits, element=0):
        shutil.rmtree(self.broken_base, ignore_errors=True)
        shutil.copytree(self.base, self.broken_base)
        shutil.copy(self.delta, self.broken_delta)
        spoil(self.broken_base / "model.safetensors" if file == "base" else self.broken_delta, tensor, bits, element)
        return "-m", self.broken_base, "--delta", self.broken_delta

    def refused(self, command, stdin, model, named):
        for temperature in ("0", "1") if command[0] in ("ask", "generate", "chat") else (None,):
            more = () if temperature is None else ("--temp", temperature)
            done = self.run_program(*command, *more, *model, stdin=stdin, expect=1)
            self.assertEqual(done.stdout.strip(), b"")
            self.assertRegex(done.stderr.decode(), "NaN or infini")
            self.assertIn(str(named), done.stderr.decode())
        self.assertFalse((self.folder / "m.safetensors").exists())

    def test_every_command_refuses_them(self):
        layer = "model.layers.1."
        for file, tensor in (("base", "model.norm.weight"), ("base", layer + "self_attn.k_proj.weight"),
                             ("base", layer + "mlp.down_proj.weight"), ("delta", "bos_embedding"),
                             ("delta", layer + "mlp.up_proj.lora_B.decoder_adapter.weight")):
            for value, bits in BAD.items():
                model = self.spoilt(file, tensor, bits)
                for name, command, stdin in self.commands():
                    if "decoder_adapter" in tensor and name == "remember":
                        continue  # only reading uses it
                    with self.subTest(name, tensor=tensor, value=value):
                        self.refused(command, stdin, model, self.broken_base if file == "base" else self.broken_delta)

    def test_a_head_that_is_damaged_in_one_row(self):
        """Only the last token's logit is NaN: no answer would show it at temperature 0."""
        model = self.spoilt("base", "model.embed_tokens.weight", BAD["NaN"], -1)
        for name, command, stdin in self.commands():
            if name != "remember":
                with self.subTest(name):
                    self.refused(command, stdin, model, self.broken_base)

    def test_retriever_and_write_adapter(self):
        for tensor in ("model.layers.0.self_attn.key_proj.2.weight", "model.layers.0.mlp.gate_proj.lora_A.default.weight",
                       "model.layers.1.self_attn.v_proj.lora_B.decoder_adapter.weight"):
            with self.subTest(tensor):
                command = ("remember", self.file("c.txt", story(40, 3)), "--memory", "m.safetensors")
                self.refused(command, "", self.spoilt("delta", tensor, BAD["NaN"]), self.broken_delta)

    def test_a_session_takes_nothing(self):
        model = self.spoilt("base", "model.layers.0.mlp.gate_proj.weight", BAD["NaN"])
        self.error("remember", self.file("c.txt", story(200, 3)), "--session", "new", *model)
        self.error("chat", "--session", "new", *model, stdin="Hello.\n")
        for session in self.report("session", "list")["sessions"]:
            if session["name"] == "new":
                self.assertEqual((session["events"], session["updates"]), (0, 0))


if __name__ == "__main__":
    main()
