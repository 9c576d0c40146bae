"""Stopped in the middle: by a person while a long question is read, or by a file that is cut short while it is in use."""
import os
import signal
import subprocess
import time

from program import PROGRAM, TIMEOUT, main, story
from test_session import SessionTest

LONG_WORDS = 400_000  # minutes of reading, even with the tiny model


class Stopped(SessionTest):
    def started(self, *arguments, stdin):
        process = subprocess.Popen([PROGRAM, *map(str, arguments)], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, cwd=self.folder, env=self.environment)
        self.addCleanup(process.kill)
        process.stdin.write(stdin.encode())
        process.stdin.flush()
        return process

    def cpu_seconds(self, process):
        fields = open(f"/proc/{process.pid}/stat").read().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def interrupt_when_busy(self, process):
        """Sends SIGINT when the question is read, well behind its tokenisation, and waits; seconds of work until the end."""
        while self.cpu_seconds(process) < 4:
            time.sleep(0.05)
            self.assertIsNone(process.poll(), "it ended before it was stopped")
        process.send_signal(signal.SIGINT)
        at = self.cpu_seconds(process)
        return at

    def test_a_long_question_stops_at_once(self):
        self.remember(self.file("a.txt", story(300, 1)))
        before = self.exported()
        process = self.started("ask", "-", *self.model, stdin=story(LONG_WORDS, 2))
        process.stdin.close()
        self.interrupt_when_busy(process)
        asked = time.monotonic()
        process.wait(TIMEOUT)
        self.assertLess(time.monotonic() - asked, 10)
        self.assertEqual(process.returncode, 1)
        self.assertEqual(self.exported(), before)

    def test_a_chat_goes_on_without_the_message(self):
        messages = ["Where is the lamp?", story(LONG_WORDS, 2).strip(), "And the boat?"]
        process = self.started("chat", "-n", "6", *self.model, stdin=messages[0] + "\n" + messages[1] + "\n")
        self.interrupt_when_busy(process)
        asked = time.monotonic()
        out, errors = process.communicate((messages[2] + "\n").encode(), timeout=TIMEOUT)
        self.assertLess(time.monotonic() - asked, 20)
        self.assertEqual(process.returncode, 0, errors)
        self.assertIn(b"stopped before the answer began", errors)
        self.answers([messages[0], messages[2]], "--session", "never asked")
        self.assertEqual(self.exported(), self.exported("never asked"))
        self.session("verify", "default", "--replay", *self.model)


class CutShort(SessionTest):
    def test_a_model_cut_short_in_use(self):
        model = self.base / "model.safetensors"
        original = model.read_bytes()
        self.addCleanup(model.write_bytes, original)
        process = self.start_chat()
        self.say(process, "Where is the lamp?")
        os.truncate(model, 4096)
        out, errors = process.communicate(b"And the boat?\n", timeout=TIMEOUT)
        self.assertEqual(process.returncode, 1, errors)
        self.assertIn(f"mplus: {model}: was cut short".encode(), errors)
        model.write_bytes(original)
        self.assertEqual(self.shown()["turns"], 1 + out.count(b'"message"'), "what was acknowledged, and no more")
        self.session("verify", "default", "--replay", *self.model)

    def test_a_segment_cut_short_in_use(self):
        self.remember(self.file("a.txt", story(2000, 1)))
        segments = sorted((self.home / "segments").iterdir())
        self.assertTrue(segments)
        contents = {path: path.read_bytes() for path in segments}
        process = self.start_chat()
        self.say(process, "Where is the lamp?")
        for path in segments:
            os.truncate(path, 0)
        out, errors = process.communicate(b"And the boat?\n", timeout=TIMEOUT)
        self.assertEqual(process.returncode, 1, errors)
        self.assertRegex(errors.decode(), r"mplus: .*/segments/.*: was cut short")
        for path, content in contents.items():
            path.write_bytes(content)
        self.assertEqual(self.shown()["turns"], 1)
        self.session("verify", "default", "--replay", *self.model)

    def start_chat(self):
        process = subprocess.Popen([PROGRAM, "chat", "--json", "-n", "4", *map(str, self.model)], stdin=subprocess.PIPE,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=self.folder, env=self.environment)
        self.addCleanup(process.kill)
        return process

    def say(self, process, message):
        process.stdin.write(message.encode() + b"\n")
        process.stdin.flush()
        self.assertIn(b'"message"', process.stdout.readline())


if __name__ == "__main__":
    main()
