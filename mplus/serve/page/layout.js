// Which part of the page is shown. On a wide window memories, conversation and why stand side by side and "memory"
// replaces the two on the right; on a phone each is a tab. The address keeps memory and view, so reloading keeps both.

import { $, showError } from "./dom.js";
import { on, state, switchTo, tell } from "./state.js";

const VIEWS = ["memories", "chat", "why", "memory"];
let view = "chat";

export const currentView = () => view;

export function go(to, { focus = false } = {}) {
  if (!VIEWS.includes(to)) return;
  view = to;
  document.body.dataset.view = to;
  for (const button of document.querySelectorAll("#views button")) {
    if (button.dataset.to === to) button.setAttribute("aria-current", "page");
    else button.removeAttribute("aria-current");
  }
  remember();
  tell("view");
  if (focus) $(`[data-panel=${to}]`)?.focus({ preventScroll: true });
}

// After choosing a memory: on a phone the list makes room for the conversation; elsewhere nothing moves.
export const leaveMemories = () => view === "memories" && go("chat");

function remember() {
  document.title = state.current ? `${state.current} – mplus` : "mplus";
  const address = new URLSearchParams();
  if (state.current) address.set("memory", state.current);
  if (view !== "chat") address.set("view", view);
  history.replaceState(null, "", `#${address}`);
}

export function fromAddress() {
  const address = new URLSearchParams(location.hash.slice(1));
  return { memory: address.get("memory"), view: address.get("view") ?? "chat" };
}

export function start() {
  for (const button of document.querySelectorAll("#views button")) {
    button.addEventListener("click", () => go(button.dataset.to, { focus: true }));
  }
  on("current", remember);
  addEventListener("hashchange", () => {
    const asked = fromAddress();
    if (asked.memory && asked.memory !== state.current) {
      switchTo(asked.memory).catch((error) => showError($("#chat-error"), error));
    }
    if (asked.view !== view) go(asked.view);
  });
}
