#include "mplus/memory/rewriting.h"

#include <cstring>

#include "mplus/core/error.h"

namespace mplus::memory {

Rewriting::Rewriting(const Layout& layout, const std::set<std::int64_t>& gone) : layout_(&layout) {
  for (const std::int64_t chunk : gone) chunks_[chunk];
}

void Rewriting::put(std::int64_t chunk, std::span<const NewRows> layers) {
  MPLUS_CHECK(std::ssize(layers) == layout_->remembering_layers(), "{} layers", layers.size());
  const std::int64_t n = layers[0].n;
  MPLUS_CHECK(0 < n && n <= layout_->K, "{} rows, K {}", n, layout_->K);
  std::vector<Rows>& rows = chunks_[chunk];
  rows.clear();
  for (std::int64_t l = 0; l < layout_->layers; ++l) {
    const bool keeps = layout_->remembering.contains(l);
    Rows& to = rows.emplace_back(*layout_, keeps ? n : 0);
    if (keeps)
      to.append(*layout_, layers[static_cast<std::size_t>(layout_->remembering.place(l))],
                chunk * layout_->K + (layout_->K - n));
  }
  if (chunks_.rbegin()->first != chunk) return;
  newest_hidden_.clear();
  const std::int64_t size = n * layout_->hidden;
  newest_hidden_.resize(layers.size() * static_cast<std::size_t>(size));
  for (std::size_t i = 0; i < layers.size(); ++i)
    layers[i].copy_hidden(newest_hidden_.data() + static_cast<std::int64_t>(i) * size, layout_->hidden);
}

std::optional<Rewriting::Place> Rewriting::instead_of(std::int64_t layer, std::int64_t birth) const {
  const auto chunk = chunks_.find(chunk_of(birth, layout_->K));
  MPLUS_CHECK(chunk != chunks_.end(), "birth {}: its chunk stays as it is", birth);
  if (chunk->second.empty()) return std::nullopt;
  const RowsView rows = chunk->second[static_cast<std::size_t>(layer)].view();
  if (rows.n == 0 || birth < rows.birth[0]) return std::nullopt;
  return Place{rows, birth - rows.birth[0]};
}

bool Rewriting::equals(std::int64_t layer, const RowsView& rows, std::int64_t row) const {
  const auto place = instead_of(layer, rows.birth[row]);
  if (!place) return false;
  Rows wanted(*layout_, 1, rows.format);  // as it would be kept there
  wanted.append(*layout_, place->rows, place->row);
  const RowsView expected = wanted.view();
  const std::size_t kv = layout_->kv_bytes(rows.format);
  return std::memcmp(rows.k_row(*layout_, row), expected.k, kv) == 0 &&
         std::memcmp(rows.v_row(*layout_, row), expected.v, kv) == 0 &&
         (!rows.key ||
          std::memcmp(rows.key_row(*layout_, row), expected.key, layout_->key_bytes(rows.format)) == 0);
}

std::int64_t Rewriting::rows(std::int64_t chunk) const {
  const auto found = chunks_.find(chunk);
  if (found == chunks_.end() || found->second.empty()) return 0;
  return found->second[static_cast<std::size_t>(layout_->remembering.layer(0))].size();
}

}  // namespace mplus::memory
