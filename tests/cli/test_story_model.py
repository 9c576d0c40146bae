"""The main job, with the default model: 10,000 tokens are read once, and later processes answer about the first page.

MPLUS_WHOLE_STORY: 20,000 tokens."""
import os

from program import ROOT, ProgramTest, default_model, main, plain_environment

STORY = ROOT / "examples/story"
WHOLE = bool(os.environ.get("MPLUS_WHOLE_STORY"))


class Story(ProgramTest):
    def setUp(self):
        super().setUp()
        # The program's own choice of model and delta is part of what is tested; only its home is the real one.
        self.environment = plain_environment()
        if os.environ.get("MPLUS_HOME"):
            self.environment["MPLUS_HOME"] = os.environ["MPLUS_HOME"]
        if os.environ.get("MPLUS_MODEL"):
            self.environment["MPLUS_MODEL"] = str(default_model())

    def test_it_remembers(self):
        novel = self.file("novel.txt", (STORY / "prisoner_of_zenda.txt").read_text()[:None if WHOLE else 20_000])
        report = self.report("remember", STORY / "winter_light.txt", novel, "--memory", "m.safetensors")
        self.assertEqual((report["tokens"], report["updates"]), (21553, 85) if WHOLE else (9902, 40))
        pairs = [line.split("\t") for line in (STORY / "questions.txt").read_text().splitlines() if line]
        right = 0
        for question, answer in pairs:
            told = self.report("ask", question, "--memory", "m.safetensors", "--why")
            blank = self.report("ask", question, "--session", "none")
            right += answer.lower() in told["answer"].lower()
            # The page of facts is in the first two writes, and they are recalled, not merely still in short-term memory.
            best = told["why"][0]
            self.assertIn(best["chunk"], (0, 1), question)
            self.assertGreater(best["rows_recalled"], 0)
            self.assertNotIn(answer.lower(), blank["answer"].lower(), "known without the memory")
        # 135 million parameters: one slip in eight is within what models/README.md promises.
        self.assertGreaterEqual(right, len(pairs) - 1)

    def test_the_model_is_there_and_right(self):
        self.assertEqual(self.report("model", "get")["path"], str(default_model()))
        self.assertEqual(self.report("inspect", default_model())["layers"], 30)


if __name__ == "__main__":
    main(needs_model=True)
