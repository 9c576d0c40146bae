// The box one writes in. What is typed is kept for each memory until it is sent, also over a reload.

import { busy, send, stop } from "./answering.js";
import { $ } from "./dom.js";
import { on, state } from "./state.js";

const field = $("#message");
const button = $("#send");
const draft = () => `mplus-draft/${state.current}`;

export const maxTokens = () => Math.max(1, Math.min(4096, Number($("#max-tokens").value) || 256));

function fit() {
  field.style.setProperty("height", "auto");
  field.style.setProperty("height", `${Math.min(field.scrollHeight + 2, 240)}px`);
}

function write(text) {
  field.value = text;
  if (text) sessionStorage.setItem(draft(), text);
  else sessionStorage.removeItem(draft());
  fit();
}

// A message that did not get through, in front of what was typed since.
export function putBack(text) {
  write(field.value.trim() ? `${text}\n${field.value}` : text);
  field.focus();
}

function submit() {
  const text = field.value.trim();
  if (busy()) return; // what was typed meanwhile waits
  if (!text) return field.focus();
  write("");
  send(text, { keep: $("#keep").checked, maxTokens: maxTokens() });
}

export function start() {
  $("#composer").addEventListener("submit", (event) => {
    event.preventDefault();
    submit();
  });
  button.addEventListener("click", (event) => {
    if (!busy()) return;
    event.preventDefault();
    stop();
  });
  field.addEventListener("input", () => write(field.value));
  field.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || event.isComposing || event.shiftKey) return; // Enter and Ctrl+Enter send
    event.preventDefault();
    submit();
  });
  on("current", () => write(sessionStorage.getItem(draft()) ?? ""));
  on("live", () => {
    button.textContent = busy() ? "Stop" : "Ask";
    button.classList.toggle("stop", busy());
  });
}
