"""What a terminal sees: progress, colours only where they are wanted, and never a byte that commands it."""
import os
import pty
import select
import time

from program import PROGRAM, TIMEOUT, TinyModelTest, main, run_on_terminal, story

ESCAPE = b"\x1b"


class OnATerminal(TinyModelTest):
    def shown(self, *arguments, stop_when=None, **environment):
        return run_on_terminal([*arguments, *self.model], self.environment | {"TERM": "xterm"} | environment, self.folder,
                               stop_when)

    def test_progress_with_rate_and_remaining_time(self):
        text = self.file("long.txt", story(600000, 3))
        shown, _ = self.shown("remember", text, "--memory", "m.safetensors", NO_COLOR="1", stop_when=b" left")
        self.assertRegex(shown, rb"\r\[[#.]+\] +\d+ % +\d+ tok/s +[\d.]+ (s|min \d+ s|h \d+ min) left")
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


class Typing(TinyModelTest):
    """A person at a terminal: Ctrl-C comes from the keyboard."""

    def begin(self, *arguments):
        child, keyboard = pty.fork()
        if child == 0:
            os.chdir(self.folder)
            os.execve(PROGRAM, [PROGRAM, *map(str, arguments), *map(str, self.model)],
                      self.environment | {"TERM": "xterm", "NO_COLOR": "1"})
        self.addCleanup(os.close, keyboard)
        self.child, self.keyboard, self.shown = child, keyboard, b""

    def wait_for(self, text):
        deadline = time.monotonic() + TIMEOUT
        while text not in self.shown:
            self.assertLess(time.monotonic(), deadline, self.shown)
            if select.select([self.keyboard], [], [], 1)[0]:
                self.shown += os.read(self.keyboard, 4096)
        self.shown = self.shown[self.shown.index(text) + len(text):]

    def type(self, text):
        os.write(self.keyboard, text.encode())

    def exit_code(self):
        deadline = time.monotonic() + TIMEOUT
        while time.monotonic() < deadline:
            ended, status = os.waitpid(self.child, os.WNOHANG)
            if ended:
                return os.waitstatus_to_exitcode(status)
            try:  # a full terminal would hold the child up
                if select.select([self.keyboard], [], [], 0.1)[0]:
                    os.read(self.keyboard, 4096)
            except OSError:
                pass
        self.fail("the program does not end")

    def test_ctrl_c_stops_the_answer_and_not_the_chat(self):
        self.begin("chat", "--memory", "m.safetensors", "-n", "100000000")
        self.wait_for(b"> ")
        self.type("Hello.\n")
        self.wait_for(b"Hello.")  # the echo
        time.sleep(0.5)
        self.type("\x03")
        self.wait_for(b"\n> ")
        self.type("/stats\n")
        self.wait_for(b"turns             1")
        self.wait_for(b"> ")
        self.type("\x04")
        self.assertEqual(self.exit_code(), 0)
        self.assertEqual(self.report("inspect", "m.safetensors", "--verify")["turns"], 1)

    def test_a_second_ctrl_c_ends_the_program(self):
        self.file("long.txt", story(600000, 3))
        self.begin("remember", "long.txt", "--memory", "m.safetensors")
        self.wait_for(b" left")
        self.type("\x03\x03")
        self.assertIn(self.exit_code(), (1, -2))  # by the signal, unless it had stopped by then
        if (self.folder / "m.safetensors").exists():
            self.report("inspect", "m.safetensors", "--verify")


if __name__ == "__main__":
    main()
