#include "mplus/memory/segment.h"

namespace mplus::memory {

Segment::Segment(const Layout& layout, std::int64_t capacity) : capacity_(capacity) {
  grown_.reserve(static_cast<std::size_t>(layout.layers));
  views_.reserve(static_cast<std::size_t>(layout.layers));
  for (std::int64_t l = 0; l < layout.layers; ++l) {
    views_.push_back(grown_.emplace_back(layout, capacity).view());
    views_.back().n = capacity;
  }
}

Segment::Segment(std::vector<RowsView> layers, std::shared_ptr<const void> owner, Guard guard)
    : views_(std::move(layers)), owner_(std::move(owner)), guard_(std::move(guard)) {}

}  // namespace mplus::memory
