"""Forgetting takes a document and nothing else: short notes share a chunk, and the others of it stay."""
import tiny_model
from program import main, story, with_metadata
from test_session import SessionTest

NOTES = {f"notes/{name}.txt": text for name, text in (
    ("anna", "lamp in the harbour"), ("bert", "winter of seven stones"), ("clara", "seven old letters"),
    ("dora", "night boat going north"), ("emil", "bread and a key"), ("frida", "stone in the harbour"))}


class Neighbours(SessionTest):
    vocabulary = tiny_model.VOCAB

    def tell(self, *names, session="default"):
        paths = [self.file(name, NOTES[name]).relative_to(self.folder) for name in names or NOTES]
        self.remember(*paths, "--flush", "--session", session)

    def forget(self, source, *flags, session="default"):
        return self.report("session", "forget", session, source, *flags, *self.model)["forgotten"][0]

    def verified(self, session="default"):
        report = self.report("session", "verify", session, "--replay", *self.model)
        self.assertTrue(report["sound"], report)
        return report["replay"]

    def test_the_others_stay(self):
        self.tell()
        others = [name for name in NOTES if name != "notes/clara.txt"]
        self.assertEqual({s["updates"] for s in self.shown()["sources"]}, {1})
        report = self.forget("notes/clara.txt")
        self.assertEqual(report["written_again"]["sources"], others)
        self.assertEqual(report["written_again"]["updates"], 1)
        self.assertEqual([(s["name"], s["updates"]) for s in self.shown()["sources"]], [(name, 1) for name in others])
        self.assertIn("unchanged", self.remember(others[0]).stderr.decode())
        self.tell(*others, session="never told")
        ours, theirs = self.exported()[0], self.exported("never told")[0]
        for name in theirs:
            if name.startswith(("short_term", "long_term", "tail", "window", "update.ends")):
                self.assertEqual(ours[name], theirs[name], name)
        self.assertIn("equal, bit for bit", self.verified())
        self.remember(self.file("later.txt", story(200, 1)))
        self.assertIn("equal, bit for bit; from event", self.verified())
        self.session("rebuild", "default", *self.model)
        self.remember(self.folder / "later.txt", "--session", "never told")
        ours, theirs = self.exported()[0], self.exported("never told")[0]
        for name in theirs:
            if name.startswith(("short_term", "long_term", "tail", "window")):
                self.assertEqual(ours[name], theirs[name], name)

    def test_why_leads_to_what_stayed(self):
        self.tell()
        self.forget("notes/clara.txt")
        why = self.report("ask", "Where is the boat?", "--why", "--recall-over", "everything", *self.model)["why"]
        places = [span["source"] for chunk in why for span in chunk["spans"]]
        self.assertIn("notes/dora.txt", places)
        self.assertNotIn("notes/clara.txt", places)

    def test_dry_run(self):
        self.tell()
        self.session("fork", "default", "copy")
        before = self.exported(), self.shown()
        plan = self.forget("notes/clara.txt", "--dry-run")
        self.assertTrue(plan["dry_run"])
        self.assertEqual(plan["holders"], ["copy"])
        self.assertEqual(plan["updates"], 1)
        self.assertGreater(plan["rows"], 0)
        text = self.session("forget", "default", "notes/clara.txt", "--dry-run", "--exact", "--everywhere", *self.model)
        for part in ("nothing was changed", "In session copy", "made again", "still held by"):
            self.assertIn(part, text.stdout.decode())
        self.assertEqual((self.exported(), self.shown()), before)
        done = self.forget("notes/clara.txt")
        for key in ("rows", "updates", "segments", "written_again", "holders", "window_tokens"):
            self.assertEqual(done[key], plan[key], key)
        self.assertIn("no source", self.error("session", "forget", "default", "nobody", "--dry-run", *self.model))

    def test_in_a_chat(self):
        self.tell()
        said = self.chat(["/forget --dry-run notes/bert.txt", "/forget --exact notes/bert.txt --dry-run",
                          "/forget notes/bert.txt --exact --dry-run", "/forget notes/bert.txt", "/sources"]).stdout.decode()
        self.assertEqual(said.count("nothing was changed"), 3)
        self.assertEqual(said.count("made again"), 2)
        self.assertIn("written again", said)
        self.assertEqual(said.split("written again")[-1].count("notes/bert.txt"), 0)
        self.assertIn("equal, bit for bit", self.verified())

    def test_undo_brings_nothing_back(self):
        self.tell()
        self.forget("notes/clara.txt")
        forgotten = self.exported()
        self.remember(self.file("later.txt", story(60, 1)))
        self.session("undo", "default", *self.model)
        self.assertEqual(self.exported(), forgotten)
        self.session("undo", "default", "-n", "2", *self.model)  # the flush and the last note, from before it
        self.assertEqual([s["name"] for s in self.shown()["sources"]],
                         [n for n in NOTES if n not in ("notes/clara.txt", "notes/frida.txt")])
        self.assertEqual(self.verified(), "equal, bit for bit")
        self.assertIn("no source", self.error("session", "forget", "default", "notes/clara.txt", *self.model))

    def test_rows_carried_into_the_next_writes_go(self):
        """A write of fewer than K tokens holds rows of the one before: those are written again as well."""
        delta = self.folder / "wide.safetensors"
        with_metadata(self.delta, delta, K="64", N="256", C="128", W="256")
        self.model = ("-m", self.base, "--delta", delta, "-t", "2")
        for i in range(5):
            self.remember(self.file(f"{i}.txt", story(20, i)), "--flush")
        self.assertEqual([s["updates"] for s in self.shown()["sources"]], [1] * 5)
        report = self.forget("1.txt")
        tokens = [s["tokens"] for s in self.shown()["sources"]]  # of 0, 2, 3 and 4
        self.assertLess(tokens[1] + tokens[2], 64)
        self.assertGreaterEqual(tokens[1] + tokens[2] + tokens[3], 64)
        self.assertEqual(report["written_again"]["sources"], [str(self.folder / f"{i}.txt") for i in (2, 3)])
        self.assertEqual(report["updates"], 3)
        self.assertIn("equal, bit for bit", self.verified())


if __name__ == "__main__":
    main()
