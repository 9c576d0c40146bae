// What the page knows, and who wants to hear when it changes. The server has the truth; this is the last it said.

import * as api from "./api.js";

export const state = {
  memories: [],
  current: null, // name of the memory that is shown; may name one that is made by the first text or message
  documents: [],
  turns: [], // {event, at, message, answer, …}
  provenance: new Map(), // "memory/event" → the field `memory` of the reply; answers of earlier visits have none
  selected: null, // event of the answer that the panel "why" explains
  lastSeen: null, // {bos, recalled, short_term, window} of the newest answer
  said: new Map(), // "memory/event" → message; also of turns that were taken back, which /turns leaves out
  readings: [], // texts being read, see reading.js
  loaded: false, // the list of memories has come in
  settled: null, // name of the memory whose texts and turns have come in: only then is "nothing" true
};

const listeners = new Map();

// Topics: memories, documents, turns, readings, selected, current.
export function on(topics, listener) {
  for (const topic of topics.split(" ")) listeners.set(topic, [...(listeners.get(topic) ?? []), listener]);
}

export function tell(topic) {
  for (const listener of listeners.get(topic) ?? []) listener();
}

export const exists = (name = state.current) => state.memories.some((m) => m.name === name);
export const provenance = (event) => state.provenance.get(`${state.current}/${event}`) ?? null;
export const keepProvenance = (name, event, memory) => state.provenance.set(`${name}/${event}`, memory);

export async function refreshMemories() {
  state.memories = await api.memories();
  state.loaded = true;
  tell("memories");
}

// Loads one list of the current memory; what comes in after a switch to another memory is dropped.
async function refresh(topic, load) {
  const name = state.current;
  const value = exists(name) ? await load(name) : [];
  if (state.current !== name) return;
  state[topic] = value;
  tell(topic);
}

export const refreshDocuments = () => refresh("documents", api.documents);

export async function refreshTurns() {
  await refresh("turns", api.turns);
  for (const turn of state.turns) state.said.set(`${state.current}/${turn.event}`, turn.message);
}

export const saidIn = (event) => state.said.get(`${state.current}/${event}`) ?? null;

export async function refreshAll() {
  await refreshMemories();
  await Promise.all([refreshDocuments(), refreshTurns()]);
}

export async function switchTo(name) {
  Object.assign(state, { current: name, documents: [], turns: [], selected: null, lastSeen: null });
  tell("current");
  tell("documents");
  tell("turns");
  tell("selected");
  await Promise.all([refreshDocuments(), refreshTurns()]);
  if (state.current !== name) return;
  state.settled = name;
  tell("documents");
  // The newest answer explains itself if this visit has seen it.
  const last = state.turns.at(-1);
  if (last) select(last.event);
}

export function select(event) {
  state.selected = event;
  tell("selected");
}
