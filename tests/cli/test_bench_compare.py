"""tools/bench_compare.py: what it reads in both programs' reports, and what it makes of them."""
import importlib.util
import json
import unittest

from program import ROOT, TinyModelTest, main

spec = importlib.util.spec_from_file_location("bench_compare", ROOT / "tools" / "bench_compare.py")
bench_compare = importlib.util.module_from_spec(spec)
spec.loader.exec_module(bench_compare)


def peer(prompt, generation):
    tests = [{"n_prompt": 512, "n_gen": 0, "n_depth": 0, "avg_ts": prompt}, {"n_prompt": 0, "n_gen": 64, "n_depth": 0, "avg_ts": generation}]
    return bench_compare.peer_rates(json.dumps(tests))


def a_round(prompt, decode):
    return {"same": peer(100, 50), "best": {"q4_0": peer(200, 60)}, "own": {"prefill": prompt, "decode": decode}, "searched": False,
            "start seconds": 0.05}


class BenchCompare(unittest.TestCase):
    def test_reads_what_llama_bench_prints(self):
        self.assertEqual(peer(300.5, 40), {"prompt 512 behind 0": 300.5, "generation 64 behind 0": 40})

    def row(self, rounds, start, machine="arm"):
        return next(row for row in bench_compare.summary(rounds, machine) if row["row"].startswith(start))

    def test_a_ratio_is_the_median_of_the_rounds(self):
        row = self.row([a_round(300, 66), a_round(500, 66), a_round(400, 66)], "prompt of 512,")
        same, best = row["bars"]
        self.assertEqual((same["value"], same["verdict"]), ((4, 3, 5), "met"))
        self.assertEqual((best["value"], best["verdict"]), ((2, 1.5, 2.5), "met"))
        self.assertEqual(row["values"]["mplus"], (400, 300, 500))

    def test_says_what_is_short_and_what_was_not_measured(self):
        rounds = [a_round(399, 60)]
        self.assertEqual(self.row(rounds, "prompt of 512,")["bars"][0]["verdict"], "short")
        self.assertEqual(self.row(rounds, "1.5B: prompt")["bars"][0]["verdict"], "not measured")
        self.assertEqual(self.row(rounds, "150,000 rows: first")["bars"][0]["verdict"], "not measured")
        self.assertEqual(self.row(rounds, "start of")["bars"][0]["verdict"], "met")
        self.assertEqual(self.row(rounds, "prompt of 512,", "x86")["bars"][0]["bar"], 10)
        self.assertIn("| not measured |", bench_compare.table(bench_compare.summary(rounds, "arm")))


class OwnReport(TinyModelTest):
    def test_reads_what_mplus_bench_prints(self):
        report = self.run_program("bench", "--json", *self.model, "--prompt-tokens", 4, "--decode-tokens", 4, "--repetitions", 2,
                                  "--sessions", 2, "--chunks", 2, "--recall-rows", 64, "--store-blocks", 0)
        rates = bench_compare.own_rates(report.stdout)
        for work in ("prefill", "decode", "decode, 2 sessions", "prefill of a question", "prefill with memory", "read GB/s", "decode of limit"):
            self.assertGreater(rates[work], 0, work)


if __name__ == "__main__":
    main()
