#include "mplus/model/passes/attention_cache.h"

#include <algorithm>
#include <utility>

#include "mplus/core/error.h"
#include "mplus/kernels/backend.h"
#include "mplus/kernels/rows/rows.h"

namespace mplus::model {
namespace {

constexpr std::size_t kPieceBytes = std::size_t{16} << 20;

void copy_rows(kernels::Queue& queue, const kernels::KvCache& to, const kernels::KvCache& from) {
  for (std::int64_t g = 0; g < from.keys.size(0); ++g) {
    kernels::copy(queue, to.keys.row(g).rows(0, from.rows), from.keys.row(g).rows(0, from.rows));
    kernels::copy(queue, to.values.row(g).rows(0, from.rows), from.values.row(g).rows(0, from.rows));
  }
}

}  // namespace

AttentionCache::AttentionCache(std::int64_t layers, const kernels::KvShape& shape)
    : shape_(shape),
      front_rows_(static_cast<std::size_t>(layers), 0),
      layers_(static_cast<std::size_t>(layers)),
      read_(static_cast<std::size_t>(layers), 0),
      recalled_(static_cast<std::size_t>(layers)),
      seen_(static_cast<std::size_t>(layers)) {}

void AttentionCache::clear() {
  assembled_ = false;
  scouted_ = false;
  for (auto& layer : layers_) layer.rows = 0;
  for (auto& rows : recalled_) rows.clear();
  for (auto& births : seen_) births.reset();
}

void AttentionCache::set_assembled() {
  assembled_ = true;
  scouted_ = false;
  for (std::size_t l = 0; l < layers_.size(); ++l) read_[l] = layers_[l].rows;
}

void AttentionCache::roll_back() {
  if (!assembled_) scouted_ = false;  // its rows may be half assembled
  for (std::size_t l = 0; l < layers_.size(); ++l) layers_[l].rows = assembled_ ? read_[l] : 0;
}

std::vector<std::int64_t> AttentionCache::all_rows() const {
  std::vector<std::int64_t> rows;
  for (const kernels::KvCache& layer : layers_) rows.push_back(layer.rows);
  return rows;
}

void AttentionCache::truncate(const std::vector<std::int64_t>& rows) {
  MPLUS_CHECK(assembled_ && rows.size() == layers_.size(), "rows of {} layers", rows.size());
  for (std::size_t l = 0; l < layers_.size(); ++l) layers_[l].rows = read_[l] = rows[l];
}

// Layers lie together in pieces that are worth large pages; a cache that grows needs room for one piece more.
void AttentionCache::reserve(kernels::Queue& queue, std::int64_t rows) {
  if (rows <= capacity_ || layers_.empty()) return;
  const std::int64_t more = capacity_ > 0 ? rows / 8 : 0;  // one that grows will grow again
  const std::int64_t capacity = (rows + more + 63) / 64 * 64, G = shape_.groups, e = shape_.head_size;
  const DType dtype = queue.backend().cache_type(queue.numerics());
  const std::int64_t L = std::ssize(layers_), elements = 2 * G * capacity * e;
  if (storage_.empty()) {
    const auto wanted = static_cast<std::int64_t>(row_bytes(dtype, L * elements) / kPieceBytes);
    const std::int64_t pieces = std::clamp<std::int64_t>(wanted, 1, L);
    piece_layers_ = (L + pieces - 1) / pieces;
  }
  for (std::int64_t begin = 0; begin < L; begin += piece_layers_) {
    const std::int64_t count = std::min(piece_layers_, L - begin);
    Buffer piece = queue.backend().allocate(row_bytes(dtype, count * elements));
    const Tensor both = piece.tensor(dtype, {2 * count, G, capacity, e});
    for (std::int64_t i = 0; i < count; ++i) {
      kernels::KvCache& layer = layers_[static_cast<std::size_t>(begin + i)];
      const kernels::KvCache grown{both.row(2 * i), both.row(2 * i + 1), layer.rows};
      if (layer.rows > 0) copy_rows(queue, grown, layer);
      layer = grown;
    }
    const auto place = static_cast<std::size_t>(begin / piece_layers_);
    if (place < storage_.size()) storage_[place] = std::move(piece);
    else storage_.push_back(std::move(piece));
  }
  capacity_ = capacity;
}

void AttentionCache::begin_with(kernels::Queue& queue, const AttentionCache& other) {
  clear();
  reserve(queue, other.most_rows());
  for (std::size_t l = 0; l < layers_.size(); ++l) {
    if (other.layers_[l].rows > 0) copy_rows(queue, layers_[l], other.layers_[l]);
    layers_[l].rows = other.layers_[l].rows;
  }
  if (other.assembled()) set_assembled();
}

}  // namespace mplus::model
