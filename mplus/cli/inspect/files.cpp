#include "mplus/cli/inspect/files.h"

#include <fmt/core.h>

#include <cstring>
#include <map>

#include "mplus/cli/inspect/memory.h"
#include "mplus/core/error.h"
#include "mplus/core/files/file.h"
#include "mplus/engine/files/session_file.h"
#include "mplus/io/config/memory_config.h"
#include "mplus/io/config/model_config.h"
#include "mplus/io/gguf/gguf.h"
#include "mplus/io/text/hash.h"
#include "mplus/io/tokenizer/tokenizer.h"
#include "mplus/io/weights/llama2c.h"

namespace mplus::cli {
namespace {

namespace fs = std::filesystem;

void add_tensors(Json& report, const io::TensorMap& tensors, bool each) {
  struct Sum {
    std::int64_t tensors = 0, elements = 0;
    std::size_t size_bytes = 0;
  };
  std::map<std::string, Sum> by_type;
  Json list = Json::array();
  for (const auto& [name, tensor] : tensors) {
    Sum& sum = by_type[std::string(dtype_name(tensor.dtype))];
    ++sum.tensors;
    sum.elements += tensor.elements();
    sum.size_bytes += tensor.bytes.size();
    if (each)
      list.push_back({{"name", name},
                      {"type", dtype_name(tensor.dtype)},
                      {"shape", io::shape_text(tensor.shape)},
                      {"size_bytes", tensor.bytes.size()}});
  }
  report["types"] = Json::array();
  for (const auto& [type, sum] : by_type)
    report["types"].push_back({{"type", type},
                               {"tensors", sum.tensors},
                               {"elements", sum.elements},
                               {"size_bytes", sum.size_bytes}});
  if (each) report["tensors"] = std::move(list);
}

void add_config(Json& report, const io::ModelConfig& c) {
  report["architecture"] = c.architecture;
  report["layers"] = c.layers;
  report["hidden"] = c.hidden;
  report["heads"] = fmt::format("{} query, {} key-value, {} wide", c.heads, c.kv_heads, c.head_size);
  report["feed_forward"] = c.ffn;
  report["vocabulary"] = c.vocab;
  report["context"] = c.context;
  report["rope_theta"] = c.rope_theta;
  report["rope_scaling"] = c.rope_scaling.has_value();
  report["tied_embeddings"] = c.tied_embeddings;
  report["attention_bias"] = c.qkv_bias;
  report["head_norms"] = c.qk_norm;
}

void add_memory_config(Json& report, const io::MemoryConfig& m) {
  Json sizes;
  for (const auto& [name, value] : {std::pair{"K", m.K},
                                    {"N", m.N},
                                    {"K0", m.K0},
                                    {"M", m.M},
                                    {"C", m.C},
                                    {"W", m.W},
                                    {"d_r", m.d_r},
                                    {"rank", m.lora.rank}})
    sizes[name] = value;
  sizes["alpha"] = m.lora.alpha;
  report["memory_sizes"] = std::move(sizes);
  report["memory_layers"] = m.layers.text();
  report["read_adapter"] = m.has_read_lora;
  report["retriever"] = m.has_retriever;
  report["recall"] = recall_rule_name(m.recall.rule);
}

Json inspect_gguf(const fs::path& path, const InspectOptions& options) {
  const io::Gguf file = io::Gguf::open(path);
  Json report{{"kind", "GGUF model"}, {"file", path.string()}, {"size_bytes", fs::file_size(path)}};
  report["version"] = file.version();
  report["name"] = file.get_string("general.name").value_or("");
  try {
    add_config(report, io::config_from_gguf(file));
    report["chat_template"] = file.get_string("tokenizer.chat_template").has_value();
  } catch (const Error& e) {  // well-formed, but no model of ours: say why and show the rest
    report["usable"] = false;
    report["reason"] = e.what();
  }
  add_tensors(report, file.tensors(), options.tensors);
  return report;
}

Json inspect_folder(const fs::path& path, const InspectOptions& options) {
  const fs::path config_file = path / "config.json";
  const std::string config = read_text_file(config_file);
  const io::Safetensors file = io::Safetensors::open(path);
  const bool memory = file.find("bos_embedding") != nullptr;
  Json report{{"kind", memory ? "published checkpoint with memory" : "Hugging Face model"},
              {"file", path.string()}};
  add_config(report, io::parse_hf_config(config, config_file.string()));
  if (const auto sizes =
          memory ? io::parse_published_memory_config(config, config_file.string()) : std::nullopt)
    add_memory_config(report, *sizes);
  report["tokenizer"] = fs::exists(path / "tokenizer.json");
  report["files"] = file.files().size();
  add_tensors(report, file.tensors(), options.tensors);
  return report;
}

Json inspect_safetensors(const fs::path& path, const InspectOptions& options) {
  const io::Safetensors file = io::Safetensors::open(path);
  const bool session = engine::is_session_file(file);
  const bool delta = !session && file.find("bos_embedding") && file.metadata().contains("K");
  if (options.verify && !session)
    fail(ErrorCode::unsupported, "{}: --verify: only memory files carry checksums", path.string());
  Json report{{"kind", session ? "memory file"
                       : delta ? "delta"
                               : "safetensors file"},
              {"file", path.string()},
              {"size_bytes", fs::file_size(path)}};
  if (session) add_session(report, file, options);
  if (delta) add_memory_config(report, io::delta_config(file));
  if (!session) {
    report["metadata"] = Json::object();
    for (const auto& [key, value] : file.metadata()) report["metadata"][key] = value;
  }
  add_tensors(report, file.tensors(), options.tensors);
  return report;
}

Json inspect_tokenizer(const fs::path& path) {
  const io::Tokenizer tokenizer = io::Tokenizer::from_file(path);
  Json report{{"kind", "tokenizer"}, {"file", path.string()}, {"tokens", tokenizer.size()}};
  report["fingerprint"] = fmt::format("{:016x}", tokenizer.fingerprint());
  report["bos"] = tokenizer.bos() ? Json(*tokenizer.bos()) : Json();
  report["eos"] = tokenizer.eos() ? Json(*tokenizer.eos()) : Json();
  Json specials = Json::array();
  for (io::TokenId id = 0; id < tokenizer.size(); ++id)
    if (tokenizer.is_special(id)) specials.push_back(std::string(tokenizer.token_bytes(id)));
  report["special_tokens"] = std::move(specials);
  return report;
}

Json inspect_llama2c(const fs::path& path, const InspectOptions& options) {
  const io::Llama2cModel file = io::open_llama2c(path);
  Json report{{"kind", "llama2.c model"}, {"file", path.string()}, {"size_bytes", fs::file_size(path)}};
  add_config(report, file.config);
  add_tensors(report, file.tensors, options.tensors);
  return report;
}

}  // namespace

Json inspect_file(const fs::path& path, const InspectOptions& options) {
  std::error_code error;
  if (!fs::exists(path, error)) fail(ErrorCode::not_found, "{}: there is no such file", path.string());
  if (fs::is_directory(path)) return inspect_folder(path, options);
  if (path.filename().string().ends_with(".index.json")) return inspect_safetensors(path, options);
  if (path.extension() == ".json") return inspect_tokenizer(path);
  if (path.extension() == ".bin") return inspect_llama2c(path, options);
  const auto file = MappedFile::open(path);
  const bool gguf = file->bytes().size() >= 4 && std::memcmp(file->bytes().data(), "GGUF", 4) == 0;
  return gguf || path.extension() == ".gguf" ? inspect_gguf(path, options)
                                             : inspect_safetensors(path, options);
}

}  // namespace mplus::cli
