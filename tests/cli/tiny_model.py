"""Writes a Llama of two layers with SmolLM2's tokenizer, or the first words of it, and a delta for it: a Hugging Face
folder `base` and a file `delta.safetensors`. The weights are noise, always the same."""
import json
import random
import struct

LAYERS, HIDDEN, HEADS, KV_HEADS, HEAD, FFN, VOCAB = 2, 32, 2, 1, 16, 64, 49152
FEW = 4096  # of its tokens. Reading all of them is most of what a start of the program does, and tests start it often
K, N, K0, M, C, W, RETRIEVER, RANK = 8, 32, 16, 153600, 32, 64, 8, 4
SPECIAL_TOKENS = 17  # the first ids; their rows are zero, so that noise does not end every text at once


class Noise:
    def __init__(self, seed):
        self.random = random.Random(seed)
        # The upper byte of a bf16 in ±[2^-5, 2^-3).
        self.upper = bytes([0x3d, 0xbd][i & 1] for i in range(256))

    def bf16(self, *shape, zero_rows=0):
        n = 1
        for dim in shape:
            n *= dim
        data = bytearray(2 * n)
        data[0::2] = self.random.randbytes(n)
        data[1::2] = self.random.randbytes(n).translate(self.upper)
        zeros = 2 * zero_rows * (n // shape[0])
        data[:zeros] = bytes(zeros)
        return "BF16", list(shape), bytes(data)


def ones(n):
    return "BF16", [n], b"\x80\x3f" * n


def write_safetensors(path, tensors, metadata):
    header, at, body = {"__metadata__": metadata}, 0, []
    for name, (dtype, shape, data) in sorted(tensors.items(), key=lambda item: (item[1][0] == "U8", item[0])):  # aligned
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [at, at + len(data)]}
        at += len(data)
        body.append(data)
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    path.write_bytes(struct.pack("<Q", len(text)) + text + b"".join(body))


def projections():
    yield "self_attn.q_proj", HEADS * HEAD, HIDDEN
    yield "self_attn.k_proj", KV_HEADS * HEAD, HIDDEN
    yield "self_attn.v_proj", KV_HEADS * HEAD, HIDDEN
    yield "mlp.gate_proj", FFN, HIDDEN
    yield "mlp.up_proj", FFN, HIDDEN
    yield "mlp.down_proj", HIDDEN, FFN


def write_tokenizer(source, target, vocabulary):
    """The first tokens: those that are not merged, and the first merges, whose results have ids in their order."""
    tokenizer = json.loads(source.read_text())
    model = tokenizer["model"]
    model["merges"] = model["merges"][:len(model["merges"]) - (len(model["vocab"]) - vocabulary)]
    model["vocab"] = {token: number for token, number in model["vocab"].items() if number < vocabulary}
    target.write_text(json.dumps(tokenizer, ensure_ascii=False))


def write_base(folder, tokenizer_folder, vocabulary=VOCAB):
    folder.mkdir()
    write_tokenizer(tokenizer_folder / "tokenizer.json", folder / "tokenizer.json", vocabulary)
    noise = Noise(1)
    tensors = {"model.embed_tokens.weight": noise.bf16(vocabulary, HIDDEN, zero_rows=SPECIAL_TOKENS),
               "model.norm.weight": ones(HIDDEN)}
    for layer in range(LAYERS):
        prefix = f"model.layers.{layer}."
        for name, rows, columns in projections():
            tensors[prefix + name + ".weight"] = noise.bf16(rows, columns)
        tensors[prefix + "self_attn.o_proj.weight"] = noise.bf16(HIDDEN, HEADS * HEAD)
        tensors[prefix + "input_layernorm.weight"] = ones(HIDDEN)
        tensors[prefix + "post_attention_layernorm.weight"] = ones(HIDDEN)
    write_safetensors(folder / "model.safetensors", tensors, {"format": "pt"})
    (folder / "config.json").write_text(json.dumps({
        "architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_act": "silu",
        "num_hidden_layers": LAYERS, "hidden_size": HIDDEN, "num_attention_heads": HEADS,
        "num_key_value_heads": KV_HEADS, "head_dim": HEAD, "intermediate_size": FFN, "vocab_size": vocabulary,
        "max_position_embeddings": 512, "rms_norm_eps": 1e-5, "rope_theta": 10000.0, "tie_word_embeddings": True,
        "bos_token_id": 1, "eos_token_id": 2, "torch_dtype": "bfloat16"}))


def write_delta(path, memory_layers=None):
    """`memory_layers`: those that keep a memory, if not all do."""
    noise = Noise(2)
    tensors = {"bos_embedding": noise.bf16(LAYERS, 1, HIDDEN), "new_memory_positional_emb": noise.bf16(1, 1, HIDDEN)}
    for layer in range(LAYERS):
        prefix = f"model.layers.{layer}."
        for name, rows, columns in projections():
            for adapter in ("default", "decoder_adapter"):
                tensors[f"{prefix}{name}.lora_A.{adapter}.weight"] = noise.bf16(RANK, columns)
                tensors[f"{prefix}{name}.lora_B.{adapter}.weight"] = noise.bf16(rows, RANK)
        for head in ("query_proj", "key_proj"):
            retriever = {f"{prefix}self_attn.{head}.0.weight": noise.bf16(2 * RETRIEVER, HIDDEN),
                         f"{prefix}self_attn.{head}.2.weight": noise.bf16(RETRIEVER, 2 * RETRIEVER)}
            if memory_layers is None or layer in memory_layers:
                tensors |= retriever
    sizes = {"K": K, "N": N, "K0": K0, "M": M, "C": C, "W": W, "d_r": RETRIEVER, "r": RANK, "alpha": 8}
    words = {"recall": "consensus", "prompt": "Question: {q}\\nAnswer:", "stop": "\\n", "chunk_form": "filled",
             "chat_trained": "false", "base": "tiny"}
    if memory_layers is not None:
        words["memory_layers"] = ",".join(map(str, memory_layers))
    write_safetensors(path, tensors, {key: str(value) for key, value in sizes.items()} | words)


def write(folder, tokenizer_folder, vocabulary=VOCAB):
    write_base(folder / "base", tokenizer_folder, vocabulary)
    write_delta(folder / "delta.safetensors")
