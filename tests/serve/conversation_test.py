"""What a memory makes of messages that are sent along: history in mode `read`, system messages, a first message that was
edited; and what a reply says it saw."""
from server import ServerTest, main, story


def message(role, text):
    return {"role": role, "content": text}


class Conversation(ServerTest):
    def chat(self, memory, *messages, **more):
        body = {"memory": memory, "max_tokens": 4, "messages": list(messages)} | more
        return self.post("/v1/chat/completions", body)

    def test_history_is_looked_at_where_nothing_is_kept(self):
        self.say("read", "Hello.")
        answer = self.turns("read")[0][1]
        reading = {"name": "read", "mode": "read"}
        known = self.chat(reading, message("user", "Hello."), message("assistant", answer), message("user", "Who?"))
        self.assertEqual(known["memory"]["action"], "read")
        plain = self.chat(reading, message("user", "Who?"))
        self.assertEqual(plain["choices"], known["choices"])
        more = self.chat(reading, message("user", "Hello."), message("assistant", answer),
                         message("user", story(40, 3)), message("assistant", "Okay."), message("user", "Who?"))
        self.assertEqual(more["memory"]["action"], "caught_up")
        self.assertGreater(more["memory"]["seen"]["window"] + more["memory"]["seen"]["short_term"],
                           plain["memory"]["seen"]["window"] + plain["memory"]["seen"]["short_term"])
        self.assertEqual(self.turns("read"), [("Hello.", answer)])
        self.assertEqual(self.documents("read"), [])

    def test_system_messages(self):
        self.post("/v1/memories/ruled/documents", {"name": "a", "text": "A text."}, expect=201)
        said = [self.chat("ruled", message("system", system), message("user", text))["memory"]
                for system, text in (("Be short.", "One."), ("Be short.", "Two."), ("Be long.", "Three."))]
        self.assertEqual([memory["system"] for memory in said], ["taken", "known", "ignored"])
        self.assertEqual([d["bytes"] for d in self.documents("ruled", "system")], [len("Be short.")])
        self.assertNotIn("system", self.chat("ruled", message("user", "Four."))["memory"])

    def test_an_edited_first_message(self):
        self.say("chat", "Hello.")
        self.say("chat", "And?")
        another = self.chat("chat", message("user", "Good day."))
        self.assertEqual(another["memory"]["action"], "continued")
        edited = self.chat({"name": "chat", "whole": True}, message("user", "Good evening."))
        self.assertEqual((edited["memory"]["action"], edited["memory"]["undone"]), ("branched", 3))
        self.assertEqual([turn[0] for turn in self.turns("chat")], ["Good evening."])

    def test_what_was_seen(self):
        first = self.say("seen", "Hello.")
        second = self.say("seen", "And?")
        state = self.get("/v1/memories/seen")["state"]
        self.assertEqual(second["memory"]["seen"]["window"], state["window_tokens"])
        self.assertGreater(second["memory"]["seen"]["window"], first["memory"]["seen"]["window"])
        asked = self.post("/v1/memories/seen/ask", {"question": "Who?", "max_tokens": 4})["memory"]["seen"]
        self.assertGreater(asked["window"], second["memory"]["seen"]["window"])

    def test_a_short_text_is_not_gone(self):
        """What stays of a chunk beside a forgotten text is written alone: its few rows are all there are of it."""
        texts = {"a": "word " * 5, "b": "other " * 60}
        a, b = [self.post("/v1/memories/short/documents", {"name": name, "text": text}, expect=201)["document"]["id"]
                for name, text in texts.items()]
        self.delete(f"/v1/memories/short/documents/{b}")
        timeline = self.get("/v1/memories/short/timeline?layers=true")
        chunk = timeline["chunks"][0]
        self.assertEqual({span["source"] for span in chunk["spans"]}, {a})
        self.assertLess(sum(chunk["by_layer"][0]), timeline["rows_per_chunk"])
        self.assertEqual((chunk["short_term"], chunk["gone"]), (1, 0))
        self.assertEqual(timeline["chunks"][1]["gone"], 1)

    def test_properties_in_the_schemas_order(self):
        schema = {"type": "object", "additionalProperties": False, "required": ["z", "a"],
                  "properties": {"z": {"type": "boolean"}, "a": {"type": "boolean"}}}
        body = {"max_tokens": 40, "messages": [message("user", "Hello.")],
                "response_format": {"type": "json_schema", "json_schema": {"name": "x", "schema": schema}}}
        text = self.post("/v1/chat/completions", body)["choices"][0]["message"]["content"]
        self.assertRegex(text, r'^\{\s*"z"')

    def test_schemas_that_make_no_sense(self):
        for schema in ({"type": ["string", 3]}, {"$ref": "#"}, {"type": "array", "minItems": "one"}, {"required": "a", "type": "object"}):
            body = {"messages": [message("user", "Hello.")],
                    "response_format": {"type": "json_schema", "json_schema": {"name": "x", "schema": schema}}}
            self.assertEqual(self.refused(self.server.post("/v1/chat/completions", body), 400)["code"], "invalid_schema")

    def test_items_page_by_page(self):
        name = self.post("/v1/conversations")["id"]
        for text in ("One.", "Two.", "Three."):
            self.say(name, text)
        path, ids = f"/v1/conversations/{name}/items?order=asc&limit=4", []
        first = self.get(path)
        self.assertEqual((len(first["data"]), first["has_more"]), (4, True))
        rest = self.get(f"{path}&after={first['last_id']}")
        self.assertEqual((len(rest["data"]), rest["has_more"]), (2, False))
        ids = [item["id"] for page in (first, rest) for item in page["data"]]
        self.assertEqual(ids[::-1], [item["id"] for item in self.get(f"/v1/conversations/{name}/items")["data"]])
        for wrong in ("limit=0", "limit=x", "order=up"):
            self.refused(self.server.get(f"/v1/conversations/{name}/items?{wrong}"), 400, wrong.split("=")[0])
        self.refused(self.server.get(f"/v1/conversations/{name}/items?after=msg_999"), 404)


if __name__ == "__main__":
    main()
