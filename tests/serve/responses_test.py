"""Responses and conversations, by the official client."""
import openai

from server import ServerTest, main


class Responses(ServerTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.client = openai.OpenAI(base_url=cls.server.url + "/v1", api_key="none", max_retries=0)
        cls.addClassCleanup(cls.client.close)

    def respond(self, text, **more):
        return self.client.responses.create(**{"model": "mplus", "input": text, "max_output_tokens": 6} | more)

    def said(self, conversation):
        items = self.client.conversations.items.list(conversation, order="asc")
        return [item.content[0].text for item in items if item.role == "user"]

    def test_without_a_memory_nothing_is_kept(self):
        before = self.get("/v1/memories")["data"]
        response = self.respond("Hello.")
        self.assertEqual((response.status, response.incomplete_details.reason), ("incomplete", "max_output_tokens"))
        self.assertEqual(response.usage.output_tokens, 6)
        self.assertFalse(response.store)
        with self.assertRaises(openai.NotFoundError):
            self.respond("And then?", previous_response_id=response.id)
        self.assertEqual(self.get("/v1/memories")["data"], before)

    def test_a_conversation_goes_on(self):
        conversation = self.client.conversations.create().id
        first = self.respond("One.", conversation=conversation)
        self.assertTrue(first.store)
        again = self.client.responses.retrieve(first.id)
        self.assertEqual(again.output_text, first.output_text)
        second = self.respond("Two.", previous_response_id=first.id)  # the last one: no branch
        self.assertEqual(second.conversation.id, conversation)
        self.assertEqual(self.said(conversation), ["One.", "Two."])
        self.respond("Two.", conversation=conversation)  # said twice is said twice: nothing was sent again
        self.assertEqual(self.said(conversation), ["One.", "Two.", "Two."])
        self.client.conversations.delete(conversation)
        with self.assertRaises(openai.NotFoundError):
            self.respond("Three.", conversation=conversation)

    def test_from_an_earlier_response_it_branches(self):
        conversation = self.client.conversations.create().id
        first = self.respond("One.", conversation=conversation)
        self.respond("Two.", conversation=conversation)
        branch = self.respond("Another two.", previous_response_id=first.id)
        self.assertNotEqual(branch.conversation.id, conversation)
        self.assertEqual(self.said(branch.conversation.id), ["One.", "Another two."])
        self.assertEqual(self.said(conversation), ["One.", "Two."])

    def test_streaming(self):
        conversation = self.client.conversations.create().id
        kinds, text, numbers = [], "", []
        for event in self.respond("One.", conversation=conversation, stream=True):
            kinds.append(event.type)
            numbers.append(event.sequence_number)
            text += event.delta if event.type == "response.output_text.delta" else ""
        self.assertEqual(kinds[:4], ["response.created", "response.in_progress", "response.output_item.added",
                                     "response.content_part.added"])
        self.assertEqual(kinds[-4:], ["response.output_text.done", "response.content_part.done", "response.output_item.done",
                                      "response.incomplete"])
        self.assertEqual(numbers, list(range(len(numbers))))
        self.assertEqual(text, event.response.output_text)

    def test_messages_and_instructions(self):
        messages = [{"role": "user", "content": "One."}, {"role": "assistant", "content": "Good."},
                    {"role": "user", "content": [{"type": "input_text", "text": "Two."}]}]
        response = self.respond(messages, instructions="Be brief.", extra_body={"memory": "told"})
        self.assertEqual(response.instructions, "Be brief.")
        self.assertEqual(self.said("told"), ["Two."])
        names = [d["name"] for d in self.get("/v1/memories/told/documents")["data"] if d["speaker"] == "document"]
        self.assertEqual(names, ["earlier messages"])

    def test_what_is_not_supported_is_named(self):
        for field, value in (("tools", [{"type": "web_search"}]), ("background", True), ("include", ["x"]), ("input", [])):
            with self.subTest(field), self.assertRaises(openai.BadRequestError) as caught:
                self.respond("Hello.", **{field: value})
            self.assertEqual(caught.exception.param, field)
        for name in ("resp_", "resp_zz_1", "resp_6d_", "resp_6d_99", "x"):
            with self.subTest(name), self.assertRaises(openai.NotFoundError):
                self.respond("Hello.", previous_response_id=name)


if __name__ == "__main__":
    main()
