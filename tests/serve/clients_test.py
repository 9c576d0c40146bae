"""Real clients of the OpenAI API against a running server: `openai`, LangChain, LiteLLM and LlamaIndex.

Runs in the environment that make_environment.sh makes.
"""
import asyncio
import os
import unittest

os.environ |= {"LITELLM_LOCAL_MODEL_COST_MAP": "True", "LITELLM_TELEMETRY": "False", "OPENAI_API_KEY": "none"}  # no other host is asked
import openai  # noqa: E402

from server import DefaultModelTest, ServerTest, default_model, main  # noqa: E402

HELLO = [{"role": "user", "content": "Say hello."}]
FACT = "My boat is called Heron."
QUESTION = "What is my boat called?"
WORD = "Heron"


class OpenAi(ServerTest):
    """Everything but sense: a model that answers noise is quick."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.client = openai.OpenAI(base_url=cls.server.url + "/v1", api_key="none", max_retries=0)
        cls.addClassCleanup(cls.client.close)

    def create(self, **more):
        return self.client.chat.completions.create(**{"model": "mplus", "messages": HELLO, "max_tokens": 8} | more)

    def text(self, **more):
        return self.create(**more).choices[0].message.content

    def test_chat(self):
        reply = self.create()
        choice, = reply.choices
        self.assertEqual((reply.object, choice.message.role, choice.finish_reason), ("chat.completion", "assistant", "length"))
        self.assertEqual(reply.usage.completion_tokens, 8)
        self.assertEqual(reply.usage.total_tokens, reply.usage.prompt_tokens + 8)
        self.assertEqual(self.create(max_tokens=openai.omit, max_completion_tokens=3).usage.completion_tokens, 3)

    def test_streaming(self):
        chunks = list(self.create(stream=True, stream_options={"include_usage": True}))
        self.assertEqual({chunk.object for chunk in chunks}, {"chat.completion.chunk"})
        self.assertEqual(len({chunk.id for chunk in chunks}), 1)
        self.assertEqual(chunks[0].choices[0].delta.role, "assistant")
        text = "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices)
        self.assertEqual(text, self.text())
        reasons = [chunk.choices[0].finish_reason for chunk in chunks if chunk.choices]
        self.assertEqual([reason for reason in reasons if reason], ["length"])
        self.assertEqual((chunks[-1].choices, chunks[-1].usage), ([], self.create().usage))
        self.assertEqual([chunk.usage for chunk in chunks[:-1]], [None] * (len(chunks) - 1))

    def test_streaming_helper(self):
        stop = self.text()[-4:]  # it takes an answer that is cut by its length for an error
        with self.client.chat.completions.stream(model="mplus", messages=HELLO, max_tokens=8, stop=stop) as stream:
            kinds = {event.type for event in stream}
            final = stream.get_final_completion()
        self.assertLessEqual({"chunk", "content.delta", "content.done"}, kinds)
        self.assertEqual(final.choices[0].message.content, self.text(stop=stop))

    def test_async(self):
        async def talk():
            async with openai.AsyncOpenAI(base_url=self.server.url + "/v1", api_key="none", max_retries=0) as client:
                async def streamed(word):
                    stream = await client.chat.completions.create(model="mplus", messages=[{"role": "user", "content": word}],
                                                                  max_tokens=8, stream=True)
                    return "".join([chunk.choices[0].delta.content or "" async for chunk in stream if chunk.choices])
                return await asyncio.gather(*map(streamed, ("One.", "Two.", "Three.", "Four.")))
        together = asyncio.run(talk())
        alone = [self.text(messages=[{"role": "user", "content": word}]) for word in ("One.", "Two.", "Three.", "Four.")]
        self.assertEqual(together, alone)

    def test_logprobs(self):
        choice = self.create(logprobs=True, top_logprobs=3).choices[0]
        self.assertEqual(len(choice.logprobs.content), 8)
        for token in choice.logprobs.content:
            self.assertEqual(len(token.top_logprobs), 3)
            best = token.top_logprobs[0]
            self.assertEqual((token.token, token.logprob), (best.token, best.logprob))  # without temperature the best is taken
            self.assertLessEqual(token.logprob, 0)
        self.assertEqual(b"".join(bytes(token.bytes) for token in choice.logprobs.content).decode(), choice.message.content)

    def test_logprobs_streaming(self):
        chunks = list(self.create(stream=True, logprobs=True, top_logprobs=1))
        tokens = [token for chunk in chunks for choice in chunk.choices if choice.logprobs for token in choice.logprobs.content]
        self.assertEqual([t.token for t in tokens], [t.token for t in self.create(logprobs=True).choices[0].logprobs.content])

    def test_stop(self):
        whole = self.text(temperature=1, seed=3, max_tokens=16)
        stop = whole[len(whole) // 2:][:3]
        reply = self.create(temperature=1, seed=3, max_tokens=16, stop=[stop, "never said"])
        self.assertEqual((reply.choices[0].message.content, reply.choices[0].finish_reason), (whole[:whole.index(stop)], "stop"))

    def test_seed(self):
        answers = [self.text(temperature=1.5, seed=seed, max_tokens=16) for seed in (1, 1, 2)]
        self.assertEqual(answers[0], answers[1])
        self.assertNotEqual(answers[0], answers[2])

    def test_n(self):
        choices = self.create(n=3, temperature=1.5, seed=1).choices
        self.assertEqual([choice.index for choice in choices], [0, 1, 2])
        self.assertEqual(len({choice.message.content for choice in choices}), 3)
        indices = {chunk.choices[0].index for chunk in self.create(n=2, stream=True) if chunk.choices}
        self.assertEqual(indices, {0, 1})

    def test_bias_and_penalties(self):
        token = self.create(logprobs=True).choices[0].logprobs.content[0].token
        tokens = self.post("/tokenize", {"content": token})["tokens"]
        banned = self.create(logprobs=True, logit_bias={str(tokens[0]): -100})
        self.assertNotEqual(banned.choices[0].logprobs.content[0].token, token)
        self.assertNotEqual(self.text(frequency_penalty=2, presence_penalty=2, max_tokens=16), self.text(max_tokens=16))

    def test_models(self):
        self.create(extra_body={"memory": "listed"})
        self.assertLessEqual({"mplus", "mplus:listed"}, {model.id for model in self.client.models.list()})
        self.assertEqual(self.client.models.retrieve("mplus:listed").id, "mplus:listed")
        with self.assertRaises(openai.NotFoundError):
            self.client.models.retrieve("mplus:nobody")

    def test_completions(self):
        reply = self.client.completions.create(model="mplus", prompt="The boat", max_tokens=5, logprobs=2)
        self.assertEqual((reply.object, reply.usage.completion_tokens), ("text_completion", 5))
        logprobs = reply.choices[0].logprobs
        self.assertEqual("".join(logprobs.tokens), reply.choices[0].text)
        self.assertEqual([len(best) for best in logprobs.top_logprobs], [2] * 5)
        chunks = self.client.completions.create(model="mplus", prompt="The boat", max_tokens=5, stream=True)
        self.assertEqual("".join(chunk.choices[0].text for chunk in chunks if chunk.choices), reply.choices[0].text)

    def test_errors(self):
        for error, more in ((openai.BadRequestError, {"temperature": 9}), (openai.BadRequestError, {"messages": []}),
                            (openai.BadRequestError, {"extra_body": {"frobnicate": 1}}),
                            (openai.NotFoundError, {"extra_body": {"memory": {"name": "nobody", "mode": "read"}}})):
            with self.subTest(more), self.assertRaises(error) as caught:
                self.create(**more)
            self.assertTrue(caught.exception.request_id)
            self.assertEqual(caught.exception.type, "invalid_request_error")
        with self.assertRaises(openai.BadRequestError) as caught:
            self.create(temperature=9)
        self.assertEqual((caught.exception.param, caught.exception.code), ("temperature", "invalid_value"))
        with self.assertRaises(openai.APIStatusError) as caught:
            self.client.get("/nothing", cast_to=object)
        self.assertEqual(caught.exception.status_code, 404)
        with self.assertRaises(openai.BadRequestError):  # before a stream begins, an error is an error
            self.create(stream=True, temperature=9)

    def test_how_a_memory_is_named(self):
        for number, more in enumerate(({"extra_body": {"memory": "named"}}, {"model": "mplus:named"},
                                       {"extra_headers": {"X-Mplus-Memory": "named"}})):
            reply = self.create(messages=[{"role": "user", "content": f"Message {number}."}], **more)
            self.assertEqual((reply.memory["name"], reply.memory["created"]), ("named", number == 0))
        self.assertEqual([m for m, _ in self.turns("named")], ["Message 0.", "Message 1.", "Message 2."])

    def test_reading_only(self):
        self.create(extra_body={"memory": "read"})
        before = self.turns("read")
        chunks = list(self.create(stream=True, extra_body={"memory": {"name": "read", "mode": "read"}}))
        self.assertEqual((chunks[-1].memory["mode"], chunks[-1].choices), ("read", []))
        self.create(model="mplus:read", extra_body={"memory": {"mode": "off"}})
        self.assertEqual(self.turns("read"), before)


@unittest.skipIf(default_model() is None, "no default model")
class Facts(DefaultModelTest):
    """Each library chats, streams, and tells a memory of its own a fact that it then asks for."""

    def assert_told(self, memory, answer):
        self.assertIn(WORD, answer)
        self.assertEqual([m for m, _ in self.turns(memory)], [FACT, QUESTION])

    def test_openai(self):
        with openai.OpenAI(base_url=self.server.url + "/v1", api_key="none") as client:
            def say(text, **more):
                return client.chat.completions.create(model="mplus", messages=[{"role": "user", "content": text}], max_tokens=16,
                                                      extra_body={"memory": "openai"}, **more)
            say(FACT)
            answer = "".join(chunk.choices[0].delta.content or "" for chunk in say(QUESTION, stream=True) if chunk.choices)
        self.assert_told("openai", answer)

    def test_langchain(self):
        from langchain_core.messages import HumanMessage
        from langchain_openai import ChatOpenAI
        chat = ChatOpenAI(model="mplus", base_url=self.server.url + "/v1", api_key="none", max_tokens=16,
                          extra_body={"memory": "langchain"})
        told = chat.invoke([HumanMessage(FACT)])
        self.assertGreater(told.usage_metadata["output_tokens"], 0)
        history = [HumanMessage(FACT), told, HumanMessage(QUESTION)]
        self.assert_told("langchain", "".join(chunk.content for chunk in chat.stream(history)))

    def test_litellm(self):
        import litellm

        def say(text, **more):
            return litellm.completion(model="openai/mplus:litellm", api_base=self.server.url + "/v1", api_key="none", max_tokens=16,
                                      messages=[{"role": "user", "content": text}], **more)
        self.assertTrue(say(FACT).choices[0].message.content)
        answer = "".join(chunk.choices[0].delta.content or "" for chunk in say(QUESTION, stream=True))
        self.assert_told("litellm", answer)

    def test_llama_index(self):
        from llama_index.core.llms import ChatMessage
        from llama_index.llms.openai_like import OpenAILike
        chat = OpenAILike(model="mplus", api_base=self.server.url + "/v1", api_key="none", is_chat_model=True, max_tokens=16,
                          default_headers={"X-Mplus-Memory": "llama-index"})
        told = chat.chat([ChatMessage(role="user", content=FACT)]).message
        history = [ChatMessage(role="user", content=FACT), told, ChatMessage(role="user", content=QUESTION)]
        answer = "".join(piece.delta or "" for piece in chat.stream_chat(history))
        self.assert_told("llama-index", answer)


if __name__ == "__main__":
    main()
