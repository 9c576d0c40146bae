// The left panel's lower half: what the memory has read, with size and state, and what is being read now.

import { $, h } from "./dom.js";
import { bytes, count, plural, shortName } from "./format.js";
import { forgetSource } from "./forget.js";
import { cancelReading, dismissReading } from "./reading.js";
import { openSource } from "./source_dialog.js";
import { on, state } from "./state.js";

const place = $("#source-list");

function about(d) {
  if (d.lost) return "its text is lost";
  const size = `${count(d.tokens)} tokens, ${bytes(d.bytes)}`;
  return d.complete === false ? `${size}; not read to its end: drop it again to go on` : size;
}

function known(d) {
  const name = shortName(d.name) || `source ${d.id}`;
  return h(
    "li",
    { "data-source": d.id },
    h(
      "button",
      {
        type: "button",
        class: "source",
        title: d.answers ? `${d.name}, recalled by ${plural(d.answers, "answer")}` : d.name,
        onclick: () => openSource(d.id),
      },
      h("span", { class: "name" }, name),
      h("span", { class: "about" }, about(d)),
    ),
    h("button", {
      type: "button",
      class: "quiet forget",
      "aria-label": `Forget ${name}`,
      onclick: () => forgetSource(d),
    }, "Forget"),
  );
}

// In the list of sources, and, where everybody looks, above the message box.
function reading(r) {
  const words = {
    waiting: "waiting",
    reading: r.total ? `${count(r.done)} of ${count(r.total)} tokens` : "opening",
    failed: r.error,
    stopped: "stopped; drop it again to go on",
    known: "was known already",
  };
  const bar = r.status === "reading" &&
    h("progress", { max: r.total || null, value: r.total ? r.done : null, "aria-label": `Reading ${r.name}` });
  const busy = r.status === "reading" || r.status === "waiting";
  return h(
    "li",
    { class: `reading ${r.status}` },
    h(
      "div",
      { class: "source" },
      h("span", { class: "name" }, shortName(r.name)),
      h("span", { class: "about" }, words[r.status]),
      bar,
    ),
    h("button", {
      type: "button",
      class: "quiet",
      "aria-label": `${busy ? "Stop reading" : "Dismiss"} ${r.name}`,
      onclick: () => (busy ? cancelReading(r) : dismissReading(r)),
    }, busy ? "Stop" : "Dismiss"),
  );
}

function draw() {
  const texts = state.documents.filter((d) => d.speaker === "document" || d.speaker === "system");
  const active = state.readings.filter((r) => r.memory === state.current);
  $("#reading-now").replaceChildren(...active.map(reading));
  const under = new Set(active.filter((r) => r.status === "reading").map((r) => r.name));
  place.replaceChildren(...active.map(reading), ...texts.filter((d) => !under.has(d.name)).map(known));
  $("#source-empty").hidden = place.childElementCount > 0 || state.settled !== state.current;
}

export function start() {
  on("documents readings current", draw);
}
