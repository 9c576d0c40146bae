#include "mplus/engine/files/weights_id.h"

#include <sys/stat.h>

#include <algorithm>
#include <span>
#include <vector>

#include "mplus/core/error.h"
#include "mplus/core/files/file.h"
#include "mplus/core/files/private_file.h"
#include "mplus/engine/locate.h"
#include "mplus/io/text/hash.h"

namespace mplus::engine {
namespace {

namespace fs = std::filesystem;

class Hasher {
 public:
  void add_bytes(const void* data, std::size_t size_bytes) {
    hashes_.push_back(io::xxh3({static_cast<const std::byte*>(data), size_bytes}));
  }
  void add(const Matrix& m) {
    if (m.empty()) return;
    add_bytes(m.data, static_cast<std::size_t>(m.rows) * m.row_size_bytes());
    if (m.row_scales) add_bytes(m.row_scales, static_cast<std::size_t>(m.rows) * sizeof(float));
  }
  void add(const ConstTensor& values) {
    if (!values.empty()) add_bytes(values.on_host<float>(), row_bytes(values.dtype, values.elements()));
  }
  void add(const model::Projection& p) {
    for (const Matrix* m : {&p.base, &p.write.a, &p.write.b, &p.read.a, &p.read.b}) add(*m);
  }
  void add(const model::RetrieverHead& head) {
    add(head.first);
    add(head.second);
  }
  std::string hex() const { return fmt::format("{:016x}", io::xxh3(std::as_bytes(std::span(hashes_)))); }

 private:
  std::vector<std::uint64_t> hashes_;
};

// Everything in a model's files that tells one version from another without reading them.
std::string file_stamp(const fs::path& path) {
  if (fs::is_directory(path)) {
    std::vector<fs::path> files;
    for (const auto& entry : fs::directory_iterator(path))
      if (entry.path().extension() == ".safetensors" || entry.path().filename() == "config.json")
        files.push_back(entry.path());
    std::sort(files.begin(), files.end());
    std::string stamp;
    for (const auto& file : files) stamp += file_stamp(file);
    return stamp;
  }
  struct stat info {};
  if (::stat(path.c_str(), &info) != 0) return {};
  return fmt::format("{}|{}|{}.{:09}|{}\n", fs::absolute(path).string(), info.st_size, info.st_mtim.tv_sec,
                     info.st_mtim.tv_nsec, info.st_ino);
}

}  // namespace

std::string hash_weights(const model::Weights& w) {
  Hasher hash;
  const std::int64_t d = w.config.hidden;
  hash.add(w.embedding);
  hash.add(w.head);
  hash.add(w.final_norm);
  hash.add(w.positional);
  hash.add_bytes(w.vote_weights.data(), w.vote_weights.size() * sizeof(double));
  std::vector<float> pools;
  for (const model::Layer& layer : w.layers)
    if (!layer.pool.empty())
      pools.insert(pools.end(), layer.pool.on_host<float>(), layer.pool.on_host<float>() + d);
  if (!pools.empty()) hash.add_bytes(pools.data(), pools.size() * sizeof(float));
  for (const model::Layer& layer : w.layers) {
    hash.add(layer.attention_norm);
    hash.add(layer.mlp_norm);
    hash.add(layer.bos);
    hash.add(layer.o);
    for (const auto* p : {&layer.q, &layer.k, &layer.v, &layer.gate, &layer.up, &layer.down}) {
      hash.add(*p);
      hash.add(p->bias);
      hash.add(p->head_norm);
    }
    for (const auto* head : {&layer.query, &layer.key}) hash.add(*head);
  }
  return hash.hex();
}

std::string cached_weights_id(const model::Weights& weights, const model::ModelFiles& files) {
  std::string stamp = file_stamp(files.model);
  if (files.delta) stamp += file_stamp(*files.delta);
  const fs::path file =
      home_folder() / "cache" / fmt::format("weights-{:016x}", io::xxh3(std::as_bytes(std::span(stamp))));
  std::error_code ignored;
  if (fs::exists(file, ignored)) {
    try {
      std::string known = read_text_file(file);
      if (known.size() == 16 && known.find_first_not_of("0123456789abcdef") == std::string::npos)
        return known;
    } catch (const Error&) {  // unreadable: compute it
    }
  }
  std::string id = hash_weights(weights);
  try {
    make_private_folders(file.parent_path());
    write_text_file(file, id);
  } catch (const Error&) {  // read-only home: compute it again next time
  }
  return id;
}

}  // namespace mplus::engine
