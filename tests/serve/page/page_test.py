#!/usr/bin/env python3
"""The page of `mplus serve` in a real browser, with the real model: what a person does in the first ten minutes.

    python3 tests/serve/page/page_test.py --program build/release/cli/mplus --pictures docs/pictures

Starts and stops the server itself. Needs Chromium, chromedriver and tests/serve/requirements.txt. Each step builds on the
one before, so the first failure ends the test.
"""
import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path

from browser import Browser
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "tests/serve"))
STORY = (ROOT / "examples/story/winter_light.txt").read_text(encoding="utf-8")
NOVEL = (ROOT / "examples/story/prisoner_of_zenda.txt").read_text(encoding="utf-8")
QUESTION = "Where is the green lantern kept?"
ANSWER = "boat house"
READING = 300  # seconds a text may take on a busy machine


def equal(got, expected):
    assert got == expected, f"expected {expected!r}, got {got!r}"


class PageTest:
    def __init__(self, server, browser, files, pictures):
        self.server, self.b, self.files, self.pictures = server, browser, files, pictures
        self.length = 12000 if pictures else 2800  # of a text, in characters: enough for a picture, or for a test

    def file(self, name, text):
        path = self.files / name
        path.write_text(text, encoding="utf-8")
        return str(path)

    def choose(self, path):
        self.b.driver.find_element(By.ID, "file").send_keys(path)

    def drop(self, name, text):
        """As if a file were dragged onto the page."""
        self.b.script("""
            const data = new DataTransfer();
            data.items.add(new File([arguments[1]], arguments[0]));
            const tell = (type) => document.body.dispatchEvent(new DragEvent(type, {dataTransfer: data, bubbles: true, cancelable: true}));
            tell("dragenter");
            if (document.querySelector("#drop").hidden) throw Error("nothing says that it can be dropped");
            tell("drop");""", name, text)

    def ask(self, message):
        before = len(self.b.all(".turn:not(.live)"))
        field = self.b.find("#message")
        field.send_keys(message, Keys.ENTER)
        self.b.wait("an answer", lambda: len(self.b.all(".turn:not(.live)")) > before and not self.b.all(".turn.live"))
        return self.b.all(".turn .answer .markdown")[-1].text

    def select_view(self, name):
        self.b.click(f"#views [data-to={name}]")

    # The steps, in the order in which they run.

    def step_the_page_is_served_with_its_policy(self):
        reply = urllib.request.urlopen(self.server.url + "/", timeout=20)
        policy = reply.headers["Content-Security-Policy"] or ""
        for part in ("default-src 'none'", "script-src 'self'", "style-src 'self'", "connect-src 'self'"):
            assert part in policy, f"the policy lacks {part}: {policy!r}"
        assert "unsafe" not in policy, policy
        self.b.open()

    def step_an_empty_store_teaches(self):
        assert "Drop a text here" in self.b.text("#chat-empty"), self.b.text("#chat-empty")
        assert "Nothing yet" in self.b.text("#source-empty")

    def step_text_of_a_model_stays_text(self):
        found = self.b.module("""
            const {markdown} = await page("markdown");
            const box = document.createElement("div");
            box.append(markdown(args[0]));
            return {tags: [...box.querySelectorAll("*")].map((e) => e.tagName).join(" "), links: [...box.querySelectorAll("a")].map((a) => a.href), text: box.textContent};
        """, "# Title\n\n<img src=x onerror=alert(1)> **bold** `a*b*` [bad](javascript:alert(1)) [good](https://example.org/a_b) "
             "![i](http://evil.example/x.png)\n\n- one\n  - two\n\n1. a\n2. b\n\n> q\n\n|a|b|\n|-|-|\n|1|2|\n\n```js\nlet x = '<b>';\n")
        assert "IMG" not in found["tags"] and "SCRIPT" not in found["tags"], found["tags"]
        for tag in ("H3", "STRONG", "CODE", "UL LI UL LI", "OL LI LI", "BLOCKQUOTE", "TABLE", "PRE"):
            assert tag in found["tags"], (tag, found["tags"])
        equal(found["links"], ["https://example.org/a_b", "http://evil.example/x.png"])
        assert "<img src=x onerror=alert(1)>" in found["text"] and "let x = '<b>';" in found["text"], found["text"]

    def step_offsets_are_bytes(self):
        split = 'const {splitAtBytes} = await page("format"); return splitAtBytes(...args);'
        equal(self.b.module(split, "naïve 🙂 end", 2, 11), ["na", "ïve 🙂"[:5], " end"])
        equal(self.b.module(split, "naïve", 3, 99), ["na", "ïve", ""])  # a cut inside a character moves before it
        equal(self.b.module(split, "", 0, 5), ["", "", ""])

    def step_a_new_memory(self):
        self.b.click("#new-memory")
        self.b.find("dialog input").send_keys("harbour", Keys.ENTER)
        self.b.gone("dialog")
        self.b.find(".memory[aria-current]", "harbour")

    def step_a_name_that_is_taken_is_refused_in_words(self):
        self.b.click("#new-memory")
        self.b.find("dialog input").send_keys("harbour", Keys.ENTER)
        assert self.b.text("dialog .error"), "the dialog must say why"
        equal(self.b.find("dialog input").get_attribute("value"), "harbour")  # nothing typed is lost
        self.b.press(Keys.ESCAPE)
        self.b.gone("dialog")

    def step_a_file_is_read_with_progress(self):
        self.choose(self.file("harbour_book.txt", STORY[:self.length]))
        self.b.find("#reading-now progress")
        self.b.find("#source-list button.source", "harbour_book.txt", READING)
        self.b.gone("#reading-now progress")
        assert "tokens" in self.b.text("#source-list button.source .about")
        assert "Now ask about it" in self.b.text("#chat-empty")

    def step_an_answer_streams_and_says_where_it_comes_from(self):
        answer = self.ask(QUESTION)
        assert ANSWER in answer, answer
        assert "harbour_book.txt" in self.b.text(".origins")
        first = self.b.find("#why .passage.used")
        assert ANSWER in first.find_element(By.CSS_SELECTOR, ".closest").text, first.text
        equal(len(first.find_elements(By.CSS_SELECTOR, ".bar")), 2)
        assert self.b.all("#why .heatmap .for"), "no heat map"

    def step_the_source_opens_at_the_place(self):
        self.b.click("#why .open-passage")
        marked = self.b.find("dialog mark")
        assert ANSWER in marked.text, marked.text
        visible = self.b.script("""const box = document.querySelector(".source-text").getBoundingClientRect();
            const mark = document.querySelector("dialog .closest").getClientRects()[0]; return mark.top >= box.top - 30 && mark.top < box.bottom;""")
        assert visible, "the passage is not in sight"
        self.b.picture(self.pictures, "page_source")
        self.b.press(Keys.ESCAPE)
        self.b.gone("dialog")

    def step_the_table_says_what_the_heat_map_shows(self):
        self.b.click("#why details summary")
        rows = self.b.all("#why details tbody tr")
        cells = self.b.all("#why .heatmap g:first-child rect")
        equal(len(rows), len(cells))

    def step_a_turn_is_edited(self):
        self.ask("Where was Ingrid Dahl born?")
        equal(len(self.b.all(".turn")), 2)
        self.b.picture(self.pictures, "page_chat")
        self.b.click(".turn:last-child .edit")
        field = self.b.find(".message.editing textarea")
        field.send_keys(Keys.CONTROL, "a")
        field.send_keys("What color is Oscar Mercer's car?", Keys.ENTER)
        self.b.find(".turn:last-child .said", "Oscar Mercer")
        self.b.wait("the new answer", lambda: not self.b.all(".turn.live"), READING)  # going back reads again
        said = [e.text for e in self.b.all(".said")]
        equal(said, [QUESTION, "What color is Oscar Mercer's car?"])

    def step_the_first_turn_is_asked_again(self):
        self.b.script("document.querySelector('.turn:first-child .edit').click()")
        self.b.find(".message.editing textarea").send_keys(Keys.ENTER)
        self.b.wait("one turn", lambda: [e.text for e in self.b.all(".said")] == [QUESTION] and not self.b.all(".turn.live"), READING)

    def step_a_branch_leaves_the_trunk_alone(self):
        self.b.click(".turn:last-child .row-actions button", "Branch")
        self.b.find("dialog input").send_keys(Keys.ENTER)
        self.b.find(".memory[aria-current]", "harbour-2", READING)
        self.b.wait("the turn", lambda: [e.text for e in self.b.all(".said")] == [QUESTION], READING)
        self.b.click("button.memory", "harbour\n")
        self.b.find(".memory[aria-current]", "harbour\n")
        self.b.find(".said", QUESTION)

    def step_an_answer_that_is_not_kept(self):
        turns = len(self.b.all(".turn"))
        self.b.click("#keep")
        self.ask("Where was Ingrid Dahl born?")
        self.b.find(".turn.aside.selected", "Not kept")
        self.b.find("#why .passage")
        self.b.click("#keep")
        self.b.open()
        self.b.wait("the kept turns", lambda: len(self.b.all(".turn")) == turns)

    def step_an_answer_is_stopped(self):
        self.b.find("#message").send_keys("Tell me a long story about the sea, with many people in it.", Keys.ENTER)
        self.b.find("#send.stop")
        self.b.press(Keys.ESCAPE)
        self.b.wait("the end", lambda: not self.b.all("#send.stop"), 90)
        if self.b.all(".turn.live"):  # nothing was kept: the message can be had back
            self.b.click(".turn.live button", "Back into the box")
            assert "long story" in self.b.find("#message").get_attribute("value")
            self.b.find("#message").send_keys(Keys.CONTROL, "a")
            self.b.press(Keys.BACKSPACE)

    def step_reloading_keeps_what_was_typed(self):
        self.b.find("#message").send_keys("half a thought")
        self.b.open()
        equal(self.b.find("#message").get_attribute("value"), "half a thought")
        self.b.find(".memory[aria-current]", "harbour")
        self.b.find("#message").send_keys(Keys.CONTROL, "a")
        self.b.press(Keys.BACKSPACE)

    def step_why_of_an_earlier_visit(self):
        self.b.script("document.querySelector('.turn .why').click()")
        self.b.click("#why-body button", "See what the memory recalls")
        self.b.find("#why .passage")

    def step_the_memory_view(self):
        self.select_view("memory")
        self.b.find(".chunk")
        self.b.click(".chunk")
        self.b.find("#chunk .text", "HARBOUR")
        field = self.b.find("#compare-question")
        field.send_keys(QUESTION, Keys.ENTER)
        assert ANSWER in self.b.text("#with-memory .markdown")
        assert ANSWER not in self.b.text("#without-memory .markdown")
        self.b.find(".seen-bar")
        assert "undone" in self.b.text("#journal"), "the edited turn is not shown as undone"
        assert "harbour-2" in self.b.text("#family")
        self.b.size(1360, 1500)
        self.b.picture(self.pictures, "page_memory")
        self.b.size(1360, 860)

    def step_the_memory_view_is_live(self):
        before = len(self.b.all(".chunk"))
        self.drop("novel.md", NOVEL[:self.length // 2])
        self.b.find("#live-reading", "Reading novel.md")
        self.b.wait("new chunks", lambda: len(self.b.all(".chunk")) > before, READING)
        self.b.find("#source-list button.source", "novel.md", READING)

    def step_layer_by_layer(self):
        self.b.click("#by-layer")
        canvas = self.b.find("canvas.layer-map")
        inked = self.b.script("""const c = arguments[0]; const d = c.getContext("2d").getImageData(0, 0, c.width, c.height).data;
            return d.some((v) => v !== 0);""", canvas)
        assert inked, "the picture is empty"

    def step_dark(self):
        light = self.b.script("return getComputedStyle(document.body).backgroundColor")
        self.b.scheme("dark")
        dark = self.b.script("return getComputedStyle(document.body).backgroundColor")
        assert light != dark, light
        self.b.picture(self.pictures, "page_memory_dark")
        self.b.scheme("light")

    def step_a_text_is_pasted(self):
        self.b.click("#memories [data-do=paste]")
        self.b.find("dialog textarea").send_keys("Lena Okafor keeps a cat called Figaro.")
        name = self.b.find("dialog input[type=text]")
        name.clear()
        name.send_keys("note", Keys.ENTER)
        self.b.gone("dialog")
        self.b.find("#source-list button.source", "note", READING)
        self.b.find("#timeline", "Not written yet, but in the window")

    def step_a_file_that_is_no_text_is_refused_where_it_was_dropped(self):
        self.drop("picture.txt", "\0\1\2")
        assert self.b.find("#reading-now .failed .about, #source-list .failed .about").text, "no reason is given"
        self.b.script("for (const b of document.querySelectorAll('#source-list .reading button')) b.click()")
        self.b.gone("#source-list .reading")

    def step_forget_with_preview(self):
        self.b.script("document.querySelector('[aria-label=\"Forget novel.md\"]').click()")
        quick = self.b.find("dialog .preview", "memory row").text
        self.b.click("dialog input[value=true]")
        self.b.find("dialog .preview", "made again without it")
        self.b.click("dialog input[value=false]")
        equal(self.b.find("dialog .preview", "memory row").text, quick)
        assert self.b.all("#source-list li[data-source]")[1:], "the preview has changed something"
        self.b.click("dialog button.danger")
        self.b.gone("dialog")
        self.b.wait("the source to go", lambda: "novel.md" not in self.b.text("#source-list"))

    def step_phone(self):
        self.select_view("chat")
        self.b.size(390, 780, phone=True)
        for view, shown in (("memories", "#memories"), ("why", "#why"), ("memory", "#memory"), ("chat", "#chat")):
            self.select_view(view)
            panels = {p for p in ("#memories", "#why", "#memory", "#chat") if any(e.is_displayed() for e in self.b.all(p))}
            equal(panels, {shown})
            wide = self.b.script("return document.documentElement.scrollWidth")
            assert wide <= 390, f"{view} is {wide} px wide"
        self.select_view("why")
        self.b.picture(self.pictures, "page_phone")
        self.select_view("chat")
        self.b.size(1360, 860)

    def step_keyboard_only(self):
        self.b.script("document.activeElement.blur()")
        seen = []
        for _ in range(80):  # by Tab alone to the box; every stop can be seen
            self.b.press(Keys.TAB)
            element = self.b.focused()
            seen.append(element.get_attribute("id") or element.text[:20])
            outline = self.b.script("const s = getComputedStyle(arguments[0]); return s.outlineStyle !== 'none' && s.outlineWidth !== '0px'", element)
            assert outline, f"focus cannot be seen on {seen[-1]!r}"
            if element.get_attribute("id") == "message":
                break
        assert seen[-1] == "message", seen
        names = self.b.script("""return [...document.querySelectorAll("button, input, textarea, canvas, svg[role=img], [role=region]")]
            .filter((e) => e.checkVisibility() && !(e.getAttribute("aria-label") || e.textContent.trim() || e.labels?.length || e.title)).map((e) => e.outerHTML)""")
        equal(names, [])
        self.b.press("Thank you.", Keys.CONTROL + Keys.ENTER)
        self.b.find(".said", "Thank you.")
        self.b.wait("the answer", lambda: not self.b.all(".turn.live.asking"))

    def step_a_memory_is_deleted(self):
        self.b.click("button.memory", "harbour-2")
        self.b.click("#memory-list .row-actions button", "Delete")
        self.b.click("dialog button.danger")
        self.b.gone("dialog")
        self.b.wait("it to go", lambda: "harbour-2" not in self.b.text("#memory-list"))

    def step_nothing_was_amiss(self):
        # A name that was taken and a file that was no text were refused; the browser notes that.
        complaints = [c for c in self.b.complaints() if not re.search(r"status of (409|400|415|422) ", c)]
        equal(complaints, [])
        equal(self.b.violations(), [])
        foreign = [u for u in self.b.requests() if not u.startswith((self.server.url + "/", "data:", "about:", "chrome"))]
        equal(foreign, [])

    def step_a_key_is_asked_for(self):
        made = subprocess.run([os.environ.get("MPLUS_PROGRAM", ROOT / "build/release/cli/mplus"), "serve", "keys", "add", "--json"],
                              env=os.environ | {"MPLUS_HOME": str(self.server.home)}, capture_output=True, timeout=60, check=True)
        key = json.loads(made.stdout)["key"]
        self.b.driver.refresh()
        self.b.find("dialog input[type=password]").send_keys("not this one", Keys.ENTER)
        self.b.find("dialog p", "did not accept")
        self.b.find("dialog input[type=password]").send_keys(key, Keys.ENTER)
        self.b.find("body[data-ready=true] .memory[aria-current]", "harbour")
        self.b.gone("dialog")
        self.b.driver.refresh()  # it is known as long as the tab is open
        self.b.find("body[data-ready=true] .memory[aria-current]", "harbour")

    def step_a_server_that_is_gone_loses_nothing(self):
        self.server.terminate()
        self.b.find("#message").send_keys("Are you there?", Keys.ENTER)
        assert "cannot be reached" in self.b.text(".turn.live .error")
        self.b.click(".turn.live button", "Back into the box")
        equal(self.b.find("#message").get_attribute("value"), "Are you there?")


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--program", help="default: $MPLUS_PROGRAM, or the one of the release build")
    parser.add_argument("--pictures", type=Path, help="folder for pictures of the page; none: none are taken")
    return parser.parse_args()


def run_steps(server, browser, files, pictures):
    test = PageTest(server, browser, files, pictures)
    for name, step in [(n, f) for n, f in PageTest.__dict__.items() if n.startswith("step_")]:
        started = time.monotonic()
        words = name[5:].replace("_", " ")
        try:
            step(test)
        except Exception as error:  # whatever it is: the page as it stands says more than a traceback
            print(f"FAILED  {words}: {error}\n{browser.text('body')[:1500]}\n{browser.complaints()}\n{server.log_text()[-1500:]}", flush=True)
            browser.picture(Path(tempfile.gettempdir()), "page_test_failure")
            return 1
        print(f"ok {time.monotonic() - started:6.1f} s  {words}", flush=True)
    return 0


def main():
    options = parse_arguments()
    if options.program:
        os.environ["MPLUS_PROGRAM"] = str(Path(options.program).resolve())
    from server import DELTA, Server, default_model  # it reads MPLUS_PROGRAM when it is imported
    missing = [tool for tool in ("chromium", "chromedriver") if not shutil.which(tool)]
    if missing or default_model() is None:
        print(f"SKIPPED: {' and '.join(missing) or 'the default model'} is not there")
        return 1 if os.environ.get("CI") == "true" else 77
    if options.pictures:
        options.pictures.mkdir(parents=True, exist_ok=True)
    begun = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="mplus-page-") as folder:
        server = Server(("-m", default_model(), "--delta", DELTA), Path(folder) / "home")
        try:
            with Browser(server.url) as browser:
                browser.scheme("light")
                failed = run_steps(server, browser, Path(folder), options.pictures)
        finally:
            server.kill()
    print(f"{time.monotonic() - begun:.0f} s")
    return failed


if __name__ == "__main__":
    sys.exit(main())
