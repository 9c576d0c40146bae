// One question, answered with the memory and by the model alone, side by side. Neither answer is kept.

import * as api from "./api.js";
import { $, h, showError } from "./dom.js";
import { spanName } from "./format.js";
import { markdown } from "./markdown.js";
import { behind } from "./passages.js";
import { openSource } from "./source_dialog.js";
import { exists, on, state, tell } from "./state.js";

let stop = null;

function answer(place, question, result) {
  const body = h("div", { class: "markdown" });
  body.append(markdown(result.answer || "(no answer)"));
  const span = behind(result.memory?.passages)[0]?.spans[0];
  const from = span &&
    h(
      "p",
      { class: "origins" },
      "From ",
      h("button", {
        type: "button",
        class: "link",
        onclick: () => openSource(span.source, span, { message: question, answer: result.answer }),
      }, spanName(span)),
    );
  place.replaceChildren(...[body, from].filter(Boolean));
}

async function one(place, question, memory) {
  place.replaceChildren(h("p", { class: "thinking" }, "Answering…"));
  try {
    const result = await api.ask(state.current, question, memory, 128, stop.signal);
    answer(place, question, result);
    if (memory && result.memory?.seen) {
      state.lastSeen = result.memory.seen;
      tell("seen");
    }
  } catch (error) {
    place.replaceChildren();
    showError(place, error);
  }
}

export function start() {
  const form = $("#compare");
  const field = $("#compare-question");
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const question = field.value.trim();
    if (!question) return field.focus();
    const places = [$("#with-memory"), $("#without-memory")];
    if (!exists()) return showError(places[0], new Error("There is no memory yet: let it read a text first."));
    stop?.abort();
    stop = new AbortController();
    $("#comparison").hidden = false;
    await one(places[0], question, true);
    await one(places[1], question, false);
  });
  on("current", () => {
    stop?.abort();
    $("#comparison").hidden = true;
  });
}
