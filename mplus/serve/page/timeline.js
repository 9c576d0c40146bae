// Everything read, in order, one cell for a chunk: how much of it is in short-term memory, in the long-term store, or
// gone. Chunks of one source stand together under its name.

import { h } from "./dom.js";
import { count, percent, plural, shortName, spanName } from "./format.js";

// A section is a run of chunks of one document, or of conversation.
function sections(chunks) {
  const out = [];
  for (const chunk of chunks) {
    const span = chunk.spans[0] ?? { source: null, name: "", speaker: "gone" };
    const key = span.speaker === "document" ? `d${span.source}` : span.speaker === "gone" ? "gone" : "talk";
    const title = { talk: "Conversation", gone: "Forgotten" }[key] ?? (shortName(span.name) || spanName(span));
    if (out.at(-1)?.key !== key) out.push({ key, title, chunks: [] });
    out.at(-1).chunks.push(chunk);
  }
  return out;
}

export const shares = (chunk) =>
  `${percent(chunk.short_term)} short-term, ${percent(chunk.long_term)} long-term, ${percent(chunk.gone)} gone`;

function cell(chunk, onpick) {
  const label = `Chunk ${chunk.chunk}: ${shares(chunk)}`;
  return h("button", {
    type: "button",
    class: "chunk",
    tabindex: "-1",
    "data-chunk": chunk.chunk,
    title: label,
    "aria-label": label,
    vars: { "--short": `${100 * chunk.short_term}%`, "--kept": `${100 * (chunk.short_term + chunk.long_term)}%` },
    onclick: () => onpick(chunk),
  });
}

// Arrow keys move between cells: one stop of the Tab key for the whole strip.
function arrows(strip) {
  strip.addEventListener("keydown", (event) => {
    const cells = [...strip.querySelectorAll(".chunk")];
    const at = cells.indexOf(document.activeElement);
    const to = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: cells.length - 1 }[event.key];
    if (at < 0 || to === undefined || !cells[to]) return;
    event.preventDefault();
    cells[at].tabIndex = -1;
    cells[to].tabIndex = 0;
    cells[to].focus();
  });
}

function waiting(spans) {
  if (!spans?.length) return null;
  const inSentence = (span) => (span.speaker === "document" ? spanName(span) : spanName(span).toLowerCase());
  const names = [...new Set(spans.map(inSentence))];
  return h("p", { class: "hint" }, `Not written yet, but in the window: ${names.join(", ")}.`);
}

function table(chunks) {
  const rows = () =>
    chunks.map((c) =>
      h(
        "tr",
        {},
        h("th", { scope: "row" }, count(c.chunk)),
        h("td", {}, c.spans.map(spanName).join(", ")),
        [c.short_term, c.long_term, c.gone].map((x) => h("td", {}, percent(x))),
      )
    );
  const head = h(
    "tr",
    {},
    ["Chunk", "Source", "Short-term", "Long-term", "Gone"].map((t) => h("th", { scope: "col" }, t)),
  );
  const body = h("tbody");
  // Rows are made when somebody opens it: a long memory has thousands.
  return h(
    "details",
    { ontoggle: (event) => event.target.open && body.replaceChildren(...rows()) },
    h("summary", {}, "The same as a table"),
    h(
      "div",
      { class: "scroll", tabindex: "0", role: "region", "aria-label": "Chunks" },
      h("table", { class: "numbers" }, h("thead", {}, head), body),
    ),
  );
}

export function timeline(data, onpick) {
  if (!data.chunks.length) {
    return [
      h(
        "p",
        { class: "empty" },
        "Nothing is written yet. Drop a text on the page: each chunk of it becomes a cell here.",
      ),
      waiting(data.waiting),
    ];
  }
  const strips = sections(data.chunks).map((section) => {
    const strip = h(
      "div",
      { class: "strip", role: "group", "aria-label": `Chunks of ${section.title}` },
      section.chunks.map((c) => cell(c, onpick)),
    );
    strip.firstChild.tabIndex = 0;
    arrows(strip);
    return h(
      "section",
      { class: "period" },
      h("h4", {}, section.title, h("span", { class: "hint" }, ` ${plural(section.chunks.length, "chunk")}`)),
      strip,
    );
  });
  return [h("div", { class: "periods" }, strips), waiting(data.waiting), table(data.chunks)];
}
