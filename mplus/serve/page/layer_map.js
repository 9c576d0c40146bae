// The timeline layer by layer, as a picture: across the chunks, down the layers. Drawn on a canvas, because a long memory
// has a hundred thousand of these; the chunk that is chosen has its numbers in a table.

import { h } from "./dom.js";
import { percent, plural } from "./format.js";

const HEIGHT = 7; // of a layer, in CSS pixels
const WIDEST = 18; // of a chunk: that of a cell of the timeline

function colours(node) {
  const style = getComputedStyle(node);
  return ["--short-term", "--long-term", "--gone"].map((name) => style.getPropertyValue(name).trim());
}

function draw(canvas, chunks, layers) {
  const width = Math.max(1, Math.min(canvas.parentElement.clientWidth, chunks.length * WIDEST));
  const scale = devicePixelRatio || 1;
  canvas.width = width * scale;
  canvas.height = layers * HEIGHT * scale;
  canvas.style.setProperty("width", `${width}px`);
  canvas.style.setProperty("height", `${layers * HEIGHT}px`);
  const pen = canvas.getContext("2d");
  pen.scale(scale, scale);
  const [short, long, gone] = colours(canvas);
  const step = width / chunks.length;
  const gap = step > 4 ? 1 : 0;
  chunks.forEach((chunk, i) =>
    (chunk.by_layer ?? []).forEach(([inShort, inLong], layer) => {
      const [x, y, wide, high] = [i * step, layer * HEIGHT, step - gap, HEIGHT - 1];
      pen.fillStyle = gone;
      pen.fillRect(x, y, wide, high);
      // The shares are mixed by width, not by colour: mixed colours would look like something else.
      pen.fillStyle = short;
      pen.fillRect(x, y, wide * inShort, high);
      pen.fillStyle = long;
      pen.fillRect(x + wide * inShort, y, wide * inLong, high);
    })
  );
}

export function layerMap(data, onpick) {
  const canvas = h("canvas", {
    class: "layer-map",
    role: "img",
    "aria-label": "Short-term and long-term share of every chunk in every layer; choose a chunk above for its numbers",
  });
  canvas.addEventListener("click", (event) => {
    const chunk = data.chunks[Math.floor((event.offsetX / canvas.clientWidth) * data.chunks.length)];
    if (chunk) onpick(chunk);
  });
  const redraw = () => canvas.isConnected && draw(canvas, data.chunks, data.layers);
  const dark = matchMedia("(prefers-color-scheme: dark)");
  dark.addEventListener("change", function again() {
    if (canvas.isConnected) redraw();
    else dark.removeEventListener("change", again);
  });
  const figure = h(
    "figure",
    { class: "layers" },
    h(
      "figcaption",
      { class: "hint" },
      `Across: ${plural(data.chunks.length, "chunk")}. Down: ${plural(data.layers, "layer")}.`,
    ),
    canvas,
  );
  new ResizeObserver(redraw).observe(figure);
  return figure;
}

export function layerTable(chunk) {
  if (!chunk.by_layer) return null;
  const head = h("tr", {}, ["Layer", "Short-term", "Long-term", "Gone"].map((t) => h("th", { scope: "col" }, t)));
  const rows = chunk.by_layer.map(([short, long], l) =>
    h(
      "tr",
      {},
      h("th", { scope: "row" }, String(l + 1)),
      [short, long, Math.max(0, 1 - short - long)].map((x) => h("td", {}, percent(x))),
    )
  );
  return h(
    "details",
    {},
    h("summary", {}, `Chunk ${chunk.chunk}, layer by layer`),
    h(
      "div",
      { class: "scroll", tabindex: "0", role: "region", "aria-label": "Layers of the chunk" },
      h("table", { class: "numbers" }, h("thead", {}, head), h("tbody", {}, rows)),
    ),
  );
}
