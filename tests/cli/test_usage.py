"""The command line itself: help, versions, wrong usage, exit codes."""
import re

from program import DATA, ProgramTest, main

COMMANDS = ["chat", "remember", "ask", "generate", "score", "session", "inspect", "convert", "eval", "bench", "model"]


class Usage(ProgramTest):
    def test_help_teaches(self):
        overview = self.run_program("--help").stdout.decode()
        for command in COMMANDS:
            self.assertRegex(overview, rf"(?m)^  {command} ")
            text = self.run_program(command, "--help").stdout.decode()
            self.assertGreaterEqual(len(re.findall(r"(?m)^  .*mplus " + command, text)), 2, f"{command}: two examples")

    def test_version_names_numerics(self):
        text = self.run_program("--version").stdout.decode()
        self.assertRegex(text, r"^mplus \d+\.\d+\.\d+\n")
        self.assertRegex(text, r"numerics id k\d+-[\w-]+-fast")

    def test_wrong_usage_is_2(self):
        for arguments in [(), ("nosuchcommand",), ("ask", "x", "--no-such-option"), ("ask",), ("generate",),
                          ("generate", "x", "--ids", "1"), ("score",), ("score", "--ids", ","), ("remember",),
                          ("remember", "x", "--memory", "m", "--session", "s"), ("session",), ("session", "show"), ("inspect",), ("convert", "a", "b"), ("convert", "a", "b", "--to", "c"),
                          ("model",), ("ask", "  "), ("ask", "x", "-t", "0"), ("ask", "x", "--temp", "hot"),
                          ("ask", "x", "-n"), ("score", "--ids", "1,x"), ("remember", "x", "--memory", "m",
                                                                         "--ltm-capacity", "-5")]:
            with self.subTest(arguments):
                self.error(*arguments, expect=2)

    def test_unknown_recall_lists_the_known(self):
        message = self.error("ask", "x", "--recall", "guess", expect=2)
        for word in ("guess", "hybrid", "consensus", "per-layer", "none"):
            self.assertIn(word, message)

    def test_options_are_environment_variables(self):
        message = self.error("ask", "x", expect=2, env=self.environment | {"MPLUS_RECALL": "guess"})
        self.assertIn("consensus", message)
        model = DATA / "golden/mplus_read/model"
        named = self.report("score", "--ids", "5,6,7", "-m", model)
        self.assertEqual(named, self.report("score", "--ids", "5,6,7", env=self.environment | {"MPLUS_MODEL": str(model)}))

    def test_a_missing_model_says_where_it_was_looked_for(self):
        message = self.error("generate", "x")
        self.assertIn(str(self.folder / "home" / "models"), message)
        self.assertIn("mplus model get", message)
        self.assertIn("nosuch.gguf", self.error("generate", "x", "-m", "nosuch.gguf"))

    def test_devices(self):
        model = DATA / "golden/mplus_read/model"
        message = self.error("score", "--ids", "5,6", "-m", model, "--device", "gpu", expect=2)
        for word in ("gpu", "auto", "cpu", "cuda"):
            self.assertIn(word, message)
        named = self.report("score", "--ids", "5,6,7", "-m", model, "--device", "cpu")
        self.assertEqual(named["tokens"], 3)
        message = self.error("score", "--ids", "5,6", "-m", model, "--device", "cuda:99")
        self.assertIn("cuda:99", message)

    def test_budgets(self):
        model = DATA / "golden/mplus_read/model"
        self.assertIn("5X", self.error("score", "--ids", "5,6", "-m", model, "--host-memory", "5X", expect=2))
        self.assertIn("0", self.error("score", "--ids", "5,6", "-m", model, "--device-memory", "0", expect=2))
        message = self.error("score", "--ids", "5,6", "-m", model, "--host-memory", "1k")
        enough = re.search(r"--host-memory allows are taken; ([0-9.]+ [kMG]B) would be enough", message)
        self.assertTrue(enough, message)
        named = self.report("score", "--ids", "5,6,7", "-m", model, "--host-memory", enough[1])
        self.assertEqual(named["tokens"], 3)

    def test_ids_are_checked(self):
        self.assertIn("300", self.error("score", "--ids", "5,300", "-m", DATA / "golden/mplus_read/model"))
        message = self.error("ask", "x", "-m", DATA / "golden/mplus_read/model")
        self.assertIn("tokenizer.json", message)


if __name__ == "__main__":
    main()
