"""Chat with --reread: passages that stand in the window for one answer, whatever lengths meet there."""
import json

from program import TinyModelTest, main, story

WINDOW = 64  # W of the tiny model; a chunk has 32 tokens


class Reread(TinyModelTest):
    def chat(self, session, answer_tokens, passages, messages):
        """Every message is answered, and every turn is kept as it was: the journal gives the same memory again."""
        done = self.run_program("chat", "--json", "--session", session, "-n", answer_tokens, "--reread", passages,
                                *self.model, stdin="".join(f"{message}\n" for message in messages))
        answers = [json.loads(line) for line in done.stdout.splitlines()]
        self.assertEqual([answer["message"] for answer in answers], messages)
        shown = self.report("session", "show", session)
        self.assertEqual(shown["turns"], len(messages))
        verdict = self.report("session", "verify", session, "--replay", *self.model)
        self.assertEqual(verdict["replay"], "equal, bit for bit")
        return answers

    def test_every_length_of_question_answer_and_passage(self):
        """A turn's own text, the passage in front of it and the answer together come out below, at and above the window.

        A message of n words has about n + 10 tokens with its template; passages of 4 to 40 words are remembered, so that
        there is one for every room that is left. The turns in a row begin with many fills of the window."""
        for number, words in enumerate((4, 9, 14, 20, 26, 40)):
            self.remember(self.file(f"{words}.txt", story(words, number)), "--session", "read", "--flush")
        reread = overflows = 0
        for answer_tokens in (1, 2, 7, 15, 16, 17, 31, 33, 48, WINDOW - 1, WINDOW, WINDOW + 1, 2 * WINDOW + 3):
            session = f"n{answer_tokens}"
            self.run_program("session", "fork", "read", session)
            # A long message leaves an almost empty window to the next one.
            messages = [story(words, 50 + words).strip() for words in (1, 90, 3, 8, 91, 15, 92, 24, 36, 93, 47, 94, 2, 11)]
            for answer in self.chat(session, answer_tokens, 1 + answer_tokens % 3, messages):
                reread += len(answer["reread"]) > 0
                overflows += len(answer["reread"]) > 0 and answer["prompt_tokens"] + len(answer["tokens"]) > WINDOW
        self.assertGreater(reread, 25, "the sweep must read passages again")
        self.assertGreater(overflows, 4, "and must pass the window's end while they stand in it")


if __name__ == "__main__":
    main()
