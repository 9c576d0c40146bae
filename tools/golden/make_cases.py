#!/usr/bin/env python3
"""Makes tests/data/golden/smollm2_135m_mplus: what the shipped delta computes on the default base model.

    python3 -m venv /tmp/venv && /tmp/venv/bin/pip install numpy gguf safetensors tokenizers
    /tmp/venv/bin/python tools/golden/make_cases.py ~/.local/share/mplus/models/SmolLM2-135M-Instruct.Q4_1.gguf

reference.py computes everything, once in float64, which is written, and once in float32, which tells how much of the
engine's difference is noise (--skip-float32 leaves that out). One thread of BLAS is enough: OPENBLAS_NUM_THREADS=1. Make the cases anew when models/smollm2-135m-mplus.safetensors changes: mplus-golden refuses those of another delta.
"""

import argparse
import hashlib
import json
from pathlib import Path

import numpy as np
from reference import Memory, Model, Votes, best, read, scores_of
from safetensors.numpy import save_file
from tokenizers import Tokenizer

ROOT = Path(__file__).resolve().parents[2]
OUT = ROOT / "tests/data/golden/smollm2_135m_mplus"
NOTE = (
    "From the diary of the Morrow house. The violet trunk is kept in the attic. Edgar Lindqvist repairs clocks, and his"
    " sister Paula teaches Danish. The code of the cellar door is 5518. Aunt Rosalind arrives on Tuesday.\n"
)
LATER_NOTE = (
    "From the diary of the Morrow house, a month later. The lock was changed: the code of the cellar door is 9042 now."
    " Edgar Lindqvist sold his workshop and moved to Odense.\n"
)
CHECKED_LAYERS = (0, 15, 29)  # where births are listed
SAMPLED_LOGITS = list(range(11, 49152, 2047))
GREEDY_STEPS = 5
NEAR_SCORE, NEAR_VOTE = 2e-5, 2e-3  # differences that another order of sums might turn round


def streams(tokenizer):
    """What is written and asked. A question is (name, number of writes before it, text, answer[, tokens to generate, one if not said])."""
    def ids(text):
        return tokenizer.encode(text, add_special_tokens=False).ids

    story = ids((ROOT / "examples/story/winter_light.txt").read_text())
    novel = ids((ROOT / "examples/story/prisoner_of_zenda.txt").read_text())

    def cut(tokens, first, lengths):
        ends = np.cumsum([0, *lengths]) + first
        return [tokens[a:b] for a, b in zip(ends, ends[1:])]

    def with_note(note, chunk):
        return (ids(note) + chunk)[: len(chunk)]

    long = cut(story, 0, [256] * 10) + cut(novel, 600, [256] * 14)
    long[5] = with_note(NOTE, long[5])
    long[14] = with_note(LATER_NOTE, long[14])
    ragged = cut(novel, 9000, [100] + [256] * 4 + [140, 90] + [256] * 9)
    ragged[3] = with_note(NOTE, ragged[3])
    return [
        # Shorter than K: without a tail, with a short one, with a long one.
        {"name": "short_chunks", "seed": 1, "chunks": cut(story, 60, [100, 20, 60, 256]), "questions": [
            ("nothing_but_a_hundred_tokens", 1, "What car does Oscar Mercer drive?", "yellow"),
            ("after_short_chunks", 4, "Where is the green lantern kept?", "in the boat house"),
        ]},
        {"name": "long_term", "seed": 2, "chunks": long, "questions": [
            ("one_chunk", 1, "Where was Ingrid Dahl born?", "Bergen"),
            ("three_chunks", 3, "Which code opens the Tavora archive?", "417"),
            ("full_short_term_memory", 8, "Where is the violet trunk kept?", "in the attic"),
            ("from_the_beginning", 24, "Where was Ingrid Dahl born?", "Bergen", GREEDY_STEPS),
            ("told_twice", 24, "What is the code of the cellar door?", "9042"),
            ("never_told", 24, "Who painted the ceiling of the town hall?", "I do not know."),
        ]},
        # Layers hold fewer than N tokens when the first are dropped, and chunks of fewer than K.
        {"name": "ragged", "seed": 3, "chunks": ragged, "questions": [
            ("in_the_middle", 16, "What does Paula Lindqvist teach?", "Danish"),
        ]},
    ]  # fmt: skip


class Question:
    def __init__(self, model, tokenizer, memory, asked):
        self.model, self.tokenizer, self.memory = model, tokenizer, memory
        self.name, _, text, answer, self.steps = (*asked, 1) if len(asked) == 4 else asked
        prompt = model.settings["prompt"].replace("\\n", "\n").replace("{q}", text)
        encode = lambda part: tokenizer.encode(part, add_special_tokens=False).ids
        self.asks, self.answer = encode(prompt), encode(f" {answer}\n")
        self.window = self.asks + self.answer
        self.text = f"{prompt} {answer}\n"
        self.births, self.scores = [], []  # by layer, of long-term rows and then of short-term ones
        read(model, self.asks, self.scout)

    def scout(self, l, normed):
        """Scores every row with the question's states over [bos ; short-term ; question]."""
        both = [np.concatenate(parts) for parts in zip(self.memory.long[l], self.memory.short[l])]
        self.scores.append(scores_of(self.model, l, normed, both[0]))
        self.births.append(both[1])
        return self.memory.short[l][0]

    def votes(self, over_everything, weighted=True):
        ends = [None if over_everything else len(self.memory.long[l][1]) for l in range(self.model.L)]
        births = [births[:end] for births, end in zip(self.births, ends)]
        scores = [scores[:end] for scores, end in zip(self.scores, ends)]
        weights, top = (self.model.vote_weights, self.model.vote_top) if weighted else (np.ones(self.model.L), 0)
        return Votes(births, scores, self.model.sizes["K"], weights, top)

    def read_over(self, recalled, short=None):
        """recalled, short: births by layer; short None: all of short-term memory."""
        def rows(l, _):
            parts = []
            for (hidden, births), wanted in ((self.memory.long[l], recalled[l]), (self.memory.short[l], None if short is None else short[l])):
                at = np.arange(len(births)) if wanted is None else np.flatnonzero(np.isin(births, wanted))
                parts.append(hidden[at[np.argsort(births[at], kind="stable")]])
            return np.concatenate(parts)
        return self.outcome(rows, recalled, short)

    def outcome(self, rows, recalled, short=None):
        """Reads question and answer, then lets the question be answered."""
        starts = len(self.asks)
        logits = self.model.logits(read(self.model, self.window, rows)[starts - 1 :]).astype(np.float64)
        log_sum = np.log(np.exp(logits - logits.max(axis=1, keepdims=True)).sum(axis=1)) + logits.max(axis=1)
        nll = [log_sum[i] - logits[i, token] for i, token in enumerate(self.answer)]
        ids = np.argsort(-logits[0], kind="stable")[:8].tolist() + SAMPLED_LOGITS
        greedy, gaps, last = [], [], logits[0]
        for _ in range(self.steps):
            second, first = np.sort(last)[-2:]
            greedy.append(int(last.argmax()))
            gaps.append(first - second)
            if len(greedy) < self.steps:
                last = self.model.logits(read(self.model, self.asks + greedy, rows)[-1:]).astype(np.float64)[0]
        return {"answer_nll": nll, "logit_ids": ids, "logits": [logits[0, i] for i in ids], "greedy": greedy,
                "greedy_gap": gaps, "says": self.tokenizer.decode(greedy), "recalled": recalled, "short": short}  # fmt: skip

    def per_layer(self):
        K0, recalled, contested = self.model.sizes["K0"], {}, {}
        def rows(l, normed):
            hidden, births = self.memory.long[l]
            if l not in recalled:  # asked once: what follows reads what was recalled then
                scores = scores_of(self.model, l, normed[: len(self.asks)], hidden)
                order = best(scores, births, np.arange(len(births)))
                recalled[l] = np.sort(births[order[:K0]])
                contested.update(near_the_cut(l, scores, births, order, K0))
            at = np.flatnonzero(np.isin(births, recalled[l]))
            return np.concatenate([hidden[at[np.argsort(births[at], kind="stable")]], self.memory.short[l][0]])
        return self.outcome(rows, recalled) | {"contested": contested}

    def by_vote(self, votes, order):
        """Births by layer of the rows a vote takes, long-term and short-term, and those that were near the cut."""
        K, K0 = self.model.sizes["K"], self.model.sizes["K0"]
        long, short, contested = [], [], {}
        for l in range(self.model.L):
            taken = votes.take(l, order, K0)
            in_store = taken < len(self.memory.long[l][1])
            long.append(np.sort(votes.births[l][taken[in_store]]))
            short.append(np.sort(votes.births[l][taken[~in_store]]))
            if len(taken) == K0:
                last = np.flatnonzero(votes.births[l] // K == votes.births[l][taken[-1]] // K)
                kept = np.isin(last, taken).sum()
                contested |= near_the_cut(l, votes.scores[l], votes.births[l], best(votes.scores[l], votes.births[l], last), kept)
        return long, short, {"contested": contested}

    def all_reads(self):
        """Every rule by the name it has in mplus-golden."""
        nothing = [np.zeros(0, np.int64)] * self.model.L
        reads = {"no_memory": self.read_over(nothing, nothing), "short_term": self.read_over(nothing)}
        if len(self.memory.long[0][1]) == 0:
            return reads
        reads["per_layer"] = self.per_layer()
        prior = {u: float((u * 7 + 3) % 5) for u in range(self.memory.updates)}
        votes_of = {
            "consensus": self.votes(False),
            "consensus_unweighted": self.votes(False, weighted=False),
            "hybrid": self.votes(False).with_prior(prior),
        }
        for name, votes in votes_of.items():
            long, _, near = self.by_vote(votes, votes.order())
            reads[name] = self.read_over(long) | near
        # As the shipped delta says: all chunks compete, those near the best are read, together or one at a time.
        votes, margin = self.votes(True), float(self.model.settings["recall_margin"])
        votes_of["recalled"] = votes
        leaders = votes.leaders(margin)
        nearest = min(abs(votes.behind(u) - margin) for u in votes.votes)
        assert nearest > NEAR_VOTE, f"{self.name}: whether a chunk is within the margin is undecided, ask something else"
        long, short, near = self.by_vote(votes, leaders)
        reads["recalled"] = self.read_over(long, short) | near | {"leaders": leaders}
        for turn, chunk in enumerate(sorted(leaders[: int(self.model.settings["read_turns"])], reverse=True)):
            long, short, near = self.by_vote(votes, [chunk])
            reads[f"turn_{turn}"] = self.read_over(long, short) | near | {"chunk": chunk, "behind": votes.behind(chunk)}
        for name, votes in votes_of.items():
            reads[name]["votes"] = [votes.votes.get(u, 0.0) for u in range(self.memory.updates)]
            reads[name]["order"] = votes.order()
        return reads


def near_the_cut(l, scores, births, order, kept):
    """{layer: births} of the rows whose scores are near that of the last one kept, on either side; none if none is left out."""
    if kept == len(order) or kept == 0:
        return {}
    cut = (scores[order[kept - 1]] + scores[order[kept]]) / 2
    near = np.sort(births[order[np.abs(scores[order] - cut) < NEAR_SCORE]])
    return {l: near.tolist()} if len(near) else {}


def state(memory):
    sample = [memory.tail(l)[:: max(1, len(memory.tail(l)) // 4), ::13].astype(np.float64) for l in range(memory.model.L)]
    return {
        "mean_abs": [float(np.abs(memory.tail(l).astype(np.float64)).mean()) for l in range(memory.model.L)],
        "tail": np.stack(sample),
        "short": [memory.short[l][1] for l in CHECKED_LAYERS],
        "long": [memory.long[l][1] for l in CHECKED_LAYERS],
    }


def compute(model, tokenizer, drops):
    """All streams: (states and reads by name, recorded drops). drops: None to draw them, or those of an earlier run."""
    results, recorded = {}, {}
    for stream in streams(tokenizer):
        memory, chance = Memory(model), np.random.default_rng(stream["seed"])
        for u, chunk in enumerate(stream["chunks"]):
            key = f"drops.{stream['name']}.{u}"
            if drops is None:
                choose = lambda l, births, count: chance.choice(births, count, replace=False)
            else:
                choose = lambda l, births, count: drops[key][l] if count else []
            dropped = memory.write(chunk, choose)
            if dropped.size:
                recorded[key] = dropped
            asked = [q for q in stream["questions"] if q[1] == u + 1]
            if asked:
                results[stream["name"], u + 1] = state(memory)
            for question in asked:
                q = Question(model, tokenizer, memory, question)
                results[stream["name"], q.name] = (q, q.all_reads())
                print(f"  {stream['name']}, {q.name}: " + ", ".join(f"{n} {r['says']!r}" for n, r in results[stream["name"], q.name][1].items()), flush=True)
    return results, recorded


def padded(lists):
    longest = max(len(x) for x in lists)
    return np.stack([np.concatenate([x, np.full(longest - len(x), -1)]) for x in lists]).astype(np.int32)


def noise(results, rounded):
    """Largest differences between the two precisions; discrete outcomes must be the same."""
    worst = {"nll": 0.0, "logits": 0.0, "votes": 0.0, "scores": 0.0, "behind": 0.0, "mean_abs": 0.0, "state": 0.0}
    differ = lambda kind, a, b: worst.__setitem__(kind, max(worst[kind], float(np.abs(np.asarray(a) - np.asarray(b)).max())))
    for key, found in results.items():
        other = rounded[key]
        if isinstance(found, dict):
            differ("mean_abs", found["mean_abs"], other["mean_abs"])
            differ("state", found["tail"], other["tail"])
            continue
        for a, b in zip(found[0].scores, other[0].scores):
            differ("scores", a, b)
        for name, a in found[1].items():
            b = other[1][name]
            differ("nll", a["answer_nll"], b["answer_nll"])
            differ("logits", a["logits"][8:], b["logits"][8:])
            if "votes" in a:
                differ("votes", a["votes"], b["votes"])
            if "behind" in a:
                differ("behind", a["behind"], b["behind"])
            sure = lambda r, l: np.setdiff1d(r["recalled"][l], a.get("contested", {}).get(l, []))
            same = all(np.array_equal(sure(a, l), sure(b, l)) for l in range(len(a["recalled"])))
            if not same or a.get("order") != b.get("order") or a["greedy"] != b["greedy"]:
                print(f"  differs in float32: {key} {name}: rows {same}, greedy gap {min(a['greedy_gap']):.2g}")
    return worst


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("base", type=Path, help="the default base model, a GGUF")
    parser.add_argument("--delta", type=Path, default=ROOT / "models/smollm2-135m-mplus.safetensors")
    parser.add_argument("--skip-float32", action="store_true", help="do not measure the noise")
    options = parser.parse_args()
    tokenizer = Tokenizer.from_file(str(ROOT / "tests/data/tokenizers/tokenizer.json"))

    print("float64")
    results, drops = compute(Model(options.base, options.delta, np.float64), tokenizer, None)
    worst = {}
    if not options.skip_float32:
        print("float32")
        worst = noise(results, compute(Model(options.base, options.delta, np.float32), tokenizer, drops)[0])
        print(worst)

    tensors = {name: births.astype(np.int32) for name, births in drops.items()}
    cases = []
    for stream in streams(tokenizer):
        name = stream["name"]
        case = {"name": name, "chunks": stream["chunks"], "states": [], "questions": []}
        for key, found in results.items():
            if key[0] != name:
                continue
            if isinstance(found, dict):
                at = f"{name}.{key[1]}"
                case["states"].append({"after": key[1], "mean_abs": np.round(found["mean_abs"], 6).tolist()})
                tensors[f"tail.{at}"] = found["tail"].astype(np.float32)
                for part in ("short", "long"):
                    tensors[f"{part}_births.{at}"] = padded(found[part])
                continue
            question, reads = found
            after = next(q[1] for q in stream["questions"] if q[0] == question.name)
            entry = {"name": question.name, "after": after, "window": question.window, "answer_starts": len(question.asks),
                     "window_text": question.text, "reads": {}}  # fmt: skip
            for rule, r in reads.items():
                kept = {k: r[k] for k in ("logit_ids", "greedy", "says", "contested", "leaders", "chunk", "order") if k in r}
                kept |= {k: np.round(r[k], 6).tolist() for k in ("answer_nll", "logits", "greedy_gap", "votes", "behind") if k in r}
                entry["reads"][rule] = kept
                for part in ("recalled", "short"):
                    births = r[part]
                    if births is not None and any(len(births[l]) for l in range(len(births))):
                        tensors[f"{part}.{name}.{question.name}.{rule}"] = padded([births[l] for l in range(len(births))])
            case["questions"].append(entry)
        cases.append(case)
    digest = lambda path: hashlib.sha256(path.read_bytes()).hexdigest()
    text = json.dumps({
        "case": "delta",
        "about": "The shipped delta on its base model, GGUF and int8 rows dequantised, in float64; made by tools/golden/make_cases.py",
        "base_sha256": digest(options.base), "delta_sha256": digest(options.delta),
        "checked_layers": CHECKED_LAYERS, "prior": "(7·chunk + 3) mod 5",
        **({"noise": {k: float(f"{v:.2g}") for k, v in worst.items()}} if worst else {}),
        "tolerance": {"nll": 2e-4, "logits": 1e-3, "votes": 2e-4, "behind": 2e-3, "mean_abs": 2e-4,
                      "state": 7e-3},
        "streams": cases,
    }, ensure_ascii=False)  # fmt: skip
    OUT.mkdir(parents=True, exist_ok=True)
    (OUT / "case.json").write_text(text + "\n")
    save_file(tensors, OUT / "expected.safetensors")


if __name__ == "__main__":
    main()
