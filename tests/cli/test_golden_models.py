"""The reference's models through the program: token ids in, the reference's tokens out."""
import json
import math

from program import DATA, ProgramTest, main


class GoldenModels(ProgramTest):
    def test_greedy_tokens_are_the_references(self):
        folder = DATA / "golden/mplus_read"
        reads = json.loads((folder / "case.json").read_text())["reads"]
        for read in reads:
            if not read["spec_should_match"] or read["name"].startswith(("few", "no_ltm")):
                continue  # those need a store cut down to a few rows
            with self.subTest(read["name"]):
                report = self.report("generate", "--ids", ",".join(map(str, read["tokens"])), "-n", len(read["greedy"]),
                                     "-m", folder / "model", "--numerics", "exact")
                self.assertEqual(report["tokens"], read["greedy"])

    def test_score_of_one_token_has_no_mean(self):
        model = DATA / "golden/llama3_rope/model_tied"
        one = self.report("score", "--ids", "5", "-m", model)
        self.assertEqual(one, {"tokens": 1, "mean_nll": None, "nll": []})
        ids = "5,6,7,8,9"
        many = self.report("score", "--ids", ids, "-m", model)
        self.assertEqual((many["tokens"], len(many["nll"])), (5, 4))
        self.assertAlmostEqual(many["mean_nll"], sum(many["nll"]) / 4, places=12)
        self.assertTrue(all(math.isfinite(x) and x > 0 for x in many["nll"]))
        text = self.run_program("score", "-", "--ids", ids, "-m", model, expect=2)
        self.assertIn(b"--ids", text.stderr)

    def test_ids_from_standard_input(self):
        model = DATA / "golden/llama3_rope/model_tied"
        self.assertEqual(self.report("score", "--ids", "-", "-m", model, stdin="5 6\n7,8"),
                         self.report("score", "--ids", "5,6,7,8", "-m", model))

    def test_a_model_with_its_own_memory_explains_itself(self):
        report = self.report("generate", "--ids", "5,6,7,8", "-n", "2", "--why", "-m", DATA / "golden/mplus_read/model")
        recalled = [chunk for chunk in report["why"] if chunk["rows_recalled"] > 0]
        self.assertEqual(sum(chunk["rows_recalled"] for chunk in recalled), 4 * 10)  # L · K0
        self.assertAlmostEqual(sum(chunk["weight"] for chunk in recalled), 1, places=5)
        self.assertTrue(all(chunk["chunk"] < 0 and chunk["spans"] == [] for chunk in recalled))


if __name__ == "__main__":
    main()
