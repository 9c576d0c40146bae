// The second view: the memory itself. Timeline, what the last answer saw, journal and forks. Drawn only while it is
// shown, and again while a text is being read.

import * as api from "./api.js";
import { $, h, showError } from "./dom.js";
import { bytes, count, plural, spanName, splitAtBytes } from "./format.js";
import { forgetSource } from "./forget.js";
import { family, journal } from "./history.js";
import { layerMap, layerTable } from "./layer_map.js";
import { currentView } from "./layout.js";
import { seenBar } from "./seen.js";
import { openSource } from "./source_dialog.js";
import { exists, on, provenance, saidIn, state, switchTo } from "./state.js";
import { shares, timeline } from "./timeline.js";

const PAUSE_MS = 1500; // between two looks while a text is read: each one costs the server a moment
let loading = false;
let again = false;
let picked = null;
let data = null;

function facts(memory) {
  const s = memory.state ?? {};
  const rows = [
    ["read", bytes(memory.text_bytes)],
    ["writes", count(memory.updates)],
    ["short-term", `${count(s.short_term_rows)} of ${count(s.slots)} rows a layer`],
    ["long-term", `${count(s.long_term_rows)}${s.capacity ? ` of ${count(s.capacity)}` : ""} rows a layer`],
    ["window", `${count(s.window_tokens)} of ${count(s.window_size)} tokens`],
    ["on disk", memory.disk_bytes ? bytes(memory.disk_bytes) : "not yet"],
  ];
  $("#facts").replaceChildren(...rows.map(([term, value]) => h("div", {}, h("dt", {}, term), h("dd", {}, value))));
}

function markPicked() {
  for (const cell of document.querySelectorAll(".chunk")) {
    cell.setAttribute("aria-pressed", String(Number(cell.dataset.chunk) === picked));
  }
}

function pick(chunk) {
  picked = chunk.chunk;
  markPicked();
  const place = $("#chunk");
  const texts = chunk.spans.map((span) => {
    const text = h("p", { class: "text" }, "…");
    const doc = state.documents.find((d) => d.id === span.source);
    api.document(state.current, span.source).then((d) => {
      const passage = splitAtBytes(d.text ?? "", span.begin, span.end)[1].replace(/\s+/g, " ").trim();
      text.textContent = passage.length > 400 ? `${passage.slice(0, 400)}…` : passage;
    }).catch((error) => {
      text.textContent = error.message;
    });
    return h(
      "div",
      { class: "span" },
      h(
        "p",
        {},
        h("strong", {}, spanName(span)),
        h("span", { class: "hint" }, ` bytes ${count(span.begin)}–${count(span.end)}`),
      ),
      text,
      h(
        "div",
        { class: "row-actions" },
        h(
          "button",
          { type: "button", class: "quiet", onclick: () => openSource(span.source, span) },
          "Open at the place",
        ),
        h("button", {
          type: "button",
          class: "quiet",
          onclick: () => forgetSource(doc ?? { id: span.source, name: spanName(span) }),
        }, "Forget…"),
      ),
    );
  });
  place.hidden = false;
  place.replaceChildren(
    ...[
      h("h4", {}, `Chunk ${chunk.chunk}`, h("span", { class: "hint shares" }, ` ${shares(chunk)}`)),
      texts.length ? texts : h("p", { class: "hint" }, "Its text is gone."),
      layerTable(chunk),
    ].flat().filter(Boolean),
  );
}

function drawTimeline() {
  const place = $("#timeline");
  const focused = document.activeElement?.dataset?.chunk;
  const open = $("details", place)?.open;
  place.replaceChildren(...timeline(data, pick).filter(Boolean));
  if (open) $("details", place)?.setAttribute("open", "");
  $("#layer-place").replaceChildren(...(data.chunks[0]?.by_layer ? [layerMap(data, pick)] : []));
  if (focused !== undefined) place.querySelector(`[data-chunk="${focused}"]`)?.focus({ preventScroll: true });
  const chunk = data.chunks.find((c) => c.chunk === picked);
  $("#chunk").hidden = !chunk;
  if (!chunk) return (picked = null);
  markPicked();
  $("#chunk .shares").textContent = ` ${shares(chunk)}`;
}

function drawSeen() {
  const seen = state.lastSeen ?? provenance(state.turns.at(-1)?.event)?.seen;
  $("#seen").replaceChildren(
    seen
      ? seenBar(seen)
      : h("p", { class: "empty" }, "Ask something: this shows, to scale, how the answer's view was made up."),
  );
}

// `by_layer` counts rows; everything here speaks of shares.
function inShares(timeline) {
  for (const chunk of timeline.chunks) {
    chunk.by_layer = chunk.by_layer?.map((rows) => rows.map((n) => n / timeline.rows_per_chunk));
  }
  return timeline;
}

async function load() {
  if (loading) {
    again = true;
    return;
  }
  loading = true;
  const name = state.current;
  const error = $("#memory-error");
  try {
    if (exists(name)) {
      const [memory, chunks, events] = await Promise.all([
        api.memory(name),
        api.timeline(name, $("#by-layer").checked),
        api.journal(name),
      ]);
      if (name === state.current) {
        error.replaceChildren();
        data = inShares(chunks);
        facts(memory);
        drawTimeline();
        $("#journal").replaceChildren(journal(events, (e) => saidIn(e.event)));
      }
    } else {
      data = { chunks: [], waiting: [], layers: 0 };
      $("#facts").replaceChildren();
      drawTimeline();
      $("#journal").replaceChildren(journal([], () => null));
    }
  } catch (problem) {
    showError(error, problem, load);
  }
  $("#family").replaceChildren(
    family(state.memories, state.current, (to) => switchTo(to).catch((problem) => showError(error, problem))),
  );
  drawSeen();
  setTimeout(() => {
    loading = false;
    if (again) refresh();
    again = false;
  }, PAUSE_MS / (state.readings.length ? 1 : 10));
}

function refresh() {
  $("#memory-title").textContent = state.current ?? "";
  const active = state.readings.find((r) => r.memory === state.current && r.status === "reading");
  $("#live-reading").textContent = active
    ? `Reading ${active.name}: ${count(active.done)} of ${plural(active.total, "token")}`
    : "";
  if (currentView() === "memory") load();
}

export function start() {
  on("current", () => {
    picked = null;
    $("#chunk").hidden = true;
  });
  on("view current turns documents readings changed", refresh);
  on("seen", drawSeen);
  $("#by-layer").addEventListener("change", load);
}
