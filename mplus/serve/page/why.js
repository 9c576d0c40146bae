// The right panel: the passages behind the selected answer, what layers and words said of each, and the layers' votes.

import { asides } from "./answering.js";
import * as api from "./api.js";
import { $, h, showError } from "./dom.js";
import { count, percent, plural, signed, spanName } from "./format.js";
import { heatmap } from "./heatmap.js";
import { behind, closestSentence } from "./passages.js";
import { seenBar } from "./seen.js";
import { openSource } from "./source_dialog.js";
import { on, provenance, state } from "./state.js";

const place = $("#why-body");
const FIRST = 3; // passages shown before "more"
const LONG = 260; // characters of a passage
const MOST = 12; // the rest matters to nobody
const looked = new Map(); // "memory/event" → what a search finds now

function bar(label, kind, value, scale) {
  const share = `${Math.max(0, (100 * Math.max(0, value)) / scale).toFixed(1)}%`;
  return h(
    "div",
    { class: "bar" },
    h("span", { class: "bar-label" }, label),
    h("span", { class: "track", "aria-hidden": "true" }, h("span", { class: `fill ${kind}`, vars: { width: share } })),
    h("span", { class: "bar-value" }, signed(value)),
  );
}

// Begins with the sentence that is closest to question and answer: what one looks for.
function excerpt(text, turn) {
  const place = closestSentence(text, turn.message, turn.answer);
  if (!place) return text.trim().slice(0, LONG);
  const [begin, end] = place;
  return [
    text.slice(0, begin).trim() && "… ",
    h("strong", { class: "closest" }, text.slice(begin, end)),
    text.slice(end, Math.max(end, begin + LONG)),
  ];
}

function passage(p, i, { scale, used, turn }) {
  const notes = [
    p.weight > 0.005 && `weight ${percent(p.weight)}`,
    p.layers_first > 0 && `first in ${plural(p.layers_first, "layer")}`,
    p.rows_recalled > 0 && `${count(p.rows_recalled)} rows recalled`,
    p.rows_short_term > 0 && `${count(p.rows_short_term)} in short-term memory`,
    p.reread && "its text was read again",
    p.passed && (p.refuted ? `said “${p.refuted.said}”, but does not speak of ${p.refuted.names}` : "tried, and passed over"),
  ].filter(Boolean);
  return h(
    "li",
    { class: used.includes(p) ? "passage used" : "passage", id: `passage-${i}` },
    p.spans.map((span) =>
      h(
        "button",
        { type: "button", class: "open-passage", onclick: () => openSource(span.source, span, turn) },
        h(
          "span",
          { class: "where" },
          spanName(span),
          h("span", { class: "hint" }, ` bytes ${count(span.begin)}–${count(span.end)}`),
        ),
        h("span", { class: "text" }, excerpt(span.text ?? "", turn)),
      )
    ),
    bar("layers", "vote", p.vote, scale),
    bar("words", "words", p.words, scale),
    notes.length > 0 && h("p", { class: "hint" }, notes.join(" · ")),
  );
}

function pick(i) {
  if (!$(`#passage-${i}`)) $("#more-passages")?.click();
  const item = $(`#passage-${i}`);
  item?.scrollIntoView({ block: "nearest" });
  item?.querySelector("button")?.focus();
}

function passages(all, turn) {
  const scale = Math.max(1, ...all.flatMap((p) => [p.vote ?? 0, p.words ?? 0]));
  const shown = { scale, used: behind(all), turn };
  const item = (p, i) => passage(p, i, shown);
  const list = h("ol", { class: "passages" }, all.slice(0, FIRST).map(item));
  const rest = all.slice(FIRST);
  const more = rest.length > 0 && h("button", {
    type: "button",
    class: "quiet",
    id: "more-passages",
    onclick: (event) => {
      list.append(...rest.map((p, i) => item(p, i + FIRST)));
      event.target.remove();
      pick(FIRST);
    },
  }, `Show ${plural(rest.length, "more passage", "more passages")}`);
  return [list, more];
}

function explain(memory, turn, lead) {
  const found = (memory.passages ?? []).slice(0, MOST);
  place.replaceChildren(
    ...[
      lead,
      found.length
        ? passages(found, turn)
        : h("p", { class: "empty" }, "Nothing was recalled: the answer comes from the conversation and the model."),
      found.length > 0 &&
      [
        h("h3", {}, "Which layer asked for which passage"),
        h(
          "p",
          { class: "hint" },
          "Across: layers, first to last. Down: passages as above. Blue is for it, orange against it.",
        ),
        heatmap(found, pick),
      ],
      memory.seen && [h("h3", {}, "What it saw"), seenBar(memory.seen)],
    ].flat(2).filter(Boolean),
  );
}

const question = (turn) =>
  h("blockquote", { class: "asked" }, turn.message.length > 160 ? `${turn.message.slice(0, 160)}…` : turn.message);

// Answers of an earlier visit: the server keeps which rows an answer saw, but does not send it yet.
async function lookNow(turn) {
  const name = state.current;
  const found = await api.search(name, turn.message, 8);
  looked.set(`${name}/${turn.event}`, { passages: found.data, seen: found.seen });
  draw();
}

function draw() {
  const turn = [...state.turns, ...(asides.get(state.current) ?? [])].find((t) => t.event === state.selected);
  if (!turn) {
    place.replaceChildren(
      h(
        "p",
        { class: "empty" },
        "Ask something. The passages behind the answer show up here, with what the layers and the words said of each.",
      ),
    );
    return;
  }
  const kept = provenance(turn.event);
  if (kept) return explain(kept, turn, question(turn));
  const now = looked.get(`${state.current}/${turn.event}`);
  if (now) {
    return explain(
      now,
      turn,
      [question(turn), h("p", { class: "hint" }, "What the memory recalls for this question now.")].flat(),
    );
  }
  const box = h("div", {});
  place.replaceChildren(
    question(turn),
    h("p", { class: "empty" }, "This answer was given before the page was opened."),
    h(
      "button",
      { type: "button", onclick: () => lookNow(turn).catch((error) => showError(box, error)) },
      "See what the memory recalls for it now",
    ),
    box,
  );
}

export function start() {
  on("selected turns current", draw);
  on("selected", () => {
    $("#why").scrollTop = 0;
  });
}
