#include "mplus/model/attention_cache.h"

#include <algorithm>
#include <cstring>

namespace mplus::model {

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

void AttentionCache::reserve(std::int64_t rows) {
  if (rows <= capacity_) return;
  const std::int64_t capacity = (rows + 63) / 64 * 64;
  const std::int64_t e = shape_.head_size;
  const auto half = static_cast<std::size_t>(shape_.groups * capacity * e);
  for (std::size_t l = 0; l < layers_.size(); ++l) {
    kernels::KvCache& old = layers_[l];
    AlignedVector<float> fresh(2 * half);
    kernels::KvCache grown{
        .keys = fresh.data(), .values = fresh.data() + half, .rows = old.rows, .capacity = capacity};
    for (std::int64_t g = 0; g < shape_.groups && old.rows > 0; ++g) {
      const auto bytes = static_cast<std::size_t>(old.rows * e) * sizeof(float);
      std::memcpy(grown.keys + g * capacity * e, old.keys + g * old.capacity * e, bytes);
      std::memcpy(grown.values + g * capacity * e, old.values + g * old.capacity * e, bytes);
    }
    storage_[l] = std::move(fresh);
    old = grown;
  }
  capacity_ = capacity;
}

}  // namespace mplus::model
