#!/usr/bin/env python3
"""Writes the seed corpora under tests/fuzz/corpus: tiny files of each format, valid and nearly so; those of a memory's
files come from make_memory_corpus.py, which needs the program.

Run it again after a format changes; findings of the fuzzer that were fixed are kept beside the seeds under their own
names (finding_*), which this script leaves alone."""
import io
import json
import lzma
import pathlib
import struct
import zipfile

here = pathlib.Path(__file__).resolve().parent
data = here.parent / "data"


def write(target, name, content):
    folder = here / "corpus" / target
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_bytes(content if isinstance(content, bytes) else content.encode())


def safetensors(header, body, length=None):
    text = header if isinstance(header, bytes) else json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    return struct.pack("<Q", len(text) if length is None else length) + text + body


def entry(dtype, shape, begin, end):
    return {"dtype": dtype, "shape": shape, "data_offsets": [begin, end]}


def safetensors_seeds():
    body = bytes(range(32))
    types = {"F32": 4, "F16": 2, "BF16": 2, "I64": 8, "I32": 4, "I8": 1, "U8": 1, "BOOL": 1}
    for name, size in types.items():
        write("safetensors", name.lower(), safetensors({"t": entry(name, [2, 1], 0, 2 * size)}, body[: 2 * size]))
    layer = "model.layers.0.self_attn."
    metadata = {"K": "2", "N": "4", "K0": "2", "M": "8", "C": "4", "W": "8", "d_r": "2", "r": "1", "alpha": "2",
                "recall": "consensus", "prompt": "Q: {q}\\nA:", "stop": "\\n", "chat_trained": "false", "base": "x"}
    delta = {"__metadata__": metadata,
             "bos_embedding": entry("BF16", [1, 1, 2], 0, 4),
             layer + "q_proj.lora_A.default.weight": entry("I8", [1, 2], 4, 6),
             layer + "q_proj.lora_A.decoder_adapter.weight": entry("I8", [1, 2], 6, 8),
             layer + "key_proj.2.weight": entry("I8", [2, 4], 8, 16)}
    write("safetensors", "delta", safetensors(delta, body[:16]))
    write("safetensors", "delta_broken", safetensors(dict(delta, __metadata__=dict(metadata, K="x")), body[:16]))
    write("safetensors", "empty", safetensors({}, b""))
    write("safetensors", "no_elements", safetensors({"t": entry("F32", [3, 0], 0, 0)}, b""))
    write("safetensors", "scalar", safetensors({"t": entry("F32", [], 0, 4)}, body[:4]))
    write("safetensors", "overlap",
          safetensors({"a": entry("I8", [8], 0, 8), "b": entry("I8", [8], 4, 12)}, body[:12]))
    write("safetensors", "gap", safetensors({"a": entry("I8", [8], 0, 8), "b": entry("I8", [4], 12, 16)}, body[:16]))
    write("safetensors", "product", safetensors({"t": entry("F32", [2**32, 2**30], 0, 0)}, b""))
    write("safetensors", "twice", safetensors(b'{"t":{"dtype":"I8","shape":[0],"data_offsets":[0,0]},"t":{}}', b""))
    write("safetensors", "length", safetensors({}, b"", 2**62))
    write("safetensors", "deep", safetensors(b'{"t":' + b"[" * 80, b""))


def gguf_text(text):
    raw = text.encode()
    return struct.pack("<Q", len(raw)) + raw


def gguf_value(value):
    if isinstance(value, bool):
        return struct.pack("<I?", 7, value)
    if isinstance(value, int):
        return struct.pack("<Ii" if value < 0 else "<II", 5 if value < 0 else 4, value)
    if isinstance(value, float):
        return struct.pack("<If", 6, value)
    if isinstance(value, str):
        return struct.pack("<I", 8) + gguf_text(value)
    if value and isinstance(value[0], str):
        return struct.pack("<IIQ", 9, 8, len(value)) + b"".join(gguf_text(v) for v in value)
    if value and isinstance(value[0], float):
        return struct.pack(f"<IIQ{len(value)}f", 9, 6, len(value), *value)
    return struct.pack(f"<IIQ{len(value)}i", 9, 5, len(value), *value)


def gguf(pairs, tensors, version=3, tensor_count=None, pair_count=None):
    out = b"GGUF" + struct.pack("<IQQ", version, len(tensors) if tensor_count is None else tensor_count,
                                len(pairs) if pair_count is None else pair_count)
    for key, value in pairs.items():
        out += gguf_text(key) + gguf_value(value)
    body = b""
    for name, (kind, dims, content) in tensors.items():
        body += b"\0" * (-len(body) % 32)
        out += gguf_text(name) + struct.pack(f"<I{len(dims)}QIQ", len(dims), *dims, kind, len(body))
        body += content
    return out + b"\0" * (-len(out) % 32) + body


def byte_alphabet():
    """The 256 characters that stand for bytes in byte-level BPE."""
    kept = [*range(33, 127), *range(161, 173), *range(174, 256)]
    other = iter(range(256, 512))
    return [chr(b) if b in kept else chr(next(other)) for b in range(256)]


def gguf_seeds():
    shape = {"general.architecture": "llama", "llama.block_count": 1, "llama.context_length": 32,
             "llama.embedding_length": 32, "llama.feed_forward_length": 32, "llama.attention.head_count": 2,
             "llama.attention.head_count_kv": 1, "llama.rope.freq_base": 10000.0, "llama.rope.dimension_count": 16,
             "llama.attention.layer_norm_rms_epsilon": 1e-5}
    weights = {"token_embd.weight": (8, [32, 2], bytes(68)), "blk.0.attn_q.weight": (3, [32, 2], bytes(40)),
               "blk.0.attn_k.weight": (2, [32, 2], bytes(36)), "output_norm.weight": (0, [32], bytes(128))}
    tokens = ["<|endoftext|>", *byte_alphabet(), "te", "tex"]
    words = {"tokenizer.ggml.model": "gpt2", "tokenizer.ggml.pre": "smollm", "tokenizer.ggml.tokens": tokens,
             "tokenizer.ggml.token_type": [3] + [1] * (len(tokens) - 1), "tokenizer.ggml.merges": ["t e", "te x"],
             "tokenizer.ggml.bos_token_id": 0, "tokenizer.ggml.eos_token_id": 0,
             "tokenizer.ggml.add_bos_token": False}
    divisors = struct.pack("<8f", *([1.0] * 8))
    write("gguf", "llama", gguf(shape, weights))
    write("gguf", "llama_v2", gguf(shape, weights, version=2))
    write("gguf", "tokenizer", gguf({**shape, **words}, weights))
    write("gguf", "rope_freqs", gguf(shape, {**weights, "rope_freqs.weight": (0, [8], divisors)}))
    for name, kind, size in (("f32", 0, 128), ("f16", 1, 64), ("q4_0", 2, 18), ("q4_1", 3, 20), ("q8_0", 8, 34),
                             ("i8", 24, 32), ("i32", 26, 128), ("i64", 27, 256), ("bf16", 30, 64), ("q5_0", 6, 22),
                             ("q5_1", 7, 24)):
        write("gguf", name, gguf({}, {"t": (kind, [32], bytes(size))}))
    for name, kind, size in (("q4_k", 12, 144), ("q5_k", 13, 176), ("q6_k", 14, 210)):
        write("gguf", name, gguf({}, {"t": (kind, [256], bytes(size))}))
    write("gguf", "part_of_q6_k", gguf({}, {"t": (14, [32], bytes(210))}))
    for kind, more in (("qwen2", ("attn_q.bias", "attn_k.bias", "attn_v.bias")),
                       ("qwen3", ("attn_q_norm.weight", "attn_k_norm.weight"))):
        write("gguf", kind, gguf({key.replace("llama.", kind + "."): kind if value == "llama" else value
                                  for key, value in shape.items()},
                                 {**weights, **{f"blk.0.{name}": (0, [32], bytes(128)) for name in more}}))
    write("gguf", "alignment", gguf({"general.alignment": 64}, {}))
    write("gguf", "values", gguf({"i": -1, "f": 0.5, "b": True, "s": "x", "is": [1, 2], "fs": [1.0], "ss": ["a"]}, {}))
    write("gguf", "tensor_count", gguf({}, {}, tensor_count=2**60))
    write("gguf", "pair_count", gguf({}, {}, pair_count=2**60))
    write("gguf", "string", gguf({}, {}, pair_count=1)[:24] + struct.pack("<Q", 2**62))
    write("gguf", "product", gguf({}, {"t": (0, [2**62, 4], b"")}))


def tokenizer_seeds():
    real = json.loads((data / "tokenizers" / "tokenizer.json").read_text())
    alphabet = byte_alphabet()
    vocabulary = {"<|endoftext|>": 0, "<|im_end|>": 1, **{c: i + 2 for i, c in enumerate(alphabet)}, "te": 258, "tex": 259}
    small = dict(real, added_tokens=[dict(real["added_tokens"][0], id=i, content=c)
                                     for c, i in list(vocabulary.items())[:2]],
                 model=dict(real["model"], vocab=vocabulary, merges=["t e", "te x"]))

    def seed(name, **changes):
        write("tokenizer", name, json.dumps({**small, **changes}, separators=(",", ":"), ensure_ascii=False))

    seed("smollm2")
    seed("pairs", model=dict(small["model"], merges=[["t", "e"], ["te", "x"]]))
    seed("ignore_merges", model=dict(small["model"], ignore_merges=True))
    seed("llama3", pre_tokenizer={"type": "Sequence", "pretokenizers": [
        {"type": "Split", "behavior": "Isolated", "invert": False, "pattern": {"Regex":
            "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}{1,3}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*"
            "|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"}},
        {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": False}]})
    seed("nfc", normalizer={"type": "NFC"})
    seed("plain_added", added_tokens=[dict(small["added_tokens"][0], special=False)])
    seed("no_merges", model=dict(small["model"], merges=[]))
    seed("merge_of_nothing", model=dict(small["model"], merges=["q q"]))
    seed("ids_with_a_gap", model=dict(small["model"], vocab={"a": 0, "b": 2**31}, merges=[]))
    seed("wordpiece", model={"type": "WordPiece", "vocab": {}})
    seed("no_model", model=None)
    write("tokenizer", "with_text", json.dumps(small, separators=(",", ":")).encode() + b"\xffsome text\n\n  12345 \xc3\xa9")
    write("tokenizer", "twice", '{"model":{},"model":{}}')


def config_seeds():
    for name in ("mplus_read", "mplus_sequence", "memoryllm_read"):
        write("config", name, (data / "golden" / name / "model" / "config.json").read_bytes())
    write("config", "llama3", (data / "golden" / "llama3_rope" / "model_tied" / "config.json").read_bytes())
    write("config", "smollm2", (data / "tokenizers" / "config.json").read_bytes())
    least = {"num_hidden_layers": 1, "hidden_size": 2, "num_attention_heads": 1, "intermediate_size": 1, "vocab_size": 1}
    write("config", "least", json.dumps(least))
    for kind in ("qwen2", "qwen3"):
        write("config", kind, json.dumps({**least, "model_type": kind, "use_sliding_window": False}))
    write("config", "rope_parameters", json.dumps({**least, "rope_parameters": {"rope_theta": 1e6, "rope_type": "default"}}))
    write("config", "lists", json.dumps({**least, "eos_token_id": [1, 2], "num_tokens": 1, "num_blocks": 2}))
    write("config", "twice", '{"hidden_size":1,"hidden_size":2}')
    write("config", "large", json.dumps({**least, "hidden_size": 2**63}))


def shards_seeds():
    body = b"ab"
    shard = safetensors({"a": entry("I8", [2], 0, 2)}, body)

    def seed(name, weight_map, content=shard):
        write("shards", name, json.dumps({"metadata": {"total_size": 4}, "weight_map": weight_map}).encode() + b"\xff" + content)

    seed("two", {"a": "1.safetensors", "c": "2.safetensors"})
    seed("one", {"c": "2.safetensors"})
    seed("missing", {"a": "3.safetensors"})
    seed("elsewhere", {"a": "../1.safetensors"})
    seed("folder", {"a": "folder"})
    seed("itself", {"a": "."})
    seed("misplaced", {"a": "2.safetensors", "c": "1.safetensors"})
    seed("cut", {"a": "1.safetensors"}, shard[:-1])
    write("shards", "no_map", b"{}")


def llama2c_seeds():
    def model(dim, hidden, layers, heads, kv_heads, vocab, context):
        d, kv = dim, dim // heads * kv_heads
        count = abs(vocab) * d * (1 if vocab > 0 else 2) + layers * (2 * d + 2 * d * d + 2 * kv * d + 3 * hidden * d) + d
        count += context * (dim // heads)
        return b"\0" + struct.pack("<7i", dim, hidden, layers, heads, kv_heads, vocab, context) + bytes(4 * count)

    def vocabulary(pieces, longest=8):
        return bytes([len(pieces)]) + struct.pack("<i", longest) + b"".join(
            struct.pack("<fi", 0.5, len(p)) + p for p in pieces)

    write("llama2c", "model", model(4, 4, 1, 2, 1, 4, 2))
    write("llama2c", "untied", model(4, 2, 2, 1, 1, -4, 2))
    write("llama2c", "cut", model(4, 4, 1, 2, 1, 4, 2)[:-4])
    write("llama2c", "large", b"\0" + struct.pack("<7i", 2**20, 2**22, 2**12, 1, 1, 2**24, 2**20))
    write("llama2c", "vocabulary", vocabulary([b"<unk>", b"<s>", b"</s>", b"<0x0A>", b" a", b""]))
    write("llama2c", "too_long", vocabulary([b"a"], longest=0))
    write("llama2c", "cut_vocabulary", vocabulary([b"abc"])[:-1])


def chat_template_seeds():
    chatml = ("{% for message in messages %}{% if loop.first and messages[0]['role'] != 'system' %}{{ "
              "'<|im_start|>system\\nYou are kind<|im_end|>\\n' }}{% endif %}{{'<|im_start|>' + message['role'] + '\\n' + "
              "message['content'] + '<|im_end|>' + '\\n'}}{% endfor %}")
    llama3 = "{{ '<|start_header_id|>' + role + '<|end_header_id|>\n\n' + content | trim + '<|eot_id|>' }}"
    write("chat_template", "chatml", chatml.encode() + b"\xffHello <|im_end|>\n\xc3\xa9")
    write("chat_template", "llama3", llama3.encode() + b"\xff  Hello <|eot_id|>  ")
    write("chat_template", "silent", b"\xffHello")
    write("chat_template", "unknown", "{{ messages }}")
    write("chat_template", "config", json.dumps({"bos_token": "<s>", "chat_template": chatml}))
    write("chat_template", "several", json.dumps({"chat_template": [{"name": "tool_use", "template": "x"},
                                                                    {"name": "default", "template": llama3}]}))
    write("chat_template", "wrong_kind", json.dumps({"chat_template": 5}))


def json_lines_seeds():
    lines = (b'{"text":"a","n":1}\n\n{"text":"\xc3\xa9","list":[1,2.5,null,true,{"a":{}}]}\r\n'
             b'{"question":"Who?","answers":["Ann"]}\n')
    write("json_lines", "lines", lines)
    write("json_lines", "unfinished", lines[:-1])
    write("json_lines", "xz", lzma.compress(lines))
    write("json_lines", "zst", zstd_raw(lines))
    write("json_lines", "scalar", b"5\n")
    write("json_lines", "twice", b'{"a":1,"a":2}\n')
    write("json_lines", "deep", b'{"a":' + b"[" * 100 + b"\n")
    write("json_lines", "not_text", b'{"a":"\xff\xfe"}\n')


def zstd_frame(blocks, content_size=None):
    """A frame of blocks (kind, size, bytes): 0 raw, 1 one byte repeated, 2 compressed."""
    head = b"\x28\xb5\x2f\xfd" + (b"\x00\x58" if content_size is None else b"\xa0" + struct.pack("<I", content_size))
    body = b""
    for i, (kind, size, content) in enumerate(blocks):
        body += struct.pack("<I", size << 3 | kind << 1 | (i + 1 == len(blocks)))[:3] + content
    return head + body


def zstd_raw(text):
    return zstd_frame([(0, len(text), text)])


def unpacked_file_seeds():
    text = b"what is packed comes out again, " * 4
    write("unpacked_file", "plain", text)
    write("unpacked_file", "xz", lzma.compress(text))
    write("unpacked_file", "xz_crc32", lzma.compress(text, check=lzma.CHECK_CRC32))
    write("unpacked_file", "xz_twice", lzma.compress(text) * 2)
    write("unpacked_file", "xz_cut", lzma.compress(text)[:-9])
    write("unpacked_file", "xz_bomb", lzma.compress(bytes(1 << 22), preset=9))
    write("unpacked_file", "xz_dictionary", lzma.compress(text, filters=[{"id": lzma.FILTER_LZMA2, "dict_size": 1 << 30}]))
    write("unpacked_file", "zst", zstd_raw(text))
    write("unpacked_file", "zst_twice", zstd_raw(text) * 2)
    write("unpacked_file", "zst_cut", zstd_raw(text)[:-9])
    write("unpacked_file", "zst_bomb", zstd_frame([(1, 1 << 17, b"x")] * 200))
    write("unpacked_file", "zst_window", b"\x28\xb5\x2f\xfd\x00\xff" + zstd_raw(text)[6:])
    write("unpacked_file", "empty", b"")


def blob_seeds():
    write("blob", "repeated", zstd_frame([(1, 1 << 16, b"x")], 1 << 16))
    write("blob", "promised", zstd_frame([(1, 8, b"x")], (1 << 31) - 1))
    write("blob", "negative_count", zstd_frame([(1, 16, b"\xff")], 16))


def html_seeds():
    def page(name, content, media_type=""):
        write("html", name, media_type.encode() + b"\n" + (content if isinstance(content, bytes) else content.encode()))
    page("page", "<!DOCTYPE html><html><head><title>T</title><style>p{}</style></head><body><h1>H</h1><p>one <b>two</b><br>three")
    page("lists", "<ul><li>a<ul><li>b</ul><li><p>c</p></ul><ol start=-7><li>d<li>e</ol><dl><dt>f<dd>g</dl>")
    page("table", "<table><caption>c</caption><tr><th><th>A</tr><tr><td><p>x</p><td><table><tr><td>y</table></tr></table>")
    page("hidden", "<nav>a<nav>b</nav></nav><div hidden>c</div><p style='display:none'>d</p><script>x<y</script>e<svg><title>f</svg>")
    page("preformatted", "<pre>\n a\n\n  b</pre><xmp>c</xmp><q>d</q>")
    page("entities", "&amp;&lt;&eacute;&#8212;&#x1F600;&nbsp;&unknown;&#0;&#xd800;&")
    page("deep", "<div>" * 200 + "x" + "</b></div>" * 100)
    page("attributes", "<a " + " ".join(f"a{i}='{i}'" for i in range(100)) + " a1 a1=>x</a>")
    page("broken", "<p <a href='<b>' x=\"</p>y<!-- z --!><![CDATA[c]]></<?x ?></body></html>after")
    page("doctype", "<!DOCTYPE x [<!ENTITY a 'b'>]><p>&a;")
    page("xhtml", '<?xml version="1.0" encoding="koi8-r"?><html xmlns="x"><title/><p>'.encode() + b"\xc1</p></html>")
    page("windows", b"<p>caf\xe9 \x93")
    page("meta", b"<meta http-equiv=c content='text/html; charset=Shift_JIS'>\x93\xfa\x96\x7b")
    page("media_type", b"<p>\xb1", "text/html; charset=iso-8859-2")
    page("japanese", b"\x1b$B$\"\x1b(B\xff", "text/html; charset=iso-2022-jp")
    page("unknown_charset", b"<p>\xb1", "text/html; charset=x")
    page("utf16", "\ufeff<p>\u00e9".encode("utf-16-le") + b"\x00\xd8")
    page("utf8_broken", b"<meta charset=utf-8><p>a\xff\xc3z")
    page("zero", b"<p>a\0b\x01c")
    page("empty", "<p> </p>")


def zip_of(parts):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as made:
        for name, content in parts:
            about = zipfile.ZipInfo(name, (2026, 1, 1, 0, 0, 0))
            about.compress_type = zipfile.ZIP_DEFLATED
            made.writestr(about, content)
    return out.getvalue()


def archive_seeds():
    """Whole archives, or their parts with 0xff between them (document_input.h)."""
    def parts(name, *contents):
        write("archive", name, b"\xff".join(content.encode() for content in contents))
    container = '<container><rootfiles><rootfile full-path="b/p.opf"/></rootfiles></container>'
    package = ('<package xmlns:dc="x"><dc:title>T</dc:title><manifest><item id="c" href="{}" media-type="application/xhtml+xml"/>'
               '<item id="p" href="p.svg" media-type="image/svg+xml"/></manifest><spine><itemref idref="p"/><itemref idref="c"/>'
               "</spine></package>")
    word = ('<w:document xmlns:w="w"><w:body><w:p><w:pPr><w:numPr><w:ilvl w:val="1"/><w:numId w:val="2"/></w:numPr></w:pPr><w:r>'
            "<w:rPr><w:b/></w:rPr><w:t>item</w:t><w:tab/><w:br/></w:r></w:p><w:tbl><w:tr><w:tc><w:p><w:r><w:t>a</w:t></w:r></w:p>"
            "</w:tc><w:tc><w:p><w:r><w:t>b</w:t></w:r></w:p></w:tc></w:tr></w:tbl><w:del><w:r><w:t>gone</w:t></w:r></w:del>"
            '<w:p><w:r><w:rPr><w:vanish/></w:rPr><w:t>hidden</w:t></w:r><w:footnoteReference w:id="1"/></w:p></w:body></w:document>')
    chapter = "<html><head><title>t</title></head><body><p>chapter</p></body></html>"
    whole = zip_of([("word/document.xml", word), ("word/footnotes.xml", '<f><footnote id="1"><p><t>note</t></p></footnote></f>')])
    book = zip_of([("META-INF/container.xml", container), ("b/p.opf", package.format("c.xhtml")), ("b/c.xhtml", chapter)])
    write("archive", "whole_docx", whole)
    write("archive", "whole_epub", book)
    write("archive", "cut", whole[:-30])
    write("archive", "other", zip_of([("a.txt", "x")]))
    write("archive", "bomb", zip_of([("word/document.xml", "<d>" + " " * (8 << 20))]))
    write("archive", "encrypted", whole.replace(b"PK\x03\x04\x14\0\0", b"PK\x03\x04\x14\0\1").replace(b"PK\1\2\x14\3\x14\0\0", b"PK\1\2\x14\3\x14\0\1"))
    write("archive", "many_entries", b"PK\x03\x04" + b"PK\x05\x06\0\0\0\0" + struct.pack("<HHIIH", 65535, 65535, 65535, 0, 0))
    parts("docx", word)
    parts("docx_cdata", "<d><p><t><![CDATA[a<b]]>&lt;&#98;&amp;</t></p></d>")
    parts("docx_entities", "<!DOCTYPE d [<!ENTITY a 'ha'>]><d><p><t>&a;</t></p></d>")
    parts("docx_broken", "<d><p><t>x</d>")
    parts("docx_deep", "<d>" * 300)
    parts("docx_latin", '<?xml version="1.0" encoding="iso-8859-1"?><d><p><t>x</t></p></d>')
    parts("epub", "", container, package.format("c.xhtml"), chapter)
    parts("epub_second", "", container, package.format("../b/%64.html#x"), "", chapter)
    parts("epub_outside", "", container, package.format("../../c.xhtml"), chapter)
    parts("epub_missing", "", container, package.format("none.xhtml"))
    parts("epub_locked", "", container, package.format("c.xhtml"), chapter, "", "<e><CipherReference URI='b/c.xhtml'/></e>")


def request_seeds():
    """What clients send: each a conversation of one or more requests on one connection."""
    def request(method, path, body="", *headers):
        if not isinstance(body, (str, bytes)):
            body = json.dumps(body)
        content = body.encode() if isinstance(body, str) else body
        lines = [f"{method} {path} HTTP/1.1", "Host: localhost", *headers, *([f"Content-Length: {len(content)}"] if content else [])]
        return "\r\n".join(lines).encode() + b"\r\n\r\n" + content

    def seed(name, *requests):
        write("request", name, b"".join(requests))

    user = [{"role": "user", "content": "Hi"}]
    short = {"max_tokens": 2}
    chat = {"messages": user, "memory": "m", **short}
    told = request("POST", "/v1/memories/m/documents", {"name": "a", "text": "The lamp is in the hall. " * 4})
    make = request("POST", "/v1/memories", {"name": "m"})
    schema = {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}
    seed("looks", *(request("GET", path) for path in ("/health", "/version", "/v1/models", "/metrics", "/", "/v1/memories?x=%20+")))
    seed("chat", request("POST", "/v1/chat/completions", {"messages": user, **short}))
    seed("chat_memory", request("POST", "/v1/chat/completions", chat), request("GET", "/v1/memories/m/turns"))
    seed("chat_stream", request("POST", "/v1/chat/completions", {**chat, "stream": True, "stream_options": {"include_usage": True}}))
    seed("chat_sampling", request("POST", "/v1/chat/completions", {
        "messages": [{"role": "system", "content": [{"type": "text", "text": "Be brief"}]}, *user], **short, "temperature": 1, "top_p": 0.9,
        "top_k": 5, "min_p": 0.1, "seed": 7, "n": 2, "stop": ["a", "b"], "logprobs": True, "top_logprobs": 3, "frequency_penalty": 1,
        "presence_penalty": -1, "logit_bias": {"65": 5}}))
    seed("chat_format", request("POST", "/v1/chat/completions", {
        "messages": user, **short, "response_format": {"type": "json_schema", "json_schema": {"name": "a", "schema": schema}}}))
    seed("chat_history", request("POST", "/v1/chat/completions", chat), request("POST", "/v1/chat/completions", {
        **chat, "messages": [*user, {"role": "assistant", "content": "x"}, {"role": "user", "content": "And?"}]}, "X-Mplus-Memory: m"))
    seed("completion", request("POST", "/v1/completions", {"prompt": "Once", **short, "logprobs": 2}),
         request("POST", "/v1/completions", {"prompt": [1, 2], **short}))
    seed("responses", request("POST", "/v1/responses", {"input": "Hi", "max_output_tokens": 2}), request("POST", "/v1/responses", {
        "input": [{"role": "user", "content": [{"type": "input_text", "text": "Hi"}]}], "stream": True, "max_output_tokens": 2}))
    seed("conversations", request("POST", "/v1/conversations", {"metadata": {"a": "b"}}), request("GET", "/v1/conversations/conv_1/items"))
    seed("tokens", request("POST", "/tokenize", {"prompt": "Hi"}), request("POST", "/detokenize", {"tokens": [72, 105]}))
    seed("memory", make, request("GET", "/v1/memories/m"), request("POST", "/v1/memories/m/fork", {"name": "n"}),
         request("POST", "/v1/memories/m/verify"), request("DELETE", "/v1/memories/n"))
    seed("document", make, told, request("POST", "/v1/memories/m/flush"), request("GET", "/v1/memories/m/documents"),
         request("GET", "/v1/memories/m/timeline"), request("DELETE", "/v1/memories/m/documents/1?dry_run=true"),
         request("DELETE", "/v1/memories/m/documents/1?exact=true"), request("POST", "/v1/memories/m/undo", {"count": 1}),
         request("POST", "/v1/memories/m/purge"))
    seed("document_form", make, request(
        "POST", "/v1/memories/m/documents", '--XX\r\nContent-Disposition: form-data; name="file"; filename="a.html"\r\n'
        "Content-Type: text/html\r\n\r\n<p>Hi</p>\r\n--XX--\r\n", "Content-Type: multipart/form-data; boundary=XX"))
    seed("question", make, told, request("POST", "/v1/memories/m/ask", {"question": "Where is the lamp?", **short}),
         request("POST", "/v1/memories/m/search", {"query": "lamp"}))
    seed("twice", request("POST", "/v1/chat/completions", chat, "Idempotency-Key: k"), request("POST", "/v1/chat/completions", chat, "Idempotency-Key: k"))
    seed("transfer", make, told, request("GET", "/v1/memories/m/export"), request("POST", "/v1/memories/import?name=n", "no memory"))
    for name, message in (("initialize", {"protocolVersion": "2025-11-25"}), ("tools_list", {}),
                          ("tools_call", {"name": "remember", "arguments": {"text": "The lamp is in the hall."}})):
        seed("mcp_" + name, request("POST", "/mcp", {"jsonrpc": "2.0", "id": 1, "method": name.replace("_", "/"), "params": message}))
    seed("page", request("OPTIONS", "/v1/models", "", "Origin: http://localhost"), request("HEAD", "/health"), request("GET", "/openapi.json"))
    seed("chunked", b"POST /tokenize HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\nf\r\n"
                    b'{"prompt":"Hi"}\r\n0\r\n\r\n')
    seed("hostile", request("GET", "/v1/memories/%2e%2e%2fx"), request("POST", "/v1/chat/completions", "[" * 200),
         request("POST", "/tokenize", b'{"prompt":"\xff"}'), request("PUT", "/v1/models"), b"GET /\r\n\r\n")


if __name__ == "__main__":
    for make in (safetensors_seeds, shards_seeds, gguf_seeds, llama2c_seeds, tokenizer_seeds, chat_template_seeds,
                 config_seeds, json_lines_seeds, unpacked_file_seeds, blob_seeds, html_seeds, archive_seeds, request_seeds):
        make()
