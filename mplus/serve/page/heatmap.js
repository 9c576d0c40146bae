// Layers × passages: how strongly each layer asked for each passage. Blue is for it, orange against it, in standard
// deviations; a layer that keeps no memory has no colour.

import { h, svg } from "./dom.js";
import { plural, signed } from "./format.js";

const CELL = 10;
const ROW = 16;
const LEFT = 22;
const STRONG = 4; // standard deviations at full colour

function cell(vote, layer, row, rank) {
  const at = { x: LEFT + layer * CELL, y: row * ROW, width: CELL - 1, height: ROW - 2, rx: 1.5 };
  if (vote === null || vote === undefined) return svg("rect", { ...at, class: "none" });
  const strength = Math.min(1, Math.abs(vote) / STRONG);
  return svg("rect", {
    ...at,
    class: vote < 0 ? "against" : "for",
    "fill-opacity": (0.06 + 0.94 * strength).toFixed(3),
  }, svg("title", {}, `passage ${rank}, layer ${layer + 1}: ${signed(vote)}`));
}

function table(passages, layers) {
  const head = h(
    "tr",
    {},
    h("th", { scope: "col" }, "Layer"),
    passages.map((_, i) => h("th", { scope: "col" }, `Passage ${i + 1}`)),
  );
  const rows = Array.from(
    { length: layers },
    (_, l) =>
      h(
        "tr",
        {},
        h("th", { scope: "row" }, String(l + 1)),
        passages.map((p) => h("td", {}, signed(p.layer_votes?.[l]))),
      ),
  );
  return h(
    "details",
    {},
    h("summary", {}, "The same as a table"),
    h(
      "div",
      { class: "scroll", tabindex: "0", role: "region", "aria-label": "Votes of each layer" },
      h("table", { class: "numbers" }, h("thead", {}, head), h("tbody", {}, rows)),
    ),
  );
}

// onpick(i) when a row is chosen with the pointer; the list of passages does the same by keyboard.
export function heatmap(passages, onpick) {
  const layers = Math.max(0, ...passages.map((p) => p.layer_votes?.length ?? 0));
  if (!layers) return null;
  const width = LEFT + layers * CELL;
  const height = passages.length * ROW + 14;
  const rows = passages.map((p, i) =>
    svg(
      "g",
      { class: "pick", onclick: () => onpick(i) },
      svg("text", { x: LEFT - 8, y: i * ROW + 11, "text-anchor": "end" }, String(i + 1)),
      Array.from({ length: layers }, (_, l) => cell(p.layer_votes?.[l], l, i, i + 1)),
    )
  );
  const ticks = [1, Math.round(layers / 2), layers].map((l, i) =>
    svg("text", {
      x: LEFT + (l - 0.5) * CELL,
      y: height - 2,
      "text-anchor": ["start", "middle", "end"][i],
      class: "tick",
    }, i ? String(l) : `layer ${l}`)
  );
  const map = svg(
    "svg",
    {
      viewBox: `0 0 ${width} ${height}`,
      class: "heatmap",
      role: "img",
      "aria-label": `Votes of ${plural(layers, "layer")} on ${
        plural(passages.length, "passage")
      }; the table below has the numbers`,
    },
    rows,
    ticks,
  );
  return h("figure", {}, map, table(passages, layers));
}
