"""Asking, generating, scoring and talking: what comes out, and that a later process goes on with the same token."""
import json
import signal
import time

import tiny_model
from program import TinyModelTest, main, story, with_metadata


class Answers(TinyModelTest):
    vocabulary = tiny_model.VOCAB

    def test_a_later_process_gives_the_same_answer(self):
        memory = self.memory(story(400, 1), story(400, 2))
        first = self.report("ask", "Where is the lamp?", "--memory", memory, "--why", "-n", "8", *self.model)
        again = self.report("ask", "Where is the lamp?", "--memory", memory, "--why", "-n", "8", *self.model)
        for field in ("answer", "tokens", "why", "reason"):
            self.assertEqual(first[field], again[field])
        empty = self.report("ask", "Where is the lamp?", "-n", "8", "--why", *self.model)
        self.assertEqual(empty["why"], [])
        self.assertNotEqual(first["tokens"], empty["tokens"], "a memory must matter")

    def test_why_leads_back_to_the_text(self):
        texts = [story(400, 1), story(400, 2)]
        memory = self.memory(*texts)
        report = self.report("ask", "Where is the lamp?", "--memory", memory, "--why", "-n", "2", *self.model)
        recalled = [chunk for chunk in report["why"] if chunk["rows_recalled"] > 0]
        self.assertEqual(sum(chunk["rows_recalled"] for chunk in recalled), 2 * 16)  # L · K0
        self.assertAlmostEqual(sum(chunk["weight"] for chunk in recalled), 1, places=6)
        for chunk in report["why"]:
            self.assertEqual(len(chunk["layer_weights"]), 2)
            for span in chunk["spans"]:
                text = texts[0] if span["source"].endswith("text0.txt") else texts[1]
                self.assertEqual(text.encode()[span["byte_begin"]:span["byte_end"]].decode(), span["text"])
        votes = [chunk["total"] for chunk in report["why"]]
        self.assertEqual(votes, sorted(votes, reverse=True))
        lines = self.run_program("ask", "Where is the lamp?", "--memory", memory, "--why", "-n", "2", *self.model)
        self.assertIn(b"text0.txt, line 1", lines.stdout)

    def test_words_find_what_shares_them(self):
        texts = [story(300, seed) for seed in range(6)]
        texts[2] += "The password of the old safe is Quicksilver.\n"
        memory = self.memory(*texts)
        question = "What is the password of the safe, Quicksilver?"
        def best(*options):
            return self.report("ask", question, "--memory", memory, "--why", "-n", "2", *options, *self.model)
        for rule in ("hybrid", "words"):
            report = best("--recall", rule, "--words-weight", "100")
            self.assertEqual(report["recall"], rule)
            text = "".join(span["text"] for span in report["why"][0]["spans"])
            self.assertIn("Quicksilver", text)
            self.assertGreater(report["why"][0]["words"], 0)
            self.assertGreater(report["why"][0]["rows_recalled"], 0)
        self.assertEqual(best()["recall"], "hybrid", "the default where text is known")
        self.assertEqual(best("--recall", "consensus")["recall"], "consensus")
        hostile = '" OR NEAR( AND * ^ \\ \' ; DROP TABLE words_0 --'
        self.report("ask", hostile, "--memory", memory, "-n", "1", *self.model)

    def test_every_rule_of_recall_answers(self):
        memory = self.memory(story(600, 1))
        for rule in ("hybrid", "consensus", "words", "per-layer", "random", "attention"):
            report = self.report("ask", "Where?", "--memory", memory, "--why", "-n", "1", "--recall", rule, *self.model)
            self.assertEqual(sum(chunk["rows_recalled"] for chunk in report["why"]), 2 * 16, rule)  # L · K0
            by_chunks = self.report("ask", "Where?", "--memory", memory, "--why", "-n", "1", "--recall", rule,
                                    "--search", "two-level", *self.model)
            self.assertEqual(by_chunks["why"], report["why"])  # few chunks: all of them are scored
        oracle = self.report("ask", "Where?", "--memory", memory, "--why", "-n", "1", "--recall", "oracle",
                             "--recall-chunks", "1,0", *self.model)
        self.assertEqual({c["chunk"] for c in oracle["why"] if c["rows_recalled"]}, {0, 1})
        self.assertIn("oracle", self.error("ask", "Where?", "--memory", memory, "--recall", "oracle", *self.model))
        self.assertIn("vector_pool", self.error("ask", "Where?", "--memory", memory, "--recall", "vector", *self.model))

    def test_recall_may_leave_out_what_is_at_hand_or_far_behind(self):
        memory = self.memory(story(600, 1))

        def chunks(*options):
            why = self.report("ask", "Where?", "--memory", memory, "--why", "-n", "1", *options, *self.model)["why"]
            return {c["chunk"]: c["rows_recalled"] for c in why if c["rows_recalled"]}, why

        recalled, _ = chunks()
        self.assertGreater(len(recalled), 1)
        best, _ = chunks("--recall-margin", "0")
        self.assertEqual(len(best), 1)
        self.assertLessEqual(best.keys(), recalled.keys())
        self.assertEqual(chunks("--recall-margin", "1000")[0], recalled)
        newest = max(c["chunk"] for c in chunks()[1])  # stands in short-term memory whole
        given = ("--recall", "oracle", "--recall-chunks", newest)
        self.assertEqual(sum(chunks(*given, "--recall-over", "long-term")[0].values()), 2 * 16)  # L · K0
        self.assertLess(sum(chunks(*given, "--recall-over", "everything")[0].values()), 2 * 16)
        seen = self.report("ask", "Where?", "--memory", memory, "-n", "8", "--recall-over", "everything", *self.model)["text"]
        alone = self.report("ask", "Where?", "--memory", memory, "-n", "8", "--recall-over", "everything", "--read-over", "recalled",
                            *self.model)["text"]
        self.assertNotEqual(seen, alone)
        self.assertIn("recall over everything", self.error("ask", "Where?", "--memory", memory, "--recall-over", "long-term",
                                                           "--read-over", "recalled", *self.model))
        for options in (("--read-over", "nothing"), ("--recall-margin", "-1"), ("--recall-margin", "x"), ("--recall-over", "nothing"), ("--hops", "0"), ("--hops", "3")):
            self.assertIn(options[0], self.error("ask", "Where?", "--memory", memory, *options, *self.model, expect=2))

    def test_chunks_may_be_read_in_turn(self):
        memory = self.memory(story(600, 1))

        def ask(no_answer, *options, turns=3, lean=0, lag=0, read=self.report):
            delta = self.folder / "in-turn.safetensors"
            with_metadata(self.delta, delta, recall_over="everything", read_over="in-turn", no_answer=no_answer, read_turns=str(turns),
                          turn_lean=str(lean), turn_lag=str(lag))
            return read("ask", "Where?", "--memory", memory, "-n", "8", *options, "-m", self.base, "--delta", delta)

        why = ask("never said", "--why")["why"]
        turns = sorted((c["chunk"] for c in why[:3]), reverse=True)  # the newest first
        own = [ask("never said", "--recall", "oracle", "--recall-chunks", chunk)["text"] for chunk in turns]
        self.assertEqual(len(set(own)), 3, "the chunks must be told apart by what is said")
        first = ask("never said", "--why")
        self.assertEqual((first["text"], first["passed"]), (own[0], []))
        self.assertEqual({c["chunk"] for c in first["why"] if c["rows_recalled"]} - {turns[0]}, set())
        # What the newest says is no answer: the next one's is given, and nothing of the first is seen.
        second = ask(own[0].strip(), "--why")
        self.assertEqual((second["text"], second["passed"]), (own[1], turns[:1]))
        self.assertEqual([c["chunk"] for c in second["why"] if c["passed"]], turns[:1])
        shown = ask(own[0].strip(), read=self.run_program).stdout.decode()
        self.assertEqual(shown.strip(), own[1].strip())
        self.assertIn("gave no answer", ask(own[0].strip(), "--why", read=self.run_program).stdout.decode())
        # The last one's is given, whatever it says; so is one that only begins like no answer.
        only = ask("never said", turns=1)["text"]
        self.assertEqual(ask(only.strip(), turns=1)["text"], only)
        self.assertEqual(ask(own[0].strip() + " of that", read=self.run_program).stdout.decode().strip(), own[0].strip())
        # Far enough to one side, what says that there is no answer is never said; nor is there an answer but the best chunk's.
        self.assertNotEqual(ask(only.strip(), turns=1, lean=999)["text"][:2], only[:2])
        best = turns.index(why[0]["chunk"])
        sure = ask("never said", lag=999)
        self.assertEqual((sure["text"], sure["passed"]), (own[best], turns[:best]))
        none = ask(own[best].strip(), lag=999)
        self.assertEqual((none["text"].strip()[0], none["passed"]), (own[best].strip()[0], turns[:2]))
        both = ask(own[0].strip(), "--reread", "1")
        self.assertEqual(both["passed"], [])
        self.assertIn("no_answer", self.error("ask", "Where?", "--memory", memory, "--recall-over", "everything", "--read-over", "in-turn",
                                              *self.model))

    def test_text_that_waits_is_read_before_any_chunk(self):
        memory = self.memory(story(600, 1))

        def ask(no_answer, *options, read=self.report):
            delta = self.folder / "in-turn.safetensors"
            with_metadata(self.delta, delta, recall_over="everything", read_over="in-turn", no_answer=no_answer)
            return read("ask", "Where?", "--memory", memory, "-n", "8", *options, "-m", self.base, "--delta", delta)

        # Ids have no text that an answer could be looked up in: whatever is said is one.
        self.run_program("remember", "--ids", "5,6,7,8", "--memory", memory, *self.model)
        first = ask("never said", "--why")
        self.assertEqual([span["source"] for span in first["waiting"]], ["token ids"])
        self.assertEqual((first["passed"], sum(c["rows_recalled"] for c in first["why"])), ([], 0))
        self.assertTrue(any(c["rows_short_term"] == 0 for c in first["why"]), "what is stored, and was not recalled, shows, too")
        shown = ask("never said", "--why", "--heat", read=self.run_program).stdout.decode()
        self.assertRegex(shown, r"1\. token ids, .*\n.*waits to be written")
        self.assertRegex(shown, r"(?m)^ +2\. \|", "layers are drawn of the chunks, which come behind it")
        # What it says is no answer: on to the chunks, and it is none of those that were passed over.
        second = ask(first["text"].strip(), "--why")
        self.assertEqual((second["waiting"], second["passed"]), ([], []))
        self.assertGreater(sum(c["rows_recalled"] for c in second["why"]), 0)
        together = self.report("ask", "Where?", "--memory", memory, "-n", "8", *self.model)
        self.assertEqual(together["waiting"], [], "memory was read along with it")
        # The likeliest answer is taken out of the text that waits, word for word.
        memory = self.memory(story(600, 1), name="text.safetensors")
        self.run_program("remember", self.file("note.txt", "zzz"), "--memory", memory, *self.model)
        quoted = ask("never said")
        self.assertEqual(([span["text"] for span in quoted["waiting"]], quoted["text"].strip().lower()), (["zzz"], "zzz"))
        # Noise does not stand in it: as if it had not been read alone.
        self.assertEqual(ask("never said", "--temp", "1", "--seed", "1")["waiting"], [])

    def test_why_tells_layers_and_heat(self):
        memory = self.memory(story(400, 1))
        report = self.report("ask", "Where is the lamp?", "--memory", memory, "--why", "-n", "2", *self.model)
        self.assertEqual(sum(chunk["layers_first"] for chunk in report["why"]), 2, "each layer has one best chunk")
        for chunk in report["why"]:
            self.assertEqual(len(chunk["layer_votes"]), 2)
        shown = self.run_program("ask", "Where is the lamp?", "--memory", memory, "--heat", "-n", "2", *self.model).stdout
        self.assertIn("layers, lowest to highest".encode(), shown)
        self.assertIn(b"in short-term memory", shown)
        # A page that never left short-term memory shows, too.
        page = self.memory(story(60, 3), name="page.safetensors")
        report = self.report("ask", "Where is the lamp?", "--memory", page, "--why", "-n", "2", *self.model)
        self.assertGreater(len(report["why"]), 0)
        self.assertEqual(sum(chunk["rows_recalled"] for chunk in report["why"]), 0)

    def test_text_is_read_again(self):
        memory = self.memory(*[story(40, seed) for seed in range(4)])
        plain = self.report("ask", "the lamp", "--memory", memory, "-n", "2", "--why", *self.model)
        self.assertEqual(plain["reread"], [])
        again = self.report("ask", "the lamp", "--memory", memory, "-n", "2", "--why", "--reread", "1", *self.model)
        self.assertEqual([c["chunk"] for c in again["reread"]], [again["why"][0]["chunk"]])
        self.assertTrue(again["why"][0]["reread"])
        self.assertGreater(again["prompt_tokens"], plain["prompt_tokens"] + 16)
        self.assertEqual([c["chunk"] for c in again["why"]], [c["chunk"] for c in plain["why"]],
                         "what is read again does not ask")
        many = self.report("ask", "the lamp", "--memory", memory, "-n", "2", "--reread", "99", *self.model)
        self.assertLessEqual(many["prompt_tokens"], 64, "the window's budget")
        self.assertGreaterEqual(len(many["reread"]), 1)
        self.assertEqual(sorted(c["chunk"] for c in many["reread"]), [c["chunk"] for c in many["reread"]])
        shown = self.run_program("ask", "the lamp", "--memory", memory, "-n", "2", "--reread", "1", *self.model).stdout
        self.assertIn(b"read again: ", shown)

    def test_recall_none_recalls_nothing(self):
        memory = self.memory(story(600, 1))
        report = self.report("ask", "Where is the lamp?", "--memory", memory, "--why", "--recall", "none", *self.model)
        self.assertEqual(sum(chunk["rows_recalled"] for chunk in report["why"]), 0)

    def test_several_questions(self):
        self.file("questions.txt", "Where?\n\nWhen?\r\n")
        done = self.run_program("ask", "Who?", "-", "--questions", "questions.txt", "--json", "-n", "2", *self.model,
                                stdin="Why?\n")
        reports = [json.loads(line) for line in done.stdout.splitlines()]
        self.assertEqual([report["question"] for report in reports], ["Who?", "Why?", "Where?", "When?"])
        alone = self.report("ask", "When?", "-n", "2", *self.model)
        self.assertEqual(alone["tokens"], reports[3]["tokens"], "one question must not change the next")

    def test_brackets_and_dashes_are_text(self):
        for text in ("[a, b]", "[]", "[x"):
            self.assertEqual(self.report("ask", text, "-n", "1", *self.model)["question"], text)
        done = self.run_program("ask", "--json", "-n", "1", *self.model, "--", "--why not?")
        self.assertEqual(json.loads(done.stdout)["question"], "--why not?")

    def test_sampling_follows_the_seed(self):
        def tokens(*options):
            return self.report("generate", "The lamp", "-n", "12", *options, *self.model)["tokens"]
        self.assertEqual(tokens("--temp", "1", "--seed", "7"), tokens("--temp", "1", "-s", "7"))
        self.assertNotEqual(tokens("--temp", "1", "--seed", "7"), tokens("--temp", "1", "--seed", "8"))
        self.assertEqual(tokens("--temp", "1", "--top-k", "1"), tokens())

    def test_stop_text_ends_before_it(self):
        whole = self.report("generate", "The lamp", "-n", "12", *self.model)["text"]
        stop = whole[len(whole) // 2:][:3]
        stopped = self.report("generate", "The lamp", "-n", "12", "--stop", stop, *self.model)
        self.assertEqual(stopped["text"], whole[:whole.index(stop)])
        self.assertEqual(stopped["reason"], "stop_string")

    def test_generate_is_the_base_alone_unless_told(self):
        plain = self.report("generate", "The lamp", "-n", "4", "-m", self.base)
        none = self.report("generate", "The lamp", "-n", "4", "-m", self.base, "--delta", "none")
        with_delta = self.report("generate", "The lamp", "-n", "4", *self.model)
        self.assertEqual(plain["tokens"], none["tokens"])
        self.assertNotEqual(plain["tokens"], with_delta["tokens"])

    def test_interrupted_generation_ends_at_once_and_cleanly(self):
        process = self.start("generate", "The lamp", "-n", "100000000", *self.model)
        self.addCleanup(process.kill)
        begun = process.stdout.read(1)
        process.send_signal(signal.SIGINT)
        started = time.monotonic()
        rest, _ = process.communicate(timeout=60)
        self.assertLess(time.monotonic() - started, 30)
        self.assertEqual(process.returncode, 1)
        (begun + rest).decode()  # whole characters

    def test_huge_and_hostile_texts_to_score(self):
        message = self.error("score", "-", "-m", self.base, stdin=story(700000))
        self.assertRegex(message, r"\d+ tokens to score; at most 512")
        self.assertIn("UTF-8", self.error("score", "-", "-m", self.base, stdin=b"\xff\xfe"))
        self.assertIn("empty", self.error("score", "-", "-m", self.base))
        self.assertIn("no such file", self.error("score", "missing.txt", "-m", self.base))

    def test_score_with_a_memory(self):
        memory = self.memory(story(400, 1))
        path = self.file("a.txt", story(20, 1))
        plain = self.report("score", path, "-m", self.base)
        remembered = self.report("score", path, "--memory", memory, *self.model)
        self.assertEqual(plain["tokens"], remembered["tokens"])
        self.assertNotEqual(plain["nll"], remembered["nll"])
        each = self.run_program("score", path, "--each", "-m", self.base).stdout.decode().splitlines()
        self.assertEqual(len(each), plain["tokens"])  # one a token but the first, and the summary


class Chat(TinyModelTest):
    def chat(self, lines, *options, expect=0):
        return self.run_program("chat", *options, "-n", "6", *self.model, stdin="".join(f"{line}\n" for line in lines),
                                expect=expect)

    def answers(self, lines, *options):
        return [json.loads(line) for line in self.chat(lines, "--json", *options).stdout.splitlines()]

    def test_one_process_or_two_say_the_same(self):
        messages = ["Hello.", "Where is the lamp?", "And the boat?"]
        together = self.answers(messages, "--memory", "one.safetensors")
        apart = [self.answers([message], "--memory", "two.safetensors")[0] for message in messages]
        self.assertEqual([a["tokens"] for a in together], [a["tokens"] for a in apart])
        self.assertEqual((self.folder / "one.safetensors").read_bytes(), (self.folder / "two.safetensors").read_bytes())

    def test_a_long_conversation_goes_into_the_memory(self):
        self.chat([story(12, seed) for seed in range(8)], "--memory", "m.safetensors")
        info = self.report("inspect", "m.safetensors", "--verify")
        self.assertEqual(info["turns"], 8)
        self.assertGreater(info["updates"], 0)
        self.assertLessEqual(info["window_tokens"], 64)

    def test_commands(self):
        path = self.file("notes.md", story(200, 4))
        done = self.chat(["/help", "/why", f"/remember {path}", "/sources", "/stats", "Where?", "/why", "/save copy.safetensors",
                          "/flush", "/nonsense", "/remember", "/quit", "never said"], "--memory", "m.safetensors")
        out, errors = done.stdout.decode(), done.stderr.decode()
        for text in ("/remember FILE", "There is no answer yet", "notes.md", "short-term rows", "saved to copy.safetensors"):
            self.assertIn(text, out)
        for text in ("/nonsense is not known", "a name is missing", "not trained for conversation"):
            self.assertIn(text, errors)
        self.report("inspect", "copy.safetensors", "--verify")
        self.assertEqual(self.report("inspect", "m.safetensors")["turns"], 1)

    def test_what_fails_is_said_and_the_chat_goes_on(self):
        self.file("there.safetensors", b"x")
        done = self.chat(["/save there.safetensors", "/undo", "/fork x", "/forget x", "Hello."], "--session", "none", expect=1)
        self.assertIn(b"already", done.stderr)
        self.assertEqual(done.stderr.count(b"only a session of the store"), 3)
        self.assertTrue(done.stdout.strip(), "the last message was answered")
        self.assertEqual((self.folder / "there.safetensors").read_bytes(), b"x")


if __name__ == "__main__":
    main()
