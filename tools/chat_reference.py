#!/usr/bin/env python3
"""Renders conversations with a model's own chat template, as Jinja does: what tests/io/text/chat_template_test.cpp expects.

    chat_reference.py MODEL.gguf FOLDER       (needs gguf and jinja2 from PyPI)

Writes FOLDER/template.jinja, the template, and FOLDER/conversations.json: messages, and the text they become.
"""
import json
import pathlib
import sys

import gguf
import jinja2.sandbox

TURNS = [("user", "Hello there."), ("assistant", "Good morning!\n"), ("user", "  2 + 2 = ?"), ("assistant", ""),
         ("user", "é日🦙 \n\n"), ("assistant", "4"), ("user", "<b>&amp;</b> {{ 1 }} {% if %}")]


def main():
    reader = gguf.GGUFReader(sys.argv[1])
    folder = pathlib.Path(sys.argv[2])
    text = reader.fields["tokenizer.chat_template"].contents()
    # As transformers sets it up.
    environment = jinja2.sandbox.ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True)
    template = environment.from_string(text)
    conversations = []
    for system in ([], [("system", "Be brief.")], [("system", "")]):
        for n in range(1, len(TURNS) + 1):
            messages = [{"role": role, "content": content} for role, content in system + TURNS[:n]]
            asks = messages[-1]["role"] == "user"
            conversations.append({"messages": messages, "add_generation_prompt": asks,
                                  "text": template.render(messages=messages, add_generation_prompt=asks)})
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "template.jinja").write_text(text, encoding="utf-8")
    (folder / "conversations.json").write_text(json.dumps(conversations, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
