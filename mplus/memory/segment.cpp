#include "mplus/memory/segment.h"

#include <algorithm>
#include <limits>

#include "mplus/core/error.h"

namespace mplus::memory {

Segment::Segment(const Layout& layout, std::int64_t capacity) : capacity_(capacity) {
  grown_.reserve(static_cast<std::size_t>(layout.layers));
  views_.reserve(static_cast<std::size_t>(layout.layers));
  for (std::int64_t l = 0; l < layout.layers; ++l) {
    const std::int64_t rows = layout.remembering.contains(l) ? capacity : 0;
    views_.push_back(grown_.emplace_back(layout, rows, layout.long_term).view());
    views_.back().n = rows;
  }
}

Segment::Segment(std::vector<RowsView> layers, std::shared_ptr<const void> owner, Guard guard)
    : views_(std::move(layers)), owner_(std::move(owner)), guard_(std::move(guard)) {
  for (const RowsView& view : views_)
    MPLUS_CHECK(view.format == format(), "rows of a segment: {} and {}", row_format_name(format()),
                row_format_name(view.format));
}

ResidentKeys& Segment::resident_keys(std::int64_t layer) const {
  if (resident_keys_.empty()) resident_keys_.resize(views_.size());
  return resident_keys_[static_cast<std::size_t>(layer)];
}

ResidentColumns& Segment::resident_columns(std::int64_t layer) const {
  if (resident_columns_.empty()) resident_columns_.resize(views_.size());
  return resident_columns_[static_cast<std::size_t>(layer)];
}

void SegmentUse::note_births(std::int64_t layer, std::int64_t from) {
  oldest.resize(used.size());
  const RowsView view = rows(layer);
  std::vector<std::int64_t>& blocks = oldest[static_cast<std::size_t>(layer)];
  blocks.resize(static_cast<std::size_t>((view.n + kBirthBlock - 1) / kBirthBlock),
                std::numeric_limits<std::int64_t>::max());
  for (std::int64_t r = from; r < view.n; ++r) {
    std::int64_t& block = blocks[static_cast<std::size_t>(r / kBirthBlock)];
    block = std::min(block, view.birth[r]);
  }
}

}  // namespace mplus::memory
