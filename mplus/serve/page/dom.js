// Builds DOM nodes. Text of a model or a document reaches the page only as text nodes made here, so it can never become
// markup; and nothing sets a style attribute, which the content security policy would refuse.

const SVG = "http://www.w3.org/2000/svg";

function fill(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (name === "vars") { for (const [key, v] of Object.entries(value)) node.style.setProperty(key, v); }
    else node.setAttribute(name, value === true ? "" : String(value));
  }
  node.append(...children.flat(Infinity).filter((c) => c !== null && c !== undefined && c !== false));
  return node;
}

// h("button", {class: "quiet", onclick: f, vars: {"--share": "40%"}}, "text", node, [more])
export function h(tag, attributes, ...children) {
  return fill(document.createElement(tag), attributes, children);
}

export function svg(tag, attributes, ...children) {
  return fill(document.createElementNS(SVG, tag), attributes, children);
}

export const $ = (selector, within = document) => within.querySelector(selector);

// Says something to a screen reader without showing it; visible text says the same elsewhere.
export function announce(text) {
  const line = h("p", {}, text);
  const live = $("#announcements");
  live.append(line);
  setTimeout(() => line.remove(), 8000);
}

// An error in plain words where it happened. An old one in the same place goes.
export function showError(place, error, retry) {
  clearError(place);
  if (error?.name === "AbortError") return;
  place.append(
    h(
      "div",
      { class: "error", role: "alert" },
      h("p", {}, error?.message ?? String(error)),
      retry && h("button", {
        class: "quiet",
        type: "button",
        onclick: () => {
          clearError(place);
          retry();
        },
      }, "Try again"),
      h("button", { class: "quiet", type: "button", onclick: () => clearError(place) }, "Dismiss"),
    ),
  );
}

export function clearError(place) {
  for (const old of place.querySelectorAll(":scope > .error")) old.remove();
}
