#include "mplus/model/passes/attention_cache.h"

#include <utility>

#include "mplus/kernels/backend.h"
#include "mplus/kernels/rows/rows.h"

namespace mplus::model {
namespace {

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
      storage_(static_cast<std::size_t>(layers)),
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

void AttentionCache::reserve(kernels::Queue& queue, std::int64_t rows) {
  if (rows <= capacity_) return;
  const std::int64_t capacity = (rows + 63) / 64 * 64, G = shape_.groups, e = shape_.head_size;
  const DType dtype = queue.backend().cache_type(queue.numerics());
  for (std::size_t l = 0; l < layers_.size(); ++l) {
    kernels::KvCache& old = layers_[l];
    Buffer fresh = queue.backend().allocate(row_bytes(dtype, 2 * G * capacity * e));
    const Tensor both = fresh.tensor(dtype, {2, G, capacity, e});
    const kernels::KvCache grown{both.row(0), both.row(1), old.rows};
    if (old.rows > 0) copy_rows(queue, grown, old);
    storage_[l] = std::move(fresh);
    old = grown;
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
