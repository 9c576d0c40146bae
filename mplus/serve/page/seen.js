// What an answer saw in each layer, to scale: bos | recalled | short-term | window.

import { h } from "./dom.js";
import { count, percent } from "./format.js";

const PARTS = [
  ["bos", "bos", "the start vector"],
  ["recalled", "recalled", "rows fetched from the long-term store for this question"],
  ["short_term", "short-term", "rows of what was read most recently"],
  ["window", "window", "the newest text and the question, word for word"],
];

export function seenBar(seen) {
  const total = PARTS.reduce((sum, [key]) => sum + (seen[key] ?? 0), 0) || 1;
  const bar = h(
    "div",
    { class: "seen-bar", "aria-hidden": "true" },
    PARTS.map(([key, label]) =>
      h("span", {
        class: `seen-${key}`,
        title: `${label}: ${count(seen[key])}`,
        vars: { "flex-grow": String(seen[key] ?? 0) },
      })
    ),
  );
  const legend = h(
    "dl",
    { class: "seen-legend" },
    PARTS.map(([key, label, meaning]) =>
      h(
        "div",
        { class: `seen-${key}` },
        h("dt", { title: meaning }, label),
        h("dd", {}, count(seen[key] ?? 0), h("span", { class: "hint" }, ` ${percent((seen[key] ?? 0) / total)}`)),
      )
    ),
  );
  return h("figure", { class: "seen", "aria-label": "What the answer saw in each layer, in rows" }, bar, legend);
}
