#!/usr/bin/env python3
"""Load for `mplus serve` on this machine, and what it makes of it: how fast chats stream, alone, together, beside a document.

usage: serve_load.py [--url http://127.0.0.1:8080] [--chats N] [--turns N] [--tokens N] [--temperature T]
                     [--history TOKENS] [--beside-document FILE] [--plain] [--json]

Each chat is a memory of its own, `load-…`, that is deleted in the end. With --history its memory has read a text of about
so many tokens before. All chats begin together, and each waits for its answer before its next turn. --beside-document: another
memory reads FILE meanwhile; the chats go on until it has been read, or for --turns turns, and its rate is of the time both
ran. --plain: a server without memories (`llama-server --parallel N`), for comparison: the history is a message in front, and
all that was said is sent again with every turn; each chat has a slot of its own that has read the history before the clock
starts. Only this machine may be loaded, with at most 64 chats, for at most 10 minutes.
"""
import argparse
import http.client
import json
import socket
import sys
import threading
import time
import urllib.parse
from pathlib import Path

MOST_CHATS, MOST_SECONDS = 64, 600
QUESTIONS = ["Tell me about the harbour.", "What happens next?", "Who lives there?", "Describe the winter.", "Why do the boats stay?"]
WORDS = "the lamp harbour winter stone letter boat night key north bread old keeper seven a and of in with she he went saw".split()


def text_of(tokens, seed):
    """Words of about so many tokens, different for every seed."""
    state, words = seed * 7919 + 1, []
    for _ in range(tokens):
        state = (state * 1103515245 + 12345) % (1 << 31)
        words.append(WORDS[(state >> 16) % len(WORDS)])
    return " ".join(words) + "."


class Client:
    def __init__(self, url):
        parts = urllib.parse.urlsplit(url)
        if parts.scheme != "http" or parts.hostname not in ("127.0.0.1", "localhost", "::1"):
            sys.exit("only a server on this machine may be loaded: http://127.0.0.1:PORT")
        self.host, self.port = parts.hostname, parts.port or 80

    def begin(self, method, path, body=None, **headers):
        connection = http.client.HTTPConnection(self.host, self.port, timeout=MOST_SECONDS)
        connection.request(method, path, None if body is None else json.dumps(body), {"Content-Type": "application/json"} | headers)
        return connection, connection.getresponse()

    def request(self, *what, **headers):
        connection, response = self.begin(*what, **headers)
        body = response.read()
        connection.close()
        if response.status >= 300:
            raise RuntimeError(f"{what[:2]}: {response.status} {body[:300]}")
        return json.loads(body)

    def events(self, *what, **headers):
        """(time, data) of each event of a stream."""
        connection, response = self.begin(*what, **headers)
        if response.status >= 300:
            raise RuntimeError(f"{what[:2]}: {response.status} {response.read()[:300]}")
        for line in response:
            if line.startswith(b"data: {"):
                yield time.monotonic(), json.loads(line[6:])
        connection.close()


class Chat(threading.Thread):
    """One person: asks, waits for the whole answer, asks again."""

    def __init__(self, client, options, number, begin, enough):
        super().__init__(daemon=True)
        self.client, self.options, self.number, self.begin, self.enough = client, options, number, begin, enough
        self.memory = f"load-{number}-{time.monotonic_ns()}"
        self.first, self.between, self.ends, self.tokens, self.failure = [], [], [], 0, None
        self.said = [{"role": "system", "content": text_of(options.history, number)}] if options.history else []

    def prepare(self, first):
        """The first reads the history, the others are forks of it; without memories each has its own."""
        if self.options.plain:
            self.client.request("POST", "/v1/chat/completions", self.asking("Hello.", max_tokens=1))
        elif self is not first:
            self.client.request("POST", f"/v1/memories/{first.memory}/fork", {"name": self.memory})
        elif self.options.history:
            self.client.request("POST", f"/v1/memories/{self.memory}/documents", {"name": "history", "text": text_of(self.options.history, 0)})
        else:
            self.client.request("POST", "/v1/memories", {"name": self.memory})

    def run(self):
        try:
            self.begin.wait()
            turn = 0
            while not self.enough(turn):
                self.answer(f"{QUESTIONS[(self.number + turn) % len(QUESTIONS)]} ({turn})")
                turn += 1
        except Exception as error:  # told by the main thread
            self.failure = error

    def asking(self, question, **more):
        message = {"role": "user", "content": question}
        body = {"max_tokens": self.options.tokens, "temperature": self.options.temperature, "seed": self.number,
                "logit_bias": {"2": -100}}  # the default model's end of a message: answers of equal length
        if self.options.plain:
            return body | {"messages": self.said + [message], "id_slot": self.number, "cache_prompt": True} | more
        return body | {"messages": [message], "memory": {"name": self.memory, "passages": False}} | more

    def answer(self, question):
        body = self.asking(question, stream=True, stream_options={"include_usage": True})
        last, asked, text = None, time.monotonic(), ""
        for now, data in self.client.events("POST", "/v1/chat/completions", body):
            if data.get("usage"):
                self.tokens += data["usage"]["completion_tokens"]
            piece = "".join(choice["delta"].get("content") or "" for choice in data["choices"])
            text += piece
            if not piece:
                continue
            (self.first if last is None else self.between).append(now - (asked if last is None else last))
            last = now
        self.said += [{"role": "user", "content": question}, {"role": "assistant", "content": text}]
        self.ends.append(time.monotonic())


class Document(threading.Thread):
    def __init__(self, client, path, begin):
        super().__init__(daemon=True)
        self.client, self.text, self.begin = client, Path(path).read_text(), begin
        self.memory, self.failure, self.done, self.connection = f"load-document-{time.monotonic_ns()}", None, [], None
        self.ended = threading.Event()

    def run(self):
        try:
            self.begin.wait()
            self.connection, response = self.client.begin("POST", f"/v1/memories/{self.memory}/documents",
                                                          {"name": "document", "text": self.text}, Accept="text/event-stream")
            if response.status >= 300:
                raise RuntimeError(f"document: {response.status} {response.read()[:300]}")
            for line in response:
                if line.startswith(b'data: {"done"'):
                    self.done.append((time.monotonic(), json.loads(line[6:])["done"]))
        except Exception as error:
            self.failure = error
        self.ended.set()

    def stop(self):
        """Its client goes away: what was read stays read."""
        if self.connection and self.connection.sock:
            self.connection.sock.shutdown(socket.SHUT_RDWR)
        self.join()

    def rate(self, until):
        """Tokens a second while the others ran."""
        done = [(when, tokens) for when, tokens in self.done if when <= until] or self.done[:1]
        return (done[-1][1] - done[0][1]) / max(1e-9, done[-1][0] - done[0][0])


def percentile(values, share):
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))] if ordered else None


def summary(values):
    return {"p50": percentile(values, 0.5), "p95": percentile(values, 0.95), "max": max(values, default=None), "n": len(values)}


def measure(options):
    client = Client(options.url)
    begin = threading.Barrier(options.chats + (1 if options.beside_document else 0) + 1)
    document = Document(client, options.beside_document, begin) if options.beside_document else None
    deadline = time.monotonic() + MOST_SECONDS

    def enough(turn):
        if time.monotonic() > deadline:
            return True
        return turn >= options.turns or (document is not None and document.ended.is_set())

    chats = [Chat(client, options, number, begin, enough) for number in range(options.chats)]
    everybody = chats + ([document] if document else [])
    try:
        for chat in chats:
            chat.prepare(chats[0])
        for one in everybody:
            one.start()
        begin.wait()
        began = time.monotonic()
        for chat in chats:
            chat.join()
        ended = max((end for chat in chats for end in chat.ends), default=time.monotonic())
        if document and not chats:
            document.ended.wait(MOST_SECONDS)
            ended = time.monotonic()
    finally:
        if document and document.is_alive():
            document.stop()
        for one in everybody if not options.plain else []:
            delete(client, one)
    failures = [one.failure for one in everybody if one.failure and not (one is document and document.done)]
    if failures:
        sys.exit(f"failed: {failures[0]}")
    result = {"chats": options.chats, "seconds": ended - began, "tokens": sum(chat.tokens for chat in chats),
              "tokens_per_second": sum(chat.tokens for chat in chats) / (ended - began),
              "time_to_first_token": summary([t for chat in chats for t in chat.first]),
              "time_between_tokens": summary([t for chat in chats for t in chat.between])}
    if document:
        result["document_tokens_per_second"] = document.rate(ended)
    return result


def delete(client, one):
    """A document that is still being read is in use for a moment after its client has gone."""
    for _ in range(50):
        try:
            return client.request("DELETE", f"/v1/memories/{one.memory}")
        except RuntimeError as error:
            if " 409 " not in str(error):
                return None
            time.sleep(0.2)
        except OSError:
            return None


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--url", default="http://127.0.0.1:8080")
    parser.add_argument("--chats", type=int, default=1)
    parser.add_argument("--turns", type=int, default=4)
    parser.add_argument("--tokens", type=int, default=32, help="of each answer")
    parser.add_argument("--temperature", type=float, default=0)
    parser.add_argument("--history", type=int, default=0, help="tokens that each memory has read before")
    parser.add_argument("--beside-document", metavar="FILE")
    parser.add_argument("--plain", action="store_true", help="a server without memories")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    if options.plain and options.beside_document:
        parser.error("--plain: without memories there is no document to read")
    if not 0 <= options.chats <= MOST_CHATS or (options.chats == 0 and not options.beside_document):
        parser.error(f"--chats: from 1 to {MOST_CHATS}, or 0 with --beside-document")
    result = measure(options)
    if options.json:
        return print(json.dumps(result))
    print(f"{result['chats']} chats: {result['tokens_per_second']:.1f} tokens/s together, {result['tokens']} tokens in {result['seconds']:.1f} s")
    for name in ("time_to_first_token", "time_between_tokens"):
        numbers = result[name]
        if numbers["n"]:
            print(f"{name.replace('_', ' ')}: p50 {1000 * numbers['p50']:.0f} ms, p95 {1000 * numbers['p95']:.0f} ms, "
                  f"max {1000 * numbers['max']:.0f} ms (of {numbers['n']})")
    if "document_tokens_per_second" in result:
        print(f"document: {result['document_tokens_per_second']:.1f} tokens/s")


if __name__ == "__main__":
    main()
