// Markdown of an answer as DOM nodes: headings, paragraphs, lists, quotes, code, tables, rules, and inline code,
// emphasis, links. No HTML passes through, and no image is loaded: it would be a request to somebody else.

import { h } from "./dom.js";

export function markdown(text) {
  const out = document.createDocumentFragment();
  out.append(...blocks(text.replace(/\r\n?/g, "\n").replace(/\t/g, "    ").split("\n")));
  return out;
}

const ITEM = /^( *)([-*+]|\d{1,9}[.)])( +(?=\S)| *$)/;
const FENCE = /^ {0,3}(```+|~~~+)\s*(\S*)/;
const RULE = /^ {0,3}([-*_])( *\1){2,} *$/;
const HEADING = /^ {0,3}(#{1,6})\s+(.*?)\s*#*$/;
const QUOTE = /^ {0,3}>/;
const BLOCK_STARTS = [FENCE, HEADING, RULE, QUOTE, ITEM];
const DELIMITERS = /^ *\|? *:?-+:? *(\| *:?-+:? *)*\|? *$/;

// Each rule looks at the lines from `at` on and gives [node, next line], or null if it does not apply.
const RULES = [fence, heading, rule, quote, list, table, paragraph];

function blocks(lines) {
  const nodes = [];
  for (let at = 0; at < lines.length;) {
    if (!lines[at].trim()) {
      at++;
      continue;
    }
    for (const apply of RULES) {
      const found = apply(lines, at);
      if (!found) continue;
      nodes.push(found[0]);
      at = found[1];
      break;
    }
  }
  return nodes;
}

function fence(lines, at) {
  const open = FENCE.exec(lines[at]);
  if (!open) return null;
  let end = at + 1;
  while (end < lines.length && !lines[end].trim().startsWith(open[1])) end++; // not closed yet while streaming: to the end
  const code = h("code", {}, lines.slice(at + 1, end).join("\n"));
  return [h("pre", { tabindex: "0", "aria-label": open[2] ? `code, ${open[2]}` : "code" }, code), end + 1];
}

function heading(lines, at) {
  const found = HEADING.exec(lines[at]);
  // The page has its own h1 and h2; an answer's headings come below them.
  return found && [h(`h${Math.min(6, found[1].length + 2)}`, {}, inline(found[2])), at + 1];
}

function rule(lines, at) {
  return RULE.test(lines[at]) ? [h("hr"), at + 1] : null;
}

function quote(lines, at) {
  if (!QUOTE.test(lines[at])) return null;
  let end = at;
  while (end < lines.length && QUOTE.test(lines[end])) end++;
  return [h("blockquote", {}, blocks(lines.slice(at, end).map((line) => line.replace(/^ {0,3}> ?/, "")))), end];
}

function list(lines, at) {
  const first = ITEM.exec(lines[at]);
  if (!first) return null;
  const ordered = /\d/.test(first[2]);
  const items = [];
  let end = at;
  while (end < lines.length) {
    const item = ITEM.exec(lines[end]);
    if (!item || item[1].length > first[1].length + 1 || /\d/.test(item[2]) !== ordered || RULE.test(lines[end])) break;
    const indent = item[0].length || 2;
    const body = [lines[end].slice(item[0].length)];
    for (end++; end < lines.length; end++) {
      const deeper = /^ */.exec(lines[end])[0].length >= Math.min(indent, item[1].length + 2);
      const blank = !lines[end].trim();
      if (blank ? !/^ {2,}\S/.test(lines[end + 1] ?? "") : !deeper) break;
      body.push(lines[end].slice(Math.min(indent, /^ */.exec(lines[end])[0].length)));
    }
    items.push(h("li", {}, tight(blocks(body))));
    while (end + 1 < lines.length && !lines[end].trim() && ITEM.test(lines[end + 1])) end++;
  }
  if (end === at) return null;
  const start = ordered ? parseInt(first[2], 10) : 1;
  return [h(ordered ? "ol" : "ul", { start: start === 1 ? null : start }, items), end];
}

// A list item that is one line is no paragraph.
function tight(nodes) {
  return nodes.flatMap((node, i) => (i === 0 && node.tagName === "P" ? [...node.childNodes] : [node]));
}

function table(lines, at) {
  if (!lines[at].includes("|") || !DELIMITERS.test(lines[at + 1] ?? "")) return null;
  const cells = (line) => line.trim().replace(/^\||\|$/g, "").split("|").map((cell) => inline(cell.trim()));
  let end = at + 2;
  while (end < lines.length && lines[end].includes("|")) end++;
  const head = h("tr", {}, cells(lines[at]).map((cell) => h("th", { scope: "col" }, cell)));
  const rows = lines.slice(at + 2, end).map((line) => h("tr", {}, cells(line).map((cell) => h("td", {}, cell))));
  return [h("table", {}, h("thead", {}, head), h("tbody", {}, rows)), end];
}

function paragraph(lines, at) {
  let end = at + 1;
  while (end < lines.length && lines[end].trim() && !BLOCK_STARTS.some((start) => start.test(lines[end]))) end++;
  const body = [];
  lines.slice(at, end).forEach((line, i, all) => {
    body.push(inline(line.trim().replace(/\\$/, "")));
    // A small model breaks a line where it means it, so every break is kept.
    if (i + 1 < all.length) body.push(h("br"));
  });
  return [h("p", {}, body), end];
}

const INLINE = [
  [/^(`+)(.+?)\1(?!`)/, (m) => h("code", {}, m[2].trim() || m[2])],
  [/^!?\[([^\]]*)\]\(\s*<?([^\s)>]+)>?[^)]*\)/, (m) => link(m[1] || m[2], m[2])],
  [/^<?(https?:\/\/[^\s<>]*[^\s<>.,;:!?)'"])>?/, (m) => link(m[1], m[1])],
  [/^(\*\*|__)(?=\S)(.+?)(?<=\S)\1/, (m) => h("strong", {}, inline(m[2]))],
  [/^([*_])(?=\S)(.+?)(?<=\S)\1(?![\p{L}\p{N}])/u, (m) => h("em", {}, inline(m[2]))],
  [/^~~(?=\S)(.+?)(?<=\S)~~/, (m) => h("s", {}, inline(m[1]))],
  [/^\\([!-/:-@[-`{-~])/, (m) => m[1]],
];

function inline(text) {
  const nodes = [];
  let plain = "";
  for (let at = 0; at < text.length;) {
    const rest = text.slice(at);
    const inWord = at > 0 && /[\p{L}\p{N}]/u.test(text[at - 1]);
    let found = null;
    // Nothing begins at a letter but an address; an underscore inside a word is no emphasis.
    if (/^[`![<*_~\\]|^https?:/.test(rest) && !(inWord && /^_|^http/.test(rest))) {
      for (const [pattern, make] of INLINE) {
        const match = pattern.exec(rest);
        if (!match) continue;
        found = [make(match), match[0].length];
        break;
      }
    }
    if (!found) {
      plain += text[at++];
      continue;
    }
    if (plain) nodes.push(plain);
    plain = "";
    nodes.push(found[0]);
    at += found[1];
  }
  if (plain) nodes.push(plain);
  return nodes;
}

function link(label, address) {
  // Only schemes that open a page or a letter; anything else (javascript:, data:) stays text.
  if (!/^(https?:\/\/|mailto:)/i.test(address)) return label;
  return h("a", { href: address, target: "_blank", rel: "noopener noreferrer nofollow" }, label);
}
