"""Replays what chat applications send, request by request: a memory must take in each thing once, and side requests never.

Bodies, headers and prompts are those of Open WebUI (routers/openai.py, routers/tasks.py, config.py; July 2026) and LibreChat
with @librechat/agents (August 2026), with a shorter max_tokens.
"""
import contextlib
import json
import unittest

from server import ServerTest, main, parse_events, wait_for


class ChatApp:
    """A conversation as an application keeps it: it sends all of it each time."""
    header = None  # names the conversation
    more_headers = {}
    more_fields = {}
    system = None

    def __init__(self, test, name):
        self.test, self.name, self.said = test, name, []

    def headers(self):
        return {"Content-Type": "application/json", "Authorization": "Bearer sk-none", self.header: self.name} | self.more_headers

    def messages(self, newest):
        system = [{"role": "system", "content": self.system}] if self.system else []
        return system + self.said + [{"role": "user", "content": newest}]

    def begin(self, newest, **more):
        body = {"stream": True, "model": "mplus", "messages": self.messages(newest), "max_tokens": 6} | self.more_fields | more
        connection, response = self.test.server.begin("POST", "/v1/chat/completions", body, self.headers())
        if response.status != 200:
            self.test.fail(response.read())
        return connection, response

    def send(self, newest, **more):
        """Streams an answer to its end; the reply's last report on the memory."""
        connection, response = self.begin(newest, **more)
        with contextlib.closing(connection):
            events = [data for _, data in parse_events(response.read())]
        self.test.assertEqual(events.pop(), "[DONE]")
        answer = "".join(choice["delta"].get("content") or "" for event in events for choice in event["choices"])
        self.said += [{"role": "user", "content": newest}, {"role": "assistant", "content": answer}]
        self.usage = [event["usage"] for event in events if event.get("usage")]
        return events[-1]["memory"]

    def stop(self, newest, pieces):
        """The stop button: the connection is dropped after some pieces of the answer, which the application keeps."""
        connection, response = self.begin(newest, max_tokens=4000)
        shown = ""
        while pieces > 0:
            line = response.readline()
            if not line.startswith(b"data: {"):
                continue
            for choice in json.loads(line[6:])["choices"]:
                if choice["delta"].get("content"):
                    shown += choice["delta"]["content"]
                    pieces -= 1
        response.close()
        connection.close()
        self.said += [{"role": "user", "content": newest}, {"role": "assistant", "content": shown}]
        return shown

    def back_to(self, turns):
        del self.said[2 * turns:]

    def aside(self, prompt, **more):
        body = {"model": "mplus", "messages": [{"role": "user", "content": prompt}], "stream": False} | more
        return self.test.post("/v1/chat/completions", body, headers=self.headers())


class OpenWebUi(ChatApp):
    header = "X-OpenWebUI-Chat-Id"
    more_headers = {"X-OpenWebUI-User-Name": "Anna%20K", "X-OpenWebUI-User-Id": "0b8a6a4e", "X-OpenWebUI-User-Email": "a@example.org",
                    "X-OpenWebUI-User-Role": "admin"}
    more_fields = {"stream_options": {"include_usage": True}}

    def history(self, messages):
        return "\n".join(f"{m['role'].upper()}: {m['content']}" for m in self.said[-messages:])

    def title(self):
        return self.aside(
            "### Task:\nGenerate a concise, 3-5 word title with an emoji summarizing the chat history.\n### Guidelines:\n- The title "
            "should clearly represent the main theme or subject of the conversation.\n### Output:\nJSON format: { \"title\": \"your "
            "concise title here\" }\n### Examples:\n- { \"title\": \"📉 Stock Market Trends\" },\n- { \"title\": \"🍪 Perfect Chocolate "
            f"Chip Recipe\" }}\n### Chat History:\n<chat_history>\n{self.history(2)}\n</chat_history>", max_tokens=10)

    def tags(self):
        return self.aside(
            "### Task:\nGenerate 1-3 broad tags categorizing the main themes of the chat history, along with 1-3 more specific "
            "subtopic tags.\n\n### Output:\nJSON format: { \"tags\": [\"tag1\", \"tag2\", \"tag3\"] }\n\n### Chat History:\n"
            f"<chat_history>\n{self.history(6)}\n</chat_history>", max_tokens=10)

    def follow_ups(self):
        return self.aside(
            "### Task:\nSuggest 3-5 relevant follow-up questions or prompts that the user might naturally ask next in this "
            "conversation as a **user**, based on the chat history, to help continue or deepen the discussion.\n### Output:\nJSON "
            "format: { \"follow_ups\": [\"Question 1?\", \"Question 2?\", \"Question 3?\"] }\n### Chat History:\n"
            f"<chat_history>\n{self.history(6)}\n</chat_history>", max_tokens=10)


class LibreChat(ChatApp):
    header = "X-Conversation-Id"
    more_headers = {"User-Agent": "OpenAI/JS 6.9.1", "X-Stainless-Lang": "js", "X-Stainless-Retry-Count": "0", "Accept": "application/json"}
    more_fields = {"user": "66f1c0", "stream_options": {"include_usage": True}, "temperature": 1, "top_p": 1,
                   "presence_penalty": 0, "frequency_penalty": 0}
    system = "You are a helpful assistant named Robin."

    def title(self, answer=True):
        first = f"User: {self.said[0]['content']}\nAI: " + (self.said[1]["content"] if answer else "")
        return self.aside("Provide a concise, 5-word-or-less title for the conversation, using title case conventions. Only return "
                          f"the title itself.\n\nConversation:\n{first}", temperature=0.2, max_tokens=10)


class Conversations:
    """What both have to get. Each test is a conversation of its own."""
    options = ("--memory-header", "X-OpenWebUI-Chat-Id", "--memory-header", "X-Conversation-Id")

    def chat(self):
        return self.app(self, f"{self.app.__name__}-{self.id().rsplit('.', 1)[1]}")

    def assert_holds(self, chat):
        """The memory's turns are the conversation as the application shows it, and nothing else is in it."""
        said = [m["content"] for m in chat.said]
        held = [text for turn in self.turns(chat.name) for text in turn]
        self.assertEqual([text.strip() for text in held], [text.strip() for text in said])
        self.assertEqual(self.documents(chat.name), [])

    def test_history_that_is_sent_again(self):
        chat = self.chat()
        actions = [chat.send(text) for text in ("My boat is called Heron.", "It lies in Port Ansel.", "What is my boat called?")]
        self.assertEqual([(a["action"], a["created"]) for a in actions], [("continued", True)] + 2 * [("continued", False)])
        self.assertEqual(len(chat.usage), 1)
        self.assert_holds(chat)
        system = [d["name"] for d in self.documents(chat.name, "system")]
        self.assertEqual(len(system), 1 if chat.system else 0)

    def test_a_new_answer_to_the_last_message(self):
        chat = self.chat()
        chat.send("One.")
        chat.send("Two.")
        chat.back_to(1)
        self.assertEqual(chat.send("Two.", temperature=1, seed=7)["action"], "branched")
        self.assert_holds(chat)

    def test_a_new_answer_to_the_only_message(self):
        chat = self.chat()
        chat.send("One.")
        chat.back_to(0)
        self.assertEqual(chat.send("One.", temperature=1, seed=7)["action"], "branched")
        self.assert_holds(chat)

    def test_an_edited_message(self):
        chat = self.chat()
        for text in ("One.", "Two.", "Three."):
            chat.send(text)
        chat.back_to(1)
        self.assertEqual(chat.send("Two, corrected.")["action"], "branched")
        self.assertEqual(chat.send("And on.")["action"], "continued")
        self.assert_holds(chat)
        self.assertTrue(self.post(f"/v1/memories/{chat.name}/verify")["sound"])

    def test_the_stop_button(self):
        """What was shown is kept, no more; the conversation goes on from there."""
        chat = self.chat()
        chat.send("One.")
        shown = chat.stop("Tell me a long story.", pieces=5)
        wait_for(lambda: len(self.turns(chat.name)) == 2, "the stopped turn")
        message, answer = self.turns(chat.name)[1]
        self.assertEqual(message, "Tell me a long story.")
        self.assertTrue(answer.startswith(shown), (shown, answer[:100]))
        self.assertLess(len(answer), len(shown) + 2000)  # what was on its way, not 4000 tokens
        chat.send("Thank you.")
        self.assertEqual([m for m, _ in self.turns(chat.name)], ["One.", "Tell me a long story.", "Thank you."])
        self.assertEqual(self.documents(chat.name), [])

    def test_stopped_before_the_first_word(self):
        chat = self.chat()
        chat.send("One.")
        connection, response = chat.begin("Two.", max_tokens=4000)
        response.close()
        connection.close()
        chat.send("Three.")
        messages = [m for m, _ in self.turns(chat.name)]
        self.assertIn(messages, (["One.", "Three."], ["One.", "Two.", "Three."]))
        self.assertEqual(self.documents(chat.name), [])

    def test_a_conversation_from_before(self):
        """It began without a memory: what was said then is read once, as a document."""
        chat = self.chat()
        chat.said = [{"role": "user", "content": "Clara repairs clocks."}, {"role": "assistant", "content": "So she does."}]
        self.assertEqual(chat.send("Who repairs clocks?")["action"], "caught_up")
        self.assertEqual(chat.send("Where?")["action"], "continued")
        document, = self.documents(chat.name)
        text = self.get(f"/v1/memories/{chat.name}/documents/{document['id']}")["text"]
        self.assertEqual(text, "User: Clara repairs clocks.\nAssistant: So she does.\n")
        self.assertEqual([m for m, _ in self.turns(chat.name)], ["Who repairs clocks?", "Where?"])

    def test_parts_of_text(self):
        chat = self.chat()
        chat.send("One.")
        body = {"model": "mplus", "max_tokens": 4, "messages": chat.said + [
            {"role": "user", "content": [{"type": "text", "text": "In "}, {"type": "text", "text": "parts."}]}]}
        self.post("/v1/chat/completions", body, headers=chat.headers())
        self.assertEqual([m for m, _ in self.turns(chat.name)], ["One.", "In parts."])

    def test_a_picture_is_refused(self):
        chat = self.chat()
        body = {"messages": [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "data:image/png;base64,aa"}}]}]}
        self.refused(self.server.post("/v1/chat/completions", body, headers=chat.headers()), 400, "messages[0].content")
        self.refused(self.server.get(f"/v1/memories/{chat.name}"), 404)


class OpenWebUiTest(Conversations, ServerTest):
    app = OpenWebUi

    def test_side_requests(self):
        chat = self.chat()
        chat.send("My boat is called Heron.")
        for aside in (chat.title, chat.tags, chat.follow_ups):
            self.assertEqual(aside()["memory"]["action"], "aside")
        self.assert_holds(chat)
        chat.send("It lies in Port Ansel.")
        self.assertEqual(chat.follow_ups()["memory"]["action"], "aside")
        self.assert_holds(chat)

    def test_models_are_listed(self):
        chat = self.chat()
        chat.send("One.")
        models = self.get("/v1/models", headers=chat.headers())["data"]
        self.assertEqual(models[0]["id"], "mplus")
        self.assertIn(f"mplus:{chat.name}", [m["id"] for m in models])
        for model in models:
            self.assertEqual(set(model) >= {"id", "object", "created", "owned_by"}, True)


class LibreChatTest(Conversations, ServerTest):
    app = LibreChat

    def test_a_title_after_the_answer(self):
        chat = self.chat()
        chat.send("My boat is called Heron.")
        self.assertEqual(chat.title()["memory"]["action"], "aside")
        self.assert_holds(chat)

    def test_a_title_beside_the_answer(self):
        """`titleTiming: immediate`, the default: from the first message alone, while it is being answered."""
        chat = self.chat()
        connection, response = chat.begin("My boat is called Heron.", max_tokens=100)
        chat.said = [{"role": "user", "content": "My boat is called Heron."}]
        title = chat.title(answer=False)
        with contextlib.closing(connection):
            events = [data for _, data in parse_events(response.read())]
        self.assertEqual(events[-1], "[DONE]")
        self.assertEqual([m for m, _ in self.turns(chat.name)], ["My boat is called Heron."])
        self.assertEqual(title["memory"]["action"], "aside")


if __name__ == "__main__":
    main()
