"""What a terminal sees: progress, colours only where they are wanted, and never a byte that commands it."""
from program import TinyModelTest, main, run_on_terminal, story

ESCAPE = b"\x1b"


class OnATerminal(TinyModelTest):
    def shown(self, *arguments, stop_when=None, **environment):
        return run_on_terminal([*arguments, *self.model], self.environment | {"TERM": "xterm"} | environment, self.folder,
                               stop_when)

    def test_progress_with_rate_and_remaining_time(self):
        text = self.file("long.txt", story(600000, 3))
        shown, _ = self.shown("remember", text, "--memory", "m.safetensors", NO_COLOR="1", stop_when=b" left")
        self.assertRegex(shown, rb"\r\[[#.]+\] +\d+ % +\d+ tok/s +[\d.]+ (s|min \d+ s) left")
        self.assertNotIn(ESCAPE, shown)
        self.report("inspect", "m.safetensors", "--verify")

    def test_colours(self):
        memory = self.memory(story(400))
        ask = ("ask", "Where is the lamp?", "--memory", memory, "--why", "-n", "2")
        self.assertIn(ESCAPE, self.shown(*ask)[0])
        self.assertNotIn(ESCAPE, self.shown(*ask, NO_COLOR="1")[0])
        self.assertNotIn(ESCAPE, self.shown(*ask, TERM="dumb")[0])
        self.assertIn(ESCAPE, self.shown(*ask, NO_COLOR="")[0])  # empty counts as not set

    def test_lines_fit_the_terminal(self):
        memory = self.memory(story(400))
        shown, code = self.shown("ask", "Where?", "--memory", memory, "--why", "-n", "1", NO_COLOR="1")
        self.assertEqual(code, 0)
        excerpts = [line for line in shown.decode().splitlines() if line.startswith("     ") and "…" in line]
        self.assertTrue(excerpts)
        self.assertTrue(all(len(line) <= 100 for line in excerpts))

    def test_hostile_bytes_are_shown_escaped(self):
        evil = "\x1b]0;owned\x07 \x9b31m " + story(300)
        self.file("a\x1b[31m.txt", evil)
        self.remember("a\x1b[31m.txt", "--memory", "m.safetensors")
        for arguments in (("ask", "Where?", "--memory", "m.safetensors", "--why", "-n", "1", *self.model),
                          ("inspect", "m.safetensors", "--sources"), ("inspect", "\x1b[31m")):
            shown, _ = run_on_terminal(arguments, self.environment | {"TERM": "xterm", "NO_COLOR": "1"}, self.folder)
            self.assertNotIn(ESCAPE, shown)
            self.assertNotIn("\x9b".encode(), shown)
            self.assertNotIn(b"\x07", shown)
            self.assertIn(b"\\x1b", shown)


if __name__ == "__main__":
    main()
