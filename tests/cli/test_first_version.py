"""A memory file of the first version opens, answers with the same bytes and goes on (tests/data/memory_v1/README.md)."""
import json
import shutil

from program import DATA, TinyModelTest, main

FIXTURE = DATA / "memory_v1"


class FirstVersion(TinyModelTest):
    def setUp(self):
        super().setUp()
        self.memory = self.folder / "memory.safetensors"
        shutil.copy(FIXTURE / "memory.safetensors", self.memory)
        self.then = json.loads((FIXTURE / "answers.json").read_text())

    def expect(self, answers):
        for question, expected in answers.items():
            report = self.report("ask", question, "--memory", self.memory, "--why", *self.then["options"], *self.model)
            recalled = {str(chunk["chunk"]): chunk["rows_recalled"] for chunk in report["why"] if chunk["rows_recalled"]}
            self.assertEqual({"answer": report["answer"], "tokens": report["tokens"], "recalled": recalled}, expected, question)

    def test_it_answers_as_it_did(self):
        before = self.memory.read_bytes()
        self.expect(self.then["answers"])
        self.assertEqual(self.memory.read_bytes(), before, "asking changes nothing")

    def test_it_goes_on(self):
        self.remember(self.file("more.txt", self.then["more"]), "--memory", self.memory, "--numerics", "exact")
        self.expect(self.then["answers_then"])


if __name__ == "__main__":
    main()
