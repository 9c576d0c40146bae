// The middle panel: the conversation. Turns come from the server; the answer under way is drawn below them.

import { asides, busy, dropLive, live, stop } from "./answering.js";
import { askAgain, branchAt } from "./branching.js";
import { maxTokens, putBack } from "./composer.js";
import { $, announce, h, showError } from "./dom.js";
import { editor } from "./edit_turn.js";
import { clock, spanName } from "./format.js";
import { go } from "./layout.js";
import { markdown } from "./markdown.js";
import { behind } from "./passages.js";
import { openSource } from "./source_dialog.js";
import { on, provenance, select, state } from "./state.js";

const list = $("#turns");
const scroller = $("#conversation");
let editing = null; // {event, node}: the same node in every redraw, so that nothing typed is lost

const quiet = (label, onclick, more = {}) => h("button", { type: "button", class: "quiet", onclick, ...more }, label);
const nearEnd = () => scroller.scrollHeight - scroller.scrollTop - scroller.clientHeight < 80;
const toEnd = () => {
  scroller.scrollTop = scroller.scrollHeight;
};

function rendered(text) {
  const body = h("div", { class: "markdown" });
  body.append(markdown(text));
  return body;
}

// The sources an answer drew on most, as links to the place.
function origins(turn) {
  const memory = provenance(turn.event);
  if (!memory) return null;
  const spans = behind(memory.passages).slice(0, 3).map((p) => p.spans[0])
    .filter(Boolean);
  const notes = {
    branched: "replaced what came after",
    caught_up: "earlier messages were read first",
    aside: "answered without the memory",
  };
  const note = notes[memory.action];
  if (!spans.length && !note) return null;
  return h(
    "p",
    { class: "origins" },
    spans.length > 0 && "From ",
    spans.map((span, i) => [
      i > 0 && ", ",
      h("button", {
        type: "button",
        class: "link",
        onclick: () => openSource(span.source, span, turn),
      }, spanName(span)),
    ]),
    note && h("span", { class: "hint" }, `${spans.length ? " · " : ""}${note}`),
  );
}

const focusTurn = (event, what) => list.querySelector(`[data-event="${event}"] ${what}`)?.focus();

function edit(turn) {
  const close = () => {
    editing = null;
    draw();
    focusTurn(turn.event, ".edit");
  };
  editing = { event: turn.event, node: editor(state.turns.indexOf(turn), turn.message, close) };
  draw();
  focusTurn(turn.event, "textarea");
}

async function copy(text) {
  await navigator.clipboard.writeText(text);
  announce("Copied.");
}

function whyButton(event) {
  const explain = () => {
    select(event);
    go(document.body.clientWidth < 1100 ? "why" : "chat");
  };
  return quiet("Why", explain, { "aria-pressed": String(state.selected === event), class: "quiet why" });
}

function turnNode(turn, i) {
  const problem = h("div");
  const attempt = (work) => () => Promise.resolve(work()).catch((error) => showError(problem, error));
  const chosen = state.selected === turn.event;
  const message = editing?.event === turn.event ? editing.node : h(
    "div",
    { class: "message" },
    h("p", { class: "said" }, turn.message),
    h("div", { class: "row-actions" }, quiet("Edit", () => edit(turn), { class: "quiet edit" })),
  );
  const answer = h(
    "div",
    { class: "answer" },
    rendered(turn.answer),
    origins(turn),
    h(
      "div",
      { class: "row-actions" },
      whyButton(turn.event),
      quiet("Regenerate", attempt(() => askAgain(i, turn.message, { maxTokens: maxTokens(), vary: true })), {
        title: "Ask the same once more",
      }),
      quiet("Branch", attempt(() => branchAt(i, { inclusive: true })), { title: "Go on from here in a fork" }),
      quiet("Copy", attempt(() => copy(turn.answer))),
    ),
    problem,
  );
  return h(
    "article",
    {
      class: chosen ? "turn selected" : "turn",
      "data-event": turn.event,
      "aria-label": `Turn ${i + 1}, ${clock(turn.at)}`,
    },
    message,
    answer,
  );
}

function asideNode(aside) {
  const chosen = state.selected === aside.event;
  return h(
    "article",
    { class: chosen ? "turn aside selected" : "turn aside", "data-event": aside.event, "aria-label": "Not kept" },
    h("div", { class: "message" }, h("p", { class: "said" }, aside.message)),
    h(
      "div",
      { class: "answer" },
      rendered(aside.answer),
      origins(aside),
      h(
        "div",
        { class: "row-actions" },
        whyButton(aside.event),
        h("span", { class: "hint" }, "Not kept in the memory."),
      ),
    ),
  );
}

function liveNode() {
  const words = { stopped: "Stopped. Nothing of it was kept.", failed: live.error };
  const end = live.status !== "asking" &&
    h(
      "div",
      { class: live.status === "failed" ? "error" : "hint", role: "alert" },
      h("p", {}, words[live.status]),
      h(
        "div",
        { class: "row-actions" },
        quiet("Try again", () => live.again()),
        quiet("Back into the box", () => {
          putBack(live.message);
          dropLive();
        }),
        quiet("Dismiss", dropLive),
      ),
    );
  return h(
    "article",
    { class: `turn live ${live.status}`, "aria-label": "The answer under way", "aria-busy": String(busy()) },
    h("div", { class: "message" }, h("p", { class: "said" }, live.message)),
    h(
      "div",
      { class: "answer" },
      rendered(live.text),
      busy() && !live.text && h("p", { class: "thinking" }, live.note),
      end,
    ),
  );
}

// Redrawing must not take the focus from who works by keyboard. Gives what puts it back.
function heldFocus() {
  const held = document.activeElement;
  const event = list.contains(held) ? held.closest(".turn").dataset.event : undefined;
  if (event === undefined) return () => {};
  const at = [...held.closest(".turn").querySelectorAll("button, textarea")].indexOf(held);
  return () =>
    list.querySelectorAll(`[data-event="${event}"] :is(button, textarea)`)[at]?.focus({ preventScroll: true });
}

function draw() {
  const follow = nearEnd();
  const giveFocusBack = heldFocus();
  const showsLive = live?.memory === state.current;
  const turns = showsLive ? state.turns.slice(0, live.shows) : state.turns;
  list.replaceChildren(
    ...turns.map(turnNode),
    ...(asides.get(state.current) ?? []).map(asideNode),
    ...(showsLive ? [liveNode()] : []),
  );
  giveFocusBack();
  drawEmpty();
  $("#chat-title").textContent = state.current ?? "";
  if (follow) toEnd();
}

function drawEmpty() {
  $("#chat-empty").hidden = list.childElementCount > 0 || state.settled !== state.current;
  $("#chat-empty").classList.toggle("ready", state.documents.some((d) => d.speaker === "document"));
}

// While an answer streams only its own node changes, at most once a frame.
let scheduled = false;
function drawText() {
  if (scheduled) return;
  scheduled = true;
  requestAnimationFrame(() => {
    scheduled = false;
    const body = $(".turn.live .markdown", list);
    if (!body || !live) return;
    const follow = nearEnd();
    body.replaceChildren(markdown(live.text));
    $(".turn.live .thinking", list)?.remove();
    if (follow) toEnd();
  });
}

export function start() {
  on("turns live selected", draw);
  on("documents memories", drawEmpty);
  on("current", () => {
    editing = null;
    draw();
    toEnd();
  });
  on("live", () => live && toEnd());
  on("live-text", drawText);
  addEventListener("keydown", (event) => {
    if (event.key === "Escape" && busy() && !document.querySelector("dialog[open]")) stop();
  });
}
