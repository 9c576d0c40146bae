// The left panel's upper half: the memories, a new one, and fork and delete of the one that is shown.

import * as api from "./api.js";
import { askName, confirm } from "./dialogs.js";
import { $, announce, h, showError } from "./dom.js";
import { forkTree } from "./forks.js";
import { ago, bytes, plural } from "./format.js";
import { leaveMemories } from "./layout.js";
import { exists, on, refreshMemories, state, switchTo } from "./state.js";

const place = $("#memory-list");

export function freeName(base) {
  const stem = base.replace(/-\d+$/, "");
  for (let n = 2;; n++) if (!exists(`${stem}-${n}`)) return `${stem}-${n}`;
}

function describe(m) {
  if (m.damage) return "damaged";
  const parts = [m.documents && plural(m.documents, "text"), m.turns && plural(m.turns, "turn")].filter(Boolean);
  return parts.length ? parts.join(", ") : "empty";
}

function entry({ m, depth }) {
  const current = m.name === state.current;
  const title = `${m.forked_from ? `Forked from ${m.forked_from}. ` : ""}${bytes(m.disk_bytes)} on disk, changed ${
    ago(m.changed_at)
  }`;
  const choose = h(
    "button",
    {
      type: "button",
      class: "memory",
      title,
      "aria-current": current ? "true" : null,
      onclick: () => {
        switchTo(m.name).catch((error) => showError(place.parentElement, error));
        leaveMemories();
      },
    },
    h("span", { class: "name" }, m.name),
    h("span", { class: "about" }, describe(m)),
  );
  return h(
    "li",
    { vars: { "--depth": String(Math.min(depth, 4)) } },
    choose,
    current &&
      h(
        "div",
        { class: "row-actions" },
        h("button", { type: "button", class: "quiet", onclick: forkCurrent }, "Fork"),
        h("button", { type: "button", class: "quiet", onclick: () => remove(m) }, "Delete"),
      ),
  );
}

function draw() {
  const held = place.contains(document.activeElement) ? document.activeElement.textContent : null;
  const shown = state.current && !exists() && state.loaded
    ? [{ name: state.current, documents: 0, turns: 0, disk_bytes: 0 }]
    : [];
  place.replaceChildren(
    ...forkTree(state.memories).map(entry),
    ...shown.map((m) =>
      h(
        "li",
        {},
        h(
          "div",
          { class: "memory pending", "aria-current": "true" },
          h("span", { class: "name" }, m.name),
          h("span", { class: "about" }, "begins with the first text or message"),
        ),
      )
    ),
  );
  if (held) [...place.querySelectorAll("button")].find((b) => b.textContent === held)?.focus();
}

export async function newMemory() {
  const name = await askName("New memory", {
    label: "Name",
    verb: "Make it",
    hint: "A memory holds what was read and said, apart from all others.",
  }, async (value) => {
    await api.createMemory(value);
  });
  if (!name) return;
  await refreshMemories();
  await switchTo(name);
  announce(`Memory ${name} made.`);
  leaveMemories();
  $("#message").focus();
}

export async function forkCurrent() {
  const from = state.current;
  const hint =
    `The fork starts with everything ${from} holds; from then on they go separate ways. It costs no disk space at first.`;
  const name = await askName(
    `Fork ${from}`,
    { label: "Name of the fork", value: freeName(from), verb: "Fork", hint },
    (value) => api.fork(from, value),
  );
  if (!name) return;
  await refreshMemories();
  await switchTo(name);
  announce(`Now in the fork ${name}.`);
}

async function remove(m) {
  const words = [
    `${plural(m.documents, "text")} and ${plural(m.turns, "turn")} go with it, ${bytes(m.disk_bytes)} on disk.`,
    "It cannot be undone. Forks keep what they share with it.",
  ];
  if (!(await confirm(`Delete ${m.name}?`, words, "Delete", () => api.deleteMemory(m.name)))) return;
  await refreshMemories();
  await switchTo(state.memories[0]?.name ?? "default");
  announce(`Memory ${m.name} deleted.`);
}

export function start() {
  on("memories current", draw);
  $("#new-memory").addEventListener("click", () => newMemory().catch((error) => showError(place.parentElement, error)));
}
