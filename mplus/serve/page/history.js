// The journal as a line with what was undone beside it, and the family of forks.

import { undoAfter } from "./branching.js";
import { h, svg } from "./dom.js";
import { familyOf } from "./forks.js";
import { clock, count, shortName } from "./format.js";

const ROW = 34;
const WORDS = {
  settings: "Begun",
  text: "Read",
  turn: "Turn",
  flush: "Window written",
  forget: "Forgot a source",
  undo: "Undo",
  rebuild: "Made again under other weights",
  import: "Imported",
};

const short = (text) => (text.length > 70 ? `${text.slice(0, 70)}…` : text);

function words(e, said) {
  if (e.kind === "text") return `Read ${shortName(e.name) || "a text"}`;
  const message = e.kind === "turn" && said(e);
  return message ? short(message) : (WORDS[e.kind] ?? e.kind);
}

// Left lane: in force. Right lane: undone, joined to the point it left from.
function graph(events) {
  const x = (e) => (e.in_force ? 10 : 28);
  const y = (i) => i * ROW + ROW / 2;
  const lines = [];
  let lastInForce = null;
  events.forEach((e, i) => {
    const from = e.in_force || (i > 0 && !events[i - 1].in_force && events[i - 1].undone_by === e.undone_by)
      ? (e.in_force ? lastInForce : i - 1)
      : lastInForce;
    if (from !== null) {
      const [x0, y0, x1, y1] = [x(events[from]), y(from), x(e), y(i)];
      lines.push(
        svg("path", {
          d: x0 === x1 ? `M${x0} ${y0}V${y1}` : `M${x0} ${y0}C${x0} ${y0 + ROW},${x1} ${y1 - ROW},${x1} ${y1}`,
          class: e.in_force ? "line" : "line undone",
        }),
      );
    }
    if (e.in_force) lastInForce = i;
  });
  const dots = events.map((e, i) =>
    svg("circle", { cx: x(e), cy: y(i), r: 4.5, class: `dot ${e.kind}${e.in_force ? "" : " undone"}` })
  );
  return svg("svg", { class: "graph", width: 38, height: events.length * ROW, "aria-hidden": "true" }, lines, dots);
}

// said(e) is the message of a turn, or null where it is not known.
export function journal(events, said) {
  if (!events.length) return h("p", { class: "empty" }, "Nothing has happened yet.");
  const lastUndoable = events.findLast((e) => e.in_force && ["text", "turn", "flush"].includes(e.kind));
  const items = events.map((e) =>
    h(
      "li",
      { class: e.in_force ? null : "undone" },
      h("span", { class: "hint number" }, count(e.event)),
      h(
        "span",
        { class: "what" },
        words(e, said),
        !e.in_force && h("span", { class: "hint" }, e.undone_by ? ` undone by step ${e.undone_by}` : " undone"),
      ),
      h("span", { class: "hint when" }, clock(e.at)),
      e.in_force && e !== lastUndoable && lastUndoable && e.event < lastUndoable.event &&
        h("button", {
          type: "button",
          class: "quiet",
          onclick: () => undoAfter(e.event),
          "aria-label": `Undo everything after ${words(e, said)}`,
        }, "Undo to here"),
    )
  );
  return h("div", { class: "journal" }, graph(events), h("ol", {}, items));
}

// The forks of a memory and what it was forked from; each can be chosen.
export function family(memories, current, onpick) {
  const entries = familyOf(memories, current);
  const lost = entries[0]?.m.forked_from ? `, forked from ${entries[0].m.forked_from}, which is gone` : "";
  if (entries.length < 2 && !lost) return h("p", { class: "hint" }, "It has no forks.");
  return h(
    "ul",
    { class: "family" },
    entries.map(({ m, depth, parent }) =>
      h(
        "li",
        { vars: { "--depth": String(depth) } },
        h("button", {
          type: "button",
          class: "link",
          "aria-current": m.name === current ? "true" : null,
          onclick: () => onpick(m.name),
        }, m.name),
        h("span", { class: "hint" }, parent ? `, forked from ${parent.name}` : lost),
      )
    ),
  );
}
