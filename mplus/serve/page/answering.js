// The one answer that is under way: asking, stopping, and what is left of it when it fails. The server decides what was
// kept, so after every end the turns are fetched again.

import * as api from "./api.js";
import { announce } from "./dom.js";
import { keepProvenance, refreshDocuments, refreshMemories, refreshTurns, select, state, tell } from "./state.js";

// {memory, message, text, status: "asking" | "stopped" | "failed", note: what it waits for, error, shows: turns shown before it, again()}
export let live = null;
export const asides = new Map(); // memory → answers that were not kept: [{event, message, answer}]
export const busy = () => live?.status === "asking";

const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

export function dropLive() {
  live = null;
  tell("live");
}

export function stop() {
  if (busy()) live.controller.abort();
}

// Says finished sentences, not single tokens, to a screen reader.
function sentences(say) {
  let spoken = 0;
  return (text, end) => {
    const upTo = end ? text.length : text.search(/[.!?\n][^.!?\n]*$/) + 1;
    if (upTo <= spoken) return;
    say(text.slice(spoken, upTo));
    spoken = upTo;
  };
}

// before: how many turns the message follows; later ones are replaced. Without it the conversation goes on.
// prepare: what must be done first and may take long; it is shown as part of the wait.
export async function send(message, { before = state.turns.length, keep = true, maxTokens, vary = false, prepare }) {
  if (busy()) return;
  const name = state.current;
  const lastEvent = state.turns.at(-1)?.event ?? 0;
  const again = () => send(message, { before, keep, maxTokens, vary, prepare });
  const mine = {
    memory: name,
    message,
    text: "",
    status: "asking",
    note: before < state.turns.length ? "Going back…" : "Recalling…", // going back may mean reading again
    error: "",
    shows: before,
    controller: new AbortController(),
    again,
  };
  live = mine;
  tell("live");
  announce("Answering.");
  const speak = sentences(announce);
  const history = before < state.turns.length
    ? state.turns.slice(0, before).flatMap((t) => [
      { role: "user", content: t.message },
      { role: "assistant", content: t.answer },
    ])
    : [];
  try {
    if (prepare) await prepare();
    const result = await api.chat({
      memory: { name, mode: keep ? "write" : "read", create: true },
      messages: [...history, { role: "user", content: message }],
      maxTokens,
      vary,
      signal: mine.controller.signal,
      onText: (piece) => {
        mine.text += piece;
        speak(mine.text, false);
        tell("live-text");
      },
    });
    speak(mine.text, true);
    await finish(mine, result);
  } catch (error) {
    await fail(mine, error, lastEvent);
  }
  refreshMemories().then(refreshDocuments).catch(() => {});
}

// An answer that is not kept has a made-up event, so that it can be explained like the others.
function putAside(mine) {
  const before = asides.get(mine.memory) ?? [];
  const event = `aside-${before.length + 1}`;
  asides.set(mine.memory, [...before, { event, message: mine.message, answer: mine.text }]);
  return event;
}

async function finish(mine, { memory }) {
  const kept = memory?.mode !== "read" && memory?.action !== "aside";
  if (!state.memories.some((m) => m.name === mine.memory)) await refreshMemories();
  const aside = kept ? null : putAside(mine);
  const shown = state.current === mine.memory;
  if (shown) await refreshTurns();
  if (live === mine) dropLive();
  const event = aside ?? (shown ? state.turns.at(-1)?.event : undefined);
  if (!memory || event === undefined) return;
  keepProvenance(mine.memory, event, memory);
  if (!shown) return;
  state.lastSeen = memory.seen ?? null;
  select(event);
}

async function fail(mine, error, lastEvent) {
  const stopped = error.name === "AbortError";
  // A stopped answer may have been kept as far as it came; the server needs a moment to write it down.
  for (const wait of stopped ? [150, 600, 1500] : [0]) {
    await pause(wait);
    if (state.current === mine.memory) await refreshTurns().catch(() => {});
    const newest = state.turns.at(-1);
    if (newest && newest.event > lastEvent && newest.message === mine.message) {
      if (live === mine) dropLive();
      select(newest.event);
      announce(stopped ? "Stopped." : error.message);
      return;
    }
  }
  Object.assign(mine, {
    status: stopped ? "stopped" : "failed",
    error: error.message,
    shows: Math.min(mine.shows, state.turns.length),
  });
  announce(stopped ? "Stopped." : "It did not work.");
  tell("live");
}
