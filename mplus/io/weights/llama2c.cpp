#include "mplus/io/weights/llama2c.h"

#include <fmt/core.h>

#include <cstring>

#include "mplus/core/error.h"
#include "mplus/core/files/file.h"
#include "mplus/io/config/config_limits.h"
#include "mplus/io/weights/dequantise.h"

namespace mplus::io {
namespace {

constexpr std::int64_t kBos = 1;
constexpr std::int64_t kEos = 2;

struct Owner {
  std::shared_ptr<const MappedFile> mapped;
  std::vector<std::vector<float>> copies;  // rows of q and k in the model's order
};

// A reading position; sizes have been checked against the file's before anything is taken.
struct Floats {
  const float* at;
  std::span<const std::byte> take(std::int64_t count) {
    const float* start = at;
    at += count;
    return std::as_bytes(std::span(start, static_cast<std::size_t>(count)));
  }
};

ModelConfig read_config(std::span<const std::byte> bytes, std::string_view file) {
  std::int32_t header[7] = {};
  if (bytes.size() < sizeof header)
    fail(ErrorCode::corrupt, "{}: header: expected {} bytes, found {}", file, sizeof header, bytes.size());
  std::memcpy(header, bytes.data(), sizeof header);
  const auto field = [&](int i, const char* name, std::int64_t most) -> std::int64_t {
    const std::int64_t n = header[i];
    if (n < 1 || n > most)
      fail(ErrorCode::corrupt, "{}: {}: expected 1 to {}, found {}", file, name, most, n);
    return n;
  };
  ModelConfig c;
  c.architecture = "llama";
  c.tied_embeddings = header[5] > 0;  // a negative vocabulary size marks a separate output matrix
  if (header[5] < 0 && header[5] != INT32_MIN) header[5] = -header[5];
  c.hidden = field(0, "dim", kMostHidden);
  c.ffn = field(1, "hidden_dim", kMostFfn);
  c.layers = field(2, "n_layers", kMostLayers);
  c.heads = field(3, "n_heads", kMostHeads);
  c.kv_heads = field(4, "n_kv_heads", kMostHeads);
  c.vocab = field(5, "vocab_size", kMostVocab);
  c.context = field(6, "seq_len", kMostHidden);
  c.head_size = default_head_size(c.hidden, c.heads, file);
  check_heads(c, file);
  c.norm_epsilon = 1e-5f;
  c.rope_theta = 10000;
  c.bos_id = kBos;
  c.eos_ids = {kEos};
  c.add_bos = true;
  return c;
}

std::int64_t weight_count(const ModelConfig& c) {
  const std::int64_t d = c.hidden, kv = c.kv_heads * c.head_size;
  const std::int64_t layer = 2 * d + 2 * d * d + 2 * kv * d + 3 * c.ffn * d;
  return c.vocab * d * (c.tied_embeddings ? 1 : 2) + c.layers * layer + d + c.context * c.head_size;
}

class Loader {
 public:
  Loader(Llama2cModel& model, std::shared_ptr<Owner> owner, const float* weights)
      : model_(model), owner_(std::move(owner)), floats_{weights} {}

  void add(const std::string& name, std::vector<std::int64_t> shape) {
    const auto bytes = floats_.take(*element_count(shape));
    model_.tensors.emplace(name, Tensor{name, DType::f32, std::move(shape), bytes});
  }
  void add_layers(std::string_view name, const std::vector<std::int64_t>& shape) {
    for (std::int64_t l = 0; l < model_.config.layers; ++l) add(layer_name(l, name), shape);
  }
  // q and k: rows reordered, so copied.
  void add_rotary(std::string_view name, std::int64_t heads) {
    const std::int64_t rows = heads * model_.config.head_size, d = model_.config.hidden;
    add_layers(name, {rows, d});
    for (std::int64_t l = 0; l < model_.config.layers; ++l) {
      Tensor& tensor = model_.tensors.at(layer_name(l, name));
      auto& copy = owner_->copies.emplace_back(static_cast<std::size_t>(rows * d));
      unpermute_rows(reinterpret_cast<std::byte*>(copy.data()), tensor.bytes.data(), rows,
                     static_cast<std::size_t>(d) * sizeof(float), heads);
      tensor.bytes = std::as_bytes(std::span(copy));
    }
  }
  void skip(std::int64_t count) { floats_.take(count); }

 private:
  static std::string layer_name(std::int64_t layer, std::string_view name) {
    return fmt::format("model.layers.{}.{}.weight", layer, name);
  }
  Llama2cModel& model_;
  std::shared_ptr<Owner> owner_;
  Floats floats_;
};

}  // namespace

Llama2cModel open_llama2c(const std::filesystem::path& path) {
  auto owner = std::make_shared<Owner>();
  owner->mapped = MappedFile::open(path);
  const auto bytes = owner->mapped->bytes();
  Llama2cModel model{read_config(bytes, path.string()), {}, owner};
  const ModelConfig& c = model.config;
  constexpr std::size_t kHeaderBytes = 7 * sizeof(std::int32_t);
  const auto expected = kHeaderBytes + static_cast<std::size_t>(weight_count(c)) * sizeof(float);
  if (bytes.size() != expected)
    fail(ErrorCode::corrupt, "{}: weights: expected {} bytes by the header, found {}", path.string(),
         expected, bytes.size());
  Loader in(model, owner, reinterpret_cast<const float*>(bytes.data() + kHeaderBytes));
  const std::int64_t d = c.hidden;
  in.add("model.embed_tokens.weight", {c.vocab, d});
  in.add_layers("input_layernorm", {d});
  in.add_rotary("self_attn.q_proj", c.heads);
  in.add_rotary("self_attn.k_proj", c.kv_heads);
  in.add_layers("self_attn.v_proj", {c.kv_heads * c.head_size, d});
  in.add_layers("self_attn.o_proj", {d, d});
  in.add_layers("post_attention_layernorm", {d});
  in.add_layers("mlp.gate_proj", {c.ffn, d});
  in.add_layers("mlp.down_proj", {d, c.ffn});
  in.add_layers("mlp.up_proj", {c.ffn, d});
  in.add("model.norm.weight", {d});
  in.skip(c.context * c.head_size);  // tables of cosines and sines
  if (!c.tied_embeddings) in.add("lm_head.weight", {c.vocab, d});
  return model;
}

Llama2cVocabulary open_llama2c_vocabulary(const std::filesystem::path& path, std::int64_t vocab) {
  const auto mapped = MappedFile::open(path);
  auto bytes = mapped->bytes();
  const auto take = [&](void* out, std::size_t count) {
    if (count > bytes.size())
      fail(ErrorCode::corrupt, "{}: expected {} bytes at {}, found {}: truncated?", path.string(), count,
           mapped->bytes().size() - bytes.size(), bytes.size());
    std::memcpy(out, bytes.data(), count);
    bytes = bytes.subspan(count);
  };
  std::int32_t longest = 0;
  take(&longest, sizeof longest);
  Llama2cVocabulary out;
  for (std::int64_t id = 0; id < vocab; ++id) {
    float score = 0;
    std::int32_t length = 0;
    take(&score, sizeof score);
    take(&length, sizeof length);
    if (length < 0 || length > longest)
      fail(ErrorCode::corrupt, "{}: token {}: length: expected 0 to {}, found {}", path.string(), id, longest,
           length);
    if (static_cast<std::size_t>(length) > bytes.size())
      fail(ErrorCode::corrupt, "{}: token {}: expected {} bytes, found {}: truncated?", path.string(), id,
           length, bytes.size());
    std::string piece(static_cast<std::size_t>(length), '\0');
    take(piece.data(), piece.size());
    out.pieces.push_back(std::move(piece));
    out.scores.push_back(score);
  }
  if (!bytes.empty())
    fail(ErrorCode::corrupt, "{}: expected {} tokens, found {} bytes more", path.string(), vocab,
         bytes.size());
  return out;
}

std::string Llama2cVocabulary::text(std::int64_t id, std::int64_t previous) const {
  if (id < 0 || static_cast<std::size_t>(id) >= pieces.size())
    fail(ErrorCode::invalid_argument, "token {}: expected below {}", id, pieces.size());
  const std::string& piece = pieces[static_cast<std::size_t>(id)];
  unsigned int byte = 0;
  if (piece.size() == 6 && std::sscanf(piece.c_str(), "<0x%02X>", &byte) == 1)
    return std::string(1, static_cast<char>(byte));
  return previous == kBos && piece.starts_with(' ') ? piece.substr(1) : piece;
}

}  // namespace mplus::io
