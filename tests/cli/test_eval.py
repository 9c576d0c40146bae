"""mplus eval, end to end on a model that is noise: what is asked, written, resumed and refused."""
import json
import os
import re
import signal
import subprocess
import time

import tiny_model
from program import DATA, PROGRAM, TinyModelTest, main, story

SMALL = ("--samples", "6", "--distances", "12,24")


def questions(count, article=None):
    lines = []
    for n in range(count):
        lines.append({"id": f"q{n}", "context": f"The door of house {n} in Saltmere opens with {7000 + n}.",
                      "question": f"What opens the door of house {n}?", "answers": [str(7000 + n)]})
        if article:
            lines[-1]["title"] = article
    return "".join(json.dumps(line) + "\n" for line in lines)


class Evaluation(TinyModelTest):
    def setUp(self):
        super().setUp()
        self.file("data.jsonl", questions(12))
        self.file("books.jsonl", "".join(json.dumps({"title": "b", "text": story(600, n)}) + "\n" for n in range(12)))
        self.file("passages.jsonl", "".join(json.dumps({"context": story(20, 90 + n)}) + "\n" for n in range(200)))

    def arguments(self, *more, report="out", task="retention", threads=2):
        among_others = ("--distractors", "books.jsonl", "--distractors", "passages.jsonl")
        return ("eval", task, "--data", "data.jsonl", *(() if task in ("lm-loss", "base", "needle") else among_others),
                "--report", report, *more, *self.model[:-1], threads)

    def evaluate(self, *more, report="out", task="retention", threads=2):
        self.run_program(*self.arguments(*more, report=report, task=task, threads=threads))
        return self.results(report)

    def results(self, report="out"):
        results = json.loads((self.folder / report / "results.json").read_text())
        self.assertEqual((results["schema"], results["version"]), ("mplus-eval", 1))
        return results

    @staticmethod
    def numbers(run):
        """What must not depend on when or how often a run was made."""
        return sorted(json.dumps({k: v for k, v in sample.items() if k not in ("seconds", "first_ms")}, sort_keys=True) for sample in run["samples"])


class Retention(Evaluation):
    COLUMNS = "closed-book,window,full,snapkv,context,bm25,stm,mplus,per-layer,words-recall,hybrid,reread,random-recall," \
              "attention-recall,oracle-recall"

    def test_stream_has_every_column_and_the_books_balance(self):
        run, = self.evaluate(*SMALL, "--columns", self.COLUMNS)["runs"]
        self.assertTrue(run["complete"])
        self.assertEqual(run["name"], "retention-stream-data")
        self.assertEqual(len(run["run"]["ids"]), 6)
        samples = run["samples"]
        self.assertEqual({s["column"] for s in samples}, set(self.COLUMNS.split(",")))
        # Three of six passages stand in the first half: 3 asked at 12 chunks, 6 at 24; the fixed columns once each.
        for column in self.COLUMNS.split(","):
            n = sum(s["column"] == column for s in samples)
            self.assertEqual(n, 6 if column in ("closed-book", "context") else 9, column)
        for s in samples:
            if s["column"] in ("stm", "mplus", "oracle-recall"):
                self.assertAlmostEqual(s["short_term"] + s["long_term"], 1)
                self.assertEqual(s["distance"], s["written"] - 1 - (s["written"] - 1 - s["distance"]))
                self.assertLessEqual(s["recalled"], s["long_term"] + 1e-9)
            if s["column"] == "stm":
                self.assertEqual(s["recalled"], 0)
            if s["column"] == "oracle-recall":  # K0 is two chunks: all there is of the passage comes back
                self.assertAlmostEqual(s["recalled"], s["long_term"])
            if s["column"] == "mplus" and s["long_term"] > 0:
                self.assertTrue(1 <= s["rank"] <= s["written"])
        self.assertTrue(all(s["applicable"] is False for s in samples if s["column"] in ("full", "snapkv") and s["written"] == 24))
        for field in ("command", "program", "machine", "model", "seconds"):
            self.assertIn(field, run)
        report = (self.folder / "out" / "report.md").read_text()
        self.assertIn("retention-stream-data", report)
        for picture in re.findall(r"\]\(([^)]+\.svg)\)", report):
            self.assertIn(b"<svg", (self.folder / "out" / picture).read_bytes()[:2000])
            png = self.folder / "out" / picture.replace(".svg", ".png")
            self.assertEqual(png.read_bytes()[:4], b"\x89PNG")

    def test_same_seed_same_numbers(self):
        a = self.evaluate(*SMALL, report="a")["runs"][0]
        b = self.evaluate(*SMALL, threads=1, report="b")["runs"][0]
        self.assertEqual(a["run"]["ids"], b["run"]["ids"])
        self.assertEqual(self.numbers(a), self.numbers(b))
        c = self.evaluate(*SMALL, "--seed", "5", report="c")["runs"][0]
        self.assertNotEqual(a["run"]["ids"], c["run"]["ids"])

    def test_closed_book_is_what_ask_answers_without_a_memory(self):
        run, = self.evaluate("--samples", "2", "--distances", "6", "--columns", "closed-book")["runs"]
        for sample in run["samples"]:
            question = f"What opens the door of house {sample['id'][1:]}?"
            answer = self.report("ask", question, "-n", "12", *self.model)["answer"]
            self.assertEqual(sample["output"].strip(), answer)

    def test_columns_can_be_added_later(self):
        self.evaluate(*SMALL, "--columns", "stm")
        both = self.evaluate(*SMALL, "--columns", "stm,mplus")["runs"][0]
        at_once = self.evaluate(*SMALL, "--columns", "stm,mplus", report="other")["runs"][0]
        self.assertEqual(self.numbers(both), self.numbers(at_once))

    def test_separate_asks_at_every_distance(self):
        run, = self.evaluate("--protocol", "separate", "--samples", "3", "--distances", "0,2,7", "--columns", "stm,mplus",
                             "--start", "full")["runs"]
        self.assertEqual(len(run["samples"]), 3 * 3 * 2)
        self.assertEqual({s["distance"] for s in run["samples"]}, {0, 2, 7})
        self.assertEqual({s["written"] for s in run["samples"]}, {8 + 1, 8 + 3, 8 + 8})  # behind 2 N / K chunks
        for s in run["samples"]:
            if s["distance"] == 0:
                self.assertEqual(s["short_term"], 1)

    def test_one_article_gives_one_passage_to_a_memory(self):
        self.file("data.jsonl", questions(12, article="Saltmere"))
        run, = self.evaluate("--samples", "3", "--distances", "6", "--columns", "stm")["runs"]
        self.assertEqual(sorted({s["memory"] for s in run["samples"]}), [0, 1, 2])

    def test_killed_and_gone_on_with(self):
        whole = self.evaluate(*SMALL, "--columns", "stm,mplus", report="whole")["runs"][0]
        log = self.folder / "killed" / "retention-stream-data.samples.jsonl"
        for lines in (3, 9):  # killed twice on the way
            process = subprocess.Popen([PROGRAM, *map(str, self.arguments(*SMALL, "--columns", "stm,mplus", report="killed"))],
                                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=self.folder, env=self.environment)
            deadline = time.monotonic() + 120
            while process.poll() is None and time.monotonic() < deadline:
                if log.exists() and log.read_bytes().count(b"\n") > lines:
                    process.send_signal(signal.SIGKILL)
                    break
                time.sleep(0.002)
            process.wait()
        kept = log.read_bytes()
        kept = kept[:kept.rfind(b"\n") + 1]
        self.assertGreaterEqual(kept.count(b"\n"), 4)
        with log.open("ab") as file:
            file.write(b'{"key":"half a li')
        again = self.evaluate(*SMALL, "--columns", "stm,mplus", report="killed")["runs"][0]
        self.assertTrue(log.read_bytes().startswith(kept))
        self.assertEqual(self.numbers(whole), self.numbers(again))

    def test_another_run_does_not_mix_in(self):
        self.evaluate(*SMALL, "--columns", "stm")
        message = self.error(*self.arguments(*SMALL, "--columns", "stm", "--seed", "7"))
        self.assertIn("seed", message)

    def test_stopped_run_keeps_what_it_has(self):
        process = self.start(*self.arguments("--samples", "12", "--distances", "60,120", "--columns", "mplus"))
        log = self.folder / "out" / "retention-stream-data.samples.jsonl"
        while process.poll() is None and not (log.exists() and log.read_bytes().count(b"\n") > 3):
            time.sleep(0.005)
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=120)
        if process.returncode != 0:
            self.assertEqual(process.returncode, 1)
            self.assertIn(b"again to go on", said)
            self.assertFalse(self.results()["runs"][0]["complete"])
            self.assertIn("Not complete", (self.folder / "out" / "report.md").read_text())


class Scripts(Evaluation):
    """Conversations, facts told twice, what was never told, needles."""
    vocabulary = tiny_model.VOCAB

    def test_chat_writes_conversations(self):
        lines = [{"id": f"c{n}", "turns": [{"role": "user", "content": f"The key of shed {n} is {4000 + n}."},
                                           {"role": "assistant", "content": "Noted, thank you very much."},
                                           {"role": "user", "content": "Goodbye then."}],
                  "question": f"What is the key of shed {n}?", "answers": [str(4000 + n)]} for n in range(6)]
        self.file("data.jsonl", "".join(json.dumps(line) + "\n" for line in lines))
        run, = self.evaluate("--samples", "4", "--distances", "0,6", "--columns", "stm,hybrid,oracle-recall", task="chat")["runs"]
        self.assertEqual(run["name"], "chat-data")
        self.assertEqual(len(run["samples"]), 4 * 2 * 3)
        for s in run["samples"]:
            self.assertAlmostEqual(s["short_term"] + s["long_term"], 1)
        self.assertEqual(run["run"]["asked_in"], "conversation")
        # A turn in the template is another question to the model than the prompt, and another run.
        plans = {}
        for where in ("conversation", "prompt"):
            self.run_program(*self.arguments("--samples", "4", "--distances", "0,6", "--ask-in", where, "--plan",
                                             f"{where}.jsonl", task="chat", report="unused"))
            head, memory = map(json.loads, (self.folder / f"{where}.jsonl").read_text().splitlines())
            self.assertEqual(head["run"]["asked_in"], where)
            plans[where] = memory["questions"]
        for turn, prompt in zip(plans["conversation"], plans["prompt"]):
            begin, end = turn["asks"]
            self.assertNotIn("prompt", turn)
            self.assertTrue(0 < begin < end < len(turn["turn"]))
            self.assertIn("What is the key of shed", prompt["prompt"])
        self.file("data.jsonl", json.dumps(lines[0] | {"turns": [{"role": "assistant", "content": "Hi"}]}) + "\n")
        self.assertIn("user", self.error(*self.arguments("--samples", "1", report="bad", task="chat")))

    def test_twice_told_judges_new_and_old(self):
        lines = [{"id": f"t{n}", "first": f"The tower {n} has {100 + n} steps, they say.",
                  "second": f"The tower {n} has {200 + n} steps, they say.",
                  "question": f"How many steps has the tower {n}?", "answers": [str(200 + n)], "old": [str(100 + n)]} for n in range(4)]
        self.file("data.jsonl", "".join(json.dumps(line) + "\n" for line in lines))
        run, = self.evaluate("--samples", "4", "--distances", "0,3", "--columns", "context,stm,mplus", task="twice")["runs"]
        self.assertEqual(len(run["samples"]), 4 + 4 * 2 * 2)
        self.assertTrue(all({"new", "old"} <= s.keys() for s in run["samples"]))
        self.assertEqual({s["written"] for s in run["samples"] if "written" in s}, {16, 19})

    def test_a_mixed_run_in_parts_is_the_same_run(self):
        self.file("data.jsonl", questions(130))
        small = ("--samples", "120", "--distances", "0", "--lengths", "3k", "--columns", "hybrid")
        whole, = self.evaluate(*small, task="mixed")["runs"]
        self.assertEqual({s["memory"] for s in whole["samples"]}, {0, 1})
        parts = [self.evaluate(*small, "--part", f"{n}/2", report=f"part{n}", task="mixed")["runs"][0] for n in (1, 2)]
        self.assertEqual([{s["memory"] for s in part["samples"]} for part in parts], [{0}, {1}])
        self.assertFalse(parts[0]["complete"])
        self.assertEqual(sorted(self.numbers(parts[0]) + self.numbers(parts[1])), self.numbers(whole))
        logs = [(self.folder / f"part{n}" / "mixed-data.samples.jsonl").read_text().splitlines(True) for n in (1, 2)]
        (self.folder / "joined").mkdir()
        (self.folder / "joined" / "mixed-data.samples.jsonl").write_text("".join(logs[0] + logs[1][1:]))
        joined, = self.evaluate(*small, report="joined", task="mixed")["runs"]
        self.assertTrue(joined["complete"])
        self.assertEqual(self.numbers(joined), self.numbers(whole))
        self.run_program(*self.arguments(*small, "--part", "3/2", task="mixed", report="no"), expect=2)

    def test_a_short_mixed_stream_still_has_text_around_its_passages(self):
        self.file("data.jsonl", questions(3))
        run, = self.evaluate("--samples", "2", "--distances", "1", "--lengths", "128", "--columns", "hybrid", task="mixed")["runs"]
        self.assertEqual(len(run["samples"]), 2)

    def test_evidence_is_part_of_what_a_run_is(self):
        self.file("data.jsonl", "".join(json.dumps({"id": f"u{n}", "question": f"Who is Zor {n}?", "answers": []}) + "\n" for n in range(2)))
        small = ("--samples", "2", "--distances", "4", "--columns", "hybrid")
        run, = self.evaluate(*small, "--evidence", "none", task="unknown")["runs"]
        self.assertEqual(run["run"]["evidence"], "none")
        self.assertTrue(all(s["first_ms"] > 0 and s["first_ms"] <= 1000 * s["seconds"] + 1e-6 for s in run["samples"]))
        self.run_program(*self.arguments(*small, "--evidence", "names", task="unknown"), expect=1)  # another run

    def test_unknown_counts_admitting_it(self):
        self.file("data.jsonl", "".join(json.dumps({"id": f"u{n}", "question": f"Who is Zor {n}?", "answers": []}) + "\n" for n in range(5)))
        run, = self.evaluate("--samples", "5", "--distances", "4", "--columns", "closed-book,mplus,oracle-recall", task="unknown")["runs"]
        self.assertEqual(len(run["samples"]), 15)
        for s in run["samples"]:
            self.assertEqual("unknown" in s, s["column"] != "oracle-recall")  # no chunk is right

    def test_needle_covers_lengths_and_depths(self):
        self.file("data.jsonl", "".join(json.dumps({"title": "e", "text": story(300, 40 + n)}) + "\n" for n in range(3)))
        common = ("--lengths", "128,320", "--depths", "0,50,100", "--columns", "full,mplus,oracle-recall")
        run, = self.evaluate(*common, task="needle")["runs"]
        self.assertEqual(len(run["samples"]), 2 * 3 * 3)
        self.assertEqual({(s["length"], s["depth"]) for s in run["samples"]}, {(n, d) for n in (128, 320) for d in (0, 50, 100)})
        self.assertEqual({s["memory"] for s in run["samples"]}, {0, 1})  # all keys of a length in one text
        deep = [s for s in run["samples"] if s["length"] == 320 and s["column"] == "mplus"]
        self.assertEqual({s["depth"]: s["distance"] for s in deep}, {0: 9, 50: 4, 100: 0})
        run, = self.evaluate(*common, "--protocol", "separate", report="each", task="needle")["runs"]
        self.assertEqual({s["memory"] for s in run["samples"]}, set(range(6)))
        self.assertTrue((self.folder / "out" / "needle-data-mplus.png").exists())


class LongDocuments(Evaluation):
    """Small made-up files in the public formats."""

    def test_longbench_lines(self):
        run, = self.report_of("longbench_sample.jsonl")
        self.assertEqual(len(run["samples"]), 3 * 3)  # two questions on one document, one on another
        self.assertEqual({s["memory"] for s in run["samples"]}, {0, 1})
        self.assertTrue(all({"f1", "f1_whole"} <= s.keys() for s in run["samples"]))

    def test_choices_by_likelihood(self):
        run, = self.report_of("choice_sample.jsonl", columns="closed-book,full,mplus,bm25")
        for s in run["samples"]:
            if s["column"] == "bm25":
                self.assertIs(s["applicable"], False)
                continue
            self.assertEqual(len(s["option_nll"]), 6)
            self.assertEqual(s["chosen"], s["option_nll"].index(min(s["option_nll"])))
            self.assertEqual(s["right"], s["chosen"] == 2)

    def test_locomo_conversations(self):
        run, = self.report_of("locomo_sample.json")
        self.assertEqual({s["category"] for s in run["samples"]}, {1, 2, 3, 4, 5})
        self.assertTrue(all("stemmed_f1" in s for s in run["samples"]))
        self.assertIn("by category", (self.folder / "out" / "report.md").read_text())

    def test_bad_files_are_named(self):
        for name, text, words in [("a.jsonl", '{"input": "q", "answers": []}', "a.jsonl:1"),
                                  ("b.jsonl", '{"context": "c", "input": "q", "answers": ["x"], "options": ["y", "z"]}', "options"),
                                  ("c.json", "{}", "list"), ("d.json", '[{"conversation": {}, "qa": []}]', "session_1")]:
            self.file(name, text)
            self.assertIn(words, self.error("eval", "longbench", "--data", name, *self.model))

    def report_of(self, name, columns="closed-book,window,mplus"):
        self.run_program("eval", "longbench", "--data", DATA / "eval" / name, "--columns", columns, "--report", "out", *self.model)
        return self.results()["runs"]


class Likelihood(Evaluation):
    def setUp(self):
        super().setUp()
        self.file("data.jsonl", "".join(json.dumps({"title": f"book {n}", "text": story(700, n)}) + "\n" for n in range(3)))

    def test_next_chunk_and_chunks_told_again(self):
        run, = self.evaluate("--distances", "2,6", "--lengths", "64,128", "--samples", "2", task="lm-loss")["runs"]
        samples = run["samples"]
        again = [s for s in samples if s["repeat"]]
        self.assertEqual({s["distance"] for s in again}, {1, 5})
        self.assertEqual({s.get("context") for s in samples if s["column"] == "full" and s["written"] == 6}, {64, 128})
        self.assertEqual({s.get("context") for s in samples if s["column"] == "full" and s["written"] == 2}, {64})
        self.assertTrue(all(0 < s["nll"] < 20 for s in samples))
        # What one column saw is what `mplus score` says of the same tokens: the memory makes a difference, and only there.
        nll = {(s["column"], s["id"], s["written"]): s["nll"] for s in samples if not s["repeat"] and s["column"] != "full"}
        self.assertNotEqual(nll["stm", "book 0", 6], nll["closed-book", "book 0", 6])
        self.assertIn("Share of the full context", (self.folder / "out" / "report.md").read_text())
        self.assertIn("512", self.error(*self.arguments("--lengths", "500", report="x", task="lm-loss")))

    def test_base_beside_read_adapter(self):
        run, = self.evaluate("--samples", "6", "--lengths", "100", task="base")["runs"]
        self.assertEqual(len(run["samples"]), 12)
        nll = {(s["id"], s["column"]): s["nll"] for s in run["samples"]}
        self.assertTrue(all(nll[i, "base"] != nll[i, "delta"] for i, _ in nll))
        self.assertIn("price of the memory", (self.folder / "out" / "report.md").read_text())

    def test_cost_counts_tokens_time_and_bytes(self):
        self.run_program("eval", "cost", "--lengths", "320,1k", "--report", "out", *self.model)
        first, second = self.results()["runs"][0]["samples"]
        self.assertEqual((first["tokens"], second["tokens"]), (320, 1024))
        self.assertLess(first["write_seconds"], second["write_seconds"])
        self.assertLess(first["memory_bytes"], second["memory_bytes"])
        self.assertGreater(first["answer_tokens_per_second"], 0)


class Refused(Evaluation):
    def test_leaks_fail_the_run(self):
        passage = json.loads(questions(1))["context"]
        leak = [{"context": passage} if n == 5 else {"context": story(20, n)} for n in range(60)]
        self.file("passages.jsonl", "".join(json.dumps(line) + "\n" for line in leak))
        message = self.error(*self.arguments("--samples", "12", "--distances", "24", "--columns", "stm"))
        self.assertIn("leak", message)
        self.assertIn("q0", message)
        self.assertIn("passages.jsonl:", message)

    def test_bad_data_is_named_by_line(self):
        for line, words in [("{", "data.jsonl:13"), ('{"question": "x", "answers": []}', "context"),
                            ('{"context": "c", "question": "x", "answers": 7}', "answers"), ("[]", "data.jsonl:13")]:
            self.file("data.jsonl", questions(12) + line + "\n")
            self.assertIn(words, self.error(*self.arguments(*SMALL)))
        os.remove(self.folder / "data.jsonl")
        self.assertIn("data.jsonl", self.error(*self.arguments(*SMALL)))
        self.file("data.jsonl", "")
        self.assertIn("found none", self.error(*self.arguments(*SMALL)))

    def test_a_question_longer_than_the_window_is_named(self):
        longer = {"id": "long", "context": "The key is 9.", "question": story(80), "answers": ["9"]}
        self.file("data.jsonl", json.dumps(longer) + "\n")
        message = self.error(*self.arguments("--samples", "1", "--distances", "6"))
        self.assertIn("question long (line 1)", message)
        self.assertIn("window is 64", message)

    def test_too_little_text_or_too_few_questions(self):
        self.assertIn("books.jsonl", self.error(*self.arguments("--samples", "6", "--distances", "90000")))
        self.assertIn("500 questions wanted", self.error(*self.arguments("--samples", "500", "--distances", "24")))

    def test_wrong_usage(self):
        for words in [("eval",), ("eval", "nosuchtask"), ("eval", "report"), ("eval", "compare", "a"),
                      ("eval", "retention", "--distances", "x"), ("eval", "retention", "--protocol", "both")]:
            self.error(*words, expect=2)
        for task, option, value, owner in [("mixed", "--start", "full", "retention"), ("mixed", "--form", "paper", "retention"),
                                           ("twice", "--depths", "5", "needle"), ("cost", "--distances", "3", "lm-loss")]:
            message = self.error("eval", task, option, value, expect=2)
            self.assertIn(f"{option}: it would do nothing in {task}", message)
            self.assertIn(owner, message)
        message = self.error(*self.arguments("--columns", "stm,nosuch"))
        self.assertIn("nosuch", message)
        self.assertIn("closed-book", message)
        self.assertIn("--data", self.error("eval", "retention", *self.model))
        plain = ("eval", "retention", "--data", "data.jsonl", "-m", self.base, "--delta", "none")
        self.assertIn("delta", self.error(*plain))

    def test_report_folders_of_another_version(self):
        self.file("out/results.json", '{"schema":"mplus-eval","version":7,"runs":[]}')
        self.assertIn("version 7", self.error(*self.arguments(*SMALL)))
        self.assertIn("version 7", self.error("eval", "report", "out"))
        self.file("bad/results.json", "not json")
        self.assertIn("results.json", self.error("eval", "report", "bad"))
        self.assertIn("results.json", self.error("eval", "compare", "missing", "bad"))


class Reports(Evaluation):
    def test_report_is_drawn_anew_from_results_alone(self):
        self.evaluate(*SMALL, "--columns", "stm,mplus")
        out = self.folder / "out"
        before = (out / "report.md").read_text()
        for path in out.iterdir():
            if path.name != "results.json":
                path.unlink()
        self.run_program("eval", "report", "out")
        self.assertEqual((out / "report.md").read_text(), before)

    def test_compare_pairs_questions(self):
        self.evaluate(*SMALL, "--columns", "stm,mplus", report="a")
        self.evaluate(*SMALL, "--columns", "mplus", report="b")
        table = self.run_program("eval", "compare", "a", "b").stdout.decode()
        self.assertIn("+0.000 [+0.000, +0.000]", table)
        self.assertIn("| mplus | exact |", table)
        self.assertNotIn("| stm |", table)


if __name__ == "__main__":
    main()
