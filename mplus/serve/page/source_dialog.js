// A source's text, opened at the place an answer was recalled from.

import * as api from "./api.js";
import { open } from "./dialogs.js";
import { h } from "./dom.js";
import { bytes, count, plural, shortName, spanName, splitAtBytes } from "./format.js";
import { forgetSource } from "./forget.js";
import { closestSentence } from "./passages.js";
import { state } from "./state.js";

function about(d) {
  const used = d.answers ? `, recalled by ${plural(d.answers, "answer")}` : "";
  return `${count(d.tokens)} tokens, ${bytes(d.bytes)}${d.updates ? `, ${plural(d.updates, "write")}` : ""}${used}`;
}

// span: {begin, end} in bytes of the text, or none to open it at its start
// turn: {message, answer}, to point out the sentence that is closest to them
export async function openSource(id, span = null, turn = null) {
  const text = h(
    "div",
    { class: "source-text", tabindex: "0", role: "document", "aria-label": "Text of the source" },
    h("p", { class: "hint" }, "Opening…"),
  );
  const facts = h("p", { class: "hint" }, " ");
  const title = spanName(state.documents.find((d) => d.id === id) ?? { source: id, ...span });
  let loaded = null;
  const closed = open(title, [facts, text], (close) => [
    id !== null && h("button", { type: "button", class: "quiet", onclick: () => close("forget") }, "Forget…"),
    h("button", { type: "button", class: "primary", onclick: () => close(null) }, "Close"),
  ], { wide: true });
  try {
    // A passage of a text that the journal does not know has no number, only its words.
    if (id === null) return show(text, span.text, { begin: 0, end: Infinity }, turn);
    loaded = await api.document(state.current, id);
    facts.textContent = loaded.lost
      ? "The text is lost; what was written of it into memory is still there."
      : about(loaded);
    show(text, loaded.text ?? "", span, turn);
  } catch (error) {
    text.replaceChildren(h("p", { class: "error", role: "alert" }, error.message));
  }
  if ((await closed) === "forget") forgetSource(loaded ?? { id, name: shortName(title) });
}

function show(place, text, span, turn) {
  if (!span) {
    place.replaceChildren(text);
    return;
  }
  const [before, marked, after] = splitAtBytes(text, span.begin, span.end);
  const closest = turn && closestSentence(marked, turn.message, turn.answer);
  const [begin, end] = closest ?? [0, 0];
  const sentence = h("strong", { class: "closest" }, marked.slice(begin, end));
  const mark = h("mark", { tabindex: "-1" }, marked.slice(0, begin), closest && sentence, marked.slice(end));
  place.replaceChildren(before, mark, after);
  (closest ? sentence : mark).scrollIntoView({ block: closest ? "center" : "start" });
  mark.focus({ preventScroll: true });
}
