// Forgetting a source: first what would go (a dry run on the server), then the deed.

import * as api from "./api.js";
import { cancel, open } from "./dialogs.js";
import { announce, h } from "./dom.js";
import { count, plural, shortName } from "./format.js";
import { refreshAll, state, tell } from "./state.js";

// What the server's report means, one sentence a line.
export function consequences(report) {
  const lines = [];
  if (report.exact) {
    lines.push(
      `The memory is made again without it, from ${
        plural(report.replayed_events ?? 0, "event")
      }, as if it had never been read. This can take as long as reading did.`,
    );
  } else {
    lines.push(
      `${plural(report.rows ?? 0, "memory row")} of ${plural(report.updates ?? 0, "write")} go, and the text itself.`,
    );
    if (report.window_tokens) lines.push(`${plural(report.window_tokens, "token")} go from the window.`);
    if (report.segments) {
      lines.push(
        `${plural(report.segments, "file")} of the long-term store ${
          report.segments === 1 ? "is" : "are"
        } written again.`,
      );
    }
  }
  const again = report.written_again;
  if (again?.sources?.length) {
    lines.push(
      `Written again, because it stood beside it: ${again.sources.map(shortName).join(", ")} (${
        count(again.tokens)
      } tokens).`,
    );
  }
  return lines;
}

function listed(title, entries) {
  return entries?.length
    ? h("div", { class: "listed" }, h("p", {}, title), h("ul", {}, entries.map((e) => h("li", {}, e))))
    : null;
}

function preview(report) {
  return [
    consequences(report).map((line) => h("p", {}, line)),
    listed("These answers drew on it. They stay as they were said:", report.answers),
    listed("These memories hold the same text and keep it:", report.holders),
  ];
}

function choice(value, label, hint, checked, onchange) {
  return h(
    "label",
    { class: "choice" },
    h("input", { type: "radio", name: "exact", value, checked, onchange }),
    h("span", {}, h("strong", {}, label), h("span", { class: "hint" }, hint)),
  );
}

export async function forgetSource(source) {
  const memory = state.current;
  const name = shortName(source.name) || `source ${source.id}`;
  const place = h("div", { class: "preview", "aria-live": "polite" });
  const go = h("button", { type: "button", class: "primary danger", disabled: true }, "Forget");
  let exact = false;
  let asked = 0;

  async function look(wanted) {
    exact = wanted;
    const mine = ++asked; // a slow answer for the other choice must not replace this one's
    go.disabled = true;
    place.replaceChildren(h("p", { class: "hint" }, "Looking at what would go…"));
    try {
      const report = await api.forget(memory, source.id, { exact: wanted, dryRun: true });
      if (mine !== asked) return;
      place.replaceChildren(...preview(report).flat(2).filter(Boolean));
      go.disabled = false;
    } catch (error) {
      if (mine === asked) place.replaceChildren(h("p", { class: "error", role: "alert" }, error.message));
    }
  }

  const choices = h(
    "fieldset",
    {},
    h("legend", {}, "How"),
    choice(
      "false",
      "Quickly",
      "Its rows and its text go at once. Texts written beside it keep their place.",
      true,
      () => look(false),
    ),
    choice("true", "Exactly", "The memory becomes, bit for bit, what it would be without it.", false, () => look(true)),
  );
  const done = open(
    `Forget ${name}?`,
    [choices, place, h("p", { class: "hint" }, "Forgetting cannot be undone.")],
    (close) => {
      go.addEventListener("click", async () => {
        go.disabled = true;
        go.textContent = "Forgetting…";
        try {
          close(await api.forget(memory, source.id, { exact, dryRun: false }));
        } catch (error) {
          place.append(h("p", { class: "error", role: "alert" }, error.message));
          go.textContent = "Forget";
          go.disabled = false;
        }
      });
      return [cancel(close), go];
    },
  );
  look(false);
  if (!(await done)) return false;
  announce(`${name} is forgotten.`);
  await refreshAll();
  tell("changed");
  return true;
}
