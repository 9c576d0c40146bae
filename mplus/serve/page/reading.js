// Texts on their way in: dropped, chosen or pasted. They are read one after another, each with its progress.

import * as api from "./api.js";
import { askText } from "./dialogs.js";
import { $, announce } from "./dom.js";
import { exists, refreshAll, refreshDocuments, refreshMemories, state, tell } from "./state.js";

let running = false;

// items: files, or {name, text}
export function readTexts(items) {
  for (const item of items) {
    state.readings.push({
      memory: state.current,
      name: item.name,
      item,
      done: 0,
      total: 0,
      status: "waiting",
      error: "",
      stop: new AbortController(),
    });
  }
  tell("readings");
  run();
}

async function run() {
  if (running) return;
  running = true;
  for (let next; (next = state.readings.find((r) => r.status === "waiting"));) await readOne(next);
  running = false;
}

async function readOne(r) {
  r.status = "reading";
  tell("readings");
  announce(`Reading ${r.name}.`);
  try {
    if (!exists(r.memory)) {
      await api.createMemory(r.memory).catch((error) => {
        if (error.status !== 409) throw error;
      });
      await refreshMemories();
    }
    const onProgress = ({ done, total }) => {
      Object.assign(r, { done, total });
      tell("readings");
    };
    const result = await api.read(r.memory, r.item, { onProgress, signal: r.stop.signal });
    r.status = result.known ? "known" : "done";
    announce(`${r.name} is read.`);
  } catch (error) {
    const stopped = error.name === "AbortError";
    Object.assign(r, stopped ? { status: "stopped" } : { status: "failed", error: error.message });
    announce(stopped ? `Stopped reading ${r.name}.` : `${r.name} was not read: ${error.message}`);
  }
  if (r.status === "done") state.readings = state.readings.filter((other) => other !== r);
  await (r.memory === state.current ? refreshAll() : refreshMemories()).catch(() => {});
  if (r.memory === state.current) await refreshDocuments().catch(() => {});
  tell("readings");
}

export function cancelReading(r) {
  if (r.status === "waiting") r.status = "stopped";
  r.stop.abort();
  tell("readings");
}

export function dismissReading(r) {
  state.readings = state.readings.filter((other) => other !== r);
  tell("readings");
}

export async function pasteText() {
  const text = await askText(
    `note ${new Date().toLocaleString("en-CA", { hour12: false }).replace(",", "").slice(0, 16)}`,
  );
  if (text) readTexts([text]);
}

function listenForDrops() {
  const veil = $("#drop");
  let depth = 0; // enter and leave come for every element below the pointer
  const carriesFiles = (event) => event.dataTransfer?.types.includes("Files");
  addEventListener("dragenter", (event) => {
    if (!carriesFiles(event)) return;
    depth++;
    veil.hidden = false;
  });
  addEventListener("dragleave", (event) => {
    if (!carriesFiles(event)) return;
    depth = Math.max(0, depth - 1);
    veil.hidden = depth === 0;
  });
  addEventListener("dragover", (event) => carriesFiles(event) && event.preventDefault());
  addEventListener("drop", (event) => {
    if (!carriesFiles(event)) return;
    event.preventDefault();
    depth = 0;
    veil.hidden = true;
    readTexts([...event.dataTransfer.files]);
  });
}

export function start() {
  const input = $("#file");
  input.addEventListener("change", () => {
    readTexts([...input.files]);
    input.value = "";
  });
  for (const button of document.querySelectorAll("[data-do=attach]")) {
    button.addEventListener("click", () => input.click());
  }
  for (const button of document.querySelectorAll("[data-do=paste]")) button.addEventListener("click", pasteText);
  listenForDrops();
  // Leaving the page ends the reading; what was read so far stays, and the same file goes on from there.
  addEventListener("beforeunload", (event) => running && event.preventDefault());
}
