"""The header Idempotency-Key: what is sent twice is done once, also where the server ended in between."""
import contextlib

from server import ServerTest, main, parse_events


class Keys(ServerTest):
    def send(self, key, path="/v1/chat/completions", **body):
        return self.server.post(path, body, headers={"Idempotency-Key": key})

    def chat(self, key, memory, message, **more):
        return self.send(key, memory=memory, max_tokens=4, messages=[{"role": "user", "content": message}], **more)

    def again(self, reply):
        return reply.headers.get("Idempotent-Replayed") == "true"

    def test_a_turn_is_taken_once(self):
        first = self.chat("a-1", "once", "Hello.")
        self.assertEqual((first.status, self.again(first)), (200, False))
        second = self.chat("a-1", "once", "Hello.")
        self.assertTrue(self.again(second))
        self.assertEqual(second.body, first.body)
        self.assertEqual(len(self.turns("once")), 1)
        self.assertFalse(self.again(self.chat("a-2", "once", "Hello again.")))
        self.assertEqual(len(self.turns("once")), 2)

    def test_a_stream_comes_again(self):
        streams = [self.chat("s-1", "streamed", "Hello.", stream=True) for _ in range(2)]
        self.assertEqual([self.again(reply) for reply in streams], [False, True])
        self.assertEqual(streams[0].body, streams[1].body)
        self.assertEqual(streams[1].headers["content-type"], streams[0].headers["content-type"])

    def test_undo_and_documents(self):
        self.say("undone", "One.")
        self.say("undone", "Two.")
        replies = [self.send("u-1", "/v1/memories/undone/undo", n=1) for _ in range(2)]
        self.assertEqual([(r.status, self.again(r)) for r in replies], [(200, False), (200, True)])
        self.assertEqual(len(self.turns("undone")), 1)
        replies = [self.send("m-1", "/v1/memories", name="made") for _ in range(2)]
        self.assertEqual([(r.status, self.again(r)) for r in replies], [(201, False), (201, True)])

    def test_the_same_key_for_something_else(self):
        self.assertEqual(self.chat("b-1", "other", "Hello.").status, 200)
        self.assertEqual(self.refused(self.chat("b-1", "other", "Something else."), 422)["code"], "idempotency_key_reused")
        self.refused(self.chat("k" * 300, "other", "Hello."), 400, "Idempotency-Key")
        self.assertEqual(len(self.turns("other")), 1)

    def test_the_first_is_under_way(self):
        body = {"memory": "slow", "stream": True, "max_tokens": 4000, "messages": [{"role": "user", "content": "Go on."}]}
        connection, response = self.server.begin("POST", "/v1/chat/completions", body, {"Idempotency-Key": "c-1"})
        with contextlib.closing(connection):
            while not response.readline().startswith(b"data:"):
                pass
            reply = self.server.post("/v1/chat/completions", body, headers={"Idempotency-Key": "c-1"})
            self.assertEqual(self.refused(reply, 409)["code"], "request_in_progress")
            self.assertEqual(reply.headers["Retry-After"], "1")

    def test_what_failed_is_done_anew(self):
        self.say("failed", "Hello.")
        body = {"memory": "failed", "stream": True, "max_tokens": 4000, "messages": [{"role": "user", "content": "Go on."}]}
        connection, response = self.server.begin("POST", "/v1/chat/completions", body)
        with contextlib.closing(connection):
            while not response.readline().startswith(b"data:"):
                pass
            self.refused(self.send("d-1", "/v1/memories/failed/purge"), 409)
        self.assertEqual(self.send("d-2", "/v1/memories/nobody/undo").status, 404)

    def test_the_server_was_killed_in_between(self):
        first = self.chat("e-1", "killed", "Hello.")
        self.server.kill()
        type(self).server = self.start(self.server.home)
        second = self.chat("e-1", "killed", "Hello.")
        self.assertTrue(self.again(second))
        self.assertEqual(second.json["choices"][0]["message"], first.json["choices"][0]["message"])
        self.assertEqual(second.json["memory"]["event"], first.json["memory"]["event"])
        self.assertEqual(len(self.turns("killed")), 1)
        stream = self.chat("e-2", "killed", "Once more.", stream=True)
        self.server.kill()
        type(self).server = self.start(self.server.home)
        again = self.chat("e-2", "killed", "Once more.", stream=True)
        said = [["".join(c["delta"].get("content") or "" for _, data in parse_events(reply.body) if data != "[DONE]"
                         for c in data["choices"])] for reply in (stream, again)]
        self.assertEqual(said[0], said[1])
        self.assertEqual(len(self.turns("killed")), 2)
        self.assertTrue(self.post("/v1/memories/killed/verify")["sound"])
        # Another request with another key is another turn, even if it says the same.
        self.assertFalse(self.again(self.chat("e-3", "killed", "Once more and more.")))
        self.assertEqual(len(self.turns("killed")), 3)


if __name__ == "__main__":
    main()
