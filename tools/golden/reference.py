"""M+ in plain numpy, for golden cases: write pass, read pass, recall.

Written from the statement of the algorithm (docs/architecture.md "The algorithm", docs/recall.md, and the published
paper), not from the C++ code: two programs that agree were wrong in the same way, or right. So nothing is clever here.
Memory tokens are kept as hidden states and projected anew in every read, there is no cache of keys and values, adapters
are merged into the weights, and each read computes every row.
"""

import gguf
import numpy as np
from safetensors import safe_open

ADAPTERS = {"write": "default", "read": "decoder_adapter"}
ADAPTED = {
    "q": "self_attn.q_proj", "k": "self_attn.k_proj", "v": "self_attn.v_proj",
    "gate": "mlp.gate_proj", "up": "mlp.up_proj", "down": "mlp.down_proj",
}  # fmt: skip
GGUF_NAMES = {"q": "attn_q", "k": "attn_k", "v": "attn_v", "o": "attn_output", "gate": "ffn_gate", "up": "ffn_up", "down": "ffn_down"}


def sigmoid(x):
    small = np.exp(-np.abs(x))  # no overflow
    return np.where(x >= 0, 1, small) / (1 + small)


def silu(x):
    return x * sigmoid(x)


def half_split(weight, heads):
    """Rows of q or k as GGUF has them (pairs side by side) in the order of RoPE by halves."""
    rows, columns = weight.shape
    return weight.reshape(heads, rows // heads // 2, 2, columns).swapaxes(1, 2).reshape(rows, columns)


class Delta:
    """The tensors of a delta file; int8 rows times their scale."""

    def __init__(self, path):
        self.file = safe_open(path, framework="numpy")
        self.names = set(self.file.keys())
        self.metadata = self.file.metadata()
        self.raw = _bf16_tensors(path)

    def __getitem__(self, name):
        if name in self.raw:
            return self.raw[name]
        values = self.file.get_tensor(name)
        if name + "_scale" in self.names:
            values = values.astype(np.float32) * self.file.get_tensor(name + "_scale")
        return values.astype(np.float32)


def _bf16_tensors(path):
    """Numpy has no bf16: its 16 bits are the upper half of an f32."""
    import json

    with open(path, "rb") as file:
        length = int.from_bytes(file.read(8), "little")
        header = json.loads(file.read(length))
        tensors = {}
        for name, entry in header.items():
            if name == "__metadata__" or entry["dtype"] != "BF16":
                continue
            begin, end = entry["data_offsets"]
            file.seek(8 + length + begin)
            bits = np.frombuffer(file.read(end - begin), dtype="<u2").astype(np.uint32) << 16
            tensors[name] = bits.view(np.float32).reshape(entry["shape"])
    return tensors


class Model:
    def __init__(self, base, delta, dtype):
        reader = gguf.GGUFReader(base)
        fields = {name: field.contents() for name, field in reader.fields.items() if name.startswith("llama.")}
        tensors = {t.name: gguf.dequantize(t.data, t.tensor_type).astype(np.float32) for t in reader.tensors}
        delta = Delta(delta)
        self.dtype = dtype
        self.L = fields["llama.block_count"]
        self.heads, self.groups = fields["llama.attention.head_count"], fields["llama.attention.head_count_kv"]
        self.epsilon = fields["llama.attention.layer_norm_rms_epsilon"]
        self.embedding = tensors["token_embd.weight"].astype(dtype)
        self.head = tensors.get("output.weight", tensors["token_embd.weight"]).astype(dtype)
        self.final_norm = tensors["output_norm.weight"].astype(dtype)
        e = self.embedding.shape[1] // self.heads
        self.frequencies = (fields["llama.rope.freq_base"] ** (-np.arange(0, e, 2, dtype=np.float64) / e)).astype(np.float32)

        self.sizes = {name: int(delta.metadata[name]) for name in ("K", "N", "K0", "C")}
        self.settings = delta.metadata
        self.bos = delta["bos_embedding"][:, 0].astype(dtype)
        self.positional = delta["new_memory_positional_emb"].reshape(-1).astype(dtype)
        self.vote_weights = delta["vote_weights"].astype(np.float64)
        self.vote_top = int(delta.metadata["vote_top"])
        scale = np.float32(float(delta.metadata["alpha"]) / float(delta.metadata["r"]))

        self.norms, self.retrievers, self.weights = [], [], {"write": [], "read": []}
        for l in range(self.L):
            base_weights = {name: tensors[f"blk.{l}.{there}.weight"] for name, there in GGUF_NAMES.items()}
            base_weights["q"] = half_split(base_weights["q"], self.heads)
            base_weights["k"] = half_split(base_weights["k"], self.groups)
            self.norms.append([tensors[f"blk.{l}.{name}_norm.weight"].astype(dtype) for name in ("attn", "ffn")])
            for adapter, called in ADAPTERS.items():
                merged = {name: weight.astype(dtype) for name, weight in base_weights.items()}
                for name, there in ADAPTED.items():
                    a = delta[f"model.layers.{l}.{there}.lora_A.{called}.weight"].astype(dtype)
                    b = delta[f"model.layers.{l}.{there}.lora_B.{called}.weight"].astype(dtype)
                    merged[name] = merged[name] + scale * (b @ a)
                self.weights[adapter].append(merged)
            self.retrievers.append({
                what: [delta[f"model.layers.{l}.self_attn.{what}_proj.{i}.weight"].astype(dtype) for i in (0, 2)]
                for what in ("query", "key")
            })

    def rms_norm(self, x, weight):
        return x / np.sqrt(np.mean(x * x, axis=-1, keepdims=True) + self.dtype(self.epsilon)) * weight

    def normed(self, l, x):
        return self.rms_norm(x, self.norms[l][0])

    def project(self, l, what, normed):
        first, second = self.retrievers[l][what]
        return silu(normed @ first.T) @ second.T

    def keys(self, l, hidden):
        return self.project(l, "key", self.normed(l, hidden))

    def rope(self, x, positions):  # x [n, heads, e]
        angles = positions.astype(np.float32)[:, None] * self.frequencies[None]
        cos, sin = np.cos(angles).astype(self.dtype)[:, None], np.sin(angles).astype(self.dtype)[:, None]
        low, high = np.split(x, 2, axis=-1)
        return np.concatenate([low * cos - high * sin, high * cos + low * sin], axis=-1)

    def layer(self, l, adapter, rows, queried):
        """Outputs of the last `queried` rows; keys and values come from all of them, positions count from 0."""
        w, n, e = self.weights[adapter][l], len(rows), self.embedding.shape[1] // self.heads
        xn = self.normed(l, rows)
        positions = np.arange(n)
        q = self.rope((xn[-queried:] @ w["q"].T).reshape(queried, self.heads, e), positions[-queried:])
        k = self.rope((xn @ w["k"].T).reshape(n, self.groups, e), positions)
        v = (xn @ w["v"].T).reshape(n, self.groups, e)
        repeat = self.heads // self.groups
        k, v = np.repeat(k, repeat, axis=1), np.repeat(v, repeat, axis=1)
        scores = np.matmul(q.swapaxes(0, 1), k.transpose(1, 2, 0)) / self.dtype(np.sqrt(e))  # [heads, queried, n]
        scores = np.where(positions[None, :] <= positions[-queried:, None], scores, self.dtype(-np.inf))
        scores = np.exp(scores - scores.max(axis=-1, keepdims=True))
        attended = np.matmul(scores / scores.sum(axis=-1, keepdims=True), v.swapaxes(0, 1))
        x = rows[-queried:] + attended.swapaxes(0, 1).reshape(queried, -1) @ w["o"].T
        xn = self.rms_norm(x, self.norms[l][1])
        return x + (silu(xn @ w["gate"].T) * (xn @ w["up"].T)) @ w["down"].T

    def logits(self, x):
        return self.rms_norm(x, self.final_norm) @ self.head.T


class Memory:
    """Hidden states and births of every layer: short-term, oldest first, and long-term."""

    def __init__(self, model):
        self.model, self.updates, self.newest = model, 0, 0
        empty = (np.zeros((0, model.embedding.shape[1]), model.dtype), np.zeros(0, np.int64))
        self.short = [empty] * model.L
        self.long = [empty] * model.L

    def tail(self, l):
        """What the last update wrote: K rows, or fewer while less than that has been read."""
        return self.short[l][0][len(self.short[l][0]) - self.newest :]

    def write(self, tokens, choose_drops):
        """One update. choose_drops(layer, births, count) says which births leave short-term memory; returns them by layer."""
        new = self._written(tokens)
        K, N = self.model.sizes["K"], self.model.sizes["N"]
        last = (self.updates + 1) * K
        dropped = []
        for l, rows in enumerate(new):
            hidden, births = self.short[l]
            count = max(0, len(births) + len(rows) - N)
            drop = np.sort(np.asarray(choose_drops(l, births, count), dtype=np.int64))
            assert len(drop) == count and np.isin(drop, births).all()
            gone = np.isin(births, drop)
            self.long[l] = tuple(np.concatenate([a, b]) for a, b in zip(self.long[l], (hidden[gone], births[gone])))
            kept = (hidden[~gone], births[~gone])
            self.short[l] = tuple(np.concatenate([a, b]) for a, b in zip(kept, (rows, np.arange(last - len(rows), last))))
            dropped.append(drop)
        self.updates, self.newest = self.updates + 1, len(new[0])
        return np.stack(dropped)

    def _written(self, tokens):
        model, T, K = self.model, len(tokens), self.model.sizes["K"]
        x = model.embedding[tokens]
        new = []
        for l in range(model.L):
            tail = self.tail(l)
            made = min(K, len(tail) + T)
            rows = np.concatenate([model.bos[l][None], tail, x])
            rows[-made:] += model.positional
            y = model.layer(l, "write", rows, max(T, made))
            new.append(y[-made:])
            x = y[-T:]
        return new


def read(model, tokens, rows_of):
    """Final states [T, d]. rows_of(layer, normed input) gives the hidden states that stand between bos and the tokens."""
    x = model.embedding[tokens]
    for l in range(model.L):
        rows = np.concatenate([model.bos[l][None], rows_of(l, model.normed(l, x)), x])
        x = model.layer(l, "read", rows, len(tokens))
    return x


def scores_of(model, l, normed, hidden):
    """Mean over the question's tokens of sigmoid(query · key), of each row."""
    queries = model.project(l, "query", normed)
    return sigmoid(queries @ model.keys(l, hidden).T).mean(axis=0).astype(np.float64)


def standardised(values):
    values = np.asarray(values, np.float64)
    return (values - values.mean()) / (values.std() + 1e-6)


class Votes:
    """The layers' votes on chunks, from births and scores of each layer."""

    def __init__(self, births, scores, K, weights, top):
        self.K, self.births, self.scores = K, births, scores
        self.votes, total = {}, 0.0
        for l, weight in enumerate(weights):
            total += weight
            chunks = births[l] // K
            present = np.unique(chunks)
            if len(present) == 0:
                continue
            means = [np.sort(scores[l][chunks == u])[::-1][: top or None].mean() for u in present]
            for u, z in zip(present, standardised(means)):
                self.votes[int(u)] = self.votes.get(int(u), 0.0) + weight * z
        self.votes = {u: vote / total for u, vote in self.votes.items()}

    def with_prior(self, prior, weight=1.0):
        chunks = sorted(self.votes)
        total = standardised([self.votes[u] for u in chunks]) + weight * standardised([prior[u] for u in chunks])
        self.votes = dict(zip(chunks, total.tolist()))
        return self

    def order(self):
        return sorted(self.votes, key=lambda u: (-self.votes[u], u))

    def behind(self, chunk):
        votes = np.array(list(self.votes.values()))
        distance = votes.max() - self.votes[chunk]
        return distance / votes.std() if distance > 0 else 0.0

    def leaders(self, margin):
        return [u for u in self.order() if self.behind(u) <= margin]

    def take(self, l, order, most):
        """Numbers of rows of layer l: of the first chunk, of the next, …; the last one gives its best-scored."""
        taken = []
        for chunk in order:
            rows = np.flatnonzero(self.births[l] // self.K == chunk)
            taken += best(self.scores[l], self.births[l], rows)[: most - len(taken)].tolist()
        return np.array(taken, dtype=np.int64)


def best(scores, births, rows):
    """These rows, best score first; of equal scores the older."""
    return rows[np.lexsort((births[rows], -scores[rows]))]
