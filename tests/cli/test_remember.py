"""Documents into memory files, and what can be wrong with either."""
import fcntl
import json
import os
import resource
import signal
import struct
import subprocess
import time

from program import DATA, PROGRAM, TinyModelTest, main, read_safetensors, story


class Documents(TinyModelTest):
    def test_files_folders_and_standard_input(self):
        self.file("notes/b.md", story(100, 1))
        self.file("notes/a.txt", story(100, 2))
        self.file("notes/deep/c.TXT", story(100, 3))
        self.file("notes/picture.png", b"\x89PNG\0")
        self.file("notes/.hidden.txt", story(5, 4))
        report = self.report("remember", "notes", "-", "--source", "the pipe", "--memory", "m.safetensors", *self.model,
                             stdin=story(100, 5))
        self.assertEqual([document["source"] for document in report["documents"]],
                         ["notes/a.txt", "notes/b.md", "notes/deep/c.TXT", "the pipe"])
        self.assertEqual(report["failed"], [])
        self.assertEqual(report["tokens"], sum(document["tokens"] for document in report["documents"]))
        listed = self.report("inspect", "m.safetensors", "--sources", "--verify")
        self.assertEqual([source["name"] for source in listed["source_list"]],
                         [document["source"] for document in report["documents"]])
        self.assertIs(listed["verified"], True)

    def test_what_is_no_text_is_named_and_the_rest_is_read(self):
        self.file("good.txt", story(80))
        self.file("latin.txt", "caf\xe9".encode("latin-1"))
        self.file("binary.txt", b"abc\0def")
        self.file("empty.txt", b"")
        self.file("blank.txt", b" \n\t\n")
        self.file("bom.txt", b"\xef\xbb\xbf" + story(40).encode())
        bad = ["latin.txt", "binary.txt", "empty.txt", "blank.txt", "missing.txt"]
        done = self.remember(*bad, "good.txt", "bom.txt", "--memory", "m.safetensors", "--json", expect=1)
        report = json.loads(done.stdout)
        self.assertEqual([document["source"] for document in report["documents"]], ["good.txt", "bom.txt"])
        self.assertEqual([failed["source"] for failed in report["failed"]], bad)
        for name in bad:
            self.assertIn(f"mplus: {name}: ", done.stderr.decode())
        self.assertIn("byte 3 is 0xe9", done.stderr.decode())
        self.report("inspect", "m.safetensors", "--verify")

    def test_documents_of_every_kind(self):
        """Their text is remembered under the file's name; what has none is named, and the rest is read."""
        texts = {"book.epub": "The key hangs behind the stove.", "page.html": "Tide tables\n\n- spring",
                 "paper.pdf": "opens at seven.\nAsk for Ingrid.", "report.docx": "Boat | Berth\nZivora the old | 7"}
        self.file("shelf/page.html", "<title>Tide tables</title><script>x</script><ul><li>spring</ul>")
        for name in ("book.epub", "paper.pdf", "report.docx", "scanned.pdf"):
            self.file(f"shelf/{name}", (DATA / "documents" / name).read_bytes())
        done = self.remember("shelf", "--memory", "m.safetensors", "--json", expect=1)
        report = json.loads(done.stdout)
        self.assertEqual([document["source"] for document in report["documents"]], [f"shelf/{name}" for name in texts])
        self.assertEqual([failed["source"] for failed in report["failed"]], ["shelf/scanned.pdf"])
        self.assertIn("shelf/scanned.pdf: no text in it", done.stderr.decode())
        kept = (self.folder / "m.safetensors").read_bytes()
        for text in texts.values():
            self.assertIn(text.encode(), kept)

    def test_the_kind_of_standard_input_is_told_by_its_content(self):
        page = self.report("remember", "-", "--memory", "m.safetensors", *self.model,
                           stdin="<!DOCTYPE html><p>The lamp is lit.<script>" + "x" * 5000 + "</script>")
        self.assertLess(page["tokens"], 8)
        message = self.error("remember", "-", "--memory", "m.safetensors", *self.model,
                             stdin=(DATA / "documents" / "locked.pdf").read_bytes())
        self.assertIn("standard input: encrypted", message)

    def test_pdf_without_its_reader_names_the_package(self):
        paper = self.file("paper.pdf", (DATA / "documents" / "paper.pdf").read_bytes())
        message = self.error("remember", paper, "--memory", "m.safetensors", *self.model,
                             env=self.environment | {"PATH": str(self.folder)})
        self.assertIn("poppler-utils", message)

    def test_nothing_to_read_makes_no_file(self):
        self.error("remember", "missing.txt", "--memory", "m.safetensors", *self.model)
        self.error("remember", self.folder, "--memory", "m.safetensors", *self.model)
        self.assertEqual(list(self.folder.iterdir()), [])

    def test_special_tokens_in_a_document_are_text(self):
        plain = self.report("remember", self.file("a.txt", "<|im_end|>" * 40), "--memory", "a.safetensors", *self.model)
        self.assertGreaterEqual(plain["tokens"], 40 * 3)

    def test_short_text_waits_and_flush_writes_it(self):
        """Under K tokens a text waits; a rest under 16 tokens is not even written by a flush."""
        first = self.report("remember", self.file("a.txt", "The lamp is lit."), "--memory", "m.safetensors", *self.model)
        self.assertLess(first["tokens"], 8)
        self.assertEqual((first["updates"], first["waiting_tokens"]), (0, first["tokens"]))
        flushed = self.remember("--flush", "--memory", "m.safetensors").stderr.decode()
        self.assertEqual(self.report("inspect", "m.safetensors")["window_tokens"], first["tokens"])
        self.assertIn("a write takes 16 or more", flushed)
        for _ in range(3):
            said = self.remember("a.txt", "--memory", "m.safetensors").stderr.decode()
        self.assertIn("(--flush writes them)", said)
        flushed += self.remember("--flush", "--memory", "m.safetensors").stderr.decode()
        self.assertNotIn("--flush", flushed, "it has just done so")
        info = self.report("inspect", "m.safetensors")
        self.assertEqual((info["window_tokens"], info["updates"]), (0, 1))

    def test_one_process_or_two_make_the_same_file(self):
        a, b = self.file("a.txt", story(300, 1)), self.file("b.txt", story(300, 2))
        self.remember(a, b, "--memory", "one.safetensors")
        self.remember(a, "--memory", "two.safetensors")
        self.remember(b, "--memory", "two.safetensors")
        self.assertEqual((self.folder / "one.safetensors").read_bytes(), (self.folder / "two.safetensors").read_bytes())

    def test_threads_do_not_change_a_memory(self):
        a = self.file("a.txt", story(400, 1))
        for threads in ("1", "2"):
            self.run_program("remember", a, "--memory", f"{threads}.safetensors", "-m", self.base, "--delta", self.delta, "-t", threads)
        self.assertEqual((self.folder / "1.safetensors").read_bytes(), (self.folder / "2.safetensors").read_bytes())

    def test_what_a_memory_was_begun_with_stays(self):
        a = self.file("a.txt", story(400, 1))
        self.remember(a, "--memory", "m.safetensors", "--memory-dtype", "f32", "--keep-hidden", "--ltm-capacity", "24")
        self.remember(a, "--memory", "m.safetensors")
        info = self.report("inspect", "m.safetensors")
        self.assertEqual((info["element_type"], info["hidden_states"], info["long_term_rows"]), ("F32", True, 24))
        self.remember(a, "--memory", "other.safetensors")
        self.assertIn("--keep-hidden", self.error("remember", a, "--memory", "other.safetensors", "--keep-hidden", *self.model))


class MemoryFiles(TinyModelTest):
    def test_a_memory_of_another_model_is_refused(self):
        memory = self.memory(story(300))
        before = memory.read_bytes()
        for command in (("remember", "--ids", "5,6,7"), ("generate", "--ids", "5,6,7", "-n", "1")):
            message = self.error(*command, "--memory", memory, "-m", DATA / "golden/mplus_read/model")
            self.assertIn("made for another model", message)
        plain = self.error("generate", "x", "--memory", memory, "-m", self.base, "--delta", "none")
        self.assertIn("another model", plain)
        self.assertEqual(memory.read_bytes(), before)

    def test_truncated_at_any_length_is_refused_and_kept(self):
        memory = self.memory(story(300))
        whole = memory.read_bytes()
        header = 8 + int.from_bytes(whole[:8], "little")
        for length in [0, 1, 7, 8, 9, header - 1, header, header + 1, len(whole) // 2, len(whole) - 1]:
            with self.subTest(length=length):
                cut = self.file("cut.safetensors", whole[:length])
                for command in (("inspect", cut), ("ask", "who?", "--memory", cut, *self.model),
                                ("remember", self.file("t.txt", story(50)), "--memory", cut, *self.model)):
                    self.assertIn("cut.safetensors", self.error(*command))
                self.assertEqual(cut.read_bytes(), whole[:length])

    def test_a_flipped_bit_is_found(self):
        memory = self.memory(story(600))
        whole = bytearray(memory.read_bytes())
        header = 8 + int.from_bytes(whole[:8], "little")
        for place in range(header, len(whole), (len(whole) - header) // 17):
            damaged = bytearray(whole)
            damaged[place] ^= 0x10
            path = self.file("damaged.safetensors", bytes(damaged))
            message = self.run_program("inspect", path, "--verify", expect=None)
            if message.returncode == 0:  # padding between tensors carries no checksum
                self.assertEqual(read_safetensors(path)[0], read_safetensors(memory)[0])
            else:
                self.assertIn(b"damaged.safetensors", message.stderr)

    def test_places_that_cannot_be_written(self):
        text = self.file("a.txt", story(100))
        for place in ("/proc/memory.safetensors", self.folder / "no/such/folder/m.safetensors"):
            message = self.error("remember", text, "--memory", place, *self.model)
            self.assertIn(str(place), message)

    def test_a_full_disk_leaves_the_old_file(self):
        memory = self.memory(story(100))
        before = memory.read_bytes()
        limit = len(before) // 2
        message = self.error("remember", self.file("more.txt", story(2000)), "--memory", memory, *self.model,
                             preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit)))
        self.assertIn("cannot write", message)
        self.assertEqual(memory.read_bytes(), before)
        self.assertEqual(sorted(p.name for p in self.folder.iterdir() if "memory" in p.name), [memory.name])

    def test_a_link_stays_a_link(self):
        memory = self.memory(story(100))
        (self.folder / "link.safetensors").symlink_to(memory)
        before = memory.read_bytes()
        self.remember(self.file("more.txt", story(200)), "--memory", "link.safetensors")
        self.assertTrue((self.folder / "link.safetensors").is_symlink())
        self.assertNotEqual(memory.read_bytes(), before)

    def test_ask_changes_nothing(self):
        memory = self.memory(story(500))
        before = memory.read_bytes()
        self.report("ask", "Where is the lamp?", "--memory", memory, "--why", *self.model)
        self.run_program("generate", "The lamp", "-n", "3", "--memory", memory, *self.model)
        self.assertEqual(memory.read_bytes(), before)
        self.assertIn("cannot open", self.error("ask", "x", "--memory", "missing.safetensors", *self.model))


class Processes(TinyModelTest):
    def begin_long_run(self, seconds=0.3):
        """A process that has been writing a long text for so many seconds, tokenizing included."""
        text = self.file("long.txt", story(600000, 3))
        process = self.start("remember", text, "--memory", "m.safetensors", *self.model)
        self.addCleanup(self.end, process)
        self.assertIn(b"tokens: about", process.stderr.readline())
        time.sleep(seconds)
        self.assertIsNone(process.poll(), "the text is too short for this test")
        return process

    def end(self, process):
        process.kill()
        process.communicate()

    def test_interrupted_keeps_what_was_written(self):
        for signal_number in (signal.SIGINT, signal.SIGTERM):
            with self.subTest(signal_number):
                self.interrupt_and_check(signal_number)

    def interrupt_and_check(self, signal_number):
        for seconds in (0.3, 2, 8, 32):  # until something was written: a sanitizer build takes its time
            (self.folder / "m.safetensors").unlink(missing_ok=True)
            process = self.begin_long_run(seconds)
            process.send_signal(signal_number)
            out, _ = process.communicate(timeout=120)
            self.assertEqual(process.returncode, 1)
            self.assertIn(b"Stopped", out)
            info = self.report("inspect", "m.safetensors", "--verify", "--sources")
            if info["updates"] > 0:
                break
        self.assertGreater(info["updates"], 0)
        # A process that reads just as much as was written makes the same writes.
        spans = read_safetensors(self.folder / "m.safetensors")[0]["update.spans"][2]
        length = struct.unpack("<q", spans[-24:-16])[0]  # of the last span, the end byte
        part = self.file("part.txt", story(600000, 3)[:length])
        again = self.report("remember", part, "--memory", "part.safetensors", *self.model)
        self.assertEqual(again["updates"], info["updates"])
        self.assertEqual(self.tensors_of_layers("part.safetensors"), self.tensors_of_layers("m.safetensors"))
        (self.folder / "part.safetensors").unlink()
        self.remember(self.file("more.txt", story(100)), "--memory", "m.safetensors")

    def tensors_of_layers(self, name):
        tensors = read_safetensors(self.folder / name)[0]
        return {name: tensor for name, tensor in tensors.items() if name.startswith(("short_term", "long_term", "tail"))}

    def test_killed_leaves_the_old_file(self):
        memory = self.memory(story(100), name="m.safetensors")
        before = memory.read_bytes()
        process = self.begin_long_run()
        self.end(process)
        self.assertEqual(memory.read_bytes(), before)
        self.remember(self.file("more.txt", story(100)), "--memory", memory)  # its lock died with it

    def test_two_processes_do_not_write_one_file(self):
        process = self.begin_long_run()
        (self.folder / "alias.safetensors").symlink_to(self.folder / "m.safetensors")
        for name in ("m.safetensors", "alias.safetensors"):
            message = self.error("remember", self.file("b.txt", story(50)), "--memory", name, *self.model)
            self.assertIn(f"being written by process {process.pid}", message)
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=120)
        self.assertEqual([p.name for p in self.folder.iterdir() if p.name.endswith(".lock")], [])

    def test_a_held_lock_is_respected(self):
        with open(self.folder / "m.safetensors.lock", "w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            self.assertIn("another process", self.error("remember", self.file("a.txt", story(50)), "--memory",
                                                        "m.safetensors", *self.model))
        self.remember("a.txt", "--memory", "m.safetensors")  # the stale file is no obstacle

    def test_a_closed_pipe_is_a_clean_failure(self):
        reading, writing = os.pipe()
        os.close(reading)
        done = subprocess.run([PROGRAM, "generate", "The lamp", "-n", "400", *map(str, self.model)], stdout=writing,
                              stderr=subprocess.PIPE, cwd=self.folder, env=self.environment, timeout=120)
        os.close(writing)
        self.assertEqual((done.returncode, done.stderr), (1, b""), "as `mplus … | head`: nothing to complain about")


if __name__ == "__main__":
    main()
