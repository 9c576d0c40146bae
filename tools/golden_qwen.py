#!/usr/bin/env python3
"""Makes tests/data/golden/qwen: tiny random Qwen2 and Qwen3 models, and what `transformers` computes with them.

    golden_qwen.py FOLDER          (needs torch, transformers, gguf: PyPI; written with 2.15.0, 5.22.2, 0.19.0)

Four models: Hugging Face folders of both kinds in float32, and a GGUF of each in K-quants, whose blocks are random bytes
with scales of a size; transformers gets the same numbers dequantised. Float32 on a CPU. The tolerance is ten times what
float64 changes, at least 2e-4. A greedy run is cut before its first near-tie.
"""
import json
import pathlib
import shutil
import sys

import gguf
import numpy
import torch
import transformers
from safetensors.torch import save_file

TOKENS, STEPS, LEAST_GAP = 40, 12, 0.005
SMALL = dict(num_hidden_layers=2, hidden_size=48, num_attention_heads=4, num_key_value_heads=2, intermediate_size=80,
             vocab_size=160, max_position_embeddings=512, rms_norm_eps=1e-6, rope_theta=1e6, bos_token_id=3, eos_token_id=4)
WIDE = SMALL | dict(num_hidden_layers=1, hidden_size=256, intermediate_size=256, vocab_size=96)
# What a block's numbers of 16 bits are, so that weights come out at about 0.1.
SCALES = {"Q4_K": {0: 3e-4, 2: 2.3e-3}, "Q5_K": {0: 1.5e-4, 2: 2.3e-3}, "Q6_K": {208: 8e-5}, "Q5_0": {0: 8e-3},
          "Q5_1": {0: 5e-3, 2: -8e-2}}
TYPES = {  # of the GGUFs' matrices; cols that are no multiple of 256 take blocks of 32, as converters do
    "qwen2": {"token_embd": "Q4_K", "output": "Q6_K", "attn_q": "Q4_K", "attn_k": "Q4_K", "attn_v": "Q6_K",
              "attn_output": "Q4_K", "ffn_gate": "Q4_K", "ffn_up": "Q5_K", "ffn_down": "Q6_K"},
    "qwen3": {"token_embd": "Q6_K", "attn_q": "Q5_K", "attn_k": "Q6_K", "attn_v": "Q4_K", "attn_output": "Q5_0",
              "ffn_gate": "Q5_K", "ffn_up": "Q4_K", "ffn_down": "Q6_K"}}
NAMES = {"model.embed_tokens": "token_embd", "lm_head": "output", "model.norm": "output_norm",
         "self_attn.q_proj": "attn_q", "self_attn.k_proj": "attn_k", "self_attn.v_proj": "attn_v",
         "self_attn.o_proj": "attn_output", "self_attn.q_norm": "attn_q_norm", "self_attn.k_norm": "attn_k_norm",
         "mlp.gate_proj": "ffn_gate", "mlp.up_proj": "ffn_up", "mlp.down_proj": "ffn_down",
         "input_layernorm": "attn_norm", "post_attention_layernorm": "ffn_norm"}


def make(kind, sizes, seed, **more):
    torch.manual_seed(seed)
    sizes = dict(sizes)
    theta = sizes.pop("rope_theta")
    config = getattr(transformers, f"{kind}Config")(
        **sizes, **more, rope_parameters={"rope_type": "default", "rope_theta": theta}, attn_implementation="eager")
    model = getattr(transformers, f"{kind}ForCausalLM")(config).eval()
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            noise = torch.randn(parameter.shape)
            if name.endswith("norm.weight"):
                parameter.copy_(1 + 0.2 * noise)
            else:
                parameter.copy_(noise * (0.5 if name.endswith("bias") else 0.15))
    return model


def gguf_name(name):
    stem, _, ending = name.rpartition(".")
    if stem.startswith("model.layers."):
        layer, _, stem = stem.removeprefix("model.layers.").partition(".")
        return f"blk.{layer}.{NAMES[stem]}.{ending}"
    return f"{NAMES[stem]}.{ending}"


def random_blocks(kind, shape, random):
    quant = gguf.GGMLQuantizationType[kind]
    elements, size = gguf.GGML_QUANT_SIZES[quant]
    blocks = random.integers(0, 256, (shape[0], shape[1] // elements, size), dtype=numpy.uint8)
    for at, scale in SCALES[kind].items():
        values = (scale * random.uniform(0.5, 1.5, blocks.shape[:2])).astype("<f2")
        blocks[:, :, at:at + 2] = values.view(numpy.uint8).reshape(*blocks.shape[:2], 2)
    return blocks.reshape(shape[0], -1), quant


def quantise(model, architecture, path, seed):
    """Replaces the model's matrices by random blocks, and writes them."""
    random = numpy.random.default_rng(seed)
    c = model.config
    writer = gguf.GGUFWriter(path, architecture)
    writer.add_block_count(c.num_hidden_layers)
    writer.add_context_length(c.max_position_embeddings)
    writer.add_embedding_length(c.hidden_size)
    writer.add_feed_forward_length(c.intermediate_size)
    writer.add_head_count(c.num_attention_heads)
    writer.add_head_count_kv(c.num_key_value_heads)
    writer.add_rope_freq_base(c.rope_parameters["rope_theta"])
    writer.add_layer_norm_rms_eps(c.rms_norm_eps)
    if architecture == "qwen3":
        writer.add_key_length(c.head_dim)
        writer.add_value_length(c.head_dim)
    with torch.no_grad():
        for name, parameter in model.named_parameters():  # a tied head is not among them
            to = gguf_name(name)
            part = to.removesuffix(".weight").rpartition(".")[2]
            if parameter.dim() == 1:
                writer.add_tensor(to, parameter.numpy().astype(numpy.float32))
                continue
            data, quant = random_blocks(TYPES[architecture][part], parameter.shape, random)
            parameter.copy_(torch.from_numpy(gguf.quants.dequantize(data, quant).copy()))
            writer.add_tensor(to, data, raw_dtype=quant)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


@torch.no_grad()
def run(model, tokens, greedy=None):
    """Logits of the tokens, and of greedy decoding (or of the tokens given)."""
    logits = model(torch.tensor([tokens])).logits[0]
    chosen, gaps, rows, sequence, last = [], [], [], list(tokens), logits[-1]
    for step in range(STEPS if greedy is None else len(greedy)):
        best = last.topk(2)
        gaps.append(float(best.values[0] - best.values[1]))
        chosen.append(int(best.indices[0]) if greedy is None else greedy[step])
        sequence.append(chosen[-1])
        last = model(torch.tensor([sequence])).logits[0, -1]
        rows.append(last)
    sure = next((i for i, gap in enumerate(gaps) if gap < LEAST_GAP), len(gaps))
    return logits, chosen[:sure], rows[:sure]


def main():
    folder = pathlib.Path(sys.argv[1])
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    models = {"qwen2": make("Qwen2", SMALL, 1, tie_word_embeddings=False),
              "qwen3": make("Qwen3", SMALL, 2, head_dim=24, tie_word_embeddings=True),
              "qwen2.gguf": make("Qwen2", WIDE, 3, tie_word_embeddings=False),
              "qwen3.gguf": make("Qwen3", WIDE, 4, head_dim=32, tie_word_embeddings=True)}
    expected, reads, noise, scale = {}, [], 0.0, 0.0
    random = numpy.random.default_rng(5)
    for name, model in models.items():
        if name.endswith(".gguf"):
            quantise(model, name.removesuffix(".gguf"), folder / name, seed=6)
        else:
            model.save_pretrained(folder / name)
            (folder / name / "generation_config.json").unlink(missing_ok=True)
        for T in (TOKENS, 1):
            tokens = random.integers(5, model.config.vocab_size, T).tolist()
            logits, greedy, rows = run(model, tokens)
            assert greedy, "a near-tie at the first token: take another seed"
            exact, _, exact_rows = run(model.double(), tokens, greedy)
            model.float()
            every, every_exact = torch.cat([logits, torch.stack(rows)]), torch.cat([exact, torch.stack(exact_rows)])
            noise = max(noise, float((every - every_exact).abs().max()))
            scale = max(scale, float(every.abs().max()))
            label = f"{name}.T{T}"
            expected[label + ".logits"] = logits.contiguous()
            expected[label + ".gen_logits"] = torch.stack(rows).contiguous()
            reads.append({"name": label, "model": name, "tokens": tokens, "T": T, "greedy": greedy})
    save_file(expected, folder / "expected.safetensors")
    case = {"case": "decoder", "reads": reads, "observed_noise": {"float64": {"logits": noise}}, "scale": {"logits": scale},
            "tolerance": {"logits": max(2e-4, 10 * noise)}}
    (folder / "case.json").write_text(json.dumps(case) + "\n")
    print(f"noise {noise:.3g}, scale {scale:.3g}, greedy {[len(r['greedy']) for r in reads]}")


if __name__ == "__main__":
    main()
