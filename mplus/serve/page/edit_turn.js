// A message of the conversation being edited: asked again in its place, or in a branch.

import { busy, send } from "./answering.js";
import { askAgain, branchAt } from "./branching.js";
import { maxTokens } from "./composer.js";
import { h, showError } from "./dom.js";
import { plural } from "./format.js";
import { state } from "./state.js";

const button = (label, kind, onclick) => h("button", { type: "button", class: kind, onclick }, label);

// For turn i. close() when it is over: not before the question is on its way, so a refusal finds the text as it was typed.
export function editor(i, message, close) {
  const field = h("textarea", { rows: Math.min(8, message.split("\n").length + 1), "aria-label": "Edited message" });
  field.value = message;
  const problem = h("div");
  const attempt = (work) => async () => {
    const text = field.value.trim();
    if (!text || busy()) return;
    try {
      if ((await work(text, { maxTokens: maxTokens() })) !== false) close();
    } catch (error) {
      showError(problem, error);
    }
  };
  const replace = attempt((text, options) => askAgain(i, text, options));
  const inBranch = attempt(async (text, options) => (await branchAt(i, { inclusive: false })) && send(text, options));
  field.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && !event.shiftKey && !event.isComposing) {
      event.preventDefault();
      replace();
    } else if (event.key === "Escape") {
      event.stopPropagation();
      close();
    }
  });
  const later = state.turns.length - 1 - i;
  const verb = later ? `Ask, and take back ${plural(later, "later turn")}` : "Ask";
  const actions = [
    button(verb, "primary", replace),
    button("Ask in a branch", "quiet", inBranch),
    button("Cancel", "quiet", close),
  ];
  return h("div", { class: "message editing" }, field, h("div", { class: "row-actions" }, actions), problem);
}
