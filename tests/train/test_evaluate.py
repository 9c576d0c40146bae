"""The trainer's evaluation against the engine's: the same plan, carried out by both, gives the same results.

On a model that is noise, so that every number depends on every row. The engine keeps memory rows in bfloat16, the trainer
in float32: where rows are, who is found and what words recall must be equal; answers, now and then a near-tie apart.
"""
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "cli"))
import tiny_model  # noqa: E402
from program import TIMEOUT, main, story, with_metadata  # noqa: E402
from test_eval import Evaluation, questions  # noqa: E402

TRAINER = os.environ["MPLUS_TRAINER"]
COLUMNS = "closed-book,context,stm,mplus,per-layer,words-recall,hybrid,reread,random-recall,oracle-recall"


class SameAsTheEngine(Evaluation):
    vocabulary = tiny_model.VOCAB  # noise over fewer tokens says the same whatever it has read

    def trainer(self, *options):
        return subprocess.run([TRAINER, "evaluate", "plan.jsonl", "-m", self.base, "--delta", self.delta, "--device", "cpu", *options],
                              cwd=self.folder, capture_output=True, timeout=TIMEOUT, env=self.environment | {"OMP_NUM_THREADS": "1"})

    def both(self, task, *options, columns=COLUMNS, rows="plain"):
        """The same run by engine and trainer: sample by key, each."""
        options += ("--memory-dtype", "bf16" if rows == "plain" else rows)
        engine, = self.evaluate(*options, "--columns", columns, task=task, report="engine")["runs"]
        self.run_program(*self.arguments(*options, "--plan", "plan.jsonl", "--force", task=task, report="unused"))
        parts = ["1/1"] if columns is COLUMNS else ["1/2", "2/2"]
        files = []
        for part in parts:
            file = f"answers-{part[0]}.jsonl"
            files += ["--answers", file]
            done = self.trainer("--out", file, "--streams", "2", "--at-once", "5", "--columns", columns, "--part", part, "--rows", rows)
            self.assertEqual(done.returncode, 0, done.stderr[-2000:])
        trainer, = self.evaluate(*options, *files, task=task, report="trainer")["runs"]
        self.assertEqual(engine["name"], trainer["name"])
        self.assertEqual(trainer["run"]["model"]["numerics"], "torch-cpu-float32" + ("" if rows == "plain" else f"-{rows}.1"))
        samples = [{s["key"]: s for s in run["samples"]} for run in (engine, trainer)]
        self.assertEqual({k for k, s in samples[0].items() if s.get("applicable", True)}, set(samples[1]))
        return samples

    def check(self, engine, trainer):
        same, compared = 0, 0
        for key, mine in trainer.items():
            theirs = engine[key]
            engines_own = {"rank", "first_ms"}  # a rank where nothing competes, and a clock of a single question
            self.assertEqual(set(mine) | engines_own, set(theirs) | engines_own, key)
            for field in ("short_term", "long_term", "distance", "written", "distance_tokens", "set"):
                if field in mine:
                    self.assertAlmostEqual(mine[field], theirs[field], msg=f"{key} {field}")
            if "recalled" in mine and mine["column"] in ("stm", "words-recall"):
                self.assertAlmostEqual(mine["recalled"], theirs["recalled"], msg=key)
            if mine["column"] == "random-recall":  # another chance
                continue
            compared += 1
            same += (mine.get("output") == theirs.get("output") and abs(mine.get("nll", 0) - theirs.get("nll", 0)) < 0.02
                     and mine.get("rank") == theirs.get("rank", mine.get("rank"))
                     and abs(mine.get("recalled", 0) - theirs.get("recalled", 0)) < 0.02)
        self.assertGreater(compared, 20)
        self.assertGreaterEqual(same, 0.9 * compared, f"{same} of {compared}")

    def test_retention_in_a_stream(self):
        self.check(*self.both("retention", "--samples", "6", "--distances", "12,24"))

    def test_retention_in_memories_of_their_own(self):
        self.check(*self.both("retention", "--samples", "3", "--distances", "0,1,9", "--protocol", "separate"))

    def test_conversations(self):
        self.file("data.jsonl", "".join(json.dumps({
            "id": f"c{n}", "question": f"What opens house {n}?", "answers": [str(7000 + n)],
            "turns": [{"role": "user", "content": f"House {n} opens with {7000 + n}. {story(40 + 30 * n, n)}"},
                      {"role": "assistant", "content": "Good to know."},
                      {"role": "user", "content": story(15, n)}]}) + "\n" for n in range(6)))
        self.check(*self.both("chat", "--samples", "4", "--distances", "0,6"))

    def test_what_was_never_told(self):
        self.file("data.jsonl", "".join(json.dumps({"question": f"Who is {n}?", "answers": []}) + "\n" for n in range(9)))
        columns = "closed-book,stm,mplus,words-recall,hybrid,reread"
        self.check(*self.both("unknown", "--samples", "6", "--distances", "10", columns=columns))

    def test_a_mixed_stream_asks_at_exact_distances(self):
        # Words that stand in most chunks alone would be left out of the plan; these do not.
        text = " ".join(f"{word}{n % 89}" for n, word in enumerate(story(3000, 5).split()))
        self.file("novel.jsonl", json.dumps({"title": "n", "text": text}) + "\n")
        self.file("talk.jsonl", "".join(json.dumps({
            "id": f"c{n}", "question": f"What opens shed {n}?", "answers": [str(5000 + n)],
            "turns": [{"role": "user", "content": f"Shed {n} opens with {5000 + n}. {story(30 * n, n)}"},
                      {"role": "assistant", "content": "Good to know."}]}) + "\n" for n in range(6)))
        self.file("twice.jsonl", "".join(json.dumps({
            "id": f"t{n}", "first": f"Gate {n} is {100 + n} feet high.", "second": f"Gate {n} is {200 + n} feet high.",
            "question": f"How high is gate {n}?", "answers": [str(200 + n)], "old": [str(100 + n)]}) + "\n" for n in range(6)))
        engine, trainer = self.both("mixed", "--data", "novel.jsonl", "--data", "talk.jsonl", "--data", "twice.jsonl", "--samples", "5", "--distances", "0,3,20", "--lengths", "4k",
                                    "-n", "4", columns="closed-book,context,stm,mplus,words-recall,hybrid,reread,oracle-recall")
        self.check(engine, trainer)
        for sample in trainer.values():
            if "distance" in sample:
                self.assertIn(sample["distance"], (0, 3, 20))
        self.assertEqual({s["set"] for s in trainer.values()}, {"data", "novel", "talk", "twice"})
        self.assertTrue(all(("old" in s) == (s["set"] == "twice") for s in trainer.values()))

    def test_recall_that_leaves_out_what_is_at_hand_or_far_behind(self):
        plain = self.delta
        for fields in ({"recall_over": "everything"}, {"recall_over": "everything", "recall_margin": "0.5"}, {"recall_margin": "0"},
                       {"recall_over": "everything", "recall_margin": "0.5", "read_over": "recalled"}):
            self.delta = self.folder / "other.safetensors"
            with_metadata(plain, self.delta, **fields)
            self.model = ("-m", self.base, "--delta", self.delta, "-t", "2")
            engine, trainer = self.both("mixed", "--samples", "6", "--distances", "0,3,12", "--lengths", "4k",
                                        columns="mplus,words-recall,hybrid,reread,oracle-recall")
            self.check(engine, trainer)
            for report in ("engine", "trainer"):
                shutil.rmtree(self.folder / report)

    def test_chunks_read_in_turn(self):
        plain = self.delta
        fields = {"recall_over": "everything", "read_over": "in-turn"}
        options = ("mixed", "--samples", "6", "--distances", "0,3,12", "--lengths", "4k")
        columns = "mplus,words-recall,hybrid,reread,oracle-recall"
        said, answers = "", []
        for no_answer, leaning in (("never said", {}), (None, {}), (None, {"turn_lean": "2", "turn_lag": "4"})):
            self.delta = self.folder / "other.safetensors"
            with_metadata(plain, self.delta, **fields, **leaning, no_answer=no_answer or said)
            self.model = ("-m", self.base, "--delta", self.delta, "-t", "2")
            engine, trainer = self.both(*options, columns=columns)
            self.check(engine, trainer)
            outputs = [s["output"].strip() for s in engine.values() if s["column"] == "hybrid" and s.get("output", "").strip()]
            if no_answer:
                first = [output.split()[0] for output in outputs if " " in output]
                said = max(sorted(set(first)), key=first.count)  # a word that begins most answers
                before = sum(output.startswith(said) for output in outputs)
            answers.append(outputs)
            for report in ("engine", "trainer"):
                shutil.rmtree(self.folder / report)
        self.assertLess(sum(output.startswith(said) for output in answers[1]), before)
        self.assertNotEqual(answers[1], answers[2])

    def test_a_memory_in_some_layers(self):
        columns = "stm,mplus,per-layer,words-recall,hybrid,reread,oracle-recall"
        plain, fields = self.delta, {"recall_over": "everything", "read_over": "in-turn", "no_answer": "never said"}
        for layer, more in ((0, {}), (1, {}), (1, fields)):
            self.delta = self.folder / "other.safetensors"
            tiny_model.write_delta(self.delta, memory_layers=[layer])
            with_metadata(self.delta, self.delta, **more)
            self.model = ("-m", self.base, "--delta", self.delta, "-t", "2")
            engine, trainer = self.both("mixed", "--samples", "6", "--distances", "0,3,12", "--lengths", "4k", columns=columns)
            self.check(engine, trainer)
            self.assertTrue(any(s.get("recalled", 0) > 0 for s in trainer.values()))
            self.assertEqual({len(s["recalled_layers"]) for s in trainer.values() if "recalled_layers" in s}, {1})
            for report in ("engine", "trainer"):
                shutil.rmtree(self.folder / report)

    def test_rows_in_few_bits(self):
        columns = "mplus,per-layer,words-recall,hybrid,reread,oracle-recall"
        options = ("mixed", "--samples", "6", "--distances", "0,3,12", "--lengths", "4k")
        answers = {}
        for rows in ("int8", "int4"):
            engine, trainer = self.both(*options, columns=columns, rows=rows)
            self.check(engine, trainer)
            answers[rows] = {key: sample.get("output") for key, sample in engine.items()}
            for report in ("engine", "trainer"):
                shutil.rmtree(self.folder / report)
        self.assertNotEqual(answers["int8"], answers["int4"])
        # Side by side on the same memories: what each gives alone.
        for names in ("plain,int4,int8,int4", "int8"):
            done = self.trainer("--out", "side.jsonl", "--columns", "hybrid", "--rows", names)
            self.assertEqual(done.returncode, 0, done.stderr[-2000:])

        def lines(name):
            return sorted((self.folder / name).read_text().splitlines()[1:])
        self.assertEqual(lines("side.jsonl"), lines("side.int8.jsonl"))
        self.assertNotEqual(lines("side.plain.jsonl"), lines("side.int4.jsonl"))

    def test_a_part_of_a_plan(self):
        for part in ("0/2", "3/2", "1/0", "1/2x", "x", "1"):
            done = self.trainer("--out", "answers.jsonl", "--part", part)
            self.assertNotEqual(done.returncode, 0, part)
            self.assertIn(b"I/N", done.stdout + done.stderr, part)
        head = {"schema": "mplus-eval-answers", "version": 1, "plan": "retention-stream-data", "delta_sha256": "0"}
        self.file("a.jsonl", json.dumps(head) + "\n")
        self.file("b.jsonl", json.dumps(head | {"delta_sha256": "1"}) + "\n")
        self.assertIn("in another part", self.error(*self.arguments("--samples", "2", "--distances", "9", "--answers", "a.jsonl",
                                                                    "--answers", "b.jsonl")))

    def test_answers_of_another_delta_or_plan_are_refused(self):
        self.file("answers.jsonl", json.dumps({"schema": "mplus-eval-answers", "version": 1, "plan": "retention-stream-data",
                                               "delta_sha256": "0"}) + "\n")
        options = ("--samples", "2", "--distances", "9", "--answers", "answers.jsonl")
        self.assertIn("another delta", self.error(*self.arguments(*options)))
        self.assertIn("not to", self.error(*self.arguments("--samples", "2", "--distances", "9", "--protocol", "separate", "--answers",
                                                            "answers.jsonl")))


if __name__ == "__main__":
    main()
