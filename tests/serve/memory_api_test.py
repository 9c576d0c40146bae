"""Every endpoint of docs/server.md under /v1/memories, by example."""
import concurrent.futures
import contextlib
import threading

from server import ServerTest, main, parse_events, story, wait_for

FORM = ("--bound\r\nContent-Disposition: form-data; name=\"file\"; filename=\"form.md\"\r\nContent-Type: text/markdown\r\n\r\n"
        "# Keys\nThe key is under the stone.\r\n--bound--\r\n")


class Memories(ServerTest):
    def test_made_listed_shown_and_removed(self):
        made = self.post("/v1/memories", {"name": "first"}, expect=201)
        self.assertEqual((made["object"], made["name"], made["turns"], made["documents"]), ("memory", "first", 0, 0))
        self.assertIn("first", [m["name"] for m in self.get("/v1/memories")["data"]])
        self.assertIn("mplus:first", [m["id"] for m in self.get("/v1/models")["data"]])
        state = self.get("/v1/memories/first")["state"]
        self.assertEqual((state["layers"], state["rows_per_chunk"], state["chunk_tokens"]), (2, 8, 32))
        self.assertEqual(self.delete("/v1/memories/first"), {"name": "first", "deleted": True, "text_is_gone": True, "reader": None})
        self.assertNotIn("first", [m["name"] for m in self.get("/v1/memories")["data"]])
        self.refused(self.server.get("/v1/memories/first"), 404)

    def test_what_it_counts(self):
        self.post("/v1/memories", {"name": "counted"}, expect=201)
        text = story(60, 1)
        self.post("/v1/memories/counted/documents", {"name": "a.txt", "text": text}, expect=201)
        self.say("counted", "Where?")
        memory = self.get("/v1/memories/counted")
        self.assertEqual((memory["documents"], memory["turns"]), (1, 1))
        self.assertGreaterEqual(memory["text_bytes"], len(text))
        self.assertEqual(memory["damage"], None)
        self.assertTrue(memory["open"])


class Documents(ServerTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.server.post("/v1/memories", {"name": "d"})

    def read(self, body, path="", expect=201, **options):
        return self.post(f"/v1/memories/d/documents{path}", body, expect=expect, **options)

    def text_of(self, document):
        return self.get(f"/v1/memories/d/documents/{document['id']}")["text"]

    def test_as_json(self):
        text = story(80, 2)
        reply = self.read({"name": "json.txt", "text": text})
        self.assertTrue(reply["complete"])
        self.assertEqual((reply["document"]["name"], reply["document"]["speaker"]), ("json.txt", "document"))
        self.assertEqual(reply["document"]["bytes"], len(text))
        self.assertEqual(self.text_of(reply["document"]), text)

    def test_the_file_itself(self):
        reply = self.read("Grüße aus Köln.\n".encode(), "?name=gr%C3%BC%C3%9Fe.txt", headers={"Content-Type": "text/plain"})
        self.assertEqual(reply["document"]["name"], "grüße.txt")
        self.assertEqual(self.text_of(reply["document"]), "Grüße aus Köln.\n")

    def test_a_form(self):
        reply = self.read(FORM.encode(), headers={"Content-Type": "multipart/form-data; boundary=bound"})
        self.assertEqual(reply["document"]["name"], "form.md")
        self.assertEqual(self.text_of(reply["document"]), "# Keys\nThe key is under the stone.")
        cut = FORM.encode()[:-9]
        self.refused(self.server.post("/v1/memories/d/documents", cut,
                                      headers={"Content-Type": "multipart/form-data; boundary=bound"}), 400)

    def test_what_is_known_is_not_read_again(self):
        first = self.read({"name": "known.txt", "text": story(50, 3)})
        again = self.read({"name": "known.txt", "text": story(50, 3)}, expect=200)
        self.assertTrue(again["known"])
        self.assertEqual(again["document"], first["document"])

    def test_progress(self):
        reply = self.server.post("/v1/memories/d/documents", {"name": "long.txt", "text": story(300, 4)},
                                 headers={"Accept": "text/event-stream"})
        self.assertEqual(reply.status, 200)
        self.assertTrue(reply.headers["content-type"].startswith("text/event-stream"))
        events = reply.events()
        done = [data["done"] for event, data in events if event == "progress"]
        total = {data["total"] for event, data in events if event == "progress"}
        self.assertGreater(len(done), 3)
        self.assertEqual(done, sorted(set(done)))
        event, data = events[-1]
        self.assertEqual((event, total), ("done", {data["document"]["tokens"]}))
        self.assertTrue(data["complete"])

    def test_goes_on_after_a_dropped_connection(self):
        self.post("/v1/memories", {"name": "dropped"}, expect=201)
        body = {"name": "book.txt", "text": story(3000, 5)}
        path = "/v1/memories/dropped/documents"
        connection, response = self.server.begin("POST", path, body, {"Accept": "text/event-stream"})
        while b"progress" not in response.readline():
            pass
        response.close()
        connection.close()
        # What was read is kept, and is not the whole.
        wait_for(lambda: self.documents("dropped") and self.documents("dropped")[0]["tokens"] > 0, "a part of the document")
        part = self.documents("dropped")[0]
        self.assertFalse(part["complete"])
        events = self.server.post(path, body, headers={"Accept": "text/event-stream"}).events()
        done = events[-1][1]
        self.assertTrue(done["complete"])
        self.assertEqual(events[0][1]["total"], done["document"]["tokens"] - part["tokens"])  # only the rest is read now
        self.assertEqual([d["id"] for d in self.documents("dropped")], [part["id"]])
        self.assertTrue(self.post("/v1/memories/dropped/verify")["sound"])

    def test_what_is_no_text(self):
        for name, body in {"zero.txt": b"a\0b", "latin.txt": b"caf\xe9", "empty.txt": b"", "blank.txt": b" \n\t"}.items():
            with self.subTest(name):
                self.refused(self.server.post(f"/v1/memories/d/documents?name={name}", body,
                                              headers={"Content-Type": "text/plain"}), 400)
        self.assertNotIn("zero.txt", [d["name"] for d in self.documents("d")])
        self.refused(self.server.post("/v1/memories/d/documents", {"text": "a"}), 400, "name")
        self.refused(self.server.post("/v1/memories/d/documents", {"name": "a"}), 400, "text")
        self.refused(self.server.post("/v1/memories/d/documents", {"name": 1, "text": "a"}), 400, "name")
        self.refused(self.server.post("/v1/memories/nobody/documents", {"name": "a", "text": " "}), 400)
        self.refused(self.server.get("/v1/memories/nobody"), 404)

    def test_a_memory_that_is_not_there_is_made(self):
        self.post("/v1/memories/made/documents", {"name": "a", "text": "A text."}, expect=201)
        self.assertEqual(self.get("/v1/memories/made")["documents"], 1)
        self.refused(self.server.post("/v1/memories/unmade/documents?create=false", {"name": "a", "text": "A text."}), 404)


class Changes(ServerTest):
    def new(self, name, *texts):
        self.post("/v1/memories", {"name": name}, expect=201)
        return [self.post(f"/v1/memories/{name}/documents", {"name": f"{n}.txt", "text": text}, expect=201)["document"]["id"]
                for n, text in enumerate(texts)]

    def test_forget(self):
        first, second = self.new("forgets", story(60, 6) + "Zanzibar.\n", story(60, 7))
        path = f"/v1/memories/forgets/documents/{first}"
        planned = self.delete(path + "?dry_run=true")
        self.assertTrue(planned["dry_run"])
        self.assertFalse(planned["text_is_gone"])
        self.assertEqual(len(self.documents("forgets")), 2)
        done = self.delete(path)
        self.assertTrue(done["text_is_gone"])
        self.assertEqual((done["rows"], done["updates"]), (planned["rows"], planned["updates"]))
        self.assertEqual([d["id"] for d in self.documents("forgets")], [second])
        self.refused(self.server.get(path), 404)
        self.refused(self.server.delete(path), 404)
        self.assertTrue(self.post("/v1/memories/forgets/verify")["sound"])
        self.assertFalse(self.on_disk(b"Zanzibar"))

    def test_forget_exactly(self):
        first, _ = self.new("exact", story(60, 8), story(60, 9))
        self.assertTrue(self.delete(f"/v1/memories/exact/documents/{first}?exact=true")["exact"])
        # As if it had never been: the same state as that of a memory that read the second text alone.
        self.new("never", story(60, 9))
        timeline = [self.get(f"/v1/memories/{name}/timeline?layers=true")["chunks"] for name in ("exact", "never")]
        shares = [[(c["short_term"], c["long_term"], c["by_layer"]) for c in chunks] for chunks in timeline]
        self.assertEqual(shares[0], shares[1])

    def test_others_go_on_while_a_memory_is_made_again(self):
        first, _, _ = self.new("slow", story(60, 8), story(1500, 9), story(1500, 10))
        ended = []
        def forget():
            self.server.delete(f"/v1/memories/slow/documents/{first}?exact=true")
            ended.append(True)
        forgetting = threading.Thread(target=forget)
        forgetting.start()
        asked = 0
        while not ended:
            self.post("/v1/chat/completions", {"messages": [{"role": "user", "content": "Hi"}], "max_tokens": 2})
            asked += not ended
        forgetting.join()
        self.assertGreater(asked, 2)
        # Who asks for the memory itself waits until it is whole.
        self.assertEqual(self.get("/v1/memories/slow")["documents"], 2)
        self.assertTrue(self.post("/v1/memories/slow/verify")["sound"])

    def test_undo(self):
        self.new("undoes", story(40, 10))
        self.say("undoes", "One.")
        self.say("undoes", "Two.", messages=[{"role": "user", "content": "Two."}])
        self.post("/v1/memories/undoes/undo", {"n": 1})
        self.assertEqual([m for m, _ in self.turns("undoes")], ["One."])
        events = self.get("/v1/memories/undoes/events")["data"]
        undone = [e for e in events if not e["in_force"]]
        self.assertEqual([e["kind"] for e in undone], ["turn"])
        self.assertIn(undone[0]["undone_by"], [e["event"] for e in events])
        self.post("/v1/memories/undoes/undo", {"n": 2})
        self.assertEqual((self.turns("undoes"), self.documents("undoes")), ([], []))
        self.refused(self.server.post("/v1/memories/undoes/undo", {"n": 1}), 400)
        self.refused(self.server.post("/v1/memories/undoes/undo", {"n": 0}), 400, "n")

    def on_disk(self, word):
        return [path for path in self.server.home.rglob("*") if path.is_file() and word in path.read_bytes()]

    def test_purge(self):
        self.new("purges", "The harbour of Xanadu.\n")
        self.post("/v1/memories/purges/undo", {"n": 1})
        self.assertTrue(self.on_disk(b"Xanadu"))
        self.post("/v1/memories/purges/purge")
        self.assertFalse(self.on_disk(b"Xanadu"))

    def test_fork(self):
        self.new("stem", story(40, 11))
        made = self.post("/v1/memories/stem/fork", {"name": "branch"}, expect=201)
        self.assertEqual((made["name"], made["forked_from"]), ("branch", "stem"))
        self.say("branch", "Only here.")
        self.assertEqual([m for m, _ in self.turns("branch")], ["Only here."])
        self.assertEqual(self.turns("stem"), [])
        self.assertEqual(len(self.documents("branch")), 1)
        self.refused(self.server.post("/v1/memories/stem/fork", {"name": "branch"}), 409)
        self.refused(self.server.post("/v1/memories/nobody/fork", {"name": "x"}), 404)
        self.refused(self.server.post("/v1/memories/stem/fork", {"name": " x"}), 400)

    def test_flush(self):
        self.say("flushes", "A message that waits to be written.")
        before = self.get("/v1/memories/flushes")
        self.assertGreater(before["state"]["window_tokens"], 0)
        self.assertEqual(self.post("/v1/memories/flushes/flush")["updates"], 1)
        after = self.get("/v1/memories/flushes")
        self.assertEqual((after["state"]["window_tokens"], after["updates"]), (0, before["updates"] + 1))


class Looking(ServerTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.server.post("/v1/memories", {"name": "m"})
        cls.text = story(400, 14)
        cls.source = cls.server.post("/v1/memories/m/documents", {"name": "m.txt", "text": cls.text}).json["document"]["id"]

    def test_search(self):
        reply = self.post("/v1/memories/m/search", {"query": "Where is Ingrid?", "limit": 3})
        self.assertTrue(0 < len(reply["data"]) <= 3)
        for passage in reply["data"]:
            self.assertEqual(len(passage["layer_votes"]), 2)
            for span in passage["spans"]:
                self.assertEqual((span["source"], span["name"], span["speaker"]), (self.source, "m.txt", "document"))
                self.assertEqual(self.text.encode()[span["begin"]:span["end"]].decode(), span["text"])
        self.assertEqual(self.turns("m"), [])
        self.refused(self.server.post("/v1/memories/m/search", {"query": " "}), 400, "query")
        self.refused(self.server.post("/v1/memories/m/search", {"query": "a", "limit": 0}), 400, "limit")
        self.refused(self.server.post("/v1/memories/m/search", {"question": "a"}), 400)

    def test_ask(self):
        body = {"question": "Where is the boat?", "max_tokens": 8}
        with_memory = self.post("/v1/memories/m/ask", body)
        self.assertEqual((with_memory["memory"]["name"], with_memory["memory"]["mode"]), ("m", "read"))
        self.assertTrue(with_memory["memory"]["passages"])
        self.assertGreater(with_memory["memory"]["seen"]["short_term"], 0)
        alone = self.post("/v1/memories/m/ask", body | {"memory": False})
        self.assertIsNone(alone["memory"])
        self.assertNotEqual(alone["answer"], with_memory["answer"])
        self.assertEqual(with_memory["usage"]["completion_tokens"], 8)
        self.assertEqual(self.post("/v1/memories/m/ask", body), with_memory)
        self.assertEqual(self.turns("m"), [])

    def test_ask_streaming(self):
        body = {"question": "Where is the boat?", "max_tokens": 8}
        events = self.server.post("/v1/memories/m/ask", body | {"stream": True}).events()
        self.assertEqual({event for event, _ in events[:-1]}, {"text"})
        event, done = events[-1]
        self.assertEqual(event, "done")
        self.assertEqual("".join(data["text"] for _, data in events[:-1]).strip(), done["answer"])
        self.assertEqual(done, self.post("/v1/memories/m/ask", body))

    def test_timeline(self):
        timeline = self.get("/v1/memories/m/timeline?layers=true")
        memory = self.get("/v1/memories/m")
        self.assertEqual(len(timeline["chunks"]), memory["updates"])
        for chunk in timeline["chunks"]:
            self.assertAlmostEqual(chunk["short_term"] + chunk["long_term"] + chunk["gone"], 1, places=6)
            self.assertEqual(len(chunk["by_layer"]), timeline["layers"])
        rows = [sum(chunk["by_layer"][0][where] for chunk in timeline["chunks"]) for where in (0, 1)]
        self.assertEqual(rows[0], memory["state"]["short_term_rows"])
        # Chunks and what waits are the whole text, each byte once.
        spans = [span for chunk in timeline["chunks"] for span in chunk["spans"]] + timeline["waiting"]
        self.assertEqual({span["source"] for span in spans}, {self.source})
        ends = [0] + [span["end"] for span in spans]
        self.assertEqual([span["begin"] for span in spans], ends[:-1])
        self.assertEqual(ends[-1], len(self.text))
        self.assertNotIn("by_layer", self.get("/v1/memories/m/timeline")["chunks"][0])

    def test_verify(self):
        report = self.post("/v1/memories/m/verify")
        self.assertEqual((report["sound"], report["problems"]), (True, []))

    def test_answers_are_counted(self):
        before = self.documents("m")[0]["answers"]
        self.post("/v1/memories/m/ask", {"question": "Where is the key?", "max_tokens": 1})
        self.assertEqual(self.documents("m")[0]["answers"], before + 1)


class Errors(ServerTest):
    def test_names(self):
        self.post("/v1/memories", {"name": "taken"}, expect=201)
        self.refused(self.server.post("/v1/memories", {"name": "taken"}), 409, "name")
        for name in ("", "-a", "a\0b", "a\nb", "x" * 1000, " a", "none"):
            with self.subTest(name):
                self.refused(self.server.post("/v1/memories", {"name": name}), 400)
        self.refused(self.server.post("/v1/memories", {}), 400, "name")
        self.refused(self.server.post("/v1/memories", {"name": "a", "colour": 1}), 400, "colour")

    def test_what_is_not_there(self):
        for method, path in (("GET", ""), ("DELETE", ""), ("GET", "/turns"), ("GET", "/events"), ("GET", "/documents"),
                             ("GET", "/timeline"), ("GET", "/export"), ("POST", "/verify"), ("POST", "/flush"), ("POST", "/undo")):
            with self.subTest(method + path):
                body = {} if method == "POST" else None
                self.refused(self.server.request(method, "/v1/memories/nobody" + path, body), 404)
        for path, body in (("ask", {"question": "a"}), ("search", {"query": "a"})):
            self.refused(self.server.post(f"/v1/memories/nobody/{path}", body), 404)
        self.refused(self.server.get("/v1/nothing"), 404)
        self.post("/v1/memories", {"name": "there"}, expect=201)
        for number in ("999", "-1", "x", "99999999999999999999"):
            self.assertIn(self.server.get(f"/v1/memories/there/documents/{number}").status, (400, 404))
            self.assertIn(self.server.delete(f"/v1/memories/there/documents/{number}").status, (400, 404))

    def test_methods(self):
        for method, path, allowed in (("PUT", "/v1/memories", "GET, POST"), ("POST", "/v1/models", "GET"),
                                      ("GET", "/v1/chat/completions", "POST")):
            reply = self.server.request(method, path)
            self.refused(reply, 405)
            self.assertEqual(reply.headers["allow"], allowed)

    def test_a_field_of_the_wrong_kind(self):
        chat = {"messages": [{"role": "user", "content": "a"}]}
        for field, value in (("max_tokens", 0), ("max_tokens", "4"), ("temperature", -1), ("top_p", 2), ("n", 0), ("stop", [""]),
                             ("stream", 1), ("logit_bias", {"x": 1}), ("seed", "a"), ("messages", []), ("messages", "a"),
                             ("frobnicate", True), ("tools", [{"type": "function"}])):
            with self.subTest(field=field, value=value):
                self.refused(self.server.post("/v1/chat/completions", chat | {field: value}), 400, field)
        for role, param in (("tool", "messages[0].role"), (None, "messages[0].role")):
            self.refused(self.server.post("/v1/chat/completions", {"messages": [{"role": role, "content": "a"}]}), 400, param)
        self.refused(self.server.post("/v1/chat/completions", {"messages": [{"role": "assistant", "content": "a"}]}), 400, "messages")

    def test_two_memories(self):
        body = {"memory": "one", "messages": [{"role": "user", "content": "a"}]}
        self.refused(self.server.post("/v1/chat/completions", body, headers={"X-Mplus-Memory": "two"}), 400, "memory")
        self.refused(self.server.post("/v1/chat/completions", body | {"model": "mplus:two"}), 400, "memory")
        for name in ("one", "two"):
            self.refused(self.server.get(f"/v1/memories/{name}"), 404)

    def test_not_made_where_it_must_exist(self):
        for choice in ({"name": "absent", "create": False}, {"name": "absent", "mode": "read"}):
            body = {"memory": choice, "messages": [{"role": "user", "content": "a"}]}
            self.refused(self.server.post("/v1/chat/completions", body), 404)
        self.refused(self.server.get("/v1/memories/absent"), 404)

    def test_in_use(self):
        """While one request writes a memory, it cannot be removed."""
        self.post("/v1/memories", {"name": "busy"}, expect=201)
        connection, response = self.server.begin("POST", "/v1/memories/busy/documents", {"name": "b", "text": story(2000, 15)},
                                                 {"Accept": "text/event-stream"})
        with contextlib.closing(connection):
            while b"progress" not in response.readline():
                pass
            self.refused(self.server.delete("/v1/memories/busy"), 409)
            events = parse_events(b"x\n\n" + response.read())
            self.assertEqual(events[-1][0], "done")
        self.delete("/v1/memories/busy")


class FewInMemory(ServerTest):
    options = ("--sessions-in-memory", "2")

    def test_put_away_and_found_again(self):
        names = [f"away{n}" for n in range(5)]
        for turn in range(3):
            for name in names:
                self.say(name, f"{name} {turn}")
                self.assertLessEqual(sum(m["open"] for m in self.get("/v1/memories")["data"]), 2)
        for name in names:
            self.assertEqual([m for m, _ in self.turns(name)], [f"{name} {turn}" for turn in range(3)])
            self.assertTrue(self.post(f"/v1/memories/{name}/verify")["sound"])

    def test_all_in_use(self):
        """A third memory must wait its turn, or hear 429; the two in use are not disturbed."""
        streams = []
        for n in range(2):
            body = {"memory": f"long{n}", "max_tokens": 300, "stream": True, "messages": [{"role": "user", "content": "Go on."}]}
            connection, response = self.server.begin("POST", "/v1/chat/completions", body)
            self.addCleanup(connection.close)
            response.readline()
            streams.append(response)
        reply = self.server.post("/v1/chat/completions", {"memory": "third", "max_tokens": 1, "messages": [{"role": "user", "content": "Hi."}]})
        if reply.status != 200:
            self.refused(reply, 429)
        for response in streams:
            self.assertTrue(response.read().endswith(b"data: [DONE]\n\n"))
        self.say("third", "Once more.")


class AtOnce(ServerTest):
    def test_two_write_one_memory(self):
        """Turns and documents that come at the same time are taken in one after another, each once."""
        def one(n):
            if n % 3 == 2:
                return self.post("/v1/memories/both/documents", {"name": f"d{n}", "text": story(60, n)}, expect=201)
            return self.say("both", f"Message {n}.")
        self.post("/v1/memories", {"name": "both"}, expect=201)
        with concurrent.futures.ThreadPoolExecutor(9) as pool:
            list(pool.map(one, range(9)))
        self.assertEqual(sorted(m for m, _ in self.turns("both")), [f"Message {n}." for n in range(9) if n % 3 != 2])
        self.assertEqual(sorted(d["name"] for d in self.documents("both")), ["d2", "d5", "d8"])
        self.assertTrue(self.post("/v1/memories/both/verify")["sound"])

    def test_reading_while_it_is_written(self):
        """Questions are answered while a document is being read."""
        self.post("/v1/memories", {"name": "busy"}, expect=201)
        connection, response = self.server.begin("POST", "/v1/memories/busy/documents", {"name": "b", "text": story(2000, 16)},
                                                 {"Accept": "text/event-stream"})
        with contextlib.closing(connection):
            while b"progress" not in response.readline():
                pass
            self.post("/v1/memories/busy/ask", {"question": "Where?", "max_tokens": 2})
            self.post("/v1/memories/busy/search", {"query": "Where?"})
            self.assertFalse(self.documents("busy")[0]["complete"])  # the answers did not wait for its end
            self.assertEqual(parse_events(b"x\n\n" + response.read())[-1][0], "done")


class TwoProcesses(ServerTest):
    options = ("--idle", "0")

    def test_somebody_else_holds_it(self):
        """A second server on the same store: what one writes the other may not; put away, it may."""
        other = self.start(self.server.home)  # keeps memories open for half a minute
        other.post("/v1/chat/completions", {"memory": "shared", "max_tokens": 2, "messages": [{"role": "user", "content": "One."}]})
        body = {"memory": "shared", "max_tokens": 2, "messages": [{"role": "user", "content": "Two."}]}
        error = self.refused(self.server.post("/v1/chat/completions", body), 409)
        self.assertIn(str(other.pid), error["message"])
        self.assertEqual(other.terminate(), 0)
        self.post("/v1/chat/completions", body)
        self.assertEqual([m for m, _ in self.turns("shared")], ["One.", "Two."])


if __name__ == "__main__":
    main()
