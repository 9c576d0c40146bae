#!/usr/bin/env python3
"""Writes a model of random bf16 weights in the published layout, for measuring speed where no such model can be brought.

usage: random_model.py FOLDER TOKENIZER [--layers 32] [--memory] [--tiny]

FOLDER gets config.json, model.safetensors and a copy of TOKENIZER (a tokenizer.json of at most 128,256 tokens). The sizes are
those of the 8B model of the paper. --memory adds the N = 10,240 hidden states a published checkpoint starts with. --tiny is a
model of the same layout that is made in a moment, to try the program itself. Needs numpy and room for 16 GB (19 with --memory).
"""
import argparse
import json
import shutil
import struct
from pathlib import Path

import numpy

PATTERN = 1 << 24  # random values that repeat


def sizes(tiny, layers):
    if tiny:
        return dict(d=128, heads=4, kv=2, e=32, ffn=256, vocab=49152, layers=2, K=16, blocks=10, ltm_blocks=2, d_r=32, r=4)
    return dict(d=4096, heads=32, kv=8, e=128, ffn=14336, vocab=128256, layers=layers, K=256, blocks=50, ltm_blocks=10, d_r=256,
                r=16)


def config(s):
    return {
        "architectures": ["MPlus"], "model_type": "memoryllm", "hidden_size": s["d"], "intermediate_size": s["ffn"],
        "num_attention_heads": s["heads"], "num_key_value_heads": s["kv"], "head_dim": s["e"], "num_hidden_layers": s["layers"],
        "vocab_size": s["vocab"], "rms_norm_eps": 1e-5, "rope_theta": 500000.0, "max_position_embeddings": 131072,
        "hidden_act": "silu", "tie_word_embeddings": False, "attention_bias": False, "mlp_bias": False, "torch_dtype": "bfloat16",
        "bos_token_id": 1, "eos_token_id": 2, "num_tokens": s["K"], "num_blocks": s["blocks"], "num_ltm_blocks": s["ltm_blocks"],
        "num_memory_tokens": s["K"] * s["blocks"], "add_bos_embedding": True, "add_decoder_lora": True, "drop_memory_per_layer": True,
        "lora_config": {"r": s["r"], "lora_alpha": 2 * s["r"], "lora_dropout": 0.0, "inference_mode": False,
                        "target_modules": ["q_proj", "v_proj", "k_proj", "up_proj", "down_proj", "gate_proj"]},
        "add_selector": True, "selector_hidden_dim": s["d_r"], "num_selector_layers": 2, "add_encoder_retriever": True,
        "selector_layers": list(range(s["layers"])), "update_ltm_mode": "immediate", "maintain_memory_keys": False,
        "map_from_hidden_states": True, "detach_hidden_state": True, "ltm_initial_size": 0,
        "initial_rf_when_moving_stm_to_ltm": 10, "decay_frequency": 1, "update_ltm_frequency": 60,
    }


def tensors(s, memory):
    """name, shape; a name that ends in "norm.weight" is filled with ones."""
    d, q, kv = s["d"], s["heads"] * s["e"], s["kv"] * s["e"]
    yield "model.embed_tokens.weight", [s["vocab"], d]
    yield "lm_head.weight", [s["vocab"], d]
    yield "model.norm.weight", [d]
    yield "bos_embedding", [s["layers"], 1, d]
    yield "new_memory_positional_emb", [1, 1, d]
    if memory:
        yield "memory", [s["layers"], s["K"] * (s["blocks"] - s["ltm_blocks"]), d]
    projections = {"self_attn.q_proj": (q, d), "self_attn.k_proj": (kv, d), "self_attn.v_proj": (kv, d),
                   "mlp.gate_proj": (s["ffn"], d), "mlp.up_proj": (s["ffn"], d), "mlp.down_proj": (d, s["ffn"])}
    for layer in range(s["layers"]):
        prefix = f"model.layers.{layer}."
        yield prefix + "input_layernorm.weight", [d]
        yield prefix + "post_attention_layernorm.weight", [d]
        yield prefix + "self_attn.o_proj.weight", [d, q]
        for name, (rows, cols) in projections.items():
            yield f"{prefix}{name}.base_layer.weight", [rows, cols]
            for adapter in ("default", "decoder_adapter"):
                yield f"{prefix}{name}.lora_A.{adapter}.weight", [s["r"], cols]
                yield f"{prefix}{name}.lora_B.{adapter}.weight", [rows, s["r"]]
        for head in ("query_proj", "key_proj", "encoder_query_proj"):
            yield f"{prefix}self_attn.{head}.0.weight", [2 * s["d_r"], d]
            yield f"{prefix}self_attn.{head}.2.weight", [s["d_r"], 2 * s["d_r"]]


def as_bf16(values):
    bits = values.astype("<f4").view("<u4")
    return ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype("<u2")


def write(path, listed, scale):
    header, at = {}, 0
    for name, shape in listed:
        size = 2 * int(numpy.prod(shape))
        header[name] = {"dtype": "BF16", "shape": shape, "data_offsets": [at, at + size]}
        at += size
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 64)
    pattern = as_bf16(numpy.random.default_rng(7).standard_normal(PATTERN, dtype="f4") * scale)
    begin = 0
    with open(path, "wb", buffering=0) as file:
        file.write(struct.pack("<Q", len(text)) + text)
        for name, shape in listed:
            left = int(numpy.prod(shape))
            if name.endswith("norm.weight"):
                file.write(as_bf16(numpy.ones(left, dtype="f4")).tobytes())
                continue
            while left > 0:
                begin = (begin + 104729) % (PATTERN // 2)
                part = pattern[begin:begin + left]
                file.write(part.data)
                left -= len(part)


def main():
    parser = argparse.ArgumentParser(usage=__doc__.split("usage: ")[1].split("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("tokenizer", type=Path)
    parser.add_argument("--layers", type=int, default=32)
    parser.add_argument("--memory", action="store_true")
    parser.add_argument("--tiny", action="store_true")
    options = parser.parse_args()
    s = sizes(options.tiny, options.layers)
    options.folder.mkdir(parents=True, exist_ok=True)
    (options.folder / "config.json").write_text(json.dumps(config(s), indent=1))
    shutil.copy(options.tokenizer, options.folder / "tokenizer.json")
    write(options.folder / "model.safetensors", list(tensors(s, options.memory)), 0.5 / s["d"] ** 0.5)
    print(options.folder, round((options.folder / "model.safetensors").stat().st_size / 1e9, 2), "GB")


if __name__ == "__main__":
    main()
