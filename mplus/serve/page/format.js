// Numbers, sizes and times as a person reads them, and places in a text.

const counts = new Intl.NumberFormat("en");

export const count = (n) => counts.format(n ?? 0);

// plural(1, "turn") = "1 turn", plural(2000, "turn") = "2,000 turns"
export const plural = (n, word, words = word + "s") => `${count(n)} ${n === 1 ? word : words}`;

export function bytes(n) {
  const units = ["bytes", "kB", "MB", "GB", "TB"];
  let i = 0;
  for (; n >= 1000 && i < units.length - 1; i++) n /= 1000;
  return i === 0 && n === 1 ? "1 byte" : `${n < 10 && i > 0 ? n.toFixed(1) : Math.round(n)} ${units[i]}`;
}

export const percent = (share) => `${share > 0 && share < 0.01 ? "<1" : Math.round(100 * share)} %`;

export const signed = (x) => (x === null || x === undefined ? "–" : x.toFixed(2).replace("-", "−"));

export function ago(seconds) {
  const past = Date.now() / 1000 - seconds;
  if (!(seconds > 0)) return "";
  if (past < 60) return "just now";
  if (past < 3600) return `${plural(Math.floor(past / 60), "minute")} ago`;
  if (past < 86400) return `${plural(Math.floor(past / 3600), "hour")} ago`;
  return new Date(1000 * seconds).toLocaleDateString("en-GB", { day: "numeric", month: "short", year: "numeric" });
}

export const clock = (seconds) =>
  new Date(1000 * seconds).toLocaleString("en-GB", {
    day: "numeric",
    month: "short",
    hour: "2-digit",
    minute: "2-digit",
  });

// Names of files may be paths; people know the last part.
export const shortName = (name) => (name ?? "").split(/[\\/]/).filter(Boolean).pop() ?? "";

export function spanName(span) {
  if (span.speaker === "user") return "Something you said";
  if (span.speaker === "assistant") return "An earlier answer";
  if (span.speaker === "system") return "The system message";
  return shortName(span.name) || `source ${span.source}`;
}

// Offsets of the server are bytes of UTF-8, those of JavaScript are UTF-16 units. A chunk may end inside a character
// (tokens are bytes): the character then belongs to what comes after.
export function splitAtBytes(text, begin, end) {
  const all = new TextEncoder().encode(text);
  const decoder = new TextDecoder();
  const start = (at) => {
    let place = Math.max(0, Math.min(at, all.length));
    while (place > 0 && place < all.length && (all[place] & 0xc0) === 0x80) place--;
    return place;
  };
  const [from, to] = [start(begin), start(Math.max(begin, end))];
  return [all.subarray(0, from), all.subarray(from, to), all.subarray(to)].map((part) => decoder.decode(part));
}
