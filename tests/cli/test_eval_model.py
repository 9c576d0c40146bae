"""mplus eval with the default model: what it measures must look like remembering."""
import json

from program import ProgramTest, default_model, main, story

FACTS = [("Ingrid Dahl was born in Bergen.", "Where was Ingrid Dahl born?", "Bergen"),
         ("The access code of the Tavora archive is 48213.", "What is the access code of the Tavora archive?", "48213"),
         ("The parrot of Karin Novak is named Zimir.", "What is the name of Karin Novak's parrot?", "Zimir"),
         ("Oscar Quintero works as a plumber.", "What is Oscar Quintero's job?", "plumber")]


class RealModel(ProgramTest):
    def test_context_is_the_ceiling_and_closed_book_the_floor(self):
        lines = [{"id": f"f{n}", "context": f"{story(30, 60 + n)} {fact} {story(30, 80 + n)}", "question": question, "answers": [answer]}
                 for n, (fact, question, answer) in enumerate(FACTS)]
        self.file("facts.jsonl", "".join(json.dumps(line) + "\n" for line in lines))
        self.file("other.jsonl", "".join(json.dumps({"text": story(900, n)}) + "\n" for n in range(8)))
        self.run_program("eval", "retention", "--data", "facts.jsonl", "--distractors", "other.jsonl", "--samples", "4", "--distances",
                         "12", "--columns", "closed-book,context,stm,oracle-recall", "--report", "out", "-m", default_model())
        run, = json.loads((self.folder / "out" / "results.json").read_text())["runs"]
        hits = {}
        for sample in run["samples"]:
            hits[sample["column"]] = hits.get(sample["column"], 0) + sample["hit"]
            if sample["column"] == "oracle-recall":
                self.assertAlmostEqual(sample["short_term"] + sample["long_term"], 1)
                self.assertAlmostEqual(sample["recalled"], sample["long_term"])
        self.assertLessEqual(hits["closed-book"], 1, hits)
        self.assertGreaterEqual(hits["context"], 3, hits)
        self.assertGreaterEqual(hits["oracle-recall"], hits["closed-book"], hits)


if __name__ == "__main__":
    main(needs_model=True)
