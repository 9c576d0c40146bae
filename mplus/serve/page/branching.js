// Going back in a conversation: asking a turn again in other words, and branches, which are forks of the memory.

import * as api from "./api.js";
import { send } from "./answering.js";
import { askName, confirm } from "./dialogs.js";
import { plural } from "./format.js";
import { freeName } from "./memories.js";
import { refreshAll, refreshMemories, refreshTurns, state, switchTo } from "./state.js";

const UNDOABLE = ["text", "turn", "flush"];

// Events in force from one on, newest last: what an undo to that point takes back.
async function since(name, event, inclusive) {
  const all = await api.journal(name);
  return all.filter((e) => e.in_force && UNDOABLE.includes(e.kind) && (inclusive ? e.event >= event : e.event > event));
}

const texts = (events) => events.filter((e) => e.kind === "text").map((e) => e.name).filter(Boolean);

// Asks turn i again as `message`; what came after it is undone. The server finds the place by the turns before it; the
// first turn has none before it, so it is taken back here.
export async function askAgain(i, message, options) {
  if (i > 0) return send(message, { ...options, before: i });
  const name = state.current;
  const gone = await since(name, state.turns[0].event, true);
  const lost = texts(gone);
  let left = gone.length; // none once it is done: a second try must not take back more
  const back = async () => {
    if (left) await api.undo(name, left);
    left = 0;
    await refreshTurns();
  };
  if (lost.length) {
    const words = [
      `${
        plural(lost.length, "text was", "texts were")
      } read after this message, and going back before it takes them out of the memory: ${lost.join(", ")}.`,
    ];
    if (!(await confirm("Go back before these texts?", words, "Go back", async () => {}))) return false;
  }
  return send(message, { ...options, before: 0, prepare: back });
}

// A fork that ends with turn i, or just before it. Resolves to false if none was made.
export async function branchAt(i, { inclusive }) {
  const from = state.current;
  const gone = await since(from, state.turns[i].event, !inclusive);
  const hint = `A fork of ${from} as it was ${inclusive ? "after" : "before"} this turn. ${from} stays as it is.`;
  const name = await askName(
    "New branch",
    { label: "Name of the branch", value: freeName(from), verb: "Branch", hint },
    async (value) => {
      await api.fork(from, value);
      if (gone.length) await api.undo(value, gone.length);
    },
  );
  if (!name) return false;
  await refreshMemories();
  await switchTo(name);
  return true;
}

// Takes back everything after an event of the journal.
export async function undoAfter(event) {
  const name = state.current;
  const gone = await since(name, event, false);
  if (!gone.length) return;
  const turns = gone.filter((e) => e.kind === "turn").length;
  const lost = texts(gone);
  const words = [
    `This takes back ${
      [turns && plural(turns, "turn"), lost.length && plural(lost.length, "text")].filter(Boolean).join(" and ") ||
      "the last step"
    }. They stay in the journal, out of force.`,
    lost.length ? `Texts: ${lost.join(", ")}.` : "",
  ].filter(Boolean);
  if (await confirm("Undo what came after?", words, "Undo", () => api.undo(name, gone.length))) await refreshAll();
}
