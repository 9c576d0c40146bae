// Which of the passages that come with an answer it drew on.

const SOME = 0.05; // of the weight

// Those whose rows were recalled. Where nothing was recalled, because what was read is still in short-term memory as a
// whole, the one that layers and words like best, if they like it.
export function behind(passages) {
  const tried = (passages ?? []).filter((p) => !p.passed);
  const recalled = tried.filter((p) => p.weight > SOME);
  if (recalled.length) return recalled;
  const best = tried.find((p) => p.total > 0 && p.rows_short_term > 0);
  return best ? [best] : [];
}

const words = (text) => text.toLowerCase().match(/[\p{L}\p{N}]{3,}/gu) ?? [];
const COMMON = new Set(
  "the and was were are has had have does did what where when which who whom whose why how his her its for with from that this there they she you not but can"
    .split(" "),
);

// [begin, end) of the sentence of a text that shares most words with question and answer; null if none shares any. It is
// for the eye only: what the model looked at is the passage as a whole.
export function closestSentence(text, question, answer) {
  const wanted = new Set(words(`${question} ${answer}`).filter((word) => !COMMON.has(word)));
  let best = { score: 0 };
  for (const match of text.matchAll(/[^.!?\n]+[.!?]*["”’)]*/g)) {
    const score = new Set(words(match[0]).filter((word) => wanted.has(word))).size;
    const skipped = /^\s*/.exec(match[0])[0].length;
    if (score > best.score) best = { score, begin: match.index + skipped, end: match.index + match[0].length };
  }
  return best.score ? [best.begin, best.end] : null;
}
