// Small dialogs: a name, a confirmation, a text, a key. Each resolves to what was entered, or null when it was closed.
// The native <dialog> keeps the focus inside, closes on Escape and gives the focus back.

import { h } from "./dom.js";

// Shows `body` under a title. `actions(close)` gives the buttons; close(value) ends it.
export function open(title, body, actions, { wide = false } = {}) {
  return new Promise((resolve) => {
    let result = null;
    const close = (value) => {
      result = value;
      dialog.close();
    };
    const heading = h("h2", { id: "dialog-title" }, title);
    const form = h("form", { method: "dialog" }, heading, body, h("div", { class: "actions" }, actions(close)));
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      form.querySelector("button.primary")?.click();
    });
    const dialog = h("dialog", { class: wide ? "wide" : null, "aria-labelledby": "dialog-title" }, form);
    dialog.addEventListener("close", () => {
      dialog.remove();
      resolve(result);
    });
    // A click on the backdrop closes, as Escape does, unless something was typed.
    dialog.addEventListener("pointerdown", (event) => {
      const typed = [...dialog.querySelectorAll("textarea, input")].some((field) => field.value !== field.defaultValue);
      const box = dialog.getBoundingClientRect();
      const outside = event.clientX < box.left || event.clientX > box.right || event.clientY < box.top ||
        event.clientY > box.bottom;
      if (event.target === dialog && outside && !typed) dialog.close();
    });
    document.body.append(dialog);
    dialog.showModal();
  });
}

const button = (label, kind, onclick) => h("button", { type: "button", class: kind, onclick }, label);
export const cancel = (close) => button("Cancel", "quiet", () => close(null));

// Runs `work(value)` before the dialog closes: what the server refuses is said in the dialog, and the entry stays.
function submit(label, kind, field, place, close, work) {
  return button(label, `primary ${kind}`, async (event) => {
    const value = field.value.trim();
    if (!value) return field.focus();
    event.target.disabled = true;
    place.replaceChildren();
    try {
      await work(value);
      close(value);
    } catch (error) {
      place.append(h("p", { class: "error", role: "alert" }, error.message));
      event.target.disabled = false;
      field.focus();
    }
  });
}

export function askName(title, { label, value = "", verb, hint }, work) {
  const place = h("div");
  const field = h("input", {
    type: "text",
    value,
    autofocus: true,
    required: true,
    maxlength: 100,
    autocomplete: "off",
    spellcheck: "false",
  });
  const body = [
    h("label", { class: "field" }, h("span", {}, label), field),
    hint && h("p", { class: "hint" }, hint),
    place,
  ];
  const result = open(title, body, (close) => [cancel(close), submit(verb, "", field, place, close, work)]);
  field.select();
  return result;
}

export function confirm(title, words, verb, work) {
  const place = h("div");
  const answer = { value: "yes", focus() {} };
  return open(
    title,
    [words.map((line) => h("p", {}, line)), place],
    (close) => [cancel(close), submit(verb, "danger", answer, place, close, work)],
  );
}

// A text pasted as a document: {name, text}.
export function askText(suggested) {
  const name = h("input", { type: "text", value: suggested, maxlength: 200, autocomplete: "off" });
  const text = h("textarea", { rows: 12, autofocus: true, required: true });
  const body = [
    h("label", { class: "field" }, h("span", {}, "Text"), text),
    h("label", { class: "field" }, h("span", {}, "Name"), name),
  ];
  return open("Paste a text", body, (close) => [
    cancel(close),
    button("Read it", "primary", () => {
      if (text.value.trim()) close({ name: name.value.trim() || suggested, text: text.value });
      else text.focus();
    }),
  ], { wide: true });
}

export function askKey(wrong) {
  const place = h("div");
  const field = h("input", { type: "password", autofocus: true, autocomplete: "off" });
  const words = wrong
    ? "The server did not accept that key."
    : "This server gives its memories only to those who have a key.";
  const body = [
    h("p", {}, words),
    h("label", { class: "field" }, h("span", {}, "API key"), field),
    h("p", { class: "hint" }, "It is kept until this tab is closed."),
    place,
  ];
  return open("API key", body, (close) => [cancel(close), submit("Continue", "", field, place, close, async () => {})]);
}
